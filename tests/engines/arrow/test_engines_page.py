"""The example of the page runs, in a folder with a table of values and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing.protocol.messages.exact_counts import ExactCounts
from tests.engines.page import example


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values").mkdir()
    for number in range(2):
        table = pa.table({"income": np.linspace(0, 400_000, 30), "age": np.arange(30)})
        parquet.write_table(table, f"values/{number}.parquet")
    code = example("arrow")
    *lines, last = code.strip().splitlines()
    names: dict[str, Any] = {}
    exec(compile("\n".join([*lines, f"summary = {last}"]), "engines.md", "exec"), names)
    counted, summary = names["counted"], names["summary"]
    assert counted.tally.total == 60 and counted.refused == 0 and len(counted.files) == 2
    assert isinstance(summary, ExactCounts) and summary.people == 60 and "(0, 400_000" in last
