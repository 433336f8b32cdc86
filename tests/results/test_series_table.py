"""Tables and quantiles of a series, worked out by hand: distinct columns, values out of range."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import csv_rows, tables_of
from lapwing.results.answers import answer_of
from lapwing.results.readable import csv_of
from lapwing.results.series import Series, SeriesWeek
from tests.signed_decoder import projected, unbiased


def labeled(labels: list[str], people: list[int]) -> Series:
    """Return two weeks, the second of which is a gap."""
    survey = lw.RandomizedResponse(lw.Categories(labels), 3)
    found = projected(unbiased(survey.channel, lw.simulate(survey, people, rng=1)))
    return Series((SeriesWeek("one", found), SeriesWeek("two", None, "nobody reported")))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["week", "people", "interval"], ["week_share", "people_share", "interval_share"]),
        (["a", "a_low", "b"], ["a", "a_low_share", "b"]),
        (["a_low", "a", "b"], ["a_low", "a_share", "b"]),
        (
            ["week", "week_share", "change_low"],
            ["week_share", "week_share_share", "change_low_share"],
        ),
    ],
)
def test_columns_of_labels_are_distinct(labels: list[str], names: list[str]) -> None:
    series = labeled(labels, [50_000, 30_000, 10_000])
    first = series[0].distribution
    assert first is not None
    shown = series.to_dict()
    ends = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    assert list(shown) == ["week", "people", "change", *ends, "interval", "about"]
    assert shown["week"] == ["one", "two"]
    assert shown["people"] == [90_000, 0]
    assert shown["interval"] == ["simultaneous", None]
    assert [shown[name] for name in names] == [[share, None] for share in first.mass.tolist()]
    assert list(series.to_pandas().columns) == list(shown)
    answer: Any = answer_of(series, AnswerRequest())
    assert list(answer["weeks"][0]) == list(shown)
    header = next(csv.reader(io.StringIO(csv_of(csv_rows(answer)))))
    assert header == list(shown)
    # The screen leaves the intervals out, and no label; `change` says why there are none.
    assert list(tables_of(answer, "")[0].headers) == ["week", "people", "change", *names]


@pytest.mark.parametrize("order", [[0, 1, None], [1, 0, None], [None, 1, 0]])
@pytest.mark.parametrize(
    ("ends", "unit", "inside"),
    [
        (("08:00", "18:00"), "time-of-day", str),
        (("2024-01-01", "2024-02-10"), "date", np.datetime64),
    ],
)
def test_quantiles_above_the_range_are_infinite_numbers(
    ends: Any, unit: Any, inside: Any, order: list[int | None]
) -> None:
    domain = lw.Interval(*ends, bins=40, unit=unit, outside="overflow")
    counts = np.zeros((2, domain.size), dtype=np.int64)
    counts[0, 20], counts[1, -1] = 10, 10
    each = [lw.Distribution.of_counts(row, domain) for row in counts]
    weeks = [
        SeriesWeek("gap", None, "nobody reported") if one is None else SeriesWeek("w", each[one])
        for one in order
    ]
    found = Series(tuple(weeks)).quantile(0.5)
    assert found.dtype == object
    by_order = dict(zip(order, found, strict=True))
    assert isinstance(by_order[0], inside)
    assert by_order[1] == math.inf
    assert by_order[None] is None if unit == "time-of-day" else np.isnat(by_order[None])


@pytest.mark.parametrize(
    ("domain", "headers"),
    [
        (lw.Interval(0, 10, bins=5), ["10 %", "median", "95 % interval", "90 %"]),
        (
            lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
            ["mean direction", "95 % interval", "mean resultant length R"],
        ),
    ],
)
def test_a_week_fits_on_a_line_of_the_screen(domain: Any, headers: list[str]) -> None:
    survey = lw.SubsetSelection(domain, 3)
    people = np.full(domain.size, 500)
    people[1] = 9000
    weeks = [
        SeriesWeek(
            name, lw.LeastSquares().decode(survey.channel, lw.simulate(survey, people, rng=1))
        )
        for name in ("2026-w01", "2026-w02")
    ]
    answer: Any = answer_of(
        Series((*weeks, SeriesWeek("2026-w03", None, "nobody"))), AnswerRequest()
    )
    table = tables_of(answer, "x")[0]
    assert table.headers == ["week", "people", "change", *headers]
    assert all(sum(map(len, row)) + 2 * len(row) <= 80 for row in table.rows)
    assert (
        table.rows[2][2:] == ["nobody", *[""] * len(headers)]
        and " to " in table.rows[0][table.headers.index("95 % interval")]
    )
