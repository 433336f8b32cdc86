"""How far reports are from the law that they must have, and how often such a test errs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 1e-12
"""False alarms of one comparison."""

REPORTS_PER_VALUE = 200_000
"""Reports of each value in a test of their law. Enough for 1.1 epsilon to be told from epsilon = 1:
the divergence is at least .0011 nats a report, so the statistic is about 220 or more, against a
threshold near 53 for 10 outputs, and 340 against 142 for the 64 of a symmetric unary encoding."""


def multinomial_tail(counts: NDArray[Any], probabilities: NDArray[Any]) -> float:
    """Return a bound of P(divergence >= that of the counts) under a multinomial law.

    With n draws from k outputs, ``P(n KL(observed | law) >= g) <= e^-g (e g / (k - 1))^(k - 1)``
    for g > k - 1, for every n (Agrawal 2020, theorem 1.2). A count where the law has probability
    zero gives 0.
    """
    counts = np.asarray(counts, dtype=np.float64)
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if counts.shape != probabilities.shape or not abs(probabilities.sum() - 1) < 1e-9:
        raise AssertionError("a multinomial law needs a probability for each count, 1 in all")
    if counts[probabilities == 0].any():
        return 0.0
    used = probabilities > 0
    freedom = int(used.sum()) - 1
    held = counts > 0
    expected = counts.sum() * probabilities[held]
    divergence = float(np.dot(counts[held], np.log(counts[held] / expected)))
    if freedom == 0 or divergence <= freedom:
        return 1.0
    return math.exp(-divergence + freedom * math.log(math.e * divergence / freedom))


def report_tail(reports: NDArray[np.uint8], law: dict[bytes, Fraction]) -> float:
    """Return how far out the frequencies of reports, uint8 [n, width], are under a law."""
    rows = np.ascontiguousarray(reports).view(f"V{reports.shape[1]}").ravel()
    found: NDArray[Any]
    if reports.shape[1] == 1:
        found, counts = np.arange(256, dtype=np.uint8), np.bincount(reports[:, 0], minlength=256)
    else:
        found, counts = np.unique(rows, return_counts=True)
    seen = dict(zip([report.tobytes() for report in found], counts.tolist(), strict=True))
    keys = sorted({report for report, count in seen.items() if count} | set(law))
    observed = np.array([seen.get(report, 0) for report in keys])
    probabilities = np.array([float(law.get(report, 0)) for report in keys])
    return multinomial_tail(observed, probabilities)
