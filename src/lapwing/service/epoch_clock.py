"""What the clock makes of an epoch: planned, open, in its grace, closed; never back."""

from __future__ import annotations

from datetime import UTC, datetime

from lapwing.documents import shown
from lapwing.errors import ArgumentError
from lapwing.service.storage.store import EpochState, StoredEpoch

ORDER: tuple[EpochState, ...] = ("planned", "open", "grace", "closed")

DAY = 86_400

_LAST = 2**35
"""Seconds since 1970 that a moment may have at most: the year 3058."""


def state_at(epoch: StoredEpoch, now: float) -> EpochState:
    """Return the state that an epoch has at a moment, at least the one it has already.

    Parameters
    ----------
    epoch : StoredEpoch
    now : float
        Seconds since 1970. A clock that is set back changes nothing: what is closed stays closed,
        because the list of its batches is gone.
    """
    reached: EpochState = "planned"
    if epoch.opens is not None and epoch.opens <= now:
        reached = "open"
    if epoch.closes is not None and epoch.closes <= now:
        reached = "grace" if now < epoch.closes + epoch.grace_seconds else "closed"
    return max(epoch.state, reached, key=ORDER.index)


def kept_until(epoch: StoredEpoch, retention_days: int | None) -> float | None:
    """Return the moment from which a closed epoch's reports are deleted; None: they stay."""
    if retention_days is None or epoch.state != "closed" or epoch.closes is None:
        return None
    return epoch.closes + epoch.grace_seconds + retention_days * DAY


def to_timestamp(text: object, *, name: str) -> int | None:
    """Return seconds since 1970 of a text of RFC 3339; None of None, which means by hand.

    Raises
    ------
    ArgumentError
        When it is neither, or has no offset from UTC.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentError(
            f'{name} must be a time such as "2026-12-01T00:00:00Z", or null for by hand; got '
            f"{shown(text)}"
        )
    try:
        seconds = int(moment.timestamp())
    except OverflowError:
        seconds = -1
    if not 0 <= seconds <= _LAST:
        raise ArgumentError(f"{name} must lie between 1970 and 3058")
    return seconds


def to_text(moment: int | None) -> str | None:
    """Return a moment as a text of RFC 3339, in UTC.

    Examples
    --------
    >>> to_text(to_timestamp("2026-12-01T01:00:00+01:00", name="opens"))
    '2026-12-01T00:00:00Z'
    """
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch_document(epoch: StoredEpoch) -> dict[str, object]:
    """Return what devices and analysts are told of an epoch."""
    ends = None if epoch.closes is None else epoch.closes + epoch.grace_seconds
    return {
        "name": epoch.name,
        "opens": to_text(epoch.opens),
        "closes": to_text(epoch.closes),
        "grace_until": to_text(ends),
        "state": epoch.state,
    }
