"""How the program speaks: JSON for every command, clean pipes, bars on a terminal only."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing import (
    Categories,
    Guarantee,
    Interval,
    RandomizedResponse,
    Survey,
    Tally,
    release,
    simulate,
)
from lapwing.cli.command_list import COMMANDS
from lapwing.cli.console import printable
from lapwing.mechanisms import RunningPrefixSums
from lapwing.privacy import Ledger
from tests.cli.running import Program, environment

NEW = (
    *("new", "-o", "new.json", "--name", "age", "--randomizer", "square-wave"),
    *("--epsilon", "2", "--low", "0", "--high", "100", "--bins", "20"),
)
EVERY: dict[str, tuple[str, ...]] = {
    "recommend": (
        *("recommend", "--epsilon", "2", "--users", "100000"),
        *("--low", "0", "--high", "100", "--bins", "64"),
    ),
    "new": NEW,
    "randomize": ("randomize", "survey.json", "ages.csv", "-o", "reports.lwr"),
    "tally": ("tally", "survey.json", "reports.lwr", "-o", "tally.json"),
    "merge": ("merge", "tally.json", "-o", "merged.json"),
    "decode": ("decode", "survey.json", "tally.json", "-o", "result.json"),
    "epoch": ("new", "--after", "survey.json", "result.json", "-o", "next.json"),
    "plot": ("plot", "result.json", "-o", "picture.svg"),
    "compare": ("compare", "result.json", "result.json"),
    "series": ("series", "--watch", "watch.json", "-"),
    "simulate": ("simulate", "survey.json", "ages.csv", "-o", "simulated.json"),
    "verify": ("verify", "survey.json"),
    "truth": ("compare", "result.json", "--truth", "ages.csv"),
    "bounds": ("bounds", "ages.csv", "--epsilon", "1", "--neighbors", "replace-one"),
    "count": (
        *("count", "ages.csv", "--low", "0", "--high", "100", "--bins", "64"),
        *("-o", "ages.lws"),
    ),
    "release": (
        *("release", "ages.lws", "--epsilon", "1", "--neighbors", "replace-one"),
        *("-o", "release.json"),
    ),
    "round": (
        *(
            *("release", "--next-round", "first.json", "ages.lws", "ages.lws"),
            *("--ledger", "rounds.json"),
        ),
        *("-o", "second.json"),
    ),
    "answer": ("answer", "release.json", "--at-most", "50"),
    "quantile": ("answer", "release.json", "--quantile", "0.5"),
    "sample": ("sample", "release.json", "--size", "5", "-o", "synthetic.csv"),
    "ledger": ("ledger", "budget.json"),
    "show": ("show", "release.json"),
}
"""Every command, in an order in which each finds what it needs."""


@pytest.fixture
def _budget(tmp_path: Path) -> None:
    """A ledger to look at."""
    budget = Guarantee(Fraction(1), Fraction(0), "replace-one", "central")
    Ledger(budget).save(tmp_path / "budget.json")


@pytest.fixture
def _first_round(tmp_path: Path, ages: np.ndarray) -> None:
    """The first of four rounds, and the ledger that paid for it."""
    ledger = Ledger.open(tmp_path / "rounds.json")
    Ledger(Guarantee(Fraction(1), Fraction(1, 10**6), "replace-one", "central")).save(ledger.path)
    first = release(
        ages,
        Interval(0, 100, bins=64),
        neighbors="replace-one",
        epsilon=1,
        delta="1e-6",
        mechanism=RunningPrefixSums(rounds=4),
        ledger=ledger,
    )
    (tmp_path / "first.json").write_text(first.release.to_json())


def test_no_command_is_left_out() -> None:
    of_the_collector = {"serve", "collector"}  # test_collector_commands.py
    assert {run[0] for run in EVERY.values()} == set(COMMANDS) - of_the_collector


@pytest.mark.usefixtures("_budget", "_first_round")
def test_every_command_speaks_json(done: Program, survey: Survey, ages: np.ndarray) -> None:
    for arguments in EVERY.values():
        run = done(*arguments, "--json")
        assert run.err == ""
        document = json.loads(run.out, parse_constant=pytest.fail)
        assert document["command"] == arguments[0]
        assert document["warnings"] == []


@pytest.mark.usefixtures("_budget", "_first_round")
def test_every_command_shows_a_table_and_can_be_silent(
    done: Program, survey: Survey, ages: np.ndarray
) -> None:
    for arguments in EVERY.values():
        run = done(*arguments)
        assert run.out.strip() and run.err == ""
        assert "\x1b" not in run.out
        if "--next-round" in arguments:  # a round is drawn once, so the quiet one is the next
            rounds = ("second.json", *["ages.lws"] * 3, "--ledger", "rounds.json")
            arguments = ("release", "--next-round", *rounds, "-o", "third.json")
        again = ("--force",) if "-o" in arguments else ()
        assert done(*arguments, *again, "--quiet").out == ""


def test_every_command_has_a_help_that_names_its_arguments(lapwing: Program) -> None:
    overview = lapwing("--help").out
    for name in {run[0] for run in EVERY.values()}:
        assert name in overview
        run = lapwing(name, "-h")
        assert run.code == 0 and "--json" in run.out and "--quiet" in run.out
        assert run.out == lapwing(name, "--help").out


def test_no_command_at_all_is_answered_with_the_help(lapwing: Program) -> None:
    run = lapwing()
    assert (run.code, run.out) == (0, lapwing("--help").out)


def test_the_version_is_that_of_the_package(lapwing: Program) -> None:
    import lapwing as package

    assert lapwing("--version").out == f"lapwing {package.__version__}\n"


def test_warnings_of_the_library_are_one_line_each(
    done: Program, survey: Survey, tmp_path: Path
) -> None:
    tally = simulate(survey.randomizer, [1] + [0] * 19, rng=1)
    (tmp_path / "tally.json").write_text(json.dumps(tally.to_document()))
    run = done("decode", "survey.json", "tally.json")
    assert "quantiles" in run.out
    (line,) = run.err.splitlines()
    assert line.startswith("lapwing: warning: ") and ".py" not in line
    assert done("decode", "survey.json", "tally.json", "--quiet").err == run.err
    document = done("decode", "survey.json", "tally.json", "--json").document
    assert document["warnings"] == [line.removeprefix("lapwing: warning: ")]


def test_what_plain_numbers_count_as_is_said_once_for_a_file(done: Program, tmp_path: Path) -> None:
    clock = ("--unit", "time-of-day", "--low", "00:00", "--high", "24:00", "--bins", "24")
    done(*NEW[:-6], *clock)
    minutes = pa.table({"minute": pa.array([600] * 100_000)})
    parquet.write_table(minutes, tmp_path / "minutes.parquet")
    run = done("randomize", "new.json", "minutes.parquet", "-o", "r.lwr")
    (line,) = run.err.splitlines()
    assert line.endswith("'minute' contains plain numbers. They are read as seconds since midnight")


def test_an_iteration_that_stops_early_warns(
    done: Program, survey: Survey, ages: np.ndarray
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 1, "-o", "tally.json")
    em = ("--decoder", "expectation-maximization", "--set", "smoothed=true", "--set", "limit=2")
    run = done("decode", "survey.json", "tally.json", *em)
    assert "stopped at its limit of 2" in run.err
    assert "not converged" in run.out


# The real program, on pipes and on a terminal.


def on_a_terminal(folder: Path, *arguments: str) -> tuple[str, str]:
    """Run with stderr on a terminal of its own; return stdout and stderr."""
    ours, theirs = pty.openpty()
    environ = {**environment(), "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-m", "lapwing", *arguments],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    out = process.communicate(timeout=60)[0]
    os.close(ours)
    assert process.returncode == 0, shown
    return out, shown.decode()


def test_a_terminal_gets_a_bar_and_a_pipe_gets_none(
    survey: Survey, ages: np.ndarray, tmp_path: Path
) -> None:
    arguments = ("randomize", "survey.json", "ages.parquet", "-c", "age", "-o", "r.lwr")
    out, err = on_a_terminal(tmp_path, *arguments)
    assert "randomize" in err and "3000/3000" in err
    assert "3,000" in out and "\x1b" not in out
    arguments = (*arguments, "--force")
    assert on_a_terminal(tmp_path, *arguments, "--quiet")[1] == ""

    piped = subprocess.run(
        [sys.executable, "-m", "lapwing", *arguments],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (piped.returncode, piped.stderr) == (0, "")


def test_reports_come_through_a_pipe(done: Program, survey: Survey, ages: np.ndarray) -> None:
    done(*EVERY["randomize"])
    done(*EVERY["tally"])
    for reports, arguments in (("reports.lwr", ["-"]), ("reports.lwr", ["-", "more.lwr"])):
        done("randomize", "survey.json", "ages.csv", "-o", "more.lwr", "--force")
        with open(reports, "rb") as stdin:
            ran = subprocess.run(
                [sys.executable, "-m", "lapwing", "tally", "survey.json", *arguments,
                 "-o", "piped.json", "--force", "--json"],
                env=environment(),
                stdin=stdin,
                capture_output=True,
                text=True,
                timeout=60,
            )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["reports"] == 3000 * len(arguments)
        if len(arguments) == 1:
            assert Tally.load("piped.json") == Tally.load("tally.json")


def test_a_label_cannot_play_tricks_on_a_terminal(done: Program, tmp_path: Path) -> None:
    # No declared label holds a control character. What rows bring along is escaped.
    survey = Survey("t", RandomizedResponse(Categories(["[b]x[/b]", "c"]), 8))
    (tmp_path / "survey.json").write_text(survey.to_json())
    tally = simulate(survey.randomizer, [500, 500], rng=1)
    (tmp_path / "tally.json").write_text(json.dumps(tally.to_document()))
    out = done("decode", "survey.json", "tally.json").out
    assert "[b]x[/b]" in out and "\x1b" not in out
    assert printable("a\x1b[31mb") == "a\\x1b[31mb"
    assert printable("line\nline") == "line\\nline"


def test_an_ascii_terminal_is_no_obstacle(tmp_path: Path) -> None:
    survey = Survey("São Paulo", RandomizedResponse(Categories(["ä", "ö"]), 8))
    (tmp_path / "survey.json").write_text(survey.to_json(), "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "lapwing", "verify", "survey.json"],
        cwd=tmp_path,
        env={**environment(), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert "S\\xe3o Paulo" in ran.stdout


LOADED = """
import json, sys
from lapwing.cli import main
for words in json.loads(sys.argv[1]):
    code = main(words)
    heavy = [name for name in ('pyarrow', 'matplotlib', 'numba') if name in sys.modules]
    print(code, heavy, file=sys.stderr)
"""


def test_starting_the_program_loads_nothing_that_it_may_not_need(
    survey: Survey, tmp_path: Path
) -> None:
    commands = (["--help"], ["verify", "survey.json"], list(NEW))
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(commands)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "0 []\n" * len(commands))
