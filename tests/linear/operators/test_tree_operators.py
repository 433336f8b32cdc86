"""Sums over trees, the nearest tree, the Haar system, Hadamard transforms and Norm-Sub."""

import numpy as np
import pytest

from lapwing.linear.operators.hadamard import HadamardAgreement, WalshHadamard, hadamard_parity
from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.sums import Haar, NearestTree, TreeSums, haar_level
from lapwing.linear.projections import norm_sub, simplex

TREES = {
    "binary": (1, 2, 4, 8, 16),
    "four": (1, 4, 16),
    "flat": (1, 7),
    "one leaf": (1,),
    "uneven leaves": (1, 4, 16, 50),
    "uneven leaves, binary": (1, 2, 4, 5),
    "wide then narrow": (1, 6, 12),
}


def sums_by_hand(cells: tuple[int, ...]) -> np.ndarray:
    """Return the matrix from leaves to nodes, leaf by leaf."""
    leaves = cells[-1]
    matrix = np.zeros((sum(cells), leaves))
    for leaf in range(leaves):
        row = 0
        for size in cells:
            matrix[row + leaf * size // leaves, leaf] = 1
            row += size
    return matrix


def dense_nearest_tree(
    matrix: np.ndarray, estimate: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """Return the nodes of least weighted squares with root 1, by the full system of equations."""
    leaves = matrix.shape[1]
    weights = 1 / variance
    weights[0] = 0.0
    system = np.ones((leaves + 1, leaves + 1))
    system[:leaves, :leaves] = matrix.T @ (weights[:, None] * matrix)
    system[leaves, leaves] = 0
    right = np.append(matrix.T @ (weights * estimate), 1.0)
    return matrix @ np.linalg.solve(system, right)[:leaves]


@pytest.mark.parametrize("cells", TREES.values(), ids=TREES)
def test_sums_are_those_by_hand(cells: tuple[int, ...]) -> None:
    tree = TreeSums(cells)
    matrix = sums_by_hand(cells)
    np.testing.assert_array_equal(dense(tree), matrix)
    np.testing.assert_array_equal(tree.adjoint().matmat(np.eye(sum(cells))), matrix.T)
    rng = np.random.default_rng(1)
    x, r = rng.normal(size=cells[-1]), rng.normal(size=sum(cells))
    np.testing.assert_allclose(tree.matvec(x), matrix @ x, atol=1e-12)
    np.testing.assert_allclose(tree.rmatvec(r), matrix.T @ r, atol=1e-12)
    assert [part.size for part in tree.levels(r)] == list(cells)


@pytest.mark.parametrize("cells", [(2, 4), (1, 4, 4), (1, 4, 2), (1, 2, 3, 6), (1, 4, 6, 24)])
def test_what_is_no_tree_is_refused(cells: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"must (grow|lie)"):
        TreeSums(cells)


@pytest.mark.parametrize("cells", [tree for tree in TREES.values() if len(tree) > 1])
def test_nearest_tree_is_dense_least_squares(cells: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    tree, matrix = TreeSums(cells), sums_by_hand(cells)
    estimate = rng.normal(size=sum(cells))
    variance = np.exp(2 * rng.normal(size=sum(cells)))
    nodes = NearestTree(tree, variance).of(estimate)
    np.testing.assert_allclose(nodes, dense_nearest_tree(matrix, estimate, variance), atol=1e-9)
    assert nodes[0] == 1
    np.testing.assert_allclose(nodes, tree.matvec(tree.levels(nodes)[-1]), atol=1e-12)
    # A consistent tree is its own nearest; the comparison sees wrong weights.
    np.testing.assert_allclose(NearestTree(tree, variance).of(nodes), nodes, atol=1e-12)
    wrong = NearestTree(tree, np.sqrt(variance)).of(estimate)
    assert np.abs(wrong - nodes).max() > 1e-3


def test_nearest_tree_bears_huge_variances() -> None:
    tree = TreeSums((1, 2, 8))
    estimate = np.array([1.0, 0.25, 0.75, *np.zeros(8)])
    nodes = NearestTree(tree, np.array([1.0, 1, 1, *np.full(8, 1e12)])).of(estimate)
    np.testing.assert_allclose(nodes[3:], np.repeat([0.25, 0.75], 4) / 4, atol=1e-10)


def psi(level: int, cell: int, points: np.ndarray) -> np.ndarray:
    """Return equation 15 of Zhao et al. 2026, with half-open halves."""
    scaled = points * 2**level - cell
    left, right = (scaled >= 0) & (scaled < 0.5), (scaled >= 0.5) & (scaled < 1)
    return 2 ** (level / 2) * (left.astype(float) - right)


def test_haar_coefficients_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    values = rng.beta(5, 2, size=500)
    bins = 32
    mass = np.bincount((values * bins).astype(int), minlength=bins) / values.size
    haar = Haar(bins)
    coefficients = haar.matvec(mass)
    assert coefficients[0] == pytest.approx(1)
    for level in range(5):
        # Equation 37: the mean of psi over the values themselves.
        expected = [psi(level, cell, values).mean() for cell in range(2**level)]
        np.testing.assert_allclose(coefficients[haar_level(level)], expected, atol=1e-12)
    # Equation 36: the expansion, evaluated inside every bin.
    inside = (np.arange(bins) + 0.3) / bins
    density = np.ones(bins)
    for level in range(5):
        for cell in range(2**level):
            density += coefficients[2**level + cell] * psi(level, cell, inside)
    np.testing.assert_allclose(haar.rmatvec(coefficients), density, atol=1e-12)
    # Equation 38 and lemma 1: its integral meets the empirical CDF at every edge.
    edges = np.arange(1, bins + 1) / bins
    empirical = (values[:, None] < edges).mean(axis=0)
    np.testing.assert_allclose(np.cumsum(density) / bins, empirical, atol=1e-12)
    np.testing.assert_allclose(haar.masses(coefficients), mass, atol=1e-15)


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_haar_system_is_orthonormal(size: int) -> None:
    matrix = dense(Haar(size))
    np.testing.assert_allclose(matrix @ matrix.T / size, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(Haar(size).rmatmat(np.eye(size)), matrix.T, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 16, 32, 64, 256])
def test_walsh_hadamard_is_the_parity_of_common_bits(size: int) -> None:
    entries = [[(-1) ** bin(i & j).count("1") for j in range(size)] for i in range(size)]
    transform = WalshHadamard(size)
    np.testing.assert_array_equal(dense(transform), entries)
    x = np.random.default_rng(4).normal(size=size)
    np.testing.assert_allclose(transform.matvec(x), np.array(entries) @ x, atol=1e-10)
    np.testing.assert_allclose(transform.rmatvec(transform.matvec(x)), size * x, atol=1e-10)
    index = np.arange(size)
    signs = 1 - 2 * hadamard_parity(index[:, None], index[None, :])
    np.testing.assert_array_equal(signs, entries)


def test_transforms_refuse_other_sizes() -> None:
    for size in (0, 3, 12):
        with pytest.raises(ValueError, match="power of two"):
            Haar(size)
        with pytest.raises(ValueError, match="power of two"):
            WalshHadamard(size)


@pytest.mark.parametrize(("rows", "place"), [(1, None), (8, None), (4, [0, 3, 4, 6])])
def test_agreement_is_entry_by_entry(rows: int, place: list[int] | None) -> None:
    cells = list(range(2 * rows)) if place is None else place
    matrix = np.empty((2 * rows, len(cells)))
    for column, cell in enumerate(cells):
        for row in range(rows):
            sign = (-1) ** bin(row & cell // 2).count("1") * (-1) ** (cell % 2)
            for bit in (0, 1):
                matrix[2 * row + bit, column] = 0.3 if sign == (-1) ** bit else 0.1
    operator = HadamardAgreement(
        rows, inside=0.3, outside=0.1, place=None if place is None else np.array(place)
    )
    np.testing.assert_allclose(dense(operator), matrix, atol=1e-15)
    np.testing.assert_allclose(operator.rmatmat(np.eye(2 * rows)), matrix.T, atol=1e-15)
    mass = np.random.default_rng(5).dirichlet(np.ones(len(cells)))
    np.testing.assert_allclose(operator.matvec(mass), matrix @ mass, atol=1e-15)
    full = np.zeros(2 * rows)
    full[cells] = mass
    np.testing.assert_allclose(
        operator.differences(matrix @ mass), full[0::2] - full[1::2], atol=1e-14
    )


def published_norm_sub(point: np.ndarray) -> np.ndarray:
    """Set negative entries to zero, then shift the positive ones to the total; repeat."""
    point = point.copy()
    while (point < 0).any() or abs(point.sum() - 1) > 1e-9:
        point[point < 0] = 0
        positive = point > 0
        point[positive] += float(1 - point.sum()) / int(positive.sum())
    return point


HARD = {
    "all negative": -np.arange(1.0, 9.0),
    "all equal": np.full(7, -3.0),
    "huge": np.array([1e17, -1e17, 1e17, 3.0]),
    "huge and close": 1e17 + np.array([0.0, 16.0, 32.0, -1e6]),
    "tiny": np.array([1e-300, -1e-300, 0.0]),
    "one": np.array([-5.0]),
}


@pytest.mark.parametrize("point", HARD.values(), ids=HARD)
def test_norm_sub_bears_what_the_published_one_does_not(point: np.ndarray) -> None:
    nearest = norm_sub(point)
    assert np.isfinite(nearest).all() and nearest.min() >= 0
    assert nearest.sum() == pytest.approx(1)
    np.testing.assert_allclose(nearest, simplex(point), atol=1e-12)


def test_published_norm_sub_divides_by_zero() -> None:
    with pytest.raises(ZeroDivisionError):
        published_norm_sub(HARD["all negative"])
    fine = np.array([0.5, -0.25, 0.375, 0.5])
    np.testing.assert_allclose(published_norm_sub(fine), norm_sub(fine), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_norm_sub_is_the_projection(scale: float) -> None:
    rng = np.random.default_rng(6)
    for size in (1, 2, 3, 10, 1000):
        point = scale * rng.normal(size=size)
        np.testing.assert_allclose(norm_sub(point, total=2), simplex(point, total=2), atol=1e-12)
