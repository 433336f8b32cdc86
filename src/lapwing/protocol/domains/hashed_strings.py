"""Strings without a list: a domain of all strings, each identified by a public hash."""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, NoReturn

from lapwing.declared import From
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.domains.unordered import Unordered

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
