"""Weeks that are named by dates: which are missing between them."""

import pytest

from lapwing.errors import ArgumentError
from lapwing.results.series_change import check_order, with_missing


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ("2026-W01 2026-W02 2026-W05", "2026-W03 2026-W04"),
        ("2020-W52 2021-W01 2021-W02", "2020-W53"),
        ("2025-W51 2025-W52 2026-W02", "2026-W01"),
        ("2026-W01 2026-W03 2026-W07", "2026-W05"),
        ("2026-W01 2026-W03 2026-W06", ""),
        ("2025-11 2025-12 2026-02", "2026-01"),
        ("2019 2020 2022", "2021"),
        ("2026-02-23 2026-03-02 2026-03-16", "2026-03-09"),
        ("2026-01-01 2026-02-01 2026-04-01", ""),
        ("2026-W01 2026-W04", ""),
        ("2026-W01 2026-W02 2026-W60", ""),
        ("2026-W01 2026-02 2026-W05", ""),
        ("week-1 week-2 week-4", ""),
        ("2026-W01", ""),
        ("t-2022-W01 t-2022-W02 t-2022-W04", "t-2022-W03"),
        ("age_2025-11 age_2026-01 age_2026-02", "age_2025-12"),
        ("2026-w48 2026-w49 2026-w51", "2026-w50"),
        ("a-2026-W48 b-2026-W49 a-2026-W51", ""),
        ("x2026 x2027 x2029", ""),
        ("12026-01 12026-03", ""),
    ],
)
def test_missing_dates_stand_in_their_place(names: str, missing: str) -> None:
    given = names.split()
    wanted = sorted([*given, *missing.split()]) if missing else given
    assert with_missing(given) == wanted


@pytest.mark.parametrize("names", ["t-2022-W02 t-2022-W01", "2026-w48 2026-W48", "a-2026 a-2025"])
def test_dates_at_the_end_of_names_are_in_order(names: str) -> None:
    with pytest.raises(ArgumentError, match="names must be in order"):
        check_order(names.split())


def test_names_that_begin_otherwise_are_not_compared() -> None:
    check_order(["north-2022-W02", "south-2022-W01", "last", "north-2022-W03"])
