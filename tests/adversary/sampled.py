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
    counts = np.array([first.sum()]), np.array([second.sum()])
    return float(_bounds(*counts, first.size, second.size, delta)[0])


def _bounds(one: np.ndarray, two: np.ndarray, n: int, m: int, delta: float = 0.0) -> np.ndarray:
    """Return that bound for events that came `one` times in `n` draws and `two` times in `m`."""
    low = stats.beta.ppf(LEVEL / 2, np.maximum(one, 1), n - one + 1)
    high = stats.beta.ppf(1 - LEVEL / 2, two + 1, np.maximum(m - two, 1))
    low, high = np.where(one > 0, low, 0.0), np.where(two < m, high, 1.0)
    return np.log(np.maximum(low - delta, 1e-300) / high)


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
        over = [(side[:, None] > cuts).sum(axis=0) for side in learn]
        for above in (True, False):
            counts = [o if above else s.size - o for o, s in zip(over, learn, strict=True)]
            for a, b in ((0, 1), (1, 0)):
                values = _bounds(counts[a], counts[b], learn[a].size, learn[b].size, delta)
                best = int(values.argmax())
                found.append((values[best], cuts[best], above, a, b, test))
    _, cut, above, a, b, test = max(found, key=lambda each: each[0])
    return lower_log_ratio((test[a] > cut) == above, (test[b] > cut) == above, delta=delta)


def worst_report(first: np.ndarray, second: np.ndarray) -> float:
    """Return the bound for the best set of reports, one number each [draws], either way round."""
    both = np.concatenate([first, second])
    codes = (np.cumsum(np.bincount(both) > 0) - 1)[both]
    sides = [np.array_split(side, 2) for side in (codes[: len(first)], codes[len(first) :])]
    seen = [np.bincount(side[0], minlength=codes.max() + 1) for side in sides]
    ratios = np.log((seen[0] + 0.5) / (seen[1] + 0.5))
    found = []
    for a, sign in ((0, 1), (1, -1)):
        cuts = np.unique(np.quantile(sign * ratios, np.linspace(0, 0.99, 40)))
        events = [np.array([side[sign * ratios >= cut].sum() for cut in cuts]) for side in seen]
        values = _bounds(events[a], events[1 - a], len(sides[a][0]), len(sides[1 - a][0]))
        best = int(values.argmax())
        found.append((values[best], a, sign * ratios >= cuts[best]))
    _, a, chosen = max(found, key=lambda each: each[0])
    tested = [chosen[side[1]] for side in sides]
    return lower_log_ratio(tested[a], tested[1 - a])
