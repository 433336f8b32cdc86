"""Adaptive quantiles: a literal script, replayed questions, atoms, and refusals."""

import numpy as np
import pytest

from lapwing.errors import ArgumentError, MismatchError, PrivacyError, UnsupportedChannelError
from lapwing.papers.functional_approximation.adaptive_quantiles import (
    AdaptiveQuantiles,
    noisy_answers,
    question,
)
from lapwing.papers.functional_approximation.plain_curves import SortedPoints
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release

DOMAIN = Interval(0, 1, bins=64, outside="clip")
APPROXIMATE = Promise("replace-one", epsilon=1, delta="1e-6")


def summary(people=5_000, seed=0):
    return ExactCounts.of_values(np.random.default_rng(seed).beta(5, 2, people), DOMAIN)


def literal(below, noise, people):
    """Algorithm of section II-B2: bisect the largest gap; clip and sort the shares."""
    points = {0: 0.0, 64: 1.0}
    answers = []
    for z in noise:
        places = sorted(points)
        shares = sorted(points[place] for place in places)
        gaps = [
            shares[i + 1] - shares[i] if places[i + 1] - places[i] > 1 else -1
            for i in range(len(places) - 1)
        ]
        widest = int(np.argmax(gaps))
        place = (places[widest] + places[widest + 1]) // 2
        answers.append(int(below[place]) + int(z))
        points[place] = min(max(answers[-1] / people, 0), 1)
    return answers


def test_it_equals_a_literal_script_with_the_same_noise():
    held = summary()
    below = np.concatenate([[0], np.cumsum(held.counts[:64])])
    noise = np.random.default_rng(1).integers(-300, 300, 30)
    assert noisy_answers(below, noise, people=5_000) == literal(below, noise, 5_000)


def test_without_noise_the_largest_gap_keeps_halving():
    held = summary()
    below = np.concatenate([[0], np.cumsum(held.counts[:64])])
    answers = noisy_answers(below, np.zeros(200, dtype=np.int64), people=5_000)
    # Every gap ends as one symbol, then there is nothing left to ask.
    assert len(answers) == 63 and sorted(answers) == sorted(below[1:64].tolist())


def test_an_atom_is_not_halved_for_ever():
    asked, answers = [], []
    for _ in range(6):
        place = question(asked, answers, held=16, people=100)
        asked.append(place)
        answers.append(0 if place <= 9 else 100)
    assert 9 in asked and 10 in asked


def test_as_published_it_is():
    values = np.full(5_000, 0.5001)
    held = ExactCounts.of_values(values, DOMAIN)
    for guarded in (True, False):
        found = AdaptiveQuantiles(40, guarded=guarded).release(held, APPROXIMATE, rng=seeded(1))
        places = AdaptiveQuantiles(40, guarded=guarded).places(found)
        # The atom lies in symbol 32, whose upper end is asked again and again.
        repeated = places.count(33)
        assert (repeated == 1) if guarded else (repeated > 20)


@pytest.mark.parametrize("noise", ["normal", "laplace"])
class TestMechanism:
    def test_documents_round_trip_and_replay(self, noise):
        mechanism = AdaptiveQuantiles(20, noise=noise)
        found = mechanism.release(summary(), APPROXIMATE, rng=seeded(1))
        again = Release.from_document(found.to_document())
        assert mechanism.places(again) == mechanism.places(found)
        result = SortedPoints().decode(again.channel, again)
        assert float(result.quantile(0.5)) == pytest.approx(0.73, abs=0.1)

    def test_the_loss_is_that_of_all_steps(self, noise):
        part = AdaptiveQuantiles(20, noise=noise).release(summary(), APPROXIMATE).parts[0]
        assert part.loss.within(APPROXIMATE.epsilon, APPROXIMATE.delta)
        one = part.loss.mu_squared / 20 if noise == "normal" else part.loss.epsilon / 20
        assert one == (1 / part.noise.scale**2 if noise == "normal" else 1 / part.noise.scale)


class TestRefusals:
    def test_hidden_people(self):
        hidden = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
        with pytest.raises(PrivacyError, match="must be public"):
            AdaptiveQuantiles().loss(DOMAIN, hidden)

    def test_adaptive_releases_do_not_add(self):
        first, second = (
            AdaptiveQuantiles(5).release(summary(), APPROXIMATE, rng=seeded(s)) for s in (1, 2)
        )
        with pytest.raises(MismatchError, match="cannot be added"):
            first + second

    def test_more_answers_than_questions(self):
        small = ExactCounts.of_values(np.full(100, 0.1), Interval(0, 1, bins=4))
        found = AdaptiveQuantiles(9).release(small, APPROXIMATE, rng=seeded(1))
        assert found.answers.size == 3
        longer = Release(found.mechanism, found.domain, np.zeros(5, dtype=int), found.parts)
        with pytest.raises(MismatchError, match="more answers"):
            _ = longer.channel

    @pytest.mark.parametrize("knobs", [{"steps": 0}, {"steps": 1001}, {"noise": "x"}])
    def test_knobs(self, knobs):
        with pytest.raises(ArgumentError):
            AdaptiveQuantiles(**knobs)

    def test_its_decoder_reads_nothing_else(self):
        from lapwing.mechanisms.prefix_sums import PrefixSums

        found = PrefixSums().release(summary(), APPROXIMATE, rng=seeded(1))
        with pytest.raises(UnsupportedChannelError):
            SortedPoints().decode(found.channel, found)


def test_every_answer_has_noise_of_its_own():
    nobody = ExactCounts.of_values([], Interval(0, 1, bins=4096, outside="clip"))
    answers = AdaptiveQuantiles(1000).release(nobody, APPROXIMATE, rng=seeded(3)).answers
    assert answers.size == 1000
    # About 1 for answers that share one drawing; of independent ones it passes 0.2 once in 1e9.
    assert answers.std() > 0
    assert abs(np.corrcoef(answers[:-1], answers[1:])[0, 1]) < 0.2
