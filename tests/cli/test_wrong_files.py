"""A file of the wrong kind, or a name that is not there: the sentence says what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

import lapwing as lw
from tests.cli.running import Program

LABELS = lw.Categories(["a", "b"], missing="category")
SURVEY = lw.Survey("letters", lw.RandomizedResponse(LABELS, 4))


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    held = ["a", "b", None, "b"] * 600
    sides = ["north", "south"] * 1200
    survey = lw.Survey("letters", SURVEY.randomizer, segments=["north", "south"])
    survey.save("survey.json")
    reports = survey.randomize(held, rng=lw.seeded(1))
    tallies = survey.tally(reports, by=sides)
    tallies.save("tallies.json")
    survey.decode(tallies["north"]).save("result.json")
    published = lw.release(
        held,
        LABELS,
        by=sides,
        segments=["north", "south"],
        epsilon=4,
        neighbors="replace-one",
        rng=lw.seeded(2),
    )
    published.release.save("release.json")


def test_tallies_by_segment_are_decoded_first(lapwing: Program) -> None:
    run = lapwing("answer", "tallies.json", "--segment", "north", "--share", "a")
    assert run.code == 2 and "lapwing decode SURVEY tallies.json --segment north" in run.complaint


def test_a_label_of_a_table_by_segment_needs_its_segment(lapwing: Program) -> None:
    run = lapwing("answer", "release.json", "--share", "a")
    assert run.code == 2 and "with --segment: north, south" in run.complaint


def test_a_result_is_no_tally(lapwing: Program) -> None:
    run = lapwing("decode", "survey.json", "result.json")
    assert run.code == 2 and "must be a survey, a tally or a release" in run.complaint


@pytest.mark.parametrize("name", ["missing", "(missing)", ""])
def test_missing_values_are_asked_by_name(done: Program, name: str) -> None:
    (row,) = done("answer", "result.json", "--share", name, "--json").document["questions"]
    assert row["share"] == pytest.approx(lw.Distribution.load("result.json").share(None))


def test_the_tallies_of_segments_are_decoded_one_by_one() -> None:
    tallies = lw.load("tallies.json")
    with pytest.raises(lw.LapwingError, match="Use the tally of one segment"):
        SURVEY.decode(tallies)


def test_a_domain_is_loaded_also_without_its_bins(done: Program) -> None:
    done("new", "--domain-only", "--low", "0", "--high", "10", "-o", "open.json")
    done("new", "--domain-only", "--low", "0", "--high", "10", "--bins", "4", "-o", "cut.json")
    assert lw.load("open.json") == lw.Interval(0, 10)
    assert lw.load("cut.json") == lw.Interval(0, 10, bins=4)


def test_many_candidates_of_one_hash_ask_for_more_bits() -> None:
    domain = lw.HashedStrings(8)
    channel = lw.LinearHashing(domain, 2).channel
    with pytest.raises(lw.LapwingError, match=r"such pairs, so ask with more bits"):
        lw.decoders.Candidates([f"word {n}" for n in range(300)]).symbols(channel)
