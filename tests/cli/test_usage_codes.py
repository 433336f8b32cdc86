"""What is typed wrongly ends in the code that the table says, and is called by its own name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.results.rounding import percent
from tests.cli.running import Program

DATA = ("ages.csv", "--low", "0", "--high", "9", "--bins", "4", "-o", "out.json")
RELATION = ("--neighbors", "replace-one")


@pytest.mark.parametrize(
    ("code", "says", "arguments"),
    [
        (2, "give one of --epsilon, --mu and --rho", RELATION),
        (2, "Leave out --mu", (*RELATION, "--epsilon", "1", "--mu", "1")),
        (2, "did you mean replace-one?", ("--neighbors", "replace-on", "--epsilon", "1")),
        (5, "--mu must be greater than 0 and at most 24, got -1", (*RELATION, "--mu", "-1")),
        (5, "--rho must be greater than 0 and at most 24, got 0", (*RELATION, "--rho", "0")),
        (5, "--mu must be greater than 0 and at most 24, got 'x'", (*RELATION, "--mu", "x")),
        (5, "--epsilon must be greater than 0 and at most 24", (*RELATION, "--epsilon", "0")),
    ],
)
def test_release(
    code: int, says: str, arguments: tuple[str, ...], lapwing: Program, tmp_path: Path
) -> None:
    (tmp_path / "ages.csv").write_text("age\n1\n")
    run = lapwing("release", *DATA, *arguments)
    assert run.code == code and says in run.complaint
    if "--epsilon" not in arguments and code == 5:
        assert "epsilon" not in run.complaint


def test_other_commands_that_take_a_relation(lapwing: Program, tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("age\n1\n")
    wrong = ("--epsilon", "1", "--neighbors", "people")
    for run in (lapwing("bounds", "ages.csv", *wrong), lapwing("ledger", "l", *wrong)):
        assert run.code == 2 and "--neighbors must be replace-one" in run.complaint


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_new_picks_the_bins_that_recommend_picks(
    epsilon: str, done: Program, tmp_path: Path
) -> None:
    asked = ("--epsilon", epsilon, "--low", "0", "--high", "100", "--users", "50000")
    found = done("recommend", *asked, "--json").document
    named = ("--name", "x", "--randomizer", "recommended")
    done("new", *named, *asked, "-o", "survey.json")
    made = lw.Survey.from_json((tmp_path / "survey.json").read_text()).randomizer
    assert json.loads(json.dumps(made.to_document())) == found["randomizer"]
    assert made.domain.bins == (200 if epsilon == "0.5" else 1000)
    done("new", *named, *asked, "--bins", "32", "-o", "own.json")
    own = lw.Survey.from_json((tmp_path / "own.json").read_text()).randomizer
    assert own.domain.bins == 32


def test_only_the_recommended_randomizer_picks_bins(lapwing: Program) -> None:
    named = ("--name", "x", "--randomizer", "square-wave", "--epsilon", "1")
    run = lapwing("new", *named, "--low", "0", "--high", "1", "-o", "survey.json")
    assert run.code == 2 and "dd --bins" in run.complaint


def test_a_small_share_is_written_as_people_write_it() -> None:
    for share in (7e-5, -7e-5, 1.2e-6, 1e-9, -1e-12, 0.3, 0.0, 0.99999999):
        assert "e" not in percent(share)
        assert percent(share).startswith(("0.00%", "100.00%")) == (share == 0)
