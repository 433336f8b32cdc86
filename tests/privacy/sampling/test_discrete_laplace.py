"""The discrete Laplace law: both paths word for word, and by law, with wrong samplers refused."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import ArgumentError
from lapwing.privacy.integer_noise import (
    discrete_laplace,
    exponential_coin,
    laplace_fraction,
)
from lapwing.privacy.sampling.randomness import iterate, seeded
from tests.false_alarms import accepts, multinomial_tail

SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(10**6 + 1, 7), Fraction(2**40)]
DRAWS = 200_000


def below(scale: float, k: np.ndarray) -> np.ndarray:
    """Return P(X <= k)."""
    q = np.exp(-1 / scale)
    rest = q ** np.where(k >= 0, k + 1, -k) / (1 + q)
    return np.where(k >= 0, 1 - rest, rest)


def tail_of(drawn: np.ndarray, scale: Fraction) -> float:
    width = float(scale)
    edges = np.unique(np.rint(width * np.linspace(-5, 5, 50)))
    edges = edges[(below(width, edges) > 1e-4) & (below(width, edges) < 1 - 1e-4)]
    probabilities = np.diff(np.concatenate([[0.0], below(width, edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, drawn), minlength=edges.size + 1)
    return multinomial_tail(counts, probabilities)


class TestLaw:
    @pytest.mark.parametrize("scale", SCALES, ids=str)
    def test_it_is_the_discrete_laplace(self, scale):
        drawn = discrete_laplace(scale, count=DRAWS, source=seeded(31))
        assert accepts(tail_of(drawn, scale))

    def test_wrong_samplers_are_refused(self):
        rng = np.random.default_rng(6)
        n = 1_000_000
        wrong = {
            "rounded continuous": np.rint(rng.laplace(scale=1.0, size=n)),
            "two zeros": np.where(rng.random(n) < 0.5, -1, 1)
            * (rng.geometric(1 - np.exp(-1), n) - 1),
            "three percent wide": np.sign(rng.random(n) - 0.5)
            * np.floor(rng.exponential(scale=1.03, size=n)),
        }
        for name, drawn in wrong.items():
            assert not accepts(tail_of(drawn.astype(np.int64), Fraction(1))), name

    @pytest.mark.parametrize("ratio", [(0, 5), (1, 3), (5, 5)])
    def test_the_coin(self, ratio):
        words = iterate(seeded(32))
        heads = sum(exponential_coin(words, *ratio) for _ in range(50_000))
        probability = float(np.exp(-ratio[0] / ratio[1]))
        counts = np.array([heads, 50_000 - heads])
        assert accepts(multinomial_tail(counts, np.array([probability, 1 - probability])))


class TestTwins:
    @pytest.mark.parametrize("scale", SCALES, ids=str)
    def test_compiled_and_defined_agree_bit_for_bit(self, scale):
        compiled = discrete_laplace(scale, count=3000, source=seeded(7))
        defined = discrete_laplace(scale, count=3000, source=seeded(7), compiled=False)
        assert np.array_equal(compiled, defined)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**49), Fraction(1, 2**49)])
def test_illegal_scales_are_refused(scale):
    with pytest.raises(ArgumentError, match="noise scale"):
        discrete_laplace(scale, count=1, source=seeded(1))


@pytest.mark.parametrize("scale", [Fraction(2**48), Fraction(1, 2**48)])
def test_the_limits_are_legal(scale):
    assert laplace_fraction(scale) == (scale.numerator, scale.denominator)
