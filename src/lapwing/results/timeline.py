"""Pictures of many distributions: numbers over time, and a small picture of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, short_repr
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import to_text
from lapwing.results.counted import counted_word
from lapwing.results.directions import Circle
from lapwing.results.distribution import Distribution
from lapwing.results.exact_values import is_exact
from lapwing.results.picture import Axis, limits_of, not_shown, people_and_guarantee
from lapwing.results.plotting import (
    ESTIMATE,
    TINT,
    TRUTH,
    dress_values,
    fill_band,
    new_figure,
    plain,
    shades,
    wrapped,
    write_percent,
)
from lapwing.results.rounding import count_text, level_text
from lapwing.results.steps import Detail, check_detail, drawn_steps, shared_steps
from lapwing.results.symbols import in_numbers, measured_in, values_of
from lapwing.results.unanswered import reason_of
from lapwing.results.uncertainty import Target

_COLUMNS = 4
"""Small pictures in a row."""

_NAMES = 14
"""Most weeks that are named below a timeline."""


_LABELS_SHOWN = 12
"""Most labels of a small picture of shares."""

_MOST_SEGMENTS = 48
"""Most segments that are drawn."""

_SEGMENT_COLUMNS = 4
"""Small pictures of segments in a row."""


@dataclass(frozen=True, eq=False)
class Track:
    """One number over time: float64 [weeks] each, NaN in gaps."""

    name: str
    heights: Vector
    low: Vector
    high: Vector

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class Timeline:
    """Numbers over time, with intervals, and marks where something changed.

    names: Of the weeks.
    tracks: Quantiles, from low to high, or shares.
    marks: Weeks with a change.
    unit: Of quantiles. None for shares.
    log: Whether equal ratios are equally far apart.
    values: Name of the numbers, with their unit of measurement.
    """

    names: list[str]
    tracks: tuple[Track, ...]
    marks: tuple[int, ...]
    unit: Unit | None
    log: bool = False
    values: str = "value"

    __repr__ = short_repr


def quantile_timeline(
    names: list[str],
    weeks: Sequence[Distribution | None],
    probabilities: Sequence[float],
    marks: tuple[int, ...],
    *,
    level: float = 0.95,
    target: Target = "empirical",
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
            value = float(in_numbers(week).quantile(probability))
            ends = in_numbers(week).quantile_interval(probability, level=level, target=target)
            # Outside the range a quantile has no place; its interval is drawn up to the end.
            low, high = np.clip(ends or (value, value), domain.left[0], domain.right[-1])
            rows[:, number] = value if math.isfinite(value) else math.nan, low, high
        name = "median" if probability == 0.5 else level_text(probability)
        tracks.append(Track(name, *rows))
    assert domain is not None
    units = {measured_in(week) for week in weeks if week is not None}
    axis = Axis.of_domain(domain, measured_in=units.pop() if len(units) == 1 else None)
    values = "value" if axis.measured_in is None else axis.label
    return Timeline(names, tuple(tracks), marks, domain.unit, axis.log, values)


def label_timeline(
    names: list[str],
    weeks: Sequence[Distribution | None],
    labels: Sequence[tuple[str, int]],
    marks: tuple[int, ...],
    *,
    level: float = 0.95,
    target: Target = "empirical",
) -> Timeline:
    """Return shares of some labels over time. Intervals hold for all labels of a week at once."""
    bands = [None if week is None else week._shown_band(level, target=target) for week in weeks]
    tracks = []
    for label, symbol in labels:
        rows = np.full((3, len(names)), np.nan)
        for number, (week, band) in enumerate(zip(weeks, bands, strict=True)):
            if week is not None:
                value = float(week.mass[symbol])
                rows[:, number] = value
                if band is not None:
                    rows[1:, number] = band.low[symbol], band.high[symbol]
        tracks.append(Track(label, *rows))
    return Timeline(names, tuple(tracks), marks, None)


def answer_timeline(
    names: list[str], columns: Mapping[str, Sequence[Any]], marks: tuple[int, ...]
) -> Timeline:
    """Return answers over time that are shares.

    columns: A column for each answer, and two for its interval that end in "_low" and "_high".
    """
    tracks = []
    for name in columns:
        if f"{name}_low" in columns:
            ends = (columns[each] for each in (name, f"{name}_low", f"{name}_high"))
            tracks.append(Track(name, *(np.array(end, dtype=np.float64) for end in ends)))
    return Timeline(names, tuple(tracks), marks, None)


def quarter_timeline(
    names: list[str],
    weeks: Sequence[Distribution | None],
    circle: Circle,
    marks: tuple[int, ...],
    *,
    level: float = 0.95,
    target: Target = "empirical",
) -> Timeline:
    """Return the shares of the four quarters of a circle over time."""
    tracks = []
    unit = next(week.domain.unit for week in weeks if week is not None)
    for quarter in circle.quarters():
        rows = np.full((3, len(names)), np.nan)
        for number, week in enumerate(weeks):
            if week is not None:
                share = week.probability(*quarter)
                ends = week.probability_interval(*quarter, level=level, target=target)
                rows[:, number] = share, *(ends or (share, share))
        left, right = (to_text(end, unit=unit).removesuffix(":00") for end in quarter)
        tracks.append(Track(f"{left} to {right}", *rows))
    return Timeline(names, tuple(tracks), marks, None)


def show_timeline(
    picture: Timeline,
    *,
    title: str | None = None,
    label: str | None = None,
    said: str | None = None,
) -> Any:
    """Draw a timeline into a new figure, and return it. MissingExtraError without matplotlib.

    `said`: who is behind it, below its title.
    """
    figure = new_figure((8, 4.4))
    ax = figure.subplots()
    weeks = np.arange(len(picture.names))
    colors = shades(len(picture.tracks), named=picture.unit is None)
    for track, color, marker in zip(picture.tracks, colors, cycle("os^Dv"), strict=False):
        line = {"color": color, "linewidth": 1.6 if track.name == "median" else 1.1}
        ax.fill_between(weeks, track.low, track.high, color=color, alpha=0.18, linewidth=0)
        ax.plot(weeks, track.heights, label=plain(track.name), marker=marker, markersize=3, **line)
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
    values = plain(label) if label else None  # on the axis, or of what each line is a share
    ax.set_ylabel("share" if picture.unit is None else values or plain(picture.values))
    ax.set_xlim(-0.6, len(weeks) - 0.4)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    handles, names = ax.get_legend_handles_labels()
    tracks = len(picture.tracks)
    if picture.unit is not None:  # the highest line first, as they stand
        handles[:tracks], names[:tracks] = handles[:tracks][::-1], names[:tracks][::-1]
    place: Any = {"frameon": False, "loc": "outside lower center", "ncols": min(len(names), 5)}
    figure.legend(handles, names, title=values if picture.unit is None else None, **place)
    if said is not None:
        ax.set_title(wrapped(said, 110), fontsize="small", color="0.3")
    if title is not None:
        figure.suptitle(plain(title), fontweight="bold")
    return figure


def panels_of(
    weeks: Sequence[tuple[str, Distribution | None]],
    marks: set[int],
    *,
    detail: Detail = "resolved",
    compared: bool = True,
    title: str | None = None,
    label: str | None = None,
    said: str | None = None,
    level: float = 0.95,
    target: Target = "empirical",
) -> Any:
    """Draw every week, or every segment, small and filled. Return the figure.

    Weeks of numbers have bands, and the same steps: those of the week with the fewest. `compared`:
    with the outline of the week before each. `said`: who is behind them, below the title.
    """
    check_detail(detail)
    found_weeks = [found for _, found in weeks if found is not None]
    steps = shared_steps(found_weeks) if detail == "resolved" else None
    columns, height = (_COLUMNS, 1.3) if compared else (_SEGMENT_COLUMNS, 1.8)
    columns = min(columns, len(weeks))
    rows = -(-len(weeks) // columns)
    figure = new_figure((8, 0.2 + height * rows))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    before: tuple[Vector, Vector] | None = None
    for number, ((name, found), ax) in enumerate(zip(weeks, panels, strict=False)):
        changed = number in marks
        look = {"color": TRUTH, "fontweight": "bold"} if changed else {"color": "0.3"}
        ax.set_title(plain(name), fontsize=9, pad=2, **look)
        ax.tick_params(labelsize=8, length=2)
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
        if found is None:
            why = "gap" if compared else "too few people"
            ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", color="0.5", fontsize=8)
            continue
        edges, heights, band = _outline(found, steps, level=level, target=target)
        ax.stairs(heights, edges, fill=True, color=TINT)
        if band is not None:
            fill_band(ax, *band, edges, label=None)
        ax.stairs(heights, edges, color=ESTIMATE, linewidth=0.8)
        if before is not None:
            ax.stairs(before[1], before[0], color=TRUTH if changed else "0.6", linewidth=0.7)
        before = (edges, heights) if compared else None
    for number, ax in enumerate(panels[len(weeks) :], len(weeks)):
        ax.set_axis_off()
        if number >= columns:  # the picture above it is the lowest of its column
            panels[number - columns].tick_params(labelbottom=True)
    first, beyond = found_weeks[0], None
    if first.domain.ordered:
        curves = [found.cumulative for found in found_weeks]
        limits = limits_of(first.domain, curves)
        beyond = not_shown(first.domain, curves, limits)
        axis = Axis.of_domain(first.domain, limits)
        panels[0].set_xlim(axis.low, axis.high)
        if axis.log:
            panels[0].set_xscale("log")
        dress_values(panels[0].xaxis, axis.unit, (axis.low, axis.high), log=axis.log, few=True)
    panels[0].set_ylim(bottom=0)
    if label is not None:
        figure.supxlabel(plain(label), fontsize="small")
    told = ["each with the outline of the previous week. Changes are marked"] if compared else []
    if first.domain.ordered and first.uncertainty is not None:
        band_of = f"simultaneous {level_text(level)} band of each"
        told.append(f"grey: {band_of} {'week' if compared else 'segment'}")
    told = [title or "", said or "", "; ".join(told), beyond or ""]
    text = "\n".join(wrapped(each, 110) for each in told if each)
    figure.suptitle(text, fontsize="small", color="0.3")
    figure.set_figheight(figure.get_figheight() + 0.2 * (text.count("\n") + 1))
    return figure


def segments_figure(
    segments: Mapping[str, Distribution],
    *,
    people: int | None = None,
    level: float = 0.95,
    target: Target = "empirical",
    detail: Detail = "resolved",
    title: str | None = None,
    label: str | None = None,
) -> Any:
    """Draw the distribution within each segment small, on common axes. Return the figure.

    A segment of too few people to be estimated is named and has no picture. `people`: the public
    number of all, where there is one.
    """
    known = [
        (name, each if each.uncertainty and reason_of(each) is None else None)
        for name, each in segments.items()
    ]
    left_out = len(known) - _MOST_SEGMENTS
    if left_out > 0:
        largest = sorted(segments, key=lambda name: -segments[name].reports)[:_MOST_SEGMENTS]
        known = [(name, each) for name, each in known if name in set(largest)]
    drawn = [each for _, each in known if each is not None]
    if not drawn:
        raise ArgumentError("every segment has too few people to be drawn")
    about = people_and_guarantee(
        people or 0, drawn[0].guarantee, target, exact=any(map(is_exact, drawn))
    )
    most = f"the {_MOST_SEGMENTS} largest of {count_text(len(segments))} segments"
    text = "\n".join(filter(None, [title, about, most if left_out > 0 else None])) or None
    if drawn[0].domain.ordered:
        how: dict[str, Any] = {"level": level, "target": target, "title": text, "label": label}
        return panels_of(known, set(), detail=detail, compared=False, **how)
    return _label_panels(known, drawn, level=level, target=target, title=text, label=label)


def _label_panels(
    segments: Sequence[tuple[str, Distribution | None]],
    drawn: Sequence[Distribution],
    *,
    level: float,
    target: Target,
    title: str | None,
    label: str | None,
) -> Any:
    """Draw the shares of the largest labels in each segment, with simultaneous intervals."""
    mean = np.mean([each.mass for each in drawn], axis=0)
    order = np.argsort(-mean, kind="stable")[:_LABELS_SHOWN]
    values = values_of(drawn[0].domain, order)
    names = ["(missing)" if value is None else str(value)[:24] for value in values]
    rows = -(-len(segments) // _SEGMENT_COLUMNS)
    figure = new_figure((10, 0.8 + rows * (0.6 + 0.2 * order.size)))
    panels = figure.subplots(rows, _SEGMENT_COLUMNS, sharex=True, sharey=True, squeeze=False)
    places = np.arange(order.size)
    for (name, each), ax in zip(segments, panels.ravel(), strict=False):
        ax.set_title(plain(name), fontsize=8, pad=2, color="0.3")
        ax.tick_params(labelsize=7, length=2)
        ax.spines[["top", "right"]].set_visible(False)
        if each is None:
            few = {"transform": ax.transAxes, "ha": "center", "color": "0.5", "fontsize": 8}
            ax.text(0.5, 0.5, f"too few {counted_word(drawn[0].guarantee)}", **few)
            continue
        heights = each.mass[order]
        ax.barh(places, heights, color=TINT, edgecolor=ESTIMATE, linewidth=0.5)
        band = each._shown_band(level, target=target)
        if band is not None:
            low, high = band.low[order], band.high[order]
            look = {"fmt": "none", "ecolor": ESTIMATE, "elinewidth": 1}
            ax.errorbar((low + high) / 2, places, xerr=(high - low) / 2, **look)
    for number, ax in enumerate(panels.ravel()[len(segments) :], len(segments)):
        ax.set_axis_off()
        if number >= _SEGMENT_COLUMNS:
            panels.ravel()[number - _SEGMENT_COLUMNS].tick_params(labelbottom=True)
    first = panels[0, 0]
    first.set_yticks(places, [plain(name) for name in names])
    first.set_ylim(order.size - 0.4, -0.6)
    first.set_xlim(left=0)
    first.xaxis.set_major_formatter(write_percent)
    figure.supxlabel(plain(label or "share within the segment"), fontsize="small")
    told = f"Lines: simultaneous {level_text(level)} intervals of each segment"
    if order.size < mean.size:
        told = f"the {order.size} largest of {count_text(mean.size)} labels. {told}"
    text = "\n".join(filter(None, [title, told]))
    figure.suptitle(wrapped(text, 110), fontsize="medium", color="0.3")
    return figure


def _outline(
    found: Distribution, steps: int | None, *, level: float, target: Target
) -> tuple[Vector, Vector, tuple[Vector, Vector] | None]:
    """Return edges, heights and band of a week in so many steps. Of labels bars without a band."""
    if not found.domain.ordered:
        size = found.mass.size
        return np.arange(size + 1.0), np.array(found.mass), None
    drawn, axis = (
        drawn_steps(found, steps=steps, level=level, target=target),
        Axis.of_domain(found.domain),
    )
    lengths = axis.lengths(drawn.edges[:-1], drawn.edges[1:])
    band = None
    if drawn.low is not None and drawn.high is not None:
        band = drawn.low / lengths, drawn.high / lengths
    return drawn.edges, drawn.shares / lengths, band


def _ends(picture: Timeline) -> tuple[float, float]:
    rows = [part for track in picture.tracks for part in (track.low, track.high)]
    return float(np.nanmin(rows)), float(np.nanmax(rows))


def _name_weeks(ax: Any, names: list[str]) -> None:
    every = -(-len(names) // _NAMES)
    shown = np.arange(0, len(names), every)
    ax.set_xticks(shown, [plain(names[week]) for week in shown], rotation=45, ha="right")
