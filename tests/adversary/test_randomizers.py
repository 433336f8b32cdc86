"""No report of any randomizer tells two values apart better than promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.privacy.sampling.randomness import WORD
from lapwing.survey.survey import RANDOMIZERS
from tests.adversary.randomizers import exact_excess, randomizers, sampled_excess
from tests.adversary.sampled import lower_log_ratio, worst_event
from tests.contracts.registered import RandomizerCase, randomizer_cases

SOAK = pytest.mark.soak
SMALL = {
    str(case.id).partition(",")[0]: case
    for case in randomizer_cases(1, domains=("integers", "eight", "categories", "categories-eight"))
}
"""One domain of each randomizer."""


@pytest.mark.parametrize(("most", "draws"), [(2, 10_000), pytest.param(20, 200_000, marks=SOAK)])
def test_no_report_costs_more_than_epsilon(most: int, draws: int) -> None:
    shown = dict.fromkeys(RANDOMIZERS, 0.0)
    sampled: dict[str, int] = {}
    for name, randomizer in randomizers(most=most):
        excess = exact_excess(randomizer)
        if excess is not None:
            assert 0.9 < excess <= 1, randomizer
            shown[name] = 1.0
        # Of the vectorized path that is really used, which may consume words otherwise.
        if excess is None or sampled.setdefault(name, 0) < 1:
            sampled[name] = sampled.get(name, 0) + 1
            share = sampled_excess(randomizer, draws=draws)
            assert share <= 1, randomizer
            shown[name] = max(shown[name], share)
    assert min(shown.values()) > 0.3, f"nothing was seen of one of these: {shown}"


@pytest.mark.parametrize("case", SMALL.values())
def test_a_threshold_one_too_high_is_found_by_the_exact_law(case: RandomizerCase) -> None:
    assert exact_excess(case.randomizer) <= 1
    assert exact_excess(case.row.loosen(case.randomizer)) > 1


def test_reports_of_a_larger_epsilon_are_found_by_counting() -> None:
    right = lw.RandomizedResponse(lw.Categories(3), epsilon=1)
    loose: Any = lw.RandomizedResponse(lw.Categories(3), epsilon=1)
    loose.__dict__["_threshold"] = WORD * 3 // 4
    assert sampled_excess(right, draws=10_000) <= 1 < sampled_excess(loose, draws=10_000)


def test_counting_is_not_fooled_by_the_event_that_it_chose() -> None:
    """Equal laws, and laws exactly at the bound, are never over it; twice the bound is."""
    rng = np.random.default_rng(3)
    draws = [rng.laplace(at, 1, (20_000, 1)) for at in (0, 0, 1, 2)]
    assert worst_event(draws[0], draws[1]) <= 0.1
    assert 0.5 < worst_event(draws[0], draws[2]) <= 1 < worst_event(draws[0], draws[3])
    assert lower_log_ratio(np.ones(5, bool), np.zeros(5, bool)) < 1
