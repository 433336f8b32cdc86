"""Reports of a whole data set, counted: larger than memory, by many threads, goes on if killed.

Files that this package wrote say which survey asked; a table of somebody else's does so only if
its schema has the same words. Where it has none, the column must be named, so that nobody's table
is taken for reports by chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lapwing.documents import canonical, parse
from lapwing.engines.arrow.column_values import at_rows
from lapwing.engines.arrow.dataset_tables import COMPACT, files_of, tables_of, with_constants
from lapwing.engines.arrow.inputs import STDIN, input_name, pyarrow_or_error, without_causes
from lapwing.engines.arrow.ordered_work import Advance, in_order, threads_or_all, unwatched
from lapwing.engines.arrow.report_count import (
    FileCount,
    ReportCount,
    check_report_type,
    count,
    count_from_document,
    count_records,
    count_to_document,
)
from lapwing.engines.arrow.report_tables import (
    check_report_table,
    open_report_csv,
    read_reports,
)
from lapwing.engines.arrow.saved_progress import SavedProgress
from lapwing.engines.arrow.table_reader import BATCH_ROWS, TABLES, Table, open_table
from lapwing.engines.arrow.text_columns import unchecked_texts
from lapwing.errors import (
    ArgumentError,
    LapwingWarning,
    MissingExtraError,
    ReportError,
    TornFileError,
)
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
        return input_name(self.table) if isinstance(self.table, Path) else self.table.label

    @property
    def file(self) -> Path | None:
        """The file that can be read again; None of what is read once, or is no file."""
        if isinstance(self.table, Path):
            return None if self.table == STDIN else self.table
        return self.table.file

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
                f"{input_name(path)} is not; write it with: lapwing randomize --by"
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
    table = with_constants(open_table(path), keys)
    return _of_table(table, survey, column, by)


def _has_arrow() -> bool:
    try:
        pyarrow_or_error()
    except MissingExtraError:
        return False
    return True


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


@without_causes
def tally(
    dataset: Any,
    survey: Survey,
    *,
    column: str | None = None,
    by: str | None = None,
    threads: int | None = None,
    skip_bad: bool = False,
    salvage: bool = False,
    progress: Path | str | None = None,
    advance: Advance = unwatched,
) -> ReportCount:
    """Return the exact tally of the reports of a data set.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        Files of reports (.lwr, .parquet, .arrow, .csv) or folders of them, partitioned too; or a
        table of pyarrow (Table, RecordBatchReader, Dataset), polars (also lazy) or pandas. It may
        be larger than memory.
    survey : Survey
        Whose reports they are.
    column : str, optional
        The column of reports. Not needed for files that this package wrote, which also say whose
        they are; of others nobody can tell.
    by : str, optional
        A column of public labels: a tally for each, see :meth:`ReportCount.by_group`.
    threads : int, optional
        How many count beside each other; default: one for each core.
    skip_bad : bool
        Whether rows that hold no report that can have been sent are counted apart, not refused.
    salvage : bool
        Whether the intact blocks of a torn .lwr file are counted, with a warning.
    progress : Path or str, optional
        Where to keep what is done: when the job is killed and asked again, the files that were
        counted are not read again. Whoever has stored the result removes it:
        :func:`lapwing.engines.arrow.saved_progress.finished`.
    advance : callable
        Told the number of rows after each part.

    Returns
    -------
    ReportCount
        With ``.tally``, ``.by_group()``, ``.refused`` and ``.files``. It is the same to the last
        byte however the reports are divided into files and whichever thread is faster.

    Raises
    ------
    ReportError
        With file and row of the first that holds no such report. Nothing is returned.
    MismatchError, ArgumentError, FormatError, OSError
        Before the first row is read: reports of another survey, a missing column or one of another
        type, a file that cannot be read. While they are read: a file that is damaged.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from lapwing.randomizers import SquareWave
    >>> from lapwing.protocol.domains.interval import Interval
    >>> survey = Survey("age", SquareWave(Interval(0, 100, bins=4), epsilon=1))
    >>> counted = tally(pa.table({"report": pa.array([0, 3, 3], pa.uint8())}), survey)
    >>> counted.tally.total
    3
    """
    sources = report_sources(dataset, survey, column=column, by=by)
    threads = threads_or_all(threads)
    total = ReportCount({}, by is not None)
    job = {
        "verb": "tally",
        "survey": survey.fingerprint,
        "column": column,
        "by": by,
        "skip_bad": skip_bad,
        "salvage": salvage,
    }
    saved = SavedProgress(None if progress is None else Path(progress), job)
    stored = saved.load()
    if stored is not None:
        total = count_from_document(parse(stored, name="the progress of a job"))
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
    part = ReportCount({})
    unsaved = ReportCount({})  # of what is read once, or is no file: asked again, it counts again
    before: dict[int, dict[str, Any] | None] = {}

    def jobs() -> Iterator[Callable[[], tuple[int, ReportCount | None]]]:
        for number, source in waiting:
            before[number] = saved.identity(source.file)
            given = source.jobs(skip_bad=skip_bad)
            for job in _intact(given, partial(torn.add, number), salvage=salvage):
                yield partial(_with_number, number, job)
            yield partial(_with_number, number)

    for number, counted in in_order(jobs(), threads=threads):
        source = sources[number]
        if counted is not None:
            part += counted
            advance(counted.total + counted.refused)
            continue
        about = source.finished(part, torn=number in torn)
        files[number] = about
        if source.file is None:
            unsaved += part
        else:
            total += part
        part = ReportCount({})
        saved.add(source.file, before.pop(number), asdict(about))
        if saved.due():
            saved.save(canonical(count_to_document(total)))
    if saved.path is not None:
        saved.save(canonical(count_to_document(total)))
    return replace(total + unsaved, files=tuple(about for about in files if about is not None))


def _with_number(number: int, job: Job | None = None) -> tuple[int, ReportCount | None]:
    return number, None if job is None else job()


def _intact(jobs: Iterator[Job], tear: Callable[[], None], *, salvage: bool) -> Iterator[Job]:
    """Yield the jobs of what is intact; where that is not all, warn if it is to be salvaged."""
    try:
        yield from jobs
    except TornFileError as error:
        if not salvage:
            message = f"{error}; nothing was counted, --salvage counts those"
            raise TornFileError(
                message, path=error.path, block=error.block, intact=error.intact
            ) from None
        tear()
        warnings.warn(f"{error}; only those were counted", LapwingWarning, stacklevel=2)
