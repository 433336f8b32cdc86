"""Which counts may be shown: those of enough reports, and none that a hidden one follows from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypedDict

from msgspec import Meta

from lapwing.results.rounding import count_text


def shown_segments(counts: Mapping[str, int], *, minimum: int) -> set[str]:
    """Return the segments whose reports may be shown.

    Parameters
    ----------
    counts : mapping of str to int
        Reports of each segment; the sum is known, too.
    minimum : int
        Reports that a segment needs.

    Notes
    -----
    What is hidden is the sum less what is shown. So as long as the hidden ones together hold fewer
    reports than the minimum, the smallest that is shown is hidden, too.

    Examples
    --------
    >>> sorted(shown_segments({"north": 40, "south": 30, "other": 5}, minimum=10))
    ['north']
    >>> sorted(shown_segments({"north": 40, "south": 30, "other": 0}, minimum=10))
    ['north', 'south']
    """
    shown = {name for name, reports in counts.items() if reports >= minimum}
    while shown:
        hidden = sum(reports for name, reports in counts.items() if name not in shown)
        if hidden == 0 or hidden >= minimum:
            break
        shown.remove(min(shown, key=lambda name: (counts[name], name)))
    return shown


class CountDocument(TypedDict):
    """A number of reports."""

    reports: Annotated[int | None, Meta(description="null: too few to be shown.")]
    text: str


def count_document(reports: int, *, minimum: int, shown: bool) -> CountDocument:
    """Return a count as it may be told.

    Examples
    --------
    >>> count_document(999, minimum=1000, shown=False)
    {'reports': None, 'text': 'fewer than 1,000'}
    """
    if shown:
        return {"reports": reports, "text": count_text(reports)}
    return {
        "reports": None,
        "text": f"fewer than {count_text(minimum)}" if reports < minimum else "hidden",
    }
