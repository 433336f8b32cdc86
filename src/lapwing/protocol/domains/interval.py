"""An interval of the real numbers, cut into bins: on a line or a circle, with atoms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import DomainError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.protocol.domains.domain import (
    MAXIMUM_BINS,
    check_choice,
    check_list,
    read_numbers,
    refuse_outside,
)
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import UNITS, to_number


@dataclass(frozen=True)
class Interval:
    """The real numbers from `low` to `high`, cut into bins.

    Bins are closed on the left and open on the right; the last one is closed on both sides.

    Parameters
    ----------
    low, high : float, or a date, time or text when `unit` says so
        Finite, ``low < high``; for ``scale="log"`` also ``low > 0``. Public: they must not come
        from the data.
    bins : int
        In 1..2^24.
    circular : bool
        Whether `high` is the same point as `low` (time of day, angle). Values outside wrap.
    scale : {"linear", "log"}
        Bins of equal width, or of equal ratio.
    atoms : sequence of float
        Values in ``[low, high]`` that many people hold exactly (0, a cap). Each gets a symbol of
        its own, of width zero; an atom inside a bin splits it.
    outside : {"clip", "refuse"}
        What becomes of values outside ``[low, high]``.
    missing : {"refuse", "bin"}
        What becomes of NaN and null, and of what cannot be read or, on a circle, is infinite. The
        missing bin is the last symbol.
    unit : {"number", "date", "datetime", "time-of-day"}
        What the numbers are: plain, days since 1970-01-01, seconds since then (UTC), or seconds
        since midnight. Answers are printed in the same unit.

    Examples
    --------
    >>> income = Interval(0, 100, bins=4, atoms=(0,))
    >>> income.size, income.index([0, 0.5, 99, 100, 1e9]).tolist()
    (5, [0, 1, 4, 4, 4])
    """

    low: float
    high: float
    _: KW_ONLY
    bins: int
    circular: bool = False
    scale: Literal["linear", "log"] = "linear"
    atoms: Sequence[float] = ()
    outside: Literal["clip", "refuse"] = "clip"
    missing: Literal["refuse", "bin"] = "refuse"
    unit: Unit = "number"

    def __post_init__(self) -> None:
        """Check every field and turn dates and texts into numbers."""
        check_choice(self.scale, name="scale", choices=("linear", "log"))
        check_choice(self.outside, name="outside", choices=("clip", "refuse"))
        check_choice(self.missing, name="missing", choices=("refuse", "bin"))
        check_choice(self.unit, name="unit", choices=UNITS)
        if not isinstance(self.circular, bool):
            raise DomainError(
                f"circular must be True or False, got a {type(self.circular).__name__}"
            )
        low = to_number(self.low, unit=self.unit, name="low")
        high = to_number(self.high, unit=self.unit, name="high")
        if not (math.isfinite(high - low) and low < high):
            raise DomainError(f"low and high must be finite and low < high, got {low} and {high}")
        if self.scale == "log" and (low <= 0 or self.circular):
            raise DomainError("scale='log' needs low > 0 and an interval that is not circular")
        check_list(self.atoms, name="atoms")
        atoms = {to_number(atom, unit=self.unit, name="an atom") for atom in self.atoms}
        if any(not low <= atom <= high for atom in atoms):
            raise DomainError("every atom must lie between low and high")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        check_whole_field(self, "bins", low=1, high=MAXIMUM_BINS, error=DomainError)
        if self.circular and high in atoms:
            # The end of a circle is its start, and values there are numbered so.
            atoms = atoms - {high} | {low}
        object.__setattr__(self, "atoms", tuple(sorted(atoms)))
        if self.scale == "log" and not math.isfinite(high / low):
            raise DomainError("scale='log' needs high / low to be finite in float64")
        # The second: below the smallest normal number, positions cannot be computed.
        if np.any(np.diff(self.edges) <= 0) or not math.isfinite(self.bins / (high - low)):
            raise DomainError(f"{self.bins} bins are too narrow for float64 here; use fewer")

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the regular bins: float64 [bins + 1]."""
        numbers: NDArray[np.float64] = np.arange(self.bins + 1, dtype=np.float64)
        if self.scale == "log":
            edges = self.low * (self.high / self.low) ** (numbers / self.bins)
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
        edges = np.unique(np.concatenate([self.edges, atoms]))
        starts = np.concatenate([edges[:-1], atoms])
        # At one point an atom comes before the piece that starts there.
        is_piece = np.concatenate([np.ones(edges.size - 1), np.zeros(atoms.size)])
        order = np.lexsort((is_piece, starts))
        symbol = np.empty(order.size, dtype=np.int64)
        symbol[order] = np.arange(order.size)
        return edges, symbol[: edges.size - 1], symbol[edges.size - 1 :]

    @cached_property
    def left(self) -> NDArray[np.float64]:
        """Left end of every symbol but the missing one: float64 [size or size - 1]."""
        return self._ends(0)

    @cached_property
    def right(self) -> NDArray[np.float64]:
        """Right end of every symbol but the missing one: float64 [size or size - 1]."""
        return self._ends(1)

    def _ends(self, side: int) -> NDArray[np.float64]:
        edges, pieces, atoms = self._pieces
        ends = np.empty(pieces.size + atoms.size)
        ends[pieces] = edges[side : edges.size - 1 + side]
        ends[atoms] = self.atoms
        ends.flags.writeable = False
        return ends

    @property
    def ordered(self) -> bool:
        """True: the symbols lie on the real line."""
        return True

    @property
    def size(self) -> int:
        """Number of symbols: pieces of bins, atoms, and the missing one."""
        return self.left.size + (self.missing == "bin")

    @property
    def missing_index(self) -> int | None:
        """Number of the missing symbol, or None."""
        return self.size - 1 if self.missing == "bin" else None

    @property
    def regular(self) -> bool:
        """Whether the symbols are exactly the bins: no atoms and no missing bin."""
        return self.size == self.bins

    def refined(self, bins: int) -> Interval:
        """Return the same interval with another number of bins."""
        return replace(self, bins=bins)

    def index(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return the symbol of each value.

        Parameters
        ----------
        values : array_like [n]
            Numbers; dates, times, datetimes or their ISO texts where `unit` says so; NaN or None
            for missing. Each is read by itself.

        Returns
        -------
        numpy.ndarray
            int64 [n], in 0..size-1.

        Raises
        ------
        DomainError
            With the position of the first value that is missing (unless declared), outside
            (where refused), or of a wrong type.

        Notes
        -----
        O(n) without atoms, O(n log size) with. A value on an edge goes to the bin that starts
        there, exactly: the scaled position is corrected by comparing with the edges.
        """
        numbers, missing = read_numbers(values, unit=self.unit, missing=self.missing)
        if missing is not None:
            numbers = np.where(missing, self.low, numbers)
        if self.circular:
            with np.errstate(all="ignore"):  # infinity, and what overflows to it, has no place
                numbers = self.low + np.mod(numbers - self.low, self.high - self.low)
            nowhere = ~np.isfinite(numbers)
            if nowhere.any():
                if self.missing == "refuse":
                    refuse_outside(nowhere, what="a circle, so be finite")
                missing = nowhere if missing is None else missing | nowhere
            numbers = np.where(nowhere | (numbers >= self.high), self.low, numbers)
        elif self.outside == "refuse":
            refuse_outside(
                (numbers < self.low) | (numbers > self.high), what="[low, high] of the domain"
            )
        else:
            numbers = np.clip(numbers, self.low, self.high)
        symbols = self._split_index(numbers) if self.atoms else self._regular_index(numbers)
        if missing is not None:
            symbols[missing] = self.size - 1
        return symbols

    def _regular_index(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        if self.scale == "log":
            position = np.log(numbers / self.low) * (self.bins / math.log(self.high / self.low))
        else:
            position = (numbers - self.low) * (self.bins / (self.high - self.low))
        symbols: NDArray[np.int64] = position.astype(np.int64)
        np.clip(symbols, 0, self.bins - 1, out=symbols)
        # Rounding can put a value on an edge one bin too low or too high; the edges decide.
        symbols += numbers >= self.edges[1:].take(symbols)
        symbols -= numbers < self.edges[:-1].take(symbols, mode="clip")
        np.minimum(symbols, self.bins - 1, out=symbols)
        return symbols

    def _split_index(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        edges, pieces, atom_symbols = self._pieces
        piece = np.searchsorted(edges, numbers, side="right") - 1
        symbols = pieces[np.clip(piece, 0, pieces.size - 1)]
        atoms = np.array(self.atoms)
        nearest = np.minimum(np.searchsorted(atoms, numbers), atoms.size - 1)
        return np.where(atoms[nearest] == numbers, atom_symbols[nearest], symbols)

    name: ClassVar[str] = "interval"
    """Of its class, in documents."""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "class": self.name,
            "low": self.low,
            "high": self.high,
            "bins": self.bins,
            "circular": self.circular,
            "scale": self.scale,
            "atoms": list(self.atoms),
            "outside": self.outside,
            "missing": self.missing,
            "unit": self.unit,
        }
