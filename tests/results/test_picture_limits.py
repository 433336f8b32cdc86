"""Pictures of long thin tails end early and say what they leave out; a truth may be values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.results.distribution import Distribution
from lapwing.results.picture import Curves, Densities

matplotlib = pytest.importorskip("matplotlib")

INCOME = lw.Interval(0, 1000, bins=100)


def long_tail(domain: lw.Interval = INCOME, *, above: float = 0.02) -> Distribution:
    """Return 97.9% in the first tenth, 0.1% spread over the rest, and others above the range."""
    mass = np.zeros(domain.size)
    mass[1:11] = (0.999 - above) / 10
    mass[11:-1] = 0.001 / 90
    mass[-1] = above
    return Distribution(domain, mass, reports=1000)


def ends(result: Any, **options: Any) -> set[tuple[float, float]]:
    return {(each.axis.low, each.axis.high) for each in result._pictures(**options)}


def test_a_long_thin_tail_is_left_out_and_its_share_is_said() -> None:
    tail = long_tail()
    assert ends(tail) == {(0, 100)}
    density, cdf = tail._pictures()
    # The 2% above the range and the tail inside it, together.
    assert density.title == cdf.title == "1,000 people\nnot shown: 2.10% more than 100"


def test_limits_follow_the_shares_not_the_range() -> None:
    even = Distribution.of_counts(np.ones(100, dtype=int), INCOME)
    assert ends(even) == {(0, 1000)} and even._pictures()[0].title == (
        "100 people; exact values, not private"
    )
    low_tail = np.zeros(INCOME.size)
    low_tail[95:101] = 1 / 6
    assert ends(Distribution(INCOME, low_tail, reports=10)) == {(940, 1000)}
    # Half of the axis, at least, is saved; a little less is not worth it.
    for last, high in ((50, 500), (52, 1000)):
        counts = np.zeros(100, dtype=int)
        counts[:last] = 1
        assert ends(Distribution.of_counts(counts, INCOME)) == {(0, high)}


def test_circles_whole_numbers_and_logarithms() -> None:
    clock = lw.Interval(0, 24, bins=24, circular=True)
    counts = np.eye(24, dtype=int)[0]
    assert ends(Distribution.of_counts(counts, clock)) == {(0, 24)}
    whole = lw.Integers(0, 99, outside="clip")
    assert ends(Distribution.of_counts(np.eye(100, dtype=int)[0], whole)) == {(0, 99)}
    ratio = lw.Interval(1, 10_000, bins=40, scale="log", outside="clip")
    counts = np.zeros(40, dtype=int)
    counts[:15] = 1
    ((low, high),) = ends(Distribution.of_counts(counts, ratio))
    assert low == 1 and high == pytest.approx(10 ** (15 / 10))


def test_limits_may_be_asked_for() -> None:
    tail = long_tail()
    assert ends(tail, xlim=(None, None)) == {(0, 1000)}
    assert ends(tail, xlim=(50, None)) == {(50, 1000)}
    assert "48.95% less than 50" in (tail._pictures(xlim=(50, None))[0].title or "")
    days = lw.Interval("2026-01-01", "2026-12-31", bins=12, unit="date")
    year = Distribution.of_counts(np.ones(12, dtype=int), days)
    ((low, high),) = ends(year, xlim=("2026-03-01", "2026-06-01"))
    assert high - low == 92
    said = year._pictures(xlim=("2026-03-01", "2026-06-01"))[0].title
    assert said is not None and "before 2026-03-01" in said and "2026-06-01 or later" in said


@pytest.mark.parametrize(
    "xlim", [(5, 1), (3, 3), (-1, 5), (0, 1001), 5, (1, 2, 3), (float("nan"), 4)]
)
def test_wrong_limits(xlim: Any) -> None:
    with pytest.raises(lw.errors.ArgumentError, match="xlim must be two"):
        long_tail()._pictures(xlim=xlim)


def test_nothing_is_drawn_beyond_the_limits() -> None:
    domain = lw.Interval(0, 1000, bins=100, atoms=[0, 900])
    counts = np.zeros(domain.inside_size, dtype=int)
    counts[:11] = 99
    counts[-11:] = 0
    counts[list(domain.left[1:-1]).index(900)] = 1
    ax = Distribution.of_counts(counts, domain).plot(xlim=(0, 200)).figure.axes[0]
    for collection in ax.collections:
        for path in collection.get_paths():
            if path.vertices.shape == (2, 2):  # a stem
                assert path.vertices[0, 0] <= 200
    assert all(0 <= text.xy[0] <= 200 for text in ax.texts)


def test_small_densities_have_no_offset() -> None:
    wide = lw.Interval(0, 1_000_000, bins=10)
    figure = Distribution.of_counts(np.ones(10, dtype=int), wide).plot().figure
    figure.canvas.draw()
    density = figure.axes[0]
    assert density.yaxis.get_offset_text().get_text() == ""
    assert density.get_ylabel() == "density, per 1,000,000"
    assert "1" in [tick.get_text() for tick in density.get_yticklabels()]


def test_a_difference_and_a_series_end_where_their_distributions_do() -> None:
    tail, other = long_tail(), long_tail(above=0.05)
    difference = tail.difference(other)
    assert ends(difference) == {(0, 100)}
    assert (difference._pictures()[0].title or "").endswith("not shown: up to 5.10% more than 100")
    assert ends(difference, xlim=(0, 700)) == {(0, 700)}


@pytest.mark.parametrize("kind", ["list", "array", "series"])
def test_the_truth_may_be_values(kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    domain = lw.Interval(0, 10, bins=5, outside="overflow")
    values = [1.0, 1.0, 3.0, 9.0, 12.0]
    given: Any = {"list": list, "array": np.array, "series": pandas.Series}[kind](values)
    estimate = Distribution.of_counts([1, 1, 1, 1, 1], domain)
    exact = Distribution.of_counts([0, 2, 1, 0, 0, 1, 1], domain)
    for one, two in zip(
        estimate._pictures(truth=given), estimate._pictures(truth=exact), strict=True
    ):
        if isinstance(one, Densities) and isinstance(two, Densities):
            assert np.array_equal(one.shapes[1].heights, two.shapes[1].heights)
        else:
            assert isinstance(one, Curves) and isinstance(two, Curves)
            assert one.lines[0].role == "truth"
            assert np.array_equal(one.lines[0].y, two.lines[0].y)
    assert estimate.plot(truth=given) is not None


def test_the_truth_of_labels_and_of_missing_values() -> None:
    pandas = pytest.importorskip("pandas")
    labels = lw.Categories(["a", "b"])
    (bars,) = Distribution.of_counts([1, 3], labels)._pictures(
        truth=pandas.Series(["a", "b", None, "b", "b"])
    )
    # Missing values have no share where the domain does not count them.
    assert bars.truth.tolist() == [0.75, 0.25]  # type: ignore[union-attr]


def segmented(values: Any, domain: Any) -> lw.survey.Publication:
    places = np.array(["north", "south", "nowhere"])[np.arange(len(values)) % 2]
    return lw.release(
        values, domain, epsilon=4, neighbors="replace-one",
        by=places, segments=["north", "south", "nowhere"], rng=lw.seeded(1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        (np.arange(2000) % 100, lw.Interval(0, 100, bins=10)),
        (np.array(["a", "b", "$c$"])[np.arange(2000) % 3], lw.Categories(["a", "b", "$c$"])),
    ],
)
def test_a_release_by_segment_is_drawn_as_small_multiples(
    values: Any, domain: Any, tmp_path: Path
) -> None:
    figure = segmented(values, domain).plot(title="By place")
    panels = {ax.get_title(): ax for ax in figure.axes if ax.get_title()}
    assert list(panels) == ["north", "south", "nowhere"]
    assert [text.get_text() for text in panels["nowhere"].texts] == ["too few people"]
    assert panels["north"].patches and not panels["nowhere"].patches
    assert "By place" in figure.get_suptitle() and "epsilon = 4" in figure.get_suptitle()
    figure.savefig(tmp_path / "small.png")
    assert (tmp_path / "small.png").stat().st_size > 10_000


def test_a_release_without_segments_is_drawn_as_its_distribution() -> None:
    made = lw.release(
        np.arange(500) % 100, lw.Interval(0, 100, bins=10), epsilon=1, neighbors="replace-one"
    )
    assert [ax.get_ylabel() for ax in made.plot().axes[:2]] == ["density, per unit", "P(value ≤ x)"]
