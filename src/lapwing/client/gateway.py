"""Gateway: the outbox of a site that holds the reports of many people."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lapwing.client.collector_address import CollectorAddress
from lapwing.client.device import Device, segment_number
from lapwing.client.device_file import DeviceFile
from lapwing.client.outbox import (
    KEEP_DAYS,
    MOST_DAYS,
    Outbox,
    OutgoingBatch,
    Patience,
    insert,
    new_id,
    of_pile,
    wait_again,
)
from lapwing.client.sending import SendResult, send
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.protocol.messages.batch import MOST_BYTES, MOST_REPORTS, Batch, check_epoch_name
from lapwing.protocol.messages.reports import Reports
from lapwing.survey.survey import Survey

MOST_TOGETHER = 8192
"""Most reports of a batch: at a few bytes each, it is sent and stored in one piece."""


@dataclass(frozen=True)
class Gateway:
    """Gateway: the outbox of a site that holds reports of many people, and sends them once.

    The reports come in named batch groups. They were randomized and paid for on the people's own
    devices, so a gateway has no ledger. A batch group is stored in one transaction, split into
    batches whose identifiers never change. So a crash at any time neither loses nor duplicates a
    report. Use :meth:`open`.

    Parameters
    ----------
    file : DeviceFile
        File of the gateway.
    keep_days : int
        Least number of days that a batch waits, in 1..3650. Default: 60.

    Examples
    --------
    >>> import lapwing as lw
    >>> import tempfile
    >>> from pathlib import Path
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=10), epsilon="0.5"))
    >>> reports = survey.randomizer.randomize([41, 29, 63])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gateway = lw.client.Gateway.open(Path(folder) / "gateway.lapwing")
    ...     batches = gateway.put(survey, reports, epoch="2026-12", pile="monday")
    ...     again = gateway.put(survey, reports, epoch="2026-12", pile="monday")
    >>> batches == again, batches[0].reports, batches[0].state
    (True, 3, 'waiting')
    """

    file: DeviceFile
    keep_days: int = KEEP_DAYS

    def __post_init__(self) -> None:
        """Check the number of days."""
        check_whole_field(self, "keep_days", low=1, high=MOST_DAYS)

    @classmethod
    def open(cls, path: Path | str, *, keep_days: int = KEEP_DAYS) -> Gateway:
        """Return the gateway of a file. The file is created if it does not exist.

        Parameters
        ----------
        path : Path or str
            Path of the file.
        keep_days : int
            Least number of days that a batch put here from now on waits, in 1..3650. Default: 60.

        Returns
        -------
        Gateway
            The gateway.

        Raises
        ------
        FormatError
            When the file is not a gateway's file, or is damaged.
        DeviceError
            When the file cannot be read or written.
        """
        file = DeviceFile(Path(path))
        gateway = cls(file, keep_days)
        if not os.path.lexists(file.path):
            file.create(ledger=None)
        with file.transaction() as connection:
            if connection.execute("SELECT count(*) FROM person").fetchone()[0]:
                raise FormatError(
                    f"{file.path.name} belongs to a device, which stores one person's answers. "
                    "A gateway needs its own file"
                )
        return gateway

    def batches(self) -> list[OutgoingBatch]:
        """Return every batch ever put here, with its state.

        Returns
        -------
        list of OutgoingBatch
            Batches, ordered by survey, epoch and batch group.
        """
        return Outbox(self.file).batches()

    def put(
        self,
        survey: Survey,
        reports: Reports,
        *,
        epoch: str,
        pile: str,
        segment: str | None = None,
        again: bool = False,
    ) -> list[OutgoingBatch]:
        """Store a named batch group of reports. Nothing changes if it is already stored.

        Parameters
        ----------
        survey : Survey
            Survey of the reports, with the text that all of these people were asked. The collector
            refuses the batches if the epoch asks another text.
        reports : Reports
            Reports of its randomizer, at least one.
        epoch : str
            Name of the epoch.
        pile : str
            Name for these reports, such as that of their file: 1 to 200 printable characters.
            Within an epoch, a name permanently means the same reports.
        segment : str, optional
            Label, from the survey, of all these people. Any other counts as "other", with a
            warning. Default: none.
        again : bool
            Whether to send again the batches of the group that ended without being stored: those
            that were refused, withdrawn or expired. They keep their identifiers, so no report
            counts twice. Default: False.

        Returns
        -------
        list of OutgoingBatch
            Batches of the group, in order.

        Raises
        ------
        MismatchError
            When the reports are from another randomizer, or they or their text differ from what is
            stored under that name. For batches that have arrived, only the number of reports is
            kept.
        ReportError
            With the position of the first report that cannot occur.
        DeviceError
            When the file cannot be written. After any error, nothing has been stored.
        """
        check_epoch_name(epoch)
        if not isinstance(pile, str) or not 1 <= len(pile) <= 200 or not pile.isprintable():
            raise ArgumentError("group", "must be 1 to 200 printable characters")
        if not isinstance(reports, Reports) or not len(reports):
            raise ArgumentError(
                "a batch group must be at least one report, as Reports. Pass the output of "
                "randomize"
            )
        survey.tally(reports)  # what a collector would refuse, before it is stored
        number = segment_number(survey, segment)

        def part(first: int, size: int) -> Batch:
            some = reports[first : first + size]
            return Batch.of(some, survey=survey.fingerprint, segment=number)

        with self.file.transaction() as connection:
            found = of_pile(connection, survey.fingerprint, epoch, pile)
            if not found:
                for first in range(0, len(reports), most := _most_together(reports.width)):
                    batch = part(first, most)
                    insert(
                        connection,
                        batch,
                        epoch,
                        text=survey.text_fingerprint,
                        id=new_id(),
                        days=self.keep_days,
                        first=first,
                        pile=pile,
                    )
            if any(kept.text != survey.text_fingerprint for kept, _ in found):
                raise MismatchError(
                    f"the batch group {pile!r} of this epoch was stored under another text of "
                    "the survey. To send these reports under the current text, give them "
                    "another name"
                )
            same = not found or sum(kept.reports for kept, _ in found) == len(reports)
            if not same or any(
                body not in (None, part(kept.first, kept.reports).to_bytes())
                for kept, body in found
            ):
                raise MismatchError(
                    f"the batch group {pile!r} of this epoch was stored with other reports. If "
                    "these are from other people, give them another name"
                )
            for kept, body in found if again else ():
                if body is None and kept.state != "stored":
                    bytes_again = part(kept.first, kept.reports).to_bytes()
                    wait_again(connection, kept.id, bytes_again, days=self.keep_days)
            found = of_pile(connection, survey.fingerprint, epoch, pile)
        return [batch for batch, _ in found]

    @inherits(Device.send)
    def send(
        self, collector: CollectorAddress | str, *, patience: Patience | None = None
    ) -> SendResult:
        """Send the waiting batches.

        See :func:`lapwing.client.sending.send`.
        """
        return send(Outbox(self.file), collector, patience or Patience())


@inherits(Device.send)
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
    """Store a named batch group of reports in a gateway, and send everything that waits there.

    Call it again, with the same reports and name, until nothing waits. No report is counted twice.

    Parameters
    ----------
    survey : Survey
        Survey of the reports.
    reports : Reports
        Reports of its randomizer, at least one.
    epoch : str
        Name of the epoch.
    pile : str
        Name for these reports: 1 to 200 printable characters.
    gateway : Gateway
        Gateway that stores them.
    segment : str, optional
        Label, from the survey, of all these people. Default: none.

    Raises
    ------
    MismatchError, ReportError, DeviceError
        As :meth:`Gateway.put`.

    Examples
    --------
    >>> import lapwing as lw
    >>> gateway = lw.client.Gateway.open("gateway.lapwing")  # doctest: +SKIP
    >>> lw.client.send_reports(
    ...     survey, reports, epoch="2026-12", pile="monday", gateway=gateway,
    ...     collector="https://collector.example")  # doctest: +SKIP
    SendResult(stored=1, refused=0, waiting=0, problems=(), expired=0)
    """
    gateway.put(survey, reports, epoch=epoch, pile=pile, segment=segment)
    return gateway.send(collector, patience=patience)


def _most_together(width: int) -> int:
    return max(1, min(MOST_TOGETHER, MOST_REPORTS, MOST_BYTES // width))
