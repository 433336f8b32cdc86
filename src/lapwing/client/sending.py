"""Sends waiting batches: the same bytes until a collector has them, or says that it never will."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from lapwing.client.collector_address import CollectorAddress, Connection
from lapwing.client.outbox import Outbox, Parcel, Patience

_SHORTEST_REQUEST = 1.0
"""Seconds that the first request of a call has in any case."""


@dataclass(frozen=True)
class SendResult:
    """Result of one call to send.

    Parameters
    ----------
    stored : int
        Number of batches that the collector now has.
    refused : int
        Number of batches that it will never take. :meth:`lapwing.client.Device.batches` gives the
        reasons.
    waiting : int
        Number of batches that are still in the outbox, for any collector.
    problems : tuple of str
        Failures, each listed once, and the addresses of other collectors that answers are waiting
        for. Default: none.
    expired : int
        Number of batches that were given up because their last day had passed. Default: 0.

    Examples
    --------
    >>> import lapwing as lw
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     device = lw.client.Device.open(folder, epsilon_cap=1, budget=2)
    ...     device.send("https://collector.example")  # nothing waits, so nothing is sent
    SendResult(stored=0, refused=0, waiting=0, problems=(), expired=0)
    """

    stored: int
    refused: int
    waiting: int
    problems: tuple[str, ...] = ()
    expired: int = 0


@dataclass(frozen=True)
class _Failure:
    """A batch that must be sent again, after a pause that the collector asked for."""

    batch: str
    pause: float
    everywhere: bool


@dataclass
class _Call:
    """One call to send, and what it has come to."""

    outbox: Outbox
    connection: Connection
    patience: Patience
    left: float
    """Seconds that are left of the call, of pauses and requests."""
    stored: int = 0
    refused: int = 0
    expired: int = 0
    reasons: dict[str, None] = field(default_factory=dict)

    def attempt(self, batches: list[str]) -> tuple[list[_Failure], list[str]]:
        """Send each batch once. Return those that failed, and those that were left untried.

        Batches stay untried after a failure that any other batch would meet now.
        """
        failures: list[_Failure] = []
        for number, batch in enumerate(batches, start=1):
            if self.left <= 0:
                return failures, batches[number - 1 :]
            parcel = self.outbox.parcel(batch)
            new = [] if parcel is None else self._put(parcel)
            failures += new
            if any(failure.everywhere for failure in new):
                untried = batches[number:]
                self.outbox.hold(untried, until=self.patience.clock() + new[0].pause)
                return failures, untried
        return failures, []

    def _put(self, parcel: Parcel) -> list[_Failure]:
        begun = time.monotonic()
        said = self.connection.put(parcel, seconds=self.left)
        self.left -= time.monotonic() - begun
        if said.kind == "stored":
            self.outbox.settle(parcel.id, "stored", None)
            self.stored += 1
            return []
        self.reasons[said.reason] = None
        if said.kind == "refused":
            self.outbox.settle(parcel.id, "refused", said.reason)
            self.refused += 1
            return []
        pause, now = said.retry_after or 0.0, self.patience.clock()
        # A proxy, a silent network or a busy collector says nothing of this report.
        if parcel.is_over(now, said.date) and not said.everywhere:
            self.outbox.settle(parcel.id, "expired", said.reason)
            self.expired += 1
            return []
        if said.divide and (halves := self.outbox.divide(parcel.id)):
            return [_Failure(half, 0.0, False) for half in halves]
        self.outbox.postpone(parcel.id, said.reason, until=now + pause, date=said.date)
        return [_Failure(parcel.id, pause, said.everywhere)]


def send(
    outbox: Outbox,
    collector: CollectorAddress | str,
    patience: Patience,
    *,
    survey: str | None = None,
    epoch: str | None = None,
) -> SendResult:
    """Send every batch that waits for a collector.

    Answers of 200 and 201 that confirm the batch settle it, and so do the final problems of a
    collector (:attr:`lapwing.protocol.messages.problems.Problem.final`). Any other answer leaves it
    as it is, for a later round or a later call. That holds for other problems, for pages of a proxy
    whatever their status, and for failures of the network. Two halves take the place of a batch
    that is too large for the collector. A batch is given up when its last day has passed, and a
    collector answers that it does not take it now. By the collector's own clock, all days of the
    batch lie between its first such answer and this one.

    Parameters
    ----------
    outbox : Outbox
        Outbox of a device or gateway.
    collector : CollectorAddress or str
        Address of the collector.
    patience : Patience
        Attempts and pauses.
    survey : str, optional
        Send only the batches of the survey with this fingerprint. Default: all.
    epoch : str, optional
        Send only the batches of this epoch. Default: all.

    Returns
    -------
    SendResult
        Numbers of batches, and failures of the network, which raise nothing. Answers to a fetched
        survey wait for the collector that gave it. The result names that address where it is
        another one.
    """
    address = CollectorAddress.of(collector)
    due = outbox.due(address.url, now=patience.clock(), survey=survey, epoch=epoch)
    elsewhere = outbox.elsewhere(address.url, survey=survey, epoch=epoch)
    others = tuple(
        f"{number} {'answer waits' if number == 1 else 'answers wait'} for another collector: {url}"
        for url, number in elsewhere.items()
    )
    if not due:
        return SendResult(0, 0, outbox.waiting(), others)
    with address.connected() as connection:
        call = _Call(outbox, connection, patience, max(patience.together, _SHORTEST_REQUEST))
        for number in range(1, patience.rounds + 1):
            failures, untried = call.attempt(due)
            pause = patience.pause(number)
            pause = max([pause, *(one.pause for one in failures if one.everywhere)])
            # Those that were not tried first: perhaps it is only the one before them.
            due = untried + [one.batch for one in failures if one.pause <= pause]
            if not due or number == patience.rounds or pause > min(call.left, patience.together):
                break
            call.left -= pause
            patience.wait(pause)
    problems = (*call.reasons, *others)
    return SendResult(call.stored, call.refused, outbox.waiting(), problems, call.expired)
