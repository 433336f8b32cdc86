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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lapwing.engines.arrow.inputs import PARQUET, pyarrow_or_error
from lapwing.engines.arrow.report_tables import KEYS, STANDING
from lapwing.engines.arrow.table_reader import Table
from lapwing.engines.arrow.typed_files import check_footer, words_in_footer
from lapwing.errors import ArgumentError, EngineError, FormatError, kind_of


@dataclass(frozen=True)
class SparkRows:
    """A data frame, and what is known of its columns.

    table: Its names and types. It holds no rows.
    from_files: Whether it is nothing but files, which must say whose reports they hold.
    stored_rows: The contents of the footers that were read so far. None where one is encrypted.
    """

    df: Any
    table: Table
    from_files: bool = False
    stored_rows: list[int | None] = field(default_factory=list, init=False)

    @classmethod
    def of(cls, df: Any) -> SparkRows:
        """Return a data frame as such. ArgumentError when it is something else."""
        if isinstance(df, SparkRows):
            return df
        if not hasattr(df, "mapInArrow"):
            raise ArgumentError(
                f"the input must be a DataFrame of pyspark.sql, got {kind_of(df)}. "
                "lapwing.engines.arrow reads files and tables in memory"
            )
        for relation in relations(df):
            relation.check_reading()
        if jvm_of(df.sparkSession) is None:
            df.sparkSession.conf.set(_CHECKED, "true")
        return cls(df, typed_table(df, "the data frame"))

    def select(self, columns: Sequence[str]) -> Any:
        """Return the data frame with these columns only."""
        # As expressions: `select` takes no name that has a backtick in it, however it is quoted.
        return self.df.selectExpr([quoted(name) for name in columns])

    def words(self, column: str) -> list[tuple[Path, Mapping[str, str]]]:
        """Return the metadata of a column of reports, from the frame's schema and its files.

        These are the files that the column comes from: others of a join may be of another survey.

        Cost: the end of each Parquet file is read once. A session of Spark Connect cannot read
        them, and says what the schema says.
        """
        found: list[tuple[Path, Mapping[str, str]]] = []
        for one in self.df.schema.fields:
            if one.name == column:
                said = {str(key): str(word) for key, word in one.metadata.items()}
                kept = {key: said[key] for key in (*KEYS, STANDING) if key in said}
                found.append((self.table.path, kept))
        if jvm_of(self.df.sparkSession) is not None:
            files = [
                name for name in files_behind(self.df, column) if name.lower().endswith(PARQUET)
            ]
            names = (Path(file_name(name)) for name in files)
            ends = footers(self.df.sparkSession, files)
            self.stored_rows[:] = [end.rows for end in ends]
            found += zip(names, (end.words for end in ends), strict=True)
        return found

    def check_all_rows(self, number: int) -> None:
        """Raise FormatError when Spark read other rows than the files have that are all it reads.

        A footer has no checksum, and Spark passes over a row group whose place in it is damaged.
        """
        if self.stored_rows and None not in self.stored_rows and _is_plain(self.df):
            stored = sum(rows for rows in self.stored_rows if rows is not None)
            if stored != number:
                raise FormatError(
                    f"the files say that they have {stored:,} rows, but Spark read {number:,}. "
                    "A file is damaged or was changed meanwhile. Nothing was counted"
                )


_CHECKED = "parquet.page.verify-checksum.enabled"
"""Spark's setting: whether the checksums of Parquet's pages are compared when they are read."""


@dataclass(frozen=True)
class _Relation:
    """Files that a data frame reads.

    node: A leaf of its plan.
    """

    node: Any
    relation: Any

    @property
    def files(self) -> list[str]:
        """Their addresses."""
        return list(self.relation.location().inputFiles())

    def check_reading(self) -> None:
        """Have the checksums of pages compared. ArgumentError where a reader would log values.

        The setting stays in the session: another job of it may be at work at the same time.
        """
        options = {
            str(key).lower(): str(word).lower()
            for key, word in (_pair(one) for one in _items(self.relation.options().toSeq()))
        }
        kind = self.relation.fileFormat().getClass().getSimpleName()
        of_texts = not any(typed in kind for typed in ("Parquet", "Orc"))
        if of_texts and options.get("mode") == "failfast":
            raise ArgumentError(
                f"{self._name} is read in the mode FAILFAST of Spark, which writes what it cannot "
                "parse into its logs. Read it in the mode PERMISSIVE: such values are missing, and "
                "where the survey refuses missing values, the error says the file and the row"
            )
        session = self.relation.sparkSession()
        session.conf().set(_CHECKED, "true")
        state = session.sessionState()
        said = state.newHadoopConfWithOptions(self.relation.options()).get(_CHECKED)
        if said != "true":
            raise ArgumentError(
                f"{self._name} would be read with {_CHECKED}={said}, so damaged pages would be "
                "counted. Read it without that option"
            )

    @property
    def _name(self) -> str:
        return file_name(next(iter(self.files), "the input"))


def relations(df: Any) -> list[_Relation]:
    """Return the files that a data frame reads. None of a session of Spark Connect."""
    if jvm_of(df.sparkSession) is None:
        return []
    leaves = _items(df._jdf.queryExecution().analyzed().collectLeaves())
    return [one for one in map(_relation, leaves) if one is not None]


def _relation(node: Any) -> _Relation | None:
    if not node.getClass().getSimpleName().startswith("LogicalRelation"):
        return None
    relation = node.relation()
    files = relation.getClass().getSimpleName() == "HadoopFsRelation"
    return _Relation(node, relation) if files else None


def _items(sequence: Any) -> list[Any]:
    """Return the elements of a Seq of Scala."""
    return [sequence.apply(place) for place in range(sequence.size())]


def _pair(two: Any) -> tuple[Any, Any]:
    return two._1(), two._2()


def files_behind(df: Any, column: str) -> list[str]:
    """Return the files from which a column of a data frame comes: all of them where none can tell.

    df: Of a classic session.
    """
    plan = df._jdf.queryExecution().analyzed()
    found = [one for one in _items(plan.output()) if one.name() == column]
    files: list[str] | None = [] if found else None
    for attribute in found:
        behind = _behind(plan, attribute)
        files = None if files is None or behind is None else files + behind
    return list(df.inputFiles()) if files is None else sorted(set(files))


def _is_plain(df: Any) -> bool:
    """Return whether a data frame has all rows of some files of Parquet, and no others."""
    node = df._jdf.queryExecution().analyzed()
    while node.getClass().getSimpleName() in (
        "Project",
        "SubqueryAlias",
        "RepartitionByExpression",
    ):
        node = node.children().apply(0)
    relation = _relation(node)
    return relation is not None and all(name.lower().endswith(PARQUET) for name in relation.files)


_BY_PLACE = ("Union", "Intersect", "Except")
"""Steps whose columns are those of all their inputs, one under the other."""


def _behind(node: Any, attribute: Any) -> list[str] | None:
    """Return the files behind a column of a step of a plan. None where nobody can tell."""
    children = _items(node.children())
    if not children:
        relation = _relation(node)
        return None if relation is None else relation.files
    if node.getClass().getSimpleName() in _BY_PLACE:
        names = [one.exprId() for one in _items(node.output())]
        place = names.index(attribute.exprId())
        asked = [(child, child.output().apply(place)) for child in children]
    else:
        asked = [(child, attribute) for child in children if child.outputSet().contains(attribute)]
        if not asked:
            for made in _items(node.expressions()):
                if (
                    made.getClass().getSimpleName() != "Alias"
                    or made.exprId() != attribute.exprId()
                ):
                    continue
                for used in _items(made.references().toSeq()):
                    asked += [(one, used) for one in children if one.outputSet().contains(used)]
    if not asked:
        return None
    files: list[str] = []
    for child, used in asked:
        behind = _behind(child, used)
        if behind is None:
            return None
        files += behind
    return files


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
            "the rows of a Spark data frame are on its executors, and only its columns are "
            "known here. Use lapwing.engines.spark"
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


@dataclass(frozen=True)
class ParquetFooter:
    """The end of a file.

    words: Next to its columns.
    rows: In the file. None where the footer is encrypted.
    """

    words: Mapping[str, str]
    rows: int | None


def footers(session: Any, uris: list[str]) -> list[ParquetFooter]:
    """Return what the footer of each file says.

    session: A classic one.
    uris: As Spark names files: file:///folder/a.parquet, hdfs://...

    Raises FormatError when one is no file of Parquet.
    Raises OSError, EngineError when one cannot be read.
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
    return [_footer(tail, uri) for tail, uri in zip(tails, uris, strict=True)]


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


def _footer(tail: bytes, uri: str) -> ParquetFooter:
    import pyarrow as pa
    from pyarrow import parquet

    if tail.endswith(_ENCRYPTED):
        return ParquetFooter({}, None)  # lapwing writes none such; Spark may know the key
    try:
        about = parquet.read_metadata(pa.BufferReader(tail))
        check_footer(about)
    except (pa.ArrowException, OSError):
        raise FormatError(
            f"{file_name(uri)} cannot be read as Parquet. It is damaged, or of another kind"
        ) from None
    said = {
        key.decode(errors="replace"): word.decode(errors="replace")
        for key, word in (about.metadata or {}).items()
    }
    return ParquetFooter(words_in_footer(said), about.num_rows)


def jvm_of(session: Any) -> Any:
    """Return the Java side of a session. None of one of Spark Connect, which shows none."""
    return getattr(session, "_jvm", None)


def required_jvm(session: Any) -> Any:
    """Return the Java side of a session. EngineError of one of Spark Connect."""
    jvm = jvm_of(session)
    if jvm is None:
        raise EngineError(
            "this needs a classic Spark session, because Spark Connect gives no access to file "
            "systems. Start one without SPARK_REMOTE"
        )
    return jvm


@contextmanager
def file_errors(name: str) -> Iterator[None]:
    """Give what Hadoop's files throw as errors for people.

    name: Of the file or folder, for messages.

    Raises OSError when it is not there, or may not be read.
    Raises EngineError for all else: a file system that is unknown, or that does not answer.
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
            f"Spark cannot reach {name} ({thrown}). Check its spelling and the settings of the "
            f"cluster"
        ) from error


def thrown_by(error: Exception) -> str:
    """Return the name of what Java threw, without the package that it is of."""
    java = getattr(error, "java_exception", None)
    return type(error).__name__ if java is None else str(java.getClass().getSimpleName())
