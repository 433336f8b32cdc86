"""Two-sided geometric noise for pure epsilon, sampled exactly from random words."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.privacy.sampling.randomness import RandomSource, scalar_below
from lapwing.privacy.sampling.word_supply import drawn_from

LARGEST_PART = 2**48
"""Of a scale's numerator and denominator, so that compiled products fit a word."""

_PLENTY = 4096


def laplace_fraction(scale: Fraction) -> tuple[int, int]:
    """Return numerator and denominator, or raise ArgumentError."""
    if scale <= 0 or max(scale.numerator, scale.denominator) > LARGEST_PART:
        # Not as a floating-point number, which those of a document may not fit.
        size = scale.numerator.bit_length() - scale.denominator.bit_length()
        raise ArgumentError(
            "a noise scale must be a positive fraction with numerator and denominator of at most "
            f"2^48, got about 2^{size}"
        )
    return scale.numerator, scale.denominator


def discrete_laplace(
    scale: Fraction, *, count: int, source: RandomSource, compiled: bool = True
) -> NDArray[np.int64]:
    """Return independent integers with ``P(k)`` proportional to ``exp(-|k| / scale)``, exactly.

    Adding them to whole-number answers of L1 sensitivity D costs epsilon = D / scale, pure: for
    whole numbers this noise is the better one (rounding a continuous Laplace variable gives the
    same epsilon and more variance).

    Parameters
    ----------
    scale : Fraction
        Positive, numerator and denominator at most 2^48.
    count : int
        At least 0.
    source : RandomSource
        Secure, but in tests and simulation.
    compiled : bool
        True: compiled, with the same words for the same draws, bit for bit.

    Returns
    -------
    numpy.ndarray
        int64 [count].

    Notes
    -----
    Source: Canonne, Kamath and Steinke 2020, algorithm 2. ``exp(-a / b)`` is the chance that a
    run of coins of bias ``a / (b j)``, j = 1, 2, ..., first fails at an odd place. About 9 words
    a draw.
    """
    parts = laplace_fraction(scale)
    kernel: Any = None
    if compiled:
        from lapwing.privacy.sampling.noise_kernels import (
            discrete_laplaces as kernel,  # imports numba
        )
    return drawn_from(
        source, count, one_discrete_laplace, parts, compiled=kernel, each=10, plenty=_PLENTY
    )


def one_discrete_laplace(words: Iterator[int], numerator: int, denominator: int) -> int:
    """Return one draw at scale numerator / denominator: the definition."""
    while True:
        place = scalar_below(words, numerator)
        if not exponential_coin(words, place, numerator):
            continue
        turns = 0
        while exponential_coin(words, 1, 1):
            turns += 1
        # place + numerator * turns is geometric with ratio exp(-1 / numerator).
        value = (place + numerator * turns) // denominator
        negative = next(words) >> 63
        # Zero has two signs; one of them is drawn anew.
        if negative and value == 0:
            continue
        return -value if negative else value


def exponential_coin(words: Iterator[int], numerator: int, denominator: int) -> bool:
    """Return True with probability ``exp(-numerator / denominator)``, for a ratio in [0, 1]."""
    index = 1
    while scalar_below(words, denominator * index) < numerator:
        index += 1
    return index % 2 == 1
