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
from lapwing.cli.reading.stored import read_survey, read_tally
from lapwing.cli.reading.week_files import read_weeks
from lapwing.cli.showing.answer import answer_document, answer_rows, answer_tables
from lapwing.cli.showing.heavy_hitters_answer import heavy_document, heavy_tables
from lapwing.cli.showing.release_answer import show_release
from lapwing.cli.showing.series_answer import SeriesOptions, decode_weeks
from lapwing.cli.showing.table_file import TableOptions
from lapwing.cli.wording import percent
from lapwing.errors import ArgumentError
from lapwing.survey.joint_decoding import decode_together

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """The option of a result that is kept."""

    output: Path | None = option(
        "Where to write the distribution, for plot and distances; without it, it is only shown.",
        "FILE",
        flags="--output -o",
    )


SurveyOrRelease = Annotated[
    Path,
    typer.Argument(
        metavar="SURVEY", help="The survey's JSON document (lapwing new); or a release alone."
    ),
]

Tallies = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TALLY",
        help="The tally (lapwing tally, lapwing merge); with --series one for each week.",
    ),
]


def decode(
    survey_file: SurveyOrRelease,
    tally_files: Tallies = None,
    *,
    weeks: SeriesOptions,
    stored: ResultOptions,
    force: Force = False,
    given: DecoderOptions,
    table: TableOptions,
    level: Level = 0.95,
    out: Output,
) -> None:
    """Estimate the distribution behind a tally.

    Shows quantiles or shares with intervals. The intervals cover the distribution of the
    people who reported. They belong to the tally, not to the decoder: a decoder that smooths
    may leave them, and the share of the curve inside says so.

    A release (lapwing release) says by itself what it holds: lapwing decode RELEASE shows it, by
    segment where it has some.

    With --series, weeks are decoded together, each with what the others know: lapwing decode
    --series SURVEY TALLY TALLY ..., in the order of time, or releases. A folder stands for its
    files by name, another survey is for the tallies after it, and - is a week without any. With
    --together, SURVEY TALLY SURVEY TALLY ... of one distribution give one answer.
    """
    check_level(level)
    output = stored.output
    if weeks.several:
        _check_alone(given)
        way = _decode_together if weeks.together else decode_weeks
        words = [str(survey_file), *(tally_files or ())]
        return way(words, weeks, table, out, output=output, force=force, level=level)
    tally_file = _only(tally_files, weeks)
    if tally_file is None:
        if output is not None or given != DecoderOptions():
            raise ArgumentError("a release has its own decoder; leave --output and decoders out")
        table.check(inputs=[survey_file], force=force)
        show_release(survey_file, table, out, level=level)
        return
    files = [survey_file, tally_file]
    table.check(inputs=files, force=force, output=output)
    if output is not None:
        check_output(output, inputs=files, force=force)
        files.append(output)
    survey = read_survey(survey_file)
    tally = read_tally(tally_file)
    decoder = given.made(survey, tally, out, files=files)
    with out.listening():
        result = survey.decode(tally, decoder=decoder)
    if output is not None:
        write_text(output, result.to_json())
    said, tables, rows = _said(survey.name, result, level, output)
    table.write(rows)
    document: dict[str, Any] = {"command": "decode", "survey": survey.name}
    document |= {"fingerprint": survey.fingerprint}
    document |= {"output": None if output is None else str(output)}
    out.show(document | said, *tables)


def _check_alone(given: DecoderOptions) -> None:
    if given != DecoderOptions():
        raise ArgumentError(
            "what is decoded together has its own decoder; leave the options of decoders out"
        )


def _decode_together(
    words: Sequence[str],
    weeks: SeriesOptions,
    table: TableOptions,
    out: Output,
    *,
    output: Path | None,
    force: bool,
    level: float,
) -> None:
    """Decode the tallies of several surveys to one answer, and show and store it."""
    weeks.check_together()
    files = read_weeks(words, dated=False)
    pairs = [pair for pair in files.weeks if isinstance(pair, tuple)]
    if len(pairs) < len(files.weeks):
        raise ArgumentError(
            "--together takes surveys, each with its tallies, and neither releases nor gaps"
        )
    if files.bare:
        raise ArgumentError(
            f"no tally stands after {files.bare[0].name}: --together takes SURVEY TALLY SURVEY "
            "TALLY ..., each survey before its own"
        )
    table.check(inputs=files.paths, force=force, output=output)
    if output is not None:
        check_output(output, inputs=files.paths, force=force)
    with out.listening():
        result = decode_together(pairs)
    if output is not None:
        write_text(output, result.to_json())
    names = list(dict.fromkeys(survey.name for survey, _ in pairs))
    said, tables, rows = _said(" and ".join(names), result, level, output)
    table.write(rows)
    document = {
        "command": "decode",
        "together": result.made["together"],
        "output": None if output is None else str(output),
    }
    out.show(document | said, *tables)


def _only(tallies: list[str] | None, weeks: SeriesOptions) -> Path | None:
    """Return the tally that is decoded alone; ArgumentError where there are several."""
    weeks.check_alone()
    if tallies and len(tallies) > 1:
        raise ArgumentError(
            "one tally is decoded at a time: add several up with lapwing merge, decode weeks "
            "together with --series, or epochs of one distribution with --together"
        )
    return Path(tallies[0]) if tallies else None


def _said(
    name: str, result: Any, level: float, output: Path | None
) -> tuple[dict[str, Any], list[Table], list[dict[str, Any]]]:
    """Return what a result says: as JSON values, as tables, and as the rows of the first."""
    rest = {} if output is None else {"written": str(output)}
    if result.kind == "heavy-hitters":
        said = heavy_document(result, level=level)
        tables = heavy_tables(name, result, said, rest=rest)
        return said, tables, said["heavy_hitters"]
    said = answer_document(result, level=level)
    tables = answer_tables(name, result, said, rest=rest)
    if result.signed is not None:
        mass = result.signed.mass
        said |= {"signed": mass.tolist()}
        negative = f"{int((mass < 0).sum())} of {mass.size}, down to {percent(float(mass.min()))}"
        tables.append(facts({"negative masses": negative}))
    return said, tables, answer_rows(said, result.domain)
