"""Which store an address means."""

from __future__ import annotations

from pathlib import Path

from lapwing.errors import ArgumentError
from lapwing.service.storage.sqlite_store import SqliteStore
from lapwing.service.storage.store import Store


def open_store(address: str, *, reading: bool = False) -> Store:
    """Return the open store of an address.

    Parameters
    ----------
    address : str
        ``postgresql://...``, ``sqlite:///path`` (an absolute path has four slashes) or a path.
    reading : bool
        Whether it is only read, beside the collector that holds it.

    Raises
    ------
    ArgumentError
        When it is no such address.
    StoreError, FormatError
        When the database cannot be used.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        return SqliteStore(Path(address), reading=reading)
    if scheme == "sqlite" and rest[1:]:
        return SqliteStore(Path(rest[1:]), reading=reading)
    if scheme in ("postgresql", "postgres"):
        from lapwing.service.storage.postgres_store import PostgresStore

        return PostgresStore(address)
    raise ArgumentError(
        "the database must be a path, sqlite:///path or postgresql://user@host/name"
    )
