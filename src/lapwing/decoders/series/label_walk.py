"""A series of labels decoded together: one Kalman smoother for each label.

Each week gives every label an unbiased estimate with a known variance. A filter and a smoother of
one number per label, all labels at once, linear in the labels. The size of steps has one level for
all labels, in proportion to the root of their shares, as counts vary. A change point of one label
in one week has a variance of its own, which goes to zero where the reports show none.

About the population, a week's estimate has two errors: the noise of its reports and the draw of its
people. Given the population, the reports tell a part of that draw, which is added last. Bands allow
for a change alongside any week that nobody could have found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.decoders.empirical_bayes.mixture_prior import shrunk
from lapwing.decoders.unbiased.linear_estimate import UnbiasedShares
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.covariance import Covariance
from lapwing.linear.projections import simplex
from lapwing.results.uncertainty import Uncertainty, Variants
from lapwing.results.walk_errors import LabelErrors, OwnPeople

LEVELS = (0.0, *np.geomspace(1e-4, 0.2, 12).tolist())
"""Standard deviations of a week's step of a label that everybody has. The grid of the evidence."""

SPARSITY = 5.0
"""How much stronger than its noise a label's jump must be before its variance grows."""
# There are as many chances for one as labels.

FEW = 24
"""Labels from which what all shares are like is learned, as where one week is decoded."""

PRICE = 4.0
"""Log-evidence that a jump must win alongside the logarithm of the jumps that might be found."""

METHOD = "posterior of a random walk of each label over the weeks"

_FLAT = 0.25
"""Prior variance of a share in the first week: anything goes."""

_SWEEPS = 20

LOOK_BACK = 60
"""Weeks looked back at where a week is decoded from those before it."""

_NEGLIGIBLE = 1e-6
"""Part of a share below which the variance of a jump counts as none."""

_BAND_INFLATION, _LEAST = 4.0, 0.01
"""Factor on the variances of steps, for bands, and the least standard deviation of a step there."""

_UNSEEN, _CONTRASTS = 0.12**2, 10.0
"""Variance of a jump that may be next to any week unseen, for bands."""
# The square of the largest that they allow for. Then an interval holds if both sides are off by
# that jump, as alongside a single odd week. It is at most ten times the variance of the gap between
# the two sides, because larger jumps are found. With three times, intervals of an odd week held in
# 91%, of all labels at once in 80%.

_BETWEEN = 20.0
"""As `_CONTRASTS`, for the difference of two weeks."""
# There a jump moves both sides toward each other and so counts twice. A jump of a single week that
# is three times the noise is then covered in 94%, and the interval is 0.87 times as wide as that of
# the weeks alone.

_ANYWHERE = 1e3
"""Prior variance of a share before the first week and after the last, for bands."""


@dataclass(frozen=True, eq=False)
class LabelAnswer:
    """All weeks of labels decoded together.

    masses: float64 [labels] for each week with reports.
    errors: Under widened variances, about the population.
    jump: float64 [weeks, labels]: variances of jumps that were found.
    gained: float64 [weeks]: log-evidence for the jump of most evidence into a week, minus the price
        of a finding. The price is the logarithm of the number of possible ones.
    """

    masses: Sequence[Vector | None]
    uncertainties: Sequence[Uncertainty | None]
    errors: LabelErrors
    jump: Matrix
    gained: Vector

    def evidence(self, week: int) -> float:
        """Return the log-evidence of the jumps into a week beyond their price, 0 without any."""
        return max(0.0, float(self.gained[week]))


def walked_labels(weeks: Sequence[UnbiasedShares | None]) -> LabelAnswer:
    """Return the shares of every week given all weeks.

    weeks: One for each week, over the same labels, or None where nobody reported.

    O(weeks * labels).
    """
    return _walked(weeks, range(len(weeks)))


def walked_labels_so_far(
    weeks: Sequence[UnbiasedShares | None],
) -> tuple[list[Vector | None], list[Uncertainty | None]]:
    """Return masses and error distributions of every week, learned from the weeks up to it.

    At most the last 60 weeks are looked back at. O(weeks * labels), times those that are looked
    back at.
    """
    masses: list[Vector | None] = []
    laws: list[Uncertainty | None] = []
    for number in range(len(weeks)):
        past = weeks[max(0, number + 1 - LOOK_BACK) : number + 1]
        if past[-1] is None:
            masses.append(None)
            laws.append(None)
            continue
        # Given the weeks up to it, the last one of them is as the smoother has it.
        answer = _walked(past, [len(past) - 1])
        masses.append(answer.masses[-1])
        laws.append(answer.uncertainties[-1])
    return masses, laws


def _walked(weeks: Sequence[UnbiasedShares | None], chosen: Sequence[int]) -> LabelAnswer:
    """Return the answer with masses and distributions of the chosen weeks."""
    there = [week for week in weeks if week is not None]
    labels = there[0].shares.size
    precise = [1 / (week.empty + 1 / (labels * week.reports)) for week in there]
    weight = np.sum(precise, axis=0)
    pooled = np.sum([week.shares * each for week, each in zip(there, precise, strict=True)], axis=0)
    # Nobody knows that a label is empty better than the reports of all weeks do.
    least = np.minimum(1 / np.sqrt(weight), 1 / labels)
    usual = np.maximum(simplex(pooled / weight), least)
    seen = [None if week is None else week.shares for week in weeks]
    noise = [None if week is None else _about_all(week, usual) for week in weeks]
    step, jump = _learned(seen, noise, usual)
    rough = _walk(seen, noise, step + jump).mean
    plug_ins = [np.maximum(simplex(mean), least) for mean in rough]
    noise = [
        None if week is None else _about_all(week, plug_in)
        for week, plug_in in zip(weeks, plug_ins, strict=True)
    ]
    found = _walk(seen, noise, step + jump)
    wider = _BAND_INFLATION * (step + jump) + _LEAST**2 * usual
    gap, *beside = _beside(seen, noise, wider)
    wide = _walk(seen, noise, wider + _BETWEEN * gap)
    center, kept, drawn = np.zeros((3, len(weeks), labels))
    masses: list[Vector | None] = [None] * len(weeks)
    laws: list[Uncertainty | None] = [None] * len(weeks)
    for number in chosen:
        week = weeks[number]
        if week is not None:
            plug_in = plug_ins[number]
            own = _own(week, plug_in, found.mean[number], found.variance[number])
            masses[number] = _mass(*own, week)
            laws[number] = _law(week, plug_in, *(part[number] for part in beside))
            drawn[number] = _drawn(week, plug_in)
            kept[number] = 1 - _told(week, plug_in)
            center[number] = _own(week, plug_in, wide.mean[number], wide.variance[number])[0]
    gained = _gained(seen, noise, step, jump)
    wide = replace(wide, own=OwnPeople(center, kept, drawn * kept))
    return LabelAnswer(masses, laws, wide, jump, gained)


def _drawn(week: UnbiasedShares, plug_in: Vector) -> Vector:
    """Return the variances of the draw of a week's people: float64 [labels]."""
    variance: Vector = plug_in * np.maximum(1 - plug_in, 1 / week.reports) / week.reports
    return variance


def _about_all(week: UnbiasedShares, plug_in: Vector) -> Vector:
    """Return the variances of a week's estimates about the population: noise and draw."""
    return week.variance(plug_in) + _drawn(week, plug_in)


def _learned(
    seen: Sequence[Vector | None], noise: Sequence[Vector | None], usual: Vector
) -> tuple[Vector, Matrix]:
    """Return the variances of steps and of jumps that the weeks support best.

    Sought from two sides, because what one explains the other need not: breaks first, between
    which nothing moves, or steps first, without jumps.
    """
    quiet = np.zeros((len(seen), usual.size))
    steady = _jumps(seen, noise, _best_step(seen, noise, usual, quiet))
    best: tuple[float, Vector, Matrix] | None = None
    for jump in (_breaks(seen, noise), steady):
        step = _best_step(seen, noise, usual, jump)
        price = np.count_nonzero(jump > _NEGLIGIBLE * usual) * np.log(jump.size)
        worth = float(_evidences(seen, noise, step + jump).sum()) - price
        if best is None or worth > best[0]:
            best = worth, step, jump
    assert best is not None
    return best[1], best[2]


def _best_step(
    seen: Sequence[Vector | None], noise: Sequence[Vector | None], usual: Vector, jump: Matrix
) -> Vector:
    """Return the variances of steps of most evidence alongside these jumps: float64 [labels]."""

    def evidence(level: float) -> float:
        return float(_evidences(seen, noise, level**2 * usual + jump).sum())

    step: Vector = max(LEVELS, key=evidence) ** 2 * usual
    return step


def _mass(mean: Vector, variance: Vector, week: UnbiasedShares) -> Vector:
    """Return the nearest distribution. Of many labels, shrunk by what they all are like."""
    if mean.size < FEW:
        return simplex(mean)
    known = UnbiasedShares(mean, np.maximum(variance, 1e-300), 0.0, week.reports, week.tails)
    return shrunk(known.with_total()).mass


def _told(week: UnbiasedShares, plug_in: Vector) -> Vector:
    """Return the part of the draw of a week's people that its reports tell, given the population.

    It is the part that the draw has in the variance of the estimate.
    """
    told: Vector = _drawn(week, plug_in) / _about_all(week, plug_in)
    return told


def _own(
    week: UnbiasedShares, plug_in: Vector, mean: Vector, variance: Vector
) -> tuple[Vector, Vector]:
    """Return mean and variance of the shares of a week's own people from the population's."""
    drawn, told = _drawn(week, plug_in), _told(week, plug_in)
    center = mean + told * (week.shares - mean)
    return center, (1 - told) ** 2 * variance + drawn * (1 - told)


def _law(week: UnbiasedShares, plug_in: Vector, mean: Vector, variance: Vector) -> Uncertainty:
    """Return the error distributions about the week's own people and about the population."""
    noise, drawn = week.variance(plug_in), _drawn(week, plug_in)
    # By what part of its error the week's own estimate is in the answer.
    taken, told = variance / (noise + drawn), _told(week, plug_in)
    center, spread = _own(week, plug_in, mean, variance)
    own = _about(week, plug_in, center, spread, noise * (told + (1 - told) * taken) ** 2)
    everybody = _about(week, plug_in, mean, variance, noise * taken**2)
    variants = Variants(population_pointwise=everybody, population_simultaneous=everybody)
    return replace(own, whole=week.whole, variants=variants)


def _about(
    week: UnbiasedShares, plug_in: Vector, center: Vector, variance: Vector, noise: Vector
) -> Uncertainty:
    """Return an error distribution of these variances, of which so much is this week's noise."""
    # All shares sum to one, so their errors are correlated as those of a multinomial draw.
    part = variance / variance.sum()
    scaled = variance / np.maximum(1 - part, _NEGLIGIBLE)
    columns = np.sqrt(part * scaled)[:, None]
    return Uncertainty(
        center,
        Covariance(scaled, columns, np.array([-1.0])),
        np.zeros(center.size),
        plug_in / plug_in.sum(),
        week.reports,
        METHOD,
        # As of a week alone: errors of counts are independent, and normal or Laplace.
        laplace=None if week.whole else float(noise.max()) * (week.tails == "laplace"),
    )


def _beside(
    seen: Sequence[Vector | None], noise: Sequence[Vector | None], steps: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """Return variances of the gap into each week, and means and variances with room for jumps.

    Each week combines its own reports, the filter of those before it, and the filter of those after
    it in reverse. Both filters are doubted by the variance of a jump between them and the week.
    """
    before, ahead, *_ = _filtered(seen, noise, steps, flat=_ANYWHERE)
    back = np.vstack([steps[:1], steps[:0:-1]])
    after, behind, *_ = _filtered(seen[::-1], noise[::-1], back, flat=_ANYWHERE)
    after, behind = after[::-1], behind[::-1]
    precise = np.array([np.zeros(steps.shape[1]) if own is None else 1 / own for own in noise])
    gap = ahead + 1 / (precise + 1 / behind)
    unseen = np.minimum(_UNSEEN, _CONTRASTS * gap)
    mean, variance = before.copy(), ahead.copy()
    for week, value in enumerate(seen):
        if value is None:
            continue
        left = 1 / (ahead[week] + unseen[week])
        right = 1 / (behind[week] + (unseen[week + 1] if week + 1 < len(seen) else 0.0))
        variance[week] = 1 / (left + right + precise[week])
        known = before[week] * left + after[week] * right + value * precise[week]
        mean[week] = known * variance[week]
    return gap, mean, variance


def _filtered(
    seen: Sequence[Vector | None],
    noise: Sequence[Vector | None],
    steps: Matrix,
    *,
    flat: float = _FLAT,
) -> tuple[Matrix, Matrix, Matrix, Matrix, Vector]:
    """Return predicted means and variances, those after the reports, and the evidence."""
    weeks, labels = steps.shape
    predicted, ahead, mean, variance = np.zeros((4, weeks, labels))
    center, spread = np.full(labels, 1 / labels), np.full(labels, flat)
    evidence = np.zeros(labels)
    for week in range(weeks):
        if week:
            spread = spread + steps[week]
        predicted[week], ahead[week] = center, spread
        value, own = seen[week], noise[week]
        if value is not None and own is not None:
            total = spread + own
            off = value - center
            evidence -= (off**2 / total + np.log(total)) / 2
            center = center + spread / total * off
            spread = spread * own / total
        mean[week], variance[week] = center, spread
    return predicted, ahead, mean, variance, evidence


def _evidences(
    seen: Sequence[Vector | None], noise: Sequence[Vector | None], steps: Matrix
) -> Vector:
    """Return the log-evidence of each label's walk: float64 [labels]."""
    return _filtered(seen, noise, steps)[-1]


def _walk(
    seen: Sequence[Vector | None], noise: Sequence[Vector | None], steps: Matrix
) -> LabelErrors:
    """Return the smoother's answer."""
    _, ahead, mean, variance, _ = _filtered(seen, noise, steps)
    carried = np.zeros(mean.shape)
    mean, variance = mean.copy(), variance.copy()
    for week in reversed(range(mean.shape[0] - 1)):
        part = variance[week] / ahead[week + 1]
        carried[week] = part
        variance[week] += part**2 * (variance[week + 1] - ahead[week + 1])
        mean[week] += part * (mean[week + 1] - mean[week])
    return LabelErrors(mean, variance, carried)


def _breaks(seen: Sequence[Vector | None], noise: Sequence[Vector | None]) -> Matrix:
    """Return the variances of jumps between levels that do not move: float64 [weeks, labels].

    Each label's weeks are parted where two levels fit so much better than one that the finding is
    worth its price, then either part likewise (binary segmentation).
    """
    there = [week for week, value in enumerate(seen) if value is not None]
    values = np.array([value for value in seen if value is not None])
    weights = np.array([1 / own for own in noise if own is not None])
    jump = np.zeros((len(seen), values.shape[1]))
    price = PRICE + np.log(jump.size)
    for label in range(values.shape[1]):
        parts = [(0, len(there))]
        while parts:
            first, stop = parts.pop()
            found = _best_break(values[first:stop, label], weights[first:stop, label])
            if found is None or found[1] <= price:
                continue
            middle = first + found[0]
            jump[there[middle], label] = found[2]
            parts += [(first, middle), (middle, stop)]
    return jump


def _best_break(values: Vector, weights: Vector) -> tuple[int, float, float] | None:
    """Return where two levels fit best, the log-evidence for them, and the jump's variance."""
    if values.size < 2:
        return None
    before = np.cumsum(weights)[:-1]
    after = weights.sum() - before
    sums = np.cumsum(weights * values)
    apart = (sums[-1] - sums[:-1]) / after - sums[:-1] / before
    variance = 1 / before + 1 / after
    square = np.maximum(apart**2 / variance, 1.0)
    evidence = (square - 1 - np.log(square)) / 2
    place = int(np.argmax(evidence))
    return place + 1, float(evidence[place]), float(apart[place] ** 2)


def _jumps(seen: Sequence[Vector | None], noise: Sequence[Vector | None], step: Vector) -> Matrix:
    """Return the variances of jumps that the reports show: float64 [weeks, labels].

    Fixed-point updates from the score of each step and its variance.
    """
    weeks = len(seen)
    jump = np.zeros((weeks, step.size))
    jump[1:] = np.maximum(step, 1e-4)
    for _ in range(_SWEEPS):
        predicted, ahead, *_ = _filtered(seen, noise, step + jump)
        later, spread = np.zeros((2, step.size))
        for week in reversed(range(1, weeks)):
            value, own = seen[week], noise[week]
            if value is not None and own is not None:
                total = ahead[week] + own
                passed = own / total
                later = (value - predicted[week]) / total + passed * later
                spread = 1 / total + passed**2 * spread
            told = later**2 / (SPARSITY * np.maximum(spread, 1e-300))
            jump[week] = np.clip(jump[week] * told, 0.0, 1.0)
    return np.where(jump > 1e-3 * np.maximum(step, 1e-9), jump, 0.0)


def _gained(
    seen: Sequence[Vector | None], noise: Sequence[Vector | None], step: Vector, jump: Matrix
) -> Vector:
    """Return the evidence that jumps into a week win, less their price: float64 [weeks]."""
    whole = _evidences(seen, noise, step + jump)
    weeks, labels = jump.shape
    price = PRICE + np.log(weeks * labels)
    gained = np.full(weeks, -np.inf)
    for week in np.flatnonzero(jump.any(axis=1)).tolist():
        fewer = jump.copy()
        fewer[week] = 0.0
        gained[week] = float((whole - _evidences(seen, noise, step + fewer)).max()) - price
    return gained
