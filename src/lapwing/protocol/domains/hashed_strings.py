"""Texts without a list: a domain of all texts, each known by a public hash."""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NoReturn

from lapwing.errors import ArgumentError, DomainError
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.protocol.domains.domain import check_choice
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.domains.unordered import Unordered

MOST_BITS = 40


@dataclass(frozen=True)
class HashedStrings(Unordered):
    """Domain of all strings; the symbol of one is the first bits of its SHA-256.

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
    make, the most significant bit first. The text is in Unicode's NFC form where Unicode 14 assigns
    all its code points, so a word is one word however it was typed; another text is taken as it is.
    No case is folded, and nothing is trimmed.

    Examples
    --------
    >>> words = HashedStrings(32)
    >>> words.size, words.index(["lapwing", "Lapwing"]).tolist()
    (4294967296, [201812770, 1814088837])
    """

    bits: int
    _: KW_ONLY
    missing: Literal["refuse", "category"] = "refuse"

    def __post_init__(self) -> None:
        """Check the bits."""
        check_choice(self.missing, name="missing", choices=("refuse", "category"))
        check_whole_field(self, "bits", low=1, high=MOST_BITS, error=DomainError)

    @property
    def listed(self) -> range:
        """The numbers of the symbols, without the missing one."""
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
                f"every value must be a text of valid Unicode, the one at position {position} is "
                "not",
                position=position,
            )
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> (64 - self.bits)

    name: ClassVar[str] = "hashed-strings"
    """Of its class, in documents."""

    def for_curator(self) -> NoReturn:
        """Refused: a curator counts every symbol, and these are too many."""
        raise ArgumentError(
            "a curator counts every symbol, so the domain must be an Interval, Integers or "
            "Categories, got HashedStrings"
        )
