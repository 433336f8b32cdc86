"""The three commands on files that Spark reads: Parquet and CSV, named as the cluster names them.

The cluster is that of the usual settings of Spark: ``spark-submit``, ``SPARK_HOME`` and its conf,
``SPARK_CONF_DIR``, ``MASTER``; with none of them, Spark works on this machine.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import tempfile
import threading
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lapwing.engines.arrow.read_errors import PARQUET
from lapwing.engines.arrow.report_count import ReportCount
from lapwing.engines.arrow.table_reader import CSV_ENDINGS, csv_table
from lapwing.engines.arrow.value_jobs import Reading
from lapwing.engines.spark.java_side import file_errors, required_jvm
from lapwing.engines.spark.job_errors import quietly
from lapwing.engines.spark.spark_rows import SparkRows, typed_table
from lapwing.engines.spark.spark_tally import tally as tally_rows
from lapwing.engines.spark.spark_values import randomize as randomize_rows
from lapwing.engines.spark.spark_values import summarize as summarize_rows
from lapwing.errors import ArgumentError, EngineError, FormatError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.survey.survey import Survey

_START = 2**16
"""Bytes of a CSV that are looked at for the names of its columns."""


def tally(
    paths: Sequence[str],
    survey: Survey,
    *,
    column: str | None,
    by: str | None,
    skip_bad: bool,
) -> ReportCount:
    """Return the exact tally of files of reports; as of `lapwing.engines.spark.tally`."""
    rows = rows_of_files(paths, Reading())
    return tally_rows(rows, survey, column=column, by=by, skip_bad=skip_bad)


def randomize(
    paths: Sequence[str],
    survey: Survey,
    *,
    output: str,
    column: str | None,
    by: str | None,
    reading: Reading,
) -> int:
    """Write a report for each value of files; return how many there are."""
    rows = rows_of_files(paths, reading)
    made = randomize_rows(rows, survey, output=output, column=column, by=by, texts=reading.texts)
    return int(made.count())


def summarize(
    paths: Sequence[str],
    domain: Domain,
    *,
    column: str | None,
    by: str | None,
    reading: Reading,
) -> ExactCounts:
    """Return the exact counts of a column of files."""
    rows = rows_of_files(paths, reading)
    return summarize_rows(rows, domain, column=column, by=by, texts=reading.texts)


def session() -> Any:
    """Return the session of this process, started if there is none; Spark's own words go to a file.

    Raises
    ------
    EngineError
        When Spark does not start, as without Java.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = SparkSession.getActiveSession()
    if found is not None:
        return found
    # At Ctrl-C py4j logs a stack, and Spark's handler of the signal would stand before ours.
    for logger in (None, "py4j"):
        logging.getLogger(logger).addFilter(_not_of_py4j)
    interrupt = signal.getsignal(signal.SIGINT)
    # Java inherits this process's stderr, where it would write its log amid what a person reads.
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        try:
            os.dup2(log.fileno(), 2)
            with quietly():
                return SparkSession.builder.appName("lapwing").getOrCreate()
        except Exception as error:
            log.seek(0)
            lines = log.read().decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            raise EngineError(
                "Spark did not start; it needs Java 17 or newer (JAVA_HOME)"
                + (f". Its last words: {last[:200]}" if last else "")
            ) from error
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, interrupt)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def rows_of_files(paths: Sequence[str], reading: Reading) -> SparkRows:
    """Return files as rows; nothing but names and types is read.

    Raises
    ------
    ArgumentError
        When they are of another kind, or of two kinds.
    FormatError, OSError
        When they cannot be read.
    """
    from pyspark.errors import PySparkException

    spark = session()
    files = [file for path in paths for file in _files(spark, path)]
    csv = _one_kind(files)
    try:
        if not csv:
            if not reading.header:
                raise ArgumentError("--no-header is for CSV; the columns of Parquet have names")
            df = spark.read.parquet(*paths)
            return SparkRows(df, typed_table(df, _shown(paths)), from_files=True)
        return _of_csv(spark, paths, files[0], reading)
    except PySparkException as error:
        condition = error.getCondition() or type(error).__name__
        raise FormatError(
            f"{_shown(paths)} cannot be read as {'CSV' if csv else 'Parquet'} ({condition})"
        ) from error


def _shown(paths: Sequence[str]) -> str:
    return paths[0].rstrip("/").rpartition("/")[2] if len(paths) == 1 else "the data set"


def _files(spark: Any, path: str) -> list[Any]:
    """Return the files (org.apache.hadoop.fs.Path) that a name stands for."""
    jvm = required_jvm(spark)
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    found = []
    with file_errors(path):
        place = jvm.org.apache.hadoop.fs.Path(path)
        system = place.getFileSystem(conf)
        for status in system.globStatus(place) or []:
            if status.isFile():
                found.append(status.getPath())
                continue
            root = len(status.getPath().toString()) + 1
            listed = system.listFiles(status.getPath(), True)
            while listed.hasNext():
                file = listed.next().getPath()
                parts = file.toString()[root:].split("/")
                if not any(part.startswith((".", "_")) for part in parts):
                    found.append(file)
    if not found:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return found


def _one_kind(files: list[Any]) -> bool:
    """Return whether files are CSV; ArgumentError unless all are, or all are Parquet."""
    names = [file.getName().lower() for file in files]
    for name in names:
        if not name.endswith((*PARQUET, *CSV_ENDINGS)):
            raise ArgumentError(
                f"--engine spark reads files that end in {', '.join((*PARQUET, *CSV_ENDINGS))}; "
                f"{name} does not. Without --engine this machine reads .lwr and .arrow, too"
            )
    of_csv = {name.endswith(CSV_ENDINGS) for name in names}
    if len(of_csv) > 1:
        raise ArgumentError("files for --engine spark must be all of Parquet, or all CSV")
    return True in of_csv


def _of_csv(spark: Any, paths: Sequence[str], first: Any, reading: Reading) -> SparkRows:
    start = _start_of(spark, first)
    name = Path(first.getName())
    if start.startswith(b"# lapwing-reports"):
        raise ArgumentError(
            f"{name} is a CSV of reports that lapwing wrote; --engine spark reads such from "
            "Parquet, and this machine reads both (without --engine)"
        )
    table = csv_table(name, start, header=reading.header, decimal=reading.decimal)
    if len(table.names) == 1:
        raise ArgumentError(
            f"{name} has one column, and Spark passes over its empty lines, which are people whose "
            "value is missing; write it as Parquet, or let this machine read it (without --engine)"
        )
    schema = ", ".join(f"`{n.replace('`', '``')}` string" for n in table.names)
    df = spark.read.csv(
        list(paths),
        schema=schema,
        sep=table.delimiter,
        header=reading.header,
        enforceSchema=False,  # the first line of each file must name the same columns
        quote='"',
        escape='"',
        multiLine=True,  # as in answers to open questions
        mode="FAILFAST",
        columnNameOfCorruptRecord="",
    )
    return SparkRows(df, replace(table, rows=None, is_file=False), from_files=True)


def _start_of(spark: Any, file: Any) -> bytes:
    """Return the first lines of a file, whole but for the last."""
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    with file_errors(file.getName()):
        stream = file.getFileSystem(conf).open(file)
        try:
            start = bytes(stream.readNBytes(_START))
        finally:
            stream.close()
    if file.getName().lower().endswith(".gz"):
        try:
            start = zlib.decompressobj(31).decompress(start)
        except zlib.error:
            raise FormatError(f"{file.getName()} cannot be unpacked: it is damaged") from None
    return start
