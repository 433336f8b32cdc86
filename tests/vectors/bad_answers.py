"""Surveys whose segments, or whose way to keep answers, no client may accept."""

from __future__ import annotations

from typing import Any

from lapwing import Survey
from lapwing.documents import fingerprint


def bad_answers(survey: Survey) -> list[tuple[str, Any]]:
    """Documents with the fingerprint of their own bytes, which must not save them."""
    good = survey.to_document()

    def with_changes(**changes: Any) -> dict[str, Any]:
        document = {key: value for key, value in {**good, **changes}.items() if value is not None}
        del document["fingerprint"]
        return {**document, "fingerprint": fingerprint(document)}

    return [
        ("a segment that is the word for none of them", with_changes(segments=["north", "other"])),
        ("a segment twice", with_changes(segments=["north", "north"])),
        ("a segment that is no text", with_changes(segments=["north", 1])),
        ("a segment without characters", with_changes(segments=["north", ""])),
        ("segments that are one text", with_changes(segments="north")),
        ("no segments, but the key", with_changes(segments=[])),
        ("more than 1000 segments", with_changes(segments=[str(i) for i in range(1001)])),
        ("segments without their minimum", with_changes(segment_minimum=None)),
        ("a minimum without segments", with_changes(segments=None)),
        ("a minimum of 0", with_changes(segment_minimum=0)),
        ("a minimum that is a text", with_changes(segment_minimum="500")),
        ("answers kept in a way that nobody knows", with_changes(answers="for a year")),
        ("fresh answers, which are not said", with_changes(answers="fresh")),
        ("answers that are true", with_changes(answers=True)),
    ]
