"""`lapwing answer`: the numbers of the library, in the words that were typed."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A result of numbers, of whole numbers, of times of day and of labels."""
    rng = lw.seeded(3)
    domains: dict[str, tuple[lw.Randomizer, list[object]]] = {
        "number": (lw.SquareWave(lw.Interval(-50, 50, bins=20), 2), [-20, 0, 0, 10, 30]),
        "whole": (lw.SquareWave(lw.Integers(0, 9), 2), [1, 2, 2, 9]),
        "clock": (
            lw.SquareWave(lw.Interval("00:00", "24:00", bins=24, unit="time-of-day"), 2),
            ["06:30", "07:30", "20:15"],
        ),
        "label": (lw.RandomizedResponse(lw.Categories(["red", "blue"]), 2), ["red", "red", "blue"]),
    }
    for name, (randomizer, values) in domains.items():
        survey = lw.Survey(name, randomizer)
        tally = survey.tally(survey.randomize(values * 500, rng=rng))
        (tmp_path / f"{name}.json").write_text(survey.decode(tally).to_json())
    return tmp_path


def read(folder: Path, name: str) -> lw.Distribution:
    return lw.Distribution.from_json((folder / f"{name}.json").read_text())


def test_numbers(results: Path, done: Program) -> None:
    result = read(results, "number")
    asked = ("--at-most", "-20", "--at-most", "12.5")
    run = done("answer", "number.json", *asked, "--csv", "out.csv", "--json", "--level", "0.9")
    rows = run.document["questions"]
    assert [row["at_most"] for row in rows] == ["-20", "12.5"]
    pair = done("answer", "number.json", "--above", "-5", "--at-most", "20", "--json").document
    assert (pair["questions"][0]["above"], pair["questions"][0]["at_most"]) == ("-5", "20")
    assert pair["questions"][0]["share"] == pytest.approx(result.probability(-5, 20))
    for row, (low, high) in zip(rows, [(-math.inf, -20), (-math.inf, 12.5)], strict=True):
        assert row["share"] == pytest.approx(result.probability(low, high))
        ends = result.probability_interval(low, high, level=0.9)
        assert (row["low"], row["high"]) == pytest.approx(ends)
    with (results / "out.csv").open() as stream:
        table = list(csv.DictReader(stream))
    asked = ["at most -20", "at most 12.5 (12.5 is inside the bin 10 to 15)"]
    assert [row["question"] for row in table] == asked
    assert [float(row["share"]) for row in table] == [row["share"] for row in rows]
    shown = done("answer", "number.json", "--at-most", "50").out
    assert "at most 50" in shown and "100.0%" in shown and "95% interval (pointwise)" in shown


def test_whole_numbers_times_and_labels(results: Path, done: Program) -> None:
    (row,) = done("answer", "whole.json", "--share", "2", "--json").document["questions"]
    assert row["share"] == pytest.approx(read(results, "whole").share(2))
    clock = ("--from", "06:00", "--before", "12:00", "--json")
    (row,) = done("answer", "clock.json", *clock).document["questions"]
    assert row["share"] == pytest.approx(read(results, "clock").probability(21_600, 43_200))
    (row,) = done("answer", "label.json", "--share", "blue", "--json").document["questions"]
    label = read(results, "label")
    assert row["share"] == label.share("blue") and row["low"] < row["share"] < row["high"]
    assert (row["low"], row["high"]) == pytest.approx(label.share_interval("blue"))
    assert np.isfinite(row["high"])


@pytest.mark.parametrize(
    ("result", "asked", "says"),
    [
        ("number", (), "ask a question with"),
        ("number", ("--at-most", "x"), "must be a number"),
        ("number", ("--at-most", "nan"), "must be a number"),
        ("number", ("--above", "9", "--below", "1"), "--above must not be greater than --below"),
        (
            "number",
            ("--above", "1", "--above", "2", "--below", "3"),
            "one lower and one upper limit",
        ),
        ("number", ("--at-least", "x"), "--at-least must be a number"),
        ("number", ("--share", "51"), "from -50 to 50"),
        (
            "clock",
            ("--from", "22:00", "--before", "02:00"),
            "--from must not be greater than --before",
        ),
        ("whole", ("--share", "10"), "from 0 to 9"),
        ("whole", ("--share", "x"), "from 0 to 9"),
        ("label", ("--at-most", "9"), "For labels, use --share"),
        ("label", ("--share", "blu"), "did you mean blue?"),
        ("label", ("--share", "red", "--csv", "out.txt"), "must end in .csv"),
        ("clock", ("--at-most", "25:61"), "--at-most must"),
        ("number", ("--at-most", "1", "--segment", "north"), "has no segments"),
    ],
)
def test_what_cannot_be_answered(
    results: Path, lapwing: Program, result: str, asked: tuple[str, ...], says: str
) -> None:
    run = lapwing("answer", f"{result}.json", *asked)
    assert run.code in (2, 3) and says in run.complaint
