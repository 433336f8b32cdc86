"""Bands and the error laws behind them. Their coverage is measured by the decoder contracts."""

import json
import re
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import (
    Categories,
    Distribution,
    Integers,
    Interval,
    LeastSquares,
    RandomizedResponse,
    SquareWave,
    simulate,
)
from lapwing.decoders.unbiased.linear_estimate import linear_estimate
from lapwing.errors import ArgumentError, FormatError
from lapwing.linear.covariance import Covariance
from lapwing.results import uncertainty
from lapwing.results.uncertainty import Band, Uncertainty, Variants, cut_band, with_tails
from tests.false_alarms import accepts, moments_tail
from tests.mistaken import mistaken

STEADY = settings(deadline=None, max_examples=40, derandomize=True)


def band(low: list[float], high: list[float]) -> Band:
    ends = np.arange(1.0, len(low) + 1)
    return Band(
        ends, ends - 1, np.array(low), np.array(high), 0.95, "pointwise", "empirical", "by hand"
    )


def test_quantile_intervals_invert_the_band() -> None:
    made = band([0.0, 0.1, 0.4, 0.7, 1.0], [0.2, 0.3, 0.6, 0.9, 1.0])
    # The upper curve reaches .5 in the third symbol, [2, 3]; the lower one in the fourth, [3, 4].
    assert made.quantile(0.5) == (2.0, 4.0)
    assert made.quantile(0.1) == (0.0, 2.0)
    assert made.quantile(0.65) == (3.0, 4.0)
    assert made.quantile(0) == (0.0, 1.0)
    assert made.quantile(1) == (4.0, 5.0)
    # The lower curve of a pointwise band may fall; what it has reached, the truth has reached.
    falling = band([0.0, 0.5, 0.3, 0.6, 1.0], [0.6, 0.7, 0.8, 0.9, 1.0])
    assert falling.quantile(0.4) == (0.0, 2.0)
    # A band that never reaches p ends where the domain does.
    assert band([0.0, 0.1], [0.5, 0.6]).quantile(0.9) == (1.0, 2.0)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ArgumentError, match="at least 0 and at most 1"):
            made.quantile(wrong)


def test_what_is_no_level_or_kind_is_refused_also_where_there_is_no_band() -> None:
    exact = Distribution.of_counts([1, 2], Interval(0, 1, bins=2))
    assert exact.confidence_band() is None
    for name, wrong in (("level", 95), ("kind", "both"), ("target", "people")):
        with pytest.raises(ArgumentError, match=f"{name} must be"):
            exact.confidence_band(**mistaken({name: wrong}))


def test_a_repr_prints_few_numbers() -> None:
    low = [0.125] * 2_000
    laws = (some_law(1), some_law(1).noise, band(low, low))
    for said in map(repr, laws):
        assert len(said) < 600 and len(re.findall(r"\d+\.\d+", said)) <= 10, said
    assert "low=<float64 [2000]>" in repr(band(low, low)) and "level=0.95" in repr(band(low, low))


def test_a_drawn_band_never_falls_and_holds_what_it_held() -> None:
    made = band([0.0, 0.5, 0.3, 0.6, 0.9], [0.6, 0.9, 0.8, 0.95, 0.92])
    drawn = made.monotone()
    assert drawn.low.tolist() == [0.0, 0.3, 0.3, 0.6, 0.9]
    assert drawn.high.tolist() == [0.6, 0.9, 0.9, 0.95, 0.95]
    for law in (some_law(1), some_law(2), estimates()["Intervalsquare-wave"]):
        made = bands(law)["pointwise", "empirical"]
        drawn = made.monotone()
        assert np.all(np.diff(drawn.low) >= 0) and np.all(np.diff(drawn.high) >= 0)
        assert np.all(drawn.low <= made.low) and np.all(made.high <= drawn.high)


def test_pictures_draw_the_band_that_never_falls() -> None:
    wave = SquareWave(Interval(0, 1, bins=12), 1)
    tally = simulate(wave, np.arange(12) * 30 + 5, rng=1)
    result = LeastSquares().decode(wave.channel, tally)
    made = result.confidence_band(0.95)
    assert made is not None and np.diff(made.low).min() < 0  # the case is one
    (drawn,) = result._pictures()[-1].bands  # type: ignore[union-attr]
    assert np.all(np.diff(drawn.low) >= 0) and np.all(np.diff(drawn.high) >= 0)


@STEADY
@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.floats(0, 0.4), st.floats(0, 1))
def test_a_quantile_of_a_covered_curve_is_covered(
    weights: list[float], reach: float, p: float
) -> None:
    mass = np.array(weights) + 1e-3
    heights = np.cumsum(mass / mass.sum())
    wiggle = reach * np.sin(np.arange(heights.size) * 7.0)  # neither edge is monotone
    made = band(
        (heights - np.abs(wiggle)).clip(0, 1).tolist(), (heights + reach).clip(0, 1).tolist()
    )
    low, high = made.quantile(p)
    true = float(np.searchsorted(heights, p - 1e-12))  # the symbol that holds the quantile
    assert low <= true and min(true + 1, heights.size) <= high


def test_the_share_inside() -> None:
    made = band([0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5])
    assert made.share_inside(np.array([0.1, 0.3, 0.5, 0.39])) == 0.5
    assert made.share_inside(np.array([0.15, 0.25, 0.35, 0.45])) == 1
    assert made.share_inside(np.array([0.1 - 1e-14, 0.3 + 1e-14, 0.4, 0.5])) == 1


def some_law(seed: int, *, size: int = 7, rank: int = 3) -> Uncertainty:
    rng = np.random.default_rng(seed)
    plug_in = rng.dirichlet(np.full(size, 3.0))
    # Negative columns as in the law of counts: diag(m) - m m', which takes the total out.
    extra = rng.normal(size=(size, rank)) * 0.02
    factor = np.column_stack([extra, 0.05 * plug_in])
    return Uncertainty(
        plug_in + rng.normal(size=size) * 0.02,
        Covariance(0.0025 * plug_in, factor, np.append(np.ones(rank), -1.0)),
        rng.uniform(0, 1e-4, size),
        plug_in,
        500,
        "by hand",
    )


def dense_sums(law: Uncertainty, target: Any) -> np.ndarray:
    """Covariance of the cumulative sums, entry by entry."""
    covariance = law.noise.dense()
    if target == "population":
        m = law.plug_in
        covariance = covariance + (np.diag(m) - np.outer(m, m)) / law.reports
    lower = np.tril(np.ones((law.center.size, law.center.size)))
    return lower @ covariance @ lower.T + np.diag(law.remainder)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("target", ["empirical", "population"])
def test_deviations_against_the_dense_covariance(seed: int, target: Any) -> None:
    law = some_law(seed)
    sums = dense_sums(law, target)
    assert law.cdf_deviation(target) == pytest.approx(np.sqrt(np.diag(sums)), rel=1e-12)
    steps = np.eye(law.center.size) - np.eye(law.center.size, k=-1)
    masses = steps @ sums @ steps.T
    rng = np.random.default_rng(seed)
    for weights in [*rng.normal(size=(3, law.center.size)), np.eye(law.center.size)[2]]:
        expected = np.sqrt(weights @ masses @ weights)
        assert law.deviation(weights, target) == pytest.approx(expected, rel=1e-12)


def bands(law: Uncertainty, *, ordered: bool = True, level: float = 0.9) -> dict[Any, Band]:
    ends = np.arange(law.center.size + 1.0)
    return {
        (kind, target): law.band(
            level=level,
            kind=kind,
            target=target,
            left=ends[:-1] if ordered else None,
            right=ends[1:] if ordered else None,
        )
        for kind in ("pointwise", "simultaneous")
        for target in ("empirical", "population")
    }


def test_a_pointwise_band_is_the_normal_interval() -> None:
    law = some_law(3)
    z = NormalDist().inv_cdf(0.95)
    for target in ("empirical", "population"):
        made = bands(law)["pointwise", target]
        reach = z * law.cdf_deviation(target)  # type: ignore[arg-type]
        heights = np.cumsum(law.center)
        assert made.low == pytest.approx(np.clip(heights - reach, 0, 1))
        assert made.high == pytest.approx(np.clip(heights + reach, 0, 1))
        assert (made.level, made.kind, made.target) == (0.9, "pointwise", target)
        assert made.points.tolist() == [1, 2, 3, 4, 5, 6, 7] and made.starts[0] == 0
        assert made.method == "by hand"


def estimates() -> dict[str, Uncertainty]:
    wave = SquareWave(Interval(0, 1, bins=12), 2)
    ring = SquareWave(Interval(0, 24, bins=12, circular=True), 2)
    response = RandomizedResponse(Integers(1, 12), 2)
    labels = RandomizedResponse(Categories(12), 2)
    counts = np.arange(12) * 3000 + 500
    return {
        randomizer.domain.__class__.__name__ + randomizer.name: linear_estimate(
            randomizer.channel, simulate(randomizer, counts, rng=1)
        )
        for randomizer in (wave, ring, response, labels)
    }


@pytest.mark.parametrize(
    "name",
    ["Intervalsquare-wave", "Integersrandomized-response", "Categoriesrandomized-response"],
)
def test_wider_where_more_is_promised(name: str) -> None:
    law = estimates()[name]
    made = bands(law, ordered="Categories" not in name)
    width = {key: one.high - one.low for key, one in made.items()}
    free = np.all([(one.low > 0) & (one.high < 1) for one in made.values()], axis=0)
    assert free.sum() >= 8
    for target in ("empirical", "population"):
        narrow, wide = width["pointwise", target], width["simultaneous", target]
        assert np.all(wide[free] >= narrow[free]) and wide[free].mean() > 1.2 * narrow[free].mean()
    assert np.all(width["pointwise", "population"][free] > width["pointwise", "empirical"][free])
    # The simulated critical values differ by chance, and monotony cuts each curve elsewhere.
    means = [width["simultaneous", target][free].mean() for target in ("population", "empirical")]
    assert means[0] > 0.98 * means[1]
    wider = bands(law, ordered="Categories" not in name, level=0.99)["pointwise", "empirical"]
    assert np.all(wider.high - wider.low >= width["pointwise", "empirical"])


def test_a_simultaneous_band_of_a_cdf_is_monotone() -> None:
    law = estimates()["Intervalsquare-wave"]
    made = bands(law)["simultaneous", "empirical"]
    assert np.all(np.diff(made.low) >= 0) and np.all(np.diff(made.high) >= 0)


def cut(made: Band) -> Band:
    """Return the widest band within a band whose curves never fall."""
    low, high = np.maximum.accumulate(made.low), np.minimum.accumulate(made.high[::-1])[::-1]
    return replace(made, low=low, high=high)


@STEADY
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=8),
    st.lists(st.floats(0, 0.5), min_size=16, max_size=16),
)
def test_a_curve_in_a_band_lies_in_the_monotone_part_of_it(
    weights: list[float], reach: list[float]
) -> None:
    """Why a simultaneous band may be cut: it covers a whole CDF as often as before."""
    heights = np.cumsum(np.array(weights) + 1e-3)
    below, above = reach[: heights.size], reach[-heights.size :]
    made = band((heights - below).tolist(), (heights + above).tolist())
    assert cut(made).share_inside(heights) == 1
    assert np.all(cut(made).low >= made.low) and np.all(cut(made).high <= made.high)


def test_a_pointwise_band_is_not_cut_to_a_monotone_one() -> None:
    """Of a jagged estimate: 95% of the points, and 7% fewer if it were.

    Standard errors are .9 and 1.8%.
    """
    domain = Interval(0, 1, bins=128, outside="clip")
    wave, place = SquareWave(domain, 1), (np.arange(128) + 0.5) / 128
    counts = np.rint(50_000 * 30 / 128 * place * (1 - place) ** 4).astype(np.int64)
    heights = np.cumsum(counts) / counts.sum()
    inner = (heights > 0.02) & (heights < 0.98)
    covered: list[tuple[float, float]] = []
    for seed in range(10):
        made = LeastSquares().decode(wave.channel, simulate(wave, counts, rng=seed))
        band_of_it = made.confidence_band()
        assert band_of_it is not None and np.diff(band_of_it.low).min() < 0
        inside = [
            ((one.low <= heights) & (heights <= one.high))[inner].mean()
            for one in (band_of_it, cut(band_of_it))
        ]
        covered.append((inside[0], inside[1]))
    kept, broken = np.mean(covered, axis=0)
    assert kept > 0.92
    assert kept - broken > 0.025


def uneven_estimates() -> dict[str, Any]:
    """Estimates whose curves go up and down: on a circle, and on a line with a gap."""
    rng = np.random.default_rng(3)
    bedtimes = (23.2 + rng.normal(size=20_000)) % 24
    halves = np.concatenate([rng.normal(20, 4, 10_000), rng.normal(75, 5, 10_000)])
    problems = {
        "circle": (Interval(0, 24, bins=48, circular=True), RandomizedResponse, bedtimes),
        "gap": (Interval(0, 100, bins=64), SquareWave, halves),
    }
    results = {}
    for name, (domain, randomizer, values) in problems.items():
        counts = np.bincount(domain.index(values), minlength=domain.size)
        channel = randomizer(domain, 1)
        tally = simulate(channel, counts, rng=4)
        results[name] = LeastSquares().decode(channel.channel, tally)
    return results


@pytest.mark.parametrize("name", ["circle", "gap"])
@pytest.mark.parametrize("target", ["empirical", "population"])
def test_a_pointwise_band_is_never_the_wider_one(name: str, target: Any) -> None:
    result = uneven_estimates()[name]
    whole = result.confidence_band(kind="simultaneous", target=target)
    for drawn in (result.confidence_band(target=target), cut_as_drawn(result, target)):
        assert np.all(drawn.low >= whole.low) and np.all(drawn.high <= whole.high)
        assert np.all(drawn.low <= drawn.high)
    # The case is one: as it was drawn without the cut it was wider at a third of the points.
    law = result.uncertainty.about("pointwise", target)
    low, high = law.curves(0.95, "pointwise", cumulative=True, least=0.0)
    uncut = replace(whole, low=low, high=high).monotone()
    wider = uncut.high - uncut.low > whole.high - whole.low + 1e-12
    assert wider.sum() >= wider.size / 3
    for probability in (0.1, 0.5, 0.9):
        low, high = whole.quantile(probability)
        inner = result.confidence_band(target=target).quantile(probability)
        assert low <= inner[0] and inner[1] <= high


def cut_as_drawn(result: Any, target: Any) -> Band:
    if target == "population":
        return result.confidence_band(target=target).monotone()
    (drawn,) = result._pictures()[-1].bands
    return drawn


def test_a_band_that_has_nothing_in_common_with_another_becomes_that() -> None:
    low, high = np.array([0.1, 0.1, 0.5]), np.array([0.2, 0.3, 0.6])
    least, most = np.array([0.3, 0.2, 0.1]), np.array([0.6, 0.6, 0.4])
    cut_low, cut_high = cut_band(low, high, least, most)
    assert cut_low.tolist() == [0.3, 0.2, 0.1] and cut_high.tolist() == [0.6, 0.3, 0.4]


@pytest.mark.parametrize("cumulative", [True, False])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_critical_value_against_a_dense_simulation(cumulative: bool, level: float) -> None:
    """1000 draws put the share above the value within 4 standard errors of 1 - level."""
    # The independent part is as large as the rest, so that leaving it out would show.
    law = replace(some_law(1), remainder=np.full(7, 2e-3 if cumulative else 0.0))
    used = np.array([1, 1, 1, 0, 1, 1, 1], dtype=bool)
    matrix = dense_sums(law, "empirical") if cumulative else law.noise.dense()
    deviation = np.sqrt(np.diag(matrix))
    critical = law.critical_value(level, deviation, used, cumulative=cumulative)
    draws = np.random.default_rng(5).multivariate_normal(np.zeros(7), matrix, size=100_000)
    suprema = np.abs(draws / deviation)[:, used].max(axis=1)
    beyond, allowed = np.mean(suprema > critical), 4 * np.sqrt(level * (1 - level) / 1000)
    assert abs(beyond - (1 - level)) < allowed
    # A pointwise value is no simultaneous one, and the test sees it.
    pointwise = NormalDist().inv_cdf((1 + level) / 2)
    assert abs(np.mean(suprema > pointwise) - (1 - level)) > allowed


def test_bands_of_shares() -> None:
    law = estimates()["Categoriesrandomized-response"]
    made = bands(law, ordered=False)["pointwise", "empirical"]
    deviation = np.sqrt(np.diag(law.noise.dense()))
    z = NormalDist().inv_cdf(0.95)
    assert made.points.tolist() == list(range(12))
    assert made.low == pytest.approx(np.clip(law.center - z * deviation, 0, 1))


def test_the_deviation_of_each_share_is_that_of_its_sum_alone() -> None:
    law = some_law(4, size=9)
    alone = [law.deviation(np.eye(9)[symbol], "empirical") for symbol in (0, 3, 8)]
    assert law.share_deviations(np.array([0, 3, 8])) == pytest.approx(alone, rel=1e-12)


def test_the_places_that_are_kept_of_a_long_curve_give_its_critical_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 6000
    rough = some_law(5, size=size, rank=1)
    smooth = replace(rough, remainder=np.zeros(size))
    used = np.ones(size, dtype=np.bool_)

    def value(law: Uncertainty) -> float:
        return law.critical_value(0.5, law.cdf_deviation("empirical"), used, cumulative=True)

    whole = value(smooth), value(rough)
    monkeypatch.setattr(uncertainty, "SIMULATED_LIMIT", 3000)
    assert uncertainty._spread_places(size).size < 2500
    assert value(smooth) == pytest.approx(whole[0], rel=0.03) and value(smooth) != whole[0]
    assert value(rough) == whole[1]  # errors of single places are in all of them


def test_an_estimate_without_error_has_a_band_without_width() -> None:
    exact = Uncertainty(
        np.array([0.25, 0.75]),
        Covariance(np.zeros(2), np.zeros((2, 0)), np.zeros(0)),
        np.zeros(2),
        np.array([0.25, 0.75]),
        100,
        "exact",
    )
    made = bands(exact)
    for kind in ("pointwise", "simultaneous"):
        assert made[kind, "empirical"].low.tolist() == made[kind, "empirical"].high.tolist()
        assert made[kind, "empirical"].low.tolist() == [0.25, 1.0]
        assert made[kind, "population"].low[0] < 0.25


@pytest.mark.parametrize(
    "change",
    [{"level": 0}, {"level": 1}, {"level": float("nan")}, {"kind": "both"}, {"target": "truth"}],
)
def test_illegal_questions(change: dict[str, Any]) -> None:
    asked = {"level": 0.9, "kind": "pointwise", "target": "empirical", "left": None, "right": None}
    with pytest.raises(ArgumentError):
        some_law(1).band(**{**asked, **change})


def test_a_variant_answers_for_its_own_kind() -> None:
    plain, other = some_law(1), some_law(2)
    law = replace(plain, variants=Variants(population_simultaneous=other))
    found = bands(law)
    expected = bands(other)["simultaneous", "empirical"]
    assert found["simultaneous", "population"].low.tolist() == expected.low.tolist()
    assert found["simultaneous", "population"].target == "population"
    for key in (("pointwise", "empirical"), ("simultaneous", "empirical")):
        assert found[key].low.tolist() == bands(plain)[key].low.tolist()
    # A pointwise band keeps its law, and is cut to the simultaneous band of the same target.
    low, _ = plain.about("pointwise", "population").curves(
        0.9, "pointwise", cumulative=True, least=0.0
    )
    cut_low = found["pointwise", "population"].low
    assert cut_low == pytest.approx(np.maximum(low, expected.low))
    assert np.any(cut_low > low)


def naive_given_present(law: Uncertainty) -> Uncertainty:
    """The broken version: masses divided by the share of the present, as if that were known."""
    present = 1 - law.center[-1]
    noise = Covariance(
        law.noise.diagonal[:-1] / present**2, law.noise.factor[:-1] / present, law.noise.signs
    )
    return replace(law.given_present(), noise=noise)


@pytest.mark.parametrize("target", ["empirical", "population"])
def test_given_present_against_simulated_tallies(target: Any) -> None:
    """Conditional CDFs of many tallies have the moments that the delta method says."""
    domain = Integers(0, 4, missing="bin")
    response = RandomizedResponse(domain, 2)
    rng = np.random.default_rng(11)
    counts = np.array([100, 200, 300, 150, 250, 600]) * 1000
    people, share = counts.sum(), counts / counts.sum()
    cdf = np.cumsum(share[:-1])[:-1] / share[:-1].sum()
    samples = np.empty((1500, 4))
    for row in samples:
        drawn = rng.multinomial(people, share) if target == "population" else counts
        tally = simulate(response, drawn, rng=rng)
        center = linear_estimate(response.channel, tally, plug_in=share).center
        row[:] = np.cumsum(center[:-1])[:-1] / center[:-1].sum()
    at_truth = linear_estimate(response.channel, simulate(response, counts, rng=1), plug_in=share)
    at_truth = replace(at_truth, center=share)
    for law, right in ((at_truth.given_present(), True), (naive_given_present(at_truth), False)):
        covariance = dense_sums(law, target)[:-1, :-1]
        # Errors are of the order 1e-3, so all is scaled to numbers of people.
        tail = moments_tail(samples * people, cdf * people, covariance * people**2)
        assert accepts(tail) is right
    law = at_truth.given_present()
    assert law.reports == 1_000_000 and law.plug_in.sum() == pytest.approx(1)
    assert law.center == pytest.approx(share[:-1] / share[:-1].sum())


def test_given_present_keeps_the_variants() -> None:
    law = replace(some_law(1), variants=Variants(population_pointwise=some_law(2)))
    found = law.given_present().variants.population_pointwise
    assert found is not None
    assert found.center.tolist() == some_law(2).given_present().center.tolist()


def test_tails_widen_a_band_and_are_stored() -> None:
    law = some_law(1)
    assert "tails" not in law.to_document()
    heavy = replace(law, tails=1.5)
    again = Uncertainty.from_document(json.loads(json.dumps(heavy.to_document())), symbols=7)
    assert again.tails == 1.5 and again.given_present().tails == 1.5
    for key, made in bands(law).items():
        wider = bands(heavy)[key]
        assert np.all(wider.low <= made.low) and np.all(wider.high >= made.high)
    # The 99.9% quantile of the sum of two Laplace variables, in standard deviations: 3.54.
    # Their excess kurtosis is 1.5; a normal one of the same variance has 3.09.
    assert with_tails(3.090, 1.5) == pytest.approx(4.35, abs=0.01)
    assert with_tails(1.5, 1.5) == 1.5


def test_stored_and_back() -> None:
    law = replace(some_law(1), variants=Variants(empirical_simultaneous=some_law(2)))
    text = json.dumps(law.to_document())
    again = Uncertainty.from_document(json.loads(text), symbols=7)
    # The factor is stored in single precision: the band moves by less than it can matter ...
    for key, made in bands(law).items():
        assert bands(again)[key].low == pytest.approx(made.low, abs=1e-7)
        assert bands(again)[key].high == pytest.approx(made.high, abs=1e-7)
    # ... and what was loaded once is stored exactly.
    assert json.dumps(again.to_document()) == text


@pytest.mark.parametrize(
    "change",
    [
        {"remainder": "AAAAAAAA8H8=" * 7},
        {"reports": 0},
        {"reports": -5},
        {"tails": -1.0},
        {"tails": 3.5},
    ],
)
def test_a_law_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        Uncertainty.from_document({**some_law(1).to_document(), **change}, symbols=7)


def test_variants_of_variants_are_refused() -> None:
    law = replace(some_law(1), variants=Variants(population_pointwise=some_law(2)))
    nested = replace(some_law(3), variants=Variants(population_pointwise=law))
    with pytest.raises(FormatError, match="variant"):
        Uncertainty.from_document(nested.to_document(), symbols=7)


def test_each_kind_and_target_is_answered_by_its_own_variant() -> None:
    one, two, three = (mistaken(name) for name in ("pointwise", "empirical", "population"))
    variants = Variants(one, two, three)
    assert variants.answering("pointwise", "empirical") is None
    assert variants.answering("pointwise", "population") is one
    assert variants.answering("simultaneous", "empirical") is two
    assert variants.answering("simultaneous", "population") is three
