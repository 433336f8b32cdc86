"""Two attributes on the command line: from domains in files to a joint distribution."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli.showing.answer import joint_tables
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
        ((*BOTH, "--low", "0", "--high", "1"), "Leave out --low and --high"),
        ((*BOTH[:2], "--axis", "hour=nothing.json"), "nothing.json"),
        ((*BOTH[:2], "--axis", "level=hour.json"), "cannot be named level"),
        (("--domain-only", *BOTH), "Leave out --name, --epsilon and --axis"),
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
        (("--by", "hour"), "--by must differ from"),
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
    assert run.code != 0 and "Leave out --segment" in run.err
    run = lapwing("answer", "joint.json", "--quantile", 0.5)
    assert run.code != 0 and "contains two attributes" in run.err
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


CLOCK = lw.Product(
    start=lw.Interval("06:00", "22:00", bins=16, unit="time-of-day"), wait=lw.Integers(0, 9)
)


@pytest.fixture
def joints(tmp_path: Path) -> Path:
    """Two joint distributions: people wait 2 or 3 more in the second, and more in the evening."""
    survey = lw.Survey("waits", lw.randomizers.MultiscaleBoxes(CLOCK, 4))
    rng = np.random.default_rng(3)
    for name, more in (("before", 0), ("after", 3)):
        hours = rng.uniform(6, 22, 20_000)
        waits = np.clip(rng.poisson(1 + (hours > 14) * 2) + more, 0, 9)
        reports = survey.randomize({"start": 3600 * hours, "wait": waits})
        survey.decode(survey.tally(reports)).save(tmp_path / f"{name}.json")
    return tmp_path


def test_questions_in_words_are_answered_with_times_as_times(
    joints: Path, done: Program, lapwing: Program
) -> None:
    ask = (
        *("--ask", "quantile 0.5 of start given wait at-least 3"),
        *("--ask", "share start at-least 14:00 and wait below 2"),
        *("--ask", "correlation"),
    )
    shown = done("answer", "before.json", *ask, "--json", "--csv", "answers.csv")
    median, share, correlation = shown.document["answers"]
    assert median["text"].count(":") >= 1 and median["value"] > "14:00"
    assert share["low"] < share["value"] < share["high"] < 0.3
    assert 0 < correlation["low"] < correlation["value"] < 1
    rows = list(csv.DictReader(Path("answers.csv").read_text().splitlines()))
    assert rows[0]["value"] == median["value"] and float(rows[1]["value"]) == share["value"]
    assert shown.document["caution"] is None  # at epsilon 4
    document = json.loads(Path("before.json").read_text())
    document["guarantee"]["epsilon"] = "1"
    Path("small.json").write_text(json.dumps(document))
    small = done("answer", "small.json", *ask, "--json").document["caution"]
    assert (
        "are underestimated" in small
        and done("answer", "small.json", *ask[2:], "--json").document["caution"] is None
    )
    assert "Trust the intervals" in " ".join(done("answer", "small.json", *ask).out.split())
    assert "Trust the intervals" in " ".join(done("show", "small.json").out.split())
    said = " ".join(done("answer", "before.json", *ask).out.split())
    assert median["text"] in said and "about the people in the data" in said
    run = lapwing("answer", "before.json", "--ask", "median of start")
    assert run.code != 0 and "not a question" in run.err
    run = lapwing("answer", "before.json", "--ask", "quantile 0.5 of minute")
    assert run.code != 0 and "not a question about start and wait" in run.err


def test_two_joint_distributions_are_compared(
    joints: Path, done: Program, lapwing: Program
) -> None:
    written = ("--csv", "gap.csv", "-o", "gap.png")
    shown = done("compare", "after.json", "before.json", "--json", *written).document
    assert shown["kind"] == "joint-difference" and shown["marginals"]["wait"]["differ"] is True
    assert 2 < shown["marginals"]["wait"]["mean"]["shift"] < 3.5
    rows = list(csv.DictReader(Path("gap.csv").read_text().splitlines()))
    assert sum(float(row["difference"]) for row in rows) == pytest.approx(0, abs=1e-9)
    assert {"start from", "wait to", "low", "high", "about"} <= set(rows[0])
    assert shown["output"] == "gap.png" and Path("gap.png").read_bytes().startswith(b"\x89PNG")
    said = done("compare", "after.json", "before.json", "-o", "gap.svg").out
    assert "start: after minus before" in said and "wait: after minus before" in said
    assert "gap.svg" in said
    assert "after: " in Path("gap.svg").read_text() and "wait alone" in Path("gap.svg").read_text()
    run = lapwing("compare", "after.json", "before.json", "--segment", "a")
    assert run.code != 0 and "without segments" in run.err
    lw.load("after.json").marginal("wait").save("alone.json")
    for files in (("after.json", "alone.json"), ("alone.json", "after.json")):
        assert lapwing("compare", *files).code != 0


def test_pairs_are_planned(tmp_path: Path, done: Program, lapwing: Program) -> None:
    done("new", "--domain-only", "--low", 0, "--high", 60, "-o", "delay.json")
    done("new", "--domain-only", "--integers", 0, 23, "-o", "hour.json")
    both = ("--domain", "delay.json", "--domain", "when=hour.json", "--epsilon", 1)
    shown = done("recommend", *both, "--users", 50_000, "--json").document
    assert shown["randomizer"]["class"] == "multiscale-boxes"
    names = [axis["name"] for axis in shown["randomizer"]["domain"]["axes"]]
    assert names == ["delay", "when"]
    said = done("recommend", *both, "--error", 0.02).out
    assert "rectangle" in said and "people needed" in said and "No collector" not in said
    for wrong in (both[:2] * 2, (*both[:4], "--domain", "hour.json")):
        run = lapwing("recommend", *wrong, "--epsilon", 1, "--users", 1000)
        assert run.code != 0 and "names for two attributes" in run.err
