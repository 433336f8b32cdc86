"""A given matrix of signs: checked, and as the text that a survey document carries."""

from __future__ import annotations

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
