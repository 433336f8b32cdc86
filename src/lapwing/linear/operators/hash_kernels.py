"""The compiled loops of hashed reports. Importing this module imports numba.

Each kernel has its NumPy reference in the tests.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from lapwing.linear.compiled_kernel import compiled

Numbers = NDArray[np.int32] | NDArray[np.int64]

_INNER = 2**12
"""Entries of a transform that are finished while they are in the first cache."""

_WORDS = 64
"""Words of 64 reports that are scored together. Their tables take half a megabyte a parity."""


@compiled(inline="always")
def _four(a, b, c, d):  # pragma: no cover
    s, t, u, v = a + b, a - b, c + d, c - d
    return s + u, t + v, s - u, t - v


@compiled()
def _stages(x, first, size):  # pragma: no cover
    """Do the steps first, 2 first, ... below `size` of a transform of x, in place."""
    step = first
    while step < size:
        if 4 * step <= size:
            for start in range(0, x.size, 4 * step):
                a, b = x[start : start + step], x[start + step : start + 2 * step]
                c, d = (
                    x[start + 2 * step : start + 3 * step],
                    x[start + 3 * step : start + 4 * step],
                )
                for i in range(step):
                    a[i], b[i], c[i], d[i] = _four(a[i], b[i], c[i], d[i])
            step *= 4
        else:
            for start in range(0, x.size, 2 * step):
                a, b = x[start : start + step], x[start + step : start + 2 * step]
                for i in range(step):
                    a[i], b[i] = a[i] + b[i], a[i] - b[i]
            step *= 2


@compiled()
def walsh(x):  # pragma: no cover
    """Replace whole numbers by their Walsh-Hadamard transform, modulo the range of their type."""
    inner = min(x.size, _INNER)
    for start in range(0, x.size, inner):
        _stages(x[start : start + inner], 1, inner)
    _stages(x, inner, x.size)


def _count_ones(context, word):  # pragma: no cover
    """Give numba the processor's instruction that counts the ones of a word."""

    def lower(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return word(word), lower


_ones: Any = numba.extending.intrinsic(_count_ones)


@compiled()
def spectrum_points(codes, key_bits, hash_bits, spectrum, positions, weights):  # pragma: no cover
    """Write what every report adds to the transform of the supports, and return how many points.

    `spectrum` is the transform of the high-probability output set. Entry 0 is the same for all
    reports and left out, and so are entries 0. See `lapwing.protocol.channels.hashed_channel`.
    """
    mask = (np.uint64(1) << np.uint64(key_bits)) - np.uint64(1)
    size = np.uint64(1) << np.uint64(hash_bits)
    filled = 0
    for i in range(codes.size):
        hashed = codes[i] & (size - np.uint64(1))
        seed = codes[i] >> np.uint64(hash_bits)
        combined = np.uint64(0)
        # Gray code: each step adds one row to the combination.
        gray = np.uint64(0)
        for step in range(1, size):
            low, number = step, np.uint64(0)
            while low & 1 == 0:
                low >>= 1
                number += np.uint64(1)
            gray ^= np.uint64(1) << number
            combined ^= seed >> number
            weight = spectrum[gray]
            if weight != 0:
                positions[filled] = combined & mask
                odd = _ones(gray & hashed) & np.uint64(1)
                weights[filled] = -weight if odd else weight
                filled += 1
    return filled


@compiled()
def scatter(positions, weights, out):  # pragma: no cover
    """Add every weight at its position."""
    for i in range(positions.size):
        out[positions[i]] += weights[i]


@compiled()
def pack(positions, weights, low_bits, high_bits, out):  # pragma: no cover
    """Write points as numbers that sort by the low bits of their position.

    From the top: the low bits, the high bits, the weight in 16.
    """
    mask = (np.uint64(1) << np.uint64(low_bits)) - np.uint64(1)
    for i in range(positions.size):
        high = (positions[i] >> np.uint64(low_bits)) << np.uint64(16)
        low = (positions[i] & mask) << np.uint64(high_bits + 16)
        out[i] = low | high | np.uint64(np.uint16(weights[i]))


@compiled()
def fold(packed, high_bits, signs, out):  # pragma: no cover
    """Clear `out` and add every weight at its low position, with the sign of its high one."""
    out[:] = 0
    mask = (np.uint64(1) << np.uint64(high_bits)) - np.uint64(1)
    shift = np.uint64(high_bits + 16)
    for i in range(packed.size):
        sign = signs[(packed[i] >> np.uint64(16)) & mask]
        out[packed[i] >> shift] += np.int16(packed[i] & np.uint64(0xFFFF)) * sign


@compiled()
def reaching(x, limit, found):  # pragma: no cover
    """Write the places whose entry is at least the limit, and return how many there are.

    No more are written than `found` has room for.
    """
    number = 0
    for start in range(0, x.size, 1024):
        part = x[start : start + 1024]
        largest = part[0]
        for i in range(part.size):
            largest = max(largest, part[i])
        if largest >= limit:
            for i in range(part.size):
                if part[i] >= limit:
                    if number < found.size:
                        found[number] = start + i
                    number += 1
    return number


@compiled()
def _bit_planes(codes, planes):  # pragma: no cover
    """Write bit j of code i as bit i of row j, 64 codes to a word. Beyond the codes zeros."""
    planes[:] = 0
    for i in range(codes.size):
        word, place = i >> 6, np.uint64(i & 63)
        for j in range(planes.shape[0]):
            planes[j, word] |= ((codes[i] >> np.uint64(j)) & np.uint64(1)) << place


@compiled()
def _parity_tables(planes, hash_bits, key_bits, tables):  # pragma: no cover
    """Write the parities of every byte of a key with every row of the hashes: [row, byte, 256, w].

    Those of byte 0 hold the reports' own points too, so that what they give together is the
    distance of a key's hash from the point.
    """
    for row in range(hash_bits):
        for byte in range(tables.shape[1]):
            table = tables[row, byte]
            if byte == 0:
                table[0] = planes[row]
            for bit in range(min(8, key_bits - 8 * byte)):
                held = 1 << bit
                more = planes[hash_bits + row + 8 * byte + bit]
                for known in range(held):
                    for i in range(_WORDS):
                        table[held + known, i] = table[known, i] ^ more[i]


@compiled()
def linear_supports(codes, keys, key_bits, hash_bits, near, counts):  # pragma: no cover
    """Add for each key the number of reports within `near` of its hash.

    Takes 4096 reports at a time, a bit of each in one of 64 words. The effect of a byte of a key on
    all their parities is looked up, as in the method of the four Russians. The hashes are then
    compared with `near` bit by bit.
    """
    groups = (key_bits + 31) // 32
    planes = np.empty((key_bits + 2 * hash_bits - 1, _WORDS), dtype=np.uint64)
    tables = np.zeros((hash_bits, 4 * groups, 256, _WORDS), dtype=np.uint64)
    parity, held = np.zeros(_WORDS, dtype=np.uint64), np.zeros(_WORDS, dtype=np.uint64)
    less, equal = np.zeros(_WORDS, dtype=np.uint64), np.zeros(_WORDS, dtype=np.uint64)
    byte = np.uint64(255)
    for start in range(0, codes.size, 64 * _WORDS):
        part = codes[start : start + 64 * _WORDS]
        _bit_planes(part, planes)
        _parity_tables(planes, hash_bits, key_bits, tables)
        held[:] = np.uint64(0)
        held[: part.size >> 6] = ~np.uint64(0)
        if part.size & 63:
            held[part.size >> 6] = (np.uint64(1) << np.uint64(part.size & 63)) - np.uint64(1)
        for k in range(keys.size):
            less[:] = np.uint64(0)
            equal[:] = held
            for row in range(hash_bits - 1, -1, -1):
                table = tables[row]
                for group in range(groups):
                    four = keys[k] >> np.uint64(32 * group)
                    a = table[4 * group, four & byte]
                    b = table[4 * group + 1, (four >> np.uint64(8)) & byte]
                    c = table[4 * group + 2, (four >> np.uint64(16)) & byte]
                    d = table[4 * group + 3, (four >> np.uint64(24)) & byte]
                    if group == 0:
                        for i in range(_WORDS):
                            parity[i] = a[i] ^ b[i] ^ c[i] ^ d[i]
                    else:
                        for i in range(_WORDS):
                            parity[i] ^= a[i] ^ b[i] ^ c[i] ^ d[i]
                if (near >> np.uint64(row)) & np.uint64(1):
                    for i in range(_WORDS):
                        less[i] |= equal[i] & ~parity[i]
                        equal[i] &= parity[i]
                else:
                    for i in range(_WORDS):
                        equal[i] &= ~parity[i]
            number = np.uint64(0)
            for i in range(_WORDS):
                number += _ones(less[i])
            counts[k] += np.int64(number)


@compiled()
def hashed_supports(factor, shift, low, width, keys, counts):  # pragma: no cover
    """Add for each key the number of reports with its hash in their cell.

    The hash is the high half of ``factor * key + shift``. A cell is `width` hashes from `low` on.
    Four reports at a time, so that counts are read and written a quarter as often.
    """
    half = np.uint64(32)
    room = 2048
    some = np.zeros(room, dtype=np.uint32)
    for start in range(0, keys.size, room):
        part = keys[start : start + room]
        some[:] = 0
        whole = factor.size - factor.size % 4
        for i in range(0, whole, 4):
            f0, f1, f2, f3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
            s0, s1, s2, s3 = shift[i], shift[i + 1], shift[i + 2], shift[i + 3]
            l0, l1, l2, l3 = low[i], low[i + 1], low[i + 2], low[i + 3]
            w0, w1, w2, w3 = width[i], width[i + 1], width[i + 2], width[i + 3]
            for k in range(part.size):
                key = part[k]
                held = np.uint32(np.uint32((f0 * key + s0) >> half) - l0 < w0)
                held += np.uint32(np.uint32((f1 * key + s1) >> half) - l1 < w1)
                held += np.uint32(np.uint32((f2 * key + s2) >> half) - l2 < w2)
                held += np.uint32(np.uint32((f3 * key + s3) >> half) - l3 < w3)
                some[k] += held
        for i in range(whole, factor.size):
            for k in range(part.size):
                hashed = np.uint32((factor[i] * part[k] + shift[i]) >> half)
                some[k] += np.uint32(hashed - low[i] < width[i])
        for k in range(part.size):
            counts[start + k] += some[k]


@compiled()
def pooled_sums(factors, shifts, keys, size, mass, out):  # pragma: no cover
    """Add the mass of every key at its value of each hash. Out is [hashes * size]."""
    half = np.uint64(32)
    values = np.empty(1024, dtype=np.int64)
    for start in range(0, keys.size, 1024):
        part = keys[start : start + 1024]
        for j in range(factors.size):
            base = j * size
            for k in range(part.size):
                high = (factors[j] * part[k] + shifts[j]) >> half
                values[k] = base + np.int64((high * np.uint64(size)) >> half)
            for k in range(part.size):
                out[values[k]] += mass[start + k]


@compiled()
def pooled_reads(factors, shifts, keys, size, rates, out):  # pragma: no cover
    """Add for each key the rates at its value of each hash."""
    half = np.uint64(32)
    for start in range(0, keys.size, 1024):
        part = keys[start : start + 1024]
        for j in range(factors.size):
            base = j * size
            for k in range(part.size):
                high = (factors[j] * part[k] + shifts[j]) >> half
                out[start + k] += rates[base + np.int64((high * np.uint64(size)) >> half)]
