"""`lapwing extend`: one more round of running prefix sums."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.options import Force, OutputFile
from lapwing.cli.reading.raw_counts import is_summary
from lapwing.cli.reading.stored_answers import read_stored_release
from lapwing.cli.showing.answer import answer_document, answer_tables
from lapwing.errors import ArgumentError
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.survey.publication import decode_release


def extend(
    before: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="The release after the rounds so far.")
    ],
    rounds: Annotated[
        list[Path],
        typer.Argument(
            metavar="SUMMARY",
            help="The summaries of all rounds (lapwing summarize), in order, the new one last.",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    ledger: Annotated[
        Path,
        typer.Option("--ledger", metavar="FILE", help="The ledger that paid for the first round."),
    ],
    out: Output,
) -> None:
    """Publish one more round of a release in rounds, of newly collected people.

    The first round is a release with --mechanism running-prefix-sums, --set rounds=N and --ledger,
    which pays for all of them. Each round may be drawn once, so the ledger marks it before its
    noise is drawn: a run that is stopped before that can be made again, one that is stopped after
    it ends the rounds. The release of the rounds so far stays as it is.
    """
    check_output(output, inputs=[before, *rounds, ledger], force=force)
    made = read_stored_release(before)
    running = made.mechanism
    if not isinstance(running, RunningPrefixSums):
        raise ArgumentError(
            f"only a release by running-prefix-sums has rounds, {before.name} is by "
            f"{running.name}; releases of other mechanisms add up: lapwing merge"
        )
    if len(rounds) != len(made.parts) + 1:
        raise ArgumentError(
            f"{before.name} has {len(made.parts)} round(s), so name {len(made.parts) + 1} "
            f"summaries: of those, in order, and of the new one; got {len(rounds)}"
        )
    for path in rounds:
        if not is_summary(path):
            raise ArgumentError(
                f"{path.name} is no summary, and later rounds need the exact counts of this one; "
                "make it first: lapwing summarize"
            )
    *earlier, newest = [ExactCounts.load(path) for path in rounds]
    after = running.following(made, earlier, newest, ledger=ledger)
    write_text(output, after.to_json())
    _show(out, after, output, most=running.rounds)


def _show(out: Output, after: Release, output: Path, *, most: int) -> None:
    found = decode_release(after)
    drawn = len(after.parts)
    said = answer_document(found, level=0.95)
    document = {"command": "extend", "round": drawn, "rounds": most, "output": str(output)}
    rest = {"round": f"{drawn} of {most}", "written": str(output)}
    out.show(said | document, *answer_tables(output.name, found, said, rest=rest))
