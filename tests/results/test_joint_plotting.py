"""Pictures of joint distributions: what they show, what they say, and that nothing overlaps."""

import io
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.results import JointDistribution, JointUncertainty
from lapwing.results.joint_documents import map_document
from lapwing.results.plotting import new_figure

CLOCK = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)
DELAY = lw.Interval(-30, 90, bins=24, outside="overflow", missing="bin")
FOUR = lw.Categories(["under 25", "25 to 39", "40 to 59", "60 and older"])
TOWNS = lw.Categories([f"town in the north of {i}" for i in range(12)], missing="category")

PAIRS: dict[str, lw.Product] = {
    "a circle": lw.Product(departure=CLOCK, delay=DELAY),
    "two circles": lw.Product(bedtime=CLOCK, breakfast=CLOCK),
    "dates and logarithms": lw.Product(
        day=lw.Interval("2026-01-01", "2026-12-31", bins=26, unit="date"),
        price=lw.Interval(1, 10_000, bins=16, scale="log", outside="overflow"),
    ),
    "atoms": lw.Product(x=lw.Interval(0, 10, bins=10, atoms=(0, 5)), y=lw.Integers(0, 6)),
    "integers": lw.Product(
        age=lw.Integers(17, 90, outside="clip"), hours=lw.Integers(1, 99, outside="clip")
    ),
    "four labels": lw.Product(hours=lw.Interval(0, 100, bins=20), group=FOUR),
    "one label": lw.Product(group=lw.Categories(["all"]), hours=lw.Integers(0, 9)),
    "twelve labels": lw.Product(town=TOWNS, income=lw.Interval(0, 100_000, bins=16, atoms=(0,))),
    "many labels": lw.Product(
        town=lw.Categories(40), price=lw.Interval(1, 50, bins=9, scale="log")
    ),
    "labels": lw.Product(town=TOWNS, group=FOUR),
    "two lists of long labels": lw.Product(town=TOWNS, other=TOWNS),
}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the figures of pyplot, and let no warning pass."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    pyplot.close("all")


def made(name: str, *, known: bool = True) -> JointDistribution:
    """Return a joint distribution in which the axes depend on each other."""
    domain = PAIRS[name]
    rows, columns = domain.shape
    x, y = np.arange(rows)[:, None] / rows, np.arange(columns)[None, :] / columns
    mass = (np.exp(-20 * (x - 0.3 - 0.4 * y) ** 2 - 3 * y) + 0.01).ravel()
    mass /= mass.sum()
    people = 40_000
    draws = np.random.default_rng(1).multinomial(people // 10, mass, 100) * 10 / people - mass
    law = JointUncertainty(mass, draws.astype(np.float32), "drawn")
    return JointDistribution(
        domain,
        mass,
        reports=people,
        guarantee=lw.Guarantee(1, 0, "replace-one", "local"),
        uncertainty=law if known else None,
    )


def texts(figure: Any) -> list[Any]:
    """Return every text that is seen in a figure, its place, and whether it is at an angle."""
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    figure.canvas.draw()
    unseen: set[int] = set()
    for ax in figure.findobj(Axes):
        for line, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            if not (ax.get_visible() and ax.axison):
                unseen |= {id(text) for text in (*line.findobj(Text), *ax.findobj(Text))}
            for tick in (*line.get_major_ticks(), *line.get_minor_ticks()):
                if not min(limits) <= tick.get_loc() <= max(limits):
                    unseen |= {id(tick.label1), id(tick.label2)}
    unseen -= {id(text) for ax in figure.axes if ax.get_visible() for text in titles(ax)}
    return [
        (text.get_text(), text.get_window_extent(), text.get_rotation() % 90 != 0)
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in unseen
    ]


def titles(ax: Any) -> list[Any]:
    """Return the titles of axes, which are seen also where nothing else of them is."""
    return [ax.title, ax._left_title, ax._right_title]


def overlaps(figure: Any, seen: list[Any] | None = None) -> list[tuple[str, str]]:
    """Return the pairs of texts that overlap by more than a pixel, or leave the figure.

    `seen`: its :func:`texts`, for which it must be drawn.
    """
    found, edge = texts(figure) if seen is None else seen, figure.bbox
    wrong = [
        (one, other)
        for (one, a, turned), (other, b, both) in combinations(found, 2)
        if not (turned and both)  # parallel, and their boxes are larger than they are
        and min(a.x1, b.x1) - max(a.x0, b.x0) > 1
        and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]
    for one, a, _ in found:
        if a.x0 < -1 or a.y0 < -1 or a.x1 > edge.x1 + 1 or a.y1 > edge.y1 + 1:
            wrong.append((one, "the edge of the figure"))
    return wrong


SAVED = ("a circle", "integers", "twelve labels")
"""Pictures that are saved, too: a circle and a map with blocks, numbers, labels."""

drawn = pytest.mark.parametrize(
    ("name", "known"),
    [*((name, True) for name in PAIRS), ("integers", False), ("four labels", False)],
)


@drawn
def test_every_pair_of_axes_can_be_drawn(name: str, known: bool) -> None:
    figure = made(name, known=known).plot()
    seen = texts(figure)
    assert overlaps(figure, seen) == []
    assert figure.get_suptitle().startswith("40,000 people; epsilon = 1")
    said = " ".join(text for text, *_ in seen)
    assert all(axis in said for axis in PAIRS[name].names)
    assert ("95%" in said) == known
    if known and name in SAVED:
        figure.savefig(io.BytesIO(), format="svg")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *((name, True) for name in ("a circle", "two circles", "dates and logarithms")),
        *((name, True) for name in ("atoms", "integers", "many labels")),
        ("four labels", False),
    ],
)
def test_quartiles_can_be_drawn_of_every_axis_on_a_line(name: str, known: bool) -> None:
    joint = made(name, known=known)
    for axis, domain in joint.domain.axes.items():
        if not domain.ordered:
            with pytest.raises(DomainError, match="no order"):
                joint.plot(quantiles_of=axis)
        elif domain.circular:
            with pytest.raises(ArgumentError, match=f"but {axis} is circular"):
                joint.plot(quantiles_of=axis)
        else:
            figure = joint.plot(quantiles_of=axis)
            assert overlaps(figure) == []
            (ax,) = figure.axes
            names = {text.get_text() for text in ax.get_legend().get_texts()}
            assert names == {"upper quartile", "median", "lower quartile"}
            assert ("bars: 95% intervals" in figure.get_suptitle()) == known


def later(name: str, *, known: bool = True) -> JointDistribution:
    """Return the same distribution with half more people in the middle of the first axis."""
    joint = made(name, known=known)
    x = np.arange(joint.domain.shape[0])[:, None] / joint.domain.shape[0]
    table = joint.table * (1 + 2.5 * np.exp(-20 * (x - 0.5) ** 2))
    mass = (table / table.sum()).ravel()
    return replace(joint, mass=mass, reports=30_000)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *((name, True) for name in ("a circle", "dates and logarithms", "integers")),
        *((name, True) for name in ("twelve labels", "two lists of long labels")),
        ("four labels", False),
    ],
)
def test_the_difference_of_two_can_be_drawn(name: str, known: bool) -> None:
    gap = later(name, known=known).difference(made(name, known=known))
    figure = gap.plot(names=("after", "before"))
    seen = texts(figure)
    assert overlaps(figure, seen) == []
    assert figure.get_suptitle().startswith("after: 30,000 people; before: 40,000")
    said = " ".join(text for text, *_ in seen)
    assert all(f"{axis} alone" in said for axis in PAIRS[name].names)
    assert ("95%" in said) == known
    if name in SAVED:
        figure.savefig(io.BytesIO(), format="svg")


def test_the_blocks_that_differ_are_outlined_and_have_their_number() -> None:
    first, second = later("integers"), made("integers")
    main, _, alone, _ = first.difference(second).plot(level=0.9).axes
    shown = map_document(first, second, level=0.9)
    sure = (np.array(shown["low"]) > 0) | (np.array(shown["high"]) < 0)
    assert 3 < sure.sum() < sure.size
    assert {(patch.get_x(), patch.get_y()) for patch in main.patches} == {
        (shown["x"][i], shown["y"][j]) for i, j in np.argwhere(sure)
    }
    numbers = sorted(float(text.get_text().replace("−", "-")) for text in main.texts)
    gaps = 100 * np.array(shown["shares"])[sure]
    np.testing.assert_allclose(numbers, np.sort(gaps), rtol=0.06)
    assert "the 90% interval excludes zero" in main.get_title(loc="left")
    same = second.difference(second).plot().axes[0]
    assert not same.patches and "no block is outlined" in same.get_title(loc="left")
    marginal = first.marginal("age").difference(second.marginal("age"), people="different")
    (line,) = (line for line in alone.lines if line.get_label() == "estimate")
    np.testing.assert_allclose(line.get_ydata(), marginal._picture().lines[0].y)


def test_the_steps_are_the_quantiles_of_the_table() -> None:
    joint = made("a circle")
    (ax,) = joint.plot(quantiles_of="delay").axes
    rows = joint.conditional_quantiles("delay", [0.5])
    drawn = next(patch for patch in ax.patches if patch.get_label() == "median")
    values, edges, _ = drawn.get_data()
    assert values.tolist() == rows["quantile"]
    assert edges.tolist() == [*rows["from"], rows["to"][-1]]


def test_the_blocks_are_the_shares_of_rectangles() -> None:
    joint = made("a circle")
    figure = joint.plot()
    third = figure.axes[3]
    shares = sorted(float(text.get_text()) for text in third.texts)
    expected = [
        joint.probability(departure=hours, delay=minutes)
        for hours in pairwise(range(0, 86_401, 3 * 3600))
        for minutes in pairwise(range(-30, 91, 15))
    ]
    present = 1 - joint.marginal("delay").mass[-1]
    assert shares == sorted(round(100 * p * present) for p in expected if p * present >= 0.005)


def test_who_is_not_shown_is_said() -> None:
    said = made("a circle").plot().get_suptitle().splitlines()[1]
    assert said.startswith("not shown, delay: ")
    assert "less than -30, " in said and "more than 90, " in said and said.endswith(" missing")
    steps = made("dates and logarithms").plot(quantiles_of="day").get_suptitle()
    assert "the steps at the ends include " in steps and "more than 10,000" in steps
    assert "% with another town" in made("many labels").plot().get_suptitle()
    assert "or none" in made("twelve labels").plot().get_suptitle()
    beyond = JointDistribution.of_counts(
        [[0, 1, 5], [0, 3, 1]],
        lw.Product(x=lw.Integers(0, 1), y=lw.Interval(0, 1, bins=1, outside="overflow")),
    )
    assert "y beyond the range is drawn at its end" in beyond.plot(quantiles_of="y").get_suptitle()


def test_the_level_changes_the_intervals() -> None:
    def reach(name: str, level: float, words: str | None = None) -> float:
        figure = made(name).plot(level=level, quantiles_of=words)
        assert f"{100 * level:.0f}%" in " ".join(text for text, *_ in texts(figure))
        ax = figure.axes[-1] if name == "integers" else figure.axes[0]
        if name == "integers":
            return float(figure.axes[3].collections[0].get_array().max())
        return max(float(patch.get_data()[0].max()) for patch in ax.patches)

    assert reach("integers", 0.99) > 1.3 * reach("integers", 0.9)
    assert reach("four labels", 0.99) > reach("four labels", 0.9)


def test_it_is_drawn_into_a_given_figure() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for name, panels in (("twelve labels", 12), ("a circle", 4)):
        figure = new_figure((7.2, 4.4))
        FigureCanvasAgg(figure)
        assert made(name).plot(figure=figure) is figure
        assert len(figure.axes) == panels and overlaps(figure) == []


def test_shares_of_a_table_of_labels_are_written() -> None:
    joint = made("labels")
    said = [text for text, *_ in texts(joint.plot())]
    share = joint.probability(town="town in the north of 3", group="25 to 39")
    assert any(text.startswith(f"{100 * share:.1f} ± ") for text in said)
    assert "(missing)" in said


def test_signs_of_formulas_are_plain_in_names() -> None:
    labels = lw.Categories(["$x$", "a_b^c", "\\frac{"])
    joint = JointDistribution.of_counts(
        np.arange(1, 13), lw.Product(**{"$\\alpha$": lw.Integers(0, 3), "_y": labels})
    )
    joint.plot().savefig(io.BytesIO())
    joint.plot(quantiles_of="$\\alpha$").savefig(io.BytesIO())
    joint.difference(joint).plot(names=("$a$", "_b")).savefig(io.BytesIO())


WITHOUT = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None  # as if not installed
import lapwing as lw
pairs = lw.Product(x=lw.Integers(0, 1), y=lw.Categories(["a", "b"]))
joint = lw.results.JointDistribution.of_counts([1, 2, 3, 4], pairs)
draws = (joint.plot, lambda: joint.plot(quantiles_of="x"), joint.difference(joint).plot)
for draw in draws:
    try:
        draw()
    except lw.LapwingError as error:
        print(type(error).__name__, error)
"""


def test_without_matplotlib_the_install_line_is_named() -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()
    assert len(said) == 3
    assert all(one.startswith("MissingExtraError") and "'.[plot]'" in one for one in said)
