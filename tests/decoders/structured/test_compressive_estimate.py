"""Algorithm 1 as printed, against a script written line by line from the paper."""

import math
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, CompressivePrivatization, simulate
from lapwing.decoders import CompressiveEstimate
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.random_signs import unpacked
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.tallies import CountTally

SYMBOLS, OUTPUTS = 300, 120


def randomizer_of(regime: str, epsilon: float) -> CompressivePrivatization:
    return CompressivePrivatization(
        Categories(SYMBOLS),
        epsilon,
        outputs=OUTPUTS,
        matrix="rademacher" if regime == "high" else "medium",
        accept_epsilon=12,
    )


def printed_terms(
    randomizer: CompressivePrivatization, regime: str, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return y, B, the diagonal of D' and the factor of J (D' - I) p in e1, as printed."""
    e = math.exp(randomizer.design_epsilon)
    m, k = OUTPUTS, SYMBOLS
    A = 2.0 * unpacked(randomizer._packed, m).T - 1
    d = np.array([1 / (n * e + m - n) for n in (A == 1).sum(axis=0)])
    if regime == "high":
        y = (e + 1) / (e - 1) * (math.sqrt(m) * rates - np.ones(m) / math.sqrt(m))
        return y, A / math.sqrt(m), m * (e + 1) / 2 * d, (e + 1) / (math.sqrt(m) * (e - 1))
    gain = (2 * e - 1) / (e - 1) ** 1.5
    y = gain * (math.sqrt(m) * rates - 1 / math.sqrt(m))
    mean, deviation = 2 / e - 1, math.sqrt(1 - (2 / e - 1) ** 2)
    B = (A - mean * np.ones((m, k))) / deviation / math.sqrt(m)
    return y, B, m * (2 - 1 / e) * d, gain / math.sqrt(m)


def literal(
    randomizer: CompressivePrivatization, regime: str, tally: CountTally, s: int
) -> np.ndarray:
    """Return p' of algorithm 1 with OMP."""
    rates = tally.blocks[0] / tally.total
    y, B, weights, _ = printed_terms(randomizer, regime, rates)
    support: list[int] = []
    f, residual = np.zeros(SYMBOLS), y
    for _ in range(s):
        support.append(int(np.argmax(np.abs(B.T @ residual))))
        f[:] = 0
        f[support] = np.linalg.lstsq(B[:, support], y, rcond=None)[0]
        residual = y - B @ f
    return f / weights


def onto_simplex(point: np.ndarray) -> np.ndarray:
    """Return the projection by bisection of what is taken off."""
    low, high = point.min() - 1, point.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(point - low, 0)


REGIMES = [("high", 0.5), ("high", 1.0), ("medium", 1.5), ("medium", 3.0)]


@pytest.mark.parametrize(("regime", "epsilon"), REGIMES)
def test_the_equations_hold_without_noise(regime: str, epsilon: float) -> None:
    """Equations 4 and of section 4: y = B D' p + e1 exactly."""
    randomizer = randomizer_of(regime, epsilon)
    p = np.random.default_rng(1).dirichlet(np.full(SYMBOLS, 0.02))
    q = dense(randomizer.channel.blocks[0].operator) @ p
    y, B, weights, factor = printed_terms(randomizer, regime, q)
    e1 = factor * ((weights - 1) * p).sum()
    assert np.abs(y - B @ (weights * p) - e1).max() < 1e-8
    assert abs(e1) > 1e-4, "it is there, and the estimate treats it as noise"


@pytest.mark.parametrize(("regime", "epsilon"), REGIMES)
def test_it_is_the_printed_algorithm(regime: Any, epsilon: float) -> None:
    randomizer = randomizer_of(regime, epsilon)
    counts = np.zeros(SYMBOLS, dtype=np.int64)
    counts[[3, 50, 51, 200]] = [40_000, 30_000, 20_000, 10_000]
    tally = simulate(randomizer, counts, rng=2)
    expected = literal(randomizer, regime, tally, 6)
    decode = {
        decoder.last_step: decoder.decode(randomizer.channel, tally)
        for decoder in (
            CompressiveEstimate(sparsity=6, regime=regime, last_step="project"),
            CompressiveEstimate(sparsity=6, regime=regime, last_step="normalize"),
        )
    }
    np.testing.assert_allclose(decode["project"].mass, onto_simplex(expected), atol=1e-9)
    positive = np.maximum(expected, 0)
    np.testing.assert_allclose(decode["normalize"].mass, positive / positive.sum(), atol=1e-9)
    assert (decode["normalize"].mass > 0).sum() <= 6
    assert np.abs(decode["project"].mass - counts / 100_000).sum() < 0.5


def test_the_constrained_l1_of_the_theory_finds_the_same_symbols() -> None:
    randomizer = randomizer_of("high", 1)
    counts = np.zeros(SYMBOLS, dtype=np.int64)
    counts[[3, 50, 200]] = 10**8
    tally = simulate(randomizer, counts, rng=2)
    for decoder in (
        CompressiveEstimate(sparsity=3, recovery="omp"),
        CompressiveEstimate(sparsity=3, recovery="l1"),
    ):
        mass = decoder.decode(randomizer.channel, tally).mass
        assert set(np.argsort(mass)[-3:].tolist()) == {3, 50, 200}
        # The model error of unbalanced columns stays, however many people report.
        assert np.abs(mass - counts / counts.sum()).sum() < 0.2


def test_with_balanced_columns_there_is_no_model_error() -> None:
    randomizer = CompressivePrivatization(
        Categories(SYMBOLS), 1, outputs=OUTPUTS, weight=OUTPUTS // 2
    )
    counts = np.zeros(SYMBOLS, dtype=np.int64)
    counts[[3, 50, 200]] = 10**8
    tally = simulate(randomizer, counts, rng=2)
    mass = CompressiveEstimate(sparsity=3).decode(randomizer.channel, tally).mass
    assert np.abs(mass - counts / counts.sum()).sum() < 1e-3


def test_a_tally_that_says_nothing_gives_a_distribution() -> None:
    randomizer = randomizer_of("high", 1)
    tally = CountTally([np.full(OUTPUTS, 10)], [10 * OUTPUTS], randomizer.fingerprint)
    for decoder in (
        CompressiveEstimate(sparsity=3, last_step="project"),
        CompressiveEstimate(sparsity=3, last_step="normalize"),
    ):
        mass = decoder.decode(randomizer.channel, tally).mass
        assert mass.sum() == pytest.approx(1) and mass.min() >= 0


def test_other_channels_are_refused() -> None:
    bits = OptimizedUnaryEncoding(Categories(SYMBOLS), 1)
    counts = np.full(SYMBOLS, 10)
    with pytest.raises(UnsupportedChannelError, match="needs reports of compressive privatiz"):
        CompressiveEstimate(sparsity=3).decode(bits.channel, simulate(bits, counts, rng=1))
    banded = CompressivePrivatization(
        Categories(SYMBOLS), 1, outputs=OUTPUTS, matrix="rademacher", uneven="banded"
    )
    with pytest.raises(UnsupportedChannelError, match="needs equation 2"):
        CompressiveEstimate(sparsity=3).decode(banded.channel, simulate(banded, counts, rng=1))
    good = randomizer_of("high", 1)
    with pytest.raises(ArgumentError, match="and of counts, 120, got 121"):
        CompressiveEstimate(sparsity=121).decode(good.channel, simulate(good, counts, rng=1))
