"""Domains without an order: their base class, and strings known by their hashes."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import From
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Values
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.label_columns import CodedLabels, coded_labels
from lapwing.protocol.domains.label_text import compared_text, label_text
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.domains.text_values import Texts, check_texts
from lapwing.protocol.domains.units import check_some, is_missing, one_dimensional


class Unordered(Domain):
    """Categories that are not numbers: a concrete domain lists them, and finds that of a value."""

    missing: Literal["refuse", "category"]

    ordered: bool = False

    @property
    @abstractmethod
    def listed(self) -> Sequence[str | int]:
        """Categories in order, without the missing one."""

    @abstractmethod
    def _symbol(self, value: Any, position: int) -> int:
        """Return the symbol of a value that is not missing."""

    @property
    def left(self) -> NDArray[np.float64]:
        """Refused, because labels are not numbers."""
        raise DomainError("labels have no order, so no CDF, quantile or mean. Ask for shares")

    @property
    def size(self) -> int:
        """Number of categories, including the missing one if any."""
        return len(self.listed) + (self.missing == "category")

    def index(self, values: Values) -> NDArray[np.int64]:
        """Return the number of the category of each value: int64 [n].

        Raises
        ------
        DomainError
            When a value is not in the domain, or is missing and that is refused. The message gives
            the position of the first one.
        """
        coded = coded_labels(values, self._compared)
        if coded is not None:
            check_some(coded.codes)
            return self._of_codes(coded)
        array = one_dimensional(values)
        check_some(array)
        return self._symbols(array)

    def index_or_missing(
        self, values: Values, *, texts: Texts = "iso", rows: RowCounts | None = None
    ) -> NDArray[np.int64]:
        """Return the category of each value, or the missing one if it has none: int64 [n].

        Parameters
        ----------
        rows : RowCounts, optional
            Object that counts the values that are not in the domain. Default: none.
        """
        check_texts(texts, self.unit)
        missing = self.missing_index
        if missing is None:
            raise DomainError("only a domain that counts missing values has a bin for every value")
        coded = coded_labels(values, self._compared)
        if coded is not None:
            return self._of_codes(coded, unknown=missing, rows=rows)
        array = one_dimensional(values)
        symbols = self._symbols(array, unknown=missing)
        if rows is not None:
            held = (symbols == missing) | (symbols == self._number_of_other)
            unlisted = np.flatnonzero(held)
            cells = array[unlisted]
            unlisted = unlisted[[not (is_missing(cell) or self._lists(cell)) for cell in cells]]
            self._tell(unlisted, array.__getitem__, rows)
        return symbols

    @property
    def _number_of_other(self) -> int | None:
        """The number of the label that counts every value that is not listed."""
        return None

    def _lists(self, value: Any) -> bool:
        """Return whether a value is one of the categories, and not what counts as another."""
        return False

    def _like_a_label(self, value: Any) -> bool:
        """Return whether a value that is no label looks like one."""
        return False

    def _tell(
        self, unlisted: NDArray[np.int64], cells: Callable[..., Iterable[Any]], rows: RowCounts
    ) -> None:
        """Count the rows whose values are none of the categories, given their positions."""
        if not unlisted.size:
            return
        if self._number_of_other is None:
            rows.add_unreadable(unlisted)
        else:
            rows.unlisted += rows.number_at(unlisted)
        # Of very many only the first: what a program did to a column, it did to all of it.
        looked = unlisted[: max(_LOOKED_AT, unlisted.size // _LOOKED_AT)]
        rows.alike = rows.alike or any(map(self._like_a_label, set(map(_hashed, cells(looked)))))

    @property
    def _compared(self) -> Sequence[str | int]:
        """The labels that a column of frames is looked up in. None where they are not listed."""
        return () if isinstance(self.listed, range) else self.listed

    def _of_codes(
        self, coded: CodedLabels, *, unknown: int | None = None, rows: RowCounts | None = None
    ) -> NDArray[np.int64]:
        """Return the symbols of labels that are given by numbers. As of :meth:`_symbols`."""
        codes = np.where(coded.codes < 0, len(coded.distinct), coded.codes)
        occurring = np.flatnonzero(np.bincount(codes, minlength=len(coded.distinct) + 1))
        symbols = np.full(len(coded.distinct) + 1, -1, dtype=np.int64)
        refused = np.zeros(symbols.size, dtype=bool)
        values = [*coded.distinct, None]
        for code in occurring.tolist():
            try:
                symbols[code] = self._one(values[code], 0, unknown)
            except DomainError:
                refused[code] = True
        if refused.any():
            position = int(np.argmax(refused[codes]))
            self._one(values[codes[position]], position, unknown)  # says which, and why
        if rows is not None:
            unlisted = [
                code
                for code in occurring.tolist()
                if symbols[code] in (self.missing_index, self._number_of_other)
                and not (is_missing(values[code]) or self._lists(values[code]))
            ]
            if unlisted:
                self._tell(np.flatnonzero(np.isin(codes, unlisted)), coded.cells, rows)
        return symbols[codes]

    def _symbols(self, array: NDArray[Any], *, unknown: int | None = None) -> NDArray[np.int64]:
        """Return the symbol of each value. `unknown` for what is none, refused where None."""
        symbols = np.empty(array.size, dtype=np.int64)
        # tolist() makes whole numbers of moments in nanoseconds, which are no labels.
        cells = array if array.dtype.kind in "mM" else array.tolist()
        for position, value in enumerate(cells):
            symbols[position] = self._one(value, position, unknown)
        return symbols

    def _one(self, value: Any, position: int, unknown: int | None) -> int:
        if type(value) is not str:
            if is_missing(value):
                return self._of_missing(position)
            value = plain(value)
        try:
            return self._symbol(value, position)
        except DomainError:
            if unknown is None:
                raise
            return unknown

    def _of_missing(self, position: int) -> int:
        if self.missing_index is None:
            raise DomainError(
                f"every value must be present, but the one at position {position} is missing. "
                "Drop such rows, or count them: missing='category' in the domain "
                "(--missing category)",
                position=position,
            )
        return self.missing_index


_LOOKED_AT = 256
"""Unlisted values that are compared with the labels, at least."""


def _hashed(value: Any) -> str | None:
    """Return the text of a value: equal ones are looked at once."""
    return value if type(value) is str else label_text(value)


def plain(value: Any) -> Any:
    """Return NumPy's numbers and texts as Python's, so that each is the same in any array."""
    kind = type(value)  # what an object says of itself may be an error
    if issubclass(kind, np.floating):
        with np.errstate(all="ignore"):
            return float(value)
    return np.generic.item(value) if issubclass(kind, np.str_ | np.integer) else value


MOST_BITS = 40


@dataclass(frozen=True)
class HashedStrings(Unordered):
    """Hashed-string domain: all strings, each numbered by the first bits of its SHA-256.

    No list is needed when the survey is made. The analyst gives candidates to the decoder, which
    looks up their hashes. A string cannot be recovered from its number.

    Parameters
    ----------
    bits : int
        Bits of the hash, in 1..40. There are 2^bits categories. Any two strings share a category
        with probability 2^-bits. So among m candidates about ``m^2 / 2^(bits + 1)`` pairs share
        one: 0.01 pairs for 10,000 candidates and 32 bits.
    missing : {"refuse", "category"}
        Treatment of None and NaN. "category" counts them in a missing category, the last one.
        Default: "refuse".

    See Also
    --------
    lapwing.decoders.Candidates : Scores a list of candidate strings.
    lapwing.LinearHashing : The randomizer for this domain.

    Notes
    -----
    The category is the number formed by the first `bits` bits of the SHA-256 of the string's UTF-8
    bytes, most significant bit first. The string is first converted to Unicode NFC if Unicode 14
    assigns all its code points. So a word is the same string however it was typed. Any other
    string is used unchanged. So is a string of more than 1,000 characters, or with more than 30
    combining marks in a row. Case is not folded, and nothing is trimmed.

    **Privacy.** The domain is public and does not depend on the data.

    **Cost.** Placing n strings takes n hashes.

    Examples
    --------
    >>> import lapwing as lw
    >>> words = lw.HashedStrings(32)
    >>> words.size, words.index(["lapwing", "Lapwing"]).tolist()
    (4294967296, [201812770, 1814088837])
    """

    bits: Annotated[int, From(1, MOST_BITS)]
    _: KW_ONLY
    missing: Literal["refuse", "category"] = "refuse"

    @property
    def listed(self) -> range:
        """Numbers of the categories, without the missing one."""
        return range(2**self.bits)

    def _symbol(self, value: Any, position: int) -> int:
        try:
            text = None
            if type(value) is str:
                text = (value if value.isascii() else compared_text(value)).encode()
        except UnicodeEncodeError:
            text = None
        if text is None:
            raise DomainError(
                "every value must be a string of valid Unicode, but the one at position "
                f"{position} is not",
                position=position,
            )
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> (64 - self.bits)

    name: ClassVar[str] = "hashed-strings"
    """Name of the class in documents."""

    def for_curator(self) -> NoReturn:
        """Refused, because a curator counts every category, and there are too many."""
        raise ArgumentError(
            "a curator counts every value, so the domain must be an Interval, Integers or "
            "Categories, got HashedStrings"
        )
