"""Transforms for pipelines of Beam: reports and values counted, values randomized.

What is added is a pure function of the batch, and ``+`` is exact and associative. So Beam may
combine in any order on any number of workers, and a bundle that failed and is run again counts
once: what its first run had counted is thrown away with that run, as nothing is kept elsewhere.

A PCollection of single reports, rows or values is gathered in the accumulator, and counted
thousands at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.arrow_values import labels_of, values_of
from lapwing.engines.arrow.report_count import ReportCount, ReportCounter, columns_by
from lapwing.engines.arrow.report_tables import check_report_table, report_batch, report_schema
from lapwing.engines.arrow.table_reader import texts_of_metadata
from lapwing.engines.arrow.text_columns import without_views
from lapwing.errors import ArgumentError, MissingExtraError, kind_of
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.row_counts import RowCounts, warn_of_rows
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.exact_counts import ExactCounts, counts_of
from lapwing.protocol.messages.reports import Reports
from lapwing.survey.survey import Survey

try:
    from apache_beam import CombineFn, DoFn, ParDo, PTransform, Reshuffle
except ImportError:

    class _Absent:
        """What stands in for a class of Beam: it says what to install when it is made."""

        def __new__(cls, *_: Any, **__: Any) -> _Absent:
            raise MissingExtraError("apache-beam", extra="beam")

    CombineFn = DoFn = ParDo = PTransform = Reshuffle = _Absent

Total = TypeVar("Total")

_AT_ONCE = 8192
"""Single elements that wait until they are counted together."""


@dataclass
class Accumulated(Generic[Total]):
    """What was counted, and single elements that wait for it."""

    total: Total
    waiting: list[Any] = field(default_factory=list)


class CountReports(CombineFn):  # type: ignore[misc]
    """CombineFn of Beam: the exact counts of reports, of all of them or of each key.

    ``batches | beam.CombineGlobally(CountReports(survey))`` gives one
    :class:`lapwing.engines.arrow.ReportCount`, the same to the last byte as that of the Arrow
    engine. ``beam.CombinePerKey(CountReports(survey))`` gives one for each key.

    Parameters
    ----------
    survey : Survey
        Survey of the reports. Batches of files that lapwing wrote name their survey. Other batches
        do not, so the survey must be the right one.
    column : str
        Column of reports in a batch or a row. Default: "report".
    by : str or sequence of str, optional
        Columns of public labels: a tally for each label in the one result, for at most 100,000. Of
        several columns the label is that of a partitioned folder: "country=PT/year=2026". Default:
        none.
    count_column : str, optional
        Column with the number of times that each report was sent. Default: none, once each.
    skip_bad : bool
        Whether elements that are no valid report are counted apart instead of refused. Default:
        False.

    Raises
    ------
    ReportError, ArgumentError, MismatchError
        While the pipeline runs: see :func:`lapwing.engines.arrow.count`.

    Notes
    -----
    An element is a RecordBatch or Table of pyarrow (as ``ReadFromParquetBatched`` gives), Reports,
    or the bytes of one report. It may also be a row: a mapping, or an object with such attributes.

    Examples
    --------
    >>> import apache_beam as beam  # doctest: +SKIP
    >>> import lapwing as lw
    >>> count = lw.engines.beam.CountReports(survey)  # doctest: +SKIP
    >>> counted = batches | beam.CombineGlobally(count)  # doctest: +SKIP
    """

    def __init__(
        self,
        survey: Survey,
        *,
        column: str = "report",
        by: str | Sequence[str] | None = None,
        count_column: str | None = None,
        skip_bad: bool = False,
    ) -> None:
        super().__init__()
        self.survey, self.column, self.skip_bad = survey, column, skip_bad
        self.by, self.count_column = columns_by(by), count_column

    def create_accumulator(self) -> Accumulated[ReportCount]:
        """Return an empty count.

        Returns
        -------
        Accumulated
            Count without reports.
        """
        return Accumulated(ReportCount({}, bool(self.by), columns=self.by))

    def add_input(
        self, accumulated: Accumulated[ReportCount], element: Any
    ) -> Accumulated[ReportCount]:
        """Count an element, or keep it until there are some thousands.

        Parameters
        ----------
        accumulated : Accumulated
            Count so far.
        element : pyarrow.RecordBatch, pyarrow.Table, Reports, bytes, mapping or object
            Batch of reports, one report, or a row with a report.

        Returns
        -------
        Accumulated
            Count with the element.
        """
        if isinstance(element, Reports):
            self._check_ungrouped()
            if element.fingerprint != self.survey.randomizer.fingerprint:
                self.survey.tally(element)  # says whose they are
            counter = self._counter()
            counter.add(counter.read_records(element.data))
            return Accumulated(accumulated.total + counter.result(), accumulated.waiting)
        if is_arrow(element):
            return Accumulated(accumulated.total + self._count(element), accumulated.waiting)
        accumulated.waiting.append(self._row(element))
        return accumulated if len(accumulated.waiting) < _AT_ONCE else self.compact(accumulated)

    def merge_accumulators(
        self, parts: Iterable[Accumulated[ReportCount]]
    ) -> Accumulated[ReportCount]:
        """Return the sum of several counts.

        Parameters
        ----------
        parts : iterable of Accumulated
            Counts of different elements.

        Returns
        -------
        Accumulated
            Count of all elements.
        """
        total = self.create_accumulator().total
        for one in parts:
            total += self.compact(one).total
        return Accumulated(total)

    def compact(self, accumulated: Accumulated[ReportCount]) -> Accumulated[ReportCount]:
        """Count the waiting elements, for example before the count travels to another worker.

        Parameters
        ----------
        accumulated : Accumulated
            Count so far.

        Returns
        -------
        Accumulated
            Same count, without waiting elements.
        """
        if not accumulated.waiting:
            return accumulated
        import pyarrow as pa

        cells = zip(*accumulated.waiting, strict=True)
        columns = {
            name: column_of(held, name=name) for name, held in zip(self._names, cells, strict=True)
        }
        return Accumulated(accumulated.total + self._count(pa.table(columns)))

    def extract_output(self, accumulated: Accumulated[ReportCount]) -> ReportCount:
        """Return the result of a count.

        Parameters
        ----------
        accumulated : Accumulated
            Count of all elements.

        Returns
        -------
        ReportCount
            Tallies of all elements.
        """
        return self.compact(accumulated).total

    def _count(self, rows: Any) -> ReportCount:
        check_report_table(Path("a batch"), texts_of_metadata(rows.schema), self.survey)
        for name in self._names:
            column_in(rows, name)
        counter = self._counter()
        for batch in batches_of(rows):
            counter.add(counter.read(batch))
        return counter.result()

    @property
    def _names(self) -> list[str]:
        return [self.column, *self.by, *([] if self.count_column is None else [self.count_column])]

    def _counter(self) -> ReportCounter:
        return ReportCounter(
            self.survey,
            column=self.column,
            by=self.by,
            count_column=self.count_column,
            skip_bad=self.skip_bad,
        )

    def _row(self, element: Any) -> tuple[Any, ...]:
        if isinstance(element, bytes):
            self._check_ungrouped()
            return (element,)
        return tuple(cell_of(element, name) for name in self._names)

    def _check_ungrouped(self) -> None:
        if len(self._names) > 1:
            raise ArgumentError(
                f"reports alone have no column {self._names[1]!r}. Give batches or rows, or leave "
                "out by and use CombinePerKey"
            )


class CountValues(CombineFn):  # type: ignore[misc]
    """CombineFn of Beam: the exact histogram of values, which is secret, for a curator.

    ``batches | beam.CombineGlobally(CountValues(domain, column="income"))`` gives one
    :class:`lapwing.protocol.ExactCounts`. ``beam.CombinePerKey`` gives one for each key. The
    pipeline's data, accumulators and result are raw data, so they must stay with the curator.

    Parameters
    ----------
    domain : Interval, Integers or Categories
        Domain of the values.
    column : str, optional
        Column of values in a batch or a row. Default: None, where each element is a value.
    texts : {"iso", "days", "seconds"}
        Format of strings with dates and times. Default: "iso" (ISO 8601). Else numbers of days or
        seconds since 1970-01-01, or since midnight for a time of day.

    Raises
    ------
    ArgumentError
        When the domain is segmented. Use ``CombinePerKey`` with the domain of the values instead.

    Notes
    -----
    With a column, an element is a RecordBatch or Table of pyarrow, or a row: a mapping, or an
    object with such attributes. Without one, it is a value. No value is refused. A value outside
    the domain is clipped, or counts as missing.

    Examples
    --------
    >>> import apache_beam as beam  # doctest: +SKIP
    >>> import lapwing as lw
    >>> count = lw.engines.beam.CountValues(domain, column="income")  # doctest: +SKIP
    >>> exact = batches | beam.CombineGlobally(count)  # doctest: +SKIP
    """

    def __init__(self, domain: Domain, *, column: str | None = None, texts: Texts = "iso") -> None:
        super().__init__()
        if isinstance(domain, Segmented):
            raise ArgumentError(
                "count each segment by its key: give the domain of the values alone, and use "
                "CombinePerKey"
            )
        require_domain(domain)
        self.domain, self.column, self.texts = domain.for_curator(), column, texts

    def create_accumulator(self) -> Accumulated[_Counted]:
        """Return an empty count.

        Returns
        -------
        Accumulated
            Count without people.
        """
        return Accumulated(_Counted(np.zeros(self.domain.size, dtype=np.int64), RowCounts()))

    def add_input(self, accumulated: Accumulated[_Counted], element: Any) -> Accumulated[_Counted]:
        """Count an element, or keep it until there are some thousands.

        Parameters
        ----------
        accumulated : Accumulated
            Count so far.
        element : pyarrow.RecordBatch, pyarrow.Table, mapping, object or value
            Batch of values, a row with a value, or a value.

        Returns
        -------
        Accumulated
            Count with the element.
        """
        if is_arrow(element):
            self._count(element, accumulated.total)
            return accumulated
        value = element if self.column is None else cell_of(element, self.column)
        accumulated.waiting.append(value)
        return accumulated if len(accumulated.waiting) < _AT_ONCE else self.compact(accumulated)

    def merge_accumulators(self, parts: Iterable[Accumulated[_Counted]]) -> Accumulated[_Counted]:
        """Return the sum of several counts.

        Parameters
        ----------
        parts : iterable of Accumulated
            Counts of different elements.

        Returns
        -------
        Accumulated
            Count of all elements.
        """
        merged = self.create_accumulator()
        for one in parts:
            part = self.compact(one).total
            merged.total.counts += part.counts
            merged.total.add(part.rows)
        return merged

    def compact(self, accumulated: Accumulated[_Counted]) -> Accumulated[_Counted]:
        """Count the waiting elements, for example before the count travels to another worker.

        Parameters
        ----------
        accumulated : Accumulated
            Count so far.

        Returns
        -------
        Accumulated
            Same count, without waiting elements.
        """
        if accumulated.waiting:
            total = accumulated.total
            waiting, rows = accumulated.waiting, RowCounts()
            total.counts += counts_of(waiting, self.domain, texts=self.texts, rows=rows)
            total.add(rows)
            accumulated = Accumulated(total)
        return accumulated

    def extract_output(self, accumulated: Accumulated[_Counted]) -> ExactCounts:
        """Return the exact histogram.

        Parameters
        ----------
        accumulated : Accumulated
            Count of all elements.

        Returns
        -------
        ExactCounts
            Exact histogram, which is secret.

        Warns
        -----
        RowsWarning
            When most rows have no value in the range.
        """
        total = self.compact(accumulated).total
        warn_of_rows(total.rows, self.domain)
        return ExactCounts(self.domain, total.counts)

    def _count(self, rows: Any, total: _Counted) -> None:
        if self.column is None:
            raise ArgumentError("column must name the values of batches, it was left out")
        for batch in batches_of(rows):
            cells, read = column_in(batch, self.column), RowCounts()
            values = values_of(
                cells, self.domain, column=self.column, typed=True, texts=self.texts, rows=read
            )
            total.counts += counts_of(values, self.domain, rows=read)
            total.add(read)


@dataclass
class _Counted:
    """How many rows hold each symbol, and how many have no value in the range.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [symbols].
    rows : RowCounts
        Without the first unreadable one: elements come in any order.
    """

    counts: NDArray[np.int64]
    rows: RowCounts

    def add(self, rows: RowCounts) -> None:
        """Add the counts of more rows."""
        rows.first = None
        self.rows += rows


def is_arrow(element: Any) -> bool:
    """Return whether an element is rows of Arrow. Nothing is imported to ask."""
    return type(element).__name__ in ("RecordBatch", "Table") and hasattr(element, "schema")


def batches_of(rows: Any) -> list[Any]:
    """Return a RecordBatch or Table of pyarrow as batches that have rows."""
    batches = rows.to_batches() if hasattr(rows, "to_batches") else [rows]
    return [batch for batch in batches if batch.num_rows]


def column_in(batch: Any, name: str) -> Any:
    """Return a column of a batch. ArgumentError where there is none of that name."""
    if batch.schema.names.count(name) != 1:
        names = ", ".join(map(str, batch.schema.names[:20]))
        raise ArgumentError(f"each batch must have one column {name!r}. This one has: {names}")
    return without_views(batch.column(batch.schema.get_field_index(name)))


def cell_of(row: Any, name: str) -> Any:
    """Return a field of a mapping or of an object. ArgumentError where it has none."""
    if isinstance(row, Mapping):
        if name in row:
            return row[name]
    elif hasattr(row, name):
        return getattr(row, name)
    raise ArgumentError(
        f"each row must have a field {name!r}, {kind_of(row)} has none. Check the column"
    )


def column_of(cells: Iterable[Any], *, name: str) -> Any:
    """Return single cells as a pyarrow.Array. ArgumentError where they are of several types."""
    import pyarrow as pa

    try:
        return pa.array(list(cells))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise ArgumentError(
            f"all cells of {name!r} must be of one type: bytes, strings or whole numbers"
        ) from None


class RandomizeValues(PTransform):  # type: ignore[misc]
    """PTransform of Beam: batches of values become tables of reports.

    ``tables | step | beam.io.WriteToParquetBatched(path, step.schema)`` writes files that name the
    survey of their reports.

    Parameters
    ----------
    survey : Survey
        Survey whose randomizer is used.
    column : str
        Column of values.
    by : str, optional
        Column of public labels that stays next to the reports, in the clear. Default: none.
    texts : {"iso", "days", "seconds"}
        Format of strings with dates and times. Default: "iso" (ISO 8601). Else numbers of days or
        seconds since 1970-01-01, or since midnight for a time of day.

    Raises
    ------
    DomainError
        While the pipeline runs: at a value that the survey's domain refuses, with its position in
        the batch.

    Notes
    -----
    **Privacy.** A runner may run a bundle again, and then its values are randomized again. Two
    different reports of one value that somebody sees cost twice the epsilon. So a Reshuffle comes
    after the randomization. Later steps always get the output of the one run that was committed.
    Every step that writes to the outside must come after this transform. A runner that stores
    nothing between its stages (Spark's, after it lost an executor) can run the first stage again.
    There, end the pipeline with a file sink of Beam. It keeps the files of committed runs only and
    deletes the others. Read the files in another pipeline, and close the folder to others until the
    first pipeline is done.

    Each worker uses the randomness of its operating system. The holder of the table already has the
    values. So this protects from readers of the reports only.

    Nothing is memoized. Another run over the same people costs each of them the epsilon of one
    report again, also in a survey with memoized reports. Only a device file
    (:class:`lapwing.client.Device`) stores a report or a permanent round.

    Examples
    --------
    >>> import apache_beam as beam  # doctest: +SKIP
    >>> import lapwing as lw
    >>> step = lw.engines.beam.RandomizeValues(survey, column="income")  # doctest: +SKIP
    >>> reports = tables | step  # doctest: +SKIP
    """

    def __init__(
        self,
        survey: Survey,
        *,
        column: str,
        by: str | None = None,
        texts: Texts = "iso",
    ) -> None:
        super().__init__()
        self.schema = report_schema(survey, by=by)
        """The pyarrow.Schema of the tables."""
        self.work = _Randomizing(survey, column, by, texts)

    def expand(self, batches: Any) -> Any:
        """Return the reports of a collection of batches.

        Parameters
        ----------
        batches : beam.PCollection
            Batches of pyarrow with a column of values.

        Returns
        -------
        beam.PCollection
            Tables of pyarrow with a column of reports.
        """
        return batches | ParDo(self.work) | Reshuffle()


class _Randomizing(DoFn):  # type: ignore[misc]
    """A batch of values into a batch of reports."""

    def __init__(self, survey: Survey, column: str, by: str | None, texts: Texts) -> None:
        super().__init__()
        self.survey, self.column, self.by, self.texts = survey, column, by, texts

    def process(self, rows: Any) -> Iterator[Any]:
        """Yield tables of reports."""
        import pyarrow as pa

        for batch in batches_of(rows):
            values = values_of(
                column_in(batch, self.column),
                self.survey.randomizer.domain,
                column=self.column,
                typed=True,
                texts=self.texts,
            )
            labels = None
            if self.by is not None:
                labels = labels_of(column_in(batch, self.by), column=self.by)
            reports = self.survey._reports(values)
            made = report_batch(reports, self.survey, labels=labels, by=self.by)
            yield pa.Table.from_batches([made])
