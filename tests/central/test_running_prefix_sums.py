"""Rounds: noise after ten of them, sensitivity by brute force, replays and refusals."""

import numpy as np
import pytest

from lapwing.central.running_prefix_sums import TIME_UNIT, RunningPrefixSums
from lapwing.decoders.prefix_estimate import prefix_estimate
from lapwing.decoders.step_pursuit import StepPursuit
from lapwing.domain import Interval
from lapwing.errors import ArgumentError, FormatError, MismatchError, PrivacyError
from lapwing.promise import Promise
from lapwing.publication import release_from_document
from lapwing.randomness import seeded
from lapwing.summary import Summary

DOMAIN = Interval(0, 1, bins=9)
PROMISE = Promise("replace-one", epsilon=1, delta="1e-6")


def months(count, people=300, domain=DOMAIN):
    rng = np.random.default_rng(3)
    return [Summary.of_values(rng.beta(2, 1 + m / 5, people), domain) for m in range(count)]


def run(running, summaries, seed=1):
    found = running.release(summaries[0], PROMISE, rng=seeded(seed))
    for t in range(1, len(summaries)):
        found = running.following(found, summaries[:t], summaries[t], rng=seeded(seed + 100 * t))
    return found


def test_noise_after_ten_rounds_is_that_of_less_than_two():
    running = RunningPrefixSums(10)
    domain = Interval(0, 1, bins=200)
    found = run(running, months(10, domain=domain))
    one = RunningPrefixSums(1).release(months(1, domain=domain)[0], PROMISE, rng=seeded(1))
    estimates = [prefix_estimate(release.channel, release) for release in (found, one)]
    deviation = [np.sqrt(estimate.variance) for estimate in estimates]
    # One round alone has weight TIME_UNIT too, which its combination divides out.
    assert deviation[0] / deviation[1] == pytest.approx(1.79, abs=0.02)


def test_the_sensitivity_is_that_of_all_pairs_in_all_rounds():
    running = RunningPrefixSums(4)
    size = 10
    from lapwing.central.prefix_sums import SquareRootStrategy

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
    running = RunningPrefixSums(5)
    summaries = months(5)
    truth = np.cumsum(sum(s.counts for s in summaries))
    errors = []
    for seed in range(200):
        found = run(running, summaries, seed=seed)
        estimate = prefix_estimate(found.channel, found)
        errors.append(estimate.sums - truth)
    deviation = [estimate.deviation(i) for i in range(10)]
    z = np.mean(errors, axis=0) / deviation * np.sqrt(200)
    assert np.abs(z).max() < 5
    ratio = np.std(errors, axis=0) / deviation
    # 5 standard errors of a standard deviation from 200 draws.
    assert np.abs(ratio - 1).max() < 0.25


def test_decoded_it_knows_all_people():
    found = run(RunningPrefixSums(10), months(4, people=2_000))
    result = StepPursuit().decode(found.channel, found)
    assert result.reports == 8_000 and result.confidence_band(0.95) is not None


def test_documents_round_trip():
    found = run(RunningPrefixSums(3), months(3))
    again = release_from_document(found.to_document())
    assert np.array_equal(again.blocks[0], found.blocks[0])
    document = found.to_document()
    document["mechanism"]["rounds"] = 2
    with pytest.raises(FormatError):
        release_from_document(document)


class TestRefusals:
    def test_other_earlier_rounds(self):
        running, summaries = RunningPrefixSums(3), months(3)
        first = running.release(summaries[0], PROMISE, rng=seeded(1))
        with pytest.raises(MismatchError, match="in order"):
            running.following(first, [], summaries[1])
        with pytest.raises(MismatchError, match="in order"):
            RunningPrefixSums(4).following(first, summaries[:1], summaries[1])

    def test_more_rounds_than_were_planned(self):
        running, summaries = RunningPrefixSums(2), months(3)
        found = run(running, summaries[:2])
        with pytest.raises(ArgumentError, match="all 2 rounds"):
            running.following(found, summaries[:2], summaries[2])

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
