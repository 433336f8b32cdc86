"""Labels without an order: a domain that may be too large to list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import Later
from lapwing.errors import ArgumentError, DomainError, kind_of
from lapwing.linear.arrays import Values, declared_repr
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.domains.domain import LARGEST_INTEGER, MAXIMUM_BINS, SafeInteger, check_list
from lapwing.protocol.domains.label_text import (
    LONGEST_LABEL,
    broken_rule,
    compared_label,
    compared_text,
    label_text,
    loose_text,
)
from lapwing.protocol.domains.units import check_some, one_dimensional
from lapwing.protocol.domains.unordered import Unordered, plain

MAXIMUM_CATEGORIES = 2**40


@dataclass(frozen=True)
class Categories(Unordered):
    """Categorical domain: labels without an order.

    Parameters
    ----------
    labels : sequence of str or int, or int
        Labels, all different even as strings, so not 1 and "1". A single number in 1..2^40 is the
        number of labels, and means ``0..number-1`` without a list. Strings are compared in one
        Unicode form: "é" is the same label as one character and as two. A value that is not a
        label counts as the label with its string, if there is one. So "1" is 1, a date is
        "2026-01-02", and a truth value is "true" or "false". A string has at most 1,000 characters
        and at most 30 combining marks in a row. It contains no control character, line break or
        bidirectional override.
    missing : {"refuse", "category"}
        Treatment of None and NaN. "category" counts them in a missing category, the last one.
        Default: "refuse".
    other : str or int, optional
        Label under which every value that is not a label is counted. Without it such a value is
        refused. A curator, who must not refuse a row, counts it as missing. Default: none.

    See Also
    --------
    HashedStrings : For strings that nobody can list.

    Notes
    -----
    **Privacy.** The domain is public, and reveals nothing about the data if its labels do not come
    from them.

    **Cost.** Placing n values takes O(n) time. Labels given by their number take no memory.

    Examples
    --------
    >>> import lapwing as lw
    >>> colors = lw.Categories(["red", "green"], missing="category")
    >>> colors.size, colors.index(["green", None]).tolist()
    (3, [1, 2])
    >>> lw.Categories(["red", "green", "another"], other="another").index(["blue", "red"]).tolist()
    [2, 0]
    """

    labels: Annotated[Sequence[str | int] | int, Later]
    _: KW_ONLY
    missing: Literal["refuse", "category"] = "refuse"
    # A document without it was written before it came, and refuses what is no label.
    other: str | SafeInteger | None = field(default=None, metadata={"absent": None})

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            labels: Iterable[str | int] | NDArray[Any] | int,
            *,
            missing: Literal["refuse", "category"] = "refuse",
            other: str | int | None = None,
        ) -> None: ...

    __repr__ = declared_repr

    def __post_init__(self) -> None:
        """Check the labels."""
        super().__post_init__()
        self._check_labels()
        if self.other is not None and not self._is_listed(self.other):
            raise DomainError("other", "must be one of the labels", advice="Add that label")

    def _check_labels(self) -> None:
        if isinstance(self.labels, int | np.integer):
            limits = {"low": 1, "high": MAXIMUM_CATEGORIES}
            number = check_whole("labels", self.labels, **limits, error=DomainError)
            object.__setattr__(self, "labels", number)
            return
        check_list(self.labels, name="labels")
        labels = tuple(
            label.item() if isinstance(label, np.integer | np.str_) else label
            for label in self.labels
        )
        wrong = next((n for n, label in enumerate(labels) if type(label) not in (str, int)), None)
        if wrong is not None:
            raise DomainError(
                "labels",
                f"must be strings or whole numbers, but the one at position {wrong} is "
                f"{kind_of(labels[wrong])}",
                advice=f"{_in_words(labels[wrong])}",
            )
        if any(isinstance(label, int) and abs(label) > LARGEST_INTEGER for label in labels):
            raise DomainError("labels", "that are numbers must be within +-(2^53 - 1)")
        for place, label in enumerate(labels):
            rule = broken_rule(label) if isinstance(label, str) else None
            if rule is not None:
                raise DomainError(
                    "labels",
                    f"must each {rule}, but the one at position {place} does not",
                    advice="Change it",
                )
        if not labels:
            raise DomainError("there must be at least one label")
        forms = [compared_text(str(label)) for label in labels]
        if len(set(forms)) != len(forms):
            first = next(place for place, one in enumerate(forms) if one in forms[:place])
            place = forms.index(forms[first])
            same = labels[place] == labels[first]
            equal = "are equal" if same else "differ in Unicode form only"
            if str(labels[place]) == str(labels[first]) and not same:
                equal = "would look the same in a CSV, as a number and as a string"
            raise DomainError(
                "labels",
                f"must all be different, but those at positions {place} and {first} {equal}",
                advice="Drop one",
            )
        object.__setattr__(self, "labels", labels)

    @cached_property
    def _numbers(self) -> dict[str | int, int]:
        return {compared_label(label): number for number, label in enumerate(self.listed)}

    @cached_property
    def _texts(self) -> dict[str, int]:
        """The first label of each string: a value that is no label itself is one by its text."""
        texts: dict[str, int] = {}
        for number, label in enumerate(self.listed):
            texts.setdefault(compared_text(str(label)), number)
        return texts

    @cached_property
    def _number_of_other(self) -> int | None:
        if self.other is None or isinstance(self.labels, int):
            return None if self.other is None else int(self.other)
        return self._numbers[compared_label(self.other)]

    def _is_listed(self, label: str | int) -> bool:
        return label in self.listed or compared_label(label) in self._numbers

    @property
    def listed(self) -> Sequence[str | int]:
        """Labels in order without the missing category, or a range if given by their number."""
        return range(self.labels) if isinstance(self.labels, int) else self.labels

    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the number of the category of each value: int64 [n].

        Raises
        ------
        DomainError
            When a value is not one of the labels. The message gives the position of the first one.
        """
        if not isinstance(self.labels, int):
            return super().index(values)
        array = one_dimensional(values)
        if not np.issubdtype(array.dtype, np.integer):
            return super().index(values)
        check_some(array)
        outside = (array < 0) | (array >= self.labels)
        if not outside.any():
            return array.astype(np.int64)
        unknown = self._unknown(int(np.argmax(outside)))
        return np.where(outside, unknown, array).astype(np.int64)

    def _symbol(self, value: Any, position: int) -> int:
        place = self._place(value)
        return self._unknown(position) if place is None else place

    def _place(self, value: Any) -> int | None:
        """Return the number of the label that a value is. None where it is none of them."""
        if type(value) is float and value.is_integer() and abs(value) <= 2**53:
            value = int(value)
        if isinstance(self.labels, int):
            number = value if type(value) is int else _whole_number(value)
            return number if 0 <= number < self.labels else None
        symbol = self._numbers.get(value) if type(value) in (str, int) else None
        if symbol is None:
            text = value if type(value) is str else label_text(value)
            if text is not None:
                symbol = self._texts.get(text if text.isascii() else compared_text(text))
        return symbol

    def _lists(self, value: Any) -> bool:
        return self._place(plain(value)) is not None

    @cached_property
    def _loose_texts(self) -> set[str]:
        return {loose_text(str(label)) for label in self.listed if label != self.other}

    def _like_a_label(self, value: Any) -> bool:
        if not isinstance(value, str) or len(value) > LONGEST_LABEL:
            return False
        text = loose_text(value)
        if isinstance(self.labels, int):
            number = int(text) if re.fullmatch("[0-9]{1,15}", text) else self.labels
            return number < self.labels
        return text in self._loose_texts

    def _unknown(self, position: int) -> int:
        """Return the symbol of what is no label. DomainError where there is none."""
        if self._number_of_other is not None:
            return self._number_of_other
        raise DomainError(
            "every value must be one of the domain's labels, but the one at position "
            f"{position} is not. Add the label, or declare a label for all such values: "
            "other='...' in the domain (--other)",
            position=position,
        )

    name: ClassVar[str] = "categories"
    """Name of the class in documents."""

    def for_curator(self) -> Categories:
        """Return the domain with missing values counted.

        Raises
        ------
        ArgumentError
            When there are more than 2^24 labels.
        """
        if len(self.listed) > MAXIMUM_BINS:
            raise ArgumentError(
                f"a curator counts every label, so at most {MAXIMUM_BINS} are allowed, got "
                f"{len(self.listed)}. Declare those that matter, and one label for all others"
            )
        return replace(self, missing="category")


def _whole_number(value: Any) -> int:
    """Return the number of a label where labels are only counted, or -1 for none."""
    text = label_text(value)
    return int(text) if text is not None and re.fullmatch("[0-9]{1,15}", text) else -1


def _in_words(label: Any) -> str:
    """Return what to do about something that is no label. Its value is not shown."""
    if isinstance(label, bool | np.bool_):
        return 'Write truth values as "true" and "false"'
    if isinstance(label, np.datetime64) or (
        isinstance(label, date) and not isinstance(label, datetime)
    ):
        return 'Write dates as strings, such as "2026-01-02"'
    if label is None:
        return 'Leave it out, and count missing values with missing="category"'
    return "Write it as a string"
