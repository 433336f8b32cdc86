"""Weeks that are named by dates: which are missing between them."""

from __future__ import annotations

import pytest

from lapwing.results.week_names import with_missing


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
    ],
)
def test_missing_dates_stand_in_their_place(names: str, missing: str) -> None:
    given = names.split()
    wanted = sorted([*given, *missing.split()]) if missing else given
    assert with_missing(given) == wanted
