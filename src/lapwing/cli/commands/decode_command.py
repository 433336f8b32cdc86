"""`lapwing decode`: from a tally to the distribution behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.decoder_options import DecoderOptions
from lapwing.cli.reading.options import Force, Level, check_level
from lapwing.cli.reading.stored_answers import RELEASE
from lapwing.cli.reading.week_files import read_weeks
from lapwing.cli.showing.answer import shown_answer
from lapwing.cli.showing.table_file import TableOptions
from lapwing.documents import read
from lapwing.errors import ArgumentError
from lapwing.protocol.messages.tally import Tally
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import percent
from lapwing.survey.joint_decoding import decode_together
from lapwing.survey.survey import Survey

if TYPE_CHECKING:
    pass


Words = Annotated[
    list[Path],
    typer.Argument(
        metavar="SURVEY TALLY",
        help="The survey (lapwing new), then its tally (lapwing tally, lapwing merge). Several "
        "surveys about one distribution, as the epochs of lapwing new --after, each with its "
        "tallies, are decoded to one answer.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """The option of a result that is kept."""

    output: Path | None = option(
        "Where to write the result; without it, it is only shown.", "FILE", flags="--output -o"
    )


def decode(
    files: Words,
    *,
    stored: ResultOptions,
    force: Force = False,
    decoding: DecoderOptions,
    table: TableOptions,
    level: Level = 0.95,
    out: Output,
) -> None:
    """The estimated distribution of a survey's answers.

    Shows quantiles or shares with intervals. The intervals cover the distribution of the people who
    reported. They are computed from the tally, not from the decoder: a decoder that smooths may
    leave them, and the share of the curve inside says so.
    """
    check_level(level)
    output = stored.output
    table.check(inputs=files, force=force, output=output)
    if output is not None:
        check_output(output, inputs=files, force=force)
    pairs = _pairs(files)
    survey, tally = pairs[0]
    if len(pairs) == 1:
        decoder = decoding.made(survey, tally, out, output=output)
        with out.listening():
            result: Any = survey.decode(tally, decoder=decoder)
        head = {"survey": survey.name, "fingerprint": survey.fingerprint}
    else:
        if decoding != DecoderOptions():
            raise ArgumentError(
                "several tallies have one decoder of their own; leave the decoder's options out"
            )
        with out.listening():
            result = decode_together(pairs)
        head = {"together": result.provenance["together"]}
    if output is not None:
        write_text(output, result.to_json())
        decoding.finish(output)
    name = " and ".join(dict.fromkeys(survey.name for survey, _ in pairs))
    rest = {} if output is None else {"written": str(output)}
    request = AnswerRequest(level=level, curve=out.as_json)
    answer = shown_answer(result, name, request, rest=rest)
    table.write(answer.rows)
    document = {"command": "decode", **head, "output": None if output is None else str(output)}
    signed = getattr(result, "signed", None)
    if signed is None:
        out.show(document | answer.document, *answer.tables)
        return
    negative = int((signed.mass < 0).sum()), signed.mass.size, percent(float(signed.mass.min()))
    masses = {"negative masses": "{} of {}, down to {}".format(*negative)}
    document |= {**answer.document, "signed": signed.mass.tolist()}
    out.show(document, *answer.tables, facts(masses))


def _pairs(files: Sequence[Path]) -> list[tuple[Survey, Tally]]:
    """Return each tally with the survey that stands before it."""
    if len(files) == 1 and read(files[0]).get("format") == RELEASE:
        raise ArgumentError(
            f"{files[0].name} is a release, which needs no tally: lapwing show {files[0].name}"
        )
    weeks = read_weeks([str(path) for path in files], dated=False)
    pairs = [pair for pair in weeks.weeks if isinstance(pair, tuple)]
    if weeks.bare:
        raise ArgumentError(f"no tally stands after {weeks.bare[0].name}: name each survey first")
    if len(pairs) < len(weeks.weeks):
        raise ArgumentError("decode takes surveys and their tallies, neither releases nor gaps")
    if len(pairs) > 1 and len({survey.fingerprint for survey, _ in pairs}) == 1:
        raise ArgumentError(
            "these are several tallies of one survey: add them with lapwing merge, or decode weeks "
            "with lapwing series"
        )
    return pairs
