"""Two columns of a table are randomized and counted as the library does it, to the last byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.documents import canonical
from lapwing.engines.arrow import randomize, tally
from lapwing.engines.spark import randomize as randomize_in_spark
from lapwing.errors import ArgumentError, DomainError
from lapwing.randomizers import MultiscaleBoxes

PEOPLE = 5003
STARTS = lw.Product(
    ms=lw.Interval(0, 5000, bins=16, missing="bin"),
    hour=lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
)
PAIRS = lw.Survey("start-up", MultiscaleBoxes(STARTS, 1))


def people() -> pa.Table:
    rng = np.random.default_rng(1)
    seconds = rng.integers(0, 86_400, PEOPLE)
    ms = pa.array(rng.gamma(4, 300, PEOPLE), mask=rng.random(PEOPLE) < 0.1)
    kinds = np.array(["phone", "laptop"])[rng.integers(0, 2, PEOPLE)]
    hours = pa.array(seconds, pa.int32()).cast(pa.time32("s"))
    # The columns stand in another order than the axes, and beside others.
    return pa.table({"hour": hours, "id": range(PEOPLE), "ms": ms, "kind": kinds})


@pytest.mark.parametrize("chunk", [PEOPLE, 700])
def test_reports_are_those_of_the_library(tmp_path: Path, chunk: int) -> None:
    table = people()
    parquet.write_table(table, tmp_path / "people.parquet", row_group_size=chunk)
    values = {"ms": table["ms"], "hour": table["hour"]}
    wanted = PAIRS.randomize(values, rng=lw.seeded(5))
    for data in (table, tmp_path / "people.parquet"):
        out = tmp_path / "reports.parquet"
        made = randomize(data, PAIRS, output=out, by="kind", rng=lw.seeded(5), replace=True)
        assert made == PEOPLE
        written = parquet.read_table(out)
        assert written["report"].to_pylist() == [bytes(row) for row in wanted.data]
        assert written["kind"].to_pylist() == table["kind"].to_pylist()
        found = tally(out, PAIRS, by="kind", threads=2)
        assert canonical(found.tally.to_document()) == canonical(PAIRS.tally(wanted).to_document())
        groups = PAIRS.tally(wanted, by=table["kind"].to_pylist(), minimum=10)
        assert found.by_group(minimum=10) == dict(groups.items())


def test_counted_reports_are_those_that_were_counted(tmp_path: Path) -> None:
    table = people()
    reports = PAIRS.randomize({"ms": table["ms"], "hour": table["hour"]})
    cells = pa.table({"report": pa.array([bytes(row) for row in reports.data])})
    counted = cells.group_by("report").aggregate([([], "count_all")])
    counted = counted.rename_columns(
        ["n" if name == "count_all" else name for name in counted.column_names]
    )
    assert counted.num_rows < PEOPLE and pc.sum(counted["n"]).as_py() == PEOPLE
    found = tally(counted, PAIRS, column="report", count_column="n")
    assert canonical(found.tally.to_document()) == canonical(PAIRS.tally(reports).to_document())


def test_a_value_that_is_refused_names_its_column_and_row(tmp_path: Path) -> None:
    table = people().set_column(0, "hour", pa.array([None] + ["01:00"] * (PEOPLE - 1)))
    with pytest.raises(DomainError, match=r"axis hour: .*row 1 "):
        randomize(table, PAIRS, output=tmp_path / "reports.parquet")
    assert not list(tmp_path.iterdir())


def test_spark_says_where_pairs_are_randomized() -> None:
    with pytest.raises(ArgumentError, match=r"asks about ms and hour\. .* lapwing\.engines\.arrow"):
        randomize_in_spark(None, PAIRS, output="reports")
