"""The name of an epoch is given once, whatever was deleted and came back."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from lapwing.documents import canonical
from lapwing.errors import ArgumentError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.storage.driver import FOLDER
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
        assert verdicts(store.store([first])) == [Problem.EPOCH_DELETED]
        assert store.deleted() == {FP: {"w1"}}
        store.close()
        store = opening()
    assert store.put_epoch(FP, StoredEpoch("w2", "open"))
    # A survey that comes back has the names that it had; others are not touched by them.
    store.delete_survey(FP)
    assert store.deleted() == {FP: {"", "w1", "w2"}}
    assert verdicts(store.store([first, upload([1], epoch="w9")])) == [Problem.SURVEY_DELETED] * 2
    store.add_survey(StoredSurvey(FP, canonical(LABELS.to_document())))
    for name in ("w1", "w2"):
        with pytest.raises(ArgumentError, match="would count the reports sent to the first again"):
            store.put_epoch(FP, StoredEpoch(name, "open"))
    publish(store, SEGMENTED)
    assert [epoch.name for epoch in store.epochs(SEGMENTED.fingerprint)] == ["w1"]
    store.close()


def test_a_file_from_before_the_names_were_kept_is_brought_up_to_date(tmp_path: Path) -> None:
    today = SqliteStore(tmp_path / "today.db")
    publish(today)
    sent = upload([1])
    assert verdicts(today.store([sent])) == [STORED]
    today.close()
    first = tmp_path / "first"
    first.mkdir()
    shutil.copy(FOLDER / "0001_first.sql", first)
    SqliteStore(tmp_path / "collector.db", migrations=first).close()
    connection = sqlite3.connect(tmp_path / "collector.db")
    connection.execute("ATTACH ? AS today", (str(tmp_path / "today.db"),))
    names = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    for (table,) in connection.execute(names).fetchall():
        fields = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
        connection.execute(f"INSERT INTO main.{table} SELECT {fields} FROM today.{table}")
    connection.commit()
    connection.close()
    store = SqliteStore(tmp_path / "collector.db")
    assert verdicts(store.store([sent])) == [ALREADY]
    store.delete_epoch(FP, "w1")
    with pytest.raises(ArgumentError, match="would count the reports sent to the first again"):
        store.put_epoch(FP, StoredEpoch("w1", "open"))
    store.close()
