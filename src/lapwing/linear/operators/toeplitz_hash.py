"""Linear hashing over two elements: keys to a few parities, by a matrix with constant diagonals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Words


@dataclass(frozen=True)
class ToeplitzHash:
    """The family of hashes ``h(v) = M v``, M a binary Toeplitz matrix that a seed writes down.

    Bit r of the hash is the parity of ``(seed >> r) & v``. Row r of the matrix is the window of
    `key_bits` bits of the seed that starts at bit r.

    key_bits: Bits of a key v, at least 1.
    hash_bits: Bits of its hash, in 1..8.

    For two different keys and a uniform seed the two hashes differ by a uniform value, exactly. The
    difference of the keys is not zero, and a Toeplitz matrix of independent bits maps each key that
    is not zero uniformly. So every key that a person does not hold is hit with the same
    probability, whatever they hold. No pseudo-random generator takes part.

    The family is that of [1]_ and [2]_.

    .. [1] H. Krawczyk, "LFSR-based hashing and authentication", CRYPTO, 1994.
       doi:10.1007/3-540-48658-5_15
    .. [2] Y. Mansour, N. Nisan, P. Tiwari, "The computational complexity of universal hashing",
       Theoretical Computer Science, 1993. doi:10.1016/0304-3975(93)90257-T

    >>> ToeplitzHash(4, 2).hashes(np.array([0b10110], dtype=np.uint64), np.array([0b0101]))
    array([3], dtype=uint8)
    """

    key_bits: int
    hash_bits: int

    @property
    def seed_bits(self) -> int:
        """Bits of a seed."""
        return self.key_bits + self.hash_bits - 1

    def row(self, seeds: Words, number: int) -> Words:
        """Return one row of every matrix: uint64 [n]."""
        mask = np.uint64(2**self.key_bits - 1)
        window: Words = (seeds >> np.uint64(number)) & mask
        return window

    def hashes(self, seeds: Words, keys: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the hash of each key under its seed: uint8 [n].

        seeds: uint64 [n].
        keys: int64 [n], or one key for all.
        """
        wanted = keys.astype(np.uint64)
        hashes = np.zeros(seeds.size, dtype=np.uint8)
        for number in range(self.hash_bits):
            # A window beyond the key's bits meets zeros of the key, so it needs no mask.
            parity = np.bitwise_count((seeds >> np.uint64(number)) & wanted) & np.uint8(1)
            hashes |= parity << np.uint8(number)
        return hashes


def block_spectrum(near: int, hash_bits: int) -> NDArray[np.int64]:
    """Return the Walsh-Hadamard transform of the set 0..near-1 of hashes: int64 [2^hash_bits].

    near: Size of the set, in 1..2^hash_bits - 1.
    """
    parities = np.arange(2**hash_bits)
    inner = np.bitwise_count(parities[:, None] & np.arange(near)[None, :]).astype(np.int64) & 1
    spectrum: NDArray[np.int64] = (1 - 2 * inner).sum(axis=1)
    return spectrum
