"""Bins of one's own, and the side on which bins are closed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing import Distribution, Interval
from lapwing.documents import canonical
from lapwing.errors import DomainError
from lapwing.protocol.domains.domain_documents import build_domain

AGES = [0, 18, 25, 35, 45, 55, 65, 120]


def test_everybody_who_holds_just_x_is_at_most_x() -> None:
    """Round values in round bins: the bins (a, b] say exactly how many hold at most b."""
    fifties = Distribution.of_values([50.0] * 1000, Interval(0, 100, bins=10))
    assert fifties.cdf(50) == 1 and fifties.cdf(40) == 0
    assert fifties.probability(40, 50) == 1 and fifties.probability(50, 60) == 0
    left = Distribution.of_values([50.0] * 1000, Interval(0, 100, bins=10, closed="left"))
    assert left.cdf(50) == 0 and left.cdf(60) == 1


@pytest.mark.parametrize("fields", [{}, {"scale": "log"}, {"atoms": (20,)}, {"missing": "bin"}])
def test_round_values_on_round_edges_are_counted_as_they_are(fields: dict[str, Any]) -> None:
    values = np.repeat([10.0, 20, 40, 80, 160], [1, 2, 3, 4, 5])
    domain = Interval(10, 160, bins=4 if "scale" in fields else 15, **fields)
    result = Distribution.of_values(values, domain)
    for edge in (20.0, 40.0, 80.0, 160.0):
        assert result.cdf(edge) == pytest.approx(np.mean(values <= edge))


@pytest.mark.parametrize(
    ("domain", "side"),
    [
        (Interval(0, 1, bins=4), "right"),
        (Interval(1, 10, bins=4, scale="log"), "right"),
        (Interval(0, 1, bins=4, atoms=(0,)), "right"),
        (Interval(edges=AGES), "right"),
        (Interval(0, 360, bins=4, circular=True), "left"),
        (Interval("2026-01-01", "2027-01-01", bins=12, unit="date"), "left"),
        (Interval("00:00", "24:00", bins=24, unit="time-of-day"), "left"),
        (Interval(0, 86_400, bins=24, unit="datetime"), "left"),
    ],
)
def test_the_default_is_right_for_numbers_and_left_for_times_and_circles(
    domain: Interval, side: str
) -> None:
    assert domain.closed == side


def test_a_document_says_only_what_is_new() -> None:
    """So every document and fingerprint of before stays what it was."""
    old = Interval(0, 1, bins=4, closed="left")
    assert set(old.to_document()) == {
        "class", "low", "high", "bins", "circular", "scale", "atoms", "outside", "missing", "unit",
    }  # fmt: skip
    assert build_domain(old.to_document()).closed == "left"
    assert Interval(0, 1, bins=4).to_document() == {**old.to_document(), "closed": "right"}
    own = Interval(edges=AGES, closed="left").to_document()
    assert own == {**old.to_document(), "low": 0, "high": 120, "bins": 7, "edges": AGES}


@pytest.mark.parametrize(
    "domain",
    [
        Interval(0, 1, bins=4),
        Interval(edges=AGES, atoms=(18, 20), missing="bin"),
        Interval(edges=["2026-01-01", "2026-02-01", "2026-03-01"], unit="date"),
        Interval(edges=[0, 90, 360], circular=True, closed="right"),
    ],
)
def test_a_document_is_read_back(domain: Interval) -> None:
    text = canonical(domain.to_document())
    again = build_domain(json.loads(text))
    assert again == domain and hash(again) == hash(domain)
    assert canonical(again.to_document()) == text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edges": [1]}, "at least two"),
        ({"edges": []}, "at least two"),
        ({"edges": [0, 2, 1]}, "increase"),
        ({"edges": [0, 1, 1]}, "increase"),
        ({"edges": [0, float("nan")]}, "edge"),
        ({"edges": [0, float("inf")]}, "finite"),
        ({"edges": 5}, "list"),
        ({"edges": "0,1"}, "list"),
        ({"edges": [0, "x"]}, "edge"),
        ({"edges": AGES, "scale": "log"}, "scale"),
        ({"edges": AGES, "low": 1}, "low must be left out"),
        ({"edges": AGES, "high": 100}, "high must be left out"),
        ({"edges": AGES, "bins": 3}, "bins must be left out"),
        ({"bins": 3}, "low"),
    ],
)
def test_what_makes_no_bins_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        Interval(**fields)


@pytest.mark.parametrize("closed", ["left", "right"])
def test_values_find_their_own_bins(closed: Any) -> None:
    domain = Interval(edges=AGES, closed=closed)
    values = np.concatenate([AGES, np.linspace(-5, 125, 400)])
    inside = np.clip(values, 0, 120)
    for value, symbol in zip(inside, domain.index(values), strict=True):
        start, stop = AGES[symbol], AGES[symbol + 1]
        held = start <= value < stop if closed == "left" else start < value <= stop
        outermost = value == (120 if closed == "left" else 0)
        assert held or (outermost and start <= value <= stop)


def test_quantiles_of_an_earlier_release_are_edges() -> None:
    earlier = Distribution.of_values(np.arange(1000.0), Interval(0, 1000, bins=100))
    edges = earlier.quantile(np.linspace(0, 1, 5))
    domain = Interval(edges=edges)
    assert domain == Interval(edges=edges.tolist()) and domain.bins == 4
    assert np.abs(np.bincount(domain.index(np.arange(1000.0))) - 250).max() <= 1


def test_bins_of_ones_own_are_not_cut_anew() -> None:
    domain = Interval(edges=AGES)
    assert not domain.regular and domain.refined(7) is not None
    with pytest.raises(DomainError, match="exactly these bins"):
        domain.refined(14)
    with pytest.raises(DomainError, match="evenly spaced"):
        lw.randomizers.Piecewise(domain, 1)


RANDOMIZERS = [
    lw.SquareWave, lw.MultiscaleWave, lw.papers.square_wave.Hierarchical,
    lw.papers.square_wave.HaarHadamard,
    lw.papers.wavelet.Wavelet, lw.SubsetSelection, lw.randomizers.OptimizedUnaryEncoding,
    lw.RandomizedResponse,
]  # fmt: skip


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=lambda one: one.__name__)
def test_every_way_from_a_value_to_a_band(randomizer: Any) -> None:
    """200,000 people, a large budget: the estimate at the edges is near, and so is its band."""
    ages = 120 * np.random.default_rng(1).beta(2, 3, 200_000)
    domain = Interval(edges=[*AGES, 130])
    survey = lw.Survey("age", randomizer(domain, 6))
    result = survey.decode(survey.tally(survey.randomize(ages, rng=lw.seeded(2))))
    true = Distribution.of_values(ages, domain)
    assert np.abs(result.cumulative.sums - true.cumulative.sums).max() < 0.02
    band = result.confidence_band(0.99, kind="simultaneous")
    assert band is None or band.share_inside(true.cumulative.sums) > 0.8
    # A density is per year, not per bin: it integrates to one over bins of any width.
    middles = (domain.left + domain.right) / 2
    assert float(result.pdf(middles) @ (domain.right - domain.left)) == pytest.approx(1)
    drawn = result.sample(1000, rng=1)
    assert drawn.min() >= 0 and drawn.max() <= 130


@pytest.mark.parametrize(
    "mechanism",
    [
        None,
        lw.mechanisms.PrefixSums(),
        lw.mechanisms.SumTree(),
        lw.papers.functional_approximation.AdaptiveQuantiles(),
    ],
)
def test_a_curators_bins_of_ones_own(mechanism: Any) -> None:
    ages = np.round(120 * np.random.default_rng(1).beta(2, 3, 50_000))
    domain = Interval(edges=[*AGES, 130])
    chosen = {} if mechanism is None else {"mechanism": mechanism}
    release = lw.release(
        ages, domain, epsilon=4, delta="1e-6", neighbors="replace-one", rng=lw.seeded(1), **chosen
    )
    result = release.distribution
    for edge in AGES[1:]:
        assert float(result.cdf(edge)) == pytest.approx(np.mean(ages <= edge), abs=0.01)


@pytest.mark.parametrize(
    ("low", "high", "bins", "steps"),
    [
        (1, 1e6, 60, 10),
        (1000, 1e6, 60, 20),
        (100, 1e7, 1000, 200),
        (1e-3, 1e3, 12, 2),
        (1, 1024, 20, 2),
    ],
)
def test_round_edges_of_a_logarithmic_scale_are_round(
    low: float, high: float, bins: int, steps: int
) -> None:
    """Everybody holds just a round number that is an edge: the power alone misses some of them."""
    base = 2 if high == 1024 else 10
    count = bins // steps
    exponents = np.log(low) / np.log(base) + np.arange(count + 1)
    held = np.array(
        [float(f"{base ** round(k)}") if k > -0.5 else 1 / 10 ** round(-k) for k in exponents]
    )
    domain = Interval(low, high, bins=bins, scale="log")
    assert domain.bin_edges[::steps].tolist() == held.tolist()
    result = Distribution.of_values(held, domain)
    assert np.allclose(result.cdf(held[1:]), np.arange(2, count + 2) / (count + 1))
    # Nothing else moves, and stored domains keep the power.
    power = Interval(low, high, bins=bins, scale="log", closed="left").bin_edges
    assert np.allclose(power, domain.bin_edges, rtol=2**-46, atol=0)
    given = low * (high / low) ** (np.arange(bins + 1) / bins)
    assert power[1:-1].tolist() == given[1:-1].tolist()
    moved = domain.bin_edges[domain.bin_edges != power]
    assert all(float(f"{edge:.12g}") == edge for edge in moved)


def test_edges_too_near_each_other_for_decimals_stay_apart() -> None:
    domain = Interval(1, 1 + 2e-11, bins=40, scale="log")
    assert (np.diff(domain.bin_edges) > 0).all()


def test_an_atom_at_the_end_of_a_circle_of_own_edges_is_at_its_start() -> None:
    clock = Interval(edges=[0, 6, 24], circular=True, atoms=[24])
    assert clock.atoms == (0.0,)
    assert clock.index([0, 24, 48, 23]).tolist() == [0, 0, 0, 2]
