"""What people and other programs read of a result: named answers, tables, summaries, equality."""

import copy
import dataclasses
import math
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.planning.expected_error import error_text
from lapwing.results.rounding import number_writer, percent

DOMAINS = [
    lw.Interval(0, 100, bins=32, atoms=[0], missing="bin", outside="clip"),
    lw.Interval(edges=[0, 18, 25, 65, 100], closed="left"),
    lw.Interval("2026-01-01", "2027-01-01", bins=12, unit="date"),
    lw.Integers(0, 9),
    lw.Categories(["pear", "<b>apple</b>"], missing="category"),
    lw.Categories(40),
    lw.HashedStrings(12),
]


def decoded(domain: Any, *, seed: int = 1) -> lw.Distribution:
    """Return what 2000 simulated people give."""
    randomizer = lw.SubsetSelection(domain, 2)
    people = np.random.default_rng(seed).multinomial(2000, np.full(domain.size, 1 / domain.size))
    found = lw.LeastSquares().decode(randomizer.channel, lw.simulate(randomizer, people, rng=seed))
    assert isinstance(found, lw.Distribution)
    return found


def hitters() -> lw.HeavyHitters:
    return lw.HeavyHitters(
        lw.Categories(2**32),
        np.array([7, 3]),
        np.array([0.5, 0.25]),
        np.array([0.01, 0.02]),
        threshold=0.06,
        searched=2**32,
        reports=100_000,
    )


def test_names_are_those_of_scipy_and_mean_the_same() -> None:
    shares = np.array([0.5, 0.25, 0.25])
    ours = lw.Distribution(lw.Integers(1, 3), shares)
    theirs = stats.rv_discrete(values=([1, 2, 3], shares))
    assert ours.quantile(0.5) == theirs.median() and ours.mean() == pytest.approx(theirs.mean())
    assert ours.variance() == pytest.approx(theirs.var()) and isinstance(ours.variance(), float)
    points = [0, 1, 1.5, 3, 4]
    np.testing.assert_allclose(ours.cdf(points), theirs.cdf(points))
    assert ours.cumulative.moment(3) == pytest.approx(theirs.moment(3))


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_a_domain_is_equal_to_itself_read_or_copied(domain: Any) -> None:
    for other in (pickle.loads(pickle.dumps(domain)), copy.deepcopy(domain)):
        assert other == domain and hash(other) == hash(domain)
    assert domain != lw.Integers(0, 10)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_a_result_is_equal_to_itself_read_or_copied(domain: Any) -> None:
    result = decoded(domain)
    copies = [
        pickle.loads(pickle.dumps(result)),
        copy.deepcopy(result),
        lw.Distribution.from_json(result.to_json()),
    ]
    for other in copies:
        assert other == result and hash(other) == hash(result)
    assert {result, *copies} == {result}


def test_another_result_is_another() -> None:
    result = decoded(DOMAINS[0])
    other_law = decoded(DOMAINS[0], seed=2).uncertainty
    others = {
        "mass": decoded(DOMAINS[0], seed=2),
        "reports": dataclasses.replace(result, reports=1),
        "error law": dataclasses.replace(result, uncertainty=None),
        "another error law": dataclasses.replace(result, uncertainty=other_law),
        "how": dataclasses.replace(result, provenance={}),
        "promise": dataclasses.replace(result, guarantee=None),
        "class": lw.results.SignedEstimate(result.domain, result.mass, result.reports),
        "number": 1,
        "array": result.mass,
    }
    assert [name for name, other in others.items() if result == other] == []


def test_heavy_hitters_and_signed_estimates_are_equal_by_what_they_say() -> None:
    assert hitters() == lw.HeavyHitters.from_json(hitters().to_json())
    assert hash(hitters()) == hash(hitters())
    domain = lw.Integers(0, 2)
    signed = [
        lw.results.SignedEstimate(domain, np.array([1.5, -0.5, last]), 9) for last in (0, 0, 0.1)
    ]
    assert signed[0] == signed[1] != signed[2]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_a_table_has_a_row_for_each_symbol(domain: Any) -> None:
    result = decoded(domain)
    table = result.to_dict(level=0.9)
    assert {len(column) for column in table.values()} == {domain.size}
    assert table["share"] == result.mass.tolist()
    kind = "pointwise" if domain.ordered else "simultaneous"
    band = result.confidence_band(0.9, kind=kind)
    assert band is not None
    shown = band.monotone() if domain.ordered else band
    band = shown.reaching(result.cumulative.sums if domain.ordered else result.mass)
    present = len(band.low)
    assert table["low"][:present] == band.low.tolist()
    assert table["low"][present:] == [None] * (domain.size - present)
    assert table["interval"] == [kind] * present + [None] * (domain.size - present)
    plain = {type(each) for column in table.values() for each in column}
    assert plain <= {float, str, int, type(None)}
    wide = result.to_dict(level=0.9, kind="simultaneous")
    assert max(wide["high"][:present]) >= max(table["high"][:present])
    assert set(wide["interval"][:present]) == {"simultaneous"}


def test_a_table_of_dates_has_dates() -> None:
    table = decoded(DOMAINS[2]).to_dict()
    assert table["left"][1] == table["right"][0] and table["right"][0].startswith("2026-01-")
    # Values outside were moved to the ends, so these are open.
    assert table["left"][0] == "-inf" and table["right"][-1] == "inf"
    assert table["cdf"][-1] == pytest.approx(1)


def test_pandas_gets_the_same_table() -> None:
    pandas = pytest.importorskip("pandas", reason="no pandas: pip install '.[pandas]'")
    for result in (decoded(DOMAINS[4]), hitters()):
        frame, table = result.to_pandas(), result.to_dict()
        assert isinstance(frame, pandas.DataFrame) and list(frame) == list(table)
        assert frame["share"].tolist() == table["share"]
    assert decoded(DOMAINS[4]).to_dict()["label"] == ["pear", "<b>apple</b>", None]
    assert hitters().to_dict()["value"] == [7, 3]


def test_without_pandas_the_message_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(lw.errors.MissingExtraError, match=r"'\.\[pandas\]'"):
        hitters().to_pandas()


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_a_summary_says_the_promise_and_the_answers(domain: Any) -> None:
    result = decoded(domain)
    text = result.summary(level=0.9)
    assert "2,000" in text and "epsilon = 2" in text and "90%" in text
    if domain.ordered:
        low, high = result.quantile_interval(0.5, level=0.9) or (0, 0)
        (median,) = [line for line in text.splitlines() if line.startswith("median")]
        if domain.unit == "number":
            assert f"({number_writer(domain.unit).interval(low, high)})" in median
    else:
        assert text.count("share of ") == min(20, domain.size)


def test_the_shares_of_the_largest_labels_hold_at_once() -> None:
    result = decoded(lw.Categories(40))
    largest = int(np.argmax(result.mass))
    band = result.confidence_band(kind="simultaneous")
    assert band is not None
    line = next(line for line in result.summary().splitlines() if "share of" in line)
    assert percent.interval(band.low[largest], band.high[largest]) in line


def test_a_distribution_that_nobody_estimated_has_a_summary_without_intervals() -> None:
    text = lw.Distribution.of_values([1, 2], lw.Integers(0, 3)).summary()
    assert "(" not in text and "none: exact values have no error" in text
    absent = lw.Interval(0, 1, bins=2, missing="bin")
    assert "missing" in lw.Distribution.of_values([math.nan], absent).summary()


def test_a_notebook_shows_labels_and_runs_none_of_them() -> None:
    shown = decoded(DOMAINS[4])._repr_html_()
    assert "<b>" not in shown and "&lt;b&gt;apple" in shown
    assert "<td" in hitters()._repr_html_() and "share of 7" in hitters().summary()


def test_a_recommendation_can_be_read() -> None:
    found = lw.recommend(lw.Interval(0, 100, bins=256, outside="clip"), epsilon=1, users=100_000)
    assert "\n" not in repr(found) and "multiscale-wave with spectral-prior" in repr(found)
    text = str(found)
    error = found.expected_error["wasserstein"]
    assert error.high == 1.5 * max(error.by_kind.values())
    for number in (error.typical, error.low, error.high):
        assert error_text("wasserstein", number, found.randomizer.domain) in text
    assert "100,000" in text and "3 bytes" in text
    assert found.reason in text and "<table>" in found._repr_html_()


def test_a_column_without_values_says_so_in_place_of_numbers() -> None:
    domain = lw.Interval(0, 60, bins=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.RowsWarning)
        options: Any = {"epsilon": 1, "neighbors": "replace-one", "rng": lw.seeded(3)}
        nobody = lw.release(["?"] * 40_000, domain, mechanism="sum-tree", **options)
        many = lw.release([5.0] * 40_000, domain, mechanism="sum-tree", **options)
    assert "none: too few have a value" in nobody.distribution.summary()
    assert "too few have" not in many.distribution.summary()
