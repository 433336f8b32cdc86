"""A series of numbers decoded together: passes, answers and bands of every week.

Each pass linearizes every week's likelihood at the answers of the pass before. It learns the prior
of a single week from all of them pooled (`dense_model.py`), and then the walk (`walk_model.py`). It
moves each week's posterior mean to the nearest distribution. The deviation of a week's own people
from the population follows from that week's reports alone, and is added last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.empirical_bayes.dense_model import learned_prior
from lapwing.decoders.empirical_bayes.gaussian_model import (
    NormalPrior,
    Posterior,
    ScaledBasis,
    quadratic_likelihood,
)
from lapwing.decoders.series.walk_model import Walk, Week, learned_walk, refitted
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.random_walk import Filtered, PseudoMeasurement, Smoothed, left_inverse, smoothed
from lapwing.linear.random_walk import without_own as without
from lapwing.results.uncertainty import Uncertainty, as_stored
from lapwing.results.walk_errors import Walked, WalkErrors, WeekErrors, Wider, root_of

PASSES = 2

_BAND_INFLATION: dict[Walked, Wider] = {
    "pointwise": Wider(jump=4.0, step=3.0, flicker=2.0, least=0.0075),
    "simultaneous": Wider(jump=6.0, step=6.0, flicker=2.0, least=0.03),
}
"""Factors on the variances of the walk, for bands."""
# A jump that is too small to be sure of may be in any week, and how far one goes is learned from
# that one alone. Of the steps and of what each week has alone there are many.

_WITH_DIFFERENCES: dict[Walked, Wider] = {
    **_BAND_INFLATION,
    "between": Wider(jump=6.0, step=6.0, flicker=2.0, least=0.3),
}
"""Factors on the variances of the walk, with those for differences of two weeks."""
# A change that nobody found moves both weeks toward each other. So any week may have a jump as
# large as those that are found. The bands are 0.5 to 0.7 times as wide as those of the two weeks
# decoded alone.

_LOOK_BACK, _MORE = 60, 1.25
"""Weeks looked back at where a week is decoded from those before it."""
# From how many times as many weeks the walk is learned again.

METHOD = "posterior of a random walk over the weeks, under widened variances"

_MOST_TOLD, _MOST_LEFT_OUT = 4 / 5, 1 / 32
"""Part of the draw of a week's own people that its reports may tell of, at most."""
# It is decoded with others then. The first is of the whole draw, the second of that in directions
# which no wave of the walk has.

Given = tuple[Any, Any]
"""A channel and what was observed through it."""


@dataclass(frozen=True, eq=False)
class WalkAnswer:
    """All weeks decoded together.

    masses: float64 [size] for each week with reports.
    walk: Walk that was learned.
    looks: Likelihood of the state from each week.
    errors: Errors of all weeks together, or None where weeks are decoded from those before them.
    better_alone: Weeks whose reports tell so much of their own people that they are to be decoded
        alone.
    """

    masses: Sequence[Vector | None]
    uncertainties: Sequence[Uncertainty | None]
    walk: Walk
    looks: Sequence[PseudoMeasurement | None]
    errors: WalkErrors | None
    better_alone: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class _Weeks:
    """The weeks' quadratic likelihoods, and where they were taken."""

    given: Sequence[Given | None]
    pilots: Sequence[Vector | None]
    quadratics: Sequence[Week | None]

    @classmethod
    def at(cls, given: Sequence[Given | None], pilots: Sequence[Vector | None]) -> _Weeks:
        quadratics: list[Week | None] = []
        for one, pilot in zip(given, pilots, strict=True):
            if one is None or pilot is None:
                quadratics.append(None)
            else:
                quadratics.append(Week(*quadratic_likelihood(*one, pilot)))
        return cls(given, pilots, quadratics)

    def pooled(self) -> Week:
        """Return what all weeks say together of one distribution."""
        there = [week for week in self.quadratics if week is not None]
        return Week(
            np.sum([week.information for week in there], axis=0),
            np.sum([week.score for week in there], axis=0),
        )

    def reports(self, week: int) -> int:
        one = self.given[week]
        return 0 if one is None else int(one[1].total)


def smooth_series(
    given: Sequence[Given | None], scaled: ScaledBasis, *, passes: int = PASSES
) -> WalkAnswer:
    """Return every week's distribution given all weeks, by the Kalman smoother.

    given: One for each week, over one domain, or None where nobody reported.
    scaled: All waves of that domain.
    passes: Times the likelihoods are linearized after the first, which is at the pooled answer.
    """
    fit = _fitted(given, scaled, passes=passes)
    numbers = range(len(given))
    errors = _errors(fit, _roots(fit, numbers), numbers, _WITH_DIFFERENCES)
    found = [errors.law(week) for week in numbers]
    masses = [fit.mass(week) for week in numbers]
    alone = frozenset(week for week in numbers if fit.is_better_alone(week))
    return WalkAnswer(masses, found, fit.walk, fit.looks, errors, alone)


def filter_series(given: Sequence[Given | None], scaled: ScaledBasis) -> WalkAnswer:
    """Return every week's distribution given the weeks up to it, by the Kalman filter.

    The prior and the spectrum of all weeks are learned again when there are a quarter more of them.
    Change points are learned every week. At most the last 60 weeks are looked back at.

    given, scaled :: As of :func:`smooth_series`.

    Some five times the work of :func:`smooth_series` at 36 weeks, and O(weeks) beyond 60.
    """
    masses: list[Vector | None] = []
    laws: list[Uncertainty | None] = []
    roots: list[Matrix | None] = []
    alone: set[int] = set()
    fit: _Fit | None = None
    learned_at = start = 0
    for week, one in enumerate(given):
        if one is None:
            masses.append(None)
            laws.append(None)
            continue
        if fit is None or week + 1 >= _MORE * learned_at:
            start = max(0, week + 1 - _LOOK_BACK)
            fit = _fitted(given[start : week + 1], scaled, passes=PASSES)
            roots = _roots(fit, range(len(fit.looks)))
            learned_at = week + 1
        else:
            fit = fit.extended(given[start : week + 1])
            roots += _roots(fit, range(len(roots), len(fit.looks)))
        last = len(fit.looks) - 1
        masses.append(fit.mass(last))
        alone |= {week} if fit.is_better_alone(last) else set()
        laws.append(_errors(fit, roots, [last], _BAND_INFLATION).law(last))
    assert fit is not None
    return WalkAnswer(masses, laws, fit.walk, fit.looks, None, frozenset(alone))


@dataclass(frozen=True, eq=False)
class _Fit:
    """Weeks with the walk that was learned from them."""

    weeks: _Weeks
    walk: Walk
    looks: Sequence[PseudoMeasurement | None]
    after: Smoothed
    line: NDArray[np.bool_]

    def mass(self, week: int) -> Vector | None:
        """Return a week's distribution: that of its own people, as far as their reports tell."""
        return _mass(self.walk, self.looks, self.weeks, self.after, week, self.line)

    def is_better_alone(self, week: int) -> bool:
        """Return whether a week's reports tell so much of its people that no other week adds to it.

        They tell the part ``D A`` of the draw D of the people, with A their information about the
        population. It is large on average, or not small on average over the directions that no
        wave of the walk has.
        """
        quadratic, pilot = self.weeks.quadratics[week], self.weeks.pilots[week]
        if quadratic is None or pilot is None:
            return False

        def told(rows: Matrix) -> float:
            drawn = (rows * pilot) @ rows.T - np.outer(rows @ pilot, rows @ pilot)
            return float(np.sum(drawn * quadratic.information)) / self.weeks.reports(week)

        whole, columns = np.eye(pilot.size), self.walk.columns
        left = pilot.size - 1 - columns.shape[1]
        if told(whole) > _MOST_TOLD * (pilot.size - 1):
            return True
        if left <= 0:
            return False
        return bool(told(whole - columns @ left_inverse(columns)) > _MOST_LEFT_OUT * left)

    def extended(self, given: Sequence[Given | None]) -> _Fit:
        """Return the fit with the weeks that came since, of which jumps are learned, no more."""
        more = len(given) - len(self.looks)
        state = self.after.mean[-1]
        pilot = np.maximum(self.walk.mean + self.walk.columns @ state, 0.0)
        pilot = _inside(pilot / pilot.sum())
        new = _Weeks.at(given[-more:], [None if one is None else pilot for one in given[-more:]])
        weeks = _Weeks(
            given, [*self.weeks.pilots, *new.pilots], [*self.weeks.quadratics, *new.quadratics]
        )
        longer = np.zeros(more)
        walk = replace(
            self.walk, jump=np.append(self.walk.jump, longer), odd=np.append(self.walk.odd, longer)
        )
        looks = [*self.looks, *walk.looks(new.quadratics)]
        walk = refitted(walk, looks, spectrum=False)
        return _Fit(weeks, walk, looks, smoothed(walk.filtered(looks)), self.line)


def _fitted(given: Sequence[Given | None], scaled: ScaledBasis, *, passes: int) -> _Fit:
    """Return the walk learned from these weeks, in passes."""
    uniform = np.full(scaled.size, 1 / scaled.size)
    everyone = [None if one is None else uniform for one in given]
    _, answer = _pooled(_Weeks.at(given, everyone), scaled, None)
    pilots = [None if one is None else _inside(answer) for one in given]
    for number in range(passes):
        weeks = _Weeks.at(given, pilots)
        prior, answer = _pooled(weeks, scaled, answer)
        rough = number + 1 < passes
        walk, looks = learned_walk(weeks.quadratics, prior, scaled, answer, rough=rough)
        fit = _Fit(weeks, walk, looks, smoothed(walk.filtered(looks)), scaled.line)
        if rough:
            masses = [fit.mass(week) for week in range(len(given))]
            pilots = [None if mass is None else _inside(mass) for mass in masses]
    return fit


def _inside(mass: Vector) -> Vector:
    pilot: Vector = 0.95 * mass + 0.05 / mass.size
    return pilot


def _pooled(
    weeks: _Weeks, scaled: ScaledBasis, answer: Vector | None
) -> tuple[NormalPrior, Vector]:
    """Return the prior of a single week learned from all, and the distribution of all."""
    together = weeks.pooled()
    prior = learned_prior(together.information, together.score, scaled, answer)
    posterior = Posterior.of(together.information, together.score, prior.mean, prior.covariance)
    return prior, posterior.distribution(scaled.line)


def _mass(
    walk: Walk,
    looks: Sequence[PseudoMeasurement | None],
    weeks: _Weeks,
    after: Smoothed | Filtered,
    week: int,
    line: NDArray[np.bool_],
) -> Vector | None:
    """Return a week's distribution: that of its own people, as far as their reports tell."""
    look, quadratic, pilot = looks[week], weeks.quadratics[week], weeks.pilots[week]
    if look is None or quadratic is None or pilot is None:
        return None
    state, spread = _with_own(look, walk.own_parts[week], after.mean[week], after.covariance[week])
    mean = walk.mean + walk.columns @ state
    covariance = walk.columns @ spread @ walk.columns.T
    people = weeks.reports(week)
    mean = mean + _drawn(pilot, quadratic.score - quadratic.information @ mean, people)
    drawn = (np.diag(pilot) - np.outer(pilot, pilot)) / people
    kept = np.eye(pilot.size) - drawn @ quadratic.information
    own = kept @ covariance @ kept.T + kept @ drawn
    return Posterior(mean, (own + own.T) / 2).distribution(line)


def _drawn(pilot: Vector, score: Vector, reports: int) -> Vector:
    """Return what a week's own people have beyond the population: ``D score``."""
    moved: Vector = pilot * (score - pilot @ score) / reports
    return moved


def _with_own(
    look: PseudoMeasurement, own: Vector, mean: Vector, covariance: Matrix
) -> tuple[Vector, Matrix]:
    """Return mean and covariance of ``a + u`` from those of a, given the week's reports.

    With B the information after u is integrated out, u given a has the gain ``U (b - B a)``, so
    ``a + u`` has ``I - U B`` times the error of a, and the rest of u's own.
    """
    part = without(look, own)
    if part is None or part is look:
        return mean, covariance
    told = own[:, None] * part.information
    center = mean + own * (part.score - part.information @ mean)
    kept = -told
    kept[np.diag_indices_from(kept)] += 1
    spread = kept @ covariance @ kept.T - told * own
    spread[np.diag_indices_from(spread)] += own
    return center, (spread + spread.T) / 2


def _roots(fit: _Fit, numbers: Sequence[int]) -> list[Matrix | None]:
    """Return the information of some weeks as columns, those that say something."""
    walk = fit.walk
    wider = _WITH_DIFFERENCES["between"]
    levels = wider.jump * (walk.jump.sum() + walk.odd.max()) + wider.flicker * walk.flicker
    levels += wider.least**2 * walk.jump.size
    usual = wider.jump * np.diag(walk.first) + wider.step * walk.step * walk.jump.size
    most = usual + levels * walk.shape
    looks = [fit.looks[number] for number in numbers]
    return [None if look is None else root_of(look.information, most) for look in looks]


def _errors(
    fit: _Fit,
    roots: Sequence[Matrix | None],
    chosen: Sequence[int],
    inflation: Mapping[Walked, Wider],
) -> WalkErrors:
    """Return the errors of all weeks under widened variances, with the centers of some weeks.

    All learned variances are multiplied, and into any week there may be a step of a little more
    than was seen.
    """
    walk, weeks = fit.walk, fit.weeks
    listed: list[WeekErrors | None] = []
    centers: list[dict[Walked, Vector]] = [{} for _ in roots]
    for number, (root, pilot) in enumerate(zip(roots, weeks.pilots, strict=True)):
        if root is None or pilot is None:
            listed.append(None)
        else:
            listed.append(WeekErrors(root, pilot, weeks.reports(number), centers[number]))
    errors = WalkErrors(
        as_stored(walk.columns),
        walk.first,
        walk.step,
        walk.shape,
        walk.jump,
        walk.odd,
        walk.flicker,
        inflation,
        METHOD,
        tuple(listed),
        np.array([np.zeros(walk.step.size) if one is None else one.score for one in fit.looks]),
    )
    for kind, after in errors.walks.items():
        for week in chosen:
            look, quadratic, pilot = fit.looks[week], weeks.quadratics[week], weeks.pilots[week]
            if look is None or quadratic is None or pilot is None:
                continue
            own = errors.own(kind, week)
            state, _ = _with_own(look, own, after.mean[week], after.covariance[week])
            mean = walk.mean + walk.columns @ state
            score = quadratic.score - quadratic.information @ mean
            centers[week][kind] = mean + _drawn(pilot, score, weeks.reports(week))
    return errors
