"""Outputs: no file that is there is replaced unless --force is given, a read-only one never."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lapwing import Survey
from lapwing.cli.command_list import COMMANDS as ALL
from lapwing.cli.command_list import PARTS, command_of
from lapwing.cli.option_groups import ungrouped
from tests.cli.running import Program, listing, written_once

RELEASE = (
    *("--low", "0", "--high", "100", "--bins", "8", "--neighbors", "replace-one", "--epsilon", "1"),
)


_MADE: dict[str, bytes] = {}
"""What the first test that asks for files made, for all others of this process."""


@pytest.fixture
def files(survey: Survey, ages: np.ndarray, done: Program, tmp_path: Path) -> Path:
    """One file of each kind that a command reads."""
    written_once(tmp_path, _MADE, lambda: _make(ages, done, tmp_path))
    return tmp_path


def _make(ages: np.ndarray, done: Program, tmp_path: Path) -> None:
    done("randomize", "survey.json", "ages.csv", "-c", "age", "-o", "reports.lwr")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json")
    groups = "".join(f"{age},{'ab'[row % 2]}\n" for row, age in enumerate(ages))
    (tmp_path / "groups.csv").write_text(f"age,group\n{groups}")
    by = ("-c", "age", "--by", "group")
    done("randomize", "survey.json", "groups.csv", *by, "-o", "groups-reports.csv")
    done("ledger", "rounds.json", "--epsilon", "1", "--neighbors", "replace-one")
    done("count", "ages.csv", *RELEASE[:6], "-o", "ages.lws")
    rounds = ("--mechanism", "running-prefix-sums", "--set", "rounds=2", *RELEASE[6:])
    done("release", "ages.lws", *rounds, "--ledger", "rounds.json", "-o", "first.json")


COMMANDS = {
    "new": (
        *("new", "--name", "x", "--randomizer", "square-wave", "--epsilon", "1"),
        *("--low", "0", "--high", "9", "--bins", "4", "-o", "out.json"),
    ),
    "randomize": ("randomize", "survey.json", "ages.csv", "-o", "out.lwr"),
    "tally": ("tally", "survey.json", "reports.lwr", "-o", "out.json"),
    "merge": ("merge", "tally.json", "-o", "out.json"),
    "decode": ("decode", "survey.json", "tally.json", "-o", "out.json"),
    "epoch": ("new", "--after", "survey.json", "result.json", "-o", "out.json"),
    "plot": ("plot", "result.json", "-o", "out.png"),
    "compare": ("compare", "result.json", "result.json", "-o", "out.svg"),
    "simulate": ("simulate", "survey.json", "ages.csv", "-c", "age", "-o", "out.json"),
    "count": ("count", "ages.csv", *RELEASE[:6], "-o", "out.lws"),
    "release": ("release", "ages.csv", *RELEASE, "-o", "out.json"),
    "round": (
        *(
            *("release", "--next-round", "first.json", "ages.lws", "ages.lws"),
            *("--ledger", "rounds.json"),
        ),
        *("-o", "out.json"),
    ),
    "quantile": ("answer", "result.json", "--quantile", "0.5", "--csv", "out.csv"),
    "truth": ("compare", "result.json", "--truth", "ages.csv", "--csv", "out.csv"),
    "recommend": (
        *("recommend", "--low", "0", "--high", "100", "--bins", "8", "--epsilon", "1"),
        *("--users", "1000", "--csv", "out.csv"),
    ),
    "answer": ("answer", "result.json", "--at-most", "50", "--csv", "out.csv"),
    "series": ("series", "survey.json", "tally.json", "-o", "out.json"),
    "show": ("show", "result.json", "--csv", "out.csv"),
    "sample": ("sample", "result.json", "--size", "9", "-o", "out.csv"),
    "statement": ("verify", "survey.json", "--budget", "9", "--output", "out.md"),
    "groups": (
        *("tally", "survey.json", "groups-reports.csv", "--by", "group", "--segment-minimum", "1"),
        *("-o", "out.json"),
    ),
}
"""A run of each command that writes a file, and of each kind of file."""


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_file_that_is_there_is_replaced_only_with_force(
    files: Path, lapwing: Program, kind: str
) -> None:
    output = files / COMMANDS[kind][-1]
    output.write_text("the only copy")
    before = listing(files)
    run = lapwing(*COMMANDS[kind])
    assert run.code == 2
    assert output.name in run.complaint and "--force" in run.complaint
    assert listing(files) == before, "nothing was written, of several outputs neither the first"
    assert lapwing(*COMMANDS[kind], "--force").code == 0
    assert output.read_bytes() != b"the only copy"


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_read_only_file_stays_with_force_too(files: Path, lapwing: Program, kind: str) -> None:
    output = files / COMMANDS[kind][-1]
    output.write_text("the only copy")
    output.chmod(0o444)
    for more in ((), ("--force",)):
        run = lapwing(*COMMANDS[kind], *more)
        assert run.code == 2
        assert output.name in run.complaint and "read-only" in run.complaint
    assert output.read_text() == "the only copy"


def test_every_command_with_an_output_is_tried() -> None:
    alone = [one for one in ALL if one not in PARTS]  # tried in test_collector_commands.py
    options = {one: set(ungrouped(command_of(one)).__annotations__) for one in alone}
    writing = {one for one, names in options.items() if names & {"output", "statement", "table"}}
    assert writing == {run[0] for run in COMMANDS.values()}
    assert all("force" in options[one] for one in writing)


def test_what_writes_nothing_asks_for_nothing(files: Path, done: Program) -> None:
    (files / "out.json").write_text("the only copy")
    done(*COMMANDS["release"], "--dry-run", "1000")
    assert (files / "out.json").read_text() == "the only copy"


def test_a_dry_run_needs_no_output_and_a_release_does(
    files: Path, done: Program, lapwing: Program
) -> None:
    before = sorted(files.iterdir())
    said = done("release", "ages.csv", *RELEASE, "--dry-run", "1000").out
    assert "this was a dry run" in said
    refused = lapwing("release", "ages.csv", *RELEASE)
    assert refused.code == 2 and "'--output'" in refused.complaint
    assert sorted(files.iterdir()) == before


def test_a_link_to_a_file_is_that_file(files: Path, lapwing: Program) -> None:
    (files / "target.json").write_text("the only copy")
    (files / "out.json").symlink_to("target.json")
    assert lapwing(*COMMANDS["merge"]).code == 2
    assert (files / "target.json").read_text() == "the only copy"
