"""A gateway, or a site, that holds the reports of many people and sends them once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lapwing.client.collector_address import CollectorAddress, SendResult, send
from lapwing.client.device import segment_number
from lapwing.client.device_file import DeviceFile
from lapwing.client.outbox import Outbox, OutgoingBatch, Patience, insert, of_pile
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.protocol.messages.batch import MOST_BYTES, MOST_REPORTS, Batch, check_epoch_name
from lapwing.protocol.messages.reports import Reports
from lapwing.survey.survey import Survey

MOST_TOGETHER = 8192
"""Reports of a batch, at most: of a few bytes each it is sent and stored at once."""


@dataclass(frozen=True)
class Gateway:
    """The outbox of whoever holds reports of many people: each pile of them is sent once.

    The reports were randomized where the people are, and paid for there; this keeps no ledger. A
    pile is stored in one transaction, cut into batches whose ids never change, so that a crash at
    any time neither loses nor doubles a report.

    Parameters
    ----------
    file : DeviceFile
    """

    file: DeviceFile

    @classmethod
    def open(cls, path: Path | str) -> Gateway:
        """Return the gateway of a file; it is made when there is none.

        Raises
        ------
        FormatError
            When the file is something else or damaged.
        DeviceError
            When it cannot be read or written.
        """
        file = DeviceFile(Path(path))
        if not os.path.lexists(file.path):
            file.create(ledger=None)
        with file.transaction() as connection:
            if connection.execute("SELECT count(*) FROM person").fetchone()[0]:
                raise FormatError(
                    f"{file.path.name} belongs to a device, which holds one person's answers; a "
                    f"gateway "
                    "needs a file of its own"
                )
        return cls(file)

    def batches(self) -> list[OutgoingBatch]:
        """Return every batch that was ever put here, and where it is on its way."""
        return Outbox(self.file).batches()

    def put(
        self,
        survey: Survey,
        reports: Reports,
        *,
        epoch: str,
        pile: str,
        segment: str | None = None,
    ) -> list[OutgoingBatch]:
        """Store a pile of reports, to be sent; nothing changes when it is there already.

        Parameters
        ----------
        survey : Survey
        reports : Reports
            Made by its randomizer.
        epoch : str
        pile : str
            A name for these reports, such as that of the file they came in: 1 to 200 characters.
            Within an epoch, a name stands for the same reports permanently.
        segment : str, optional
            A label of the survey, of all these people.

        Returns
        -------
        list of OutgoingBatch

        Raises
        ------
        MismatchError
            When the reports are another randomizer's, or other ones than wait by that name. Of
            batches that have arrived nothing is kept but their number of reports.
        ReportError
            With the position of the first report that cannot occur.
        DeviceError
            When the file cannot be written. Whatever is raised, nothing was stored.
        """
        check_epoch_name(epoch)
        if not isinstance(pile, str) or not 1 <= len(pile) <= 200 or not pile.isprintable():
            raise ArgumentError("the name of a pile must be 1 to 200 printable characters")
        if not isinstance(reports, Reports) or not len(reports):
            raise ArgumentError("a pile must be Reports, and hold at least one")
        survey.tally(reports)  # what a collector would refuse, before it is stored
        number = segment_number(survey, segment)
        made = [
            Batch.of(part, survey=survey.fingerprint, segment=number) for part in _parts(reports)
        ]
        with self.file.transaction() as connection:
            found = of_pile(connection, survey.fingerprint, epoch, pile)
            if not found:
                for place, batch in enumerate(made):
                    row = OutgoingBatch(
                        os.urandom(16).hex(),
                        survey.fingerprint,
                        epoch,
                        place,
                        batch.reports,
                        "waiting",
                        0,
                        None,
                    )
                    insert(connection, row, batch.to_bytes(), pile=pile)
                found = of_pile(connection, survey.fingerprint, epoch, pile)
        same = len(found) == len(made) and all(
            kept.reports == batch.reports and body in (None, batch.to_bytes())
            for (kept, body), batch in zip(found, made, strict=True)
        )
        if not same:
            raise MismatchError(
                f"the pile {pile!r} of this epoch was stored with other reports; give these "
                "another name, if they are of other people"
            )
        return [batch for batch, _ in found]

    def send(
        self, collector: CollectorAddress | str, *, patience: Patience | None = None
    ) -> SendResult:
        """Send what waits; see :func:`lapwing.client.collector_address.send`."""
        return send(Outbox(self.file), collector, patience or Patience())


def send_reports(
    survey: Survey,
    reports: Reports,
    *,
    epoch: str,
    pile: str,
    gateway: Gateway,
    collector: CollectorAddress | str,
    segment: str | None = None,
    patience: Patience | None = None,
) -> SendResult:
    """Store a pile of reports in a gateway and send it, with all that waits there.

    May be called again, with the same reports and name, until nothing waits: no report is counted
    twice. For the parameters and errors see :meth:`Gateway.put`.

    Parameters
    ----------
    survey : Survey
    reports : Reports
    epoch, pile : str
    gateway : Gateway
    collector : CollectorAddress or str
    segment : str, optional
    patience : Patience, optional

    Returns
    -------
    SendResult
    """
    gateway.put(survey, reports, epoch=epoch, pile=pile, segment=segment)
    return gateway.send(collector, patience=patience)


def _parts(reports: Reports) -> Iterator[Reports]:
    most = max(1, min(MOST_TOGETHER, MOST_REPORTS, MOST_BYTES // reports.width))
    for start in range(0, len(reports), most):
        yield reports[start : start + most]
