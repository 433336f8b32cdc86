"""The operators that the contract suite of `test_operator.py` runs over, beside those of channels.

A new operator gets a row here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.operators.banded import Circulant, SlidingWindow, circular_window
from lapwing.linear.operators.hadamard import HadamardBlocks
from lapwing.linear.operators.operator import (
    BlockDiagonal,
    Coarsened,
    CompoundSymmetric,
    OwnColumns,
    Repeated,
    Stacked,
    Whitened,
)
from lapwing.linear.operators.random_signs import SignColumns, random_columns
from lapwing.linear.operators.separable import ProductBlocks, Separable
from lapwing.papers.baselines.local_hashing import PooledHashes, factors_and_shifts, keys_of
from lapwing.papers.square_wave.sliding_box import SlidingBox

OPERATORS: dict[str, Callable[[], LinearOperator]] = {
    "compound symmetric": lambda: CompoundSymmetric(7, diagonal=0.5, off_diagonal=0.03),
    "compound symmetric of one": lambda: CompoundSymmetric(1, diagonal=0.5, off_diagonal=0.0),
    "sliding window": lambda: SlidingWindow(9, width=5, inside=0.17, outside=0.02),
    "sliding window of one": lambda: SlidingWindow(9, width=1, inside=0.7, outside=0.02),
    "sliding window wider than the line": lambda: SlidingWindow(
        4, width=11, inside=0.09, outside=0.001
    ),
    "sliding window on two points": lambda: SlidingWindow(2, width=3, inside=0.3, outside=0.1),
    "sliding box": lambda: SlidingBox(
        inputs=6, outputs=10, half_width=0.23, inside=1.4, outside=0.2
    ),
    "sliding box, more inputs": lambda: SlidingBox(
        inputs=11, outputs=4, half_width=0.3, inside=1.4, outside=0.2
    ),
    "sliding box, narrow": lambda: SlidingBox(
        inputs=5, outputs=5, half_width=0.01, inside=30.0, outside=0.3
    ),
    "sliding box, wide": lambda: SlidingBox(
        inputs=5, outputs=7, half_width=1.7, inside=0.25, outside=0.02
    ),
    "circulant": lambda: Circulant(np.array([0.5, 0.1, 0.25, 0.05, 0.1])),
    "circulant of even size": lambda: Circulant(np.array([0.5, 0.1, 0.3, 0.1])),
    "circular window": lambda: circular_window(10, width=3, inside=0.2, outside=0.05),
    "Hadamard, one block": lambda: HadamardBlocks(6, blocks=1, length=8, inside=0.2, outside=0.05),
    "Hadamard, blocks": lambda: HadamardBlocks(10, blocks=4, length=4, inside=0.2, outside=0.05),
    "pooled hashes": lambda: PooledHashes(
        *factors_and_shifts(np.arange(4, dtype=np.uint64)),
        keys_of(np.arange(9)),
        size=3,
        inside=0.2,
        outside=0.05,
    ),
    "repeated": lambda: Repeated(4, times=3),
    "sign columns": lambda: SignColumns(
        random_columns(1, 9, 12, threshold=2**31),
        12,
        inside=np.linspace(0.1, 0.2, 9),
        outside=np.linspace(0.01, 0.03, 9),
    ),
    "whitened": lambda: Whitened(
        [
            SlidingWindow(6, width=3, inside=0.2, outside=0.05),
            CompoundSymmetric(6, diagonal=0.5, off_diagonal=0.1),
        ],
        center=np.linspace(0.1, 0.2, 14),
        scale=np.linspace(3, 2, 14),
    ),
    "stacked": lambda: Stacked(
        [
            SlidingWindow(6, width=3, inside=0.2, outside=0.05),
            CompoundSymmetric(6, diagonal=0.5, off_diagonal=0.1),
            Circulant(np.arange(6.0)),
        ]
    ),
    "block-diagonal": lambda: BlockDiagonal(
        SlidingWindow(6, width=3, inside=0.2, outside=0.05), times=3
    ),
    "separable": lambda: Separable(
        np.array([[1, 1, 0], [0, 1, 1.0], [0, 0, 1]]),
        np.array([[1, 0], [1, 1.0]]),
        inside=0.3,
        outside=0.04,
    ),
    "blocks of a table": lambda: ProductBlocks(
        np.array([0, 0, 1]), np.array([1, 0, 2, 1]), inside=0.5, outside=0.1
    ),
    "product": lambda: SlidingWindow(12, width=3, inside=0.2, outside=0.05) @ Repeated(4, times=3),
    "own columns": lambda: OwnColumns(
        CompoundSymmetric(3, diagonal=0.5, off_diagonal=0.1), size=8, own=[0, 5]
    ),
    "coarsened": lambda: Coarsened(CompoundSymmetric(3, diagonal=0.5, off_diagonal=0.1), size=8),
    "adjoint": lambda: SlidingWindow(6, width=3, inside=0.2, outside=0.05).adjoint(),
}
