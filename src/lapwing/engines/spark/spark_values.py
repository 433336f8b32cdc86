"""Values in a data frame of Spark: randomized into reports, or counted for a curator."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.report_tables import report_words
from lapwing.engines.arrow.value_jobs import segments_beside
from lapwing.engines.spark.job_errors import answered, mapped
from lapwing.engines.spark.partial_counts import WIDE
from lapwing.engines.spark.spark_rows import SparkRows, quoted
from lapwing.engines.spark.spark_tally import merging_tasks
from lapwing.engines.spark.staged_output import write_once
from lapwing.engines.spark.worker_jobs import sum_of
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.survey.survey import Survey

PARTIAL = "task int, content binary"
"""The schema of a partition's counts."""


def randomize(
    df: Any,
    survey: Survey,
    *,
    output: str,
    column: str | None = None,
    by: str | None = None,
    texts: Texts = "iso",
) -> Any:
    """Write a report for each value of a data frame, and return the reports as a data frame.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        It is worked out once.
    survey : Survey
    output : str
        A folder that is not there, as Spark names it (a path, hdfs://...): it appears when all is
        done, with files of Parquet that say whose reports they hold.
    column : str, optional
        The column of values; not needed where there is one only.
    by : str, optional
        A column of public labels, written beside the reports.
    texts : {"iso", "days", "seconds"}
        How texts of dates and times are read.

    Returns
    -------
    pyspark.sql.DataFrame
        What stands in the output: however often it is evaluated, the reports are the same.

    Raises
    ------
    DomainError
        When the column's type does not fit the survey, before the job starts; with file and row (or
        partition and row) of a value that the survey's domain refuses. Then nothing is written.
    ArgumentError
        When a column is missing, or the output is there already.
    EngineError
        When executors have no lapwing or another version of it, or Spark failed.

    Privacy
    -------
    The randomness is drawn on each executor from a keystream that its own operating system keys;
    processes that are forked draw keys of their own. Every attempt of a task draws anew, and of all
    attempts one is ever seen: see :mod:`lapwing.engines.spark.staged_output`, and the test with
    tasks that fail after they have written. A key from the driver that fixes the randomness of each
    row would do less: the rows of a task that is done again may come in another order, and then one
    key's randomness stands in the reports of two people.
    """
    rows = SparkRows.of(df)
    values = ColumnValues.in_table(rows.table, column, survey.randomizer.domain, by=by, texts=texts)
    values.check_type()
    if by == "report":
        raise ArgumentError("the column of labels must not be named 'report'; rename it")
    columns = [values.name] if by is None else [values.name, by]
    given = _reading(values) | {"survey": survey.to_json(), "by": by}
    schema = "report binary" if by is None else f"report binary, {quoted(by)} string"
    made = mapped(rows.select(columns), "randomize_values", given, schema)
    whose = report_words(survey)
    report = made["report"].alias("report", metadata=whose)
    made = made.select(report, *([] if by is None else [quoted(by)]))
    return write_once(
        made,
        output,
        check=_check_some,
        write=lambda writer, path: answered(rows, columns, lambda: writer.parquet(path)),
    )


def _check_some(written: Any) -> None:
    if written.isEmpty():
        raise DomainError("the data frame must hold at least one row, it holds none")


def _reading(values: ColumnValues) -> dict[str, Any]:
    return {
        "column": values.name,
        "texts": values.texts,
        "decimal": values.decimal,
        "typed": values.table.typed,
    }


def summarize(
    df: Any,
    domain: Domain,
    *,
    column: str | None = None,
    by: str | None = None,
    texts: Texts = "iso",
) -> ExactCounts:
    """Return how many rows of a data frame hold each symbol: exact, and secret.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    domain : Interval, Integers, Categories or Segmented
    column : str, optional
        The column of values; not needed where there is one only.
    by : str, optional
        The column of segments, of a Segmented domain.
    texts : {"iso", "days", "seconds"}
        How texts of dates and times are read.

    Raises
    ------
    DomainError, ArgumentError
        When a column is missing or its type does not fit the domain, before the job starts. No row
        is refused.
    EngineError
        When executors have no lapwing or another version of it, or Spark failed.

    Notes
    -----
    What the tasks send to each other is as secret as the data, and stays where Spark keeps those.
    """
    require_domain(domain)
    rows, curated = SparkRows.of(df), domain.for_curator()
    cells = curated.domain if isinstance(curated, Segmented) else curated
    values = ColumnValues.in_table(rows.table, column, cells, texts=texts, curator=True)
    beside = segments_beside(values, by, curated)
    values.check_type()
    columns = [values.name]
    if beside is not None:
        beside.check_type()
        columns.append(beside.name)
    given = _reading(values) | {
        "domain": json.dumps(curated.to_document()),
        "by": None if beside is None else beside.name,
    }
    counts = mapped(rows.select(columns), "summarize_values", given, PARTIAL)
    if 8 * curated.size > WIDE:
        counts = counts.repartition(merging_tasks(counts), "task")
        counts = mapped(counts, "add_summaries", given, PARTIAL)
    table = answered(rows, columns, counts.toArrow)
    total = sum_of(iter(table.to_batches()))
    return ExactCounts(curated, np.zeros(curated.size, dtype=np.int64) if total is None else total)
