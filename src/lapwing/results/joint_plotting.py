"""Pictures of joint distributions: maps, quantiles along an axis, a distribution for each label."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError, MissingExtraError
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.results.counted import whom
from lapwing.results.cumulative import Cumulative
from lapwing.results.exact_values import is_exact
from lapwing.results.picture import Axis, limits_of, not_shown, people_and_guarantee
from lapwing.results.plotting import BAND, ESTIMATE, TINT, plain, set_ticks, wrapped, write_percent
from lapwing.results.rounding import axis_text, count_text, estimate_text, level_text, percent
from lapwing.results.uncertainty import normal_critical_value

BLOCKS = 8
"""Blocks of each axis in the map of uncertainty: nothing is said of single cells."""

MAP_BLOCKS = 32
"""Blocks of each axis in the map of shares, at most."""

PANELS = 12
"""Labels that have a distribution of their own, at most: those of the largest shares."""

_COLUMNS = {1: 1, 2: 2, 4: 2, 7: 4, 8: 4, 10: 4, 11: 4, 12: 4}
"""Panels in a row, for so many panels; otherwise three."""

_LABELS = 24
"""Labels beside one another or in a table, at most."""

_NUMBERS = 16
"""Columns of a table of labels in whose cells there is room for a number, at most."""

_WITH_INTERVALS = 8
"""Columns in whose cells there is room for an interval as well, at most."""

_LONGEST = 30
"""Characters of a label beside an axis."""

_TITLES = {1: 60, 2: 36, 3: 24, 4: 18}
"""Characters in a line of a title, for so many panels in a row."""

_LEAST_SHARE = 0.0005
"""A smaller share that is not shown is not said."""

_QUARTILES: tuple[tuple[float, str, str, str, str], ...] = (
    (0.75, "upper quartile", "#007a5e", "--", "^"),
    (0.5, "median", ESTIMATE, "-", "o"),
    (0.25, "lower quartile", "#8c5aa8", ":", "v"),
)
"""Probability, name, color, line and marker, from the top to the bottom."""

_SAID = "0.3"
"""Grey of what a picture says about itself."""


@dataclass(frozen=True, eq=False)
class ShownAxis:
    """An ordered axis as it is drawn: its ends, its bins between them, and its atoms.

    axis: With the ends of what is drawn.
    symbols: Bins, or whole numbers, between the ends.
    edges: Of these.
    atoms: Symbols of single values among bins.
    places: The bins that the atoms are drawn in, where they have no place of their own.
    name: Of the axis.
    outside: Which shares are beyond the ends.
    missing: Which share has no value.
    """

    axis: Axis
    symbols: Whole
    edges: Vector
    atoms: Whole
    places: Whole
    name: str
    outside: str | None
    missing: str | None

    @classmethod
    def of(cls, name: str, domain: Any, masses: Sequence[Vector]) -> ShownAxis:
        """Return the axis on which some distributions are drawn, one at least."""
        placed = domain.left.size
        curves = [Cumulative.on(domain, mass) for mass in masses if mass[:placed].sum() > 0]
        limits = limits_of(domain, curves) if curves else None
        axis = Axis.of_domain(domain, limits)
        inside = np.setdiff1d(np.arange(placed), domain.outside_indices)
        outside = not_shown(domain, curves, limits) if curves else None
        if sum(_beyond_ends(curve, axis) for curve in curves) < _LEAST_SHARE * len(curves):
            outside = None
        share = max(float(mass[placed:].sum() / mass.sum()) for mass in masses)
        words = f"{'up to ' if len(masses) > 1 else ''}{percent(share)} missing"
        told = (
            name,
            outside and outside.removeprefix("not shown: "),
            words if share >= _LEAST_SHARE else None,
        )
        left, right = domain.left[inside], domain.right[inside]
        if axis.whole:
            none = np.zeros(0, dtype=np.int64)
            return cls(axis, inside, np.append(left - 0.5, right[-1] + 0.5), none, none, *told)
        kept = (left < axis.high) & (right > axis.low) & (right > left)
        edges = np.append(left[kept], right[kept][-1])
        single = (left == right) & (axis.low <= left) & (left <= axis.high)
        places = np.searchsorted(edges, left[single], side="right") - 1
        places = np.clip(places, 0, edges.size - 2)
        return cls(axis, inside[kept], edges, inside[single], places, *told)

    @property
    def not_shown(self) -> str | None:
        """Which shares are not in the picture."""
        words = ", ".join(each for each in (self.outside, self.missing) if each)
        return f"not shown, {self.name}: {words}" if words else None

    def blocks(self, most: int) -> tuple[Matrix, Vector]:
        """Return which symbols of the domain each block of bins holds, and the blocks' edges.

        most: Blocks, at most.
        returns: float64 [blocks, symbols up to the last that is shown], and float64 [blocks + 1].
        """
        bins = self.symbols.size
        number = min(most, bins)
        starts = np.arange(number) * bins // number
        block_of = np.searchsorted(starts, np.arange(bins), side="right") - 1
        held = np.zeros((number, int(max(self.symbols[-1], self.atoms.max(initial=0))) + 1))
        held[block_of, self.symbols] = 1.0
        held[block_of[self.places], self.atoms] = 1.0
        return held, np.append(self.edges[starts], self.edges[-1])

    def middles(self, edges: Vector) -> Vector:
        """Return the middles of pieces, as they are drawn."""
        found: Vector = between(edges[:-1], edges[1:], 0.5, log=self.axis.log)
        return found

    def lengths(self, edges: Vector) -> Vector:
        """Return how long pieces are, as they are drawn."""
        return self.axis.lengths(edges[:-1], edges[1:])

    def dress(self, ax: Any, line: str, *, most: int) -> None:
        """Scale an axis of matplotlib, and write some values along it."""
        place = getattr(ax, f"{line}axis")
        if self.axis.log:
            getattr(ax, f"set_{line}scale")("log")
        set_ticks(place, self.axis)
        thin(place, self.axis, most)
        getattr(ax, f"set_{line}lim")(self.edges[0], self.edges[-1])


def _beyond_ends(curve: Cumulative, axis: Axis) -> float:
    """Return the share of the people who are beyond the ends of an axis."""
    inside = curve.mass[1:-1] if curve.outside else curve.mass
    left, right = (ends[1:-1] if curve.outside else ends for ends in (curve.left, curve.right))
    return 1.0 - float(inside[(left >= axis.low) & (right <= axis.high)].sum())


def between(low: Any, high: Any, part: float, *, log: bool) -> Any:
    """Return the places that lie a part of the way from the low ends to the high ones."""
    if log:
        return low ** (1 - part) * high**part
    return low + part * (high - low)


def draw_joint(joint: Any, *, level: float, figure: Any = None) -> Any:
    """Draw a joint distribution: two maps, a distribution for each label, or a table of labels.

    level: Of intervals, in (0, 1).
    returns: The figure.
    """
    ordered = [axis.ordered for axis in joint.domain.domains]
    if all(ordered):
        return _maps(joint, level, figure)
    if any(ordered):
        return _by_label(joint, ordered.index(False), level, figure)
    return _label_table(joint, level, figure)


def draw_quantiles(joint: Any, name: str, *, level: float, figure: Any = None) -> Any:
    """Draw quartiles of one axis along the other one, with intervals.

    name: Of the axis whose quartiles are drawn.
    level: Of intervals, in (0, 1).
    returns: The figure.

    Raises ArgumentError when no axis has this name, or it is a circle.
    Raises DomainError when the axis has no order.
    """
    number = joint.domain.axis_number(name)
    if joint.domain.domains[number].ordered and joint.domain.domains[number].circular:
        raise ArgumentError(
            "quantiles_of",
            f"must name a linear axis, but {name} is circular",
            advice="Leave it out to draw the shares",
        )
    rows = joint.conditional_quantiles(name, [q for q, *_ in _QUARTILES], level=level)
    if joint.domain.domains[1 - number].ordered:
        return _quantiles_along(joint, number, rows, level, figure)
    return _quantiles_by_label(joint, number, rows, level, figure)


def _quantiles_along(joint: Any, number: int, rows: Any, level: float, figure: Any) -> Any:
    """Draw quartiles of an axis as steps along an ordered axis, with an interval at each step."""
    of, by = joint.domain.domains[number], joint.domain.domains[1 - number]
    name, other = _both(joint, number)
    along = ShownAxis.of(other, by, [joint.marginal(other).mass])
    figure = figure_for(figure, (7.2, 4.2))
    ax = figure.subplots()
    starts, ends = np.array(rows["from"][::3]), np.array(rows["to"][::3])
    if along.axis.whole:
        starts, ends = starts - 0.5, ends + 0.5
    starts, ends = (np.clip(side, along.edges[0], along.edges[-1]) for side in (starts, ends))
    known, reached = joint.uncertainty is not None, []
    for place, (_, label, color, line, _) in enumerate(_QUARTILES):
        height, low, high = (_numbers(rows[key][place::3], of) for key in _KEYS)
        ax.stairs(
            height,
            np.append(starts, ends[-1]),
            baseline=None,
            color=color,
            linestyle=line,
            linewidth=1.6,
            label=label,
        )
        reached.append(height)
        if known:
            at = between(starts, ends, (0.65, 0.5, 0.35)[place], log=along.axis.log)
            ax.vlines(at, low, high, color=color, linewidth=3.5, alpha=0.4)
            reached += [low, high]
    along.dress(ax, "x", most=9)
    _dress_values(ax, "y", of, np.concatenate(reached))
    ax.set_xlabel(plain(other))
    ax.set_ylabel(plain(name))
    _legend(ax)
    told = [_beyond(rows, name, of)]
    if along.outside:
        told.append(f"the steps at the ends include {along.outside}")
    _say(figure, joint, told, level if known else None, "bars")
    return figure


def _quantiles_by_label(joint: Any, number: int, rows: Any, level: float, figure: Any) -> Any:
    """Draw quartiles of an axis for each label, the labels below one another."""
    of, by = joint.domain.domains[number], joint.domain.domains[1 - number]
    name, other = _both(joint, number)
    labels, shares = rows["label"][::3], np.array(rows["share"][::3])
    kept = largest(shares, _LABELS)
    figure = figure_for(figure, (7.2, 1.7 + 0.36 * kept.size))
    ax = figure.subplots()
    known, reached = joint.uncertainty is not None, []
    for place, (_, label, color, _, marker) in enumerate(_QUARTILES):
        middle, low, high = (_numbers(rows[key][place::3], of)[kept] for key in _KEYS)
        at = np.arange(kept.size) + (-0.2, 0.0, 0.2)[place]
        ax.plot(middle, at, marker, color=color, markersize=5, label=label)
        reached.append(middle)
        if known:
            ax.hlines(at, low, high, color=color, linewidth=2.5, alpha=0.4)
            reached += [low, high]
    ax.set_yticks(np.arange(kept.size), [short_label(labels[one]) for one in kept])
    ax.set_ylim(kept.size - 0.5, -0.5)
    _dress_values(ax, "x", of, np.concatenate(reached))
    ax.set_xlabel(plain(name))
    ax.set_ylabel(plain(other))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", alpha=0.25, linewidth=0.6)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, reverse=True)
    told = [_not_drawn(other, by, float(shares[kept].sum())), _beyond(rows, name, of)]
    _say(figure, joint, told, level if known else None, "bars")
    return figure


def _maps(joint: Any, level: float, figure: Any) -> Any:
    """Draw the map of shares with contours and marginals, and the map of uncertainty."""
    known = joint.uncertainty is not None
    figure = figure_for(figure, (7.2, 4.2) if known else (5.2, 4.6))
    widths = (5, 1, 5) if known else (5, 1)
    grid = figure.add_gridspec(2, len(widths), width_ratios=widths, height_ratios=(1.1, 5))
    both = [
        ShownAxis.of(name, domain, [joint.marginal(name).mass])
        for name, domain in joint.domain.axes.items()
    ]
    table, (rows, columns) = blocked(joint.table, both, MAP_BLOCKS)
    main = figure.add_subplot(grid[1, 0])
    top = figure.add_subplot(grid[0, 0], sharex=main)
    side = figure.add_subplot(grid[1, 1], sharey=main)
    # The first axis runs to the right, the second one upwards. Equal areas are equally long.
    lengths = both[0].lengths(rows), both[1].lengths(columns)
    density = (table / np.maximum(np.outer(*lengths), 1e-300)).T
    mesh = main.pcolormesh(rows, columns, density, cmap="Blues", shading="flat")
    mesh.set_rasterized(True)
    middles = both[0].middles(rows), both[1].middles(columns)
    levels = _holding(table, density.T, (0.9, 0.5))
    lined = len(set(levels)) == len(levels) and min(density.shape) >= 4
    if lined:
        main.contour(*middles, density, levels=levels, colors=("0.5", "0.1"), linewidths=0.9)
    top.stairs(table.sum(axis=1) / lengths[0], rows, fill=True, color=TINT)
    heights = table.sum(axis=0) / lengths[1]
    side.stairs(heights, columns, fill=True, color=TINT, orientation="horizontal")
    for ax in (top, side):
        ax.axis("off")
    _name_axes(main, joint, both, most=4 if known else 5)
    told = [each.not_shown for each in both]
    whom = "those shown" if any(told) else "the people"
    said = f"\nlines enclose 50% (black) and 90% of {whom}" if lined else ""
    top.set_title(f"color: where the people are{said}", **_NOTE)
    if known:
        _uncertainty_map(
            figure.add_subplot(grid[1, 2], sharex=main, sharey=main), joint, both, level
        )
    _say(figure, joint, told)
    return figure


_NOTE: dict[str, Any] = {"fontsize": 8, "color": _SAID, "loc": "left"}
"""How the note above a map is written."""


def _uncertainty_map(ax: Any, joint: Any, both: list[ShownAxis], level: float) -> None:
    """Draw the shares of blocks as numbers, and the half-widths of their intervals as colors."""
    shares, (x, y) = blocked(joint.table, both, BLOCKS)
    draws, _ = blocked(joint.uncertainty.draws.reshape(-1, *joint.domain.shape), both, BLOCKS)
    reach = 100 * normal_critical_value(level) * np.sqrt((draws**2).mean(axis=0))
    image = ax.pcolormesh(x, y, reach.T, cmap="Oranges", vmin=0)
    across, up = (
        each.lengths(edges) / each.lengths(edges[[0, -1]])
        for each, edges in zip(both, (x, y), strict=True)
    )
    places = [each.middles(edges) for each, edges in zip(both, (x, y), strict=True)]
    for (i, j), share in np.ndenumerate(shares):
        if share >= 0.005 and across[i] >= 0.07 and up[j] >= 0.05:
            color = "white" if reach[i, j] > 0.65 * reach.max() else "black"
            look = {"ha": "center", "va": "center", "fontsize": 8, "color": color}
            ax.text(places[0][i], places[1][j], count_text(round(100 * share)), **look)
    ax.set_xlabel(plain(joint.domain.names[0]))
    ax.tick_params(labelleft=False)
    ax.grid(False)
    # In the room beside the marginal of the other map.
    inset = ax.inset_axes((0.0, 1.04, 0.93, 0.035))
    inset.set_in_layout(False)
    bar = ax.figure.colorbar(image, cax=inset, orientation="horizontal")
    bar.ax.xaxis.set_ticks_position("top")
    bar.ax.tick_params(labelsize=8, length=2, pad=1)
    bar.outline.set_visible(False)
    said = f"color: ± percentage points ({level_text(level)} interval)"
    said = f"numbers: % of the people in a block\n{said}"
    bar.ax.set_title(said, pad=4, **_NOTE)


def _by_label(joint: Any, number: int, level: float, figure: Any) -> Any:
    """Draw the distribution of the ordered axis for each of the largest labels."""
    labels, axis = joint.domain.domains[number], joint.domain.domains[1 - number]
    name, other = _both(joint, number)
    shares = joint.marginal(name).mass
    kept = largest(shares[: len(labels.listed)], PANELS)
    columns = _COLUMNS.get(kept.size, 3)
    rows = -(-kept.size // columns)
    figure = figure_for(figure, (7.2, 1.3 + 1.45 * rows))
    panels = figure.subplots(
        rows, columns, sharex=True, sharey=True, squeeze=False, gridspec_kw={"wspace": 0.06}
    ).ravel()
    parts = [joint._of_symbols(number, np.array([label])) for label in kept]
    shown = ShownAxis.of(other, axis, [part.mass for part in parts])
    for ax, label, part in zip(panels, kept, parts, strict=False):
        mass, reach = part.mass, None
        if part.uncertainty is not None:
            spread = np.sqrt(part.uncertainty.noise.variance())
            reach = normal_critical_value(level) * spread
            low, high = np.maximum(mass - reach, 0), mass + reach
            look = {"fill": True, "color": BAND, "alpha": 0.4, "linewidth": 0}
            ax.stairs(high[shown.symbols], shown.edges, baseline=low[shown.symbols], **look)
        ax.stairs(mass[shown.symbols], shown.edges, color=ESTIMATE, linewidth=1.2)
        if shown.atoms.size:
            at = axis.left[shown.atoms]
            ax.vlines(at, 0, mass[shown.atoms], color=ESTIMATE, linewidth=2)
            if reach is not None:
                ax.vlines(
                    at, low[shown.atoms], high[shown.atoms], color=BAND, linewidth=5, alpha=0.4
                )
        ax.set_title(plain(_title(labels.listed[label], float(shares[label]), columns)), fontsize=9)
        ax.yaxis.set_major_formatter(write_percent)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, linewidth=0.6)
    shown.dress(panels[0], "x", most=5 if columns < 3 else 3)
    if shown.atoms.size and not shown.axis.log:
        # An atom at an end would be hidden by the edge of the picture.
        margin = 0.02 * (shown.edges[-1] - shown.edges[0])
        panels[0].set_xlim(shown.edges[0] - margin, shown.edges[-1] + margin)
    panels[0].set_ylim(bottom=0)
    for ax in panels[kept.size :]:
        ax.set_visible(False)
    for ax in panels[max(0, kept.size - columns) : kept.size]:
        ax.tick_params(labelbottom=True)  # also above a panel that is not there
    figure.supylabel(plain(f"share within each {name}, in a bin"), fontsize=10)
    figure.supxlabel(plain(other), fontsize=10)
    told = [shown.not_shown, _not_drawn(name, labels, float(shares[kept].sum()))]
    _say(figure, joint, told, None if parts[0].uncertainty is None else level, "grey")
    return figure


def _label_table(joint: Any, level: float, figure: Any) -> Any:
    """Draw the shares of all pairs of labels, with their intervals, as a table in colors."""
    kept, names = [], []
    for name, axis in joint.domain.axes.items():
        shares = joint.marginal(name).mass
        kept.append(largest(shares, _LABELS))
        names.append(
            [
                short_label(axis.listed[one]) if one < len(axis.listed) else "(missing)"
                for one in kept[-1]
            ]
        )
    # Labels are read best where they are below one another: the longer list goes down.
    down = int(sum(map(len, names[1])) > sum(map(len, names[0])))
    across = 1 - down
    size = 1.6 + 0.3 * kept[down].size
    figure = figure_for(figure, (7.2, min(max(size, 2.6), 9.0)))
    ax = figure.subplots()
    cells = np.ix_(*kept)
    table = joint.table[cells]
    reach = None
    if joint.uncertainty is not None:
        draws = joint.uncertainty.draws.reshape(-1, *joint.domain.shape)
        reach = normal_critical_value(level) * np.sqrt((draws**2).mean(axis=0))[cells]
    if down == 1:
        table, reach = table.T, None if reach is None else reach.T
    image = ax.imshow(100 * table, cmap="Blues", aspect="auto", vmin=0)
    columns = kept[across].size
    told = [_said_of_cells(columns, reach, level)]
    if columns > _NUMBERS:
        figure.colorbar(image, ax=ax, label="share, % of all people")
    for (i, j), share in np.ndenumerate(table if columns <= _NUMBERS else table[:0]):
        text = estimate_text(100 * share, 2)
        if reach is not None and columns <= _WITH_INTERVALS:
            text += f" ± {estimate_text(100 * reach[i, j], 2)}"
        color = "white" if share > 0.6 * table.max() else "black"
        small = 9 if columns <= _WITH_INTERVALS else 7
        ax.text(j, i, text, ha="center", va="center", fontsize=small, color=color)
    ax.set_yticks(range(kept[down].size), names[down])
    wide = max(map(len, names[across])) * kept[across].size > 70
    turned: dict[str, Any] = {}
    if wide and kept[across].size <= PANELS:
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    elif wide:
        turned = {"rotation": 90}
    ax.set_xticks(range(kept[across].size), names[across], **turned)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    ax.set_xlabel(plain(joint.domain.names[across]))
    ax.set_ylabel(plain(joint.domain.names[down]))
    for (name, axis), one in zip(joint.domain.axes.items(), kept, strict=True):
        told.append(_not_drawn(name, axis, float(joint.marginal(name).mass[one].sum())) or "")
    _say(figure, joint, told)
    return figure


def _said_of_cells(columns: int, reach: Matrix | None, level: float) -> str:
    """Return what the numbers in a table of labels are, and how uncertain they are at most."""
    numbers = "numbers: % of all people" if columns <= _NUMBERS else ""
    if reach is None:
        return numbers
    words = f"{level_text(level)} intervals"
    if columns <= _WITH_INTERVALS:
        return f"{numbers}, with {words}"
    words += f": at most ± {estimate_text(100 * float(reach.max()), 2)} percentage points"
    return f"{numbers}; {words}" if numbers else words


_KEYS = ("quantile", "low", "high")
"""Columns of the table of quantiles that are drawn."""


def figure_for(figure: Any, size: tuple[float, float]) -> Any:
    """Return the figure that is given, that made by what is given, or a new one of pyplot."""
    if callable(figure):
        return figure(size)
    if figure is not None:
        return figure
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return pyplot.figure(figsize=size, layout="constrained")


def _both(joint: Any, number: int) -> tuple[str, str]:
    """Return the name of an axis, then that of the other one."""
    return joint.domain.names[number], joint.domain.names[1 - number]


def short_label(label: Any) -> str:
    """Return a label as it is drawn."""
    text = str(label)
    return plain(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _title(label: Any, share: float, columns: int) -> str:
    """Return a label and its share, in two lines where panels are narrow."""
    said = f"{count_text(round(100 * share))}%" if share >= 0.005 else "below 1%"
    said = said.replace(" ", "\u00a0")  # stays in one line
    if len(f"{label}: {said}") <= _TITLES[columns]:
        return f"{label}: {said}"
    name = textwrap.shorten(str(label), 2 * _TITLES[columns] - 10, placeholder="…")
    return "\n".join(textwrap.wrap(f"{name}: {said}", _TITLES[columns]))


def largest(shares: Vector, most: int) -> Whole:
    """Return the labels of the largest shares above zero, at least one, in their own order."""
    order = np.argsort(-shares, kind="stable")[:most]
    held = order[shares[order] > 0]
    return np.sort(held if held.size else order[:1])


def _not_drawn(name: str, axis: Any, drawn: float) -> str | None:
    """Return what is left out where labels of a share are drawn."""
    share = 1.0 - drawn
    if share < _LEAST_SHARE:
        return None
    none = " or none" if axis.missing_index is not None else ""
    return f"not shown: {percent(share)} with another {name}{none}"


def blocked(
    table: Matrix, both: Sequence[ShownAxis], most: int
) -> tuple[Matrix, tuple[Vector, Vector]]:
    """Return shares of blocks of bins, and the edges of the blocks of both axes.

    table: One table of cells, or several: [..., first axis, second axis].
    most: Blocks of each axis.
    """
    (first, x), (second, y) = (shown.blocks(most) for shown in both)
    held = table[..., : first.shape[1], : second.shape[1]]
    return first @ held @ second.T, (x, y)


def _holding(table: Matrix, density: Matrix, shares: tuple[float, ...]) -> list[float]:
    """Return the densities above which the given shares of the people are, increasing."""
    order = np.argsort(-density.ravel(), kind="stable")
    sums = np.cumsum(table.ravel()[order])
    sums /= max(float(sums[-1]), 1e-300)
    reached = np.searchsorted(sums, shares)
    return sorted(float(density.ravel()[order][min(one, sums.size - 1)]) for one in reached)


def _numbers(values: list[Any], axis: Any) -> Vector:
    """Return quantiles as numbers of the axis, cut to its range."""
    from lapwing.protocol.domains.ranges import to_points

    low, high = float(axis.left[0]), float(axis.right[-1])
    points = [low if value is None else float(to_points(value, unit=axis.unit)) for value in values]
    found: Vector = np.clip(np.array(points), low, high)
    return found


def _beyond(rows: Any, name: str, axis: Any) -> str | None:
    """Return that something is drawn at the end of the axis but is beyond; None if nothing is."""
    keys = _KEYS if axis.outside_indices else _KEYS[:1]
    if not any(value in (np.inf, -np.inf) for key in keys for value in rows[key]):
        return None
    return f"{name} beyond the range is drawn at its end"


def thin(line: Any, axis: Axis, most: int) -> None:
    """Leave so many places with values on an axis of matplotlib that they do not touch."""
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, MultipleLocator

    if axis.log:
        decades = np.log10(axis.high / axis.low)
        parts = (1,) if decades >= 2 else (1, 2, 5) if decades >= 0.7 else tuple(range(1, 10))
        line.set_major_locator(LogLocator(subs=parts, numticks=most))
        line.set_minor_formatter("")
        if axis.low >= 0.01 and axis.high <= 1e7:
            line.set_major_formatter(lambda number, _: axis_text(number, 6))
    elif axis.unit == "number":
        steps = [1, 2, 5, 10]
        line.set_major_locator(MaxNLocator(most, integer=axis.whole, steps=steps))
    elif axis.unit == "time-of-day":
        hours = next((h for h in (1, 2, 3, 6, 12) if axis.high - axis.low <= 3600 * h * most), 24)
        if axis.high - axis.low > 3600 * most:
            line.set_major_locator(MultipleLocator(3600 * hours))
    else:
        places = np.asarray(line.get_major_locator().tick_values(axis.low, axis.high))
        places = places[(axis.low <= places) & (places <= axis.high)]
        length = max((len(line.get_major_formatter()(place)) for place in places), default=1)
        held = max(2, 9 * most // (length + 2))  # of the characters that there is room for
        line.set_major_locator(FixedLocator(places[:: -(-places.size // held) or 1].tolist()))


def _dress_values(ax: Any, line: str, domain: Any, reached: Vector) -> None:
    """Scale and limit an axis of matplotlib to what is drawn along it, and write its values."""
    low, high = float(reached.min()), float(reached.max())
    axis = Axis.of_domain(domain)
    if low == high:
        low, high = (low - 1, high + 1) if not axis.log else (low / 2, high * 2)
    shown = Axis(low, high, axis.unit, axis.log, axis.atom_at_end, axis.whole)
    if axis.log:
        getattr(ax, f"set_{line}scale")("log")
    place = getattr(ax, f"{line}axis")
    set_ticks(place, shown)
    thin(place, shown, 7)
    # Upwards there is room for the legend.
    more = 0.2 if line == "y" else 0.04
    ends = [between(low, high, part, log=axis.log) for part in (-0.04, 1 + more)]
    getattr(ax, f"set_{line}lim")(*ends)


def _legend(ax: Any) -> None:
    """Write the legend in the room above what is drawn."""
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper center", ncols=3)


def _name_axes(ax: Any, joint: Any, both: list[ShownAxis], *, most: int) -> None:
    for line, shown, name in zip("xy", both, joint.domain.names, strict=True):
        shown.dress(ax, line, most=most if line == "x" else 6)
        getattr(ax, f"set_{line}label")(plain(name))
    ax.grid(False)


def _say(
    figure: Any, joint: Any, told: Sequence[str | None], level: float | None = None, drawn: str = ""
) -> None:
    """Write who is behind a picture above it, and what it does not show."""
    first = people_and_guarantee(joint.reports, joint.guarantee, exact=is_exact(joint)) or ""
    if level is not None:
        about = whom("empirical", joint.guarantee)
        first += f"\n{drawn}: {level_text(level)} intervals about {about}"
    lines = [wrapped(each.strip(), 110) for each in (first, *told) if each]
    figure.suptitle("\n".join(lines), fontsize=9, color=_SAID, fontweight="normal")
