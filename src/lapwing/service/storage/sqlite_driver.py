"""SQLite: one file, one process that writes, and a commit that is on disk when it returns."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Any
from urllib.parse import quote

from lapwing.atomic_files import sync_folder
from lapwing.errors import ArgumentError, FormatError, StoreError, StoreFullError
from lapwing.service.storage.driver import FOLDER, Migration, Value, migrate, migrations


class FileLock:
    """The one collector of a file.

    path: Of the lock, next to what it guards. It stays there, empty.

    Raises StoreError when another process holds it.
    """

    def __init__(self, path: Path) -> None:
        try:
            import fcntl
        except ImportError:  # Windows
            raise StoreError(
                "a collector's file needs the file locks of a POSIX system. Use PostgreSQL"
            ) from None
        self._path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            self._made = not path.exists()
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise StoreError(
                f"{path.name} cannot be opened next to the database ({error.strerror}). Its folder "
                "must exist and be writable"
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # One that its holder has just taken away guards nothing.
            if not os.path.samestat(os.fstat(self._descriptor), os.stat(path)):
                raise BlockingIOError
        except OSError:
            os.close(self._descriptor)
            raise StoreError(
                f"another collector uses {path.name.removesuffix('.lock')}. A file serves only "
                "one collector. Stop the other one, or use PostgreSQL"
            ) from None

    def release(self, *, discard: bool = False) -> None:
        """Let another process hold it.

        discard: Whether its file goes, if this one made it.
        """
        if discard and self._made:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


APPLICATION = 0x4C574331  # "LWC1": what tells our files from those of other programs

_BUSY_MS = 10_000
_MOST_IDS = 512
_LOG_BYTES = 64 * 2**20
"""Size that the write-ahead log is cut to after a checkpoint."""


class SqliteTransaction:
    """A transaction. See :class:`Transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, *arguments: Value) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement."""
        return self._connection.execute(statement, arguments).fetchall()

    def run(self, statement: str, *arguments: Value) -> int:
        """Return how many rows a statement has changed."""
        return self._connection.execute(statement, arguments).rowcount

    def many(self, statement: str, rows: Iterable[tuple[Value, ...]]) -> None:
        """Run a statement for each of some rows of arguments."""
        self._connection.executemany(statement, rows)

    def stored_digests(self, epoch: int, ids: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those batches of an epoch that are there."""
        found: dict[bytes, bytes] = {}
        listed = list(ids)
        for start in range(0, len(listed), _MOST_IDS):
            part = listed[start : start + _MOST_IDS]
            # Few different texts, which SQLite compiles once each.
            asked = 1 << (len(part) - 1).bit_length()
            part += [part[0]] * (asked - len(part))
            marks = ",".join("?" * asked)
            found.update(
                self._connection.execute(
                    f"SELECT id, digest FROM ledger WHERE epoch = ? AND id IN ({marks})",
                    [epoch, *part],
                )
            )
        return found


class SqliteDriver:
    """A SQLite database of a collector. See :class:`Driver`.

    path: Made when it is not there.
    reading: Whether it is only read, alongside the collector that may hold it.
    folder: Of the migrations.

    Raises StoreError when another collector holds the file, or it cannot be opened.
    Raises FormatError when it is another program's file, damaged, or of an unknown version.
    """

    share = ""
    alone = ""
    fold_lock = ""

    def __init__(self, path: Path, *, reading: bool = False, folder: Path = FOLDER) -> None:
        self._path = Path(path)
        self._lock = RLock()
        self._readers: list[sqlite3.Connection] = []
        self._readers_lock = Lock()
        self._writer: sqlite3.Connection | None = None
        self._held: FileLock | None = None
        self._closed = False
        self._made = False
        if reading:
            if not self._path.is_file():
                raise StoreError(f"there is no database {self._path.name}. Check the name")
            try:
                with self.reading() as transaction:
                    self._check_version(transaction, folder)
            except BaseException:
                self.close()
                raise
            return
        self._held = FileLock(self._path.with_name(self._path.name + ".lock"))
        self._made = not self._path.exists()
        try:
            self._writer = self._opened()
            self._migrate(folder)
            sync_folder(self._path.parent)
        except BaseException:
            self.discard()
            raise

    def _opened(self) -> sqlite3.Connection:
        with suppress(OSError):  # for the collector's eyes only; SQLite's other files take after it
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with _translated(self._path):
            connection = sqlite3.connect(
                self._path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1000
            )
            try:
                # Before anything is written: the file may be of another program.
                (made,) = connection.execute("PRAGMA application_id").fetchone()
                (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
                if made not in (0, APPLICATION) or (tables and made != APPLICATION):
                    raise FormatError(f"{self._path.name} is a database of another program")
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode != "wal":
                    raise StoreError(
                        f"{self._path.name} must be on a file system that can share memory "
                        "between processes, which a network drive cannot"
                    )
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
                connection.execute("PRAGMA cache_size = -16384")
                connection.execute("PRAGMA temp_store = MEMORY")
                # What was deleted is overwritten where that costs no more writing.
                connection.execute("PRAGMA secure_delete = FAST")
            except BaseException:
                connection.close()
                raise
        return connection

    def _migrate(self, folder: Path) -> None:
        assert self._writer is not None
        writer = self._writer

        def run(step: Migration) -> None:
            with self.writing():
                for statement in step.statements:
                    writer.execute(statement)
                writer.execute(f"PRAGMA application_id = {APPLICATION}")
                writer.execute(f"PRAGMA user_version = {step.version}")

        with _translated(self._path):
            (version,) = writer.execute("PRAGMA user_version").fetchone()
        migrate(migrations(folder), version, run)

    def _check_version(self, transaction: SqliteTransaction, folder: Path) -> None:
        ((made,),) = transaction.rows("PRAGMA application_id")
        ((version,),) = transaction.rows("PRAGMA user_version")
        if made != APPLICATION:
            raise FormatError(f"{self._path.name} is not a collector's database")
        steps = migrations(folder)
        migrate(steps, version, lambda step: None)
        if version < len(steps):
            raise FormatError(
                f"{self._path.name} has version {version}, which is older than this software. "
                "Start the collector once to update it"
            )

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """Open a transaction alone. See :class:`Driver`."""
        with self._lock, _translated(self._path):
            writer = self._writer
            if writer is None:
                raise StoreError("this database is open for reading only, or closed")
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTransaction(writer)
                writer.execute("COMMIT")
            except BaseException:
                # A full disk may have undone it already.
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """Open a transaction that sees one moment. See :class:`Driver`."""
        with _translated(self._path):
            reader: sqlite3.Connection | None = self._reader()
            assert reader is not None
            try:
                reader.execute("BEGIN")
                yield SqliteTransaction(reader)
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")
                with self._readers_lock:
                    if not self._closed:
                        self._readers.append(reader)
                        reader = None
                if reader is not None:
                    reader.close()

    def _reader(self) -> sqlite3.Connection:
        with self._readers_lock:
            if self._closed:
                raise StoreError("this database is closed")
            if self._readers:
                return self._readers.pop()
        # Opened read-only: closing such a connection never touches the log.
        reader = sqlite3.connect(
            f"file:{quote(str(self._path.absolute()))}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=_BUSY_MS / 1000,
        )
        reader.execute("PRAGMA query_only = 1")
        return reader

    def backup(self, path: Path) -> None:
        """Write a copy of everything, as of one moment, while reports keep coming.

        Raises ArgumentError when the file is there already.
        """
        path = Path(path)
        if path.exists():
            raise ArgumentError(f"{path.name} already exists. Name a new file for the backup")
        temporary = path.with_name(f".{path.name}.partial")
        temporary.unlink(missing_ok=True)
        try:
            with _translated(path), self._copying() as source:
                # As the file itself: for the collector's eyes only.
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(temporary, flags, 0o600))
                target = sqlite3.connect(temporary, isolation_level=None)
                try:
                    # All pages at once: in several steps it would begin again at every commit.
                    source.backup(target, pages=-1)
                    target.execute("PRAGMA journal_mode = DELETE")
                finally:
                    target.close()
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            os.replace(temporary, path)
            sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _copying(self) -> Iterator[sqlite3.Connection]:
        reader = self._reader()
        try:
            yield reader
        finally:
            reader.close()

    def check(self) -> list[str]:
        """Return what SQLite finds wrong with the file."""
        with self.reading() as transaction:
            found = [str(row[0]) for row in transaction.rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def rest(self) -> None:
        """Bring the write-ahead log into the file and empty it. A reader may prevent it."""
        with self._lock, suppress(sqlite3.Error):
            if self._writer is not None:
                # Not now, rather than late: it would wait for an export, and uploads for it.
                self._writer.execute("PRAGMA busy_timeout = 0")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._writer.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")

    def discard(self) -> None:
        """Let go of the file, and take it away if this one made it."""
        self._end(discard=True)

    def close(self) -> None:
        """Let go of the file."""
        self._end(discard=False)

    def _end(self, *, discard: bool) -> None:
        with self._readers_lock:
            self._closed = True
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.close()
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            if self._held is not None:
                if discard and self._made:  # while the lock is held, so it is nobody else's
                    for ending in ("", "-wal", "-shm"):
                        self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
                self._held.release(discard=discard)
                self._held = None


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Say what a trouble of SQLite means for the collector."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise StoreFullError(
                f"the disk of {path.name} is full, so nothing was stored. Make room"
            ) from error
        if code == sqlite3.SQLITE_NOTADB:
            raise FormatError(f"{path.name} is not a collector's database") from error
        if code == sqlite3.SQLITE_CORRUPT:
            raise StoreError(f"{path.name} is damaged. Restore a backup") from error
        if code == sqlite3.SQLITE_READONLY:
            raise StoreError(
                f"{path.name} cannot be written: the file or its disk is read-only"
            ) from error
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise StoreError(f"{path.name} cannot be used now ({name}). Look at its disk") from error
