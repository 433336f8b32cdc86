"""Folding: the rows that transactions have added become one row of counts, or rows of a log.

It changes no answer. A fold takes the rows that it has read and no others, within one transaction,
so that nothing is lost or counted twice whenever it is interrupted.
"""

from __future__ import annotations

from collections.abc import Callable

from lapwing.service.storage.counting import Counting, Row
from lapwing.service.storage.driver import Transaction

MOST_ROWS = 4096
MOST_BYTES = 4 * 2**20
"""Of the rows that one transaction folds."""

RUN_BYTES = 2**20
"""Bytes from which on a row of a log is not written anew."""

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
    """Fold rows of one group, as many as one transaction takes; return whether more are there.

    Parameters
    ----------
    transaction : Transaction
    epoch, segment : int
        The group.
    counting : callable
        Returns the Counting of a fingerprint.
    share, fold_lock : str
        As of the Driver.
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
    if not owner:
        return False
    counted = counting(owner[0][0])
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
    """Return the number of the row that is written, and the row that it replaces, if any."""
    latest = transaction.rows(
        "SELECT part, reports, form, body FROM folded WHERE epoch = ?1 AND segment = ?2"
        " ORDER BY part DESC LIMIT 1",
        epoch,
        segment,
    )
    if not latest:
        return 0, []
    part, reports, form, body = latest[0]
    if is_log and len(body) >= RUN_BYTES:
        return int(part) + 1, []
    return int(part), [Row(int(reports), int(form), bytes(body))]
