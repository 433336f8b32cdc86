"""What a list of the largest of many labels says: it was chosen, and its intervals know that."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing import Categories, Distribution, Interval, recommend, release, simulate
from lapwing.linear.covariance import Covariance
from lapwing.linear.projections import simplex
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.results.answer_documents import LIST_LIMIT, AnswerRequest
from lapwing.results.answer_text import csv_rows, question_rows, tables_of
from lapwing.results.answers import difference_answer, result_answer
from lapwing.results.rounding import percent
from lapwing.results.uncertainty import Uncertainty
from lapwing.service.decoding import table_of
from tests.false_alarms import LEAST_TABLES, SORTED_TABLES

SIZE = 2_000
COUNTS = np.round(3e4 / np.arange(1, SIZE + 1)).astype(np.int64)
TRUTH = COUNTS / COUNTS.sum()


@pytest.fixture(scope="module")
def polls() -> list[Distribution]:
    """Two polls of the same people."""
    pair = recommend(Categories(SIZE), epsilon=1, users=int(COUNTS.sum()))
    channel = pair.randomizer.channel
    tallies = (simulate(pair.randomizer, COUNTS, rng=seed) for seed in (1, 2))
    return [pair.decoder.decode(channel, tally) for tally in tallies]


def covers(rows: list[dict[str, float]], values: list[float]) -> float:
    """Return the share of rows whose interval holds a value."""
    pairs = zip(rows, values, strict=True)
    return float(np.mean([row["low"] <= value <= row["high"] for row, value in pairs]))


def test_a_table_of_the_largest_holds_the_truth_and_its_estimates(
    polls: list[Distribution],
) -> None:
    """All rows at once with 95%; two polls, so an alarm by chance is below 1% (and seeded)."""
    for poll in polls:
        answer = result_answer(poll, AnswerRequest())
        assert answer["kind"] == "labels" and answer["labels"] == len(answer["shares"]) == SIZE
        rows = answer["shares"][:LIST_LIMIT]
        assert [row[0] for row in tables_of(answer, "")[0].rows] == [str(r["label"]) for r in rows]
        labels = [int(poll.domain.index([row["label"]])[0]) for row in rows]
        assert covers(rows, [row["share"] for row in rows]) == 1
        assert covers(rows, TRUTH[labels].tolist()) >= 0.95
        # Broken: intervals of labels that were named before looking.
        band = poll.confidence_band(0.95)
        assert band is not None
        narrow = [{"low": band.low[label], "high": band.high[label]} for label in labels]
        assert covers(narrow, TRUTH[labels].tolist()) < 0.9


def test_the_largest_differences_of_equal_polls_hold_zero(polls: list[Distribution]) -> None:
    made = polls[0].difference(polls[1])
    rows = (difference_answer(made, AnswerRequest())["shares"] or [])[:LIST_LIMIT]
    assert covers(rows, [0.0] * LIST_LIMIT) >= 0.95
    assert covers(rows, [row["difference"] for row in rows]) == 1
    band = made.confidence_band(0.95)
    assert band is not None
    labels = [int(polls[0].domain.index([row["label"]])[0]) for row in rows]
    narrow = [{"low": band.low[label], "high": band.high[label]} for label in labels]
    assert covers(narrow, [0.0] * LIST_LIMIT) < 0.9


def test_pictures_show_the_same(polls: list[Distribution]) -> None:
    for bars in (polls[0]._pictures()[-1], polls[0].difference(polls[1])._picture()):
        low, high = bars.intervals  # type: ignore[union-attr,misc]
        assert np.all((low <= bars.heights) & (bars.heights <= high))  # type: ignore[union-attr]
        band = polls[0].confidence_band(0.95)
        assert band is not None
        assert (high - low).max() > 1.5 * (band.high - band.low).max()


def test_few_labels_are_sorted_as_well() -> None:
    labels = OptimizedUnaryEncoding(Categories(4), 1)
    tally = simulate(labels, np.array([100, 200, 300, 400]), rng=1)
    pair = recommend(Categories(4), epsilon=1, users=1000)
    result = pair.decoder.decode(labels.channel, tally)
    answer = result_answer(result, AnswerRequest(shares=[lw.questions.Share(label=3)]))
    assert answer["kind"] == "labels" and answer["band"]["kind"] == "simultaneous"  # type: ignore[index]
    rows, (question,) = answer["shares"], answer["questions"]
    band = result.confidence_band(0.95, kind="simultaneous")
    assert band is not None
    order = np.argsort(-result.mass, kind="stable")
    assert [row["low"] for row in rows] == pytest.approx(
        np.minimum(band.low, result.mass)[order].tolist()
    )
    assert {row["interval"] for row in (*rows, *csv_rows(answer))} == {"simultaneous"}
    # One named label was not chosen by its size.
    assert question["interval"] == question_rows(answer)[0]["interval"] == "pointwise"
    assert (question["low"], question["high"]) == result.share_interval(3)
    wide = next(row for row in rows if row["label"] == 3)
    assert wide["low"] <= question["low"] <= question["high"] <= wide["high"]  # type: ignore[operator]


def _releases() -> tuple[np.ndarray, Callable[[int], Distribution]]:
    counts = np.append(100 // np.arange(1, 1001), 0)  # nobody is missing
    exact = ExactCounts(Categories(1000).for_curator(), counts)
    privacy = {"neighbors": "replace-one", "epsilon": 1}
    return counts, lambda seed: release(exact, rng=lw.seeded(seed), **privacy).distribution


def _polls() -> tuple[np.ndarray, Callable[[int], Distribution]]:
    counts = 30_000 // np.arange(1, 1001)
    pair = recommend(Categories(1000), epsilon=1, users=int(counts.sum()))
    channel, randomizer = pair.randomizer.channel, pair.randomizer
    return counts, lambda seed: pair.decoder.decode(channel, simulate(randomizer, counts, rng=seed))


@pytest.mark.parametrize("source", [_polls, _releases])
def test_tables_sorted_by_size_hold_the_truth(source: Any) -> None:
    """The 20 largest of a table, and of the differences of two tables of the same people."""
    counts, decoded = source()
    results = [decoded(seed) for seed in range(SORTED_TABLES + 1)]
    gaps = [two.difference(one, target="empirical") for one, two in pairwise(results)]
    for tables, truth in ((results[1:], counts / counts.sum()), (gaps, 0.0 * counts)):
        hits: dict[str, list[np.ndarray]] = {"simultaneous": [], "pointwise": []}
        for each in tables:
            for kind, rows in hits.items():
                # The default is the simultaneous one. Broken: pointwise intervals.
                columns = each.to_dict(**({} if kind == "simultaneous" else {"kind": kind}))
                low, high, share = (np.array(columns[name]) for name in ("low", "high", "share"))
                assert set(columns["interval"]) == {kind}
                largest = np.argsort(-np.abs(share), kind="stable")[:LIST_LIMIT]
                rows.append(((low <= truth) & (truth <= high))[largest])
        shown, broken = (np.array(rows) for rows in hits.values())
        assert shown.mean() >= 0.95 and shown.all(axis=1).mean() >= LEAST_TABLES
        assert broken.mean() < 0.95 and broken.all(axis=1).mean() < LEAST_TABLES / 2


def test_of_very_many_labels_the_critical_value_is_that_of_independent_ones() -> None:
    size = 2**15 + 1
    noise = Covariance(np.full(size, 1e-8), np.zeros((size, 0)), np.zeros(0))
    center = np.full(size, 1 / size)
    law = Uncertainty(center, noise, np.zeros(size), simplex(center), 1000, "by hand")
    used = np.ones(size, dtype=np.bool_)
    found = law.critical_value(0.95, np.full(size, 1e-4), used, cumulative=False)
    assert stats.norm.cdf(found) - stats.norm.cdf(-found) == pytest.approx(0.95 ** (1 / size))
    # Simulated, of one less: 1000 draws of the largest are within a few hundredths.
    less = replace(
        law,
        center=center[:-1],
        noise=Covariance(noise.diagonal[:-1], noise.factor[:-1], noise.signs),
        remainder=np.zeros(size - 1),
    )
    drawn = less.critical_value(0.95, np.full(size - 1, 1e-4), used[:-1], cumulative=False)
    assert drawn == pytest.approx(found, abs=0.1)


def test_tables_and_summaries_show_each_estimate_in_its_own_interval() -> None:
    # Shares that a decoder made smaller than the error law's own estimate.
    size = 40
    center = np.full(size, 1 / size)
    noise = Covariance(np.full(size, 1e-8), np.zeros((size, 0)), np.zeros(0))
    law = Uncertainty(center, noise, np.zeros(size), center, 1000, "as it is")
    mass = np.append(np.full(size - 1, 0.5 / size), 1 - (size - 1) * 0.5 / size)
    found = Distribution(Categories(size), mass, 1000, uncertainty=law)
    for kind in ("pointwise", "simultaneous"):
        table = found.to_dict(kind=kind)
        rows = zip(table["low"], table["share"], table["high"], strict=True)
        assert all(low <= share <= high for low, share, high in rows)
        assert table["low"][0] == mass[0] and table["high"][0] > 1 / size
    line = next(line for line in found.summary().splitlines() if line.startswith("share of"))
    shown = line.replace("(", "% ").split("%")
    assert float(shown[0].split()[-1]) <= float(shown[-2].split()[-1])
    line = Distribution(
        Interval(0, 1, bins=size, outside="clip"), mass, 1000, uncertainty=law
    ).to_dict()
    rows = zip(line["low"], line["cdf"], line["high"], strict=True)
    assert all(low <= height <= high for low, height, high in rows)


def test_the_interval_of_a_cdf_never_falls_and_holds_it() -> None:
    """The band of an unbiased estimate does fall, and a decoded curve may leave it."""
    center = np.array([0.3, -0.1, 0.5, -0.2, 0.5])
    noise = Covariance(np.full(5, 1e-6), np.zeros((5, 0)), np.zeros(0))
    law = Uncertainty(center, noise, np.zeros(5), center, 1000, "as it is")
    mass = np.array([0.2, 0.05, 0.3, 0.05, 0.4])
    found = Distribution(Interval(0, 1, bins=5), mass, 1000, uncertainty=law)
    band = found.confidence_band(0.95)
    _, high = law.curves(0.95, "pointwise", cumulative=True, least=0.0)
    assert band is not None and (np.diff(high) < -0.05).any()
    assert band.share_inside(mass.cumsum()) < 1
    table = found.to_dict()
    answer = result_answer(found, AnswerRequest(curve=True))
    assert answer["kind"] == "numbers" and answer["curve"] is not None
    columns = answer["curve"]["columns"]
    written = list(csv.DictReader(io.StringIO(table_of(found, 0.95))))
    for name in ("low", "high"):
        assert np.diff(table[name]).min() >= 0
        assert columns[name] == table[name] == [float(row[name]) for row in written]
        assert np.diff(columns[f"simultaneous_{name}"]).min() >= 0
    for low, high in (("low", "high"), ("simultaneous_low", "simultaneous_high")):
        rows = zip(columns[low], table["cdf"], columns[high], strict=True)
        assert all(one <= height <= other for one, height, other in rows)


@pytest.mark.parametrize("labels", [3, 30])
def test_the_missing_have_one_interval_of_the_kind_of_the_others(labels: int) -> None:
    """In the table, or below it where it is not among the 20 largest."""
    domain = lw.Categories([f"{k:02}" for k in range(labels)], missing="category")
    cells = np.array([*(1_000 + 10 * np.arange(labels)), 200])
    values = np.repeat(np.array([*domain.labels, None], dtype=object), cells)
    shown = lw.release(
        values, domain, epsilon=1, neighbors="replace-one", rng=lw.seeded(4)
    ).distribution
    lines = [line for line in shown.summary().splitlines() if "missing" in line.split(":")[0]]
    assert len(lines) == 1
    band = shown.confidence_band(kind="simultaneous").reaching(shown.mass)
    at = domain.missing_index
    assert f"({percent.interval(band.low[at], band.high[at])})" in lines[0]
