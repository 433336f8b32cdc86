"""What is said of values on a circle: directions, not places on the line that it is cut to."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import csv_rows, facts_of, tables_of
from lapwing.results.answers import answer_of, difference_answer
from lapwing.results.directions import NO_MIDDLE, Circle, mean_direction
from lapwing.results.readable import csv_of
from lapwing.results.symbols import in_numbers
from tests.false_alarms import CIRCLE_DRAWS, CIRCLE_LEAST, CIRCLE_PEOPLE

DAY = lw.Interval("00:00", "24:00", bins=48, unit="time-of-day", circular=True)
HOUR = 3600.0
BINS = 64


def bedtimes(people: int = 20_000, seed: int = 1) -> Any:
    drawn = np.random.default_rng(seed).normal(23.2 * HOUR, HOUR, people)
    return np.mod(drawn, 24 * HOUR)


def released(values: Any, domain: Any = DAY, *, seed: int = 3) -> lw.Distribution:
    made = lw.release(values, domain, epsilon=1, neighbors="replace-one", rng=lw.seeded(seed))
    return made.distribution


def in_arc(ends: tuple[float, float], place: float, length: float = 24 * HOUR) -> bool:
    low, high = ends
    return (place - low) % length <= (high - low) % length


@pytest.fixture(scope="module")
def bed() -> lw.Distribution:
    return released(bedtimes())


def test_the_mean_of_bedtimes_is_late_in_the_evening(bed: lw.Distribution) -> None:
    assert str(bed.mean()).startswith("23:1")
    low, high = bed.mean_interval() or ("", "")
    assert "22:50" < low < "23:12" < high < "23:35"
    assert bed.std() == pytest.approx(HOUR, rel=0.05)
    assert bed.cumulative.resultant_length == pytest.approx(
        math.exp(-((2 * math.pi / 24) ** 2) / 2), abs=0.005
    )
    exact = lw.Distribution.of_values([23.0, 1.0], lw.Interval(0, 24, bins=24, circular=True))
    assert exact.mean() == pytest.approx(0.5)  # the middle of the bin: values lie anywhere in it
    assert exact.mean_interval() is None


def test_no_clear_middle_is_none_with_the_reason() -> None:
    even = released(np.linspace(0, 24 * HOUR, 20_000, endpoint=False))
    assert even.mean() is None
    assert even.mean_interval() is None
    answer: Any = answer_of(even, AnswerRequest())
    assert json.loads(json.dumps(answer))["mean"] == {
        "value": None,
        "low": None,
        "high": None,
        "reason": NO_MIDDLE,
    }
    assert answer["resultant_length"]["low"] == 0
    assert answer["std"]["high"] is None
    assert facts_of(answer)["mean direction"] == NO_MIDDLE
    assert f"mean direction {NO_MIDDLE}" in " ".join(even.summary().split())
    assert even.difference(released(bedtimes())).mean() is None
    opposite = lw.Distribution.of_values(["06:00", "18:00"], DAY)
    assert opposite.mean() is None
    assert opposite.std() == math.inf


def test_what_depends_on_the_cut_is_refused(bed: lw.Distribution) -> None:
    for ask in (
        lambda: bed.quantile(0.5),
        lambda: bed.quantile(0.5),
        lambda: bed.quantile_interval(0.5),
        lambda: bed.cumulative.quantile(0.5),
        lambda: bed.difference(bed).quantile(0.5),
        lambda: bed.difference(bed).quantile_interval(0.5),
        lambda: lw.distances.decile_error(bed, bed),
    ):
        with pytest.raises(ArgumentError, match="needs start="):
            ask()
    for ask in (
        bed.variance,
        bed.variance_interval,
        lambda: bed.cumulative.moment(2),
        lambda: lw.distances.variance_error(bed, bed),
    ):
        with pytest.raises(ArgumentError, match="a circle has no"):
            ask()
    line = lw.Distribution.of_values([1.0, 2.0], lw.Interval(0, 4, bins=4))
    for ask in (
        lambda: line.quantile(0.5, start=1),
        lambda: line.quantile_interval(0.5, start=1),
        lambda: line.difference(line).quantile(0.5, start=1),
    ):
        with pytest.raises(ArgumentError, match="is only for a circular domain"):
            ask()
    with pytest.raises(DomainError, match="start"):
        bed.quantile(0.5, start="noon")
    with pytest.raises(ArgumentError, match="one finite value"):
        bed.quantile(0.5, start=["01:00", "02:00"])


def test_quantiles_are_counted_from_the_start(bed: lw.Distribution) -> None:
    values = np.sort(np.mod(bedtimes() - 12 * HOUR, 24 * HOUR))
    for probability in (0.05, 0.5, 0.95):
        true = float(values[int(probability * values.size)] + 12 * HOUR) % (24 * HOUR)
        plain = in_numbers(bed)
        found = float(plain.quantile(probability, start=12 * HOUR))
        assert abs(found - true) < 180
        assert in_arc(plain.quantile_interval(probability, start=12 * HOUR) or (0, 0), true)
    assert str(bed.quantile(0.5, start="12:00")).startswith("23:1")
    assert bed.quantile(1, start="12:00") == bed.quantile(0, start="12:00") == "12:00:00"
    assert bed.cdf("01:00") == pytest.approx(float(np.mean(bedtimes() <= HOUR)), abs=0.01)


def test_a_start_inside_a_bin_leaves_open_what_comes_first() -> None:
    circle = lw.Interval(0, 8, bins=8, circular=True)
    known = lw.Distribution.of_counts([10, 0, 0, 30, 0, 0, 0, 60], circle)
    assert known.quantile(0.5, start=4) == pytest.approx(7 + 50 / 60)
    assert known.quantile(0.5, start=7.5) == pytest.approx(3 + 10 / 30)
    assert known.quantile([0.2, 1.0], start=7.5) == pytest.approx([7.5 + 20 / 60, 7.5])
    turned = known.cumulative.turned(7.5)
    assert turned.left[0] == 7.5
    assert turned.right[-1] == 15.5
    assert turned.mass.sum() == pytest.approx(1)
    response = lw.RandomizedResponse(circle, 8)
    people = np.array([10, 0, 0, 30, 0, 0, 0, 60]) * 2000
    decoded = lw.LeastSquares().decode(response.channel, lw.simulate(response, people, rng=2))
    assert decoded.quantile_interval(0.5, start=4) == (7, 8)
    # Of the 60% in the bin from 7 on all may come first, or none of them.
    assert decoded.quantile_interval(0.5, start=7.5) == (0, 8)
    assert decoded.quantile_interval(0.1, start=7.5) == (7.5, 4)


@pytest.mark.parametrize("first", [0, 3, 7])
def test_a_turned_law_is_that_of_the_turned_sums(first: int) -> None:
    circle = lw.Interval(0, 8, bins=8, circular=True)
    wave = lw.MultiscaleWave(circle, 2)
    tally = lw.simulate(wave, np.full(8, 2_000), rng=1)
    law = lw.SpectralPrior().decode(wave.channel, tally).uncertainty
    assert law is not None
    law = replace(law.about("simultaneous", "population"), remainder=np.linspace(1, 2, 8) * 1e-6)
    law.remainder[-1] = 0.0
    turned = law.turned(first)
    order = np.roll(np.arange(8), -first)
    wanted = []
    for stop in range(1, 9):
        weights = np.zeros(8)
        weights[order[:stop]] = 1
        wanted.append(law.deviation(weights, "empirical"))
    assert turned.cdf_deviation("empirical") == pytest.approx(wanted, abs=1e-9)


def test_the_interval_holds_wherever_values_lie_in_their_bins() -> None:
    circle = lw.Interval(0, 24, bins=24, circular=True)
    response = lw.RandomizedResponse(circle, 8)
    people = np.zeros(24, dtype=np.int64)
    people[[23, 0]] = 500_000
    result = lw.LeastSquares().decode(response.channel, lw.simulate(response, people, rng=2))
    low, high = result.mean_interval() or (0, 0)
    for truth in (23.5, 0.0, 0.4):  # all at the left ends, spread, nearly at the right ends
        assert in_arc((low, high), truth, 24)
    assert not in_arc((low, high), 1.0, 24)


def test_a_mean_goes_round_the_end(bed: lw.Distribution) -> None:
    for turn in (0, 1, 2, 13):
        circle = lw.Interval(0, 24, bins=48, circular=True)
        hours = np.mod(bedtimes() / HOUR + turn, 24)
        result = released(hours, circle)
        shift = Circle(0, 24).shorter(result.mean() - 23.2 - turn)
        assert abs(shift) < 0.1
        assert in_arc(result.mean_interval() or (0, 0), np.mod(23.2 + turn, 24), 24)


@pytest.mark.parametrize("level", [-1, 0, 1, 1.5, 7, "0.9"])
def test_intervals_of_directions_check_their_level(bed: lw.Distribution, level: Any) -> None:
    for ask in (bed.mean_interval, bed.difference(bed).mean_interval):
        with pytest.raises(ArgumentError, match="level must be a number greater than 0"):
            ask(level=level)


def test_rows_of_a_shift_without_a_middle_say_why() -> None:
    even = lw.Distribution.of_counts(np.ones(48), DAY)
    request = AnswerRequest(start="12:00")
    answer = difference_answer(even.difference(even), request)
    header, *rows, last = csv_of(csv_rows(answer)).splitlines()
    assert header.endswith(',"reason"')
    assert len(rows) == len(request.probabilities)
    assert last.startswith('"mean",') and NO_MIDDLE in last


def test_a_difference_takes_the_shorter_way() -> None:
    before, after = (
        released(bedtimes(), seed=4),
        released(np.mod(bedtimes(seed=5) + 3 * HOUR, 24 * HOUR), seed=6),
    )
    for one, two, sign in ((after, before, 1), (before, after, -1)):
        change = one.difference(two)
        assert change.mean() == pytest.approx(sign * 3 * HOUR, abs=300)
        low, high = change.mean_interval() or (0, 0)
        assert low < sign * 3 * HOUR < high
        assert high - low < 2 * HOUR
    shift = after.difference(before)
    assert float(shift.quantile(0.5, start="12:00")) == pytest.approx(3 * HOUR, abs=300)
    low, high = shift.quantile_interval(0.5, start="12:00") or (0, 0)
    assert low <= 3 * HOUR <= high
    answer: Any = answer_of(shift, AnswerRequest())
    assert answer["quantiles"] == []
    (row,) = tables_of(answer, "x")[0].rows
    assert row[0] == "mean direction, the shorter way around"
    assert row[1] == "3.0 hours later"
    asked: Any = answer_of(shift, AnswerRequest(probabilities=(0.5,), start="12:00"))
    assert asked["quantiles"][0]["shift"] == pytest.approx(3 * HOUR, abs=300)


def test_summaries_show_direction_length_and_quarters(bed: lw.Distribution) -> None:
    answer: Any = answer_of(bed, AnswerRequest())
    assert answer["quantiles"] == []
    assert [row["share"] for row in answer["quarters"]] == pytest.approx(
        [bed.probability(6 * HOUR * k, 6 * HOUR * (k + 1)) for k in range(4)]
    )
    assert all(row["low"] <= row["share"] <= row["high"] for row in answer["quarters"])
    assert answer["mean"]["text"].startswith("23:1")
    low, high = (answer["resultant_length"][end] for end in ("low", "high"))
    assert low < answer["resultant_length"]["value"] < high
    assert answer["std"]["low"] < answer["std"]["value"] < answer["std"]["high"]
    assert csv_rows(answer)[3]["left"] == "18:00:00"
    lines = bed.summary()
    for words in ("mean direction", "mean resultant length R", "share of 18:00 to 24:00"):
        assert words in lines
    assert "median" not in lines
    assert "quantile" not in lines
    asked: Any = answer_of(bed, AnswerRequest(probabilities=(0.5,), start="12:00"))
    assert asked["quantiles"][0]["text"].startswith("23:1")
    assert "counted from 12:00" in tables_of(asked, "x")[0].title
    with pytest.raises(ArgumentError, match="is only for a circular domain"):
        answer_of(
            lw.Distribution.of_values([1.0], lw.Interval(0, 2, bins=2)), AnswerRequest(start="1")
        )


def test_a_series_has_directions_and_quarters() -> None:
    circle = lw.Interval(0, 24, bins=16, circular=True)
    survey = lw.Survey("hours", lw.MultiscaleWave(circle, epsilon=2))
    values = [np.mod(np.random.default_rng(k).normal(23.5, 2, 20_000), 24) for k in range(3)]
    counts = [np.bincount(circle.index(each), minlength=16) for each in values]
    counts[1][:] = 1_250
    tallies = [lw.simulate(survey.randomizer, each, rng=k) for k, each in enumerate(counts)]
    series = lw.decode_series([(survey, tally) for tally in tallies], smooth=False)
    table = series.to_dict()
    assert "q50" not in table
    assert table["mean"][1] is None
    assert abs(Circle(0, 24).shorter(table["mean"][0] - 23.5)) < 0.5
    assert in_arc((table["mean_low"][0], table["mean_high"][0]), 23.5, 24)
    assert sum(table[name][0] for name in list(table)[-6:-2]) == pytest.approx(1)
    answer: Any = answer_of(series, AnswerRequest())
    assert answer["weeks"][1]["mean"] == {"value": None, "reason": NO_MIDDLE}
    assert tables_of(answer, "x")[0].rows[1][2] == NO_MIDDLE
    assert "mean direction of the first week" in series.summary()
    assert series._picture().unit is None
    assert series._picture().tracks[0].name == "0 to 6"
    with pytest.raises(ArgumentError, match="needs start="):
        series.quantile(0.5)
    assert series.quantile(0.5, start=12)[0] == pytest.approx(23.5, abs=0.5)


def test_distances_on_a_circle_go_round_it(bed: lw.Distribution) -> None:
    values = bedtimes()
    shifted = np.mod(values + HOUR, 24 * HOUR)
    assert lw.distances.mean_error(values, bed) < 300
    assert lw.distances.mean_error(shifted, bed) == pytest.approx(HOUR, abs=300)
    assert lw.distances.decile_error(values, bed, start="12:00") < 300
    assert lw.distances.decile_error(shifted, bed, start="12:00") == pytest.approx(HOUR, abs=300)
    assert "on the line" in str(lw.distances.wasserstein.__doc__)
    even = lw.Distribution.of_counts(np.ones(48), DAY)
    assert math.isnan(lw.distances.mean_error(even, bed))


def two_peaks(people: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    hours = np.where(rng.random(people) < 0.6, rng.normal(8, 1, people), rng.normal(17, 2, people))
    return np.mod(hours * HOUR, 24 * HOUR)


def coverage(draws: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return how often intervals of the direction and of R hold those of the people who reported.

    Then the same of intervals of half the width. Values lie in the middles of their bins.
    """
    circle = lw.Interval(0, 24 * HOUR, bins=BINS, circular=True)
    wave = lw.SquareWave(circle, 1)
    middle = np.exp(2j * np.pi * (np.arange(BINS) + 0.5) / BINS)
    held = np.zeros((2, 2))
    for seed in range(draws):
        values = (bedtimes if seed % 2 else two_peaks)(CIRCLE_PEOPLE, seed)
        counts = np.bincount(circle.index(values), minlength=BINS)
        result = lw.LeastSquares().decode(wave.channel, lw.simulate(wave, counts, rng=seed))
        assert result.uncertainty is not None
        law = result.uncertainty.about("simultaneous", "empirical")
        found = mean_direction(law, circle, 0.95)
        resultant = complex(counts @ middle / counts.sum())
        error = (np.angle(resultant) - found.angle + np.pi) % (2 * np.pi) - np.pi
        low, high = found.length
        for row, part in enumerate((1, 0.5)):
            held[row, 0] += -part * found.before <= error <= part * found.after
            held[row, 1] += abs(2 * abs(resultant) - low - high) <= part * (high - low)
    whole, half = (dict(zip(("direction", "R"), row / draws, strict=True)) for row in held)
    return whole, half


def test_intervals_of_direction_and_length_hold_the_truth() -> None:
    whole, half = coverage(CIRCLE_DRAWS)
    assert min(whole.values()) >= CIRCLE_LEAST, whole
    assert max(half.values()) < CIRCLE_LEAST, half
