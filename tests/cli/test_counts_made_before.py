"""A table of values and counts gives the release that the rows themselves give, or one sentence."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError, RowsWarning
from lapwing.protocol import ExactCounts
from tests.cli.running import Program

DOMAIN = ("--low", "0", "--high", "64", "--bins", "64")
AGES = {"1.5": 3, "63": 1, "": 4, "x": 2, "-5": 6, "70": 5, "2": 0}
INTERVAL = lw.Interval(0, 64, bins=64)
REGIONS = lw.protocol.Segmented(INTERVAL, ["n", "s"])
PROMISE = ("--epsilon", "1", "--neighbors")


def written(path: Path, counts: dict[str, int]) -> str:
    lines = [f"{value},{count}" for value, count in counts.items()]
    path.write_text("\n".join(["age,people", *lines, ""]))
    return path.name


def test_counts_are_those_of_the_rows(tmp_path: Path, done: Program) -> None:
    file = written(tmp_path / "counts.csv", AGES)
    values = [value for value, count in AGES.items() for _ in range(count)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,age", *(f"a,{one}" for one in values), ""]))
    done("count", file, "--count-column", "people", *DOMAIN, "-o", "a.lws")
    done("count", "rows.csv", "-c", "age", *DOMAIN, "-o", "b.lws")
    found = ExactCounts.load(tmp_path / "a.lws")
    assert found == ExactCounts.load(tmp_path / "b.lws")
    assert found.people == sum(AGES.values())


@pytest.mark.parametrize("neighbors", ["replace-one", "add-or-remove-one"])
def test_a_release_of_counts_has_the_sum_as_its_rows(
    tmp_path: Path, done: Program, neighbors: str
) -> None:
    file = written(tmp_path / "counts.csv", {"1": 400, "40": 600, "50": 0})
    wanted = (file, "--count-column", "people", "-c", "age", *DOMAIN, *PROMISE, neighbors)
    done("release", *wanted, "-o", "release.json")
    release = lw.Release.from_json((tmp_path / "release.json").read_text())
    assert release.guarantee.neighbors == neighbors
    (part,) = release.parts
    assert part.people == (1000 if neighbors == "replace-one" else None)
    if part.people is None:
        assert abs(release.mechanism.estimated_people(release) - 1000) < 200


@pytest.mark.parametrize("count", ["-1", "1.5", "", "x", "nan", "inf", "9007199254740993", "1e30"])
@pytest.mark.parametrize("command", ["count", "release"])
def test_a_count_that_is_none_is_refused(
    lapwing: Program, tmp_path: Path, count: str, command: str
) -> None:
    (tmp_path / "counts.csv").write_text(f"age,people\n1,3\n2,{count}\n")
    given = ("counts.csv", "--count-column", "people", *DOMAIN, "-o", "out")
    promise = (*PROMISE, "replace-one") if command == "release" else ()
    ran = lapwing(command, *given, *promise)
    assert ran.code == 3 and not (tmp_path / "out").exists()
    assert "row 2" in ran.err and ran.err.count("\n") <= 3
    assert count == "" or len(count) < 4 or count not in ran.err


def table(**columns: list[object]) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize("counts", [[2**40, 1], [2**53 - 1] * 2, [2**53], [2**63 - 1, 2**63 - 1]])
def test_too_many_rows_are_refused(counts: list[int]) -> None:
    made = table(age=[1.0] * len(counts), n=counts)
    with pytest.raises(DomainError, match=r"2\^40|whole number"):
        lw.engines.arrow.summarize(made, INTERVAL, column="age", count_column="n")


@pytest.mark.parametrize("counts", [[2, None], [2.5, 1.0], [-1, 2], [float("nan"), 1.0]])
def test_typed_counts_that_are_none_are_refused(counts: list[object]) -> None:
    with pytest.raises(DomainError):
        lw.engines.arrow.summarize(table(age=[1, 2], n=counts), INTERVAL, count_column="n")


def test_counts_by_segment_are_those_of_the_rows() -> None:
    ages, where, counts = [1.0, 2.0, None, 3.0], ["n", "s", "n", "x"], [3, 0, 2, 4]
    made = table(age=ages, where=where, n=counts)
    whole = [number for number, count in enumerate(counts) for _ in range(count)]
    rows = table(age=[ages[one] for one in whole], where=[where[one] for one in whole])
    read = {"column": "age", "by": "where"}
    assert lw.engines.arrow.summarize(
        made, REGIONS, count_column="n", **read
    ) == lw.engines.arrow.summarize(rows, REGIONS, **read)


def test_warnings_weigh_the_counts() -> None:
    made = table(age=["x", "1"], n=[150, 50])
    with pytest.warns(RowsWarning, match="of 200 rows: 150 unreadable"):
        lw.engines.arrow.summarize(made, INTERVAL, column="age", count_column="n")


def test_a_unit_has_no_counts() -> None:
    made = table(age=[1], n=[1], who=["a"])
    with pytest.raises(ArgumentError, match="unit says which person each row belongs to"):
        lw.engines.arrow.summarize(
            made, INTERVAL, column="age", count_column="n", unit="who", most=1
        )
    for other in ({"column": "n"}, {"column": "age", "by": "n"}):
        domain = REGIONS if "by" in other else INTERVAL
        with pytest.raises(ArgumentError, match=r"must not be|must differ|must be different"):
            lw.engines.arrow.summarize(made, domain, count_column="n", **other)


def test_no_lines_are_no_rows_and_their_type_is_checked() -> None:
    made = pa.table({"age": pa.array([], pa.float64()), "n": pa.array([], pa.int64())})
    assert lw.engines.arrow.summarize(made, INTERVAL, count_column="n").people == 0
    wrong = pa.table({"age": pa.array([], pa.float64()), "n": pa.array([], pa.bool_())})
    with pytest.raises(DomainError):
        lw.engines.arrow.summarize(wrong, INTERVAL, count_column="n")
