"""The store that needs nothing beside: a SQLite file."""

from __future__ import annotations

from pathlib import Path

from lapwing.service.storage.migration_runner import FOLDER
from lapwing.service.storage.sql_store import SqlStore
from lapwing.service.storage.sqlite_driver import SqliteDriver


class SqliteStore(SqlStore):
    """A :class:`Store` in a file; one process writes it.

    Parameters
    ----------
    path : Path or str
        Made when it is not there. Beside it stand ``-wal`` and ``-shm``, which belong to it, and
        ``.lock``.
    reading : bool
        Whether it is only read, beside the collector that may hold it.
    migrations : Path
        Folder of the migrations.

    Raises
    ------
    StoreError
        When another collector holds the file, or it cannot be opened.
    FormatError
        When it is another program's file, damaged, or of an unknown version.
    """

    def __init__(
        self, path: Path | str, *, reading: bool = False, migrations: Path = FOLDER
    ) -> None:
        driver = SqliteDriver(Path(path), reading=reading, folder=migrations)
        try:
            super().__init__(driver)
        except BaseException:
            driver.close()
            raise
