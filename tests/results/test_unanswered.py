"""Groups of too few people, and columns without values: every output says so, without numbers."""

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, LimitedWarning, WeakAnswerWarning
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import csv_rows, table_rows
from lapwing.results.answers import difference_answer, result_answer
from lapwing.service.pages.result_views import difference_view, result_view

pytestmark = [
    pytest.mark.filterwarnings("ignore::lapwing.errors.WeakAnswerWarning"),
    pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning"),
]

FEW = "too few people"


def published(values: list[Any], domain: Any, **how: Any) -> lw.survey.Publication:
    return lw.release(
        values,
        domain,
        by=["small"] * 10 + ["large"] * (len(values) - 10),
        segments=["small", "large"],
        neighbors="replace-one",
        epsilon=0.5,
        rng=lw.seeded(2),
        **how,
    )


CASES: dict[str, Any] = {
    "labels": published(["yes"] * 1200, lw.Categories(["yes", "no"])),
    "counts": published([35.0] * 1200, lw.Interval(0, 500, bins=20)),
    "many counts": published([35.0] * 2000, lw.Interval(0, 500, bins=80)),
    "curves": published([35.0] * 2000, lw.Interval(0, 500, bins=50), delta="1e-6"),
    "circle": published([35.0] * 2000, lw.Interval(0, 360, bins=12, circular=True)),
}


def numbers(value: Any) -> list[float]:
    """Return the numbers in rows, but those of places."""
    rows = value if isinstance(value, list) else [value]
    names = {"share", "value", "cdf", "low", "high", "difference", "shift"}
    return [
        cell
        for row in rows
        for name, cell in row.items()
        if name in names and isinstance(cell, int | float)
    ]


@pytest.mark.parametrize("case", CASES)
def test_a_group_that_is_too_small_has_a_reason_in_place_of_numbers(case: str) -> None:
    groups = CASES[case].by_segment()
    small, large = groups["small"], groups["large"]
    asked = AnswerRequest(
        shares=[lw.questions.Share(label="yes" if case == "labels" else 35)], curve=True
    )
    answer: Any = result_answer(small, asked)
    assert answer["reason"] == FEW and answer["band"] is None
    lists = [answer.get(name) or [] for name in ("quantiles", "shares", "questions", "quarters")]
    rows = [row for each in lists for row in each]
    rows += [answer[name] for name in ("mean", "std", "missing") if answer.get(name)]
    assert len(rows) >= 4
    assert all(row["reason"] == FEW for row in rows) and not numbers(rows)
    assert not numbers(csv_rows(answer)) and FEW in str(csv_rows(answer))
    table = table_rows(small, 0.95)
    assert not numbers(table) and {row["share"] for row in table} == {FEW}
    columns = small.to_dict()
    assert set(columns["share"]) == {None} and set(columns["interval"]) == {FEW}
    assert re.search(rf"^intervals +none: {FEW}$", small.summary(), re.M)
    assert not re.search(r"[0-9] ?%$", small.summary(), re.M)
    with pytest.raises(ArgumentError, match=FEW):
        small.plot()
    view = result_view({**answer, "warnings": [], "notice": {}, "name": "x"})
    assert view["nobody"] == f"No numbers: {FEW}."
    # Another group of the same table has its numbers, and their difference has none.
    assert result_answer(large, asked)["reason"] is None
    gap: Any = difference_answer(large.difference(small), AnswerRequest(curve=True))
    assert gap["reason"] == FEW
    assert not numbers((gap["shares"] or []) + (gap["quantiles"] or []))
    ends = {"epoch": "a", "against": "b", "segment": None, "against_segment": None}
    assert difference_view({**gap, **ends, "warnings": []})["nobody"]
    again = lw.Distribution.from_json(small.to_json())
    assert result_answer(again, asked) == answer
    assert CASES[case].plot() is not None


@pytest.mark.parametrize("how", [{}, {"delta": "1e-6"}])
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_a_column_without_values_has_no_quantiles(how: Any, relation: Any) -> None:
    domain = lw.Interval(0, 500, bins=100, missing="bin")
    result = lw.release(
        [None] * 1000, domain, neighbors=relation, epsilon=1, rng=lw.seeded(3), **how
    ).distribution
    answer: Any = result_answer(result, AnswerRequest())
    assert answer["reason"] == "too few have a value"
    assert not numbers(answer["quantiles"] + [answer["mean"], answer["std"]])
    assert answer["missing"]["share"] > 0.98
    table = table_rows(result, 0.95)
    assert table[-1]["share"] > 0.98 and not numbers(table[:-1])
    half = lw.release(
        [None] * 500 + [35.0] * 500, domain, neighbors=relation, epsilon=1, rng=lw.seeded(3), **how
    ).distribution
    assert result_answer(half, AnswerRequest())["reason"] is None


def points(result: Any, case: str) -> list[Any]:
    """Return every point that a distribution or a difference of two tells."""
    if case == "labels":
        return [result.share("yes"), result.share("no")]
    start = {"start": 0} if case == "circle" else {}
    found = [
        result.share(35.0),
        result.cdf([20, 40]),
        result.quantile(0.5, **start),
        result.quantile([0.1, 0.5], **start),
        result.probability(20, 40),
        result.mean(),
    ]
    if isinstance(result, lw.Distribution):
        found += [result.quantile(0.5, **start), result.pdf(40.0), result.std()]
        found += [] if case == "circle" else [result.variance()]
    return found


@pytest.mark.parametrize("case", CASES)
def test_python_gives_nan_in_place_of_a_point_and_says_why_once(case: str) -> None:
    groups = CASES[case].by_segment()
    text = groups["small"].to_json()
    gap = groups["large"].difference(lw.Distribution.from_json(text))
    for result in (lw.Distribution.from_json(text), gap):
        with pytest.warns(WeakAnswerWarning, match=f"{FEW} for an answer") as said:
            found = points(result, case)
        assert len(said) == 1
        assert all(each is None or np.isnan(each).all() for each in found)
    small, large = lw.Distribution.from_json(text), groups["large"]
    assert all(each is None or np.isnan(each) for each in small.sample(3, rng=1))
    assert not small.atoms and small.mass.sum() == pytest.approx(1)
    assert all(np.isfinite(each).all() for each in points(large, case) if each is not None)
    # A screen says why in words, and no warning repeats it.
    for screen in (lw.Distribution.summary, lw.Distribution.to_dict, result_answer):
        asked: list[Any] = [AnswerRequest()] if screen is result_answer else []
        fresh = lw.Distribution.from_json(text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            screen(fresh, *asked)
            found = points(fresh, case)
        assert all(each is None or np.isnan(each).all() for each in found)


@pytest.mark.parametrize("case", ["many counts", "curves"])
def test_a_mean_that_is_nan_is_of_no_limited_values(case: str) -> None:
    small = CASES[case].by_segment()["small"]
    outside = small.domain.outside_indices
    mass = small.mass.copy()
    mass[outside[-1]] += 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitedWarning)
        assert np.isnan(replace(small, mass=mass / mass.sum()).mean())


def test_less_than_half_a_person_is_not_outside() -> None:
    mass = np.full(34, 1 / 32)
    mass[[0, -1]] = 1e-17
    domain = lw.Interval(0, 32, bins=32, outside="overflow")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitedWarning)
        lw.Distribution(domain, mass, reports=1000).mean()
    mass[-1] = 0.001
    with pytest.warns(LimitedWarning, match="% of the people are outside"):
        lw.Distribution(domain, mass / mass.sum(), reports=1000).mean()


def test_a_date_of_too_few_people_is_no_date_and_a_time_of_day_is_none() -> None:
    days = lw.Interval("2026-01-01", "2026-12-31", bins=20, unit="date")
    times = lw.Interval("00:00", "24:00", bins=20, unit="time-of-day")
    dates = published(["2026-03-01"] * 1200, days).by_segment()["small"]
    assert np.isnat(dates.quantile(0.5)) and np.isnat(dates.quantile([0.1, 0.9])).all()
    clock = published(["09:30"] * 1200, times).by_segment()["small"]
    assert clock.quantile(0.5, **({"start": "00:00"} if times.circular else {})) is None


def test_the_group_is_named_in_a_warning() -> None:
    with pytest.warns(WeakAnswerWarning, match="small: too few people"):
        CASES["counts"].by_segment()
