"""Random subsets of rows, one per column, from a public seed: any column on demand.

A column is drawn from the seed and its own number alone, so a device that holds one value computes
one column, and the server all of them. The numbers are an AES-256-CTR keystream: column x takes the
blocks that start at ``x * blocks``. Nothing here is secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

LARGEST_SEED = 2**53 - 1
"""The largest whole number that JSON carries exactly in every language."""

_AT_ONCE = 2**22
"""Numbers made at a time, so that temporary arrays stay small."""


def column_numbers(seed: int, start: int, stop: int, rows: int) -> NDArray[np.uint32]:
    """Return the random numbers of the columns start..stop-1: uint32 [stop - start, rows].

    Parameters
    ----------
    seed : int
        In 0..2^53-1, public.
    start, stop : int
        Columns, at least 0.
    rows : int
        Numbers of each column.

    Notes
    -----
    The key is the SHA-256 of ``"lapwing columns <seed>"``, the counter a big-endian number of 128
    bits; a column takes ``ceil(rows / 4)`` blocks of four little-endian numbers.
    """
    blocks = (rows + 3) // 4
    key = hashlib.sha256(f"lapwing columns {seed}".encode()).digest()
    counter = modes.CTR((start * blocks).to_bytes(16, "big"))
    stream = (
        Cipher(algorithms.AES(key), counter).encryptor().update(bytes(16 * blocks * (stop - start)))
    )
    return np.frombuffer(stream, dtype="<u4").reshape(stop - start, 4 * blocks)[:, :rows]


def smallest(numbers: NDArray[np.uint32], ones: int) -> NDArray[np.bool_]:
    """Return where the `ones` smallest numbers of each column stand: bool [columns, rows].

    Of equal numbers the one in the lower row is smaller. So every column has the same number of
    ones, and all such columns are equally likely but for ties, which have probability
    ``rows^2 / 2^33`` and harm nobody: privacy holds for every matrix.
    """
    rows = numbers.shape[1]
    keys = (numbers.astype(np.uint64) << np.uint64(32)) | np.arange(rows, dtype=np.uint64)
    last = np.partition(keys, ones - 1, axis=1)[:, ones - 1 : ones]
    return keys <= last


def random_columns(
    seed: int,
    columns: int,
    rows: int,
    *,
    ones: int | None = None,
    threshold: int | None = None,
    first: int = 0,
) -> NDArray[np.uint8]:
    """Return random columns as packed bits: uint8 [columns, ceil(rows / 8)].

    Parameters
    ----------
    seed : int
    columns, rows : int
    ones : int, optional
        Exactly so many ones in each column, in 1..rows-1.
    threshold : int, optional
        Instead: each entry is one with probability ``threshold / 2^32`` on its own.
    first : int
        Number of the first column.

    Returns
    -------
    numpy.ndarray
        Bit ``j % 8`` of byte ``j // 8`` is row j.

    Examples
    --------
    >>> packed = random_columns(1, 3, 8, ones=2)
    >>> np.array_equal(random_columns(1, 1, 8, ones=2, first=2), packed[2:])
    True
    """
    packed = np.empty((columns, (rows + 7) // 8), dtype=np.uint8)
    step = max(1, _AT_ONCE // rows)
    for start in range(0, columns, step):
        stop = min(columns, start + step)
        numbers = column_numbers(seed, first + start, first + stop, rows)
        if ones is not None:
            held = smallest(numbers, ones)
        else:
            assert threshold is not None
            held = numbers < np.uint64(threshold)
        packed[start:stop] = np.packbits(held, axis=1, bitorder="little")
    return packed


def unpacked(packed: NDArray[np.uint8], rows: int) -> NDArray[np.uint8]:
    """Return packed columns as zeros and ones: uint8 [columns, rows]."""
    return np.unpackbits(packed, axis=1, count=rows, bitorder="little")


def ones_per_column(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of ones in every column: int64 [columns]."""
    counts: NDArray[np.int64] = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
    return counts


def coherence(packed: NDArray[np.uint8], rows: int) -> float:
    """Return the largest absolute correlation of two columns, in [0, 1].

    Parameters
    ----------
    packed : numpy.ndarray
        uint8 [columns, ceil(rows / 8)], at least two columns.
    rows : int

    Notes
    -----
    Columns are centered first, as a decoder sees them. A column that is constant says nothing, and
    counts as correlated with all. Near 1, two symbols cannot be told apart; about
    ``sqrt(2 ln(columns^2) / rows)`` is what chance gives at half of the rows. O(columns^2 rows).
    """
    counts = ones_per_column(packed)
    if ((counts == 0) | (counts == rows)).any():
        return 1.0
    worst = 0.0
    centered = [_centered(part, rows) for part in _parts(packed, rows)]
    for number, left in enumerate(centered):
        for other in range(number, len(centered)):
            product = np.abs(left @ centered[other].T)
            if other == number:
                np.fill_diagonal(product, 0.0)
            worst = max(worst, float(product.max()))
    return min(worst, 1.0)


def _parts(packed: NDArray[np.uint8], rows: int) -> Iterator[NDArray[np.uint8]]:
    step = max(1, _AT_ONCE // rows)
    for start in range(0, packed.shape[0], step):
        yield packed[start : start + step]


def _centered(part: NDArray[np.uint8], rows: int) -> NDArray[np.float32]:
    # Single precision: seven digits of a correlation are enough, at twice the speed.
    columns = unpacked(part, rows).astype(np.float32)
    columns -= columns.mean(axis=1, keepdims=True)
    columns /= np.linalg.norm(columns, axis=1, keepdims=True)
    return columns
