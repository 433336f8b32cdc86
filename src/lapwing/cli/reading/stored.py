"""The stored documents that commands read; errors name the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lapwing.documents import read
from lapwing.errors import FormatError, LapwingError, TallyError
from lapwing.protocol.messages.tally import Tally, tally_from_document
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.survey.publication import decode_release, release_from_document
from lapwing.survey.survey import Survey

Stored = TypeVar("Stored")


def read_survey(path: Path) -> Survey:
    """Return the survey in a file; FormatError when it is none, or was changed."""
    return _read(path, Survey.from_document)


def read_tally(path: Path) -> Tally:
    """Return the tally in a file; FormatError when it is none."""
    return _read(path, tally_from_document)


def read_result(path: Path) -> Distribution:
    """Return the distribution in a file, or behind a release; FormatError when it is neither."""
    return _read(path, _distribution)


def read_stored_release(path: Path) -> Release:
    """Return the release in a file; FormatError when it is none."""
    return _read(path, release_from_document)


def _distribution(document: dict[str, Any]) -> Distribution:
    if document.get("format") == "lapwing-release":
        return decode_release(release_from_document(document))
    return Distribution.from_document(document)


def read_distribution_or_list(path: Path) -> Distribution | HeavyHitters:
    """Return the distribution or the heavy hitters in a file; FormatError when it is neither."""
    return _read(path, _distribution_or_list)


def _distribution_or_list(document: dict[str, Any]) -> Distribution | HeavyHitters:
    if document.get("format") == "lapwing-heavy-hitters":
        return HeavyHitters.from_document(document)
    return _distribution(document)


def _read(path: Path, build: Callable[[dict[str, Any]], Stored]) -> Stored:
    document = read(path)
    try:
        return build(document)
    except TallyError as error:
        raise TallyError(f"{path.name}: {error}") from None
    except LapwingError as error:
        raise FormatError(f"{path.name}: {error}") from None
