"""The error of a randomizer and a decoder, by simulating both on columns that are known."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.decoder import Decoder
from lapwing.distances import kolmogorov_smirnov, wasserstein
from lapwing.errors import LapwingWarning
from lapwing.planning.reference_columns import KINDS, reference_column
from lapwing.planning.simulation import simulate
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.randomizer import Randomizer
from lapwing.results.distribution import Distribution

Column = Callable[[int], NDArray[np.float64]]
"""The masses of the column of a repeat: the same each time, or another member of a family."""


def reference_family(domain: Domain, *, first: int = 0) -> dict[str, Column]:
    """Return the reference columns of every kind on a domain; repeat r is member first + r."""

    def member(kind: str) -> Column:
        return lambda repeat: reference_column(
            kind, size=domain.size, number=first + repeat, circular=domain.circular
        )

    return {kind: member(kind) for kind in KINDS}


def simulated_errors(
    randomizer: Randomizer,
    decoder: Decoder,
    *,
    users: int,
    columns: Mapping[str, Column],
    repeats: int,
    seed: int,
) -> dict[str, dict[str, list[float]]]:
    """Return the errors of decoding simulated reports, by distance and column, one per repeat.

    Parameters
    ----------
    randomizer : Randomizer
        On an ordered domain.
    decoder : Decoder
    users : int
        People; every repeat draws new ones from the column.
    columns : mapping of str to callable
        The masses by repeat: float64 [domain.size].
    repeats : int
    seed : int

    Returns
    -------
    dict
        ``"wasserstein"``: W1 as a share of the range; ``"kolmogorov_smirnov"``. Both to the
        people who reported, in the symbols of the domain: what a bin hides inside is not seen.
    """
    domain = randomizer.domain
    span = float(domain.right[-1] - domain.left[0])
    found: dict[str, dict[str, list[float]]] = {
        distance: {name: [] for name in columns}
        for distance in ("wasserstein", "kolmogorov_smirnov")
    }
    for name, column in columns.items():
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, repeat, users % 2**32])
            people = rng.multinomial(users, column(repeat))
            truth = Distribution.of_counts(people, domain)
            tally = simulate(randomizer, people, rng=rng)
            with warnings.catch_warnings():
                # That some answers are weak is what is being found out.
                warnings.simplefilter("ignore", LapwingWarning)
                answer = decoder.decode(randomizer.channel, tally)
            found["wasserstein"][name].append(wasserstein(answer, truth) / span)
            found["kolmogorov_smirnov"][name].append(kolmogorov_smirnov(answer, truth))
    return found
