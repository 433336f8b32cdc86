"""Sampled ratios: real draws of both sides; events chosen on one half, counted on the other."""

from __future__ import annotations

import numpy as np
from scipy import stats

from tests.false_alarms import LEVEL


def lower_log_ratio(first: np.ndarray, second: np.ndarray, *, delta: float = 0.0) -> float:
    """Return a bound that the log-ratio of some event exceeds, but for chance LEVEL.

    Exact binomial bounds (Clopper and Pearson 1934) for one event, which was chosen on other draws.

    Parameters
    ----------
    first, second : numpy.ndarray
        bool [draws]: whether the event came, of each side.
    delta : float
        What approximate privacy takes off the first probability.
    """
    one, two, n, m = int(first.sum()), int(second.sum()), first.size, second.size
    low = stats.beta.ppf(LEVEL / 2, one, n - one + 1) if one else 0.0
    high = stats.beta.ppf(1 - LEVEL / 2, two + 1, m - two) if two < m else 1.0
    return float(np.log(max(low - delta, 1e-300) / high))


def worst_event(first: np.ndarray, second: np.ndarray, *, delta: float = 0.0) -> float:
    """Return the bound for the best event of rows of numbers, either way round.

    Events: half-lines of every column and of the sum of columns towards the other side's mean.
    The first half of the draws chooses; the second half is what the bound is about.
    """
    halves = [np.array_split(side.astype(np.float64), 2) for side in (first, second)]
    direction = np.sign(halves[0][0].mean(axis=0) - halves[1][0].mean(axis=0))
    found = []
    for scored in (
        lambda rows: rows @ direction,
        *(lambda rows, i=i: rows[:, i] for i in range(first.shape[1])),
    ):
        learn, test = ([scored(side[half]) for side in halves] for half in (0, 1))
        cuts = np.unique(np.quantile(np.concatenate(learn), np.linspace(0.02, 0.98, 49)))
        for cut in cuts:
            for above in (True, False):
                for a, b in ((0, 1), (1, 0)):
                    events = [(side > cut) == above for side in learn]
                    value = lower_log_ratio(events[a], events[b], delta=delta)
                    found.append((value, cut, above, a, b, test))
    _, cut, above, a, b, test = max(found, key=lambda each: each[0])
    return lower_log_ratio((test[a] > cut) == above, (test[b] > cut) == above, delta=delta)


def worst_report(first: np.ndarray, second: np.ndarray) -> float:
    """Return the bound for the best set of reports, bytes [draws, width], either way round."""
    _, codes = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    sides = [np.array_split(side, 2) for side in (codes[: len(first)], codes[len(first) :])]
    seen = [np.bincount(side[0], minlength=codes.max() + 1) + 0.5 for side in sides]
    ratios = np.log(seen[0] / seen[1])
    found = []
    for a, sign in ((0, 1), (1, -1)):
        for cut in np.quantile(sign * ratios, np.linspace(0, 0.99, 40)):
            chosen = sign * ratios >= cut
            events = [chosen[side[0]] for side in sides]
            found.append((lower_log_ratio(events[a], events[1 - a]), a, chosen))
    _, a, chosen = max(found, key=lambda each: each[0])
    tested = [chosen[side[1]] for side in sides]
    return lower_log_ratio(tested[a], tested[1 - a])
