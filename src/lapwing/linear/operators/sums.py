"""Sums as operators: of neighbors, of prefixes and their square root, over trees, and Haar's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.memoized import cached_property, memoized
from lapwing.linear.operators.hadamard import is_power_of_two
from lapwing.linear.operators.operator import Operator, Stacked, as_operator


class CellSums(Operator):
    """Entry (c, i) is 1 when entry i lies in cell c, else 0. Shape [cells, size].

    starts: First entry of every cell, increasing from 0.
    size: Entries.
    """

    def __init__(self, starts: Sequence[int], size: int) -> None:
        self.starts = np.array(starts, dtype=np.int64)
        self.lengths = np.diff(self.starts, append=size)
        if self.starts[0] != 0 or self.lengths.min() < 1:
            raise ValueError("the starts of cells must increase from 0 and lie below the size")
        super().__init__((len(starts), size))

    @property
    def sparse(self) -> csr_matrix:
        """The matrix, which has one entry in each column."""
        size = self.shape[1]
        return csr_matrix((np.ones(size), np.arange(size), np.append(self.starts, size)))

    def _matmat(self, x: Vector) -> Vector:
        return np.add.reduceat(x, self.starts, axis=0)

    def _rmatmat(self, y: Vector) -> Vector:
        return np.repeat(y, self.lengths, axis=0)


class PrefixCounts(Operator):
    """Entry (r, i) is 1 when i lies before place r, else 0. Shape [places, size].

    places: Each in 0..size, in any order.
    """

    def __init__(self, places: Sequence[int], size: int) -> None:
        self.places = np.array(places, dtype=np.int64)
        if self.places.size == 0 or self.places.min() < 0 or self.places.max() > size:
            raise ValueError("places must lie in 0..size, at least one of them")
        super().__init__((self.places.size, size))

    def _matmat(self, x: Vector) -> Vector:
        sums = np.concatenate([np.zeros((1, *x.shape[1:])), np.cumsum(x, axis=0)])
        return sums[self.places]

    def _rmatmat(self, y: Vector) -> Vector:
        added = np.zeros((self.shape[1] + 1, *y.shape[1:]))
        np.add.at(added, self.places, y)
        return np.cumsum(added[::-1], axis=0)[::-1][1:]


UNIT = 2**20
"""Entries are whole multiples of 1 / UNIT: the rounded matrix is the strategy, exactly."""


@memoized(most=8)
def coefficients(size: int) -> NDArray[np.int64]:
    """Return ``UNIT * f_k``, rounded: int64 [size]. ``f_0 = 1, f_k = f_(k-1) (2 k - 1) / (2 k)``.

    The power series of ``(1 - x)^(-1/2)``, whose square is ``1 + x + x^2 + ...``.
    """
    k = np.arange(1, size)
    ratios = np.concatenate([[1.0], (2 * k - 1) / (2 * k)])
    rounded: NDArray[np.int64] = np.rint(np.cumprod(ratios) * UNIT).astype(np.int64)
    rounded.flags.writeable = False
    return rounded


class SquareRootSums(Operator):
    """Entry (i, j) is ``UNIT f_(i - j)`` for i >= j, else 0. Up to rounding, a root of prefix sums.

    ``A (A x) / UNIT^2`` is the cumulative sum of x, but for the rounding of its entries. Shape
    [size, size]. Products by FFT, O(size log size).
    """

    def __init__(self, size: int) -> None:
        super().__init__((size, size))
        self.size = size

    @cached_property
    def _spectrum(self) -> NDArray[np.complex128]:
        return np.fft.rfft(coefficients(self.size).astype(np.float64), self._length)

    @cached_property
    def _length(self) -> int:
        """Least length of a fast transform that leaves room for a product of two columns."""
        from scipy.fft import next_fast_len  # slow to import

        return int(next_fast_len(2 * self.size, real=True))

    def _times(self, spectrum: NDArray[np.complex128], x: Matrix) -> Matrix:
        """Return the product with the lower triangular Toeplitz matrix of this spectrum."""
        from scipy.fft import irfft, rfft

        columns = rfft(x, self._length, axis=0)
        columns *= spectrum.reshape(-1, *([1] * (x.ndim - 1)))
        product: Matrix = irfft(columns, self._length, axis=0, overwrite_x=True)[: self.size]
        return product

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._times(self._spectrum, x)

    def _rmatmat(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._matmat(y[::-1])[::-1]

    def gram(self) -> Matrix:
        """Return ``A' A``: float64 [size, size].

        Two columns one place further to the left have one more product in their sum. So an entry
        is that to its right and below, plus a product. O(size^2).
        """
        backwards = coefficients(self.size)[::-1].astype(np.float64)
        product = np.outer(backwards, backwards)
        for row, above in pairwise(product[::-1]):
            above[:-1] += row[1:]
        return product

    def inverse(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return x with ``A x = y``: float64 [size] or [size, columns].

        The inverse is a lower-triangular Toeplitz matrix too. Its first column is found once, by
        doubling (Newton's iteration on power series).
        """
        return self._times(self._inverse_spectrum, y)

    @cached_property
    def _inverse_spectrum(self) -> NDArray[np.complex128]:
        column = coefficients(self.size) / UNIT
        inverse = np.array([1.0])
        while inverse.size < self.size:
            length = min(2 * inverse.size, self.size)
            product = _product(column[:length], inverse, length)
            correction = -product
            correction[0] += 2
            inverse = _product(inverse, correction, length)
        return np.fft.rfft(inverse / UNIT, self._length)


def _product(
    first: NDArray[np.float64], second: NDArray[np.float64], length: int
) -> NDArray[np.float64]:
    """Return the first terms of the product of two power series."""
    full = np.fft.irfft(
        np.fft.rfft(first, 2 * length) * np.fft.rfft(second, 2 * length), 2 * length
    )
    return full[:length]


class BlendedSums(Stacked):
    """The square root T of the prefix sums, and rows R below it. Shape [size + rows, size].

    rows: float64 [rows, size], in the units of :class:`SquareRootSums`.
    """

    def __init__(self, rows: Matrix) -> None:
        self.sums = SquareRootSums(rows.shape[1])
        super().__init__([self.sums, as_operator(rows)])
        self.rows = rows

    def _without_sums(self, y: Matrix) -> Matrix:
        """Return ``T'^-1 y``. T' is T read from behind."""
        return self.sums.inverse(y[::-1])[::-1]

    @cached_property
    def _turned(self) -> tuple[Matrix, Matrix]:
        turned = self._without_sums(self.rows.T)
        system = turned.T @ turned
        system[np.diag_indices_from(system)] += 1
        return turned, cho_factor(system, lower=True)[0]

    def normal_solve(self, y: Vector) -> Vector:
        """Return x with ``(T'T + R'R) x = y``: float64 of the shape given.

        With ``Q = T'^-1 R'`` it is ``T^-1 (I - Q (I + Q'Q)^-1 Q') T'^-1``. O(size log size) a
        column.
        """
        turned, factor = self._turned
        inner = self._without_sums(y)
        inner = inner - turned @ cho_solve((factor, True), turned.T @ inner)
        return self.sums.inverse(inner)


class NestedSums(Stacked):
    """The sums of cells at several levels, from wide cells to the single entries.

    levels: Each cell lies within one of the level before. The last level has a cell for each entry.
    """

    def __init__(self, levels: Sequence[CellSums]) -> None:
        super().__init__(levels)
        self._above = tuple(levels[:-1])
        self._levels = self._above[::-1]

    # SciPy's checks of every level would take most of a product's time. The last level is the
    # identity.
    def _matvec(self, x: Vector) -> Vector:
        return self._matmat(x.ravel())

    def _matmat(self, x: Matrix) -> Matrix:
        return np.concatenate([*(cells._matmat(x) for cells in self._above), x])

    def _rmatvec(self, r: Vector) -> Vector:
        return self._rmatmat(r.ravel())

    def _rmatmat(self, r: Matrix) -> Matrix:
        product = np.zeros((self.shape[1], *r.shape[1:]))
        for cells, start in zip(self._above, self._starts, strict=False):
            product += cells._rmatmat(r[start : start + cells.shape[0]])
        product += r[-self.shape[1] :]
        return product

    def gram(self) -> Matrix:
        """Return ``A' A``: of each pair of entries, at how many levels they share a cell."""
        product = np.eye(self.shape[1])
        for cells in self._above:
            for start, length in zip(cells.starts.tolist(), cells.lengths.tolist(), strict=True):
                product[start : start + length, start : start + length] += 1
        return product

    @cached_property
    def removed(self) -> list[tuple[CellSums, Vector, Vector]]:
        """Of each level above the last: its cells, a column u, and a divisor d of each cell.

        ``(A' A)^-1`` is the identity minus ``u u' / d`` of every cell of every level. A cell adds
        ``1 1'`` to a matrix whose inverse is known, and u is that inverse times 1 (Sherman and
        Morrison, 1950).
        """
        found: list[tuple[CellSums, Vector, Vector]] = []
        for cells in self._levels:
            along = self._without(np.ones(self.shape[1]), found)
            found.append((cells, along, 1 + cells.matvec(along)))
        return found

    @staticmethod
    def _without(y: Matrix, removed: Sequence[tuple[CellSums, Vector, Vector]]) -> Matrix:
        wide = (slice(None), *([None] * (y.ndim - 1)))
        found = np.array(y, dtype=np.float64)
        for cells, along, divisor in removed:
            held = cells._matmat(along[wide] * y) / divisor[wide]
            found -= along[wide] * cells._rmatmat(held)
        return found

    def normal_solve(self, y: Matrix) -> Matrix:
        """Return x with ``A' A x = y``: float64 of the shape given. O(size) a level and column."""
        return self._without(y, self.removed)


class NormalRoot(Operator):
    """From unit noise in the answers of a strategy to noise in the prefix sums.

    The prefix sums of ``(M'M)^-1 M'``, M being that matrix. Shape [size, answers].
    """

    def __init__(self, strategy: BlendedSums | NestedSums) -> None:
        super().__init__((strategy.shape[1], strategy.shape[0]))
        self._strategy = strategy

    def _matmat(self, x: Matrix) -> Matrix:
        sums: Matrix = np.cumsum(self._strategy.normal_solve(self._adjoint_of(x)), axis=0)
        return sums

    def _adjoint_of(self, x: Matrix) -> Matrix:
        return self._strategy.rmatvec(x) if x.ndim == 1 else self._strategy.rmatmat(x)

    def _rmatmat(self, y: Matrix) -> Matrix:
        found = self._strategy.normal_solve(np.cumsum(y[::-1], axis=0)[::-1])
        return self._strategy.matvec(found) if y.ndim == 1 else self._strategy.matmat(found)

    def squared_row_sums(self) -> Vector:
        """Return the sum of the squared entries of each row: float64 [rows]."""
        if isinstance(self._strategy, BlendedSums):
            return super().squared_row_sums()
        # The variance of a sum of independent counts, minus what every level above takes off it.
        sums = np.arange(1.0, self.shape[0] + 1)
        for cells, along, divisor in self._strategy.removed:
            whole = cells.matvec(along)
            taken = whole**2 / divisor
            before = np.cumsum(along) - np.repeat(np.cumsum(whole) - whole, cells.lengths)
            sums -= np.repeat(np.cumsum(taken) - taken, cells.lengths)
            sums -= before**2 / np.repeat(divisor, cells.lengths)
        return sums


class CurveAnswers(Operator):
    """A dense matrix of answers, with the curve that they stand for.

    matrix: float64 [answers, symbols].
    curve: float64 [knots, answers]: the projected distribution function at the right ends of the
        present symbols is ``start + curve @ answers / people``.
    start: float64 [knots].
    """

    def __init__(self, matrix: Vector, *, curve: Vector, start: Vector) -> None:
        super().__init__(matrix.shape)
        self.matrix = matrix
        self.curve = curve
        self.start = start

    def _matmat(self, x: Vector) -> Vector:
        return self.matrix @ x

    def _rmatmat(self, y: Vector) -> Vector:
        return self.matrix.T @ y


class TreeSums(Operator):
    """From the leaves of a tree to all its nodes: the root first, then level by level.

    Leaf i lies below node ``i * cells // leaves`` of a level of `cells` nodes, so the nodes of a
    level differ by at most one leaf. Shape [nodes, leaves], O(nodes) per product.

    cells: Nodes of every level, increasing, from the root (1) to the leaves.

    Raises ValueError when they do not increase from 1, or a node would lie across two of the level
    above. They never do while each number but the last divides the next.
    """

    def __init__(self, cells: Sequence[int]) -> None:
        self.cells = tuple(int(number) for number in cells)
        self.leaves = self.cells[-1]
        if self.cells[0] != 1 or any(b <= a for a, b in pairwise(self.cells)):
            raise ValueError(f"the levels of a tree must grow from 1 node, got {self.cells}")
        super().__init__((sum(self.cells), self.leaves))
        ends = np.cumsum(self.cells)
        self._slices = [slice(end - size, end) for end, size in zip(ends, self.cells, strict=True)]
        # The first leaf of node k is the first i with i * cells // leaves = k.
        first = [-(-np.arange(size) * self.leaves // size) for size in self.cells]
        self._children = []
        self._starts = []
        for upper, lower in pairwise(first):
            start = np.searchsorted(lower, upper)
            if not np.array_equal(lower[start], upper):
                raise ValueError(
                    f"every node must lie within one node of the level above, which those of "
                    f"{lower.size} under {upper.size} nodes do not"
                )
            children = np.diff(start, append=lower.size)
            even = children.min() == children.max()
            self._children.append(int(children[0]) if even else children)
            self._starts.append(start)

    def levels(self, nodes: Vector) -> list[Vector]:
        """Return a vector over all nodes as views of its levels, the root first."""
        return [nodes[part] for part in self._slices]

    def gather(self, level: int, values: Vector) -> Vector:
        """Return the sums over the children of each node of a level. Values of the level below."""
        children = self._children[level]
        if isinstance(children, int):
            sums: Vector = np.einsum("ij...->i...", values.reshape(-1, children, *values.shape[1:]))
        else:
            sums = np.add.reduceat(values, self._starts[level], axis=0)
        return sums

    def spread(self, level: int, values: Vector) -> Vector:
        """Return the value of the parent of each node below a level."""
        return np.repeat(values, self._children[level], axis=0)

    def _matmat(self, x: Vector) -> Vector:
        sums = [x]
        for level in reversed(range(len(self._children))):
            sums.append(self.gather(level, sums[-1]))
        return np.concatenate(sums[::-1])

    def _rmatmat(self, r: Vector) -> Vector:
        parts = self.levels(r)
        above = parts[0]
        for level, part in enumerate(parts[1:]):
            above = self.spread(level, above) + part
        return above


class NearestTree:
    """Weighted least squares over trees whose nodes are the sums of their children.

    It is made once for its weights. Each :meth:`of` is one pass up and one down, O(nodes).

    variance: float64 [nodes], positive and finite: of the independent estimate of each node. That
        of the root plays no part, because its value is given.

    Up: the estimate of a node is averaged with the sum of its children, each by the inverse of its
    variance, and passed on. Down: the remainder of a node's final value is split among its children
    by their variances.

    The method is that of [1]_, section 4, there with equal weights and without a given root.

    .. [1] M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the accuracy of differentially private
       histograms through consistency", PVLDB, 2010. doi:10.14778/1920841.1920970
    """

    def __init__(self, tree: TreeSums, variance: Vector) -> None:
        self.tree = tree
        own = tree.levels(variance)
        self._trust: list[Vector] = []
        self._part: list[Vector] = []
        below = own[-1]
        for level in reversed(range(len(own) - 1)):
            sums = tree.gather(level, below)
            self._part.append(below / tree.spread(level, sums))
            # The part of a node's own estimate in the average with the sum of its children.
            self._trust.append(sums / (sums + own[level]))
            below = own[level] * self._trust[-1]
        self._part.reverse()
        self._trust.reverse()

    def of(self, estimate: Vector, *, total: float = 1.0) -> Vector:
        """Return the nearest consistent tree with this root: float64 [nodes]."""
        tree = self.tree
        upward = tree.levels(estimate)
        sums: list[Vector] = [np.empty(0)] * (len(upward) - 1)
        for level in reversed(range(len(sums))):
            sums[level] = tree.gather(level, upward[level + 1])
            upward[level] = sums[level] + self._trust[level] * (upward[level] - sums[level])
        nearest = np.empty_like(estimate)
        downward = tree.levels(nearest)
        downward[0][:] = total
        for level, gathered in enumerate(sums):
            left_over = tree.spread(level, downward[level] - gathered)
            np.multiply(self._part[level], left_over, out=downward[level + 1])
            downward[level + 1] += upward[level + 1]
        return nearest


def haar_level(level: int) -> slice:
    """Return where the ``2^level`` coefficients of a level stand."""
    return slice(2**level, 2 ** (level + 1))


class Haar(Operator):
    """From the masses of equal bins of [0, 1] to their Haar coefficients.

    Row ``2^j + k`` holds the values of ``psi_jk`` on the bins. They are ``2^(j/2)`` on the left
    half of cell k of ``2^j``, ``-2^(j/2)`` on its right half and 0 elsewhere. Row 0 is the constant
    1. So the product is the coefficient ``a_jk = E psi_jk(X)`` of a distribution. The product of
    the adjoint is the expansion ``1 + sum a_jk psi_jk`` on the bins, a density. One undoes the
    other times the number of bins. O(size) per product.

    size: Bins: a power of two, ``2^(J + 1)`` for the levels 0..J.

    The system is that of [1]_, equations 2 to 15, and the expansion and CDF are those of equations
    36 to 38. Here the constant is a coefficient as well, which makes the operator square and
    invertible. Halves are half-open, so that no value lies in two.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent Estimation of
       Numerical Distributions under Local Differential Privacy by Wavelet Expansion", 2026.
       arXiv:2509.19661.
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
