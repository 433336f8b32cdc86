"""Pictures of results as plain data: what is to be seen, and nothing of how it is drawn.

A result makes them, :mod:`lapwing.results.plotting` draws them. So no result knows a drawing
library, drawing knows no result, and who draws by other means starts from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.arrays import Vector, short_repr
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.ranges import OpenEnd, open_end, to_points
from lapwing.protocol.domains.text_values import Unit
from lapwing.questions import Histogram, Question, Share
from lapwing.results.atoms import expected_mass, found_bins
from lapwing.results.counted import counted_word, whom
from lapwing.results.cumulative import Cumulative
from lapwing.results.exact_values import EXACT, is_exact
from lapwing.results.question_answers import in_place_of_curve, question_table
from lapwing.results.rounding import beyond_text, count_text, level_text, number_writer, percent
from lapwing.results.steps import Detail, Steps, drawn_steps, shared_steps
from lapwing.results.symbols import measured_in, values_of
from lapwing.results.unanswered import reason_of
from lapwing.results.uncertainty import Band, DifferenceBand, Target

BAR_LIMIT = 40
"""How many bars can be read. Of more values the largest are shown."""

Role = Literal["estimate", "truth", "first", "second"]
"""What a line or a density stands for."""

_LABELS: dict[Unit, str] = {
    "number": "value",
    "date": "date",
    "datetime": "date and time",
    "time-of-day": "time of day",
    "duration": "duration",
}


def people_and_guarantee(
    reports: int, guarantee: Guarantee | None, target: Target | None = None, *, exact: bool = False
) -> str | None:
    """Return how many people are behind a result and what they were promised, in one line.

    With a target, a second line says whom the intervals are about. Where something drawn is of
    exact values, the first line says that it is not private.
    """
    people = f"{count_text(reports)} {counted_word(guarantee, reports)}" if reports else ""
    first = "; ".join(filter(None, (people, str(guarantee or ""), EXACT * exact)))
    about = f"intervals about {whom(target, guarantee, reports)}" if target else ""
    return "\n".join(filter(None, (first, about))) or None


Limits = tuple[float, float]
"""Ends of an axis, in the numbers of the unit of a domain."""


def title_of(result: Any, target: Target, truth: Any, beyond: str | None = None) -> str | None:
    """Return :func:`people_and_guarantee`, what a truth is, and who is beyond the picture."""
    about = None if result.uncertainty is None else target
    exact = is_exact(result)
    lines = people_and_guarantee(result.reports, result.guarantee, about, exact=exact)
    known = f"truth: {EXACT}" if truth is not None and is_exact(truth) else None
    return "\n".join(filter(None, (lines, known, beyond))) or None


def not_shown(
    domain: Domain, curves: Sequence[Cumulative], limits: Limits | None = None
) -> str | None:
    """Return which shares are beyond the ends of a picture. None where they round to zero.

    curves: Of several the largest share is said.
    limits: The ends, where they are not those of the domain.
    """
    left, right = (_inside(domain, ends) for ends in (domain.left, domain.right))
    low, high = limits or (left[0], right[-1])
    write, most = number_writer(domain.unit), "up to " if len(curves) > 1 else ""
    outside = domain.outside_indices
    words: tuple[OpenEnd, OpenEnd] = ("below", "above")
    if domain.closed == "left":
        words = ("below", "at_least")
    ends = ((low, left[0], words[0], 0), (high, right[-1], words[1], -1))
    told = []
    for end, edge, word, symbol in ends:
        if end != edge:
            shares = [curve.at(end) if symbol == 0 else 1 - curve.at(end) for curve in curves]
        elif outside:
            shares = [curve.mass[symbol] for curve in curves]
            known = open_end(domain, outside[symbol])
            word = word if known is None else known
        else:
            continue
        if max(shares) >= _SHOWN:
            where = beyond_text(write(float(end)), domain.unit, word)
            told.append(f"{most}{percent(float(max(shares)))} {where}")
    return f"not shown: {', '.join(told)}" if told else None


def limits_of(
    domain: Domain, curves: Sequence[Cumulative], xlim: tuple[Any, Any] | None = None
) -> Limits | None:
    """Return the ends of an axis: those asked for, or those of what is not a long thin tail.

    domain: Ordered.
    curves: The results that are drawn. Quantiles are those of their mean.
    xlim: The requested limits. None for an end of the domain.
    returns: None: the ends of the domain.

    Raises ArgumentError unless `xlim` are two increasing values in the range of the domain.
    """
    left, right = (_inside(domain, ends) for ends in (domain.left, domain.right))
    low, high = float(left[0]), float(right[-1])
    if xlim is not None:
        return _asked_limits(xlim, domain, low, high)
    axis = Axis.of_domain(domain)
    if domain.circular or axis.whole:
        return None
    edges = np.append(left, right[-1])
    positions = axis.lengths(
        np.full_like(edges, low if low > 0 or not axis.log else edges[1]), edges
    )
    inside = slice(1, -1) if domain.outside_indices else slice(None)
    # Of those inside the range: the rest is no part of the picture.
    masses = [curve.mass[inside] / max(float(curve.mass[inside].sum()), _SHOWN) for curve in curves]
    sums = np.append(0.0, np.cumsum(np.mean(masses, axis=0)))
    last = int(np.searchsorted(sums, 1 - TAIL))
    first = int(np.searchsorted(sums, TAIL, side="right")) - 1
    last, first = min(last, edges.size - 1), max(first, 0)
    if positions[last] - positions[0] > MUCH * (positions[-1] - positions[0]):
        last = edges.size - 1
    if positions[last] - positions[first] > MUCH * (positions[last] - positions[0]):
        first = 0
    found = float(edges[first]), float(edges[last])
    return None if found == (low, high) or first >= last else found


def _asked_limits(xlim: Any, domain: Domain, low: float, high: float) -> Limits:
    if not isinstance(xlim, tuple | list) or len(xlim) != 2:
        raise ArgumentError("xlim", "must be two values, such as xlim=(0, 100)", repr(xlim))
    given = [
        end if asked is None else float(to_points(asked, unit=domain.unit, name="an end of xlim"))
        for asked, end in zip(xlim, (low, high), strict=True)
    ]
    if not low <= given[0] < given[1] <= high:
        write = number_writer(domain.unit)
        raise ArgumentError(
            "xlim",
            f"must be two increasing values from {write(low)} to {write(high)}",
            f"{write(given[0])} and {write(given[1])}",
        )
    return given[0], given[1]


TAIL = 0.005
"""Share of the people at an end of the line that a picture may leave out."""

MUCH = 0.5
"""It does so where the axis becomes this much of what it was, or less."""


_SHOWN = 0.00005
"""A smaller share outside is not said."""


def name_of(band: Band | DifferenceBand, what: str) -> str:
    """Return what a legend calls a band or its intervals."""
    return f"{level_text(band.level)} {what} ({band.kind})"


def _inside(domain: Domain, ends: Vector) -> Vector:
    """Return the ends of the symbols that are inside the range."""
    return ends[1:-1] if domain.outside_indices else ends


@dataclass(frozen=True)
class Axis:
    """The line on which the values of an ordered domain lie.

    low, high: Its ends, in the numbers of the unit.
    log: Whether equal ratios are equally far apart.
    atom_at_end: Whether one of the ends holds mass itself: a frame would hide it.
    whole: Whether only whole numbers have places on it.
    measured_in: Unit of measurement of plain numbers.
    """

    _PER: ClassVar[dict[Unit, tuple[str, int]]] = {
        "number": ("unit", 1),
        "date": ("day", 1),
        "datetime": ("day", 86_400),
        "time-of-day": ("hour", 3600),
    }
    _STEPS: ClassVar = (("hour", 3600), ("minute", 60), ("second", 1))
    """Of durations, whose axis may be long or short."""

    low: float
    high: float
    unit: Unit
    log: bool
    atom_at_end: bool
    whole: bool = False
    measured_in: str | None = None

    @classmethod
    def of_domain(
        cls, domain: Domain, limits: Limits | None = None, *, measured_in: str | None = None
    ) -> Axis:
        """Return the axis of a domain, or a part of it. DomainError when it is not ordered."""
        left, right = (_inside(domain, ends) for ends in (domain.left, domain.right))
        log = isinstance(domain, Interval) and domain.scale == "log"
        at_end = left[0] == right[0] or left[-1] == right[-1]
        whole = np.array_equal(left, right)
        ends = limits or (float(left[0]), float(right[-1]))
        return cls(*ends, domain.unit, log, bool(at_end), whole, measured_in)

    @property
    def label(self) -> str:
        """Quantity on the x-axis."""
        unit = "" if self.measured_in is None else f", {self.measured_in}"
        return _LABELS[self.unit] + unit

    @property
    def per(self) -> str:
        """The unit of a density: a step along the axis that looks equally long everywhere."""
        return "factor of 10" if self.log else self.measured_in or self._step[0]

    def lengths(self, left: Vector, right: Vector) -> Vector:
        """Return how long pieces of the axis are, in what a density is per."""
        if self.log:
            # An atom at zero has no place on such an axis; it has no length either.
            wide = right > left
            ratio = np.divide(right, left, out=np.ones_like(right), where=wide & (left > 0))
            return np.log10(ratio)
        return (right - left) / self._step[1]

    @property
    def _step(self) -> tuple[str, int]:
        """A step along the axis, and its length."""
        if self.unit != "duration":
            return self._PER[self.unit]
        return next(
            step for step in self._STEPS if self.high - self.low >= 2 * step[1] or step[1] == 1
        )


@dataclass(frozen=True, eq=False)
class Line:
    """Points joined by a line: float64 [points] each. A step has two points at one x."""

    x: Vector
    y: Vector
    role: Role = "estimate"
    name: str = "estimate"

    __repr__ = short_repr

    @classmethod
    def of_cdf(cls, curve: Cumulative, role: Role = "estimate", name: str | None = None) -> Line:
        """Return the line of a CDF, through both ends of each piece.

        It begins with those below the range and ends before those above: where beyond its ends they
        are, nobody knows.
        """
        inside = slice(1, -1) if curve.outside else slice(None)
        x = np.column_stack([curve.left, curve.right])[inside].ravel()
        y = np.column_stack([curve.sums - curve.mass, curve.sums])[inside].ravel()
        return cls(x, y, role, role if name is None else name)


@dataclass(frozen=True, eq=False)
class Curves:
    """CDFs, or the difference of two, in their bands.

    lines: The last on top.
    label: Quantity on the y-axis.
    bands: The last on top. :class:`Outline` is how they are filled.
    stepped: Whether bands step where the lines do: for whole numbers and lone atoms.
    atoms: float64 [detected atoms]: the middles of the bins in which atoms were found.
    signed: Whether heights may be negative, as those of a difference.
    outside: Whether the first and the last point of bands are those of values outside the range.
    title: How many people are behind it, and their privacy guarantee.
    """

    size: ClassVar[tuple[float, float]] = (8, 3.5)
    """Width and height of a figure, in inches."""

    axis: Axis
    lines: tuple[Line, ...]
    _: KW_ONLY
    label: str = "P(value ≤ x)"
    bands: tuple[Band | DifferenceBand, ...] = ()
    stepped: bool = False
    atoms: Vector | None = None
    signed: bool = False
    outside: bool = False
    title: str | None = None

    @classmethod
    def of_cdf(
        cls,
        axis: Axis,
        curve: Cumulative,
        band: Band | None,
        *,
        atom_bins: NDArray[np.int64],
        truth: Cumulative | None,
        title: str | None,
        name: str = "estimate",
    ) -> Curves:
        """Return the picture of one CDF. `atom_bins`: the bins in which atoms were found."""
        known = () if truth is None else (Line.of_cdf(truth, "truth"),)
        return cls(
            axis,
            (*known, Line.of_cdf(curve, name=name)),
            bands=() if band is None else (band,),
            stepped=axis.whole,
            atoms=(curve.left + curve.right)[atom_bins] / 2 if atom_bins.size else None,
            outside=curve.outside,
            title=title,
        )


@dataclass(frozen=True, eq=False)
class Outline:
    """The two curves of a band between which it is filled: float64 [corners] each."""

    x: Vector
    low: Vector
    high: Vector

    __repr__ = short_repr

    @classmethod
    def of_band(
        cls, band: Band | DifferenceBand, axis: Axis, *, stepped: bool, outside: bool = False
    ) -> Outline:
        """Return what an answer says at each place on an axis.

        Inside a bin a CDF is only known never to fall. So the band reaches from the lower curve at
        the left edge to the upper one at the right edge. Whole numbers have no inside: with
        `stepped`, the band stays as it is until the next. Of a difference only the edges are known,
        and straight lines join them. With `outside`, the first point of the band is how many are
        below the range, and the last one is left out.
        """
        inside = slice(1, -1) if outside else slice(None)
        first_low, first_high = (band.low[0], band.high[0]) if outside else (0.0, 0.0)
        if isinstance(band, Band) and not stepped:
            below = np.append(first_low, band.low[inside][:-1])
            x = np.column_stack([band.starts, band.points])[inside].ravel()
            return cls(x, np.repeat(below, 2), np.repeat(band.high[inside], 2))
        x, low, high = (
            np.append(first, rest[inside])
            for first, rest in (
                (axis.low, band.points),
                (first_low, band.low),
                (first_high, band.high),
            )
        )
        if stepped:
            x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
        return cls(x, low, high)


@dataclass(frozen=True, eq=False)
class Shape:
    """One density: bins by their heights, single values by their shares.

    edges, heights: float64 [bins + 1] and [bins]. Both empty where no bin has a width.
    points, shares: float64 [atoms] each: declared atoms, or whole numbers.
    atoms, excess: float64 [detected atoms] each: the middles of their bins, and their reported
        shares. For a truth, the shares are the excess of their bins over the surroundings. In
        `heights` such a bin has what the bins around it suggest.
    low, high: float64 [bins], or [atoms] where there are no bins: their band.
    merged: Bins that are drawn as these steps. 0 where each is drawn.
    name: Name in a legend.
    """

    edges: Vector
    heights: Vector
    points: Vector
    shares: Vector
    atoms: Vector
    excess: Vector
    role: Role
    low: Vector | None = None
    high: Vector | None = None
    merged: int = 0
    name: str = "estimate"

    __repr__ = short_repr

    @classmethod
    def of_steps(
        cls,
        steps: Steps,
        curve: Cumulative,
        atom_bins: NDArray[np.int64],
        excess: Vector,
        *,
        axis: Axis,
        role: Role = "estimate",
        name: str = "estimate",
    ) -> Shape:
        """Return the density of steps of a CDF.

        `atom_bins` and `excess`: the bins in which atoms were found, and what is drawn of these.
        """
        points = curve.left == curve.right
        if curve.outside:  # which are no single values
            points[[0, -1]] = False
        band = steps.low, steps.high
        merged = steps.bins if steps.shares.size < steps.bins else 0
        if axis.whole and not merged:
            edges, heights = steps.edges[:0], steps.shares[:0]
        else:
            edges = steps.edges
            lengths = axis.lengths(edges[:-1], edges[1:])
            heights = steps.shares / lengths
            band = (
                (None, None)
                if steps.low is None or steps.high is None
                else (steps.low / lengths, steps.high / lengths)
            )
            if axis.whole:
                points = np.zeros_like(points)
        return cls(
            edges,
            heights,
            curve.left[points],
            curve.mass[points],
            (curve.left + curve.right)[atom_bins] / 2,
            excess,
            role,
            *band,
            merged,
            name,
        )


@dataclass(frozen=True, eq=False)
class Densities:
    """A density, and perhaps the true one, with shares of single values.

    Both stand on one scale: a single value is as high as a bin of usual width that holds as many
    people (:attr:`usual_length`). A scale of its own would draw the smallest atom as high as the
    mode.

    shapes: The estimate first.
    title: How many people are behind it, and their privacy guarantee.
    level: Of the bands, each of which holds at all steps at once.
    """

    size: ClassVar[tuple[float, float]] = (8, 3.5)
    """Width and height of a figure, in inches."""

    axis: Axis
    shapes: tuple[Shape, ...]
    title: str | None = None
    level: float = 0.95

    @classmethod
    def of_steps(
        cls,
        axis: Axis,
        curve: Cumulative,
        steps: Steps,
        *,
        atom_bins: NDArray[np.int64],
        shares: Vector,
        truth: tuple[Domain, Cumulative] | None,
        title: str | None,
        level: float,
        name: str = "estimate",
    ) -> Densities:
        """Return the picture of one density, and of a truth in as many steps.

        `atom_bins` and `shares`: the bins in which atoms were found, and what is reported of these.
        """
        shapes = [Shape.of_steps(steps, curve, atom_bins, shares, axis=axis, name=name)]
        if truth is not None:
            place, known = truth
            there = atom_bins if known.mass.size == curve.mass.size else atom_bins[:0]
            ends = known.left, known.right
            usual = expected_mass(known.mass, *ends, there, circular=place.circular)
            true_steps = Steps.of_mass(place, known.mass, steps.shares.size, atom_bins=there)
            excess = known.mass[there] - usual
            told: dict[str, Any] = {"axis": axis, "role": "truth", "name": "truth"}
            shapes.append(Shape.of_steps(true_steps, known, there, excess, **told))
        return cls(axis, tuple(shapes), title, level)

    @property
    def label(self) -> str:
        """Quantity on the y-axis."""
        return f"density, per {self.axis.per}"

    @property
    def band_name(self) -> str:
        """Name of the bands in the legend."""
        return f"{level_text(self.level)} band (simultaneous)"

    @property
    def usual_length(self) -> float:
        """Factor from a density to the share of a step of median width. 1 without steps."""
        edges = self.shapes[0].edges
        if edges.size < 2:
            return 1.0
        return float(np.median(self.axis.lengths(edges[:-1], edges[1:])))


@dataclass(frozen=True, eq=False)
class Bars:
    """Shares of labels, or differences of shares, the largest first.

    values: Whose bars they are: labels, or numbers. None for those who have none.
    heights: float64 [bars].
    intervals: float64 [bars] each: their lower and upper ends.
    interval_name: Name of the intervals.
    truth: float64 [bars]: true shares.
    threshold: From which a share is listed.
    label: Quantity on the y-axis.
    title: How many people are behind them, their privacy guarantee, and how many bars are left out.
    signed: Whether heights may be negative, as those of a difference.
    dots: Whether they are drawn as points, as answers that do not add up to one.
    """

    values: list[Any]
    heights: Vector
    _: KW_ONLY
    intervals: tuple[Vector, Vector] | None = None
    interval_name: str = "interval"
    truth: Vector | None = None
    threshold: float | None = None
    label: str = "share"
    title: str | None = None
    signed: bool = False
    dots: bool = False

    __repr__ = short_repr

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure in which no two labels touch, in inches."""
        return 8.0, max(2.4, 1.2 + 0.24 * self.heights.size)

    @classmethod
    def of_symbols(
        cls,
        domain: Domain,
        heights: Vector,
        band: Band | DifferenceBand | None,
        *,
        truth: Vector | None = None,
        label: str = "share",
        title: str | None = None,
        signed: bool = False,
    ) -> Bars:
        """Return the bars of the largest symbols of a domain without order."""
        order = np.argsort(-np.abs(heights), kind="stable")[:BAR_LIMIT]
        if order.size < domain.size:
            what = "differences" if signed else "shares"
            shown = f"the {order.size} largest of {count_text(domain.size)} {what}"
            title = shown if title is None else f"{title}\n{shown}"
        return cls(
            values_of(domain, order),
            heights[order],
            intervals=None if band is None else (band.low[order], band.high[order]),
            interval_name="" if band is None else name_of(band, "interval"),
            truth=None if truth is None else truth[order],
            label=label,
            title=title,
            signed=signed,
        )

    @classmethod
    def of_answers(
        cls, result: Any, asked: Sequence[Question], truth: Any, *, level: float, target: Target
    ) -> Bars:
        """Return the answers to questions about shares as points, in the order of the questions."""

        def rows(one: Any) -> dict[str, Any]:
            answers = [one.answer(each, level=level, target=target) for each in asked]
            table = question_table(answers, one.domain)
            return {
                name: [row[name] for row in table]
                if name == "question"
                else np.array([row[name] for row in table], dtype=np.float64)
                for name in ("question", "value", "low", "high")
            }

        found, none = rows(result), result.uncertainty is None
        return cls(
            found["question"],
            found["value"],
            intervals=None if none else (found["low"], found["high"]),
            interval_name=f"{level_text(level)} interval (pointwise)",
            truth=None if truth is None else rows(truth)["value"],
            title=title_of(result, target, truth),
            dots=True,
        )


Picture = Curves | Densities | Bars


def pictures_of(
    result: Any,
    *,
    level: float,
    truth: Any,
    detail: Detail,
    xlim: tuple[Any, Any] | None,
    target: Target = "empirical",
    asks: Sequence[Question | str] = (),
) -> tuple[Picture, ...]:
    """Return the density of a distribution above its CDF, or its shares of categories.

    Where shares are asked and the curve is not, these are drawn in its place.

    level: Of the pointwise band of the CDF, and of the simultaneous one of the density.
    truth: Drawn alongside it.
    xlim: Ends of the axis, as :func:`limits_of` takes them.
    target: Whom the bands are about.
    asks: Questions. Without one those of the survey.
    """
    domain = result.domain
    if (reason := reason_of(result)) is not None:
        raise ArgumentError(f"{reason}, so there is nothing to draw")
    if truth is not None:
        same = domain.ordered == truth.domain.ordered and domain.unit == truth.domain.unit
        if not same or (not domain.ordered and truth.mass.size < domain.size):
            raise MismatchError(
                "the truth must have the kind and unit of the result. Convert its values first"
            )
    asked = in_place_of_curve(result, asks)
    drawn = [each for each in asked if isinstance(each, Share | Histogram)]
    if asks and asked and not drawn:
        raise ArgumentError("a picture shows shares, histograms or the curve. Ask one of these")
    if drawn and (asks or (detail == "resolved" and xlim is None)):
        return (Bars.of_answers(result, drawn, truth, level=level, target=target),)
    if not domain.ordered:
        title = title_of(result, target, truth)
        known = None if truth is None else truth.mass
        band = result._shown_band(level, target=target)
        return (Bars.of_symbols(domain, result.mass, band, truth=known, title=title),)
    curve = result.cumulative
    limits = limits_of(domain, [curve], xlim)
    axis = Axis.of_domain(domain, limits, measured_in=measured_in(result))
    name = "exact values" if is_exact(result) else "estimate"
    title = title_of(result, target, truth, not_shown(domain, [curve], limits))
    atom_bins, shares = found_bins(result.atoms, curve.left, curve.right)
    density = Densities.of_steps(
        axis,
        curve,
        drawn_steps(
            result,
            level=level,
            steps=shared_steps([result]) if detail == "resolved" else None,
            target=target,
        ),
        atom_bins=atom_bins,
        shares=shares,
        truth=None if truth is None else (truth.domain, truth.cumulative),
        title=title,
        level=level,
        name=name,
    )
    band = result.confidence_band(level, target=target)
    cdf = Curves.of_cdf(
        axis,
        curve,
        None if band is None else band.monotone(),
        atom_bins=atom_bins,
        truth=None if truth is None else truth.cumulative,
        title=title,
        name=name,
    )
    return density, cdf
