"""Where a CDF is asked at: P(value <= x), and of a whole day P(value < the day after).

"At most 30 June" is a statement on a day, and that day is part of it. Where bins are closed on the
left, ``[a, b)``, as those of dates are, it is just the bins that end when the day does. So a date
(also as a text or datetime64) asks for all values before the day after it, and a quantile is the
day on which it falls. A plain number of days stays a point on the line, as every other number.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_answers import check_range, to_points

_DAY = 1.0

_INSTANT = 1e-6
"""A part of a day that is rounding: under a second."""


@dataclass(frozen=True, eq=False)
class Places:
    """Points on the line, each asked with those who hold just it, or without them.

    Parameters
    ----------
    points : numpy.ndarray
        float64, of any shape.
    before : numpy.ndarray
        bool, of the same shape: P(value < point) is asked, not P(value <= point).
    """

    points: Vector
    before: NDArray[np.bool_]


Span = tuple[Places, Places]
"""Low and high of a range, single ones: those who are at most high, but not at most low."""


def to_places(points: Any, domain: Domain, *, name: str = "a point") -> Places:
    """Return where a CDF is asked at; DomainError as of :func:`to_points`.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> year = Interval("1970-01-01", "1971-01-01", bins=365, unit="date")
    >>> asked = to_places(["1970-01-02", 1], year)
    >>> asked.points.tolist(), asked.before.tolist()
    ([2.0, 1.0], [True, False])
    """
    found = to_points(points, unit=domain.unit, name=name)
    if not has_whole_days(domain):
        return Places(found, np.zeros(found.shape, dtype=np.bool_))
    days = _are_days(points, found.shape)
    return Places(np.where(days, np.floor(found) + _DAY, found), days)


def to_span(low: Any, high: Any, domain: Domain) -> Span:
    """Return the ends of a range; DomainError as of the above, ArgumentError for no range."""
    ends = to_places(low, domain, name="low"), to_places(high, domain, name="high")
    if any(end.points.ndim for end in ends):
        raise ArgumentError("a range must have one low and one high end, got several of one")
    check_range(float(ends[0].points), float(ends[1].points))
    return ends


def has_whole_days(domain: Domain) -> bool:
    """Return whether the values are dates whose bins begin with a day, as they do by default."""
    return domain.unit == "date" and domain.closed == "left"


def to_days(found: ArrayLike, domain: Domain) -> Vector:
    """Return the days on which quantiles fall, where a domain has whole days; else these.

    The first day D with P(date <= D) of at least p. A quantile at a day's very start falls on the
    day before, by whose end that many had their date.
    """
    array: Vector = np.asarray(found, dtype=np.float64)
    if not has_whole_days(domain):
        return array[()]
    days = np.ceil(array - _INSTANT) - _DAY
    first: Vector = np.maximum(days, np.floor(domain.left[0]))
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
