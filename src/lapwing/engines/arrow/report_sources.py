"""Reports wherever they stand, checked before the first is counted.

Files that this package wrote say which survey asked; a table of somebody else's does so only if
its schema has the same words. Where it has none, the column must be named, so that nobody's table
is taken for reports by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lapwing.engines.arrow.column_values import at_rows
from lapwing.engines.arrow.dataset_tables import COMPACT, files_of, tables_of
from lapwing.engines.arrow.read_errors import pyarrow_or_error
from lapwing.engines.arrow.report_arrays import check_report_type
from lapwing.engines.arrow.report_count import FileCount, ReportCount, count, count_records
from lapwing.engines.arrow.report_tables import (
    check_report_table,
    open_report_csv,
    read_reports,
)
from lapwing.engines.arrow.standard_input import STDIN, shown
from lapwing.engines.arrow.table_reader import BATCH_ROWS, TABLES, Table, open_table
from lapwing.engines.arrow.text_columns import unchecked_texts
from lapwing.errors import ArgumentError, MissingExtraError, ReportError
from lapwing.survey.survey import Survey

Job = Callable[[], ReportCount]

_BYTES_AT_ONCE = 4 * 2**20


@dataclass(frozen=True)
class ReportSource:
    """Reports of one survey in one place.

    Parameters
    ----------
    table : Table or Path
        A table with a column of reports, or a compact report file.
    survey : Survey
    column : str
        The column of reports; of a compact file, nothing.
    by : str, optional
        A column of labels.
    """

    table: Table | Path
    survey: Survey
    column: str
    by: str | None

    @property
    def name(self) -> str:
        """How messages name it."""
        return shown(self.table) if isinstance(self.table, Path) else self.table.shown

    @property
    def file(self) -> Path | None:
        """The file that can be read again; None of what is read once, or is no file."""
        path = self.table if isinstance(self.table, Path) else self.table.path
        is_file = isinstance(self.table, Path) or self.table.is_file
        return path if is_file and path != STDIN else None

    def jobs(self, *, skip_bad: bool) -> Iterator[Job]:
        """Yield the work: each job counts some rows; see :func:`count` for its errors.

        They name the file and the row. What cannot be read fails here, or in a job.
        """
        if isinstance(self.table, Path):
            first = 0
            for reports in read_reports(self.table, self.survey):
                work = partial(count_records, reports.data, None, self.survey, skip_bad=skip_bad)
                yield partial(self._named, first, work)
                first += len(reports)
            return
        for first, batches in self.table.parts(self._columns, rows=self._rows):
            yield partial(self._counted, first, batches, skip_bad)

    def count_piece(self, first: int, groups: list[int] | None, *, skip_bad: bool) -> ReportCount:
        """Return the counts of a piece, as :meth:`Table.pieces` gives them, or of the whole."""
        if isinstance(self.table, Path) or groups is None:
            total = ReportCount({}, self.by is not None)
            for job in self.jobs(skip_bad=skip_bad):
                total += job()
            return total
        batches = partial(self.table.batches, self._columns, rows=self._rows, groups=groups)
        return self._counted(first, batches, skip_bad)

    @property
    def _columns(self) -> list[str]:
        return [self.column] if self.by is None else [self.column, self.by]

    @property
    def _rows(self) -> int:
        """Most rows of a batch."""
        width = self.survey.randomizer.report_width
        return max(BATCH_ROWS - 1, min(_BYTES_AT_ONCE // width, 2**19))

    def _counted(
        self, first: int, batches: Callable[[], Iterator[Any]], skip_bad: bool
    ) -> ReportCount:
        total = ReportCount({})
        for batch in batches():
            total += self._named(first, partial(self._count, batch, skip_bad))
            first += batch.num_rows
        return total

    def _count(self, batch: Any, skip_bad: bool) -> ReportCount:
        if not isinstance(self.table, Path) and not self.table.typed:
            place = batch.schema.get_field_index(self.column)
            texts = unchecked_texts(batch.column(place))
            batch = batch.set_column(place, self.column, texts)
        return count(batch, self.survey, column=self.column, by=self.by, skip_bad=skip_bad)

    def _named(self, first: int, work: Job) -> ReportCount:
        with at_rows(self.name, first, of=ReportError):
            return work()

    def finished(self, counted: ReportCount, *, torn: bool) -> FileCount:
        """Return what to tell of it when all is counted."""
        path = self.table if isinstance(self.table, Path) else self.table.path
        return FileCount(str(path), counted.total, counted.refused, torn)


def report_sources(
    dataset: Any, survey: Survey, *, column: str | None, by: str | None
) -> list[ReportSource]:
    """Return what a job counts: all of it is of this survey, and has the columns asked for.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        Compact report files too; see :func:`lapwing.engines.arrow.dataset_tables.tables_of`.
    survey : Survey
    column : str, optional
        The column of reports; "report" in what this package wrote.
    by : str, optional
        A column of labels.

    Raises
    ------
    MismatchError
        When another survey asked for some reports.
    ArgumentError, FormatError, OSError
        When a column is missing or of another type, or a file cannot be read.
    """
    if isinstance(dataset, str | Path | list | tuple):
        sources = []
        for path, keys in files_of(dataset, endings=(*TABLES, COMPACT)):
            sources.append(_of_file(path, keys, survey, column, by))
        return sources
    return [_of_table(table, survey, column, by) for table in tables_of(dataset)]


def _of_file(
    path: Path, keys: dict[str, str], survey: Survey, column: str | None, by: str | None
) -> ReportSource:
    name = path.name.lower()
    if path == STDIN or not name.endswith(TABLES):
        if by is not None:
            raise ArgumentError(
                f"--by needs reports in a table that has labels, .parquet, .arrow or .csv, "
                f"{shown(path)} is none; write it with: lapwing randomize --by"
            )
        if path != STDIN:
            with path.open("rb"):  # an error of the system before any work is done
                pass
        return ReportSource(path, survey, "", None)
    ours = (
        None
        if column is not None or not name.endswith(".csv")
        else open_report_csv(path, survey, by)
    )
    if ours is not None:
        # Without Arrow, a device's or a collector's machine still counts what this package wrote.
        held = ours if by is not None or _has_arrow() else path
        return ReportSource(held, survey, "report", by)
    [table] = tables_of(path) if not keys else [_keyed(open_table(path), keys)]
    return _of_table(table, survey, column, by)


def _has_arrow() -> bool:
    try:
        pyarrow_or_error()
    except MissingExtraError:
        return False
    return True


def _keyed(table: Table, keys: dict[str, str]) -> Table:
    keys = {key: value for key, value in keys.items() if key not in table.names}
    return replace(table, names=(*table.names, *keys), constant=keys)


def _of_table(table: Table, survey: Survey, column: str | None, by: str | None) -> ReportSource:
    ours = check_report_table(table.path, table.metadata, survey)
    if column is None and not ours and table.is_file:
        check_report_table(table.path, table.metadata, survey, required=True)
    found = table.column(column or "report")
    if by is not None:
        by = table.column(by, option="--by", beside=found)
        if by == found:
            raise ArgumentError("--by must name another column than that of the reports")
    if table.typed:
        kind = table.empty(found).type
        check_report_type(kind, width=survey.randomizer.report_width, column=found)
    return ReportSource(table, survey, found, by)
