"""The stored documents that most commands read, surveys and tallies; errors name the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lapwing.documents import read
from lapwing.errors import FormatError, LapwingError, TallyError
from lapwing.protocol.messages.tally import Tally, tally_from_document
from lapwing.survey.survey import Survey

Stored = TypeVar("Stored")


def read_survey(path: Path) -> Survey:
    """Return the survey in a file; FormatError when it is none, or was changed."""
    return read_as(path, Survey.from_document)


def read_tally(path: Path) -> Tally:
    """Return the tally in a file; FormatError when it is none."""
    return read_as(path, tally_from_document)


def read_as(path: Path, build: Callable[[dict[str, Any]], Stored]) -> Stored:
    """Return what a function makes of the document in a file."""
    document = read(path)
    try:
        return build(document)
    except TallyError as error:
        raise TallyError(f"{path.name}: {error}") from None
    except LapwingError as error:
        raise FormatError(f"{path.name}: {error}") from None
