"""Whole numbers, each with its own bin."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import DomainError
from lapwing.linear.arrays import Values, declared_repr
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.domains.domain import (
    BY_BINS,
    LEAST_OVERFLOW,
    MAXIMUM_BINS,
    Domain,
    Outside,
    SafeInteger,
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
        Smallest and largest number, with ``low <= high``. Both are within +-(2^53 - 1), with at
        most 2^24 numbers in all. They are public, so they must not come from the data.
    outside : {"overflow", "clip", "refuse"}, optional
        Treatment of numbers outside. "overflow" gives them two separate bins, below the first
        number and above the last one. "clip" moves them to the nearest end, which then also counts
        values beyond it. If the numbers begin at 0, answers assume that nobody is below 0.
        "refuse" raises DomainError. Default: "overflow" for 32 numbers or more, and otherwise
        "clip".
    missing : {"refuse", "bin"}
        Treatment of NaN and null. "bin" counts them in a missing bin, the last one. Default:
        "refuse".

    See Also
    --------
    Interval : For real numbers, dates, times, and long ranges.

    Notes
    -----
    **Privacy.** The domain is public, and reveals nothing about the data if its ends do not come
    from them.

    **Cost.** Placing n values takes O(n) time.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.Integers(17, 90).index([16, 17, 18, 90, 200]).tolist()
    [0, 1, 2, 74, 75]
    >>> lw.Integers(1, 6).index([1, 6, 200]).tolist()
    [0, 5, 5]
    """

    low: SafeInteger
    high: SafeInteger
    _: KW_ONLY
    outside: Outside = BY_BINS
    missing: Literal["refuse", "bin"] = "refuse"

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            low: int,
            high: int,
            *,
            outside: Outside | None = None,
            missing: Literal["refuse", "bin"] = "refuse",
        ) -> None: ...

    __repr__ = declared_repr

    def __post_init__(self) -> None:
        """Check every field, and choose what becomes of numbers outside where nothing is said."""
        super().__post_init__()
        if not self.low <= self.high:
            raise DomainError(
                "low", "must be at most high", f"{self.low} and {self.high}", others=("high",)
            )
        bins = self.high - self.low + 1
        check_whole("high - low + 1", bins, low=1, high=MAXIMUM_BINS, error=DomainError)
        if self.outside is None:
            chosen = "overflow" if bins >= LEAST_OVERFLOW else "clip"
            object.__setattr__(self, "outside", chosen)

    @cached_property
    def left(self) -> NDArray[np.float64]:
        """The numbers themselves, with each end repeated for the bins below and above: float64."""
        first = self.low - self._apart
        numbers = np.arange(first, self.high + 1 + self._apart, dtype=np.float64)
        np.clip(numbers, self.low, self.high, out=numbers)
        numbers.flags.writeable = False
        return numbers

    @property
    def _apart(self) -> int:
        """1 where numbers outside have bins of their own, else 0."""
        return int(self.outside == "overflow")

    @property
    def _present(self) -> int:
        """Number of bins but the missing one."""
        return self.high - self.low + 1 + 2 * self._apart

    @property
    def size(self) -> int:
        """Number of bins: below, one for each number, above, and missing."""
        return self._present + (self.missing == "bin")

    @property
    def below_index(self) -> int | None:
        """Number of the bin of numbers below the range, or None if there is none."""
        return 0 if self._apart else None

    @property
    def above_index(self) -> int | None:
        """Number of the bin of numbers above the range, or None if there is none."""
        return self._present - 1 if self._apart else None

    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the bin of each value: int64 [n].

        Parameters
        ----------
        values : array_like [n]
            Whole numbers, which may be floats. NaN and None are missing.

        Raises
        ------
        DomainError
            When a value is missing (unless declared), outside (if refused), or not whole. The
            message gives the position of the first one.
        """
        numbers, missing = read_numbers(values, unit="number", missing=self.missing)
        if missing is not None:
            numbers = np.where(missing, self.low, numbers)
        if self.outside == "refuse":
            refuse_outside(
                (numbers < self.low) | (numbers > self.high), what="low..high of the domain"
            )
        within = np.clip(numbers, self.low, self.high)
        refuse_fractions(numbers if self._apart else within)
        symbols: NDArray[np.int64] = within.astype(np.int64) - self.low
        if self._apart:
            symbols += 1 + (numbers > self.high) - (numbers < self.low)
        if missing is not None:
            symbols[missing] = self.size - 1
        return symbols

    @property
    def open_ends(self) -> tuple[bool, bool]:
        """Whether the first bin also has the numbers below the range, and the last those above.

        Nothing is below 0 if the numbers begin there, because they are counts.
        """
        return self.open_ended and self.low != 0, self.open_ended

    name: ClassVar[str] = "integers"
    """Name of the class in documents."""

    def _rounded(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.rint(numbers)

    def for_curator(self) -> Integers:
        """Return the domain that counts missing numbers, and those outside that it refused."""
        outside: Outside = "overflow" if self.outside == "refuse" else self.outside
        return replace(self, outside=outside, missing="bin")
