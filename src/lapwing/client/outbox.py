"""Outbox: the bytes of every batch, unchanged until a collector has them."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address
from secrets import SystemRandom
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from lapwing.client.device_file import DeviceFile, seal, unseal
from lapwing.errors import ArgumentError, kind_of
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.protocol.messages.batch import Batch

_DEFAULT_PORTS = {"https": 443, "http": 80}


def normal_address(text: Any) -> str:
    """Return an address with its scheme and host in lower case, and without a default port.

    The path keeps its case and loses the slashes at its end. Names of one machine stay different,
    such as ``localhost`` and ``127.0.0.1``: they may lead to different programs.

    text: ``https://...``, or ``http://...`` of this very machine.

    Raises ArgumentError when it is no address of a collector.
    """
    wanted = "the address of a collector must be a string such as https://collector.example"
    if not isinstance(text, str):
        raise ArgumentError(f"{wanted}, got {kind_of(text)}")
    try:
        parts = urlsplit(text.strip())
        host, port = _normal_host(parts.hostname or ""), parts.port
    except ValueError:
        raise ArgumentError(wanted) from None
    if not host or parts.query or parts.fragment or parts.username is not None:
        raise ArgumentError(f"{wanted}, without a user name, query or fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(host)):
        raise ArgumentError(
            "the address of a collector must begin with https://, unless it is on this machine "
            "(http://localhost:...)"
        )
    shown = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}{parts.path.rstrip('/')}"


def _normal_host(host: str) -> str:
    """Return a host as it is asked for: in ASCII, and an IPv6 address in its short form."""
    if ":" in host:
        return f"[{IPv6Address(host).compressed}]"
    return host.encode("idna").decode().lower()


def _is_here(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


LONGEST_PAUSE = 86_400.0
"""Longest pause that a collector may ask for, in seconds. A later time means that a clock was
wrong."""


@dataclass(frozen=True)
class Patience:
    """Attempts made by one call to send, and the pauses between them.

    The pause after the k-th failed round is random, between half and all of ``first * 2^(k - 1)``,
    at most `longest`. So devices that failed together do not retry together. A ``Retry-After``
    from the collector is always respected. If it is longer than the rest of `together`, the
    batches stay in the outbox. A call before it has passed does not send them.

    Parameters
    ----------
    rounds : int
        Attempts for each batch in one call, in 1..100. Default: 5.
    first : float
        Largest first pause in seconds, in [0, 86,400]. Default: 1.
    longest : float
        Longest pause that the collector did not ask for, in seconds, in [0, 86,400]. Default: 60.
    together : float
        Longest duration of one call, including all pauses and requests, in seconds, in [0,
        86,400]. Default: 180. The first request gets at least one second.
    wait : callable
        Function that waits a given number of seconds. Default: ``time.sleep``.
    clock : callable
        Function that returns the seconds since 1970. Default: ``time.time``.

    Raises
    ------
    ArgumentError
        When a number is out of range.

    Examples
    --------
    >>> import lapwing as lw
    >>> patience = lw.client.Patience(rounds=3)
    >>> 0.5 <= patience.pause(1) <= 1 <= patience.pause(2) <= 2
    True
    """

    rounds: int = 5
    _: KW_ONLY
    first: float = 1.0
    longest: float = 60.0
    together: float = 180.0
    wait: Callable[[float], None] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.time, repr=False)

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole_field(self, "rounds", low=1, high=100)
        for name in ("first", "longest", "together"):
            seconds = getattr(self, name)
            number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not number or not 0 <= seconds <= LONGEST_PAUSE:
                raise ArgumentError(
                    name, f"must be a number of seconds from 0 to {LONGEST_PAUSE:g}", repr(seconds)
                )

    def pause(self, failures: int) -> float:
        """Return the number of seconds to wait after a number of failures.

        Parameters
        ----------
        failures : int
            Number of failures so far, at least 1.

        Returns
        -------
        float
            Random pause in seconds.
        """
        full = min(self.longest, self.first * 2.0 ** (failures - 1))
        return full * SystemRandom().uniform(0.5, 1.0)


State = Literal["waiting", "stored", "refused", "withdrawn", "expired"]

KEEP_DAYS = 60
"""Most days that a batch waits, unless somebody chose another number."""

MOST_DAYS = 3650

_DAY = 86_400.0

_NAMES = (
    "id",
    "survey",
    "epoch",
    "text",
    "first",
    "reports",
    "state",
    "attempts",
    "reason",
    "last",
)
_COLUMNS = ", ".join(f"batch.{name}" for name in _NAMES)


@dataclass(frozen=True)
class OutgoingBatch:
    """Batch in an outbox, and its state.

    Parameters
    ----------
    id : str
        Identifier at the collector: 32 random hex digits.
    survey : str
        Fingerprint of the survey.
    epoch : str
        Name of the epoch.
    text : str
        Fingerprint of the text that the batch's people were asked
        (:attr:`lapwing.Survey.text_fingerprint`).
    first : int
        Number of reports in the earlier batches of its group.
    reports : int
        Number of reports.
    state : {"waiting", "stored", "refused", "withdrawn", "expired"}
        "waiting": to be sent. "stored": the collector has it. "refused": the collector refused it.
        "withdrawn": the person withdrew it. "expired": its last day passed before a collector took
        it.
    attempts : int
        Number of times that the batch was sent.
    reason : str or None
        Reason why the batch was refused, or has not been taken yet.
    last_day : str
        UTC date until which the batch waits at least, such as "2027-01-26".
    notice : dict
        The survey's notice when it was answered: question, purpose, owner, contact. Default:
        empty.

    Examples
    --------
    >>> import lapwing as lw
    >>> import tempfile
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=10), epsilon="0.5"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     device = lw.client.Device.open(folder, epsilon_cap=1, budget=2)
    ...     answer = device.answer(survey, 41, epoch="2026-12")
    ...     batch, = device.batches()
    >>> batch.state, batch.reports, batch.attempts
    ('waiting', 1, 0)
    >>> from datetime import date
    >>> 58 <= (date.fromisoformat(batch.last_day) - date.today()).days <= 61
    True
    """

    id: str
    survey: str
    epoch: str
    text: str
    first: int
    reports: int
    state: State
    attempts: int
    reason: str | None
    last_day: str
    notice: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, repr=False)
class Parcel:
    """A waiting batch with its bytes, for whoever sends it."""

    id: str
    survey: str
    epoch: str
    text: str
    body: bytes
    token: str | None
    last: float
    days: int
    heard: float | None

    def is_over(self, now: float, date: float | None) -> bool:
        """Return whether the batch has waited long enough.

        now: Seconds since 1970 by the device's clock.
        date: The same by the clock of the collector that answers.

        Both clocks must say so. By that of collectors, all its days lie between the first answer
        and this one. So a device gives nothing up that a collector has not put off for so long.
        This holds even if its clock is wrong, or was when the batch was made.
        """
        if date is None or self.heard is None:
            return False
        return self.last < now and date - self.heard >= self.days * _DAY


def insert(
    connection: sqlite3.Connection,
    batch: Batch,
    epoch: str,
    *,
    text: str,
    id: str,
    days: int,
    last: float | None = None,
    first: int = 0,
    pile: str = "",
    collector: str | None = None,
    token: str | None = None,
) -> None:
    """Put a batch into the outbox, within a transaction.

    connection: Open transaction of the file.
    batch: Batch to be stored. Its bytes are sent, every time the same. They are stored encrypted.
        When they have arrived, their key is overwritten, and nothing that follows from them is
        kept.
    epoch: Name of its epoch.
    text: Fingerprint of the text that its people were asked.
    id: Random identifier.
    days: Days that it waits at least.
    last: Seconds since 1970 until which it waits. Default: `days` from now.
    first: Number of reports of the group before it. Default: 0.
    pile: Name of the batch group that it is a part of. Default: empty, for a device's own answers.
    collector: Address of the only collector that gets it. Default: any.
    token: Token of its sender. Default: none.
    """
    last = last_second(days) if last is None else last
    said = (id, batch.survey, epoch, text, pile, first, batch.reports, days, last)
    connection.execute(
        "INSERT INTO batch (id, survey, epoch, text, pile, first, reports, days, last,"
        " key, body, token, collector, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting')",
        (*said, *seal(connection, batch.to_bytes()), token, collector),
    )


def new_id() -> str:
    """Return a random identifier of a batch."""
    return os.urandom(16).hex()


def last_second(days: int) -> float:
    """Return until when a batch that is made now waits, in seconds since 1970."""
    return time.time() + days * _DAY


def _outgoing(row: sqlite3.Row) -> OutgoingBatch:
    told = {name: row[name] for name in _NAMES}
    last = told.pop("last")
    if not isinstance(last, int | float):  # pages of an earlier state, after a power cut
        raise sqlite3.DatabaseError("the last second is a setting of a device, not of a batch")
    return OutgoingBatch(**told, last_day=datetime.fromtimestamp(last, UTC).date().isoformat())


def of_pile(
    connection: sqlite3.Connection, survey: str, epoch: str, pile: str = ""
) -> list[tuple[OutgoingBatch, bytes | None]]:
    """Return the batches of a batch group in order, each with its bytes while it waits."""
    rows = connection.execute(
        f"SELECT {_COLUMNS}, key, body FROM batch WHERE survey = ? AND epoch = ? AND pile = ?"
        " ORDER BY first",
        (survey, epoch, pile),
    )
    return [
        (_outgoing(row), None if row["body"] is None else unseal(connection, *row[-2:]))
        for row in rows.fetchall()
    ]


def wait_again(connection: sqlite3.Connection, id: str, body: bytes, *, days: int) -> None:
    """Let a batch that ended without being stored wait once more, under its identifier.

    An answer that got lost may have stored it. Under the same identifier it counts once.
    """
    connection.execute(
        "UPDATE batch SET state = 'waiting', reason = NULL, not_before = 0, key = ?, body = ?,"
        " last = ?, days = ?, heard = NULL WHERE id = ? AND state NOT IN ('waiting', 'stored')",
        (*seal(connection, body), last_second(days), days, id),
    )


def add_token(connection: sqlite3.Connection, batch: OutgoingBatch, token: str) -> None:
    """Store the token of its sender with a batch that waits. One that is stored needs none.

    Raises ArgumentError when the batch ended without being stored.
    """
    if batch.state not in ("waiting", "stored"):
        raise ArgumentError(
            f"no report waits in epoch {batch.epoch!r}: its report is {batch.state}, so no "
            "upload token can be stored with it. Keep the token for another epoch"
        )
    connection.execute(
        "UPDATE batch SET token = ? WHERE id = ? AND state = 'waiting'", (token, batch.id)
    )


@dataclass(frozen=True)
class Outbox:
    """The batches in a file."""

    file: DeviceFile

    def batches(self) -> list[OutgoingBatch]:
        """Return all batches that were ever made, whatever became of them."""
        with self.file.transaction() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS}, notice.text AS notice FROM batch"
                " LEFT JOIN notice USING (survey, epoch)"
                " ORDER BY survey, epoch, pile, first"
            )
            return [
                replace(_outgoing(row), notice=json.loads(row["notice"] or "{}"))
                for row in rows.fetchall()
            ]

    def due(
        self, collector: str, *, now: float, survey: str | None = None, epoch: str | None = None
    ) -> list[str]:
        """Return the ids of batches that may be sent now, those that were tried least first.

        collector: Its address.
        now: Seconds since 1970.
        survey, epoch: Return only the batches of this fingerprint, and of this epoch.
        """
        with self.file.transaction() as connection:
            # A device of before may have written another spelling of the address.
            connection.create_function("normal_address", 1, normal_address, deterministic=True)
            # A time too far ahead is that of a clock which was wrong when it was written.
            rows = connection.execute(
                "SELECT id FROM batch WHERE state = 'waiting'"
                " AND (collector IS NULL OR normal_address(collector) = ?)"
                " AND (not_before <= ? OR not_before > ?)"
                " AND survey = coalesce(?, survey) AND epoch = coalesce(?, epoch)"
                " ORDER BY attempts, id",
                (collector, now, now + LONGEST_PAUSE, survey, epoch),
            )
            return [row[0] for row in rows.fetchall()]

    def elsewhere(
        self, collector: str, *, survey: str | None = None, epoch: str | None = None
    ) -> dict[str, int]:
        """Return how many batches wait for other collectors, by their addresses.

        collector: Address of the collector whose batches are left out.
        survey, epoch: Count only the batches of this fingerprint, and of this epoch.
        """
        with self.file.transaction() as connection:
            rows = connection.execute(
                "SELECT collector, count(*) FROM batch WHERE state = 'waiting'"
                " AND survey = coalesce(?, survey) AND epoch = coalesce(?, epoch)"
                " AND collector IS NOT NULL GROUP BY collector ORDER BY collector",
                (survey, epoch),
            )
            found: dict[str, int] = {}
            for address, number in rows.fetchall():
                name = normal_address(address)
                found[name] = found.get(name, 0) + number
        found.pop(collector, None)
        return found

    def waiting(self) -> int:
        """Return how many batches are to be sent, now or later."""
        with self.file.transaction() as connection:
            rows = connection.execute("SELECT count(*) FROM batch WHERE state = 'waiting'")
            return cast(int, rows.fetchone()[0])

    def parcel(self, batch: str) -> Parcel | None:
        """Return a batch to be sent, or None when it has been sent already."""
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT * FROM batch WHERE id = ? AND state = 'waiting'", (batch,)
            ).fetchone()
            if row is None:
                return None
            told = {one.name: row[one.name] for one in fields(Parcel)}
            return Parcel(**{**told, "body": unseal(connection, row["key"], row["body"])})

    def settle(self, batch: str, state: State, reason: str | None) -> None:
        """Note how a batch that was sent ended, and forget its bytes."""
        with self.file.transaction(wipe=True) as connection:
            _end(connection, "id = ?", (batch,), state, reason, attempts=1)

    def withdraw(self, survey: str | None, epoch: str | None) -> int:
        """Forget the bytes of all that waits, of one survey or of one of its epochs.

        survey, epoch: Fingerprint, and name. None: all.

        returns: Number of batches that waited.

        Raises ArgumentError when nothing was ever put here under these names.
        """
        names = {"survey": survey, "epoch": epoch}
        given = {key: name for key, name in names.items() if name is not None}
        where = " AND ".join(f"{key} = ?" for key in given) or "TRUE"
        with self.file.transaction(wipe=True) as connection:
            known = connection.execute(
                f"SELECT count(*) FROM batch WHERE {where}", (*given.values(),)
            ).fetchone()[0]
            if given and not known:
                said = " in ".join(
                    f"epoch {name!r}" if key == "epoch" else f"survey {name[:12]}"
                    for key, name in reversed(given.items())
                )
                raise ArgumentError(
                    f"there is no answer for {said}, so nothing was withdrawn. batches() lists "
                    "every answer"
                )
            return _end(connection, where, (*given.values(),), "withdrawn", None, attempts=0)

    def divide(self, batch: str) -> tuple[str, ...]:
        """Replace a waiting batch by two with half of its reports each. They keep their order.

        Only a collector's own answer that a batch is too large may lead here. A collector gives it
        for batches that it does not have, so the new identifiers count no report again.

        returns: Identifiers of the two. Empty where the batch is not divided.
        """
        with self.file.transaction(wipe=True) as connection:
            row = connection.execute(
                "SELECT * FROM batch WHERE id = ? AND state = 'waiting' AND reports > 1",
                (batch,),
            ).fetchone()
            if row is None:
                return ()
            whole = Batch.from_bytes(unseal(connection, row["key"], row["body"]), segments=None)
            _end(connection, "id = ?", (batch,), "refused", None, attempts=0)
            connection.execute("DELETE FROM batch WHERE id = ?", (batch,))
            half = whole.reports // 2
            ids = new_id(), new_id()
            for id, start, stop in zip(ids, (0, half), (half, whole.reports), strict=True):
                records = whole.records[start * whole.width : stop * whole.width]
                insert(
                    connection,
                    Batch(whole.survey, whole.segment, records, stop - start),
                    row["epoch"],
                    text=row["text"],
                    id=id,
                    days=row["days"],
                    last=row["last"],
                    first=row["first"] + start,
                    pile=row["pile"],
                    collector=row["collector"],
                    token=row["token"],
                )
            return ids

    def postpone(self, batch: str, reason: str, *, until: float, date: float | None = None) -> None:
        """Note that a batch was tried, why in vain, and from when it may be tried again.

        until: Seconds since 1970.
        date: Seconds since 1970 by the clock of the collector that answered. Default: none did.
        """
        with self.file.transaction() as connection:
            # The least of all: a collector's clock may have been ahead before.
            connection.execute(
                "UPDATE batch SET attempts = attempts + 1, reason = ?1, not_before = ?2,"
                " heard = coalesce(min(coalesce(heard, ?3), ?3), heard)"
                " WHERE id = ?4 AND state = 'waiting'",
                (reason, until, date, batch),
            )

    def hold(self, batches: Sequence[str], *, until: float) -> None:
        """Note that batches, which were not tried, must wait until a time too."""
        with self.file.transaction() as connection:
            connection.executemany(
                "UPDATE batch SET not_before = ? WHERE id = ? AND state = 'waiting'",
                [(until, batch) for batch in batches],
            )


def _end(
    connection: sqlite3.Connection,
    where: str,
    names: tuple[str, ...],
    state: State,
    reason: str | None,
    *,
    attempts: int,
) -> int:
    """End waiting batches, and overwrite their keys. Return their number."""
    waiting = f"state = 'waiting' AND {where}"
    connection.execute(
        f"UPDATE report_key SET key = ? WHERE number IN (SELECT key FROM batch WHERE {waiting})",
        (bytes(32), *names),
    )
    ended = connection.execute(
        "UPDATE batch SET state = ?, reason = ?, attempts = attempts + ?, key = NULL, body = NULL,"
        f" token = NULL WHERE {waiting}",
        (state, reason, attempts, *names),
    )
    return ended.rowcount
