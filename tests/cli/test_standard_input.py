"""Every command that reads people's values reads them from standard input, too."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lapwing import Interval, Survey
from lapwing.protocol import ExactCounts
from tests.cli.running import Program, environment

VALUES = "age\n10\n20.5\n30\n"
DOMAIN = ("--low", "0", "--high", "64", "--bins", "64")
BY_SEGMENT = ("release", "-", "-c", "age", "--by", "age2", "--segments", "a,b")
PROMISE = ("--epsilon", "24", "--neighbors", "replace-one")


def given(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    class Stdin:
        buffer = io.BytesIO(content)

    monkeypatch.setattr(sys, "stdin", Stdin)


def test_the_same_is_read_as_from_a_file(
    tmp_path: Path, done: Program, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ages.csv").write_text(VALUES)
    for name, source in (("file", "ages.csv"), ("stdin", "-")):
        given(monkeypatch, VALUES.encode())
        seeded = ("--seed", "1", "-o", f"{name}.json")
        done("simulate", "survey.json", source, *seeded)
        given(monkeypatch, VALUES.encode())
        done("count", source, *DOMAIN, "-o", f"{name}.lws")
    for ending in ("json", "lws"):
        one, other = (tmp_path / f"{name}.{ending}" for name in ("file", "stdin"))
        assert one.read_bytes() == other.read_bytes()


def test_many_blocks_of_it_are_read(tmp_path: Path, done: Program) -> None:
    """More than are read to find the names, through a real pipe."""
    rows = 2_500_000
    done("new", "--domain-only", *DOMAIN, "-o", "domain.json")
    lines = b"age\n" + b"7\n" * rows
    run = subprocess.run(
        [sys.executable, "-m", "lapwing", "count", "-", "--domain", "domain.json", "-o", "out.lws"],
        input=lines,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    expected = Interval(0, 64, bins=64).for_curator().index([7.0])[0]
    counts = ExactCounts.load(tmp_path / "out.lws").counts
    assert len(lines) > 4 * 2**20 and counts[expected] == counts.sum() == rows


@pytest.mark.parametrize(
    "arguments",
    [
        ("randomize", "survey.json", "-", "-o", "out.lwr"),
        ("release", "-", *PROMISE, *DOMAIN, "-o", "out.json"),
        ("bounds", "-", *PROMISE),
        (*BY_SEGMENT, *PROMISE, *DOMAIN, "-o", "out.json"),
    ],
)
def test_every_command_of_values_reads_it(
    done: Program, survey: Survey, monkeypatch: pytest.MonkeyPatch, arguments: tuple[Any, ...]
) -> None:
    content = VALUES if "--by" not in arguments else "age,age2\n10,a\n20,b\n30,\n"
    given(monkeypatch, content.encode())
    assert done(*arguments, "--json").document["command"] == arguments[0]


def test_a_truth_may_stand_there(
    tmp_path: Path, done: Program, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ages.csv").write_text(VALUES)
    done("simulate", "survey.json", "ages.csv", "-o", "tally.json", "--seed", "1")
    done("decode", "survey.json", "tally.json", "-o", "result.json", "--decoder", "least-squares")
    found = done("compare", "result.json", "--truth", "ages.csv", "--json").document
    given(monkeypatch, VALUES.encode())
    assert done("compare", "result.json", "--truth", "-", "--json").document == {
        **found,
        "truth": "-",
    }


@pytest.mark.parametrize(
    ("content", "said", "code"),
    [
        (b"", "is empty", 4),
        (b"PAR1....", "It is Parquet", 2),
        (b"\x1f\x8b\x08", "packed by gzip", 2),
        (b"LAPWING-SECRET\n\0", "it is a file of exact counts", 2),
        (b"age\n1\n\xff\n", "row 2", 3),
        (b"1\n2\n", "--no-header", 4),
    ],
)
def test_what_is_no_table_is_refused(
    lapwing: Program,
    survey: Survey,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    said: str,
    code: int,
) -> None:
    given(monkeypatch, content)
    run = lapwing("randomize", "survey.json", "-", "-o", "out.lwr")
    assert run.code == code and said in run.complaint and "standard input" in run.complaint


def test_it_is_no_two_tables(lapwing: Program) -> None:
    run = lapwing("count", "-", "-", *DOMAIN, "-o", "out.lws")
    assert run.code == 2 and "named twice" in run.complaint
