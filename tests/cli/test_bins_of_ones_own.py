"""`--edges` and `--closed`, for every command that is told a domain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program

EDGES = [0.0, 18.0, 25.0, 65.0, 120.0]
AGES = [0, 18, 18.5, 25, 25, 64, 65, 66, 120]
"""Ages on the edges and between them."""

OWN = ("--edges", "0,18,25,65,120")
RIGHT, LEFT = [2, 3, 2, 2], [1, 2, 3, 3]
PROMISE = ("--epsilon", "24", "--neighbors", "replace-one")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """The ages in a table."""
    (tmp_path / "ages.csv").write_text("age\n" + "".join(f"{age}\n" for age in AGES))
    return tmp_path


@pytest.mark.parametrize(("closed", "counts"), [(None, RIGHT), ("right", RIGHT), ("left", LEFT)])
def test_a_summary(people: Path, done: Program, closed: str | None, counts: list[int]) -> None:
    more = () if closed is None else ("--closed", closed)
    said = done("count", "ages.csv", *OWN, *more, "-o", "out.lws").out
    assert ("[a, b)" if closed == "left" else "(a, b]") in said
    assert "0 to 120 (number), 4 bins" in said and "edges at 18, 25, 65" in said
    summary = lw.protocol.ExactCounts.load(people / "out.lws")
    assert summary.counts[:4].tolist() == counts
    assert summary.domain.bin_edges.tolist() == EDGES


def test_a_survey_and_its_decoded_shares(people: Path, done: Program) -> None:
    asked = ("--name", "age", "--randomizer", "square-wave", "--epsilon", "24")
    done("new", *asked, *OWN, "--closed", "left", "-o", "survey.json")
    made = lw.Survey.from_json((people / "survey.json").read_text())
    assert made.randomizer.domain == lw.Interval(edges=EDGES, closed="left")
    (people / "many.csv").write_text("age\n" + "".join(f"{age}\n" for age in AGES * 500))
    done("randomize", "survey.json", "many.csv", "-o", "reports.lwr")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json")
    result = lw.Distribution.from_json((people / "result.json").read_text())
    assert np.allclose(result.mass, np.array(LEFT) / 9, atol=0.02)
    done("plot", "result.json", "-o", "result.png")


def test_a_release_and_a_recommendation(people: Path, done: Program) -> None:
    done("release", "ages.csv", *OWN, *PROMISE, "-o", "release.json")
    done("answer", "release.json", "--quantile", "0.5")
    said = done("recommend", "--epsilon", "2", "--users", "10000", *OWN).out
    assert "4 bins (a, b] with edges at 18, 25, 65" in said


def test_dates_and_negative_numbers(tmp_path: Path, done: Program) -> None:
    asked = ("--name", "n", "--randomizer", "square-wave", "--epsilon", "1")
    said = done("new", *asked, "--edges", "-5, 0, 2.5", "-o", "number.json").out
    assert "-5 to 2.5 (number), 2 bins (a, b] with edges at 0" in said
    days = ("--unit", "date", "--edges", "2019-01-01,2019-03-01,2020-01-01")
    said = done("new", *asked, *days, "-o", "date.json").out
    assert "2019-01-01 to 2020-01-01 (date), 2 bins [a, b) with edges at 2019-03-01" in said
    said = done("new", *asked, "--low", "0", "--high", "9", "--bins", "3", "-o", "plain.json").out
    assert "3 bins (a, b]\n" in said


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--low", "0"), "Leave out --low"),
        (("--high", "9"), "Leave out --high"),
        (("--low", "0", "--high", "9"), "Leave out --low and --high"),
        (("--bins", "4"), "Leave out --bins"),
        (("--scale", "log"), "Leave out --scale"),
        (("--integers", "0", "9"), "one domain"),
    ],
)
def test_what_edges_say_is_not_said_again(
    tmp_path: Path, lapwing: Program, more: tuple[str, ...], says: str
) -> None:
    asked = ("--name", "n", "--randomizer", "square-wave", "--epsilon", "1", "-o", "s.json")
    commands = [("new", *asked), ("recommend", "--epsilon", "1", "--users", "9")]
    for command in [*commands, ("count", "ages.csv", "-o", "s.lws")]:
        (tmp_path / "ages.csv").write_text("age\n1\n")
        run = lapwing(*command, *OWN, *more)
        assert run.code == 2 and says in run.complaint


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ("0,18,,25", "one is empty"),
        ("0,x", "--edges must be a number"),
        ("0,5,5", "must increase"),
        ("0", "at least two"),
        ("0,inf", "at least two finite"),
    ],
)
def test_edges_that_are_none(tmp_path: Path, lapwing: Program, edges: str, says: str) -> None:
    (tmp_path / "ages.csv").write_text("age\n1\n")
    run = lapwing("count", "ages.csv", "--edges", edges, "-o", "s.lws")
    assert run.code in (2, 3) and says in run.complaint
