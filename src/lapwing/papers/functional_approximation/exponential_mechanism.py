"""The exponential mechanism over integer scores, without floating-point numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.privacy.integer_noise import exponential_coin
from lapwing.privacy.sampling.randomness import scalar_below


def exponential_mechanism(scores: NDArray[np.int64], scale: Fraction, words: Iterator[int]) -> int:
    """Exponential mechanism over integer scores, exactly (McSherry and Talwar, 2007).

    Index i is returned with probability proportional to ``exp(scores[i] / scale)``. The same
    distribution has the largest score after Gumbel noise of this scale is added to each.

    scores: int64 [candidates].
    scale: Positive.
    words: Random 64-bit words.
    returns: Chosen index.

    **Privacy.** Let the difference of any two scores change by at most R between neighbors. Then
    the log-ratio of the probabilities of any two outcomes changes by at most ``R / scale``, which
    is bounded range. That is ``R / scale`` differentially private and ``(R / scale)^2 / 8``
    zero-concentrated [1]_. The time it takes depends on the scores.

    The mechanism is that of [2]_.

    **Cost.** On average at most as many proposals as candidates.

    .. [1] M. Cesar, R. Rogers, "Bounding, concentrating, and truncating: unifying privacy loss
       composition for data analytics", ALT, 2021.
    .. [2] F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS, 2007.
       doi:10.1109/FOCS.2007.66
    """
    largest = int(scores.max())
    gaps = [largest - int(score) for score in scores]
    while True:
        i = scalar_below(words, len(gaps))
        if _exponential_trial(gaps[i] / scale, words):
            return i


def _exponential_trial(exponent: Fraction, words: Iterator[int]) -> bool:
    """Return True with probability ``exp(-exponent)``, for any exponent of at least 0."""
    whole, rest = divmod(exponent, 1)
    # Beyond 2^10 the coins end long before; the loop is short on average anyway.
    for _ in range(int(whole)):
        if not exponential_coin(words, 1, 1):
            return False
    return exponential_coin(words, rest.numerator, rest.denominator)
