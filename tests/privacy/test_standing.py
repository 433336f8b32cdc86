"""What a seed drew says so wherever it is read, and no ledger pays for it."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli import main
from lapwing.errors import FormatError, PrivacyError
from lapwing.mechanisms.private_bounds import count_steps
from lapwing.papers.baselines.stochastic_rounding import mean_and_variance
from lapwing.papers.functional_approximation.interactive_sites import (
    PursuitSite,
    QuantileSite,
    pursuit_of_sites,
    quantiles_of_sites,
)
from lapwing.protocol.messages.group_tally import GroupTally
from lapwing.protocol.release import Release
from lapwing.stored_files import load as loaded

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
            lw.papers.functional_approximation.AdaptiveQuantiles(steps=5),
            lw.papers.functional_approximation.MatchingPursuit(terms=2),
            lw.papers.functional_approximation.PolynomialProjection(functions=3),
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


@pytest.mark.filterwarnings("ignore:of 6,000 rows")
class TestRowsOfUnits:
    """A seed that chose the counted rows marks what is released, however secure its noise is."""

    UNITS = np.arange(6000) // 3

    def counts(self, **source: Any) -> lw.protocol.ExactCounts:
        return lw.protocol.ExactCounts.of_values(VALUES, DOMAIN, unit=self.UNITS, most=1, **source)

    def test_release_sum_and_file(self, tmp_path: Path) -> None:
        seeded = self.counts(rng=lw.seeded(1))
        seeded.save(tmp_path / "counts.lws")
        read = lw.protocol.ExactCounts.load(tmp_path / "counts.lws")
        for one in (seeded, read, self.counts() + seeded):
            assert marked(lw.release(one, **HOW).release)
        secure = self.counts()
        with lw.testing.reproducible(1):
            door = self.counts()
        for one in (secure, door, lw.protocol.ExactCounts.of_values(VALUES, DOMAIN)):
            assert lw.release(one, **HOW).guarantee.standing is None

    def test_of_a_table(self) -> None:
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"age": VALUES, "who": self.UNITS.astype(str)})
        how: Any = {"column": "age", "unit": "who", "most": 1}
        seeded = lw.engines.arrow.summarize(table, DOMAIN, rng=lw.seeded(1), **how)
        secure = lw.engines.arrow.summarize(table, DOMAIN, **how)
        assert (seeded.standing, secure.standing) == ("seeded", None)

    def test_no_ledger_pays(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.json"
        lw.Ledger(lw.Guarantee(5, "1e-4", "replace-one", "central")).save(path)
        before = path.read_bytes()
        steps = count_steps(VALUES, unit=self.UNITS, most=1, rng=lw.seeded(1))
        for pay in (
            lambda: lw.release(self.counts(rng=lw.seeded(1)), ledger=path, **HOW),
            lambda: lw.private_bounds(steps, ledger=path, **HOW),
        ):
            with pytest.raises(PrivacyError, match="seeded: not private"):
                pay()
        assert path.read_bytes() == before
        assert str(lw.private_bounds(steps, **HOW).guarantee).endswith(SEEDED)


class TestReports:
    @pytest.mark.parametrize(
        "survey",
        [
            SURVEY,
            lw.Survey("words", lw.LinearHashing(lw.HashedStrings(16), epsilon=4)),
            lw.Survey(
                "hashed", lw.papers.baselines.LocalHashing(lw.Categories(["a", "b"]), epsilon=1)
            ),
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

    @pytest.mark.parametrize(
        ("ending", "by"),  # a compact file has no labels
        [(".lwr", None), *product([".csv", ".parquet", ".arrow"], [None, "half"])],
    )
    def test_tables_of_reports(
        self, ending: str, by: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"age": VALUES, "half": HALVES})
        path, plain = tmp_path / f"seeded{ending}", tmp_path / f"secure{ending}"
        how: Any = {"column": "age", "by": by}
        lw.engines.arrow.randomize(table, SURVEY, output=path, rng=lw.seeded(1), **how)
        lw.engines.arrow.randomize(table, SURVEY, output=plain, **how)
        assert loaded(path).standing == "seeded"
        assert loaded(plain).standing is None
        for names, standing in (([path], "seeded"), ([plain], None), ([plain, path], "seeded")):
            counted = lw.engines.arrow.tally(names, SURVEY, by=by)
            assert {tally.standing for tally in counted.groups.values()} == {standing}
        assert main(["show", str(path)]) == 0
        assert "seeded: not private" in capsys.readouterr().out
        assert main(["show", str(plain)]) == 0
        assert "not private" not in capsys.readouterr().out

    def test_an_unknown_word_in_a_csv_is_refused(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        path = tmp_path / "reports.csv"
        table = pa.table({"age": VALUES})
        lw.engines.arrow.randomize(table, SURVEY, output=path, rng=lw.seeded(1))
        path.write_text(path.read_text().replace("standing=seeded", "standing=private"))
        with pytest.raises(FormatError, match="standing"):
            lw.engines.arrow.tally(path, SURVEY)

    def test_one_report_of_a_permanent_round(self) -> None:
        rappor = lw.Rappor(lw.Categories(4), epsilon=1, lifetime=2)
        kept = rappor.permanent_round(0)
        assert rappor.report(kept, rng=lw.seeded(1)).standing == "seeded"
        assert rappor.report(kept).standing is None

    def test_rounds_of_a_tree(self) -> None:
        domain = lw.Integers(0, 63, outside="clip")
        for rng, standing in ((None, None), (lw.seeded(1), "seeded")):
            tree = lw.papers.baselines.AdaptiveTree(domain, epsilon=2, users=20_000)
            for number in range(tree.rounds):
                question, source = tree.question, rng if number == 0 else None
                asked = tree.leaves_of(np.arange(5000) % 20)
                tree.add(question.tally(question.randomize(asked, rng=source)))
            assert tree.decode().guarantee.standing == standing

    def test_means(self) -> None:
        rounding = lw.papers.baselines.StochasticRounding(lw.Integers(0, 9), epsilon=1)
        numbers = np.arange(1000) % 10
        for rng, standing in ((lw.seeded(1), "seeded"), (None, None)):
            both = mean_and_variance(numbers, rounding, rng=rng)
            assert [one.standing for one in both] == [standing, standing]

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
        assert GroupTally.from_bytes(joint.to_bytes()).form.standing == "seeded"
        assert {tally.standing for tally in secure.values()} == {None}

    def test_simulated_ones(self) -> None:
        tally = lw.simulate(SURVEY.randomizer, [100] * 32, rng=1)
        assert str(SURVEY.decode(tally).guarantee).endswith("; simulated: not private")
        both = SURVEY.tally(SURVEY.randomize(VALUES, rng=lw.seeded(1))) + tally.of_survey(
            SURVEY.fingerprint
        )
        assert both.standing == "simulated"


class TestSeveralTogether:
    """One marked part marks the whole, wherever it stands."""

    SECURE = SURVEY, SURVEY.tally(SURVEY.randomize(VALUES))
    MARKED = SURVEY, SURVEY.tally(SURVEY.randomize(VALUES[:5000], rng=lw.seeded(1)))

    def test_series(self, tmp_path: Path) -> None:
        series = lw.decode_series([self.SECURE, self.MARKED], names=["first", "second"])
        series.save(tmp_path / "series.json")
        for one in (series, lw.Series.load(tmp_path / "series.json")):
            first, second = (week.distribution for week in one.weeks)
            assert first is not None and str(first.guarantee).endswith("local model")
            assert second is not None and str(second.guarantee).endswith(SEEDED)
            assert "seeded: not private" in str(one.summary())

    def test_joint_results(self) -> None:
        together = lw.decode_together([self.SECURE, self.MARKED])
        assert marked(together)
        product = lw.Product(x=lw.Integers(0, 3), y=lw.Integers(0, 2))
        pairs = lw.Survey("pairs", lw.recommend(product, epsilon=1, users=5000).randomizer)
        values = {"x": np.arange(5000) % 4, "y": np.arange(5000) % 3}
        assert marked(pairs.decode(pairs.tally(pairs.randomize(values, rng=lw.seeded(1)))))

    @pytest.mark.parametrize(
        ("kind", "mechanism", "hub"),
        [
            (
                QuantileSite,
                lw.papers.functional_approximation.AdaptiveQuantiles(7),
                quantiles_of_sites,
            ),
            (
                PursuitSite,
                lw.papers.functional_approximation.MatchingPursuit(3, atoms=8),
                pursuit_of_sites,
            ),
        ],
    )
    def test_interactive_sites(self, kind: Any, mechanism: Any, hub: Any, tmp_path: Path) -> None:
        clipped = lw.Interval(0, 100, bins=32, outside="clip")
        promise = lw.privacy.Promise("replace-one", epsilon=1)
        counts = lw.protocol.ExactCounts.of_values(VALUES, clipped)
        secure, other = (kind(mechanism, counts, promise) for _ in range(2))
        assert marked(hub([secure, kind(mechanism, counts, promise, rng=lw.seeded(1))]))
        again = kind(mechanism, counts, promise)
        assert hub([again, other]).guarantee.standing is None
        path = tmp_path / "ledger.json"
        lw.Ledger(lw.Guarantee(5, "1e-4", "replace-one", "central")).save(path)
        with pytest.raises(PrivacyError, match="seeded: not private"):
            kind(mechanism, counts, promise, ledger=path, rng=lw.seeded(1))


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
        same = made.release.mechanism
        seeded = lw.release(VALUES, DOMAIN, mechanism=same, rng=lw.seeded(1), **HOW)
        assert np.array_equal(made.release.answers, seeded.release.answers)
