"""`lapwing new` with segments and remembered answers, and what other commands say of them."""

from __future__ import annotations

from pathlib import Path

from lapwing import Categories, RandomizedResponse, Rappor, Survey, seeded
from tests.cli.running import Program

NEW = ("--name", "color", "--randomizer", "randomized-response", "--epsilon", "1")
LABELS = ("--categories", "red,green")


def test_segments_and_memory_are_part_of_the_survey(lapwing: Program, tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    parts = ("--segment", "north", "--segment", "south", "--segment-minimum", "50", "--remembered")
    made = lapwing("new", "-o", path, *NEW, *LABELS, *parts, "--json")
    assert made.code == 0, made.err
    survey = Survey.load(path)
    assert survey.segments == ("north", "south") and survey.segment_minimum == 50
    assert survey.answers == "remembered report"
    assert made.document["survey"] == survey.to_document()
    shown = lapwing("new", "-o", path, "--force", *NEW, *LABELS, *parts).out
    assert "north, south. Each is shown from 50 reports on" in " ".join(shown.split())
    assert "remembered" in shown


def test_a_remembered_report_costs_once(lapwing: Program, tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    assert lapwing("new", "-o", path, *NEW, *LABELS, "--remembered").code == 0
    found = lapwing("verify", path, "--rounds", "100", "--budget", "1", "--json")
    assert found.code == 0, found.err
    assert {row["epsilon"] for row in found.document["repeats"]} == {1.0}
    assert found.document["person"]["spent"]["epsilon"] == "1"
    assert "repetitions of the memoized report of one device file" in " ".join(
        lapwing("verify", path).out.split()
    )


def test_what_does_not_fit_is_refused(lapwing: Program, tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    for parts, says in (
        (("--segment", "other"), "'other'"),
        (("--segment", "north", "--segment", "north"), "named twice"),
        (("--segment-minimum", "5"), "Add --segment"),
    ):
        refused = lapwing("new", "-o", path, *NEW, *LABELS, *parts)
        assert refused.code == 2 and says in refused.complaint and not path.exists()


def test_a_difference_says_what_it_cannot_tell(lapwing: Program, tmp_path: Path) -> None:
    colors = Categories(["red", "green"])
    fresh = Survey("color", RandomizedResponse(colors, 1))
    kept = Survey("color", fresh.randomizer, remembered=True)
    habit = Survey("habit", Rappor(colors, 1))
    files: list[list[Path]] = []
    for place, survey in enumerate((fresh, kept, habit)):
        files.append([tmp_path / f"{place}-{period}.json" for period in (1, 2)])
        for period, path in enumerate(files[-1]):
            reports = survey.randomize(["red", "green", "red"] * 300, rng=seeded(period))
            path.write_text(survey.decode(survey.tally(reports)).to_json())
    for remembered in files[1:]:
        refused = lapwing("compare", *remembered)
        assert refused.code == 4 and "joined" in refused.complaint
        assert lapwing("compare", *remembered, "--people", "different").code == 0
    fresh_ones = lapwing("compare", *files[0], "--target", "empirical", "--json").document
    assert fresh_ones["caution"] is None
