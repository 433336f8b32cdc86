"""Tables and quantiles of a series, worked out by hand: distinct columns, values out of range."""

import csv
import io
import math
from dataclasses import replace
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
        (lw.Interval(0, 10, bins=5), ["10%", "median", "95% interval", "90%"]),
        (
            lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
            ["mean direction", "95% interval", "mean resultant length R"],
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
        and " to " in table.rows[0][table.headers.index("95% interval")]
    )


@pytest.mark.parametrize(
    ("domain", "asks"),
    [
        (lw.Interval(0, 100, bins=64, outside="clip"), ["share above 50", "mean"]),
        (
            lw.Interval("2026-01-01", "2026-04-09", unit="date", bins=49),
            ["share at-least 2026-02-18", "quantile 0.5"],
        ),
    ],
    ids=["numbers", "dates"],
)
def test_weeks_that_ask_questions_have_their_answers(domain: lw.Interval, asks: list[str]) -> None:
    best = lw.recommend(domain, epsilon=4, users=5_000, questions=asks)
    survey = lw.Survey("asked", best)
    bins = survey.randomizer.domain.size
    people = np.random.default_rng(1).multinomial(5_000, np.full(bins, 1 / bins), 2)
    first, last = (
        survey.decode(lw.simulate(survey.randomizer, each, rng=seed))
        for seed, each in enumerate(people)
    )
    weeks = [("a", first, None), ("b", None, "nobody reported"), ("c", last, None)]
    series = Series(tuple(SeriesWeek(name, found, gap or "") for name, found, gap in weeks))
    shown = series.to_dict(level=0.9)
    for question in survey.questions:
        name = str(question)
        known = [found and found.answer(question, level=0.9) for _, found, _ in weeks]
        for end, key in (("value", name), ("low", f"{name}_low"), ("high", f"{name}_high")):
            numbers = [each and each.to_document()[end] for each in known]
            assert shown[key] == numbers, key
    assert "q50" not in shown and shown["interval"] == ["pointwise", None, "pointwise"]
    answer: Any = answer_of(series, AnswerRequest())
    (table,) = tables_of(answer, "")
    assert table.headers[-2:] == [str(each) for each in survey.questions]
    assert table.rows[1][-2:] == ["", ""] and all("(" in cell for cell in table.rows[0][-2:])
    assert len(csv_rows(answer)) == 3 and "median" not in series.summary()
    picture = series._picture(level=0.9, target="empirical")
    (track,) = picture.tracks
    assert track.name == asks[0] and track.heights[2] == shown[asks[0]][2]
    assert np.isnan(track.low[1]) and track.high[0] == shown[f"{asks[0]}_high"][0]
    both = replace(first, provenance={**first.provenance, "asks": []})
    mixed = Series((SeriesWeek("a", both), SeriesWeek("c", last)))
    assert "q50" in mixed.to_dict()  # the first week asks for the curve
