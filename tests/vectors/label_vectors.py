"""Labels in several Unicode forms, and the symbols that every client gives them."""

from __future__ import annotations

from typing import Any

import lapwing as lw

NFC, NFD = "caf\u00e9", "cafe\u0301"
NFC_AND_NFD = ("\u00e9", "e\u0301")
MARK = "\u030a"

CASES: list[tuple[str, Any, list[str]]] = [
    (
        "composed and decomposed are one label",
        lw.Categories([NFC, "tea"], other="tea"),
        [NFC, NFD, "cafe", "tea", "Caf\u00e9"],
    ),
    (
        "a label may be typed decomposed",
        lw.Categories([NFD, "tea"], other="tea"),
        [NFC, NFD, "cafe"],
    ),
    (
        "marks in another order",
        lw.Categories(["a\u0323\u0307", "b"], other="b"),
        ["a\u0307\u0323", "\u1ea1\u0307", "\u1ea1\u0307", "\u0227\u0323", "a"],
    ),
    (
        "Hangul syllables and their letters",
        lw.Categories(["\ud55c", "x"], other="x"),
        ["\ud55c", "\u1112\u1161\u11ab", "\u1112\u1161"],
    ),
    (
        "singletons: the Angstrom and Ohm signs",
        lw.Categories(["\u00c5", "\u03a9", "x"], other="x"),
        ["\u212b", "\u2126", "A\u030a", "\u00c5"],
    ),
    (
        "compatibility forms stay apart: NFC, not NFKC",
        lw.Categories(["fi", "x"], other="x"),
        ["\ufb01", "fi", "\uff46\uff49"],
    ),
    (
        "a code point that Unicode 14 does not assign: as it is",
        lw.Categories(["e\u0301\U0001fae8", "\u00e9\U0001fae9", "x"], other="x"),
        ["e\u0301\U0001fae8", "\u00e9\U0001fae8", "e\u0301\U0001fae9", "\u00e9\U0001fae9"],
    ),
    (
        "unassigned, and two labels that differ in form",
        lw.Categories(["e\u0301\u0378", "\u00e9\u0378"]),
        ["\u00e9\u0378", "e\u0301\u0378"],
    ),
    (
        "assigned in Unicode 14 itself",
        lw.Categories(["\u00e9\u061d", "x"], other="x"),
        ["e\u0301\u061d", "\u00e9\u061d"],
    ),
    (
        "composition exclusions stay decomposed",
        lw.Categories(["\u0958", "x"], other="x"),
        ["\u0915\u093c", "\u0958"],
    ),
    (
        "beyond 16 bits",
        lw.Categories(["\U0001109a", "x"], other="x"),
        ["\U00011099\U000110ba", "\U0001109a"],
    ),
    (
        "thirty marks in a row are normalized",
        lw.Categories(["A" + 29 * MARK, "A" + 30 * MARK, "x"], other="x"),
        ["\u00c5" + 28 * MARK, "\u00c5" + 29 * MARK, "A" + 30 * MARK, "A" + 31 * MARK],
    ),
    (
        "characters of class 0 begin a new row of marks, though their category is M",
        lw.Categories(["a" + 30 * MARK + "\u0903" + 30 * MARK + NFD, "x"], other="x"),
        ["\u00e5" + 29 * MARK + "\u0903" + 30 * MARK + NFC],
    ),
    (
        "a thousand characters are normalized",
        lw.Categories([998 * "x" + "\u00e9\U0001f600", 998 * "y" + "e\u0301", "x"], other="x"),
        [
            997 * "x" + "\u00e9\U0001f600",
            998 * "x" + "\u00e9\U0001f600",
            998 * "x" + "e\u0301\U0001f600",
            998 * "y" + NFC[-1],
        ],
    ),
    (
        "marks of several classes, in another order",
        lw.Categories(["a" + 15 * "\u0323\u0301", "x"], other="x"),
        ["a" + 15 * "\u0301\u0323", "\u1ea1" + 15 * "\u0301" + 14 * "\u0323"],
    ),
    (
        "strings too long, or with too many marks in a row, are hashed as they are",
        lw.HashedStrings(32),
        [
            *(letter + more * MARK for letter in ("\u00c5", "A") for more in (29, 30, 31, 32)),
            *(count * "x" + end for end in NFC_AND_NFD for count in (998, 999, 1000)),
            *(count * "\U0001f600" + end for end in NFC_AND_NFD for count in (998, 999, 1000)),
            *("e\u0301" + count * "\u0f73" for count in (29, 30, 31)),
            *("\u00e9" + count * "\u0f73" for count in (29, 30, 31)),
            *("e" + 30 * "\u0903" + end for end in NFC_AND_NFD),
            *("x" + 31 * "\u0345" + "y" + end for end in NFC_AND_NFD),
        ],
    ),
    (
        "marks of direction and joiners are parts of words",
        lw.Categories(["\u05d0\u200e", "\u0645\u06cc\u200c\u062e\u200d", "\u061c", "\u200f"]),
        ["\u200f", "\u05d0\u200e", "\u061c"],
    ),
    (
        "hashed strings",
        lw.HashedStrings(32),
        [
            "lapwing",
            NFC,
            NFD,
            "\u00c5",
            "\u212b",
            "e\u0301\U0001fae8",
            "\u00e9\U0001fae8",
            "\ud55c",
            "\u1112\u1161\u11ab",
        ],
    ),
]

"""Why, a domain, and values."""

REFUSED = [
    {"why": "composed and decomposed", "labels": [NFC, "x", NFD]},
    {"why": "Hangul", "labels": ["\ud55c", "\u1112\u1161\u11ab"]},
    {"why": "the Angstrom sign", "labels": ["\u212b", "\u00c5"]},
    {"why": "equal", "labels": ["a", "a"]},
]

MARKED, LONG, UNSEEN = (
    "have at most 30 combining marks in a row",
    "have at most 1,000 characters",
    "contain no control character, line break or bidirectional override",
)

ILLEGAL = [
    {"why": "31 marks in a row", "label": "a" + 31 * MARK, "rule": MARKED},
    {"why": "31 marks of two classes", "label": 15 * "\u0323\u0301" + "\u0f73", "rule": MARKED},
    {"why": "1,001 characters", "label": 1001 * "a", "rule": LONG},
    {"why": "1,001 characters of two units", "label": 1001 * "\U0001f600", "rule": LONG},
    *(
        {"why": f"U+{point:04X}", "label": f"a{chr(point)}b", "rule": UNSEEN}
        for point in (0, 9, 10, 0x1F, 0x7F, 0x85, 0x9F, 0x2028, 0x202A, 0x202E, 0x2066, 0x2069)
    ),
]
"""Labels that no list holds, and the rule that each breaks."""


def label_vectors() -> dict[str, Any]:
    """Return the content of the vector file."""
    labels = [
        {
            "why": why,
            "domain": domain.to_document(),
            "inputs": [[value, int(domain.index([value])[0])] for value in values],
        }
        for why, domain, values in CASES
    ]
    return {"labels": labels, "refused": REFUSED, "illegal": ILLEGAL}
