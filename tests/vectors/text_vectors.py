"""Texts for the people who are asked, each with its fingerprint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import lapwing as lw

WAIT = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 100, bins=8), 1))

TEXTS: list[tuple[str, dict[str, str]]] = [
    ("nothing is said", {}),
    ("a question", {"question": "How long did you wait?"}),
    ("another question", {"question": "How long did you wait"}),
    ("the same words as a purpose", {"purpose": "How long did you wait?"}),
    (
        "all five",
        {
            "question": 'How long did you wait, "in all"?',
            "purpose": "To hire more staff \\ less",
            "owner": "\u00d6ffentliches Amt \U0001f426",
            "contact": "privacy@example.org",
            "measured_in": "min",
        },
    ),
    ("a unit alone", {"measured_in": "\u00b5s"}),
    ("the other micro sign", {"measured_in": "\u03bcs"}),
    ("composed", {"owner": "caf\u00e9"}),
    ("decomposed: another text", {"owner": "cafe\u0301"}),
]


EPOCH = "2026-w48"
BATCH = bytes(range(16)).hex()


def text_vectors() -> list[dict[str, Any]]:
    """Return surveys of one fingerprint, each with its text's and what its uploads are sent to."""
    found = []
    for why, notice in TEXTS:
        survey = replace(WAIT, **notice)  # type: ignore[arg-type]
        place = f"/v1/surveys/{survey.fingerprint}/epochs/{EPOCH}/batches/{BATCH}"
        found.append(
            {
                "why": why,
                "survey": survey.to_document(),
                "text_fingerprint": survey.text_fingerprint,
                "upload": f"{place}?text={survey.text_fingerprint}",
            }
        )
    return found
