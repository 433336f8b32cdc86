"""Which unbiased shares are too large to be noise."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector

Control = Literal["family-wise", "false-discovery"]

CONTROLS = ("family-wise", "false-discovery")


def check_test(alpha: float, control: str) -> None:
    """Raise ArgumentError unless these are a level and a name of a control."""
    number = isinstance(alpha, int | float) and not isinstance(alpha, bool)
    if not number or not 0 < alpha < 1:
        raise ArgumentError(f"alpha must be a number between 0 and 1, got {alpha!r}")
    if control not in CONTROLS:
        raise ArgumentError(f"control must be one of {', '.join(CONTROLS)}, got {control!r}")


def critical_score(scores: Vector, *, alpha: float, control: Control) -> float:
    """Return the score from which a value counts as significant.

    Parameters
    ----------
    scores : numpy.ndarray
        float64 [tests]: estimates over their standard deviations; normal where nothing is there.
    alpha : float
        In (0, 1).
    control : {"family-wise", "false-discovery"}
        "family-wise": any false one with probability at most alpha (Bonferroni: the normal
        quantile at ``1 - alpha / tests``). "false-discovery": among those found, an expected part
        of at most alpha is false (Benjamini and Hochberg 1995): the smallest score for which no
        more than ``alpha i / tests`` of the noise would be as large as the i-th largest score.

    Notes
    -----
    The second holds for independent scores, and where they depend positively. Those of a
    generalized response are slightly negatively correlated; the tests measure it.
    """
    tests = scores.size
    # The lower tail keeps its digits: for 2^40 tests the upper one would be rounded to one.
    strict = -NormalDist().inv_cdf(alpha / tests)
    if control == "family-wise":
        return strict
    from scipy.special import ndtr, ndtri

    # No score below this can pass, so most of many need not be sorted.
    ordered = np.sort(scores[scores > -ndtri(alpha)])[::-1]
    ranks = np.arange(1, ordered.size + 1)
    passed = np.flatnonzero(ndtr(-ordered) <= alpha * ranks / tests)
    if passed.size == 0:
        return strict
    return float(-ndtri(alpha * ranks[passed[-1]] / tests))
