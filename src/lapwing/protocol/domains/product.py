"""Pairs of values: two named axes with their domains, as one domain of their cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, DomainError, kind_of
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.label_text import compared_text, place_of
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.domains.text_values import Texts

MOST_CELLS = 2**20
"""Most cells of a product: the symbols of one axis times those of the other."""

_AXES = ("interval", "integers", "categories")

_RESERVED = ("self", "cls", "level")

_LONGEST_NAME = 100


@dataclasses.dataclass(frozen=True, init=False, repr=False)
class Product(Domain):
    """Product domain: pairs of two attributes, one value on each axis.

    Each person has one pair. The domain has a cell for each combination of a bin of the first axis
    and a bin of the second. So values outside the range of an axis, and missing values, have a
    separate row or column if their axis counts them.

    Parameters
    ----------
    **axes : Interval, Integers or Categories
        Exactly two domains, by the names of the axes and in order. Together they have at most 2^20
        cells. An interval may leave its bins open until :func:`lapwing.recommend` chooses them.

    Raises
    ------
    DomainError
        When there are not two axes, an axis is of another kind, a name is not legal, or there are
        too many cells.

    See Also
    --------
    lapwing.protocol.Segmented : For public segments of the rows of one column.

    Notes
    -----
    A product has no order, so :attr:`left` and :attr:`right` are refused. The axes keep their
    order, and :meth:`~lapwing.results.JointDistribution.marginal` gives the distribution of one of
    them.

    **Privacy.** Both values of a pair are protected together, by one epsilon. In a table by segment
    the label of the segment is public, and only the other value is protected.

    Examples
    --------
    >>> import lapwing as lw
    >>> delay = lw.Interval(0, 60, bins=12, outside="overflow")
    >>> flights = lw.Product(delay=delay, hour=lw.Integers(0, 23))
    >>> flights.size, flights.shape
    (336, (14, 24))
    >>> flights.index([(12.5, 7), (90, 23)]).tolist()
    [79, 335]
    """

    names: tuple[str, str]
    """The names of the axes, in order."""

    domains: tuple[Domain, Domain]
    """Their domains."""

    name: ClassVar[str] = "product"
    """Name of the class in documents."""

    def __init__(self, /, **axes: Domain) -> None:
        for given in axes.values():
            if getattr(given, "bins", 1) is not None:  # those of an interval may be open
                require_domain(given)
            if given.name not in _AXES:
                raise DomainError(
                    "an axis of a Product must be an Interval, Integers or Categories, got "
                    f"{given.name}"
                )
        if len(axes) != 2:
            raise DomainError(
                f"a Product must have two named axes, got {len(axes)}. For example "
                "Product(delay=Interval(0, 60, bins=64), hour=Integers(0, 23))"
            )
        for name in axes:
            if name in _RESERVED:
                raise DomainError(
                    f"an axis cannot be named {name}, because questions have an option of that "
                    "name. Choose another"
                )
            if not (0 < len(name) <= _LONGEST_NAME and name.isprintable()):
                raise DomainError("axes", "must have names of 1 to 100 printable characters")
        if len(set(map(compared_text, axes))) < len(axes):
            raise DomainError("axes", "must have two names that differ in more than Unicode form")
        # A product has no missing symbol, and its cells lie on no line.
        object.__setattr__(self, "missing", "refuse")
        object.__setattr__(self, "ordered", False)
        object.__setattr__(self, "names", tuple(axes))
        object.__setattr__(self, "domains", tuple(axes.values()))
        if all(getattr(axis, "bins", 1) is not None for axis in axes.values()):
            self._check_size()

    def _check_size(self) -> None:
        if self.size > MOST_CELLS:
            raise DomainError(
                f"a Product must have at most {MOST_CELLS:,} cells, got {self.size:,} "
                f"({self.shape[0]:,} times {self.shape[1]:,}). Use fewer bins"
            )

    def __repr__(self) -> str:
        """Return the constructor's call."""
        return f"Product({', '.join(f'{name}={one!r}' for name, one in self.axes.items())})"

    @property
    def axes(self) -> Mapping[str, Domain]:
        """The domain of each axis, by its name."""
        return MappingProxyType(dict(zip(self.names, self.domains, strict=True)))

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Number of symbols on each axis."""
        first, second = self.domains
        return first.size, second.size

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.shape[0] * self.shape[1]

    @property
    def missing_index(self) -> None:
        """None: each axis may have a missing symbol."""
        return None

    @property
    def left(self) -> NDArray[np.float64]:
        """Refused: pairs have no order."""
        raise DomainError(
            "pairs have no order, so no CDF, quantile or mean. Ask for a marginal, or for one axis "
            "given the other"
        )

    def axis_number(self, name: str) -> int:
        """Return the number of an axis.

        Parameters
        ----------
        name : str
            One of :attr:`names`, in any Unicode form.

        Returns
        -------
        int
            0 or 1.

        Raises
        ------
        ArgumentError
            When no axis has this name.
        """
        number = place_of(name, self.names) if isinstance(name, str) else None
        if number is None:
            said = repr(name) if isinstance(name, str) else kind_of(name)
            raise ArgumentError(f"the axes are {' and '.join(self.names)}, got {said}")
        return number

    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the cell of each pair.

        Parameters
        ----------
        values : sequence of pairs, array_like [n, 2], or table
            Pairs of values, each a sequence, or a mapping by the names of the axes. A table (a
            mapping, a data frame or an Arrow table) has one column for each axis, by its name.

        Raises
        ------
        DomainError
            When an axis refuses a value. The error gives the position of the first such pair.
        """
        columns = self.columns(values)
        found, refused = [], []
        for name, domain, column in zip(self.names, self.domains, columns, strict=True):
            try:
                found.append(domain.index(column))
            except DomainError as error:
                refused.append(DomainError(f"axis {name}: {error}", position=error.position))
        if refused:
            # An error without a position is about a whole column, and comes first.
            raise min(refused, key=lambda error: -1 if error.position is None else error.position)
        return self._cells(*found)

    def _cells(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        return first * self.shape[1] + second

    def index_or_missing(
        self, values: Values, *, texts: Texts = "iso", rows: RowCounts | None = None
    ) -> NDArray[np.int64]:
        """Return the cell of each pair, where a value that is not on its axis counts as missing.

        Parameters
        ----------
        values : sequence of pairs, array_like [n, 2], or table
            Pairs of values, as for :meth:`index`.
        """
        return self._cells(
            *(
                domain.index_or_missing(column, texts=texts, rows=rows)
                for domain, column in zip(self.domains, self.columns(values), strict=True)
            )
        )

    def columns(self, values: Any) -> tuple[Any, Any]:
        """Return the values of each axis, from pairs or a table.

        Parameters
        ----------
        values : sequence of pairs, array_like [n, 2], or table
            As :meth:`index` takes them.

        Returns
        -------
        tuple of two array_like
            One column for each axis.

        Raises
        ------
        DomainError
            When these are not pairs, or the table has no column for an axis.
        """
        if hasattr(values, "column_names"):
            return self._named(values, list(values.column_names))
        if hasattr(values, "columns") or isinstance(values, Mapping):
            return self._named(values, list(getattr(values, "columns", values)))
        if isinstance(values, np.ndarray):
            if values.ndim != 2 or values.shape[1] != 2:
                raise DomainError(_PAIRS.format(names=" and ".join(self.names)))
            return values[:, 0], values[:, 1]
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            raise DomainError(_PAIRS.format(names=" and ".join(self.names)))
        pairs = [self._pair(each, position) for position, each in enumerate(values)]
        return [first for first, _ in pairs], [second for _, second in pairs]

    def _pair(self, pair: Any, position: int) -> tuple[Any, Any]:
        """Return both values of a pair, or of a row by the names of the axes."""
        if isinstance(pair, Mapping):
            keys = [*pair]
            places = self._places(keys)
            if None in places:
                absent = [name for name, at in zip(self.names, places, strict=True) if at is None]
                raise DomainError(
                    f"every value must have {' and '.join(self.names)}, but the one at position "
                    f"{position} lacks {' and '.join(absent)}",
                    position=position,
                )
            pair = [pair[keys[place]] for place in places if place is not None]
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str | bytes):
            raise DomainError(
                f"every value must be a pair of {' and '.join(self.names)}, but the one at "
                f"position {position} is not a pair",
                position=position,
            )
        if len(pair) != 2:
            raise DomainError(
                f"every value must be a pair of {' and '.join(self.names)}, but the one at "
                f"position {position} has {len(pair)} entries",
                position=position,
            )
        return pair[0], pair[1]

    def _places(self, keys: list[Any]) -> list[int | None]:
        """Return the place of the name of each axis among keys, in whichever Unicode form."""
        texts = [key if isinstance(key, str) else "" for key in keys]
        return [place_of(name, texts) for name in self.names]

    def _named(self, table: Any, found: list[Any]) -> tuple[Any, Any]:
        places = self._places(found)
        absent = [name for name, place in zip(self.names, places, strict=True) if place is None]
        if absent:
            raise DomainError(
                "table",
                f"must have the columns {' and '.join(self.names)}, but it lacks "
                f"{' and '.join(absent)}",
            )
        first, second = (table[found[place]] for place in places if place is not None)
        if len(first) != len(second):
            raise DomainError(
                f"both columns must have as many rows, got {len(first)} and {len(second)}"
            )
        return first, second

    def for_curator(self) -> Product:
        """Return the product whose axes have a symbol for every value."""
        return Product(**{name: axis.for_curator() for name, axis in self.axes.items()})

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the class, and the axes in order.

        Returns
        -------
        dict
            JSON object with the class name and the axes.
        """
        return {
            "class": self.name,
            "axes": [
                {"name": name, "domain": axis.to_document()} for name, axis in self.axes.items()
            ],
        }


_PAIRS = (
    "the values must be pairs of {names}: a list of pairs, an array of two columns, or a table "
    "with both columns"
)
