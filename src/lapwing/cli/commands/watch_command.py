"""`lapwing watch`: one more week, and whether something changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import write_text
from lapwing.cli.reading.stored_answers import read_watch
from lapwing.cli.reading.week_files import read_weeks
from lapwing.errors import ArgumentError
from lapwing.survey.watch import Noticed, Watch


def watch(
    state_file: Annotated[
        Path,
        typer.Argument(metavar="STATE", help="What is kept from week to week; made at the first."),
    ],
    week_files: Annotated[
        list[str],
        typer.Argument(
            metavar="WEEK",
            help="The survey and the tally of the week, or a release; or - for none.",
        ),
    ],
    *,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="TEXT", help="Of the week; default: the name of its file."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            "--alpha",
            metavar="SHARE",
            help="The probability that a change is ever reported where there was none, over all "
            "weeks; 0.05 unless it is said at the first.",
        ),
    ] = None,
    out: Output,
) -> None:
    """Look at one more week, and say whether something changed.

    A change is reported once it is certain enough, with the week in which it began, its size and
    where it is. However many weeks are looked at, a change is ever reported where there was none
    with a probability of alpha at most. Run it once a week; a week given twice is refused, and the
    state is written only when the look was done.
    """
    if state_file.exists():
        state = read_watch(state_file)
    else:
        state = Watch() if alpha is None else Watch(alpha)
    if alpha is not None and alpha != state.alpha:
        raise ArgumentError(
            f"this watch was begun with alpha {state.alpha:g}, which stays; leave --alpha out"
        )
    files = read_weeks(week_files)
    if len(files.weeks) != 1:
        raise ArgumentError(f"a look is at one week, got {len(files.weeks)}; look at each in turn")
    if state_file.resolve() in {path.resolve() for path in files.paths}:
        raise ArgumentError("the state must be another file than those of the week")
    called = name or (str(len(state.weeks) + 1) if files.weeks[0] is None else files.names[0])
    with out.listening():
        state, noticed = state.look(files.weeks[0], name=called)
    write_text(state_file, state.to_json())
    _show(state, noticed, state_file, out)


def _show(state: Watch, noticed: Noticed, path: Path, out: Output) -> None:
    """Show what a look noticed."""
    change, domain = noticed.change, state.domain
    words = None if change is None or domain is None else change.shift.in_words(domain)
    document = {
        "command": "watch",
        "state": str(path),
        "week": noticed.week,
        "weeks": len(state.weeks),
        "gap": noticed.gap,
        "evidence": noticed.evidence,
        "needed": noticed.needed,
        "changed": change is not None,
        "change": None if change is None else {**change.to_document(), "words": words},
        "reported": [each.to_document() for each in state.changes],
    }
    told = {
        "week": noticed.week,
        "looked at": f"{len(state.weeks)} week{'' if len(state.weeks) == 1 else 's'}",
    }
    if noticed.gap is not None:
        told["gap"] = noticed.gap
    if change is None:
        told["changed"] = "not shown"
        told["evidence"] = f"{noticed.evidence:.1f} of the {noticed.needed:.1f} that a report needs"
    else:
        told["changed"] = f"since {change.week}: {words}"
    out.show(document, facts(told))
