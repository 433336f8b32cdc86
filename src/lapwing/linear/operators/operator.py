"""The base of all operators, with an answer to every question that costs O(rows * columns).

A matrix that knows better overrides the answer. Nobody asks of what class an operator is. Here are
also the operators that are made of others: stacked, weighted to an information matrix, on coarser
or finer bins, and whitened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.projections import grouped_simplex, simplex

_CHUNK = 256
"""Columns of a matrix without structure that are looked at together."""

Numbers = TypeVar("Numbers", Vector, Whole)
"""People as shares or as whole numbers."""


@dataclass(frozen=True, eq=False)
class GroupedGram:
    """A matrix of inner products ``A' A = own I + shared G + c J``, known but for the constant c.

    Entry (u, v) of G is 1 where u and v are of one group. J is all ones. On distributions, whose
    total is known, J says nothing.

    own: Greater than 0.
    shared: Greater than minus `own`, divided by the columns of the largest group.
    group: int64 [columns], from 0.
    """

    own: float
    shared: float
    group: Whole

    def nearest(self, product: Vector) -> Vector:
        """Return the distribution x that minimizes ``|A x - y|``, from ``A' y``: float64 [columns].

        Without `shared` it is Norm-Sub. O(columns log columns).
        """
        point = product / self.own
        if not self.shared:
            return simplex(point)
        return grouped_simplex(point, self.group, shared=self.shared / self.own)


class Operator(LinearOperator):  # type: ignore[misc]  # SciPy has no stubs
    """A real matrix that is known by its products. Shape [rows, columns].

    A subclass defines ``_matmat`` and ``_rmatmat``, which take arrays of one and of two dimensions,
    or ``_matvec`` and ``_rmatvec``. It defines both pairs if vectors have a faster way.

    shape: Rows and columns.
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
        """The operator on the cells that it tells apart. Itself where those are the columns."""
        return self

    def cell_totals(self, entries: Numbers) -> Numbers:
        """Return the sums of one number per column over the cells of :attr:`on_cells`."""
        return entries

    @property
    def compound(self) -> tuple[float, float] | None:
        """The value on the diagonal and the one everywhere else, or None for other matrices."""
        return None

    @property
    def grouped_gram(self) -> GroupedGram | None:
        """``A' A`` where it has three values: of a column, its group, all others. Or None."""
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

        weights: float64 [rows].
        lags: At least 1. Entries that would leave the matrix are zero.

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

    def gram(self) -> Matrix:
        """Return ``A' A``: float64 [columns, columns].

        O(rows * columns^2) here. :class:`SquareRootSums` answers in O(columns^2).
        """
        matrix = dense(self)
        product: Matrix = matrix.T @ matrix
        return product

    def near_diagonal(self, lags: int) -> Matrix:
        """Return the entries (i, i + lag) of a square matrix: float64 [lags, size].

        lags: At least 1. The first row is the diagonal, and entries that would leave the matrix are
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

        people: int64 [columns]: how many try their luck with each column, at every row on its own.
        """
        counts = np.zeros(self.shape[0], dtype=np.int64)
        columns = self.matmat(np.eye(self.shape[1])).T
        for number, column in zip(people, columns, strict=True):
            counts += rng.binomial(number, np.clip(column, 0, 1))
        return counts

    def separate_shares(self, rates: Vector, reports: int) -> tuple[Vector, Vector, float] | None:
        """Return the unbiased share of every column on its own, where rows allow that, else None.

        rates: float64 [rows]: counts per report.
        reports: At least 1.
        returns: The shares, the variances that they have where nobody is, both float64 [columns],
            and what a share of one adds to a variance.
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


class Stacked(Operator):
    """The rows of several operators with as many columns, in order.

    operators: At least one. All with the same number of columns.
    """

    def __init__(self, operators: Sequence[LinearOperator]) -> None:
        columns = {operator.shape[1] for operator in operators}
        if len(columns) != 1:
            raise ValueError(f"stacked operators need equal numbers of columns, got {columns}")
        rows = [operator.shape[0] for operator in operators]
        super().__init__((sum(rows), columns.pop()))
        self.operators = tuple(map(as_operator, operators))
        self._starts = np.cumsum([0, *rows])

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([operator.matvec(x.ravel()) for operator in self.operators])

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([operator.matmat(x) for operator in self.operators])

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        r = r.ravel()
        product = np.zeros(self.shape[1])
        for operator, start in zip(self.operators, self._starts, strict=False):
            product += operator.rmatvec(r[start : start + operator.shape[0]])
        return product

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        product = np.zeros((self.shape[1], r.shape[1]))
        for operator, start in zip(self.operators, self._starts, strict=False):
            product += operator.rmatmat(r[start : start + operator.shape[0]])
        return product

    def gram(self) -> Matrix:
        """Return ``A' A``, the sum of those of the operators: float64 [columns, columns]."""
        first, *others = self.operators
        product = first.gram()
        for operator in others:
            product += operator.gram()
        return product


class BlockDiagonal(Operator):
    """One matrix, as often as it is asked, along the diagonal. Shape [times rows, times columns].

    times: At least 1.
    """

    def __init__(self, block: LinearOperator, *, times: int) -> None:
        self.block = as_operator(block)
        self.times = times
        rows, columns = self.block.shape
        super().__init__((times * rows, times * columns))

    def _each(self, x: Matrix, product: Callable[[Matrix], Matrix]) -> Matrix:
        """Return the product of every block, computed at once: a block is a column."""
        wide = x.reshape(self.times, x.shape[0] // self.times, -1).transpose(1, 0, 2)
        found = product(wide.reshape(wide.shape[0], -1)).reshape(-1, *wide.shape[1:])
        return found.transpose(1, 0, 2).reshape(-1, *x.shape[1:])

    def _matmat(self, x: Matrix) -> Matrix:
        return self._each(x, self.block.matmat)

    def _rmatmat(self, y: Matrix) -> Matrix:
        return self._each(y, self.block.rmatmat)


def dense(operator: LinearOperator) -> NDArray[np.float64]:
    """Return an operator as a matrix: float64 [rows, columns].

    One product with the identity, so O(rows * columns) for the operators of this package.
    """
    matrix: NDArray[np.float64] = operator.matmat(np.eye(operator.shape[1]))
    return matrix


class WeightedInformation(SymmetricOperator):
    """The symmetric matrix ``M' diag(weights) M`` of an operator M.

    operator: Shape [outputs, size].
    weights: float64 [outputs], not negative.
    """

    def __init__(self, operator: LinearOperator, weights: Vector) -> None:
        size = operator.shape[1]
        super().__init__((size, size))
        self.operator = as_operator(operator)
        self.weights = weights

    def _matvec(self, x: Vector) -> Vector:
        return self.operator.rmatvec(self.weights * self.operator.matvec(x.ravel()))

    def _matmat(self, x: Vector) -> Vector:
        return self.operator.rmatmat(self.weights[:, None] * self.operator.matmat(x))

    def near_diagonal(self, lags: int) -> Matrix:
        """Return the entries (i, i + lag): float64 [lags, size], zeros where they would leave."""
        return self.operator.weighted_gram(self.weights, lags)

    def diagonal(self) -> Vector:
        """Return the diagonal: float64 [size]."""
        diagonal: Vector = self.near_diagonal(1)[0]
        return diagonal


def cell_of(size: int, cells: int) -> NDArray[np.int64]:
    """Return the cell of every symbol: int64 [size], ``symbol * cells // size``."""
    return np.arange(size, dtype=np.int64) * cells // size


class Coarsened(Operator):
    """An operator on cells, applied to symbols: people are in the cell that holds their symbol.

    Shape ``[inner rows, size]``. One addition per symbol on top of the inner product.

    inner: Its columns are the cells.
    size: Symbols, at least as many as cells.
    starts: First symbol of each cell, increasing from 0, kept as `asked_starts`. Default: cells
        that differ by at most one symbol.
    """

    def __init__(
        self, inner: LinearOperator, *, size: int, starts: Sequence[int] | None = None
    ) -> None:
        rows, cells = inner.shape
        super().__init__((rows, size))
        self.inner = as_operator(inner)
        self.asked_starts = () if starts is None else tuple(starts)
        if starts is None:
            self.cell = cell_of(size, cells)
            self._starts = np.searchsorted(self.cell, np.arange(cells))
        else:
            self._starts = np.array(starts, dtype=np.intp)
            self.cell = np.repeat(np.arange(cells), np.diff(self._starts, append=size))

    @property
    def on_cells(self) -> Operator:
        """The operator on cells: a report depends on the cell alone."""
        return self.inner

    def cell_totals(self, entries: Numbers) -> Numbers:
        """Return the sums over cells: [cells]."""
        sums: Numbers = np.add.reduceat(entries, self._starts)
        return sums

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.matmat(np.add.reduceat(x, self._starts, axis=0))

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.rmatmat(r)[self.cell]

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner._matvec(np.add.reduceat(x.reshape(-1), self._starts))

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner._rmatvec(r.reshape(-1))[self.cell]

    def weighted_gram(self, weights: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
        """Return the entries (i, i + lag) of ``M' diag(weights) M``: float64 [lags, size].

        Those of the inner operator, read at the cells of the two symbols.
        """
        size = self.cell.size
        reach = min(lags - 1, size - 1)
        apart = int((self.cell[reach:] - self.cell[: size - reach]).max()) + 1
        inner = self.inner.weighted_gram(weights, apart)
        bands = np.zeros((lags, size))
        for lag in range(reach + 1):
            first, second = self.cell[: size - lag], self.cell[lag:]
            bands[lag, : size - lag] = inner[second - first, first]
        return bands


class OwnColumns(Operator):
    """An operator on cells, applied to symbols: a few symbols are cells, all others the last cell.

    Shape ``[inner rows, size]``. One addition per symbol on top of the inner product.

    inner: Its columns are the cells.
    size: Symbols, at least as many as cells.
    own: Symbols with a cell of their own, increasing, one fewer than there are cells.
    """

    def __init__(self, inner: LinearOperator, *, size: int, own: Sequence[int]) -> None:
        rows, cells = inner.shape
        super().__init__((rows, size))
        self.inner = as_operator(inner)
        self.own = np.array(own, dtype=np.intp)
        self.cell = np.full(size, cells - 1)
        self.cell[self.own] = np.arange(cells - 1)

    @property
    def on_cells(self) -> Operator:
        """The operator on cells: a report depends on the cell alone."""
        return self.inner

    def cell_totals(self, entries: Numbers) -> Numbers:
        """Return the sums over cells: [cells], or [cells, columns]."""
        own = entries[self.own]
        sums: Numbers = np.concatenate([own, (entries.sum(axis=0) - own.sum(axis=0))[None]])
        return sums

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.inner.matmat(self.cell_totals(x))
        return product

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        read: NDArray[np.float64] = self.inner.rmatmat(r)[self.cell]
        return read

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.inner._matvec(self.cell_totals(x.reshape(-1)))
        return product

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        read: NDArray[np.float64] = self.inner._rmatvec(r.reshape(-1))[self.cell]
        return read


class Repeated(Operator):
    """Entry (j, i) is ``1 / times`` when ``j // times == i``. Shape ``[size * times, size]``.

    size: Bins.
    times: Points of the fine grid in a bin.
    """

    def __init__(self, size: int, *, times: int) -> None:
        super().__init__((size * times, size))
        self.size = size
        self.times = times

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.repeat(x / self.times, self.times, axis=0)

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = r.reshape(self.size, self.times, *r.shape[1:]).mean(axis=1)
        return means


class Whitened(Operator):
    """``diag(scale) (M - center 1')``: rows divided by their noise, less a constant column.

    For masses that sum to one the center changes nothing but the right-hand side, and columns that
    share most of their entries become nearly orthogonal.

    operators: Stacked to M, [rows, columns].
    center: float64 [rows].
    scale: float64 [rows], positive: one over the standard deviation of the row's noise.
    """

    def __init__(
        self, operators: Sequence[LinearOperator], *, center: Vector, scale: Vector
    ) -> None:
        self.stacked = Stacked(operators)
        super().__init__(self.stacked.shape)
        self.center = center
        self.scale = scale

    def _matvec(self, x: Vector) -> Vector:
        x = np.asarray(x, dtype=np.float64).reshape(-1)
        product: Vector = self.scale * (self.stacked.matvec(x) - self.center * x.sum())
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        scaled = self.scale * np.asarray(r, dtype=np.float64).reshape(-1)
        return self.stacked.rmatvec(scaled) - float(self.center @ scaled)

    def column(self, number: int) -> Vector:
        """Return one column: float64 [rows]. Without a product where operators know theirs."""
        parts = [operator.column(number) for operator in self.stacked.operators]
        return self.scale * (np.concatenate(parts) - self.center)

    def norms(self) -> Vector:
        """Return the lengths of all columns: float64 [columns].

        One product with the matrix of the squared entries of each operator.
        """
        weights = self.scale**2
        squares = -2 * self.stacked.rmatvec(weights * self.center)
        squares += float(weights @ self.center**2)
        start = 0
        for operator in self.stacked.operators:
            stop = start + operator.shape[0]
            squares += operator.squared_entries().rmatvec(weights[start:stop])
            start = stop
        return np.sqrt(np.maximum(squares, 0.0))


class CompoundSymmetric(SymmetricOperator):
    """``(diagonal - off_diagonal) I + off_diagonal J`` with J all ones. O(size) per product.

    The mean of a generalized randomized response or of a unary encoding. It is circulant, and
    its inverse is of the same kind.

    size: Rows and columns, at least 1.
    """

    def __init__(self, size: int, *, diagonal: float, off_diagonal: float) -> None:
        super().__init__((size, size))
        self.size = size
        self.diagonal = diagonal
        self.off_diagonal = off_diagonal

    @property
    def compound(self) -> tuple[float, float]:
        """The two values."""
        return self.diagonal, self.off_diagonal

    @property
    def grouped_gram(self) -> GroupedGram | None:
        """Columns have equal lengths, and equal products."""
        own = (self.diagonal - self.off_diagonal) ** 2
        return GroupedGram(own, 0.0, np.zeros(self.size, dtype=np.int64)) if own else None

    @property
    def kernel(self) -> Vector:
        """First column, which determines a circulant matrix: float64 [size]."""
        kernel = np.full(self.size, self.off_diagonal)
        kernel[0] = self.diagonal
        return kernel

    def _matmat(self, x: Vector) -> Vector:
        gap = self.diagonal - self.off_diagonal
        product: Vector = gap * x + self.off_diagonal * x.sum(axis=0)
        return product

    def inverse(self) -> CompoundSymmetric:
        """Return the inverse matrix.

        Raises ZeroDivisionError when the matrix is singular: the two values agree, or the rows sum
        to zero.

        ``(a I + b J)^-1 = I / a - b / (a (a + size b)) J``.
        """
        gap = self.diagonal - self.off_diagonal
        row = gap + self.size * self.off_diagonal
        off = -self.off_diagonal / (gap * row)
        return CompoundSymmetric(self.size, diagonal=1 / gap + off, off_diagonal=off)

    def squared_entries(self) -> CompoundSymmetric:
        """Return the matrix of squared entries."""
        return CompoundSymmetric(
            self.size, diagonal=self.diagonal**2, off_diagonal=self.off_diagonal**2
        )

    def weighted_gram(self, weights: Vector, lags: int) -> Vector:
        """Return the entries (i, i + lag) of ``M diag(weights) M``: float64 [lags, size]."""
        gap, off = self.diagonal - self.off_diagonal, self.off_diagonal
        total = weights.sum()
        bands = np.zeros((lags, self.size))
        bands[0] = gap * (gap + 2 * off) * weights + off**2 * total
        for lag in range(1, min(lags, self.size)):
            pairs = weights[:-lag] + weights[lag:]
            bands[lag, :-lag] = gap * off * pairs + off**2 * total
        return bands

    def congruence(
        self, diagonal: Vector, factor: Matrix, signs: Vector
    ) -> tuple[Vector, Matrix, Vector]:
        """Return ``A (diag(diagonal) + factor diag(signs) factor') A'`` in the same three parts.

        ``(a I + b J) D (a I + b J) = a^2 D + a b (d 1' + 1 d') + b^2 sum(d) 1 1'``, and
        ``d 1' + 1 d' = ((d + 1)(d + 1)' - (d - 1)(d - 1)') / 2``. O(size * rank).
        """
        a, b = self.diagonal - self.off_diagonal, self.off_diagonal
        scale = max(float(np.abs(diagonal).max()), 1e-300)
        d = diagonal / scale
        ones = np.ones(self.size)
        weights = [a * b * scale / 2, -a * b * scale / 2, b * b * diagonal.sum()]
        return (
            a * a * diagonal,
            np.column_stack([self.matmat(factor), d + ones, d - ones, ones]),
            np.concatenate([signs, weights]),
        )

    def bits(self, people: Whole, rng: np.random.Generator) -> Whole:
        """Return how often each row happens when its entries are chances: two draws a row."""
        drawn: Whole = rng.binomial(people, self.diagonal)
        drawn += rng.binomial(people.sum() - people, self.off_diagonal)
        return drawn

    def separate_shares(self, rates: Vector, reports: int) -> tuple[Vector, Vector, float]:
        """Return the unbiased shares, their variances where nobody is, and the slope of those.

        A row is a coin with probability p for its own category and q for others. So the variance of
        a share f is ``(q (1 - q) + f (p (1 - p) - q (1 - q))) / (n (p - q)^2)``.
        """
        p, q = self.compound
        gap = p - q
        empty = np.full(rates.size, q * (1 - q) / (reports * gap * gap))
        return (rates - q) / gap, empty, (1 - p - q) / (reports * gap)


class PairSymmetric(SymmetricOperator):
    """Entry (s, t) is `own` for s = t, `opposite` for the two of one pair, else `other`.

    Symbols ``2k`` and ``2k + 1`` are a pair. The matrix is symmetric. O(pairs) per product.

    pairs: At least 1. The matrix has twice as many rows and columns.
    """

    def __init__(self, pairs: int, *, own: float, opposite: float, other: float) -> None:
        super().__init__((2 * pairs, 2 * pairs))
        self.pairs = pairs
        self.own = own
        self.opposite = opposite
        self.other = other

    def _matmat(self, x: Vector) -> Vector:
        paired = x.reshape(self.pairs, 2, -1)
        product = (self.own - self.other) * paired
        product += (self.opposite - self.other) * paired[:, ::-1]
        product += self.other * paired.sum(axis=(0, 1))
        return product.reshape(x.shape)
