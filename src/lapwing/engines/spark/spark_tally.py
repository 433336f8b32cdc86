"""Reports in a data frame of Spark, counted where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing.engines.arrow.arrow_values import labels_of
from lapwing.engines.arrow.report_arrays import check_report_type
from lapwing.engines.arrow.report_count import ReportCount
from lapwing.engines.arrow.report_tables import check_report_table
from lapwing.engines.spark.job_errors import answered, mapped
from lapwing.engines.spark.partial_counts import COLUMNS, WIDE, added, nothing_of
from lapwing.engines.spark.spark_rows import SparkRows, quoted
from lapwing.engines.spark.worker_jobs import check_number
from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.messages.group_tallies import MOST_GROUPS
from lapwing.protocol.messages.tally import CountTally
from lapwing.survey.survey import Survey

MERGING_TASKS = 8
"""Most tasks that add up the counts of all others, where those are large."""


def tally(
    df: Any,
    survey: Survey,
    *,
    column: str | None = None,
    by: str | Sequence[str] | None = None,
    skip_bad: bool = False,
    most_groups: int = MOST_GROUPS,
) -> ReportCount:
    """Return the exact tally of the reports in a data frame.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    survey : Survey
        Whose reports they are.
    column : str, optional
        The column of reports; default "report". What this package wrote says whose reports they
        are; of others nobody can tell.
    by : str or sequence of str, optional
        Columns of public labels: a tally for each label. Of several columns the label is that of a
        partitioned folder: "country=PT/year=2026".
    skip_bad : bool
        Whether rows that hold no report that can have been sent are counted apart, not refused.
    most_groups : int
        In 1..1000: labels from which on the job is refused.

    Returns
    -------
    ReportCount
        With ``.tally``, ``.by_group()`` and ``.refused``: the same to the last byte as of any other
        engine, however the rows are divided, and whichever tasks failed and were done again.

    Raises
    ------
    ReportError
        With file and row (or partition and row) of one that holds no such report. Nothing is
        returned.
    MismatchError, ArgumentError, FormatError
        Before the job starts: reports of another survey, a missing column or one of another type.
    EngineError
        When executors have no lapwing or another version of it, or Spark failed.

    Notes
    -----
    Each task sends one tally for each label. Where tallies are large (above 64 KiB, or by label)
    at most eight tasks add them up before the driver does, so that what the driver receives does
    not grow with the number of partitions. A log is received whole, which
    ``spark.driver.maxResultSize`` limits.
    """
    rows = SparkRows.of(df)
    labels = [by] if isinstance(by, str) else list(by or ())
    check_whole("most_groups", most_groups, low=1, high=MOST_GROUPS, error=ArgumentError)
    found = _report_column(rows, survey, column)
    _check_labels(rows, labels, found)
    columns = [found, *labels]
    given = {
        "survey": survey.to_json(),
        "column": found,
        "by": labels,
        "skip_bad": skip_bad,
        "typed": rows.table.typed,
        "most_groups": most_groups,
    }
    counts = mapped(rows.select(columns), "count_reports", given, COLUMNS)
    nothing = nothing_of(survey)
    if isinstance(nothing, CountTally) and (labels or _bytes(nothing) > WIDE):
        counts = counts.repartition(merging_tasks(counts), quoted("task"))
        counts = mapped(counts, "add_counts", given, COLUMNS)
    table = answered(rows, columns, counts.toArrow)
    total = ReportCount({}, bool(labels)) + added(table.to_batches(), survey)
    check_number(total, most_groups)
    return total


def merging_tasks(df: Any) -> int:
    """Return how many tasks add up what others counted: few, or as few as Spark is set to."""
    return min(MERGING_TASKS, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))


def _bytes(tally: CountTally) -> int:
    return sum(np.asarray(counts).nbytes for counts in tally.blocks)


def _report_column(rows: SparkRows, survey: Survey, column: str | None) -> str:
    """Return the column of reports: all that says whose they are says this survey's."""
    words = rows.words(column or "report")
    ours = [check_report_table(path, said, survey) for path, said in words]
    stored = [our for (path, _), our in zip(words, ours, strict=True) if path != rows.table.path]
    if column is None and rows.from_files and not (all(stored) if stored else any(ours)):
        check_report_table(rows.table.path, {}, survey, required=True)
    found = rows.table.column(column or "report")
    if rows.table.typed:
        kind = rows.table.empty(found).type
        check_report_type(kind, width=survey.randomizer.report_width, column=found)
    return found


def _check_labels(rows: SparkRows, labels: list[str], column: str) -> None:
    for name in labels:
        if rows.table.column(name, option="--by", beside=column) == column:
            raise ArgumentError("--by must name another column than that of the reports")
        if rows.table.typed:
            labels_of(rows.table.empty(name), column=name)
    if len(set(labels)) < len(labels):
        raise ArgumentError("--by must name each column once")
