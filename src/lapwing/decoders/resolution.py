"""How many steps of a density the reports can distinguish: a rule of channel, people and domain.

The standard error of a step's share is that of a weighted least-squares estimate at the flat
distribution. The estimate is of a density that is constant on each step. The error is the inverse
of the information about the steps, under the known total of one. An estimate of all bins at once
has a far larger error. Most of it is about differences within steps, which a picture of steps does
not show.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from lapwing.linear.blas_threads import one_thread
from lapwing.linear.memoized import memoized
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Channel
from lapwing.results.steps import (
    KEY,
    LEAST_STEPS,
    MOST_STEPS,
    flat_shares,
    preferred_steps,
    step_numbers,
)

RELATIVE_ERROR = 0.25
"""Of a step's share, in parts of the mean share: what is merged has a larger one."""


def steps_entry(channel: Any, reports: int) -> dict[str, int]:
    """Return the entry of a result's provenance about its steps, empty for labels and logs."""
    known = isinstance(channel, Channel) and channel.domain.ordered and reports > 0
    steps = resolved_steps(channel, reports) if known else None
    return {} if steps is None else {KEY: steps}


@one_thread
def resolved_steps(channel: Channel, reports: int) -> int | None:
    """Return the most steps of a density that so many reports can distinguish, None for labels.

    reports: People.

    Notes
    -----
    The most steps, at least 8 and at most 256, whose shares are precise. The root mean square of
    their standard errors is at most a quarter of the mean share. Bins are merged in equal numbers
    where that costs less than a third of the steps. Declared atoms, and the symbols for values
    outside the range and for missing ones, are estimated along with the steps, and are no steps
    themselves.
    """
    domain = channel.domain
    if not domain.ordered:
        return None
    bins = int((flat_shares(domain) > 0).sum())
    most = -(-bins // -(-bins // MOST_STEPS))

    def fine(steps: int) -> bool:
        return step_error(channel, reports, steps) <= RELATIVE_ERROR

    # The error grows with the number of steps. Few are tried first, which is quicker.
    low = min(LEAST_STEPS, bins)
    while low < most and fine(min(2 * low, most)):
        low = min(2 * low, most)
    high = min(2 * low, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fine(middle) else (low, middle)
    return preferred_steps(bins, low)


def step_error(channel: Channel, reports: int, steps: int) -> float:
    """Return the standard error of a step's share, in parts of the mean share.

    The root mean square over the steps, infinite where they cannot be estimated.

    channel: On an ordered domain.
    """
    known = _unit_errors(channel.fingerprint, channel.domain.size)
    if steps not in known:
        known[steps] = _unit_error(channel, steps)
    law = channel.blocks[0].law
    if isinstance(law, AdditiveNoise):
        noise = known[steps] * math.sqrt(law.variance) / reports
        return math.hypot(noise, math.sqrt(steps / reports))
    return known[steps] / math.sqrt(reports)


@memoized(most=64)
def _unit_errors(fingerprint: str, size: int) -> dict[int, float]:
    """Return the errors of a channel that are known, by the number of steps."""
    return {}


def _unit_error(channel: Channel, steps: int) -> float:
    """Return the relative error with one report. Of a release with one person and unit noise."""
    size = channel.domain.size
    shares = flat_shares(channel.domain)
    places = step_numbers(channel.domain, steps)
    used, count = np.flatnonzero(shares > 0), int(places[-1]) + 1
    rest = np.setdiff1d(np.arange(size), used)
    columns = np.zeros((size, count + rest.size))
    columns[used, places] = shares[used]
    columns[rest, count + np.arange(rest.size)] = 1.0
    columns /= columns.sum(axis=0)
    uniform = np.full(size, 1 / size)
    information = np.zeros((columns.shape[1],) * 2)
    for block in channel.blocks:
        answers = block.operator.matmat(columns)
        if isinstance(block.law, AdditiveNoise):
            information += answers.T @ answers
        else:
            variance = np.maximum(block.covariance(uniform).variance(), 1e-300)
            information += answers.T @ ((block.share / variance)[:, None] * answers)
    try:
        inverse = cho_solve(cho_factor(information), np.eye(columns.shape[1]))
    except LinAlgError:
        return math.inf
    total = inverse.sum(axis=0)
    inverse -= np.outer(total, total) / total.sum()
    mean = float(np.diag(inverse)[:count].mean())
    return math.sqrt(max(mean, 0.0)) * count
