"""What is said of people outside the range, by every output: true of its words."""

import json
import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import LimitedWarning
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import csv_rows, question_text, summary_of, tables_of
from lapwing.results.answers import answer_of

INCOME = lw.Interval(0, 30_000, bins=300, outside="overflow")
VALUES = np.random.default_rng(5).lognormal(8.6, 0.8, 200_000)
HOURS = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)


def released(values: Any, domain: lw.Interval, *, seed: int = 8) -> lw.Distribution:
    made = lw.release(values, domain, epsilon=1, neighbors="replace-one", rng=lw.seeded(seed))
    return made.distribution


@pytest.fixture(scope="module")
def income() -> lw.Distribution:
    return released(VALUES, INCOME)


def holds(interval: tuple[float, float] | None, truth: float) -> bool:
    assert interval is not None
    return interval[0] <= truth <= interval[1]


def test_the_share_outside_is_known(income: lw.Distribution) -> None:
    above = float(np.mean(VALUES > 30_000))
    assert holds(income.probability_interval(30_000, math.inf), above)
    assert income.probability(30_000, math.inf) == pytest.approx(above, abs=5e-4)
    inside = float(np.mean((VALUES > 29_000) & (VALUES <= 30_000)))
    assert holds(income.probability_interval(29_000, 30_000), inside)
    assert income.probability(29_000, 30_000) == pytest.approx(inside, abs=5e-4)


def test_how_far_outside_is_not_known(income: lw.Distribution) -> None:
    assert income.quantile(0.999) == math.inf
    low, high = income.quantile_interval(0.999) or (0, 0)
    assert low >= 29_900
    assert high == math.inf
    further = income.probability_interval(40_000, math.inf)
    assert holds(further, float(np.mean(VALUES > 40_000)))
    assert (further or (1, 1))[0] == 0
    assert income.cdf(40_000) == income.cdf(30_000) < 0.99


def test_outside_the_range_there_is_no_atom(income: lw.Distribution) -> None:
    assert income.atoms == ()
    left = income._pictures()[-1]
    assert left.lines[-1].x.min() == 0
    assert left.lines[-1].y[-1] == pytest.approx(float(income.cdf(30_000)))
    (density,) = income._pictures()[0].shapes
    assert density.points.size == 0


def test_a_mean_is_of_values_limited_to_the_range(income: lw.Distribution) -> None:
    fresh = replace(income)
    with pytest.warns(LimitedWarning, match=r"% of the people are outside the range 0 to 30000"):
        mean = fresh.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fresh.mean() == mean  # it is said once
        fresh.variance()
    assert holds(income.mean_interval(), float(np.clip(VALUES, 0, 30_000).mean()))
    assert "of values limited to 0 to 30,000" in income.summary()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released(np.linspace(1, 29_999, 50_000), INCOME, seed=9).mean()  # nobody is outside


def test_moments_and_differences_of_limited_values_say_so_once(income: lw.Distribution) -> None:
    for ask in (
        lambda one: one.mean(),
        lambda one: one.std(),
        lambda one: one.cumulative.moment(2),
        lambda one: one.difference(replace(income)).mean(),
    ):
        fresh = replace(income)
        with pytest.warns(LimitedWarning, match="clipped") as told:
            ask(fresh)
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error", LimitedWarning)
            fresh.mean(), fresh.cumulative.moment(1)
            fresh.difference(fresh).summary()


@pytest.mark.parametrize(
    ("fields", "above", "below"),
    [
        ({}, "more than 100", "less than 0"),
        ({"closed": "left"}, "100 or more", "less than 0"),
        ({"closed": "left", "atoms": [100]}, "more than 100", "less than 0"),
    ],
)
def test_values_outside_are_named_by_the_closed_side(
    fields: dict[str, Any], above: str, below: str
) -> None:
    domain = lw.Interval(0, 100, bins=4, outside="overflow", **fields)
    counts = np.ones(domain.size)
    result = lw.Distribution.of_counts(counts, domain)
    answer: Any = answer_of(result, AnswerRequest(probabilities=(0.01, 0.99)))
    assert [row[1] for row in tables_of(answer, "x")[0].rows] == [below, above]
    sign = ">" if above[0] == "m" else ">="
    assert [row["value"] for row in csv_rows(answer)] == [None, None]
    assert [row["value_beyond"] for row in csv_rows(answer)] == ["< 0", f"{sign} 100"]


def test_on_a_circle_every_value_is_in_the_domain() -> None:
    angles = lw.Interval(0, 180, bins=18, circular=True)
    result = lw.Distribution.of_values([12.0, 14, 40], angles)
    assert result.share(192) == result.share(12) == pytest.approx(2 / 3)
    with pytest.raises(lw.errors.DomainError, match="No point of a circle is infinite"):
        result.share(math.inf)
    line = lw.Interval(0, 180, bins=18, outside="refuse")
    with pytest.raises(lw.errors.DomainError, match="Values beyond it were refused"):
        lw.Distribution.of_values([12.0], line).share(190)


def test_every_output_says_so(income: lw.Distribution) -> None:
    asked = (lw.questions.Share(above=30_000), lw.questions.Share(at_least=40_000))
    request = AnswerRequest(probabilities=(0.5, 0.999), shares=asked, curve=True)
    answer: Any = answer_of(income, request)
    json.dumps(answer, allow_nan=False)
    (_, last) = answer["quantiles"]
    assert last["value"] is None
    assert last["above"] == 30_000
    assert csv_rows(answer)[1]["value_beyond"] == "> 30000"
    assert tables_of(answer, "x")[0].rows[1][1] == "more than 30,000"
    share = income.probability(30_000, math.inf)
    assert answer["outside"]["above"]["share"] == pytest.approx(share)
    words = [question_text(row, "number") for row in answer["questions"]]
    assert words == ["above 30000", "at least 40000 (40000 is inside the bin more than 30,000)"]
    table = income.to_dict()
    inside = INCOME.bins + 2
    assert table["left"][:2] == [-math.inf, 0]
    assert table["right"][inside - 2 : inside] == [30_000, math.inf]
    assert table["cdf"][inside - 1] == pytest.approx(1)
    columns = answer["curve"]["columns"]
    assert (columns["left"][0], columns["right"][-1]) == (0, 30_000)
    assert len(columns["left"]) == INCOME.bins
    assert answer["curve"]["start"]["cdf"] == income.cumulative.sums[0]
    assert table["cdf"][0] is None  # people who hold just 0 are in the first bin
    lines = income.summary().splitlines()
    assert any(line.startswith("above 30,000") for line in lines)
    assert any(line.startswith("below 0") for line in lines)


def test_a_clipped_result_is_open_at_its_ends() -> None:
    clipped = released(VALUES, replace(INCOME, outside="clip"))
    assert holds(clipped.probability_interval(29_000, 30_000), 0.0018)
    assert holds(clipped.probability_interval(30_000, math.inf), 0.016)
    assert (clipped.quantile_interval(0.999) or (0, 0))[1] == math.inf
    answer: Any = answer_of(clipped, AnswerRequest())
    assert answer["outside"] is None
    assert [row["open"] for row in answer["atoms"]] == ["above"]
    assert tables_of(answer, "x")[1].rows[0][0] == "more than 29,900"
    assert clipped.to_dict()["right"][299] == math.inf
    assert "of values limited to 0 to 30,000" in clipped.summary()


def test_a_shift_of_a_quantile_outside_is_not_known(income: lw.Distribution) -> None:
    more = released(VALUES * 1.2, INCOME).difference(income, people="different")
    assert math.isnan(float(more.quantile(0.999)))
    assert more.quantile_interval(0.999) is None
    answer: Any = answer_of(more, AnswerRequest(probabilities=(0.5, 0.999)))
    json.dumps(answer, allow_nan=False)
    assert answer["quantiles"][1] == {
        "probability": 0.999,
        "shift": None,
        "low": None,
        "high": None,
    }
    assert tables_of(answer, "x")[0].rows[1][1:] == ["not known", "not known"]
    assert summary_of(answer)["shift of the 99.9% quantile"] == "not known"


def test_people_outside_are_drawn_at_the_ends(income: lw.Distribution) -> None:
    drawn = income.sample(20_000, rng=3)
    present = drawn[~np.isnan(drawn)]
    assert present.min() >= 0
    assert present.max() == 30_000
    assert np.mean(present == 30_000) == pytest.approx(0.0162, abs=0.004)


def test_without_counts_of_people_outside_nobody_is_there() -> None:
    short = lw.Distribution.of_counts(np.ones(300), INCOME)
    assert short.mass[[0, -1]].tolist() == [0, 0]
    assert short.quantile([0, 1]).tolist() == [0, 30_000]
    whole = lw.Distribution.of_counts(np.ones(302), INCOME)
    assert whole.quantile([0, 1]).tolist() == [-math.inf, math.inf]


def test_hours_are_counted_from_their_beginning() -> None:
    rng = np.random.default_rng(3)
    seconds = np.floor(rng.normal(9.5, 3, 40_000) % 24 * 2) * 1800
    result = released(seconds, HOURS, seed=9)
    hours = seconds / 3600
    low, high = result.probability_interval("06:00", "10:00") or (0, 1)
    truth = float(np.mean((hours >= 6) & (hours < 10)))
    assert low <= truth <= high < low + 0.02
    night = float(np.mean((hours >= 22) | (hours < 2)))
    assert holds(result.probability_interval("22:00", "02:00"), night)
    parts = [("22:00", "24:00"), ("00:00", "02:00")]
    assert result.probability("22:00", "02:00") == pytest.approx(
        sum(result.probability(*part) for part in parts)
    )


def test_a_picture_says_who_is_not_in_it() -> None:
    income = lw.Interval(0, 30_000, bins=300)
    counts = np.full(income.size, 10)
    counts[[0, -1]] = 0, 500
    shown = lw.Distribution.of_counts(counts, income)._pictures()
    for picture in shown:
        assert picture.title is not None
        assert picture.title.splitlines()[1] == "not shown: 14.29% more than 30,000"
    nobody = lw.Distribution.of_counts(counts[1:-1], income)._pictures()
    assert "not shown" not in (nobody[0].title or "")
    dates = lw.Interval("2026-01-01", "2026-02-28", bins=58, unit="date")
    counts = np.ones(dates.size, dtype=int)
    (line,) = (lw.Distribution.of_counts(counts, dates)._pictures()[-1].title or "").splitlines()[
        1:
    ]
    assert line == "not shown: 1.67% before 2026-01-01, 1.67% 2026-02-28 or later"


@pytest.mark.parametrize("closed", ["left", "right"])
def test_the_first_row_of_a_table_holds_those_at_the_lower_end(closed: Any) -> None:
    """A fifth of the people hold 0, which is counted in the first bin and not below it."""
    domain = lw.Interval(0, 100, bins=50, closed=closed)
    values = np.append(np.zeros(2000), np.linspace(1, 99, 8000))
    made = lw.release(values, domain, neighbors="replace-one", epsilon=1, rng=lw.seeded(1))
    table = made.distribution.to_dict()
    assert table["right"][0] == 0
    assert table["low"][0] <= 0.2 <= table["high"][0]
    survey = lw.Survey("values", lw.SquareWave(domain, 4))
    table = survey.decode(survey.tally(survey.randomize(values, rng=lw.seeded(1)))).to_dict()
    assert table["low"][0] <= 0.2 <= table["high"][0]


def test_another_number_of_bins_needs_clip() -> None:
    survey = lw.Survey("values", lw.SquareWave(lw.Interval(0, 1, bins=64), 2))
    tally = survey.tally(survey.randomize(np.linspace(0, 1, 500), rng=lw.seeded(1)))
    assert survey.decode(tally, bins=64).domain == survey.randomizer.domain
    with pytest.raises(lw.errors.DomainError, match=r"another number of bins .* outside='clip'"):
        survey.decode(tally, bins=32)
