"""Whole numbers, each with its own bin."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import DomainError
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole, check_whole_field
from lapwing.protocol.domains.domain import (
    LARGEST_INTEGER,
    MAXIMUM_BINS,
    Domain,
    check_choice,
    read_numbers,
    refuse_fractions,
    refuse_outside,
)


@dataclass(frozen=True)
class Integers(Domain):
    """Integer domain: the whole numbers from `low` to `high`, both included.

    Each number has its own bin.

    Parameters
    ----------
    low, high : int
        Smallest and largest number, with ``low <= high``, at most 2^24 numbers, and both within
        +-(2^53 - 1). They are public, so they must not come from the data.
    outside : {"clip", "refuse"}
        Treatment of numbers outside: move them to the nearest end, or raise DomainError. Numbers
        from 0 on are counts, so answers take nobody to be below 0. Default: "clip".
    missing : {"refuse", "bin"}
        Treatment of NaN and null. "bin" counts them in a missing bin, the last one. Default:
        "refuse".

    See Also
    --------
    Interval : For real numbers, dates, times, and long ranges.

    Notes
    -----
    **Privacy.** The domain is public, and says nothing about the data if its ends do not come from
    them.

    **Cost.** Placing n values takes O(n) time.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.Integers(17, 90).index([17, 18, 200]).tolist()
    [0, 1, 73]
    """

    low: int
    high: int
    _: KW_ONLY
    outside: Literal["clip", "refuse"] = "clip"
    missing: Literal["refuse", "bin"] = "refuse"

    def __post_init__(self) -> None:
        """Check every field."""
        check_choice(self.outside, name="outside", choices=("clip", "refuse"))
        check_choice(self.missing, name="missing", choices=("refuse", "bin"))
        for name in ("low", "high"):
            limits = {"low": -LARGEST_INTEGER, "high": LARGEST_INTEGER}
            check_whole_field(self, name, **limits, error=DomainError)
        if not self.low <= self.high:
            raise DomainError(f"low must be at most high, got {self.low} and {self.high}")
        bins = self.high - self.low + 1
        check_whole("high - low + 1", bins, low=1, high=MAXIMUM_BINS, error=DomainError)

    @cached_property
    def left(self) -> NDArray[np.float64]:
        """The numbers themselves: float64 [high - low + 1]."""
        numbers = np.arange(self.low, self.high + 1, dtype=np.float64)
        numbers.flags.writeable = False
        return numbers

    @property
    def size(self) -> int:
        """Number of bins."""
        return self.high - self.low + 1 + (self.missing == "bin")

    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the bin of each value: int64 [n].

        Parameters
        ----------
        values : array_like [n]
            Whole numbers, also as floats. NaN and None are missing.

        Returns
        -------
        numpy.ndarray
            Number of the bin of each value, int64 [n].

        Raises
        ------
        DomainError
            When a value is missing (unless declared), outside (where refused), or not whole. The
            message has the position of the first one.
        """
        numbers, missing = read_numbers(values, unit="number", missing=self.missing)
        if missing is not None:
            numbers = np.where(missing, self.low, numbers)
        if self.outside == "refuse":
            refuse_outside(
                (numbers < self.low) | (numbers > self.high), what="low..high of the domain"
            )
        numbers = np.clip(numbers, self.low, self.high)
        refuse_fractions(numbers)
        symbols: NDArray[np.int64] = numbers.astype(np.int64) - self.low
        if missing is not None:
            symbols[missing] = self.size - 1
        return symbols

    @property
    def open_ends(self) -> tuple[bool, bool]:
        """Whether the first bin also holds numbers below the range, and the last one those above.

        Nothing is below 0 where the numbers begin there, because they are counts.
        """
        return self.open_ended and self.low != 0, self.open_ended

    name: ClassVar[str] = "integers"
    """Name of its class in documents."""

    def _rounded(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.rint(numbers)

    def for_curator(self) -> Integers:
        """Return the domain with numbers outside clipped and missing ones counted.

        Returns
        -------
        Integers
            Domain that has a bin or category for every value.
        """
        return replace(self, outside="clip", missing="bin")
