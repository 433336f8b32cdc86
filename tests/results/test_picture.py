"""Pictures as plain data: what a result says, without anything that draws."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from lapwing import Categories, Distribution, Integers, Interval
from lapwing.errors import DomainError
from lapwing.results.picture import BAR_LIMIT, Axis, Bars, Curves

ATOMS = Interval(0, 4, bins=2, atoms=(1, 4))
LOW, BETWEEN = (Interval(0, 4, bins=2, atoms=(atom,)) for atom in (0, 1))


def test_a_density_holds_all_mass_in_bins_and_at_points() -> None:
    made = Distribution(ATOMS, np.array([0.1, 0.2, 0.1, 0.2, 0.4]))
    (shape,) = made.density_picture().shapes
    assert shape.edges.tolist() == [0, 1, 2, 4] and shape.points.tolist() == [1, 4]
    assert shape.shares.tolist() == [0.2, 0.4]
    assert np.dot(shape.heights, np.diff(shape.edges)) + shape.shares.sum() == pytest.approx(1)
    assert not shape.found.size and made.density_picture().label == "density, per unit"


def test_the_heights_of_a_clock_are_per_hour() -> None:
    clock = Interval("00:00", "24:00", bins=2, unit="time-of-day", circular=True)
    made = Distribution(clock, np.array([0.75, 0.25])).density_picture()
    assert made.shapes[0].heights == pytest.approx([0.75 / 12, 0.25 / 12])
    assert made.label == "density, per hour"


def test_the_line_of_a_cdf_steps_at_atoms() -> None:
    made = Distribution(ATOMS, np.array([0.1, 0.2, 0.1, 0.2, 0.4])).picture()
    assert isinstance(made, Curves)
    (line,) = made.lines
    assert line.x.tolist() == [0, 1, 1, 1, 1, 2, 2, 4, 4, 4]
    expected = [0, 0.1, 0.1, 0.3, 0.3, 0.4, 0.4, 0.6, 0.6, 1]
    assert line.y == pytest.approx(expected)
    assert made.bands == () and made.found is None and not made.stepped


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (ATOMS, Axis(0, 4, "number", log=False, atom_at_end=True)),
        (Interval(1, 8, bins=3, scale="log"), Axis(1, 8, "number", log=True, atom_at_end=False)),
        (LOW, Axis(0, 4, "number", log=False, atom_at_end=True)),
        (BETWEEN, Axis(0, 4, "number", log=False, atom_at_end=False)),
        (Integers(-1, 2), Axis(-1, 2, "number", log=False, atom_at_end=True)),
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
    bars = one.difference(two).picture(names=("now", "then"))
    assert isinstance(bars, Bars)
    assert bars.values == [None, "a", "b"] and bars.heights == pytest.approx([-0.2, 0.125, 0.075])
    assert bars.signed and bars.label == "share: now less then" and bars.title is None


def test_no_more_bars_than_can_be_read() -> None:
    many = Distribution.of_counts(np.arange(1, 61), Categories(60)).picture()
    assert isinstance(many, Bars)
    assert many.values == list(range(59, 59 - BAR_LIMIT, -1)) and many.intervals is None
    assert many.title == "the 40 largest of 60 shares"


WITHOUT = """
import sys
sys.modules["matplotlib"] = None  # as if not installed
import lapwing
made = lapwing.Distribution.of_counts([1, 1], lapwing.Integers(0, 1))
print(len(made.pictures()), len(made.difference(made).pictures()))
"""


def test_a_picture_needs_no_drawing_library() -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert said.split() == ["2", "2"]
