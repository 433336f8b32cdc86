"""`lapwing randomize`: turn each person's value into a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from lapwing.cli.console import Output, check_ending, check_output, facts, writing
from lapwing.cli.option_groups import argument, option
from lapwing.cli.reading.column_options import ColumnOptions
from lapwing.cli.reading.options import Force, OutputFile, SurveyFile, WorkOptions
from lapwing.cli.reading.stored import read_survey
from lapwing.engines.arrow.dataset_tables import every_file
from lapwing.engines.arrow.report_tables import ENDINGS, LABELED_ENDINGS
from lapwing.engines.arrow.value_jobs import randomize as randomize_tables
from lapwing.engines.arrow.value_jobs import write_columns
from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import epsilon_text
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.results.rounding import count_text
from lapwing.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class RandomizingOptions(WorkOptions):
    """The options that say what stands alongside the reports."""

    by: str | None = option(
        "The column with each person's segment. It is written next to the report, unprotected. "
        "Needs .parquet, .arrow or .csv.",
        "NAME",
    )


def randomize(
    survey_file: SurveyFile,
    values: Annotated[
        Path,
        argument(
            "A table, one row per person: .parquet, .arrow, .csv or .tsv (also .csv.gz, "
            ".tsv.gz), or a folder of them. - is standard input (CSV).",
            "VALUES",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    given: ColumnOptions,
    work: RandomizingOptions,
    out: Output,
) -> None:
    """Randomized reports, one per person.

    Each value is randomized on its own. Reports are in the order of the rows. A seed would undo the
    protection, so there is none. If any value is refused, nothing is written.

    Nothing is kept. The next run draws other reports of the same people, and other permanent rounds
    of rappor, and costs the epsilon of one report again. Only device files keep them.

    The ending of the output says what is written: .lwr (compact), .parquet, .arrow (also .feather)
    or .csv. For a folder of tables, -o may also be a folder that does not exist yet. It gets one
    .parquet for each table, and appears when all are done. A job that was killed continues where it
    stopped.

    Numbers, dates, timestamps, times of day and durations must fit the survey's unit. Plain numbers
    count as days since 1970-01-01 (date), seconds since then (datetime), seconds since midnight
    (time-of-day) or seconds (duration). A timestamp with a time zone gives the date and time of day
    of that zone. Strings of dates and times, such as the cells of a CSV, are read as --texts says.
    A value that cannot be parsed counts as missing where the survey allows it, else it is refused.
    """
    if values.is_dir() and not output.suffix:
        _randomize_folder(survey_file, values, output, given, work, out)
        return
    what = "the output" if work.by is None else "reports with labels (--by)"
    ending = check_ending(output, ENDINGS if work.by is None else LABELED_ENDINGS, what=what)
    check_output(output, inputs=[survey_file, *every_file([values])], force=force)
    survey = read_survey(survey_file)
    columns = given.columns_in(values, survey.randomizer.domain, by=work.by)
    threads = work.workers()
    progress = out.progress("randomize", columns[0].table.rows if len(columns) == 1 else None)
    rows = RowCounts()
    with progress as advance, writing(output, absent=not force) as stream:
        total = write_columns(
            stream,
            columns,
            survey=survey,
            ending=ending,
            by=work.by,
            threads=threads,
            advance=advance,
            rows=rows,
        )
        out.examine(rows, survey.randomizer.domain)  # before the reports have their name
    _show(out, survey, columns[0].name, total, work.by, str(output))


def _randomize_folder(
    survey_file: Path,
    values: Path,
    output: Path,
    given: ColumnOptions,
    work: RandomizingOptions,
    out: Output,
) -> None:
    """Write a file of reports for each table of a folder into another folder."""
    if output.resolve() == values.resolve():
        raise ArgumentError(
            "output",
            "must not be the folder that contains the values",
            advice="Name another folder",
        )
    survey = read_survey(survey_file)
    domain = survey.randomizer.domain
    with out.progress("randomize", None) as advance:
        total = randomize_tables(
            values,
            survey,
            output=output,
            column=given.column,
            by=work.by,
            threads=work.workers(),
            reading=given.reading(domain),
            advance=advance,
            examine=out.examine,
        )
    _show(out, survey, given.column or "the only one", total, work.by, str(output))


def _show(
    out: Output, survey: Survey, column: str, total: int, by: str | None, output: str
) -> None:
    document = {
        "command": "randomize",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "column": column,
        "by": by,
        "reports": total,
        "bytes_per_report": survey.randomizer.report_width,
        "output": output,
    }
    shown = {
        "survey": survey.name,
        "column": column,
        "reports": count_text(total),
        # What a device file promises of all its reports is no promise of a run, which keeps none.
        "privacy guarantee": str(replace(survey.guarantee, lifetime=None)),
        "written": output,
    }
    if survey.answers != "fresh":
        drawn = "permanent rounds" if survey.answers == "remembered round" else "reports"
        shown["another run"] = (
            f"draws new {drawn} and costs each person epsilon = "
            f"{epsilon_text(survey.guarantee.epsilon)} again. Only a device file stores them"
        )
    if by is not None:
        shown["in the clear"] = f"the segment of each person, from column {by}"
    out.show(document, facts(shown))
