"""A collector: its store, its writer, what it knows of its surveys, and the clock it lives by."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from lapwing.errors import ArgumentError, LapwingError, NotStoredError, StoreError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.catalog import Catalog
from lapwing.service.counters import Counters
from lapwing.service.logs import Log
from lapwing.service.problem_answers import ProblemError, problem_of
from lapwing.service.receiving import Receiving
from lapwing.service.results import Results
from lapwing.service.security import Role, Roles, check_token, hash_of, short_name
from lapwing.service.settings import Secrets, Settings
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import AccessToken
from lapwing.service.storage.writer import Writer
from lapwing.service.survey_life import SurveyLife
from lapwing.service.upload_path import Refusals, SecondLook, UploadPath

Found = TypeVar("Found")

READERS = 2
"""Threads that ask the store what is not an upload."""

TICKS_APART = 5
"""After so many ticks, what other collectors of a shared database did is looked at."""

UNTRIED_SECONDS = 30.0
"""Without an upload, after which trouble of the last one says nothing about the next."""

TICK_SECONDS = 1.0
"""How often the clock is looked at, and refusals are stored."""


class Collector:
    """All that the routes need, and what goes on alongside.

    store: Open. The caller that opened it closes it, after :meth:`stop`.
    clock: Returns seconds since 1970. Tests give their own.
    monotonic: Returns seconds of a clock that nobody sets. Tests give their own.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        log: Log,
        secrets: Secrets | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.log = log
        self.counters = Counters()
        self.catalog = Catalog(store)
        self.catalog.load()
        self._given = _given_tokens(secrets or Secrets())
        self.roles = Roles(clock=clock)
        self._load_tokens()
        self._noted_uses: dict[bytes, int] = {}
        self.refusals = Refusals()
        self.receiving = Receiving(
            largest=settings.largest_body,
            seconds=settings.body_seconds,
            together=settings.receiving_bytes,
            retry_seconds=settings.retry_seconds,
        )
        self.writer = Writer(store, most_waiting=settings.waiting_uploads)
        self.readers = ThreadPoolExecutor(READERS, thread_name_prefix="lapwing-reader")
        self.life = SurveyLife(
            store, self.catalog, log=log, clock=clock, monotonic=monotonic, pool=self.readers
        )
        # An SQLite file has one collector.
        self.shared = settings.database.startswith("postgres")
        self.results = Results(
            store, pool=self.readers, settings=settings, counters=self.counters, clock=clock
        )
        self.uploads = UploadPath(
            self.catalog,
            writer=self.writer,
            pool=self.readers,
            receiving=self.receiving,
            refusals=self.refusals,
            counters=self.counters,
            log=log,
            retry_seconds=settings.retry_seconds,
            holds=self.holds,
            look=SecondLook(partial(self.ask_store, self.catalog.load)) if self.shared else None,
        )
        self._beside: asyncio.Task[None] | None = None
        self._trouble: str | None = None
        self._tried = (0, 0.0)
        self._ticks = 0
        self._watch()

    async def start(self) -> None:
        """Begin what goes on alongside the requests."""
        with suppress(ProblemError):  # the store cannot now; the next tick tries again
            await self.life.tick()
        self.results.start()
        self._beside = asyncio.create_task(self._go_on())
        self.log.write("started", surveys=len(list(self.catalog)))

    async def stop(self) -> None:
        """Store and answer what was accepted, and end what goes on alongside."""
        if self._beside is not None:
            self._beside.cancel()
            await asyncio.gather(self._beside, return_exceptions=True)
        await asyncio.to_thread(self.writer.stop)
        with suppress(LapwingError):
            await asyncio.to_thread(self.refusals.store, self.store)
        self.results.stop()
        self.readers.shutdown(wait=True)
        self.log.write_uploads()
        self.log.write("stopped")

    async def tick(self) -> None:
        """Do what is due: the clock's changes of epochs, refusals to the disk, the hour's log."""
        self.log.tick()
        self._ticks += 1
        if self.shared and self._ticks % TICKS_APART == 0:
            await self.ask_store(self._look_again)
        await self.life.tick()
        await self.ask_store(partial(self.refusals.store, self.store))
        await self._note_uses()

    def _look_again(self) -> None:
        """Read what another collector of the same database may have changed."""
        self.catalog.load()
        self._load_tokens()

    def _load_tokens(self) -> None:
        stored = [(each.digest, each.role) for each in self.store.access_tokens()]
        self.roles.replace([*stored, *((each.digest, each.role) for each in self._given)])

    async def look_at_tokens(self) -> None:
        """Read which tokens there are: another collector may have revoked one a moment ago."""
        await self.ask_store(self._load_tokens)

    async def _note_uses(self) -> None:
        """Keep the days of tokens, once a day for each: not at every request."""
        uses = dict(self.roles.last_use)
        if uses != self._noted_uses:
            new = uses.items() - self._noted_uses.items()
            await self.ask_store(partial(self.store.note_token_uses, new))
            self._noted_uses = uses

    async def _go_on(self) -> None:
        while True:
            await self.beat()
            await asyncio.sleep(TICK_SECONDS)

    async def beat(self) -> None:
        """Do what is due, and see whether the store is well. Raises nothing."""
        try:
            await self.tick()
            trouble = self.writer.trouble
        except (StoreError, ProblemError) as error:
            trouble = type(error).__name__
        except Exception as error:
            self.log.defect(error)
            trouble = type(error).__name__
        self._note(trouble)

    def _note(self, trouble: str | None) -> None:
        """Write down when trouble begins and ends.

        Trouble of uploads ends when one is stored. So when none came for a while, one is let come.
        """
        now = time.monotonic()
        if self.writer.groups != self._tried[0] or trouble is None:
            self._tried = (self.writer.groups, now)
        elif now - self._tried[1] > UNTRIED_SECONDS:
            trouble = None
        if (trouble is None) != (self._trouble is None):
            self.log.write("store in trouble" if trouble else "store tried again")
        self._trouble = trouble

    @property
    def ready(self) -> bool:
        """Whether it can store, as far as it knows."""
        return self._trouble is None

    async def ask_store(self, work: Callable[[], Found]) -> Found:
        """Return what the store answers, asked in a thread. A ProblemError when it cannot."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.readers, work)
        except (StoreError, NotStoredError) as error:
            raise problem_of(error, retry_seconds=self.settings.retry_seconds) from None

    async def holds(self, survey: str, epoch: str, id: bytes) -> bool:
        """Return whether the store has a batch."""
        return await self.ask_store(partial(self.store.holds, survey, epoch, id))

    async def add_token(self, token: AccessToken) -> None:
        """Let a token open a role, from now on and after a restart."""
        await self.ask_store(partial(self.store.add_access_token, token))
        self.roles.add(token.digest, token.role)
        self.log.write("token made", role=token.role)

    async def tokens(self) -> list[tuple[AccessToken, bool]]:
        """Return the tokens of roles, and of each whether it can be revoked."""
        stored = await self.ask_store(self.store.access_tokens)
        uses = self.roles.last_use
        every = [*((each, True) for each in stored), *((each, False) for each in self._given)]
        return [
            (each._replace(last_use=uses.get(each.digest, each.last_use)), revocable)
            for each, revocable in every
        ]

    async def revoke(self, name: str) -> None:
        """Let a token open nothing any more, here and in all collectors of this database.

        name: As :func:`short_name` returns it.

        Raises ProblemError when there is none, it comes from a setting, or it is the last one of an
        admin.
        """
        named = [each for each in await self.tokens() if short_name(each[0].digest) == name]
        if not named:
            raise ProblemError(
                Problem.UNKNOWN_TOKEN, "no token has this id. List the tokens to find their ids"
            )
        (token, revocable), *_ = named
        if not revocable:
            raise ProblemError(
                Problem.TOKEN_STAYS,
                f"this token is in the collector's settings ({token.label}). Change it there and "
                "start the collector again",
            )
        admins = sum(each.role == "admin" for each in self._given)
        work = partial(self.store.delete_access_token, token.digest, other_admins=admins)
        try:
            await self.ask_store(work)
        except ArgumentError as error:
            raise ProblemError(Problem.TOKEN_STAYS, str(error)) from None
        self.roles.remove(token.digest)
        self.log.write("token revoked", role=token.role)

    def _watch(self) -> None:
        watch = self.counters.watch
        watch("lapwing_waiting_uploads", "gauge", "Uploads that wait for the disk.", self._waiting)
        watch(
            "lapwing_receiving_bytes",
            "gauge",
            "Bytes of large bodies in transit.",
            lambda: self.receiving.held,
        )
        watch(
            "lapwing_groups_total",
            "counter",
            "Transactions of the writer.",
            lambda: self.writer.groups,
        )
        watch(
            "lapwing_grouped_uploads_total",
            "counter",
            "Uploads in these transactions.",
            lambda: self.writer.uploads,
        )

    def _waiting(self) -> float:
        return self.writer.waiting


def _given_tokens(secrets: Secrets) -> list[AccessToken]:
    """Return the tokens of the settings. No table holds them."""
    every: tuple[tuple[str | None, Role, str], ...] = (
        (secrets.admin_token, "admin", "the admin token"),
        (secrets.analyst_token, "analyst", "the analyst token"),
        (secrets.monitor_token, "monitor", "the monitor token"),
    )
    return [
        AccessToken(hash_of(check_token(token, name=name)), role, f"{role}_token")
        for token, role, name in every
        if token is not None
    ]
