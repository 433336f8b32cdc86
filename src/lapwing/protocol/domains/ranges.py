"""Ranges of an ordered domain: what is asked, and which symbols lie in it or touch it.

A place on the line is just before a point or just after it (:class:`Places`). A range lies between
two places, and so do the values of a bin. Those of a bin ``(a, b]`` between just after a and just
after b. So one comparison tells which bins lie in a range and which only touch it, on either side.
It also works with atoms, whole numbers and values outside the range of the domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_answers import Places, check_range, to_places
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.units import to_number

Closed = Literal["left", "right", "both", "neither"]
"""Which ends of a range belong to it."""

Span = tuple[Places, Places]
"""Where a range begins and ends, single places."""


def to_spans(low: Any, high: Any, domain: Domain, closed: Closed | None = None) -> list[Span]:
    """Return a range as it lies on the line: one span, or two where it goes round a circle.

    low, high: With ``low <= high``, except on a circle. Both may be infinite. A date is a whole
        day.
    domain: Ordered.
    closed: Ends that belong to the range. Default: that of :func:`default_closed`.

    Raises DomainError when an end cannot be read in the unit of the domain.
    Raises ArgumentError when it is no range.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> day = Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)
    >>> len(to_spans("06:00", "10:00", day)), len(to_spans("22:00", "02:00", day))
    (1, 2)
    """
    if closed not in (None, *get_args(Closed)):
        raise ArgumentError("closed", "must be 'left', 'right', 'both' or 'neither'", repr(closed))
    side = closed or default_closed(low, domain)
    start = to_places(low, domain, name="low", before=side in ("left", "both"))
    stop = to_places(high, domain, name="high", before=side in ("left", "neither"))
    if start.points.ndim or stop.points.ndim:
        raise ArgumentError("a range must have one low and one high end, got several of the same")
    # A date is asked by its day: "above" it begins a day later, which is no other range.
    first, last = (float(to_places(end, domain, before=True).points) for end in (low, high))
    if domain.circular and math.isfinite(first) and math.isfinite(last):
        full = last - first - _length(domain)
        if full > 0 or (full == 0 and side != "neither"):
            return [(_place(-math.inf, before=True), _place(math.inf, before=False))]
        turns = _turns(first, last, side, domain)
        start, stop = (
            Places(place.points - turn, place.before)
            for place, turn in zip((start, stop), turns, strict=True)
        )
        if full == 0:  # without the point where it begins and ends
            return [(_place(-math.inf, before=True), stop), (start, _place(math.inf, before=False))]
        first, last = first - turns[0], last - turns[1]
    if domain.name == "integers":
        start, stop = _between_whole_numbers(start), _between_whole_numbers(stop)
    # An open end holds everything beyond, infinite values also.
    start = start if first > -math.inf else _place(first, before=True)
    stop = stop if last < math.inf else _place(last, before=False)
    if domain.circular and first > last:
        return [(_place(-math.inf, before=True), stop), (start, _place(math.inf, before=False))]
    check_range(first, last, unit=domain.unit)
    return [(start, start if _at_or_after(start, stop) else stop)]


def default_closed(low: Any, domain: Domain) -> Closed:
    """Return which ends belong to a range of which nobody says it.

    It is the end that belongs to the bins, so that a range between edges is exact. Of bins that are
    closed on the right, the first one holds `low` also. So does a range that begins there.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> income = Interval(0, 4, bins=4)
    >>> default_closed(0, income), default_closed(1, income)
    ('both', 'right')
    """
    start = to_places(low, domain, name="low")
    if domain.closed == "left" or start.points.ndim or end_symbol(domain, start) is None:
        return domain.closed
    return "both"


def _turns(first: float, last: float, side: Closed, circle: Domain) -> tuple[float, float]:
    """Return by how much the ends of a range lie beyond a circle: multiples of its length.

    Both ends of a circle are one point. An end of the range at it lies alongside the rest of the
    range, unless the range holds the point: then it lies at the symbol that holds it.
    """
    length, low = _length(circle), float(circle.left[0])
    high = low + length
    point = low if circle.closed == "left" else high
    same = (last - first) % length == 0

    def turn(end: float, inner: float, *, held: bool) -> float:
        around = 0.0 if low <= end <= high else math.floor((end - low) / length) * length
        if end - around not in (low, high):
            return around
        return end - (point if held or same else inner)

    return (
        turn(first, low, held=side in ("left", "both")),
        turn(last, high, held=side in ("right", "both")),
    )


def _length(circle: Domain) -> float:
    return float(circle.right[-1] - circle.left[0])


def _place(point: float, *, before: bool) -> Places:
    return Places(np.asarray(point), np.asarray(before))


def _between_whole_numbers(place: Places) -> Places:
    """Return the same place just before a whole number: between two of them nobody has a value."""
    point = float(place.points)
    if math.isinf(point):
        return place
    return _place(math.ceil(point) + (point.is_integer() and not place.before), before=True)


@dataclass(frozen=True, eq=False)
class Touched:
    """The symbols of a domain that a range holds, and those that it may hold in part.

    whole: bool [symbols with a place on the line]: all of whose values lie in the range.
    some: bool, of the same length: some of whose values may.
    """

    whole: NDArray[np.bool_]
    some: NDArray[np.bool_]


def touched(domain: Domain, spans: Sequence[Span]) -> Touched:
    """Return which symbols lie in a range and which it touches."""
    starts, stops = symbol_places(domain)
    whole = np.zeros(starts.points.size, dtype=np.bool_)
    some = np.zeros(starts.points.size, dtype=np.bool_)
    for start, stop in spans:
        if _at_or_after(start, stop):
            continue  # an empty range touches nothing
        whole |= _at_or_after(starts, start) & _at_or_after(stop, stops)
        some |= ~_at_or_after(starts, stop) & ~_at_or_after(start, stops)
    return Touched(whole, some)


def _at_or_after(places: Places, others: Places) -> NDArray[np.bool_]:
    """Return where a place is the other one or lies after it."""
    same = places.points == others.points
    later: NDArray[np.bool_] = places.points > others.points
    here: NDArray[np.bool_] = same & (places.before <= others.before)
    return later | here


def symbol_places(domain: Domain) -> tuple[Places, Places]:
    """Return between which places the values of each bin lie, without the missing bin.

    Those of a bin outside the range reach to infinity. So do those of the first and the last bin
    where values outside are counted in them.
    """
    left, right = domain.left.copy(), domain.right.copy()
    outside = domain.outside_indices
    inner = np.ones(left.size, dtype=np.bool_)
    inner[outside] = False
    point = inner & (left == right)
    closed_left = np.full(left.size, domain.closed == "left")
    after_point = np.append(False, point[:-1] & (right[:-1] == left[1:]))
    before_point = np.append(point[1:] & (left[1:] == right[:-1]), False)
    starts_before = point | (closed_left & ~after_point)
    stops_before = ~point & (closed_left | before_point)
    first, last = np.flatnonzero(inner)[[0, -1]]
    if not domain.circular:
        # The outermost bin at the open side of a line holds that end.
        starts_before[first] = True
        if not outside:
            stops_before[last] = False
    if outside:
        left[0], starts_before[0], stops_before[0] = -math.inf, True, True
        right[-1], starts_before[-1], stops_before[-1] = math.inf, stops_before[last], False
    else:
        below, above = domain.open_ends
        left[0] = -math.inf if below else left[0]
        right[-1] = math.inf if above else right[-1]
    return Places(left, starts_before), Places(right, stops_before)


OpenEnd = Literal["above", "at_least", "at_most", "below"]
"""How values lie beyond an edge, with those who hold just it or without them."""


def open_end(domain: Domain, symbol: int) -> OpenEnd | None:
    """Return how the values of a bin lie beyond its only edge, None where it has two.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> ages = Interval(0, 100, bins=4, outside="overflow")
    >>> open_end(ages, 0), open_end(ages, 1), open_end(ages, 5)
    ('below', None, 'above')
    """
    starts, stops = symbol_places(domain)
    if math.isinf(stops.points[symbol]):
        return "at_least" if starts.before[symbol] else "above"
    if math.isinf(starts.points[symbol]):
        return "below" if stops.before[symbol] else "at_most"
    return None


def split_symbol(domain: Domain, place: Places) -> int | None:
    """Return the bin that a place cuts in two, None where it lies between bins.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> ages = Interval(0, 4, bins=4, outside="refuse")
    >>> ((start, stop),) = to_spans(1, 2.5, ages)
    >>> split_symbol(ages, start), split_symbol(ages, stop)
    (None, 2)
    """
    starts, stops = symbol_places(domain)
    cut = ~_at_or_after(starts, place) & ~_at_or_after(place, stops)
    if not cut.any() or math.isinf(float(place.points)):
        return None
    return int(np.argmax(cut))


def first_symbol_after(domain: Domain, place: Places) -> int | None:
    """Return the first bin whose values lie after a place, None where the place cuts a bin.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> ages = Interval(0, 4, bins=4, outside="refuse")
    >>> ((start, stop),) = to_spans(1, 2.5, ages)
    >>> first_symbol_after(ages, start), first_symbol_after(ages, stop)
    (1, None)
    """
    if split_symbol(domain, place) is not None:
        return None
    return int(_at_or_after(place, symbol_places(domain)[1]).sum())


def end_symbol(domain: Domain, place: Places) -> int | None:
    """Return the bin that a place cuts at `low` or `high` of the domain, None where it cuts none.

    Many people may hold just this value, and the bin does not say how many. So the share on one
    side of the place is anything between that without the bin and that with it. An atom there has a
    bin of its own.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> income, known = Interval(0, 4, bins=4), Interval(0, 4, bins=4, atoms=[0])
    >>> end_symbol(income, to_places(0, income)), end_symbol(known, to_places(0, known))
    (0, None)
    """
    point, before = float(place.points), bool(place.before)
    if not isinstance(domain, Interval) or domain.circular or domain.whole_day:
        return None
    beyond = bool(domain.outside_indices)
    if point in domain.atoms:
        return None
    if point == domain.low:
        return None if before else int(beyond)
    # Who holds just `high` is in the bin above where bins are closed on the left.
    above = beyond and domain.closed == "left"
    if point == domain.high and above != before:
        return domain.left.size - 1 - (beyond and not above)
    return None


def bin_of_low(domain: Domain) -> int | None:
    """Return the bin that holds `low` itself where the bin before it is for values below `low`.

    A CDF then says no more at `low` than that it is between those of the two bins. None where no
    bin is for values below, or `low` is an atom.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> bin_of_low(Interval(0, 64, bins=64)), bin_of_low(Interval(0, 64, bins=64, atoms=[0]))
    (1, None)
    """
    if not domain.ordered or not domain.outside_indices:
        return None
    return end_symbol(domain, _place(float(domain.left[0]), before=False))


def held_values(domain: Domain) -> tuple[Vector, Vector]:
    """Return the least and the greatest value that each bin can hold, limited to the range.

    They are the ends of the bin. Where all values are whole numbers, they are the first and the
    last one in it. A bin that has none stands for its middle.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> first, last = held_values(Interval(0, 6, bins=3, whole=True))
    >>> first.tolist(), last.tolist()
    ([0.0, 3.0, 5.0], [2.0, 4.0, 6.0])
    """
    left, right = domain.left, domain.right
    if not domain.whole:
        return left, right
    starts, stops = symbol_places(domain)
    first = np.where(starts.before, np.ceil(starts.points), np.floor(starts.points) + 1)
    last = np.where(stops.before, np.ceil(stops.points) - 1, np.floor(stops.points))
    first, last = (np.clip(ends, left[0], right[-1]) for ends in (first, last))
    none = first > last
    return np.where(none, (left + right) / 2, first), np.where(none, (left + right) / 2, last)


def range_end(text: str, domain: Domain, *, name: str) -> Any:
    """Return the end of a range as a question takes it: a date as text, else a number."""
    number = number_of(text, domain, name=name)
    return text if domain.unit == "date" else number


def number_of(text: str, domain: Domain, *, name: str) -> float:
    """Return a number, date or time as it was typed. Errors name it, not its value."""
    if domain.unit != "number":
        return to_number(text, unit=domain.unit, name=name)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ArgumentError(name, "must be a number")
    return number
