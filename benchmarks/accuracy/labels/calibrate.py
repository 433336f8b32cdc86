"""Calibrate: shares of labels under a power law whose exponent is fitted to the reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

EXPONENTS = np.round(np.arange(0.5, 4.01, 0.05), 2)
EXACT = 64
"""Counts up to this one are points of their own; larger ones stand in bins of equal ratio."""

BINS = 300
ROWS = 2000
"""Labels at a time, so that the table of densities stays small."""


@dataclass(frozen=True)
class Shares:
    """An estimate that need not add up to one: float64 [labels]."""

    mass: Vector


@dataclass(frozen=True)
class Calibrate:
    """The mean of each label's count given its report, under a prior fitted to all of them.

    How many people hold a label is drawn from ``P(k) ~ k^-a``, k from 1 to all people; its
    unbiased estimate is k plus Gaussian noise of known variance. The exponent a makes all
    estimates together likeliest; then each label gets its posterior mean.

    Source: Jia and Gong, Calibrate, INFOCOM 2019. Differs: the exponent is the likeliest one of a
    grid, instead of one fitted by moments.
    """

    def decode(self, channel: Any, tally: Any) -> Shares:
        """Return the calibrated shares of a pure protocol's tally."""
        own, other = channel.blocks[0].operator.compound
        people = tally.total
        estimate = (tally.blocks[0] - people * other) / (own - other)
        # That of a label that nobody holds, as the paper takes it for all.
        spread = np.sqrt(people * other * (1 - other)) / (own - other)
        return Shares(posterior_means(estimate, float(spread), people)[0] / people)


def counts_and_widths(people: int) -> tuple[Vector, Vector]:
    """Return the counts of the prior's points and how many counts each stands for."""
    exact = min(EXACT, people)
    edges = np.geomspace(exact + 0.5, people + 0.5, BINS + 1) if people > exact else np.empty(0)
    small = np.arange(1.0, exact + 1)
    counts = np.concatenate([small, np.sqrt(edges[1:] * edges[:-1])])
    return counts, np.concatenate([np.ones(exact), np.diff(edges)])


def posterior_means(estimate: Vector, spread: float, people: int) -> tuple[Vector, float]:
    """Return the posterior mean of every label's count, and the fitted exponent."""
    counts, widths = counts_and_widths(people)
    priors = widths[:, None] * counts[:, None] ** -EXPONENTS
    priors /= priors.sum(axis=0)
    likelihood = np.zeros(EXPONENTS.size)
    sums, weighted = [], []
    for start in range(0, estimate.size, ROWS):
        gap = (estimate[start : start + ROWS, None] - counts) / spread
        least = (gap**2).min(axis=1, keepdims=True)
        density = np.exp(-(gap**2 - least) / 2)
        sums.append(density @ priors)
        weighted.append(density @ (priors * counts[:, None]))
        likelihood += np.log(np.maximum(sums[-1], 1e-300)).sum(axis=0)
    best = int(np.argmax(likelihood))
    below = np.maximum(np.concatenate([one[:, best] for one in sums]), 1e-300)
    return np.concatenate([one[:, best] for one in weighted]) / below, float(EXPONENTS[best])
