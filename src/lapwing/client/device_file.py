"""The one file of a device: what was paid, what waits to be sent, what is memoized.

An SQLite database for its owner alone (mode 0600). Every change is one transaction that is on the
disk when it ends. Another process or thread waits for it. No connection is kept between two of
them, so threads, forked children and other processes may share the file as they like.

SQLite leaves old bytes in places that no row names: in the free space of a page that it divided,
and in the journal. So what waits to be sent is encrypted, each batch with a key of its own. The
rows of keys are appended and overwritten, all of one length, and never removed: SQLite has no cause
to move one. A settled key is overwritten where it stands, and so is the journal, a file that stays.
Without its key nobody reads a batch, wherever its bytes may be.
"""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from lapwing.atomic_files import sync_folder
from lapwing.errors import DeviceError, FormatError

APPLICATION = 0x4C574456  # "LWDV"
VERSION = 1

WAIT = 30.0
"""Seconds to wait for another process that is changing the file."""

_SCHEMA = """
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
    report BLOB NOT NULL,
    tag    BLOB
) WITHOUT ROWID;
CREATE TABLE batch (
    id         TEXT PRIMARY KEY,
    survey     TEXT NOT NULL,
    epoch      TEXT NOT NULL,
    text       TEXT NOT NULL,
    pile       TEXT NOT NULL,
    first      INTEGER NOT NULL,
    reports    INTEGER NOT NULL,
    key        INTEGER,
    body       BLOB,
    token      TEXT,
    collector  TEXT,
    state      TEXT NOT NULL
               CHECK (state IN ('waiting', 'stored', 'refused', 'withdrawn', 'expired')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    last       REAL NOT NULL,
    days       INTEGER NOT NULL,
    heard      REAL,
    reason     TEXT,
    UNIQUE (survey, epoch, pile, first),
    CHECK ((state = 'waiting') = (body IS NOT NULL))
) WITHOUT ROWID;
CREATE INDEX waiting ON batch (attempts) WHERE state = 'waiting';
CREATE TABLE permanent_round (
    key     BLOB PRIMARY KEY,
    round   BLOB NOT NULL,
    tag     BLOB,
    reports INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE report_key (
    number INTEGER PRIMARY KEY,
    key    BLOB NOT NULL CHECK (length(key) = 32)
);
CREATE TABLE notice (
    survey TEXT NOT NULL,
    epoch  TEXT NOT NULL,
    text   TEXT NOT NULL,
    PRIMARY KEY (survey, epoch)
) WITHOUT ROWID;
CREATE TABLE epoch_list (
    survey  TEXT PRIMARY KEY,
    listed  REAL NOT NULL,
    states  TEXT NOT NULL,
    invited INTEGER NOT NULL
) WITHOUT ROWID;
"""
"""A batch waits until `last`, in seconds since 1970 by the device's clock, and for `days` since
`heard`, the time of the first answer of a collector by its own clock. `text` is the fingerprint of
the text that its people were asked. `first` counts the reports of its group before it. Its body is
encrypted with its own key, which is zeros where the batch is settled.

A permanent round is that of RAPPOR, by a keyed hash of the survey's fingerprint. `tag` is a keyed
hash of the value, of devices that refuse another one. A notice is what a survey said when it was
answered. An epoch list is the last one that a collector gave, with its time.
"""


@dataclass(frozen=True)
class DeviceFile:
    """A file that holds all that a device, or a gateway, must not forget."""

    path: Path

    def create(self, *, ledger: str | None) -> None:
        """Make the file at once with its content, unless there is one.

        ledger: The empty ledger of a person, who gets a secret as well. None: the file is a
            gateway's.

        Raises DeviceError when the folder is absent or cannot be written.
        """
        with _making(self.path):
            prefix, folder = f".{self.path.name}.", self.path.parent
            descriptor, temporary = tempfile.mkstemp(prefix=prefix, dir=folder)
        os.close(descriptor)
        try:
            with _told(self.path), closing(_connected(Path(temporary))) as connection:
                connection.executescript(f"BEGIN; {_SCHEMA}")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                if ledger is not None:
                    row = (1, ledger, os.urandom(32))
                    connection.execute("INSERT INTO person VALUES (?, ?, ?)", row)
                connection.execute("COMMIT")
            # A link, unlike a rename, never replaces a file that came into being meanwhile.
            with _making(self.path), suppress(FileExistsError):
                os.link(temporary, self.path)
            sync_folder(self.path.parent)
        finally:
            Path(temporary).unlink(missing_ok=True)

    @contextmanager
    def transaction(self, *, wipe: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file for one change. After an exception, nothing was changed.

        wipe: Whether the journal is overwritten when the change is on the disk.

        Raises DeviceError when the file is absent, in use for too long, or cannot be written.
        Raises FormatError when it is something else, damaged or of an unknown version.
        """
        with _told(self.path), closing(_connected(self.path)) as connection:
            # One journal for all transactions, so that it can be overwritten.
            connection.execute("PRAGMA journal_mode = PERSIST")
            connection.execute("BEGIN IMMEDIATE")
            try:
                _check_version(connection, self.path)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            if wipe:
                _wipe_journal(connection, self.path)


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None)
    connection.row_factory = sqlite3.Row
    # EXTRA is FULL, and what ends a transaction is on the disk too, also the end of a journal: with
    # the journal back after a loss of power, a payment whose report was sent would be undone.
    connection.execute("PRAGMA synchronous = EXTRA")
    # What was sent is overwritten, not only forgotten.
    connection.execute("PRAGMA secure_delete = ON")
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise FormatError(
            f"{path.name} must be a device file, but it is foreign or damaged. Restore it, "
            "because a new one would forget what was spent"
        )
    if version != VERSION:
        raise FormatError(
            f"this software reads device files of version {VERSION}, but {path.name} has "
            f"version {version}. Update lapwing"
        )


def _wipe_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Overwrite what the journal keeps of transactions that have ended, keys among it."""
    # With this lock nobody else writes to the journal. One that begins with zeros is void.
    connection.execute("BEGIN IMMEDIATE")
    try:
        with open(f"{path.resolve()}-journal", "r+b", buffering=0) as stream:
            left = os.fstat(stream.fileno()).st_size
            while left > 0:
                left -= stream.write(bytes(min(left, 2**20))) or left
            os.fsync(stream.fileno())
    except FileNotFoundError:
        pass
    except OSError as error:
        raise DeviceError(
            f"the journal of {path.name} cannot be overwritten: {error.strerror}. It may "
            "contain the key of a report that was sent"
        ) from None
    finally:
        connection.execute("ROLLBACK")


def seal(connection: sqlite3.Connection, body: bytes) -> tuple[int, bytes]:
    """Return bytes encrypted with a new key, and the number of that key."""
    key = os.urandom(32)
    number = connection.execute("INSERT INTO report_key (key) VALUES (?)", (key,)).lastrowid
    assert number is not None
    return number, _encrypted(key, body)


def unseal(connection: sqlite3.Connection, number: int, body: bytes) -> bytes:
    """Return the bytes that :func:`seal` encrypted."""
    row = connection.execute("SELECT key FROM report_key WHERE number = ?", (number,)).fetchone()
    return _encrypted(row["key"], body)


def _encrypted(key: bytes, body: bytes) -> bytes:
    """AES-256-CTR, which is its own inverse. A key has one body, so the counter starts at 0."""
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(body)


def keyed_hash(secret: bytes, *words: str | int) -> bytes:
    """Return a hash of some words that nobody can guess without the secret of the device."""
    return hmac.digest(secret, json.dumps(words).encode(), "sha256")


def row_key(secret: bytes, survey: str) -> bytes:
    """Return under which key the permanent round of a survey is stored."""
    return keyed_hash(secret, "permanent round", survey)


@contextmanager
def _making(path: Path) -> Iterator[None]:
    """Turn what the system says of a folder into a sentence."""
    try:
        yield
    except OSError as error:
        raise DeviceError(
            f"the device's file {path.name} cannot be created: {error.strerror}. Its folder "
            "must exist and be writable"
        ) from None


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what SQLite says into a sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        advice = (
            "it is in use by another process. Nothing was changed. Try again"
            if "locked" in str(error)
            else f"{error}. Nothing was changed. If the file is gone, restore it, because a new "
            "one would forget what was spent"
        )
        raise DeviceError(f"the device's file {path.name} cannot be used: {advice}") from None
    except sqlite3.DatabaseError as error:
        raise FormatError(
            f"{path.name} must be a device file, but it is foreign or damaged ({error}). "
            "Restore it, because a new one would forget what was spent"
        ) from None
