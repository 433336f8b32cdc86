"""Labels that match nothing are told of before a release is paid, on the screen alone."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.engines import arrow
from lapwing.errors import RowsWarning
from tests.cli.running import Program

BINS = lw.Interval(0, 100, bins=4)
ALIKE = "some values differ from a label only by leading zeros, case, spaces or '.0'"


def write(path: Path, groups: list[Any]) -> None:
    values = [float(row % 100) for row in range(len(groups))]
    if path.suffix == ".csv":
        lines = [f"{group},{value}" for group, value in zip(groups, values, strict=True)]
        path.write_text("year,grade\n" + "\n".join(lines) + "\n")
    else:
        parquet.write_table(pa.table({"year": groups, "grade": values}), path)


@pytest.fixture
def by_year(done: Program) -> None:
    words = ("--low", "0", "--high", "100", "--segment", "1", "--segment", "2", "-q")
    done("new", "--domain-only", *words, "-o", "d.json")


RELEASE = ("-c", "grade", "--by", "year", "--domain", "d.json", "--epsilon", "1", "--neighbors")


@pytest.mark.usefixtures("by_year")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (["1.0", "2.0"] * 200, f"400 in no listed segment, {ALIKE}"),
        (["1"] * 399 + ["02"], f"1 in no listed segment, {ALIKE}"),
        (["north"] * 201 + ["1"] * 199, "201 in no listed segment"),
    ],
    ids=["floats", "one", "others"],
)
def test_groups_that_are_no_segments(
    groups: list[str], said: str, ending: str, done: Program, tmp_path: Path
) -> None:
    write(tmp_path / f"g{ending}", groups)
    done("ledger", "b.json", "--epsilon", "1", "--neighbors", "replace-one", "-q")
    before = (tmp_path / "b.json").read_bytes()
    tried = done("release", f"g{ending}", *RELEASE, "replace-one", "--dry-run", "400")
    assert f"warning: of 400 rows: {said}. " in tried.err
    assert (tmp_path / "b.json").read_bytes() == before
    made = done("release", f"g{ending}", *RELEASE, "replace-one", "--json", "-o", "r.json")
    assert f"warning: of 400 rows: {said}. " in made.err
    for text in (made.out, (tmp_path / "r.json").read_text()):
        assert "no listed segment" not in text and "differ from a label" not in text


@pytest.mark.usefixtures("by_year")
def test_half_in_no_segment_is_no_fault(done: Program, tmp_path: Path) -> None:
    write(tmp_path / "g.csv", ["north", "1"] * 200)
    made = done("release", "g.csv", *RELEASE, "replace-one", "-o", "r.json")
    assert "segments" not in made.err.partition("too few")[0]


CONTAINERS: list[Any] = [
    *(list, np.array, pandas.Series, polars.Series, pa.array),
    *(
        lambda cells: pandas.Series(cells, dtype="category"),
        lambda cells: pa.chunked_array([cells]),
    ),
    *(lambda cells: polars.Series(cells).cast(str).cast(polars.Categorical),),
    lambda cells: np.array(cells, dtype=object),
]


@pytest.mark.parametrize("made", CONTAINERS)
@pytest.mark.parametrize(
    ("labels", "cells"),
    [
        (["02134", "01234"], [2134, 1234]),
        (["north", "south"], ["North ", "north"]),
        ([1, 2], ["1.0", "2.0"]),
        (["New York", "x"], ["new  york", "x"]),
        (3, ["1.0", "2"]),
    ],
)
@pytest.mark.parametrize("other", [False, True])
def test_every_container(made: Any, labels: Any, cells: list[Any], other: bool) -> None:
    listed = labels if isinstance(labels, int) else [*labels, "others"]
    another = {"other": 0 if isinstance(labels, int) else "others"} if other else {}
    domain = lw.Categories(listed, **another)
    with pytest.warns(RowsWarning, match=ALIKE):
        lw.protocol.ExactCounts.of_values(made(cells * 100), domain)
    within = lw.protocol.Segmented(BINS, list(range(3)) if isinstance(labels, int) else labels)
    with pytest.warns(RowsWarning, match=ALIKE):
        lw.protocol.ExactCounts.of_segments([1.0] * 200, made(cells * 100), within)
    table = pa.table({"v": [1.0] * 200, "c": pa.array(cells * 100)})
    with pytest.warns(RowsWarning, match=ALIKE):
        arrow.summarize(table, within, column="v", by="c")
    if labels != 3:  # of counted labels no text is kept, and half are told of as no labels
        with pytest.warns(RowsWarning, match=ALIKE):
            arrow.summarize(table, domain, column="c")


@pytest.mark.parametrize("made", CONTAINERS)
def test_most_rows_are_another(made: Any) -> None:
    domain = lw.Categories(["a", "rest"], other="rest")
    with pytest.warns(RowsWarning, match="of 200 rows: 102 counted as 'rest'. Check the column"):
        lw.protocol.ExactCounts.of_values(made(["a"] * 98 + ["b"] * 102), domain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.protocol.ExactCounts.of_values(made(["a"] * 100 + ["b"] * 100), domain)
        lw.protocol.ExactCounts.of_values(made(["a"] * 10 + ["rest"] * 190), domain)
        lw.protocol.ExactCounts.of_values(made(["A"] * 49 + ["b"] * 50), domain)  # too few to tell


def test_one_of_very_many_is_found() -> None:
    cells = ["a"] * 300_000 + ["A"]
    with pytest.warns(RowsWarning, match=ALIKE):
        lw.protocol.ExactCounts.of_values(pa.array(cells), lw.Categories(["a", "b"]))


def test_an_answer_of_a_segment_warns_in_one_line(
    done: Program, by_year: None, tmp_path: Path
) -> None:
    write(tmp_path / "g.csv", ["1", "2"] * 20)
    done("release", "g.csv", *RELEASE, "replace-one", "-o", "r.json", "-q")
    with warnings.catch_warnings(record=True) as raw:
        warnings.simplefilter("always")
        made = done("answer", "r.json", "--segment", "1", "--quantile", "0.5")
    assert not raw and made.err.count("lapwing: warning: 1, 2: too few people") == 1
