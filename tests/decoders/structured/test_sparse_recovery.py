"""Sparse recovery: what it finds, on which channels, how often it finds what is not there."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing import Categories, CompressivePrivatization, LeastSquares, SubsetSelection, simulate
from lapwing.decoders import SparseRecovery
from lapwing.decoders.structured.sparse_recovery import _noise_length, sensed
from lapwing.errors import ArgumentError, ConvergenceWarning
from lapwing.randomizers import HadamardResponse, OptimizedUnaryEncoding
from tests.false_alarms import accepts, binomial_tail

SYMBOLS = 600


def sparse(found: int, *, people: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return an even distribution of so many symbols, and how many people hold each."""
    rng = np.random.default_rng(seed)
    mass = np.zeros(SYMBOLS)
    mass[rng.choice(SYMBOLS, found, replace=False)] = 1 / found
    return mass, (people * mass).astype(np.int64)


def error(decoder: Any, randomizer: Any, mass: np.ndarray, counts: np.ndarray) -> float:
    tally = simulate(randomizer, counts, rng=3)
    return float(np.abs(decoder.decode(randomizer.channel, tally).mass - mass).sum())


RANDOMIZERS = {
    "compressive": CompressivePrivatization(Categories(SYMBOLS), 1, outputs=200),
    "published": CompressivePrivatization(
        Categories(SYMBOLS), 1, outputs=200, matrix="rademacher", accept_epsilon=2
    ),
    "banded": CompressivePrivatization(
        Categories(SYMBOLS), 1, outputs=200, matrix="rademacher", uneven="banded"
    ),
    "subset selection": SubsetSelection(Categories(SYMBOLS), 1),
    "unary encoding": OptimizedUnaryEncoding(Categories(SYMBOLS), 1),
    "Hadamard response": HadamardResponse(Categories(SYMBOLS), 1),
    "Hadamard response in blocks": HadamardResponse(Categories(SYMBOLS), 1, blocks=4),
}
on_each = pytest.mark.parametrize("randomizer", RANDOMIZERS.values(), ids=RANDOMIZERS)


@on_each
@pytest.mark.parametrize(
    "decoder",
    [
        SparseRecovery(),
        SparseRecovery(sparsity=8),
        SparseRecovery(method="omp"),
        SparseRecovery(method="omp", sparsity=8),
        SparseRecovery(method="l1"),
        SparseRecovery(method="l1", sparsity=8),
    ],
    ids=str,
)
def test_few_frequent_symbols_are_found_on_any_channel(
    randomizer: Any, decoder: SparseRecovery
) -> None:
    mass, counts = sparse(8, people=80_000)
    # Eight shares, each with a standard error of at most 2.4 / sqrt(n): .05 together, on average.
    assert error(decoder, randomizer, mass, counts) < 0.15


def test_it_beats_the_simplex_where_the_distribution_is_sparse() -> None:
    mass, counts = sparse(8, people=80_000)
    randomizer = RANDOMIZERS["subset selection"]
    plain = error(LeastSquares(), randomizer, mass, counts)
    assert error(SparseRecovery(), randomizer, mass, counts) < plain / 2


@pytest.mark.parametrize("name", ["compressive", "unary encoding", "Hadamard response in blocks"])
def test_what_is_not_there_is_found_as_seldom_as_stated(name: str) -> None:
    randomizer = RANDOMIZERS[name]
    rng = np.random.default_rng(5)
    draws, alarms = 150, 0
    for _ in range(draws):
        counts = rng.multinomial(100_000, np.full(SYMBOLS, 1 / SYMBOLS))
        tally = simulate(randomizer, counts, rng=rng)
        made = SparseRecovery(level=0.2, band=False).decode(randomizer.channel, tally).provenance
        alarms += made["symbols_found"] > 0
    # At most the stated rate: symbols are taken for independent. A test that errs more often than
    # that, at four times the level, would be seen.
    assert accepts(stats.binom.sf(alarms - 1, draws, 0.2))
    assert not accepts(stats.binom.sf(4 * max(alarms, 25) - 1, draws, 0.2))


@pytest.mark.parametrize("name", ["compressive", "unary encoding", "Hadamard response in blocks"])
def test_the_noise_of_the_counts_has_unit_variance(name: str) -> None:
    randomizer = RANDOMIZERS[name]
    rng = np.random.default_rng(6)
    uniform = np.full(SYMBOLS, 1 / SYMBOLS)
    targets, correlations = [], []
    for _ in range(60):
        counts = rng.multinomial(50_000, uniform)
        sensing, target = sensed(randomizer.channel, simulate(randomizer, counts, rng=rng), uniform)
        targets.append(target)
        correlations.append(sensing.rmatvec(target) / sensing.norms())
    assert np.var(targets) == pytest.approx(1, abs=0.03)
    assert np.mean(targets) == pytest.approx(0, abs=0.03)
    # A column's correlation is normal; for counts that exclude each other a little narrower.
    assert np.var(correlations) == pytest.approx(1, abs=0.05)
    assert binomial_tail(int((np.array(correlations) > 2).sum()), 60 * SYMBOLS, 0.5) < 1


def test_norms_are_those_of_the_dense_columns() -> None:
    for randomizer in RANDOMIZERS.values():
        tally = simulate(randomizer, np.full(SYMBOLS, 10), rng=1)
        sensing, _ = sensed(randomizer.channel, tally, np.full(SYMBOLS, 1 / SYMBOLS))
        dense = np.column_stack([sensing.column(number) for number in range(0, SYMBOLS, 37)])
        np.testing.assert_allclose(sensing.norms()[::37], np.linalg.norm(dense, axis=0), rtol=1e-9)


def test_mass_that_is_not_found_is_spread_unless_told_otherwise() -> None:
    mass, _ = sparse(5, people=1)
    mass = 0.5 * mass + 0.5 / SYMBOLS
    counts = (200_000 * mass).astype(np.int64)
    randomizer = RANDOMIZERS["compressive"]
    tally = simulate(randomizer, counts, rng=3)
    spread = SparseRecovery().decode(randomizer.channel, tally)
    assert np.abs(spread.mass - mass).sum() < 0.1 and spread.mass.min() > 0
    told = SparseRecovery(sparsity=5).decode(randomizer.channel, tally)
    assert (told.mass > 0).sum() == 5 and np.abs(told.mass - mass).sum() > 0.9
    both = SparseRecovery(sparsity=5, spread=True).decode(randomizer.channel, tally)
    np.testing.assert_allclose(both.mass, spread.mass, atol=0.01)
    alone = SparseRecovery(spread=False).decode(randomizer.channel, tally)
    np.testing.assert_allclose(alone.mass, told.mass, atol=0.01)


def test_the_noise_of_heavy_blocks_is_taken_from_the_data() -> None:
    """In blocks the noise follows the block's share: null symbols of a heavy block are no finds."""
    domain = Categories(SYMBOLS)
    randomizer = HadamardResponse(domain, 4, blocks=16)
    counts = np.zeros(SYMBOLS, dtype=np.int64)
    counts[[0, 16, 32, 48]] = 50_000
    found = [
        SparseRecovery(band=False)
        .decode(randomizer.channel, simulate(randomizer, counts, rng=seed))
        .provenance["symbols_found"]
        for seed in range(20)
    ]
    assert np.mean(found) < 4.3 and min(found) == 4


@pytest.mark.parametrize("name", ["compressive", "Hadamard response in blocks"])
def test_with_a_given_number_the_largest_shares_are_found(name: str) -> None:
    """At large epsilon a small share whose outputs are quiet is surer than a larger one."""
    mass = 0.4 ** np.arange(SYMBOLS, dtype=np.float64)
    mass /= mass.sum()
    made: Any = RANDOMIZERS[name]
    made = replace(made, epsilon=4)
    for seed in range(5):
        tally = simulate(made, (200_000 * mass).astype(np.int64), rng=seed)
        found = SparseRecovery(sparsity=3, band=False).decode(made.channel, tally)
        assert np.flatnonzero(found.mass).tolist() == [0, 1, 2]


def test_data_that_are_not_sparse_give_a_warning_at_the_limit() -> None:
    randomizer = RANDOMIZERS["unary encoding"]
    counts = np.arange(SYMBOLS) * 100_000
    tally = simulate(randomizer, counts, rng=1)
    with pytest.warns(ConvergenceWarning, match="limit of 7 symbols"):
        made = SparseRecovery(limit=7).decode(randomizer.channel, tally).provenance
    assert made["symbols_found"] == 7


@pytest.mark.parametrize("rows", [1, 2, 10, 500, 20_000])
@pytest.mark.parametrize("level", [0.01, 0.05, 0.5])
def test_the_length_of_noise_is_a_chi_square_quantile(rows: int, level: float) -> None:
    exact = math.sqrt(stats.chi2.ppf(1 - level, max(rows - 1, 1)))
    assert _noise_length(rows, level) == pytest.approx(exact, rel=0.08 if rows < 10 else 0.005)


def test_more_symbols_than_counts_or_than_there_are_cannot_be_asked_for() -> None:
    for name, most in (("compressive", 200), ("unary encoding", SYMBOLS)):
        randomizer = RANDOMIZERS[name]
        tally = simulate(randomizer, np.full(SYMBOLS, 10), rng=1)
        with pytest.raises(ArgumentError, match=f"symbols and of counts, {most}, got {most + 1}"):
            SparseRecovery(sparsity=most + 1).decode(randomizer.channel, tally)
