"""Columns of Arrow and polars whose type says more than the NumPy array that is made of them.

Both hold a timestamp with a zone as the instant, and the zone in the type. NumPy has no zones, so
an array of theirs holds the instants alone. Elsewhere (Python's own, pandas) each value carries its
zone along. Here a column becomes local times, so that a person at 01:30 in Berlin has
the time of day 01:30 whichever library holds the column.
"""

from __future__ import annotations

from typing import Any

from lapwing.errors import DomainError

_CALENDAR_SECONDS = 2.5e11
"""Time zones are known for timestamps within this distance of 1970, the years -5900 to 9800."""

_TICK_LIMIT = 9.22e18
"""A month less than 64 bits hold: a zone's offset can be added."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def as_local_time(values: Any, *, name: str) -> Any:
    """Return a column of timestamps with a zone as local times without one.

    Any other object is returned unchanged. Only dates that Arrow counts in milliseconds are
    returned in days, as other dates.

    name: Name of the column in messages.

    Raises DomainError when the zone is not known on this machine.
    """
    # No library is imported to ask whether somebody uses it.
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "type"):
        return _arrow_as_local_time(values, name=name)
    if getattr(getattr(values, "dtype", None), "time_zone", None) is not None:  # of polars
        return _polars_as_local_time(values)
    return values


def _most_ticks(unit: str) -> int:
    """Return how far from 1970 a timestamp may lie so that its local time is known."""
    return int(min(_CALENDAR_SECONDS * _PER_SECOND[unit], _TICK_LIMIT))


def _polars_as_local_time(column: Any) -> Any:
    most = _most_ticks(column.dtype.time_unit)
    near = column.to_physical().is_between(-most, most).fill_null(True)
    # Of far timestamps polars has no clocks, and ends the program; their instants stay.
    wall = column.zip_with(near, column.clear(len(column))).dt.replace_time_zone(None)
    return wall.zip_with(near, column.to_physical().cast(wall.dtype))


def _arrow_as_local_time(array: Any, *, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_date64(array.type):
        return array.cast(pa.date32(), safe=False)
    if not pa.types.is_timestamp(array.type) or array.type.tz is None:
        return array
    plain = pa.timestamp(array.type.unit)
    try:
        pc.local_timestamp(pa.array([0], array.type))
    except pa.ArrowInvalid:
        raise DomainError(
            f"the time zone of {name} is unknown on this machine. Install its time zone "
            "database, or convert the column"
        ) from None
    # Far timestamps overflow in Arrow, and would come out on the other side of 1970.
    most = float(_most_ticks(array.type.unit))  # as a whole number, Arrow would refuse it
    far = pc.greater(pc.abs(array.cast(pa.int64()).cast(pa.float64(), safe=False)), most)
    near = pc.local_timestamp(pc.if_else(far, None, array))
    return pc.if_else(far, array.cast(plain), near)
