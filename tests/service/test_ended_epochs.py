"""The name of an epoch is given once, whatever was deleted and came back."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lapwing.documents import canonical
from lapwing.errors import ArgumentError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.storage.opening import SqliteStore
from lapwing.service.storage.store import (
    ALREADY,
    STORED,
    Outcome,
    StoredEpoch,
    StoredSurvey,
    Verdict,
)
from tests.service.conftest import Opening
from tests.service.uploading import LABELS, SEGMENTED, publish, upload

FP = LABELS.fingerprint


def verdicts(outcomes: list[Outcome]) -> list[Verdict]:
    return [outcome.verdict for outcome in outcomes]


def test_the_name_of_a_deleted_epoch_is_not_given_again(opening: Opening) -> None:
    """It would take what was sent to the first once more."""
    store = opening()
    publish(store)
    first = upload([1])
    store.store([first])
    store.delete_epoch(FP, "w1")
    for _ in range(2):
        with pytest.raises(ArgumentError, match="would count the reports sent to the first again"):
            store.put_epoch(FP, StoredEpoch("w1", "open"))
        assert verdicts(store.store([first])) == [Problem.UNKNOWN_EPOCH]
        store.close()
        store = opening()
    assert store.put_epoch(FP, StoredEpoch("w2", "open"))
    # A survey that comes back has the names that it had; others are not touched by them.
    store.delete_survey(FP)
    store.add_survey(StoredSurvey(FP, canonical(LABELS.to_document())))
    for name in ("w1", "w2"):
        with pytest.raises(ArgumentError, match="would count the reports sent to the first again"):
            store.put_epoch(FP, StoredEpoch(name, "open"))
    publish(store, SEGMENTED)
    assert [epoch.name for epoch in store.epochs(SEGMENTED.fingerprint)] == ["w1"]
    store.close()


def test_a_file_from_before_the_names_were_kept_is_brought_up_to_date(tmp_path: Path) -> None:
    before = SqliteStore(tmp_path / "collector.db")
    publish(before)
    sent = upload([1])
    assert verdicts(before.store([sent])) == [STORED]
    before.close()
    connection = sqlite3.connect(tmp_path / "collector.db")
    connection.executescript("DROP TABLE ended; DROP TABLE notices; PRAGMA user_version = 1")
    connection.close()
    store = SqliteStore(tmp_path / "collector.db")
    assert verdicts(store.store([sent])) == [ALREADY]
    store.delete_epoch(FP, "w1")
    with pytest.raises(ArgumentError, match="would count the reports sent to the first again"):
        store.put_epoch(FP, StoredEpoch("w1", "open"))
    store.close()
