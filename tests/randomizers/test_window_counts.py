"""Counts of people who are uniform in windows: the joint law, without drawing people."""

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from lapwing.randomizers.window_counts import (
    spread_evenly,
    spread_in_circular_windows,
    spread_in_windows,
)
from tests.false_alarms import (
    PAIR_REPEATS,
    SIMULATED_REPEATS,
    accepts,
    moments_tail,
    multinomial_tail,
)

Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _line(width: int, points: int) -> Draw:
    return lambda people, rng: spread_in_windows(people, width=width, points=points, rng=rng)


def _circle(width: int) -> Draw:
    return lambda people, rng: spread_in_circular_windows(people, width=width, rng=rng)


def _windows(starts: int, width: int, points: int) -> np.ndarray:
    """Return the probability of every point for each start: float64 [points, starts]."""
    table = np.zeros((points, starts))
    for start in range(starts):
        for step in range(width):
            table[(start + step) % points, start] += 1 / width
    return table


CASES = [
    pytest.param(_line(5, 12), 8, 5, 12, id="line"),
    pytest.param(_line(3, 20), 8, 3, 20, id="a line with room behind"),
    pytest.param(_line(9, 9), 1, 9, 9, id="one window that is all"),
    pytest.param(_circle(3), 8, 3, 8, id="circle"),
    pytest.param(_circle(1), 5, 1, 5, id="points on a circle"),
    pytest.param(_circle(7), 7, 7, 7, id="all round"),
]


@pytest.mark.parametrize(("draw", "starts", "width", "points"), CASES)
def test_means_and_covariances(draw: Draw, starts: int, width: int, points: int) -> None:
    people = 150 * (1 + np.arange(starts) * 3 % 5)
    table = _windows(starts, width, points)
    mean = table @ people
    covariance = np.diag(mean) - (table * people) @ table.T
    rng = np.random.default_rng(1)
    drawn = np.array([draw(people, rng) for _ in range(SIMULATED_REPEATS)], dtype=float)
    assert (drawn.sum(axis=1) == people.sum()).all() and drawn.min() >= 0
    assert accepts(moments_tail(drawn, mean, covariance))


@pytest.mark.parametrize(("draw", "starts", "width", "points"), CASES)
def test_joint_law_of_two_people(draw: Draw, starts: int, width: int, points: int) -> None:
    people = np.zeros(starts, dtype=np.int64)
    people[0] += 1
    people[starts // 2] += 1
    table = _windows(starts, width, points)
    exact: Counter[tuple[int, ...]] = Counter()
    for one, two in itertools.product(range(points), repeat=2):
        counts = np.bincount([one, two], minlength=points)
        exact[tuple(counts.tolist())] += table[one, 0] * table[two, starts // 2]
    rng = np.random.default_rng(2)
    found = Counter(tuple(draw(people, rng).tolist()) for _ in range(PAIR_REPEATS))
    keys = sorted(set(exact) | set(found))
    observed = np.array([found[key] for key in keys])
    assert accepts(multinomial_tail(observed, np.array([exact[key] for key in keys])))


def test_a_wrong_split_is_found() -> None:
    """A tenth of one point put on the next: the means tell. A total that is not kept, too."""
    people = np.full(8, 300)
    table = _windows(8, 5, 12)
    mean = table @ people
    covariance = np.diag(mean) - (table * people) @ table.T
    rng = np.random.default_rng(3)
    lopsided = []
    for _ in range(SIMULATED_REPEATS):
        drawn = spread_in_windows(people, width=5, points=12, rng=rng)
        moved = rng.binomial(drawn[4], 0.1)
        drawn[4] -= moved
        drawn[5] += moved
        lopsided.append(drawn)
    assert not accepts(moments_tail(np.array(lopsided, dtype=float), mean, covariance))
    independent = rng.poisson(mean, size=(SIMULATED_REPEATS, 12)).astype(float)
    assert not accepts(moments_tail(independent, mean, covariance))


def test_people_are_kept_for_any_number_and_width() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        starts, width = int(rng.integers(1, 40)), int(rng.integers(1, 60))
        points = starts + width - 1 + int(rng.integers(0, 5))
        people = rng.integers(0, 2**40, size=starts)
        people[rng.random(starts) < 0.3] = 0
        drawn = spread_in_windows(people, width=width, points=points, rng=rng)
        assert drawn.shape == (points,) and drawn.sum() == people.sum() and drawn.min() >= 0
        assert not drawn[starts + width - 1 :].any()
        first = int(np.flatnonzero(people)[0]) if people.any() else points
        assert not drawn[:first].any()
        around = min(width, starts)
        circle = spread_in_circular_windows(people, width=around, rng=rng)
        assert circle.shape == (starts,) and circle.sum() == people.sum()


def test_even_spread() -> None:
    rng = np.random.default_rng(5)
    drawn = spread_evenly(700_000, 7, rng)
    assert drawn.sum() == 700_000 and accepts(multinomial_tail(drawn, np.full(7, 1 / 7)))
    assert spread_evenly(0, 3, rng).tolist() == [0, 0, 0]
    assert spread_evenly(2**50, 2**20, rng).sum() == 2**50
