"""Arithmetic in the fields of 2^k elements, by tables of logarithms.

An element is a number of k bits, the coefficients of a polynomial over the integers modulo 2. A
sum is an exclusive or. A product is that of the polynomials, modulo a fixed one.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

MODULI = (
    *(0x3, 0x7, 0xB, 0x13, 0x25, 0x43, 0x83, 0x11D),
    *(0x211, 0x409, 0x805, 0x1053, 0x201B, 0x4443, 0x8003, 0x1100B),
)
"""The modulus of k = 1..16 bits. Each is primitive: the powers of 2 are all elements but 0."""


class BinaryField:
    """The field of 2^bits elements. :func:`binary_field` keeps those that were made.

    bits: k, in 1..16.

    Attributes
    ----------
    size : int
        Elements.
    powers : numpy.ndarray
        int64 [4 size + 1]: power i of the generator 2, for i = 0..2 size - 4. Then zeros.
    logarithms : numpy.ndarray
        int64 [size]: i with ``powers[i] == x``. Of 0 one so large that all its sums lie among the
        zeros of `powers`.

    Tables of 40 bytes an element, made in O(size).
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.size = 1 << bits
        modulus, value = MODULI[bits - 1], 1
        found = []
        for _ in range(self.size - 1):
            found.append(value)
            value <<= 1
            value ^= modulus if value & self.size else 0
        order = np.array(found, dtype=np.int64)
        self.powers: NDArray[np.int64] = np.zeros(4 * self.size + 1, dtype=np.int64)
        self.powers[: 2 * self.size - 2] = np.tile(order, 2)
        self.logarithms: NDArray[np.int64] = np.full(self.size, 2 * self.size, dtype=np.int64)
        self.logarithms[order] = np.arange(self.size - 1)
        self.powers.setflags(write=False)
        self.logarithms.setflags(write=False)

    def products(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the products of elements, which are broadcast: int64."""
        found: NDArray[np.int64] = self.powers[self.logarithms[a] + self.logarithms[b]]
        return found

    def quotients(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a / b for b other than 0."""
        step = self.size - 1 - self.logarithms[b]
        found: NDArray[np.int64] = self.powers[self.logarithms[a] + step]
        return found

    def product(self, a: int, b: int) -> int:
        """Return one product, without the tables."""
        found = 0
        for bit in reversed(range(self.bits)):
            found <<= 1
            found ^= MODULI[self.bits - 1] if found & self.size else 0
            found ^= a if b >> bit & 1 else 0
        return found


@cache
def binary_field(bits: int) -> BinaryField:
    """Return the field of 2^bits elements, bits in 1..16."""
    return BinaryField(bits)
