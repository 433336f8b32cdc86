"""The rows of surveys and epochs: what may stand in them, how they come and how they go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import get_args

from lapwing.documents import canonical
from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.messages.batch import check_epoch_name
from lapwing.service.storage.driver import Transaction
from lapwing.service.storage.store import (
    EpochState,
    FormerNotice,
    StoredEpoch,
    StoredSurvey,
    UploadRule,
)
from lapwing.survey.survey import Survey

LATEST = 2**53 - 1
"""Of times, in seconds, and of minimums."""

_DROPPED_ROWS = 20_000
"""Rows of a closed epoch's list of batches that one transaction drops, at most."""

EPOCH_COLUMNS = "name, state, opens, closes, grace_seconds, text_version"
SURVEY_COLUMNS = "fingerprint, document, state, minimum, upload, retention_days"


def check_survey(survey: StoredSurvey) -> None:
    """Raise ArgumentError unless what the collector has decided about a survey is legal."""
    check_whole("the minimum of a survey", survey.minimum, low=1, high=LATEST, error=ArgumentError)
    if survey.upload not in get_args(UploadRule):
        raise ArgumentError('upload must be "open" or "tokens"')
    if survey.retention_days is not None:
        check_whole("retention_days", survey.retention_days, low=0, high=10**6, error=ArgumentError)


def check_epoch(epoch: StoredEpoch) -> None:
    """Raise ArgumentError unless the name and the times of an epoch are legal."""
    check_epoch_name(epoch.name)
    if epoch.state not in get_args(EpochState):
        raise ArgumentError("an epoch must be planned, open, grace or closed")
    for name, time in (("opens", epoch.opens), ("closes", epoch.closes)):
        if time is not None:
            check_whole(f"{name} of an epoch", time, low=0, high=LATEST, error=ArgumentError)
    if epoch.opens is not None and epoch.closes is not None and epoch.closes <= epoch.opens:
        raise ArgumentError("an epoch must open before it closes")
    check_whole("grace_seconds", epoch.grace_seconds, low=0, high=10**9, error=ArgumentError)
    check_whole("text_version", epoch.text_version, low=0, high=LATEST, error=ArgumentError)


def check_forward(now: str, then: str, states: Sequence[str], what: str) -> None:
    """Raise ArgumentError when a state would be unknown, or one that was left before."""
    if then not in states:
        raise ArgumentError(f"the state of {what} must be one of {', '.join(states)}")
    if states.index(then) < states.index(now):
        raise ArgumentError(f"{what} that is {now} cannot become {then} again. Create a new one")


def insert_survey(transaction: Transaction, survey: StoredSurvey) -> int | None:
    """Add a survey. Return its key, or None when it is there already."""
    rows = transaction.rows(
        f"INSERT INTO surveys ({SURVEY_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (fingerprint) DO NOTHING RETURNING key",
        survey.fingerprint,
        survey.document,
        survey.state,
        survey.minimum,
        survey.upload,
        survey.retention_days,
    )
    return int(rows[0][0]) if rows else None


def change_notice(
    transaction: Transaction, key: int, state: str, document: bytes, *, now: int
) -> bool:
    """Let a survey say what another document of it says. Return whether that is a change.

    A document without a string changes nothing, and one without questions keeps them. Questions are
    no term: people do not see them, so they change at any time. Once an epoch has opened, people
    have seen the former text: it is kept, with the time until which it was shown. Nobody has seen
    that of a draft, whose epochs ask the text with which it is published. ArgumentError where
    devices see the survey (by its `state`) and an epoch has not closed: its reports would answer
    two questions. Also where memoized reports answer the former question.
    """
    ((fingerprint, stored),) = transaction.rows(
        "SELECT fingerprint, document FROM surveys WHERE key = ?1", key
    )
    said, known = json.loads(document), json.loads(bytes(stored))
    text, former = said.get("notice"), known.get("notice", {})
    asks = {"asks": said.get("asks", known.get("asks"))}
    if text is None or text == former:
        if asks["asks"] == known.get("asks"):
            return False
        changed = canonical({**known, **asks})
        transaction.run("UPDATE surveys SET document = ?1 WHERE key = ?2", changed, key)
        return True
    document = canonical({**said, **asks} if asks["asks"] else said)
    if state != "draft" and transaction.rows(
        "SELECT key FROM epochs WHERE survey = ?1 AND state <> 'closed' LIMIT 1", key
    ):
        raise ArgumentError(
            "the text of a survey cannot change while one of its epochs can be answered. Close "
            "its epochs or delete the planned ones, and give the next epoch the new text"
        )
    opened = transaction.rows(
        "SELECT key FROM epochs WHERE survey = ?1 AND state <> 'planned' LIMIT 1", key
    )
    if state != "draft" and (opened or ended_names(transaction, fingerprint)):
        asked = [(text.get(name), former.get(name)) for name in ("question", "measured_in")]
        if any(new != old for new, old in asked) and Survey.from_json(document).answers != "fresh":
            raise ArgumentError(
                "the question and unit of memoized reports cannot change, because devices "
                "resend the same report. Ask the new question in a survey with another name"
            )
        insert_notice(transaction, key, FormerNotice(now, former))
    transaction.run("UPDATE surveys SET document = ?1 WHERE key = ?2", document, key)
    return True


def text_version(transaction: Transaction, key: int) -> int:
    """Return how many texts a survey had before that of today."""
    return len(former_notices(transaction, key))


def insert_notice(transaction: Transaction, key: int, notice: FormerNotice) -> None:
    """Add a former text of a survey, as the latest of them."""
    transaction.run(
        "INSERT INTO notices (survey, version, until, text)"
        " SELECT ?1, COUNT(*) + 1, ?2, ?3 FROM notices WHERE survey = ?1",
        key,
        notice.until,
        json.dumps(notice.text),
    )


def former_notices(transaction: Transaction, key: int) -> list[FormerNotice]:
    """Return the former texts of a survey, the first one first."""
    rows = transaction.rows(
        "SELECT until, text FROM notices WHERE survey = ?1 ORDER BY version", key
    )
    return [FormerNotice(int(until), json.loads(text)) for until, text in rows]


def insert_epoch(transaction: Transaction, survey: int, epoch: StoredEpoch) -> int:
    """Add an epoch. Return its key."""
    rows = transaction.rows(
        f"INSERT INTO epochs (survey, {EPOCH_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        " RETURNING key",
        survey,
        epoch.name,
        epoch.state,
        epoch.opens,
        epoch.closes,
        epoch.grace_seconds,
        epoch.text_version,
    )
    return int(rows[0][0])


def stored_surveys(transaction: Transaction) -> dict[int, StoredSurvey]:
    """Return all surveys by their keys, in the order in which they came."""
    rows = transaction.rows(f"SELECT key, {SURVEY_COLUMNS} FROM surveys ORDER BY key")
    return {int(row[0]): StoredSurvey(row[1], bytes(row[2]), *row[3:]) for row in rows}


def stored_epochs(transaction: Transaction, key: int) -> list[StoredEpoch]:
    """Return the epochs of a survey, in the order in which they came."""
    rows = transaction.rows(
        f"SELECT {EPOCH_COLUMNS} FROM epochs WHERE survey = ?1 ORDER BY key", key
    )
    return [StoredEpoch(*row) for row in rows]


def end_names(transaction: Transaction, fingerprint: str, epochs: Iterable[str]) -> None:
    """Note that these names of epochs are not given again."""
    transaction.many(
        "INSERT INTO ended (fingerprint, epoch) VALUES (?1, ?2)"
        " ON CONFLICT (fingerprint, epoch) DO NOTHING",
        [(fingerprint, epoch) for epoch in epochs],
    )


THE_SURVEY = ""
"""In the list of deleted epochs: the survey itself."""


def ended_names(transaction: Transaction, fingerprint: str) -> list[str]:
    """Return the names of epochs of a survey that were deleted."""
    rows = transaction.rows(
        "SELECT epoch FROM ended WHERE fingerprint = ?1 AND epoch <> ?2 ORDER BY epoch",
        *(fingerprint, THE_SURVEY),
    )
    return [name for (name,) in rows]


def deleted_names(transaction: Transaction) -> dict[str, set[str]]:
    """Return the names of deleted epochs by survey. The empty one is that of a deleted survey."""
    found: dict[str, set[str]] = {}
    for fingerprint, epoch in transaction.rows("SELECT fingerprint, epoch FROM ended"):
        found.setdefault(fingerprint, set()).add(epoch)
    return found


def first_look_stands(transaction: Transaction, key: int, mark: int | None) -> bool:
    """Return whether the first look of a mark at an epoch was not undone. None: none is needed."""
    own = "SELECT epoch FROM deletions WHERE epoch = ?1 AND mark = ?2"
    return mark is None or bool(transaction.rows(own, key, mark))


def delete_epoch(transaction: Transaction, key: int) -> None:
    """Delete an epoch and what was counted in it. Its list of batches goes a stretch at a time."""
    for table in ("deltas", "folded", "looks", "look_segments", "deletions"):
        transaction.run(f"DELETE FROM {table} WHERE epoch = ?1", key)
    transaction.run("DELETE FROM epochs WHERE key = ?1", key)
    transaction.run("INSERT INTO dropped (epoch) VALUES (?1) ON CONFLICT (epoch) DO NOTHING", key)


def drop_old_lists(transaction: Transaction, ended: int) -> None:
    """Let the lists of batches go of epochs that closed, with their grace, before a time."""
    transaction.run(
        "INSERT INTO dropped (epoch) SELECT key FROM epochs WHERE state = 'closed'"
        " AND COALESCE(closes, 0) + grace_seconds <= ?1"
        " AND EXISTS (SELECT 1 FROM ledger WHERE epoch = epochs.key)"
        " ON CONFLICT (epoch) DO NOTHING",
        ended,
    )


def drop_batches(transaction: Transaction, key: int) -> bool:
    """Drop a stretch of the list of batches of an epoch that takes none. Return whether more is.

    Not all at once: a million rows would keep everybody waiting.
    """
    gone = transaction.run(
        "DELETE FROM ledger WHERE epoch = ?1 AND id IN"
        " (SELECT id FROM ledger WHERE epoch = ?1 LIMIT ?2)",
        key,
        _DROPPED_ROWS,
    )
    if gone < _DROPPED_ROWS:
        transaction.run("DELETE FROM dropped WHERE epoch = ?1", key)
        return False
    return True
