"""How many outputs compressive privatization needs, and how many of them are near a symbol."""

from __future__ import annotations

import math
from fractions import Fraction


def recommended_outputs(symbols: int, sparsity: int, epsilon: Fraction | float) -> int:
    """Return the number of outputs with which so many frequent symbols can be told apart.

    Parameters
    ----------
    symbols : int
        k.
    sparsity : int
        s, symbols that hold nearly all of the mass; in 1..k.
    epsilon : Fraction or float

    Notes
    -----
    ``4 s ln(k / s)``, and at least ``8 (e^epsilon + 1)`` so that a near set has 8 outputs and two
    of them seldom agree; at most k. The theorem gives only the orders, ``s log(k / s)`` and
    ``e^epsilon log k``: the constants are measured in `benchmarks/accuracy`. The term for the
    balance of random columns is not needed where columns are balanced by construction.

    Source: Xiong et al. 2021, theorems 3.6 and 4.3.

    Examples
    --------
    >>> recommended_outputs(10_000, 25, 0.5)
    600
    """
    logarithm = max(math.log(symbols / sparsity), 1.0)
    recovery = math.ceil(4 * sparsity * logarithm)
    return min(symbols, max(recovery, math.ceil(8 * (math.exp(epsilon) + 1))))


def best_weight(outputs: int, epsilon: Fraction | float) -> int:
    """Return the size of balanced near sets that gives the least variance.

    Notes
    -----
    With density a, the variance of a share near 0 is ``(1 + a E)^2 / (a (1 - a) E^2 n)`` with
    ``E = e^epsilon - 1``, least at ``a = 1 / (e^epsilon + 1)``. The paper's 1/2 costs 6 % at
    epsilon 0.5 and 27 % at 1; its ``e^-epsilon`` for medium privacy 5 % at 1.
    """
    gap = math.expm1(epsilon)

    def variance(ones: int) -> float:
        density = ones / outputs
        return (1 + density * gap) ** 2 / (density * (1 - density))

    ideal = outputs / (math.exp(epsilon) + 1)
    sizes = {min(max(size, 1), outputs - 1) for size in (math.floor(ideal), math.ceil(ideal))}
    return min(sorted(sizes), key=variance)
