"""Many systems with one symmetric matrix, solved together by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lapwing.linear.arrays import Matrix, Whole

System = Callable[[Matrix], Matrix]
"""A symmetric matrix, as what it makes of a stack of amplitudes."""

_DRIFT = 2.0
"""A solution is rounded too much if its residual is so many times what it should be."""


class TooRoundedError(Exception):
    """Single precision does not suffice for a system."""


@dataclass(frozen=True, eq=False)
class KnownBlock:
    """Rows and columns of a matrix that are known, to start from the inverse of this block.

    entries: Their numbers in a flattened table.
    inverse: Inverse of the Cholesky factor of the block.
    """

    entries: Whole
    inverse: Matrix


def _columns(stack: Matrix) -> Matrix:
    """Return each table of a stack as a column."""
    return stack.reshape(len(stack), -1).T


def solved(
    system: System,
    right: Matrix,
    diagonal: Matrix,
    *,
    tolerance: float,
    most: int,
    block: KnownBlock | None = None,
) -> Matrix:
    """Return the solutions of a stack of right-hand sides, by at most so many rounds.

    diagonal: About that of the matrix. It decides how fast the iteration is, as `block` does.

    Raises TooRoundedError when solutions in single precision are not what the iteration takes them
    to be.

    Block conjugate gradients with orthonormal residuals [1]_: all right-hand sides share their
    search directions, so they need fewer rounds. The iteration starts from zero, because a first
    guess by the diagonal can be so far off that its rounding stays.

    .. [1] A. A. Dubrulle, "Retooling the method of block conjugate gradients", Electronic
       Transactions on Numerical Analysis 12, 2001.
    """
    root = np.sqrt(diagonal)

    def divided(stack: Matrix, *, transposed: bool = False) -> Matrix:
        """Return a stack over the root of the matrix, about."""
        quotient = stack / root
        if block is not None:
            flat, inner = quotient.reshape(len(stack), -1), stack.reshape(len(stack), -1)
            inverse = block.inverse if transposed else block.inverse.T
            flat[:, block.entries] = inner[:, block.entries] @ inverse
        return quotient

    def scaled(vectors: Matrix) -> Matrix:
        return divided(system(divided(vectors.T.reshape(-1, *root.shape), transposed=True)))

    basis, rest = np.linalg.qr(_columns(divided(right)))
    goal = tolerance * np.linalg.norm(rest, axis=0)
    steps, found = basis, np.zeros((basis.shape[0], len(right)), dtype=right.dtype)
    for _ in range(most):
        if (np.linalg.norm(rest, axis=0) <= goal).all():
            break
        image = _columns(scaled(steps))
        try:
            curvature = np.linalg.inv(steps.T @ image)
        except np.linalg.LinAlgError:
            break  # no direction is left: what is found is checked below
        found += steps @ (curvature @ rest)
        basis, turned = np.linalg.qr(basis - image @ curvature)
        steps, rest = basis + steps @ turned.T, turned @ rest
    solution = divided(found.T.reshape(right.shape), transposed=True)
    product = (rest**2).sum(axis=0)
    if right.dtype == np.float32:
        residual = right - system(solution)
        drifted = (divided(residual) ** 2).sum(axis=(1, 2))
        if not (drifted <= _DRIFT**2 * np.maximum(product, goal**2)).all():
            raise TooRoundedError
    return solution
