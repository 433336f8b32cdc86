"""Questions about two attributes together, against counts of the people themselves."""

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError, FormatError, LimitedWarning
from lapwing.results import JointDifference, JointDistribution, JointUncertainty
from lapwing.results.association import (
    MEASURES,
    information_text,
    measure_of,
    mutual_information,
    pearson,
    slopes_of,
    spearman,
)
from lapwing.results.spread_law import encoded
from tests.mistaken import mistaken
from tests.rows import each

RNG = np.random.default_rng(1)
PEOPLE = 4000
WAIT = np.clip(RNG.gamma(2, 8, PEOPLE), 0, 90)
HOUR = (RNG.normal(12, 4, PEOPLE) + WAIT / 10) % 24
REGION = np.where(WAIT + RNG.normal(0, 20, PEOPLE) > 20, "south", "north")
REGION[:200] = "east"

TIMES = lw.Product(
    wait=lw.Interval(0, 60, bins=24, outside="overflow"),
    hour=lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
)
REGIONS = lw.Product(
    wait=lw.Interval(0, 60, bins=24), region=lw.Categories(["north", "south", "east", "west"])
)
MISSING = lw.Product(
    a=lw.Interval(0, 10, bins=10, outside="overflow", missing="bin"),
    b=lw.Interval(0, 10, bins=5, missing="bin"),
)

TABLE: Any = {"wait": WAIT, "hour": HOUR * 3600, "region": REGION}
times = JointDistribution.of_values(TABLE, TIMES)
regions = JointDistribution.of_values(TABLE, REGIONS)


def _drawn(joint: JointDistribution, *, scale: float = 0.02, seed: int = 1) -> JointDistribution:
    """Return a joint distribution with draws whose covariance is known: those of a multinomial."""
    rng = np.random.default_rng(seed)
    people = round(1 / scale**2)
    draws = rng.multinomial(people, joint.mass, 500) / people - joint.mass
    law = JointUncertainty(joint.mass, draws.astype(np.float32), "drawn")
    return JointDistribution(
        joint.domain,
        joint.mass,
        reports=PEOPLE,
        guarantee=lw.Guarantee(1, 0, "replace-one", "local"),
        uncertainty=law,
        provenance={"class": "drawn"},
    )


drawn = _drawn(times)


def test_masses_are_those_of_the_people() -> None:
    assert times.reports == PEOPLE and times.uncertainty is None and times.guarantee is None
    assert times.table.shape == TIMES.shape and times.mass.sum() == pytest.approx(1)
    cells = TIMES.index(TABLE)
    np.testing.assert_allclose(times.mass, np.bincount(cells, minlength=TIMES.size) / PEOPLE)
    counted = JointDistribution.of_counts(np.round(times.table * PEOPLE), TIMES)
    np.testing.assert_allclose(counted.mass, times.mass, rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        times.mass[0] = 1.0


def test_marginals_are_the_distributions_of_one_column() -> None:
    for name, column in (("wait", WAIT), ("hour", HOUR * 3600)):
        alone = lw.Distribution.of_values(column, TIMES.axes[name])
        np.testing.assert_allclose(times.marginal(name).mass, alone.mass, atol=1e-12)
        assert times.marginal(name).reports == PEOPLE
    wait = times.marginal("wait")
    assert wait.quantile(0.5) == pytest.approx(np.median(WAIT), abs=1.5)
    np.testing.assert_allclose(
        regions.marginal("region").mass,
        [np.mean(np.array(REGION) == one) for one in ("north", "south", "east", "west")],
    )
    with pytest.raises(ArgumentError, match="the axes are wait and hour, got 'delay'"):
        times.marginal("delay")


RANGES: dict[str, tuple[dict[str, Any], Any]] = {
    "both axes": (
        {"wait": (15, 30), "hour": ("06:00", "12:00")},
        lambda w: (w > 15) & (w <= 30),
    ),
    "to infinity": ({"wait": (15, math.inf), "hour": ("06:00", "12:00")}, lambda w: w > 15),
    "from infinity": ({"wait": (-math.inf, 15), "hour": ("06:00", "12:00")}, lambda w: w <= 15),
}


def test_the_product_of_marginals_shows_no_dependence() -> None:
    wait, hour = times.marginal("wait"), times.marginal("hour")
    product = JointDistribution.independent(wait=wait, hour=hour)
    assert product.domain == times.domain and product.reports == PEOPLE
    np.testing.assert_allclose(product.table, np.outer(wait.mass, hour.mass), rtol=1e-12)
    assert product.mutual_information() == pytest.approx(0, abs=1e-9)
    assert times.mutual_information() > 0.01
    assert product.probability_interval(wait=(0, 5)) is None


@pytest.mark.parametrize("name", RANGES)
def test_probabilities_of_both_axes_are_those_of_the_people(name: str) -> None:
    ranges, waits = RANGES[name]
    held = waits(WAIT) & (HOUR >= 6) & (HOUR < 12)
    assert times.probability(**ranges) == pytest.approx(held.mean(), abs=1e-9)
    assert times.probability(wait=ranges["wait"]) == pytest.approx(waits(WAIT).mean(), 1e-9)
    product = times.probability(wait=ranges["wait"]) * times.probability(hour=ranges["hour"])
    assert times.probability(**ranges) != pytest.approx(product, abs=1e-3), "they are dependent"


def test_beyond_the_range_there_is_a_symbol() -> None:
    assert times.probability(wait=(60, math.inf)) == pytest.approx((WAIT > 60).mean(), abs=1e-9)
    assert times.probability(wait=(0, 60)) == pytest.approx((WAIT <= 60).mean(), abs=1e-9)


def test_a_range_of_hours_may_go_over_midnight() -> None:
    held = (HOUR >= 22) | (HOUR < 5)
    asked: dict[str, Any] = {"hour": ("22:00", "05:00")}
    assert times.probability(**asked) == pytest.approx(held.mean(), abs=1e-9)
    assert times.given(**asked).mass.sum() == pytest.approx(1)


def test_labels_and_lists_of_them() -> None:
    north = REGION == "north"
    assert regions.probability(region="north") == pytest.approx(north.mean())
    both = regions.probability(region=["north", "east"], wait=(-math.inf, 20))
    assert both == pytest.approx(np.mean((REGION != "south") & (WAIT <= 20)), abs=1e-9)
    assert regions.probability(region=["north", "north"]) == pytest.approx(north.mean())
    assert regions.probability(region="west") == 0


def test_a_conditional_is_the_distribution_of_those_people() -> None:
    south = REGION == "south"
    alone = lw.Distribution.of_values(WAIT[south], REGIONS.axes["wait"])
    given = regions.given(region="south")
    np.testing.assert_allclose(given.mass, alone.mass, atol=1e-12)
    assert given.reports == south.sum() and given.provenance["given"] == "region"
    np.testing.assert_allclose(
        given.quantile([0.25, 0.5, 0.75]), alone.quantile([0.25, 0.5, 0.75]), rtol=1e-9
    )
    assert given.quantile(0.5) > regions.given(region="north").quantile(0.5) + 5
    some = regions.given(region=["north", "south"])
    alone = lw.Distribution.of_values(WAIT[REGION != "east"], REGIONS.axes["wait"])
    np.testing.assert_allclose(some.mass, alone.mass, atol=1e-12)
    back = regions.given(wait=(20, 40))
    held = (WAIT > 20) & (WAIT <= 40)
    assert back.share("south") == pytest.approx(np.mean(REGION[held] == "south"))


def test_people_with_a_missing_value_are_not_in_a_share_of_it() -> None:
    table = np.zeros(MISSING.shape)  # below, ten bins, above, missing; five bins, missing
    table[1:11, :5] = 0.6 / 50
    table[11, :5] = 0.1 / 5
    table[12, :5] = 0.1 / 5
    table[1:11, 5] = 0.2 / 10
    joint = JointDistribution(MISSING, table.ravel())
    # Of a: 10% are missing. Of b: 20%. Of both 70% are present.
    assert joint.probability(a=(0, 5)) == pytest.approx(0.4 / 0.9)
    assert joint.probability(b=(0, 4)) == pytest.approx(0.32 / 0.8)
    assert joint.probability(a=(0, 5), b=(0, 4)) == pytest.approx(0.12 / 0.7)
    assert joint.probability(a=(10, math.inf)) == pytest.approx(0.1 / 0.9)
    everybody = np.zeros(MISSING.shape)
    everybody[12, 0] = 1.0
    with pytest.raises(ArgumentError, match="nobody has values on the named axes"):
        JointDistribution(MISSING, everybody.ravel()).probability(a=(0, 5))


def test_a_range_that_ends_inside_a_bin_is_divided_and_said() -> None:
    with pytest.warns(LimitedWarning, match="the range of wait ends inside a bin"):
        cut = times.given(wait=(15, 31))  # bins of 2.5
    inner, outer = times.given(wait=(15, 30)), times.given(wait=(15, 32.5))
    low, high = (one.mass * one.reports for one in (inner, outer))
    np.testing.assert_allclose(cut.mass * cut.reports, low + 0.4 * (high - low), atol=1.5)
    assert times.probability(wait=(15, 31)) == pytest.approx(
        0.6 * times.probability(wait=(15, 30)) + 0.4 * times.probability(wait=(15, 32.5))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        times.given(wait=(15, 30))


def test_few_people_in_a_condition_are_said_where_there_are_intervals() -> None:
    share = times.probability(wait=(55, 60))
    assert 0 < share < 0.02
    with pytest.warns(LimitedWarning, match="% of the people meet the condition on wait"):
        drawn.given(wait=(55, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        times.given(wait=(55, 60))  # which has no intervals
        drawn.given(wait=(0, 60))


def test_intervals_are_those_of_a_sample() -> None:
    asked: dict[str, Any] = {"wait": (15, 30), "hour": ("06:00", "12:00")}
    share = times.probability(**asked)
    reach = 1.96 * math.sqrt(share * (1 - share)) * 0.02  # of a sample of 2500
    interval = drawn.probability_interval(**asked)
    assert interval is not None
    np.testing.assert_allclose(interval, [share - reach, share + reach], atol=0.15 * reach)
    wide = drawn.probability_interval(level=0.999, **asked)
    assert wide is not None and wide[0] < interval[0] < share < interval[1] < wide[1]
    cut = drawn.probability_interval(wait=(15, 31), hour=("06:00", "12:00"))
    whole = drawn.probability_interval(wait=(15, 32.5), hour=("06:00", "12:00"))
    assert cut is not None and whole is not None
    assert cut[0] == pytest.approx(interval[0]) and cut[1] == pytest.approx(whole[1])
    assert times.probability_interval(**asked) is None
    nothing = drawn.probability_interval(wait=(-5, -3))
    assert nothing is not None and 0 <= nothing[0] <= nothing[1] <= 1


def test_intervals_of_a_marginal_and_of_a_conditional() -> None:
    marginal = drawn.marginal("wait")
    share = marginal.probability(15, 30)
    interval = marginal.probability_interval(15, 30)
    assert interval is not None
    reach = 1.96 * math.sqrt(share * (1 - share)) * 0.02
    np.testing.assert_allclose(interval, [share - reach, share + reach], atol=0.2 * reach)
    given = drawn.given(hour=("06:00", "12:00"))
    held = times.probability(hour=("06:00", "12:00"))
    inside = given.probability(15, 30)
    reach = 1.96 * math.sqrt(inside * (1 - inside) / held) * 0.02  # of fewer people
    interval = given.probability_interval(15, 30)
    assert interval is not None
    np.testing.assert_allclose(interval, [inside - reach, inside + reach], atol=0.25 * reach)
    band = given.confidence_band(0.95)
    assert band is not None and (band.low <= band.high).all()


def test_quantiles_in_slices_of_the_people() -> None:
    rows = drawn.conditional_quantiles("wait", [0.5, 0.9], slice_share=0.2)
    assert list(rows) == ["from", "to", "share", "probability", "quantile", "low", "high"]
    number = len(rows["from"])
    assert (
        number >= 4 and number % 2 == 0 and all(len(column) == number for column in rows.values())
    )
    assert sum(rows["share"][::2]) == pytest.approx(1) and min(rows["share"]) >= 0.2
    for row in range(number):
        start, stop = rows["from"][row], rows["to"][row]
        seconds = HOUR * 3600
        held = (seconds >= start) & (seconds < stop)
        assert rows["share"][row] == pytest.approx(held.mean(), abs=1e-9)
        wanted = np.quantile(WAIT[held], rows["probability"][row])
        assert rows["quantile"][row] == pytest.approx(wanted, abs=1.5)
        assert rows["low"][row] <= rows["quantile"][row] <= rows["high"][row]
    assert rows["from"][2] == rows["to"][0], "slices are neighbors"
    labels = regions.conditional_quantiles("wait")
    assert labels["label"] == ["north"] * 3 + ["south"] * 3 + ["east"] * 3, "nobody is in the west"
    assert labels["low"] == [None] * 9
    assert labels["quantile"][4] > labels["quantile"][1]
    with pytest.raises(DomainError, match="axis region has no order, so it has no quantiles"):
        regions.conditional_quantiles("region")
    with pytest.raises(ArgumentError, match=r"slice_share must be in \(0, 1\], got 0"):
        regions.conditional_quantiles("wait", slice_share=0)


def test_correlations_are_those_of_scipy() -> None:
    domain = lw.Product(x=lw.Integers(0, 9), y=lw.Integers(0, 14))
    x = RNG.integers(0, 10, PEOPLE)
    y = np.clip(x + RNG.integers(0, 6, PEOPLE), 0, 14)
    joint = JointDistribution.of_values(np.array([x, y]).T, domain)
    assert joint.correlation() == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-9)
    assert joint.correlation("spearman") == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-9)
    turned = JointDistribution.of_values(np.array([x, 14 - y]).T, domain)
    assert turned.correlation() == pytest.approx(-joint.correlation(), abs=1e-9)
    assert joint.correlation_interval() is None
    with pytest.raises(ArgumentError, match="'pearson' or 'spearman', got 'kendall'"):
        joint.correlation(mistaken("kendall"))
    with pytest.raises(
        DomainError, match="axis hour is not ordered on a line, so there is no correlation"
    ):
        times.correlation()
    with pytest.raises(DomainError, match="axis region is not ordered"):
        regions.correlation("spearman")
    alike = JointDistribution.of_values([(3, 1), (3, 2)], domain)
    with pytest.raises(ArgumentError, match="two attributes that vary"):
        alike.correlation()


def test_an_interval_of_a_correlation_is_that_of_a_sample() -> None:
    domain = lw.Product(x=lw.Integers(0, 9), y=lw.Integers(0, 9))
    x = RNG.integers(0, 10, 20_000)
    y = np.clip(x + RNG.integers(-3, 4, 20_000), 0, 9)
    joint = _drawn(JointDistribution.of_values(np.array([x, y]).T, domain))
    value, interval = joint.correlation(), joint.correlation_interval()
    rng, found = np.random.default_rng(2), []
    for _ in range(300):
        rows = rng.integers(0, 20_000, 2500)
        found.append(stats.pearsonr(x[rows], y[rows])[0])
    assert interval is not None
    reach = 1.96 * float(np.std(found))
    np.testing.assert_allclose(interval, [value - reach, value + reach], atol=0.25 * reach)


def test_mutual_information_is_that_of_the_people() -> None:
    cells = TIMES.index(TABLE)
    rows, columns = np.divmod(cells, TIMES.shape[1])
    both, one, other = (stats.entropy(np.bincount(numbers)) for numbers in (cells, rows, columns))
    assert times.mutual_information() == pytest.approx(one + other - both, abs=1e-9)
    assert times.mutual_information() > 0.02 and times.mutual_information_interval() is None
    apart = np.outer(times.table.sum(axis=1), times.table.sum(axis=0))
    independent = JointDistribution(TIMES, apart.ravel())
    assert independent.mutual_information() == pytest.approx(0, abs=1e-12)
    interval = drawn.mutual_information_interval()
    assert interval is not None and 0 <= interval[0] < drawn.mutual_information() < interval[1]
    same = JointDistribution(
        lw.Product(x=lw.Categories(3), y=lw.Categories(3)), (np.eye(3) / 3).ravel()
    )
    assert same.mutual_information() == pytest.approx(math.log(3))


def test_slopes_are_those_of_the_measures() -> None:
    axis = lw.Interval(0, 3, bins=40, missing="bin")
    domain = lw.Product(x=lw.Interval(0, 1, bins=5, outside="clip"), y=axis)
    table = RNG.dirichlet(np.full(domain.size, 5.0)).reshape(domain.shape)
    change = RNG.normal(size=domain.shape) * 1e-6
    change -= change.mean()
    slopes = slopes_of(domain, table)
    assert set(slopes) == set(MEASURES)
    for name, slope in slopes.items():
        measure = measure_of(domain, name)
        expected = (measure(table + change) - measure(table - change)) / 2
        assert (slope * change).sum() == pytest.approx(expected, rel=1e-6)
        assert (slope * table).sum() == pytest.approx(0, abs=1e-12)
    assert set(slopes_of(TIMES, times.table)) == {"mutual_information"}
    single = np.zeros(domain.shape)
    single[2, 3:9] = 1 / 6
    assert set(slopes_of(domain, single)) == {"mutual_information"}


def test_direct_estimates_are_in_the_document() -> None:
    law = replace(drawn.uncertainty, direct={"mutual_information": (0.4, 0.1)})
    joint = replace(drawn, uncertainty=law)
    again = JointDistribution.from_json(joint.to_json())
    assert again.uncertainty.direct == law.direct
    low, high = again.mutual_information_interval()
    value = again.mutual_information()
    assert low == pytest.approx(min(value, 0.4 - 1.96 * 0.1), abs=1e-4)
    assert high == pytest.approx(math.log(24))
    for damaged in (
        {"kendall": [0.1, 0.1]},
        {"pearson": [0.1]},
        {"pearson": [0.1, -1]},
        [],
        {"pearson": ["0", 1]},
    ):
        document = joint.to_document()
        document["uncertainty"]["direct"] = damaged
        with pytest.raises(FormatError, match="direct"):
            JointDistribution.from_document(document)


def test_measures_of_a_table_do_not_depend_on_its_sum() -> None:
    table = RNG.dirichlet(np.ones(12)).reshape(3, 4)
    places = np.arange(3.0), np.arange(4.0)
    assert pearson(7 * table, *places) == pytest.approx(pearson(table, *places))
    assert spearman(7 * table) == pytest.approx(spearman(table))
    assert mutual_information(7 * table) == pytest.approx(mutual_information(table))


def test_a_difference_of_two_groups_of_people() -> None:
    other = JointDistribution(TIMES, np.roll(times.table, 2, axis=0).ravel(), reports=PEOPLE)
    apart = _drawn(times).difference(_drawn(other, seed=2))
    assert isinstance(apart, JointDifference)
    asked: dict[str, Any] = {"wait": (15, 30), "hour": ("06:00", "12:00")}
    value = times.probability(**asked) - other.probability(**asked)
    assert apart.probability(**asked) == pytest.approx(value)
    one, two = (each.probability_interval(**asked) for each in (apart.first, apart.second))
    interval = apart.probability_interval(**asked)
    assert interval is not None and one is not None and two is not None
    reach = math.hypot((one[1] - one[0]) / 2, (two[1] - two[0]) / 2)
    np.testing.assert_allclose(interval, [value - reach, value + reach], atol=1e-3)
    moved = apart.marginal("wait")
    expected = times.marginal("wait").probability(0, 20) - other.marginal("wait").probability(0, 20)
    assert moved.probability(0, 20) == pytest.approx(expected)
    assert times.difference(other).probability_interval(**asked) is None
    for wrong in (regions, times.marginal("wait"), None):
        with pytest.raises(ArgumentError, match="two joint distributions on one domain"):
            times.difference(mistaken(wrong))


def test_saved_and_read_back_it_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "joint.json"
    drawn.save(path)
    for again in (lw.load(path), JointDistribution.load(path)):
        assert again == drawn and hash(again) == hash(drawn)
        assert again.guarantee == drawn.guarantee and again.provenance == drawn.provenance
        asked: dict[str, Any] = {"wait": (15, 30), "hour": ("06:00", "12:00")}
        assert again.probability_interval(**asked) == drawn.probability_interval(**asked)
    assert JointDistribution.from_json(times.to_json()) == times != drawn


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(drawn.to_json())
    return document


def test_a_document_holds_at_most_4096_draws() -> None:
    def document(count: int) -> dict[str, Any]:
        pairs = lw.Product(x=lw.Integers(0, 1), y=lw.Integers(0, 1))
        law = JointUncertainty(np.full(4, 0.25), np.zeros((1, 4), np.float32), "drawn")
        joint = JointDistribution(
            pairs, np.full(4, 0.25), reports=9, guarantee=None, uncertainty=law, provenance={}
        )
        made = joint.to_document()
        made["uncertainty"]["draws"] = encoded(np.zeros((count, 4)), kind="<f4")
        return made

    JointDistribution.from_document(document(4096))
    for count in (0, 4097):
        with pytest.raises(FormatError, match=f"draws must be 1 to 4096, got {count}"):
            JointDistribution.from_document(document(count))


MASS = np.full(TIMES.size, 1 / TIMES.size)
WRONG: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "one axis": (lw.Integers(0, 3), [0.5, 0.5, 0, 0], DomainError, "needs a Product of two axes"),
    "too few masses": (TIMES, MASS[1:], ArgumentError, "there must be 624 masses"),
    "a negative one": (
        TIMES,
        MASS - 2 * np.eye(TIMES.size)[0] / 400,
        ArgumentError,
        "not negative",
    ),
    "another sum": (TIMES, 2 * MASS, ArgumentError, "sum to 1"),
    "no number": (TIMES, MASS * np.nan, ArgumentError, "finite"),
}


@each("name", WRONG)
def test_what_is_no_joint_distribution_is_refused(name: str) -> None:
    domain, mass, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        JointDistribution(mistaken(domain), mass)


ASKED: dict[str, tuple[Any, Any, str]] = {
    "no axis": (lambda: times.probability(), ArgumentError, "name at least one axis: wait or hour"),
    "an axis that is none": (
        lambda: times.probability(delay=(1, 2)),
        ArgumentError,
        "the axes are wait and hour, got 'delay'",
    ),
    "three ends": (lambda: times.probability(wait=(1, 2, 3)), ArgumentError, "axis wait: a range"),
    "ends exchanged": (lambda: times.probability(wait=(30, 15)), ArgumentError, "axis wait"),
    "an end that is no time": (
        lambda: times.probability(hour=("six", "12:00")),
        (ArgumentError, DomainError),
        "axis hour",
    ),
    "a label that is none": (
        lambda: regions.probability(region="mars"),
        (ArgumentError, DomainError),
        "axis region",
    ),
    "two conditions": (
        lambda: times.given(wait=(1, 2), hour=("06:00", "07:00")),
        ArgumentError,
        "on one axis, wait or hour, got 2",
    ),
    "no condition": (lambda: times.given(), ArgumentError, "on one axis, wait or hour, got 0"),
    "nobody": (lambda: regions.given(region="west"), ArgumentError, "nobody meets the condition"),
    "a level of one": (
        lambda: drawn.probability_interval(level=1, wait=(0, 5)),
        ArgumentError,
        "level",
    ),
    "no counts": (
        lambda: JointDistribution.of_counts(np.zeros(TIMES.size), TIMES),
        ArgumentError,
        "positive sum",
    ),
    "a marginal that is none": (
        lambda: JointDistribution.independent(wait=times.marginal("wait"), hour=[0.5, 0.5]),  # type: ignore[arg-type]
        ArgumentError,
        "must be a Distribution",
    ),
    "a marginal alone": (
        lambda: JointDistribution.independent(wait=times.marginal("wait")),
        lw.errors.DomainError,
        "two named axes",
    ),
    "negative counts": (
        lambda: JointDistribution.of_counts(-np.ones(TIMES.size), TIMES),
        ArgumentError,
        "sum",
    ),
}


@each("name", ASKED)
def test_questions_that_cannot_be_answered_are_refused(name: str) -> None:
    ask, kind, words = ASKED[name]
    with pytest.raises(kind, match=words):
        ask()


def test_synthetic_pairs_have_the_joint_distribution() -> None:
    pairs = regions.sample(20_000, rng=1)
    assert len(pairs) == 20_000 and {label for _, label in pairs} == {"north", "south", "east"}
    again = JointDistribution.of_values(pairs, REGIONS)
    assert np.abs(again.mass - regions.mass).max() < 7 * 0.5 / 20_000**0.5
    assert np.abs(again.mass - np.roll(regions.mass, 1)).max() > 0.02
    assert regions.sample(3, rng=1) == regions.sample(3, rng=1)
    assert regions.sample(0, rng=1) == []


def test_what_it_says_of_itself() -> None:
    assert repr(times) == (
        "<JointDistribution of wait and hour, 4000 reports, exact values, not private>"
    )
    assert "epsilon" in repr(drawn) and "wait" in repr(drawn)
    lines = drawn.summary()
    for words in ("4,000", "quartiles of wait", "mutual information"):
        assert words in lines
    assert "quartiles of hour" not in lines, "a circle has none"


def test_questions_about_one_attribute_are_sent_to_it() -> None:
    pairs = lw.Product(x=lw.Integers(0, 1), y=lw.Integers(0, 1))
    joint = lw.results.JointDistribution(pairs, np.full(4, 0.25))
    with pytest.raises(AttributeError, match=r"marginal\('x'\)"):
        _ = joint.cdf
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = joint.nothing


def test_a_condition_beyond_the_axis_says_where_the_axis_ends() -> None:
    axis = lw.Interval(0, 10, bins=10, outside="overflow")
    pairs = lw.Product(x=axis, y=lw.Categories(["a", "b"]))
    joint = lw.results.JointDistribution(pairs, np.full(24, 1 / 24))
    with pytest.raises(ArgumentError, match=r"ends at 10.*x=\(10, inf\)"):
        joint.given(x=(12, 15))
    with pytest.raises(ArgumentError, match=r"ends at 0.*x=\(-inf, 0\)"):
        joint.given(x=(-5, -2))
    with pytest.warns(LimitedWarning, match="an edge of the bin: 0 and 1"):
        joint.given(x=(0.5, 3))
    assert joint.given(x=(10, float("inf"))).mass.tolist() == [0.5, 0.5]
    assert joint.given(y=("a", "b")).mass.sum() == pytest.approx(1)


def test_the_missing_are_a_share_of_all() -> None:
    table = np.zeros(MISSING.shape)
    first, second = MISSING.domains
    table[first.missing_index, 1] = 0.25
    table[3, 1], table[3, second.missing_index] = 0.5, 0.25
    joint = _drawn(JointDistribution(MISSING, table.ravel()))
    assert joint.probability(a=None) == pytest.approx(0.25)
    assert joint.probability(a=None, b=(0, 4)) == pytest.approx(0.25 / 0.75)
    low, high = joint.probability_interval(a=None)
    assert 0 < low < 0.25 < high
    assert joint.probability(a=(2, 3)) == pytest.approx(1)
    table[:] = 0.0
    table[-1, 1], table[3, 1] = 0.95, 0.05
    rare = _drawn(JointDistribution(MISSING, table.ravel()))
    with pytest.warns(LimitedWarning, match="only 5% of the people have values"):
        rare.probability_interval(a=(2, 3))


def test_a_range_with_equal_ends_is_refused() -> None:
    for ask in (times.probability, times.given):
        with pytest.raises(ArgumentError, match="equal ends is empty"):
            ask(wait=(40, 40))
    assert times.probability(wait=40) > 0


def test_a_slice_with_the_people_outside_has_no_end() -> None:
    rows = times.conditional_quantiles("wait", [0.5], slice_share=0.3)
    assert all(map(math.isfinite, rows["from"] + rows["to"]))
    domain = lw.Product(wait=TIMES.axes["wait"], hour=lw.Integers(0, 23))
    joint = JointDistribution.of_values({**TABLE, "hour": np.floor(HOUR)}, domain)
    rows = joint.conditional_quantiles("hour", [0.5], slice_share=0.3)
    assert rows["from"][0] == -math.inf and rows["to"][-1] == math.inf
    with pytest.raises(ArgumentError, match=r"hour is a circle.*given\(wait=...\).quantile"):
        times.conditional_quantiles("hour")


def test_nobody_with_both_values_has_no_correlation() -> None:
    mass = np.zeros(MISSING.shape)
    mass[-1, -1] = 1.0
    nobody = JointDistribution(MISSING, mass.ravel())
    for kind in ("pearson", "spearman"):
        with pytest.raises(ArgumentError, match="present on both axes"):
            nobody.correlation(kind)
    assert "mutual information" in nobody.summary()


def test_a_document_with_shares_beyond_all_bounds_is_refused() -> None:
    for key, value in (("center", 1e308), ("draws", 3e38)):
        document = drawn.to_document()
        numbers = np.full(TIMES.size, value)
        kind = {"kind": "<f4"} if key == "draws" else {}
        document["uncertainty"][key] = encoded(numbers[None] if kind else numbers, **kind)
        with pytest.raises(FormatError):
            JointDistribution.from_document(document)
    document = drawn.to_document()
    document["uncertainty"]["center"] = encoded(np.zeros(TIMES.size))
    emptied = JointDistribution.from_document(document)
    assert emptied.probability_interval(wait=(0, 10)) == (0.0, 1.0)


@each("name", ["self", "cls", "level"])
def test_a_name_that_questions_use_is_no_axis(name: str) -> None:
    with pytest.raises(DomainError, match=f"cannot be named {name}"):
        lw.Product(**{name: lw.Integers(0, 3), "y": lw.Integers(0, 3)})


def test_mutual_information_is_said_from_its_lower_end_on() -> None:
    table = np.kron(np.eye(2), np.full((2, 3), 1 / 12))
    assert information_text(table, None) == "0.69 nats"
    assert information_text(table, (0.0278, np.log(4))) == "at least 0.027 nats"
    assert information_text(table, (0.0278, 0.9)) == "0.69 nats (0.028 to 0.9)"
