"""PostgreSQL: several collectors may share it, and each commit is on its server's disk.

The driver is asyncpg, with its own event loop in its own thread. So the store can be called from
any thread, even one that runs another loop. Every statement crosses over to it and back, some tens
of microseconds, which a group of uploads shares.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import Any, TypeVar

from lapwing.errors import ArgumentError, MissingExtraError, StoreError, StoreFullError
from lapwing.linear.memoized import memoized
from lapwing.service.storage.driver import FOLDER, ConflictError, Value, migrate, migrations

try:
    import asyncpg
except ImportError:  # pragma: no cover
    raise MissingExtraError("asyncpg", extra="serve") from None

Result = TypeVar("Result")

_CONNECT_SECONDS = 10
_STATEMENT_SECONDS = 120
_MOST_IDLE = 4
"""Connections for reading that are kept open."""

_MIGRATING = 0x4C574331
"""Number of the lock that one collector holds while it changes the tables."""

_UNREACHED = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # when the connection breaks between two messages
    OSError,
    asyncio.TimeoutError,
)
_ABROAD = (asyncpg.PostgresError, *_UNREACHED)


@memoized(most=256)
def _numbered(statement: str) -> str:
    return re.sub(r"\?(\d)", r"$\1", statement)


_DIALECT = (
    ("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    ("INTEGER", "BIGINT"),
    ("BLOB", "BYTEA"),
    (") WITHOUT ROWID", ")"),
)
"""What the tables are called in SQLite, and in PostgreSQL. The first of a line goes first."""


def postgres_statement(statement: str) -> str:
    """Return a statement of a migration, which is written for SQLite, as PostgreSQL reads it."""
    for sqlite, postgres in _DIALECT:
        statement = statement.replace(sqlite, postgres)
    return statement


class PostgresTransaction:
    """A transaction. See :class:`Transaction`."""

    def __init__(self, driver: PostgresDriver, connection: Any) -> None:
        self._driver = driver
        self._connection = connection

    def rows(self, statement: str, *arguments: Value) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement."""
        asked = self._connection.fetch(_numbered(statement), *arguments)
        found: Sequence[Sequence[Any]] = self._driver.wait(asked)
        return found

    def run(self, statement: str, *arguments: Value) -> int:
        """Return how many rows a statement has changed."""
        said = self._driver.wait(self._connection.execute(_numbered(statement), *arguments))
        number = str(said).rpartition(" ")[2]  # "DELETE 3"
        return int(number) if number.isdigit() else 0

    def many(self, statement: str, rows: Iterable[tuple[Value, ...]]) -> None:
        """Run a statement for each of some rows of arguments."""
        self._driver.wait(self._connection.executemany(_numbered(statement), list(rows)))

    def stored_digests(self, epoch: int, ids: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those batches of an epoch that are there."""
        found = self.rows(
            "SELECT id, digest FROM ledger WHERE epoch = ?1 AND id = ANY(?2::bytea[])",
            epoch,
            list(ids),  # type: ignore[arg-type]  # a list of bytes, which only this database takes
        )
        return {bytes(row[0]): bytes(row[1]) for row in found}


class PostgresDriver:
    """A PostgreSQL database of collectors. See :class:`Driver`.

    address: ``postgresql://user@host/name``. A password stands in PGPASSWORD or a password file.
    folder: Of the migrations.

    Raises StoreError when it cannot be reached, or does not keep what it has acknowledged.
    Raises FormatError when its tables are of an unknown version.
    """

    share = " FOR SHARE"
    alone = " FOR UPDATE"
    fold_lock = "SELECT pg_advisory_xact_lock(?1)"

    def __init__(self, address: str, *, folder: Path = FOLDER) -> None:
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="lapwing-postgres", daemon=True)
        self._thread.start()
        self._lock = RLock()
        self._writer: Any = None
        self._idle: list[Any] = []
        self._idle_lock = Lock()
        self._closed = False
        try:
            self._check_durable()
            self._migrate(folder)
        except BaseException:
            self.close()
            raise

    def wait(self, asked: Coroutine[Any, Any, Result]) -> Result:
        """Return what a coroutine of the driver's loop returns."""
        if self._closed:
            asked.close()
            raise StoreError("this database is closed")
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    async def _connect(self) -> Any:
        connection = await asyncpg.connect(
            self._address,
            timeout=_CONNECT_SECONDS,
            command_timeout=_STATEMENT_SECONDS,
            server_settings={"application_name": "lapwing"},
        )
        # Stricter settings of the server are left alone.
        if await connection.fetchval("SHOW synchronous_commit") == "off":
            await connection.execute("SET synchronous_commit = on")
        return connection

    def _check_durable(self) -> None:
        with self.reading() as transaction:
            if transaction.rows("SHOW fsync")[0][0] != "on":
                raise StoreError(
                    "this PostgreSQL runs with fsync off, so a power failure would lose "
                    "acknowledged commits. Turn fsync on"
                )

    def _migrate(self, folder: Path) -> None:
        with self.writing() as transaction:
            # Of two collectors that start together, the second finds the work done.
            transaction.rows("SELECT pg_advisory_xact_lock(?1)", _MIGRATING)
            transaction.run("CREATE TABLE IF NOT EXISTS lapwing_version (version BIGINT NOT NULL)")
            found = transaction.rows("SELECT version FROM lapwing_version")
            if not found:
                transaction.run("INSERT INTO lapwing_version (version) VALUES (0)")
            steps = migrations(folder, translated=postgres_statement)
            migrate(
                steps,
                int(found[0][0]) if found else 0,
                lambda step: [transaction.run(one) for one in step.statements].clear(),
            )
            transaction.run("UPDATE lapwing_version SET version = ?1", len(steps))

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        """Open a transaction alone. See :class:`Driver`."""
        with self._lock, _translated():
            connection = self._begun(self._writer, "BEGIN")
            self._writer = connection
            yield from self._whole(connection, "COMMIT")

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """Open a transaction that sees one moment. See :class:`Driver`."""
        with self._idle_lock:
            kept = self._idle.pop() if self._idle else None
        with _translated():
            begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            connection = self._begun(kept, begin)
            try:
                yield from self._whole(connection, "ROLLBACK")
            finally:
                with self._idle_lock:
                    keep = len(self._idle) < _MOST_IDLE and not connection.is_closed()
                    if keep and not self._closed:
                        self._idle.append(connection)
                        connection = None
                if connection is not None:
                    self._drop(connection)

    def _begun(self, connection: Any, begin: str) -> Any:
        """Return a connection in a new transaction: the one given, or another if it is broken."""
        if connection is not None and not connection.is_closed():
            try:
                self.wait(connection.execute(begin))
            except _ABROAD:  # the server was restarted meanwhile: nothing was asked of it yet
                self._drop(connection)
            else:
                return connection
        connection = self.wait(self._connect())
        self.wait(connection.execute(begin))
        return connection

    def _whole(self, connection: Any, end: str) -> Iterator[PostgresTransaction]:
        try:
            yield PostgresTransaction(self, connection)
            self.wait(connection.execute(end))
        except BaseException:
            try:
                if not connection.is_closed():
                    self.wait(connection.execute("ROLLBACK"))
            except Exception:
                self._drop(connection)
            raise

    def _drop(self, connection: Any) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(connection.terminate)

    def backup(self, path: Path) -> None:
        """Refuse: the server's own tools do it better."""
        raise ArgumentError(
            "a PostgreSQL database is backed up by its own tools, while the collector runs: "
            "pg_dump --format=custom --file=FILE ADDRESS"
        )

    def check(self) -> list[str]:
        """Return what can be asked of the server: nothing beyond what the store checks itself."""
        return []

    def rest(self) -> None:
        """Do nothing: the server cleans up on its own."""

    def discard(self) -> None:
        """Let go of all connections. The database is the server's."""
        self.close()

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            if self._closed:
                return
            with self._idle_lock:
                connections = [*self._idle, self._writer]
                self._idle = []
            for connection in connections:
                if connection is not None and not connection.is_closed():
                    with suppress(*_ABROAD):
                        self.wait(connection.close(timeout=_CONNECT_SECONDS))
            self._closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()


@contextmanager
def _translated() -> Iterator[None]:
    """Say what a trouble of PostgreSQL means for the collector. Never its address."""
    try:
        yield
    except (
        asyncpg.UniqueViolationError,
        asyncpg.SerializationError,
        asyncpg.DeadlockDetectedError,
    ) as error:
        raise ConflictError(
            "another collector changed the same data at the same time. Try again"
        ) from error
    except asyncpg.DiskFullError as error:
        raise StoreFullError(
            "the disk of the PostgreSQL server is full, so nothing was stored. Make room"
        ) from error
    except asyncpg.PostgresError as error:
        raise StoreError(
            f"PostgreSQL cannot do this now ({type(error).__name__}, {error.sqlstate}). Look at "
            "its log"
        ) from error
    except _UNREACHED as error:
        raise StoreError(
            f"PostgreSQL cannot be reached now ({type(error).__name__}). Check that it runs, and "
            "its address"
        ) from error
