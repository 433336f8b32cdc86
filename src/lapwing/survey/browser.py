"""Which surveys the JavaScript module can answer, and so a page in a browser."""

from __future__ import annotations

from lapwing.documents import canonical
from lapwing.survey.survey import Survey

_MOST_SYMBOLS = 2**20

_LARGEST_SURVEY = 2**20


def why_not_in_browser(survey: Survey) -> str | None:
    """Return why the JavaScript module cannot answer a survey. None where it can."""
    randomizer = survey.randomizer
    if not getattr(randomizer, "_in_javascript", False):
        return f"the JavaScript module does not support its randomizer, {randomizer.name}"
    symbols = 0 if randomizer.collects == "log" else randomizer.domain.size
    grid = getattr(randomizer, "grid", None)
    if max(symbols, grid if isinstance(grid, int) else 0) > _MOST_SYMBOLS:
        return f"the JavaScript module supports at most {_MOST_SYMBOLS:,} bins or labels"
    if len(canonical(survey.to_document())) > _LARGEST_SURVEY:  # as a collector serves it
        return f"the JavaScript module reads surveys of at most {_LARGEST_SURVEY:,} bytes"
    return None
