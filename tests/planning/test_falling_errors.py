"""Predicted errors fall: neither more people nor a larger epsilon may make them worse."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import lapwing as lw
from lapwing.planning import error_sheet
from lapwing.planning.recommendation import DISTANCES, PAIRS, shipped
from lapwing.planning.simulation import KINDS

GRID = [0.05, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 0.85, 1, 1.7, 2, 3, 4, 5, 8, 16]
CROWDS = [1, 3, 10, 300, 999, 1000, 3000, 10**4, 10**5, 10**7, 10**8, 10**9]


@pytest.mark.parametrize("pair", PAIRS)
def test_errors_rise_neither_with_people_nor_with_epsilon(pair: str) -> None:
    # Nodes of 1000 people and 256 bins rise, and lines beyond the table cross.
    table, checked = shipped(), 0
    known = table.sizes(pair)
    for size in sorted({*known, known[0] + 1, *([24, 4096] if known[-1] > 32 else [])}):
        errors = {
            (distance, kind): np.empty((len(GRID), len(CROWDS)))
            for distance in DISTANCES
            for kind in KINDS
        }
        for row, epsilon in enumerate(GRID):
            for column, users in enumerate(CROWDS):
                found = table.errors(pair, size=size, epsilon=epsilon, users=users)
                for (distance, kind), every in errors.items():
                    every[row, column] = np.log(found[distance][kind])
        for every in errors.values():
            assert np.diff(every, axis=0).max() < 1e-9
            assert np.diff(every, axis=1).max() < 1e-9
            assert every.max() <= 0
            checked += 1
    assert checked >= 4 * len(DISTANCES) * len(KINDS)


def test_what_falls_is_left_and_what_rises_is_pooled() -> None:
    falls = np.array([0.0, -1.0, -1.0, -7.5])
    assert np.array_equal(error_sheet.falling(falls), falls)
    given = np.random.default_rng(3).normal(size=(200, 6))
    for values in given:
        found = error_sheet.falling(values)
        np.testing.assert_allclose(found, isotonic_regression(values, increasing=False).x)
    # Above others before, nowhere below them behind.
    for values, others in zip(given, given + np.abs(given[::-1]), strict=True):
        assert (error_sheet.falling(values) <= error_sheet.falling(others) + 1e-12).all()


@pytest.mark.parametrize("size", [3, 7, 256])
@pytest.mark.filterwarnings("ignore::lapwing.errors.PrivacyWarning")
def test_a_larger_epsilon_and_a_larger_error_need_no_more_people(size: int) -> None:
    domain = lw.Integers(1, size, outside="clip")
    needed = np.array(
        [
            [
                lw.recommend(domain, epsilon=epsilon, error=error, kind="spiky").users
                for error in (0.3, 0.12, 0.004)
            ]
            for epsilon in (0.4, 0.5, 0.7, 0.85, 4, 5)
        ]
    )
    assert (np.diff(needed, axis=0) <= 0).all()
    assert (np.diff(needed, axis=1) >= 0).all()
    assert needed[-1, 0] < needed[0, -1]
