"""Texts as labels: two that look the same, and differ only in their Unicode form, are one label."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from lapwing.linear.memoized import memoized

_UNASSIGNED = """
oo 2 6 4 7 1 1 1 k 1 b1 1 12 2 1e 2 3 1 1j 8 r 4 6 b 7i 1 1o 2 2t e 1n 2 1d 2 f 1 s 2 1 1 b
5 v 1 2 6 6k 1 8 2 2 2 m 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 p 2 3 1 6 4 2 2 m 1 7 1 2 1 2
1 2 2 1 1 5 4 2 2 3 3 1 7 4 1 1 7 h a 3 1 9 1 3 1 m 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 c 7 7
1 3 1 8 2 2 2 m 1 7 1 2 1 5 2 9 2 2 2 3 7 3 4 2 1 5 2 i a 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3
3 c 4 5 3 3 1 4 2 1 6 1 e l 5 d 1 3 1 n 1 g 2 9 1 3 1 4 7 2 1 3 2 1 2 4 2 a 7 m 1 3 1 n 1 a
1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 2 d d 1 3 1 1f 1 3 1 6 4 g 2 q 1 3 1 i 3 o 1 9 1 1 2 7 3 1
4 6 1 1 1 8 6 a 2 3 c 1m 4 t 11 2 1 1 1 5 1 o 1 1 1 n 2 5 1 1 1 6 2 a 2 4 w 20 1 10 4 13 1
10 1 f 1 d 11 5i 1 1 5 1 2 ah 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1 4 2 1v
2 w 3 q 6 2e 2 6 2 il 3 2h 7 m 9 o 9 k c d 1 3 1 2 c 2m 2 a 6 a 6 q 6 2h 7 17 5 1y a v 1 c 4
c 4 1 3 16 2 5 b 18 4 q 6 b 3 1q 2 1t 1 t 2 b 6 a 6 e 2 v 1d 25 3 1b 1 38 8 1o 3 f 3 1o 7 17
2 b 8 17 5 eu 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 f 1 e 2 6 1 j 2 3 1 9 1 2t 1 c 2 r 1 d
3 x f x f 3w 4 if p b l 1ec 2 w 1 9p 5 19 1 1 5 1 2 1k 7 2 e o 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1
7 1 3i y q 1 2h c 5y q c 4 1s 1 2e 2 2v 5 17 1 2m 1 2c c 1b 1 mlp 3 1j 9 9o k 54 8 5n 5 2 1
1 1 5 o 1n 3 a 6 1k 8 1y 8 c 6 38 b u 3 26 1 b 4 x 1 1j 9 e 2 a 2 2v o s a 6 2 6 2 6 9 7 1 7
1 1o 4 3i 2 a 6 8mc c n 4 1d 4 6su 2 2y 12 7 c 5 5 q 1 5 1 1 1 2 1 2 1 3h g cd 2 1i 7 1 w 16
6 1f 1 j 1 4 4 5 1 3r 2 1 1 5a 3 6 2 6 2 6 2 3 3 7 1 7 a 5 2 c 1 q 1 j 1 2 1 f 2 e y 3f 5 3
4 19 3 2g 1 d 3 1 1b 1a 3m t 3 1d f s 4 10 9 u 5 17 5 u 1 11 4 e 16 4e 2 a 6 10 4 10 4 14 8
1g b c 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1v 8n 9 m a 8 o 6 1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n 1 20
8 9 1c j 1 2 5 x 3 r 5 1 1s 1k 4 k 2 1e 1 2 5 8 1 3 1 t 2 3 4 a 7 9 7 1s w 13 4 c 9 1i 3 t 2
r 5 q 7 4 c 7 28 21 1j 1f d 1f 7 1a 8 a 86 v 1 16 1 3 2 2 26 14 8 16 m q 12 s k n 9 26 4 10
9 1w a 1 2 p 7 a 6 1h 1 i 8 13 9 2o 1 k b i 1 18 1t 7 1 1 1 4 1 f 1 b 6 1n 5 a 6 4 1 8 2 2 2
m 1 7 1 2 1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3 5 3v 2k 1 5 u 20 8 a 4m 1i 2 12 y 1x b a 6 d j
1m 6 a 1i r 2 f 4 n 55 1o 2s 2b c 8 2 1 2 8 1 2 1 u 1 2 2 c 9 a 1y 8 2 1a 2 b r 20 8 2b d 21
7b 9 1 19 1 e a t 3 w 2 m 1 e 21 7 1 2 1 18 3 1 1 2 1 9 8 a 6 6 1 2 1 11 1 2 1 6 7 a 8m p 53
1 f 1e d pn 2u 33 1 5 b 5g 218 2r d tr 1 9 347 g7 6nt ft 7 v 1 a 4 29 1 a 6 u 2 6 a 1y a a 1
7 1 l 5 j j4 2j 2t 23 4 1l 7 h 1s 5 b 2 e 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 19 3 h 4 8 b0 1s4
2z 5 d 3 9 7 a 2 8 3mk 1a 2 n 9 38 1o 6u a 13 2 5e l 1y 4a k c 2f 9 p 3r 2d 1 1z 1 2 2 1 2 2
2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 84 2 ji f 5 1 f uo v 69 7 1 h 2
7 1 2 1 5 5x 19 3 e 2 a 4 2 8w v h 1m 5 1 yo 7 1 4 1 2 1 f 1 5h 2 g 15 24 4 a 4 2 lt 1w 24
1p 5e 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2
1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 1g 2 7i 18 4 2s c f 2 f 1 f 1 11 a 4u 1k t d 18
4 9 7 2 e 6 4a rc 5 g 3 d 3 38 c 2h 7 c 4 1 f c 4 1k 8 a 6 14 8 u 2 2 26 9g c e 2 5 3 5 3 7
9 t 3 b 5 6 a a 6 8 8 7 9 43 1 1j 11 a sm wyo w 37d 7 66 2 4g2 e 5rl 2e7 f2 15u 3t7 fcfq 1 u
2o 3k 6o 1e6o 1eke 2 1eke 2
"""
"""Code points that Unicode 14 assigns to no character."""
# Ranges in turns of how many are assigned and how many are not, in base 36. Clients in other
# languages have the same table.

_MARKS = """
lc 27 1 w 7n 5 7d 19 1 1 1 2 1 2 1 1 20 b 1c l g 1 2t 7 2 6 2 2 1 4 z 1 u r 4g 9 9 1 o 4 1 9
1 3 1 5 17 3 1o 8 16 o 1 t 1o 1 g 1 3 4 2v 1 g 1 1c 1 1p 1 g 1 32 1 g 1 32 1 g 1 3j 1 32 1 g
1 7 2 2t 1 g 1 31 2 g 1 3g 1 31 3 d 4 30 3 d 4 24 2 r 1 1 1 1 1 1j 5 4 4 2 5 1 2 1q 1 34 1 1
2 2a 1 jz 3 qc 2 u 1 4d 1 a 1 5n 1 3z 3 63 2 1z 1 k 8 2 1 1c e 1 g 2t 1 f 1 12 9 1i 2 1m 1 b
2 1v 1 48 3 1 d 1 7 4 1 6 1 3 2 5i 1s k0 d 4 1 3 c 2da 3 3x 1 2o w fe 6 2x 2 n9w 1 4 a w 2 28
2 7o 1 11 1 47 1 r i 1l 3 11 1 2n 1 c 1 6n 1 1 3 2 2 5 2 1 1 1g 1 6u 1 fn4 1 ld g r1 1 6a 1
45 5 1aq 1 1 1 14 3 4 1 4l 2 fx 4 ar 2 49 b 1d 4 5c 1 15 1 e 1 1l 2 1x 3 1c 2 1q 1 24 1 9 1
2y 2 4y 2 28 2 g 1 o 7 3 5 5p 1 3 1 n 1 2r 2 6z 2 3i 1 3a 2 37 1 7h 2 76 2 4 1 4c 1 2b 1 i 1
29 1 bp 1 76 1 1 2 29 1 fa0 5 1n 7 xl 2 f58 1 43q 5 3 6 8 8 2 7 u 4 44 3 2pn 7 1 h 2 7 1 2 1
5 79 7 af 1 1p 4 15s 7 31 7
"""
"""Combining marks of Unicode 14."""
# Ranges in turns of how many code points are not marks and how many are. A mark has a combining
# class above 0, or decomposes into such marks. Unicode never changes that. Clients in other
# languages have the same table.

MOST_MARKS = 30
"""Combining marks in a row that a string may have to be normalized (UAX #15, stream-safe text)."""
# Longer rows take time that grows with the square of their length.

LONGEST_LABEL = 1000
"""Characters that a string may have to be normalized."""

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, line breaks, and what turns the direction of the text that follows."""


def compared_text(text: str) -> str:
    r"""Return the form in which a string is compared with others: NFC, or the text itself.

    The normal form of a string never changes once all its code points are assigned (Unicode's
    policy of stability). So a string of code points that Unicode 14 assigns has one form. It is the
    same in every version of Python and in every engine of JavaScript from then on. A text with
    another code point is compared as it is. So is one of more than 1,000 characters, or with more
    than 30 combining marks in a row: to normalize it could take long.

    >>> compared_text("cafe\u0301") == compared_text("caf\u00e9") == "caf\u00e9"
    True
    """
    # Whether it is normalized is known in linear time: marks in another order are none.
    if text.isascii() or unicodedata.is_normalized("NFC", text) or len(text) > LONGEST_LABEL:
        return text
    if _has_row_of_marks(text) or _unassigned().search(text):
        return text
    return unicodedata.normalize("NFC", text)


def broken_rule(label: str) -> str | None:
    r"""Return what a declared label must do that this string does not, None for a legal one.

    >>> broken_rule("tea"), broken_rule("tea\n")
    (None, 'contain no control character, line break or bidirectional override')
    """
    if len(label) > LONGEST_LABEL:
        return f"have at most {LONGEST_LABEL:,} characters"
    if label.isascii() and label.isprintable():
        return None
    if any("\ud800" <= character <= "\udfff" for character in label):
        return "be valid Unicode, without a lone surrogate"
    if _UNSEEN.search(label):
        return "contain no control character, line break or bidirectional override"
    if _has_row_of_marks(label):
        return f"have at most {MOST_MARKS} combining marks in a row"
    return None


def place_of(text: str, listed: Sequence[str]) -> int | None:
    r"""Return the place of a string in a list, in whichever Unicode form, or None.

    >>> place_of("cafe\u0301", ["tea", "caf\u00e9"])
    1
    """
    if text in listed:
        return listed.index(text)
    forms = [compared_text(each) for each in listed]
    form = compared_text(text)
    return forms.index(form) if form in forms else None


Read = TypeVar("Read")


def or_none(read: Callable[[Any], Read | None]) -> Callable[[Any], Read | None]:
    """Return a function that reads one value, and is None for a value that cannot be read.

    An object of a table may raise whatever it likes, and Python itself writes no number of more
    than 4,300 digits. An error would let one row decide whether a job ends.
    """

    @wraps(read)
    def guarded(value: Any) -> Read | None:
        try:
            return read(value)
        except Exception:
            return None

    return guarded


@or_none
def label_text(value: Any) -> str | None:
    """Return the string that a value is as a label, or None.

    It is the same in Python, in frames and in every engine.

    value: A string or its bytes, a whole number, a date or a truth value, also of Arrow. A whole
        number may be a float or a decimal, within +-2^53.

    >>> import datetime
    >>> [label_text(one) for one in ("a", 7, 7.0, True, datetime.date(2026, 1, 2), 7.5)]
    ['a', '7', '7', 'true', '2026-01-02', None]
    """
    if isinstance(value, str):
        return str.__str__(value)  # what the object itself makes of it may be another text
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, np.generic):
        plain = value.item()  # of nanoseconds, a number
        times = isinstance(value, np.datetime64 | np.timedelta64)
        return None if times and isinstance(plain, int) else label_text(plain)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Decimal):
        whole = value.is_finite() and abs(value) <= 2**53 and value == int(value)
        return str(int(value)) if whole else None
    if isinstance(value, float):  # beyond 2^53, several whole numbers are one float
        return str(int(value)) if value.is_integer() and abs(value) <= 2**53 else None
    if isinstance(value, date) and not isinstance(value, datetime):
        return date.isoformat(value)
    if isinstance(value, bytes):
        return bytes.decode(value)
    return label_text(value.as_py()) if hasattr(value, "as_py") else None


def loose_text(text: str) -> str:
    """Return a text without what a program may change: zeros before it, case, spaces and ".0".

    Labels are never compared so. It says which values look like one.

    >>> [loose_text(text) for text in ("02134", " North", "1.0", "0")]
    ['2134', 'north', '1', '0']
    """
    bare = "".join(compared_text(text).casefold().split()).removesuffix(".0")
    return bare.lstrip("0") or bare[:1]


def compared_label(label: str | int) -> str | int:
    """Return a label as it is compared: a string by :func:`compared_text`, a number as it is."""
    return compared_text(label) if isinstance(label, str) else label


def _has_row_of_marks(text: str) -> bool:
    if len(text) <= MOST_MARKS:
        return False
    # Whole rows in linear time. A search for 31 marks would begin again at each mark.
    return any(len(row) > MOST_MARKS for row in _rows_of_marks().findall(text))


@memoized(most=1)
def _unassigned() -> re.Pattern[str]:
    return re.compile(_characters(_UNASSIGNED))


@memoized(most=1)
def _rows_of_marks() -> re.Pattern[str]:
    return re.compile(f"{_characters(_MARKS)}+")


def _characters(table: str) -> str:
    counts = [int(count, 36) for count in table.split()]
    plane, beyond, first = "", "", 0
    for before, size in zip(counts[::2], counts[1::2], strict=True):
        first += before
        span = f"\\U{first:08x}-\\U{first + size - 1:08x}"
        plane, beyond = (plane + span, beyond) if first < 2**16 else (plane, beyond + span)
        first += size
    # Apart, because a set within 16 bits is a bitmap, and any other one a list to go through.
    return f"(?:[{plane}]|(?=[\U00010000-\U0010ffff])[{beyond}])"
