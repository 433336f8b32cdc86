"""Pictures: what is drawn is what the distribution says. Needs matplotlib, without a display."""

import io
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

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
from lapwing.errors import INSTALL
from lapwing.protocol.domains.ranges import Places
from lapwing.results.plotting import ESTIMATE, TINT, TRUTH, draw, figure_of, write_picture


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the figures of pyplot, which keeps them."""
    yield
    from matplotlib import pyplot

    pyplot.close("all")


DOMAINS: dict[str, Any] = {
    "bins": Interval(0, 1, bins=6),
    "large": Interval(0, 524_288, bins=8),
    "log": Interval(1, 1e6, bins=6, scale="log"),
    "atoms": Interval(-1, 3, bins=4, atoms=(-1, 0.5, 3)),
    "missing": Interval(0, 10, bins=3, missing="bin"),
    "clock": Interval("00:00", "24:00", bins=8, unit="time-of-day", circular=True),
    "dates": Interval("2026-01-01", "2026-12-31", bins=4, unit="date"),
    "moments": Interval("2026-01-01T00:00", "2026-01-03T00:00", bins=4, unit="datetime"),
    "own": Interval(edges=[0, 5, 10, 18, 25, 45, 65, 100]),
    "integers": Integers(-2, 3),
    "many integers": Integers(0, 50, outside="clip"),
    "labels": Categories(["a", "b", 3], missing="category"),
    "long": Categories([f"town number {i}, in the far north-east of {i}" for i in range(25)]),
    "many": Categories(60),
}


def decoded(name: str) -> tuple[Distribution, Distribution]:
    """Return an estimate with a band, and the truth."""
    domain = DOMAINS[name]
    counts = 2000 + 100 * np.arange(domain.size)
    wave = domain.ordered and domain.missing_index is None and name != "atoms"
    randomizer = (SquareWave if wave else RandomizedResponse)(domain, 4)
    made = LeastSquares().decode(randomizer.channel, simulate(randomizer, counts, rng=1))
    assert isinstance(made, Distribution)
    return made, Distribution.of_counts(counts, domain)


@pytest.mark.parametrize(
    ("name", "ending"), [("log", "svg"), ("clock", "svg"), ("atoms", "png"), ("labels", "pdf")]
)
def test_a_picture_can_be_saved(name: str, ending: str, tmp_path: Path) -> None:
    made, truth = decoded(name)
    figure = figure_of(*made._pictures(truth=truth if made.domain.ordered else None))
    path = tmp_path / f"picture.{ending}"
    figure.savefig(path)
    start = path.read_bytes()[:200]
    assert {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending] in start
    assert path.stat().st_size > 5000
    assert len(figure.axes) >= (2 if made.domain.ordered else 1)


def lines(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines()}


@pytest.mark.parametrize("name", ["bins", "atoms", "missing", "integers", "log"])
def test_the_curve_drawn_is_the_cdf(name: str) -> None:
    made, truth = decoded(name)
    ax = draw(made._pictures(truth=truth)[-1])
    for label, expected in (("estimate", made), ("truth", truth)):
        x, y = lines(ax)[label].get_data()
        # At a step the line goes up from the limit below to the value.
        curve = expected.cumulative
        assert np.all(y <= curve.up_to(Places(x, np.zeros(x.size, dtype=bool))) + 1e-12)
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
    # Inside the last bin the lower curve is that of its left edge.
    for places, edge in ((band.points[:-1], band.low[:-1]), (band.points, band.high)):
        expected = zip(np.round(places, 12), np.round(edge, 12), strict=True)
        assert {(float(x), float(y)) for x, y in expected} <= drawn
    named = ax.get_legend().get_texts()[0].get_text()
    assert named.startswith(f"{100 * level:g}% band")


def test_without_a_band_none_is_drawn() -> None:
    ax = Distribution.of_counts([1, 2, 3], Integers(0, 2)).plot()
    assert not ax.collections
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["exact values"]


def test_it_draws_into_given_axes() -> None:
    from matplotlib.figure import Figure

    made, _ = decoded("bins")
    ax = Figure().subplots()
    assert draw(made._pictures()[-1], ax) is ax and draw(made._pictures()[0], ax) is ax
    assert made.plot(ax) is ax
    assert made.plot() is not ax


@pytest.mark.parametrize(("name", "unit"), [("bins", 1), ("clock", 3600), ("dates", 1)])
def test_the_density_drawn_is_the_density(name: str, unit: float) -> None:
    made, _ = decoded(name)
    ax = draw(made._pictures(detail="all")[0])
    filled, band, outline = ax.patches
    heights, edges, _ = filled.get_data()
    high, _, low = band.get_data()
    assert np.all(low <= heights) and np.all(heights <= high) and np.any(low < high)
    assert outline.get_data().values.tolist() == heights.tolist()
    middle = (edges[1:] + edges[:-1]) / 2
    assert heights == pytest.approx(unit * made.pdf(middle))
    assert np.dot(heights, np.diff(edges)) / unit == pytest.approx(1)
    assert ("per " in ax.get_ylabel()) and ax.get_ylim()[0] == 0


def test_atoms_are_drawn_as_stems_with_their_mass() -> None:
    made, _ = decoded("atoms")
    ax = draw(made._pictures()[0])
    segments = ax.collections[0].get_segments()
    curve = made.cumulative
    atoms = curve.left == curve.right
    assert [segment[0][0] for segment in segments] == curve.left[atoms].tolist()
    shares = made._pictures()[0].usual_length * np.array([each[1][1] for each in segments])
    assert shares == pytest.approx(curve.mass[atoms])
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
    domain = Interval(0, 64, bins=32, outside="clip")
    counts = np.full(32, 1000)
    counts[20] = 20_000
    randomizer = RandomizedResponse(domain, 6)
    made = LeastSquares().decode(randomizer.channel, simulate(randomizer, counts, rng=1))
    assert isinstance(made, Distribution) and [atom.left for atom in made.atoms] == [40]
    return made


def test_a_found_atom_is_marked_at_the_foot_where_no_mark_hides_the_curve() -> None:
    made = with_a_found_atom()
    ax = draw(made._pictures()[-1])
    mark = lines(ax)["bin with a detected atom"]
    assert mark.get_xdata().tolist() == [41]
    place = ax.transAxes.inverted().transform(mark.get_transform().transform(mark.get_xydata()))
    assert place[0, 1] < 0.05 and mark.get_marker() == "|"
    # Inside the bin the curve stays linear: the place of the step is not known.
    x, y = lines(ax)["estimate"].get_data()
    assert np.interp(41, x, y) == pytest.approx((made.cdf(40) + made.cdf(42)) / 2)


def test_the_density_has_a_stem_instead_of_the_found_bin() -> None:
    made = with_a_found_atom()
    truth = Distribution.of_counts(np.where(np.arange(32) == 20, 20_000, 1000), made.domain)
    ax = draw(made._pictures(truth=truth)[0])
    (stem,) = next(
        each.get_segments() for each in ax.collections if "detected" in str(each.get_label())
    )
    (atom,) = made.atoms
    assert 2 * stem[1] == pytest.approx([82, min(atom.share, 2 * ax.get_ylim()[1] / 1.1)])
    heights, edges, _ = ax.patches[0].get_data()
    around = made.mass[[18, 19, 21, 22]].mean()
    assert heights[20] == pytest.approx(around / 2)
    assert np.dot(heights, np.diff(edges)) == pytest.approx(1 - atom.share)
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    band = "95% band (simultaneous)"
    assert named == ["estimate", band, "detected atom (right scale)", "truth"]
    assert [text.get_text() for text in ax.texts] == [f"{atom.share:.0%}"]


@pytest.mark.parametrize("name", ["bins", "atoms", "missing", "integers", "clock"])
def test_the_difference_drawn_is_the_difference(name: str) -> None:
    made, truth = decoded(name)
    ax = made.difference(truth).plot(names=("one", "two"))
    x, y = lines(ax)["estimate"].get_data()
    gap = made.difference(truth)
    before = made.cumulative.before(x) - truth.cumulative.before(x)
    found = np.minimum(np.abs(y - gap.cdf(x)), np.abs(y - before))
    assert found.max() < 1e-12
    assert "one minus two" in ax.get_ylabel() and not ax.collections  # the truth has no error law
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
    assert [patch.get_width() for patch in ax.patches] == pytest.approx(gaps[order].tolist())
    assert not ax.collections and len(figure_of(*made.difference(made)._pictures()).axes) == 1
    assert made.difference(made).plot().collections


def test_the_figure_of_a_difference_has_both_curves_above() -> None:
    made, truth = decoded("bins")
    figure = figure_of(*made.difference(truth)._pictures(names=("now", "then")))
    upper, lower = figure.axes
    for name, expected in (("now", made), ("then", truth)):
        x, y = lines(upper)[name].get_data()
        assert y == pytest.approx(expected.cdf(x))
    assert "now minus then" in lower.get_ylabel()


def test_shares_of_labels() -> None:
    made, _ = decoded("labels")
    ax = made.plot(level=0.9)
    bars = [patch.get_width() for patch in ax.patches]
    order = np.argsort(-made.mass, kind="stable")
    assert bars == pytest.approx(made.mass[order].tolist())
    names = ["a", "b", "3", "(missing)"]
    assert [text.get_text() for text in ax.get_yticklabels()] == [names[i] for i in order]
    band = made.confidence_band(0.9, kind="simultaneous")
    assert band is not None
    drawn = [sorted(segment[:, 0]) for segment in ax.collections[0].get_segments()]
    expected = np.column_stack([band.low, band.high])[order]
    assert np.array(drawn) == pytest.approx(expected)


def test_only_the_largest_of_many_shares() -> None:
    made, _ = decoded("many")
    ax = made.plot()
    assert len(ax.patches) == 40 and "40 largest of 60" in ax.get_title()
    assert min(patch.get_width() for patch in ax.patches) >= np.sort(made.mass)[20]


def touching(figure: Any) -> bool:
    """Return whether two labels of ticks of one axis touch."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        for axis, side in ((ax.xaxis, "x"), (ax.yaxis, "y")):
            shown = [each for each in axis.get_ticklabels(which="both") if each.get_text()]
            boxes = [each.get_window_extent() for each in shown if each.get_visible()]
            ends = sorted((getattr(b, f"{side}0"), getattr(b, f"{side}1")) for b in boxes)
            if any(end >= start for (_, end), (start, _) in pairwise(ends)):
                return True
    return False


@pytest.mark.parametrize("name", DOMAINS)
def test_no_two_labels_touch(name: str) -> None:
    made, truth = decoded(name)
    pictures = made._pictures(truth=truth)
    assert not touching(figure_of(*pictures, title="a title", label="values, in their unit"))


@pytest.mark.parametrize("name", ["log", "clock", "moments", "own", "long"])
def test_no_two_labels_of_a_difference_touch(name: str) -> None:
    made, truth = decoded(name)
    pictures = made.difference(truth)._pictures()
    assert not touching(figure_of(*pictures, title="a title", label="values, in their unit"))


@pytest.mark.parametrize(
    "domain",
    [
        Interval("12:00", "12:10", bins=10, unit="time-of-day"),
        Interval("08:00", "10:30", bins=10, unit="time-of-day"),
        Interval("2026-01-01", "2026-01-04", bins=3, unit="date"),
        Interval("1900-01-01", "2026-01-04", bins=9, unit="date"),
        Interval("2026-01-01T00:00", "2026-01-01T00:10", bins=4, unit="datetime"),
        Interval("2026-01-01T00:00", "2026-01-01T20:00", bins=4, unit="datetime"),
        Interval("2025-01-01T00:00", "2028-01-01T00:00", bins=4, unit="datetime"),
        Interval(0, 1e12, bins=4),
        Interval(20_000, 20_001, bins=4),
        Interval(-1e-6, 1e-6, bins=4),
        Interval(1e-3, 1e12, bins=4, scale="log"),
    ],
    ids=str,
)
def test_labels_of_short_and_long_axes(domain: Interval) -> None:
    figure = figure_of(*Distribution.of_counts(np.ones(domain.size), domain)._pictures())
    assert not touching(figure)
    (low, high), axis = figure.axes[-1].get_xlim(), figure.axes[-1].xaxis
    places = [place for place in axis.get_majorticklocs() if low <= place <= high]
    names = [axis.get_major_formatter()(place, 0) for place in places]
    assert len(places) >= 2 and len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["long", "many"])
def test_labels_that_touch_are_noticed(name: str) -> None:
    figure = figure_of(*decoded(name)[0]._pictures())
    figure.set_size_inches(8, 3)
    assert touching(figure)


@pytest.mark.parametrize("name", DOMAINS)
def test_each_figure_has_a_title_a_unit_and_names_for_what_it_shows(name: str) -> None:
    made, _ = decoded(name)
    for results in (made, made.difference(made)):
        figure = figure_of(*results._pictures(), title="Incomes in $", label="income, $")
        title = figure.axes[0].get_title()
        assert title.startswith("Incomes in \\$\n") and "people" in title and "epsilon" in title
        assert all(not ax.get_title() or "largest" in title for ax in figure.axes[1:])
        last = figure.axes[-1]
        assert "income" in (last.get_xlabel() if made.domain.ordered else last.get_ylabel())
        assert all(ax.get_legend() is not None for ax in figure.axes)
    assert figure_of(*made._pictures()).axes[-1].get_xlabel() != ""


def test_a_small_declared_atom_is_drawn_small() -> None:
    """Of .8%, where the highest bin holds about 5%: not as high as the mode."""
    mass = np.exp(-(((np.arange(33) - 16) / 8) ** 2))
    mass[0] = 0
    mass *= 0.992 / mass.sum()
    mass[0] = 0.008
    made = Distribution(Interval(0, 64, bins=32, atoms=[0], outside="clip"), mass)
    ax = draw(made._pictures()[0])
    height = max(segment[1][1] for segment in ax.collections[0].get_segments())
    assert height == pytest.approx(0.004) and height < 0.15 * ax.get_ylim()[1]
    # One scale: what the right side says at a height is what a bin of that height holds.
    (right,) = ax.child_axes
    assert right.get_ylabel() == "share at one value"
    ax.figure.draw_without_rendering()
    assert np.array(right.get_ylim()) == pytest.approx(2 * np.array(ax.get_ylim()))


def test_a_large_atom_leaves_room_for_the_bins_and_says_its_share() -> None:
    made = Distribution(Interval(0, 10, bins=10, atoms=[0]), np.array([0.9, *[0.01] * 10]))
    ax = draw(made._pictures()[0])
    assert ax.get_ylim()[1] < 10 * 0.01
    assert [text.get_text() for text in ax.texts] == ["90%"]


@pytest.mark.parametrize("name", ["integers", "many integers"])
def test_the_truth_of_whole_numbers_hides_no_estimate(name: str) -> None:
    made, truth = decoded(name)
    ax = draw(made._pictures(truth=truth, detail="all")[0])
    if name == "integers":
        assert [bar.get_height() for bar in ax.patches] == pytest.approx(made.mass.tolist())
        dashes = ax.collections[-1].get_segments()
        assert [dash[0][1] for dash in dashes] == pytest.approx(truth.mass.tolist())
    else:
        filled, _, line = ax.patches
        assert filled.get_fill() and not line.get_fill()
        assert filled.get_data().values == pytest.approx(made.mass)
    low, high = ax.get_xlim()
    assert low <= made.domain.left[0] - 0.5 and high >= made.domain.left[-1] + 0.5


def test_plot_shows_what_the_command_line_shows() -> None:
    from matplotlib import pyplot

    made, truth = decoded("bins")
    ax = made.plot(truth=truth, title="now", label="meters")
    assert ax.figure.number in pyplot.get_fignums()  # so that a notebook shows it
    shown, expected = io.BytesIO(), io.BytesIO()
    write_picture(ax.figure, shown, kind="png")
    figure = figure_of(*made._pictures(truth=truth), title="now", label="meters")
    write_picture(figure, expected, kind="png")
    assert shown.getvalue() == expected.getvalue()
    assert len(ax.figure.axes) == 2 and ax is ax.figure.axes[-1]


SEEN_BY = {
    "all": np.eye(3),
    # Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lightness_and_hue(color: str, eye: Any) -> np.ndarray:
    """Return CIELAB of an sRGB color as somebody sees it."""
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(eye) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    f = np.cbrt(np.maximum(np.array(to_xyz) @ seen / [0.9505, 1, 1.089], 0.0089))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", SEEN_BY)
def test_everybody_tells_the_colors_apart(eye: str) -> None:
    def least(colors: list[str]) -> float:
        seen = [lightness_and_hue(color, SEEN_BY[eye]) for color in colors]
        return min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2))

    assert least([ESTIMATE, TINT, TRUTH, "#ffffff"]) > 20
    if eye == "deuteranopia":
        assert least(["#3f8f29", "#b5651d"]) < 20  # green and brown would not do


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
    assert said.startswith("MissingExtraError") and INSTALL.format("plot") in said


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_picture_made_anew_has_the_same_bytes(kind: Literal["png", "svg", "pdf"]) -> None:
    pictures = [io.BytesIO(), io.BytesIO()]
    for stream in pictures:
        result = Distribution.of_counts([3, 1, 4, 1], Interval(0, 1, bins=4))
        write_picture(figure_of(*result._pictures()), stream, kind=kind)
    assert pictures[0].getvalue() == pictures[1].getvalue()
