"""Which surveys the JavaScript module can answer, and so a page in a browser."""

from __future__ import annotations

from lapwing.documents import canonical
from lapwing.survey.survey import Survey

WITHOUT_JAVASCRIPT = (
    "box-wave",
    "compressive-privatization",
    "general-wave",
    "local-hashing",
    "multiscale-boxes",
    "piecewise",
    "rappor",
)
"""The randomizers that the JavaScript module does not have."""

_MOST_SYMBOLS = 2**20

_HASHING = ("linear-hashing", "prefix-hashing")

_LARGEST_SURVEY = 2**20


def why_not_in_browser(survey: Survey) -> str | None:
    """Return why the JavaScript module cannot answer a survey. None where it can.

    Parameters
    ----------
    survey : Survey
    """
    name, grid = survey.randomizer.name, getattr(survey.randomizer, "grid", None)
    if name in WITHOUT_JAVASCRIPT:
        return f"the JavaScript module does not have its randomizer, {name}"
    if survey.randomizer.domain.name == "product":
        return "the JavaScript module does not read pairs of attributes"
    symbols = 0 if name in _HASHING else survey.randomizer.domain.size
    if max(symbols, grid if isinstance(grid, int) else 0) > _MOST_SYMBOLS:
        return f"the JavaScript module takes at most {_MOST_SYMBOLS:,} symbols"
    if len(canonical(survey.to_document())) > _LARGEST_SURVEY:  # as a collector serves it
        return f"the JavaScript module reads surveys of at most {_LARGEST_SURVEY:,} bytes"
    return None
