"""What a seed drew says so wherever it is read, and no ledger pays for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import FormatError, PrivacyError
from lapwing.protocol.messages.joint_tally import JointTally
from lapwing.protocol.release import Release

VALUES = np.random.default_rng(1).normal(40, 10, size=6000).clip(0, 100)
HALVES = ["north"] * 3000 + ["south"] * 3000
DOMAIN = lw.Interval(0, 100, bins=32)
HOW: Any = {"neighbors": "replace-one", "epsilon": 1, "delta": 1e-6}
SURVEY = lw.Survey("age", lw.SquareWave(DOMAIN, epsilon=1))
SEEDED = "; seeded: not private"


def marked(result: Any) -> bool:
    """Return whether a result says that it is seeded, and its file does."""
    again = type(result).from_document(result.to_document())
    return all(str(one.guarantee).endswith(SEEDED) for one in (result, again))


class TestReleases:
    def test_release_sum_and_distribution(self) -> None:
        seeded = lw.release(VALUES, DOMAIN, rng=lw.seeded(1), **HOW)
        secure = lw.release(VALUES, DOMAIN, **HOW)
        assert marked(seeded.release) and marked(seeded.distribution)
        assert marked(secure.release + seeded.release)
        assert "private" not in str(secure.guarantee) + str(secure.distribution.guarantee)
        assert marked(Release.from_json(seeded.release.to_json()))
        difference = seeded.distribution.difference(secure.distribution, people="same")
        assert str(difference.guarantee).endswith(SEEDED)

    def test_segments(self) -> None:
        made = lw.release(
            VALUES, DOMAIN, by=HALVES, segments=["north", "south"], rng=lw.seeded(1), **HOW
        )
        assert all(marked(one) for one in made.by_segment().values())

    @pytest.mark.parametrize(
        "mechanism",
        [
            lw.mechanisms.AdaptiveQuantiles(steps=5),
            lw.mechanisms.MatchingPursuit(terms=2),
            lw.mechanisms.PolynomialProjection(functions=3),
            lw.mechanisms.SumTree(),
        ],
    )
    def test_every_mechanism(self, mechanism: Any) -> None:
        clipped = lw.Interval(0, 100, bins=32, outside="clip")
        made = lw.release(VALUES, clipped, mechanism=mechanism, rng=lw.seeded(1), **HOW)
        assert marked(made.release) and marked(made.distribution)

    def test_an_unknown_standing_is_refused(self) -> None:
        document = lw.release(VALUES, DOMAIN, rng=lw.seeded(1), **HOW).release.to_document()
        document["parts"][0]["standing"] = "private"
        with pytest.raises(FormatError, match="standing"):
            Release.from_document(document)


class TestReports:
    @pytest.mark.parametrize(
        "survey",
        [
            SURVEY,
            lw.Survey("words", lw.LinearHashing(lw.HashedStrings(16), epsilon=4)),
            lw.Survey("hashed", lw.randomizers.LocalHashing(lw.Categories(["a", "b"]), epsilon=1)),
        ],
    )
    def test_files_slices_sums_and_results(self, survey: Any, tmp_path: Path) -> None:
        values = VALUES if survey is SURVEY else ["a", "b"] * 3000
        reports = survey.randomize(values, rng=lw.seeded(1))
        reports.save(tmp_path / "reports.lwr")
        read = lw.Reports.load(tmp_path / "reports.lwr")
        assert reports[:9].standing == read.standing == "seeded"
        tally = survey.tally(read) + survey.tally(survey.randomize(values))
        tally = type(tally).from_document(tally.to_document())
        assert tally.standing == "seeded" and "seeded" in tally._repr_html_()
        assert marked(survey.decode(tally))
        assert survey.tally(survey.randomize(values)).standing is None

    @pytest.mark.parametrize("name", ["groups.json", "groups.parquet"])
    def test_segments(self, name: str, tmp_path: Path) -> None:
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow")
        secure = SURVEY.tally(SURVEY.randomize(VALUES), by=HALVES)
        groups = secure + SURVEY.tally(SURVEY.randomize(VALUES, rng=lw.seeded(1)), by=HALVES)
        groups.save(tmp_path / name)
        for one in (groups, lw.tallies.GroupTallies.load(tmp_path / name)):
            assert {tally.standing for tally in one.values()} == {"seeded"}
        joint: Any = groups.segments
        assert JointTally.from_bytes(joint.to_bytes()).form.standing == "seeded"
        assert {tally.standing for tally in secure.values()} == {None}

    def test_simulated_ones(self) -> None:
        tally = lw.simulate(SURVEY.randomizer, [100] * 32, rng=1)
        assert str(SURVEY.decode(tally).guarantee).endswith("; simulated: not private")
        both = SURVEY.tally(SURVEY.randomize(VALUES, rng=lw.seeded(1))) + tally.of_survey(
            SURVEY.fingerprint
        )
        assert both.standing == "simulated"


class TestLedger:
    @pytest.mark.parametrize(
        "pay",
        [
            lambda path: lw.release(VALUES, DOMAIN, ledger=path, rng=lw.seeded(1), **HOW),
            lambda path: lw.private_bounds(VALUES, ledger=path, rng=lw.seeded(1), **HOW),
        ],
    )
    def test_it_refuses_before_it_pays(self, pay: Callable[[Path], Any], tmp_path: Path) -> None:
        path = tmp_path / "ledger.json"
        lw.Ledger(lw.Guarantee(5, "1e-4", "replace-one", "central")).save(path)
        before = path.read_bytes()
        with pytest.raises(PrivacyError, match="seeded: not private"):
            pay(path)
        assert path.read_bytes() == before

    def test_the_door_of_tests_marks_nothing_and_closes(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.json"
        lw.Ledger(lw.Guarantee(5, "1e-4", "replace-one", "central")).save(path)
        source = lw.privacy.secure()
        with lw.testing.reproducible(1):
            made = lw.release(VALUES, DOMAIN, ledger=path, **HOW)
        assert lw.privacy.secure() is source and made.guarantee.standing is None
        seeded = lw.release(VALUES, DOMAIN, rng=lw.seeded(1), **HOW)
        assert np.array_equal(made.release.answers, seeded.release.answers)
