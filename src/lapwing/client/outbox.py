"""Outbox: the bytes of every batch, unchanged until a collector has them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from secrets import SystemRandom
from typing import Literal, cast

from lapwing.client.device_file import DeviceFile, seal, unseal
from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import check_whole_field

LONGEST_PAUSE = 86_400.0
"""Seconds that a collector may ask for. A time further ahead is that of a clock which was wrong."""


@dataclass(frozen=True)
class Patience:
    """Attempts of one call to send, and the pauses between them.

    The pause after the k-th failed round is random, between half and all of ``first * 2^(k - 1)``,
    at most `longest`. So devices that failed together do not come back together. A ``Retry-After``
    of the collector is always respected. Where it is longer than the rest of `together`, the
    batches stay in the outbox. The next call before its end does not send them.

    Parameters
    ----------
    rounds : int
        Attempts for each batch in one call, in 1..100. Default: 5.
    first : float
        Largest first pause in seconds, in [0, 86,400]. Default: 1.
    longest : float
        Longest pause that the collector did not ask for, in seconds, in [0, 86,400]. Default: 60.
    together : float
        Duration of one call in seconds, with all pauses and requests, in [0, 86,400]. Default: 180.
        The first request has at least one second.
    wait : callable
        Waits so many seconds. Default: ``time.sleep``.
    clock : callable
        Returns the seconds since 1970. Default: ``time.time``.

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
                    f"{name} must be a number of seconds from 0 to {LONGEST_PAUSE:g}, "
                    f"got {seconds!r}"
                )

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after a number of failures.

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


State = Literal["waiting", "stored", "refused"]

_COLUMNS = "id, survey, epoch, part, reports, state, attempts, reason"


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
    position : int
        Position among the batches of one batch group of reports, from 0.
    reports : int
        Number of reports.
    state : {"waiting", "stored", "refused"}
        Whether the batch is to be sent, the collector has it, or the collector refused it.
    attempts : int
        Number of times that it was sent.
    reason : str or None
        Reason why it was refused, or was not taken yet.
    notice : dict
        Notice of the survey when it was answered: question, purpose, owner, contact. Default:
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
    """

    id: str
    survey: str
    epoch: str
    position: int
    reports: int
    state: State
    attempts: int
    reason: str | None
    notice: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, repr=False)
class Parcel:
    """A waiting batch with its bytes, for whoever sends it."""

    id: str
    survey: str
    epoch: str
    body: bytes
    token: str | None


def insert(
    connection: sqlite3.Connection,
    batch: OutgoingBatch,
    body: bytes,
    *,
    pile: str = "",
    collector: str | None = None,
    token: str | None = None,
) -> None:
    """Put a batch into the outbox, within a transaction.

    Parameters
    ----------
    connection : sqlite3.Connection
        Open transaction of the file.
    batch : OutgoingBatch
        Batch to be stored.
    body : bytes
        Bytes to be sent, every time the same. They are stored encrypted. When they have arrived,
        their key is overwritten, and nothing that follows from them is kept. The random identifier
        names the batch.
    pile : str
        Name of the batch group that it is a part of. Default: empty, for a device's own answers.
    collector : str, optional
        Address of the only collector that gets it. Default: any.
    token : str, optional
        Token of its sender. Default: none.
    """
    said = (batch.id, batch.survey, batch.epoch, pile, batch.position, batch.reports)
    connection.execute(
        "INSERT INTO batch"
        " (id, survey, epoch, pile, part, reports, key, body, token, collector, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting')",
        (*said, *seal(connection, body), token, collector),
    )


def of_pile(
    connection: sqlite3.Connection, survey: str, epoch: str, pile: str = ""
) -> list[tuple[OutgoingBatch, bytes | None]]:
    """Return the batches of a batch group in order, each with its bytes while it waits."""
    rows = connection.execute(
        f"SELECT {_COLUMNS}, key, body FROM batch WHERE survey = ? AND epoch = ? AND pile = ?"
        " ORDER BY part",
        (survey, epoch, pile),
    )
    return [
        (OutgoingBatch(*row[:-2]), None if body is None else unseal(connection, number, body))
        for row in rows.fetchall()
        for number, body in [row[-2:]]
    ]


@dataclass(frozen=True)
class Outbox:
    """The batches in a file.

    Parameters
    ----------
    file : DeviceFile
    """

    file: DeviceFile

    def batches(self) -> list[OutgoingBatch]:
        """Return all batches that were ever made, whatever became of them."""
        with self.file.transaction() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS}, text FROM batch LEFT JOIN notice USING (survey, epoch)"
                " ORDER BY survey, epoch, part"
            )
            return [
                replace(OutgoingBatch(*row[:-1]), notice=json.loads(row["text"] or "{}"))
                for row in rows.fetchall()
            ]

    def due(
        self, collector: str, *, now: float, survey: str | None = None, epoch: str | None = None
    ) -> list[str]:
        """Return the ids of batches that may be sent now, those that were tried least first.

        Parameters
        ----------
        collector : str
            Its address.
        now : float
            Seconds since 1970.
        survey, epoch : str, optional
            Return only the batches of this fingerprint, and of this epoch.
        """
        with self.file.transaction() as connection:
            # A time too far ahead is that of a clock which was wrong when it was written.
            rows = connection.execute(
                "SELECT id FROM batch WHERE state = 'waiting'"
                " AND (collector IS NULL OR collector = ?)"
                " AND (not_before <= ? OR not_before > ?)"
                " AND survey = coalesce(?, survey) AND epoch = coalesce(?, epoch)"
                " ORDER BY attempts, id",
                (collector, now, now + LONGEST_PAUSE, survey, epoch),
            )
            return [row[0] for row in rows.fetchall()]

    def waiting(self) -> int:
        """Return how many batches are to be sent, now or later."""
        with self.file.transaction() as connection:
            rows = connection.execute("SELECT count(*) FROM batch WHERE state = 'waiting'")
            return cast(int, rows.fetchone()[0])

    def parcel(self, batch: str) -> Parcel | None:
        """Return a batch to be sent, or None when it has been sent already."""
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT id, survey, epoch, key, body, token FROM batch"
                " WHERE id = ? AND state = 'waiting'",
                (batch,),
            ).fetchone()
            if row is None:
                return None
            body = unseal(connection, row["key"], row["body"])
            return Parcel(row["id"], row["survey"], row["epoch"], body, row["token"])

    def settle(self, batch: str, state: State, reason: str | None) -> None:
        """Note that a collector has a batch, or refused it, and forget its bytes."""
        with self.file.transaction(wipe=True) as connection:
            connection.execute(
                "UPDATE report_key SET key = ? WHERE number ="
                " (SELECT key FROM batch WHERE id = ? AND state = 'waiting')",
                (bytes(32), batch),
            )
            connection.execute(
                "UPDATE batch SET state = ?, reason = ?, attempts = attempts + 1, key = NULL,"
                " body = NULL, token = NULL WHERE id = ? AND state = 'waiting'",
                (state, reason, batch),
            )

    def postpone(self, batch: str, reason: str, *, until: float) -> None:
        """Note that a batch was tried, why in vain, and from when it may be tried again.

        Parameters
        ----------
        batch, reason : str
        until : float
            Seconds since 1970.
        """
        with self.file.transaction() as connection:
            connection.execute(
                "UPDATE batch SET attempts = attempts + 1, reason = ?, not_before = ?"
                " WHERE id = ? AND state = 'waiting'",
                (reason, until, batch),
            )

    def hold(self, batches: Sequence[str], *, until: float) -> None:
        """Note that batches, which were not tried, must wait until a time too."""
        with self.file.transaction() as connection:
            connection.executemany(
                "UPDATE batch SET not_before = ? WHERE id = ? AND state = 'waiting'",
                [(until, batch) for batch in batches],
            )
