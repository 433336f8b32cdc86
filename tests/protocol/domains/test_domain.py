"""Intervals and whole numbers: every value finds the right symbol, or is refused by position."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lapwing import Distribution, Integers, Interval, SquareWave, questions
from lapwing.documents import canonical
from lapwing.errors import DomainError
from lapwing.protocol import ExactCounts
from lapwing.protocol.domains.domain import require_domain
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.ranges import to_points
from lapwing.protocol.domains.segmented import Segmented
from tests.mistaken import mistaken

STEADY = settings(deadline=None, max_examples=100, derandomize=True)

finite = st.floats(-1e12, 1e12, allow_subnormal=False)


@st.composite
def intervals(draw: st.DrawFn, *, scale: str = "linear", **fields: Any) -> Interval:
    bins = draw(st.integers(1, 3000))
    if scale == "log":
        low = draw(st.floats(1e-9, 1e9))
        high = low * draw(st.floats(1 + 1e-9, 1e12))
    else:
        low, high = sorted((draw(finite), draw(finite)))
    assume(low < high)
    try:
        return Interval(low, high, bins=bins, scale=mistaken(scale), outside="clip", **fields)
    except DomainError:
        assume(False)  # too narrow for float64
        raise


def slow_index(domain: Interval, values: np.ndarray) -> np.ndarray:
    """The definition, bin by bin: the one that holds the value, with the end that is closed."""
    if values.size > 256:  # values times bins: a piece at a time
        return np.concatenate([slow_index(domain, part) for part in np.array_split(values, 99)])
    inside = np.clip(values, domain.low, domain.high)[:, None]
    start, stop = domain.bin_edges[:-1], domain.bin_edges[1:]
    if domain.closed == "left":
        held = (start <= inside) & (inside < stop)
        held[:, -1] |= inside[:, 0] == domain.high
    else:
        held = (start < inside) & (inside <= stop)
        held[:, 0] |= inside[:, 0] == domain.low
    assert (held.sum(axis=1) == 1).all()
    return held.argmax(axis=1)


@pytest.mark.parametrize("scale", ["linear", "log"])
@STEADY
@given(data=st.data())
def test_every_edge_lies_in_the_bin_that_is_closed_there(scale: str, data: st.DataObject) -> None:
    domain = data.draw(intervals(scale=scale, closed=data.draw(st.sampled_from(["left", "right"]))))
    bins = np.arange(domain.bins)
    edges = domain.bin_edges
    if domain.closed == "left":
        closed, beyond = edges[:-1], np.nextafter(edges[1:], -np.inf)
    else:
        closed, beyond = edges[1:], np.nextafter(edges[:-1], np.inf)
    assert np.array_equal(domain.index(closed), bins)
    assert np.array_equal(domain.index(beyond), bins)
    assert domain.index([domain.low, domain.high]).tolist() == [0, domain.bins - 1]
    within = domain.bin_edges[:-1] + data.draw(st.floats(0, 1)) * np.diff(domain.bin_edges)
    assert np.array_equal(domain.index(within), slow_index(domain, within))


@pytest.mark.parametrize("bins", [96, 144, 240, 288, 1440])
def test_edges_that_are_whole_numbers_are_exact(bins: int) -> None:
    """Dividing first puts some a rounding above themselves, and their people a bin too low."""
    day = Interval(0, 86_400, bins=bins, closed="left", outside="clip")
    exact = 86_400 // bins * np.arange(bins + 1)
    assert day.bin_edges.tolist() == exact.tolist()
    assert day.index(exact[:-1]).tolist() == list(range(bins))
    divided_first = 86_400 * (np.arange(bins + 1) / bins)
    assert bins == 96 or (divided_first > exact).any()


@pytest.mark.parametrize(
    ("low", "high", "bins", "scale"),
    [
        (0, 0.1, 3, "linear"),
        (0, 1, 49, "linear"),
        (-0.3, 0.6, 9, "linear"),
        (1e15, 1e15 + 1, 7, "linear"),
        (0, 1e-300, 11, "linear"),
        (-1e307, 1e307, 97, "linear"),
        (0, 32_768, 2**12, "linear"),
        (1, 1 + 1e-12, 1000, "log"),
        (1e-150, 1e150, 4097, "log"),
        (1e-3, 1e7, 10_000, "log"),
    ],
)
@pytest.mark.parametrize("closed", ["left", "right"])
def test_awkward_widths(low: float, high: float, bins: int, scale: Any, closed: Any) -> None:
    domain = Interval(low, high, bins=bins, scale=scale, closed=closed, outside="clip")
    edges = domain.bin_edges
    assert edges[0] == low and edges[-1] == high
    values = np.concatenate(
        [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), edges[:-1] / 2]
    )
    assert np.array_equal(domain.index(values), slow_index(domain, values))


def test_logarithmic_bins_have_equal_ratios() -> None:
    edges = Interval(1, 1024, bins=10, scale="log").bin_edges
    assert edges == pytest.approx(2.0 ** np.arange(11), rel=1e-14)


@STEADY
@given(intervals(circular=True), st.lists(finite, min_size=1, max_size=20), st.integers(-9, 9))
def test_a_circle_wraps(domain: Interval, values: list[float], turns: int) -> None:
    period = domain.high - domain.low
    numbers = np.array(values)
    turned = domain.low + np.mod(numbers - domain.low, period)
    turned = np.where(turned >= domain.high, domain.low, turned)
    assert np.array_equal(domain.index(numbers), slow_index(domain, turned))
    # Whole turns lead back, exactly where the sum is exact.
    clock = Interval(0, 24, bins=domain.bins, circular=True)
    hours = np.arange(24)
    assert np.array_equal(clock.index(hours + 24.0 * turns), clock.index(hours))


def test_the_ends_of_a_circle_are_one_point() -> None:
    clock = Interval(0, 86_400, bins=24, circular=True)
    values = [0, 86_400, -86_400, 5 * 86_400, -1, -3600, 86_399.9, 86_401, -1e-300]
    expected = [0, 0, 0, 0, 23, 23, 23, 0, 0]
    assert clock.index(values).tolist() == expected
    ring = Interval(0, 360, bins=4, circular=True, atoms=(360,))
    assert ring.atoms == (0.0,)
    assert ring.index([0, 360, -360, 1]).tolist() == [0, 0, 0, 1]
    with pytest.raises(DomainError, match="position 1") as caught:
        ring.index([3, np.inf])
    assert caught.value.position == 1


@pytest.mark.parametrize("atoms", [(0,), (10,), (2.5,), (5,), (0, 2.5, 5, 7, 10)])
def test_atoms_have_symbols_of_their_own(atoms: tuple[float, ...]) -> None:
    domain = Interval(0, 10, bins=4, atoms=atoms)
    split = [atom for atom in atoms if atom not in domain.bin_edges]
    assert domain.size == domain.left.size == 4 + len(split) + len(atoms)
    assert not domain.regular
    assert np.all(np.diff(domain.left) >= 0) and np.all(np.diff(domain.right) >= 0)
    assert np.array_equal(domain.left[1:], domain.right[:-1])
    assert domain.left[0] == 0 and domain.right[-1] == 10
    points = domain.left[domain.left == domain.right]
    assert points.tolist() == [float(atom) for atom in atoms]
    for atom in atoms:
        (symbol,) = domain.index([atom])
        assert domain.left[symbol] == domain.right[symbol] == atom
        below, above = np.nextafter(atom, -1), np.nextafter(atom, 11)
        if atom > 0:
            assert domain.index([below])[0] == symbol - 1
        if atom < 10:
            assert domain.index([above])[0] == symbol + 1
    if 0 in atoms:
        assert domain.index([-0.0, -5]).tolist() == [0, 0]  # clipped to the atom at the end


@STEADY
@given(
    st.lists(st.sampled_from([0, 1, 2.5, 3, 4, 7.5, 10, 1e-9]), max_size=5),
    st.lists(st.floats(-1, 11) | st.integers(-1, 11).map(float), min_size=1, max_size=30),
    st.integers(1, 7),
)
def test_a_value_lies_in_its_symbol(atoms: list[float], values: list[float], bins: int) -> None:
    domain = Interval(0, 10, bins=bins, atoms=atoms, outside="clip")
    symbols = domain.index(values)
    clipped = np.clip(values, 0, 10)
    left, right = domain.left[symbols], domain.right[symbols]
    assert np.all((left <= clipped) & (clipped <= right))
    is_atom = np.isin(clipped, atoms)
    assert np.array_equal(left == right, is_atom)
    first = (clipped == 0) & ~is_atom
    assert np.all((left < clipped) | is_atom | first)


def test_missing_values_have_the_last_symbol() -> None:
    domain = Interval(0, 10, bins=4, atoms=(0,), missing="bin")
    assert domain.size == 6 and domain.missing_index == 5
    assert domain.left.size == 5
    assert domain.index([None, 0, float("nan"), 9]).tolist() == [5, 0, 5, 4]
    assert Interval(0, 1, bins=2).missing_index is None


@pytest.mark.parametrize("domain", [Interval(0, 10, bins=4), Integers(0, 10)])
def test_a_missing_value_is_refused_by_position(domain: Any) -> None:
    with pytest.raises(DomainError, match="position 2") as caught:
        domain.index([1, 2, float("nan"), None])
    assert caught.value.position == 2


@pytest.mark.parametrize(
    "domain",
    [Interval(0, 10, bins=5, outside="refuse"), Integers(0, 10, outside="refuse")],
)
@pytest.mark.parametrize("wrong", [-7919, 7919.0, np.inf, -np.inf])
def test_values_outside_are_refused_by_position_and_never_shown(domain: Any, wrong: float) -> None:
    with pytest.raises(DomainError, match="position 3") as caught:
        domain.index([0, 10, 5, wrong, 7919])
    assert caught.value.position == 3
    assert "7919" not in str(caught.value) and "inf" not in str(caught.value)


def test_values_outside_are_clipped_unless_refused() -> None:
    values = [-np.inf, -1, 0, 10, 11, np.inf, 10**400]
    assert Interval(0, 10, bins=5).index(values).tolist() == [0, 0, 0, 4, 4, 4, 4]
    assert Integers(0, 10).index(values).tolist() == [0, 0, 0, 10, 10, 10, 10]


@pytest.mark.parametrize("domain", [Interval(0, 10, bins=5), Integers(0, 10)])
@pytest.mark.parametrize(
    "values",
    [
        [],
        [[1, 2]],
        3,
        [True, False],
        ["3 years"],
        [1j],
        [[1], [2, 3]],
        [dt.date(2026, 1, 1)],
        [object()],
    ],
)
def test_what_is_no_list_of_numbers_is_refused(domain: Any, values: Any) -> None:
    with pytest.raises(DomainError):
        domain.index(values)


def test_values_outside_are_counted_apart_from_32_bins_on() -> None:
    few, many, open_line = Interval(0, 1, bins=31), Interval(0, 1, bins=32), Interval(0, 1)
    assert (few.outside, many.outside, open_line.outside) == ("clip", "overflow", None)
    assert open_line.refined(31) == few and open_line.refined(32) == many
    # What was said, or chosen once, stays.
    assert many.refined(8).outside == "overflow" and few.refined(64).outside == "clip"
    assert Interval(0, 1, bins=64, outside="clip").for_curator().outside == "clip"
    assert open_line.for_curator().refined(64).outside == "overflow"
    assert Interval(0, 1, outside="refuse").for_curator().outside == "overflow"
    assert Interval(0, 1, bins=64, circular=True).outside == "clip"
    assert Interval(edges=list(range(65))).outside == "clip"
    assert (Integers(0, 30).outside, Integers(0, 31).outside) == ("clip", "overflow")
    assert Integers(0, 64, outside="refuse").for_curator().outside == "overflow"
    assert Integers(0, 64, outside="clip").for_curator().outside == "clip"
    # A document says it, so those written before keep their meaning.
    assert build_domain(many.to_document()) == many
    assert many.to_document()["outside"] == "overflow"
    old = Interval(0, 1, bins=32, outside="clip")
    assert build_domain(old.to_document()) == old != many


def test_whole_numbers_outside_have_bins_of_their_own() -> None:
    domain = Integers(-5, 60, missing="bin")
    values = [-math.inf, -6, -5, 0, 60, 61, 1e300, math.inf, None]
    assert domain.index(values).tolist() == [0, 0, 1, 6, 66, 67, 67, 67, 68]
    assert (domain.size, domain.below_index, domain.above_index) == (69, 0, 67)
    assert domain.left.tolist() == [-5.0, *range(-5, 61), 60.0]
    assert build_domain(domain.to_document()) == domain
    with pytest.raises(DomainError, match="whole number"):
        domain.index([60.5])
    # A stored domain that clips keeps its symbols, and its fingerprint.
    clipped = build_domain(
        {"class": "integers", "low": 0, "high": 99, "outside": "clip", "missing": "refuse"}
    )
    assert clipped.size == 100 and clipped.index([-3, 120]).tolist() == [0, 99]
    told = clipped.to_document()
    assert SquareWave(clipped, 1).fingerprint == SquareWave(build_domain(told), 1).fingerprint


@pytest.mark.parametrize(
    "domain",
    [
        Interval(0, 10, bins=7),
        Interval(0, 10, bins=7, atoms=[3.0]),
        Interval(0, 10, edges=[0, 3, 10]),
    ],
    ids=["bins", "atoms", "edges"],
)
def test_many_values_lie_where_each_alone_does(domain: Interval) -> None:
    values = np.random.default_rng(1).uniform(-2, 12, 100_001)
    values[::5] = 3.0
    each = {value: int(domain.index([value])[0]) for value in values[:2000]}
    many = np.tile(values[:2000], 50)
    assert domain.index(many).tolist() == [each[value] for value in many]
    values[70_000] = np.nan
    with pytest.raises(DomainError, match="position 70000"):
        domain.index(values)


def test_large_whole_numbers() -> None:
    domain = Interval(0, 2**60, bins=2**10, closed="left", outside="clip")
    values = np.array([0, 2**50 - 1, 2**50, 2**53 + 1, 2**60], dtype=np.int64)
    # Below 2^53 float64 is exact; above, an edge's neighbors may be rounded on to the edge ...
    assert domain.index(values).tolist() == [0, 0, 1, 8, 1023]
    assert domain.index(values.astype(np.uint64)).tolist() == [0, 0, 1, 8, 1023]
    right = dataclasses.replace(domain, closed="right")
    assert right.index(values).tolist() == [0, 0, 0, 7, 1023]
    # ... and Integers are limited to what float64 and JSON hold exactly.
    top = Integers(2**53 - 4, 2**53 - 1)
    assert top.index([2**53 - 4, 2**53 - 1, 2**53 + 7]).tolist() == [0, 3, 3]
    for number in (2**53, -(2**53)):
        with pytest.raises(DomainError, match="2\\^53"):
            Integers(min(number, 0), max(number, 0))


def test_dates_and_times_of_day() -> None:
    year = Interval("2026-01-01", "2027-01-01", bins=365, unit="date", outside="clip")
    days = [dt.date(2026, 1, 1), "2026-01-02", dt.datetime(2026, 12, 31, 23, 59), "2027-01-01"]
    assert year.index(days).tolist() == [0, 1, 364, 364]
    stamps = np.array(["2026-01-01T23:59:59.999", "2026-02-01"], "datetime64[ms]")
    assert year.index(stamps).tolist() == [0, 31]
    clock = Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)
    assert (clock.low, clock.high) == (0, 86_400)
    assert clock.index([dt.time(9, 30), "23:59", "24:00", stamps[0].item()]).tolist() == [
        9, 23, 0, 23,
    ]  # fmt: skip
    zone = dt.timezone(dt.timedelta(hours=2))
    moments = Interval("2026-01-01T00:00", "2026-01-02T00:00", bins=24, unit="datetime")
    assert moments.index([dt.datetime(2026, 1, 1, 3, 30, tzinfo=zone)]).tolist() == [1]
    with pytest.raises(DomainError, match="unit"):
        Interval(0, 10, bins=2).index(stamps)


@pytest.mark.parametrize(
    "fields",
    [
        {"low": 1, "high": 1},
        {"low": 2, "high": 1},
        {"low": math.nan, "high": 1},
        {"low": 0, "high": math.inf},
        {"low": 0, "high": 10**400},
        {"low": -1.7e308, "high": 1.7e308},
        {"low": True, "high": 3},
        {"low": "0", "high": 3},
        {"low": None, "high": 3},
        {"low": 0, "high": 1, "scale": "log"},
        {"low": 1, "high": 2, "scale": "log", "circular": True},
        {"low": 1e-300, "high": 1e300, "scale": "log"},
        {"low": 0, "high": 1, "atoms": (2,)},
        {"low": 0, "high": 1, "atoms": (math.nan,)},
        {"low": 0, "high": 1, "atoms": ("x",)},
        {"low": 0, "high": 1, "atoms": 0.5},
        {"low": 0, "high": 1, "atoms": "0"},
        {"low": 0, "high": 1, "atoms": None},
        {"low": 1, "high": 1 + 2**-52, "bins": 2},
        {"low": 0, "high": 1e-320, "bins": 4},
        {"low": "2026-01-01", "high": "2025-01-01", "unit": "date"},
    ],
)
def test_illegal_intervals(fields: dict[str, Any]) -> None:
    with pytest.raises(DomainError):
        Interval(**{"bins": 4, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"low": 3, "high": 2},
        {"low": 0, "high": 2**24},
        {"low": 0, "high": 10**400},
    ],
)
def test_illegal_integers(fields: dict[str, Any]) -> None:
    with pytest.raises(DomainError):
        Integers(**fields)


def test_whole_numbers() -> None:
    domain = Integers(-2, 2, missing="bin")
    assert domain.size == 6 and domain.missing_index == 5
    assert domain.index([-2, 2.0, None, 0, np.int8(1), -99]).tolist() == [0, 4, 5, 2, 3, 0]
    assert domain.left.tolist() == domain.right.tolist() == [-2, -1, 0, 1, 2]
    assert domain.ordered and not domain.circular and domain.unit == "number"
    with pytest.raises(DomainError, match="position 1") as caught:
        domain.index([1, 0.25, 2])
    assert caught.value.position == 1 and "0.25" not in str(caught.value)
    with pytest.raises(DomainError):
        domain.index(["0.25"])
    assert domain.index(["1"]).tolist() == [3]


DOMAINS = [
    Interval(0, 1, bins=3),
    Interval(-0.1, 0.3, bins=7, atoms=(0, 0.1), outside="refuse", missing="bin"),
    Interval(1, 1e9, bins=9, scale="log"),
    Interval("00:00", "24:00", bins=48, unit="time-of-day", circular=True),
    Interval("2026-01-01", "2026-12-31", bins=12, unit="date"),
    Integers(-5, 90),
    Integers(0, 1, outside="refuse", missing="bin"),
]


@pytest.mark.parametrize("domain", DOMAINS)
def test_documents_and_back(domain: Any) -> None:
    document = json.loads(json.dumps(domain.to_document()))
    again = build_domain(document)
    assert again == domain and hash(again) == hash(domain) and type(again) is type(domain)
    assert again.to_document() == domain.to_document()
    assert build_domain(json.loads(canonical(document))) == domain
    assert np.array_equal(again.left, domain.left)


def test_equality_is_by_what_is_declared() -> None:
    domain = Interval(0, 1, bins=3, atoms=[0.5, 0])
    assert domain == Interval(0.0, 1.0, bins=3, atoms=(0, 0.5, 0.5))
    assert domain != Interval(0, 1, bins=3)
    assert domain != Interval(0, 1, bins=4, atoms=(0, 0.5))
    assert len({domain, Interval(0, 1, bins=3, atoms=(0.5, 0))}) == 1


@pytest.mark.parametrize("domain", DOMAINS)
def test_nothing_can_be_changed(domain: Any) -> None:
    for field in dataclasses.fields(domain):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(domain, field.name, 1)
    for array in (
        domain.left,
        domain.right,
        *([domain.bin_edges] if hasattr(domain, "bin_edges") else []),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


def test_values_are_not_changed() -> None:
    values = np.array([-5.0, np.nan, 3.0, 99.0])
    before = values.copy()
    Interval(0, 10, bins=4, missing="bin").index(values)
    Interval(0, 10, bins=4, missing="bin", circular=True).index(values)
    assert np.array_equal(values, before, equal_nan=True)


def test_refined_keeps_everything_but_the_bins() -> None:
    domain = Interval(0, 1, bins=4, outside="refuse", missing="bin")
    assert domain.refined(8) == Interval(0, 1, bins=8, outside="refuse", missing="bin")


@STEADY
@given(st.integers(-40, 40), st.lists(st.integers(0, 100), min_size=8, max_size=8))
def test_quantiles_scale_with_the_domain(power: int, counts: list[int]) -> None:
    """Coverage row WE-41. By a power of two, so that the scaling itself is exact."""
    assume(sum(counts) > 0)
    unit = Distribution.of_counts(counts, Interval(0, 1, bins=8))
    wide = Distribution.of_counts(counts, Interval(0, 2.0**power, bins=8))
    probabilities = np.linspace(0, 1, 41)
    assert np.array_equal(wide.quantile(probabilities), 2.0**power * unit.quantile(probabilities))
    points = np.linspace(0, 1, 17)
    assert np.array_equal(wide.cdf(2.0**power * points), unit.cdf(points))
    shifted = Distribution.of_counts(counts, Interval(-3, 5, bins=8))
    assert shifted.quantile(probabilities) == pytest.approx(
        -3 + 8 * unit.quantile(probabilities), abs=1e-14
    )


UNCHOSEN = Interval(
    "1970-01-01", "1971-01-01", unit="date", atoms=["1970-06-01"], missing="bin", outside="refuse"
)

USES: dict[str, Callable[[Interval], Any]] = {
    "size": lambda domain: domain.size,
    "missing_index": lambda domain: domain.missing_index,
    "left": lambda domain: domain.left,
    "right": lambda domain: domain.right,
    "bin_edges": lambda domain: domain.bin_edges,
    "regular": lambda domain: domain.regular,
    "index": lambda domain: domain.index([1, 2]),
    "index of a wrong value": lambda domain: domain.index(["x"]),
    "to_document": lambda domain: domain.to_document(),
    "require_domain": require_domain,
    "of_values": lambda domain: Distribution.of_values([1.0], domain),
    "counted": lambda domain: ExactCounts.of_values([1.0], domain),
    "randomizer": lambda domain: SquareWave(domain, epsilon=1),
    "segmented": lambda domain: Segmented(domain, ["north", "south"]),
    "document": lambda domain: build_domain(UNCHOSEN_DOCUMENT),
}

UNCHOSEN_DOCUMENT = Interval(0, 1, bins=2).to_document() | {"bins": None}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("domain", [UNCHOSEN, Interval(0, 1), Interval(1, 9, scale="log")])
def test_an_interval_whose_bins_are_not_chosen_says_so(domain: Interval, use: str) -> None:
    sentence = "^the number of bins is missing. Pass bins=, or call lw.recommend$"
    with pytest.raises(DomainError, match=sentence):
        USES[use](domain)


def test_choosing_bins_carries_all_else_along() -> None:
    assert UNCHOSEN.bins is None
    assert "bins=None" in repr(UNCHOSEN)
    assert UNCHOSEN == dataclasses.replace(UNCHOSEN) != dataclasses.replace(UNCHOSEN, bins=1)
    assert {UNCHOSEN, dataclasses.replace(UNCHOSEN)} == {UNCHOSEN}
    assert pickle.loads(pickle.dumps(UNCHOSEN)) == UNCHOSEN
    chosen = Interval(
        *("1970-01-01", "1971-01-01"),
        **{"bins": 365, "unit": "date", "atoms": [151], "missing": "bin", "outside": "refuse"},
    )
    assert dataclasses.replace(UNCHOSEN, bins=365) == UNCHOSEN.refined(365) == chosen
    assert (UNCHOSEN.low, UNCHOSEN.high, UNCHOSEN.closed) == (0, 365, "left")
    circle = Interval(0, 360, circular=True)
    assert dataclasses.replace(circle, bins=8).index([-1]).tolist() == [7]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Interval(1, 0),
        lambda: Interval(0, 1, atoms=[2]),
        lambda: Interval(0, 1, scale="log"),
        lambda: Interval(1e-300, 1e300, scale="log"),
        lambda: Interval(0, 1, closed=mistaken("middle")),
        lambda: dataclasses.replace(Interval(0, 1), bins=0),
    ],
)
def test_an_interval_without_bins_checks_its_other_fields(wrong: Callable[[], Any]) -> None:
    with pytest.raises(DomainError):
        wrong()


def test_the_number_of_bins_needs_no_ends_of_bins() -> None:
    """A document of 200 bytes may name 2^24 bins: their ends and order took 900 MB."""
    cases: list[Any] = [{}, {"missing": "bin"}, {"outside": "clip"}, {"scale": "log"}]
    for fields in cases:
        line = Interval(1, 2, bins=2**16, **fields)
        size, above = line.size, line.above_index
        assert not {"left", "right", "_pieces"} & vars(line).keys()
        assert size == line.left.size + (line.missing == "bin")
        assert above in (None, line.left.size - 1)


DATES = Interval("2026-01-01", "2026-12-31", bins=364, unit="date")


@pytest.mark.parametrize("typed", ["2026-03-10T18:00", "2026-03-10 00:00:01 UTC", "20260310T2359"])
def test_a_typed_date_with_a_time_of_day_is_refused(typed: str) -> None:
    asked: list[Any] = [
        lambda: Interval(typed, "2026-12-31", unit="date"),
        lambda: Interval(edges=["2026-01-01", typed, "2026-12-31"], unit="date"),
        lambda: to_points(typed, unit="date"),
        lambda: to_points(["2026-01-01", typed], unit="date"),
        lambda: questions.Share(above=typed).edges(DATES),
        lambda: questions.Histogram(["2026-01-01", typed]).edges(DATES),
    ]
    for ask in asked:
        with pytest.raises(DomainError, match="a date without a time of day"):
            ask()
    for whole in ("2026-03-10T00:00", "2026-03-10T00:00+05:00", "2026-03-09T24:00"):
        assert to_points(whole, unit="date") == to_points("2026-03-10", unit="date")
    # Values of people are cut to their date, whose bins hold whole days.
    assert DATES.index([typed]).tolist() == DATES.index(["2026-03-10"]).tolist()
