"""An interval of the real numbers, cut into bins: on a line or a circle, with atoms.

The closed end of a bin determines which statements are exact at an edge. "At most 50" is a sum of
whole bins if each contains its right end, so that is the default for numbers. Round incomes in
round bins are the normal case, where most people at an edge have exactly that value.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import From, Later
from lapwing.errors import DomainError
from lapwing.linear.arrays import Values, Vector, declared_repr
from lapwing.linear.memoized import cached_property
from lapwing.protocol.domains.domain import (
    BY_BINS,
    LEAST_OVERFLOW,
    MAXIMUM_BINS,
    Closed,
    Domain,
    Outside,
    check_list,
    read_numbers,
    refuse_fractions,
    refuse_outside,
)
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import to_number, to_text

Point = float | str | datetime.date | datetime.time | np.number[Any] | np.datetime64
"""Types in which an end, an edge or an atom may be written. A datetime is also a date."""

_NEAR = 2.0**-46
"""What the roundings of a power are less than, relative to it."""

_AT_ONCE = 2**15
"""Values whose bins are found together: they stay in the cache."""

_OF_EDGES: Any = None
"""What is left out where the edges of the bins are given one by one."""

_NOT_CHOSEN: Any = None
"""The number of bins of an interval that is still to be cut, and what follows from it."""


@dataclass(frozen=True)
class Interval(Domain):
    """Interval domain: the real numbers from `low` to `high`, cut into bins.

    Bins are closed on one side and open on the other. Unless the domain is
    circular, the last bin on the open side includes both of its ends.

    Parameters
    ----------
    low, high : float, or a date, time or str when `unit` says so
        Ends of the interval, finite, with ``low < high``. For ``scale="log"`` also ``low > 0``.
        They are public, so they must not come from the data. Leave them out with `edges`.
    bins : int, optional
        Number of bins, in 1..2^24. Leave it out with `edges`. Without either, `bins` is None: the
        bins are not yet chosen. Such an interval can only be passed to `recommend`, `release` and
        `expected_error`, which choose the bins. To choose them by hand, use
        ``dataclasses.replace(domain, bins=128)``.
    circular : bool
        Whether `high` is the same point as `low` (time of day, angle). Values outside wrap.
        Default: False.
    scale : {"linear", "log"}
        Bins of equal width, or of equal ratio. Default: "linear".
    atoms : sequence of float
        Values in ``[low, high]`` that many people have exactly (0, a cap). Each gets a separate
        bin of width zero. An atom inside a bin splits it. Default: none.
    outside : {"overflow", "clip", "refuse"}, optional
        Treatment of values outside the interval. "overflow" gives them two separate bins. The
        first bin, *below*, contains values less than `low`. The bin *above*, after the last one,
        contains values greater than `high`, and `high` itself if bins are closed on the left.
        "clip" moves them to the nearest end, so the outermost bins also count values beyond them.
        "refuse" raises DomainError. Default: "overflow" for `low` and `high` with 32 bins or more,
        and otherwise "clip". A circle has no outside, because values there wrap. Nor has a whole
        day of times.
    missing : {"refuse", "bin"}
        Treatment of NaN, null, values that cannot be parsed, and infinite values on a circle.
        "bin" counts them in a missing bin, the last one. Default: "refuse".
    unit : {"number", "date", "datetime", "time-of-day", "duration"}
        Meaning of the numbers: plain numbers, days since 1970-01-01, seconds since then (UTC),
        seconds since midnight, or seconds of a duration. Answers are printed in the same unit.
        Default: "number".
    closed : {"right", "left"}, optional
        End of a bin that belongs to it: bins ``(a, b]`` or ``[a, b)``. Default: "right" for
        numbers and durations, so that "at most b" is exact at each edge. For dates, times and
        circles it is "left", because a day begins at midnight. On a line the lowest value always
        belongs to the first bin, and the highest to the last one.
    edges : sequence, optional
        Edges of custom bins, at least two and increasing, in the unit of the domain. Examples are
        age bands, income brackets, and quantiles of an earlier release. They are public, like `low`
        and `high`. Default: `bins` of equal width or ratio.
    whole : bool
        Whether the values are whole numbers, such as minutes or dates. Means and moments then use
        the whole numbers in each bin instead of its middle. A device refuses a fraction, and a
        curator rounds it. Only for the units "number" and "date" on a line. Default: False.

    See Also
    --------
    Integers : For whole numbers in a short range.

    Notes
    -----
    **Privacy.** The domain is public, and reveals nothing about the data if its ends, edges and
    atoms do not come from them.

    **Cost.** Placing n values takes O(n) time for bins of equal width or ratio. With atoms or
    custom edges it takes O(n log size).

    Examples
    --------
    >>> import lapwing as lw
    >>> income = lw.Interval(0, 100, bins=4, atoms=(0,))
    >>> income.size, income.index([0, 0.5, 99, 100, 1e9]).tolist()
    (5, [0, 1, 4, 4, 4])
    >>> years = lw.Interval(0, 100, bins=50)
    >>> years.size, years.index([-1, 1, 100, 1e9]).tolist()
    (52, [0, 1, 50, 51])
    >>> ages = lw.Interval(edges=[0, 18, 25, 65, 100], closed="left")
    >>> ages.bins, ages.index([17, 18, 100]).tolist()
    (4, [0, 1, 3])
    >>> lw.Interval(0, 500_000).size
    Traceback (most recent call last):
        ...
    lapwing.errors.DomainError: the number of bins is missing. Pass bins=, or call lw.recommend
    """

    low: Annotated[float, Later] = _OF_EDGES
    high: Annotated[float, Later] = _OF_EDGES
    _: KW_ONLY
    bins: Annotated[int, From(1, MAXIMUM_BINS)] = _NOT_CHOSEN
    circular: bool = False
    scale: Literal["linear", "log"] = "linear"
    atoms: Annotated[Sequence[float], Later] = ()
    outside: Outside = BY_BINS
    missing: Literal["refuse", "bin"] = "refuse"
    unit: Unit = "number"
    # A document without one of these was written before they came, and keeps its meaning.
    closed: Closed = field(default=_OF_EDGES, metadata={"absent": "left"})
    edges: Annotated[Sequence[float] | None, Later] = field(default=None, metadata={"absent": None})
    whole: bool = field(default=False, metadata={"absent": False})

    if TYPE_CHECKING:  # what it takes: bins by their number or by their edges

        @overload
        def __init__(
            self,
            low: Point,
            high: Point,
            *,
            bins: int | None = None,
            circular: bool = False,
            scale: Literal["linear", "log"] = "linear",
            atoms: Iterable[Point] | NDArray[Any] = (),
            outside: Outside | None = None,
            missing: Literal["refuse", "bin"] = "refuse",
            unit: Unit = "number",
            closed: Closed | None = None,
            whole: bool = False,
        ) -> None: ...

        @overload
        def __init__(
            self,
            *,
            edges: Iterable[Point] | NDArray[Any],
            circular: bool = False,
            atoms: Iterable[Point] | NDArray[Any] = (),
            outside: Outside | None = None,
            missing: Literal["refuse", "bin"] = "refuse",
            unit: Unit = "number",
            closed: Closed | None = None,
            whole: bool = False,
        ) -> None: ...

        def __init__(self, *ends: Any, **fields: Any) -> None: ...

    __repr__ = declared_repr

    def __post_init__(self) -> None:
        """Check every field and turn dates and texts into numbers."""
        super().__post_init__()
        if self.whole and (self.circular or self.unit not in ("number", "date")):
            raise DomainError(
                "whole", "is only for numbers and dates on a line", advice="Leave it out"
            )
        if self.circular and self.outside == "overflow":
            raise DomainError("a circle has no outside, because values wrap around. Leave it out")
        if self.edges is not None:
            self._take_ends(self.edges)
            self._count_or_clip(overflow=False)
        elif self.low is None or self.high is None:
            raise DomainError("an interval needs low and high, or else edges")
        low = to_number(self.low, unit=self.unit, name="low")
        high = to_number(self.high, unit=self.unit, name="high")
        if not math.isfinite(high - low):
            raise DomainError("low", "and high must be finite numbers", others=("high",))
        if low >= high:
            low_text, high_text = (to_text(end, unit=self.unit) for end in (low, high))
            turn = "They are equal" if low == high else "Exchange them"
            raise DomainError(
                "low",
                "must be less than high",
                f"{low_text} and {high_text}",
                turn,
                others=("high",),
            )
        if self.scale == "log" and (low <= 0 or self.circular):
            raise DomainError(
                "scale", "log needs low > 0 and an interval that is not circular", others=("low",)
            )
        check_list(self.atoms, name="atoms")
        atoms = {to_number(atom, unit=self.unit, name="atoms") for atom in self.atoms}
        if any(not low <= atom <= high for atom in atoms):
            raise DomainError(
                "atoms",
                "must lie between low and high",
                advice="Leave out the atoms that do not, or change low or high",
                others=("low", "high"),
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.bins is not None:
            line = not (self.circular or self.whole_day)
            self._count_or_clip(overflow=self.bins >= LEAST_OVERFLOW and line)
        if self.circular and high in atoms:
            # The end of a circle is its start, and values there are numbered so.
            atoms = atoms - {high} | {low}
        object.__setattr__(self, "atoms", tuple(sorted(atoms)))
        if self.closed is None:
            plain = self.unit in ("number", "duration") and not self.circular
            object.__setattr__(self, "closed", "right" if plain else "left")
        if self.edges is not None:
            return
        if self.scale == "log" and not math.isfinite(high / low):
            raise DomainError(
                "scale", "log needs high / low to be finite in float64", others=("low", "high")
            )
        if self.bins is None:
            return
        # The second: below the smallest normal number, positions cannot be computed.
        edges = self.bin_edges
        if np.any(edges[1:] <= edges[:-1]) or not math.isfinite(self.bins / (high - low)):
            raise DomainError(
                "bins", "must be wide enough for float64", str(self.bins), "Use fewer"
            )

    def _count_or_clip(self, *, overflow: bool) -> None:
        """Choose what becomes of values outside, where nothing was said of them."""
        if self.outside is None:
            object.__setattr__(self, "outside", "overflow" if overflow else "clip")

    def _take_ends(self, given_edges: Sequence[Any]) -> None:
        """Read edges of one's own. Other statements about the bins must agree with them."""
        check_list(given_edges, name="edges")
        edges = tuple(
            # The edges of a mean are many, and floats already.
            one
            if type(one) is float and math.isfinite(one)
            else to_number(one, unit=self.unit, name="edges")
            for one in given_edges
        )
        if len(edges) < 2 or not all(map(math.isfinite, edges)):
            raise DomainError("edges", "must be at least two finite values", str(len(edges)))
        if not all(one < next_one for one, next_one in pairwise(edges)):
            raise DomainError("edges", "must increase, each above the one before")
        if self.scale != "linear":
            raise DomainError(
                "scale",
                "is for bins that low, high and bins make",
                advice="Leave it out here",
                others=("low", "high", "bins"),
            )
        of_edges = {"low": edges[0], "high": edges[-1], "bins": len(edges) - 1}
        for name, number in of_edges.items():
            given = getattr(self, name)
            if given is not None and name != "bins":
                given = to_number(given, unit=self.unit, name=name)
            if given is not None and given != number:
                raise DomainError(
                    name, f"must be left out with edges, or match them: {number}", others=("edges",)
                )
            object.__setattr__(self, name, number)
        object.__setattr__(self, "edges", edges)

    def _check_stored(self) -> None:
        """Raise DomainError while the bins are not chosen."""
        if self.bins is None:
            raise DomainError("the number of bins is missing. Pass bins=, or call lw.recommend")

    @cached_property
    def bin_edges(self) -> NDArray[np.float64]:
        """Edges of the bins, before atoms split them: float64 [bins + 1]."""
        self._check_stored()
        if self.edges is not None:
            own = np.array(self.edges, dtype=np.float64)
            own.flags.writeable = False
            return own
        numbers: NDArray[np.float64] = np.arange(self.bins + 1, dtype=np.float64)
        if self.scale == "log":
            edges = self.low * (self.high / self.low) ** (numbers / self.bins)
            # Not in bins so narrow that two edges would be one decimal.
            if self.closed == "right" and self.high / self.low - 1 > self.bins * 2.0**-30:
                edges = _as_written(edges)
        else:
            # Multiplied first: an edge that is a whole number is that number, and not a rounding
            # above it, or people with just this value would fall into the bin before. Scaled by
            # a power of two, which is exact, because the product of huge numbers overflows.
            scale = math.ldexp(1.0, -self.bins.bit_length())
            edges = self.low + (self.high - self.low) * scale * numbers / (self.bins * scale)
        edges[0], edges[-1] = self.low, self.high
        edges.flags.writeable = False
        return edges

    @cached_property
    def _pieces(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Edges of the bins as split by atoms, and the symbols of pieces and of atoms."""
        atoms = np.array(self.atoms, dtype=np.float64)
        edges = np.unique(np.concatenate([self.bin_edges, atoms]))
        starts = np.concatenate([edges[:-1], atoms])
        # At one point an atom comes before the piece that starts there.
        is_piece = np.concatenate([np.ones(edges.size - 1), np.zeros(atoms.size)])
        order = np.lexsort((is_piece, starts))
        symbol = np.empty(order.size, dtype=np.int64)
        symbol[order] = np.arange(order.size) + (self.outside == "overflow")
        return edges, symbol[: edges.size - 1], symbol[edges.size - 1 :]

    @cached_property
    def left(self) -> NDArray[np.float64]:
        """Left end of every bin except the missing one: float64 [size or size - 1].

        The bin below has both ends at `low`, and the bin above at `high`.
        """
        return self._ends(0)

    @cached_property
    def right(self) -> NDArray[np.float64]:
        """Right end of every bin except the missing one: float64 [size or size - 1]."""
        return self._ends(1)

    def _ends(self, side: int) -> NDArray[np.float64]:
        edges, pieces, atoms = self._pieces
        outside = 2 * (self.outside == "overflow")
        ends = np.empty(pieces.size + atoms.size + outside)
        ends[0], ends[-1] = self.low, self.high
        ends[pieces] = edges[side : edges.size - 1 + side]
        ends[atoms] = self.atoms
        ends.flags.writeable = False
        return ends

    @cached_property
    def size(self) -> int:
        """Number of bins: below, pieces of bins, atoms, above, and missing."""
        return self._present + (self.missing == "bin")

    @property
    def _present(self) -> int:
        """Number of bins but the missing one. Without atoms none of their ends is worked out."""
        self._check_stored()
        return self.left.size if self.atoms else self.bins + 2 * (self.outside == "overflow")

    @property
    def below_index(self) -> int | None:
        """Number of the bin of values below the interval, or None if there is none."""
        return 0 if self.outside == "overflow" else None

    @property
    def above_index(self) -> int | None:
        """Number of the bin of values above the interval, or None if there is none."""
        return self._present - 1 if self.outside == "overflow" else None

    @property
    def missing_index(self) -> int | None:
        """Number of the missing bin, or None if missing values are refused."""
        self._check_stored()
        return super().missing_index

    @property
    def whole_day(self) -> bool:
        """Whether the interval contains all times of day, so that none is outside."""
        return self.unit == "time-of-day" and (self.low, self.high) == (0.0, 86_400.0)

    @property
    def open_ended(self) -> bool:
        """Whether the first and the last bin also contain the values outside the range."""
        return super().open_ended and not self.whole_day

    @property
    def regular(self) -> bool:
        """Whether there are only bins of equal width or ratio, without atoms or special bins."""
        return self.size == self.bins and self.edges is None

    def refined(self, bins: int) -> Interval:
        """Return the same interval with another number of bins.

        Parameters
        ----------
        bins : int
            New number of bins.

        Returns
        -------
        Interval
            Interval with that number of bins.

        Raises
        ------
        DomainError
            When the interval has custom bins.
        """
        if self.edges is not None and bins != self.bins:
            raise DomainError(
                "an interval with its own edges has exactly these bins. For another number, "
                "create one from low, high and bins"
            )
        return replace(self, bins=bins)

    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the bin of each value.

        Parameters
        ----------
        values : array_like [n]
            Numbers or, depending on `unit`, dates, times, datetimes or their ISO strings. NaN and
            None are missing. Each value is read on its own.

        Raises
        ------
        DomainError
            When a value is missing (unless declared), outside (if refused), or of the wrong type.
            The message gives the position of the first one.

        Notes
        -----
        **Accuracy.** A value on an edge goes exactly to the bin that is closed there. The scaled
        position is corrected by comparing with the edges.

        **Cost.** O(n) for bins of equal width or ratio, O(n log size) with atoms or custom edges.
        """
        self._check_stored()
        numbers, missing = read_numbers(values, unit=self.unit, missing=self.missing)
        if missing is not None:
            numbers = np.where(missing, self.low, numbers)
        if self.circular:
            with np.errstate(all="ignore"):  # infinity, and what overflows to it, has no place
                numbers = self.low + np.mod(numbers - self.low, self.high - self.low)
            nowhere = ~np.isfinite(numbers)
            if nowhere.any():
                if self.missing == "refuse":
                    refuse_outside(nowhere, what="a circle, so it must be finite")
                missing = nowhere if missing is None else missing | nowhere
            numbers = np.where(nowhere | (numbers >= self.high), self.low, numbers)
        if self.whole:
            refuse_fractions(numbers if missing is None else numbers[~missing])
        beyond = None if self.outside == "clip" else self._beyond(numbers)
        if beyond is not None and self.outside == "refuse" and not self.circular:
            refuse_outside(beyond[0] | beyond[1], what="[low, high] of the domain")
        searched = self.atoms or self.edges is not None
        place = self._searched_index if searched else self._regular_index
        symbols = np.empty(numbers.size, dtype=np.int64)
        for start in range(0, numbers.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            symbols[part] = place(np.clip(numbers[part], self.low, self.high))
        if beyond is not None and self.below_index is not None and self.above_index is not None:
            symbols[beyond[0]], symbols[beyond[1]] = self.below_index, self.above_index
        if missing is not None:
            symbols[missing] = self.size - 1
        return symbols

    def _beyond(self, numbers: Vector) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which numbers lie below and above. An atom at `high` holds exactly that value."""
        above = numbers > self.high
        if self.outside == "overflow" and self.closed == "left" and self.high not in self.atoms:
            above |= numbers == self.high
        return numbers < self.low, above

    def _regular_index(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        if self.scale == "log":
            position = np.log(numbers / self.low) * (self.bins / math.log(self.high / self.low))
        else:
            position = (numbers - self.low) * (self.bins / (self.high - self.low))
        symbols: NDArray[np.int64] = position.astype(np.int64)
        np.clip(symbols, 0, self.bins - 1, out=symbols)
        # Rounding can put a value near an edge one bin too low or too high; the edges decide.
        start, stop = self.bin_edges[:-1], self.bin_edges[1:]
        if self.closed == "left":
            symbols += numbers >= stop.take(symbols)
            symbols -= numbers < start.take(symbols, mode="clip")
        else:
            symbols += numbers > stop.take(symbols)
            symbols -= numbers <= start.take(symbols, mode="clip")
        return self._outermost(symbols, self.bins) + (self.outside == "overflow")

    def _outermost(self, pieces: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        """Return the pieces with the closed end of the line, or of the circle, in one of them."""
        if self.circular:
            return pieces % number
        if self.closed == "left":
            return np.minimum(pieces, number - 1, out=pieces)
        return np.maximum(pieces, 0, out=pieces)

    def _searched_index(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        edges, pieces, atom_symbols = self._pieces
        side: Literal["left", "right"] = "right" if self.closed == "left" else "left"
        piece = np.searchsorted(edges, numbers, side=side) - 1
        symbols = pieces[self._outermost(piece, pieces.size)]
        if not self.atoms:
            return symbols
        atoms = np.array(self.atoms)
        nearest = np.minimum(np.searchsorted(atoms, numbers), atoms.size - 1)
        return np.where(atoms[nearest] == numbers, atom_symbols[nearest], symbols)

    def _rounded(self, numbers: Vector) -> Vector:
        return np.rint(numbers) if self.whole else numbers

    name: ClassVar[str] = "interval"
    """Name of the class in documents."""

    def for_curator(self) -> Interval:
        """Return the interval that counts missing values, and values outside that it refused."""
        refused = self.outside == "refuse" and not self.circular
        return replace(self, outside="overflow" if refused else self.outside, missing="bin")


def _as_written(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return edges in which what is a short decimal but for rounding is that number.

    A power of 10 comes out a rounding alongside it, and the people who hold just 10,000 would fall
    into the bin after the one that ends there. An edge within 2^-46 of a decimal of twelve digits
    becomes it. Bins that are closed on the left keep the edges that documents gave them.
    """
    order = np.clip(np.floor(np.log10(edges)), -250, 250)
    digits = edges * 10.0 ** (11 - order)
    near = np.abs(digits - np.rint(digits)) <= _NEAR * 2e12
    found = edges.copy()
    for place in np.flatnonzero(near).tolist():
        written = float(f"{edges[place]:.12g}")
        if abs(written - edges[place]) <= _NEAR * written:
            found[place] = written
    return found
