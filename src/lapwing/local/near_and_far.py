"""Two levels of probability: how likely "near" may be, and what the worst ratio then is."""

from __future__ import annotations

from fractions import Fraction

from lapwing.errors import PrivacyError
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import WORD


def near_threshold(epsilon: Fraction, near: int, far: int) -> int:
    """Return T, with which a report near the value, with probability T / 2^64, keeps epsilon.

    Parameters
    ----------
    epsilon : Fraction
    near, far : int
        Outputs that are near a value, and all others; or numbers in that ratio.

    Notes
    -----
    The largest integer for which ``(T / near) / ((2^64 - T) / far)`` is at most a rational lower
    bound of ``e^epsilon``.
    """
    odds = exponential_bounds(epsilon)[0] * near
    return int(WORD * odds / (odds + far))


def near_certificate(epsilon: Fraction, threshold: int, near: int, far: int) -> Certificate:
    """Return the exact worst-case likelihood ratio of a near and a far output."""
    ratio = Fraction(threshold * far, (WORD - threshold) * near)
    return Certificate(epsilon, max(ratio, 1 / ratio))


def check_near(threshold: int, near: int, far: int) -> None:
    """Refuse a threshold with which near outputs are no more likely than far ones.

    Raises
    ------
    PrivacyError
    """
    if threshold * far <= (WORD - threshold) * near:
        raise PrivacyError(
            "epsilon is too small to be expressed by 64-bit thresholds on this domain; "
            "reports would carry no information"
        )
