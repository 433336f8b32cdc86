"""Files of weeks, in the order of time: surveys with their tallies, and releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.cli.reading.stored import read_survey, read_tally
from lapwing.cli.reading.stored_answers import RELEASE, read_stored_release
from lapwing.documents import read
from lapwing.errors import ArgumentError
from lapwing.results.series import with_missing
from lapwing.survey.series_decoding import WeekGiven
from lapwing.survey.survey import FORMAT as SURVEY
from lapwing.survey.survey import Survey

GAP = "-"
"""Stands for a week without a file."""


@dataclass(frozen=True)
class WeekFiles:
    """Weeks as they were read.

    Parameters
    ----------
    weeks : list of (Survey, Tally), Release or None
    names : list of str
        Of the files, without their endings.
    paths : list of Path
        All files that were read.
    bare : list of Path
        Surveys with no tally after them.
    """

    weeks: list[WeekGiven]
    names: list[str]
    paths: list[Path]
    bare: list[Path]


def read_weeks(words: Sequence[str], *, dated: bool = True) -> WeekFiles:
    """Return the weeks that words of the command line name, in their order.

    A folder stands for its files by name, hidden ones apart; where they are dates and some date is
    missing between them, that week is a gap, unless somebody names the weeks otherwise (`dated`). A
    survey is for the tallies after it.

    Raises
    ------
    ArgumentError
        When a tally stands before any survey, or there is no week.
    """
    weeks: list[WeekGiven] = []
    names: list[str] = []
    survey: Survey | None = None
    paths = []
    bare: list[Path] = []
    kind: Any = None
    for path in _listed(words, dated):
        if not isinstance(path, Path):
            weeks.append(None)
            names.append(path or f"gap {len(weeks)}")
            continue
        paths.append(path)
        last, kind = kind, read(path).get("format")
        if kind == SURVEY:
            survey = read_survey(path)
            bare.append(path)
            continue
        if kind == RELEASE:
            weeks.append(read_stored_release(path))
        elif survey is None:
            raise ArgumentError(
                f"{path.name} stands before the survey that collected it; name the survey first"
            )
        else:
            weeks.append((survey, read_tally(path)))
            bare = bare[:-1] if last == SURVEY else bare
        names.append(_name(path))
    if not weeks:
        raise ArgumentError("there is no tally: name the survey, then its tallies in order")
    return WeekFiles(weeks, names, paths, bare)


def _name(path: Path) -> str:
    return path.name.removesuffix(".json").removesuffix(".tally")


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
            whole = with_missing(list(named)) if alone else []
            found += [named.get(name, name) for name in whole] or there
        else:
            found.append(path)
    return found
