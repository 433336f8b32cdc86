"""Predicted errors of decoded shares of labels, on an even, a Zipf and a sparse population."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np

from lapwing.decoders.empirical_bayes.mixture_prior import shrunk
from lapwing.decoders.unbiased.unbiased_shares import UnbiasedShares
from lapwing.linear.arrays import Vector
from lapwing.linear.projections import simplex
from lapwing.planning.defaults import FEW, decoder_without_band
from lapwing.planning.expected_error import ErrorByKind
from lapwing.planning.label_costs import Option
from lapwing.planning.simulation import simulate
from lapwing.protocol.randomizer import Randomizer

LABEL_LIMIT = 2**18
"""Labels up to which errors of a whole distribution are predicted."""

FOUND = 0.95
"""Probability with which a share of the smallest detectable size is listed."""

ALPHA = 0.05

_ITERATIONS = 100

_SIMULATED = 2**15
"""Labels of all simulations of compressed reports, whose decoder takes long."""


def populations(size: int) -> Mapping[str, Vector]:
    """Return the shares of the populations that errors are predicted on: float64 [size] each."""
    few = min(10, -(-size // 4))
    return {
        "even": np.full(size, 1 / size),
        "zipf": 1 / np.arange(1, size + 1) / (1 / np.arange(1, size + 1)).sum(),
        "few": np.where(np.arange(size) < few, 1 / few, 0.0),
    }


def detectable_share(option: Option, users: int) -> float:
    """Return the smallest share that is listed as a heavy hitter with probability .95.

    The threshold lets any value that nobody holds through with probability at most .05, so the
    share is ``(Phi^-1(1 - .05 / size) + Phi^-1(.95)) sigma``. Of compressed reports sigma counts
    the cross-talk of all labels of a Zipf law; sparse recovery takes that of those it finds away,
    so smaller shares are found, too.
    """
    # The lower tail keeps its digits.
    threshold = -NormalDist().inv_cdf(ALPHA / option.randomizer.domain.size)
    reach = threshold + NormalDist().inv_cdf(FOUND)
    return reach * option.deviation(users) / math.sqrt(users)


def predicted_errors(
    option: Option, users: int, *, laws: Mapping[str, Vector], seed: int = 0
) -> dict[str, ErrorByKind]:
    """Return the errors of the recommended decoder by distance and population.

    Labels of compressed reports are not estimated one by one: there the reports are simulated.

    Parameters
    ----------
    option : Option
    users : int
    laws : mapping of str to numpy.ndarray
        Shares of populations: float64 [size].
    seed : int
        Of the noise; the same for every number of people, so that errors fall smoothly.

    Accuracy
    --------
    People are drawn from the population, unbiased shares are normal numbers about theirs with the
    exact variances, and the real decoder works on them; no report is made. The tests compare with
    simulated reports: l1, and the Zipf population, within an eighth. Squared errors of the even and
    the sparse one hang on rare accidents and are right to about a half. Hadamard response in
    several blocks is noisier than predicted for symbols whose block is popular.

    Cost
    ----
    A few decodes for each population.
    """
    size = option.randomizer.domain.size
    if option.crosstalk:
        return simulated_label_errors(option.randomizer, users, laws=laws, seed=seed)
    repeats = 200 if size < FEW else max(1, min(24, 2**14 // size))
    people, noise = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    l1: dict[str, float] = {}
    squared: dict[str, float] = {}
    for name, law in laws.items():
        absolute, square = [], []
        for _ in range(repeats):
            held = people.multinomial(users, law) / users
            gap = np.abs(_decoded(option, held, users, noise.standard_normal(size)) - held)
            absolute.append(float(gap.sum()))
            square.append(float(np.mean(gap**2)))
        l1[name], squared[name] = float(np.mean(absolute)), float(np.mean(square))
    return {"l1": ErrorByKind(l1), "mean_squared_error": ErrorByKind(squared)}


def simulated_label_errors(
    randomizer: Randomizer, users: int, *, laws: Mapping[str, Vector], seed: int
) -> dict[str, ErrorByKind]:
    """Return the simulated errors of a randomizer and its recommended decoder, as above."""
    decoder = decoder_without_band(randomizer)
    repeats = max(6, min(48, _SIMULATED // randomizer.domain.size))
    people, noise = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    l1: dict[str, float] = {}
    squared: dict[str, float] = {}
    for name, law in laws.items():
        gaps = []
        for _ in range(repeats):
            counts = people.multinomial(users, law)
            tally = simulate(randomizer, counts, rng=noise)
            gaps.append(decoder.decode(randomizer.channel, tally).mass - counts / users)
        l1[name] = float(np.mean([np.abs(gap).sum() for gap in gaps]))
        squared[name] = float(np.mean(np.square(gaps)))
    return {"l1": ErrorByKind(l1), "mean_squared_error": ErrorByKind(squared)}


def _decoded(option: Option, law: Vector, users: int, noise: Vector) -> Vector:
    size = law.size
    variance = np.maximum(option.empty + option.slope * law, 0.0) / users
    if option.fixed_total:
        # Giving the noise its fixed total takes 1 / size of it away, which it does not have.
        variance *= size / (size - 1)
    shares = law + np.sqrt(variance) * noise
    empty = np.full(size, option.empty / users)
    found = UnbiasedShares(shares, empty, option.slope / users, users).with_total()
    if size < FEW:
        return simplex(found.shares)
    return shrunk(found, iterations=_ITERATIONS).mass
