"""Pictures of a series: quantiles or shares over time, and a small picture of every week."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.text_values import Unit
from lapwing.results.distribution import Distribution
from lapwing.results.picture import Axis
from lapwing.results.plotting import (
    ESTIMATE,
    TINT,
    TRUTH,
    dress_values,
    new_figure,
    plain,
    shades,
    write_percent,
)

_COLUMNS = 6
"""Small pictures in a row."""

_NAMES = 14
"""Most weeks that are named below a timeline."""


@dataclass(frozen=True, eq=False)
class Track:
    """One number over time: float64 [weeks] each, NaN in gaps."""

    name: str
    heights: Vector
    low: Vector
    high: Vector


@dataclass(frozen=True, eq=False)
class Timeline:
    """Numbers over time, with intervals, and marks where something changed.

    Parameters
    ----------
    names : list of str
        Of the weeks.
    tracks : tuple of Track
        Quantiles, from low to high, or shares.
    marks : tuple of int
        Weeks with a change.
    unit : str or None
        Of quantiles; None for shares.
    log : bool
        Whether equal ratios are equally far apart.
    """

    names: list[str]
    tracks: tuple[Track, ...]
    marks: tuple[int, ...]
    unit: Unit | None
    log: bool = False


def quantile_timeline(
    names: list[str],
    weeks: Sequence[Distribution | None],
    probabilities: Sequence[float],
    marks: tuple[int, ...],
    *,
    level: float = 0.95,
) -> Timeline:
    """Return quantiles over time, in the numbers of the unit."""
    tracks = []
    domain: Domain | None = None
    for probability in probabilities:
        rows = np.full((3, len(names)), np.nan)
        for number, week in enumerate(weeks):
            if week is None:
                continue
            domain = week.domain
            value = float(week._in_numbers().quantile(probability))
            ends = week._in_numbers().quantile_interval(probability, level=level)
            rows[:, number] = (value, *(ends or (value, value)))
        name = "median" if probability == 0.5 else f"{100 * probability:g} %"
        tracks.append(Track(name, *rows))
    assert domain is not None
    return Timeline(names, tuple(tracks), marks, domain.unit, Axis.of_domain(domain).log)


def label_timeline(
    names: list[str],
    weeks: Sequence[Distribution | None],
    labels: Sequence[tuple[str, int]],
    marks: tuple[int, ...],
    *,
    level: float = 0.95,
) -> Timeline:
    """Return shares of some labels over time."""
    bands = [None if week is None else week.confidence_band(level) for week in weeks]
    tracks = []
    for label, symbol in labels:
        rows = np.full((3, len(names)), np.nan)
        for number, (week, band) in enumerate(zip(weeks, bands, strict=True)):
            if week is not None:
                value = float(week.mass[symbol])
                low = value if band is None else min(value, float(band.low[symbol]))
                high = value if band is None else max(value, float(band.high[symbol]))
                rows[:, number] = value, low, high
        tracks.append(Track(label, *rows))
    return Timeline(names, tuple(tracks), marks, None)


def show_timeline(picture: Timeline, *, title: str | None = None, label: str | None = None) -> Any:
    """Draw a timeline into a new figure, and return it; MissingExtraError without matplotlib."""
    figure = new_figure((9, 4.2))
    ax = figure.subplots()
    weeks = np.arange(len(picture.names))
    colors = shades(len(picture.tracks), named=picture.unit is None)
    for track, color in zip(picture.tracks, colors, strict=True):
        line = {"color": color, "linewidth": 1.6 if track.name == "median" else 1.1}
        ax.fill_between(weeks, track.low, track.high, color=color, alpha=0.18, linewidth=0)
        ax.plot(weeks, track.heights, label=plain(track.name), marker=".", markersize=4, **line)
    for number, mark in enumerate(picture.marks):
        told = {"label": "change"} if number == 0 else {}
        ax.axvline(mark - 0.5, color=TRUTH, linewidth=1.1, linestyle="--", **told)
    missing = np.flatnonzero(np.isnan(picture.tracks[0].heights))
    for number, week in enumerate(missing.tolist()):
        told = {"label": "gap"} if number == 0 else {}
        ax.axvspan(week - 0.5, week + 0.5, color="0.9", linewidth=0, **told)
    _name_weeks(ax, picture.names)
    if picture.unit is None:
        ax.yaxis.set_major_formatter(write_percent)
        ax.set_ylim(bottom=0)
    else:
        dress_values(ax.yaxis, picture.unit, _ends(picture), log=picture.log)
        if picture.log:
            ax.set_yscale("log")
    ax.set_ylabel(plain(label) if label else ("share" if picture.unit is None else "value"))
    ax.set_xlim(-0.6, len(weeks) - 0.4)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    handles, names = ax.get_legend_handles_labels()
    tracks = len(picture.tracks)
    if picture.unit is not None:  # the highest line first, as they stand
        handles[:tracks], names[:tracks] = handles[:tracks][::-1], names[:tracks][::-1]
    ax.legend(handles, names, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    if title is not None:
        ax.set_title(plain(title), fontsize="medium")
    return figure


def panels_of(
    weeks: Sequence[tuple[str, Distribution | None]],
    marks: set[int],
    *,
    title: str | None = None,
    label: str | None = None,
) -> Any:
    """Draw every week small, filled, with the outline of the week before it; return the figure."""
    rows = -(-len(weeks) // _COLUMNS)
    figure = new_figure((10, 0.6 + 1.15 * rows))
    panels = figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    before: tuple[Vector, Vector] | None = None
    for number, ((name, found), ax) in enumerate(zip(weeks, panels, strict=False)):
        changed = number in marks
        look = {"color": TRUTH, "fontweight": "bold"} if changed else {"color": "0.3"}
        ax.set_title(plain(name), fontsize=8, pad=2, **look)
        ax.tick_params(labelsize=7, length=2)
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
        if found is None:
            ax.text(0.5, 0.5, "gap", transform=ax.transAxes, ha="center", color="0.5", fontsize=8)
            continue
        edges, heights = _outline(found)
        ax.stairs(heights, edges, fill=True, color=TINT)
        ax.stairs(heights, edges, color=ESTIMATE, linewidth=0.8)
        if before is not None:
            ax.stairs(before[1], before[0], color=TRUTH if changed else "0.6", linewidth=0.7)
        before = edges, heights
    for number, ax in enumerate(panels[len(weeks) :], len(weeks)):
        ax.set_axis_off()
        if number >= _COLUMNS:  # the picture above it is the lowest of its column
            panels[number - _COLUMNS].tick_params(labelbottom=True)
    first = next(found for _, found in weeks if found is not None)
    if first.domain.ordered:
        axis = Axis.of_domain(first.domain)
        panels[0].set_xlim(axis.low, axis.high)
        if axis.log:
            panels[0].set_xscale("log")
        dress_values(panels[0].xaxis, axis.unit, (axis.low, axis.high), log=axis.log, few=True)
    panels[0].set_ylim(bottom=0)
    if label is not None:
        figure.supxlabel(plain(label), fontsize="small")
    told = "each with the outline of the week before it; changes are marked"
    figure.suptitle(plain(title) if title else told, fontsize="medium", color="0.3")
    return figure


def _outline(found: Distribution) -> tuple[Vector, Vector]:
    """Return edges and heights of the bars of a week; atoms as bars of their neighbors' width."""
    if not found.domain.ordered:
        size = found.mass.size
        return np.arange(size + 1.0), np.array(found.mass)
    curve = found.cumulative
    wide = curve.right > curve.left
    if not wide.any():
        edges = np.append(curve.left - 0.5, curve.left[-1] + 0.5)
        return edges, curve.mass
    axis = Axis.of_domain(found.domain)
    lengths = axis.lengths(curve.left, curve.right)[wide]
    return np.append(curve.left[wide], curve.right[wide][-1]), curve.mass[wide] / lengths


def _ends(picture: Timeline) -> tuple[float, float]:
    rows = [part for track in picture.tracks for part in (track.low, track.high)]
    return float(np.nanmin(rows)), float(np.nanmax(rows))


def _name_weeks(ax: Any, names: list[str]) -> None:
    every = -(-len(names) // _NAMES)
    shown = np.arange(0, len(names), every)
    ax.set_xticks(shown, [plain(names[week]) for week in shown], rotation=45, ha="right")
