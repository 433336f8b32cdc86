"""`lapwing tally`: count reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.options import AsJson, OutputFile, Quiet, SurveyFile
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.report_store import STDIN, read_reports, shown
from lapwing.cli.stored import read_survey
from lapwing.cli.wording import count_text
from lapwing.errors import ArgumentError, ReportError, TallyError, TornFileError
from lapwing.survey import Survey
from lapwing.tally import Counts


def tally(
    survey_file: SurveyFile,
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORTS",
            help="Files of reports: .lwr, .parquet or .csv; - is standard input (.lwr).",
        ),
    ],
    output: OutputFile,
    salvage: Annotated[
        bool,
        typer.Option("--salvage", help="From a torn .lwr file, count the blocks before the tear."),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Count the reports of one survey, from one file or many.

    All files count, entirely, or nothing is written: a torn file, a report that cannot occur
    or a file of another survey is refused. The tally is public and can be merged with others.
    """
    out = Output(as_json, quiet)
    check_output(output, inputs=[survey_file, *(path for path in reports if path != STDIN)])
    check_distinct(reports)
    survey = read_survey(survey_file)
    total: Counts | None = None
    counted: list[dict[str, Any]] = []
    with out.progress("tally", None) as advance:
        for path in reports:
            part, torn = _tally_file(path, survey, salvage=salvage, advance=advance)
            if torn is not None:
                out.warn(f"{torn}; only those were counted")
            number = 0 if part is None else part.total
            counted.append({"file": str(path), "reports": number, "torn": torn is not None})
            if part is not None:
                total = part if total is None else total + part
    if total is None:
        names = ", ".join(shown(path) for path in reports)
        raise TallyError(f"there must be at least one report to count, there is none in {names}")
    write_text(output, tally_text(total))
    document = {
        "command": "tally",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "reports": total.total,
        "files": counted,
        "output": str(output),
    }
    rows = {"survey": survey.name}
    rows |= {entry["file"]: f"{count_text(entry['reports'])} reports" for entry in counted}
    rows |= {"counted": f"{count_text(total.total)} reports", "written": str(output)}
    out.show(document, facts(rows))


def check_distinct(paths: list[Path]) -> None:
    """Raise ArgumentError when a file is named twice: its reports would count twice."""
    seen = set()
    for path in paths:
        if path.resolve() in seen:
            raise ArgumentError(f"{shown(path)} is named twice; its reports would count twice")
        seen.add(path.resolve())


def tally_text(tally: Counts) -> str:
    """Return the JSON text of a tally; equal tallies give equal bytes."""
    return json.dumps(tally.to_document(), allow_nan=False) + "\n"


def _tally_file(
    path: Path, survey: Survey, *, salvage: bool, advance: Callable[[int], None]
) -> tuple[Counts | None, TornFileError | None]:
    total: Counts | None = None
    first = 0
    try:
        for batch in read_reports(path, survey):
            part = _tally_batch(path, survey, batch, first)
            total = part if total is None else total + part
            first += len(batch)
            advance(len(batch))
    except TornFileError as error:
        if salvage:
            return total, error
        message = f"{error}; nothing was counted, --salvage counts those"
        raise TornFileError(
            message, path=error.path, block=error.block, intact=error.intact
        ) from None
    return total, None


def _tally_batch(path: Path, survey: Survey, batch: Any, first: int) -> Counts:
    try:
        return survey.tally(batch)
    except ReportError as error:
        if error.position is None:
            raise ReportError(f"{shown(path)}: {error}") from None
        number = first + error.position
        message = str(error).replace(f"position {error.position} ", f"row {number + 1} ")
        message = message.replace("the batch was not counted", "nothing was counted")
        raise ReportError(f"{shown(path)}: {message}", position=number) from None
