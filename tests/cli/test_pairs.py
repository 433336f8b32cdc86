"""Two attributes on the command line: from domains in files to a joint distribution."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli.showing.joint import joint_tables
from lapwing.results import JointDistribution
from lapwing.results.joint_answers import JointRequest, joint_answer
from tests.cli.running import Program

BOTH = ("--axis", "delay=delay.json", "--axis", "hour=hour.json")


@pytest.fixture
def people(tmp_path: Path, done: Program) -> Path:
    """A table of 4,000 people, and a survey about two of its columns."""
    ends = ("--low", 0, "--high", 60, "--bins", 12, "--outside", "overflow")
    done("new", "--domain-only", *ends, "-o", "delay.json")
    done("new", "--domain-only", "--integers", 0, 23, "-o", "hour.json")
    done("new", "--name", "delays", "--epsilon", 4, *BOTH, "-o", "survey.json")
    rng = np.random.default_rng(1)
    hours = rng.integers(6, 23, 4000)
    rows = zip(rng.gamma(2, 2 + hours / 3), hours, strict=True)
    lines = [f"{number},{delay:.3f},{hour}" for number, (delay, hour) in enumerate(rows)]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(["id,delay,hour", *lines, ""]))
    return table


def test_a_survey_of_pairs_goes_from_a_table_to_an_answer(people: Path, done: Program) -> None:
    survey = lw.Survey.load("survey.json")
    assert survey.randomizer.domain.names == ("delay", "hour")
    assert survey.randomizer.domain.shape == (14, 24)
    done("randomize", "survey.json", people, "-o", "reports.parquet")
    done("tally", "survey.json", "reports.parquet", "-o", "tally.json")
    shown = done("decode", "survey.json", "tally.json", "-o", "joint.json", "--csv", "cells.csv")
    assert "median delay" in shown.out and "mutual information" in shown.out
    # The first and the last slice of delays have the people outside 0 to 60.
    assert "and beyond" in shown.out and "up to" in shown.out
    joint = lw.load("joint.json")
    rows = list(csv.DictReader(Path("cells.csv").read_text().splitlines()))
    assert len(rows) == 14 * 24 and rows[0]["delay"] == "below" and rows[0]["hour"] == "0"
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)
    # Nobody is there before six: the answer knows which column is which axis.
    assert joint.probability(hour=(-1, 5)) < 0.1 < joint.probability(hour=(6, 22))
    assert joint.probability(delay=(0, 30)) > 0.8
    document = json.loads(done("show", "joint.json", "--json").out)
    assert document["kind"] == "joint-distribution" and document["reports"] == 4000
    assert document["quantiles"]["hour"][0]["left"] is None
    done("plot", "joint.json", "-o", "picture.png")
    assert Path("picture.png").read_bytes()[:4] == b"\x89PNG"


def test_the_order_of_the_columns_does_not_matter(people: Path, done: Program) -> None:
    rows = [line.split(",") for line in people.read_text().split()]
    people.write_text("\n".join(",".join(reversed(row)) for row in rows) + "\n")
    done("randomize", "survey.json", people, "-o", "reports.lwr")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "joint.json")
    assert lw.load("joint.json").probability(hour=(6, 22)) > 0.9


def test_an_interval_without_bins_gets_about_64(tmp_path: Path, done: Program) -> None:
    done("new", "--domain-only", "--low", 0, "--high", 60, "-o", "delay.json")
    done("new", "--domain-only", "--categories", "a,b", "-o", "hour.json")
    shown = done("new", "--name", "delays", "--epsilon", 1, *BOTH, "-o", "survey.json")
    assert "delay: The interval is cut into 60 bins of width 1." in shown.out
    assert lw.Survey.load("survey.json").randomizer.domain.shape == (62, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--axis", "delay"), "--axis must be NAME=FILE"),
        (("--axis", "delay=delay.json"), "--axis must be given twice"),
        ((*BOTH[:2], *BOTH[:2]), "two different names"),
        ((*BOTH, "--low", "0", "--high", "1"), "Leave --low and --high out"),
        ((*BOTH[:2], "--axis", "hour=nothing.json"), "nothing.json"),
        ((*BOTH[:2], "--axis", "level=hour.json"), "cannot be named level"),
        (("--domain-only", *BOTH), "Leave --name, --epsilon and --axis out"),
    ],
)
def test_axes_that_are_wrong_are_refused(
    people: Path, lapwing: Program, words: tuple[str, ...], said: str
) -> None:
    run = lapwing("new", "--name", "delays", "--epsilon", 1, *words, "-o", "other.json")
    assert run.code != 0 and said in run.err
    assert not Path("other.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--column", "delay"), "--column is for one attribute"),
        (("--by", "hour"), "--by must name another column"),
    ],
)
def test_columns_that_are_wrong_are_refused(
    people: Path, lapwing: Program, words: tuple[str, ...], said: str
) -> None:
    run = lapwing("randomize", "survey.json", people, *words, "-o", "reports.parquet")
    assert run.code != 0 and said in run.err


def test_a_value_that_is_refused_is_named_by_row_and_axis(people: Path, lapwing: Program) -> None:
    lines = people.read_text().split()
    lines[7] = "6,3.5,noon"
    people.write_text("\n".join([*lines, ""]))
    run = lapwing("randomize", "survey.json", people, "-o", "reports.lwr")
    assert run.code != 0 and "row 7" in run.err and "hour" in run.err and "noon" not in run.err


def test_commands_for_one_attribute_say_what_the_file_holds(
    people: Path, done: Program, lapwing: Program
) -> None:
    done("randomize", "survey.json", people, "-o", "reports.lwr")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "joint.json")
    run = lapwing("plot", "joint.json", "--label", "x", "-o", "picture.png")
    assert run.code != 0 and "Leave out the segment" in run.err
    run = lapwing("answer", "joint.json", "--quantile", 0.5)
    assert run.code != 0 and "two attributes together" in run.err
    lw.load("joint.json").marginal("delay").save("delay-alone.json")
    done("answer", "delay-alone.json", "--quantile", 0.5)


def test_a_table_without_an_axis_is_refused(people: Path, lapwing: Program) -> None:
    people.write_text(people.read_text().replace("hour", "time"))
    run = lapwing("randomize", "survey.json", people, "-o", "reports.lwr")
    assert run.code != 0 and "hour" in run.err


def test_times_of_day_are_shown_as_times() -> None:
    clock = lw.Interval("06:00", "22:00", bins=16, unit="time-of-day")
    domain = lw.Product(start=clock, wait=lw.Integers(0, 3))
    joint = JointDistribution(domain, np.full(domain.size, 1 / domain.size))
    by_start, by_wait = joint_tables(joint, "x", joint_answer(joint, JointRequest()))
    said = [list(column.cells) for table in (by_start, by_wait) for column in table.columns]
    words = " ".join(str(cell) for column in said for cell in column)
    assert "14:00:00" in words and "21600" not in words and "06:00:00 to" in words
