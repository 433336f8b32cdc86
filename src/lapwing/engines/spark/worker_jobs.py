"""Work of a task on its partition: the Arrow engine applied to Spark's batches.

Each function takes what the driver said, as JSON, and an iterator of pyarrow.RecordBatch objects,
and yields such. Rows are named by partition and row: where that is in the input, the driver finds.

Counts of some partitions are rows of a data frame, which other tasks or the driver add up. A row is
a tally, counts as canonical JSON or a log as its reports, or the tallies of all labels together.
The rows that hold no report are a number alongside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lapwing.documents import canonical, parse
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.counted_tables import weighted_counts
from lapwing.engines.arrow.ordered_work import unwatched
from lapwing.engines.arrow.report_count import ReportCount, ReportCounter
from lapwing.engines.arrow.report_tables import report_batch
from lapwing.engines.arrow.report_tally import ReportSource
from lapwing.engines.arrow.table_reader import Table
from lapwing.engines.arrow.value_jobs import segments_beside, symbol_counts
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.messages.group_labels import Label, check_groups
from lapwing.protocol.messages.group_tally import GroupTally
from lapwing.protocol.messages.reports import Reports, reports_per_block
from lapwing.protocol.messages.tally import Tally, TallyLog
from lapwing.survey.survey import Survey

Batches = Iterator[Any]
Given = dict[str, Any]

_LOG_REPORTS = 2**20
"""Reports of a log that a task holds before it hands them on."""


_BYTES_TOGETHER = 2**20
"""Bytes of small batches that are counted at once."""


def partition() -> int:
    """Return the number of the partition at hand."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return -1 if context is None else int(context.partitionId())


@dataclass(frozen=True)
class _Handed:
    """The batches of a partition, which come once."""

    schema: Any
    given: Batches

    def batches(self, columns: list[str]) -> Batches:
        """Yield some columns, as fewer batches: Spark hands 10,000 rows at a time, each a call."""
        import pyarrow as pa

        waiting: list[Any] = []
        for batch in self.given:
            waiting.append(batch.select(columns))
            if sum(one.nbytes for one in waiting) >= _BYTES_TOGETHER:
                yield pa.concat_batches(waiting)
                waiting = []
        if waiting:
            yield pa.concat_batches(waiting)


def _table(given: Given, batches: Batches) -> Table | None:
    """Return a partition as a table. None when it has no rows."""
    for batch in batches:
        if batch.num_rows:
            break
    else:
        return None

    def whole() -> Batches:
        yield batch
        yield from batches

    names = tuple(batch.schema.names)
    held = _Handed(batch.schema, whole())
    name = Path(f"partition {partition()}")
    return Table(name, names, None, given["typed"], source=held, is_file=False)


@cache
def _survey(text: str) -> Survey:
    return Survey.from_json(text)


def count_reports(given: Given, batches: Batches) -> Batches:
    """Yield the counts of a partition."""
    survey = _survey(given["survey"])
    table = _table(given, batches)
    if table is None:
        return
    source = ReportSource(
        table, survey, given["column"], tuple(given["by"]), given.get("count_column")
    )

    def started() -> ReportCounter:
        return source.counter(skip_bad=given["skip_bad"], most_groups=given["most_groups"])

    log = isinstance(nothing_of(survey), TallyLog)
    counter, reports = started(), 0
    for job in source.jobs(counter):
        for rows in job():
            counter.add(rows)
            reports += rows.total
        if log and reports >= _LOG_REPORTS:
            yield from rows_of(counter.result(), task=partition())
            counter, reports = started(), 0
    yield from rows_of(counter.result(), task=partition())


def check_number(counted: ReportCount, most: int) -> None:
    """Raise ArgumentError when there are more groups than somebody allowed."""
    check_groups(counted.groups, most)


def add_counts(given: Given, batches: Batches) -> Batches:
    """Yield the sum of the counts of some partitions."""
    total = added(batches, _survey(given["survey"]))
    check_number(total, given["most_groups"])
    yield from rows_of(total, task=partition())


def _column(given: Given, table: Table, domain: Domain, *, curator: bool) -> ColumnValues:
    by = given["by"] if not curator else None
    texts, decimal = given["texts"], given["decimal"]
    return ColumnValues(table, given["column"], domain, by, texts, curator, decimal)


def randomize_values(given: Given, batches: Batches) -> Batches:
    """Yield a report for each value, under randomness that this process's own system gives."""
    import pyarrow as pa

    survey = _survey(given["survey"])
    table = _table(given, batches)
    if table is None:
        return
    values = _column(given, table, survey.randomizer.domain, curator=False)
    size = reports_per_block(survey.randomizer.report_width)
    seen = RowCounts()
    for made in values.map(survey._reports, advance=unwatched, size=size, rows=seen):
        reports, labels = made if given["by"] is not None else (made, None)
        batch = report_batch(reports, survey, labels=labels, by=given["by"])
        yield batch.set_column(0, "report", batch.column(0).cast(pa.binary()))
    given["rows"].add(seen.numbers)


def summarize_values(given: Given, batches: Batches) -> Batches:
    """Yield the exact counts of a partition."""
    domain = build_domain(json.loads(given["domain"])).for_curator()
    table = _table(given, batches)
    if table is None:
        return
    cells = domain.domain if given["by"] is not None else domain  # type: ignore[attr-defined]
    values = _column(given, table, cells, curator=True)
    beside = segments_beside(values, given["by"], domain)
    rows, counted = RowCounts(), given.get("count_column")
    if counted is None:
        counts = symbol_counts(values, beside, domain, 1, unwatched, rows=rows)
    else:
        counts = weighted_counts(values, beside, counted, domain, unwatched, rows=rows)
    yield _row_of(np.append(counts, rows.numbers))


def _row_of(counts: Any) -> Any:
    import pyarrow as pa

    content = counts.astype("<i8").tobytes()
    task = pa.array([partition()], pa.int32())
    return pa.record_batch({"task": task, "content": pa.array([content], pa.binary())})


def add_summaries(given: Given, batches: Batches) -> Batches:
    """Yield the sum of the counts of some partitions."""
    total = sum_of(batches)
    if total is not None:
        yield _row_of(total)


def sum_of(batches: Batches) -> Any:
    """Return the sum of rows of counts: int64 [n], or None of no row."""
    total = None
    for batch in batches:
        for cell in batch.column("content"):
            counts = np.frombuffer(cell.as_py(), dtype="<i8").astype(np.int64)
            total = counts if total is None else total + counts
    return total


def find_row(given: Given, batches: Batches) -> Batches:
    """Yield one row of one partition: the file that it stands in, and its number there."""
    if partition() != given["partition"]:
        return
    first = 0
    for batch in batches:
        if given["row"] < first + batch.num_rows:
            yield batch.slice(given["row"] - first, 1).select(["file", "index"])
            return
        first += batch.num_rows


COLUMNS = "task int, labeled boolean, content binary, refused long"
"""The schema of the rows, as Spark writes it."""

WIDE = 2**16
"""Bytes of a tally from which on tasks add them up before the driver does."""

_ROW_BYTES = 2**24
"""Most bytes of reports of a log in a row."""


def rows_of(counted: ReportCount, *, task: int) -> Iterator[Any]:
    """Yield counts as record batches of one row, or more where it is a log."""
    import pyarrow as pa

    contents: list[bytes | None] = [None]
    if isinstance(counted.groups, GroupTally):
        contents.append(counted.groups.to_bytes())
    else:
        contents += [content for one in counted.groups.values() for content in _contents(one)]
    for place, content in enumerate(contents):
        refused = 0 if place else counted.refused
        if content is None and not refused:
            continue
        yield pa.record_batch(
            {
                "task": pa.array([task], pa.int32()),
                "labeled": pa.array([counted.grouped]),
                "content": pa.array([content], pa.binary()),
                "refused": pa.array([refused], pa.int64()),
            }
        )


def _contents(tally: Tally) -> Iterator[bytes]:
    if not isinstance(tally, TallyLog):
        yield canonical(tally.to_document())
        return
    records = tally.records()
    step = _ROW_BYTES // tally.width * tally.width
    for start in range(0, len(records), step):
        yield records[start : start + step]


def added(batches: Iterable[Any], survey: Survey) -> ReportCount:
    """Return the sum of rows. ArgumentError when there are more groups than anybody looks at."""
    total = ReportCount({})
    for batch in batches:
        for row in batch.to_pylist():
            groups: Mapping[Label, Tally] = {}
            if row["content"] is not None and row["labeled"]:
                groups = GroupTally.from_bytes(row["content"])
            elif row["content"] is not None:
                groups = {None: _tally(bytes(row["content"]), survey)}
            total += ReportCount(groups, row["labeled"], row["refused"])
    return total


def nothing_of(survey: Survey) -> Tally:
    """Return the tally of no reports, which says what the others are and how large."""
    none = np.zeros((0, survey.randomizer.report_width), dtype=np.uint8)
    tally: Tally = survey.tally(Reports(none, survey.randomizer.fingerprint))
    return tally


def _tally(content: bytes, survey: Survey) -> Tally:
    if not isinstance(nothing_of(survey), TallyLog):
        return Tally.from_document(parse(content, name="the count of a task"))
    data = np.frombuffer(content, dtype=np.uint8).reshape(-1, survey.randomizer.report_width)
    counted: Tally = survey.tally(Reports(data, survey.randomizer.fingerprint))
    return counted
