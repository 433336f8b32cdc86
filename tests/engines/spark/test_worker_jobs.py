"""What a task does with its batches, without Spark: all of them count, once, and rows are named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lapwing
from lapwing import Categories, Interval, RandomizedResponse, SquareWave, Survey, seeded
from lapwing.engines import arrow
from lapwing.engines.spark import job_errors, worker_jobs
from lapwing.engines.spark.worker_jobs import added
from lapwing.errors import ArgumentError, ReportError
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.messages.reports import Reports

pytest.importorskip("pyspark", reason="PySpark is not here: pip install '.[test]'")

PEOPLE = 500
SURVEY = Survey("age", SquareWave(Interval(0, 100, bins=16), epsilon=1))
# A lie has a chance of 20 e^-24 = 8e-10 a report.
SURE = Survey("sure", RandomizedResponse(Categories(20), 24))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are put together by some and some."""
    monkeypatch.setattr(worker_jobs, "_BYTES_TOGETHER", 900)


def _table(bad: tuple[int, ...] = ()) -> tuple[pa.Table, Reports]:
    reports = SURVEY.randomize(np.linspace(0, 100, PEOPLE), rng=seeded(1))
    cells = [b"\xff\xff\xff" if row in bad else bytes(one) for row, one in enumerate(reports.data)]
    places = [f"p{row % 3}" for row in range(PEOPLE)]
    table = pa.table({"report": pa.array(cells, pa.binary()), "place": places})
    kept = np.delete(reports.data, list(bad), axis=0)
    return table, Reports(kept, reports.fingerprint)


def _given(**more: Any) -> dict[str, Any]:
    given = {"survey": SURVEY.to_json(), "column": "report", "by": [], "skip_bad": False}
    return given | {"typed": True, "most_groups": 1000} | more


def _task(batches: Iterator[Any], given: dict[str, Any], job: str = "count_reports") -> list[Any]:
    return list(job_errors.task(lapwing.__version__, job, given)(batches))


@pytest.mark.parametrize("rows", [1, 7, 33, 499, 500])
def test_every_batch_counts_once(rows: int) -> None:
    table, _ = _table()
    empty = table.slice(0, 0).to_batches() or [
        pa.record_batch([[], []], schema=table.schema),
    ]
    for by in ([], ["place"]):
        batches = iter([*empty, *table.to_batches(max_chunksize=rows), *empty])
        found = added(_task(batches, _given(by=by)), SURVEY)
        wanted = arrow.tally(table, SURVEY, column="report", by=by[0] if by else None)
        assert found.groups == wanted.groups and found.total == PEOPLE
    assert _task(iter(empty), _given()) == []


@pytest.mark.parametrize("rows", [40, 500])
def test_bad_rows_have_their_number(rows: int) -> None:
    table, kept = _table(bad=(123, 124, 499))
    with pytest.raises(RuntimeError) as caught:
        _task(iter(table.to_batches(max_chunksize=rows)), _given())
    said = json.loads(str(caught.value).partition(job_errors.MARK)[2])
    assert said["kind"] == ReportError.__name__ and said["position"] == 123
    assert "partition -1: " in said["message"] and "row 124 " in said["message"]
    for by in ([], ["place"]):
        batches = iter(table.to_batches(max_chunksize=rows))
        found = added(_task(batches, _given(by=by, skip_bad=True)), SURVEY)
        assert found.refused == 3 and found.tally == SURVEY.tally(kept)


def test_too_many_groups_end_the_task() -> None:
    table, _ = _table()
    with pytest.raises(RuntimeError, match=ArgumentError.__name__):
        _task(iter(table.to_batches()), _given(by=["place"], most_groups=2))


def test_another_version_ends_the_task_before_it_reads() -> None:
    def unread() -> Iterator[Any]:
        raise AssertionError("a batch was read")
        yield

    task = job_errors.task("0.0.1", "count_reports", _given())
    with pytest.raises(RuntimeError, match=r"the driver has 0\.0\.1"):
        list(task(unread()))


class Seen:
    """As an accumulator of Spark."""

    numbers: list[int]

    def add(self, numbers: list[int]) -> None:
        self.numbers = numbers


def test_each_value_gets_one_report_and_tasks_share_no_randomness() -> None:
    values = pa.table({"v": [row % 20 for row in range(PEOPLE)], "k": ["a", "b"] * (PEOPLE // 2)})
    given = {"survey": SURE.to_json(), "column": "v", "by": "k"}
    seen = Seen()
    given |= {"texts": "iso", "decimal": ".", "typed": True, "rows": seen}
    made = _task(iter(values.to_batches(max_chunksize=33)), given, "randomize_values")
    reports = pa.Table.from_batches(made)
    held = SURE.randomize(values["v"].to_pylist(), rng=seeded(1))
    assert reports["report"].to_pylist() == [bytes(one) for one in held.data]
    assert reports["k"].to_pylist() == values["k"].to_pylist()
    assert seen.numbers == RowCounts(PEOPLE).numbers
    same = pa.table({"v": [50.0] * 300}).to_batches(max_chunksize=100)
    noisy = given | {"survey": SURVEY.to_json(), "by": None}
    # The same survey, kept by this process, in two tasks: by chance equal below 10^-50.
    one, two = (
        pa.Table.from_batches(_task(iter(same), noisy, "randomize_values"))["report"].to_pylist()
        for _ in range(2)
    )
    assert one != two and one[:100] != one[100:200] and len(one) == 300


@pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")
def test_summaries_count_every_batch() -> None:
    domain = Interval(0, 10, bins=5)
    table = pa.table({"v": [row % 13 - 1.0 for row in range(PEOPLE)]})
    wanted = arrow.summarize(table, domain, column="v")
    given = {"domain": json.dumps(wanted.domain.to_document()), "column": "v", "by": None}
    given |= {"texts": "iso", "decimal": ".", "typed": True}
    for rows in (7, 500):
        parts = [
            batch
            for part in (table.slice(0, 200), table.slice(200))
            for batch in _task(iter(part.to_batches(max_chunksize=rows)), given, "summarize_values")
        ]
        assert len(parts) == 2
        outside = int(sum(not 0 <= value <= 10 for value in table["v"].to_pylist()))
        whole = [*wanted.counts, *RowCounts(PEOPLE, outside=outside, clipped=outside).numbers]
        np.testing.assert_array_equal(worker_jobs.sum_of(iter(parts)), whole)
        merged = _task(iter(parts), given, "add_summaries")
        np.testing.assert_array_equal(worker_jobs.sum_of(iter(merged)), whole)


def test_a_row_is_found_in_its_own_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"file": [f"f{n // 40}" for n in range(100)], "index": list(range(100))})
    monkeypatch.setattr(worker_jobs, "partition", lambda: 3)
    for row in (0, 6, 7, 99):
        batches = rows.to_batches(max_chunksize=7)
        (found,) = worker_jobs.find_row({"partition": 3, "row": row}, iter(batches))
        assert found.to_pylist() == [{"file": f"f{row // 40}", "index": row}]
        assert not list(worker_jobs.find_row({"partition": 2, "row": row}, iter(batches)))
