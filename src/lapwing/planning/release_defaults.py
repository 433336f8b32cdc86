"""Which mechanism goes with a privacy guarantee, and which decoder with its releases, by default.

It is the mechanism of least predicted error: from public numbers alone, before anything is counted.
The answers of a linear mechanism are known sums with noise of a known variance. So is the posterior
covariance of the distribution function under a Gaussian prior. Its standard deviation, on average
over made-up priors from smooth to full of atoms, is the predicted error. It ranks mechanisms. How
large an error is, :func:`lapwing.expected_error` says.

Apart from the defaults of randomizers: who decodes tallies does not wait for the curator's
mechanisms to be read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lapwing.decoders.decoder import Decoder
from lapwing.decoders.releases.label_shares import LabelShares
from lapwing.decoders.releases.prefix_estimate import CellCounts
from lapwing.decoders.releases.segment_curves import has_many_bins
from lapwing.decoders.releases.spectral_pursuit import SpectralPursuit
from lapwing.linear.arrays import Matrix, Vector, read_only
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.sums import UNIT
from lapwing.mechanisms.histogram_query import CellStrategy, HistogramQuery
from lapwing.mechanisms.label_counts import LabelCounts
from lapwing.mechanisms.linear_mechanism import (
    MOST_BINS,
    LinearMechanism,
    Strategy,
    UnitStrategy,
    strategy_under,
)
from lapwing.mechanisms.prefix_sums import MOST_CELLS, SMOOTH_RANGE, PrefixSums
from lapwing.mechanisms.sum_tree import SumTree, TreeStrategy
from lapwing.planning.chosen_bins import (
    BINS_FOR_ATOMS,
    EPSILON_FOR_ATOMS,
    FEW_BINS,
    recommended_bins,
)
from lapwing.planning.defaults import without_band
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.integer_noise import Sensitivity, calibrated
from lapwing.privacy.promise import STATED_DELTA, Promise
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import MOST_PEOPLE
from lapwing.protocol.release import Mechanism

UNKNOWN = (1_000, 10_000, 100_000, 1_000_000)
"""Numbers of people that count alike where none is expected."""

_CELLS = 100
"""Cells on which errors are predicted. They do not coincide with the nodes of trees."""

_PRIORS = (
    (1.0, 4.0, 4.0, 0.0),
    (1.0, 16.0, 2.0, 0.0),
    (0.5, 8.0, 2.0, 0.14),
    (0.0, 1.0, 1.0, 0.56),
)
"""Deviation of the first cosines, frequency where they fall, how fast, reciprocal of atoms."""
# One row for each prior of the density, with equal atoms.

_CLIPPED, _BOUND, _SUMS = 1.3, 1.08, 2.1
"""Measured factors of errors that are not in the prediction."""
# The error of a histogram whose negative counts are set to zero, over that of the best linear
# decoder. That no count is below zero helps a decoder most where each bin is counted once. Each
# further level of a tree loses so much, prefix sums as much as two levels.

_LEAST_SEEN = 10.0
"""Fewer people than so many deviations of the noise in a count are taken for so many. Hardly
anything of them is seen, so their predicted errors are those of the priors, whichever mechanism.
Measured, 8 cells have .5 to .8 of a tree's error up to there. With three times as many people and
more, cells have no less W1, and 1.3 to 1.8 of a tree's KS, because they spread atoms. So histograms
are chosen for at most twice as many.
"""


@dataclass(frozen=True)
class Choice:
    """The mechanism of least predicted error, and the one that comes next.

    mechanism: Chosen mechanism.
    runner_up: The next one. The same where there is no other.
    ratio: Predicted error of the runner-up over that of the chosen one, at least 1.
    people: Numbers of people for which the errors were predicted. With a unit, of rows.
    counted: Which of the two. Default: "people".
    """

    mechanism: LinearMechanism
    runner_up: LinearMechanism
    ratio: float
    people: tuple[int, ...]
    counted: str = "people"

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "mechanism": self.mechanism.to_document(),
            "runner_up": self.runner_up.to_document(),
            "ratio": round(self.ratio, 3),
            "people": list(self.people),
        }

    def __str__(self) -> str:
        """Return the choice in words."""
        few, many = self.people[0], self.people[-1]
        whom = f"{many:,} expected" if few == many else f"{few:,} to {many:,}"
        after = f"{mechanism_text(self.runner_up)}, {self.ratio:.2f} times the error"
        return f"smallest predicted error for {whom} {self.counted}. Next best: {after}"


def mechanism_text(mechanism: Mechanism) -> str:
    """Return the name of a mechanism, with the whole numbers that it was given."""
    given = mechanism.to_document().items()
    numbers = ", ".join(f"{key} {value}" for key, value in given if type(value) is int)
    return f"{mechanism.name} ({numbers})" if numbers else mechanism.name


def least_error(
    candidates: Sequence[LinearMechanism], domain: Domain, promise: Promise, expected: int | None
) -> Choice:
    """Return the mechanism of least predicted error.

    candidates: Mechanisms that suit the domain, at least one.
    domain: Ordered domain of the exact counts.
    promise: Privacy parameters of the release.
    expected: Expected number of people. Default: the mean logarithm of the errors of 1,000 to a
        million people counts.
    """
    people = UNKNOWN if expected is None else (expected,)
    histograms = [one for one in candidates if isinstance(one, HistogramQuery)]
    deviations = [math.sqrt(_asked(one, domain, promise)[1]) for one in histograms]
    least = math.ceil(_LEAST_SEEN * max(deviations, default=0.0))
    if max(people) > 2 * least:
        candidates = [one for one in candidates if one not in histograms]
    seen = [max(number, least) for number in people]
    errors = {one: predicted_error(one, domain, promise, seen) for one in candidates}
    first = min(errors, key=errors.__getitem__)
    # Trees of few symbols may be the same one.
    asked = strategy_under(first, domain, promise)
    others = [one for one in errors if strategy_under(one, domain, promise) != asked]
    runner_up = min(others, key=errors.__getitem__, default=first)
    ratio = errors[runner_up] / errors[first]
    return Choice(first, runner_up, ratio, people, "people" if promise.unit is None else "rows")


def predicted_error(
    mechanism: LinearMechanism, domain: Domain, promise: Promise, people: Sequence[int]
) -> float:
    """Return the predicted error of the distribution function, in shares.

    mechanism: Mechanism of the release.
    domain: Ordered domain of the exact counts.
    promise: Privacy parameters of the release.
    people: Numbers of people, at least one.
    returns: Geometric mean over the numbers of people, over four priors, and over the mean and the
        largest standard deviation along the curve. W1 and KS are near in proportion to these.

    The curve is taken at up to 100 cells. The noise counts as Gaussian of the same variance. Values
    that are missing or outside the range are left out.
    """
    strategy, variance = _asked(mechanism, domain, promise)
    return _error(strategy, domain.left.size, variance, tuple(people))


def _asked(mechanism: LinearMechanism, domain: Domain, promise: Promise) -> tuple[Strategy, float]:
    """Return what a mechanism asks of rows, and the variance of the noise in an answer."""
    strategy = strategy_under(mechanism, domain, promise)
    noise, _ = mechanism.noise_for(strategy, promise)
    rows = strategy.strategy if isinstance(strategy, UnitStrategy) else strategy
    return rows, float(noise.variance)


@memoized(most=64)
def _error(strategy: Strategy, held: int, variance: float, people: tuple[int, ...]) -> float:
    """Return what :func:`predicted_error` does."""
    seen = _information(strategy, held)
    logs = []
    for number in people:
        posterior = np.linalg.inv(
            _precision(seen.shape[0] + 1, number) + seen * number**2 / variance
        )
        deviation = np.sqrt(np.maximum(np.diagonal(posterior, axis1=-2, axis2=-1), 0.0))
        logs += [np.log(deviation.mean(axis=-1)), np.log(deviation.max(axis=-1))]
    return _measured(strategy) * math.exp(float(np.mean(logs)))


def _measured(strategy: Strategy) -> float:
    """Return a factor on the predicted error of a strategy, from measured ones."""
    if isinstance(strategy, CellStrategy):
        return _CLIPPED
    levels: float = _SUMS
    if isinstance(strategy, TreeStrategy):
        levels = sum(cells > 1 for cells in strategy.cells) - 1
    factor: float = _BOUND**levels
    return factor


@memoized(most=64)
def _information(strategy: Strategy, held: int) -> Matrix:
    """Return what answers with unit noise say about the inner heights of the curve of one person.

    float64 [cells - 1, cells - 1].
    """
    cells = min(_CELLS, held)
    cell = np.arange(held) * cells // held
    spread = np.zeros((strategy.operator.shape[1], cells))
    spread[np.arange(held), cell] = 1 / np.bincount(cell)[cell]
    answers = strategy.operator.matmat(spread)
    heights = answers[:, :-1] - answers[:, 1:]
    return read_only(heights.T @ heights)


@memoized(most=64)
def _precision(cells: int, people: int) -> Matrix:
    """Return the inverse covariances of the heights of the curve of so many people drawn.

    float64 [priors, cells - 1, cells - 1].
    """
    edges = np.arange(1, cells) / cells
    frequency = np.arange(1.0, 4 * cells)
    waves: Matrix = np.sqrt(2) * np.sin(np.pi * np.outer(edges, frequency)) / (np.pi * frequency)
    bridge = np.minimum.outer(edges, edges) - np.outer(edges, edges)

    def covariance(level: float, corner: float, decay: float, atoms: float) -> Matrix:
        variance: Vector = level**2 * (1 + (frequency / corner) ** 2) ** -decay
        found: Matrix = (waves * variance) @ waves.T + bridge * (atoms + 1 / people)
        return found

    return read_only(np.linalg.inv(np.stack([covariance(*prior) for prior in _PRIORS])))


BINS_OF_A_SEGMENT = 64
"""Where pure epsilon allows no prefix sums by segment."""

_FEW_CELLS = 96

_FEW = (8, 16)
"""Cells of the histograms that may be chosen: for few people, of whom no more can be seen."""

_SMOOTH, _SMOOTH_IN_NOISE, _MUCH_NOISE = 40, 50, 16.0
"""Percent for smooth rows, and where a sum has so many people of noise. See below."""


def release_bins(promise: Promise, *, by_segment: bool = False) -> int:
    """Return about how many bins to give an interval that is released: 256, or 1024 from epsilon 2.

    by_segment: Whether each segment of a table gets a distribution. With pure epsilon there are
        then 64 bins, because the noise in a share of a range grows with the number of its bins.

    The same as :func:`recommended_bins`, by the epsilon that states the privacy guarantee. The
    number of people may be secret, so it has no part in the choice.

    **Accuracy.** Mean W1, as a share of the range, of 10,000 people and three made-up columns. A
    dash stands where nothing was recorded. No other numbers of people or epsilons were measured.
    The mechanisms were prefix sums with 24 polynomials where there is a delta, and trees with
    branching 32 where there is none. The table is of commit 251cf6ee29, the ten columns below are
    of commit 46d71f3744.

    ================ ======= ======== =========
    epsilon, delta   64 bins 256 bins 1024 bins
    ================ ======= ======== =========
    .1, 1e-6         .0059   .0061    .0086
    .5, 1e-6         .0021   .0018    .0022
    1, 1e-6          .0016   .0011    .0012
    .5, 0            -       .0028    .0026
    2, 0             -       -        .0008
    ================ ======= ======== =========

    Ten columns, eight of them real, were measured with round bins of about 256 and 1024: 10,000
    people, delta 1e-6, 4 repeats. The error with 256 is that with 1024 times 0.69 to 1.88 at
    epsilon 1, and times 0.77 to 2.36 at epsilon 2. The geometric means are 1.07 and 1.18. Values
    that many people hold exactly gain from 1024 bins, smooth columns lose. So no one number suits
    both epsilons within 2% on every column. Sites whose epsilons are below 2 and above agree on
    `bins`.

    At epsilon 1 and delta 0, 256 and 1024 bins tie. At epsilon 2 and delta 0, 1024 bins are best.
    The rule is simpler than these figures in two cases. It has 256 bins at 0.1 with delta, although
    64 are a little better, and at 0.5 without delta, although 1024 are.

    By segment, replace-one, epsilon 1: mean W1 as a share of the range, over three made-up columns.
    The first column is 48 bins with pure epsilon, and 60 bins with delta.

    ================ ======== ======== ========
    people, delta    48 or 60 120 bins 240 bins
    ================ ======== ======== ========
    250, 0           .0223    .0397    .0628
    2,000, 0         .0036    .0061    .0096
    20,000, 0        .0009    .0010    .0010
    250, 1e-6        .0302    .0227    .0232
    2,000, 1e-6      .0053    .0043    .0042
    20,000, 1e-6     .0011    .0009    .0005
    ================ ======== ======== ========

    With pure epsilon, few bins cost accuracy on a skewed column of many people. A median of 20,000
    people that lies in the first of 48 bins is off by a tenth of the bin. That is ten times its
    error with 240 bins.
    """
    if by_segment and promise.pure:
        return BINS_OF_A_SEGMENT
    if promise.epsilon is not None:
        return recommended_bins(promise.epsilon)
    epsilon = promise.whole_loss.epsilon_at(STATED_DELTA)
    return BINS_FOR_ATOMS if epsilon >= EPSILON_FOR_ATOMS else FEW_BINS


def recommended_mechanism(
    domain: Domain, promise: Promise, *, expected: int | None = None
) -> Mechanism:
    """Return the mechanism to use when none is asked for. See :func:`mechanism_choice`."""
    return mechanism_choice(domain, promise, expected=expected)[0]


def mechanism_choice(
    domain: Domain, promise: Promise, *, expected: int | None = None, composed: bool = False
) -> tuple[Mechanism, Choice | None]:
    """Return the mechanism to use when none is asked for, and how it was chosen from several.

    The counts of labels, which have no order. By segment, prefix sums of each segment wherever
    Gaussian noise may be used and a segment has 64 symbols or more, else counts.

    For numbers, the mechanism of least predicted error (:func:`least_error`). Candidates are trees
    with branching 8 to 64, and prefix sums where Gaussian noise may be used. Histograms of 8 or 16
    cells are candidates for at most 20 times as many people as the noise in a count deviates by.
    Where Gaussian noise hides a unit with less than a row of deviation (from about epsilon 5 on at
    delta 1e-6), prefix sums alone. A part of the prefix sums' budget may measure 24 polynomials,
    where there are bins enough. It is half where a sum has noise of 16 people and more (epsilon 0.2
    at delta 1e-6), else two fifths.

    domain: Domain of the exact counts.
    promise: Privacy parameters of the release.
    expected: Expected number of people (with a unit, of rows), at least 1. It must be public
        knowledge, because the choice shows it. Default: the choice suits 1,000 to a million people
        alike.
    composed: Whether a ledger composes the release with others. Gaussian noise composes more
        tightly, so numbers then get it wherever the privacy guarantee has a delta. Default: False.

    **Privacy.** Only public numbers choose. Sites of different sizes must use the same mechanism
    for their releases to add. So they leave `expected` out, or all give the same number. All of
    them have a ledger, or none has.
    """
    if expected is not None:
        expected = check_whole("expected", expected, low=1, high=MOST_PEOPLE)
    if isinstance(domain, Segmented):
        return _by_segment(domain, promise), None
    if not domain.ordered:
        return LabelCounts(), None
    bins = domain.left.size - len(domain.outside_indices)
    if domain.left.size < 2 or bins > MOST_BINS:
        return SumTree(), None  # which says what must hold
    kind: Literal["normal"] | None = "normal" if composed and not promise.pure else None
    # Laplace noise of less than a person is mostly zero, which a Gaussian band does not hold.
    exact = not promise.pure and _noise_of_a_unit(promise) < 1
    candidates: list[LinearMechanism] = []
    if not exact:
        candidates += [SumTree(many, noise=kind) for many in (32, 16, 8, 64)]
    low, high = SMOOTH_RANGE
    if not promise.pure:
        candidates.append(PrefixSums(noise=kind))
        if low <= domain.left.size <= high:
            candidates.append(PrefixSums(noise=kind, smooth=_smooth_percent(promise)))
    # Where symbols have no width, cells would spread the people of one value over others.
    widths = np.delete(domain.right - domain.left, domain.outside_indices)
    if kind is None and not exact and (widths > 0).all():
        candidates += [HistogramQuery(cells) for cells in _FEW if 2 * cells <= bins]
    choice = least_error(candidates, domain, promise, expected)
    return choice.mechanism, choice


def _by_segment(table: Segmented, promise: Promise) -> Mechanism:
    """Return the mechanism of a table: prefix sums have less noise than many counts."""
    low, high = SMOOTH_RANGE
    inner = table.domain
    suits = inner.ordered and low <= inner.left.size <= high and table.size <= MOST_CELLS
    if promise.pure or not suits:
        return LabelCounts()
    return PrefixSums(smooth=_smooth_percent(promise))


def _smooth_percent(promise: Promise) -> int:
    """Return the part of the budget that smooth rows get, from the noise that hides one unit."""
    return _SMOOTH_IN_NOISE if _noise_of_a_unit(promise) >= _MUCH_NOISE else _SMOOTH


def _noise_of_a_unit(promise: Promise) -> float:
    """Return the standard deviation, in rows, of the Gaussian noise that hides one unit."""
    rows = 1 if promise.unit is None else promise.unit.most
    noise = calibrated(promise, Sensitivity((rows * UNIT) ** 2, rows * UNIT), kind="normal")
    return math.sqrt(noise.variance) / UNIT


def quick_release_decoder(mechanism: Mechanism, domain: Domain) -> Decoder:
    """Return a decoder for simulations: without a band, and with nearly the default's error.

    On fewer cells, learned once, the error of spectral pursuit is the same within a few percent, in
    a sixth of the time.
    """
    decoder = without_band(release_decoder(mechanism, domain))
    if isinstance(decoder, SpectralPursuit):
        return replace(decoder, cells=_FEW_CELLS, passes=1)
    return decoder


def release_decoder(mechanism: Mechanism, domain: Domain) -> Decoder:
    """Return the decoder of a mechanism's releases on a domain."""
    own: Decoder | None = getattr(mechanism, "_decoder", None)
    if own is not None:
        return own
    if mechanism.name == HistogramQuery.name:
        return CellCounts(interpolate=mechanism.to_document()["interpolate"])
    if mechanism.name == LabelCounts.name and not has_many_bins(domain):
        return LabelShares()
    return SpectralPursuit()
