"""`lapwing extend`: rounds on the command line, each drawn once, with the ledger that paid."""

from __future__ import annotations

from pathlib import Path

import pytest

import lapwing as lw
from lapwing.privacy.ledger import Ledger
from tests.cli.running import Program, listing

PROMISE = ("--epsilon", "1", "--delta", "1e-6", "--neighbors", "replace-one")
LEDGER = ("--ledger", "budget.json")


@pytest.fixture(autouse=True)
def rounds(tmp_path: Path, done: Program) -> Path:
    """Three months, counted; a ledger; and the release of the first month of three."""
    done("ledger", "budget.json", "--epsilon", "1", *PROMISE[2:])
    for month in range(3):
        lines = f"{10 * month + 5}\n" * (1000 * (month + 1))
        (tmp_path / f"{month}.csv").write_text(f"v\n{lines}")
        bounds = ("--low", "0", "--high", "32", "--bins", "32")
        done("count", f"{month}.csv", *bounds, "-o", f"{month}.lws")
    first = ("--mechanism", "running-prefix-sums", "--set", "rounds=3", *PROMISE, *LEDGER)
    done("release", "0.lws", *first, "-o", "one.json")
    return tmp_path


def test_rounds_follow_each_other(rounds: Path, done: Program, lapwing: Program) -> None:
    spent = Ledger.load(rounds / "budget.json").spent
    said = done(
        "release", "--next-round", "one.json", "0.lws", "1.lws", *LEDGER, "-o", "two.json", "--json"
    )
    assert (said.document["round"], said.document["rounds"]) == (2, 3)
    shown = done(
        *("release", "--next-round", "two.json", "0.lws", "1.lws", "2.lws"),
        *LEDGER,
        "-o",
        "three.json",
    ).out
    assert "3 of 3" in shown
    made = lw.Release.load(rounds / "three.json")
    assert made.people == 6000 and len(made.parts) == 3
    answers = done("answer", "three.json", "--above", "20", "--at-most", "30", "--json").document[
        "questions"
    ]
    assert answers[0]["share"] == pytest.approx(0.5, abs=0.25)
    assert Ledger.load(rounds / "budget.json").spent == spent  # all were paid by the first
    more = ("0.lws", "1.lws", "2.lws", "0.lws", *LEDGER, "-o", "four.json")
    assert (
        "all 3 rounds have been released"
        in lapwing("release", "--next-round", "three.json", *more).complaint
    )


def test_a_round_is_drawn_once(rounds: Path, done: Program, lapwing: Program) -> None:
    done("release", "--next-round", "one.json", "0.lws", "1.lws", *LEDGER, "-o", "two.json")
    before = listing(rounds)
    again = lapwing(
        "release", "--next-round", "one.json", "0.lws", "1.lws", *LEDGER, "-o", "again.json"
    )
    assert again.code == 5 and "drawn twice" in again.complaint
    assert listing(rounds) == before


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (("one.json", "0.lws"), "give 2 files of exact counts", 2),
        (("one.json", "0.lws", "1.csv"), "lapwing count", 2),
        (("one.json", "1.lws", "0.lws"), "in order", 4),
        (("0.lws", "0.lws", "1.lws"), "", 4),
        (("one.json", "0.lws", "gone.lws"), "there is no file or folder", 7),
    ],
)
def test_what_is_refused_marks_no_round(
    rounds: Path, done: Program, lapwing: Program, arguments: tuple[str, ...], says: str, code: int
) -> None:
    before = listing(rounds)
    run = lapwing("release", "--next-round", *arguments, *LEDGER, "-o", "two.json")
    assert run.code == code and says in run.complaint
    assert listing(rounds) == before
    taken = lapwing(
        "release", "--next-round", "one.json", "0.lws", "1.lws", *LEDGER, "-o", "one.json"
    )
    assert taken.code == 2 and listing(rounds) == before
    done("release", "--next-round", "one.json", "0.lws", "1.lws", *LEDGER, "-o", "two.json")


def test_only_releases_in_rounds_are_extended(
    rounds: Path, done: Program, lapwing: Program
) -> None:
    done("release", "0.lws", *PROMISE, "-o", "plain.json")
    run = lapwing(
        "release", "--next-round", "plain.json", "0.lws", "1.lws", *LEDGER, "-o", "two.json"
    )
    assert run.code == 2 and "running-prefix-sums" in run.complaint and "merge" in run.complaint
