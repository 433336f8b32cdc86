"""The stored answers that commands read: results, releases, series, watches; errors name the file.

They stand apart from surveys and tallies, so that who only randomizes does not wait for decoders.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lapwing.documents import nearest, read, read_as
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.segmented import NO_SEGMENT, Segmented
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.series import Series
from lapwing.survey.publication import Publication, decode_release
from lapwing.survey.watch import Watch

RELEASE = "lapwing-release"


def read_result(path: Path) -> Distribution:
    """Return the distribution in a file, or behind a release; FormatError when it is neither."""
    return read_as(path, _distribution)


def read_stored_release(path: Path) -> Release:
    """Return the release in a file; FormatError when it is none."""
    return read_as(path, Release.from_document)


def read_series(path: Path) -> Series:
    """Return the series in a file; FormatError when it is none."""
    return read_as(path, Series.from_document)


def is_series(path: Path) -> bool:
    """Return whether a file holds a series."""
    return read(path).get("format") == "lapwing-series"


def read_watch(path: Path) -> Watch:
    """Return the watch in a file; FormatError when it is none."""
    return read_as(path, Watch.from_document)


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
    made = read_as(path, Release.from_document) if document.get("format") == RELEASE else None
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
        return decode_release(Release.from_document(document))
    return Distribution.from_document(document)


def read_distribution_or_list(
    path: Path, segment: str | None = None
) -> Distribution | HeavyHitters:
    """Return the distribution or the heavy hitters in a file; FormatError when it is neither.

    With a segment, of a release, as :func:`read_segment`.
    """
    if segment is not None:
        return read_segment(path, segment)
    return read_as(path, _distribution_or_list)


def _distribution_or_list(document: dict[str, Any]) -> Distribution | HeavyHitters:
    if document.get("format") == "lapwing-heavy-hitters":
        return HeavyHitters.from_document(document)
    return _distribution(document)
