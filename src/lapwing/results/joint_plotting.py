"""Pictures of joint distributions: maps, quantiles along an axis, a distribution for each label."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.errors import MissingExtraError
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.results.critical_values import normal_critical_value
from lapwing.results.picture import Axis, people_and_guarantee
from lapwing.results.plotting import BAND, ESTIMATE, TINT, plain, set_ticks, write_percent
from lapwing.results.rounding import level_text

_BLOCKS = 8
"""Blocks of each axis in the map of uncertainty: nothing is said of single cells."""

_MAP = 32
"""Blocks of each axis in the map of shares, at most."""

_MOST_LABELS = 9
"""Labels that are drawn, those of the largest shares."""

_COLORS = ("#0b5ea8", "#d55e00", "#007a5e", "#8c5aa8", "#8c8c8c")
_LINES = ("-", "--", "-.", ":", "-")


def draw_joint(joint: Any, *, level: float, figure: Any = None) -> Any:
    """Draw a joint distribution: two maps, or a distribution for each label.

    Parameters
    ----------
    joint : JointDistribution
    level : float
        Of intervals, in (0, 1).
    figure : matplotlib.figure.Figure, optional

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    ordered = [axis.ordered for axis in joint.domain.domains]
    if all(ordered):
        return _maps(joint, level, figure)
    if any(ordered):
        return _by_label(joint, ordered.index(False), level, figure)
    return _label_map(joint, figure)


def draw_quantiles(joint: Any, name: str, *, level: float, figure: Any = None) -> Any:
    """Draw quartiles of one axis along the other one, with intervals.

    Parameters
    ----------
    joint : JointDistribution
    name : str
        Of the axis whose quartiles are drawn.
    level : float
        Of intervals, in (0, 1).
    figure : matplotlib.figure.Figure, optional

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    number = joint.domain.axis_number(name)
    other = joint.domain.names[1 - number]
    by = joint.domain.domains[1 - number]
    rows = joint.conditional_quantiles(name, (0.25, 0.5, 0.75), level=level)
    figure = _figure(figure, (7.2, 4.2))
    ax = figure.subplots()
    chosen = np.asarray(rows["probability"])
    least, most = np.inf, -np.inf
    for probability, line, color in zip(
        (0.75, 0.5, 0.25), ("--", "-", ":"), (_COLORS[2], ESTIMATE, _COLORS[3]), strict=True
    ):
        held = np.flatnonzero(chosen == probability)
        height, low, high = (
            _numbers([rows[key][row] for row in held], joint.domain.domains[number])
            for key in ("quantile", "low", "high")
        )
        label = {0.75: "upper quartile", 0.5: "median", 0.25: "lower quartile"}[probability]
        if by.ordered:
            starts = np.array([rows["from"][row] for row in held])
            edges = np.append(starts, rows["to"][held[-1]])
            # Intervals with an end that is not known are drawn to the end of the range.
            if joint.uncertainty is not None:
                shaded = {"fill": True, "alpha": 0.2, "color": color, "linewidth": 0}
                ax.stairs(high, edges, baseline=low, **shaded)
                least, most = min(least, float(low.min())), max(most, float(high.max()))
            ax.stairs(height, edges, baseline=None, color=color, linestyle=line, label=label)
        else:
            places = np.arange(held.size)
            reach = None if joint.uncertainty is None else (height - low, high - height)
            ax.errorbar(places, height, yerr=reach, fmt="o", color=color, capsize=2, label=label)
            ax.set_xticks(places, [plain(str(rows["label"][row])) for row in held])
    if by.ordered:
        set_ticks(ax.xaxis, Axis.of_domain(by))
    set_ticks(ax.yaxis, Axis.of_domain(joint.domain.domains[number]))
    if least < most:
        ax.set_ylim(least - 0.03 * (most - least), most + 0.03 * (most - least))
    ax.set_xlabel(plain(other))
    ax.set_ylabel(plain(name))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    shown = "" if joint.uncertainty is None else f"; shaded: {level_text(level)} intervals"
    _subtitle(ax, joint, shown)
    return figure


def _maps(joint: Any, level: float, figure: Any) -> Any:
    """Draw the map of shares with contours and marginals, and the map of uncertainty."""
    known = joint.uncertainty is not None
    figure = _figure(figure, (7.2, 4.0) if known else (4.6, 4.0))
    grid = figure.add_gridspec(
        2, 3 if known else 2, width_ratios=(4, 1, 4)[: 3 if known else 2], height_ratios=(1, 4)
    )
    table, (rows, columns) = _blocked(joint.table, joint.domain.domains, _MAP)
    main = figure.add_subplot(grid[1, 0])
    top = figure.add_subplot(grid[0, 0], sharex=main)
    side = figure.add_subplot(grid[1, 1], sharey=main)
    # The first axis runs to the right, the second one upwards.
    area = np.outer(np.diff(rows), np.diff(columns))
    density = (table / np.maximum(area, 1e-300)).T
    mesh = main.pcolormesh(rows, columns, density, cmap="Blues", shading="flat")
    middles = [(edges[1:] + edges[:-1]) / 2 for edges in (rows, columns)]
    levels = _holding(table, area, (0.9, 0.5))
    if len(set(levels)) == len(levels):
        main.contour(*middles, density, levels=levels, colors=("0.45", "0.1"), linewidths=0.9)
    mesh.set_rasterized(True)
    top.stairs(table.sum(axis=1) / np.diff(rows), rows, fill=True, color=TINT)
    heights = table.sum(axis=0) / np.diff(columns)
    side.stairs(heights, columns, fill=True, color=TINT, orientation="horizontal")
    for ax in (top, side):
        ax.axis("off")
    _name_axes(main, joint)
    figure.suptitle(plain(people_and_guarantee(joint.reports, joint.guarantee) or ""), fontsize=9)
    _note(main, "darker: denser; lines hold 50 and 90 % of the people")
    if known:
        ax = figure.add_subplot(grid[1, 2])
        blocks, (x, y) = _blocked(joint.table, joint.domain.domains, _BLOCKS)
        reach = _half_widths(joint, level)
        image = ax.pcolormesh(x, y, 100 * reach.T, cmap="Oranges", vmin=0)
        for (i, j), share in np.ndenumerate(blocks):
            if share >= 0.005:
                place = (x[i] + x[i + 1]) / 2, (y[j] + y[j + 1]) / 2
                ax.text(*place, f"{100 * share:.0f}", ha="center", va="center", fontsize=7)
        figure.colorbar(image, ax=ax, label="half-width, percentage points", shrink=0.8)
        _name_axes(ax, joint)
        _note(ax, f"share of each block, %; color: {level_text(level)} interval")
    return figure


def _by_label(joint: Any, number: int, level: float, figure: Any) -> Any:
    """Draw the distribution of the ordered axis for each of the largest labels."""
    labels = joint.domain.domains[number]
    name, other = joint.domain.names[number], joint.domain.names[1 - number]
    shares = joint.marginal(name).mass[: len(labels.listed)]
    largest = np.sort(np.argsort(-shares, kind="stable")[:_MOST_LABELS])
    largest = largest[shares[largest] > 0]
    columns = min(3, largest.size)
    rows = -(-largest.size // columns)
    figure = _figure(figure, (7.2, 1.2 + 1.5 * rows))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    axis = joint.domain.domains[1 - number]
    held = axis.right > axis.left
    if not held.any():
        held = np.ones(axis.left.size, dtype=bool)
    edges = np.append(axis.left[held], axis.right[held][-1])
    if np.any(np.diff(edges) <= 0):
        edges = np.append(axis.left[held] - 0.5, axis.left[held][-1] + 0.5)
    for ax, label in zip(panels.ravel(), largest, strict=False):
        one = joint._of_symbols(number, np.array([label]))
        mass = one.mass[: held.size][held]
        if one.uncertainty is not None:
            reach = 1.96 * np.sqrt(one.uncertainty.noise.variance())[: held.size][held]
            low, high = np.maximum(mass - reach, 0), mass + reach
            look = {"fill": True, "color": BAND, "alpha": 0.4, "linewidth": 0}
            ax.stairs(high, edges, baseline=low, **look)
        ax.stairs(mass, edges, color=ESTIMATE, linewidth=1.2)
        ax.set_title(plain(f"{labels.listed[label]}: {shares[label]:.0%}"), fontsize=9)
        ax.yaxis.set_major_formatter(write_percent)
        set_ticks(ax.xaxis, Axis.of_domain(axis))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, linewidth=0.6)
    for ax in panels.ravel()[largest.size :]:
        ax.set_visible(False)
    figure.supxlabel(plain(other), fontsize=10)
    figure.supylabel("share of the label in each bin", fontsize=10)
    figure.suptitle(plain(people_and_guarantee(joint.reports, joint.guarantee) or ""), fontsize=9)
    return figure


def _label_map(joint: Any, figure: Any) -> Any:
    """Draw the shares of all pairs of labels."""
    figure = _figure(figure, (7.2, 4.2))
    ax = figure.subplots()
    image = ax.imshow(100 * joint.table.T, cmap="Blues", aspect="auto", origin="lower")
    for place, axis in zip((ax.xaxis, ax.yaxis), joint.domain.domains, strict=True):
        names = [*map(str, axis.listed), *(["missing"] if axis.missing_index is not None else [])]
        place.set_ticks(range(len(names)), [plain(name) for name in names])
    figure.colorbar(image, ax=ax, label="share, %")
    ax.set_xlabel(plain(joint.domain.names[0]))
    ax.set_ylabel(plain(joint.domain.names[1]))
    _subtitle(ax, joint, "")
    return figure


def _figure(figure: Any, size: tuple[float, float]) -> Any:
    if figure is not None:
        return figure
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return pyplot.figure(figsize=size, layout="constrained")


def _bin_edges(axis: Any) -> tuple[Whole, Vector]:
    """Return the symbols of an axis that have a width or a whole number, and their edges."""
    inside = np.setdiff1d(np.arange(axis.left.size), axis.outside_indices)
    left, right = axis.left[inside], axis.right[inside]
    if np.array_equal(left, right):
        return inside, np.append(left - 0.5, right[-1] + 0.5)
    wide = right > left
    return inside[wide], np.append(left[wide], right[wide][-1])


def _blocked(table: Matrix, axes: Any, most: int) -> tuple[Matrix, tuple[Vector, Vector]]:
    """Return shares of blocks of bins, and the edges of the blocks of both axes."""
    found = []
    for number, axis in enumerate(axes):
        symbols, edges = _bin_edges(axis)
        table = table.take(symbols, axis=number)
        starts = np.unique(
            np.arange(min(most, symbols.size)) * symbols.size // min(most, symbols.size)
        )
        table = np.add.reduceat(table, starts, axis=number)
        found.append(np.append(edges[starts], edges[-1]))
    return table, (found[0], found[1])


def _half_widths(joint: Any, level: float) -> Matrix:
    """Return half of the width of the interval of each block's share."""
    draws = joint.uncertainty.draws.reshape(-1, *joint.domain.shape)
    blocks = np.array([_blocked(draw, joint.domain.domains, _BLOCKS)[0] for draw in draws])
    reach: Matrix = np.sqrt((blocks**2).mean(axis=0)) * normal_critical_value(level)
    return np.asarray(reach)


def _holding(table: Matrix, area: Matrix, shares: tuple[float, ...]) -> list[float]:
    """Return the densities above which the given shares of the people are, increasing."""
    density = (table / np.maximum(area, 1e-300)).ravel()
    order = np.argsort(-density, kind="stable")
    sums = np.cumsum(table.ravel()[order])
    sums /= sums[-1]
    return sorted(float(density[order][np.searchsorted(sums, share)]) for share in shares)


def _numbers(values: list[Any], axis: Any) -> Vector:
    """Return quantiles as numbers of the axis, cut to its range."""
    from lapwing.protocol.domains.domain_answers import to_points

    low, high = float(axis.left[0]), float(axis.right[-1])
    points = [low if value is None else float(to_points(value, unit=axis.unit)) for value in values]
    found: Vector = np.clip(np.array(points), low, high)
    return found


def _name_axes(ax: Any, joint: Any) -> None:
    first, second = joint.domain.domains
    set_ticks(ax.xaxis, Axis.of_domain(first))
    set_ticks(ax.yaxis, Axis.of_domain(second))
    ax.set_xlabel(plain(joint.domain.names[0]))
    ax.set_ylabel(plain(joint.domain.names[1]))
    ax.grid(False)


def _note(ax: Any, text: str) -> None:
    ax.annotate(
        text,
        (0.5, -0.24),
        xycoords="axes fraction",
        ha="center",
        va="top",
        fontsize=7.5,
        color="0.3",
        annotation_clip=False,
    )


def _subtitle(ax: Any, joint: Any, more: str) -> None:
    said = people_and_guarantee(joint.reports, joint.guarantee) or ""
    ax.set_title(plain(f"{said}{more}"), fontsize=9, color="0.3")
