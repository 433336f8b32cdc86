"""A data frame of Spark as what the Arrow engine checks: names and types, before a job starts.

The footers of Parquet files say whose reports they hold. Of each file the last bytes are enough.
Arrow reads them: Java's reader takes 25 milliseconds of a
processor for each file, which for small files is more than counting what is in them.
"""

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

from lapwing.engines.arrow.inputs import PARQUET, pyarrow_or_error
from lapwing.engines.arrow.report_tables import KEYS
from lapwing.engines.arrow.table_reader import Table, words_in_footer
from lapwing.errors import ArgumentError, EngineError, FormatError, kind_of


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
                f"the input must be a DataFrame of pyspark.sql, got {kind_of(df)}; "
                "lapwing.engines.arrow reads files and tables in memory"
            )
        return cls(df, typed_table(df, "the data frame"))

    def select(self, columns: Sequence[str]) -> Any:
        """Return the data frame with these columns only."""
        # As expressions: `select` takes no name that has a backtick in it, however it is quoted.
        return self.df.selectExpr([quoted(name) for name in columns])

    def words(self, column: str) -> list[tuple[Path, Mapping[str, str]]]:
        """Return what is said beside a column of reports, in the frame's schema and in each file.

        Cost: the end of each Parquet file is read once. A session of Spark Connect cannot read
        them, and says what the schema says.
        """
        found: list[tuple[Path, Mapping[str, str]]] = []
        for field in self.df.schema.fields:
            if field.name == column:
                said = {str(key): str(word) for key, word in field.metadata.items()}
                found.append((self.table.path, {key: said[key] for key in KEYS if key in said}))
        if jvm_of(self.df.sparkSession) is not None:
            files = [name for name in self.df.inputFiles() if name.lower().endswith(PARQUET)]
            names = (Path(file_name(name)) for name in files)
            found += zip(names, footers(self.df.sparkSession, files), strict=True)
        return found


def quoted(name: str) -> str:
    """Return the name of a column as Spark reads it literally."""
    return "`" + name.replace("`", "``") + "`"


def typed_table(df: Any, name: str) -> Table:
    """Return the columns of a data frame as a table without its rows."""
    arrow = pyarrow_or_error()
    schema = arrow.schema([(field.name, _arrow_type(field.dataType)) for field in df.schema.fields])
    return Table(Path(name), tuple(schema.names), None, True, source=_NoRows(schema), is_file=False)


@dataclass(frozen=True)
class _NoRows:
    """Columns whose rows are elsewhere."""

    schema: Any

    def batches(self, columns: list[str]) -> Any:
        raise EngineError(
            "the rows of a data frame of Spark are with its executors, only its columns are known "
            "here; use lapwing.engines.spark"
        )


def _arrow_type(kind: Any) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import TimestampType

    if isinstance(kind, TimestampType):  # some versions of Spark must be told a zone
        return pyarrow_or_error().timestamp("us", tz="UTC")
    try:
        return to_arrow_type(kind)
    except (AssertionError, PySparkException, TypeError, ValueError):
        return pyarrow_or_error().struct([])  # no column that anybody asks for


_ASKED_AT_ONCE = 16
"""Files on other machines, which answer slowly."""

_TAIL = 2**14
"""Bytes that are read at first: a footer of some columns and row groups is smaller."""

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"


def file_name(uri: str) -> str:
    """Return the last part of a file's address, as messages show it."""
    return Path(unquote(urlsplit(uri).path)).name


def footers(session: Any, uris: list[str]) -> list[dict[str, str]]:
    """Return what the footer of each file says beside its columns.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        A classic one.
    uris : list of str
        As Spark names files: file:///folder/a.parquet, hdfs://...

    Raises
    ------
    FormatError
        When one is no file of Parquet.
    OSError, EngineError
        When one cannot be read.
    """
    here = [urlsplit(uri).scheme in ("", "file") for uri in uris]
    tails = [_tail_of_local(uri) if local else b"" for uri, local in zip(uris, here, strict=True)]
    if not all(here):
        jvm, conf = required_jvm(session), session._jsparkSession.sessionState().newHadoopConf()
        elsewhere = [place for place, local in enumerate(here) if not local]
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            found = pool.map(lambda place: _tail_of_remote(jvm, conf, uris[place]), elsewhere)
            for place, tail in zip(elsewhere, found, strict=True):
                tails[place] = tail
    return [_words(tail, uri) for tail, uri in zip(tails, uris, strict=True)]


def _tail_of_local(uri: str) -> bytes:
    """Return the end of a file of this machine, with its whole footer."""
    try:
        with open(unquote(urlsplit(uri).path), "rb") as stream:
            size = stream.seek(0, 2)

            def read(length: int) -> bytes:
                stream.seek(max(size - length, 0))
                return stream.read()

            return _whole_footer(read)
    except OSError as error:
        raise OSError(error.errno, error.strerror, file_name(uri)) from None


def _tail_of_remote(jvm: Any, conf: Any, uri: str) -> bytes:
    """Return the end of a file that Hadoop reads, with its whole footer."""
    hadoop = jvm.org.apache.hadoop.fs
    with file_errors(file_name(uri)):
        path = hadoop.Path(jvm.java.net.URI(uri))
        system = path.getFileSystem(conf)
        size = int(system.getFileStatus(path).getLen())
        stream = system.open(path)

        def read(length: int) -> bytes:
            stream.seek(max(size - length, 0))
            return bytes(stream.readNBytes(min(length, size)))

        try:
            return _whole_footer(read)
        finally:
            stream.close()


def _whole_footer(read: Any) -> bytes:
    """Return the last bytes of a file: as many as its footer has, of which its end tells."""
    tail: bytes = read(_TAIL)
    needed = int.from_bytes(tail[-8:-4], "little") + 12
    return read(needed) if tail.endswith(_MAGIC) and needed > len(tail) else tail


def _words(tail: bytes, uri: str) -> dict[str, str]:
    import pyarrow as pa
    from pyarrow import parquet

    if tail.endswith(_ENCRYPTED):
        return {}  # lapwing writes none such; Spark may know the key
    try:
        said = parquet.read_metadata(pa.BufferReader(tail)).metadata or {}
    except (pa.ArrowException, OSError):
        raise FormatError(
            f"{file_name(uri)} cannot be read as Parquet; it is damaged, or of another kind"
        ) from None
    return words_in_footer(
        {key.decode(errors="replace"): word.decode(errors="replace") for key, word in said.items()}
    )


def jvm_of(session: Any) -> Any:
    """Return the Java side of a session; None of one of Spark Connect, which shows none."""
    return getattr(session, "_jvm", None)


def required_jvm(session: Any) -> Any:
    """Return the Java side of a session; EngineError of one of Spark Connect."""
    jvm = jvm_of(session)
    if jvm is None:
        raise EngineError(
            "this needs a classic session of Spark, not Spark Connect, which gives no access to "
            "its file systems; start one without SPARK_REMOTE"
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
            f"Spark cannot reach {name} ({thrown}); check its spelling and the settings of the "
            f"cluster"
        ) from error


def thrown_by(error: Exception) -> str:
    """Return the name of what Java threw, without the package that it is of."""
    java = getattr(error, "java_exception", None)
    return type(error).__name__ if java is None else str(java.getClass().getSimpleName())
