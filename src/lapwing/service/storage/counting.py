"""How reports become rows: checked and counted by their survey, stored in as few bytes as do.

A row holds the records themselves or their counts, whichever is shorter. Of a survey whose tallies
are logs always the records. So a commit never writes all counts of a large domain again.

Folding joins the rows that transactions have added: into one row of counts, or rows of a log. It
changes no answer. A fold takes exactly the rows that it has read, within one transaction, so an
interruption never loses a row or counts it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, ReportError, StoreError
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.messages.batch import MOST_REFUSED, NO_SEGMENT
from lapwing.protocol.messages.group_tallies import OTHER
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally, Tally, TallyLog
from lapwing.protocol.randomizer import Fault, faults_in, refuse
from lapwing.service.storage.driver import Transaction
from lapwing.survey.survey import Survey

RECORDS = 0
"""Form of a row whose body is records, one behind the other."""
COUNTS = 1
"""... is the number of reports of each block, then all its counts: little-endian, 64 bits each."""


class Row(NamedTuple):
    """Some reports as they are stored."""

    reports: int
    form: int
    body: bytes


class Counting:
    """A survey as its collector uses it.

    document: The JSON of the survey.

    Raises FormatError when it is no survey.
    """

    def __init__(self, document: bytes) -> None:
        # Of either kind, which a file does not tell a type checker.
        self.survey: Survey = Survey.from_json(document)
        self.randomizer = self.survey.randomizer.fingerprint
        self.width = self.survey.randomizer.report_width
        self.segments = self.survey.segments
        self.nothing = self.tally(b"")
        self.is_log = isinstance(self.nothing, TallyLog)
        self._sizes = [] if self.is_log else [block.size for block in self.nothing.blocks]
        self.counts_bytes = 8 * sum(1 + size for size in self._sizes)

    def tally(self, records: bytes) -> Tally:
        """Return the exact tally of some records.

        Raises ReportError with the position of the first report that cannot occur.
        """
        return self.survey.tally(self._reports(records))

    def refused(self, records: bytes, reports: int) -> tuple[tuple[int, str], ...]:
        """Return the position and reason of the first reports that cannot occur, at most 100."""
        width = len(records) // reports
        if width != self.width:
            return ((0, f"every report must have {self.width} bytes, but these have {width}"),)
        found: dict[int, str] = {}
        for fault in self._faults(records):
            for position in fault.positions[:MOST_REFUSED].tolist():
                found.setdefault(position, fault.reason)
        return tuple(sorted(found.items())[:MOST_REFUSED])

    def row(self, records: bytes) -> Row:
        """Return the shorter of records and counts.

        Nothing is counted where the records are shorter, so a few reports of a large domain do not
        cost a pass over the domain.

        Raises ReportError when a report cannot occur.
        """
        if not self.is_log and self.counts_bytes < len(records):
            return self.counted(cast(CountTally, self.tally(records)))
        refuse(self._faults(records))
        return Row(len(records) // self.width, RECORDS, records)

    def _faults(self, records: bytes) -> list[Fault]:
        return faults_in(self._reports(records), self.survey.randomizer, most=MOST_REFUSED)

    def _reports(self, records: bytes) -> Reports:
        if len(records) % self.width:
            raise ReportError(f"every report must have {self.width} bytes, but these do not")
        cells = np.frombuffer(records, dtype=np.uint8).reshape(-1, self.width)
        return Reports(cells, self.randomizer)

    def counted(self, tally: CountTally) -> Row:
        """Return counts as a row."""
        parts: list[NDArray[np.int64]] = []
        for number, block in zip(tally.reports, tally.blocks, strict=True):
            parts += [np.array([number], dtype=np.int64), block]
        return Row(tally.total, COUNTS, np.concatenate(parts).astype("<i8").tobytes())

    def folded(self, rows: Sequence[Row]) -> Row:
        """Return the one row that says what some rows say together.

        Of a log, records in ascending order of their numbers: what came when is gone.
        """
        if not self.is_log:
            tally = self.total(rows)
            assert isinstance(tally, CountTally)
            return self.counted(tally)
        runs = [run for row in rows for run in self._runs(row)]
        joined = TallyLog(runs, self.width, self.randomizer)
        return Row(joined.total, RECORDS, joined.records())

    def total(self, rows: Iterable[Row]) -> Tally:
        """Return the tally of everything in some rows.

        Raises StoreError when a row cannot be of this survey: the database is damaged.
        """
        if self.is_log:
            runs = [run for row in rows for run in self._runs(row)]
            return TallyLog(runs, self.width, self.randomizer, self.survey.fingerprint)
        summed = np.zeros(self.counts_bytes // 8, dtype=np.int64)
        waiting: list[bytes] = []
        for row in rows:
            if row.form == COUNTS and len(row.body) == self.counts_bytes:
                summed += np.frombuffer(row.body, dtype="<i8")
            elif row.form == RECORDS and len(row.body) == row.reports * self.width:
                waiting.append(row.body)
            else:
                raise _damaged()
        blocks: list[NDArray[np.int64]] = []
        reports: list[int] = []
        start = 0
        for size in self._sizes:
            reports.append(int(summed[start]))
            blocks.append(summed[start + 1 : start + 1 + size])
            start += 1 + size
        whole = CountTally(blocks, reports, self.randomizer, self.survey.fingerprint)
        return whole + self.tally(b"".join(waiting)) if waiting else whole

    @property
    def joined_below(self) -> int:
        """Bytes of a folded row below which it is joined with others."""
        return RUN_BYTES if self.is_log else 2**31 - 1

    def least(self, minimum: int) -> int | None:
        """Return the reports that a segment needs. None where the survey has no segments."""
        return max(minimum, self.survey.segment_minimum) if self.segments else None

    def segment(self, label: Any) -> int:
        """Return the number of a segment. ArgumentError when the survey has none of that name."""
        if label == OTHER:
            return NO_SEGMENT
        # A file that was damaged may have anything in its place.
        place = place_of(label, self.segments) if isinstance(label, str) else None
        if place is None:
            known = ", ".join(repr(name) for name in (*self.segments[:20], OTHER))
            raise ArgumentError(f"the segment must be one of the survey's: {known}")
        return place + 1

    def label(self, segment: int) -> str:
        """Return the label of a segment."""
        return self.segments[segment - 1] if 1 <= segment <= len(self.segments) else OTHER

    def _runs(self, row: Row) -> Sequence[NDArray[np.uint64]]:
        if row.form != RECORDS or len(row.body) != row.reports * self.width:
            raise _damaged()
        log = self.tally(row.body)
        assert isinstance(log, TallyLog)
        return log.runs


def _damaged() -> StoreError:
    return StoreError(
        "the database contains reports that cannot belong to their survey. Restore a backup"
    )


MOST_ROWS = 4096
MOST_BYTES = 4 * 2**20
"""Of the rows that one transaction folds."""

RUN_BYTES = 2**20
"""Bytes from which on a row of a log is not written again."""

UPSERT = (
    "INSERT INTO folded (epoch, segment, part, reports, form, body)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (epoch, segment, part) DO UPDATE"
    " SET reports = excluded.reports, form = excluded.form, body = excluded.body"
)


def fold_group(
    transaction: Transaction,
    epoch: int,
    segment: int,
    counting: Callable[[str], Counting],
    *,
    share: str,
    fold_lock: str,
) -> bool:
    """Fold rows of one group, as many as one transaction takes. Return whether more are there.

    epoch, segment: The group.
    counting: Returns the Counting of a fingerprint.
    share, fold_lock: As of the Driver.
    """
    if fold_lock:
        # Two that fold one group would each write a row without what the other has counted.
        transaction.rows(fold_lock, epoch << 16 | segment)
    # The epoch must stay while it is folded, or its rows would come back.
    owner = transaction.rows(
        "SELECT s.fingerprint FROM epochs e JOIN surveys s ON s.key = e.survey WHERE e.key = ?1"
        + share,
        epoch,
    )
    return bool(owner) and fold_rows(transaction, epoch, segment, counting(owner[0][0]))


def fold_rows(transaction: Transaction, epoch: int, segment: int, counted: Counting) -> bool:
    """Fold rows of one group that nobody else folds. Return whether more are there."""
    found = transaction.rows(
        "SELECT key, LENGTH(body) FROM deltas WHERE epoch = ?1 AND segment = ?2"
        " ORDER BY key LIMIT ?3",
        epoch,
        segment,
        MOST_ROWS,
    )
    if not found:
        return False
    size, taken = 0, 0
    for _, length in found:
        size += int(length)
        if taken and size > MOST_BYTES:
            break
        taken += 1
    # What is read is what goes, in one statement.
    rows = transaction.rows(
        "DELETE FROM deltas WHERE epoch = ?1 AND segment = ?2 AND key <= ?3"
        " RETURNING reports, form, body",
        epoch,
        segment,
        found[taken - 1][0],
    )
    part, before = _open_part(transaction, epoch, segment, is_log=counted.is_log)
    after = [Row(int(reports), int(form), bytes(body)) for reports, form, body in rows]
    transaction.run(UPSERT, epoch, segment, part, *counted.folded([*before, *after]))
    return taken < len(found) or len(found) == MOST_ROWS


def _open_part(
    transaction: Transaction, epoch: int, segment: int, *, is_log: bool
) -> tuple[int, list[Row]]:
    """Return the number of the row that is written, and the row that it replaces, if any.

    A row of the look that is shown stays as it is.
    """
    latest = transaction.rows(
        "SELECT part, reports, form, body, look FROM folded WHERE epoch = ?1 AND segment = ?2"
        " ORDER BY part DESC LIMIT 1",
        epoch,
        segment,
    )
    if not latest:
        return 0, []
    part, reports, form, body, look = latest[0]
    if look or (is_log and len(body) >= RUN_BYTES):
        return int(part) + 1, []
    return int(part), [Row(int(reports), int(form), bytes(body))]
