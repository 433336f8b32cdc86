"""Pictures: what is drawn is what the distribution says. Needs matplotlib, without a display."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from lapwing import (
    Categories,
    Distribution,
    GeneralizedRandomizedResponse,
    Integers,
    Interval,
    LeastSquares,
    SquareWave,
    simulate,
)
from lapwing.results.plotting import draw, figure_of, write_picture

DOMAINS: dict[str, Any] = {
    "bins": Interval(0, 1, bins=6),
    "large": Interval(0, 524_288, bins=8),
    "log": Interval(1, 1e6, bins=6, scale="log"),
    "atoms": Interval(-1, 3, bins=4, atoms=(-1, 0.5, 3)),
    "missing": Interval(0, 10, bins=3, missing="bin"),
    "clock": Interval("00:00", "24:00", bins=8, unit="time-of-day", circular=True),
    "dates": Interval("2026-01-01", "2026-12-31", bins=4, unit="date"),
    "moments": Interval("2026-01-01T00:00", "2026-01-03T00:00", bins=4, unit="datetime"),
    "integers": Integers(-2, 3),
    "labels": Categories(["a", "b", 3], missing="category"),
    "many": Categories(60),
}


def decoded(name: str) -> tuple[Distribution, Distribution]:
    """Return an estimate with a band, and the truth."""
    domain = DOMAINS[name]
    counts = 2000 + 100 * np.arange(domain.size)
    wave = domain.ordered and domain.missing_index is None and name != "atoms"
    randomizer = (SquareWave if wave else GeneralizedRandomizedResponse)(domain, 4)
    made = LeastSquares().decode(randomizer.channel, simulate(randomizer, counts, rng=1))
    assert isinstance(made, Distribution)
    return made, Distribution.of_counts(counts, domain)


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_every_domain_can_be_drawn_and_saved(name: str, ending: str, tmp_path: Path) -> None:
    made, truth = decoded(name)
    figure = figure_of(*made.pictures(truth=truth if made.domain.ordered else None))
    path = tmp_path / f"picture.{ending}"
    figure.savefig(path)
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if ending == "png" else b"<?xml" in start
    assert path.stat().st_size > 5000
    assert len(figure.axes) >= (2 if made.domain.ordered else 1)


def lines(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines()}


@pytest.mark.parametrize("name", ["bins", "atoms", "missing", "integers", "log"])
def test_the_curve_drawn_is_the_cdf(name: str) -> None:
    made, truth = decoded(name)
    ax = draw(made.picture(truth=truth))
    for label, expected in (("estimate", made), ("truth", truth)):
        x, y = lines(ax)[label].get_data()
        # At a step the line goes up from the limit below to the value.
        curve = expected.cumulative
        assert np.all(y <= expected.cdf(x) + 1e-12)
        assert np.all(y >= curve.before(x) - 1e-12)
        assert (y[0], y[-1]) == pytest.approx((0, 1))
        assert set(curve.left) | set(curve.right) == set(x)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_band_drawn_is_the_band(level: float) -> None:
    made, _ = decoded("bins")
    ax = made.plot(level=level)
    (polygon,) = ax.collections
    drawn = {tuple(np.round(point, 12)) for path in polygon.get_paths() for point in path.vertices}
    band = made.confidence_band(level)
    assert band is not None
    for edge in (band.low, band.high):
        expected = zip(np.round(band.points, 12), np.round(edge, 12), strict=True)
        assert {(float(x), float(y)) for x, y in expected} <= drawn
    named = ax.get_legend().get_texts()[0].get_text()
    assert named.startswith(f"{100 * level:g} % band")


def test_without_a_band_none_is_drawn() -> None:
    ax = Distribution.of_counts([1, 2, 3], Integers(0, 2)).plot()
    assert not ax.collections
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["estimate"]


def test_it_draws_into_given_axes() -> None:
    from matplotlib.figure import Figure

    made, _ = decoded("bins")
    ax = Figure().subplots()
    assert draw(made.picture(), ax) is ax and draw(made.density_picture(), ax) is ax
    assert made.plot(ax) is ax
    assert made.plot() is not ax


@pytest.mark.parametrize(("name", "unit"), [("bins", 1), ("clock", 3600), ("dates", 1)])
def test_the_density_drawn_is_the_density(name: str, unit: float) -> None:
    made, _ = decoded(name)
    ax = draw(made.density_picture())
    (stairs,) = ax.patches
    heights, edges, _ = stairs.get_data()
    middle = (edges[1:] + edges[:-1]) / 2
    assert heights == pytest.approx(unit * made.pdf(middle))
    assert np.dot(heights, np.diff(edges)) / unit == pytest.approx(1)
    assert ("per " in ax.get_ylabel()) and ax.get_ylim()[0] == 0


def test_atoms_are_drawn_as_stems_with_their_mass() -> None:
    made, _ = decoded("atoms")
    ax = draw(made.density_picture())
    stems = next(axes for axes in ax.figure.axes if axes is not ax)
    segments = stems.collections[0].get_segments()
    curve = made.cumulative
    atoms = curve.left == curve.right
    assert [segment[0][0] for segment in segments] == curve.left[atoms].tolist()
    assert [segment[1][1] for segment in segments] == pytest.approx(curve.mass[atoms].tolist())
    low, high = ax.get_xlim()
    assert low < -1 and high > 3  # atoms at the ends are not hidden by the frame


@pytest.mark.parametrize(
    ("name", "shown"),
    [("clock", "06:00"), ("dates", "2026-"), ("moments", "2026-01-0"), ("large", "524,288")],
)
def test_ticks_are_written_in_the_unit(name: str, shown: str) -> None:
    made, _ = decoded(name)
    ax = made.plot()
    formatter, domain = ax.xaxis.get_major_formatter(), DOMAINS[name]
    where = {"clock": 6 * 3600, "large": 524_288}.get(name, (domain.low + domain.high) / 2)
    assert shown in formatter(where, 0)


def with_a_found_atom() -> Distribution:
    """Return an estimate on 32 bins whose bin 20 stands out."""
    domain = Interval(0, 64, bins=32)
    counts = np.full(32, 1000)
    counts[20] = 20_000
    randomizer = GeneralizedRandomizedResponse(domain, 6)
    made = LeastSquares().decode(randomizer.channel, simulate(randomizer, counts, rng=1))
    assert isinstance(made, Distribution) and [atom.left for atom in made.atoms] == [40]
    return made


def test_a_found_atom_is_marked_where_the_curve_ends_its_rise() -> None:
    made = with_a_found_atom()
    mark = lines(made.plot())["found atom"]
    assert mark.get_xydata().tolist() == [[42, pytest.approx(float(made.cdf(42)))]]
    # Inside the bin the curve stays linear: the place of the step is not known.
    x, y = lines(made.plot())["estimate"].get_data()
    assert np.interp(41, x, y) == pytest.approx((made.cdf(40) + made.cdf(42)) / 2)


def test_the_density_has_a_stem_instead_of_the_found_bin() -> None:
    made = with_a_found_atom()
    truth = Distribution.of_counts(np.where(np.arange(32) == 20, 20_000, 1000), made.domain)
    ax = draw(made.density_picture(truth=truth))
    stems = next(axes for axes in ax.figure.axes if axes is not ax)
    marks = lines(stems)["found atom (right axis)"].get_xydata()
    (atom,) = made.atoms
    assert marks.tolist() == [[41, pytest.approx(atom.share)]]
    heights, edges, _ = ax.patches[0].get_data()
    around = made.mass[[18, 19, 21, 22]].mean()
    assert heights[20] == pytest.approx(around / 2)
    assert np.dot(heights, np.diff(edges)) == pytest.approx(1 - atom.share)
    known = lines(stems)["_truth"].get_xydata()
    assert known.tolist() == [[41, pytest.approx(19_000 / 51_000)]]
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["estimate", "truth", "found atom (right axis)"]


@pytest.mark.parametrize("name", ["bins", "atoms", "missing", "integers", "clock"])
def test_the_difference_drawn_is_the_difference(name: str) -> None:
    made, truth = decoded(name)
    ax = made.difference(truth).plot(names=("one", "two"))
    x, y = lines(ax)["estimate"].get_data()
    gap = made.difference(truth)
    before = made.cumulative.before(x) - truth.cumulative.before(x)
    found = np.minimum(np.abs(y - gap.cdf(x)), np.abs(y - before))
    assert found.max() < 1e-12
    assert "one less two" in ax.get_ylabel() and not ax.collections  # the truth has no error law
    both = made.difference(made)
    polygons = both.plot(level=0.9).collections
    assert len(polygons) == 2
    for polygon, kind in zip(polygons, ("simultaneous", "pointwise"), strict=True):
        band = both.confidence_band(0.9, kind=kind)  # type: ignore[arg-type]
        assert band is not None
        extent = polygon.get_paths()[0].vertices[:, 1]
        assert extent.max() == pytest.approx(band.high.max(), abs=1e-12)
        assert extent.min() == pytest.approx(band.low.min(), abs=1e-12)


def test_the_difference_of_shares_is_drawn_by_size() -> None:
    made, _ = decoded("labels")
    other = Distribution.of_counts([4, 1, 1, 1], made.domain)
    ax = made.difference(other).plot()
    gaps = made.mass - other.mass
    order = np.argsort(-np.abs(gaps), kind="stable")
    assert [patch.get_height() for patch in ax.patches] == pytest.approx(gaps[order].tolist())
    assert not ax.collections and len(figure_of(*made.difference(made).pictures()).axes) == 1
    assert made.difference(made).plot().collections


def test_the_figure_of_a_difference_has_both_curves_above() -> None:
    made, truth = decoded("bins")
    figure = figure_of(*made.difference(truth).pictures(names=("now", "then")))
    upper, lower = figure.axes
    for name, expected in (("now", made), ("then", truth)):
        x, y = lines(upper)[name].get_data()
        assert y == pytest.approx(expected.cdf(x))
    assert "now less then" in lower.get_ylabel()


def test_shares_of_labels() -> None:
    made, _ = decoded("labels")
    ax = made.plot(level=0.9)
    bars = [patch.get_height() for patch in ax.patches]
    order = np.argsort(-made.mass, kind="stable")
    assert bars == pytest.approx(made.mass[order].tolist())
    names = ["a", "b", "3", "(missing)"]
    assert [text.get_text() for text in ax.get_xticklabels()] == [names[i] for i in order]
    band = made.confidence_band(0.9)
    assert band is not None
    drawn = [sorted(segment[:, 1]) for segment in ax.collections[0].get_segments()]
    expected = np.column_stack([band.low, band.high])[order]
    assert np.array(drawn) == pytest.approx(expected)


def test_only_the_largest_of_many_shares() -> None:
    made, _ = decoded("many")
    ax = made.plot()
    assert len(ax.patches) == 40 and "40 largest of 60" in ax.get_title()
    assert min(patch.get_height() for patch in ax.patches) >= np.sort(made.mass)[20]


WITHOUT = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.figure"] = None  # as if not installed
import lapwing
try:
    lapwing.Distribution.of_counts([1, 1], lapwing.Integers(0, 1)).plot()
except lapwing.LapwingError as error:
    print(type(error).__name__, error)
"""


def test_without_matplotlib_the_install_line_is_named() -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert said.startswith("MissingExtraError") and "pip install 'lapwing[plot]'" in said


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_picture_made_anew_has_the_same_bytes(kind: Literal["png", "svg"]) -> None:
    pictures = [io.BytesIO(), io.BytesIO()]
    for stream in pictures:
        result = Distribution.of_counts([3, 1, 4, 1], Interval(0, 1, bins=4))
        write_picture(figure_of(*result.pictures()), stream, kind=kind)
    assert pictures[0].getvalue() == pictures[1].getvalue()
