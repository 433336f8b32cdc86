"""What the tests of the collector share: a PostgreSQL server, and empty stores of both kinds."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest

from lapwing.service.settings import Settings
from lapwing.service.storage.opening import SqliteStore
from lapwing.service.storage.sql_store import Store
from tests.service import folder_in_memory
from tests.service.one_collector import Site, site
from tests.service.postgres_server import PostgresServer

tmp_path = folder_in_memory.tmp_path
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.service)]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.remove()


Opening = Callable[[], Store]


@pytest.fixture(params=KINDS)
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Opens one and the same empty database, of either kind."""
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "collector.db")
    from lapwing.service.storage.opening import PostgresStore

    server: PostgresServer = request.getfixturevalue("postgres_server")
    address = server.new_database()
    return lambda: PostgresStore(address)


@pytest.fixture
def store(opening: Opening) -> Iterator[Store]:
    store = opening()
    yield store
    store.close()


@pytest.fixture(params=KINDS)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Those of collectors that share one database, of either kind."""
    if request.param == "sqlite":
        return Settings(database=str(tmp_path / "shared.sqlite"))
    return Settings(database=request.getfixturevalue("postgres_server").new_database())


@pytest.fixture
def here(tmp_path: Path) -> AbstractAsyncContextManager[Site]:
    """A collector over an SQLite file, which is opened when the test begins."""
    return site(tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine, in a loop in which the collector that it is given is open."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None

    async def run() -> None:
        async with AsyncExitStack() as stack:
            given = {
                name: pyfuncitem.funcargs[name]
                for name in inspect.signature(pyfuncitem.obj).parameters
            }
            if isinstance(given.get("here"), AbstractAsyncContextManager):
                given["here"] = await stack.enter_async_context(given["here"])
            await pyfuncitem.obj(**given)

    asyncio.run(run())
    return True
