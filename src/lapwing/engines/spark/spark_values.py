"""A data frame of Spark: reports counted, values randomized into reports or counted.

Spark does a task again that failed, and may run it twice at once. Each attempt draws its own
randomness, so two attempts give two reports of one value, and who sees both learns more than the
survey promises. So nobody sees an attempt: all are written into a folder that only its owner may
enter. Spark's own commit keeps one attempt of each partition there and deletes the others. Then
that folder takes the name of the output, in one step of the file system.

A late task, of a failed job or of a copy that Spark no longer needs, would create a missing folder
again, open to others. So the folder is deleted only when no such task is at work. Where one does
not end, the folder stays, closed. So does that of a killed job, because it cannot be distinguished
from that of a job at work elsewhere.

A job that is killed before the last step leaves nothing that others may see. After it the output
is there, and no job writes to a folder that is there.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lapwing.docstrings import inherits
from lapwing.engines.arrow import value_jobs
from lapwing.engines.arrow.arrow_values import labels_of
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.counted_tables import check_people, whole_counts
from lapwing.engines.arrow.inputs import without_causes
from lapwing.engines.arrow.report_count import (
    ReportCount,
    ReportCounter,
    check_count_type,
    check_report_type,
    columns_by,
)
from lapwing.engines.arrow.report_tables import (
    STANDING,
    check_label_column,
    check_report_table,
    report_words,
)
from lapwing.engines.arrow.value_jobs import curator_columns
from lapwing.engines.spark.job_errors import answered, mapped
from lapwing.engines.spark.spark_rows import SparkRows, file_errors, quoted, required_jvm
from lapwing.engines.spark.worker_jobs import COLUMNS, WIDE, added, check_number, nothing_of, sum_of
from lapwing.errors import ArgumentError, DomainError, EngineError, LapwingWarning, ReportError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.guarantee import Standing, checked_standing, weakest_standing
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.row_counts import RowCounts, warn_of_rows
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.messages.group_labels import MOST_GROUPS, check_groups
from lapwing.protocol.messages.tally import CountTally, Tally
from lapwing.survey.survey import Survey

MERGING_TASKS = 8
"""Most tasks that add up the counts of all others, where those are large."""


@without_causes
def tally(
    df: Any,
    survey: Survey,
    *,
    column: str | None = None,
    by: str | Sequence[str] | None = None,
    count_column: str | None = None,
    skip_bad: bool = False,
    most_groups: int = MOST_GROUPS,
) -> ReportCount:
    """Tally the reports in a Spark data frame, exactly.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Data frame with a column of reports.
    survey : Survey
        Survey of the reports.
    column : str, optional
        Column of reports. Default: "report". Files that this package wrote name their survey.
        Other files do not, so make sure that the survey is the right one.
    by : str or sequence of str, optional
        Columns of public labels, each of which gets a tally. With several columns the label is
        named like a partitioned folder: "country=PT/year=2026". Default: none.
    count_column : str, optional
        Column with the number of times that each report was sent: whole numbers from 0 to 2^53 - 1.
        The frame then has a row for each different report, as ``groupBy("report").count()``
        returns it. Default: none, where each was sent once.
    skip_bad : bool
        Whether rows without a valid report are counted separately instead of refused. Default:
        False.
    most_groups : int
        Largest number of labels, in 1..100,000. With more the job is refused. Default: 100,000.

    Returns
    -------
    ReportCount
        Result with ``.tally``, ``.by_group()`` and ``.refused``. It is the same to the last byte
        as that of any other engine. Neither the division of the rows nor failed tasks change it.

    Raises
    ------
    ReportError
        When a row has no valid report. The error gives its file and row (or partition and row),
        and nothing is returned.
    MismatchError, ArgumentError, FormatError
        When reports are from another survey, or a column is missing or of the wrong type. Also
        when there are more labels than `most_groups`. The job does not start then.
    EngineError
        When executors do not have lapwing or have another version of it, or Spark failed.

    Notes
    -----
    **Cost.** With `by`, a first job counts the different labels, and reads nothing else. If there
    are few different reports, Spark counts them itself, and lapwing reads only its counts. This is
    the case for a survey with at most 65,536 outputs and reports of at most 3 bytes. Otherwise
    each task counts its rows. If its counts are large (above 64 KiB, or by label), at most eight
    tasks add them up before the driver does. So the driver does not receive more when there are
    more partitions. Stored reports are received whole, which ``spark.driver.maxResultSize``
    limits.

    Examples
    --------
    >>> import lapwing as lw
    >>> counted = lw.engines.spark.tally(spark.read.parquet("reports"), survey)  # doctest: +SKIP
    >>> survey.decode(counted.tally).quantile(0.5)  # doctest: +SKIP
    """
    rows = SparkRows.of(df)
    labels = list(columns_by(by))
    check_whole("most_groups", most_groups, low=1, high=MOST_GROUPS, error=ArgumentError)
    found, standing = _report_column(rows, survey, column)
    _check_labels(rows, labels, found)
    counts_column = [] if count_column is None else [_count_column(rows, count_column, found)]
    columns = [found, *labels, *counts_column]
    given = {
        "survey": survey.to_json(),
        "column": found,
        "by": labels,
        "count_column": count_column,
        "counted_by_spark": False,
        "skip_bad": skip_bad,
        "typed": rows.table.typed,
        "most_groups": most_groups,
    }
    nothing = nothing_of(survey)
    groups = _number_of_labels(rows, labels, most_groups) if labels else 1
    if count_column is None and _counted_by_spark(rows, columns, survey, nothing, groups):
        try:
            total = _of_counted(rows, columns, survey, given)
            if total is not None:
                return total.marked(standing)
        except ReportError:
            pass  # of a row of counts; the rows themselves say their own
    counts = mapped(rows.select(columns), "count_reports", given, COLUMNS)
    return _sum_of_tasks(counts, rows, columns, survey, given).marked(standing)


def _sum_of_tasks(
    counts: Any, rows: SparkRows, columns: list[str], survey: Survey, given: dict[str, Any]
) -> ReportCount:
    """Return the sum of what tasks counted."""
    nothing, labels = nothing_of(survey), given["by"]
    if isinstance(nothing, CountTally) and (labels or _bytes(nothing) > WIDE):
        counts = counts.repartition(merging_tasks(counts), quoted("task"))
        counts = mapped(counts, "add_counts", given, COLUMNS)
    table = answered(rows, columns, counts.toArrow)
    total = ReportCount({}, bool(labels), columns=labels) + added(table.to_batches(), survey)
    check_number(total, given["most_groups"])
    if given["count_column"] is None or given["counted_by_spark"]:
        rows.check_all_rows(total.total + total.refused)
    return total


FEW_REPORTS = 2**16
"""Different reports, at most, that Spark itself counts."""

FEW_PAIRS = 2**22
"""Pairs of a label and a report, at most, that Spark itself counts."""


def _counted_by_spark(
    rows: SparkRows, columns: list[str], survey: Survey, nothing: Tally, groups: int
) -> bool:
    """Return whether few pairs of label and report can be different, of types that Spark groups."""
    if not isinstance(nothing, CountTally) or survey.randomizer.report_width > 3:
        return False
    outputs = sum(block.size for block in nothing.blocks)
    types = {field.name: field.dataType.simpleString() for field in rows.df.schema.fields}
    return (
        outputs <= FEW_REPORTS
        and groups * outputs <= FEW_PAIRS
        and all(types[name] in _GROUPED_TYPES for name in columns)
    )


_GROUPED_TYPES = {*("string", "binary", "tinyint", "smallint", "int", "bigint", "date", "boolean")}
"""Types of which Spark groups equal values and no others. A collation makes different texts one."""


def _of_counted(
    rows: SparkRows, columns: list[str], survey: Survey, given: dict[str, Any]
) -> ReportCount | None:
    """Return the tally of what Spark counted. None where reports are too many different ones.

    Raises ReportError where some row holds no report. It says nothing of which.
    """
    name = "count"
    while name in columns:
        name += "_"
    grouped = rows.select(columns).groupBy([quoted(column) for column in columns])
    counted = grouped.agg({"*": "count"}).withColumnRenamed("count(1)", name)
    given = given | {"count_column": name, "counted_by_spark": True}
    if given["by"]:
        counted = counted.coalesce(merging_tasks(counted))
        counts = mapped(counted, "count_reports", given, COLUMNS)
        return _sum_of_tasks(counts, rows, columns, survey, given)
    table = answered(rows, columns, counted.limit(FEW_REPORTS + 1).toArrow)
    if table.num_rows > FEW_REPORTS:
        return None
    counter = ReportCounter(
        survey, column=columns[0], count_column=name, skip_bad=given["skip_bad"]
    )
    for batch in table.to_batches():
        counter.add(counter.read(batch))
    total = counter.result()
    rows.check_all_rows(total.total + total.refused)
    return total


def _number_of_labels(rows: SparkRows, labels: list[str], most: int) -> int:
    """Return how many labels there are. ArgumentError when they are too many."""
    different = rows.select(labels).dropna("all").distinct().limit(most + 1)
    number: int = answered(rows, labels, different.count)
    check_groups(number, most)
    return number


def _count_column(rows: SparkRows, name: str, column: str) -> str:
    if rows.table.column(name, option="count_column", beside=column) == column:
        raise ArgumentError("count_column", "must differ from the column of reports")
    if rows.table.typed:
        check_count_type(rows.table.empty(name).type, column=name)
    return name


def merging_tasks(df: Any) -> int:
    """Return how many tasks add up what others counted: few, or as few as Spark is set to."""
    return min(MERGING_TASKS, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))


def _bytes(tally: CountTally) -> int:
    return sum(np.asarray(counts).nbytes for counts in tally.blocks)


def _report_column(
    rows: SparkRows, survey: Survey, column: str | None
) -> tuple[str, Standing | None]:
    """Return the column of reports, of which all words are this survey's, and its standing."""
    words = rows.words(column or "report")
    ours = [check_report_table(path, said, survey) for path, said in words]
    stored = [our for (path, _), our in zip(words, ours, strict=True) if path != rows.table.path]
    if column is None and rows.from_files and not (all(stored) if stored else any(ours)):
        check_report_table(rows.table.path, {}, survey, required=True)
    found = rows.table.column(column or "report")
    if rows.table.typed:
        kind = rows.table.empty(found).type
        check_report_type(kind, width=survey.randomizer.report_width, column=found)
    return found, weakest_standing(*(checked_standing(said.get(STANDING)) for _, said in words))


def _check_labels(rows: SparkRows, labels: list[str], column: str) -> None:
    for name in labels:
        if rows.table.column(name, option="by", beside=column) == column:
            raise ArgumentError("by", "must differ from the column of reports")
        if rows.table.typed:
            labels_of(rows.table.empty(name), column=name)


PARTIAL = "task int, content binary"
"""The schema of a partition's counts."""


@without_causes
@inherits(value_jobs.randomize)
def randomize(
    df: Any,
    survey: Survey,
    *,
    output: str,
    column: str | None = None,
    by: str | None = None,
    texts: Texts = "iso",
) -> Any:
    """Randomize each value of a Spark data frame, and return the reports as a data frame.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Data frame with a column of values. It is evaluated once.
    output : str
        Folder that does not exist, as Spark names it (a path, hdfs://...). It appears when
        everything is done, with Parquet files that name the survey.
    texts : {"iso", "days", "seconds"}
        Format of strings with dates and times. Default: "iso" (ISO 8601). The others are numbers
        of days or seconds since 1970-01-01, or since midnight for a time of day.

    Returns
    -------
    pyspark.sql.DataFrame
        Contents of the output. However often it is evaluated, the reports are the same.

    Raises
    ------
    DomainError
        When the column's type does not fit the survey, before the job starts. Also at a value that
        the survey's domain refuses. The error gives its file and row (or partition and row), and
        nothing is written.
    ArgumentError
        When a column is missing, the output exists, or the survey asks for two attributes.
    EngineError
        When executors do not have lapwing or have another version of it, or Spark failed.

    Warns
    -----
    RowsWarning
        Once, before the output appears: when most rows are missing, unreadable or outside the
        range, or more than 1% are unreadable. Rows of a task that ran twice count twice here.
        Other warnings are those of :func:`lapwing.engines.arrow.randomize`.

    Notes
    -----
    **Privacy.** Each executor draws its randomness from a keystream keyed by its own operating
    system. Forked processes draw separate keys. Every attempt at a task draws fresh randomness,
    and only one of all attempts is ever seen. See :mod:`lapwing.engines.spark.spark_values`, and
    the test with tasks that fail after they have written. A key from the driver that fixes the
    randomness of each row would protect less. The rows of a task that runs again may come in
    another order. Then the same randomness would be used in the reports of two people.

    Nothing is memoized. Another run over the same people costs each of them the epsilon of one
    report again, even in a survey with memoized reports. Only a device file
    (:class:`lapwing.client.Device`) stores a report or a permanent round.

    Examples
    --------
    >>> import lapwing as lw
    >>> people = spark.read.parquet("people")  # doctest: +SKIP
    >>> reports = lw.engines.spark.randomize(
    ...     people, survey, column="age", output="reports")  # doctest: +SKIP
    """
    check_label_column(by)
    domain = survey.randomizer.domain
    if isinstance(domain, Product):
        raise ArgumentError(
            "Spark randomizes one column, but this survey asks about "
            f"{' and '.join(domain.names)}. Write both columns as Parquet, and use "
            "lapwing.engines.arrow.randomize"
        )
    rows = SparkRows.of(df)
    values = ColumnValues.in_table(rows.table, column, domain, by=by, texts=texts)
    values.check_type()
    columns = [values.name] if by is None else [values.name, by]
    seen = df.sparkSession.sparkContext.accumulator(RowCounts().numbers, _numbers_that_add_up())
    given = _reading(values) | {"survey": survey.to_json(), "by": by, "rows": seen}
    schema = "report binary" if by is None else f"report binary, {quoted(by)} string"
    made = mapped(rows.select(columns), "randomize_values", given, schema)
    whose = report_words(survey)
    report = made["report"].alias("report", metadata=whose)
    made = made.select(report, *([] if by is None else [quoted(by)]))

    def check(written: Any) -> None:
        _check_some(written)
        warn_of_rows(RowCounts.of_numbers(seen.value), survey.randomizer.domain, stacklevel=5)

    return write_once(
        made,
        output,
        check=check,
        write=lambda writer, path: answered(rows, columns, lambda: writer.parquet(path)),
    )


def _numbers_that_add_up() -> Any:
    """Return how Spark adds the counts of tasks. Those of an attempt that is repeated, twice."""

    class Numbers:  # sent by what it does: executors may have no lapwing, and say so later
        def zero(self, value: list[int]) -> list[int]:
            return [0] * len(value)

        def addInPlace(self, value1: list[int], value2: list[int]) -> list[int]:
            return [one + other for one, other in zip(value1, value2, strict=True)]

    return Numbers()


def _check_some(written: Any) -> None:
    if written.isEmpty():
        raise DomainError("the data frame must contain at least one row, but it has none")


def _reading(values: ColumnValues) -> dict[str, Any]:
    return {
        "column": values.name,
        "texts": values.texts,
        "decimal": values.decimal,
        "typed": values.table.typed,
    }


@without_causes
@inherits(value_jobs.summarize)
def summarize(
    df: Any,
    domain: Domain,
    *,
    column: str | None = None,
    by: str | None = None,
    count_column: str | None = None,
    texts: Texts = "iso",
) -> ExactCounts:
    """Count the rows of a Spark data frame by symbol: an exact histogram, which is secret.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Data frame with a column of values.
    count_column : str, optional
        Column of whole numbers: how many rows have the value of this line, in a table of values
        that were already counted. Default: each line is one row.
    texts : {"iso", "days", "seconds"}
        Format of strings with dates and times. Default: "iso" (ISO 8601). The others are numbers
        of days or seconds since 1970-01-01, or since midnight for a time of day.

    Raises
    ------
    DomainError, ArgumentError
        When a column is missing or its type does not fit the domain, before the job starts. No row
        is refused, except for a count that is missing, negative, not whole or too large.
    EngineError
        When executors do not have lapwing or have another version of it, or Spark failed.

    Warns
    -----
    RowsWarning
        Once, at the end: when most rows are missing, unreadable or outside the range, or more than
        1% are unreadable. Also when most are in no segment or count as `other`. An unlisted label
        that equals a listed one except for leading zeros, case, spaces or ".0" also gives the
        warning.

    Notes
    -----
    **Privacy.** The messages between the tasks are as secret as the data, and stay where Spark
    stores its data.

    Examples
    --------
    >>> import lapwing as lw
    >>> people = spark.read.parquet("people")  # doctest: +SKIP
    >>> exact = lw.engines.spark.summarize(
    ...     people, lw.Interval(0, 100, bins=64), column="age")  # doctest: +SKIP
    """
    require_domain(domain)
    rows, curated = SparkRows.of(df), domain.for_curator()
    values, beside = curator_columns(
        rows.table, curated, column=column, by=by, texts=texts, count_column=count_column
    )
    columns = [values.name, *([] if beside is None else [beside.name])]
    if count_column is not None:
        whole_counts(rows.table.empty(count_column), column=count_column, typed=True)
        columns.append(count_column)
    given = _reading(values) | {
        "domain": json.dumps(curated.to_document()),
        "by": None if beside is None else beside.name,
        "count_column": count_column,
    }
    counts = mapped(rows.select(columns), "summarize_values", given, PARTIAL)
    if 8 * curated.size > WIDE:
        counts = counts.repartition(merging_tasks(counts), "task")
        counts = mapped(counts, "add_summaries", given, PARTIAL)
    table = answered(rows, columns, counts.toArrow)
    total = sum_of(iter(table.to_batches()))
    if total is None:
        return ExactCounts(curated, np.zeros(curated.size, dtype=np.int64))
    check_people(float(total[: curated.size].sum()), "the data frame")
    domain = curated.domain if isinstance(curated, Segmented) else curated
    warn_of_rows(RowCounts.of_numbers(total[curated.size :]), domain)
    return ExactCounts(curated, total[: curated.size])


_OWNER_ONLY = 0o700


def write_once(
    frame: Any, output: str, *, check: Callable[[Any], None], write: Callable[[Any, str], None]
) -> Any:
    """Write a data frame as Parquet, and return it as it was read from there.

    frame: It is worked out once.
    output: A folder that is not there, as Spark names it.
    check: Given the rows that were written, before anybody else sees them. An error that it raises
        ends the job.
    write: Given Spark's writer and the name of a folder.

    Raises ArgumentError when something is there already.
    Raises OSError when the folder that it is to stand in is not there, or nothing may be written
    there.
    Raises EngineError when the file system cannot do it.
    """
    from py4j.protocol import Py4JError

    session = frame.sparkSession
    jvm = required_jvm(session)
    with file_errors(output):
        place = _Place.of(jvm, session, output)
        place.check_absent()
        staging = place.private_folder()
    work = TaggedWork(session)
    try:
        attempt = staging.suffix("/reports")
        # Version 2 lets the files of a task stand where they stay before all others are done.
        writer = frame.write.option("mapreduce.fileoutputcommitter.algorithm.version", "1")
        with work:
            write(writer, attempt.toString())
        check(session.read.parquet(attempt.toString()))
        place.take(attempt)
    finally:
        # Where Java is gone it cannot be deleted, and stays closed.
        with suppress(Py4JError, OSError):
            if work.ended():
                place.files.delete(staging, True)
    return session.read.parquet(place.path.toString())


class _Place:
    """A name in a file system of Hadoop.

    path: Absolute, with its file system.
    """

    def __init__(self, jvm: Any, conf: Any, path: Any) -> None:
        self.jvm, self.conf = jvm, conf
        self.files = path.getFileSystem(conf)
        self.path = self.files.makeQualified(path)

    @classmethod
    def of(cls, jvm: Any, session: Any, output: str) -> _Place:
        conf = session._jsparkSession.sessionState().newHadoopConf()
        return cls(jvm, conf, jvm.org.apache.hadoop.fs.Path(output))

    def check_absent(self) -> None:
        """Raise ArgumentError when there is something of that name."""
        if self.files.exists(self.path):
            raise ArgumentError(
                f"the output {self.path.getName()} already exists, so the values may have been "
                "randomized before. Use those reports, or choose another folder if these are from "
                "other people"
            )

    @property
    def _start(self) -> str:
        """How the names of its private folders start. Spark's readers pass such names over."""
        return f".{self.path.getName()}.lapwing-"

    def private_folder(self) -> Any:
        """Return a new folder alongside the output that only its owner may enter.

        Those that are there stay: another job may be at work in them.
        """
        parent = self.path.getParent()
        if not self.files.exists(parent):
            number = errno.ENOENT
            raise FileNotFoundError(number, os.strerror(number), parent.toUri().getPath())
        left = [one.getPath().getName() for one in self.files.listStatus(parent)]
        left = sorted(name for name in left if name.startswith(self._start))
        if left:
            warnings.warn(
                f"next to {self.path.getName()} is {left[0]}, from a job that was killed or is "
                "still running. If none is running, delete it: it contains reports that must "
                "stay private",
                LapwingWarning,
                stacklevel=2,
            )
        folder = self.jvm.org.apache.hadoop.fs.Path(parent, self._start + secrets.token_hex(8))
        mode = self.jvm.org.apache.hadoop.fs.permission.FsPermission(format(_OWNER_ONLY, "o"))
        # Empty yet when it is closed to others: the system's mask may have left it open.
        if not self.files.mkdirs(folder, mode):
            raise EngineError(f"a folder next to {self.path.getName()} could not be created")
        self.files.setPermission(folder, mode)
        return folder

    def take(self, attempt: Any) -> None:
        """Give the output its name, in one step. ArgumentError where somebody else was first."""
        from py4j.protocol import Py4JJavaError

        hadoop = self.jvm.org.apache.hadoop.fs
        context = hadoop.FileContext.getFileContext(self.path.toUri(), self.conf)
        try:
            context.rename(attempt, self.path, _no_options(self.jvm))
        except Py4JJavaError as error:
            if "FileAlreadyExists" in str(error.java_exception.getClass().getName()):
                self.check_absent()
            raise EngineError(
                f"the folder of reports could not be renamed to {self.path.getName()}, so it "
                "was deleted"
            ) from error


def _no_options(jvm: Any) -> Any:
    """Return no options of a renaming: with none, nothing that is there is replaced."""
    kind = jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename")
    return jvm.java.lang.reflect.Array.newInstance(kind, 0)


_PATIENCE = 60.0
"""Seconds in which the tasks of a job that is over must end."""


class TaggedWork:
    """Jobs that carry a tag of their own.

    session: A classic one.
    """

    def __init__(self, session: Any) -> None:
        self._context = session.sparkContext
        self._tag = f"lapwing-{secrets.token_hex(8)}"

    def __enter__(self) -> None:
        self._context.addJobTag(self._tag)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        from py4j.protocol import Py4JError

        with suppress(Py4JError, OSError):  # Java may be gone
            self._context.removeJobTag(self._tag)
            if kind is not None:
                self._context.cancelJobsWithTag(self._tag)

    def ended(self) -> bool:
        """Return whether none of their tasks is at work, after some patience.

        A job is over before its last tasks are: when it failed or was stopped, and when one of two
        attempts was enough.
        """
        java = self._context._jsc.sc()
        end = time.monotonic() + _PATIENCE
        # What is known of tasks comes through a queue, which is behind what just happened.
        java.listenerBus().waitUntilEmpty(int(1000 * _PATIENCE))
        tracker = java.statusTracker()
        while at_work := _at_work(tracker, self._tag):
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        return not at_work


def _at_work(tracker: Any, tag: str) -> bool:
    """Return whether a task of some job of a tag is at work."""
    for number in tracker.getJobIdsForTag(tag):
        job = tracker.getJobInfo(number)
        if job.isEmpty():
            continue
        for stage in job.get().stageIds():
            info = tracker.getStageInfo(stage)
            if info.isDefined() and info.get().numActiveTasks():
                return True
    return False
