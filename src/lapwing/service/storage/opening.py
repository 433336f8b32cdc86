"""The stores of SQLite and PostgreSQL, and which of them an address means."""

from __future__ import annotations

from pathlib import Path

from lapwing.errors import ArgumentError
from lapwing.service.settings import DATABASE
from lapwing.service.storage.driver import FOLDER
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.sqlite_driver import SqliteDriver


class SqliteStore(Store):
    """A :class:`Store` in a file. One process writes it.

    path: Made when it is not there. Beside it stand ``-wal`` and ``-shm``, which belong to it, and
        ``.lock``.
    reading: Whether it is only read, alongside the collector that may hold it.
    migrations: Folder of the migrations.

    Raises StoreError when another collector holds the file, or it cannot be opened.
    Raises FormatError when it is another program's file, damaged, or of an unknown version.
    """

    def __init__(
        self, path: Path | str, *, reading: bool = False, migrations: Path = FOLDER
    ) -> None:
        super().__init__(SqliteDriver(Path(path), reading=reading, folder=migrations))


class PostgresStore(Store):
    """A :class:`Store` in a PostgreSQL database, which several collectors may share.

    address: ``postgresql://user@host/name``. A password stands in PGPASSWORD or a password file.
    migrations: Folder of the migrations.

    Raises StoreError when it cannot be reached, or does not keep what it has acknowledged.
    Raises FormatError when its tables are of an unknown version.
    """

    def __init__(self, address: str, *, migrations: Path = FOLDER) -> None:
        from lapwing.service.storage.postgres_driver import PostgresDriver  # needs asyncpg

        super().__init__(PostgresDriver(address, folder=migrations))


def open_store(address: str, *, reading: bool = False) -> Store:
    """Return the open store of an address.

    address: ``postgresql://...``, ``sqlite:///path`` (an absolute path has four slashes) or a path.
    reading: Whether it is only read, alongside the collector that holds it.

    Raises ArgumentError when it is no such address.
    Raises StoreError, FormatError when the database cannot be used.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        path, usual = Path(address), Path(DATABASE).expanduser()
        if path == usual and not reading:
            usual.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return SqliteStore(path, reading=reading)
    if scheme == "sqlite" and rest[1:]:
        return SqliteStore(Path(rest[1:]), reading=reading)
    if scheme in ("postgresql", "postgres"):
        return PostgresStore(address)
    raise ArgumentError(
        "the database must be a path, sqlite:///path or postgresql://user@host/name"
    )
