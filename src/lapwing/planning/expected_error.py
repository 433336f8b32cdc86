"""A predicted error: typical of a family of columns, with its range from smooth to spiky."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

USER_LIMIT = 10**9
"""People beyond which nothing is predicted."""


@dataclass(frozen=True)
class ExpectedError:
    """The mean error on each kind of column.

    Parameters
    ----------
    by_kind : mapping of str to float
        Mean over people, reports and columns of the kind.

    Examples
    --------
    >>> error = ExpectedError({"smooth": 0.002, "multimodal": 0.003, "spiky": 0.004})
    >>> error.typical, error.low, error.high
    (0.003, 0.002, 0.004)
    """

    by_kind: Mapping[str, float]

    @classmethod
    def of_repeats(cls, errors: Mapping[str, Sequence[float]]) -> ExpectedError:
        """Return the means of simulated errors."""
        return cls({kind: statistics.fmean(repeats) for kind, repeats in errors.items()})

    @property
    def typical(self) -> float:
        """The mean over the kinds."""
        return statistics.fmean(self.by_kind.values())

    @property
    def low(self) -> float:
        """On the easiest kind."""
        return min(self.by_kind.values())

    @property
    def high(self) -> float:
        """On the hardest kind."""
        return max(self.by_kind.values())

    def of(self, kind: str) -> float:
        """Return the error on one kind; of ``"typical"``, the mean over all."""
        return self.typical if kind == "typical" else self.by_kind[kind]

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"typical": self.typical, "by_kind": dict(self.by_kind)}


def people_needed(error_of: Callable[[int], float], target: float) -> float:
    """Return the smallest number of people whose error is at most the target, or infinity.

    Parameters
    ----------
    error_of : callable
        Falls with the people.
    target : float

    Examples
    --------
    >>> people_needed(lambda people: people**-0.5, 0.1)
    100
    """
    if error_of(USER_LIMIT) > target:
        return math.inf
    low, high = 0, USER_LIMIT
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if error_of(middle) <= target else (middle, high)
    return high
