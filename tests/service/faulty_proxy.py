"""A proxy that repeats, delays and reorders requests, and loses answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import numpy as np


class FaultyProxy:
    """Sends what it gets on to a port, on connections of its own.

    Parameters
    ----------
    port : int
        Of the collector.
    seed : int
    """

    def __init__(self, port: int, *, seed: int) -> None:
        self._port = port
        self._rng = np.random.default_rng(seed)
        self._late: set[asyncio.Task[bytes]] = set()
        self.repeated = self.lost = self.late = 0

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client: one request."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            request = await whole_message(reader)
            fate = self._rng.random()
            if fate < 0.2:  # forgotten by its client, it arrives much later
                self.late += 1
                self._later(request, delay=float(self._rng.random()))
            else:
                await asyncio.sleep(0.02 * self._rng.random())  # overtaken by others
                answer = await self._forward(request)
                if fate < 0.5:
                    self.repeated += 1
                    for _ in range(int(self._rng.integers(1, 4))):
                        self._later(request, delay=0.2 * float(self._rng.random()))
                if self._rng.random() < 0.3:
                    self.lost += 1
                else:
                    writer.write(answer)
                    await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    def _later(self, request: bytes, *, delay: float) -> None:
        async def forward() -> bytes:
            await asyncio.sleep(delay)
            return await self._forward(request)

        task = asyncio.create_task(forward())
        self._late.add(task)

    async def _forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(request)
            return await whole_message(reader)
        finally:
            writer.close()
            await writer.wait_closed()

    async def rest(self) -> list[bytes]:
        """Return the answers to all that was repeated or late, once they are there."""
        return await asyncio.gather(*self._late)


async def whole_message(reader: asyncio.StreamReader) -> bytes:
    """Return a request or an answer: its head, and as much of a body as that says."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)


@asynccontextmanager
async def faulty_proxy(port: int, *, seed: int) -> AsyncIterator[tuple[FaultyProxy, int]]:
    """Yield a proxy and the port at which it listens."""
    proxy = FaultyProxy(port, seed=seed)
    server = await asyncio.start_server(proxy.take, "127.0.0.1", 0)
    try:
        yield proxy, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()
