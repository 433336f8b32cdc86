"""Tables that are shown are written, too (--csv); and what a stored release says is shown."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from tests.cli.running import Program, listing

PROMISE = ("--epsilon", "4", "--neighbors", "replace-one")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, done: Program) -> Path:
    """A result of numbers and one of dates, a release of labels, and one by segment."""
    (tmp_path / "values.csv").write_text("v\n" + "10\n25.5\n40\n" * 200)
    (tmp_path / "rows.csv").write_text("v,at\n" + "red,n\nblue,s\nred,s\n" * 50)
    wave = lw.Survey("x", lw.SquareWave(lw.Interval(0, 64, bins=16), 2))
    day = lw.Interval("2026-01-01", "2026-01-17", bins=16, unit="date")
    days = lw.Survey("d", lw.SquareWave(day, 2))
    for name, survey, values in (
        ("numbers", wave, [10.0, 25.5, 40.0] * 200),
        ("days", days, ["2026-01-03", "2026-01-09"] * 200),
    ):
        tally = survey.tally(survey.randomize(values, rng=lw.seeded(1)))
        result = survey.decode(tally, decoder=lw.LeastSquares())
        (tmp_path / f"{name}.json").write_text(result.to_json())
    labels = ("rows.csv", "-c", "v", "--categories", "red,blue", *PROMISE)
    done("release", *labels, "-o", "labels.json")
    done("release", *labels, "--by", "at", "--segments", "n,s", "-o", "table.json")
    return tmp_path


def written(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_quantiles(files: Path, done: Program) -> None:
    said = done(
        *("answer", "numbers.json", "--quantile", "0.1", "--quantile", "0.5"),
        *("--csv", "q.csv", "--json"),
    ).document
    rows = written(files / "q.csv")
    assert [float(row["value"]) for row in rows] == [row["value"] for row in said["quantiles"]]
    assert [float(row["low"]) for row in rows] == [row["low"] for row in said["quantiles"]]


def test_dates_are_written_as_dates(files: Path, done: Program) -> None:
    done("answer", "days.json", "--quantile", "0.5", "--csv", "q.csv")
    (row,) = written(files / "q.csv")
    assert row["value"].startswith("2026-01-") and row["high"].startswith("2026-01-")


def test_distances_and_differences(files: Path, done: Program) -> None:
    truth = ("--truth", "values.csv", "-c", "v")
    said = done("compare", "numbers.json", *truth, "--csv", "d.csv", "--json").document
    rows = written(files / "d.csv")
    assert [row["distance"] for row in rows] == list(said["distances"])
    assert float(rows[0]["value"]) == said["distances"]["wasserstein"]["value"]
    done("compare", "labels.json", "labels.json", "--csv", "f.csv")
    assert [row["label"] for row in written(files / "f.csv")] == ["red", "blue", "(missing)"]
    done("compare", "numbers.json", "numbers.json", "--csv", "g.csv")
    assert written(files / "g.csv")[-1]["probability"] == "mean"


def test_forecasts(files: Path, done: Program) -> None:
    goal = ("--epsilon", "1", "--users", "1000")
    done("recommend", *goal, "--low", "0", "--high", "10", "--csv", "r.csv")
    assert list(written(files / "r.csv")[0]) == [
        *("distance", "typical", "smooth", "multimodal", "spiky", "unit")
    ]
    assert written(files / "r.csv")[0]["unit"] == "share of the range"
    done("recommend", *goal, "--categories", "a,b,c", "--csv", "c.csv")
    assert "l1" in [row["distance"] for row in written(files / "c.csv")]


def test_what_is_decoded(files: Path, done: Program) -> None:
    wave = lw.Survey("h", lw.LinearHashing(lw.Categories(2**20), epsilon=4))
    (files / "survey.json").write_text(wave.to_json())
    (files / "keys.csv").write_text("k\n" + "77\n" * 3000)
    done("randomize", "survey.json", "keys.csv", "-c", "k", "-o", "k.lwr")
    done("tally", "survey.json", "k.lwr", "-o", "tally.json")
    scan = ("--decoder", "exhaustive-scan")
    done("decode", "survey.json", "tally.json", *scan, "--csv", "heavy.csv", "-q")
    assert written(files / "heavy.csv")[0]["value"] == "77"


def test_a_release_of_labels_is_shown(files: Path, done: Program) -> None:
    said = done("show", "labels.json", "--json").document
    assert {row["label"] for row in said["shares"]} == {"red", "blue", None}
    assert said["mechanism"]["class"] == "label-counts" and said["shares"][0]["low"] is not None
    shown = done("show", "labels.json", "--csv", "l.csv").out
    assert "red" in shown and "% interval" in shown
    assert {row["label"] for row in written(files / "l.csv")} == {"red", "blue", "(missing)"}


def test_a_release_by_segment_is_shown_by_segment(files: Path, done: Program) -> None:
    said = done("show", "table.json", "--csv", "t.csv", "--json").document
    assert [part["segment"] for part in said["segments"]] == ["n", "s"]
    assert {row["segment"] for row in written(files / "t.csv")} == {"n", "s"}
    assert "n, about" in done("show", "table.json").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("decode", "labels.json", "-o", "x.json"), "lapwing show labels.json"),
        (("show", "survey.json", "--csv", "s.csv"), "has no table"),
        (("decode", "survey.json"), "there is no tally"),
        (("decode", "numbers.json"), "must be a survey, a tally or a release"),
        (("answer", "numbers.json", "--quantile", "0.5", "--csv", "x.txt"), "must end in .csv"),
        (("answer", "numbers.json", "--quantile", "0.5", "--csv", "values.csv"), "already exists"),
        (("compare", "numbers.json", "--truth", "values.csv", "--csv", "values.csv"), "inputs"),
    ],
)
def test_what_is_refused_loses_nothing(
    files: Path, lapwing: Program, arguments: tuple[Any, ...], says: str
) -> None:
    survey = lw.Survey("x", lw.SquareWave(lw.Interval(0, 64, bins=16), 2))
    (files / "survey.json").write_text(survey.to_json())
    before = listing(files)
    run = lapwing(*arguments)
    assert run.code in (2, 4) and says in run.complaint
    assert listing(files) == before


def test_several_ranges_are_asked_at_once(files: Path, done: Program, lapwing: Program) -> None:
    asked = ("--at-most", "8", "--below=20", "--at-most", "30")
    rows = done("answer", "numbers.json", *asked, "--csv", "a.csv", "--json").document["questions"]
    shown = [row["question"].partition(" (")[0] for row in written(files / "a.csv")]
    assert shown == ["at most 8", "at most 30", "below 20"]
    result = lw.Distribution.from_json((files / "numbers.json").read_text())
    assert rows[1]["share"] == pytest.approx(float(result.cdf(30)))
    for wrong in (("--at-most",), ("--above", "1", "--above", "2", "--below", "3")):
        assert lapwing("answer", "numbers.json", *wrong).code == 2
