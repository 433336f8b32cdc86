"""`lapwing randomize`: turn each person's value into a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import check_ending, check_output, writing
from lapwing.cli.reading.column_options import ColumnOptions
from lapwing.cli.reading.options import Force, OutputFile, SurveyFile
from lapwing.cli.reading.stored import read_survey
from lapwing.cli.wording import count_text
from lapwing.engines.arrow.report_tables import (
    ENDINGS,
    LABELLED_ENDINGS,
    write_labelled_reports,
    write_reports,
)
from lapwing.protocol.messages.report_file import reports_per_block
from lapwing.survey.survey import Survey


def randomize(
    survey_file: SurveyFile,
    values: Annotated[
        Path,
        typer.Argument(
            metavar="VALUES",
            help="A table, one row per person: .parquet, .csv or .tsv (also .csv.gz, .tsv.gz); "
            "- is standard input (CSV).",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="NAME",
            help="A column with the segment of each person, written beside the report in the "
            "clear: the label is public, it is not protected. Needs .parquet or .csv.",
        ),
    ] = None,
    *,
    given: ColumnOptions,
    out: Output,
) -> None:
    """Turn the value of each person into a report.

    Each value is randomised on its own; reports come in the order of the rows. The randomness
    is the operating system's; there is no seed, because whoever knows it could undo the
    protection. The ending of the output says what is written: .lwr (compact), .parquet or
    .csv. Numbers, dates, timestamps and times of day are read as what they are and must fit
    the survey's unit; plain numbers count as days since 1970-01-01 (date), seconds since then
    (datetime) or seconds since midnight (time-of-day). A timestamp with a time zone gives the
    date and time of day of that zone. Texts of dates and times, which all cells of a CSV are,
    are read as --texts says, each by itself; what cannot be read is missing where the survey
    counts missing values, and refused where it does not. If any value is refused, nothing is
    written.
    """
    what = "the output" if by is None else "reports with labels (--by)"
    ending = check_ending(output, ENDINGS if by is None else LABELLED_ENDINGS, what=what)
    check_output(output, inputs=[survey_file, values], force=force)
    survey = read_survey(survey_file)
    people = given.values_in(values, survey.randomizer.domain, by=by)
    rows = reports_per_block(survey.randomizer.report_width)
    progress = out.progress("randomize", people.table.rows)
    with out.listening(), progress as advance, writing(output) as stream:
        batches = people.map(survey.randomize, advance=advance, rows=rows)
        if by is None:
            total = write_reports(stream, survey, batches, ending=ending)
        else:
            total = write_labelled_reports(stream, survey, batches, ending=ending, by=by)
    _show(out, survey, people.name, total, by, output)


def _show(
    out: Output, survey: Survey, column: str, total: int, by: str | None, output: Path
) -> None:
    document = {
        "command": "randomize",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "column": column,
        "by": by,
        "reports": total,
        "bytes_per_report": survey.randomizer.report_width,
        "output": str(output),
    }
    shown = {
        "survey": survey.name,
        "column": column,
        "reports": count_text(total),
        "promise of each": str(survey.guarantee),
        "written": str(output),
    }
    if by is not None:
        shown["in the clear"] = f"the segment of each person, from column {by}"
    out.show(document, facts(shown))
