"""A PostgreSQL server of the tests' own, from the distribution's package."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import asyncpg

from tests.clients_js.programs import skip_without
from tests.service.folder_in_memory import place

FOLDER = "TESTS_POSTGRESQL"
"""The environment variable that names another folder than the distribution's."""


def programs() -> Path | None:
    """Return the folder of initdb and pg_ctl."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = Path(os.environ.get(FOLDER, "/usr/lib/postgresql")).glob("*/bin/initdb")
    return max((path.parent for path in folders), default=None, key=lambda p: int(p.parent.name))


def installed() -> Path:
    """Return the folder of the server's programs. The test that asks is skipped without them."""
    return programs() or skip_without("PostgreSQL", package="postgresql")


class PostgresServer:
    """A server that listens on a socket in a folder of its own; root runs it as somebody else."""

    def __init__(self) -> None:
        self._programs = installed()
        self._folder = Path(tempfile.mkdtemp(prefix="lapwing-postgres-", dir=place()))
        self._user: list[str] = []
        self._names = count()
        if os.geteuid() == 0:
            name = next(user for user in ("postgres", "nobody") if _exists(user))
            self._user = ["runuser", "-u", name, "--"]
            shutil.chown(self._folder, name)
        self._data = self._folder / "data"
        self._call("initdb", "-D", str(self._data), "-U", "lapwing", "-A", "trust", "--no-sync")
        self.start()

    def start(self) -> None:
        settings = f"-c listen_addresses='' -c unix_socket_directories={self._folder}"
        settings += " -c shared_buffers=16MB -c max_connections=50"
        log = str(self._folder / "log")
        self._call("pg_ctl", "-w", "-D", str(self._data), "-l", log, "-o", settings, "start")

    def stop(self, *, how: str = "fast") -> None:
        """Stop it; "immediate" is what a crash does."""
        self._call("pg_ctl", "-w", "-D", str(self._data), "-m", how, "stop")

    def address(self, schema: str = "public") -> str:
        return f"postgresql://lapwing@/postgres?host={self._folder}&search_path={schema}"

    async def ask(self, statement: str) -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(self.address())
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    def new_database(self) -> str:
        """Return the address of a place without tables: a schema, which is made at once."""
        name = f"collector{next(self._names)}"
        asyncio.run(self.ask(f"CREATE SCHEMA {name}"))
        return self.address(name)

    def remove(self) -> None:
        self.stop(how="immediate")
        shutil.rmtree(self._folder)

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._user, str(self._programs / program), *arguments],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the server runs
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            log = self._folder / "log"
            said = log.read_text("utf-8") if log.exists() else "it left no log"
            raise RuntimeError(f"{program} failed with {done.returncode}: {said[-2000:]}")


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
