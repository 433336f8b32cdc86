"""Work for several threads, with its results in the order in which it was given."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import check_whole

Result = TypeVar("Result")

Advance = Callable[[int], None]
"""Told the number of rows after each part."""

MOST_THREADS = 256


def unwatched(rows: int) -> None:
    """Take the number of rows where nobody shows progress."""


def threads_or_all(threads: int | None) -> int:
    """Return how many threads work: those asked for, else one for each core."""
    if threads is None:
        return min(os.cpu_count() or 1, MOST_THREADS)
    check_whole("threads", threads, low=1, high=MOST_THREADS, error=ArgumentError)
    return threads


def in_order(jobs: Iterable[Callable[[], Result]], *, threads: int) -> Iterator[Result]:
    """Yield the result of each job, in order. At most twice as many as threads are under way.

    The first job that fails, in their order, ends it with its error, whichever thread was faster.
    So does the iterable itself, after the results of what it gave before.

    jobs: Taken from the iterable in this thread, run in another.
    """
    if threads == 1:
        for job in jobs:
            yield job()
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    given = iter(jobs)
    failed: BaseException | None = None
    try:
        while True:
            try:
                waiting.append(pool.submit(next(given)))
            except StopIteration:
                break
            except Exception as error:
                failed = error
                break
            if len(waiting) == 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if failed is not None:
            raise failed
    finally:
        pool.shutdown(cancel_futures=True)
