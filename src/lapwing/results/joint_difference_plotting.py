"""The picture of two joint distributions compared: a map of blocks, and each attribute alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.results.difference import Difference, People
from lapwing.results.joint_documents import map_document
from lapwing.results.joint_plotting import ShownAxis, figure_for, short_label, thin
from lapwing.results.picture import Bars, Curves
from lapwing.results.plotting import ESTIMATE, TRUTH, draw, plain, wrapped
from lapwing.results.rounding import axis_text, estimate_text, level_text
from lapwing.results.uncertainty import Target

_ROOM = 0.06
"""Part of an axis that a block must cover for a number in it."""

_LEAST = 0.001
"""Least share at the end of an axis of differences."""

_BARS = 12
"""Labels whose shares are compared beside the map, at most: those that differ most."""


def draw_joint_difference(
    first: Any,
    second: Any,
    *,
    level: float,
    names: tuple[str, str],
    people: People,
    target: Target,
    figure: Any = None,
) -> Any:
    """Draw the map of differences above the differences of both attributes alone.

    first, second: Joint distributions on one domain. The second is subtracted.
    level: Of intervals, in (0, 1).
    names: Of the two, for the texts.
    figure: A figure of matplotlib, or what makes one of a size. Default: a new one of pyplot.
    returns: The figure.
    """
    gaps = [
        Difference(first.marginal(name), second.marginal(name), people=people, target=target)
        for name in first.domain.names
    ]
    figure = figure_for(figure, (7.2, 7.4))
    grid = figure.add_gridspec(2, 2, height_ratios=(4.4, 3))
    shown = map_document(first, second, level=level)
    _draw_map(figure.add_subplot(grid[0, :]), first, second, shown, level)
    drawn: dict[str, Any] = {}
    pictures = [gap._picture(level=level, names=names) for gap in gaps]
    for column, (name, picture) in enumerate(zip(first.domain.names, pictures, strict=True)):
        ax = figure.add_subplot(grid[1, column])
        _draw_alone(ax, name, replace(picture, title=None))
        handles, labels = ax.get_legend_handles_labels()
        drawn |= dict(zip(labels, handles, strict=True))
    if drawn:
        look = {"frameon": False, "ncols": 4, "fontsize": 8}
        figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", **look)
    words = [str(pictures[0].title), *shown["not_shown"]]
    said = "\n".join(wrapped(each, 110) for each in words)
    figure.suptitle(said, fontsize=9, color="0.3", fontweight="normal")
    return figure


def _draw_alone(ax: Any, name: str, picture: Curves | Bars) -> None:
    """Draw the difference of one attribute alone with its bands: of CDFs, or of shares."""
    said = f"{name} alone"
    if isinstance(picture, Bars):
        bars = picture.heights.size
        if bars > _BARS:
            said += f", {_BARS} of {bars} labels"
            low, high = picture.intervals or (None, None)
            picture = replace(
                picture,
                values=picture.values[:_BARS],
                heights=picture.heights[:_BARS],
                intervals=None if low is None or high is None else (low[:_BARS], high[:_BARS]),
            )
    draw(picture, ax)
    ax.set_title(plain(said), fontsize="medium")
    ax.tick_params(labelsize=8)
    if isinstance(picture, Bars):
        ax.set_xlabel("difference of shares")
        ax.locator_params(axis="x", nbins=5)
        if np.abs(ax.get_xlim()).max() < _LEAST:
            ax.set_xlim(-_LEAST, _LEAST)
    else:
        thin(ax.xaxis, picture.axis, 4)
        ax.set_xlabel(plain(name))
        ax.set_ylabel("cumulative difference, % points", fontsize=9)
        ax.yaxis.set_major_formatter(lambda share, _: axis_text(100 * share, 6))
    if ax.get_legend() is not None:
        ax.get_legend().remove()  # one for both is below them


def _draw_map(ax: Any, first: Any, second: Any, shown: Any, level: float) -> None:
    """Draw the differences of blocks, with the number of each whose interval leaves zero out."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    gap = 100 * np.array(shown["shares"])
    sides = [
        _side(ax, line, name, axis, ends, [each.marginal(name).mass for each in (first, second)])
        for line, (name, axis), ends in zip(
            "xy", first.domain.axes.items(), (shown["x"], shown["y"]), strict=True
        )
    ]
    most = float(np.abs(gap).max()) or 1.0
    colors = LinearSegmentedColormap.from_list("difference", [TRUTH, "white", ESTIMATE])
    (x, across), (y, up) = sides
    image = ax.pcolormesh(x, y, gap.T, cmap=colors, vmin=-most, vmax=most)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
    bar.set_label("difference, percentage points of all people", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    ax.grid(False)
    if "low" not in shown:
        ax.set_title("blocks without intervals", fontsize=8, color="0.3", loc="left")
        return
    sure = (np.array(shown["low"]) > 0) | (np.array(shown["high"]) < 0)
    for i, j in np.argwhere(sure):
        corner, size = (x[i], y[j]), (x[i + 1] - x[i], y[j + 1] - y[j])
        ax.add_patch(Rectangle(corner, *size, fill=False, edgecolor="black", linewidth=1.1))
        if min(across[i], up[j]) >= _ROOM:
            sign = "+" if gap[i, j] > 0 else "−"
            color = "white" if abs(gap[i, j]) > 0.6 * most else "black"
            ax.annotate(
                f"{sign}{estimate_text(abs(gap[i, j]), 2)}",
                _middle(ax, corner, size),
                ha="center",
                va="center",
                fontsize=8,
                color=color,
            )
    said = f"outlined, with its number: the {level_text(level)} interval excludes zero"
    if not sure.any():
        said = f"no block is outlined: each {level_text(level)} interval contains zero"
    ax.set_title(said, fontsize=8, color="0.3", loc="left")


def _middle(ax: Any, corner: Sequence[float], size: Sequence[float]) -> tuple[float, float]:
    """Return the middle of a block as it is drawn."""
    places = []
    for scale, start, length in zip((ax.get_xscale(), ax.get_yscale()), corner, size, strict=True):
        end = start + length
        places.append(float(np.sqrt(start * end) if scale == "log" else (start + end) / 2))
    return places[0], places[1]


def _side(
    ax: Any, line: str, name: str, axis: Any, ends: Sequence[Any], masses: Sequence[Any]
) -> tuple[Vector, Vector]:
    """Dress an axis of the map; return the edges of its blocks, and how much of it each covers."""
    getattr(ax, f"set_{line}label")(plain(name))
    edges: Vector
    if not axis.ordered:
        labels = [short_label(each) for each in ends]
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if line == "x" else {}
        wide = sum(map(len, labels)) > 60
        getattr(ax, f"set_{line}ticks")(range(len(labels)), labels, **(turned if wide else {}))
        edges = np.arange(len(labels) + 1, dtype=np.float64) - 0.5
        return edges, np.full(len(labels), 1 / len(labels))
    shown = ShownAxis.of(name, axis, masses)
    shown.dress(ax, line, most=7)
    edges = np.asarray(ends, dtype=np.float64)
    return edges, shown.lengths(edges) / shown.lengths(edges[np.array([0, -1])])
