"""The command line reads labels as every engine does: the table of cases is theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.protocol.messages.exact_counts import ExactCounts
from tests.cli.running import Program
from tests.engines.label_cases import CASES, FOLDERS, SURVEY, folders

LISTED = ("--categories", "a,1,2,true,2026-01-02,rest", "--other", "rest", "--missing", "category")
NUMBERS = ("--categories", "1,2,9", "--other", "9", "--missing", "category")


def cell(value: Any) -> str:
    """Return a value as Spark and SQL write it into a CSV."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@pytest.mark.parametrize("case", ["texts", "whole numbers", "digits", "truth values", "dates"])
def test_values(case: str, done: Program, tmp_path: Path) -> None:
    cells, wanted, _ = CASES[case]
    rows = "".join(f"{cell(value)},x\n" for value in cells)
    (tmp_path / "v.csv").write_text(f"v,more\n{rows}")
    parquet.write_table(pa.table({"v": cells, "more": ["x"] * len(cells)}), tmp_path / "v.parquet")
    for name, options in (("texts", LISTED), ("numbers", NUMBERS)):
        for ending in ("csv", "parquet"):
            output = tmp_path / f"{name}-{ending}.lws"
            done("count", f"v.{ending}", "-c", "v", *options, "-o", output.name)
            assert ExactCounts.load(output).counts.tolist() == wanted[name], (name, ending)


def test_folders(done: Program, tmp_path: Path) -> None:
    folders(tmp_path)
    SURVEY.save(tmp_path / "label.json")
    for name, (_, wanted) in FOLDERS.items():
        given = ("label.json", name, "--column", "report", "--by", name, "--segment-minimum", "1")
        done("tally", *given, "-o", f"{name}.json")
        counted = {group: one.total for group, one in lw.load(tmp_path / f"{name}.json").items()}
        assert counted == {group or "other": people for group, people in wanted.items()}
