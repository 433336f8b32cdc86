"""Values of a whole data set: randomized into reports, or counted for a curator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic_files import check_absent, replacing
from lapwing.docstrings import inherits
from lapwing.documents import fingerprint
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.counted_tables import value_and_count, weighted_counts
from lapwing.engines.arrow.dataset_tables import tables_of
from lapwing.engines.arrow.inputs import codec_of, without_causes
from lapwing.engines.arrow.ordered_work import Advance, threads_or_all, unwatched
from lapwing.engines.arrow.report_folder import ReportFolder, SavedProgress
from lapwing.engines.arrow.report_tables import (
    ENDINGS,
    LABELED_ENDINGS,
    check_label_column,
    write_reports,
)
from lapwing.engines.arrow.table_reader import Table
from lapwing.engines.arrow.unit_columns import add_unit_rows, check_units, unit_column
from lapwing.errors import ArgumentError
from lapwing.privacy.guarantee import PrivacyUnit
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.row_counts import Examine, RowCounts, warn_of_rows
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Decimal, Texts, Thousands, check_marks
from lapwing.protocol.messages.exact_counts import ExactCounts, counts_by_segment, counts_of
from lapwing.protocol.messages.reports import reports_per_block
from lapwing.protocol.messages.unit_rows import UnitRows
from lapwing.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options for reading the cells of a table.

    Parameters
    ----------
    texts : {"iso", "days", "seconds"}
        Format of strings with dates, times and durations. Default: "iso" (ISO 8601). The others
        are numbers of days or seconds: since 1970-01-01, since midnight for a time of day, or of a
        duration.
    header : bool
        Whether the first line of a CSV names its columns. Default: True.
    decimal : {".", ","}, optional
        Decimal separator of numbers in strings. Default: None.
    thousands : {",", ".", "'", " "}, optional
        Thousands separator of numbers in strings. Currency and percent signs are then ignored, so
        "$1,234" is 1234 and "12%" is 12. Default: None.
    encoding : str, optional
        Encoding of a CSV, by its Python name. Default: UTF-8, or UTF-16 if the file begins with
        its byte-order mark.

    Raises
    ------
    ArgumentError
        When a separator or encoding is not known, or both separators are the same.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.engines.arrow.Reading(decimal=",").header
    True
    """

    texts: Texts = "iso"
    header: bool = True
    decimal: Decimal | None = None
    thousands: Thousands | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        check_marks(self.decimal, self.thousands)
        codec_of(self.encoding)

    def of_tables(self) -> dict[str, Any]:
        """Return the arguments with which tables are opened.

        Returns
        -------
        dict
            Arguments by name.
        """
        return {name: value for name, value in vars(self).items() if name != "texts"}

    def to_job(self) -> dict[str, Any]:
        """Return what a stored job states about it: newer options only if they are set.

        Returns
        -------
        dict
            JSON object.
        """
        held = asdict(self)
        return {key: held[key] for key in held if key not in _NEWER or held[key] is not None}


_NEWER = ("thousands", "encoding")
"""What jobs of earlier versions do not have."""


@without_causes
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
    replace: bool = False,
    advance: Advance = unwatched,
    examine: Examine = warn_of_rows,
) -> int:
    """Randomize the values of a data set into reports, and return the number of reports.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        Tables, as for :func:`lapwing.engines.arrow.tally`.
    survey : Survey
        Survey whose randomizer is used.
    output : Path or str
        A file: .lwr, .parquet, .arrow or .csv. Or a folder, which must be absent or empty: it gets
        a Parquet file for each table. The output appears complete, when everything is done. If
        several processes write to it at once, only one publishes. If the job of a folder is killed
        and started again, it keeps the finished parts, which nobody has seen yet, and continues.
    column : str, optional
        Column of values. Default: the only column.
    by : str, optional
        Column of public labels, written next to the reports. Default: none.
    rng : RandomSource, optional
        Default: secure randomness. A seeded source is for simulation only, and then only one
        thread works.
    threads : int, optional
        Number of threads, at least 1. Default: one for each core.
    reading : Reading, optional
        Options for reading cells. Default: ``Reading()``.
    replace : bool
        Whether an existing file is replaced. A folder is never replaced. Default: False.
    advance : callable
        Function to call with the number of rows after each batch. Default: does nothing.
    examine : callable
        Called with the :class:`lapwing.protocol.domains.row_counts.RowCounts` of all rows and the
        domain, before the output appears. Default: gives a RowsWarning if most rows have no value.

    Returns
    -------
    int
        Number of reports.

    Raises
    ------
    DomainError
        When the column's type does not fit the survey, before any row is read. Also at the first
        value that the survey's domain refuses. The error gives its file and row, and that output
        is not written.
    ArgumentError, FormatError, OSError
        When a column is missing, the output exists or another process writes to it, or a file
        cannot be read or written.

    Notes
    -----
    **Privacy.** The owner of the table already has the values. So this protects against readers of
    the reports, not against the owner of the table.

    Nothing is memoized. Another run over the same people costs each of them the epsilon of one
    report again, even in a survey with memoized reports. Only a device file
    (:class:`lapwing.client.Device`) stores a report or a permanent round.

    **Cost.** Linear time. The data set may be larger than memory.

    Examples
    --------
    >>> import lapwing as lw
    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=10), epsilon=1))
    >>> with TemporaryDirectory() as folder:
    ...     output = Path(folder) / "reports.parquet"
    ...     lw.engines.arrow.randomize(pa.table({"age": [41, 29, 63]}), survey, output=output)
    3
    """
    check_label_column(by)
    output = Path(output)
    reading = reading or Reading()
    tables = tables_of(dataset, **reading.of_tables())
    domain, texts = survey.randomizer.domain, reading.texts
    columns = [ColumnValues.in_table(one, column, domain, by=by, texts=texts) for one in tables]
    for one in columns:
        one.check_type()
    workers = 1 if rng is not None else threads_or_all(threads)
    work = partial(write_columns, survey=survey, by=by, rng=rng, threads=workers, advance=advance)
    ending = output.suffix.lower()
    if ending in ENDINGS:
        if by is not None and ending not in LABELED_ENDINGS:
            raise ArgumentError(
                f"reports with labels must be written to {' or '.join(LABELED_ENDINGS)}, not to "
                f"{ending}"
            )
        output, seen = output.resolve(), RowCounts()
        if not replace:
            check_absent(output)
        with replacing(output, absent=not replace) as stream:
            total: int = work(stream, columns, ending=ending, rows=seen)
            examine(seen, domain)
            return total
    if output.exists() and not output.is_dir():
        raise ArgumentError(
            "output",
            f"must be a folder, or a file that ends in {', '.join(ENDINGS)}",
            advice=f"{output.name} is neither",
        )
    return _write_folder(output, columns, survey, by, work, examine, reading)


def write_columns(
    stream: IO[bytes],
    columns: Sequence[ColumnValues],
    *,
    survey: Survey,
    ending: str,
    by: str | None = None,
    rng: RandomSource | None = None,
    threads: int = 1,
    advance: Advance = unwatched,
    rows: RowCounts | None = None,
) -> int:
    """Write the reports of the values of some columns. Return how many.

    columns: With the column of labels where there is one.
    survey, by, rng, threads, advance: As of :func:`randomize`.
    ending: As of :func:`lapwing.engines.arrow.report_tables.write_reports`.
    rows: Gets how many values are missing and outside.
    """
    work = partial(survey._reports, rng=rng)
    size = reports_per_block(survey.randomizer.report_width)
    batches = (
        batch
        for people in columns
        for batch in people.map(work, advance=advance, size=size, threads=threads, rows=rows)
    )
    return write_reports(stream, survey, batches, ending=ending, by=by)


def _write_folder(
    output: Path,
    columns: list[ColumnValues],
    survey: Survey,
    by: str | None,
    work: Callable[..., int],
    examine: Examine,
    reading: Reading,
) -> int:
    job: dict[str, Any] = {"verb": "randomize", "survey": survey.fingerprint, "by": by}
    job |= {"columns": sorted({one.name for one in columns}), "texts": columns[0].texts}
    job |= {"decimals": sorted({one.decimal for one in columns})}
    job |= {key: value for key, value in reading.to_job().items() if key in _NEWER}
    folder = ReportFolder(output.resolve())
    with folder.locked():
        saved = folder.progress(job, [one.table.file for one in columns])
        total, seen = 0, RowCounts()
        for number, one in enumerate(columns):

            def write(stream: IO[bytes], one: ColumnValues = one) -> dict[str, Any]:
                rows = RowCounts()
                made = work(stream, [one], ending=".parquet", rows=rows)
                return {"reports": made, "rows": asdict(rows)}

            noted = folder.finish_part(number, one.table.file, saved, write)
            total += noted["reports"]
            seen += RowCounts(**noted["rows"])
        examine(seen, survey.randomizer.domain)  # before anybody sees the reports
        folder.publish()
    return total


@without_causes
@inherits(randomize)
def summarize(
    dataset: Any,
    domain: Domain,
    *,
    column: str | None = None,
    by: str | None = None,
    unit: str | None = None,
    most: int | None = None,
    count_column: str | None = None,
    rng: RandomSource | None = None,
    threads: int | None = None,
    reading: Reading | None = None,
    progress: Path | str | None = None,
    advance: Advance = unwatched,
    examine: Examine = warn_of_rows,
) -> ExactCounts:
    """Count the people of a data set by symbol: an exact histogram, which is secret.

    Parameters
    ----------
    domain : Interval, Integers, Categories or Segmented
        Domain of the values.
    by : str, optional
        Column of segments, for a Segmented domain. Default: none.
    unit : str, optional
        Column that identifies the privacy unit of each row. Then only one thread works, and no
        progress is stored. Default: each row belongs to a different person.
    most : int, optional
        With `unit`: largest number of rows counted for one unit in all files together. If a unit
        has more rows, a random choice of them is counted.
    count_column : str, optional
        Column of whole numbers: how many rows have the value of this line, in a table of values
        that were already counted. A release protects one of these rows, not all rows of a person.
        Default: each line is one row.
    rng : RandomSource, optional
        Randomness for this choice. Default: secure randomness.
    threads : int, optional
        Number of threads, at least 1. Default: one for each core.
    progress : Path or str, optional
        File for the progress of the job, as for :func:`lapwing.engines.arrow.tally`. It is as
        secret as the data, and readable only by its owner. Default: none.
    examine : callable
        Called with the :class:`lapwing.protocol.domains.row_counts.RowCounts` of the rows that were
        read and the domain. Default: gives a RowsWarning if most rows have no value in the range.

    Returns
    -------
    ExactCounts
        Exact histogram, which is secret.

    Raises
    ------
    DomainError, ArgumentError, FormatError, OSError
        When a column is missing or its type does not fit the domain, before a row is read. Also
        when a file cannot be read. No row is refused, except for a count that is missing,
        negative, not whole or too large.

    Examples
    --------
    >>> import lapwing as lw
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [41, 29, 63]})
    >>> lw.engines.arrow.summarize(table, lw.Interval(0, 100, bins=10)).people
    3
    """
    require_domain(domain)
    curated = domain.for_curator()
    reading = reading or Reading()
    columns = [
        curator_columns(
            one, curated, column=column, by=by, texts=reading.texts, count_column=count_column
        )
        for one in tables_of(dataset, **reading.of_tables())
    ]
    check_units(unit, most, progress, count_column)
    if unit is not None and most is not None:
        return _unit_counts(columns, curated, PrivacyUnit(unit, most), rng, advance, examine)
    workers = threads_or_all(threads)
    total = np.zeros(curated.size, dtype=np.int64)
    job = {
        "verb": "summarize",
        "domain": fingerprint(curated.to_document()),
        "column": column,
        "by": by,
        **({} if count_column is None else {"count_column": count_column}),
        **reading.to_job(),
    }
    saved = SavedProgress(None if progress is None else Path(progress), job)
    stored = saved.load()
    if stored is not None:
        total += np.frombuffer(stored, dtype="<i8")
    saved.check_only([one.table.file for one, _ in columns])
    unsaved = np.zeros_like(total)  # of what is no file: asked again, it counts again
    rows = RowCounts()
    for one, beside in columns:
        if saved.is_done(one.table.file) is not None:
            continue
        before = saved.identity(one.table.file)
        counted = total if one.table.file is not None else unsaved
        if count_column is None:
            counted += symbol_counts(one, beside, curated, workers, advance, rows=rows)
        else:
            counted += weighted_counts(one, beside, count_column, curated, advance, rows=rows)
        saved.add(one.table.file, before, {})
        if saved.due():
            saved.save(total.astype("<i8").tobytes())
    saved.save(total.astype("<i8").tobytes())
    examine(rows, curated.domain if isinstance(curated, Segmented) else curated)
    return ExactCounts(curated, total + unsaved)


def _unit_counts(
    columns: list[tuple[ColumnValues, ColumnValues | None]],
    curated: Domain,
    unit: PrivacyUnit,
    rng: RandomSource | None,
    advance: Advance,
    examine: Examine,
) -> ExactCounts:
    names = [unit_column(one, unit.name, beside) for one, beside in columns]
    kept, rows = UnitRows(unit.most, source_of(rng)), RowCounts()
    for name, (one, beside) in zip(names, columns, strict=True):
        add_unit_rows(kept, one, name, beside, curated, advance, rows=rows)
    counts = kept.counts(curated.size)
    rows.beyond = kept.beyond
    examine(rows, curated.domain if isinstance(curated, Segmented) else curated)
    return ExactCounts(curated, counts, unit, standing_of(kept.source))


def curator_columns(
    table: Table,
    curated: Domain,
    *,
    column: str | None,
    by: str | None,
    texts: Texts,
    count_column: str | None = None,
) -> tuple[ColumnValues, ColumnValues | None]:
    """Return the column of values of a table, and that of segments. Checked, no row is read.

    curated: Of :meth:`Domain.for_curator`.
    column, by, texts, count_column: As of :func:`summarize`, and its errors.
    """
    cells = curated.domain if isinstance(curated, Segmented) else curated
    if count_column is not None:
        column, count_column = value_and_count(table, column, count_column)
    values = ColumnValues.in_table(table, column, cells, texts=texts, curator=True)
    beside = segments_beside(values, by, curated)
    if beside is not None and beside.name == count_column:
        raise ArgumentError("by", "must not be count_column", others=("count_column",))
    values.check_type()
    if beside is not None:
        beside.check_type()
    return values, beside


def segments_beside(one: ColumnValues, by: str | None, domain: Domain) -> ColumnValues | None:
    """Return the column of segments alongside that of the values."""
    if not isinstance(domain, Segmented):
        if by is not None:
            raise ArgumentError("a column of segments needs a Segmented domain")
        return None
    name = one.table.column(by, option="by", beside=one.name)
    if name == one.name:
        raise ArgumentError("by", "must differ from column", others=("column",))
    return ColumnValues(one.table, name, domain.segmentation, curator=True)


def symbol_counts(
    one: ColumnValues,
    beside: ColumnValues | None,
    domain: Domain,
    threads: int = 1,
    advance: Advance = unwatched,
    *,
    rows: RowCounts,
) -> NDArray[np.int64]:
    """Return how many rows of a table hold each symbol: int64 [domain.size].

    one, beside: Of :func:`curator_columns`.
    domain: Of a curator.
    rows: Gets how many values are missing, unreadable and outside.
    """
    counts = np.zeros(domain.size, dtype=np.int64)
    if beside is not None and isinstance(domain, Segmented):
        for cells, others, read in one.beside(beside):
            counts += counts_by_segment(cells, others, domain, rows=read)
            rows += read
            advance(cells.shape[0])
        return counts
    work = partial(counts_of, domain=domain)
    for part in one.map(work, advance=advance, threads=threads, rows=rows):
        counts += part
    return counts
