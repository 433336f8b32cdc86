"""Hashing by one multiplication: keys to few values, by a seed of 64 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector, Words
from lapwing.linear.operators.operator import Operator

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def _mixed(words: Words) -> Words:
    """Return the finalizer of SplitMix64: a one-to-one map that scatters neighbors."""
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def factors_and_shifts(seeds: Words) -> tuple[Words, Words]:
    """Return the two numbers that make a hash of each seed: the next two of SplitMix64."""
    return _mixed(seeds + _GAMMA), _mixed(seeds + _GAMMA + _GAMMA)


def keys_of(symbols: NDArray[np.int64]) -> Words:
    """Return 32 scattered bits of each symbol, different for different symbols: uint64 [n].

    The finalizer of MurmurHash3. Multiplication alone would hash symbols in arithmetic progression
    to such a progression, whose members are not independent of each other.
    """
    bits = symbols.astype(np.uint32)
    bits ^= bits >> np.uint32(16)
    bits *= np.uint32(0x85EBCA6B)
    bits ^= bits >> np.uint32(13)
    bits *= np.uint32(0xC2B2AE35)
    bits ^= bits >> np.uint32(16)
    return bits.astype(np.uint64)


def hashes(factors: Words, shifts: Words, keys: Words, *, size: int) -> NDArray[np.int64]:
    """Return hashes in 0..size-1: ``floor(size * ((factor * key + shift) >> 32) / 2^32)``.

    factors, shifts, keys: uint64, of shapes that broadcast.
    size: In 2..2^16.
    """
    high = (factors * keys + shifts) >> np.uint64(32)
    return ((high * np.uint64(size)) >> np.uint64(32)).view(np.int64)


def intervals(hashed: NDArray[np.int64], *, size: int) -> tuple[NDArray[np.uint32], ...]:
    """Return the first of the high halves that hash to each value, and how many do."""
    first = -(-(hashed << 32) // size)
    stop = -(-((hashed + 1) << 32) // size)
    return first.astype(np.uint32), (stop - first).astype(np.uint32)


class PooledHashes(Operator):
    """`inside` at a symbol's hash under each hash of a pool, `outside` elsewhere.

    Output ``number * size + value`` is one value of one hash. The table of all hashes is never
    kept: each product hashes all symbols again, 1 ns a hash.

    factors, shifts: uint64 [hashes].
    keys: uint64 [symbols].
    size: Values of a hash.
    """

    def __init__(
        self,
        factors: Words,
        shifts: Words,
        keys: Words,
        *,
        size: int,
        inside: float,
        outside: float,
    ) -> None:
        super().__init__((factors.size * size, keys.size))
        self.factors = factors
        self.shifts = shifts
        self.keys = keys
        self.size = size
        self.inside = inside
        self.outside = outside

    def _matvec(self, x: Vector) -> Vector:
        from lapwing.linear.operators.hash_kernels import pooled_sums

        mass = np.ascontiguousarray(x.reshape(-1), dtype=np.float64)
        sums = np.zeros(self.shape[0])
        pooled_sums(self.factors, self.shifts, self.keys, self.size, mass, sums)
        product: Vector = (self.inside - self.outside) * sums + self.outside * mass.sum()
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        from lapwing.linear.operators.hash_kernels import pooled_reads

        rates = np.ascontiguousarray(r.reshape(-1), dtype=np.float64)
        reads = np.zeros(self.shape[1])
        pooled_reads(self.factors, self.shifts, self.keys, self.size, rates, reads)
        product: Vector = (self.inside - self.outside) * reads + self.outside * rates.sum()
        return product

    def _rmatmat(self, r: Vector) -> Vector:
        # Without compiled code: a client checks the channel and needs no more.
        rows = np.asarray(r, dtype=np.float64).reshape(self.factors.size, self.size, -1)
        reads = np.zeros((self.keys.size, rows.shape[2]))
        for number, row in enumerate(rows):
            reads += row[self.row(number)]
        product: Vector = (self.inside - self.outside) * reads + self.outside * rows.sum((0, 1))
        return product

    def squared_entries(self) -> PooledHashes:
        """Return the matrix of squared entries."""
        return PooledHashes(
            self.factors,
            self.shifts,
            self.keys,
            size=self.size,
            inside=self.inside**2,
            outside=self.outside**2,
        )

    def row(self, number: int) -> NDArray[np.int64]:
        """Return one hash of every symbol: int64 [symbols]."""
        return hashes(self.factors[number], self.shifts[number], self.keys, size=self.size)
