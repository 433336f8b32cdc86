"""The start of a task on an executor, and its errors as sentences instead of Java's stack.

A task says so when lapwing is missing on its executor, or has another version. The function that
Spark sends is nested in another, so it is sent as code, not as a name to import. Its first lines
need nothing but Python.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import lapwing.errors
from lapwing.engines.spark.spark_rows import SparkRows, file_name, quoted
from lapwing.errors import INSTALL, EngineError, LapwingError

Batches = Iterator[Any]

MARK = "lapwing-error:"
"""Before what a task says of its end: one line of JSON, which the driver finds in Spark's words."""


def task(version: str, job: str, given: dict[str, Any]) -> Callable[[Batches], Batches]:
    """Return the function of a partition.

    version: Of lapwing on the driver.
    job: A function of `lapwing.engines.spark.worker_jobs`.
    given: Its needs, as JSON.
    """
    mark = MARK  # what is read in the function is sent with it

    def run(batches: Batches) -> Batches:
        import json
        from importlib import import_module

        def fail(**said: Any) -> RuntimeError:
            return RuntimeError(mark + json.dumps(said))

        try:
            # A folder of that name without the package in it has no version.
            found = getattr(import_module("lapwing"), "__version__", "")
        except ImportError:
            found = ""
        if found != version:
            has = f"lapwing {found}" if found else "no lapwing"
            raise fail(kind="EngineError", message=f"have {has}, the driver has {version}")
        from lapwing.engines.spark import worker_jobs
        from lapwing.errors import LapwingError, MissingExtraError

        try:
            yield from getattr(worker_jobs, job)(given, batches)
        except MissingExtraError as error:
            raise fail(kind="EngineError", message=f"have no {error.package}") from None
        except LapwingError as error:
            raise fail(
                kind=type(error).__name__,
                message=str(error),
                position=getattr(error, "position", None),
                partition=worker_jobs.partition(),
            ) from None
        except (ValueError, TypeError) as error:  # they may quote a value
            raise fail(
                kind="FormatError",
                message=f"the rows of a partition cannot be read ({type(error).__name__})",
                position=None,
            ) from None

    return run


Result = TypeVar("Result")

VERSION: str = sys.modules["lapwing"].__version__
"""Of lapwing on the driver."""

ROW = "file string, index long"
"""The schema of the place of a row."""


def mapped(df: Any, job: str, given: dict[str, Any], schema: str) -> Any:
    """Return what a function of `worker_jobs` makes of each partition, as a data frame.

    given: The job's needs, as JSON.
    schema: Of what it yields.
    """
    with quietly():
        return df.mapInArrow(task(VERSION, job, given), schema)


def quietly() -> warnings.catch_warnings:
    """Return a block in which nobody is told which pandas Spark would rather have."""
    return warnings.catch_warnings(action="ignore", category=FutureWarning)


def answered(rows: SparkRows, columns: list[str], work: Callable[[], Result]) -> Result:
    """Return what a job of Spark gives.

    rows: The rows that it reads.
    columns: Of them. In the same partitions, the row that an error is about is found again.

    Raises LapwingError what a task said, with file and row where Spark knows them. An EngineError
    for all else.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with quietly():
            return work()
    except (PySparkException, Py4JError) as error:
        _raise(error, rows, columns)


def _raise(error: Exception, rows: SparkRows, columns: list[str]) -> NoReturn:
    words = f"{error} {getattr(error, '_stackTrace', None) or ''}"
    place = words.find(MARK)
    if place >= 0:
        said, _ = json.JSONDecoder().raw_decode(words, place + len(MARK))
        raise _of_task(said, rows, columns) from None
    missing = re.search(r"No module named '([\w.]+)'", words)
    if missing is not None:
        raise _unfit(f"have no {missing.group(1)}") from None
    if "PYTHON_VERSION_MISMATCH" in words:
        raise _unfit("have a different version of Python from the driver") from None
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    raise EngineError(
        f"Spark could not do the job ({condition or type(error).__name__}), and nothing was "
        "counted or written. Its log says more"
    ) from None


def _unfit(what: str) -> EngineError:
    return EngineError(
        f"the executors {what}: install lapwing {VERSION} where they run "
        f"({INSTALL.format('spark')} in its checkout), or name a Python that has it "
        "(PYSPARK_PYTHON). Nothing was counted or written"
    )


def _of_task(said: dict[str, Any], rows: SparkRows, columns: list[str]) -> LapwingError:
    if said["kind"] == "EngineError":
        return _unfit(said["message"])
    kind = getattr(lapwing.errors, said["kind"])
    message, position = said["message"], said["position"]
    if position is None:
        made: LapwingError = kind(message)
        return made
    file, row = _place(rows, columns, said["partition"], position)
    if file is not None:
        where = f"partition {said['partition']}"
        shown = file if row is not None else f"{file}, {where}"
        message = message.replace(f"{where}: ", f"{shown}: ", 1)
    if row is not None:
        message = message.replace(f"row {position + 1} ", f"row {row + 1} ", 1)
        position = row
    found: LapwingError = kind(message, position=position)
    return found


def _place(
    rows: SparkRows, columns: list[str], partition: int, position: int
) -> tuple[str | None, int | None]:
    """Return the file of a row of a partition and its number there, as far as Spark knows them.

    The job is asked a second time for that row alone. Asking for the file of each beforehand would
    cost more than counting them.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    given = {"partition": partition, "row": position}
    for index in ("_metadata.row_index", "CAST(NULL AS LONG)"):
        chosen = [quoted(name) for name in columns]
        asked = ["input_file_name() AS file", f"{index} AS index"]
        try:
            with quietly():
                there = mapped(rows.df.selectExpr(*asked, *chosen), "find_row", given, ROW)
                found = there.collect()
        except (PySparkException, Py4JError):
            continue
        if found and found[0]["file"]:
            return file_name(found[0]["file"]), found[0]["index"]
    return None, None
