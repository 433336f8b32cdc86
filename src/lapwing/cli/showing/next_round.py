"""`lapwing release --next-round`: one more round of running prefix sums."""

from __future__ import annotations

from pathlib import Path

from lapwing.cli.console import Output
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.raw_counts import is_summary
from lapwing.cli.reading.stored_answers import read_stored_release
from lapwing.cli.showing.answer import shown_answer
from lapwing.errors import ArgumentError
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.results.answer_documents import AnswerRequest
from lapwing.survey.publication import decode_release


def publish_round(
    before: Path, rounds: list[Path], output: Path, ledger: Path, out: Output, *, force: bool
) -> None:
    """Publish the round after a release in rounds, and show all of them.

    Parameters
    ----------
    before : Path
        The release of the rounds so far, which stays as it is.
    rounds : list of Path
        The exact counts of all rounds in order, the new one last.
    output : Path
    ledger : Path
        The ledger that paid for the first round.
    out : Output
    force : bool
        Whether an output that is there may be replaced.
    """
    check_output(output, inputs=[before, *rounds, ledger], force=force)
    made = read_stored_release(before)
    running = made.mechanism
    if not isinstance(running, RunningPrefixSums):
        raise ArgumentError(
            f"only a release by running-prefix-sums has rounds, {before.name} is by "
            f"{running.name}; merge releases of other mechanisms: lapwing merge"
        )
    if len(rounds) != len(made.parts) + 1:
        raise ArgumentError(
            f"{before.name} has {len(made.parts)} round(s), so name {len(made.parts) + 1} "
            f"exact counts: of those, in order, and of the new one; got {len(rounds)}"
        )
    for path in rounds:
        if not is_summary(path):
            raise ArgumentError(
                f"{path.name} must hold exact counts, which later rounds need; make them first: "
                "lapwing count"
            )
    *earlier, newest = [ExactCounts.load(path) for path in rounds]
    after = running.following(made, earlier, newest, ledger=ledger)
    write_text(output, after.to_json())
    _show(out, after, output, most=running.rounds)


def _show(out: Output, after: Release, output: Path, *, most: int) -> None:
    drawn = len(after.parts)
    document = {"command": "release", "round": drawn, "rounds": most, "output": str(output)}
    rest = {"round": f"{drawn} of {most}", "written": str(output)}
    request = AnswerRequest(curve=out.as_json)
    answer = shown_answer(decode_release(after), output.name, request, rest=rest)
    out.show(answer.document | document, *answer.tables)
