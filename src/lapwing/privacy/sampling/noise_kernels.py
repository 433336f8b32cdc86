"""Compiled twins of the exact noise samplers. Importing this module imports numba.

They follow the scalar definitions word for word on the common path. They stop before a draw that
needs anything rare, or more words than are held. Rare is a tie of 64-bit digits, or a rounding that
the first digit does not decide. The caller then takes that draw, from its first word, in Python.
"""

from __future__ import annotations

import numpy as np

from lapwing.linear.compiled_kernel import compiled

_TOP = np.uint64(1 << 63)
_LOW = np.uint64(0xFFFFFFFF)
_HALF_WORD = np.uint64(32)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)

_STOP = 2
"""What a coin returns when the words ran out or two digits tie."""


@compiled(inline="always")
def _product(a, b):  # pragma: no cover
    """Return the high and the low word of a product of two words."""
    a0, a1 = a & _LOW, a >> _HALF_WORD
    b0, b1 = b & _LOW, b >> _HALF_WORD
    low = a0 * b0
    middle = a1 * b0 + (low >> _HALF_WORD)
    other = a0 * b1 + (middle & _LOW)
    high = a1 * b1 + (middle >> _HALF_WORD) + (other >> _HALF_WORD)
    return high, (other << _HALF_WORD) | (low & _LOW)


@compiled()
def _half(words, at):  # pragma: no cover
    """Return (coin of probability e^(-1/2) or _STOP, next position)."""
    if at >= words.size:
        return _STOP, at
    last = words[at]
    at += 1
    if last >= _TOP:
        return 1, at
    length = 1
    while True:
        if at >= words.size or words[at] == last:
            return _STOP, at
        following = words[at]
        at += 1
        if following > last:
            return 1 - (length & 1), at
        last = following
        length += 1


@compiled()
def _below(words, at, bound):  # pragma: no cover
    """Return (whether there was one, uniform number below `bound`, next position)."""
    # 2^64 mod bound, in words: (2^64 - bound) mod bound.
    excess = (_ZERO - bound) % bound
    while True:
        if at >= words.size:
            return False, _ZERO, at
        high, low = _product(words[at], bound)
        at += 1
        if low >= excess:
            return True, high, at


@compiled()
def _coin(words, at, choices, x):  # pragma: no cover
    """Return (coin of probability exp(-x (2 k + x) / choices) or _STOP, next position)."""
    last, length = x, 0
    while True:
        if at >= words.size or words[at] == last:
            return _STOP, at
        following = words[at]
        at += 1
        if following > last:
            break
        drawn, chosen, at = _below(words, at, choices)
        if not drawn:
            return _STOP, at
        if chosen == choices - _ONE:
            break
        if chosen == choices - _ONE - _ONE:
            if at >= words.size or words[at] == x:
                return _STOP, at
            at += 1
            if words[at - 1] > x:
                break
        last = following
        length += 1
    return 1 - (length & 1), at


@compiled()
def _one_normal(words, at):  # pragma: no cover
    """Return (whether it was drawn, k, first digit of x, sign word, next position)."""
    while True:
        k = 0
        while True:
            coin, at = _half(words, at)
            if coin == _STOP:
                return False, 0, _ZERO, _ZERO, at
            if coin == 0:
                break
            k += 1
        kept = True
        for _ in range(k * (k - 1)):
            coin, at = _half(words, at)
            if coin == _STOP:
                return False, 0, _ZERO, _ZERO, at
            if coin == 0:
                kept = False
                break
        if not kept:
            continue
        if at >= words.size:
            return False, 0, _ZERO, _ZERO, at
        x = words[at]
        at += 1
        for _ in range(k + 1):
            coin, at = _coin(words, at, np.uint64(2 * k + 2), x)
            if coin == _STOP:
                return False, 0, _ZERO, _ZERO, at
            if coin == 0:
                kept = False
                break
        if not kept:
            continue
        if at >= words.size:
            return False, 0, _ZERO, _ZERO, at
        return True, k, x, words[at], at + 1


@compiled(inline="always")
def _nearest(high, low, shift):  # pragma: no cover
    """Return ``floor(value / 2^(64 + shift) + 1/2)`` of a two-word value below 2^100."""
    half = 63 + shift
    if half < 64:
        total = low + (_ONE << np.uint64(half))
        carried = high + (_ONE if total < low else _ZERO)
    else:
        total = low
        carried = high + (_ONE << np.uint64(half - 64))
    places = 64 + shift
    if places >= 64:
        return np.int64(carried >> np.uint64(places - 64)) if places < 128 else np.int64(0)
    return np.int64((carried << np.uint64(64 - places)) | (total >> np.uint64(places)))


@compiled()
def rounded_normals(numerator, shift, words, at, out, done):  # pragma: no cover
    """Fill `out` from `done` on. Return how far it came and the first unused word."""
    scale = np.uint64(numerator)
    while done < out.size:
        drawn, k, x, sign, after = _one_normal(words, at)
        if not drawn:
            break
        # scale * (k 2^64 + x), and the same one step of x further, less the open end.
        high, low = _product(scale, x)
        high += scale * np.uint64(k)
        last = low + (scale - _ONE)
        beyond = high + (_ONE if last < low else _ZERO)
        value = _nearest(high, low, shift)
        if value != _nearest(beyond, last, shift):
            break
        out[done] = -value if sign >= _TOP else value
        done += 1
        at = after
    return done, at


@compiled()
def discrete_laplaces(numerator, denominator, words, at, out, done):  # pragma: no cover
    """Fill `out` from `done` on. Return how far it came and the first unused word."""
    top, bottom = np.uint64(numerator), np.uint64(denominator)
    while done < out.size:
        start = at
        finished = False
        while not finished:
            drawn, place, at = _below(words, at, top)
            if not drawn:
                return done, start
            coin, at = _exponential_coin(words, at, place, top)
            if coin == _STOP:
                return done, start
            if coin == 0:
                continue
            turns = _ZERO
            while True:
                coin, at = _exponential_coin(words, at, _ONE, _ONE)
                if coin == _STOP:
                    return done, start
                if coin == 0:
                    break
                turns += _ONE
            value = np.int64((place + top * turns) // bottom)
            if at >= words.size:
                return done, start
            negative = words[at] >= _TOP
            at += 1
            if negative and value == 0:
                continue
            out[done] = -value if negative else value
            finished = True
        done += 1
    return done, at


@compiled()
def _exponential_coin(words, at, numerator, denominator):  # pragma: no cover
    """Return (coin of probability exp(-numerator / denominator), at most 1, next position)."""
    index = _ONE
    while True:
        drawn, chosen, at = _below(words, at, denominator * index)
        if not drawn:
            return _STOP, at
        if chosen >= numerator:
            return (1 if index & _ONE else 0), at
        index += _ONE
