"""`--unit` and `--most`: several rows of one person in tables, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.privacy import PrivacyUnit
from lapwing.protocol import ExactCounts
from lapwing.protocol.messages.unit_rows import unit_text
from tests.cli.running import Program

PROMISE = ("--epsilon", "1", "--delta", "1e-6", "--neighbors", "replace-one")
UNIT = ("-c", "age", "--unit", "who", "--most", "2")


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, done: Program) -> None:
    """Six rows of each of 500 people, half of them in each table; and twenty rows of nobody."""
    ages = np.random.default_rng(1).normal(40, 10, 3020).clip(0, 99).round(1)
    who = [f" {n % 500} " if n % 2 else str(n % 500) for n in range(3000)] + ["", "NA"] * 10
    for name, rows in (("a", slice(0, 1500)), ("b", slice(1500, 3020))):
        part = list(zip(ages[rows].tolist(), who[rows], strict=True))
        region = ["north" if age < 40 else "south" for age, _ in part]
        table = [f"{age},{of},{r}\n" for (age, of), r in zip(part, region, strict=True)]
        (tmp_path / f"{name}.csv").write_text("age,who,region\n" + "".join(table))
        numbers: list[int | None] = []
        for _, of in part:
            numbers.append(int(of) if of.strip().isdigit() else None)
        columns: dict[str, Any] = {"age": ages[rows], "who": numbers, "region": region}
        parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    domain = ("new", "--domain-only", "--low", "0", "--high", "100", "--bins", "32")
    done(*domain, "-o", "ages.json")
    done(*domain, "--segment", "north", "--segment", "south", "-o", "regions.json")


@pytest.mark.parametrize(
    "names", [("a.csv", "b.csv"), ("a.parquet", "b.csv"), ("b.parquet", "a.csv")]
)
def test_a_unit_counts_at_most_its_rows_over_all_files(
    names: tuple[str, ...], done: Program, tmp_path: Path
) -> None:
    run = done("count", *names, "--domain", "ages.json", *UNIT, "-o", "both.lws", "--json")
    assert run.document["unit"] == {"name": "who", "most": 2}
    counts = ExactCounts.load(tmp_path / "both.lws")
    assert counts.people == 1000 and counts.unit == PrivacyUnit("who", 2)
    shown = done("show", "both.lws").out
    assert "who (at most 2 rows)" in shown and "1000" not in shown and "1,000" not in shown


def test_files_that_were_counted_apart_may_share_a_unit(done: Program, tmp_path: Path) -> None:
    for name in ("a", "b"):
        done("count", f"{name}.csv", "--domain", "ages.json", *UNIT, "-o", f"{name}.lws")
    done("count", "a.lws", "b.lws", "-o", "both.lws")
    assert ExactCounts.load(tmp_path / "both.lws").unit == PrivacyUnit("who", 4)
    done("release", "both.lws", *PROMISE, "-o", "out.json")
    found = lw.Release.load(tmp_path / "out.json")
    assert found.people is None and found.guarantee.unit == PrivacyUnit("who", 4)


def test_a_release_and_its_payment_name_the_unit(done: Program, tmp_path: Path) -> None:
    done("ledger", "budget.json", "--epsilon", "2", "--delta", "1e-5", *PROMISE[-2:])
    given = ("release", "a.csv", "--domain", "ages.json", *UNIT, *PROMISE)
    run = done(*given, "-o", "out.json", "--ledger", "budget.json")
    assert "of who (at most 2 rows)" in run.out
    said = " ".join(done("ledger", "budget.json").out.split())
    assert "protects" in said and "who (at most 2 rows)" in said and "one row" not in said
    rows = ("release", "a.csv", "--domain", "ages.json", "-c", "age", "--epsilon", "0.1")
    warned = done(*rows, *PROMISE[-2:], "-o", "rows.json", "--ledger", "budget.json").err
    assert "protects one row, but others in this ledger do not" in " ".join(warned.split())
    said = " ".join(done("ledger", "budget.json").out.split())
    assert "one row" in said and "each payment by row counts once per row" in said
    first, second = lw.Ledger.load(tmp_path / "budget.json").entries
    assert first.guarantee.unit == PrivacyUnit("who", 2) and second.guarantee.unit is None
    tried = done(*given, "--dry-run", "1000", "--json").document
    rows = done("release", "a.csv", "--domain", "ages.json", "-c", "age", *PROMISE, "--dry-run",
                "1000", "--json").document  # fmt: skip
    ratio = tried["expected_error"]["deviation"] / rows["expected_error"]["deviation"]
    assert 1.8 < ratio < 2.2


def test_segments_of_units(done: Program, tmp_path: Path) -> None:
    given = ("--domain", "regions.json", "--by", "region", *UNIT)
    done("count", "a.csv", "b.parquet", *given, "-o", "table.lws")
    assert ExactCounts.load(tmp_path / "table.lws").people == 1000
    done("release", "table.lws", *PROMISE[:2], *PROMISE[-2:], "-o", "out.json")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("--unit", "who"), "--unit and --most belong together"),
        (("--most", "2"), "--unit and --most belong together"),
        (
            ("--unit", "who", "--most", "0"),
            "--most must be a whole number from 1 to 1,048,576, got 0",
        ),
        (("--unit", "whom", "--most", "2"), "whom"),
        (("--unit", "age", "--most", "2"), "--unit must differ from --column"),
        (("--unit", "who", "--most", "2", "--mechanism", "adaptive-quantiles"), "with a unit"),
    ],
)
def test_what_cannot_be_is_refused_before_it_is_paid(
    wrong: tuple[str, ...], says: str, done: Program, lapwing: Program, tmp_path: Path
) -> None:
    done("ledger", "budget.json", "--epsilon", "2", "--delta", "1e-5", *PROMISE[-2:])
    before = (tmp_path / "budget.json").read_bytes()
    given = ("release", "a.csv", "--domain", "ages.json", "-c", "age", *PROMISE, "-o", "out.json")
    refused = lapwing(*given, *wrong, "--ledger", "budget.json")
    assert refused.code in (2, 5) and says in refused.complaint
    assert (tmp_path / "budget.json").read_bytes() == before
    assert not (tmp_path / "out.json").exists()


def test_progress_of_units_and_units_of_counts_are_refused(done: Program, lapwing: Program) -> None:
    given = ("count", "a.csv", "--domain", "ages.json", *UNIT, "-o", "a.lws")
    refused = lapwing(*given, "--resume")
    assert refused.code == 2 and "--resume" in refused.complaint
    done(*given)
    for again in (
        ("count", "a.lws", "-o", "b.lws"),
        ("release", "a.lws", *PROMISE, "-o", "b.json"),
    ):
        refused = lapwing(*again, "--unit", "who", "--most", "2")
        assert refused.code == 2 and "already have a" in refused.complaint


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_person_is_one_whether_written_as_a_float_or_not(
    ending: str, done: Program, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("who,v\n7,1\n8,2\n")
    names = ["7.0", " 7.0 ", "", "-0.0", "0", "07"]
    if ending == ".csv":
        (tmp_path / "b.csv").write_text("who,v\n" + "".join(f"{name},2\n" for name in names))
    else:
        table = pa.table({"who": names, "v": [2.0] * len(names)})
        parquet.write_table(table, tmp_path / "b.parquet")
    done("new", "--domain-only", "--low", "0", "--high", "4", "--bins", "4", "-o", "d.json", "-q")
    words = ("--column", "v", "--domain", "d.json", "--unit", "who", "--most", "1")
    done("count", "a.csv", f"b{ending}", *words, "-o", "o.lws", "-q")
    assert ExactCounts.load(tmp_path / "o.lws").people == 4  # 7, 8, 0 and 07


def test_names_of_units_and_labels_of_segments_are_compared_differently() -> None:
    written = ("7.0", "-7.0", "0.0", "-0.0", "7.00", "07.0", "7.", "7.5")
    named = ["7", "-7", "0", "0", "7.00", "07.0", "7.", "7.5"]
    assert [unit_text(name) for name in written] == named
    segments = lw.protocol.Segmented(lw.Interval(0, 4, bins=4), [7, 8]).segmentation
    assert segments.index_or_missing(["7", "7.0", 7.0]).tolist() == [0, 2, 0]
