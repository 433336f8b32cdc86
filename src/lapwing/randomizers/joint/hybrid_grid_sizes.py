"""Sizes of hybrid-dimensional grids (HDG, Yang et al., 2020), by the paper's guideline."""

from __future__ import annotations

import math

import numpy as np

ALPHA_FINE, ALPHA_COARSE = 0.7, 0.03
"""The paper's guess of how uneven people are in a cell of one attribute, and in one of two."""


def guideline(users: int, epsilon: float, size: int) -> tuple[int, int]:
    """Return the paper's cells of the fine grids, and on each side of the coarse one.

    users: People in all three groups.
    size: Bins of an axis.
    returns: Powers of two of at least 2, and at most `size` or 2. The fine grid is not coarser than
        the coarse one.
    """
    group, odds = users / 3, math.exp(epsilon)
    fine = (group * (odds - 1) ** 2 * ALPHA_FINE**2 / (2 * odds)) ** (1 / 3)
    coarse = math.sqrt(2 * ALPHA_COARSE * (odds - 1) * math.sqrt(group / odds))
    sides = _power_of_two(coarse, size)
    return max(_power_of_two(fine, size), sides), sides


def block_sizes(users: int, epsilon: float, size: int) -> tuple[int, int]:
    """Return the bins in a block of the fine grid and of the coarse one, a multiple of it.

    users: People in all three groups.
    size: Bins of an axis.
    """
    cells, sides = guideline(users, epsilon, size)
    fine = max(round(size / cells), 1)
    return fine, fine * max(round(size / sides / fine), 1)


def _power_of_two(number: float, most: int) -> int:
    """Return the nearest power of two, the smaller one on a tie, from 2 to `most`."""
    powers = 2 ** np.arange(1, max(most.bit_length(), 2))
    return int(powers[np.argmin(np.abs(powers - number))])
