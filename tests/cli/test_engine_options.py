"""Large data on the command line: folders, threads, rows counted apart, jobs that go on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from lapwing import Survey
from lapwing.protocol.messages.reports import Reports
from lapwing.tallies import CountTally
from tests.cli.running import Program


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
            *("--skip-bad", "--json", "--threads", threads),
        )
        assert "2 rows without a report" in run.err
        assert run.document["refused"] == 2 and run.document["reports"] == 5
        assert [one["reports"] for one in run.document["files"]] == [3, 2]
    codes = np.array([[0], [1], [1], [2], [2]], dtype=np.uint8)
    whole = survey.tally(Reports(codes, survey.randomizer.fingerprint))
    assert CountTally.load("t.json").to_document() == whole.to_document()
    run = lapwing("tally", "survey.json", "in", "-o", "u.json")
    assert run.code == 4 and "--column" in run.complaint


def test_wrong_options(lapwing: Program, survey: Survey) -> None:
    _codes(Path("a.parquet"), [0])
    tally = ("tally", "survey.json", "a.parquet", "-o", "t.json")
    for options, words in (
        (("--column", "code", "--threads", "0"), "threads"),
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
    options = (
        *("--low", "0", "--high", "100", "--bins", "10", "--allow-equal"),
        *("in/b.parquet", "--resume"),
    )
    done("count", "in", "-o", "s.bin", *options)
    assert Path("s.bin").stat().st_mode & 0o777 == 0o600
    assert not Path("s.bin.progress").exists()
