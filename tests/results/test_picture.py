"""Pictures as plain data: what a result says, without anything that draws."""

import subprocess
import sys

import numpy as np
import pytest

from lapwing import (
    Categories,
    Distribution,
    Integers,
    Interval,
    RandomizedResponse,
    simulate,
)
from lapwing.errors import DomainError
from lapwing.linear.covariance import Covariance
from lapwing.privacy.guarantee import Guarantee
from lapwing.results.picture import BAR_LIMIT, Axis, Bars, Curves, Outline
from lapwing.results.uncertainty import Band, Uncertainty
from tests.signed_decoder import projected, unbiased

ATOMS = Interval(0, 4, bins=2, atoms=(1, 4))
LOW, BETWEEN = (Interval(0, 4, bins=2, atoms=(atom,)) for atom in (0, 1))


def test_a_density_holds_all_mass_in_bins_and_at_points() -> None:
    made = Distribution(ATOMS, np.array([0.1, 0.2, 0.1, 0.2, 0.4]))
    (shape,) = made._pictures()[0].shapes
    assert shape.edges.tolist() == [0, 1, 2, 4] and shape.points.tolist() == [1, 4]
    assert shape.shares.tolist() == [0.2, 0.4]
    assert np.dot(shape.heights, np.diff(shape.edges)) + shape.shares.sum() == pytest.approx(1)
    assert not shape.atoms.size and made._pictures()[0].label == "density, per unit"


@pytest.mark.parametrize("spike", [0.2, 0.01])
def test_a_found_atom_is_drawn_as_high_as_its_share_says(spike: float) -> None:
    """Also where the decoder smoothed it away: the curve has 1/32 in each bin, or a bit more."""
    mass = np.full(32, (1 - spike) / 32)
    mass[20] += spike
    errors = Covariance(np.full(32, 1e-8), np.zeros((32, 0)), np.zeros(0))
    seen = np.full(32, 0.7 / 32)
    seen[[5, 20]] += [0.1, 0.2]
    error_law = Uncertainty(seen, errors, np.zeros(32), seen, 1000, "by hand")
    made = Distribution(Interval(0, 32, bins=32, outside="clip"), mass, uncertainty=error_law)
    truth = Distribution(made.domain, seen)
    estimate, known = made._pictures(truth=truth)[0].shapes
    assert estimate.atoms.tolist() == known.atoms.tolist() == [5.5, 20.5]
    assert estimate.excess.tolist() == [atom.share for atom in made.atoms]
    assert estimate.excess == pytest.approx([0.1, 0.2]) and known.excess == pytest.approx(
        [0.1, 0.2]
    )
    assert estimate.heights == pytest.approx((1 - spike) / 32)
    assert (estimate.role, known.role) == ("estimate", "truth")


def test_bins_of_ones_own_have_a_density_per_unit() -> None:
    made = Distribution(Interval(edges=[0, 1, 3, 11]), np.array([0.2, 0.4, 0.4]))
    (shape,) = made._pictures()[0].shapes
    assert shape.heights == pytest.approx([0.2, 0.2, 0.05])
    assert made._pictures()[0].usual_length == 2


def test_a_logarithmic_axis_has_a_density_per_factor_of_ten() -> None:
    """Equal lengths of the axis then hold people in proportion to their heights."""
    made = Distribution(Interval(1, 1e4, bins=2, scale="log"), np.array([0.5, 0.5]))
    picture = made._pictures()[0]
    assert picture.shapes[0].heights == pytest.approx([0.25, 0.25])
    assert picture.label == "density, per factor of 10" and picture.usual_length == 2


def test_each_picture_says_how_many_people_and_what_they_were_promised() -> None:
    promise = Guarantee(1, 0, "replace-one", "local")
    expected = "1,234 people; epsilon = 1, pure, neighbors replace-one, local model"
    for domain in (ATOMS, Integers(0, 4), Categories(5)):
        made = Distribution(domain, np.full(5, 0.2), reports=1234, guarantee=promise)
        assert {picture.title for picture in made._pictures()} == {expected}
        for picture in made.difference(made)._pictures(names=("now", "then")):
            assert picture.title is not None
            assert "now: 1,234 people; then: 1,234" in picture.title
            assert "epsilon = 2" in picture.title


def test_the_heights_of_a_clock_are_per_hour() -> None:
    clock = Interval("00:00", "24:00", bins=2, unit="time-of-day", circular=True)
    made = Distribution(clock, np.array([0.75, 0.25]))._pictures()[0]
    assert made.shapes[0].heights == pytest.approx([0.75 / 12, 0.25 / 12])
    assert made.label == "density, per hour"


def test_the_line_of_a_cdf_steps_at_atoms() -> None:
    made = Distribution(ATOMS, np.array([0.1, 0.2, 0.1, 0.2, 0.4]))._pictures()[-1]
    assert isinstance(made, Curves)
    (line,) = made.lines
    assert line.x.tolist() == [0, 1, 1, 1, 1, 2, 2, 4, 4, 4]
    expected = [0, 0.1, 0.1, 0.3, 0.3, 0.4, 0.4, 0.6, 0.6, 1]
    assert line.y == pytest.approx(expected)
    assert made.bands == () and made.atoms is None and not made.stepped


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (ATOMS, Axis(0, 4, "number", log=False, atom_at_end=True)),
        (Interval(1, 8, bins=3, scale="log"), Axis(1, 8, "number", log=True, atom_at_end=False)),
        (LOW, Axis(0, 4, "number", log=False, atom_at_end=True)),
        (BETWEEN, Axis(0, 4, "number", log=False, atom_at_end=False)),
        (Integers(-1, 2), Axis(-1, 2, "number", log=False, atom_at_end=True, whole=True)),
    ],
)
def test_the_axis_is_that_of_the_domain(domain: Interval | Integers, expected: Axis) -> None:
    assert Axis.of_domain(domain) == expected


def test_labels_have_no_axis() -> None:
    with pytest.raises(DomainError):
        Axis.of_domain(Categories(3))


def test_bars_are_the_largest_by_size_and_the_missing_is_none() -> None:
    domain = Categories(["a", "b"], missing="category")
    one, two = (Distribution(domain, np.array(m)) for m in ([0.5, 0.2, 0.3], [0.375, 0.125, 0.5]))
    bars = one.difference(two)._picture(names=("now", "then"))
    assert isinstance(bars, Bars)
    assert bars.values == [None, "a", "b"] and bars.heights == pytest.approx([-0.2, 0.125, 0.075])
    assert bars.signed and bars.label == "share: now minus then"
    assert bars.title == "now: 0 people; then: 0"


def test_no_more_bars_than_can_be_read() -> None:
    many = Distribution.of_counts(np.arange(1, 61), Categories(60))._pictures()[-1]
    assert isinstance(many, Bars)
    assert many.values == list(range(59, 59 - BAR_LIMIT, -1)) and many.intervals is None
    assert many.title == "1,830 people; exact values, not private\nthe 40 largest of 60 shares"


WITHOUT = """
import sys
sys.modules["matplotlib"] = None  # as if not installed
import lapwing
made = lapwing.Distribution.of_counts([1, 1], lapwing.Integers(0, 1))
print(len(made._pictures()), len(made.difference(made)._pictures()))
"""


def test_a_picture_needs_no_drawing_library() -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert said.split() == ["2", "2"]


@pytest.mark.parametrize("domain", [Interval(0, 4, bins=4), Interval(0, 4, bins=2, atoms=(0, 1))])
def test_a_band_reaches_over_a_bin_as_an_answer_does(domain: Interval) -> None:
    response = RandomizedResponse(domain, 2)
    counts = 500 * np.arange(1, domain.size + 1)
    signed = unbiased(response.channel, simulate(response, counts, rng=1))
    made = projected(signed)
    band = made.confidence_band(0.9)
    assert band is not None
    outline = Outline.of_band(band, Axis.of_domain(domain), stepped=False)
    middles = (domain.left + domain.right) / 2
    for place, (left, right) in enumerate(zip(domain.left, domain.right, strict=True)):
        if left == right:
            continue
        ends = made.probability_interval(-np.inf, float(middles[place]), level=0.9)
        corners = slice(2 * place, 2 * place + 2)
        assert outline.x[corners].tolist() == [left, right]
        for drawn in zip(outline.low[corners], outline.high[corners], strict=True):
            assert drawn == pytest.approx(ends, abs=1e-9)


def test_a_band_of_whole_numbers_steps() -> None:
    two = np.array([0.25, 0.75])
    places = np.array([1.0, 2.0])
    band = Band(places, places, two, two, 0.9, "pointwise", "empirical", "given")
    outline = Outline.of_band(band, Axis.of_domain(Integers(1, 2)), stepped=True)
    assert outline.x.tolist() == [1, 1, 1, 2, 2]
    assert outline.low.tolist() == outline.high.tolist() == [0, 0, 0.25, 0.25, 0.75]
