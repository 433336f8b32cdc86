"""The shipped risk table: how large the error of a pair was when it was simulated.

`benchmarks/accuracy/promises/risk_table.py` makes the table: for every pair of randomizer and
decoder that :func:`lapwing.recommend` may answer, the mean error on reference columns of each kind,
over a grid of epsilon, people and symbols, pooled where noise made it rise with the people. Here it
is read and interpolated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, FormatError
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property

FORMAT = "lapwing-risk-table"
VERSION = 1

DISTANCES = ("wasserstein", "kolmogorov_smirnov")
"""What the table holds: W1 as a share of the range, and KS."""

Errors = dict[str, dict[str, float]]
"""Mean error by distance and kind of column."""


@dataclass(frozen=True)
class Sheet:
    """The errors of one pair at one number of symbols.

    Parameters
    ----------
    epsilon, users : tuple of float
        The nodes, increasing.
    errors : mapping of str to mapping of str to numpy.ndarray
        By distance and kind: float64 [epsilon, users], positive.
    """

    epsilon: tuple[float, ...]
    users: tuple[float, ...]
    errors: Mapping[str, Mapping[str, NDArray[np.float64]]]

    def at(self, *, epsilon: float, users: float) -> Errors:
        """Return the errors at a point: linear in the logarithms of epsilon, people and error.

        Below the first epsilon a report's information falls like ``(e^epsilon - 1)^2``, so fewer
        people at the first epsilon stand for these; above the last one errors are those of the
        last. Beyond the people of the table the lines go on as they were, up to an error of 1.
        Noise of the simulation, and lines that go on until they cross, would let an error rise with
        epsilon, which buys nothing: there the nodes of epsilon are pooled.
        """
        if epsilon < self.epsilon[0]:
            users *= (math.expm1(epsilon) / math.expm1(self.epsilon[0])) ** 2
        row, along = _between(self.epsilon, epsilon, beyond=False)
        column, across = _between(self.users, users, beyond=True)
        found: Errors = {}
        for distance, kinds in self.errors.items():
            found[distance] = {}
            for kind, nodes in kinds.items():
                fewer, more = np.log(nodes[:, column : column + 2]).T
                low, high = falling(np.minimum(fewer + across * (more - fewer), 0.0))[row : row + 2]
                found[distance][kind] = math.exp(float(low + along * (high - low)))
        return found


@dataclass(frozen=True)
class RiskTable:
    """Errors of all pairs.

    Parameters
    ----------
    document : dict
        As the benchmark writes it; see :func:`shipped`.
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

        Parameters
        ----------
        pair : str
            One of :attr:`pairs`.
        size : int
            Symbols. Between sizes errors are linear in the logarithms; above the largest they
            are those of the largest, where they hardly depend on it.
        epsilon : float
            In (0, 24].
        users : float
            At least 1.
        """
        sizes = self.sizes(pair)
        if size < sizes[0]:
            raise ArgumentError(f"the table has {pair} from {sizes[0]} symbols on, got {size}")
        first, part = _between(sizes, size, beyond=False)
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


def _between(nodes: tuple[float, ...], point: float, *, beyond: bool) -> tuple[int, float]:
    """Return the node before a point, and how far on its way to the next it is, in logarithms."""
    if len(nodes) == 1:
        return 0, 0.0
    first = int(np.clip(np.searchsorted(nodes, point, side="right") - 1, 0, len(nodes) - 2))
    part = math.log(point / nodes[first]) / math.log(nodes[first + 1] / nodes[first])
    return first, part if beyond else min(max(part, 0.0), 1.0)


def falling(values: Vector) -> Vector:
    """Return the nearest values that nowhere rise: isotonic regression, by pooling neighbors.

    Values that are nowhere above others stay nowhere above them, so what falls with the people does
    so behind it, too.

    Examples
    --------
    >>> falling(np.array([5.0, 2.0, 4.0, 1.0])).tolist()
    [5.0, 3.0, 3.0, 1.0]
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] < mean:
            other, more = pools.pop()
            mean, size = (mean * size + other * more) / (size + more), size + more
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools])


@cache
def shipped() -> RiskTable:
    """Return the table that comes with the package."""
    text = (
        resources.files("lapwing.planning").joinpath("risk_table.json").read_text(encoding="utf-8")
    )
    return RiskTable(json.loads(text))
