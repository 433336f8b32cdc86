"""The penalized likelihood against SciPy's general optimizer."""

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from lapwing import ExpectationMaximization, Interval, SquareWave
from lapwing.decoders.decoder import Neighbors
from lapwing.errors import ConvergenceWarning
from lapwing.linear.operators.operator import dense
from lapwing.papers.baselines import PenalizedLikelihood
from lapwing.planning.simulation import simulate
from lapwing.protocol import Channel
from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
from lapwing.tallies import CountTally
from lapwing.testing.decoder_contract import sampled, truth


def objective(channel: Channel, tally: CountTally, mass: np.ndarray, roughness: float) -> float:
    """Return log-likelihood less the penalty, as the docstring of the decoder states them."""
    value = 0.0
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        mean = dense(block.operator) @ mass
        value += float(counts @ np.log(mean))
        if abs(dense(block.operator).sum(axis=0) - 1).max() > 1e-9:
            value += float((reports - counts) @ np.log(1 - mean))
    pairs = Neighbors.of(channel.domain)
    # Relative to the uniform distribution, in which every symbol of full width has 1 / size.
    density = channel.domain.size * mass / pairs.width
    jumps = density[pairs.first] - density[pairs.second]
    return value - roughness / 2 * float(jumps @ jumps)


CHANNELS = {
    "wave": SquareWave(Interval(0, 1, bins=10), 2, width=0.15).channel,
    "circle": SquareWave(Interval(0, 1, bins=10, circular=True), 2, width=0.15).channel,
    "bits": OptimizedUnaryEncoding(Interval(0, 1, bins=10), 2).channel,
    "atoms": SquareWave(Interval(0, 1, bins=8, atoms=(0.3,)), 2, width=0.15).channel,
}


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
@pytest.mark.parametrize("roughness", [0.5, 1000.0])
def test_the_maximum_is_that_of_a_general_optimizer(channel: Channel, roughness: float) -> None:
    size = channel.domain.size
    tally = sampled(channel, truth(size), people=5000, seed=1)
    result = PenalizedLikelihood(roughness=roughness, tolerance=1e-7, limit=300_000).decode(
        channel, tally
    )
    found = minimize(
        lambda x: -objective(channel, tally, x, roughness) / tally.total,
        np.full(size, 1 / size),
        bounds=[(1e-9, 1)] * size,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    best = found.x / found.x.sum()
    ours = objective(channel, tally, result.mass, roughness)
    theirs = objective(channel, tally, best, roughness)
    assert ours >= theirs - 1e-3
    np.testing.assert_allclose(result.mass, best, atol=2e-3)
    assert result.provenance["converged"]


def test_the_objective_never_falls() -> None:
    channel = CHANNELS["wave"]
    tally = sampled(channel, truth(10), people=5000, seed=2)
    previous = -math.inf
    for limit in range(3, 90, 9):
        decoder = PenalizedLikelihood(roughness=5.0, tolerance=1e-12, limit=limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = decoder.decode(channel, tally)
        value = objective(channel, tally, result.mass, 5.0)
        assert value >= previous - 1e-9
        previous = value


def test_plain_steps_never_lower_the_objective() -> None:
    """One round: two steps of the map, and a jump that is kept only if it is better still."""
    channel = CHANNELS["atoms"]
    size = channel.domain.size
    tally = sampled(channel, truth(size), people=5000, seed=3)
    for roughness in (0.1, 10.0, 1e4):
        with pytest.warns(ConvergenceWarning, match="after 3 evaluations"):
            decoder = PenalizedLikelihood(roughness=roughness, tolerance=1e-12, limit=3)
            mass = decoder.decode(channel, tally).mass
        start = np.full(size, 1 / size)
        assert objective(channel, tally, mass, roughness) >= objective(
            channel, tally, start, roughness
        )


def test_roughness_goes_from_the_likelihood_to_a_flat_line() -> None:
    channel = CHANNELS["wave"]
    tally = sampled(channel, truth(10), people=20_000, seed=4)
    free = PenalizedLikelihood(roughness=1e-4, tolerance=1e-7, limit=300_000)
    likeliest = ExpectationMaximization(tolerance=1e-8, limit=300_000)
    np.testing.assert_allclose(
        free.decode(channel, tally).mass, likeliest.decode(channel, tally).mass, atol=2e-3
    )
    stiff = PenalizedLikelihood(roughness=1e9).decode(channel, tally).mass
    np.testing.assert_allclose(stiff, 0.1, atol=1e-4)
    spread = [
        float(np.abs(np.diff(PenalizedLikelihood(roughness=r).decode(channel, tally).mass)).sum())
        for r in (1.0, 100.0, 10_000.0)
    ]
    assert spread == sorted(spread, reverse=True)


def test_a_smooth_column_is_found_better_than_by_em() -> None:
    wave = SquareWave(Interval(0, 1, bins=64, outside="clip"), 1)
    mass = np.diff(np.linspace(0, 1, 65) ** 2)
    tally = simulate(wave, np.rint(1e5 * mass).astype(int), rng=5)
    penalized, stopped = (
        np.abs(np.cumsum(decoder.decode(wave.channel, tally).mass - mass)).mean()
        for decoder in (PenalizedLikelihood(), ExpectationMaximization())
    )
    assert penalized < stopped
