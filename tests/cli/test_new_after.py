"""`lapwing new --after`, and both epochs decoded to one answer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program

LINE = lw.Interval(0, 60, bins=16)
FIRST = lw.Survey("wait", lw.MultiscaleWave(LINE, 2))
COUNTS = np.arange(16, 0, -1) * 500


@pytest.fixture
def epochs(tmp_path: Path, done: Program) -> Path:
    """Two epochs, the second as the program chose it, and the tallies of both."""
    (tmp_path / "first.json").write_text(FIRST.to_json())
    write(tmp_path / "first.tally.json", lw.simulate(FIRST.randomizer, COUNTS, rng=1))
    done("decode", "first.json", "first.tally.json", "-o", "answer.json")
    done("new", "--after", "first.json", "answer.json", "--users", "30000", "-o", "second.json")
    second = lw.Survey.load(tmp_path / "second.json")
    write(tmp_path / "second.tally.json", lw.simulate(second.randomizer, 2 * COUNTS, rng=2))
    return tmp_path


def write(path: Path, tally: lw.tallies.CountTally) -> None:
    path.write_text(json.dumps(tally.to_document()))


def test_it_writes_what_the_library_chooses(epochs: Path, done: Program) -> None:
    answer = lw.Distribution.from_json((epochs / "answer.json").read_text())
    meant = FIRST.next_epoch(answer, users=30_000)
    written = lw.Survey.load(epochs / "second.json")
    assert written == meant and written.fingerprint != FIRST.fingerprint
    named = ("new", "--after", "first.json", "answer.json", "--name", "again", "-o", "third.json")
    document = done(*named, "--json").document
    assert document["survey"]["name"] == "again" and document["before"] == FIRST.fingerprint
    assert "subset" in done(*named, "--force").out


def test_both_epochs_give_one_answer(epochs: Path, done: Program, lapwing: Program) -> None:
    files = ("first.json", "first.tally.json", "second.json", "second.tally.json")
    said = done("decode", *files, "-o", "both.json", "--json").document
    assert [one["reports"] for one in said["together"]] == [COUNTS.sum(), 2 * COUNTS.sum()]
    both = lw.Distribution.from_json((epochs / "both.json").read_text())
    assert both.reports == 3 * COUNTS.sum()
    np.testing.assert_allclose(both.mass, COUNTS / COUNTS.sum(), atol=0.02)
    assert "204,000" in done("decode", *files).out
    swapped = ("first.json", "second.tally.json", "second.json", "first.tally.json")
    assert lapwing("decode", *swapped).code == 4
    assert "a special decoder" in lapwing("decode", *files, "--decoder", "least-squares").complaint
    several = ("first.json", "first.tally.json", "first.tally.json")
    assert "lapwing merge" in lapwing("decode", *several).complaint
    gap = ("first.json", "first.tally.json", "-", "second.json", "second.tally.json")
    assert "gaps" in lapwing("decode", *gap).complaint
    assert "there is no tally" in lapwing("decode", "first.json").complaint


def test_a_survey_without_its_tally_is_not_left_out(epochs: Path, lapwing: Program) -> None:
    first, second = ("first.json", "first.tally.json"), ("second.json", "second.tally.json")
    for files in (
        (*first, "second.json"),
        ("second.json", *first),
        (*second, *first, "second.json"),
    ):
        run = lapwing("decode", *files)
        assert run.code == 2 and "no tally follows survey second.json" in run.complaint


def test_it_says_whether_the_parts_are_the_usual_ones(epochs: Path, done: Program) -> None:
    parts = lw.Survey.load(epochs / "second.json").randomizer == FIRST.randomizer
    again = (
        *("new", "--after", "first.json", "answer.json", "--users", "30000"),
        *("-o", "second.json", "--force"),
    )
    assert done(*again, "--json").document["default_mixture"] is parts
    assert ("the default mixture" in done(*again).out) is parts
    spiky = np.where(np.arange(16) == 3, 10**6, 10)
    write(epochs / "spiky.tally.json", lw.simulate(FIRST.randomizer, spiky, rng=3))
    done("decode", "first.json", "spiky.tally.json", "-o", "spiky.json")
    said = done(
        "new", "--after", "first.json", "spiky.json", "-o", "third.json", "--json"
    ).document["default_mixture"]
    third = lw.Survey.load(epochs / "third.json").randomizer
    assert said is (third == FIRST.randomizer)
    assert said is not parts  # both answers are seen
