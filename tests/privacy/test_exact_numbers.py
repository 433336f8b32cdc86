"""Whole numbers: what passes, what it becomes, and what the refusal says."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from lapwing.errors import ArgumentError, DomainError, PrivacyError
from lapwing.privacy.exact_numbers import (
    check_whole,
    check_whole_field,
    exact_epsilon,
    exact_number,
)


@pytest.mark.parametrize("given", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_kind_become_an_int(given: Any) -> None:
    found = check_whole("size", given, low=1, high=3)
    assert found == 3 and type(found) is int


@pytest.mark.parametrize("given", [True, np.True_, 3.0, np.float64(3), "3", None, [3]])
def test_nothing_else_is_one(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^size must be a whole number of at least 1, got "):
        check_whole("size", given, low=1)


@pytest.mark.parametrize(
    ("given", "limits", "message"),
    [
        (0, {"low": 1, "high": 4}, "size must be a whole number from 1 to 4, got 0"),
        (5, {"low": 1, "high": 4}, "size must be a whole number from 1 to 4, got 5"),
        (0, {"low": 1}, "size must be a whole number of at least 1, got 0"),
        (-1, {"low": 0, "high": 2**64 - 1}, "size must be a whole number from 0 to 2^64-1, got -1"),
        (
            2**30,
            {"low": 1, "high": 2**24},
            "from 1 to 2^24, got a number beyond 10^9",
        ),
        (
            10**5000,
            {"low": 1, "high": 9},
            "from 1 to 9, got a number beyond 10^9",
        ),
    ],
    ids=["below", "above", "no most", "powers", "large", "too long for a text"],
)
def test_a_refusal_says_the_limits_and_what_came(
    given: int, limits: dict[str, int], message: str
) -> None:
    with pytest.raises(DomainError) as refused:
        check_whole("size", given, **limits, error=DomainError)
    assert str(refused.value).startswith("size must be a whole number ")
    assert str(refused.value).endswith(message)


def test_a_field_is_put_right() -> None:
    @dataclass(frozen=True)
    class Made:
        size: Any

    made = Made(np.int32(2))
    check_whole_field(made, "size", low=1)
    assert type(made.size) is int
    with pytest.raises(ArgumentError, match="size must be a whole number from 5"):
        check_whole_field(made, "size", low=5, high=6)


def test_only_an_epsilon_is_told_that_there_is_no_privacy_without_one() -> None:
    with pytest.raises(PrivacyError, match="no privacy without a finite epsilon"):
        exact_epsilon("inf")
    with pytest.raises(PrivacyError, match=r"delta must be a finite number: .*, got nan$"):
        exact_number("nan", name="delta")
