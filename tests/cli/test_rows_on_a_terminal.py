"""Commands that read a column say on stderr how many rows have no value, and ask on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_console import environment

PROMISE = ("--epsilon", "1", "--delta", "1e-6", "--neighbors", "replace-one")
RELEASE = ("release", "x.csv", "--domain", "minutes.json", *PROMISE, "-o", "out.json")
QUESTION = "Most rows have no value in the range. Continue? [y/N]"


@pytest.fixture
def column(lapwing: Program, tmp_path: Path) -> Path:
    """A table of seconds for a domain of minutes."""
    made = ("new", "--domain-only", "--low", "0", "--high", "60", "-o", "minutes.json")
    assert lapwing(*made).code == 0
    assert lapwing("new", "--name", "x", *PROMISE[:2], "--low", "0", "--high", "60", "-o", "s.json")
    rows = ["3", *["2400"] * 80, "", *["cancelled"] * 18]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x,y", *(f"{row},1" for row in rows)]) + "\n")
    return path


def on_a_terminal(folder: Path, *arguments: str, answer: str) -> tuple[int, str]:
    """Run with everything on a terminal, where somebody answers; return the code and the screen."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lapwing", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    return process.wait(timeout=60), shown.decode()


def test_most_rows_without_a_value_ask_on_a_terminal(column: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, *RELEASE, "-c", "x", answer="\n")
    assert code == 3 and QUESTION in shown and "Nothing was written or charged" in shown
    assert (
        "of 100 rows: 1 missing, 18 unreadable (the first in row 83 of x.csv), 80 outside" in shown
    )
    assert not (tmp_path / "out.json").exists()
    code, shown = on_a_terminal(tmp_path, *COMMANDS["count"], answer="y\n")
    assert code == 0 and QUESTION in shown and (tmp_path / "x.lws").exists()
    (tmp_path / "x.lws").unlink()
    code, shown = on_a_terminal(tmp_path, *COMMANDS["count"], "--yes", answer="")
    assert code == 0 and QUESTION not in shown and "80 outside" in shown


def test_a_scheduled_job_goes_on(column: Path, lapwing: Program, tmp_path: Path) -> None:
    run = lapwing(*RELEASE, "-c", "x", "--json", "--quiet")
    assert run.code == 0 and "80 outside 0 to 60" in run.err and QUESTION not in run.err
    assert "cancelled" not in run.err and "18" not in json.dumps(run.document["warnings"])
    assert run.document["warnings"] == []


COMMANDS = {
    "count": ("count", "x.csv", "--domain", "minutes.json", "-c", "x", "-o", "x.lws"),
    "bounds": ("bounds", "x.csv", "-c", "x", "--epsilon", "1", "--neighbors", "replace-one"),
    "dry run": (*RELEASE[:-2], "-c", "x", "--dry-run", "100"),
    "randomize": ("randomize", "s.json", "numbers.csv", "-c", "x", "-o", "x.lwr"),
    "randomize a folder": ("randomize", "s.json", "tables", "-c", "x", "-o", "reports"),
    "simulate": ("simulate", "s.json", "numbers.csv", "-c", "x", "-o", "t.json"),
}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_that_reads_a_column(
    name: str, column: Path, lapwing: Program, tmp_path: Path
) -> None:
    numbers = column.read_text().replace("cancelled", "7").replace("\n,1", "\n8,1")
    (tmp_path / "numbers.csv").write_text(numbers)
    (tmp_path / "tables").mkdir()
    for part in ("a", "b"):
        (tmp_path / "tables" / f"{part}.csv").write_text(numbers)
    run = lapwing(*COMMANDS[name])
    assert run.code == 0
    said = "18 unreadable" if "x.csv" in COMMANDS[name] else "of 100 rows: 80 outside 0 to 60"
    if "tables" in COMMANDS[name]:  # two of them, which are told of together
        said = "of 200 rows: 160 outside 0 to 60"
        assert "reports            200" in run.out
    assert run.err.count("warning") == 1 and said in run.err, run.err


def test_somebody_who_stops_leaves_no_reports(column: Path, tmp_path: Path) -> None:
    text = column.read_text().replace("cancelled", "7").replace("\n,1", "\n8,1")
    (tmp_path / "numbers.csv").write_text(text)
    code, shown = on_a_terminal(tmp_path, *COMMANDS["randomize"], answer="n\n")
    assert code == 3 and QUESTION in shown and not (tmp_path / "x.lwr").exists()


def test_a_few_are_shown_on_a_terminal_alone(
    column: Path, lapwing: Program, tmp_path: Path
) -> None:
    rows = "\n".join(["x,y", *["5,1"] * 120, ",1", "99,1"]) + "\n"
    column.write_text(rows)
    assert lapwing(*RELEASE, "-c", "x").err == ""
    code, shown = on_a_terminal(tmp_path, *COMMANDS["count"], "--force", answer="")
    assert code == 0 and "of 122 rows: 1 missing, 1 outside 0 to 60" in shown
    column.write_text(rows.replace("5,1\n", "", 30))
    code, shown = on_a_terminal(tmp_path, *COMMANDS["count"], "--force", answer="")
    assert code == 0 and "rows:" not in shown  # fewer than 100
