"""The expected distance of an estimate from the truth, for reports and for releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.decoders.releases.prefix_estimate import PrefixEstimate, prefix_estimate
from lapwing.decoders.releases.segment_curves import segments_alone
from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.arrays import Values, Vector
from lapwing.linear.operators.operator import as_operator
from lapwing.linear.operators.sums import CurveAnswers
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.question_draws import asked_draws
from lapwing.planning.chosen_bins import with_bins
from lapwing.planning.defaults import decoder_without_band
from lapwing.planning.expected_error import USER_LIMIT, ErrorByKind, ExpectedError
from lapwing.planning.label_recommendation import LABEL_LIMIT, populations, simulated_label_errors
from lapwing.planning.recommendation import columns_of, recommend, with_questions
from lapwing.planning.release_defaults import (
    quick_release_decoder,
    recommended_mechanism,
    release_bins,
)
from lapwing.planning.release_questions import expected_answers
from lapwing.planning.simulation import KINDS, column_on, simulated_errors
from lapwing.privacy.exact_numbers import ExactNumber, check_whole
from lapwing.privacy.guarantee import Neighbors, PrivacyUnit, american
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import MOST_PEOPLE, ExactCounts
from lapwing.protocol.randomizer import Randomizer
from lapwing.protocol.release import Mechanism, Release, check_unit
from lapwing.questions import Curve, Question, read_questions
from lapwing.registry import MECHANISMS
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import independent_critical_values
from lapwing.results.weak_parameters import warn_of_parameters

_DRAWS = 400
"""Simulated curves behind an expected largest error: 1.5% of it is the error of their mean."""

_SEED = 7919

_LEVEL = 0.95


@american
def expected_error(
    domain: Domain,
    people: int,
    *,
    epsilon: ExactNumber | None = None,
    delta: ExactNumber = 0,
    mu: ExactNumber | None = None,
    rho: ExactNumber | None = None,
    neighbors: Neighbors | None = None,
    by: Values | None = None,
    segments: Sequence[str | int] | None = None,
    unit: Values | None = None,
    most: int | None = None,
    randomizer: Randomizer | None = None,
    mechanism: Mechanism | str | None = None,
    expected: int | None = None,
    like: Distribution | ArrayLike | None = None,
    repeats: int = 12,
    questions: Sequence[Question | str] | None = None,
    shares: Any = None,
) -> ExpectedError:
    """Return the expected error of an estimate, without data and at no privacy cost.

    Without `neighbors` it predicts for reports that people randomize on their devices (local
    model). With `neighbors` it predicts for a release by a curator who holds the values (central
    model).

    Parameters
    ----------
    domain : Domain
        Legal values. If an interval has no bins, they are chosen as :func:`recommend` and
        :func:`release` choose them.
    people : int
        Number of people whose values are estimated. For reports it is in 1..10^9. For a release it
        is their public or expected number, in 1..2^40.
    epsilon : int, float, str or Fraction, optional
        Privacy parameter in nats, in (0, 24]. Leave it out with a randomizer, `mu` or `rho`.
    delta, mu, rho : number or str, optional
        Privacy parameters of a release, as for :func:`release`. Default of `delta`: 0.
    neighbors : {"replace-one", "add-or-remove-one"}, optional
        Neighbor relation of a release, required for every release.
    by : array_like, optional
        Segment of each row of a release, as for :func:`release`. Only `segments` is used.
    segments : sequence of str or int, optional
        Public segments of a release or of a survey. The field `segment` of the result then has the
        error within one segment, when all are of equal size.
    unit : array_like, optional
        Privacy unit of each row of a release, as for :func:`release`. Only `most` is used.
    most : int, optional
        For a release with several rows per unit, the largest number that count. `people` is then a
        number of rows.
    randomizer : Randomizer, optional
        Randomizer of the reports, whose errors are simulated. Default: the recommended one.
    mechanism : Mechanism or str, optional
        Mechanism of the release, or its name. Default: the recommended one.
    expected : int, optional
        Expected number of people for the choice of the mechanism, as for :func:`release`.
    like : Distribution or array_like [domain.size], optional
        For reports, and for the questions of a release, a public column for which to predict the
        errors. Default: reference columns.
    repeats : int
        Number of simulated columns of each kind, at least 1. The error of one varies by a third,
        so twelve give their mean to within a tenth. Default: 12.
    questions : sequence of Question or str, optional
        Questions whose errors are predicted. The field `questions` of the result contains them.
        For reports without a given randomizer, the recommended one suits the questions. For a
        release the errors are those of the answers, without the help of a curve that is asked.
    shares : sequence or mapping, optional
        Share of the budget for each question of a release, as for :func:`release`.

    Returns
    -------
    ExpectedError
        Predicted error for each distance.

    Raises
    ------
    ArgumentError, DomainError, PrivacyError, MismatchError
        When the survey or the release would be refused, or an argument does not apply to this
        model.

    Warns
    -----
    PrivacyWarning
        When delta is at least ``1 / people`` or above 1e-3, or epsilon is above 4.

    See Also
    --------
    recommend : Recommends a randomizer, and the number of people needed for an error.

    Notes
    -----
    **Privacy.** It uses no data, so it costs no privacy.

    **Accuracy.** For reports see :func:`recommend`. For a release, standard deviations are exact,
    and expected distances are means of 400 draws with the exact covariance. All are computed at
    the ends of bins (of cells, for a histogram query), for people without missing values. The
    tests compare them with real releases, within 10%. Where neighbors hide the number of people,
    shares of labels are divided by a noisy number as well. To the standard deviation of each share
    this adds less than that share of it.

    **Cost.** A millisecond if a table contains the errors. A release at 1024 bins takes about two
    seconds. A given randomizer takes a decode for every repeat and kind.

    Section III of [1]_ splits the error of a release into the same terms, and bounds each. Here
    the terms are computed.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional approximation methods for differentially private
       distribution estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> ages = lw.Interval(0, 100, bins=256)
    >>> lw.expected_error(ages, 100_000, epsilon=1)["wasserstein"].typical < 0.01
    True
    >>> error = lw.expected_error(
    ...     lw.Interval(0, 100, bins=128), 20_000, neighbors="replace-one", epsilon=1, delta=1e-6
    ... )
    >>> round(error.deviation, 5), error.noise < error.sampling < error.together
    (0.00054, True)
    >>> error = lw.expected_error(lw.Categories(50), 20_000, neighbors="replace-one", epsilon=1)
    >>> round(error.deviation, 5), round(error.margin, 5), round(error.simultaneous_margin, 5)
    (0.00014, 0.0003, 0.00069)
    """
    check_whole("repeats", repeats, low=1, error=ArgumentError)
    if neighbors is None:
        release_only: dict[str, Any] = {"mu": mu, "rho": rho, "mechanism": mechanism, "most": most}
        release_only |= {"expected": expected, "shares": shares}
        release_only |= {"by": by, "unit": unit}
        _refuse(delta=delta or None, where="a release", **release_only)
        check_whole("people", people, low=1, high=USER_LIMIT, error=ArgumentError)
        if randomizer is not None:
            _refuse(epsilon=epsilon, where="a survey without a given randomizer")
        elif epsilon is None:
            raise ArgumentError("give epsilon, the privacy parameter of one report")
        asked = None if questions is None else read_questions(questions)

        def error(number: int) -> ExpectedError:
            if randomizer is None:
                assert epsilon is not None
                named = {"like": like, "repeats": repeats, "questions": asked}
                found = recommend(domain, epsilon=epsilon, users=number, **named)  # type: ignore[arg-type]
                return found.expected_error
            simulated = _of_reports(domain, number, randomizer, like, repeats)
            return simulated if asked is None else with_questions(simulated, asked, like)

        found = error(people)
        if segments is None:
            return found
        return replace(found, segment=error(max(1, people // len(segments))))
    local: dict[str, Any] = {"randomizer": randomizer}
    local |= {"like": like} if questions is None else {}
    _refuse(where="reports. Leave neighbors out", **local)
    if unit is not None and most is None:
        raise ArgumentError("unit", "needs most: how many rows of one unit count")
    if by is not None and segments is None:
        raise ArgumentError("by", "needs segments: the public list of segments")
    whose = None if most is None else PrivacyUnit("unit", most)
    promise = Promise(neighbors, epsilon=epsilon, delta=delta, mu=mu, rho=rho, unit=whose)
    check_whole("people", people, low=1, high=MOST_PEOPLE, error=ArgumentError)
    domain, _ = with_bins(domain, release_bins(promise, by_segment=segments is not None))
    require_domain(domain)
    domain = (domain if segments is None else Segmented(domain, segments)).for_curator()

    def chosen_under(promise: Promise) -> Mechanism:
        if mechanism is None:
            return recommended_mechanism(domain, promise, expected=expected)
        found: Mechanism = MECHANISMS.resolve(mechanism)
        return found

    if questions is not None:
        asked = read_questions(questions)
        if [*asked] == [Curve()]:
            raise ArgumentError("leave out the questions to predict the curve alone")
        draws, from_curve, of_curve = asked_draws(domain, promise, asked, shares)
        draws.check()
        how = None if of_curve is None else (chosen_under(of_curve), of_curve)
        columns = question_columns(domain, like)
        return expected_answers(draws, people, columns, from_curve=from_curve, curve=how)
    chosen = chosen_under(promise)
    check_unit(chosen, promise)
    chosen.check(domain)
    stated = promise.guarantee(chosen.loss(domain, promise)).epsilon
    word = "people" if whose is None else "rows"
    warn_of_parameters(promise, stated, people, word=word, stacklevel=3)
    if isinstance(domain, Segmented):
        return _of_segments(domain, people, promise, chosen, repeats)
    if domain.ordered:
        return _of_numbers(domain, people, promise, chosen, repeats)
    return _of_labels(domain, people, promise, chosen)


def question_columns(
    domain: Domain, like: Distribution | ArrayLike | None = None
) -> Mapping[str, Vector]:
    """Return the columns on which answers are predicted: masses of the bins, by kind."""
    within = domain.domain if isinstance(domain, Segmented) else domain
    if like is None and not within.ordered:
        return populations(within.size)
    return {kind: of(0) for kind, of in columns_of(within, like).items()}


def _refuse(*, where: str, **given: Any) -> None:
    """Raise ArgumentError where an argument is given that is for something else."""
    for name, value in given.items():
        if value is not None:
            verb = "are" if name == "neighbors" else "is"
            raise ArgumentError(f"{name} {verb} for {where}")


def _of_reports(
    domain: Domain,
    people: int,
    randomizer: Randomizer,
    like: Distribution | ArrayLike | None,
    repeats: int,
) -> ExpectedError:
    """Return the simulated errors of a randomizer with its recommended decoder."""
    require_domain(domain)
    if randomizer.domain.to_document() != domain.to_document():
        raise MismatchError("the domain must match the randomizer's")
    if domain.ordered:
        found = simulated_errors(
            randomizer,
            decoder_without_band(randomizer),
            users=people,
            columns=columns_of(domain, like),
            repeats=repeats,
            seed=0,
        )
        errors = {name: ErrorByKind.of_repeats(of) for name, of in found.items()}
    else:
        if domain.size > LABEL_LIMIT:
            raise ArgumentError(
                f"the errors of a given randomizer are simulated on at most {LABEL_LIMIT} labels, "
                f"got {domain.size}. Leave the randomizer out"
            )
        laws: Mapping[str, Vector] = populations(domain.size)
        if like is not None:
            laws = {"like": columns_of(domain, like)["like"](0)}
        errors = simulated_label_errors(randomizer, people, laws=laws, seed=0)
    return ExpectedError(randomizer, people, errors, "simulation")


def _of_segments(
    table: Segmented, people: int, promise: Promise, mechanism: Mechanism, repeats: int
) -> ExpectedError:
    """Return the error of all cells, and that within a segment of the mean number of people."""
    each = max(1, people // len(table.segments))
    if table.domain.ordered:
        within = _of_numbers(table, each, promise, mechanism, repeats)
    else:
        within = _of_labels(table, each, promise, mechanism, shares=table.domain.size)
    if mechanism.name == "label-counts":
        return replace(_of_labels(table, people, promise, mechanism), segment=within)
    return ExpectedError(mechanism, people, {}, "simulation", segment=within)


def _of_labels(
    domain: Domain,
    people: int,
    promise: Promise,
    mechanism: Mechanism,
    *,
    shares: int | None = None,
) -> ExpectedError:
    """Return the error of released shares of labels: of so many at once, or all symbols."""
    nobody = ExactCounts(domain, np.zeros(domain.size, dtype=np.int64), promise.unit)
    release = mechanism.release(nobody, promise, rng=seeded(1))
    deviation = float(np.sqrt(release.variance)) / people
    laplace = np.array([1.0 if release.parts[0].noise.kind == "laplace" else 0.0])
    margin, simultaneous = (
        deviation * float(independent_critical_values(_LEVEL, count, laplace)[0])
        for count in (1, shares or domain.size)
    )
    return ExpectedError(
        mechanism,
        people,
        {},
        "formula",
        deviation=deviation,
        margin=margin,
        simultaneous_margin=simultaneous,
    )


def _of_numbers(
    domain: Domain, people: int, promise: Promise, mechanism: Mechanism, repeats: int
) -> ExpectedError:
    """Return the errors of a released distribution function. Of a table, in one segment."""
    values = domain.domain if isinstance(domain, Segmented) else domain
    held = values.left.size
    even = np.full(held, 1 / held)
    rng = np.random.default_rng(_SEED)
    drawn = rng.multinomial(people, even, size=_DRAWS)
    sampling = np.cumsum(drawn / people - even, axis=1).T
    trial = _trial(mechanism, domain, promise, drawn[0], seed=0)
    deviations, curves, ends = _noise(trial, rng, people)
    together = None
    if curves is not None and ends is not None:
        together = _mean_largest(curves + sampling[ends])
    if deviations is not None:
        deviations = deviations[: max(1, deviations.size - 1)]
    return ExpectedError(
        mechanism,
        people,
        {"kolmogorov_smirnov": _answer(mechanism, domain, promise, people, repeats)},
        "simulation",
        deviation=None if deviations is None else float(np.sqrt(np.mean(deviations**2))),
        largest_deviation=None if deviations is None else float(deviations.max()),
        noise=None if curves is None else _mean_largest(curves),
        sampling=_mean_largest(sampling),
        together=together,
    )


def _mean_largest(curves: Vector) -> float:
    return float(np.abs(curves).max(axis=0).mean())


def _trial(
    mechanism: Mechanism, domain: Domain, promise: Promise, counts: NDArray[np.int64], *, seed: int
) -> Release:
    """Return a release of made-up people, with noise of the seed. Of a table, its first segment."""
    whole = np.append(counts, np.zeros(domain.size - counts.size, dtype=np.int64))
    made = mechanism.release(ExactCounts(domain, whole, promise.unit), promise, rng=seeded(seed))
    if isinstance(domain, Segmented):
        return next(iter(segments_alone(made, domain).values()))
    return made


def _noise(
    release: Release, rng: np.random.Generator, people: int
) -> tuple[Vector | None, Vector | None, NDArray[np.int64] | None]:
    """Return deviations and draws of a curve's noise in shares, and the symbols they are at.

    Nothing for adaptive mechanisms. No symbols for projections.
    """

    def drawn_for(answers: int) -> Vector:
        # Laplace noise has a larger largest error than normal noise of the same variance.
        if release.parts[0].noise.kind == "laplace":
            return rng.laplace(scale=np.sqrt(0.5), size=(answers, _DRAWS))
        return rng.standard_normal((answers, _DRAWS))

    if getattr(release.mechanism, "_adaptive", False):
        return None, None, None
    block = release.channel.blocks[0]
    held = release.domain.left.size
    operator: Any = block.operator  # of its mechanism, which says what it is
    if isinstance(operator, CurveAnswers):
        back = operator.curve * np.sqrt(release.variance) / people
        back[-1] = 0.0  # the curve is set to 1 there
        return np.sqrt((back**2).sum(axis=1)), back @ drawn_for(back.shape[1]), None
    if release.mechanism.name == HistogramQuery.name:
        ends = operator.starts + operator.lengths - 1
        root = as_operator(np.tri(ends.size))
        estimate = PrefixEstimate(np.zeros(ends.size), root, release.variance)
    else:
        estimate = prefix_estimate(release.channel, release)
        ends = np.arange(release.domain.size)
    ends = ends[ends < held]
    # What the decoders take as known: the number of people, and where the present ones end.
    known = [ends.size - 1]
    if release.people is not None and estimate.sums.size > ends.size:
        known.append(estimate.sums.size - 1)
    scale = np.sqrt(estimate.variance) / people
    deviations, drawn = _conditioned(estimate, known, drawn_for(estimate.root.shape[1]))
    return deviations[: ends.size] * scale, drawn[: ends.size] * scale, ends


def _conditioned(
    estimate: PrefixEstimate, known: Sequence[int], noise: Vector
) -> tuple[Vector, Vector]:
    """Return deviations of the sums, and their draws for unit noise, when some sums are known."""
    drawn = estimate.root.matmat(noise)
    variances = estimate.root.squared_row_sums()
    for index in known:
        column = estimate.column(index)
        drawn -= np.outer(column / column[index], drawn[index])
        estimate = estimate.condition(index, 0.0)
    variances -= (estimate.removed**2).sum(axis=1)
    return np.sqrt(np.maximum(variances, 0.0)), drawn


def _answer(
    mechanism: Mechanism, domain: Domain, promise: Promise, users: int, repeats: int
) -> ErrorByKind:
    """Return the error of the decoded answer on made-up columns."""
    values = domain.domain if isinstance(domain, Segmented) else domain
    decoder = quick_release_decoder(mechanism, values)
    errors: dict[str, list[float]] = {}
    for kind in KINDS:
        for number in range(repeats):
            column = column_on(values, kind, size=values.left.size, number=number)
            rng = np.random.default_rng([_SEED, number])
            counts = rng.multinomial(users, column)
            release = _trial(mechanism, domain, promise, counts, seed=number)
            found = decoder.decode(release.channel, release).cumulative.sums
            largest = float(np.abs(found - np.cumsum(column)).max())
            errors.setdefault(kind, []).append(largest)
    return ErrorByKind.of_repeats(errors)
