"""Reports of a whole data set, counted: larger than memory, by many threads, goes on if killed.

Files that this package wrote say which survey asked. A table of somebody else's does so only if
its schema has the same words. Where it has none, the column must be named, so that nobody's table
is taken for reports by chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lapwing.documents import canonical, parse
from lapwing.engines.arrow.addresses import Keys
from lapwing.engines.arrow.arrow_values import labels_of
from lapwing.engines.arrow.column_values import at_rows
from lapwing.engines.arrow.dataset_tables import COMPACT, places_of, tables_of, with_constants
from lapwing.engines.arrow.inputs import STDIN, input_name, pyarrow_or_error, without_causes
from lapwing.engines.arrow.ordered_work import Advance, in_order, threads_or_all, unwatched
from lapwing.engines.arrow.report_count import (
    CountedRows,
    FileCount,
    ReportCount,
    ReportCounter,
    check_count_type,
    check_report_type,
    columns_by,
    count_from_document,
    count_to_document,
)
from lapwing.engines.arrow.report_folder import SavedProgress
from lapwing.engines.arrow.report_tables import (
    STANDING,
    check_report_table,
    open_report_csv,
    read_reports,
)
from lapwing.engines.arrow.table_reader import BATCH_ROWS, TABLES, Table, open_table
from lapwing.engines.arrow.text_columns import unchecked_texts
from lapwing.engines.arrow.typed_files import SmallFiles
from lapwing.errors import (
    ArgumentError,
    LapwingError,
    LapwingWarning,
    MissingExtraError,
    ReportError,
    TornFileError,
)
from lapwing.privacy.guarantee import checked_standing
from lapwing.protocol.messages.group_labels import MOST_GROUPS
from lapwing.survey.survey import Survey

Job = Callable[[], list[CountedRows]]

_BYTES_AT_ONCE = 4 * 2**20

_TOGETHER = 64
"""Small files that one thread opens, or reads, at once."""


@dataclass(frozen=True)
class ReportSource:
    """Reports of one survey in one place.

    table: A table with a column of reports, or a compact report file.
    column: The column of reports. Of a compact file, nothing.
    by: Columns of labels.
    count_column: A column that says how often each report was sent.
    """

    table: Table | Path
    survey: Survey
    column: str
    by: tuple[str, ...] = ()
    count_column: str | None = None

    @property
    def name(self) -> str:
        """How messages name it."""
        return input_name(self.table) if isinstance(self.table, Path) else self.table.label

    @property
    def file(self) -> Path | None:
        """The file that can be read again. None of what is read once, or is no file."""
        if isinstance(self.table, Path):
            return None if self.table == STDIN else self.table
        return self.table.file

    def counter(self, *, skip_bad: bool, most_groups: int = MOST_GROUPS) -> ReportCounter:
        """Return what counts these reports, and those of sources with the same columns."""
        return ReportCounter(
            self.survey,
            column=self.column,
            by=self.by,
            count_column=self.count_column,
            skip_bad=skip_bad,
            most_groups=most_groups,
        )

    def jobs(self, counter: ReportCounter) -> Iterator[Job]:
        """Yield the work: each job reads some rows, for a counter to add.

        Errors name the file and the row. See :meth:`ReportCounter.read`. An unreadable input
        fails here, or in a job.
        """
        if isinstance(self.table, Path):
            first = 0
            for reports in read_reports(self.table, self.survey):
                counter.mark(reports.standing)
                work = partial(counter.read_records, reports.data)
                yield partial(self._of_records, first, work)
                first += len(reports)
            return
        self._mark(counter)
        for first, batches in self.table.parts(self._columns, rows=self._rows):
            yield partial(self._read, first, batches, counter)

    def _mark(self, counter: ReportCounter) -> None:
        """Tell a counter what a table says of its reports."""
        if isinstance(self.table, Table):
            counter.mark(checked_standing(self.table.metadata.get(STANDING)))

    @property
    def is_small(self) -> bool:
        """Whether it is read in no time, and may be counted together with others."""
        small = isinstance(self.table, Table) and self.table.is_small and not self.table.constant
        return small and self.count_column is None

    @property
    def _columns(self) -> list[str]:
        counts = [] if self.count_column is None else [self.count_column]
        return [self.column, *self.by, *counts]

    @property
    def _rows(self) -> int:
        """Most rows of a batch."""
        width = self.survey.randomizer.report_width
        return max(BATCH_ROWS - 1, min(_BYTES_AT_ONCE // width, 2**19))

    def _of_records(self, first: int, work: Callable[[], CountedRows]) -> list[CountedRows]:
        with at_rows(self.name, first, of=ReportError):
            return [work()]

    def _read(
        self, first: int, batches: Callable[[], Iterator[Any]], counter: ReportCounter
    ) -> list[CountedRows]:
        rows: list[CountedRows] = []
        for batch in batches():
            with at_rows(self.name, first, of=ReportError):
                read = counter.read(self._with_texts(batch))
            # Tallies add here, in this thread; groups in that of the counter.
            rows = [rows[0] + read] if rows and read.numbers is None else [*rows, read]
            first += batch.num_rows
        return rows

    def _with_texts(self, batch: Any) -> Any:
        if isinstance(self.table, Path) or self.table.typed:
            return batch
        place = batch.schema.get_field_index(self.column)
        return batch.set_column(place, self.column, unchecked_texts(batch.column(place)))

    def finished(self, reports: int, refused: int, *, torn: bool) -> FileCount:
        """Return what to tell of it when all is counted."""
        path = self.table if isinstance(self.table, Path) else self.table.path
        return FileCount(str(path), reports, refused, torn)


def report_sources(
    dataset: Any,
    survey: Survey,
    *,
    column: str | None,
    by: tuple[str, ...],
    count_column: str | None = None,
    threads: int = 1,
    small: SmallFiles | None = None,
) -> list[ReportSource]:
    """Return what a job counts: all of it is of this survey, and has the columns asked for.

    dataset: Compact report files too. See :func:`lapwing.engines.arrow.dataset_tables.tables_of`.
    column: The column of reports. "report" in what this package wrote.
    by: Columns of labels.
    count_column: A column that says how often each report was sent.
    threads: How many open files.
    small: Small files are read when they are opened.

    Raises MismatchError when another survey asked for some reports.
    Raises ArgumentError, FormatError, OSError when a column is missing or of another type, or a
    file cannot be read.
    """
    if isinstance(dataset, str | Path | list | tuple):
        files = places_of(dataset, endings=(*TABLES, COMPACT))

        def opened(first: int) -> list[ReportSource]:
            return [
                _of_table(place, survey, column, by, count_column, stored=True)
                if isinstance(place, Table)
                else _of_file(*place, survey, column, by, count_column, small)
                for place in files[first : first + _TOGETHER]
            ]

        work = [partial(opened, first) for first in range(0, len(files), _TOGETHER)]
        found = in_order(work, threads=threads if len(work) > 1 else 1)
        return [source for some in found for source in some]
    return [_of_table(table, survey, column, by, count_column) for table in tables_of(dataset)]


def _of_file(
    path: Path,
    keys: Keys,
    survey: Survey,
    column: str | None,
    by: tuple[str, ...],
    count_column: str | None,
    small: SmallFiles | None,
) -> ReportSource:
    name = path.name.lower()
    if path == STDIN or not name.endswith(TABLES):
        if by:
            raise ArgumentError(
                "by",
                "needs reports in a table that has labels, .parquet, .arrow or .csv, "
                f"but {input_name(path)} is not",
                advice="Write it with: lapwing randomize --by",
            )
        if path != STDIN:
            with path.open("rb"):  # an error of the system before any work is done
                pass
        if count_column is not None:
            raise ArgumentError(
                "count_column",
                "needs a table of reports and counts, .parquet, .arrow or .csv",
                advice=f"{input_name(path)} is not",
            )
        return ReportSource(path, survey, "")
    ours = (
        None
        if column is not None or count_column is not None or not name.endswith(".csv")
        else open_report_csv(path, survey, by)
    )
    if ours is not None:
        # Without Arrow, a device's or a collector's machine still counts what this package wrote.
        held = ours if by or _has_arrow() else path
        return ReportSource(held, survey, "report", by)
    table = with_constants(open_table(path, small=small), keys)
    return _of_table(table, survey, column, by, count_column)


def _has_arrow() -> bool:
    try:
        pyarrow_or_error()
    except MissingExtraError:
        return False
    return True


def _of_table(
    table: Table,
    survey: Survey,
    column: str | None,
    by: tuple[str, ...],
    count_column: str | None,
    *,
    stored: bool = False,
) -> ReportSource:
    ours = check_report_table(table.path, table.metadata, survey)
    if column is None and not ours and (table.is_file or stored):
        check_report_table(table.path, table.metadata, survey, required=True)
    found = table.column(column or "report")
    by = tuple(table.column(name, option="by", beside=found) for name in by)
    if found in by:
        raise ArgumentError("by", "must differ from the column of reports")
    if count_column is not None:
        count_column = table.column(count_column, option="count_column", beside=found)
        if count_column in (found, *by):
            raise ArgumentError(
                "count_column", "must differ from the columns of reports and labels"
            )
    if table.typed:
        kind = table.empty(found).type
        check_report_type(kind, width=survey.randomizer.report_width, column=found)
        for name in by:
            labels_of(table.empty(name), column=name)
        if count_column is not None:
            check_count_type(table.empty(count_column).type, column=count_column)
    return ReportSource(table, survey, found, by, count_column)


@without_causes
def tally(
    dataset: Any,
    survey: Survey,
    *,
    column: str | None = None,
    by: str | Sequence[str] | None = None,
    count_column: str | None = None,
    threads: int | None = None,
    skip_bad: bool = False,
    salvage: bool = False,
    progress: Path | str | None = None,
    advance: Advance = unwatched,
) -> ReportCount:
    """Tally the reports of a data set, exactly.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        One of the following. It may be larger than memory.

        * Files of reports (.lwr, .parquet, .arrow, .csv), or folders of them, also partitioned.
        * Patterns ("2026-*/*.parquet").
        * Addresses of pyarrow's file systems ("s3://bucket/reports"), for .parquet and .arrow.
        * A table of pyarrow (Table, RecordBatchReader, Dataset), polars (also lazy) or pandas.
    survey : Survey
        Survey of the reports.
    column : str, optional
        Column of reports. Default: the one in files that this package wrote. They also name their
        survey. Other files do not, so make sure that the survey is the right one.
    by : str or sequence of str, optional
        Columns of public labels, each of which gets a tally: see :meth:`ReportCount.by_group`.
        With several columns the label is named like a partitioned folder: "country=PT/year=2026".
        There are at most 100,000 labels. Default: none.
    count_column : str, optional
        Column with the number of times that each report was sent: whole numbers from 0 to 2^53 - 1.
        The table then has a row for each different report, as a database's ``GROUP BY`` returns
        it. Default: none, where each was sent once.
    threads : int, optional
        Number of threads, at least 1. Default: one for each core.
    skip_bad : bool
        Whether rows without a valid report are counted separately instead of refused. Default:
        False.
    salvage : bool
        Whether the intact blocks of a torn .lwr file are counted, with a warning. Default: False.
    progress : Path or str, optional
        File for the progress of the job. If the job is killed and started again, files that were
        already counted are not read again. Remove the file with
        :func:`lapwing.engines.arrow.finished` once the result is stored. Default: none.
    advance : callable
        Function to call with the number of rows after each part. Default: does nothing.

    Returns
    -------
    ReportCount
        Result with ``.tally``, ``.by_group()``, ``.refused`` and ``.files``. It is the same to the
        last byte, however the reports are divided into files and whichever thread is faster.

    Raises
    ------
    ReportError
        When a row has no valid report. The error gives the file and row of the first one, and
        nothing is returned.
    MismatchError, ArgumentError, FormatError, OSError
        When reports are from another survey, a column is missing or of the wrong type, or a file
        cannot be read. All of this is detected before the first row is read. Also when a file
        turns out to be damaged.

    Notes
    -----
    **Cost.** Linear time.

    Examples
    --------
    >>> import lapwing as lw
    >>> import pyarrow as pa
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=4), epsilon=1))
    >>> table = pa.table({"report": pa.array([0, 3, 3], pa.uint8())})
    >>> lw.engines.arrow.tally(table, survey).tally.total
    3
    """
    columns = columns_by(by)
    threads = threads_or_all(threads)
    sources = report_sources(
        dataset,
        survey,
        column=column,
        by=columns,
        count_column=count_column,
        threads=threads,
        # What is noted as done is the file as it was after this.
        small=SmallFiles() if progress is None else None,
    )
    total = ReportCount({}, bool(columns), columns=columns)
    job = {
        "verb": "tally",
        "survey": survey.fingerprint,
        "column": column,
        "by": by if by is None or isinstance(by, str) else list(by),
        **({} if count_column is None else {"count_column": count_column}),
        "skip_bad": skip_bad,
        "salvage": salvage,
    }
    saved = SavedProgress(None if progress is None else Path(progress), job)
    stored = saved.load()
    if stored is not None:
        total += count_from_document(parse(stored, name="the progress of a job"))
    saved.check_only([source.file for source in sources])
    return _run(sources, total, saved, threads, skip_bad, salvage, advance)


def _run(
    sources: list[ReportSource],
    total: ReportCount,
    saved: SavedProgress,
    threads: int,
    skip_bad: bool,
    salvage: bool,
    advance: Advance,
) -> ReportCount:
    files: list[FileCount | None] = [None] * len(sources)
    waiting: list[tuple[int, ReportSource]] = []
    for number, source in enumerate(sources):
        said = saved.is_done(source.file)
        if said is None:
            waiting.append((number, source))
        else:
            files[number] = FileCount(**said)
    torn: set[int] = set()
    before: dict[int, dict[str, Any] | None] = {}
    reports = refused = 0
    # What is read once, or is no file, is not saved: asked again, it counts again.
    counters: dict[tuple[bool, str], ReportCounter] = {}

    def counter_of(source: ReportSource) -> ReportCounter:
        columns = (source.file is not None, source.column)
        if columns not in counters:
            counters[columns] = source.counter(skip_bad=skip_bad)
        return counters[columns]

    def counted(*, stored: bool) -> ReportCount:
        found = [each.result() for (of_file, _), each in counters.items() if of_file == stored]
        return sum(found, start=total if stored else ReportCount({}))

    def jobs() -> Iterator[Callable[[], list[_Step]]]:
        for some in _bundles(waiting):
            if len(some) > 1:
                yield partial(_bundle, some, counter_of(some[0][1]))
                continue
            ((number, source),) = some
            before[number] = saved.identity(source.file)
            given = source.jobs(counter_of(source))
            for job in _intact(given, partial(torn.add, number), salvage=salvage):
                yield partial(_step, number, job)
            yield partial(_step, number)

    for steps in in_order(jobs(), threads=threads):
        for step in steps:
            number, source = step.number, sources[step.number]
            for rows in step.rows:
                counter_of(source).add(rows)
            reports, refused = reports + step.reports, refused + step.refused
            if step.reports or step.refused:
                advance(step.reports + step.refused)
            if not step.is_last:
                continue
            about = source.finished(reports, refused, torn=number in torn)
            reports = refused = 0
            files[number] = about
            saved.add(source.file, before.pop(number, None), asdict(about))
            if saved.due():
                saved.save(canonical(count_to_document(counted(stored=True))))
    total = counted(stored=True)
    if saved.path is not None:
        saved.save(canonical(count_to_document(total)))
    total += counted(stored=False)
    return replace(total, files=tuple(about for about in files if about is not None))


@dataclass(frozen=True)
class _Step:
    """Some rows of a source that were read.

    number: Of the source.
    rows: What they add. Of some small files together it stands with the first of them.
    reports, refused: Of this source.
    is_last: Whether the source has no other rows.
    """

    number: int
    rows: list[CountedRows]
    reports: int = 0
    refused: int = 0
    is_last: bool = False


def _step(number: int, job: Job | None = None) -> list[_Step]:
    if job is None:
        return [_Step(number, [], is_last=True)]
    rows = job()
    reports, refused = sum(one.total for one in rows), sum(one.refused for one in rows)
    return [_Step(number, rows, reports, refused)]


def _bundles(sources: list[tuple[int, ReportSource]]) -> Iterator[list[tuple[int, ReportSource]]]:
    """Yield sources one by one, but small files with the same columns together."""
    some: list[tuple[int, ReportSource]] = []
    for number, source in sources:
        first = some[0][1] if some else source
        fits = source.is_small and (source.column, source.by) == (first.column, first.by)
        if some and not (fits and first.is_small and len(some) < _TOGETHER):
            yield some
            some = []
        some.append((number, source))
    if some:
        yield some


def _bundle(some: list[tuple[int, ReportSource]], counter: ReportCounter) -> list[_Step]:
    """Return what some small files add: counted together, or one by one where that fails."""
    pa = pyarrow_or_error()
    try:
        for _, source in some:
            source._mark(counter)
        batches = [
            batch
            for _, source in some
            if isinstance(source.table, Table)
            for batch in source.table.batches(source._columns, rows=source._rows)
        ]
        read = [counter.read(pa.concat_batches(batches))] if batches else []
        if not any(rows.refused for rows in read):
            numbers = [getattr(source.table, "rows", 0) for _, source in some]
            return [
                _Step(number, read if place == 0 else [], numbers[place], is_last=True)
                for place, (number, _) in enumerate(some)
            ]
    except (LapwingError, pa.ArrowException):
        pass  # one by one, the first of them that fails says so
    steps = []
    for number, source in some:
        for job in source.jobs(counter):
            steps += _step(number, job)
        steps += _step(number)
    return steps


def _intact(jobs: Iterator[Job], tear: Callable[[], None], *, salvage: bool) -> Iterator[Job]:
    """Yield the jobs of what is intact. Where that is not all, warn if it is to be salvaged."""
    try:
        yield from jobs
    except TornFileError as error:
        if not salvage:
            message = f"{error}. Nothing was counted (--salvage counts those)"
            raise TornFileError(
                message, path=error.path, block=error.block, intact=error.intact
            ) from None
        tear()
        warnings.warn(f"{error}. Only those were counted", LapwingWarning, stacklevel=2)
