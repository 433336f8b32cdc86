"""The rounded normal law: word for word in both paths, and by law, with wrong samplers refused."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from lapwing.errors import ArgumentError
from lapwing.privacy import integer_noise as module
from lapwing.privacy.gaussian_dp import scale_up
from lapwing.privacy.integer_noise import (
    normal_fraction,
    one_rounded_normal,
    rounded_normal,
)
from lapwing.privacy.sampling.randomness import iterate, seeded
from tests.false_alarms import accepts, multinomial_tail

SCALES = [scale_up(scale) for scale in (0.01, 0.3, 1.0, 4.2247, 36.3, 8.06 * 2**20, 2.0**40)]
DRAWS = 200_000


class Scripted:
    """Words from a list, to reach what random words reach once in 2^64."""

    def __init__(self, words):
        self._words = list(words)

    def words(self, count):
        taken = (self._words + [2**63] * count)[:count]
        self._words = self._words[count:]
        return np.array(taken, dtype=np.uint64)


def law(scale: float, edges: np.ndarray) -> np.ndarray:
    """Return the probabilities of the integers up to each edge, and between."""
    below = stats.norm.cdf((edges + 0.5) / scale)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def tail_of(drawn: np.ndarray, scale: Fraction) -> float:
    edges = np.unique(np.rint(float(scale) * stats.norm.ppf(np.linspace(0.001, 0.999, 60))))
    counts = np.bincount(np.searchsorted(edges, drawn), minlength=edges.size + 1)
    return multinomial_tail(counts, law(float(scale), edges))


class TestLaw:
    @pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{float(scale):g}")
    def test_it_is_the_rounded_normal(self, scale):
        drawn = rounded_normal(scale, count=DRAWS, source=seeded(11))
        assert accepts(tail_of(drawn, scale))

    def test_the_low_bits_of_a_wide_one_are_uniform(self):
        drawn = rounded_normal(scale_up(2.0**40), count=DRAWS, source=seeded(12))
        counts = np.bincount(drawn & 255, minlength=256)
        assert accepts(multinomial_tail(counts, np.full(256, 1 / 256)))

    def test_successive_draws_are_independent(self):
        drawn = rounded_normal(scale_up(100.0), count=DRAWS, source=seeded(13))
        signs = 2 * (drawn[:-1] > 0) + (drawn[1:] > 0)
        zero = float(stats.norm.cdf(0.5 / 100))
        probabilities = np.array(
            [zero * zero, zero * (1 - zero), (1 - zero) * zero, (1 - zero) ** 2]
        )
        assert accepts(multinomial_tail(np.bincount(signs[::2], minlength=4), probabilities))

    # What a careless sampler would do; each must be told from the law at the same sample size.
    def test_wrong_samplers_are_refused(self):
        rng = np.random.default_rng(5)
        scale, n = scale_up(4.2247), 2_000_000
        z = float(scale) * rng.normal(size=n)
        wrong = {
            "floor": np.floor(z),
            "one percent wide": np.rint(1.01 * z),
            "clipped tails": np.rint(np.clip(z, -2.5 * float(scale), 2.5 * float(scale))),
            "sum of twelve": np.rint(float(scale) * sum(rng.random(n) - 0.5 for _ in range(12))),
        }
        for name, drawn in wrong.items():
            assert not accepts(tail_of(drawn.astype(np.int64), scale)), name

    def test_dropping_interrupted_words_would_be_noticed(self):
        # Short supplies favor draws of few words, which are small numbers.
        drawn = []
        source = seeded(3)
        while len(drawn) < 40_000:
            words = iter(source.words(24).tolist())
            try:
                drawn.append(one_rounded_normal(words, *normal_fraction(scale_up(4.2247))))
            except (StopIteration, RuntimeError):
                continue
        assert not accepts(tail_of(np.array(drawn), scale_up(4.2247)))

    def test_other_powers_of_karney_would_be_noticed(self, monkeypatch):
        original = module._bernoulli
        monkeypatch.setattr(module, "_bernoulli", lambda k, x, words: original(k + 1, x, words))
        drawn = rounded_normal(SCALES[3], count=30_000, source=seeded(4), compiled=False)
        assert not accepts(tail_of(drawn, SCALES[3]))


class TestCoins:
    def test_the_coin_of_the_root(self):
        words = iterate(seeded(21))
        heads = sum(module._half(words) for _ in range(100_000))
        probability = float(mpmath.exp(-0.5))
        assert accepts(
            multinomial_tail(
                np.array([heads, 100_000 - heads]), np.array([probability, 1 - probability])
            )
        )

    @pytest.mark.parametrize(("k", "x"), [(0, 0.05), (1, 0.5), (5, 0.97), (12, 0.5)])
    def test_the_coin_of_a_step(self, k, x):
        words = iterate(seeded(22))
        digit = int(x * 2**64)
        heads = sum(module._bernoulli(k, [digit], words) for _ in range(20_000))
        probability = float(np.exp(-x * (2 * k + x) / (2 * k + 2)))
        assert accepts(
            multinomial_tail(
                np.array([heads, 20_000 - heads]), np.array([probability, 1 - probability])
            )
        )


class TestTwins:
    @pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{float(scale):g}")
    def test_compiled_and_defined_agree_bit_for_bit(self, scale):
        compiled = rounded_normal(scale, count=3000, source=seeded(7))
        defined = rounded_normal(scale, count=3000, source=seeded(7), compiled=False)
        assert np.array_equal(compiled, defined)

    @pytest.mark.parametrize("scale", [0.3, 4.2247, 2.0**40])
    def test_they_agree_where_digits_tie_all_the_time(self, scale):
        few = np.array([0, 5, 2**62, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
        rng = np.random.default_rng(3)
        words = seeded(8).words(400_000)
        often = rng.random(words.size) < 0.5
        words[often] = rng.choice(few, np.count_nonzero(often))
        both = [
            rounded_normal(scale_up(scale), count=2000, source=Scripted(words), compiled=compiled)
            for compiled in (True, False)
        ]
        assert np.array_equal(*both)

    def test_a_tie_of_digits_draws_more_of_them(self):
        # k = 0 (one coin fails: 1/2 > u, v > u), x, then z ties with x twice before it differs.
        u, v = 2**62, 2**63 - 1
        script = [u, v, 5, 5, 9, 9, 10, 2**63 + 1, 2**63]
        assert len(set(script)) > 5
        first = one_rounded_normal(iter([*script, *[2**63] * 40]), 2**20, 0)
        second = rounded_normal(Fraction(2**20), count=1, source=Scripted(script))
        assert first == int(second[0])

    def test_a_rounding_that_the_first_digit_leaves_open_draws_another(self):
        # x just at half a step: scale 1, x = 1/2 exactly by its first digit.
        u, v = 2**62, 2**63 - 1
        head = [u, v, 2**63 - 1]
        tail = [2**63, 0]
        for following, expected in (([0] * 3, 0),):
            words = iter([*head, *tail, *following, *[2**64 - 1] * 9])
            assert one_rounded_normal(words, 1, 0) == expected

    def test_none_are_drawn_of_zero(self):
        assert rounded_normal(Fraction(1), count=0, source=seeded(1)).size == 0


class TestScales:
    @pytest.mark.parametrize(
        ("scale", "message"),
        [
            (Fraction(1, 3), "power of two"),
            (Fraction(-1), "positive"),
            (Fraction(1, 2**17), "must be in"),
            (Fraction(2**53), "must be in"),
            (Fraction(2**40 + 1), "32 significant bits"),
        ],
    )
    def test_illegal_ones_are_refused(self, scale, message):
        with pytest.raises(ArgumentError, match=message):
            rounded_normal(scale, count=1, source=seeded(1))
