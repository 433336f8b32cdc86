"""Values of a whole data set: randomized into reports, or counted for a curator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import fingerprint, replacing
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.dataset_tables import tables_of
from lapwing.engines.arrow.ordered_work import Advance, threads_or_all, unwatched
from lapwing.engines.arrow.report_tables import (
    ENDINGS,
    LABELED_ENDINGS,
    write_labeled_reports,
    write_reports,
)
from lapwing.engines.arrow.saved_progress import SavedProgress, finished, identity
from lapwing.engines.arrow.table_reader import Table
from lapwing.errors import ArgumentError
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Decimal, Texts
from lapwing.protocol.messages.exact_counts import (
    ExactCounts,
    counts_by_segment,
    counts_of,
)
from lapwing.protocol.messages.reports import reports_per_block
from lapwing.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the cells of a table are read.

    Parameters
    ----------
    texts : {"iso", "days", "seconds"}
        Texts of dates and times.
    header : bool
        Whether the first line of a CSV names its columns.
    decimal : {".", ","}, optional
        What stands before the fraction of a number in a text.
    """

    texts: Texts = "iso"
    header: bool = True
    decimal: Decimal | None = None


def randomize(
    dataset: Any,
    survey: Survey,
    *,
    output: Path | str,
    column: str | None = None,
    by: str | None = None,
    rng: RandomSource | None = None,
    threads: int | None = None,
    reading: Reading | None = None,
    advance: Advance = unwatched,
) -> int:
    """Turn the values of a data set into reports, and return how many.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        As of :func:`lapwing.engines.arrow.report_tally.tally`; of files: tables.
    survey : Survey
    output : Path or str
        A file, .lwr, .parquet, .arrow or .csv: it appears when all is done. Or a folder: a Parquet
        file for each table; when the job is killed and asked again, the files that are there stay
        as they are, so that nobody's value is randomized into two reports that others may see.
    column : str, optional
        The column of values; not needed where there is one only.
    by : str, optional
        A column of public labels, written beside the reports.
    rng : RandomSource, optional
        For simulations: then one thread works. Default: secure randomness.
    threads : int, optional
        How many work beside each other; default: one for each core.
    reading : Reading, optional
        How cells of texts are read.
    advance : callable
        Told the number of rows after each batch.

    Raises
    ------
    DomainError
        When the column's type does not fit the survey, before any row is read; with file and row
        of the first value that the survey's domain refuses. Then that output is not written.
    ArgumentError, FormatError, OSError
        When a column is missing, or a file cannot be read or written.

    Privacy
    -------
    Randomized where the values lie, they were given away before: this protects from whoever reads
    the reports, not from whoever holds the table.
    """
    output = Path(output)
    reading = reading or Reading()
    columns = randomize_columns(dataset, survey, column=column, by=by, reading=reading)
    workers = 1 if rng is not None else threads_or_all(threads)
    work = partial(_randomized, survey, rng, workers, advance)
    if output.suffix.lower() in ENDINGS:
        return _write_one(output, columns, survey, by, work)
    if output.exists() and not output.is_dir():
        raise ArgumentError(
            f"the output must be a folder, or a file that ends in {', '.join(ENDINGS)}; "
            f"{output.name} is neither"
        )
    output.mkdir(exist_ok=True)
    return _write_folder(output, columns, survey, by, work)


def randomize_columns(
    dataset: Any, survey: Survey, *, column: str | None, by: str | None, reading: Reading
) -> list[ColumnValues]:
    """Return the column of values of each table; checked, and no row is read.

    Parameters and errors are those of :func:`randomize`.
    """
    tables = tables_of(dataset, header=reading.header, decimal=reading.decimal)
    return [_column(one, column, survey.randomizer.domain, by, reading) for one in tables]


def _column(
    table: Table, name: str | None, domain: Domain, by: str | None, reading: Reading
) -> ColumnValues:
    made = ColumnValues.in_table(table, name, domain, by=by, texts=reading.texts)
    made.check_type()
    return made


def _randomized(
    survey: Survey, rng: RandomSource | None, threads: int, advance: Advance, one: ColumnValues
) -> Iterator[Any]:
    rows = reports_per_block(survey.randomizer.report_width)
    work = partial(survey.randomize, rng=rng)
    yield from one.map(work, advance=advance, rows=rows, threads=threads)


Work = Callable[[ColumnValues], Iterator[Any]]


def _write_one(
    output: Path, columns: list[ColumnValues], survey: Survey, by: str | None, work: Work
) -> int:
    ending = output.suffix.lower()
    if by is not None and ending not in LABELED_ENDINGS:
        raise ArgumentError(
            f"reports with labels must be written to {' or '.join(LABELED_ENDINGS)}, not to "
            f"{ending}"
        )
    batches = (batch for one in columns for batch in work(one))
    with replacing(output.resolve()) as stream:
        if by is None:
            return write_reports(stream, survey, batches, ending=ending)
        return write_labeled_reports(stream, survey, batches, ending=ending, by=by)


def _write_folder(
    output: Path, columns: list[ColumnValues], survey: Survey, by: str | None, work: Work
) -> int:
    job: dict[str, Any] = {"verb": "randomize", "survey": survey.fingerprint, "by": by}
    job |= {"columns": sorted({one.name for one in columns}), "texts": columns[0].texts}
    saved = SavedProgress(output / ".lapwing-progress", job)
    begun = saved.load() is not None
    for left in output.glob(".part-*.parquet.*"):  # of a job that was killed: nobody saw them
        left.unlink()
    files = [one.table.path if one.table.is_file else None for one in columns]
    saved.check_only([path for path in files if path is not None])
    total = 0
    for number, (one, path) in enumerate(zip(columns, files, strict=True)):
        part = output / f"part-{number:05d}.parquet"
        said = None if path is None else saved.is_done(path)
        if said is not None and said["output"] == part.name and part.exists():
            total += said["reports"]
            continue
        if part.exists():
            again = "; it is of this job, but of another input" if begun else ""
            raise ArgumentError(
                f"the output {part.name} is there already{again}; choose another folder"
            )
        before = None if path is None else identity(path)
        with replacing(part.resolve()) as stream:
            made = write_labeled_reports(
                stream, survey, _labeled(work(one), by), ending=".parquet", by=by
            )
            # Noted before the file has its name: one that is noted and absent was never seen.
            if path is not None and before is not None:
                saved.add(path, before, {"output": part.name, "reports": made})
                saved.save(b"")
        total += made
    finished(saved.path)
    return total


def _labeled(batches: Iterator[Any], by: str | None) -> Iterator[Any]:
    for batch in batches:
        yield batch if by is not None else (batch, [])


def summarize(
    dataset: Any,
    domain: Domain,
    *,
    column: str | None = None,
    by: str | None = None,
    threads: int | None = None,
    reading: Reading | None = None,
    progress: Path | str | None = None,
    advance: Advance = unwatched,
) -> ExactCounts:
    """Return how many people of a data set hold each symbol: exact, and secret.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        Tables, as of :func:`randomize`.
    domain : Interval, Integers, Categories or Segmented
    column : str, optional
        The column of values.
    by : str, optional
        The column of segments, of a Segmented domain.
    threads : int, optional
        How many count beside each other; default: one for each core.
    reading : Reading, optional
        How cells of texts are read.
    progress : Path or str, optional
        Where to keep what is done, as of :func:`lapwing.engines.arrow.report_tally.tally`. It is
        as secret as the data, and readable by its owner only.
    advance : callable
        Told the number of rows after each batch.

    Raises
    ------
    DomainError, ArgumentError, FormatError, OSError
        When a column is missing or its type does not fit the domain, before a row is read; or a
        file cannot be read. No row is refused.
    """
    require_domain(domain)
    curated = domain.for_curator()
    reading = reading or Reading()
    columns, segments = summary_columns(dataset, curated, column=column, by=by, reading=reading)
    workers = threads_or_all(threads)
    total = np.zeros(curated.size, dtype=np.int64)
    saved = None
    if progress is not None:
        job = {"verb": "summarize", "domain": fingerprint(curated.to_document())}
        saved = SavedProgress(Path(progress), job | {"column": column, "by": by, **asdict(reading)})
        stored = saved.load()
        if stored is not None:
            total += np.frombuffer(stored, dtype="<i8")
        saved.check_only([one.table.path for one in columns if one.table.is_file])
    for one, beside in zip(columns, segments, strict=True):
        path = one.table.path if one.table.is_file else None
        if saved is not None and path is not None and saved.is_done(path) is not None:
            continue
        before = None if saved is None or path is None else identity(path)
        total += symbol_counts(one, beside, curated, workers, advance)
        if saved is not None and path is not None and before is not None:
            saved.add(path, before, {})
            if saved.due():
                saved.save(total.astype("<i8").tobytes())
    if saved is not None:
        saved.save(total.astype("<i8").tobytes())
    return ExactCounts(curated, total)


def summary_columns(
    dataset: Any, curated: Domain, *, column: str | None, by: str | None, reading: Reading
) -> tuple[list[ColumnValues], list[ColumnValues | None]]:
    """Return the column of values of each table, and of segments; checked, and no row is read.

    Parameters
    ----------
    dataset, column, by, reading
        As of :func:`summarize`, and its errors.
    curated : Domain
        Of :meth:`Domain.for_curator`.
    """
    tables = tables_of(dataset, header=reading.header, decimal=reading.decimal)
    cells = curated.domain if isinstance(curated, Segmented) else curated
    columns = [
        ColumnValues.in_table(one, column, cells, texts=reading.texts, curator=True)
        for one in tables
    ]
    segments = [segments_beside(one, by, curated) for one in columns]
    for one in columns:
        one.check_type()
    return columns, segments


def segments_beside(one: ColumnValues, by: str | None, domain: Domain) -> ColumnValues | None:
    """Return the column of segments beside that of the values."""
    if not isinstance(domain, Segmented):
        if by is not None:
            raise ArgumentError("a column of segments needs a domain that has them: Segmented")
        return None
    name = one.table.column(by, option="--by", beside=one.name)
    if name == one.name:
        raise ArgumentError("--by must name another column than --column")
    return ColumnValues(one.table, name, domain.segmentation, curator=True)


def symbol_counts(
    one: ColumnValues,
    beside: ColumnValues | None,
    domain: Domain,
    threads: int = 1,
    advance: Advance = unwatched,
) -> NDArray[np.int64]:
    """Return how many rows of a table hold each symbol: int64 [domain.size].

    Parameters
    ----------
    one, beside : ColumnValues
        Of :func:`summary_columns`.
    domain : Domain
        Of a curator.
    threads : int
    advance : callable
    """
    counts = np.zeros(domain.size, dtype=np.int64)
    if beside is not None and isinstance(domain, Segmented):
        for cells, others in one.beside(beside):
            counts += counts_by_segment(cells, others, domain)
            advance(cells.shape[0])
        return counts
    work = partial(counts_of, domain=domain)
    for part in one.map(work, advance=advance, threads=threads):
        counts += part
    return counts
