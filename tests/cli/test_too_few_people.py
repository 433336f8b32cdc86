"""A group of too few people: what commands print and write in place of its numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lapwing as lw
from tests.cli.running import Program

FEW = "too few people"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    made = lw.release(
        [35.0] * 2000,
        lw.Interval(0, 500, bins=50),
        by=["small"] * 10 + ["large"] * 1990,
        segments=["small", "large"],
        neighbors="replace-one",
        epsilon=0.5,
        delta="1e-6",
        rng=lw.seeded(2),
    )
    path = tmp_path / "r.json"
    made.release.save(path)
    return path


@pytest.mark.filterwarnings("ignore::lapwing.errors.WeakAnswerWarning")
def test_commands_say_it_in_place_of_numbers(release: Path, done: Program) -> None:
    small = ("answer", release, "--segment", "small")
    assert re.search(rf"0\.5 .*{FEW} .*-", done(*small, "--quantile", "0.5").out)
    assert FEW in done("show", release).out
    (row,) = done(*small, "--above", "100", "--json").document["questions"]
    assert (row["share"], row["low"], row["reason"]) == (None, None, FEW)
    done(*small, "--quantile", "0.5", "--csv", "t.csv")
    assert Path("t.csv").read_text().splitlines()[1].startswith(f'0.5,"{FEW}",,')
    done("show", release, "--csv", "all.csv")
    rows = [line for line in Path("all.csv").read_text().splitlines() if "small" in line]
    assert rows and all(f'"{FEW}"' in line for line in rows)


@pytest.mark.filterwarnings("ignore::lapwing.errors.WeakAnswerWarning")
def test_no_table_is_drawn_of_them(release: Path, lapwing: Program) -> None:
    """Cells that are empty would be missing values, and nobody knows how many there are."""
    groups = lw.survey.Publication(lw.Release.load(release)).by_segment()
    for name, code in (("small", 2), ("large", 0)):
        groups[name].save(f"{name}.json")
        run = lapwing("sample", f"{name}.json", "--size", "3", "-o", f"{name}.csv")
        assert run.code == code and (FEW in run.err) == (code > 0)
        assert Path(f"{name}.csv").exists() == (code == 0)
