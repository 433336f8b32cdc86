"""Sites and rounds of the central benchmarks: valid releases, right sums, kept promises."""

import json
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    People,
    people_of,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    METHODS,
    Method,
    distances,
)
from benchmarks.accuracy.papers.functional_approximation.central_protocols import (
    after_rounds,
    from_sites,
    methods_of,
    multiplier,
)
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import number
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.release import Release

PROMISE = Promise("replace-one", epsilon=1, delta="1e-6")
LOUD = Promise("replace-one", epsilon=24, delta="1e-6")
ADAPTIVE = {
    "AQ": Method(AdaptiveQuantiles(20)),
    "MP": Method(MatchingPursuit(4, atoms=12)),
    "MP, published": Method(MatchingPursuit(4, atoms=12, form="published"), pure=True),
}


@pytest.fixture(scope="module")
def column() -> People:
    return people_of(["normal"], bins=64)[0]


@pytest.fixture(scope="module")
def sites(column):
    return [column.summarized(people, seed=[people]) for people in (3000, 2000, 5000)]


@pytest.mark.parametrize("name", list(ADAPTIVE))
class TestRoundsOfMessages:
    def test_the_hubs_release_is_one_that_verifies(self, name, sites):
        method = ADAPTIVE[name]
        promise = Promise("replace-one", epsilon=1) if method.pure else PROMISE
        release, sent = from_sites(method, sites, promise, seed=1)
        again = Release.from_document(json.loads(release.to_json()))
        assert again.people == 10_000
        assert len(again.parts) == 3
        assert sent.messages >= release.answers.size

    def test_with_little_noise_it_asks_and_answers_what_pooled_rows_would(self, name, sites):
        method = ADAPTIVE[name]
        promise = Promise("replace-one", epsilon=24) if method.pure else LOUD
        release, _ = from_sites(method, sites, promise, seed=1)
        pooled = sum(sites[1:], sites[0])
        exact = without_noise(release, pooled)
        error = np.abs(method.decode(release).mass - method.decode(exact).mass).sum()
        assert error < 0.05
        other = without_noise(release, sites[0])  # the first site alone must not pass
        wrong = np.array(other.answers[: release.answers.size])
        assert np.abs(wrong / 3000 - exact.answers / 10_000).max() > 0.001


class TestSums:
    def test_linear_sites_are_their_releases_added(self, column, sites):
        for method in (METHODS["HQ 40, steps"], METHODS["PP 6, moments"], METHODS["prefix sums"]):
            promise = Promise("replace-one", epsilon=1) if method.pure else PROMISE
            release, sent = from_sites(method, sites, promise, seed=3)
            own = [
                method.mechanism.release(site, promise, rng=seeded(number(3, place)))
                for place, site in enumerate(sites)
            ]
            assert release.answers.tolist() == sum(one.answers for one in own).tolist()
            assert sent.messages == 1

    def test_ten_rounds_multiply_the_noise_by_less_than_1_8(self, column):
        rounds = [column.summarized(100, seed=[one]) for one in range(10)]
        found = multiplier(rounds, PROMISE)
        assert 1.7 < found["running"] < 1.8
        assert found["added"] == pytest.approx(10**0.5)


class TestRounds:
    @pytest.mark.parametrize(
        "name", ["AQ 80", "AQ 80, Laplace", "MP, its true cost", "MP, repaired"]
    )
    def test_a_method_that_starts_again_spends_its_part_only(self, name, column):
        repaired = Method(MatchingPursuit(6, atoms=40))
        method = {**methods_of(column), "MP, repaired": repaired}[name]
        promise = Promise("replace-one", epsilon=1) if method.pure else PROMISE
        rounds = [column.summarized(60, seed=[one]) for one in range(10)]
        (part,) = after_rounds(method, rounds, promise, seed=1).parts
        ten = sum([part.loss] * 9, part.loss)
        assert ten.within(promise.epsilon, promise.delta)
        assert not (ten + part.loss).within(promise.epsilon, promise.delta)

    def test_every_method_publishes_all_people(self, column):
        rounds = [column.summarized(200, seed=[one]) for one in range(3)]
        for name, method in methods_of(column).items():
            promise = method.promise(column.domain, Fraction(8), Fraction(1, 10**6))
            release = after_rounds(method, rounds, promise, seed=1)
            assert release.people == 600, name
            assert distances(method.decode(release), column.cdf(rounds[0]))["ks"] < 0.6, name
