"""`lapwing merge`: add tallies, or releases of sites or rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from lapwing.cli.console import (
    Output,
    check_distinct,
    check_output,
    facts,
    write_groups,
    write_text,
)
from lapwing.cli.option_groups import argument, named
from lapwing.cli.reading.options import AllowEqual, Force, OutputFile
from lapwing.cli.reading.stored import read_tallies
from lapwing.cli.showing.released import FORMAT as ANSWERS
from lapwing.documents import read
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.privacy.guarantee import People
from lapwing.protocol.channels.equal_counts import equal_by_chance
from lapwing.protocol.messages.group_tallies import GroupTallies
from lapwing.protocol.release import Release
from lapwing.results.counted import counted_word
from lapwing.results.question_release import QuestionRelease
from lapwing.results.rounding import count_text


def merge(
    tallies: Annotated[list[Path], argument("Tallies of one survey, or releases.", "TALLIES")],
    output: OutputFile,
    people: Annotated[
        People,
        named(
            "--people",
            "For releases. different: nobody is in more than one. same: a person may be in "
            "several, such as one for each month, so the privacy guarantees compose.",
            "WHICH",
        ),
    ] = "different",
    force: Force = False,
    allow_equal: AllowEqual = None,
    *,
    out: Output,
) -> None:
    """The sum of tallies, or of releases.

    The sum is exact and does not depend on the order. Tallies of different surveys are refused,
    even if their randomizers agree. Tallies by segment (lapwing tally --by) are added segment by
    segment.
    Releases (lapwing release) of sites or rounds add when their mechanism and domain are the same.
    Nobody may contribute to two of them, unless --people same says so.
    """
    check_output(output, inputs=tallies, force=force)
    check_distinct(
        tallies, what="reports", allow_equal=allow_equal, by_chance=_by_chance, content=_content
    )
    if all(_is_release(path) and read(path)["format"] == ANSWERS for path in tallies):
        _merge_answers(tallies, output, out, people)
    elif all(_is_release(path) for path in tallies):
        _merge_releases(tallies, output, out, people)
    elif people == "same":
        raise ArgumentError(
            "--people same is for releases only. Each report in a tally has its survey's "
            "guarantee, and one person's reports always compose. Leave it out"
        )
    else:
        _merge_tallies(tallies, output, out)


def _by_chance(path: Path, files: int) -> bool:
    """Return whether different people may have given what a file holds by chance.

    What is no tally is left to those who read it: a sum refuses the same release twice.
    """
    try:
        return _is_release(path) or equal_by_chance(read_tallies(path), files)
    except FormatError:
        return True


def _content(path: Path) -> bytes:
    """Return what two tallies are compared by: all of them, apart from what identifies a file."""
    try:
        return path.read_bytes() if _is_release(path) else read_tallies(path).to_json().encode()
    except FormatError:
        return path.read_bytes()


def _is_release(path: Path) -> bool:
    """Return whether a file holds a release. Anything else is left to those who read tallies."""
    try:
        return read(path).get("format") in ("lapwing-release", ANSWERS)
    except FormatError:
        return False


def _merge_answers(paths: list[Path], output: Path, out: Output, people: People) -> None:
    if people == "same":
        raise ArgumentError(
            "released answers can be added only for different people. Leave out --people"
        )
    total, counted = _added(
        paths, QuestionRelease.load, lambda part: {"parts": 1, "people": part.people}
    )
    write_text(output, total.to_json())
    said = {"people": total.people, "guarantee": total.guarantee.to_document(), "files": counted}
    rows = {
        "questions": ", ".join(map(str, total.questions)),
        "people": "secret" if total.people is None else count_text(total.people),
        "privacy guarantee": str(total.guarantee),
        "written": str(output),
    }
    out.show({"command": "merge", **said, "output": str(output)}, facts(rows))


def _merge_tallies(paths: list[Path], output: Path, out: Output) -> None:
    total, counted = _added(paths, read_tallies, lambda part: {"reports": part.total})
    if isinstance(total, GroupTallies):
        write_groups(output, total)
    else:
        write_text(output, total.file_text())
    document = {"command": "merge", "reports": total.total, "files": counted, "output": str(output)}
    rows = {entry["file"]: f"{count_text(entry['reports'])} reports" for entry in counted}
    rows |= {"merged": f"{count_text(total.total)} reports", "written": str(output)}
    out.show(document, facts(rows))


def _merge_releases(paths: list[Path], output: Path, out: Output, people: People) -> None:
    total, counted = _added(
        paths, Release.load, lambda part: {"parts": len(part.parts), "people": part.people}
    )
    total = Release.sum_of([total], people=people)
    write_text(output, total.to_json())
    document = {
        "command": "merge",
        "parts": len(total.parts),
        "people": total.people,
        "guarantee": total.guarantee.to_document(),
        "files": counted,
        "output": str(output),
    }
    word = counted_word(total.guarantee)
    rows = {
        "mechanism": total.mechanism.name,
        "parts": str(len(total.parts)),
        word: "secret" if total.people is None else count_text(total.people),
        "privacy guarantee": str(total.guarantee),
    }
    out.show(document, facts(rows | {"written": str(output)}))


def _added(
    paths: list[Path], read_part: Callable[[Path], Any], told: Callable[[Any], dict[str, Any]]
) -> tuple[Any, list[dict[str, Any]]]:
    """Return the sum of what files hold, one read at a time, and what is told of each."""
    total = None
    counted = []
    for path in paths:
        part = read_part(path)
        counted.append({"file": str(path), **told(part)})
        try:
            if total is not None and isinstance(total, Mapping) != isinstance(part, Mapping):
                raise MismatchError(
                    "some have segments and some do not. Merge those with segments separately "
                    "from those without"
                )
            total = part if total is None else total + part
        except MismatchError as error:
            raise MismatchError(
                f"{path.name} cannot be merged with {paths[0].name}: {error}"
            ) from None
    return total, counted
