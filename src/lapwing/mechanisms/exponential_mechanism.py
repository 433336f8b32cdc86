"""Choosing the largest of some whole numbers privately, by exact draws."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.privacy.sampling.discrete_laplace import exponential_coin
from lapwing.privacy.sampling.randomness import scalar_below


def exponential_mechanism(scores: NDArray[np.int64], scale: Fraction, words: Iterator[int]) -> int:
    """Return index i with probability proportional to ``exp(scores[i] / scale)``, exactly.

    The same law as the largest score after Gumbel noise of this scale is added to each.

    Parameters
    ----------
    scores : numpy.ndarray
        int64 [candidates].
    scale : Fraction
        Positive.
    words : iterator of int
        Random 64-bit words.

    Privacy
    -------
    If the difference of any two scores changes by at most R between neighbors, the log-ratio of
    the probabilities of any two outcomes changes by at most ``R / scale``: bounded range, which
    is ``R / scale`` differentially private and ``(R / scale)^2 / 8`` zero-concentrated (Cesar and
    Rogers 2021). The time it takes depends on the scores.

    Cost
    ----
    On average at most as many proposals as candidates.
    """
    largest = int(scores.max())
    gaps = [largest - int(score) for score in scores]
    while True:
        i = scalar_below(words, len(gaps))
        if _falls(gaps[i] / scale, words):
            return i


def _falls(exponent: Fraction, words: Iterator[int]) -> bool:
    """Return True with probability ``exp(-exponent)``, for any exponent of at least 0."""
    whole, rest = divmod(exponent, 1)
    # Beyond 2^10 the coins end long before; the loop is short on average anyway.
    for _ in range(int(whole)):
        if not exponential_coin(words, 1, 1):
            return False
    return exponential_coin(words, rest.numerator, rest.denominator)


def noisy_maximum(scores: NDArray[np.int64], noise: NDArray[np.int64]) -> int:
    """Return the index of the largest score after noise that was drawn before; the first of equals.

    Privacy
    -------
    With discrete Laplace noise of scale b: given the others' noise, an index wins when its own
    noise passes a threshold, which moves by at most R between neighbors, so the cost is
    ``R / b``. For absolute values of residuals R is up to twice the sensitivity of one score,
    which the published matching pursuit overlooks.
    """
    return int(np.argmax(scores + noise))
