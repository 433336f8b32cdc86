"""Tallies by segment in Parquet are read wherever those in JSON are, with the same answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from tests.cli.running import Program


@pytest.fixture
def survey(tmp_path: Path) -> lw.Survey:
    """A survey, and its tallies by country and by month as JSON and as Parquet."""
    made = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=10), epsilon=2))
    made.save(tmp_path / "survey.json")
    reports = made.randomize(np.linspace(0, 100, 400), rng=lw.seeded(1))
    labels = {
        "countries": ["PT"] * 250 + ["DE"] * 150,
        "months": ["2026-01"] * 200 + ["2026-02"] * 200,
    }
    for name, by in labels.items():
        tallies = made.tally(reports, by=by, minimum=1)
        for ending in ("json", "parquet"):
            tallies.save(tmp_path / f"{name}.{ending}")
    return made


def both(done: Program, *arguments: str) -> list[dict[str, object]]:
    """What a command says of the tallies in JSON and in Parquet."""
    found = []
    for ending in ("json", "parquet"):
        words = [word.replace("ENDING", ending) for word in arguments]
        found.append(json.loads(done(*words, "--json").out.replace(f".{ending}", "")))
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ("decode", "survey.json", "countries.ENDING", "--segment", "PT"),
        ("show", "countries.ENDING"),
        ("series", "survey.json", "months.ENDING"),
        ("series", "survey.json", "months.ENDING", "--segment", "2026-01"),
        ("merge", "countries.ENDING", "-o", "sum.tally", "--force"),
    ],
)
def test_a_command_says_the_same_of_both(
    done: Program, survey: lw.Survey, arguments: tuple[str, ...]
) -> None:
    first, second = both(done, *arguments)
    assert first == second


def test_results_of_two_segments_of_a_table_are_of_different_people(
    done: Program, survey: lw.Survey
) -> None:
    for name, ending in (("PT", "json"), ("PT", "parquet"), ("DE", "parquet")):
        made = ("decode", "survey.json", f"countries.{ending}", "--segment", name)
        done(*made, "-o", f"{name}.{ending}.json")
    assert lw.load("PT.json.json") == lw.load("PT.parquet.json")
    assert Path("PT.json.json").read_bytes() == Path("PT.parquet.json").read_bytes()
    document = done("compare", "PT.json.json", "DE.parquet.json", "--json").document
    assert document["people"] == "different"


def test_what_a_file_says_counts_and_not_how_its_name_ends(
    done: Program, survey: lw.Survey
) -> None:
    Path("countries.parquet").rename("countries.tally")
    assert lw.load("countries.tally") == lw.tallies.GroupTallies.load("countries.tally")
    done("decode", "survey.json", "countries.tally", "--segment", "PT")
    assert "150 reports" in done("show", "countries.tally").out


@pytest.mark.parametrize("more", [(), ("--segment", "PT")])
@pytest.mark.parametrize(
    "arguments",
    [
        ("answer", "countries.parquet", "--above", "3"),
        ("plot", "countries.parquet", "-o", "p.png"),
        ("compare", "countries.parquet", "countries.parquet"),
    ],
)
def test_commands_on_results_say_what_to_do_with_tallies(
    lapwing: Program, survey: lw.Survey, arguments: tuple[str, ...], more: tuple[str, ...]
) -> None:
    run = lapwing(*arguments, *more)
    assert run.code in (2, 4)
    assert "Decode one" in run.complaint and "countries.parquet --segment" in run.complaint


def test_other_tables_are_refused_by_what_they_are(
    lapwing: Program, done: Program, survey: lw.Survey
) -> None:
    parquet.write_table(pa.table({"age": [1.0, 2.0]}), "ages.parquet")
    done("randomize", "survey.json", "ages.parquet", "-o", "reports.parquet")
    run = lapwing("decode", "survey.json", "reports.parquet")
    assert run.code == 4
    assert "holds reports. Add them up first: lapwing tally SURVEY" in run.complaint
    assert "is a table (Parquet)" in lapwing("decode", "survey.json", "ages.parquet").complaint
    damaged = Path("countries.parquet").read_bytes()[:-9]
    Path("countries.parquet").write_bytes(damaged)
    assert lapwing("decode", "survey.json", "countries.parquet").code == 4


def test_a_folder_of_weeks_may_be_of_tables(done: Program, survey: lw.Survey) -> None:
    for number, week in enumerate(("2026-W01", "2026-W03")):
        reports = survey.randomize(np.linspace(0, 100, 200), rng=lw.seeded(number + 2))
        tallies = survey.tally(reports, by=["PT", "DE"] * 100, minimum=1)
        for ending in ("json", "parquet"):
            Path(ending).mkdir(exist_ok=True)
            tallies.save(Path(ending, f"{week}.{ending}"))
    first, second = (
        done("series", "survey.json", ending, "--segment", "PT", "--json").out
        for ending in ("json", "parquet")
    )
    assert first == second.replace("parquet", "json") and '"2026-W01"' in second
