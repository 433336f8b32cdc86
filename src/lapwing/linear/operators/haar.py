"""The orthonormal Haar system on equal bins, as an operator."""

from __future__ import annotations

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.hadamard import is_power_of_two
from lapwing.linear.operators.operator import Operator


def haar_level(level: int) -> slice:
    """Return where the ``2^level`` coefficients of a level stand."""
    return slice(2**level, 2 ** (level + 1))


class Haar(Operator):
    """From the masses of equal bins of [0, 1] to their Haar coefficients.

    Row ``2^j + k`` holds the values of ``psi_jk`` on the bins: ``2^(j/2)`` on the left half of
    cell k of ``2^j``, ``-2^(j/2)`` on its right half and 0 elsewhere; row 0 is the constant 1.
    So the product is the coefficient ``a_jk = E psi_jk(X)`` of a distribution, the adjoint's is
    the expansion ``1 + sum a_jk psi_jk`` on the bins, a density; one undoes the other times the
    number of bins. O(size) per product.

    Parameters
    ----------
    size : int
        Bins: a power of two, ``2^(J + 1)`` for the levels 0..J.

    Notes
    -----
    Source: Zhao et al. 2026, equations 2-15 (the system) and 36-38 (expansion and CDF). Differs:
    the constant is a coefficient as well, which makes the operator square and invertible; halves
    are half-open, so that no value lies in two.
    """

    def __init__(self, size: int) -> None:
        if not is_power_of_two(size):
            raise ValueError(f"a Haar system needs a power of two bins, got {size}")
        super().__init__((size, size))
        self.size = size

    def _matmat(self, x: Vector) -> Vector:
        coefficients = np.empty(x.shape)
        sums = np.asarray(x, dtype=np.float64)
        while sums.shape[0] > 1:
            left, right = sums[0::2], sums[1::2]
            cells = left.shape[0]
            coefficients[cells : 2 * cells] = np.sqrt(cells) * (left - right)
            sums = left + right
        coefficients[0] = sums[0]
        return coefficients

    def _rmatmat(self, r: Vector) -> Vector:
        density = np.asarray(r[:1], dtype=np.float64)
        while density.shape[0] < self.size:
            cells = density.shape[0]
            step = np.sqrt(cells) * r[cells : 2 * cells]
            density = np.stack([density + step, density - step], axis=1).reshape(-1, *r.shape[1:])
        return density

    def masses(self, coefficients: Vector) -> Vector:
        """Return the masses with these coefficients: the inverse, float64 [size]."""
        return self._rmatmat(coefficients) / self.size
