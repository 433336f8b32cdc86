"""Pictures drawn by matplotlib; the only file that imports it, and only when drawing."""

from __future__ import annotations

from typing import IO, Any, Literal

import numpy as np

from lapwing.errors import MissingExtraError
from lapwing.protocol.domains.units import to_text
from lapwing.results.picture import BAR_LIMIT, Axis, Bars, Curves, Densities, Picture, Shape

_INK = "#1f4e5f"
_TINT = "#9ec9d6"
_TRUTH = "#c8553d"

_LINES: dict[str, dict[str, Any]] = {
    "estimate": {"color": _INK, "linewidth": 1.6},
    "truth": {"color": _TRUTH, "linewidth": 1.2, "linestyle": "--", "zorder": 3},
    "first": {"color": _INK, "linewidth": 1.4, "linestyle": "-"},
    "second": {"color": _TRUTH, "linewidth": 1.4, "linestyle": "--"},
}


def draw(picture: Picture, ax: Any = None) -> Any:
    """Draw a picture; return the matplotlib axes.

    Parameters
    ----------
    picture : Curves, Densities or Bars
    ax : matplotlib.axes.Axes, optional
        Drawn into; a new figure without it.

    Raises
    ------
    MissingExtraError
        When matplotlib is not installed.
    """
    ax = _figure((7, 4)).subplots() if ax is None else ax
    match picture:
        case Curves():
            _draw_curves(picture, ax)
        case Densities():
            _draw_densities(picture, ax)
        case Bars():
            _draw_bars(picture, ax)
    return ax


def figure_of(*pictures: Picture) -> Any:
    """Return a matplotlib figure of pictures with one horizontal axis, one above the other."""
    width = max(picture.size[0] for picture in pictures)
    figure = _figure((width, sum(picture.size[1] for picture in pictures)))
    panels = figure.subplots(len(pictures), 1, sharex=True, squeeze=False)[:, 0]
    for picture, ax in zip(pictures, panels, strict=True):
        draw(picture, ax)
    return figure


def write_picture(figure: Any, stream: IO[bytes], *, kind: Literal["png", "svg"]) -> None:
    """Write a figure; the same figure gives the same bytes."""
    import matplotlib

    # Without a date, and with identifiers that are hashes of what they name instead of random.
    options: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {"dpi": 150}
    with matplotlib.rc_context({"svg.hashsalt": "lapwing"}):
        figure.savefig(stream, format=kind, **options)


def _figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return Figure(figsize=size, layout="constrained")


def _dress(ax: Any, axis: Axis) -> None:
    from matplotlib.ticker import MultipleLocator

    low, high, unit = axis.low, axis.high, axis.unit
    if unit != "number":
        ax.xaxis.set_major_formatter(lambda number, _: to_text(number, unit=unit))
    if unit == "time-of-day":
        ax.xaxis.set_major_locator(MultipleLocator(6 * 3600))
        ax.xaxis.set_major_formatter(lambda number, _: to_text(number, unit=unit)[:5])
    if axis.log:
        ax.set_xscale("log")
    if unit == "number" and max(abs(low), abs(high)) >= 10_000:
        ax.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(low, high)
    if axis.atom_at_end and not axis.log:
        # An atom at an end would be hidden by the edge of the picture.
        ax.set_xlim(low - 0.01 * (high - low), high + 0.01 * (high - low))
    ax.grid(alpha=0.25, linewidth=0.6)


def _draw_curves(picture: Curves, ax: Any) -> None:
    # A wide band that shines through a narrower one, or one alone.
    shades = (0.35, 0.75) if len(picture.bands) == 2 else (0.6,)
    for band, alpha in zip(picture.bands, shades, strict=False):
        ax.fill_between(
            np.append(picture.axis.low, band.points),
            np.append(0.0, band.low),
            np.append(0.0, band.high),
            step="post" if picture.stepped else None,
            color=_TINT,
            alpha=alpha,
            linewidth=0,
            label=f"{100 * band.level:g} % band ({band.kind})",
        )
    if picture.signed:
        ax.axhline(0.0, color="black", linewidth=0.8)
    else:
        ax.set_ylim(0, 1.01)
    for line in picture.lines:
        ax.plot(line.x, line.y, label=line.name, **_LINES[line.role])
    if picture.found is not None:
        # The curve stays linear in the bin; the mark says that it is really a step in there.
        open_mark = {"markersize": 5, "markerfacecolor": "white"}
        ax.plot(*picture.found, "D", color=_INK, label="found atom", zorder=4, **open_mark)
    ax.set_ylabel(picture.label)
    _dress(ax, picture.axis)
    ax.legend(frameon=False, loc="best" if picture.signed else "lower right")


def _draw_densities(picture: Densities, ax: Any) -> None:
    """Draw densities; atoms as stems on a second axis whose height is their mass.

    A found atom is drawn as what its bin holds beyond what the bins around it suggest, with an
    open mark.
    """
    estimate = picture.shapes[0]
    stems = None
    if estimate.points.size or estimate.found.size:
        stems = ax.twinx() if estimate.heights.size else ax
        stems.set_ylabel("share at one value")
    for shape in picture.shapes:
        _draw_shape(shape, ax, stems)
    if stems is not ax:
        ax.set_ylim(bottom=0)
        ax.set_ylabel(picture.label)
    _dress(ax, picture.axis)
    if stems is not None:
        stems.set_ylim(bottom=0)
        stems.spines[["top", "right"]].set_visible(False)
    if len(picture.shapes) > 1 or estimate.found.size:
        handles, labels = ax.get_legend_handles_labels()
        if stems is not None and stems is not ax:
            handles += stems.get_legend_handles_labels()[0]
            labels += stems.get_legend_handles_labels()[1]
        ax.legend(handles, labels, frameon=False)


def _draw_shape(shape: Shape, ax: Any, stems: Any) -> None:
    """Draw one density as a filled shape, or as a line when it is the truth; atoms as stems."""
    truth = shape.role == "truth"
    color, alpha = (_TRUTH, 1.0) if truth else (_INK, 0.45)
    label: str = shape.role
    if shape.found.size:
        thin = 1.2 if truth else 2.5
        stems.vlines(shape.found, 0, shape.excess, color=color, linewidth=thin, label="_stem")
        stems.plot(
            shape.found,
            shape.excess,
            "D",
            color=color,
            markersize=3 if truth else 6,
            markerfacecolor=color if truth else "white",
            zorder=4 if truth else 3,
            label="_truth" if truth else "found atom (right axis)",
        )
    if shape.heights.size:
        look = {"fill": not truth, "color": color, "alpha": alpha, "linewidth": 1.0}
        ax.stairs(shape.heights, shape.edges, label=label, **look)
        label = "_" + label  # named once is enough
    if shape.points.size:
        # The truth as a thin line inside the estimate's thick one: they stand at one place.
        few = shape.points.size <= BAR_LIMIT
        width = 1.2 if truth else 5.0 if few else 2.0
        look = {"color": color, "alpha": alpha, "linewidth": width}
        stems.vlines(shape.points, 0, shape.shares, label=label, **look)
        if few:
            look = {"markersize": 4 if truth else 7, "markerfacecolor": "white" if truth else color}
            stems.plot(shape.points, shape.shares, "o", color=color, **look)


def _draw_bars(picture: Bars, ax: Any) -> None:
    places = np.arange(picture.heights.size)
    ax.bar(places, picture.heights, color=_TINT)
    if picture.signed:
        ax.axhline(0.0, color="black", linewidth=0.8)
    if picture.intervals is not None:
        low, high = picture.intervals
        look = {"fmt": "none", "ecolor": _INK, "elinewidth": 1, "capsize": 2}
        ax.errorbar(places, (low + high) / 2, yerr=(high - low) / 2, **look)
    if picture.truth is not None:
        ax.plot(places, picture.truth, "o", color=_TRUTH, markersize=4, label="truth")
    if picture.threshold is not None:
        look = {"color": _TRUTH, "linewidth": 1, "linestyle": "--"}
        ax.axhline(picture.threshold, label="threshold", **look)
    if picture.truth is not None or picture.threshold is not None:
        ax.legend(frameon=False)
    _name_bars(ax, picture.values)
    ax.set_ylabel(picture.label)
    if picture.title is not None:
        ax.set_title(picture.title)


def _name_bars(ax: Any, values: list[Any]) -> None:
    """Write the values under their bars."""
    names = ["(missing)" if value is None else str(value) for value in values]
    shown = [name if len(name) <= 30 else f"{name[:29]}…" for name in names]
    crowded = max(map(len, shown), default=0) > 80 // max(len(shown), 1)
    # A label is no formula.
    ax.set_xticks(np.arange(len(shown)), [name.replace("$", r"\$") for name in shown])
    if crowded:
        ax.tick_params("x", labelrotation=45)
        for text in ax.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    ax.spines[["top", "right"]].set_visible(False)
