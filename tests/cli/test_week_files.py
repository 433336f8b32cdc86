"""A folder of weeks: in the order of their names, and a date that is missing is a gap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.cli.reading.stored_answers import read_weeks
from lapwing.errors import ArgumentError
from tests.cli.conftest import Program


def test_a_missing_date_is_a_gap_and_is_said(tmp_path: Path) -> None:
    survey = lw.Survey("n", lw.SquareWave(lw.Interval(0, 1, bins=4), 4))
    file, weeks = tmp_path / "survey.json", tmp_path / "weeks"
    file.write_text(survey.to_json())
    weeks.mkdir()
    for week in (1, 3, 4):
        tally = lw.simulate(survey.randomizer, [90, 60, 30, 20], rng=week)
        (weeks / f"2026-W{week:02d}.json").write_text(json.dumps(tally.to_document()))
    words = [str(file), str(weeks)]
    found = read_weeks([*words, "-"])
    assert found.names == ["2026-W01", "2026-W02", "2026-W03", "2026-W04", "gap 5"]
    assert [week is None for week in found.weeks] == [False, True, False, False, True]
    assert len(found.paths) == 4
    series = lw.decode_series(found.weeks, names=found.names)
    assert "gap 2026-W02" in series.summary()
    assert read_weeks(words, dated=False).names == ["2026-W01", "2026-W03", "2026-W04"]
    (weeks / "2026-W04.json").rename(weeks / "last.json")
    assert read_weeks(words).names == ["2026-W01", "2026-W03", "last"]


SURVEY = lw.Survey("n", lw.SquareWave(lw.Interval(0, 1, bins=4), 4))


def pair(number: int) -> tuple[lw.Survey, lw.Tally]:
    return SURVEY, lw.simulate(SURVEY.randomizer, [90, 60, 30, 20], rng=number)


@pytest.mark.parametrize(
    ("names", "whole"),
    [
        (["t-2022-W51", "t-2022-W52", "t-2023-W02"], ["t-2023-W01"]),
        (["2026-w48", "2026-w49", "2026-w52"], ["2026-w50", "2026-w51"]),
        (["2025-11", "2025-12", "2026-02"], ["2026-01"]),
        (["2026-02-27", "2026-02-28", "2026-03-02"], ["2026-03-01"]),
        (["a_2025-Q3", "a_2025-Q4", "a_2026-Q2"], ["a_2026-Q1"]),
        (["2026-q1", "2026-q2", "2026-q4"], ["2026-q3"]),
        (["2020", "2021", "2023"], ["2022"]),
        (["2026-W01", "2026-W03", "2026-W07"], ["2026-W05"]),
        (["spring", "summer", "winter"], []),
        (["2026-W01", "2026-W02", "2026-04"], []),  # of two forms
        (["2026-Q1", "2026-Q5", "2026-Q7"], []),  # of no calendar
    ],
)
def test_a_series_knows_the_dates_in_its_names(names: list[str], whole: list[str]) -> None:
    weeks = [pair(number) for number in range(len(names))]
    series = lw.decode_series(weeks, names=names)
    assert [week.name for week in series.weeks if week.gap is not None] == whole
    assert [name for name in series.names if name not in whole] == names
    assert series.names == lw.Series.from_document(series.to_document()).names


@pytest.mark.parametrize(
    "names", [["2026-Q2", "2026-Q1"], ["2026-w10", "2026-W09"], ["t-2024-W01", "t-2022-W01"]]
)
def test_a_wrong_order_is_refused(names: list[str]) -> None:
    with pytest.raises(ArgumentError, match="must be in order"):
        lw.decode_series([pair(0), pair(1)], names=names)
    watch = lw.Watch().look(pair(0), name=names[0])[0]
    with pytest.raises(ArgumentError, match="must be in order"):
        watch.look(pair(1), name=names[1])


def test_a_folder_with_its_survey_and_both_cases_is_in_order(tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(SURVEY.to_json())
    weeks = tmp_path / "weeks"
    weeks.mkdir()
    for number, name in enumerate(["t-2026-w09", "t-2026-W10", "t-2026-w12"]):
        (weeks / f"{name}.json").write_text(pair(number)[1].to_json())
    words = [str(tmp_path / "survey.json"), str(weeks)]
    assert read_weeks(words).names == ["t-2026-w09", "t-2026-W10", "t-2026-w11", "t-2026-w12"]


def test_a_file_of_tallies_by_week_is_a_series(lapwing: Program, tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(SURVEY.to_json())
    reports = SURVEY.randomize([0.1] * 450 + [0.9] * 150)
    by = ["2022-W01"] * 250 + ["2022-W02"] * 200 + ["2024-W01"] * 120 + [None] * 30
    (tmp_path / "t.json").write_text(SURVEY.tally(reports, by=by, minimum=100).to_json())
    run = lapwing("series", "survey.json", "t.json", "-o", "series.json")
    assert run.code == 0 and "2022-W03 to 2023-W52" in run.out and run.out.count("nobody") == 2
    assert run.err == (
        "lapwing: warning: 30 reports are left out: they have no week, or their week has fewer "
        "reports than lapwing tally --segment-minimum\n"
    )
    assert lapwing("plot", "series.json", "-o", "series.svg").code == 0
    assert len(lw.Series.load(tmp_path / "series.json").weeks) == 105
    one = lapwing("series", "survey.json", "t.json", "--segment", "2022-W01", "--json")
    assert len(one.document["weeks"]) == 1
    by = ["north"] * 300 + ["south"] * 300
    (tmp_path / "t.json").write_text(SURVEY.tally(reports, by=by, minimum=100).to_json())
    assert "Choose one with --segment" in lapwing("series", "survey.json", "t.json").err
