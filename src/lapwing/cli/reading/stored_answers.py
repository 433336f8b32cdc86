"""The stored answers that commands read: results, releases, series, watches, files of weeks.

This file is apart from that of surveys and tallies, because reading an answer imports decoders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.cli.reading.stored import format_of, read_survey, read_tallies, read_tally
from lapwing.documents import nearest, read, read_as
from lapwing.errors import ArgumentError, FormatError
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.protocol.messages.group_tallies import PARQUET, GroupTallies
from lapwing.protocol.messages.tally import Tally
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.series import Series
from lapwing.results.series_change import are_dates, by_date, with_missing
from lapwing.survey.publication import Publication, decode_release
from lapwing.survey.series_decoding import WeekGiven
from lapwing.survey.survey import FORMAT as SURVEY
from lapwing.survey.survey import Survey
from lapwing.survey.watch import Watch

RELEASE = "lapwing-release"
TALLIES = ("lapwing-tally", "lapwing-group-tallies")


def read_result(path: Path) -> Distribution:
    """Return the distribution in a file, or the estimate from a release, or raise FormatError."""
    return read_as(path, _distribution)


def read_stored_release(path: Path) -> Release:
    """Return the release in a file. FormatError when it is none."""
    return read_as(path, Release.from_document)


def read_series(path: Path) -> Series:
    """Return the series in a file. FormatError when it is none."""
    return read_as(path, Series.from_document)


def is_series(path: Path) -> bool:
    """Return whether a file holds a series."""
    return read(path).get("format") == "lapwing-series"


def is_joint(path: Path) -> bool:
    """Return whether a file holds a joint distribution."""
    return read(path).get("format") == "lapwing-joint-distribution"


def read_watch(path: Path) -> Watch:
    """Return the watch in a file. FormatError when it is none."""
    return read_as(path, Watch.from_document)


def read_segment(path: Path, segment: str | None) -> Distribution:
    """Return the result in a file. Of a release by segment, the distribution in one of them.

    Without a segment it is that of the whole table, whose labels are the cells.

    Raises ArgumentError when the file has no segments, or none of this name. The message lists
    them.
    """
    if segment is None:
        return read_result(path)
    kind = format_of(path)
    if kind == "lapwing-group-tallies":
        raise ArgumentError(
            f"{path.name} holds tallies, not results. Decode one segment first: lapwing decode "
            f"SURVEY {path.name} --segment {segment}"
        )
    made = read_as(path, Release.from_document) if kind == RELEASE else None
    if made is None or not isinstance(made.domain, Segmented):
        raise ArgumentError(
            f"{path.name} has no segments. --segment is for a release that was made with --by"
        )
    named = {segment_text(key): key for key in (*made.domain.segments, None)}
    if segment not in named:
        raise ArgumentError(
            f"there is no segment {segment!r}{nearest(segment, named)}. --segment is one of "
            f"{', '.join(named)}"
        )
    found = Publication(made).by_segment()
    if named[segment] not in found:
        raise ArgumentError(f"{path.name} has no rows outside its segments, or too few to show")
    return found[named[segment]]


def segmented_release(path: Path) -> Publication | None:
    """Return the release by segment that a file holds. None for any other file."""
    if read(path).get("format") != RELEASE:
        return None
    made = Publication(read_stored_release(path))
    return made if isinstance(made.release.domain, Segmented) else None


def require_no_segments(result: Distribution, *, flag: str) -> None:
    """Raise ArgumentError where a table by segment is asked what only its segments can answer."""
    domain = result.domain
    if isinstance(domain, Segmented):
        names = ", ".join(map(segment_text, [*domain.segments, None]))
        raise ArgumentError(f"{flag} needs one segment. Choose it with --segment: {names}")


def _distribution(document: dict[str, Any]) -> Distribution:
    if document.get("format") == RELEASE:
        return decode_release(Release.from_document(document))
    if document.get("format") == "lapwing-joint-distribution":
        raise FormatError(
            "this file contains two attributes, but the command takes one. In Python, "
            "lw.load(FILE).marginal(NAME).save(OTHER) writes one of them"
        )
    return Distribution.from_document(document)


def read_distribution_or_list(
    path: Path, segment: str | None = None
) -> Distribution | HeavyHitters:
    """Return the distribution or the heavy hitters in a file. FormatError when it is neither.

    With a segment, of a release, as :func:`read_segment`.
    """
    if segment is not None:
        return read_segment(path, segment)
    return read_as(path, _distribution_or_list)


def _distribution_or_list(document: dict[str, Any]) -> Distribution | HeavyHitters:
    if document.get("format") == "lapwing-heavy-hitters":
        return HeavyHitters.from_document(document)
    return _distribution(document)


GAP = "-"
"""Stands for a week without a file."""


@dataclass(frozen=True)
class WeekFiles:
    """Weeks as they were read.

    names: Of the files, without their endings.
    paths: All files that were read.
    bare: Surveys with no tally after them.
    rest: Reports in tallies by week that are of no week.
    """

    weeks: list[WeekGiven]
    names: list[str]
    paths: list[Path]
    bare: list[Path]
    rest: int = 0


def read_weeks(
    words: Sequence[str], *, dated: bool = True, segment: str | None = None
) -> WeekFiles:
    """Return the weeks that words of the command line name, in their order.

    A folder stands for its files by name, hidden ones apart. Where they are dates and some date is
    missing between them, that week is a gap, unless somebody names the weeks otherwise (`dated`). A
    survey applies to the tallies after it. Of tallies by segment, one segment is read. Without one,
    segments whose names are dates are the weeks.

    Raises ArgumentError when a tally stands before any survey, or there is no week.
    """
    weeks: list[WeekGiven] = []
    names: list[str] = []
    survey: Survey | None = None
    paths = []
    bare: list[Path] = []
    rest = 0
    kind: Any = None
    for path in _listed(words, dated):
        if not isinstance(path, Path):
            weeks.append(None)
            names.append(path or f"gap {len(weeks)}")
            continue
        paths.append(path)
        last, kind = kind, format_of(path)
        if kind == SURVEY:
            survey = read_survey(path)
            bare.append(path)
            continue
        if kind == RELEASE:
            weeks.append(read_stored_release(path))
        elif kind not in TALLIES:
            raise ArgumentError(
                f"{path.name} must be a survey, a tally or a release, but it is not"
            )
        elif survey is None:
            raise ArgumentError(
                f"{path.name} comes before the survey that collected it. Name the survey first"
            )
        else:
            bare = bare[:-1] if last == SURVEY else bare
            by_week = None if segment is not None else _tallies_by_week(path)
            if by_week is not None:
                weeks += [(survey, tally) for tally in by_week.segments.values()]
                names += by_week.segments
                rest += 0 if by_week.rest is None else by_week.rest.total
                continue
            weeks.append((survey, read_tally(path, segment)))
        names.append(_name(path))
    if not weeks:
        raise ArgumentError("there is no tally. Name the survey, then its tallies in order")
    return WeekFiles(weeks, names, paths, bare, rest)


def _tallies_by_week(path: Path) -> GroupTallies | None:
    """Return the tallies of a file whose segments are named by dates. None of any other file."""
    tallies = read_tallies(path)
    if isinstance(tallies, Tally) or not are_dates(list(tallies.segments)):
        return None
    return GroupTallies(
        {name: tallies[name] for name in by_date(list(tallies.segments))}, tallies.rest
    )


def _name(path: Path) -> str:
    name = path.stem if path.suffix.lower() in (".json", *PARQUET) else path.name
    return name.removesuffix(".tally")


def _listed(words: Sequence[str], dated: bool) -> list[Path | str]:
    """Return the files that words name, and of weeks without one the name, or nothing."""
    found: list[Path | str] = []
    for word in words:
        path = Path(word)
        if word == GAP:
            found.append("")
        elif path.is_dir():
            files = (each for each in path.iterdir() if each.is_file())
            there = sorted(each for each in files if not each.name.startswith("."))
            named = {_name(each): each for each in there}
            alone = dated and len(named) == len(there)
            whole = with_missing(by_date(list(named))) if alone else []
            found += [named.get(name, name) for name in whole] or there
        else:
            found.append(path)
    return found
