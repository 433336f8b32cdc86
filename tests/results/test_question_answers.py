"""The answer to a question is that of the method which has it, or it has no point."""

import json
from dataclasses import replace

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, RowsWarning, WeakAnswerWarning
from lapwing.questions import Curve, Histogram, Mean, Quantile, Share, read
from lapwing.results.question_answers import ASKS, TOO_WIDE

AGES = lw.Interval(0, 100, bins=50)


def published(epsilon: float = 1, people: int = 2000) -> lw.Distribution:
    rng = lw.seeded(3)
    values = np.random.default_rng(3).triangular(0, 30, 100, people)
    made = lw.release(values, AGES, epsilon=epsilon, neighbors="replace-one", rng=rng)
    return made.distribution


def test_every_answer_is_that_of_its_method() -> None:
    result = published()
    for target in ("empirical", "population"):
        how = {"level": 0.9, "target": target}
        share = result.answer(Share(above=30, at_most=50), **how)
        assert share.value == result.probability(30, 50)
        assert (share.low, share.high) == result.probability_interval(30, 50, **how)
        assert (share.level, share.target, share.note) == (0.9, target, None)
        mean = result.answer("mean", **how)
        assert mean.value == result.mean()
        assert (mean.low, mean.high) == result.mean_interval(**how)
        median = result.answer(Quantile(0.5), **how)
        assert median.value == result.quantile(0.5)
        assert (median.low, median.high) == result.quantile_interval(0.5, **how)
        several = result.answer(Quantile(0.1, 0.9), **how)
        assert several.value.tolist() == result.quantile([0.1, 0.9]).tolist()
        cells = result.answer(Histogram([0, 20, 60, 100]), **how)
        for cell, ends in enumerate([(0, 20), (20, 60), (60, 100)]):
            assert cells.value[cell] == result.probability(*ends)
            interval = result.probability_interval(*ends, **how)
            assert (cells.low[cell], cells.high[cell]) == interval
        curve = result.answer(Curve(), **how)
        table = result.to_dict(**how)
        assert curve.value.tolist()[1:] == table["cdf"][1:-1]
        assert curve.high.tolist() == table["high"][:-1]
    value = result.answer(Share(label=41)).value
    assert value == result.share(41, among="present")


def test_the_words_of_an_end_decide_who_is_counted() -> None:
    """An end inside a bin, or on the other side, widens the interval by the share of the bin."""
    result = lw.Distribution.of_counts([0, 2, 3, 5], lw.Integers(0, 3))
    asked = {"above 1": 0.8, "at-least 1": 1.0, "at-most 2": 0.5, "below 2": 0.2}
    for words, share in asked.items():
        assert result.answer(f"share {words}").value == pytest.approx(share)
    noisy = published()
    inside = noisy.answer("share above 31")
    assert inside.high - inside.low > noisy.answer("share above 30").high - inside.low - 1e-9
    assert inside.low <= noisy.probability(32, 100) and inside.high >= noisy.probability(30, 100)


def test_labels_dates_and_circles() -> None:
    labels = lw.Distribution.of_counts([1, 3], lw.Categories(["no", "yes"]))
    answer = labels.answer("share label yes")
    assert (answer.value, answer.low, answer.note) == (0.75, None, "exact values have no error")
    assert labels.answer(Curve()).value.tolist() == [0.25, 0.75]
    for question in (Mean(), Quantile(0.5), Histogram(bins=2), Share(above=1)):
        with pytest.raises(ArgumentError, match=r"For labels,? (ask|use) Share"):
            labels.answer(question)
    days = lw.Interval("2026-01-01", "2026-01-05", bins=4, unit="date")
    dates = lw.Distribution.of_counts([1, 1, 1, 1], days)
    assert dates.answer("share above 2026-01-01").value == 0.75
    assert str(dates.answer("quantile 0.5").value) == "2026-01-02"
    json.dumps(dates.answer("quantile 0.5 0.9").to_document())
    bed = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)
    round_the_clock = lw.Distribution.of_counts([3, *[0] * 21, 1, 4], bed)
    assert round_the_clock.answer("share at-least 23:00 below 01:00").value == 0.875
    with pytest.raises(ArgumentError, match="start="):
        round_the_clock.answer("quantile 0.5")


def test_without_people_there_is_a_reason_and_no_number() -> None:
    domain = lw.Interval(0, 100, bins=50, missing="bin")
    with pytest.warns(RowsWarning):
        few = lw.release(
            [None] * 300, domain, epsilon=0.2, neighbors="replace-one", rng=lw.seeded(1)
        ).distribution
    for question in (Share(above=50), Mean(), Histogram(bins=5)):
        answer = few.answer(question)
        assert answer.value is None and answer.low is None
        assert answer.note == "too few have a value"
    assert few.answer("share label missing").value > 0.5


def test_what_is_not_asked_is_bounded_by_what_is() -> None:
    """A share above 40 is at least that above 50, and one of at most 40 at most the rest."""
    asks = ["share above 50"]
    survey = lw.Survey("x", lw.recommend(AGES, epsilon=2, users=20_000, questions=asks))
    counts = np.random.default_rng(1).multinomial(20_000, np.full(50, 0.02))
    counts = np.append(counts, [0] * (survey.randomizer.domain.size - counts.size))
    result = survey.decode(lw.simulate(survey.randomizer, counts, rng=lw.seeded(1)))
    known = result.answer(asks[0])
    assert known.high - known.low < 0.03
    for question, low, high in (
        ("share above 40", known.low, 1),
        ("share above 60", 0, known.high),
        ("share at-most 40", 0, 1 - known.low),
        ("share at-most 60", 1 - known.high, 1),
        ("share above 60 at-most 71", 0, known.high),  # 71 is inside a bin
        ("share above 20 at-most 70", 0, 1),
    ):
        answer = result.answer(question)
        assert answer.value is None and answer.note == TOO_WIDE
        assert (answer.low, answer.high) == (pytest.approx(low), pytest.approx(high))
    cells = result.answer(Histogram(bins=4))
    assert (cells.high <= [1 - known.low] * 2 + [known.high] * 2).all()


def test_what_a_survey_does_not_ask_has_no_point_where_its_interval_is_wide() -> None:
    """Where it was asked, or the whole curve was, the point stays."""
    wave = lw.MultiscaleWave(AGES, 1)
    few = lw.simulate(wave, np.full(AGES.size, 1), rng=1)
    with pytest.warns(WeakAnswerWarning):
        curve = lw.SpectralPrior().decode(wave.channel, few)
    asks = [Share(above=30).to_document()]
    narrow = replace(curve, provenance={**curve.provenance, ASKS: asks})
    wide = narrow.answer(Mean())
    assert wide.value is None and wide.note == TOO_WIDE and wide.high - wide.low >= 50
    assert narrow.answer(Share(above=50)).value is None
    assert narrow.answer(Quantile(0.3, 0.6)).value is None
    assert narrow.answer(Share(above=30)).value is not None
    assert curve.answer(Mean()).value is not None
    both = replace(curve, provenance={ASKS: [*asks, Curve().to_document()]})
    assert both.answer(Mean()).value is not None
    sure = replace(published(), provenance={ASKS: asks})
    assert sure.answer(Mean()).value is not None and sure.answer(Mean()).note is None


def test_the_outer_cells_of_a_histogram_hold_what_is_moved_to_the_ends() -> None:
    """So a design of these cells answers them as exactly as the others."""
    domain = lw.Interval(0, 100, bins=64, outside="clip")
    best = lw.recommend(domain, epsilon=1, users=50_000, questions=["histogram bins 8"])
    survey = lw.Survey("age", best)
    result = survey.decode(lw.simulate(survey.randomizer, np.full(64, 800), rng=1))
    for question in (Histogram(bins=8), Histogram([0, 50, 100])):
        answer = result.answer(question)
        widths = answer.high - answer.low
        assert widths.max() < 1.1 * widths.min()
    counted = lw.Interval(0, 100, bins=4, outside="overflow")
    outside = lw.Distribution.of_counts([5, 1, 1, 1, 1, 1], counted)
    assert outside.answer("histogram edges 0 50 100").value == pytest.approx([0.2, 0.2])


def test_summary_and_picture_begin_with_what_a_survey_asks() -> None:
    """In place of the curve, or before it where the survey asks that too."""
    asked = ["share above 30", "histogram edges 0 20 60 100", "mean"]
    asks = [read(each).to_document() for each in asked]
    result = replace(published(), provenance={ASKS: asks})
    cells = result.answer(asked[1])
    lines = result.summary().splitlines()
    names = [line.split("  ")[0] for line in lines]
    place = names.index("share above 30")
    assert names[place : place + 5] == [
        "share above 30",
        "0 to 20",
        "20 to 60",
        "60 to 100",
        "mean",
    ]
    assert "median" not in names
    (bars,) = result._pictures(level=0.9)
    assert bars.dots and bars.values == ["share above 30", "0 to 20", "20 to 60", "60 to 100"]
    assert bars.heights[1:].tolist() == cells.value.tolist()
    share = result.answer(asked[0], level=0.9)
    assert bars.intervals[0][0] == share.low and bars.intervals[1][0] == share.high
    assert len(result._pictures(detail="all")) == len(result._pictures(xlim=(0, 50))) == 2
    assert len(result._pictures(asks=["curve"])) == 2
    truth = lw.Distribution.of_counts(np.full(50, 1), AGES)
    (bars,) = result._pictures(truth=truth)
    assert bars.truth.tolist() == pytest.approx([0.7, 0.2, 0.4, 0.4])
    with pytest.raises(ArgumentError, match="a picture shows shares"):
        result._pictures(asks=["mean"])
    both = replace(result, provenance={ASKS: [*asks, Curve().to_document()]})
    names = [line.split("  ")[0] for line in both.summary().splitlines()]
    assert names.index("share above 30") < names.index("median")
    assert len(both._pictures()) == 2
    assert len(both._pictures(asks=asked[:1])) == 1
