"""Answers to which a row adds the column of its symbol: made whole, and how far one row moves them.

The one place where a matrix of floating-point numbers becomes the whole numbers of a release, and
where those are compared. A privacy proof rests on both, so nothing here may overflow or be unsure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, Whole

LARGEST_ENTRY = 2**22
"""Entries are smaller than this, so that those of 2^40 rows add up to less than 2^62."""


def whole(entries: Vector, *, unit: int) -> Whole:
    """Return the entries in whole multiples of 1 / unit, rounded: int64 of the same shape.

    They are read-only: a sensitivity that was computed of them must stay theirs.

    Raises ArgumentError when an entry is not finite, or too large. It is asked before the cast,
    which would make some whole number of anything.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(np.asarray(entries, dtype=np.float64) * unit)
    # A comparison with what is no number is false.
    if not (np.abs(scaled) < LARGEST_ENTRY).all():
        raise ArgumentError(
            f"the answers of one row must be finite numbers below {LARGEST_ENTRY / unit:g} in "
            "size, and these functions give others. Use fewer functions, or another basis or shape"
        )
    found: Whole = scaled.astype(np.int64)
    found.flags.writeable = False
    return found


def _safe(columns: NDArray[Any]) -> NDArray[Any]:
    """Return the columns in a type in which sums of squares of differences are exact."""
    largest = max(int(columns.max()), -int(columns.min()))
    if columns.shape[1] * (2 * largest) ** 2 < 2**63:
        return columns
    return columns.astype(object)


def most_moved(matrix: Whole, *, replaced: bool) -> tuple[int, int]:
    """Return the largest squared and the largest absolute distance that one row moves answers by.

    matrix: int64 [answers, symbols], with a column for every symbol that a row can have, the
        missing one too.
    replaced: True: a row goes from one symbol to another. False: it comes or goes.

    Exact for entries of any size. O(answers symbols^2) when rows are replaced.
    """
    columns = _safe(np.ascontiguousarray(matrix.T))
    if not replaced:
        return int((columns**2).sum(axis=1).max()), int(np.abs(columns).sum(axis=1).max())
    squared = absolute = 0
    for column in columns:
        apart = columns - column
        squared = max(squared, int((apart**2).sum(axis=1).max()))
        absolute = max(absolute, int(np.abs(apart).sum(axis=1).max()))
    return squared, absolute


def ranges(matrix: Whole) -> tuple[int, ...]:
    """Return how far a replaced row moves each answer on its own, exactly."""
    return tuple(int(row.max()) - int(row.min()) for row in matrix)


def most_moved_pair(matrix: Whole) -> int:
    """Return how far a replaced row moves any two answers together: the sum of both sizes.

    Of absolute values of answers this bounds how far a difference moves, because signed ones can
    move against each other. With one answer it is that one's range.
    """
    columns = _safe(np.ascontiguousarray(matrix.T))
    first = max(0, columns.shape[1] - 2)
    worst = 0
    for column in columns:
        moved = np.partition(np.abs(columns - column), first, axis=1)[:, first:]
        worst = max(worst, int(moved.sum(axis=1).max()))
    return worst
