"""Linear mechanisms: sensitivities by brute force, exact answers, noise law, verified documents."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import ArgumentError, FormatError, MismatchError, PrivacyError
from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.sums import UNIT
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.mechanisms.histogram_query import CellStrategy, HistogramQuery
from lapwing.mechanisms.label_counts import CountStrategy, LabelCounts
from lapwing.mechanisms.prefix_sums import PrefixSums, SquareRootStrategy
from lapwing.mechanisms.sum_tree import HaarStrategy, SumTree, TreeStrategy
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release, ReleasePart
from lapwing.registry import MECHANISMS
from lapwing.survey.curator_release import release
from tests.false_alarms import accepts, moments_tail
from tests.mistaken import mistaken

STRATEGIES = [
    *(SquareRootStrategy(size) for size in (2, 3, 17, 40)),
    TreeStrategy((2, 8, 13)),
    TreeStrategy((1, 4, 16)),
    TreeStrategy((9,)),
    *(HaarStrategy(size) for size in (2, 13, 16)),
    CellStrategy((0, 3, 5), 9),
    CellStrategy((0,), 4),
    *(CountStrategy(size) for size in (1, 2, 13)),
]
DOMAIN = Interval(0, 1, bins=15)
APPROXIMATE = Promise("replace-one", epsilon=1, delta="1e-6")
PURE = Promise("replace-one", epsilon=1)
HIDDEN = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
EVERY = [
    (PrefixSums(), APPROXIMATE),
    (PrefixSums(), PURE),
    (PrefixSums(), HIDDEN),
    (PrefixSums(), Promise("replace-one", mu="0.5")),
    (PrefixSums(), Promise("replace-one", rho="0.1")),
    (SumTree(4), PURE),
    (SumTree(4), HIDDEN),
    (SumTree(2, noise="normal"), APPROXIMATE),
    (SumTree(strategy="haar"), APPROXIMATE),
    (SumTree(strategy="haar"), HIDDEN),
    (HistogramQuery(5), PURE),
    (HistogramQuery(5), HIDDEN),
    (LabelCounts(), PURE),
    (LabelCounts(), HIDDEN),
    (LabelCounts(noise="normal"), APPROXIMATE),
    (PolynomialProjection(4), APPROXIMATE),
    (PolynomialProjection(4, shape="moments"), PURE),
    (PolynomialProjection(4, basis="splines"), HIDDEN),
]


def columns(strategy):
    size = strategy.operator.shape[1]
    return np.array([strategy.answers(unit) for unit in np.eye(size, dtype=np.int64)])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
class TestStrategies:
    def test_sensitivities_are_those_of_all_pairs(self, strategy):
        one = columns(strategy)
        apart = one[:, None] - one[None]
        moved = strategy.sensitivity("replace-one")
        assert moved.squared == max((apart**2).sum(axis=2).max(), 1)
        assert moved.absolute == max(np.abs(apart).sum(axis=2).max(), 1)
        added = strategy.sensitivity("add-or-remove-one")
        assert added.squared == (one**2).sum(axis=1).max()
        assert added.absolute == np.abs(one).sum(axis=1).max()

    def test_answers_are_the_operator_exactly(self, strategy):
        assert np.abs(dense(strategy.operator) - columns(strategy).T).max() < 1e-6
        counts = np.random.default_rng(1).integers(0, 2**38, strategy.operator.shape[1])
        exact = [
            sum(int(a) * int(c) for a, c in zip(row, counts, strict=True))
            for row in columns(strategy).T
        ]
        assert strategy.answers(counts).tolist() == exact

    def test_no_entry_is_larger_than_it_says(self, strategy):
        assert np.abs(columns(strategy)).max() <= strategy.largest


def summary(domain=DOMAIN, people=400, seed=0):
    return ExactCounts.of_values(np.random.default_rng(seed).beta(5, 2, people), domain)


@pytest.mark.parametrize(("mechanism", "promise"), EVERY, ids=repr)
class TestMechanisms:
    def test_the_noise_has_its_law(self, mechanism, promise):
        held = summary()
        clean = None
        drawn = []
        for seed in range(200):
            found = mechanism.release(held, promise, rng=seeded(seed))
            block = found.channel.blocks[0]
            clean = dense(block.operator) @ held.counts
            drawn.append((found.answers - clean)[:12])
        size = drawn[0].size
        variance = found.variance
        assert accepts(moments_tail(np.array(drawn), np.zeros(size), variance * np.eye(size)))
        less = 0.8 * variance
        many = np.tile(np.array(drawn), (18, 1))
        assert not accepts(moments_tail(many, np.zeros(size), less * np.eye(size)))

    def test_the_loss_keeps_the_promise_and_little_is_wasted(self, mechanism, promise):
        part = mechanism.release(summary(), promise, rng=seeded(1)).parts[0]
        if promise.epsilon is not None:
            assert part.loss.within(promise.epsilon, promise.delta)
            assert not part.loss.within(promise.epsilon * Fraction(999, 1000), promise.delta)

    def test_documents_round_trip_and_less_noise_is_refused(self, mechanism, promise):
        found = mechanism.release(summary(), promise, rng=seeded(1))
        document = found.to_document()
        again = Release.from_document(document)
        assert again.fingerprint == found.fingerprint
        assert again.to_document() == document
        noise = document["parts"][0]["noise"]
        noise["scale"] = str(Fraction(noise["scale"]) / 2)
        with pytest.raises(FormatError, match="Do not use this release"):
            Release.from_document(document)

    def test_less_noise_is_refused_in_any_part_also_where_its_loss_is_stated(
        self, mechanism, promise
    ):
        first, second = (mechanism.release(summary(), promise, rng=seeded(s)) for s in (1, 2))
        part = second.parts[0]
        weak = Noise(part.noise.kind, part.noise.scale / 2)
        strategy = mechanism.strategy_for(second.domain, promise.neighbors)
        loss = weak.loss(strategy.sensitivity(promise.neighbors))
        for noise, cost, message in [
            (weak, loss, "the noise is too small for the privacy guarantee"),
            (weak, part.loss, "the stated privacy loss does not match the noise scale"),
        ]:
            document = (first + second).to_document()
            document["parts"][1]["noise"] = noise.to_document()
            document["parts"][1]["loss"] = cost.to_document()
            with pytest.raises(FormatError, match=message):
                Release.from_document(document)

    def test_releases_of_sites_add_exactly(self, mechanism, promise):
        parts = [mechanism.release(summary(seed=s), promise, rng=seeded(s)) for s in range(3)]
        whole = sum(parts)
        assert np.array_equal(whole.answers, sum(part.answers for part in parts))
        assert whole.variance == pytest.approx(3 * parts[0].variance)
        assert whole.guarantee == parts[0].guarantee
        expected = None if promise.neighbors == "add-or-remove-one" else 1200
        assert whole.people == expected
        with pytest.raises(MismatchError, match="twice"):
            whole + parts[0]

    def test_hidden_people_are_estimated(self, mechanism, promise):
        held = summary(people=100_000)
        found = mechanism.release(held, promise, rng=seeded(1))
        assert found.total == pytest.approx(100_000, rel=0.02)
        shown = '"people": null' in found.to_json()
        assert shown == (promise.neighbors == "add-or-remove-one")


class TestRefusals:
    def test_other_mechanisms_do_not_add(self):
        first = PrefixSums().release(summary(), APPROXIMATE, rng=seeded(1))
        second = HistogramQuery(5).release(summary(), APPROXIMATE, rng=seeded(2))
        with pytest.raises(MismatchError, match="mechanism and domain"):
            first + second

    def test_other_relations_do_not_add(self):
        first = PrefixSums().release(summary(), APPROXIMATE, rng=seeded(1))
        second = PrefixSums().release(summary(), HIDDEN, rng=seeded(2))
        with pytest.raises(MismatchError, match="neighbor relation"):
            first + second

    def test_normal_noise_needs_a_delta(self):
        with pytest.raises(PrivacyError, match="delta above 0"):
            SumTree(noise="normal").release(summary(), PURE, rng=seeded(1))

    @pytest.mark.parametrize(
        ("mechanism", "domain", "message"),
        [
            *(
                (mechanism, Interval(0, 1, bins=2**14 + 1), "got 16385 bins. Use fewer bins$")
                for mechanism in (PrefixSums(), SumTree())
            ),
            (SumTree(strategy="haar"), Integers(0, 5000, outside="clip"), "most 2048 bins"),
            (HistogramQuery(20), Interval(0, 1, bins=10), "at most the 10 symbols"),
        ],
    )
    def test_domains_that_do_not_fit(self, mechanism, domain, message):
        with pytest.raises(ArgumentError, match=message):
            release([object()], domain, neighbors="replace-one", epsilon=1, mechanism=mechanism)

    @pytest.mark.parametrize("knobs", [{"branching": 1}, {"strategy": "tree"}, {"noise": "x"}])
    def test_knobs_of_a_tree(self, knobs):
        with pytest.raises(ArgumentError):
            SumTree(**knobs)

    @pytest.mark.parametrize("bins", [0, True, 2.5])
    def test_bins_of_a_histogram(self, bins):
        with pytest.raises(ArgumentError, match="bins must be"):
            HistogramQuery(bins)


class TestPrivacyOfTheNoise:
    @pytest.mark.parametrize(
        ("mechanism", "promise"), [*EVERY, (RunningPrefixSums(4), APPROXIMATE)]
    )
    def test_noise_is_drawn_before_the_counts_are_read(self, mechanism, promise):
        order = []

        class Watched(ExactCounts):
            domain = summary().domain
            people = 400

            def __init__(self):
                """Hold nothing: what is asked for is noted."""

            @property
            def counts(self):
                order.append("counts")
                return summary().counts

        class Source:
            def words(self, count):
                order.append("words")
                return seeded(1).words(count)

        mechanism.release(Watched(), promise, rng=Source())
        assert order[0] == "words" and order[-1] == "counts" and order.count("counts") == 1

    def test_the_default_source_is_secure(self, monkeypatch):
        import lapwing.privacy.sampling.randomness as module

        asked = []
        monkeypatch.setattr(module, "secure", lambda: asked.append(1) or seeded(1))
        PrefixSums().release(summary(), APPROXIMATE)
        assert asked

    @staticmethod
    def told_apart(answers_of_zero, answers_of_one):
        """Return how often small answers have bits below 2^-53, for a true count of 0 and of 1."""

        def fine(answers):
            near = answers[np.abs(answers) < 1 / 16]
            return float(np.mean(near * 2.0**53 != np.rint(near * 2.0**53))) if near.size else 0.0

        return fine(np.asarray(answers_of_zero, float)), fine(np.asarray(answers_of_one, float))

    @pytest.mark.parametrize("kind", ["laplace", "normal"])
    def test_low_bits_tell_nothing(self, kind):
        # Naive noise on floats: 0 + z keeps all bits of a small z, 1 + z has lost them.
        rng = np.random.default_rng(1)
        z = getattr(rng, kind)(0, 1.0, size=400_000)
        naive = self.told_apart(0 + z, 1 + z)
        assert naive[0] > 0.9 and naive[1] == 0
        noise = Noise(kind, Fraction(2**20)).draw(400_000, seeded(1)) / UNIT
        assert self.told_apart(0 + noise, 1 + noise) == (0.0, 0.0)
        assert PrefixSums().release(summary(), APPROXIMATE).answers.dtype == np.int64


def test_every_linear_mechanism_has_a_row():
    linear = {mechanism for mechanism in MECHANISMS.values() if mechanism.linear}
    assert {type(mechanism) for mechanism, _ in EVERY} == linear


def test_a_part_must_be_whole():
    with pytest.raises(FormatError):
        ReleasePart.from_document({"identifier": "00"})
    with pytest.raises(ArgumentError, match="whole numbers"):
        Release(PrefixSums(), DOMAIN, np.array([0.5]), mistaken([None]))
