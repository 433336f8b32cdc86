"""The stored documents that most commands read, surveys and tallies. Errors name the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lapwing.documents import nearest, read, read_as
from lapwing.errors import ArgumentError
from lapwing.protocol.messages.group_table import FORMAT as GROUP_TALLIES
from lapwing.protocol.messages.group_table import is_group_table
from lapwing.protocol.messages.group_tallies import GroupTallies
from lapwing.protocol.messages.tally import Tally
from lapwing.results.rounding import count_text
from lapwing.survey.survey import Survey


def read_survey(path: Path) -> Survey:
    """Return the survey in a file. FormatError when it is none, or was changed."""
    return read_as(path, Survey.from_document)


def format_of(path: Path) -> Any:
    """Return the format that a file says it has, even for tallies by segment in a table."""
    return GROUP_TALLIES if is_group_table(path) else read(path).get("format")


def read_tallies(path: Path) -> Tally | GroupTallies:
    """Return the tally in a file, or those of its segments. FormatError when it holds none."""
    return GroupTallies.load(path) if is_group_table(path) else read_as(path, _tallies)


def _tallies(document: dict[str, Any]) -> Tally | GroupTallies:
    grouped = document.get("format") == GROUP_TALLIES
    return (GroupTallies if grouped else Tally).from_document(document)


def read_tally(path: Path, segment: str | None = None) -> Tally:
    """Return the tally in a file, or that of a segment.

    Raises FormatError when the file holds none.
    Raises ArgumentError when it has no segments, or none of this name. The message lists them.
    """
    tally = read_tallies(path)
    if isinstance(tally, Tally):
        if segment is not None:
            raise ArgumentError(
                f"{path.name} has no segments. --segment is for tallies that lapwing tally --by "
                "wrote"
            )
        return tally
    if segment is None:
        raise ArgumentError(
            f"{path.name} contains a tally for each segment. Choose one with --segment: "
            f"{_listed(tally)}"
        )
    if segment not in tally:
        raise ArgumentError(
            f"{path.name} has no segment {segment!r}{nearest(segment, tally)}. --segment is one of "
            f"{_listed(tally)}"
        )
    return tally[segment]


_LISTED = 50


def _listed(groups: GroupTallies) -> str:
    names = list(groups)
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {count_text(more)} more" if more > 0 else "")
