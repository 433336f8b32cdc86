"""The stored documents that commands read; errors name the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lapwing.documents import nearest, read
from lapwing.errors import ArgumentError, FormatError, LapwingError, TallyError
from lapwing.protocol.domains.segmented import NO_SEGMENT, Segmented
from lapwing.protocol.messages.tally import Tally, tally_from_document
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.series import Series
from lapwing.survey.publication import Publication, decode_release, release_from_document
from lapwing.survey.survey import Survey
from lapwing.survey.watch import Watch

Stored = TypeVar("Stored")

RELEASE = "lapwing-release"


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


def read_series(path: Path) -> Series:
    """Return the series in a file; FormatError when it is none."""
    return _read(path, Series.from_document)


def is_series(path: Path) -> bool:
    """Return whether a file holds a series."""
    return read(path).get("format") == "lapwing-series"


def read_watch(path: Path) -> Watch:
    """Return the watch in a file; FormatError when it is none."""
    return _read(path, Watch.from_document)


def read_segment(path: Path, segment: str | None) -> Distribution:
    """Return the result in a file; of a release by segment, the distribution in one of them.

    Without a segment it is that of the whole table, whose labels are the cells.

    Raises
    ------
    ArgumentError
        When the file has no segments, or none of this name; the message lists them.
    """
    if segment is None:
        return read_result(path)
    document = read(path)
    made = _read(path, release_from_document) if document.get("format") == RELEASE else None
    if made is None or not isinstance(made.domain, Segmented):
        raise ArgumentError(
            f"{path.name} has no segments; --segment is for a release that was made with --by"
        )
    found = {segment_text(key): each for key, each in Publication(made).by_segment().items()}
    if segment not in found:
        raise ArgumentError(
            f"there is no segment {segment!r}{nearest(segment, found)}; --segment is one of "
            f"{', '.join(found)}"
        )
    return found[segment]


def require_no_segments(result: Distribution, *, flag: str) -> None:
    """Raise ArgumentError where a table by segment is asked what only its segments can answer."""
    domain = result.domain
    if isinstance(domain, Segmented):
        names = ", ".join(map(segment_text, [*domain.segments, None]))
        raise ArgumentError(f"{flag} is of one segment: name it with --segment, one of {names}")


def segment_text(segment: str | int | None) -> str:
    """Return the name of a segment, or of none of them."""
    return NO_SEGMENT if segment is None else str(segment)


def _distribution(document: dict[str, Any]) -> Distribution:
    if document.get("format") == RELEASE:
        return decode_release(release_from_document(document))
    return Distribution.from_document(document)


def read_distribution_or_list(
    path: Path, segment: str | None = None
) -> Distribution | HeavyHitters:
    """Return the distribution or the heavy hitters in a file; FormatError when it is neither.

    With a segment, of a release, as :func:`read_segment`.
    """
    if segment is not None:
        return read_segment(path, segment)
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
