"""The legal values of an attribute, and the mapping from a value to its bin number.

A domain has `size` bins or categories ("symbols" in the code), numbered from 0. Those of an
ordered domain (:class:`Interval`, :class:`Integers`) are in increasing order. Each occupies
``[left[i], right[i]]`` on the real line. An interval's bins have width, and an atom or an integer
has ``left == right``. A declared missing bin is always the last one. Randomizers and decoders see
only these numbers.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.declared import Declared, From, Read, shown_limit
from lapwing.docstrings import Documented
from lapwing.errors import ArgumentError, DomainError, kind_of
from lapwing.facts import html_of
from lapwing.linear.arrays import Values, Vector, as_numbers
from lapwing.privacy.exact_numbers import epsilon_text
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.domains.text_values import Texts, Unit
from lapwing.protocol.domains.units import check_some, to_numbers

if TYPE_CHECKING:
    from typing import Self

MAXIMUM_BINS = 2**24
"""For more bins than this, use `Categories`, whose size may reach 2^40."""

LARGEST_INTEGER = 2**53 - 1
"""JSON represents whole numbers up to this one exactly in every language (RFC 8785)."""

SafeInteger = Annotated[int, From(-LARGEST_INTEGER, LARGEST_INTEGER)]


Closed = Literal["left", "right"]

Outside = Literal["clip", "overflow", "refuse"]

OUTSIDE = ("clip", "overflow", "refuse")

BY_BINS: Any = None
"""Treatment of values outside that depends on the number of bins."""

LEAST_OVERFLOW = 32
"""Number of bins from which values outside are counted separately."""
# At 4 to 16 bins, two more symbols that nobody holds raised the error up to 2.2 times. At 64 and
# 256 they hardly do: `accuracy/values_outside` of the benchmarks.


class Described(Documented, Declared, ABC):
    """Base class of frozen dataclasses that documents identify by class name."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    def _check_stored(self) -> None:
        """Check what holds of a stored one only."""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the class and its fields.

        Returns
        -------
        dict
            JSON object with the class name and the fields.
        """
        self._check_stored()
        return class_document(self)


def class_document(described: Any) -> dict[str, Any]:
    """Return the JSON form of a frozen dataclass: its name and its fields, in their order.

    A field whose metadata has "absent" is left out where it has that value.
    """
    values = {"class": described.name}
    for field in dataclasses.fields(described):
        value = getattr(described, field.name)
        if field.init and ("absent" not in field.metadata or field.metadata["absent"] != value):
            values[field.name] = _written(value)
    return values


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        plain = {*map(type, value)} <= {str, int, float}
        return [*value] if plain else [_written(entry) for entry in value]
    if isinstance(value, Fraction):
        return epsilon_text(value)
    return value.to_document() if hasattr(value, "to_document") else value


class Domain(Described):
    """Base class of the domains: frozen dataclasses that define the legal values.

    Values derived from the fields are defined here. A class may inherit from it, but need not:
    anything with the same public names is a domain.
    """

    _refusal = DomainError

    missing: Any
    """"refuse", or how missing values are counted."""

    ordered: bool = True
    """Whether the symbols lie on the real line."""

    circular: bool = False
    """Whether the last bin touches the first."""

    closed: Closed = "right"
    """Which end of a symbol with a width is part of it."""

    unit: Unit = "number"
    """What the domain's numbers represent. "number" if it has none."""

    whole: bool = False
    """Whether only whole numbers are legal in bins that have a width."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of bins or categories, including the missing one if any."""

    @property
    def missing_index(self) -> int | None:
        """Number of the missing bin, always the last, or None when missing values are refused."""
        return None if self.missing == "refuse" else self.size - 1

    @property
    def below_index(self) -> int | None:
        """Number of the bin of values below the range, or None if there is none."""
        return None

    @property
    def above_index(self) -> int | None:
        """Number of the bin of values above the range, or None if there is none."""
        return None

    @property
    def outside_indices(self) -> list[int]:
        """Numbers of the bins of values outside the range: two, or none."""
        return [end for end in (self.below_index, self.above_index) if end is not None]

    @property
    def inside_size(self) -> int:
        """Number of bins or categories without those below and above the range."""
        return self.size - len(self.outside_indices)

    def with_nobody_outside(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return one number for each bin, with zeros below and above if those were left out.

        Parameters
        ----------
        numbers : numpy.ndarray
            One number for each bin or category. Those outside the range may be left out.

        Returns
        -------
        numpy.ndarray
            Array with zeros inserted for left-out bins outside the range. Otherwise the array is
            unchanged.
        """
        outside = self.outside_indices
        if not outside or numbers.shape != (self.inside_size,):
            return numbers
        return np.insert(numbers, [0, outside[-1] - 1], 0)

    @property
    def open_ended(self) -> bool:
        """Whether the first and the last bin also contain the values outside the range."""
        return self.ordered and not self.circular and getattr(self, "outside", None) == "clip"

    @property
    def open_ends(self) -> tuple[bool, bool]:
        """Whether the first bin also has the values below the range, and the last those above."""
        return self.open_ended, self.open_ended

    @property
    @abstractmethod
    def left(self) -> NDArray[np.float64]:
        """Left end of every bin except the missing one. DomainError if there is no order."""

    @property
    def right(self) -> NDArray[np.float64]:
        """Right end of every bin except the missing one. DomainError if there is no order."""
        return self.left

    @abstractmethod
    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the number of the bin or category of each value.

        Parameters
        ----------
        values : array_like [n]
            Values of the domain.

        Returns
        -------
        numpy.ndarray
            Number of the bin or category of each value, int64 [n].

        Raises
        ------
        DomainError
            When the domain refuses a value. The message gives the position of the first one.
        """

    def index_or_missing(
        self, values: Values, *, texts: Texts = "iso", rows: RowCounts | None = None
    ) -> NDArray[np.int64]:
        """Return the bin of each value, or the missing one if it has no bin: int64 [n].

        It is for a curator, who must not refuse a row. The domain must come from
        :meth:`for_curator`.

        Parameters
        ----------
        values : array_like [n]
            Values to place in the domain.
        texts : {"iso", "days", "seconds"}
            How date and time strings are read. Default: "iso".
        rows : RowCounts, optional
            Object that counts unreadable and clipped values. Default: none.

        Returns
        -------
        numpy.ndarray
            Number of the bin or category of each value, int64 [n].
        """
        faults: list[int] = []
        numbers = to_numbers(
            values, unit=self.unit, texts=texts, unreadable="missing", faults=faults
        )
        numbers = self._rounded(numbers)
        if rows is not None:
            rows.add_unreadable(faults)
            if not self.outside_indices:
                rows.add_clipped(numbers, self)
        return self.index(numbers) if numbers.size else np.zeros(0, dtype=np.int64)

    def _rounded(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers as a curator reads them, who refuses no fraction."""
        return numbers

    @abstractmethod
    def for_curator(self) -> Self:
        """Return the domain in which every value has a bin or category.

        A domain of numbers that refuses values outside counts them below and above instead.
        Missing values get a separate bin. A curator must not refuse a row, because an error that
        depends on the data reveals something about them. A value that is not a label counts as the
        domain's `other` label, or else as missing.

        Returns
        -------
        Domain
            Domain of the same kind that refuses no value.

        Raises
        ------
        ArgumentError
            When the domain's categories cannot be counted one by one.
        """

    def _repr_html_(self) -> str:
        """Return the legal values as a notebook shows them."""
        from lapwing.protocol.domains.domain_text import domain_text

        return html_of({"domain": domain_text(self)})


def bin_range(axis: Domain) -> range:
    """Return the symbols that are neither outside the range nor missing: they follow each other."""
    first = 0 if axis.below_index is None else 1
    return range(first, first + axis.inside_size - (axis.missing_index is not None))


def bins_of(axis: Domain) -> NDArray[np.int64]:
    """Return the symbols that are neither outside the range nor missing: int64, increasing."""
    bins = bin_range(axis)
    return np.arange(bins.start, bins.stop, dtype=np.int64)


def place_apart(symbols: NDArray[np.int64], bins: range) -> NDArray[np.int64]:
    """Return the place of each symbol that is no bin among such symbols, those below first."""
    return symbols - np.where(symbols < bins.start, 0, len(bins))


def require_domain(given: Any) -> Any:
    """Return a domain. DomainError for another object, such as a list of two bounds."""
    parts = ("size", "ordered", "missing_index", "index")
    if isinstance(given, type) or not all(hasattr(given, part) for part in parts):
        raise DomainError(
            "domain",
            "must be an Interval, Integers or Categories (or HashedStrings)",
            kind_of(given),
            "For example Interval(0, 100, bins=64), or Categories(['yes', 'no'])",
        )
    return given


DomainField = Annotated[Domain, Read(require_domain)]
"""A field that holds a domain."""

_KINDS = {
    "numbers": ("an Interval or Integers", "Labels have no order"),
    "labels": ("labels without an order", "A wave or subset selection suits numbers"),
}


def domain_of(
    kind: Literal["numbers", "labels"] | None = None,
    check: Callable[[Domain], Any] = lambda domain: None,
    *,
    least: int = 2,
    most: float = math.inf,
) -> Read:
    """Return what reads a domain of one kind and of so many symbols. DomainError for another.

    check: Raises a DomainError about a domain that does not suit for another reason.
    """
    sizes = f"at least {least}" if most == math.inf else f"{least} to {shown_limit(most)}"

    def read(given: Any) -> Any:
        domain = require_domain(given)
        if kind and domain.ordered != (kind == "numbers"):
            words, advice = _KINDS[kind]
            raise DomainError("domain", f"must be {words}", kind_of(domain), advice)
        if not least <= domain.size <= most:
            fewer = "Use fewer bins. LinearHashing takes up to 2^40 labels"
            said = fewer if domain.size > most else None
            raise DomainError("domain", f"must have {sizes} symbols", f"{domain.size}", said)
        check(domain)
        return domain

    return Read(read)


def one_for_each_symbol(mass: ArrayLike, domain: Domain) -> Vector:
    """Return a copy of the masses: float64 [domain.size].

    Raises ArgumentError unless there is one for each symbol.
    """
    require_domain(domain)
    copied = as_numbers(mass, name="mass").copy()
    if copied.shape != (domain.size,):
        raise ArgumentError(
            "mass",
            f"must have one entry for each of the {domain.size} symbols",
            f"shape {copied.shape}",
        )
    return copied


def flat_shares(domain: Domain) -> Vector:
    """Return the shares of the symbols under a flat density: float64 [symbols with a place].

    Flat along the axis as it is drawn, so on a log scale in the logarithm. Atoms and what lies
    outside the range have none. Of whole numbers all have the same.
    """
    left, right = domain.left, domain.right
    lengths = right - left
    if not lengths.any():
        lengths = np.ones(left.size)
        lengths[domain.outside_indices] = 0.0
    elif getattr(domain, "scale", "linear") == "log":
        inside = (lengths > 0) & (left > 0)
        ratio = np.divide(right, left, out=np.ones(left.size), where=inside)
        lengths = np.log(ratio)
    shares: Vector = lengths / lengths.sum()
    return shares


def bins_alone(domain: Domain) -> None:
    """Raise DomainError where values outside have symbols of their own."""
    check_no_overflow(domain, name="this randomizer")


def check_choice(word: Any, *, name: str, choices: tuple[str, ...]) -> None:
    """Raise DomainError unless the word is one of the choices."""
    if word not in choices:
        said = repr(word[:40]) if isinstance(word, str) else kind_of(word)
        raise DomainError(name, f"must be one of {', '.join(choices)}", said)


def check_ordered(domain: Domain, *, name: str) -> None:
    """Raise ArgumentError where a mechanism that needs an order is given labels."""
    if not domain.ordered:
        raise ArgumentError(
            f"{name} releases a distribution function, and labels have no order. Use label-counts"
        )


def check_no_overflow(domain: Domain, *, name: str) -> None:
    """Raise DomainError where a method for bins alone is given symbols below and above them."""
    if domain.below_index is not None:
        raise DomainError(
            f"{name} works with bins only, but this domain counts values outside separately. "
            "Declare outside='clip' in the domain (--outside clip)"
        )


def check_list(entries: Any, *, name: str) -> None:
    """Raise DomainError unless the entries are a list, or can be iterated like one.

    A set has no order. Its strings come in another order in each process, so the document would
    differ each time.
    """
    if isinstance(entries, set | frozenset):
        raise DomainError(
            name,
            "must be a list",
            f"{kind_of(entries)}, which has no order",
            "Pass sorted(...) of it",
        )
    if not isinstance(entries, Iterable) or isinstance(entries, str | bytes | Mapping):
        raise DomainError(name, "must be a list", kind_of(entries))


def read_numbers(
    values: Values, *, unit: Unit, missing: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Return values as numbers, at least one, and a mask of the missing ones (None without any).

    Where a domain counts missing values, a value that cannot be parsed is one of them.
    """
    refuse = missing == "refuse"
    numbers = to_numbers(values, unit=unit, unreadable="refuse" if refuse else "missing")
    check_some(numbers)
    absent = np.isnan(numbers)
    if not absent.any():
        return numbers, None
    if refuse:
        position = int(np.argmax(absent))
        raise DomainError(
            f"every value must be present, but the one at position {position} is missing (NaN "
            "or null). Drop such rows, or count them: missing='bin' in the domain (--missing bin)",
            position=position,
        )
    return numbers, absent


def refuse_outside(outside: NDArray[np.bool_], *, what: str) -> None:
    """Raise DomainError at the first value that lies outside."""
    if outside.any():
        position = int(np.argmax(outside))
        raise DomainError(
            f"every value must lie in {what}, but the one at position {position} does not. "
            "Correct it, or declare outside='clip' in the domain (--outside clip)",
            position=position,
        )


def refuse_fractions(numbers: NDArray[np.float64]) -> None:
    """Raise DomainError at the first number that is not whole."""
    whole = numbers == np.floor(numbers)
    if not whole.all():
        position = int(np.argmin(whole))
        raise DomainError(
            f"every value must be a whole number, but the one at position {position} is not. "
            "Round it, or use an Interval, which allows fractions",
            position=position,
        )
