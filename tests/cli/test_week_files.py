"""A folder of weeks: in the order of their names, and a date that is missing is a gap."""

from __future__ import annotations

import json
from pathlib import Path

import lapwing as lw
from lapwing.cli.reading.stored_answers import read_weeks


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
