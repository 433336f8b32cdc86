"""One thread that stores uploads in groups: all that wait share one transaction and one sync."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from threading import Condition, Thread
from time import perf_counter
from typing import NamedTuple

from lapwing.errors import StoreBusyError, StoreError
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import Outcome, Upload

MOST_WAITING = 4096
"""Uploads that may wait, or be stored, at once."""
MOST_WAITING_BYTES = 64 * 2**20
"""... and the bytes of their reports; a single upload is always taken when nothing waits."""

LARGEST_GROUP = 512
"""Uploads of one transaction."""

FEWEST_TOGETHER = 4
GATHER_SHARE = 0.5
GATHER_SECONDS = 0.004
"""Longest wait for those who were just answered, who mostly come again at once."""
# Where so many were in hand, the next group waits for as many: a share of the time that the latest
# took, and no longer than this. Else half of them would just miss it, and every sync would be
# shared by half as many.

IDLE_SECONDS = 1.0
"""Without uploads, after which everything is folded."""

Answer = Outcome | BaseException


class _Waiting(NamedTuple):
    upload: Upload
    loop: AbstractEventLoop
    future: Future[Outcome]


class Writer:
    """The only one that calls `Store.store`.

    store: Stays open when the writer stops.
    most_waiting, most_waiting_bytes: Uploads, and bytes of reports, that may wait. More are refused
        at once.

    An upload that is answered is on disk. One whose caller went away is stored all the same.
    """

    def __init__(
        self,
        store: Store,
        *,
        most_waiting: int = MOST_WAITING,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
    ) -> None:
        self._store = store
        self._most = most_waiting
        self._most_bytes = most_waiting_bytes
        self._queue: deque[_Waiting] = deque()
        self._wake = Condition()
        self._held = 0
        self._held_bytes = 0
        self._wanted = 0
        """Uploads that must wait before the thread is woken. 0 while it works."""
        self._expected = 0
        """Uploads that were in hand before the latest group was answered."""
        self._spent = 0.0
        """Seconds that the latest group took."""
        self._stopping = False
        self.groups = 0
        """Transactions so far."""
        self.uploads = 0
        """Uploads in them."""
        self.trouble: str | None = None
        """Why the latest group could not be stored. None when it was."""
        self._thread = Thread(target=self._run, name="lapwing-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Uploads that were taken and not stored yet."""
        return self._held

    def submit(self, upload: Upload) -> Future[Outcome]:
        """Return what will be known when the upload is stored, or cannot be.

        Called on an event loop, whose future it is.

        Raises StoreBusyError when too many wait, or the writer stops.
        """
        size = len(upload.batch.records)
        loop = get_running_loop()
        future: Future[Outcome] = loop.create_future()
        with self._wake:
            if self._stopping:
                raise StoreBusyError("the collector is stopping. Send the same bytes again later")
            if self._held and (
                self._held >= self._most or self._held_bytes + size > self._most_bytes
            ):
                raise StoreBusyError("too many uploads wait. Send the same bytes again later")
            self._held += 1
            self._held_bytes += size
            self._queue.append(_Waiting(upload, loop, future))
            if len(self._queue) == self._wanted:
                self._wake.notify()
        return future

    def stop(self) -> None:
        """Take no more, and return when everything that was taken is stored and answered."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        rested = False
        while True:
            group = self._group(wait=None if rested else IDLE_SECONDS)
            if group:
                rested = False
                started = perf_counter()
                answers = self._stored([waiting.upload for waiting in group])
                self._spent = perf_counter() - started
                self._answer(group, answers)
                self._fold(everything=False)
            elif self._stopping:
                return
            else:
                rested = not self._fold(everything=True)

    def _group(self, *, wait: float | None) -> list[_Waiting]:
        """Return all that wait, up to a limit. Nothing after a while without, or at the end."""
        with self._wake:
            if not self._queue:
                self._wait_for(1, wait)
            if self._queue and self._expected >= FEWEST_TOGETHER:
                seconds = min(GATHER_SHARE * self._spent, GATHER_SECONDS)
                self._wait_for(min(self._expected, LARGEST_GROUP), seconds)
            self._expected = 0
            group: list[_Waiting] = []
            size = 0
            while self._queue and len(group) < LARGEST_GROUP:
                size += len(self._queue[0].upload.batch.records)
                if group and size > self._most_bytes // 8:
                    break
                group.append(self._queue.popleft())
            return group

    def _wait_for(self, number: int, seconds: float | None) -> None:
        """Sleep until so many uploads wait, at most for a while, and not at the end."""
        self._wanted = number
        self._wake.wait_for(lambda: len(self._queue) >= number or self._stopping, seconds)
        self._wanted = 0

    def _stored(self, uploads: list[Upload]) -> list[Answer]:
        """Store a group. When something unforeseen happens, one by one, so that one is to blame."""
        self.groups += 1
        self.uploads += len(uploads)
        try:
            outcomes = self._store.store(uploads)
            self.trouble = None
            return [*outcomes]
        except StoreError as error:
            self.trouble = str(error)
            return [error] * len(uploads)
        except Exception as error:
            if len(uploads) == 1:
                self.trouble = type(error).__name__
                return [error]
            return [answer for upload in uploads for answer in self._stored([upload])]

    def _answer(self, group: list[_Waiting], answers: list[Answer]) -> None:
        """Tell each loop what became of its uploads, in one call."""
        with self._wake:  # before: who is answered may come again
            self._expected = self._held
            self._held -= len(group)
            self._held_bytes -= sum(len(waiting.upload.batch.records) for waiting in group)
        loops = {waiting.loop for waiting in group}
        for loop in loops:
            told = [
                (waiting.future, answer)
                for waiting, answer in zip(group, answers, strict=True)
                if waiting.loop is loop
            ]
            try:
                loop.call_soon_threadsafe(_tell, told)
            except RuntimeError:  # the loop is closed: nobody waits any more
                continue

    def _fold(self, *, everything: bool) -> bool:
        """Fold some. Return whether there may be more to do. A trouble is tried again later."""
        try:
            return self._store.fold(everything=everything)
        except Exception as error:
            self.trouble = str(error) if isinstance(error, StoreError) else type(error).__name__
            return False


def _tell(told: list[tuple[Future[Outcome], Answer]]) -> None:
    for future, answer in told:
        if future.done():  # its request was given up
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
