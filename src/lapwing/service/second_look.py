"""What another collector of a shared database has just done, before a device is sent away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

LOOKS_APART = 0.5
"""Seconds between two looks, however many ask: made-up names must not keep the database busy."""


class SecondLook:
    """Reads what the store holds, once for all who wait for it.

    Parameters
    ----------
    load : callable
        Reads it.
    """

    def __init__(self, load: Callable[[], Awaitable[None]]) -> None:
        self._load = load
        self._next: asyncio.Task[None] | None = None
        self._begun = -LOOKS_APART

    async def taken(self) -> None:
        """Return after a look that began when this was called, or later.

        Raises
        ------
        ProblemError
            When the store cannot be asked now.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._look())
            self._next.add_done_callback(_seen)
        # One who goes away does not end it for the others.
        await asyncio.shield(self._next)

    async def _look(self) -> None:
        clock = asyncio.get_running_loop().time
        try:
            await asyncio.sleep(max(0.0, self._begun + LOOKS_APART - clock()))
        finally:
            self._next = None  # who comes from now on needs a later one
        self._begun = clock()
        await self._load()


def _seen(task: asyncio.Task[None]) -> None:
    """Look at trouble that nobody waits for any more; whoever asks next has it again."""
    if not task.cancelled():
        task.exception()
