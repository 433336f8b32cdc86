"""Warnings of a delta or an epsilon that protects little, and silence where it does."""

import warnings
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import PrivacyWarning
from lapwing.results.weak_parameters import delta_line

AGES = lw.Interval(0, 100, bins=10)


def said_of(call: Any) -> list[str]:
    """Return the privacy warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if one.category is PrivacyWarning]


def released(people: int = 100, **parameters: Any) -> list[str]:
    parameters = {"neighbors": "replace-one", "epsilon": 1, **parameters}
    values = np.linspace(0, 100, people)
    return said_of(lambda: lw.release(values, AGES, **parameters))


@pytest.mark.parametrize("delta", ["0.01", "0.5"])
def test_a_delta_of_one_over_n_is_warned_of_with_the_figure(delta: str) -> None:
    (said,) = released(delta=delta)
    assert f"delta {delta} is not below 1/n = 0.01 (n = 100 people)" in said
    assert "at most 1e-06" in said


@pytest.mark.parametrize("delta", ["0", "1e-6", "0.00999"])
def test_a_delta_below_one_over_n_and_the_limit_is_not(delta: str) -> None:
    found = released(delta=delta)
    assert len(found) == (float(delta) > 1e-3)
    assert not any("1/n =" in said for said in found)


def test_where_the_number_of_people_is_secret_no_warning_depends_on_it() -> None:
    for people in (100, 3000):
        assert not released(people, delta="0.001", neighbors="add-or-remove-one")
        (said,) = released(people, delta="0.002", neighbors="add-or-remove-one")
        assert "above 0.001" in said and "1/n =" not in said


def test_rows_of_units_do_not_tell_their_number() -> None:
    whose = np.arange(100)
    assert not released(delta="0.001", unit=whose, most=1)


def test_epsilon_four_is_not_warned_of() -> None:
    assert not released(epsilon=4)


def test_plans_and_bounds_warn_as_releases_do() -> None:
    def planned(people: int, **more: Any) -> list[str]:
        ask = {"neighbors": "replace-one", "epsilon": 1, "delta": "1e-6", **more}
        return said_of(lambda: lw.expected_error(lw.Categories(3), people, **ask))

    assert not planned(999_999)
    (said,) = planned(1_000_000)
    assert "n = 1,000,000 people" in said and "at most 1e-08" in said
    (said,) = planned(1000, unit=[0], most=2, delta="1e-3")
    assert "1,000 rows" in said
    bounds = {"neighbors": "replace-one", "epsilon": 1, "delta": "0.1"}
    (said,) = said_of(lambda: lw.private_bounds(np.arange(100.0), **bounds))
    assert "n = 100 people" in said
    (said,) = said_of(lambda: lw.recommend(AGES, epsilon=5, users=10_000))
    assert "Someone who sees one report" in said
    assert not said_of(lambda: lw.recommend(AGES, epsilon=4, users=10_000))


@pytest.mark.parametrize("people", [9_999, 99_999])
def test_the_line_of_a_dry_run_begins_at_a_tenth(people: int) -> None:
    promise = lw.privacy.Promise("replace-one", epsilon=1, delta="1e-6")
    assert delta_line(promise, people) is None
    near = lw.privacy.Promise("replace-one", epsilon=1, delta=f"{1 / (10 * people) * 1.001:.9f}")
    line = delta_line(near, people)
    assert line is not None and " is 0.1 of 1/n" in line


@pytest.mark.parametrize(("words", "most"), [("mu", 4), ("rho", 8)])
def test_mu_and_rho_are_judged_by_what_a_guess_gains(words: str, most: float) -> None:
    """The epsilon that states mu = 1 is 4.89, but a guess of 50% is then right in 69%."""
    for weak in (most / 4, most):
        assert not released(epsilon=None, **{words: weak})
    (said,) = released(epsilon=None, **{words: most + 0.1})
    assert "is above 4" in said
