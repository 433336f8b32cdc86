"""The matrix of compressive privatization: its size, and a given one, checked and as text."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError


def given_columns(matrix: Any, *, symbols: int, outputs: int) -> tuple[tuple[str, ...], int]:
    """Return a matrix as hexadecimal text, one for each column, and its number of rows.

    Parameters
    ----------
    matrix : array_like [outputs, symbols], or sequence of str
        Entries +1 and -1, or 1 and 0; or the columns as this function returns them.
    symbols : int
        Columns that there must be.
    outputs : int
        Rows that there must be; 0 if the matrix says it. Needed with text.

    Returns
    -------
    tuple of str
        Bit ``j % 8`` of byte ``j // 8`` is 1 where row j has +1; spare bits are 0.
    int
        Rows.

    Raises
    ------
    ArgumentError
        On a wrong shape or entry, with its position.
    """
    if isinstance(matrix, list | tuple) and any(isinstance(column, str) for column in matrix):
        return _text(matrix, symbols=symbols, outputs=outputs), outputs
    try:
        signs = np.asarray(matrix)
    except ValueError:
        raise ArgumentError("the rows of a matrix must be of equal lengths") from None
    if signs.dtype.kind not in "iufb" or signs.ndim != 2:
        raise ArgumentError(
            f"a matrix must be numbers of shape [outputs, {symbols}], got {signs.dtype.name} of "
            f"shape {signs.shape}"
        )
    rows = signs.shape[0]
    if signs.shape[1] != symbols or rows < 2 or (outputs and rows != outputs):
        wanted = outputs or "at least 2"
        raise ArgumentError(
            f"a matrix must have a row for each output ({wanted}) and a column for each of the "
            f"{symbols} symbols, got shape {signs.shape}"
        )
    wrong = (signs != 1) & (signs != (-1 if (signs == -1).any() else 0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise ArgumentError(
            "the entries of a matrix must all be +1 or -1, or all 1 or 0; the one in row "
            f"{row}, column {column} is not"
        )
    return _hexadecimal(signs > 0), rows


def _hexadecimal(held: NDArray[np.bool_]) -> tuple[str, ...]:
    packed = np.packbits(held.T, axis=1, bitorder="little")
    return tuple(column.tobytes().hex() for column in packed)


def _text(columns: Any, *, symbols: int, outputs: int) -> tuple[str, ...]:
    if outputs < 2:
        raise ArgumentError("a matrix as text needs the number of its outputs, at least 2")
    if len(columns) != symbols:
        raise ArgumentError(
            f"a matrix must have a column for each of the {symbols} symbols, got {len(columns)}"
        )
    width = (outputs + 7) // 8
    for number, column in enumerate(columns):
        try:
            bits = int.from_bytes(bytes.fromhex(column), "little")
            legal = len(column) == 2 * width and column == column.lower() and bits < 2**outputs
        except (TypeError, ValueError):
            legal = False
        if not legal:
            raise ArgumentError(
                f"column {number} of the matrix must be {2 * width} lower-case hexadecimal digits "
                f"with {outputs} bits; it is not"
            )
    return tuple(columns)


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
