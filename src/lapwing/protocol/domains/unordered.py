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
        symbols = np.empty(array.size, dtype=np.int64)
        for position, value in enumerate(array.tolist()):
            if not is_missing(value):
                symbols[position] = self._symbol(value, position)
            elif self.missing_index is not None:
                symbols[position] = self.missing_index
            else:
                raise DomainError(
                    f"every value must be present, the value at position {position} is missing; "
                    "drop such rows, or count them: missing='category' in the domain "
                    "(--missing category)",
                    position=position,
                )
        return symbols
