"""The one base of all operators, with an answer to every question that costs O(rows * columns).

A matrix that knows better overrides the answer; nobody asks of what class an operator is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing.linear.arrays import Matrix, Vector, Whole

_CHUNK = 256
"""Columns of a matrix without structure that are looked at together."""

Numbers = TypeVar("Numbers", Vector, Whole)
"""People as shares or as whole numbers."""


class Operator(LinearOperator):  # type: ignore[misc]  # SciPy has no stubs
    """A real matrix that is known by its products; shape [rows, columns].

    A class writes ``_matmat`` and ``_rmatmat`` for arrays of one and of two dimensions, or
    ``_matvec`` and ``_rmatvec``, or both where vectors have a faster way.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    """

    shape: tuple[int, int]

    if TYPE_CHECKING:

        def matvec(self, x: NDArray[Any]) -> Vector:
            """Return ``A x``."""

        def rmatvec(self, x: NDArray[Any]) -> Vector:
            """Return ``A' x``."""

        def matmat(self, X: NDArray[Any]) -> Matrix:
            """Return ``A X``."""

        def rmatmat(self, X: NDArray[Any]) -> Matrix:
            """Return ``A' X``."""

    def __init__(self, shape: tuple[int, int]) -> None:
        super().__init__(np.dtype(np.float64), shape)

    def _matvec(self, x: Vector) -> Vector:
        product: Vector = self._matmat(x.reshape(-1))
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        product: Vector = self._rmatmat(r.reshape(-1))
        return product

    @property
    def on_cells(self) -> Operator:
        """The operator on the cells that it tells apart; itself where those are the columns."""
        return self

    def cell_totals(self, entries: Numbers) -> Numbers:
        """Return the sums of one number per column over the cells of :attr:`on_cells`."""
        return entries

    @property
    def compound(self) -> tuple[float, float] | None:
        """The value on the diagonal and the one everywhere else, or None for other matrices."""
        return None

    @property
    def kernel(self) -> Vector | None:
        """First column of a circulant matrix, or None for other matrices."""
        return None

    def column(self, number: int) -> Vector:
        """Return one column: float64 [rows]."""
        unit = np.zeros(self.shape[1])
        unit[number] = 1.0
        return self.matvec(unit)

    def squared_entries(self) -> Operator:
        """Return the matrix of squared entries."""
        return _Squared(self)

    def squared_row_sums(self) -> Vector:
        """Return the sum of the squared entries of each row: float64 [rows]."""
        sums: Vector = (self.matmat(np.eye(self.shape[1])) ** 2).sum(axis=1)
        return sums

    def weighted_gram(self, weights: Vector, lags: int) -> Matrix:
        """Return the entries (i, i + lag) of ``A' diag(weights) A``: float64 [lags, columns].

        Parameters
        ----------
        weights : numpy.ndarray
            float64 [rows].
        lags : int
            At least 1; entries that would leave the matrix are zero.

        Notes
        -----
        Here the matrix is made a few columns at a time, O(lags rows columns). Windows, circulant
        and compound-symmetric matrices and their coarsenings answer in O(lags (rows + columns)),
        sliding tables with a logarithm more.
        """
        size = self.shape[1]
        bands = np.zeros((lags, size))
        for start in range(0, size, _CHUNK):
            columns = self.matmat(_unit_columns(size, start, _CHUNK + lags - 1))
            first = weights[:, None] * columns[:, :_CHUNK]
            for lag in range(min(lags, columns.shape[1])):
                other = columns[:, lag : lag + first.shape[1]]
                width = other.shape[1]
                bands[lag, start : start + width] = (first[:, :width] * other).sum(axis=0)
        return bands

    def near_diagonal(self, lags: int) -> Matrix:
        """Return the entries (i, i + lag) of a square matrix: float64 [lags, size].

        Parameters
        ----------
        lags : int
            At least 1; the first row is the diagonal, and entries that would leave the matrix are
            zero.
        """
        size = self.shape[1]
        bands = np.zeros((lags, size))
        for start in range(0, size, _CHUNK):
            # Column k holds the entries (k - lag, k).
            columns = self.matmat(_unit_columns(size, start, _CHUNK))
            place = np.arange(start, start + columns.shape[1])
            for lag in range(min(lags, size)):
                inside = place >= lag
                found = columns[place[inside] - lag, place[inside] - start]
                bands[lag, place[inside] - lag] = found
        return bands

    def congruence(
        self, diagonal: Vector, factor: Matrix, signs: Vector
    ) -> tuple[Vector, Matrix, Vector]:
        """Return ``A (diag(diagonal) + factor diag(signs) factor') A'`` in the same three parts.

        O(rows * columns^2) here, because the diagonal turns into a full factor.
        """
        spread = self.matmat(np.diag(np.sqrt(np.abs(diagonal))))
        return (
            np.zeros(self.shape[0]),
            np.hstack([spread, self.matmat(factor)]),
            np.concatenate([np.sign(diagonal), signs]),
        )

    def bits(self, people: Whole, rng: np.random.Generator) -> Whole:
        """Return how often each row happens when its entries are chances: int64 [rows].

        Parameters
        ----------
        people : numpy.ndarray
            int64 [columns]: how many try their luck with each column, at every row on its own.
        rng : numpy.random.Generator
        """
        counts = np.zeros(self.shape[0], dtype=np.int64)
        columns = self.matmat(np.eye(self.shape[1])).T
        for number, column in zip(people, columns, strict=True):
            counts += rng.binomial(number, np.clip(column, 0, 1))
        return counts

    def separate_shares(self, rates: Vector, reports: int) -> tuple[Vector, Vector, float] | None:
        """Return the unbiased share of every column by itself, where rows allow that, else None.

        Parameters
        ----------
        rates : numpy.ndarray
            float64 [rows]: counts per report.
        reports : int
            At least 1.

        Returns
        -------
        tuple
            The shares, the variances that they have where nobody is, both float64 [columns], and
            what a share of one adds to a variance.
        """
        return None


class SymmetricOperator(Operator):
    """A symmetric matrix: it writes one product."""

    def _rmatvec(self, r: Vector) -> Vector:
        return self._matvec(r)

    def _rmatmat(self, r: Matrix) -> Matrix:
        product: Matrix = self._matmat(r)
        return product

    def _adjoint(self) -> Any:
        return self


def as_operator(matrix: LinearOperator | Matrix) -> Operator:
    """Return any linear operator of SciPy, or an array, as one of this package."""
    return matrix if isinstance(matrix, Operator) else _Given(aslinearoperator(matrix))


class _Given(Operator):
    """Somebody else's operator."""

    def __init__(self, inner: LinearOperator) -> None:
        super().__init__(inner.shape)
        self._inner = inner

    # The products behind the checks: those were made at this operator's own door.
    def _matvec(self, x: Vector) -> Vector:
        product: Vector = self._inner._matvec(x)
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        product: Vector = self._inner._rmatvec(r)
        return product

    def _matmat(self, x: Matrix) -> Matrix:
        product: Matrix = self._inner._matmat(x)
        return product

    def _rmatmat(self, r: Matrix) -> Matrix:
        product: Matrix = self._inner._rmatmat(r)
        return product


class _Squared(Operator):
    """The squared entries of a matrix without structure."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator.shape)
        self._operator = operator

    def _matmat(self, x: Matrix) -> Matrix:
        return self._operator.matmat(np.eye(self.shape[1])) ** 2 @ x

    def _rmatvec(self, r: Vector) -> Vector:
        # A few columns at a time.
        product: Vector = self._operator.weighted_gram(r.reshape(-1), 1)[0]
        return product


def _unit_columns(size: int, start: int, number: int) -> Matrix:
    """Return columns start, start + 1, ... of the identity, as far as there are any."""
    return np.eye(size, min(number, size - start), -start)
