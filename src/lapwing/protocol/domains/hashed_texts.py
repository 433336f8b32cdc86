"""Texts without a list: a domain of all texts, each known by a public hash."""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import DomainError
from lapwing.protocol.domains.domain import Closed, check_choice, check_count
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import check_some, is_missing, one_dimensional

MOST_BITS = 40


@dataclass(frozen=True)
class HashedTexts:
    """All texts; a text's symbol is the first bits of its SHA-256.

    Nobody needs a list when the survey is made: the analyst brings candidates to the decoder, whose
    hashes are looked up. A text cannot be read back from its number.

    Parameters
    ----------
    bits : int
        In 1..40; there are 2^bits symbols. Any two texts share one with probability 2^-bits, so
        among m candidates about ``m^2 / 2^(bits + 1)`` pairs do (0.01 for 10,000 and 32 bits).
    missing : {"refuse", "category"}
        What becomes of None and NaN. The missing category is the last symbol.

    Notes
    -----
    The symbol is the number that the first `bits` bits of the SHA-256 of the text's UTF-8 bytes
    make, the most significant bit first. Texts are taken as they are: no case is folded, nothing is
    trimmed or normalised.

    Examples
    --------
    >>> words = HashedTexts(32)
    >>> words.size, words.index(["lapwing", "Lapwing"]).tolist()
    (4294967296, [201812770, 1814088837])
    """

    bits: int
    _: KW_ONLY
    missing: Literal["refuse", "category"] = "refuse"

    def __post_init__(self) -> None:
        """Check the bits."""
        check_choice(self.missing, name="missing", choices=("refuse", "category"))
        object.__setattr__(self, "bits", check_count(self.bits, name="bits", most=MOST_BITS))

    @property
    def listed(self) -> range:
        """The numbers of the symbols, without the missing one."""
        return range(2**self.bits)

    @property
    def ordered(self) -> bool:
        """False: hashes have no order."""
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
        """Refused: texts are not numbers."""
        raise DomainError("texts have no order, so no CDF, quantile or mean; ask for shares")

    @property
    def right(self) -> NDArray[np.float64]:
        """Refused: texts are not numbers."""
        return self.left

    @property
    def size(self) -> int:
        """Number of symbols."""
        return int(2**self.bits) + (self.missing == "category")

    @property
    def missing_index(self) -> int | None:
        """Number of the missing symbol, or None."""
        return self.size - 1 if self.missing == "category" else None

    def index(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return the symbol of each text: int64 [n].

        Raises
        ------
        DomainError
            With the position of the first value that is no text, or missing where that is refused.
        """
        array = one_dimensional(values)
        check_some(array)
        symbols = np.empty(array.size, dtype=np.int64)
        for position, value in enumerate(array.tolist()):
            symbols[position] = self._symbol(value, position)
        return symbols

    def _symbol(self, value: Any, position: int) -> int:
        if is_missing(value):
            if self.missing_index is None:
                raise DomainError(
                    f"every value must be present, the value at position {position} is missing; "
                    "drop such rows, or count them: missing='category' in the domain "
                    "(--missing category)",
                    position=position,
                )
            return self.missing_index
        try:
            text = value.encode() if type(value) is str else None
        except UnicodeEncodeError:
            text = None
        if text is None:
            raise DomainError(
                f"every value must be a text of valid Unicode, the one at position {position} is "
                "not",
                position=position,
            )
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> (64 - self.bits)

    name: ClassVar[str] = "hashed-texts"
    """Of its class, in documents."""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"class": self.name, "bits": self.bits, "missing": self.missing}
