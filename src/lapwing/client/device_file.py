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

import hashlib
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

from lapwing.documents import sync_folder
from lapwing.errors import DeviceError, FormatError
from lapwing.privacy.sampling.randomness import Keystream, iterate
from lapwing.randomizers.categorical.rappor import Rappor
from lapwing.survey.survey import Survey

APPLICATION = 0x4C574456  # "LWDV"
VERSION = 3

_UNCLEAN = -3
"""The version of a migrated file whose old pages are still to be vacuumed."""

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
    pile       TEXT NOT NULL,
    part       INTEGER NOT NULL,
    reports    INTEGER NOT NULL,
    key        INTEGER,
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

_PERMANENT_ROUND = """
CREATE TABLE permanent_round (
    key     BLOB PRIMARY KEY,
    round   BLOB,
    tag     BLOB,
    reports INTEGER NOT NULL,
    earlier INTEGER NOT NULL
) WITHOUT ROWID
"""
"""RAPPOR's round of each survey, by a keyed hash of its fingerprint.

`tag` is a keyed hash of the value, of devices that refuse another one, else NULL. `earlier` is how
many rounds of a file of version 1 are not kept. After those `round` may be NULL.
"""

_REPORT_KEY = """
CREATE TABLE report_key (
    number INTEGER PRIMARY KEY,
    key    BLOB NOT NULL CHECK (length(key) = 32)
)
"""
"""What the bodies of batches are encrypted with. Zeros where a batch is settled."""

_NOTICE = """
CREATE TABLE IF NOT EXISTS notice (
    survey TEXT NOT NULL,
    epoch  TEXT NOT NULL,
    text   TEXT NOT NULL,
    PRIMARY KEY (survey, epoch)
) WITHOUT ROWID
"""
"""What surveys said when they were answered."""


@dataclass(frozen=True)
class DeviceFile:
    """A file that holds all that a device, or a gateway, must not forget.

    Parameters
    ----------
    path : Path
    """

    path: Path

    def create(self, *, ledger: str | None) -> None:
        """Make the file at once with its content, unless there is one.

        Parameters
        ----------
        ledger : str, optional
            The empty ledger of a person, who gets a secret as well. None: the file is a gateway's.

        Raises
        ------
        DeviceError
            When the folder is absent or cannot be written.
        """
        with _making(self.path):
            prefix, folder = f".{self.path.name}.", self.path.parent
            descriptor, temporary = tempfile.mkstemp(prefix=prefix, dir=folder)
        os.close(descriptor)
        try:
            with _told(self.path), closing(_connected(Path(temporary))) as connection:
                tables = ";".join((_SCHEMA, _PERMANENT_ROUND, _NOTICE, _REPORT_KEY))
                connection.executescript(f"BEGIN; {tables};")
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

        Parameters
        ----------
        wipe : bool
            Whether the journal is overwritten when the change is on the disk.

        Raises
        ------
        DeviceError
            When the file is absent, in use for too long, or cannot be written.
        FormatError
            When it is something else, damaged or of an unknown version.
        """
        with _told(self.path), closing(_connected(self.path)) as connection:
            # One journal for all transactions, so that it can be overwritten.
            connection.execute("PRAGMA journal_mode = PERSIST")
            connection.execute("BEGIN IMMEDIATE")
            try:
                if _version(connection, self.path) != VERSION:
                    _migrate(connection)
                    _wipe_journal(connection, self.path)
                    connection.execute("BEGIN IMMEDIATE")
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


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise FormatError(
            f"{path.name} must be the file of a device, it is foreign or damaged. Restore it, "
            "because a new one would forget what was spent"
        )
    if version not in (1, 2, -2, _UNCLEAN, VERSION):
        raise FormatError(
            f"device files of version {VERSION} can be read, {path.name} says {version}. Update "
            "lapwing"
        )
    assert isinstance(version, int)
    return version


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
            f"the journal of {path.name} cannot be overwritten: {error.strerror}. It may hold the "
            "key of a report that was sent"
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


def _migrate(connection: sqlite3.Connection) -> None:
    """End the transaction with a file of this version, in which nothing old can be read."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 1:
        _migrate_tables(connection)
    if version != _UNCLEAN:
        _seal_batches(connection)
        connection.execute(f"PRAGMA user_version = {_UNCLEAN}")
    connection.execute("COMMIT")
    # Only where it has ended are the old pages gone, so the version says so afterwards.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("VACUUM")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _seal_batches(connection: sqlite3.Connection) -> None:
    connection.execute(_REPORT_KEY)
    connection.execute("ALTER TABLE batch ADD COLUMN key INTEGER")
    waiting = connection.execute("SELECT id, body FROM batch WHERE body IS NOT NULL").fetchall()
    for row in waiting:
        sealed = seal(connection, row["body"])
        connection.execute("UPDATE batch SET key = ?, body = ? WHERE id = ?", (*sealed, row["id"]))


def _migrate_tables(connection: sqlite3.Connection) -> None:
    connection.execute(_NOTICE)
    # A hash of a report gives the report back: there are few that a person can have sent.
    connection.execute("ALTER TABLE batch DROP COLUMN digest")
    connection.execute("ALTER TABLE remembered_report ADD COLUMN tag BLOB")
    rows = connection.execute("SELECT survey, symbol, reports FROM permanent_round").fetchall()
    connection.execute("DROP TABLE permanent_round")
    connection.execute(_PERMANENT_ROUND)
    person = connection.execute("SELECT secret FROM person").fetchone()
    if person is None:
        return
    # The old secret and a round give the value back, so there is a new one.
    secret = os.urandom(32)
    connection.execute("UPDATE person SET secret = ?", (secret,))
    for survey in {row["survey"] for row in rows}:
        of_survey = [row for row in rows if row["survey"] == survey]
        permanent, reports = None, 0
        if len(of_survey) == 1:
            permanent = _old_round(connection, person["secret"], survey, of_survey[0]["symbol"])
            reports = of_survey[0]["reports"] if permanent else 0
        connection.execute(
            "INSERT INTO permanent_round VALUES (?, ?, NULL, ?, ?)",
            (row_key(secret, survey), permanent, reports, 0 if permanent else len(of_survey)),
        )


def _old_round(
    connection: sqlite3.Connection, secret: bytes, survey: str, symbol: int
) -> bytes | None:
    """Return a permanent round of version 1. None where the file has no document of the survey."""
    row = connection.execute(
        "SELECT document FROM survey WHERE fingerprint = ?", (survey,)
    ).fetchone()
    rappor = None if row is None else Survey.from_json(row["document"]).randomizer
    if not isinstance(rappor, Rappor):
        return None
    text = json.dumps(["lapwing permanent", survey, rappor.fingerprint, symbol]).encode()
    key = hashlib.sha512(secret + text).digest()[:48]
    return rappor._round_bytes(symbol, iterate(Keystream(lambda: key)))


@contextmanager
def _making(path: Path) -> Iterator[None]:
    """Turn what the system says of a folder into a sentence."""
    try:
        yield
    except OSError as error:
        raise DeviceError(
            f"the device's file {path.name} cannot be made: {error.strerror}. It needs a folder "
            "that exists and can be written"
        ) from None


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what SQLite says into a sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        advice = (
            "it is in use by another process. Nothing was changed, try again"
            if "locked" in str(error)
            else f"{error}; nothing was changed. Restore it if it is gone: a new one would forget "
            "what was spent"
        )
        raise DeviceError(f"the device's file {path.name} cannot be used: {advice}") from None
    except sqlite3.DatabaseError as error:
        raise FormatError(
            f"{path.name} must be the file of a device, it is foreign or damaged ({error}). "
            "Restore it, because a new one would forget what was spent"
        ) from None
