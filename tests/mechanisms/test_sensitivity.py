"""The noise of every mechanism hides exactly what one row can move: all pairs, small shapes."""

from itertools import combinations, product

import numpy as np
import pytest

from lapwing.errors import ArgumentError, PrivacyError
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.label_counts import LabelCounts
from lapwing.mechanisms.prefix_sums import PrefixSums, SquareRootStrategy
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.polynomial_projection import (
    FAMILIES,
    PolynomialProjection,
)
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.registry import MECHANISMS

RELATIONS = ("replace-one", "add-or-remove-one")
MOST_BINS = 12
DOMAINS = [
    *(Interval(0, 1, bins=bins) for bins in range(1, MOST_BINS + 1)),
    Interval(0, 1, bins=3, atoms=(0, 0.4)),
    Interval(0, 1, bins=3, outside="overflow"),
    Interval(0, 24, bins=6, circular=True),
    Integers(-3, 4),
    Categories(1),
    Categories(["a", "b", 3], other="b"),
    Segmented(Categories(["a", "b"]), ["here", "there"]),
    Segmented(Interval(0, 1, bins=3), ["here", "there"]),
]
LINEAR = [
    PrefixSums(),
    *(SumTree(branching) for branching in (2, 3, 5, 32)),
    SumTree(strategy="haar"),
    *(HistogramQuery(bins) for bins in (1, 2, 5, MOST_BINS)),
    LabelCounts(),
]
PROJECTIONS = [
    (basis, shape)
    for basis, shape in product(FAMILIES, ("a-optimal", "diagonal", "equal", "moments"))
    if shape != "moments" or basis == "legendre"
]
SIZES = list(product(range(1, MOST_BINS + 1), range(1, 17)))
"""Numbers of bins and of functions."""
HARD_SIZES = [
    (bins, functions)
    for bins, functions in SIZES
    if bins in (1, 2, 3, 7, MOST_BINS) and (functions == 2 or abs(functions - bins) <= 1)
]


@pytest.fixture(autouse=True)
def without_noise(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, count, source: np.zeros(count, dtype=np.int64))


def rows_of(mechanism, domain, promise):
    """Return what one row of each symbol adds to the published answers, in whole numbers."""
    domain = domain.for_curator()
    summaries = [ExactCounts(domain, unit) for unit in np.eye(domain.size, dtype=np.int64)]
    return [
        [int(a) for a in mechanism.release(one, promise, rng=seeded(1)).answers]
        for one in summaries
    ]


def moved(rows, relation):
    """Return the exact largest squared and absolute distance of the answers of neighbors."""
    apart = rows
    if relation == "replace-one":
        apart = [[x - y for x, y in zip(a, b, strict=True)] for a, b in combinations(rows, 2)]
    return max(sum(x * x for x in d) for d in apart), max(sum(map(abs, d)) for d in apart)


def hidden(mechanism, domain, relation):
    """Return what the noise that is really drawn is charged to hide: squared and absolute."""
    found = []
    for promise in (Promise(relation, mu="0.5"), Promise(relation, epsilon="0.5")):
        held = ExactCounts(
            domain.for_curator(), np.zeros(domain.for_curator().size, dtype=np.int64)
        )
        part = mechanism.release(held, promise, rng=seeded(1)).parts[0]
        assert part.loss == mechanism.loss(domain.for_curator(), promise)
        size = part.noise.scale
        found.append(part.loss.epsilon * size if promise.pure else part.loss.mu_squared * size**2)
    return tuple(found)


def is_exact(mechanism, domain, relation):
    rows = rows_of(mechanism, domain, Promise(relation, mu="0.5"))
    # The answers may be other ones for other noise, but no mechanism here does so. They are linear,
    # so those of a table with another number of rows of each symbol tell.
    numbers = [1000**place for place in range(3)] * len(rows)
    several = ExactCounts(domain.for_curator(), np.array(numbers[: len(rows)]))
    answers = mechanism.release(several, Promise(relation, epsilon="0.5"), rng=seeded(1)).answers
    columns = zip(*rows, strict=True)
    together = [sum(n * x for n, x in zip(numbers, c, strict=False)) for c in columns]
    assert together == [int(answer) for answer in answers]
    return hidden(mechanism, domain, relation) == moved(rows, relation)


@pytest.mark.parametrize("relation", RELATIONS)
class TestLinear:
    @pytest.mark.parametrize("mechanism", LINEAR, ids=repr)
    def test_the_noise_hides_the_worst_pair_exactly(self, mechanism, relation):
        tried = 0
        for domain in DOMAINS:
            try:
                mechanism.check(domain.for_curator())
            except ArgumentError:
                continue
            assert is_exact(mechanism, domain, relation), domain
            tried += 1
        assert tried

    # As many functions as symbols are the hard case: the present symbols alone then leave a
    # direction in which only a row that becomes missing moves.
    @pytest.mark.parametrize("sizes", [HARD_SIZES, pytest.param(SIZES, marks=pytest.mark.soak)])
    @pytest.mark.parametrize(("basis", "shape"), PROJECTIONS)
    def test_so_does_that_of_every_projection(self, basis, shape, sizes, relation):
        for bins, functions in sizes:
            mechanism = PolynomialProjection(functions, basis=basis, shape=shape)
            domain = Interval(0, 1, bins=bins)
            if functions > bins or bins < 2:
                with pytest.raises(ArgumentError, match="symbols"):
                    mechanism.loss(domain.for_curator(), Promise(relation, epsilon=1))
            else:
                assert is_exact(mechanism, domain, relation), (bins, functions)

    def test_so_does_that_of_the_printed_algorithm(self, relation):
        # Noise by the bound of lemma 6 is charged for what it hides, which is not that bound.
        for bins, functions in product(range(2, MOST_BINS + 1, 2), range(1, 8)):
            mechanism = PolynomialProjection(functions, shape="algorithm-1")
            domain = Interval(0, 1, bins=bins)
            if functions > bins:
                continue
            if relation == "replace-one":
                assert is_exact(mechanism, domain, relation), (bins, functions)
            else:
                with pytest.raises(PrivacyError, match="replaced rows"):
                    mechanism.loss(domain.for_curator(), Promise(relation, epsilon=1))

    def test_a_sensitivity_that_is_off_by_any_factor_is_found(self, relation, monkeypatch):
        import lapwing.papers.functional_approximation.polynomial_projection as module

        right = module.most_moved
        for wrong in (
            lambda matrix, **how: tuple(2 * x for x in right(matrix, **how)),
            lambda matrix, **how: tuple(x // 2 for x in right(matrix, **how)),
            lambda matrix, **how: min(
                right(np.delete(matrix, symbol, axis=1), **how) for symbol in range(6)
            ),
            lambda matrix, replaced: right(matrix, replaced=not replaced),
        ):
            monkeypatch.setattr(module, "most_moved", wrong)
            module._sensitivity.forget()
            assert not is_exact(PolynomialProjection(5), Interval(0, 1, bins=5), relation)
        module._sensitivity.forget()

    def test_noise_as_small_as_the_functions_allow_is_not_wasted(self, relation):
        # The direction in which only missing rows move must not take all the noise there is: one
        # more function than the others costs no more than one more symbol does.
        def noise(bins, functions):
            mechanism = PolynomialProjection(functions, basis="chebyshev")
            held = ExactCounts.of_values(np.linspace(0, 1, 1000), Interval(0, 1, bins=bins))
            found = mechanism.release(held, Promise(relation, mu=1), rng=seeded(1))
            curve = found.channel.blocks[0].operator.curve
            return np.sqrt(found.variance * (curve**2).sum() / bins)

        assert noise(12, 12) < 1.5 * noise(13, 12)


class TestAdaptive:
    # What was asked follows from the answers, so neighbors are compared at the same questions.
    @pytest.mark.parametrize("steps", [1, 5])
    @pytest.mark.parametrize("guarded", [True, False])
    def test_quantiles_hide_the_worst_pair_exactly(self, steps, guarded):
        domain = Interval(0, 1, bins=8).for_curator()
        mechanism = AdaptiveQuantiles(steps, guarded=guarded)
        worst = 0
        for base, row, other in product(range(9), range(9), range(9)):
            counts = np.zeros((2, 9), dtype=np.int64)
            counts[:, base] += 3
            counts[0, row] += 1
            counts[1, other] += 1
            release = mechanism.release(
                ExactCounts(domain, counts[0]), Promise("replace-one", epsilon=1), rng=seeded(1)
            )
            places = mechanism.places(release)
            below = [[int(side[:place].sum()) for place in places] for side in counts]
            assert release.answers.tolist() == below[0]
            worst = max(worst, sum(abs(a - b) for a, b in zip(*below, strict=True)))
        assert hidden(mechanism, domain, "replace-one") == (worst, worst) == (steps, steps)

    @pytest.mark.parametrize("rounds", [1, 2, 5])
    @pytest.mark.parametrize("size", [2, 3, 8])
    def test_a_row_of_any_round_is_hidden_in_all_later_ones(self, rounds, size):
        mechanism = RunningPrefixSums(rounds)
        one = SquareRootStrategy(size)
        columns = [one.answers(unit) for unit in np.eye(size, dtype=np.int64)]
        worst = [0, 0]
        for first in range(rounds):
            weights = mechanism.weights[: rounds - first]
            rows = [[int(w) * int(x) for w in weights for x in column] for column in columns]
            worst = [max(pair) for pair in zip(worst, moved(rows, "replace-one"), strict=True)]
        domain = Interval(0, 1, bins=size - 1).for_curator()
        assert list(hidden(mechanism, domain, "replace-one")) == worst


def test_every_mechanism_is_compared():
    # Matching pursuit by its exact law, in a file of its own.
    compared = {type(mechanism) for mechanism in LINEAR}
    compared |= {PolynomialProjection, AdaptiveQuantiles, RunningPrefixSums, MatchingPursuit}
    assert compared == set(MECHANISMS.values())
