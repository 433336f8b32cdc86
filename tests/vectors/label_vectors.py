"""Labels in several Unicode forms, and the symbols that every client gives them."""

from __future__ import annotations

from typing import Any

import lapwing as lw

NFC, NFD = "caf\u00e9", "cafe\u0301"

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
    return {"labels": labels, "refused": REFUSED}
