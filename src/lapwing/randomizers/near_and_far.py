"""Two levels of probability: how likely "near" may be, and what the worst ratio then is.

A randomizer with `epsilon`, `near` and `far` (how many outputs are near a value and how many are
not, or numbers in that ratio) takes its threshold and its certificate from here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lapwing.errors import PrivacyError
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import WORD


def near_threshold(randomizer: Any) -> int:
    """T: a report is near its value with probability T / 2^64.

    Notes
    -----
    The largest integer for which ``(T / near) / ((2^64 - T) / far)`` is at most a rational lower
    bound of ``e^epsilon``.
    """
    odds = exponential_bounds(randomizer.epsilon)[0] * randomizer.near
    return int(WORD * odds / (odds + randomizer.far))


def near_certificate(randomizer: Any) -> Certificate:
    """Return the exact worst-case likelihood ratio."""
    threshold = randomizer.threshold
    ratio = Fraction(threshold * randomizer.far, (WORD - threshold) * randomizer.near)
    return Certificate(randomizer.epsilon, max(ratio, 1 / ratio))


def check_near(randomizer: Any) -> None:
    """Refuse a threshold with which near outputs are no more likely than far ones.

    Raises
    ------
    PrivacyError
    """
    threshold = randomizer.threshold
    if threshold * randomizer.far <= (WORD - threshold) * randomizer.near:
        raise PrivacyError(
            "epsilon is too small to be expressed by 64-bit thresholds on this domain; "
            "reports would carry no information"
        )
