"""Ranges of an ordered domain: what is asked, and which symbols lie in it or touch it.

A place on the line is just before a point or just after it (:class:`Places`). A range lies between
two places, and so do the values of a bin. Those of a bin ``(a, b]`` between just after a and just
after b. So one comparison tells which bins lie in a range and which only touch it, on either side.
It also works with atoms, whole numbers and values outside the range of the domain.

===========  =====================================  ==========================================
unit         a question may be                      an answer is
===========  =====================================  ==========================================
number       a number                               a float
date         a date, "2026-11-21", datetime64       numpy.datetime64[D], the day it falls on
datetime     a datetime, its text, datetime64       numpy.datetime64[us], UTC without a zone
time-of-day  a time, a datetime, "09:30"            the text "09:30:00", with microseconds
                                                    where there are any. "24:00:00" is the end
duration     a timedelta, timedelta64, "1:30:00"    the text "1:30:00", with the digits of a
                                                    fraction where there is one
===========  =====================================  ==========================================

A value outside the range of a domain is ``inf`` or ``-inf`` in every unit. A time of day is a
string because the end of the day is a time of day that Python's `time` does not have. Every answer
can be asked again. Plain numbers (days, seconds) are understood as well.

"At most 30 June" is a statement about a day, and that day is part of it. Where bins are closed on
the left, ``[a, b)``, as those of dates are, it covers the bins that end when the day does. So a
date (also as a string or datetime64) means all values before the day after it. A quantile is the
day on which it falls. A plain number of days stays a point on the line, as every other number.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Values, Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import (
    check_day,
    one_dimensional,
    to_number,
    to_numbers,
    to_text,
)

_MICROSECONDS = 10**6

_REACH = {"date": 2.0**62, "datetime": 2.0**62 / _MICROSECONDS}
"""How far a domain may reach, in its numbers, so that datetime64 holds all of its answers."""


def to_points(points: Values, *, unit: Unit, name: str = "a point") -> NDArray[np.float64]:
    """Return what is asked about as numbers of the unit, in the shape in which it was given.

    points: One value, or an array or list of them: numbers, and where the unit is not "number"
        dates, times or their strings. NaN and None give NaN.
    unit: Of the domain.
    name: Name of a single value in messages.

    Raises DomainError when one cannot be read in this unit.

    >>> to_points(["00:01", "24:00"], unit="time-of-day").tolist()
    [60.0, 86400.0]
    """
    array = _as_array(points)
    if array is None:
        return to_numbers(points, unit=unit)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    for one in array.flat if unit == "date" and array.dtype.kind in "OUS" else ():
        check_day(one, unit=unit, name=name)
    try:
        return to_numbers(array.reshape(-1), unit=unit).reshape(array.shape)
    except DomainError as error:
        if array.ndim:
            raise
        message = str(error).replace("the value at position 0 ", f"{name} ")
        raise DomainError(message) from None


def _as_array(points: Any) -> NDArray[Any] | None:
    """Return points as an array of their shape. None for a column, which is read as values are."""
    if isinstance(points, np.ndarray | np.generic):
        return np.asarray(points)
    if isinstance(points, list | tuple | range):
        try:
            array = np.asarray(points)
        except ValueError:  # rows of several lengths
            array = np.empty(0, dtype=object)
        plain = array.dtype.kind in "iuf" and array.size
        return array if plain else one_dimensional(points)
    if isinstance(points, numbers.Number | str | bytes) or not hasattr(points, "__len__"):
        single = np.empty((), dtype=object)
        single[()] = points
        return single
    return None


def check_range(low: float, high: float, *, unit: Unit = "number") -> None:
    """Raise ArgumentError unless low is at most high, and both are numbers."""
    if math.isnan(low) or math.isnan(high):
        raise ArgumentError("a range must have two numbers as its ends, but one is not a number")
    if low > high:
        ends = (
            to_text(end, unit=unit) if math.isfinite(end) else f"{end:g}" for end in (low, high)
        )
        raise ArgumentError(
            "a range must begin before it ends, got {} and {}. Exchange them".format(*ends)
        )


def to_values(found: ArrayLike, domain: Domain) -> Any:
    """Return numbers on the line of a domain as what they stand for: see the table above.

    One for one: an array of datetime64, of strings (of objects, None for NaN), or of floats.
    Numbers stay where the domain reaches further than datetime64.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> day = Interval("00:00", "24:00", bins=24, unit="time-of-day")
    >>> to_values(34_200.25, day), to_values([0, 86_400], day).tolist()
    ('09:30:00.250000', ['00:00:00', '24:00:00'])
    """
    array = np.asarray(found, dtype=np.float64)
    unit = domain.unit
    if unit == "number":
        return array[()]
    if np.isinf(array).any():  # beyond the range, which no date or time says
        said = [each if math.isinf(each) else to_values(each, domain) for each in array.flat]
        return np.fromiter(said, dtype=object, count=array.size).reshape(array.shape)[()]
    if unit in ("time-of-day", "duration"):
        texts = [None if np.isnan(number) else _clock(number, unit) for number in array.flat]
        return np.fromiter(texts, dtype=object, count=array.size).reshape(array.shape)[()]
    if max(abs(float(domain.left[0])), abs(float(domain.right[-1]))) > _REACH[unit]:
        return array[()]
    missing = np.isnan(array)
    known = np.where(missing, 0.0, array)
    ticks = np.floor(known) if unit == "date" else np.rint(known * _MICROSECONDS)
    moments = ticks.astype(np.int64).view("M8[D]" if unit == "date" else "M8[us]")
    return np.where(missing, np.datetime64("NaT"), moments)[()]


def _clock(seconds: float, unit: Unit) -> str:
    if unit == "duration":
        return to_text(seconds, unit=unit)
    whole, part = divmod(round(seconds * _MICROSECONDS), _MICROSECONDS)
    text = to_text(whole, unit="time-of-day")
    return f"{text}.{part:06d}" if part else text


def to_interval(ends: tuple[float, float], domain: Domain) -> tuple[Any, Any]:
    """Return the two ends of an interval in its unit. Plain numbers stay floats."""
    if domain.unit == "number":
        return ends
    return to_values(ends[0], domain), to_values(ends[1], domain)


_DAY = 1.0

_INSTANT = 1e-6
"""A part of a day that is rounding: under a second."""


@dataclass(frozen=True, eq=False)
class Places:
    """Points on the line, each asked with those who hold just it, or without them.

    points: float64, of any shape.
    before: bool, of the same shape: P(value < point) is asked, not P(value <= point).
    """

    points: Vector
    before: NDArray[np.bool_]


def to_places(
    points: Any, domain: Domain, *, name: str = "a point", before: bool = False
) -> Places:
    """Return the points of a CDF, with the DomainError of :func:`to_points`.

    name: Name of a single point in messages.
    before: Whether P(value < point) is asked, not P(value <= point).

    >>> from lapwing.protocol.domains.interval import Interval
    >>> year = Interval("1970-01-01", "1971-01-01", bins=365, unit="date")
    >>> asked = to_places(["1970-01-02", 1], year)
    >>> asked.points.tolist(), asked.before.tolist()
    ([2.0, 1.0], [True, False])
    """
    found = to_points(points, unit=domain.unit, name=name)
    if not has_whole_days(domain):
        return Places(found, np.full(found.shape, before))
    days = _are_days(points, found.shape)
    if before:
        return Places(np.where(days, np.floor(found), found), np.ones_like(days))
    return Places(np.where(days, np.floor(found) + _DAY, found), days)


def has_whole_days(domain: Domain) -> bool:
    """Return whether the values are dates whose bins begin with a day, as they do by default."""
    return domain.unit == "date" and domain.closed == "left"


def to_days(found: ArrayLike, domain: Domain) -> Vector:
    """Return the days on which quantiles fall where a domain has whole days, else the quantiles.

    The first day D with P(date <= D) of at least p. A quantile at a day's very start falls on the
    day before, by whose end that many had their date.
    """
    array: Vector = np.asarray(found, dtype=np.float64)
    if not has_whole_days(domain):
        return array[()]
    days = np.ceil(array - _INSTANT) - _DAY
    first: Vector = np.where(np.isinf(array), array, np.maximum(days, np.floor(domain.left[0])))
    return first[()]


def _are_days(points: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which of the points are dates, and no numbers."""
    kind = getattr(getattr(points, "dtype", None), "kind", "O")
    if isinstance(points, list | tuple | range) and shape != (len(points),):
        return np.zeros(shape, dtype=np.bool_)  # a table, which only numbers make
    if kind in "iufM":
        return np.full(shape, kind == "M")
    cells = points.ravel() if isinstance(points, np.ndarray) else points if shape else [points]
    days = [not isinstance(cell, numbers.Number | np.number) for cell in cells]
    return np.array(days, dtype=np.bool_).reshape(shape)


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
