"""Why an output is not private in spite of its noise: a seed drew it, or people are simulated."""

from __future__ import annotations

from typing import Any, Literal

from lapwing.errors import FormatError

Standing = Literal["seeded", "simulated"]
"""Why something drawn is not private: its randomness can be repeated, or its people are made up."""


def weakest_standing(*standings: Standing | None) -> Standing | None:
    """Return the standing of what several things were made into."""
    known: tuple[Standing, ...] = ("simulated", "seeded")
    return next((standing for standing in known if standing in standings), None)


def checked_standing(written: Any) -> Standing | None:
    """Return a standing that a document holds, or raise FormatError."""
    if written in (None, "seeded", "simulated"):
        standing: Standing | None = written
        return standing
    raise FormatError(
        "a standing must be 'seeded' or 'simulated', or be left out. Do not use this document"
    )
