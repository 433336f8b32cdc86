"""Pictures of distributions; the only file that imports matplotlib, and only when drawing."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from lapwing.errors import MissingExtraError
from lapwing.protocol.domains.units import to_text
from lapwing.results.atoms import expected_mass

if TYPE_CHECKING:
    from lapwing.results.band import Kind
    from lapwing.results.difference import Difference
    from lapwing.results.distribution import Distribution
    from lapwing.results.heavy_hitters import HeavyHitters

_INK = "#1f4e5f"
_TINT = "#9ec9d6"
_TRUTH = "#c8553d"
_MOST_LABELS = 40

_DENSITY_PER = {
    "number": ("unit", 1),
    "date": ("day", 1),
    "datetime": ("day", 86_400),
    "time-of-day": ("hour", 3600),
}
"""The unit in which a density is drawn, and how many units of the domain it holds."""


def _pyplot() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plot") from None
    return Figure


def _unit(distribution: Distribution) -> Any:
    return getattr(distribution.domain, "unit", "number")


def _dress(ax: Any, distribution: Distribution) -> None:
    unit = _unit(distribution)
    if unit != "number":
        ax.xaxis.set_major_formatter(lambda number, _: to_text(number, unit=unit))
    if unit == "time-of-day":
        ax.xaxis.set_major_locator(_locator(6 * 3600))
        ax.xaxis.set_major_formatter(lambda number, _: to_text(number, unit=unit)[:5])
    if getattr(distribution.domain, "scale", "linear") == "log":
        ax.set_xscale("log")
    low, high = distribution.domain.left[0], distribution.domain.right[-1]
    if unit == "number" and max(abs(low), abs(high)) >= 10_000:
        ax.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(low, high)
    if getattr(distribution.domain, "scale", "linear") == "linear" and {low, high} & set(
        distribution.domain.left[distribution.domain.left == distribution.domain.right]
    ):
        # An atom at an end would be hidden by the edge of the picture.
        ax.set_xlim(low - 0.01 * (high - low), high + 0.01 * (high - low))
    ax.grid(alpha=0.25, linewidth=0.6)


def _locator(step: float) -> Any:
    from matplotlib.ticker import MultipleLocator

    return MultipleLocator(step)


def _plain(ax: Any) -> Any:
    return _pyplot()(figsize=(7, 4), layout="constrained").subplots() if ax is None else ax


def plot_distribution(
    distribution: Distribution, ax: Any = None, *, level: float = 0.95, truth: Any = None
) -> Any:
    """Draw the CDF with its pointwise band, or the shares of categories with intervals.

    Parameters
    ----------
    distribution : Distribution
    ax : matplotlib.axes.Axes, optional
        Drawn into; a new figure without it.
    level : float
        Of the band.
    truth : Distribution, optional
        Drawn beside it, where it is known.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _plain(ax)
    band = distribution.confidence_band(level)
    if not distribution.domain.ordered:
        return _plot_shares(distribution, ax, band, truth)
    curve = distribution.cumulative
    knots = np.column_stack([curve.left, curve.right]).ravel()
    heights = np.column_stack([curve.sums - curve.mass, curve.sums]).ravel()
    if band is not None:
        ax.fill_between(
            np.append(curve.left[0], band.points),
            np.append(0.0, band.low),
            np.append(0.0, band.high),
            # Whole numbers and lone atoms: the band steps where the CDF does.
            step="post" if np.array_equal(curve.left, curve.right) else None,
            color=_TINT,
            alpha=0.6,
            linewidth=0,
            label=f"{100 * level:g} % band ({band.kind})",
        )
    if truth is not None:
        reference = truth.cumulative
        ax.plot(
            np.column_stack([reference.left, reference.right]).ravel(),
            np.column_stack([reference.sums - reference.mass, reference.sums]).ravel(),
            color=_TRUTH,
            linewidth=1.2,
            linestyle="--",
            label="truth",
            zorder=3,
        )
    ax.plot(knots, heights, color=_INK, linewidth=1.6, label="estimate")
    found = _found(distribution)
    if found.size:
        # The curve stays linear in the bin; the mark says that it is really a step in there.
        ax.plot(
            curve.right[found],
            curve.sums[found],
            "D",
            color=_INK,
            markersize=5,
            markerfacecolor="white",
            label="found atom",
            zorder=4,
        )
    ax.set_ylim(0, 1.01)
    ax.set_ylabel("P(value ≤ x)")
    _dress(ax, distribution)
    ax.legend(frameon=False, loc="lower right")
    return ax


def _found(distribution: Distribution) -> Any:
    """Return the numbers of the bins that hold found atoms; of whole numbers none."""
    atoms = distribution.atoms
    lefts = [atom.left for atom in atoms if not atom.declared and atom.left < atom.right]
    wide = distribution.domain.left < distribution.domain.right
    return np.flatnonzero(wide & np.isin(distribution.domain.left, lefts))


def _plot_shares(distribution: Distribution, ax: Any, band: Any, truth: Any) -> Any:
    domain: Any = distribution.domain
    order = np.argsort(-distribution.mass, kind="stable")[:_MOST_LABELS]
    listed = domain.listed
    names = [str(listed[i]) if i < len(listed) else "(missing)" for i in order.tolist()]
    heights = distribution.mass[order]
    places = np.arange(order.size)
    ax.bar(places, heights, color=_TINT)
    if band is not None:
        middle = (band.low + band.high)[order] / 2
        reach = (band.high - band.low)[order] / 2
        ax.errorbar(places, middle, yerr=reach, fmt="none", ecolor=_INK, elinewidth=1, capsize=2)
    if truth is not None:
        ax.plot(places, truth.mass[order], "o", color=_TRUTH, markersize=4, label="truth")
        ax.legend(frameon=False)
    _name_bars(ax, names)
    if order.size < domain.size:
        ax.set_title(f"the {order.size} largest of {domain.size} shares")
    return ax


def _name_bars(ax: Any, names: list[str]) -> None:
    """Write the labels under bars of shares."""
    shown = [name if len(name) <= 30 else f"{name[:29]}…" for name in names]
    crowded = max(map(len, shown), default=0) > 80 // max(len(shown), 1)
    # A label is no formula.
    ax.set_xticks(np.arange(len(shown)), [name.replace("$", r"\$") for name in shown])
    if crowded:
        ax.tick_params("x", labelrotation=45)
        for text in ax.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    ax.set_ylabel("share")
    ax.spines[["top", "right"]].set_visible(False)


def plot_heavy_hitters(found: HeavyHitters, ax: Any = None, *, level: float = 0.95) -> Any:
    """Draw the largest shares with their simultaneous intervals, and the threshold.

    Parameters
    ----------
    found : HeavyHitters
    ax : matplotlib.axes.Axes, optional
        Drawn into; a new figure without it.
    level : float
        Of the intervals.
    """
    ax = _plain(ax)
    names = ["(missing)" if value is None else str(value) for value in found.values[:_MOST_LABELS]]
    places = np.arange(len(names))
    heights = found.shares[: places.size]
    band = found.confidence_band(level)
    reach = [heights - band.low[: places.size], band.high[: places.size] - heights]
    ax.bar(places, heights, color=_TINT)
    ax.errorbar(
        places, heights, yerr=np.maximum(reach, 0), fmt="none", ecolor=_INK, elinewidth=1, capsize=2
    )
    ax.axhline(found.threshold, color=_TRUTH, linewidth=1, linestyle="--", label="threshold")
    ax.legend(frameon=False)
    _name_bars(ax, names)
    ax.set_title(f"{len(found)} of {found.searched:,} values stand out")
    return ax


def plot_density(distribution: Distribution, ax: Any = None, *, truth: Any = None) -> Any:
    """Draw the density; atoms as stems on a second axis whose height is their mass.

    A found atom is drawn as what its bin holds beyond what the bins around it suggest, with an
    open mark.

    Parameters
    ----------
    distribution : Distribution
        Ordered.
    ax : matplotlib.axes.Axes, optional
        Drawn into; a new figure without it.
    truth : Distribution, optional
        Drawn beside it, where it is known.
    """
    ax = _plain(ax)
    per, units = _DENSITY_PER[_unit(distribution)]
    stems = None
    points = distribution.cumulative.left == distribution.cumulative.right
    found = _found(distribution)
    if points.any() or found.size:
        wide = (distribution.cumulative.left < distribution.cumulative.right).any()
        stems = ax.twinx() if wide else ax
        stems.set_ylabel("share at one value")
    _density(distribution, ax, stems, units=units, truth=False, found=found)
    if truth is not None:
        alike = truth.cumulative.mass.size == distribution.cumulative.mass.size
        _density(truth, ax, stems, units=units, truth=True, found=found if alike else found[:0])
    if stems is not ax:
        ax.set_ylim(bottom=0)
        ax.set_ylabel(f"density, per {per}")
    _dress(ax, distribution)
    if stems is not None:
        stems.set_ylim(bottom=0)
        stems.spines[["top", "right"]].set_visible(False)
    if truth is not None or found.size:
        handles, labels = ax.get_legend_handles_labels()
        if stems is not None and stems is not ax:
            handles += stems.get_legend_handles_labels()[0]
            labels += stems.get_legend_handles_labels()[1]
        ax.legend(handles, labels, frameon=False)
    return ax


def _density(
    distribution: Distribution, ax: Any, stems: Any, *, units: float, truth: bool, found: Any
) -> None:
    """Draw one density as a filled shape, or as a line when it is the truth; atoms as stems."""
    curve = distribution.cumulative
    width = curve.right - curve.left
    wide = width > 0
    color = _TRUTH if truth else _INK
    label = "truth" if truth else "estimate"
    mass = curve.mass
    if found.size:
        mass = _without_found_atoms(distribution, stems, found, truth=truth)
    if wide.any():
        edges = np.append(curve.left[wide], curve.right[wide][-1])
        heights = units * mass[wide] / width[wide]
        ax.stairs(
            heights,
            edges,
            fill=not truth,
            color=color,
            alpha=1.0 if truth else 0.45,
            linewidth=1.0,
            label=label,
        )
        label = "_" + label  # named once is enough
    if not wide.all():
        # The truth as a thin line inside the estimate's thick one: they stand at one place.
        thick = 5.0 if np.count_nonzero(~wide) <= _MOST_LABELS else 2.0
        stems.vlines(
            curve.left[~wide],
            0,
            curve.mass[~wide],
            color=color,
            alpha=1.0 if truth else 0.45,
            linewidth=1.2 if truth else thick,
            label=label,
        )
        if thick > 2:
            stems.plot(
                curve.left[~wide],
                curve.mass[~wide],
                "o",
                color=color,
                markersize=4 if truth else 7,
                markerfacecolor="white" if truth else color,
            )


def _without_found_atoms(distribution: Distribution, stems: Any, found: Any, *, truth: bool) -> Any:
    """Draw found atoms as stems, and return the masses without them."""
    domain, mass = distribution.domain, distribution.cumulative.mass
    usual = expected_mass(mass, domain.left, domain.right, found, circular=domain.circular)
    shares = mass[found] - usual
    rest = mass.copy()
    rest[found] = usual
    middles = (domain.left + domain.right)[found] / 2
    color = _TRUTH if truth else _INK
    stems.vlines(middles, 0, shares, color=color, linewidth=1.2 if truth else 2.5, label="_stem")
    stems.plot(
        middles,
        shares,
        "D",
        color=color,
        markersize=3 if truth else 6,
        markerfacecolor=color if truth else "white",
        zorder=4 if truth else 3,
        label="_truth" if truth else "found atom (right axis)",
    )
    return rest


def plot_difference(
    difference: Difference,
    ax: Any = None,
    *,
    level: float = 0.95,
    names: tuple[str, str] | None = None,
) -> Any:
    """Draw the difference of two CDFs, or of the shares of labels, with its bands.

    Parameters
    ----------
    difference : Difference
    ax : matplotlib.axes.Axes, optional
        Drawn into; a new figure without it.
    level : float
        Of the bands.
    names : (str, str), optional
        Of the two, for the labels.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _plain(ax)
    one, two = names or ("first", "second")
    if not difference.first.domain.ordered:
        return _plot_share_differences(difference, ax, level, (one, two))
    first, second = difference.first.cumulative, difference.second.cumulative
    kinds: tuple[tuple[Kind, float], ...] = (("simultaneous", 0.35), ("pointwise", 0.75))
    for kind, alpha in kinds:
        band = difference.confidence_band(level, kind=kind)
        if band is not None:
            ax.fill_between(
                np.append(first.left[0], band.points),
                np.append(0.0, band.low),
                np.append(0.0, band.high),
                step="post" if np.array_equal(first.left, first.right) else None,
                color=_TINT,
                alpha=alpha,
                linewidth=0,
                label=f"{100 * level:g} % band ({kind})",
            )
    knots = np.column_stack([first.left, first.right]).ravel()
    ends = [np.column_stack([c.sums - c.mass, c.sums]).ravel() for c in (first, second)]
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.plot(knots, ends[0] - ends[1], color=_INK, linewidth=1.6, label="estimate")
    ax.set_ylabel(f"P(value ≤ x): {one} less {two}")
    _dress(ax, difference.first)
    ax.legend(frameon=False, loc="best")
    return ax


def _plot_share_differences(
    difference: Difference, ax: Any, level: float, names: tuple[str, str]
) -> Any:
    domain: Any = difference.first.domain
    gaps = difference.first.mass - difference.second.mass
    order = np.argsort(-np.abs(gaps), kind="stable")[:_MOST_LABELS]
    places = np.arange(order.size)
    ax.bar(places, gaps[order], color=_TINT)
    ax.axhline(0.0, color="black", linewidth=0.8)
    band = difference.confidence_band(level)
    if band is not None:
        middle = (band.low + band.high)[order] / 2
        reach = (band.high - band.low)[order] / 2
        ax.errorbar(places, middle, yerr=reach, fmt="none", ecolor=_INK, elinewidth=1, capsize=2)
    listed = domain.listed
    labels = [str(listed[i]) if i < len(listed) else "(missing)" for i in order.tolist()]
    _name_bars(ax, labels)
    ax.set_ylabel(f"share: {names[0]} less {names[1]}")
    return ax


def figure_of_difference(
    difference: Difference, *, level: float = 0.95, names: tuple[str, str] | None = None
) -> Any:
    """Return a figure with both CDFs above their difference, or with differences of shares."""
    made = _pyplot()
    if not difference.first.domain.ordered:
        figure = made(figsize=(8, 4.5), layout="constrained")
        plot_difference(difference, figure.subplots(), level=level, names=names)
        return figure
    figure = made(figsize=(8, 7), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    shown = zip((difference.first, difference.second), names or ("first", "second"), strict=True)
    for (distribution, name), color, style in zip(shown, (_INK, _TRUTH), ("-", "--"), strict=True):
        curve = distribution.cumulative
        upper.plot(
            np.column_stack([curve.left, curve.right]).ravel(),
            np.column_stack([curve.sums - curve.mass, curve.sums]).ravel(),
            color=color,
            linewidth=1.4,
            linestyle=style,
            label=name,
        )
    upper.set_ylim(0, 1.01)
    upper.set_ylabel("P(value ≤ x)")
    _dress(upper, difference.first)
    upper.legend(frameon=False, loc="lower right")
    plot_difference(difference, lower, level=level, names=names)
    return figure


def figure_of(distribution: Distribution, *, level: float = 0.95, truth: Any = None) -> Any:
    """Return a figure with the density above the CDF, or with the shares of categories."""
    made = _pyplot()
    if not distribution.domain.ordered:
        figure = made(figsize=(8, 4.5), layout="constrained")
        plot_distribution(distribution, figure.subplots(), level=level, truth=truth)
        return figure
    figure = made(figsize=(8, 7), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    plot_density(distribution, upper, truth=truth)
    plot_distribution(distribution, lower, level=level, truth=truth)
    return figure


def figure_of_heavy_hitters(found: HeavyHitters, *, level: float = 0.95) -> Any:
    """Return a figure of the largest shares with their intervals."""
    figure = _pyplot()(figsize=(10, 4), layout="constrained")
    plot_heavy_hitters(found, figure.subplots(), level=level)
    return figure


def write_picture(figure: Any, stream: IO[bytes], *, kind: Literal["png", "svg"]) -> None:
    """Write a figure; the same figure gives the same bytes."""
    import matplotlib

    # Without a date, and with identifiers that are hashes of what they name instead of random.
    options: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {"dpi": 150}
    with matplotlib.rc_context({"svg.hashsalt": "lapwing"}):
        figure.savefig(stream, format=kind, **options)
