"""When epochs end and reports are deleted: not by one look at a clock, which may be wrong."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable

from lapwing.service.security import DAY
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import FirstLook, StoredEpoch

LOOKS_APART = 3600.0
"""Seconds between the two looks at the clock that find an epoch kept long enough."""

ENDS_APART = 600.0
"""Seconds between the two looks that find it at its end: meanwhile devices only wait."""


LIST_DAYS = 7
"""Days after the end of an epoch in which a repeated batch is still answered as a stored one."""


def kept_until(epoch: StoredEpoch, retention_days: int | None) -> float | None:
    """Return the moment from which a closed epoch's reports are deleted. None: they stay."""
    if retention_days is None or epoch.state != "closed" or epoch.closes is None:
        return None
    return epoch.closes + epoch.grace_seconds + retention_days * DAY


def next_end(epoch: StoredEpoch, retention_days: int | None) -> float:
    """Return when an epoch enters its grace, closes or is deleted, whichever comes next.

    Infinity: never by the clock.
    """
    if epoch.state == "closed":
        until = kept_until(epoch, retention_days)
        return math.inf if until is None else until
    if epoch.closes is None:
        return math.inf
    return epoch.closes + (epoch.grace_seconds if epoch.state == "grace" else 0)


class Retention:
    """Which epochs are at their end, and which have been kept long enough.

    store: Keeps the first look, so that another collector of the database can object.
    clock: Returns seconds since 1970.
    monotonic: Returns seconds of a clock that nobody sets.

    An epoch moves on at the second of two looks. Both must find its end in the past. They must be
    apart by both clocks: ten minutes where it enters its grace or closes, an hour where it is
    deleted. The monotonic clock is that of a process, so a collector that starts again begins this
    time again. Any look of any collector in between that finds the end ahead undoes the first look.
    """

    def __init__(
        self, store: Store, *, clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._first: dict[tuple[str, str], tuple[int, float]] = {}

    def due(
        self, survey: str, epoch: StoredEpoch, ends: float, noted: FirstLook | None
    ) -> int | None:
        """Look at an epoch. Return the mark of its first look if it is to move on now.

        survey: Fingerprint.
        ends: As :func:`next_end` returns it.
        noted: The one that is stored.
        """
        now, key = self._clock(), (survey, epoch.name)
        apart = LOOKS_APART if epoch.state == "closed" else ENDS_APART
        if noted is not None and max(ends, noted.time) > now:
            self._first.pop(key, None)
            self._store.forget_first_look(survey, epoch.name)
        elif noted is None and ends <= now:
            self._store.note_first_look(
                survey, epoch.name, mark=secrets.randbits(53), time=int(now)
            )
        elif noted is not None:
            mark, begun = self._first.get(key, (None, 0.0))
            if mark != noted.mark:
                self._first[key] = (noted.mark, self._monotonic())
            elif min(self._monotonic() - begun, now - noted.time) >= apart:
                return noted.mark
        return None
