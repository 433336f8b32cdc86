"""How many people notice a change: enough for a watch, and more for a smaller one."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, UnsupportedChannelError
from tests.survey.test_watch import looked

WAVE = lw.SquareWave(lw.Interval(0, 1, bins=24), 1)
FLAT = np.full(24, 1 / 24)


def test_so_many_people_are_enough_and_a_third_of_them_is_not() -> None:
    people = lw.Watch().people_needed(WAVE, change=0.1, weeks=2, before=4)
    tilt = np.cos(np.pi * (np.arange(24) + 0.5) / 24)
    moved = FLAT - 0.1 * tilt / np.abs(np.cumsum(tilt)).max()
    seen = {}
    for share in (1.0, 0.33):
        rng = np.random.default_rng(9)
        count = 0
        for repeat in range(5):
            weeks = [
                rng.multinomial(int(share * people), each) for each in [FLAT] * 4 + [moved] * 2
            ]
            survey = lw.Survey(f"{repeat}", WAVE)
            shuffled = [(survey, lw.simulate(WAVE, week, rng=rng)) for week in weeks]
            _, noticed = looked(shuffled)
            count += any(found.change is not None for found in noticed)
        seen[share] = count
    # By the plan each of 5 is noticed with .95 or more; with a third, hardly ever.
    assert seen[1.0] >= 3
    assert seen[0.33] <= 2


def test_smaller_changes_less_time_and_less_alpha_need_more_people() -> None:
    usual = lw.Watch().people_needed(WAVE, change=0.1)
    assert lw.Watch().people_needed(WAVE, change=0.05) > 3 * usual
    assert lw.Watch().people_needed(WAVE, change=0.1, weeks=1) > 1.5 * usual
    assert lw.Watch(0.001).people_needed(WAVE, change=0.1) > usual


def test_what_cannot_be_planned_is_refused() -> None:
    for wrong in ({"change": 0}, {"change": 0.1, "power": 1}, {"change": 0.1, "weeks": 0}):
        with pytest.raises(ArgumentError):
            lw.Watch().people_needed(WAVE, **wrong)  # type: ignore[arg-type]
    labels = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(4), 1)
    with pytest.raises(UnsupportedChannelError, match="numbers only"):
        lw.Watch().people_needed(labels, change=0.1)
