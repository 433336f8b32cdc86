"""The options that name a collector's database, and the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.cli.option_groups import option
from lapwing.errors import MissingExtraError

if TYPE_CHECKING:
    from lapwing.service.settings import Secrets, Settings
    from lapwing.service.storage.sql_store import Store


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """The option of every command that reads a collector's database."""

    database: str | None = option(
        "The path of an SQLite file, or postgresql://... without a password. "
        "[default: ~/.local/share/lapwing/collector.sqlite]",
        "WHERE",
    )

    def settings(self, config: Path | None = None, **given: Any) -> tuple[Settings, Secrets]:
        """Return all settings: of a TOML file, the environment and the options.

        Raises MissingExtraError when what a collector needs is not installed.
        """
        with needing_serve():
            from lapwing.service.settings import read_settings

        return read_settings(path=config, given={"database": self.database, **given})

    @contextmanager
    def store(self, *, reading: bool) -> Iterator[Store]:
        """Open the database for a while. After a failure, one that was new is gone.

        reading: Whether it is only read, so that the collector may go on.
        """
        settings, _ = self.settings()
        with needing_serve():
            from lapwing.service.storage.opening import open_store
        store = open_store(settings.database, reading=reading)
        try:
            yield store
        except BaseException:
            store.discard()
            raise
        store.close()


@contextmanager
def needing_serve() -> Iterator[None]:
    """Name the extra when an import inside fails for want of a package."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "lapwing":
            raise
        raise MissingExtraError(package, extra="serve") from None
