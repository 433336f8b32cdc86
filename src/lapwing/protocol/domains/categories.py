"""Labels without an order: a domain that may be too large to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import DomainError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.domains.domain import LARGEST_INTEGER, check_choice, check_list
from lapwing.protocol.domains.units import check_some, one_dimensional
from lapwing.protocol.domains.unordered import Unordered

MAXIMUM_CATEGORIES = 2**40


@dataclass(frozen=True)
class Categories(Unordered):
    """Labels without an order.

    Parameters
    ----------
    labels : sequence of str or int, or int
        The labels, all different; or their number, in 1..2^40, which stands for 0..number-1
        without ever listing them.
    missing : {"refuse", "category"}
        What becomes of None and NaN. The missing category is the last symbol.

    Examples
    --------
    >>> colours = Categories(["red", "green"], missing="category")
    >>> colours.size, colours.index(["green", None]).tolist()
    (3, [1, 2])
    """

    labels: Sequence[str | int] | int
    _: KW_ONLY
    missing: Literal["refuse", "category"] = "refuse"

    def __post_init__(self) -> None:
        """Check the labels."""
        check_choice(self.missing, name="missing", choices=("refuse", "category"))
        if isinstance(self.labels, int | np.integer):
            limits = {"low": 1, "high": MAXIMUM_CATEGORIES}
            number = check_whole("the number of labels", self.labels, **limits, error=DomainError)
            object.__setattr__(self, "labels", number)
            return
        check_list(self.labels, name="labels, unless their number,")
        labels = tuple(
            int(label) if isinstance(label, np.integer) else label for label in self.labels
        )
        wrong = next((type(label) for label in labels if type(label) not in (str, int)), None)
        if wrong is not None:
            raise DomainError(
                f"every label must be a text or a whole number, one is a {wrong.__name__}"
            )
        if any(isinstance(label, int) and abs(label) > LARGEST_INTEGER for label in labels):
            raise DomainError("a label that is a number must be within +-(2^53 - 1)")
        if any(isinstance(label, str) and not _is_unicode(label) for label in labels):
            raise DomainError("every text label must be valid Unicode, one has a lone surrogate")
        if not labels:
            raise DomainError("there must be at least one label")
        if len(set(labels)) != len(labels):
            raise DomainError("labels must all be different")
        object.__setattr__(self, "labels", labels)

    @cached_property
    def _numbers(self) -> dict[str | int, int]:
        return {label: number for number, label in enumerate(self.listed)}

    @property
    def listed(self) -> Sequence[str | int]:
        """The labels in order, without the missing category; a range where only counted."""
        return range(self.labels) if isinstance(self.labels, int) else self.labels

    def index(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return the symbol of each label: int64 [n].

        Raises
        ------
        DomainError
            With the position of the first value that is not one of the labels.
        """
        array = one_dimensional(values)
        if not isinstance(self.labels, int) or not np.issubdtype(array.dtype, np.integer):
            return super().index(values)
        check_some(array)
        outside = (array < 0) | (array >= self.labels)
        if outside.any():
            self._unknown(int(np.argmax(outside)))
        return array.astype(np.int64)

    def _symbol(self, value: Any, position: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(self.labels, int):
            if type(value) is not int or not 0 <= value < self.labels:
                self._unknown(position)
            return int(value)
        symbol = self._numbers.get(value) if type(value) in (str, int) else None
        if symbol is None:
            self._unknown(position)
        return int(symbol)

    def _unknown(self, position: int) -> NoReturn:
        raise DomainError(
            f"every value must be one of the domain's labels, the one at position {position} is "
            "not; add the label, or map such values to one like 'other' first",
            position=position,
        )

    name: ClassVar[str] = "categories"
    """Of its class, in documents."""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        labels = self.labels if isinstance(self.labels, int) else list(self.labels)
        return {"class": self.name, "labels": labels, "missing": self.missing}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
