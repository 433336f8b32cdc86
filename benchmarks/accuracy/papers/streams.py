"""Random numbers of a figure's cell: a stream of its own for every factor that the cell has."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, *factors: object) -> np.random.Generator:
    """Return the generator of a seed and of everything that a cell is told apart by.

    Parameters
    ----------
    seed : int
        Of the whole run; another one makes every cell anew.
    factors : object
        Column, epsilon, bins, randomizer, repeat ...; two lists that differ anywhere share no
        random numbers. Each is taken as text, so 1 and 1.0 must not both be used.
    """
    return np.random.default_rng([seed, *(zlib.crc32(str(one).encode()) for one in factors)])
