"""Sending what waits: the same bytes until the collector has them, or says that it never will."""

from __future__ import annotations

from dataclasses import dataclass, field

from lapwing.client.collector_address import CollectorAddress, Connection
from lapwing.client.outbox import Outbox, Parcel
from lapwing.client.patience import Patience


@dataclass(frozen=True)
class Sent:
    """What one call to send came to.

    Parameters
    ----------
    stored : int
        Batches that the collector has now.
    refused : int
        Batches that it will never take; :meth:`lapwing.client.Device.batches` says why.
    waiting : int
        Batches that are still in the outbox, whomever they are for.
    problems : tuple of str
        What went wrong, each once.
    """

    stored: int
    refused: int
    waiting: int
    problems: tuple[str, ...] = ()


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
    stored: int = 0
    refused: int = 0
    reasons: dict[str, None] = field(default_factory=dict)

    def attempt(self, batches: list[str]) -> tuple[list[_Failure], list[str]]:
        """Send each batch once; return those that failed, and those that were left untried.

        They are, after a failure that any other batch would meet now, too.
        """
        failures = []
        for number, batch in enumerate(batches, start=1):
            parcel = self.outbox.parcel(batch)
            failure = None if parcel is None else self._put(parcel)
            if failure is None:
                continue
            failures.append(failure)
            if failure.everywhere:
                untried = batches[number:]
                self.outbox.hold(untried, until=self.patience.clock() + failure.pause)
                return failures, untried
        return failures, []

    def _put(self, parcel: Parcel) -> _Failure | None:
        said = self.connection.put(parcel)
        if said.kind == "stored":
            self.outbox.settle(parcel.id, "stored", None)
            self.stored += 1
            return None
        self.reasons[said.reason] = None
        if said.kind == "refused":
            self.outbox.settle(parcel.id, "refused", said.reason)
            self.refused += 1
            return None
        pause = said.retry_after or 0.0
        self.outbox.postpone(parcel.id, said.reason, until=self.patience.clock() + pause)
        return _Failure(parcel.id, pause, said.everywhere)


def send(outbox: Outbox, collector: CollectorAddress | str, patience: Patience) -> Sent:
    """Send every batch that waits for a collector.

    Answers of 200 and 201 that confirm the batch settle it, and so do those of 4xx, which refuse
    it; 408, 425, 429, 5xx, answers that are no collector's and failures of the network leave it as
    it is, for a later round or a later call.

    Parameters
    ----------
    outbox : Outbox
    collector : CollectorAddress or str
    patience : Patience

    Returns
    -------
    Sent
        Failures of the network are told there, and raise nothing.
    """
    address = CollectorAddress.of(collector)
    due = outbox.due(address.url, now=patience.clock())
    if not due:
        return Sent(0, 0, outbox.waiting())
    left = patience.together
    with address.connected() as connection:
        call = _Call(outbox, connection, patience)
        for number in range(1, patience.rounds + 1):
            failures, untried = call.attempt(due)
            pause = patience.pause(number)
            pause = max([pause, *(one.pause for one in failures if one.everywhere)])
            # Those that were not tried first: perhaps it is only the one before them.
            due = untried + [one.batch for one in failures if one.pause <= pause]
            if not due or number == patience.rounds or pause > left:
                break
            left -= pause
            patience.wait(pause)
    return Sent(call.stored, call.refused, outbox.waiting(), tuple(call.reasons))
