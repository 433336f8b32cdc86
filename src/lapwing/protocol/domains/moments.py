"""Arrays of NumPy's datetime64, of any precision and any year, as numbers in a domain's unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.protocol.domains.text_values import DAY, NoClockError, Unit

# Seconds in a tick as a fraction. What is finer than a microsecond is cut off before.
_TICK = {
    "W": (7 * DAY, 1),
    "D": (DAY, 1),
    "h": (3600, 1),
    "m": (60, 1),
    "s": (1, 1),
    "ms": (1, 10**3),
    "us": (1, 10**6),
}
_FINER = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}

_MOST_YEARS = 2**40
"""Years and months up to here have their number of days in 64 bits, with room."""

_MOST_TICKS = 2**63 - 1


def numbers_of_moments(array: NDArray[Any], *, unit: Unit) -> NDArray[np.float64]:
    """Return datetime64 [n] as numbers of a unit that has dates or times: float64 [n].

    NaT is NaN. Nothing is first brought to a common precision, where far years would overflow:
    a year beyond 10^12 is infinite, all others are exact to the microsecond or to a float.

    Raises
    ------
    NoClockError
        When the unit is "time-of-day", and the precision a day or more.
    """
    missing = np.isnat(array)
    kind, count = np.datetime_data(array.dtype)
    if kind == "generic":  # only NaT has no precision
        return np.full(array.shape, np.nan)
    if unit == "time-of-day" and kind in ("Y", "M", "W", "D"):
        raise NoClockError
    ticks = array.astype(array.dtype.newbyteorder("="), copy=False).view(np.int64)
    steps = {"Y": 1, "M": 12}.get(kind)
    most = _MOST_TICKS // count if steps is None else _MOST_YEARS * steps // count
    far = np.where(ticks > most, np.inf, np.where(ticks < -most, -np.inf, 0.0))
    ticks = np.where(missing | (far != 0), 0, ticks) * count
    if steps is not None:
        ticks = ticks.view(f"datetime64[{kind}]").astype("datetime64[D]").view(np.int64)
        kind = "D"
    if kind in _FINER:
        ticks = ticks // _FINER[kind]
        kind = "us"
    numbers = _numbers(ticks, *_TICK[kind], unit=unit)
    numbers[missing] = np.nan
    return numbers + far


def _numbers(
    ticks: NDArray[np.int64], seconds: int, parts: int, *, unit: Unit
) -> NDArray[np.float64]:
    """Return ticks of ``seconds / parts`` seconds each, one of the two being 1, in a unit."""
    if unit == "datetime":
        return ticks.astype(np.float64) * seconds / parts
    if seconds >= DAY:  # days or weeks, which have dates only
        return ticks.astype(np.float64) * (seconds // DAY)
    a_day = DAY * parts // seconds
    if unit == "date":
        return (ticks // a_day).astype(np.float64)
    return np.mod(ticks, a_day).astype(np.float64) * seconds / parts
