"""Large data on the command line: folders, threads, rows counted apart, jobs that go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing import Interval, Survey
from lapwing.cli.reading.engine_options import ENGINES, Engine
from lapwing.engines import arrow
from lapwing.engines.arrow import ReportCount
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.messages.reports import Reports
from tests.cli.running import Program, the_survey


def _codes(path: Path, codes: list[int | None]) -> None:
    parquet.write_table(pa.table({"code": pa.array(codes, pa.uint8()), "n": codes}), path)


def test_a_table_of_somebody_else(done: Program, lapwing: Program, survey: Survey) -> None:
    Path("in").mkdir()
    _codes(Path("in/a.parquet"), [0, 1, 1])
    _codes(Path("in/b.parquet"), [2, None, 255, 2])
    run = lapwing("tally", "survey.json", "in", "-o", "t.json", "--column", "code")
    assert run.code == 3 and "b.parquet: " in run.complaint and "row 2 " in run.complaint
    assert not Path("t.json").exists()
    for threads in (1, 2):
        run = done(
            *("tally", "survey.json", "in", "-o", "t.json", "--column", "code", "--force"),
            *("--skip-bad", "--json", "--threads", threads, "--engine", "arrow"),
        )
        assert "2 rows hold no report" in run.err
        assert run.document["refused"] == 2 and run.document["reports"] == 5
        assert [one["reports"] for one in run.document["files"]] == [3, 2]
    codes = np.array([[0], [1], [1], [2], [2]], dtype=np.uint8)
    whole = survey.tally(Reports(codes, survey.randomizer.fingerprint))
    assert json.loads(Path("t.json").read_text()) == whole.to_document()
    run = lapwing("tally", "survey.json", "in", "-o", "u.json")
    assert run.code == 4 and "--column" in run.complaint


def test_wrong_options(lapwing: Program, survey: Survey) -> None:
    _codes(Path("a.parquet"), [0])
    tally = ("tally", "survey.json", "a.parquet", "--column", "code", "-o", "t.json")
    for options, words in (
        (("--engine", "arow"), "arrow"),
        (("--threads", "0"), "threads"),
        (("--column", "other"), "no column 'other'"),
    ):
        run = lapwing(*tally, *options)
        assert run.code == 2 and words in run.complaint


def test_a_job_leaves_its_progress_only_while_it_lasts(
    done: Program, lapwing: Program, survey: Survey
) -> None:
    _codes(Path("a.parquet"), [0, 1])
    _codes(Path("b.parquet"), [1, 255])
    tally = ("tally", "survey.json", "a.parquet", "b.parquet", "--column", "code", "--resume")
    assert lapwing(*tally, "-o", "t.json").code == 3
    assert Path("t.json.progress").exists()
    run = lapwing(*tally[:3], *tally[4:], "-o", "t.json", "--skip-bad")
    assert run.code == 2 and "another job" in run.complaint
    _codes(Path("b.parquet"), [1, 2])  # mended, and not counted yet
    done(*tally, "-o", "t.json")
    assert json.loads(Path("t.json").read_text())["reports"] == [4]
    assert not Path("t.json.progress").exists()


def test_folders_in_and_out(done: Program, lapwing: Program, survey: Survey) -> None:
    Path("in").mkdir()
    for name in ("a", "b"):
        parquet.write_table(pa.table({"age": np.arange(30.0)}), f"in/{name}.parquet")
    done("randomize", "survey.json", "in", "-o", "out", "--threads", 2)
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    done("tally", "survey.json", "out", "-o", "t.json")
    assert json.loads(Path("t.json").read_text())["reports"] == [60]
    for name in ("all.lwr", "all.arrow", "all.feather"):
        done("randomize", "survey.json", "in", "-o", name)
        done("tally", "survey.json", name, "-o", "u.json", "--force")
        assert json.loads(Path("u.json").read_text())["reports"] == [60]
    parquet.write_table(pa.table({"age": [1.0, None]}), "in/c.parquet")
    for name in ("none.arrow", "all.arrow"):  # whole, or as before
        before = Path(name).read_bytes() if Path(name).exists() else None
        assert lapwing("randomize", "survey.json", "in", "-o", name, "--force").code == 3
        assert (Path(name).read_bytes() if Path(name).exists() else None) == before
    Path("in/c.parquet").unlink()
    options = ("--low", "0", "--high", "100", "--bins", "10", "--allow-equal", "--resume")
    done("summarize", "in", "-o", "s.bin", *options)
    assert Path("s.bin").stat().st_mode & 0o777 == 0o600
    assert not Path("s.bin.progress").exists()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more engine: a row of the table, whose module is this one."""
    monkeypatch.setitem(ENGINES, "elsewhere", Engine("in this test", __name__, "numpy", "none"))
    monkeypatch.setitem(ENGINES, "absent", Engine("nowhere", "no.module", "no_package", "none"))


def tally(paths: Sequence[str], survey: Survey, **asked: Any) -> ReportCount:
    return arrow.tally(_near(paths), survey, **asked)


def randomize(paths: Sequence[str], survey: Survey, **asked: Any) -> int:
    asked["output"] = Path(asked["output"].removeprefix("far://"))
    return arrow.randomize(_near(paths), survey, **asked)


def summarize(paths: Sequence[str], domain: Domain, **asked: Any) -> ExactCounts:
    return arrow.summarize(_near(paths), domain, **asked)


def _near(paths: Sequence[str]) -> list[Path]:
    """Its files have names that are none of this machine."""
    assert all(path.startswith("far://") for path in paths)
    return [Path(path.removeprefix("far://")) for path in paths]


def test_an_engine_is_a_row(elsewhere: None, done: Program, ages: np.ndarray) -> None:
    survey = the_survey()
    Path("survey.json").write_text(survey.to_json())
    there = ("--engine", "elsewhere", "--json")
    run = done("randomize", "survey.json", "far://ages.csv", "-o", "far://out", *there)
    assert run.document["reports"] == ages.size and run.document["output"] == "far://out"
    done("tally", "survey.json", "far://out", "-o", "t.json", *there)
    assert json.loads(Path("t.json").read_text())["reports"] == [ages.size]
    run = done("tally", "survey.json", "far://out", "-o", "t.json", "--force", *there)
    _codes(Path("bad.parquet"), [1, None, 2])
    run = done(
        *("tally", "survey.json", "far://bad.parquet", "-o", "b.json", "--column", "code"),
        *("--skip-bad", *there),
    )
    assert run.document["refused"] == 1 and "1 row holds no report" in run.err
    domain = ("--low", "0", "--high", "100", "--bins", "10")
    done("summarize", "far://ages.csv", "-o", "s.bin", *domain, *there)
    assert ExactCounts.load("s.bin") == ExactCounts.of_values(ages, Interval(0, 100, bins=10))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--threads", "2"), "--threads is of --engine arrow, not of elsewhere"),
        (("--resume",), "--resume is of --engine arrow, not of elsewhere"),
        (("--salvage",), "--salvage is of --engine arrow, not of elsewhere"),
        (("far://b", "far://b"), "far://b is named twice; its reports would count twice"),
        (("-",), "standard input is of --engine arrow"),
    ],
)
def test_what_an_engine_elsewhere_does_not_take(
    elsewhere: None,
    lapwing: Program,
    survey: Survey,
    options: tuple[str, ...],
    words: str,
) -> None:
    run = lapwing("tally", "survey.json", "far://a", "-o", "t", "--engine", "elsewhere", *options)
    assert run.code == 2 and words in run.complaint


def test_an_engine_that_is_not_installed(elsewhere: None, lapwing: Program, survey: Survey) -> None:
    run = lapwing("tally", "survey.json", "far://a", "-o", "t", "--engine", "absent")
    assert run.code == 6 and "pip install 'lapwing[none]'" in run.complaint
    run = lapwing("randomize", "survey.json", "x", "-o", "y", "--engine", "elsewhere", "--force")
    assert run.code == 2 and "a folder of reports is never replaced" in run.complaint
