"""Unbiased prefix sums from a linear release, and the exact covariance of their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing.channel import Channel
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.square_root_sums import UNIT, SquareRootSums
from lapwing.linear.stacked import dense
from lapwing.noise_law import AdditiveNoise
from lapwing.releases import Release

Vector = NDArray[np.float64]

DENSE = 2048
"""Most symbols of a release whose strategy is inverted as a matrix."""


class PrefixRoot(LinearOperator):  # type: ignore[misc]
    """From unit noise in the answers of the square-root strategy to noise in the prefix sums."""

    def __init__(self, strategy: SquareRootSums) -> None:
        super().__init__(np.dtype(np.float64), strategy.shape)
        self._strategy = strategy

    # Prefix sums times the inverse of the root is the root again, up to the rounding of its
    # entries to 2^-20.
    def _matmat(self, x: Vector) -> Vector:
        return self._strategy.matmat(x) / UNIT**2  # type: ignore[no-any-return]

    def _matvec(self, x: Vector) -> Vector:
        return self._strategy.matvec(x) / UNIT**2  # type: ignore[no-any-return]

    def _rmatmat(self, y: Vector) -> Vector:
        return self._strategy.rmatmat(y) / UNIT**2  # type: ignore[no-any-return]

    def _rmatvec(self, y: Vector) -> Vector:
        return self._strategy.rmatvec(y) / UNIT**2  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class PrefixEstimate:
    """Prefix sums with normal errors of covariance ``variance (root root' - removed removed')``.

    Parameters
    ----------
    sums : numpy.ndarray
        float64 [symbols], in people.
    root : LinearOperator
        Shape [symbols, answers].
    variance : float
        Of the noise in each answer.
    removed : numpy.ndarray
        float64 [symbols, conditions]: what known values have taken out.
    key : tuple or None
        Equal for estimates of equal root and removed columns, so that what follows from them can
        be kept; None where that is not known.
    """

    sums: Vector
    root: LinearOperator
    variance: float
    removed: Vector
    key: tuple[str | int, ...] | None = None

    def column(self, index: int) -> Vector:
        """Return one column of the covariance, in units of `variance`: float64 [symbols]."""
        unit = np.zeros(self.sums.size)
        unit[index] = 1.0
        column: Vector = self.root.matvec(self.root.rmatvec(unit))
        column -= self.removed @ self.removed[index]
        return column

    def given(self, index: int, value: float) -> PrefixEstimate:
        """Return the estimate when one prefix sum is known."""
        column = self.column(index)
        sums: Vector = self.sums - (self.sums[index] - value) * column / column[index]
        sums[index] = value
        taken = (column / np.sqrt(column[index]))[:, None]
        key = None if self.key is None else (*self.key, index % sums.size)
        removed = np.hstack([self.removed, taken])
        return PrefixEstimate(sums, self.root, self.variance, removed, key)

    def deviation(self, index: int) -> float:
        """Return the standard deviation of one prefix sum."""
        return float(np.sqrt(max(self.variance * self.column(index)[index], 0.0)))


def prefix_estimate(channel: Channel, release: Release) -> PrefixEstimate:
    """Return the unbiased prefix sums of a release, before anything else is known.

    Raises
    ------
    UnsupportedChannelError
        When the channel is not one linear release, or cannot be inverted.
    """
    channel.check(release)  # type: ignore[arg-type]
    block = channel.blocks[0]
    if len(channel.blocks) != 1 or not isinstance(block.law, AdditiveNoise):
        raise UnsupportedChannelError(
            "prefix sums are read from one linear release with added noise; reports of a local "
            "randomizer are decoded by the spectral prior"
        )
    answers = release.blocks[0].astype(np.float64)
    size = channel.domain.size
    none = np.zeros((size, 0))
    if isinstance(block.operator, SquareRootSums):
        sums = np.cumsum(block.operator.inverse(answers))
        return PrefixEstimate(sums, PrefixRoot(block.operator), block.law.variance, none, (size,))
    if size > DENSE:
        raise UnsupportedChannelError(
            f"this strategy is inverted as a matrix, which is limited to {DENSE} symbols, got "
            f"{size}; use prefix-sums, or fewer bins"
        )
    key = (channel.fingerprint, block.outputs)
    root = _roots.get(key)
    if root is None:
        root = _roots[key] = np.cumsum(_pseudo_inverse(block.operator), axis=0)
        while len(_roots) > _MOST_ROOTS:
            _roots.pop(next(iter(_roots)))
    return PrefixEstimate(root @ answers, aslinearoperator(root), block.law.variance, none, key)


_roots: dict[tuple[str, int], Vector] = {}
_MOST_ROOTS = 4
"""Inverses kept for further releases of the same mechanism on the same domain."""


def _pseudo_inverse(operator: LinearOperator) -> Vector:
    matrix = dense(operator)
    try:
        factor = cho_factor(matrix.T @ matrix)
    except LinAlgError:
        raise UnsupportedChannelError(
            "this release does not determine every symbol's share; decode at the bins it asked for"
        ) from None
    inverse: Vector = cho_solve(factor, matrix.T)
    return inverse
