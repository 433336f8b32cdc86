"""The stored documents that commands read; errors name the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lapwing.distribution import Distribution
from lapwing.documents import read
from lapwing.errors import FormatError, LapwingError, TallyError
from lapwing.survey import Survey
from lapwing.tally import Counts

Stored = TypeVar("Stored")


def read_survey(path: Path) -> Survey:
    """Return the survey in a file; FormatError when it is none, or was changed."""
    return _read(path, Survey.from_document)


def read_tally(path: Path) -> Counts:
    """Return the tally in a file; FormatError when it is none."""
    return _read(path, Counts.from_document)


def read_result(path: Path) -> Distribution:
    """Return the distribution in a file; FormatError when it is none."""
    return _read(path, Distribution.from_document)


def _read(path: Path, build: Callable[[dict[str, Any]], Stored]) -> Stored:
    document = read(path)
    try:
        return build(document)
    except TallyError as error:
        raise TallyError(f"{path.name}: {error}") from None
    except LapwingError as error:
        raise FormatError(f"{path.name}: {error}") from None
