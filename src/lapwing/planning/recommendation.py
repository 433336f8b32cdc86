"""The randomizer and the decoder to use: the only module that pairs them.

:func:`recommend` chooses by predicted error, and states how large that error will be. It also
computes how many people are needed for a smaller error. :func:`recommended_decoder` returns the
decoder for a randomizer that is already chosen.

`benchmarks/accuracy/promises/risk_table.py` makes the shipped risk table. It covers every pair of
randomizer and decoder that :func:`lapwing.recommend` may return. It has the mean error on
reference columns of each kind, over a grid of epsilon, people and bins. The errors are pooled
where simulation noise made them rise with the number of people. This module reads and interpolates
the table.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lapwing.errors import ArgumentError, DomainError, FormatError, MismatchError, PrivacyWarning
from lapwing.linear.arrays import Vector, as_numbers
from lapwing.linear.memoized import cached_property
from lapwing.planning.chosen_bins import (
    BINS_FOR_ATOMS,
    EPSILON_FOR_ATOMS,
    advice_on,
    recommended_bins,
    with_bins,
)
from lapwing.planning.defaults import (
    NUMERIC_LIMIT,
    decoder_without_band,
    default_decoder,
    recommended_decoder,
)
from lapwing.planning.error_sheet import Errors, Sheet, between
from lapwing.planning.expected_error import (
    USER_LIMIT,
    ErrorByKind,
    ExpectedError,
    Recommendation,
    people_needed,
)
from lapwing.planning.label_recommendation import (
    LABEL_LIMIT,
    categorical_choice,
    least_variance,
    option_of,
    populations,
    predicted_errors,
    simulated_gaps,
)
from lapwing.planning.pair_recommendation import DISTANCE, recommend_pairs
from lapwing.planning.planned_parts import planned_parts
from lapwing.planning.question_design import (
    QuestionDesign,
    predicted_distances,
    question_design,
    question_errors,
    symbol_of,
)
from lapwing.planning.simulation import KINDS, Column, reference_family, simulated_errors
from lapwing.privacy.exact_numbers import ExactNumber, exact_epsilon
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.ranges import symbol_places
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer
from lapwing.questions import Curve, Question, Share, read_questions
from lapwing.randomizers.categorical.asked_labels import AskedLabels
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.randomizers.numerical.square_wave import SquareWave
from lapwing.results.distribution import Distribution
from lapwing.results.weak_parameters import warn_of_epsilon

FORMAT = "lapwing-risk-table"
VERSION = 1

DISTANCES = ("wasserstein", "kolmogorov_smirnov")
"""Distances in the table: W1 as a share of the range, and KS."""


@dataclass(frozen=True)
class RiskTable:
    """Errors of all pairs.

    document: Table as the benchmark writes it, see :func:`shipped`.
    """

    document: dict[str, Any]

    def __post_init__(self) -> None:
        """Check the format."""
        said = (self.document.get("format"), self.document.get("version"))
        if said != (FORMAT, VERSION):
            raise FormatError(f"this must be a {FORMAT} document of version {VERSION}")

    @cached_property
    def _sheets(self) -> dict[str, dict[int, Sheet]]:
        sheets: dict[str, dict[int, Sheet]] = {}
        for one in self.document["sheets"]:
            errors = {
                distance: {kind: np.array(nodes) for kind, nodes in one[distance].items()}
                for distance in DISTANCES
            }
            sheet = Sheet(tuple(one["epsilon"]), tuple(one["users"]), errors)
            sheets.setdefault(one["pair"], {})[one["size"]] = sheet
        return {pair: dict(sorted(sizes.items())) for pair, sizes in sheets.items()}

    @property
    def pairs(self) -> tuple[str, ...]:
        """The names of the pairs: those of their randomizers."""
        return tuple(self._sheets)

    def sizes(self, pair: str) -> tuple[int, ...]:
        """Return the numbers of symbols at which a pair was simulated, increasing."""
        return tuple(self._sheets[pair])

    def sheet(self, pair: str, size: int) -> Sheet:
        """Return the nodes of one pair at one of its sizes."""
        return self._sheets[pair][size]

    def errors(self, pair: str, *, size: int, epsilon: float, users: float) -> Errors:
        """Return the predicted mean errors, by distance and kind of column.

        pair: One of :attr:`pairs`.
        size: Number of bins. Between sizes errors are linear in the logarithms. Above the largest
            they are those of the largest, where they hardly depend on it.
        epsilon: Privacy parameter of one report, in (0, 24], in nats.
        users: Number of people, at least 1.
        """
        sizes = self.sizes(pair)
        if size < sizes[0]:
            raise ArgumentError(f"the table has {pair} from {sizes[0]} symbols on, got {size}")
        first, part = between(sizes, size, beyond=False)
        low, high = (
            self._sheets[pair][sizes[position]].at(epsilon=epsilon, users=users)
            for position in (first, min(first + 1, len(sizes) - 1))
        )
        return {
            distance: {
                kind: low[distance][kind] ** (1 - part) * high[distance][kind] ** part
                for kind in low[distance]
            }
            for distance in low
        }


@cache
def shipped() -> RiskTable:
    """Return the table that comes with the package."""
    text = (
        resources.files("lapwing.planning").joinpath("risk_table.json").read_text(encoding="utf-8")
    )
    return RiskTable(json.loads(text))


PAIRS: Mapping[str, Callable[[Domain, ExactNumber], Randomizer[CountTally]]] = {
    "multiscale-wave": MultiscaleWave,
    "square-wave": SquareWave,
    "subset-selection": least_variance,
}
"""Randomizers for numbers that are compared, each with its recommended decoder."""
# Subsets of one symbol are randomized response, so that is among them.


def recommend(
    domain: Domain,
    *,
    epsilon: ExactNumber,
    users: int | None = None,
    error: float | None = None,
    distance: str | None = None,
    kind: str = "typical",
    refine: bool = False,
    like: Distribution | ArrayLike | None = None,
    repeats: int = 16,
    seed: int = 0,
    report_bytes: int | None = None,
    server_seconds: float | None = None,
    questions: Sequence[Question | str] | None = None,
) -> Recommendation:
    """Return the randomizer and decoder with the least predicted error, and that error.

    Parameters
    ----------
    domain : Domain
        Legal values. Numbers may have at most 4096 bins. A :class:`Product` has two attributes. An
        interval without bins gets bins of a round width: 128 to 512 of them, or 512 to 2048 from
        epsilon 2 on. The `reason` states it.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats.
    users : int, optional
        Number of people who will report, at least 1. Give this or `error`. It must be public. For
        pairs it determines the blocks, which are finer from 150,000 people at epsilon 1 on.
    error : float, optional
        Predicted error to reach, in (0, 1). The answer's `users` is the smallest number of people
        that reaches it.
    distance : str, optional
        Distance to minimize. For numbers: ``"wasserstein"`` (default), as a share of the range, or
        ``"kolmogorov_smirnov"``. For labels: ``"l1"`` (default up to 2^18 labels),
        ``"mean_squared_error"``, or ``"detectable_share"`` (default for more). The last is the
        smallest share that is detected as a heavy hitter with probability 0.95. For pairs:
        ``"rectangle"``.
    kind : {"typical", "smooth", "multimodal", "spiky"}
        Kind of column for the choice and the target: the mean over all kinds, or one of them.
        Default: "typical".
    refine : bool
        Whether to simulate the recommended pair on the reference columns instead of reading the
        table. Default: False.
    like : Distribution or array_like [domain.size], optional
        Column on which to simulate the pair: a public one, or a guess. It must not come from the
        people to be protected. For numbers, a multiscale wave gets the mixture components with the
        least predicted error on this column, if they help. Default: none.
    repeats : int
        Number of simulations of each column, at least 1. Default: 16.
    seed : int
        Seed of the simulations. Default: 0.
    report_bytes : int, optional
        For labels, the most bytes that a report may have. One byte is enough for up to 2^14
        labels, by compressive privatization, whose errors are simulated. This takes at most a few
        seconds with `users`, and up to a minute with `error`. Default: no limit.
    server_seconds : float, optional
        For labels, the approximate limit on the CPU seconds of tallying and decoding. Default: no
        limit.
    questions : sequence of Question or str, optional
        Questions from :mod:`lapwing.questions` that the result must answer, or their strings. The
        design then suits them: cells for shares and histograms, including those of labels, and one
        wave for a mean. Other questions get wider intervals. With ``Curve()`` among them, some of
        the people report by the default design. Default: the whole curve.

    Returns
    -------
    Recommendation
        Randomizer, decoder and predicted errors.

    Raises
    ------
    ArgumentError
        When an argument is out of its range, or no number of people reaches the error. The message
        then states the least error that can be reached.
    PrivacyError
        When epsilon is not in (0, 24].

    Warns
    -----
    PrivacyWarning
        When epsilon is above 4.

    See Also
    --------
    expected_error : Predicts the error of a given randomizer, or of a release.

    Notes
    -----
    **Privacy.** It uses no data, so it costs no privacy.

    **Accuracy.** The section on predicted errors in `benchmarks/accuracy` compares the predictions
    with simulation on columns that the table has not seen. Columns of one kind differ among
    themselves by more than the prediction error.

    **Cost.** A millisecond. With `refine` or `like` it takes a decode for every repeat and kind,
    and a few times that for `error`. The mixture that suits `like` takes a second.

    Examples
    --------
    >>> import lapwing as lw
    >>> best = lw.recommend(lw.Interval(0, 100, bins=256), epsilon=1, users=100_000)
    >>> best.randomizer.name, best.decoder.name, best.report_bytes
    ('multiscale-wave', 'spectral-prior', 4)
    >>> asked = lw.recommend(
    ...     lw.Interval(0, 100), epsilon=1, users=100_000, questions=["share above 65"]
    ... )
    >>> round(asked.expected_error.questions["share above 65"].typical, 4), asked.report_bytes
    (0.003, 2)
    """
    epsilon = exact_epsilon(epsilon)
    warn_of_epsilon(epsilon, seen="one report", stacklevel=2)
    if questions is not None:
        _check_target(users, error)
        rest: dict[str, Any] = {"distance": distance, "kind": kind, "report_bytes": report_bytes}
        rest |= {"server_seconds": server_seconds, "refine": refine, "error": error}
        simulated: dict[str, Any] = {"repeats": repeats, "seed": seed}
        return _for_questions(
            domain,
            epsilon,
            read_questions(questions),
            users=users,
            like=like,
            rest=rest,
            **simulated,
        )
    domain, bins_sentence = with_bins(domain, recommended_bins(epsilon))
    bins_sentence = f"{advice_on(domain)} {bins_sentence}".strip()
    if not isinstance(domain, Product):  # whose axes may have no bins yet
        require_domain(domain)
    _check_target(users, error)
    if kind != "typical" and kind not in KINDS:
        raise ArgumentError("kind", f"must be typical or one of {', '.join(KINDS)}", repr(kind))
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ArgumentError("repeats", "must be a whole number of at least 1", repr(repeats))
    if isinstance(domain, Product) and any(axis.ordered for axis in domain.domains):
        if kind != "typical" or distance not in (None, DISTANCE):
            raise ArgumentError(
                "kind",
                f"and distance are fixed for pairs, where the {DISTANCE} error is predicted",
                advice="Leave both out",
                others=("distance",),
            )
        _check_for_labels(report_bytes, server_seconds)
        return recommend_pairs(
            domain,
            epsilon,
            users=users,
            error=error,
            refine=refine,
            like=like,
            repeats=repeats,
            seed=seed,
        )
    if not domain.ordered:
        if refine or kind != "typical":
            raise ArgumentError(
                "kind",
                "is only for numbers, because labels have no reference columns",
                advice="Leave kind and refine out",
                others=("kind", "refine"),
            )
        laws = None if like is None else columns_of(domain, like)["like"](0)
        choice = categorical_choice(
            domain,
            epsilon,
            users=users,
            error=error,
            distance=distance,
            report_bytes=report_bytes,
            server_seconds=server_seconds,
            like=laws,
        )
        # HeavyHitters where labels are searched, which the type of a recommendation leaves out.
        decoder: Any = default_decoder(choice.randomizer, "log")
        return Recommendation(
            choice.randomizer,
            decoder,
            ExpectedError(
                choice.randomizer,
                choice.users,
                choice.expected,
                "simulation" if "l1" in choice.expected else "formula",
            ),
            choice.reason,
        )
    _check_for_labels(report_bytes, server_seconds)
    chosen = _numerical(
        _Plan(domain, epsilon, _checked_distance(distance), kind),
        users=users,
        error=error,
        columns=columns_of(domain, like) if refine or like is not None else None,
        repeats=repeats,
        seed=seed,
    )
    return replace(chosen, reason=f"{chosen.reason} {bins_sentence}".rstrip())


def _for_questions(
    domain: Domain,
    epsilon: Fraction,
    questions: tuple[Question, ...],
    *,
    users: int | None,
    like: Any,
    rest: dict[str, Any],
    repeats: int,
    seed: int,
) -> Recommendation:
    """Return the recommendation for questions."""
    given = [name for name, value in rest.items() if value not in (None, "typical", False)]
    design = question_design(domain, epsilon, questions, users=users or 1)
    if given and design.labels is not None:
        design = replace(design, labels=None, reason=f"{given[0]} is about all labels.")
    if isinstance(like, Distribution):
        like = masses_on(like, design.domain)
    if design.labels is not None:
        return _of_asked_labels(design, questions, users=users or 1, like=like, seed=seed)
    if design.components is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # it was given
            found = recommend(
                design.domain,
                epsilon=epsilon,
                users=users,
                like=like,
                repeats=repeats,
                seed=seed,
                **rest,
            )
        error = with_questions(found.expected_error, questions, like)
        reason = f"{found.reason} {design.reason}".rstrip()
        return replace(found, questions=questions, expected_error=error, reason=reason)
    if given:
        raise ArgumentError(
            f"{given[0]} is about the whole curve, but other questions are asked. "
            "Leave it out" + (", and give users" if "error" in given else "")
        )
    assert users is not None
    randomizer = MultiscaleWave(design.domain, epsilon, components=design.components)
    columns = _masses(randomizer.domain, like)
    distances = predicted_distances(randomizer, columns, users=int(users))
    known = {distance: ErrorByKind(by_kind) for distance, by_kind in distances.items()}
    error = ExpectedError(randomizer, int(users), known, "formula")
    error = with_questions(error, questions, like)
    return Recommendation(
        randomizer, recommended_decoder(randomizer), error, design.reason, questions
    )


def _of_asked_labels(
    design: QuestionDesign, questions: tuple[Question, ...], *, users: int, like: Any, seed: int
) -> Recommendation:
    """Return the recommendation of asked labels. Distances are those of all labels, if asked."""
    randomizer = design.labels
    assert randomizer is not None
    known: dict[str, ErrorByKind] = {}
    if Curve() in questions:
        laws = populations(randomizer.domain.size) if like is None else _masses(design.domain, like)
        every = option_of(randomizer.groups[-1].randomizer)
        reporting = max(1, round((1 - randomizer.share) * users))
        known = predicted_errors(every, reporting, laws=laws, seed=seed)
    error = ExpectedError(randomizer, users, known, "simulation" if known else "formula")
    error = with_questions(error, questions, like)
    return Recommendation(
        randomizer, recommended_decoder(randomizer), error, design.reason, questions
    )


def with_questions(
    found: ExpectedError, questions: Sequence[Question], like: Distribution | ArrayLike | None
) -> ExpectedError:
    """Return expected errors of reports with those of questions about them.

    Labels have the root of the mean squared error of a share. On a column like a given one the
    reports are simulated. Where labels are searched, nothing is predicted.
    """
    domain, people = found.method.domain, found.people
    errors: dict[str, ErrorByKind] = {}
    labels = isinstance(found.method, AskedLabels)
    if labels or domain.ordered:
        alone = labels and like is None
        columns = populations(domain.size) if alone else _masses(domain, like)
        predicted = question_errors(found.method, questions, columns, users=people)
        errors = {text: ErrorByKind(by_kind) for text, by_kind in predicted.items()}
    elif like is not None and domain.size <= LABEL_LIMIT:
        gaps = simulated_gaps(found.method, people, _masses(domain, like)["like"], seed=0)
        for each in questions:
            of = symbol_of(each, domain) if isinstance(each, Share) else slice(None)
            error = float(np.sqrt(np.mean(gaps[:, of] ** 2)))
            errors[str(each)] = ErrorByKind({"like": error})
    elif "mean_squared_error" in found:
        squared = found["mean_squared_error"].by_kind
        roots = ErrorByKind({kind: math.sqrt(each) for kind, each in squared.items()})
        errors = {str(each): roots for each in questions}
    return replace(found, questions=errors) if errors else found


def _masses(domain: Domain, like: Distribution | ArrayLike | None) -> dict[str, Vector]:
    return {kind: column(0) for kind, column in columns_of(domain, like).items()}


def _check_for_labels(*limits: float | None) -> None:
    if limits != (None, None):
        raise ArgumentError(
            "report_bytes",
            "and server_seconds are for labels",
            advice="Leave them out",
            others=("server_seconds",),
        )


def _check_target(users: Any, error: Any) -> None:
    if (users is None) == (error is None):
        raise ArgumentError(
            "give either users (how many people will report) or error (the error to reach)"
        )
    if users is not None:
        whole = isinstance(users, int | np.integer) and not isinstance(users, bool)
        if not whole or not 1 <= users <= USER_LIMIT:
            raise ArgumentError(
                "users", f"must be a whole number from 1 to {USER_LIMIT:,}", repr(users)
            )
    elif not (isinstance(error, int | float) and 0 < error < 1):
        raise ArgumentError("error", "must be a number between 0 and 1", repr(error))


def _checked_distance(distance: str | None) -> str:
    if distance is None:
        return DISTANCES[0]
    if distance not in DISTANCES:
        raise ArgumentError(
            "distance", f"must be one of {', '.join(DISTANCES)} for numbers", repr(distance)
        )
    return distance


def columns_of(domain: Domain, like: Distribution | ArrayLike | None) -> Mapping[str, Column]:
    """Return the columns on which the pair is simulated."""
    if like is None:
        return reference_family(domain)
    if isinstance(like, Distribution):
        if like.domain.to_document() != domain.to_document():
            raise MismatchError(
                "like must be a distribution on the same domain. Decode it with the bins of "
                "this domain"
            )
        like = like.mass
    mass = domain.with_nobody_outside(as_numbers(like, name="like"))
    if mass.shape != (domain.size,) or not np.isfinite(mass).all() or mass.min(initial=0) < 0:
        raise ArgumentError(
            "like", f"must be {domain.size} masses, one per bin, finite and not negative"
        )
    if mass.sum() <= 0:
        raise ArgumentError("like", "must have a positive sum", f"{mass.sum():g}")
    mass = mass / mass.sum()
    return {"like": lambda repeat: mass}


def masses_on(like: Distribution, domain: Domain) -> Vector:
    """Return the masses of a distribution in the bins of another domain of the same values.

    Raises MismatchError when the two have other values: labels, units or ranges.
    """
    other = like.domain
    if other.to_document() == domain.to_document():
        return like.mass
    ends = [
        (each.unit, each.low, each.high) if isinstance(each, Interval) else None
        for each in (domain, other)
    ]
    if ends[0] is None or ends[0] != ends[1]:
        raise MismatchError("like must be a distribution of the same values, with the same range")
    starts, stops = symbol_places(domain)
    below = [like.cumulative.up_to(each) for each in (starts, stops)]
    masses = np.zeros(domain.size)
    masses[: starts.points.size] = below[1] - below[0]
    return np.maximum(masses, 0.0)


@dataclass(frozen=True)
class _Plan:
    """What is asked about a numerical domain.

    distance, kind: What is to be small, on which column.
    """

    domain: Domain
    epsilon: Fraction
    distance: str
    kind: str

    @property
    def symbols(self) -> int:
        """Symbols by which the table is looked up: it was simulated with nobody outside."""
        return self.domain.inside_size

    @property
    def pairs(self) -> list[str]:
        """The pairs that were simulated at about so many symbols."""
        table, size = shipped(), self.symbols
        return [
            pair
            for pair in table.pairs
            if table.sizes(pair)[0] <= size
            and (size <= table.sizes(pair)[-1] or pair == "multiscale-wave")
        ]

    def predicted(self, pair: str, people: int) -> dict[str, ErrorByKind]:
        """Return the errors of a pair by the table."""
        errors = shipped().errors(
            pair, size=self.symbols, epsilon=float(self.epsilon), users=people
        )
        return {distance: ErrorByKind(of) for distance, of in errors.items()}

    def aim(self, pair: str, people: int) -> float:
        """Return the one error that is to be small."""
        return self.predicted(pair, people)[self.distance].of(self.kind)

    def fewest(self, error: float) -> tuple[str, int]:
        """Return the pair that needs the fewest people for an error, and how many."""
        needed = {pair: people_needed(partial(self.aim, pair), error) for pair in self.pairs}
        best = min(needed, key=lambda pair: needed[pair])
        if needed[best] == math.inf:
            least = min(self.aim(pair, USER_LIMIT) for pair in self.pairs)
            raise ArgumentError(
                f"no number of people up to {USER_LIMIT} reaches an error of {error:g}. The "
                f"smallest predicted error is {least:.2g}"
            )
        return best, int(needed[best])

    def best(self, people: int) -> str:
        """Return the pair of the least error."""
        return min(self.pairs, key=lambda pair: self.aim(pair, people))


def _numerical(
    plan: _Plan,
    *,
    users: int | None,
    error: float | None,
    columns: Mapping[str, Column] | None,
    repeats: int,
    seed: int,
) -> Recommendation:
    if not 2 <= plan.symbols <= NUMERIC_LIMIT:
        raise DomainError(
            f"a recommendation needs a numerical domain of 2 to {NUMERIC_LIMIT} bins, got "
            f"{plan.symbols}. Declare other bins"
        )
    if users is not None:
        pair, people = plan.best(users), int(users)
    else:
        assert error is not None
        pair, people = plan.fewest(error)
    randomizer = PAIRS[pair](plan.domain, plan.epsilon)
    decoder = recommended_decoder(randomizer)
    expected, reason = plan.predicted(pair, people), _reason(plan, pair, randomizer, people)
    if columns is None:
        error_of_table = ExpectedError(randomizer, people, expected, "table")
        return Recommendation(randomizer, decoder, error_of_table, reason)

    if "like" in columns and pair == "multiscale-wave":
        mass = columns["like"](0)
        parts = planned_parts(plan.domain, mass, epsilon=plan.epsilon, users=people)
        planned = MultiscaleWave(plan.domain, plan.epsilon, components=parts)
        if planned != randomizer:
            randomizer, reason = planned, f"{reason} Its components were chosen for this column."

    def simulated(number: int) -> dict[str, ErrorByKind]:
        found = simulated_errors(
            randomizer,
            decoder_without_band(randomizer),
            users=number,
            columns=columns,
            repeats=repeats,
            seed=seed,
        )
        return {distance: ErrorByKind.of_repeats(of) for distance, of in found.items()}

    expected = simulated(people)
    if error is not None:
        kind = "typical" if "like" in columns else plan.kind
        people, expected = _refined(simulated, people, expected, error, plan.distance, kind)
    simulated_error = ExpectedError(randomizer, people, expected, "simulation")
    return Recommendation(randomizer, decoder, simulated_error, reason)


def _refined(
    simulated: Callable[[int], dict[str, ErrorByKind]],
    people: int,
    expected: dict[str, ErrorByKind],
    error: float,
    distance: str,
    kind: str,
) -> tuple[int, dict[str, ErrorByKind]]:
    """Return the people for which the simulated error is the target, and the errors there.

    The error falls about as the root of the people, so every step multiplies them by the square
    of what is missing. After three the rest is noise of the simulation.
    """
    for _ in range(3):
        found = expected[distance].of(kind)
        if abs(found / error - 1) < 0.02:
            break
        people = math.ceil(people * (found / error) ** 2)
        if people > USER_LIMIT:
            raise ArgumentError(
                f"no number of people up to {USER_LIMIT} reaches an error of {error:g} on this "
                f"column. About {people} would be needed if the error kept falling"
            )
        expected = simulated(people)
    return people, expected


_WHY = {
    "multiscale-wave": "waves of several widths capture every frequency of the column, and the "
    "spectral prior learns from the reports which ones matter",
    "square-wave": "with so few bins, one wave captures everything",
    "subset-selection": "so few bins can be distinguished individually",
}


def _reason(plan: _Plan, pair: str, randomizer: Randomizer, people: int) -> str:
    """Return why, in words."""
    text = f"{randomizer.name}: {_WHY[pair]}"
    others = [f"{plan.aim(other, people):.2g} of {other}" for other in plan.pairs if other != pair]
    if others:
        text += (
            f". Its predicted {plan.distance.replace('_', '-')} error is "
            f"{plan.aim(pair, people):.2g}, against {' and '.join(others)}"
        )
    domain: Any = plan.domain
    least = shipped().sizes("multiscale-wave")[0]
    if domain.size < least:
        text += (
            f". A multiscale wave needs {least} bins, but this domain has {domain.size}. From "
            f"{least} bins on, it is compared too, and its error may be smaller"
        )
    cut = domain.name == "interval" and 64 <= domain.bins < BINS_FOR_ATOMS // 2
    if cut and plan.epsilon >= EPSILON_FOR_ATOMS:
        text += (
            f". If many people may have exactly the same value, declare {BINS_FOR_ATOMS} bins. "
            f"From epsilon {EPSILON_FOR_ATOMS} on, such values are then detected"
        )
    known = shipped().sheet(pair, shipped().sizes(pair)[-1]).users
    if not known[0] <= people <= known[-1]:
        text += (
            f". The table was simulated for {known[0]:,} to {known[-1]:,} people, and is "
            "extrapolated beyond that"
        )
    return text + "."
