"""A data frame of Spark as what the Arrow engine checks: names and types, before a job starts."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lapwing.engines.arrow.arrow_files import words_in_footer
from lapwing.engines.arrow.read_errors import PARQUET, pyarrow_or_error
from lapwing.engines.arrow.report_tables import KEYS
from lapwing.engines.arrow.table_reader import Table
from lapwing.errors import ArgumentError, EngineError, FormatError

_ASKED_AT_ONCE = 16


@dataclass(frozen=True)
class SparkRows:
    """A data frame, and what is known of its columns.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    table : Table
        Its names and types; it holds no rows.
    from_files : bool
        Whether it is nothing but files, which must say whose reports they hold.
    """

    df: Any
    table: Table
    from_files: bool = False

    @classmethod
    def of(cls, df: Any) -> SparkRows:
        """Return a data frame as such; ArgumentError when it is something else."""
        if isinstance(df, SparkRows):
            return df
        if not hasattr(df, "mapInArrow"):
            raise ArgumentError(
                f"what is read must be a DataFrame of pyspark.sql, got a {type(df).__name__}; "
                "lapwing.engines.arrow reads files and tables in memory"
            )
        return cls(df, typed_table(df, "the data frame"))

    def select(self, columns: Sequence[str]) -> Any:
        """Return the data frame with these columns only."""
        # As expressions: `select` takes no name that has a backtick in it, however it is quoted.
        return self.df.selectExpr([quoted(name) for name in columns])

    def words(self, column: str) -> list[tuple[Path, Mapping[str, str]]]:
        """Return what is said beside a column of reports, in the frame's schema and in each file.

        Cost: the footer of each Parquet file is read once, 16 at a time. A session of Spark Connect
        cannot read them, and says what the schema says.
        """
        found: list[tuple[Path, Mapping[str, str]]] = []
        for field in self.df.schema.fields:
            if field.name == column:
                said = {str(key): str(word) for key, word in field.metadata.items()}
                found.append((self.table.path, {key: said[key] for key in KEYS if key in said}))
        jvm = jvm_of(self.df.sparkSession)
        if jvm is not None:
            files = [name for name in self.df.inputFiles() if name.lower().endswith(PARQUET)]
            conf = self.df.sparkSession._jsparkSession.sessionState().newHadoopConf()
            with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
                footers = pool.map(lambda name: _footer(jvm, conf, name), files)
                names = (Path(file_name(name)) for name in files)
                found += zip(names, footers, strict=True)
        return found


def quoted(name: str) -> str:
    """Return the name of a column as Spark reads it literally."""
    return "`" + name.replace("`", "``") + "`"


def file_name(uri: str) -> str:
    """Return the last part of a file's address, as messages show it."""
    return Path(unquote(urlsplit(uri).path)).name


def typed_table(df: Any, name: str) -> Table:
    """Return the columns of a data frame as a table without its rows."""
    arrow = pyarrow_or_error()
    schema = arrow.schema([(field.name, _arrow_type(field.dataType)) for field in df.schema.fields])
    return Table(Path(name), tuple(schema.names), None, True, held=_NoRows(schema), is_file=False)


@dataclass(frozen=True)
class _NoRows:
    """Columns whose rows are elsewhere."""

    schema: Any

    def batches(self, columns: list[str]) -> Any:
        raise NotImplementedError("the rows are on the executors")


def _arrow_type(kind: Any) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind)
    except (PySparkException, TypeError, ValueError):
        return pyarrow_or_error().struct([])  # no column that anybody asks for


def jvm_of(session: Any) -> Any:
    """Return the Java side of a session; None of one of Spark Connect, which shows none."""
    return getattr(session, "_jvm", None)


def required_jvm(session: Any) -> Any:
    """Return the Java side of a session; EngineError of one of Spark Connect."""
    jvm = jvm_of(session)
    if jvm is None:
        raise EngineError(
            "this needs a classic session of Spark, not Spark Connect, which shows nobody its file "
            "systems; start one without SPARK_REMOTE"
        )
    return jvm


@contextmanager
def file_errors(name: str) -> Iterator[None]:
    """Give what Hadoop's files throw as errors for people.

    Parameters
    ----------
    name : str
        Of the file or folder, for messages.

    Raises
    ------
    OSError
        When it is not there, or may not be read.
    EngineError
        For all else: a file system that is unknown, or that does not answer.
    """
    from py4j.protocol import Py4JError

    known = {"FileNotFoundException": errno.ENOENT, "AccessControlException": errno.EACCES}
    try:
        yield
    except Py4JError as error:
        thrown = thrown_by(error)
        if thrown in known:
            number = known[thrown]
            raise OSError(number, os.strerror(number), name) from None
        raise EngineError(
            f"{name} is in no place that Spark reaches ({thrown}); look at how it is written, and "
            "at what the cluster is set to"
        ) from error


def thrown_by(error: Exception) -> str:
    """Return the name of what Java threw, without the package that it is of."""
    java = getattr(error, "java_exception", None)
    return type(error).__name__ if java is None else str(java.getClass().getSimpleName())


def _footer(jvm: Any, conf: Any, uri: str) -> dict[str, str]:
    """Return what the footer of a Parquet file says about its reports."""
    from py4j.protocol import Py4JJavaError

    hadoop, parquet = jvm.org.apache.hadoop.fs, jvm.org.apache.parquet.hadoop
    with file_errors(file_name(uri)):
        file = parquet.util.HadoopInputFile.fromPath(hadoop.Path(jvm.java.net.URI(uri)), conf)
        try:
            reader = parquet.ParquetFileReader.open(file)
        except Py4JJavaError as error:
            if thrown_by(error) != "RuntimeException":
                raise
            raise FormatError(
                f"{file_name(uri)} cannot be read as Parquet; it is damaged, or of another kind"
            ) from error
        try:
            said = reader.getFooter().getFileMetaData().getKeyValueMetaData()
            return words_in_footer({key: said.get(key) for key in said})
        finally:
            reader.close()
