"""The store of several collectors: PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from lapwing.service.storage.migration_runner import FOLDER
from lapwing.service.storage.postgres_driver import PostgresDriver
from lapwing.service.storage.sql_store import SqlStore


class PostgresStore(SqlStore):
    """A :class:`Store` in a PostgreSQL database, which several collectors may share.

    Parameters
    ----------
    address : str
        ``postgresql://user@host/name``; a password stands in PGPASSWORD or a password file.
    migrations : Path
        Folder of the migrations.

    Raises
    ------
    StoreError
        When it cannot be reached, or does not keep what it has acknowledged.
    FormatError
        When its tables are of an unknown version.
    """

    def __init__(self, address: str, *, migrations: Path = FOLDER) -> None:
        driver = PostgresDriver(address, folder=migrations)
        try:
            super().__init__(driver)
        except BaseException:
            driver.close()
            raise
