"""Reports of a whole data set, counted: larger than memory, by many threads, goes on if killed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from lapwing.documents import canonical, parse
from lapwing.engines.arrow.ordered_work import in_order, threads_or_all
from lapwing.engines.arrow.report_count import (
    FileCount,
    ReportCount,
    count_from_document,
    count_to_document,
)
from lapwing.engines.arrow.report_sources import Job, ReportSource, report_sources
from lapwing.engines.arrow.saved_progress import SavedProgress, identity
from lapwing.errors import LapwingWarning, TornFileError
from lapwing.survey.survey import Survey

Advance = Callable[[int], None]


def _nothing(rows: int) -> None:
    """Nobody watches."""


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
    advance: Advance = _nothing,
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
    saved, total = None, ReportCount({}, by is not None)
    if progress is not None:
        job = {
            "verb": "tally",
            "survey": survey.fingerprint,
            "column": column,
            "by": by,
            "skip_bad": skip_bad,
            "salvage": salvage,
        }
        saved = SavedProgress(Path(progress), job)
        total = _counted_before(saved, total)
        saved.check_only([source.file for source in sources if source.file is not None])
    return _run(sources, total, saved, threads, skip_bad, salvage, advance)


def _run(
    sources: list[ReportSource],
    total: ReportCount,
    saved: SavedProgress | None,
    threads: int,
    skip_bad: bool,
    salvage: bool,
    advance: Advance,
) -> ReportCount:
    files: list[FileCount | None] = [None] * len(sources)
    waiting: list[tuple[int, ReportSource]] = []
    for number, source in enumerate(sources):
        said = None if saved is None or source.file is None else saved.is_done(source.file)
        if said is None:
            waiting.append((number, source))
        else:
            files[number] = FileCount(**said)
    torn: set[int] = set()
    part = ReportCount({})
    before: dict[int, dict[str, Any]] = {}

    def jobs() -> Iterator[Callable[[], tuple[int, ReportCount | None]]]:
        for number, source in waiting:
            if saved is not None and source.file is not None:
                before[number] = identity(source.file)
            given = source.jobs(skip_bad=skip_bad)
            for job in _intact(given, partial(torn.add, number), salvage=salvage):
                yield partial(_with_number, number, job)
            yield partial(_end, number)

    for number, counted in in_order(jobs(), threads=threads):
        source = sources[number]
        if counted is not None:
            part += counted
            advance(counted.total + counted.refused)
            continue
        about = source.finished(part, torn=number in torn)
        files[number] = about
        total += part
        part = ReportCount({})
        if saved is not None and source.file is not None:
            saved.add(source.file, before.pop(number), asdict(about))
            if saved.due():
                saved.save(_bytes_of(total))
    if saved is not None:
        saved.save(_bytes_of(total))
    return replace(total, files=tuple(about for about in files if about is not None))


def _with_number(number: int, job: Job) -> tuple[int, ReportCount | None]:
    return number, job()


def _end(number: int) -> tuple[int, ReportCount | None]:
    return number, None


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


def _bytes_of(total: ReportCount) -> bytes:
    document = count_to_document(total)
    del document["files"]  # of these, SavedProgress tells
    return canonical(document)


def _counted_before(saved: SavedProgress, nothing: ReportCount) -> ReportCount:
    stored = saved.load()
    return nothing if stored is None else count_from_document(parse(stored, name=saved.path.name))
