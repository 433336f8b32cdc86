"""Sites and rounds of the central benchmarks: valid releases, right sums, kept promises."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.accuracy.papers.functional_approximation import (
    functional_approximation_pictures as pictures,
)
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
    shared,
)
from benchmarks.isolated import script
from lapwing.central.adaptive_quantiles import AdaptiveQuantiles
from lapwing.central.matching_pursuit import MatchingPursuit
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.survey.publication import release_from_document
from tests.benchmarks.test_runner import TINY

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
        again = release_from_document(json.loads(release.to_json()))
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
                method.mechanism.release(site, promise, rng=seeded(3000 + number))
                for number, site in enumerate(sites)
            ]
            assert release.answers.tolist() == sum(one.answers for one in own).tolist()
            assert sent.messages == 1

    def test_ten_rounds_multiply_the_noise_by_less_than_1_8(self, column):
        rounds = [column.summarized(100, seed=[number]) for number in range(10)]
        found = multiplier(rounds, PROMISE)
        assert 1.7 < found["running"] < 1.8
        assert found["added"] == pytest.approx(10**0.5)


class TestRounds:
    @pytest.mark.parametrize(
        "name", ["AQ 80", "AQ 80, Laplace", "MP, its true cost", "MP, repaired"]
    )
    def test_all_runs_together_keep_the_promise(self, name, column):
        method = methods_of(column)[name]
        promise = Promise("replace-one", epsilon=1) if method.pure else PROMISE
        one = method.mechanism.loss(column.domain, shared(method, promise, 10, column.domain))
        ten = sum([one] * 9, one)
        assert ten.within(promise.epsilon, promise.delta)
        assert not (ten + one).within(promise.epsilon, promise.delta)

    def test_every_method_publishes_all_people(self, column):
        rounds = [column.summarized(200, seed=[number]) for number in range(3)]
        for name, method in methods_of(column).items():
            promise = method.promise(column.domain, Fraction(8), Fraction(1, 10**6))
            release = after_rounds(method, rounds, promise, seed=1)
            assert release.people == 600, name
            assert distances(method.decode(release), column.cdf(rounds[0]))["ks"] < 0.6, name


class TestPictures:
    def test_are_drawn_from_laws_alone(self, column, tmp_path):
        small = {"people": 500}
        for name, figure, lines in (
            ("stages", pictures.stages(column, **small), 8),
            ("curves", pictures.curves([column], **small), 16),
            ("dictionaries", pictures.dictionaries([column], terms=3, **small), 12),
            ("bases", pictures.bases(column, **small), 32),
        ):
            assert sum(len(ax.lines) for ax in figure.axes) == lines, name
            figure.savefig(tmp_path / f"{name}.png")
            assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")

    def test_of_sweeps_show_every_form(self, tmp_path):
        sweeps = [
            script(f"accuracy/central_{name}").measure(**TINY[f"accuracy/central_{name}"])
            for name in ("projection", "pursuit")
        ]
        figure = pictures.sweeps(*sweeps)
        assert [len(ax.lines) for ax in figure.axes] == [3, 4]
        figure.savefig(tmp_path / "sweeps.png")
