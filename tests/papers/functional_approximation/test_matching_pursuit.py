"""Matching pursuit: sensitivities by brute force, the published excess, selection by its law."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.distances import kolmogorov_smirnov
from lapwing.errors import ArgumentError, FormatError, PrivacyError
from lapwing.linear.function_families import (
    UNIT,
    Dictionary,
    legendre,
    normal_curves,
    orthonormal,
    splines,
)
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.papers.functional_approximation import matching_pursuit as drawing
from lapwing.papers.functional_approximation.matching_pursuit import (
    SELECTION_SHARE,
    MatchingPursuit,
    _DictionarySensitivity,
    _repaired,
    _sensitivities,
    exponential_mechanism,
    noisy_maximum,
    pursue,
    weight_matrix,
)
from lapwing.papers.functional_approximation.plain_curves import CurveSum
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import iterate, seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from tests.false_alarms import accepts, multinomial_tail

DOMAIN = Interval(-1, 1, bins=48, outside="clip")
MIDDLES = (2 * np.arange(48) + 1) / 48 - 1
APPROXIMATE = Promise("replace-one", epsilon=1, delta="1e-6")
PURE = Promise("replace-one", epsilon=1)
ONE_WIDTH = tuple(map(tuple, splines(9, MIDDLES, degree=0)))
EVERY = [
    MatchingPursuit(3, atoms=8),
    MatchingPursuit(3, atoms=8, form="published"),
    MatchingPursuit(3, "splines", atoms=9),
    MatchingPursuit(3, "normal-curves", atoms=16),
    MatchingPursuit(3, "fourier", atoms=9),
    MatchingPursuit(3, "splines", atoms=9, orthogonal=True),
]


def summary(people=20_000, seed=1):
    return ExactCounts.of_values(np.random.default_rng(seed).normal(0, 0.3, people), DOMAIN)


@pytest.mark.parametrize(
    "mechanism", EVERY, ids=lambda m: f"{m.dictionary}-{m.form}-{m.orthogonal}"
)
class TestEveryForm:
    def test_sensitivities_are_those_of_all_pairs_of_symbols(self, mechanism):
        facts = _sensitivities(mechanism, 48)
        products = mechanism.curves(DOMAIN).products
        assert products.shape[1] == DOMAIN.for_curator().size == 49
        moved = np.abs(products[:, :, None] - products[:, None, :])
        assert facts.ranges == tuple(moved.max(axis=(1, 2)).tolist())
        two = max(int((moved[i] + moved[j]).max()) for i in range(len(moved)) for j in range(i))
        assert facts.range_of_differences == two

    @pytest.mark.parametrize("promise", [APPROXIMATE, PURE], ids=["approximate", "pure"])
    def test_the_loss_keeps_the_promise(self, mechanism, promise):
        found = mechanism.release(summary(), promise, rng=seeded(1))
        loss = found.parts[0].loss
        assert loss.within(promise.epsilon, promise.delta)
        assert not loss.within(promise.epsilon * Fraction(99, 100), promise.delta)

    def test_documents_round_trip_and_less_noise_is_refused(self, mechanism):
        found = mechanism.release(summary(), APPROXIMATE, rng=seeded(1))
        document = found.to_document()
        again = Release.from_document(document)
        assert again.to_document() == document
        first, second = (CurveSum().decode(r.channel, r) for r in (found, again))
        assert np.array_equal(first.mass, second.mass)
        noise = document["parts"][0]["noise"]
        noise["scale"] = str(Fraction(noise["scale"]) / 2)
        with pytest.raises(FormatError, match="Do not use this release"):
            Release.from_document(document)

    def test_the_own_noise_of_every_function_hides_its_own_range(self, mechanism):
        plan = mechanism.plan(DOMAIN, APPROXIMATE)
        ranges = _sensitivities(mechanism, 48).ranges
        largest = max(ranges) / plan.record.scale
        for atom, own in enumerate(ranges):
            assert own / plan.weight_noise(atom).scale <= largest

    def test_one_row_moves_the_choice_by_no_more_than_is_charged(self, mechanism):
        # Exact probabilities of the exponential mechanism on residuals, over many neighbors. (For
        # the published form the same scale is charged; its own law is in the transcripts below.)
        plan = mechanism.plan(DOMAIN, APPROXIMATE)
        products = mechanism.curves(DOMAIN).products
        charged = float(_sensitivities(mechanism, 48).range_of_differences / plan.selection)
        rng = np.random.default_rng(2)
        worst = 0.0
        for _ in range(300):
            state = rng.integers(-5 * UNIT, 5 * UNIT, len(products))
            old, new = rng.integers(0, 48, 2)
            scores = [np.abs(state + products[:, symbol]) for symbol in (old, new)]
            logs = [np.array(s / float(plan.selection)) for s in scores]
            laws = [log - np.logaddexp.reduce(log) for log in logs]
            worst = max(worst, float(np.abs(laws[0] - laws[1]).max()))
        assert 0.3 * charged < worst <= charged * (1 + 1e-9)


def test_scales_just_above_a_number_of_32_bits_keep_the_promise():
    # Rounded down, choosing and weights would each cost 2^-44 more than their shares.
    promise = Promise("replace-one", epsilon=1 - Fraction(1, 2**44))
    choosing, weights = int(100 * SELECTION_SHARE), int(100 * (1 - SELECTION_SHARE))
    facts = _DictionarySensitivity((weights,), choosing, published=0)
    assert promise.allows(_repaired(1, facts, promise).loss)


class TestPublishedExcess:
    @staticmethod
    def transcript(rounds):
        """Log-ratio of: functions 1, 2, ... chosen in turn, every weight above its product.

        The paper's algorithm with Laplace noise of scale one for sensitivity one, which it
        charges 2 a round. All products fall by one for the neighbor; what was chosen stays in the
        race with minus its noise, which grows in size by one.
        """
        z = np.linspace(-60, 120, 200_001)
        density = stats.laplace.pdf(z)

        def chosen(score, others):
            product = density.copy()
            for other in others:
                product = product * stats.laplace.cdf(score + z - other)
            return np.trapezoid(product, z)

        start, excess = 100.0, 112.0
        total = 0.0
        for already in range(rounds):
            fresh = rounds - already - 1
            one = chosen(start, [start] * fresh + [excess] * already)
            two = chosen(start - 1, [start - 1] * fresh + [excess + 1] * already)
            total += np.log(one / two) + 1
        return total

    @pytest.mark.parametrize("rounds", [2, 3, 4])
    def test_the_algorithm_as_printed_costs_more_than_it_says(self, rounds):
        cost = self.transcript(rounds)
        claimed, charged_by_us = 2 * rounds, 3 * rounds
        assert cost <= charged_by_us
        if rounds >= 3:
            assert cost > claimed + 0.3

    def test_our_published_form_is_charged_its_cost(self):
        mechanism = MatchingPursuit(3, ONE_WIDTH, form="published")
        claimed = mechanism.claimed_epsilon(DOMAIN, PURE)
        # Equal disjoint functions: the range is twice the sensitivity, so 3 instead of 2.
        assert float(PURE.epsilon / claimed) == pytest.approx(1.5, rel=1e-3)

    def test_sensitivities_of_the_paper_against_the_ranges(self):
        own = Dictionary.of(legendre(41, np.linspace(-1, 1, 4001))).own_sensitivity()
        assert own[10] / UNIT == pytest.approx(0.1516, abs=2e-3)
        published = Dictionary.of(legendre(41, MIDDLES)).published_sensitivity() / UNIT
        assert published == pytest.approx(1.414, abs=5e-3)


class TestSelection:
    def test_the_exponential_mechanism_has_its_law(self):
        scores, scale = np.array([0, 5, 9, 10, -40]), Fraction(7, 2)
        words = iterate(seeded(3))
        drawn = [exponential_mechanism(scores, scale, words) for _ in range(20_000)]
        law = np.exp(scores / float(scale))
        counts = np.bincount(drawn, minlength=5)
        assert accepts(multinomial_tail(counts, law / law.sum()))
        wrong = np.exp(scores / (1.1 * float(scale)))
        assert not accepts(multinomial_tail(10 * counts, wrong / wrong.sum()))

    def test_equal_scores_with_noise_go_to_the_first(self):
        assert noisy_maximum(np.array([1, 3, 2]), np.array([2, 0, 1])) == 0


class TestPursuit:
    def test_on_an_orthonormal_dictionary_it_takes_the_largest(self):
        rng = np.random.default_rng(1)
        dictionary = Dictionary.of(orthonormal(legendre(10, MIDDLES)))
        for _ in range(100):
            exact = rng.integers(-(10**9), 10**9, 10)
            chosen, answers = pursue(exact, dictionary, terms=4)
            largest = np.argsort(-np.abs(exact), kind="stable")[:4]
            # The Gram matrix is the identity to 1e-15 only, so equal up to rounding.
            assert sorted(chosen) == sorted(largest.tolist())
            assert answers == exact[chosen].tolist()

    @pytest.mark.parametrize("family", [splines, normal_curves])
    def test_the_residual_shrinks_and_beats_the_first_functions(self, family):
        raw = family(20, MIDDLES, degree=1) if family is splines else family(20, MIDDLES)
        dictionary = Dictionary.of(raw)
        counts = summary().counts[:48]
        curve = (np.cumsum(counts) - counts / 2) / counts.sum()
        exact = dictionary.products @ summary().counts
        errors = []
        for terms in range(1, 8):
            chosen, answers = pursue(exact, dictionary, terms=terms)
            weights = weight_matrix(dictionary.gram, chosen) @ np.array(answers)
            fit = weights @ dictionary.curves[chosen] / UNIT / counts.sum()
            errors.append(np.sum((curve - fit) ** 2))
        assert all(b <= a + 1e-9 for a, b in pairwise(errors))


class TestPostProcessing:
    def test_a_published_distribution_is_fitted_for_nothing(self):
        held = summary()
        release = PrefixSums().release(held, APPROXIMATE, rng=seeded(1))
        published = StepPursuit().decode(release.channel, release)
        truth = Distribution.of_counts(held.counts, held.domain)
        free = MatchingPursuit(8, atoms=20).fit(published)
        paid = [
            CurveSum().decode(r.channel, r)
            for r in (
                MatchingPursuit(8, atoms=20).release(held, PURE, rng=seeded(s)) for s in range(9)
            )
        ]
        assert free.guarantee == published.guarantee
        assert len(set(free.provenance["atoms"])) == 8
        errors = [kolmogorov_smirnov(one, truth) for one in paid]
        assert kolmogorov_smirnov(free, truth) < np.median(errors)


class TestRefusals:
    @pytest.mark.parametrize(
        "knobs",
        [
            {"terms": 0},
            {"terms": 9, "atoms": 8},
            {"atoms": 1001},
            {"dictionary": "fish"},
            {"form": "original"},
            {"degree": 6},
        ],
    )
    def test_knobs(self, knobs):
        with pytest.raises(ArgumentError):
            MatchingPursuit(**knobs)

    def test_hidden_people_and_gaussian_promises(self):
        hidden = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
        with pytest.raises(PrivacyError, match="must be public"):
            MatchingPursuit().loss(DOMAIN, hidden)
        for form in ("repaired", "published"):
            with pytest.raises(PrivacyError, match="no Gaussian guarantee"):
                MatchingPursuit(form=form).loss(DOMAIN, Promise("replace-one", mu=1))

    def test_only_the_published_form_has_a_claim(self):
        with pytest.raises(ArgumentError, match="claim"):
            MatchingPursuit().claimed_epsilon(DOMAIN, PURE)

    @pytest.mark.parametrize("atoms", [None, [1], [0, 0, 1], [0, 1, 99], ["a", 1, 2]])
    def test_damaged_choices(self, atoms):
        found = MatchingPursuit(3, atoms=8).release(summary(), APPROXIMATE, rng=seeded(1))
        document = found.to_document() | {"choices": {"atoms": atoms}}
        with pytest.raises(FormatError):
            Release.from_document(document)

    def test_own_functions_must_fit_the_domain(self):
        own = MatchingPursuit(1, tuple(map(tuple, legendre(3, MIDDLES))))
        assert own.release(summary(), APPROXIMATE, rng=seeded(1)).answers.size == 1
        with pytest.raises(ArgumentError, match="one per symbol"):
            own.check(Interval(-1, 1, bins=50, outside="clip"))


@pytest.mark.parametrize(
    "exponent", [Fraction(0), Fraction(7, 3), Fraction(1000), Fraction(9001, 3)]
)
def test_a_coin_for_a_large_exponent_is_not_cut_short(exponent, monkeypatch):
    thrown = []

    def always(words, numerator, denominator):
        thrown.append(Fraction(numerator, denominator))
        return True

    monkeypatch.setattr(drawing, "exponential_coin", always)
    assert drawing._exponential_trial(exponent, iter(()))
    assert sum(thrown) == exponent and max(thrown) <= 1
