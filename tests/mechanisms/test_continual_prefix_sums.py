"""Rounds: noise after ten of them, sensitivity by brute force, replays and refusals."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest

from lapwing.decoders.releases.prefix_estimate import prefix_estimate
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.errors import ArgumentError, BudgetError, FormatError, MismatchError, PrivacyError
from lapwing.mechanisms.continual_prefix_sums import TIME_UNIT, RunningPrefixSums
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.survey.curator_release import release
from lapwing.testing import reproducible

DOMAIN = Interval(0, 1, bins=9)
PROMISE = Promise("replace-one", epsilon=1, delta="1e-6")


def months(count, people=300, domain=DOMAIN):
    rng = np.random.default_rng(3)
    return [ExactCounts.of_values(rng.beta(2, 1 + m / 5, people), domain) for m in range(count)]


def begun(path, summary, *, rounds=10, seed=1):
    """Return a paid first round, and the ledger that paid."""
    ledger = Ledger.open(path, wait=0)
    Ledger(Guarantee(10, "1e-5", "replace-one", "central")).save(ledger.path)
    with reproducible(seed):
        first = release(
            summary,
            neighbors="replace-one",
            epsilon=1,
            delta="1e-6",
            mechanism=RunningPrefixSums(rounds),
            ledger=ledger,
        )
    return first.release, ledger


def run(rounds, summaries, seed=1):
    # Many rounds for statistics: what a loss of power would leave does not matter here.
    with TemporaryDirectory() as folder, patch("os.fsync"):
        found, ledger = begun(Path(folder) / "budget.json", summaries[0], rounds=rounds, seed=seed)
        for t in range(1, len(summaries)):
            with reproducible(seed + 100 * t):
                found = found.mechanism.following(found, summaries[:t], summaries[t], ledger=ledger)
    return found


def test_noise_after_ten_rounds_is_that_of_less_than_two():
    domain = Interval(0, 1, bins=200)
    found = run(10, months(10, domain=domain))
    one = RunningPrefixSums(1).release(months(1, domain=domain)[0], PROMISE, rng=seeded(1))
    estimates = [prefix_estimate(release.channel, release) for release in (found, one)]
    deviation = [np.sqrt(estimate.variance) for estimate in estimates]
    # One round alone has weight TIME_UNIT too, which its combination divides out.
    assert deviation[0] / deviation[1] == pytest.approx(1.79, abs=0.02)


def test_the_sensitivity_is_that_of_all_pairs_in_all_rounds():
    running = RunningPrefixSums(4)
    size = 10
    from lapwing.mechanisms.prefix_sums import SquareRootStrategy

    one = np.array([SquareRootStrategy(size).answers(u) for u in np.eye(size, dtype=np.int64)])
    worst = [0, 0]
    for first in range(4):
        for i in range(size):
            for j in range(size):
                moved = [running.weights[t - first] * (one[i] - one[j]) for t in range(first, 4)]
                flat = np.concatenate(moved)
                worst = [max(worst[0], int((flat**2).sum())), max(worst[1], int(abs(flat).sum()))]
    found = running._sensitivity(size, "replace-one")
    assert [found.squared, found.absolute] == worst


def test_the_total_is_unbiased_and_has_its_variance():
    summaries = months(5)
    truth = np.cumsum(sum(s.counts for s in summaries))
    errors = []
    for seed in range(50):
        found = run(5, summaries, seed=seed)
        estimate = prefix_estimate(found.channel, found)
        errors.append(estimate.sums - truth)
    deviation = [estimate.deviation(i) for i in range(10)]
    z = np.mean(errors, axis=0) / deviation * np.sqrt(50)
    assert np.abs(z).max() < 5
    ratio = np.std(errors, axis=0) / deviation
    # 4.5 standard errors of a standard deviation from 50 draws.
    assert np.abs(ratio - 1).max() < 0.45


def test_decoded_it_knows_all_people():
    found = run(10, months(4, people=2_000))
    result = StepPursuit().decode(found.channel, found)
    assert result.reports == 8_000 and result.confidence_band(0.95) is not None


def test_documents_round_trip():
    found = run(3, months(3))
    again = Release.from_document(found.to_document())
    assert np.array_equal(again.blocks[0], found.blocks[0])
    document = found.to_document()
    document["mechanism"]["rounds"] = 2
    with pytest.raises(FormatError):
        Release.from_document(document)


class TestRounds:
    """A round is drawn once, whatever of the earlier state is copied, stored or crashed."""

    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "budget.json"

    def test_a_second_drawing_is_refused(self, path):
        summaries = months(3)
        first, ledger = begun(path, summaries[0])
        running = first.mechanism
        second = running.following(first, summaries[:1], summaries[1], ledger=ledger)
        after = path.read_bytes()
        for other in (ledger, path, str(path), Ledger.open(path, wait=0)):
            with pytest.raises(BudgetError, match="No round may be drawn twice"):
                running.following(first, summaries[:1], summaries[1], ledger=other)
        # Not with other counts, nor with the same noise, nor from the stored release.
        stored = Release.from_document(first.to_document())
        for before, counts in ((first, summaries[2]), (stored, summaries[1])):
            with pytest.raises(BudgetError, match="drawn twice"):
                running.following(before, summaries[:1], counts, ledger=ledger)
        with pytest.raises(PrivacyError, match="round 3 would be seeded"):
            running.following(second, summaries[:2], summaries[2], ledger=ledger, rng=seeded(1))
        assert path.read_bytes() == after
        third = running.following(second, summaries[:2], summaries[2], ledger=ledger)
        assert third.people == 900
        # Dropping the last round from the release does not bring it back.
        shorter = Release(running, third.domain, third.answers[: 2 * 10], third.parts[:2])
        for before, t in ((shorter, 2), (second, 2), (first, 1)):
            with pytest.raises(BudgetError, match="drawn twice"):
                running.following(before, summaries[:t], summaries[t], ledger=ledger)

    def test_redrawing_does_not_average_the_noise_out(self, path):
        summaries = months(2)
        first, ledger = begun(path, summaries[0])
        drawn = []
        for _ in range(20):
            try:
                again = first.mechanism.following(first, summaries[:1], summaries[1], ledger=ledger)
            except BudgetError:
                continue
            drawn.append(again.answers)
        assert len(drawn) == 1

    def test_it_is_marked_before_the_noise_is_drawn(self, path, monkeypatch):
        class Broken:
            def words(self, count):
                raise RuntimeError

        summaries = months(2)
        first, ledger = begun(path, summaries[0])
        assert ledger.read().entries[0].drawn_rounds == 1
        with monkeypatch.context() as broken, pytest.raises(RuntimeError):
            broken.setattr("lapwing.privacy.sampling.randomness._secure", Broken())
            first.mechanism.following(first, summaries[:1], summaries[1], ledger=ledger)
        assert ledger.read().entries[0].drawn_rounds == 2
        with pytest.raises(BudgetError, match="drawn twice"):
            first.mechanism.following(first, summaries[:1], summaries[1], ledger=ledger)

    def test_what_is_refused_otherwise_marks_nothing(self, path):
        summaries = months(2)
        first, ledger = begun(path, summaries[0])
        other = months(1, domain=Interval(0, 1, bins=8))[0]
        for earlier, counts in (([], summaries[1]), (summaries[:1], other)):
            with pytest.raises(MismatchError):
                first.mechanism.following(first, earlier, counts, ledger=ledger)
        assert ledger.read().entries[0].drawn_rounds == 1

    def test_only_the_ledger_that_paid(self, path, tmp_path):
        summaries = months(2)
        first, ledger = begun(path, summaries[0])
        running, other = first.mechanism, Ledger.open(tmp_path / "other.json")
        Ledger(Guarantee(10, "1e-5", "replace-one", "central")).save(other.path)
        with pytest.raises(BudgetError, match="did not pay"):
            running.following(first, summaries[:1], summaries[1], ledger=other)
        unpaid = running.release(summaries[0], PROMISE)
        with pytest.raises(BudgetError, match="did not pay"):
            running.following(unpaid, summaries[:1], summaries[1], ledger=ledger)
        # A payment for less: other rounds, or a release that is drawn once.
        part = replace(unpaid.parts[0], identifier="1" * 32)
        for rounds, loss in (
            (10, RunningPrefixSums(9).loss(unpaid.domain, PROMISE)),
            (1, running.loss(unpaid.domain, PROMISE)),
        ):
            another = Ledger.open(tmp_path / f"{rounds}.json")
            Ledger(Guarantee(10, "1e-5", "replace-one", "central")).save(another.path)
            paid = PROMISE.guarantee(loss)
            with another.paying("x", paid, loss=loss, release="1" * 32, rounds=rounds):
                forged = Release(running, unpaid.domain, unpaid.answers, [part])
            if rounds == 10:  # the same promise, and more noise for more rounds
                assert loss != unpaid.parts[0].loss
            with pytest.raises(BudgetError, match="did not pay"):
                running.following(forged, summaries[:1], summaries[1], ledger=another)

    def test_a_link_to_the_ledger_is_the_ledger(self, path, tmp_path):
        summaries = months(2)
        first, ledger = begun(path, summaries[0])
        (tmp_path / "link.json").symlink_to(path)
        running = first.mechanism
        running.following(first, summaries[:1], summaries[1], ledger=tmp_path / "link.json")
        with pytest.raises(BudgetError, match="drawn twice"):
            running.following(first, summaries[:1], summaries[1], ledger=ledger)

    def test_a_copy_of_the_ledger_does_not_know(self, path, tmp_path):
        """What docs/privacy/central.md says that it cannot know, so that the page stays true."""
        summaries = months(2)
        first, ledger = begun(path, summaries[0])
        shutil.copy(path, tmp_path / "copy.json")
        for each in (ledger, tmp_path / "copy.json"):
            first.mechanism.following(first, summaries[:1], summaries[1], ledger=each)

    def test_a_release_of_one_drawing_has_no_rounds_in_its_ledger(self, path):
        _, ledger = begun(path, months(1)[0], rounds=1)
        assert set(ledger.read().to_document()["entries"][0]) == {
            *("name", "guarantee", "loss", "state", "release")
        }


class TestRefusals:
    def test_other_earlier_rounds(self, tmp_path):
        summaries = months(3)
        first, ledger = begun(tmp_path / "budget.json", summaries[0], rounds=3)
        with pytest.raises(MismatchError, match="in order"):
            first.mechanism.following(first, [], summaries[1], ledger=ledger)
        with pytest.raises(MismatchError, match="in order"):
            RunningPrefixSums(4).following(first, summaries[:1], summaries[1], ledger=ledger)

    def test_more_rounds_than_were_planned(self, tmp_path):
        summaries = months(3)
        found, ledger = begun(tmp_path / "budget.json", summaries[0], rounds=2)
        running = found.mechanism
        found = running.following(found, summaries[:1], summaries[1], ledger=ledger)
        with pytest.raises(ArgumentError, match="all 2 rounds"):
            running.following(found, summaries[:2], summaries[2], ledger=ledger)

    def test_hidden_people(self):
        hidden = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
        with pytest.raises(PrivacyError, match="public"):
            RunningPrefixSums(2).loss(DOMAIN, hidden)

    @pytest.mark.parametrize("rounds", [0, 1001, True])
    def test_rounds(self, rounds):
        with pytest.raises(ArgumentError, match="rounds"):
            RunningPrefixSums(rounds)


def test_weights_are_whole():
    assert RunningPrefixSums(3).weights.tolist() == [TIME_UNIT, TIME_UNIT // 2, 96]
