"""The contract of an operator: every fast product is that of the matrix it stands for."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Matrix
from lapwing.linear.operators.operator import dense
from lapwing.testing.claims import claim, claim_close, claim_refused


def check_operator(operator: LinearOperator) -> None:
    """Raise AssertionError unless all products of an operator are those of one matrix.

    The matrix is read from products with unit vectors, so it is for small operators. The vectors
    are drawn with fixed seeds. A rounding error of 1e-12 is allowed, so a correct operator does
    not fail by chance.

    Parameters
    ----------
    operator : scipy.sparse.linalg.LinearOperator
        Small operator to check.

    Raises
    ------
    AssertionError
        When a product is wrong. The message names it.

    Examples
    --------
    >>> import numpy as np
    >>> import lapwing as lw
    >>> from scipy.sparse.linalg import aslinearoperator
    >>> lw.testing.check_operator(aslinearoperator(np.eye(3)))
    """
    matrix = by_columns(operator)
    gap = dot_test(operator)
    claim(gap < 1e-13, f"<r, A x> and <A' r, x> differ by {gap:.3g}: the adjoint is wrong")
    check_products(operator, matrix)
    check_adjoint(operator, matrix)
    check_offers(operator, matrix)
    check_shapes(operator)
    check_sums_and_products(operator, matrix)
    check_nothing_is_kept(operator)


def dot_test(operator: LinearOperator) -> float:
    """Return the largest relative gap of ``<r, A x>`` and ``<A' r, x>`` over ten random pairs."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(10):
        x, r = rng.normal(size=operator.shape[1]), rng.normal(size=operator.shape[0])
        forward, backward = float(r @ operator.matvec(x)), float(operator.rmatvec(r) @ x)
        worst = max(worst, abs(forward - backward) / (np.abs(r) @ operator.matvec(np.abs(x))))
    return worst


def by_columns(operator: LinearOperator) -> Matrix:
    """Return the dense matrix from products with unit vectors, one at a time."""
    return np.column_stack([operator.matvec(unit) for unit in np.eye(operator.shape[1])])


def _close(found: Any, expected: Any, what: str, *, scale: float = 1.0) -> None:
    message = f"{what} is not that of the matrix"
    claim_close(found, expected, message, relative=1e-12, absolute=1e-13 * scale)


def check_products(operator: LinearOperator, matrix: Matrix) -> None:
    """Raise AssertionError unless all ways to multiply agree, as SciPy allows to ask for them."""
    rows, columns = operator.shape
    claim(matrix.shape == (rows, columns), "the shape does not match the products")
    claim(operator.dtype == np.float64, "the type must be float64")
    rng = np.random.default_rng(2)
    scale = float(np.abs(matrix).max())
    _close(dense(operator), matrix, "the dense form", scale=scale)
    x, r = rng.normal(size=(columns, 3)), rng.normal(size=(rows, 3))
    _close(operator.matmat(x), matrix @ x, "matmat", scale=scale)
    _close(operator.rmatmat(r), matrix.T @ r, "rmatmat", scale=scale)
    # A vector, a column, a stride, whole numbers.
    for vector in (x[:, 0], x[:, :1], x[::-1, 1], np.arange(columns)):
        _close(operator.matvec(vector), matrix @ vector, "matvec", scale=scale)
    for vector in (r[:, 0], r[:, :1], r[::-1, 1], np.arange(rows)):
        _close(operator.rmatvec(vector), matrix.T @ vector, "rmatvec", scale=scale)


def check_adjoint(operator: LinearOperator, matrix: Matrix) -> None:
    """Raise AssertionError unless the adjoint is the transpose, and its adjoint the operator."""
    adjoint, scale = operator.adjoint(), float(np.abs(matrix).max())
    claim(adjoint.shape == operator.shape[::-1], "the adjoint has another shape")
    _close(by_columns(adjoint), matrix.T, "the adjoint", scale=scale)
    _close(dense(adjoint), matrix.T, "the dense adjoint", scale=scale)
    _close(by_columns(adjoint.adjoint()), matrix, "the adjoint's adjoint", scale=scale)
    _close(dense(operator.T), matrix.T, "the transpose", scale=scale)


def check_offers(operator: Any, matrix: Matrix) -> None:
    """Raise AssertionError unless squared entries and single columns, where offered, are right."""
    scale = float(np.abs(matrix).max())
    if hasattr(operator, "squared_entries"):
        squared = by_columns(operator.squared_entries())
        _close(squared, matrix**2, "the operator of squared entries", scale=scale)
    if hasattr(operator, "column"):
        columns = [operator.column(number) for number in range(operator.shape[1])]
        _close(np.column_stack(columns), matrix, "a single column", scale=scale)


def check_shapes(operator: LinearOperator) -> None:
    """Raise AssertionError unless vectors and matrices of wrong shapes are refused."""
    rows, columns = operator.shape
    for size, one, several in (
        (columns, operator.matvec, operator.matmat),
        (rows, operator.rmatvec, operator.rmatmat),
    ):
        for wrong in (size + 1, size - 1):
            claim_refused(ValueError, one, np.ones(wrong), message="a vector of a wrong length")
            claim_refused(
                ValueError, several, np.ones((wrong, 2)), message="a matrix of a wrong height"
            )


def check_sums_and_products(operator: LinearOperator, matrix: Matrix) -> None:
    """Raise AssertionError unless it composes with others as SciPy's operators do."""
    _close(dense(2 * operator + operator), 3 * matrix, "a sum", scale=10)
    normal = dense(operator.adjoint() @ operator)
    claim_close(
        normal, matrix.T @ matrix, "A' A is not that of the matrix", relative=1e-11, absolute=1e-11
    )


def check_nothing_is_kept(operator: LinearOperator) -> None:
    """Raise AssertionError unless arguments are left alone and a used operator pickles."""
    x, r = np.linspace(1, 2, operator.shape[1]), np.linspace(1, 2, operator.shape[0])
    before = x.copy(), r.copy()
    operator.matvec(x), operator.rmatvec(r)
    operator.matmat(x[:, None]), operator.rmatmat(r[:, None])
    same = np.array_equal(x, before[0]) and np.array_equal(r, before[1])
    claim(bool(same), "an argument was changed")
    again = pickle.loads(pickle.dumps(operator))
    claim(bool(np.array_equal(dense(again), dense(operator))), "a pickled copy differs")
