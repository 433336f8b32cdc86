"""The mechanism of least predicted error: from public numbers alone, before anything is counted.

The answers of a linear mechanism are known sums with noise of a known variance. So is the posterior
covariance of the distribution function under a Gaussian prior. Its standard deviation, on average
over made-up priors from smooth to full of atoms, is the predicted error. It ranks mechanisms. How
large an error is, :func:`expected_error` says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.linear.arrays import Matrix, Vector, memoized, read_only
from lapwing.mechanisms.histogram_query import CellStrategy, HistogramQuery
from lapwing.mechanisms.linear_mechanism import (
    LinearMechanism,
    Strategy,
    UnitStrategy,
    strategy_under,
)
from lapwing.mechanisms.sum_tree import TreeStrategy
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.domain import Domain
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
