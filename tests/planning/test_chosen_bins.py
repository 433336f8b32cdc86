"""The bins of an interval that has none: round widths that divide its range exactly."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.planning.chosen_bins import recommended_bins, with_bins
from lapwing.planning.release_defaults import release_bins
from lapwing.privacy.promise import Promise

STEADY = settings(deadline=None, max_examples=100, derandomize=True)

DAY = 86_400

WANTED = (256, 1024)


def span_of(domain: lw.Interval) -> Fraction:
    """Return the range as its ends are printed."""
    return Fraction(Decimal(repr(domain.high))) - Fraction(Decimal(repr(domain.low)))


def is_round(width: Fraction) -> bool:
    """Say whether the width is 1, 2, 2.5 or 5 times a power of ten."""
    digits = width
    while digits >= 10:
        digits /= 10
    while digits < 1:
        digits *= 10
    return digits in (1, 2, Fraction(5, 2), 5)


def fits(span: Fraction, width: Fraction, wanted: int) -> bool:
    bins = span / width
    return bins.denominator == 1 and wanted <= 2 * bins and bins <= 2 * wanted


def round_widths() -> list[Fraction]:
    return [
        digits * Fraction(10) ** power
        for power in range(-12, 12)
        for digits in (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(5))
    ]


@STEADY
@given(
    low=st.decimals(-(10**6), 10**6, places=3),
    length=st.one_of(
        st.decimals(Decimal("0.001"), 10**6, places=3), st.integers(1, 10**6).map(Decimal)
    ),
    wanted=st.sampled_from(WANTED),
)
def test_a_width_of_numbers_is_round_and_divides_or_does_not_exist(
    low: Decimal, length: Decimal, wanted: int
) -> None:
    domain = lw.Interval(float(low), float(low + length))
    span = span_of(domain)
    cut, sentence = with_bins(domain, wanted)
    assert isinstance(cut, lw.Interval)
    if any(fits(span, width, wanted) for width in round_widths()):
        width = span / cut.bins
        assert is_round(width) and fits(span, width, wanted)
        assert sentence.startswith(f"The interval is cut into {cut.bins:,} bins of width ")
    else:
        assert cut.bins == wanted
        assert sentence.startswith("No round width") and "equal bins" in sentence


@STEADY
@given(
    start=st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    days=st.integers(1, 30_000),
    wanted=st.sampled_from(WANTED),
)
def test_bins_of_dates_hold_whole_days(start: datetime.date, days: int, wanted: int) -> None:
    domain = lw.Interval(start, start + datetime.timedelta(days), unit="date")
    cut, sentence = with_bins(domain, wanted)
    assert isinstance(cut, lw.Interval)
    possible = [n for n in range(wanted // 2, 2 * wanted + 1) if days % n == 0]
    if possible:
        assert days % cut.bins == 0 and wanted / 2 <= cut.bins <= 2 * wanted
        ratio = max(cut.bins, wanted) / min(cut.bins, wanted)
        assert ratio == min(max(n, wanted) / min(n, wanted) for n in possible)
    else:
        assert cut.bins == min(wanted, days)
        assert "equal bins" in sentence or sentence == "The interval has one bin for each day."
    assert days >= cut.bins  # never below one day


@STEADY
@given(minutes=st.integers(1, 50_000), wanted=st.sampled_from(WANTED))
def test_bins_of_times_hold_whole_minutes(minutes: int, wanted: int) -> None:
    domain = lw.Interval(0, 60 * minutes, unit="datetime")
    cut, sentence = with_bins(domain, wanted)
    assert isinstance(cut, lw.Interval)
    if any(minutes % n == 0 for n in range(wanted // 2, 2 * wanted + 1)):
        assert minutes % cut.bins == 0 and wanted / 2 <= cut.bins <= 2 * wanted
        width = minutes // cut.bins
        usual = (1, 2, 5, 10, 15, 20, 30, *(60 * n for n in (1, 2, 3, 4, 6, 12)))
        if any(fits(Fraction(minutes), Fraction(each), wanted) for each in usual):
            assert width in usual or width % 1440 == 0
    else:
        assert cut.bins == min(wanted, 60 * minutes)
        assert "equal bins" in sentence or sentence == "The interval has one bin for each second."


@pytest.mark.parametrize(
    ("domain", "few", "many"),
    [
        (lw.Interval(0, 500_000), 250, 1000),
        (lw.Interval(-1, 1), 200, 1000),
        (lw.Interval(-37.5, 112.5), 300, 750),
        (lw.Interval(0.1, 0.7), 240, 1200),  # no whole number in floating point
        (lw.Interval(0, 500_000, atoms=[0, 500_000]), 250, 1000),
        (lw.Interval(0, 524_288), 256, 1024),  # no round width
        (lw.Interval(0, 24, circular=True), 240, 960),
        (lw.Interval("00:00", "24:00", unit="time-of-day", circular=True), 288, 1440),
        (lw.Interval("09:00", "17:00", unit="time-of-day"), 240, 1024),
        (lw.Interval("2026-01-01", "2027-01-01", unit="date"), 365, 365),
        (lw.Interval("2026-01-01", "2026-02-01", unit="date"), 31, 31),
        (lw.Interval("2026-01-05", "2026-01-12", unit="datetime"), 336, 1008),
        (lw.Interval(1, 1000, scale="log"), 300, 1500),  # 100 and 500 for each factor of ten
        (lw.Interval(0.001, 5, scale="log"), 256, 1024),
    ],
    ids=str,
)
def test_what_some_intervals_get(domain: lw.Interval, few: int, many: int) -> None:
    for wanted, expected in zip(WANTED, (few, many), strict=True):
        cut, sentence = with_bins(domain, wanted)
        assert isinstance(cut, lw.Interval)
        assert cut.bins == expected
        assert sentence.endswith(".")
        assert cut == type(domain)(
            *(domain.low, domain.high),
            bins=expected,
            circular=domain.circular,
            scale=domain.scale,
            atoms=domain.atoms,
            unit=domain.unit,
        )


def test_powers_of_ten_are_edges_of_a_logarithmic_scale() -> None:
    cut, _ = with_bins(lw.Interval(1, 10_000, scale="log"), 256)
    assert isinstance(cut, lw.Interval)
    assert set(cut.bin_edges.tolist()) >= {1, 10, 100, 1000, 10_000}


@pytest.mark.parametrize(
    "domain",
    [lw.Interval(0, 1, bins=7), lw.Interval(edges=[0, 1, 5]), lw.Integers(0, 9), lw.Categories(3)],
    ids=str,
)
def test_a_domain_that_has_its_symbols_keeps_them(domain: lw.Interval) -> None:
    assert with_bins(domain, 256) == (domain, "")


def test_the_recommendation_says_which_bins_it_chose() -> None:
    advice = lw.recommend(lw.Interval(0, 500_000), epsilon=2, users=30_000)
    assert advice.randomizer.domain == lw.Interval(0, 500_000, bins=1000)
    assert advice.reason.endswith("The interval is cut into 1,000 bins of width 500.")
    odd = lw.recommend(lw.Interval(0, 524_288), epsilon=1, users=30_000)
    assert odd.randomizer.domain == lw.Interval(0, 524_288, bins=256)
    assert odd.reason.endswith("so it has 256 equal bins.")
    given_bins = lw.recommend(lw.Interval(0, 500_000, bins=1000), epsilon=2, users=30_000)
    assert given_bins.randomizer == advice.randomizer
    assert "cut into" not in given_bins.reason


@pytest.mark.parametrize(("epsilon", "bins"), [(1, 250), (2, 1000)])
def test_the_bins_of_a_release_follow_epsilon_and_never_the_values(
    epsilon: float, bins: int
) -> None:
    domain = lw.Interval(0, 500_000)
    columns = ([0.0], [499_999.0] * 2000, np.linspace(0, 500_000, 300), [])
    for values in columns:
        published = lw.release(
            values, domain, epsilon=epsilon, delta=1e-6, neighbors="replace-one", rng=lw.seeded(1)
        )
        cut = published.release.domain
        assert isinstance(cut, lw.Interval)
        assert cut.bins == bins
        assert published.note.startswith(f"The interval is cut into {bins:,} bins of width")
    assert lw.release([1.0], cut, epsilon=1, neighbors="replace-one").note == ""


def test_a_promise_in_mu_or_rho_counts_by_the_epsilon_that_states_it() -> None:
    assert release_bins(Promise("replace-one", mu="0.2")) == 256
    assert release_bins(Promise("replace-one", mu=1)) == 1024
    assert release_bins(Promise("replace-one", rho="0.01")) == 256
    assert release_bins(Promise("replace-one", rho=1)) == 1024
    assert release_bins(Promise("add-or-remove-one", epsilon="1.9")) == recommended_bins("1.9")


def test_everything_else_refuses_an_interval_without_bins() -> None:
    domain = lw.Interval(0, 500_000)
    for use in (
        lambda: lw.MultiscaleWave(domain, 2),
        lambda: domain.index([1.0]),
        lambda: lw.Distribution.of_values([1.0], domain),
    ):
        with pytest.raises(lw.LapwingError, match=r"Pass bins=, or call lw\.recommend"):
            use()
