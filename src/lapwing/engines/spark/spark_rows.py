"""A data frame of Spark as what the Arrow engine checks: names and types, before a job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.engines.arrow.read_errors import PARQUET, pyarrow_or_error
from lapwing.engines.arrow.report_tables import KEYS
from lapwing.engines.arrow.table_reader import Table
from lapwing.engines.spark.java_side import jvm_of
from lapwing.engines.spark.parquet_footers import file_name, footers
from lapwing.errors import ArgumentError, EngineError


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
    return Table(Path(name), tuple(schema.names), None, True, held=_NoRows(schema), is_file=False)


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
