"""What the domains without an order share: labels, and texts known by their hashes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import DomainError
from lapwing.linear.arrays import Values
from lapwing.protocol.domains.domain import Closed
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import check_some, is_missing, one_dimensional


class Unordered(ABC):
    """Symbols that are not numbers: a concrete domain lists them, and finds the one of a value."""

    missing: Literal["refuse", "category"]

    @property
    @abstractmethod
    def listed(self) -> Sequence[str | int]:
        """The symbols in order, without the missing one."""

    @abstractmethod
    def _symbol(self, value: Any, position: int) -> int:
        """Return the symbol of a value that is not missing."""

    @property
    def ordered(self) -> bool:
        """False: there is no order, so there is no CDF."""
        return False

    @property
    def circular(self) -> bool:
        """False."""
        return False

    @property
    def closed(self) -> Closed:
        """No symbol has a width."""
        return "right"

    @property
    def unit(self) -> Unit:
        """Labels are plain: no dates and no times."""
        return "number"

    @property
    def left(self) -> NDArray[np.float64]:
        """Refused: labels are not numbers."""
        raise DomainError("labels have no order, so no CDF, quantile or mean; ask for shares")

    @property
    def right(self) -> NDArray[np.float64]:
        """Refused: labels are not numbers."""
        return self.left

    @property
    def size(self) -> int:
        """Number of symbols."""
        return len(self.listed) + (self.missing == "category")

    @property
    def missing_index(self) -> int | None:
        """Number of the missing symbol, or None."""
        return self.size - 1 if self.missing == "category" else None

    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the symbol of each value: int64 [n].

        Raises
        ------
        DomainError
            With the position of the first value that is none of the domain's, or missing where
            that is refused.
        """
        array = one_dimensional(values)
        check_some(array)
        return self._symbols(array)

    def index_or_missing(self, values: Values) -> NDArray[np.int64]:
        """Return the symbol of each value, the missing one for what is none: int64 [n].

        For a curator, who must not refuse a row. The domain must have a missing symbol.
        """
        missing = self.missing_index
        if missing is None:
            raise DomainError("only a domain with a missing symbol has a place for every value")
        return self._symbols(one_dimensional(values), unknown=missing)

    def _symbols(self, array: NDArray[Any], *, unknown: int | None = None) -> NDArray[np.int64]:
        """Return the symbol of each value; `unknown` for what is none, refused where None."""
        symbols = np.empty(array.size, dtype=np.int64)
        # tolist() makes whole numbers of moments in nanoseconds, which are no labels.
        cells = array if array.dtype.kind in "mM" else array.tolist()
        for position, value in enumerate(cells):
            if is_missing(value):
                symbols[position] = self._of_missing(position)
                continue
            try:
                symbols[position] = self._symbol(_plain(value), position)
            except DomainError:
                if unknown is None:
                    raise
                symbols[position] = unknown
        return symbols

    def _of_missing(self, position: int) -> int:
        if self.missing_index is None:
            raise DomainError(
                f"every value must be present, the value at position {position} is missing; "
                "drop such rows, or count them: missing='category' in the domain "
                "(--missing category)",
                position=position,
            )
        return self.missing_index


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and texts as Python's, so that each is the same in any array."""
    if isinstance(value, np.floating):
        with np.errstate(all="ignore"):
            return float(value)
    return value.item() if isinstance(value, np.str_ | np.integer) else value
