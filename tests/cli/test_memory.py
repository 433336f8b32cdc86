"""Streaming: what 20 million people need, which is what any number of people needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing import Interval, SquareWave, Survey
from tests.cli.running import environment

PEOPLE = 20_000_000
MOST_BYTES = 500_000_000

MEASURED = """
import re, resource, sys
from pathlib import Path
from lapwing.cli import main
code = main(sys.argv[1:])
status = Path("/proc/self/status")
if status.exists():  # there ru_maxrss begins with that of the program which started this one
    print(1024 * int(re.search("VmHWM:\\s*([0-9]+)", status.read_text())[1]))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


@pytest.mark.soak
@pytest.mark.parametrize("row_group", [PEOPLE // 20, PEOPLE])
@pytest.mark.parametrize("ending", ["lwr", "parquet", "csv"])
def test_memory_does_not_grow_with_the_people(tmp_path: Path, row_group: int, ending: str) -> None:
    survey = Survey("age", SquareWave(Interval(0, 1, bins=1024), epsilon=1))
    (tmp_path / "survey.json").write_text(survey.to_json())
    values = np.random.default_rng(1).random(PEOPLE)
    path = tmp_path / "values.parquet"
    parquet.write_table(pa.table({"age": values}), path, row_group_size=row_group)
    del values
    for arguments in (
        ["randomize", "survey.json", "values.parquet", "-o", f"reports.{ending}"],
        ["tally", "survey.json", f"reports.{ending}", "-o", "tally.json"],
    ):
        ran = subprocess.run(
            [sys.executable, "-c", MEASURED, *arguments, "--quiet"],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert ran.returncode == 0, ran.stderr
        assert int(ran.stdout) < MOST_BYTES, arguments
