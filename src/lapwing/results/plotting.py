"""Pictures drawn by matplotlib. The only file that imports it, and only when drawing."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from textwrap import fill
from typing import IO, Any, Literal

import numpy as np

from lapwing.errors import MissingExtraError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import to_text
from lapwing.results.picture import (
    BAR_LIMIT,
    Axis,
    Bars,
    Curves,
    Densities,
    Outline,
    Picture,
    Shape,
    name_of,
)
from lapwing.results.rounding import axis_text, count_text, estimate_text

ESTIMATE = "#0b5ea8"
"""Blue: the estimate, and the first of two."""

TINT = "#a9cdea"
"""The same, light: bands, and what is filled."""

BAND = "#8c8c8c"
"""Grey: the band of a density, over its steps."""

TRUTH = "#d55e00"
"""Vermilion, which no color-blindness takes for blue: the truth, and the second of two."""

_LINES: dict[str, dict[str, Any]] = {
    "estimate": {"color": ESTIMATE, "linewidth": 1.6},
    "truth": {"color": TRUTH, "linewidth": 1.2, "linestyle": "--", "zorder": 3},
    "first": {"color": ESTIMATE, "linewidth": 1.4, "linestyle": "-"},
    "second": {"color": TRUTH, "linewidth": 1.4, "linestyle": "--"},
}

_FEW = 12
"""So many stems have marks on top. More would hide one another."""

_SMALL = 0.01
"""Densities below it are written per 1,000 or more."""

_TALLEST = 8.0
"""Stems end where they are so many times as high as the highest bin, and say their share."""


def show(
    *pictures: Picture, ax: Any = None, title: str | None = None, label: str | None = None
) -> Any:
    """Draw the last picture into the given axes, or all of them into a new figure.

    ax: A new figure of pyplot without it: a notebook shows it, and so does ``pyplot.show()``.
    title, label: Of the picture, above what it says about itself, and of the values.
    returns: Those of the last picture.

    Raises MissingExtraError when matplotlib is not installed.
    """
    if ax is not None:
        return _entitle(draw(pictures[-1], ax), title, label)
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    figure = pyplot.figure(figsize=_size(pictures), layout="constrained")
    return _stack(figure, pictures, title=title, label=label)


def draw(picture: Picture, ax: Any = None) -> Any:
    """Draw a picture into matplotlib axes, new ones unless they are given, and return them."""
    ax = new_figure(picture.size).subplots() if ax is None else ax
    match picture:
        case Curves():
            _draw_curves(picture, ax)
        case Densities():
            _draw_densities(picture, ax)
        case Bars():
            _draw_bars(picture, ax)
    if picture.title is not None:
        ax.set_title(wrapped(picture.title), fontsize="medium", color="0.3")
    return ax


def figure_of(*pictures: Picture, title: str | None = None, label: str | None = None) -> Any:
    """Return a matplotlib figure of pictures with one horizontal axis, one above the other.

    title, label: Of the picture, above what it says about itself, and of the values.
    """
    figure = new_figure(_size(pictures))
    _stack(figure, pictures, title=title, label=label)
    return figure


def dots_figure(
    panels: list[tuple[list[tuple[str, Any, Any, Any]], Unit | None]], *, title: str
) -> Any:
    """Return a figure with a dot and its interval for each number, a panel for each unit.

    panels: Rows of a name, a point or None, and the ends of its interval, which may be infinite.
        With the unit of the numbers, or None for shares.
    """
    height = sum(0.6 + 0.35 * len(rows) for rows, _ in panels)
    figure = new_figure((7.2, height + 0.6))
    ratios = [1 + len(rows) for rows, _ in panels]
    axes = figure.subplots(len(panels), squeeze=False, height_ratios=ratios)[:, 0]
    for ax, (rows, unit) in zip(axes, panels, strict=True):
        ends = [end for row in rows for end in row[1:] if end is not None and math.isfinite(end)]
        for place, (_, point, low, high) in enumerate(rows):
            ax.plot(np.clip([low, high], min(ends), max(ends)), [place] * 2, color=ESTIMATE)
            if point is not None:
                ax.plot(point, place, "o", color=ESTIMATE, markersize=6)
        _name_bars(ax, [name for name, *_ in rows])
        if unit is None:
            ax.xaxis.set_major_formatter(write_percent)
        elif unit != "number":
            ax.locator_params(axis="x", nbins=5)
            ax.xaxis.set_major_formatter(lambda number, _, unit=unit: to_text(number, unit=unit))
        ax.grid(axis="x", alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_title(wrapped(title), loc="left", fontsize=10)
    return figure


def write_picture(figure: Any, stream: IO[bytes], *, kind: Literal["png", "svg", "pdf"]) -> None:
    """Write a figure. The same figure gives the same bytes."""
    import matplotlib

    # Without a date, and with identifiers that are hashes of what they name instead of random.
    options: dict[str, dict[str, Any]] = {
        "png": {"dpi": 150},
        "svg": {"metadata": {"Date": None}},
        "pdf": {"metadata": {"CreationDate": None}},
    }
    with matplotlib.rc_context({"svg.hashsalt": "lapwing", "pdf.fonttype": 42}):
        figure.savefig(stream, format=kind, **options[kind])


_NAMED = (ESTIMATE, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#444444")
"""Colors that people of any color vision can distinguish, without that of a truth."""


def shades(number: int, *, named: bool) -> list[Any]:
    """Return a color for each of some lines: from dark to light, or apart where they are named."""
    from matplotlib import colormaps

    if named:
        return [_NAMED[place % len(_NAMED)] for place in range(number)]
    return [colormaps["viridis"](place) for place in np.linspace(0.1, 0.85, number)]


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure of matplotlib. MissingExtraError where that is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return Figure(figsize=size, layout="constrained")


def _size(pictures: tuple[Picture, ...]) -> tuple[float, float]:
    return max(each.size[0] for each in pictures), sum(each.size[1] for each in pictures)


def _stack(
    figure: Any, pictures: tuple[Picture, ...], *, title: str | None, label: str | None
) -> Any:
    """Draw pictures one above the other. Return the axes of the last."""
    panels = figure.subplots(len(pictures), 1, sharex=True, squeeze=False)[:, 0]
    for picture, ax in zip(pictures, panels, strict=True):
        draw(picture, ax)
    for ax, above in zip(panels[1:], pictures, strict=False):
        if ax.get_title() == wrapped(above.title or ""):
            ax.set_title("")  # said once is enough
    for ax in panels[:-1]:
        ax.set_xlabel("")
    _entitle(panels[0], title, None)
    return _entitle(panels[-1], None, label)


def _entitle(ax: Any, title: str | None, label: str | None) -> Any:
    if title is not None:
        ax.set_title(f"{plain(title)}\n{ax.get_title()}".rstrip("\n"), fontsize="medium")
    if label is not None:
        # The values of categories stand beside the bars, not below them.
        (ax.set_ylabel if ax.yaxis_inverted() else ax.set_xlabel)(plain(label))
    return ax


def wrapped(text: str, signs: int = 92) -> str:
    """Return a string that is no formula, in lines of like length that a picture has room for."""
    lines = []
    for line in plain(text).splitlines():
        rows = -(-len(line) // signs) or 1
        width = min(signs, len(line) // rows + 8)
        lines.append(fill(line, width, break_on_hyphens=False))
    return "\n".join(lines)


def plain(text: str) -> str:
    """Return a string that is no formula, whatever signs it has."""
    return text.replace("$", r"\$")


def write_percent(share: float, _: Any) -> str:
    """Return a share in percent, as axes of matplotlib ask for it."""
    return f"{axis_text(100 * share, 6)}%"


def _dress(ax: Any, axis: Axis) -> None:
    low, high = axis.low, axis.high
    if axis.log:
        ax.set_xscale("log")
    set_ticks(ax.xaxis, axis)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(low, high)
    if axis.whole:
        ax.set_xlim(low - 0.6, high + 0.6)
    elif axis.atom_at_end and not axis.log:
        # An atom at an end would be hidden by the edge of the picture.
        ax.set_xlim(low - 0.01 * (high - low), high + 0.01 * (high - low))
    ax.set_xlabel(plain(axis.label))
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def set_ticks(xaxis: Any, axis: Axis) -> None:
    """Write values in their unit, at places where people expect them."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, MultipleLocator

    low, high, unit = axis.low, axis.high, axis.unit
    if unit == "number":
        powers = axis.log and (low < 1 or high > 1e7)  # left to matplotlib, which writes 10^6
        if max(abs(low), abs(high)) >= 10_000 and not powers:
            xaxis.set_major_formatter(FuncFormatter(lambda number, _: axis_text(number)))
        return
    if unit == "time-of-day":
        xaxis.set_major_locator(MultipleLocator(next(s for s in _HOURS if high - low <= 9 * s)))
        xaxis.set_major_formatter(FuncFormatter(lambda n, _: to_text(n, unit=unit)[:5]))
        return
    if unit == "duration":
        step = next((s for s in _DURATIONS if high - low <= 9 * s), None)
        if step is not None and step <= 3 * (high - low) and not axis.log:
            xaxis.set_major_locator(MultipleLocator(step))
        xaxis.set_major_formatter(FuncFormatter(lambda n, _: to_text(n, unit=unit)))
        return
    days = unit == "date"
    day = 1 if days else 86_400
    places = _calendar_places(low / day, high / day, most=9 if days else 5)
    signs = None
    if places is None:
        xaxis.set_major_locator(MaxNLocator(5, integer=True))
    else:
        places = places[places % 1 == 0] if days else np.round(day * places, 3)
        xaxis.set_major_locator(FixedLocator(places.tolist()))
        signs = None if days else _signs(places)
    xaxis.set_major_formatter(FuncFormatter(lambda n, _: to_text(n, unit=unit)[:signs]))


def dress_values(
    line: Any, unit: Unit, ends: tuple[float, float], *, log: bool, few: bool = False
) -> None:
    """Write values in their unit along an axis of matplotlib that is not that of a domain.

    ends: Between which it reaches.
    few: Whether there is room for two or three places only.
    """
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    set_ticks(line, Axis(*ends, unit, log, atom_at_end=False))
    if few and unit == "time-of-day":
        line.set_major_locator(MultipleLocator(12 * 3600))
    elif few and not log:
        line.set_major_locator(MaxNLocator(2))


def _signs(seconds: Vector) -> int | None:
    """Return how many signs of an ISO time tell these: of days, of minutes, or None for all."""
    if not np.any(seconds % 86_400):
        return len("2026-01-01")
    return None if np.any(seconds % 60) else len("2026-01-01T00:00")


_HOURS = (60, 300, 900, 1800, 3600, 2 * 3600, 3 * 3600)
_DURATIONS = (1, 5, 15, *_HOURS, 12 * 3600, 86_400, 5 * 86_400, 20 * 86_400, 100 * 86_400)


def _calendar_places(low: float, high: float, *, most: int) -> Vector | None:
    """Return starts of years, months, days or hours as days since 1970. None beyond year 9999."""
    from matplotlib import dates

    locator: Any = dates.AutoDateLocator
    number: Any = dates.date2num
    start = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        ends = [start + timedelta(days=days) for days in (low, high)]
        places = locator(minticks=2, maxticks=most, tz=UTC).tick_values(*ends)
    except (OverflowError, ValueError):
        return None
    first = float(number(start))  # an epoch may be set in matplotlib
    return np.asarray(places, dtype=np.float64) - first


def _draw_curves(picture: Curves, ax: Any) -> None:
    # A wide band that shines through a narrower one, or one alone.
    shades = (0.45, 0.9) if len(picture.bands) == 2 else (0.75,)
    for band, alpha in zip(picture.bands, shades, strict=False):
        outline = Outline.of_band(
            band, picture.axis, stepped=picture.stepped, outside=picture.outside
        )
        ax.fill_between(
            outline.x,
            outline.low,
            outline.high,
            color=TINT,
            alpha=alpha,
            linewidth=0,
            label=name_of(band, "band"),
        )
    if picture.signed:
        ax.axhline(0.0, color="black", linewidth=0.8)
    else:
        ax.set_ylim(0, 1.01)
    for line in picture.lines:
        ax.plot(line.x, line.y, label=plain(line.name), **_LINES[line.role])
    if picture.atoms is not None:
        # At the foot, where marks hide no curve however many there are.
        foot = {"transform": ax.get_xaxis_transform(), "clip_on": False, "markersize": 9}
        seen = (picture.axis.low <= picture.atoms) & (picture.atoms <= picture.axis.high)
        at = np.full(np.count_nonzero(seen), 0.02)
        label = "bin with a detected atom"
        ax.plot(picture.atoms[seen], at, "|", color="black", label=label, zorder=4, **foot)
    ax.set_ylabel(plain(picture.label))
    _dress(ax, picture.axis)
    # Above the marks at the foot.
    place = {"loc": "lower right", "bbox_to_anchor": (1, 0.0 if picture.atoms is None else 0.05)}
    ax.legend(frameon=False, **({"loc": "best"} if picture.signed else place))


def _draw_densities(picture: Densities, ax: Any) -> None:
    """Draw densities with single values as stems, on one scale.

    The left side is the density, the right side the same heights as shares: those of single values
    and of bins of usual width. A stem is no higher than a few bins, so that these can be seen.
    """
    if not picture.shapes[0].heights.size:
        _draw_whole_numbers(picture, ax)
        ax.set_ylim(bottom=0)
        _dress(ax, picture.axis)
        return
    length, axis = picture.usual_length, picture.axis
    bins, stems = 0.0, 0.0
    for shape in picture.shapes:
        steps = (shape.edges[:-1] < axis.high) & (shape.edges[1:] > axis.low)
        for heights in (shape.heights, shape.high):
            if heights is not None:
                bins = max(bins, float(heights[steps].max(initial=0.0)))
        for _, shares, _ in _stems(shape, axis):
            stems = max(stems, float(shares.max(initial=0.0)))
    top = max(bins, min(stems / length, _TALLEST * bins)) or 1.0
    for shape in picture.shapes:
        _draw_shape(shape, ax, axis, length=length, top=top, band=picture.band_name)
    ax.set_ylim(0, 1.1 * top)
    ax.set_ylabel(plain(picture.label))
    if axis.unit == "number" and not axis.log and top < _SMALL:
        # "8 per 100,000" reads better than 8e-5.
        many = 10.0 ** math.ceil(-math.log10(top))
        unit = f" {axis.measured_in}" if axis.measured_in else ""
        ax.set_ylabel(plain(f"density, per {count_text(int(many))}{unit}"))
        ax.yaxis.set_major_formatter(lambda height, _: axis_text(height * many, 6))
    _dress(ax, picture.axis)
    if stems > 0:
        right = ax.secondary_yaxis("right", functions=(lambda y: y * length, lambda s: s / length))
        right.set_ylabel("share at one value")
        right.yaxis.set_major_formatter(write_percent)
        right.spines[:].set_visible(False)
    ax.legend(frameon=False)


def _stems(shape: Shape, axis: Axis) -> list[tuple[Vector, Vector, str]]:
    """Return places, shares and kind of the single values that are on an axis."""
    stems = []
    for places, shares, kind in (
        (shape.points, shape.shares, "atom"),
        (shape.atoms, shape.excess, "detected atom"),
    ):
        seen = (axis.low <= places) & (places <= axis.high)
        if seen.any():
            stems.append((places[seen], shares[seen], kind))
    return stems


def _draw_shape(shape: Shape, ax: Any, axis: Axis, *, length: float, top: float, band: str) -> None:
    """Draw one density as a filled shape, or as a line when it is the truth. Then its stems."""
    truth = shape.role == "truth"
    if truth:
        ax.stairs(shape.heights, shape.edges, color=TRUTH, linewidth=1.1, label="truth", zorder=2.5)
    else:
        merged = f", {shape.merged} bins in {shape.heights.size} steps" if shape.merged else ""
        ax.stairs(shape.heights, shape.edges, fill=True, color=TINT, label=f"{shape.name}{merged}")
        if shape.low is not None and shape.high is not None:
            fill_band(ax, shape.low, shape.high, shape.edges, label=band)
        ax.stairs(shape.heights, shape.edges, color=ESTIMATE, linewidth=0.8)
    for places, shares, kind in _stems(shape, axis):
        few = places.size <= _FEW
        heights = np.minimum(shares / length, top)
        if truth:
            # A dash across the stem of the estimate, which stays to be seen.
            look = {"color": TRUTH, "markersize": 14 if few else 7, "markeredgewidth": 1.6}
            seen = shares / length <= top
            ax.plot(places[seen], heights[seen], "_", zorder=4, **look)
            continue
        width = 3.0 if few else 1.4
        ax.vlines(
            places, 0, heights, color=ESTIMATE, linewidth=width, label=f"{kind} (right scale)"
        )
        if few:
            inside = "white" if kind == "detected atom" else ESTIMATE
            ends = shares / length <= top
            look = {"color": ESTIMATE, "markersize": 6, "markerfacecolor": inside}
            ax.plot(places[ends], heights[ends], "o", **look)
        for place, share in zip(places, shares, strict=True):
            if share / length > top:
                ax.plot(place, top, "^", color=ESTIMATE, markersize=9, zorder=3)
                side = {"xytext": (8, -3), "textcoords": "offset points"}
                ax.annotate(f"{estimate_text(100 * share, 2)}%", (place, top), **side)


def fill_band(ax: Any, low: Vector, high: Vector, edges: Vector, *, label: str | None) -> None:
    """Fill the band of the steps of a density."""
    look = {"fill": True, "color": BAND, "alpha": 0.5, "linewidth": 0}
    ax.stairs(high, edges, baseline=low, label=label, **look)


def _draw_whole_numbers(picture: Densities, ax: Any) -> None:
    """Draw shares of whole numbers: the estimate as bars, the truth as dashes upon them."""
    ax.set_ylabel("share")
    for shape in picture.shapes:
        truth = shape.role == "truth"
        edges = np.append(shape.points - 0.5, shape.points[-1:] + 0.5)
        if shape.points.size > BAR_LIMIT:
            look = {"color": TRUTH, "linewidth": 1.1} if truth else {"color": TINT, "fill": True}
            ax.stairs(shape.shares, edges, label=shape.name, **look)
        elif truth:
            look = {"color": TRUTH, "linewidth": 2.2, "zorder": 3}
            ax.hlines(shape.shares, edges[:-1] + 0.1, edges[1:] - 0.1, label="truth", **look)
        else:
            ax.bar(shape.points, shape.shares, color=TINT, edgecolor=ESTIMATE, label=shape.name)
        if shape.low is None or shape.high is None:
            continue
        if shape.points.size > BAR_LIMIT:
            fill_band(ax, shape.low, shape.high, edges, label=picture.band_name)
        else:
            reach = shape.shares - shape.low, shape.high - shape.shares
            look = {"fmt": "none", "ecolor": ESTIMATE, "elinewidth": 1.2, "capsize": 2}
            name = picture.band_name.replace("band", "intervals")
            ax.errorbar(shape.points, shape.shares, yerr=reach, label=name, **look)
    ax.legend(frameon=False)


def _draw_bars(picture: Bars, ax: Any) -> None:
    """Draw bars or points to the right, the first on top, with their names alongside."""
    places = np.arange(picture.heights.size)
    if picture.dots:
        ax.plot(picture.heights, places, "o", color=ESTIMATE, markersize=5, label="estimate")
    else:
        ax.barh(places, picture.heights, color=TINT, edgecolor=ESTIMATE, linewidth=0.6)
    if picture.signed:
        ax.axvline(0.0, color="black", linewidth=0.8)
    if picture.intervals is not None:
        low, high = picture.intervals
        look = {"fmt": "none", "ecolor": ESTIMATE, "elinewidth": 1.2, "capsize": 2}
        ax.errorbar(
            (low + high) / 2, places, xerr=(high - low) / 2, label=picture.interval_name, **look
        )
    if picture.truth is not None:
        ax.plot(picture.truth, places, "o", color=TRUTH, markersize=4.5, label="truth")
    if picture.threshold is not None:
        look = {"color": TRUTH, "linewidth": 1, "linestyle": "--"}
        ax.axvline(picture.threshold, label="threshold", **look)
    if picture.intervals or picture.truth is not None or picture.threshold is not None:
        ax.legend(frameon=False, loc="best" if picture.dots else "lower right")
    _name_bars(ax, picture.values)
    ax.set_xlabel(plain(picture.label))
    ax.xaxis.set_major_formatter(write_percent)
    ax.grid(axis="x", alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _name_bars(ax: Any, values: list[Any]) -> None:
    """Write the values alongside their bars, small enough for the height that there is."""
    names = ["(missing)" if value is None else str(value) for value in values]
    shown = [plain(name if len(name) <= 30 else f"{name[:29]}…") for name in names]
    room = ax.get_window_extent().height / ax.figure.dpi * 72 / max(len(shown), 1)
    ax.set_yticks(np.arange(len(shown)), shown, fontsize=float(np.clip(0.75 * room, 4, 10)))
    ax.set_ylim(len(shown) - 0.4, -0.6)
