"""Device files of version 1: reports by digest, and RAPPOR's rounds by the symbol in the clear."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from lapwing import Survey
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.sampling.randomness import Keystream, iterate
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers.categorical.rappor import Rappor

SCHEMA = """
CREATE TABLE person (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    ledger   TEXT NOT NULL,
    secret   BLOB NOT NULL CHECK (length(secret) = 32)
);
CREATE TABLE survey (
    fingerprint TEXT PRIMARY KEY,
    document    BLOB NOT NULL,
    collector   TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE remembered_report (
    survey TEXT PRIMARY KEY,
    report BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE permanent_round (
    survey  TEXT NOT NULL,
    symbol  INTEGER NOT NULL,
    reports INTEGER NOT NULL,
    PRIMARY KEY (survey, symbol)
) WITHOUT ROWID;
CREATE TABLE batch (
    id         TEXT PRIMARY KEY,
    survey     TEXT NOT NULL,
    epoch      TEXT NOT NULL,
    pile       TEXT NOT NULL,
    part       INTEGER NOT NULL,
    reports    INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    body       BLOB,
    token      TEXT,
    collector  TEXT,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'stored', 'refused')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    reason     TEXT,
    UNIQUE (survey, epoch, pile, part),
    CHECK ((state = 'waiting') = (body IS NOT NULL))
) WITHOUT ROWID;
CREATE INDEX waiting ON batch (attempts) WHERE state = 'waiting';
"""

SECRET = bytes(range(32))


def permanent_round(survey: Survey, symbol: int) -> bytes:
    """The permanent round that version 1 worked out from its secret."""
    rappor = survey.randomizer
    assert isinstance(rappor, Rappor)
    text = json.dumps(["lapwing permanent", survey.fingerprint, rappor.fingerprint, symbol])
    key = hashlib.sha512(SECRET + text.encode()).digest()[:48]
    return rappor._round_bytes(symbol, iterate(Keystream(lambda: key)))


def write(
    path: Path,
    ledger: Ledger | None,
    *,
    rounds: Mapping[tuple[Survey, int], int] | None = None,
    remembered: Mapping[Survey, Reports] | None = None,
    fetched: tuple[Survey, ...] = (),
    batches: tuple[tuple[str, str, str, Batch, str], ...] = (),
) -> None:
    """Write a file. `batches` are id, epoch, pile, batch and state."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.execute("PRAGMA application_id = 1280787542")
        connection.execute("PRAGMA user_version = 1")
        if ledger is not None:
            person = (1, json.dumps(ledger.to_document()), SECRET)
            connection.execute("INSERT INTO person VALUES (?, ?, ?)", person)
        for (survey, symbol), reports in (rounds or {}).items():
            row = (survey.fingerprint, symbol, reports)
            connection.execute("INSERT INTO permanent_round VALUES (?, ?, ?)", row)
        for survey, made in (remembered or {}).items():
            kept = (survey.fingerprint, made.data.tobytes())
            connection.execute("INSERT INTO remembered_report VALUES (?, ?)", kept)
        for survey in fetched:
            document = (survey.fingerprint, survey.to_json().encode(), "https://c.example")
            connection.execute("INSERT INTO survey VALUES (?, ?, ?)", document)
        for name, epoch, pile, batch, state in batches:
            body = batch.to_bytes() if state == "waiting" else None
            sent = (name, batch.survey, epoch, pile, 0, batch.reports, batch.digest, body, state)
            connection.execute(
                "INSERT INTO batch (id, survey, epoch, pile, part, reports, digest, body, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                sent,
            )
