"""The examples of the page run, in a folder with a table of values and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.engines import arrow
from lapwing.protocol.messages.exact_counts import ExactCounts
from tests.engines.page import PAGE, code_under, example
from tests.page_environment import run


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values").mkdir()
    for number in range(2):
        table = pa.table({"income": np.linspace(0, 400_000, 30), "age": np.arange(30)})
        parquet.write_table(table, f"values/{number}.parquet")
    *lines, last = example("arrow").strip().splitlines()
    shown = "print(counted.tally.total, counted.refused, len(counted.files))"
    code = "\n".join([*lines, shown, f"summary = {last}", "print(type(summary), summary.people)"])
    ran = run(PAGE.read_text("utf-8"), "exec", text=code, folder=tmp_path)
    assert ran.stderr == "" and ran.stdout == f"60 0 2\n{ExactCounts} 60\n"
    assert "(0, 400_000" in last


def test_groups_and_counted_reports_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    survey = lw.Survey("x", lw.SquareWave(lw.Interval(0, 1, bins=8), epsilon=1))
    for place in ("PT/day=1", "PT/day=2", "ES/day=1"):
        folder = Path("reports", f"country={place}")
        folder.mkdir(parents=True)
        people = pa.table({"v": np.linspace(0, 1, 600)})
        arrow.randomize(people, survey, output=folder / "a.parquet")
    whole = arrow.tally("reports", survey).tally
    arrow.tally("reports", survey, by=["country", "day"]).by_group(minimum=1).save(
        "tuesday.parquet"
    )
    for country in ("PT", "ES"):
        folder = Path("labeled", f"country={country}")
        folder.mkdir(parents=True)
        months = pa.table({"income": np.linspace(0, 1, 60), "month": ["1", "2"] * 30})
        parquet.write_table(months, folder / "people.parquet")
    survey.save("survey.json")
    first = (
        "import lapwing as lw\nfrom lapwing.engines import arrow\n"
        "survey = lw.Survey.load('survey.json')\n"
    )
    code = f"{first}{code_under('Many groups')}\nprint(len(monday), week.total)\n"
    ran = run(PAGE.read_text("utf-8"), "exec", text=code, folder=tmp_path)
    assert ran.stderr == "" and ran.stdout == f"3 {2 * whole.total}\n"
    frame = lw.tallies.GroupTallies.load("monday.parquet").to_pandas()
    named = ["country", "day", "reports", "counts"]
    assert list(frame.columns) == named
    section = PAGE.read_text("utf-8").partition("The frame of `to_pandas()`")[2]
    for column in (*named, "segment", "block_reports", "records"):
        assert f"`{column}`" in section.partition("Tally each day")[0]
    pairs = arrow.tally("monthly", survey, by=["country", "month"]).groups
    assert {name: pairs[name].total for name in pairs} == {
        f"country={country}/month={month}": 30 for country in ("ES", "PT") for month in (1, 2)
    }

    def sql(query: str) -> Any:  # what a database gives for it
        assert "count(*) AS n FROM reports GROUP BY report" in query
        rows = parquet.read_table("reports", columns=["report"])
        counts = rows.group_by("report").aggregate([([], "count_all")])
        return SimpleNamespace(to_arrow_table=lambda: counts.rename_columns(["report", "n"]))

    monkeypatch.setitem(sys.modules, "duckdb", SimpleNamespace(sql=sql))
    names: dict[str, Any] = {"arrow": arrow, "survey": survey}
    *lines, last = code_under("Counted reports").strip().splitlines()
    exec(compile("\n".join([*lines, f"found = {last}"]), "engines.md", "exec"), names)
    assert names["found"] == whole
