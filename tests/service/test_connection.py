"""A connection whose request does not come is closed; one that is slow to answer is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from lapwing.service import serving
from lapwing.service.serving import Connection


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(0)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def exchange(*pieces: bytes, pause: float = 0.0) -> bytes:
    """Send pieces, and return what came until the connection was closed."""
    config = uvicorn.Config(answer, http=Connection, lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(pause)
        async with asyncio.timeout(60):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEADER_SECONDS", 2.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"GET / HTTP/1.1\r\nHost: x\r\n",),
        (b"GET /", b" HTTP/1.1\r\n"),
    ],
)
def test_headers_that_do_not_come_are_not_waited_for(pieces: tuple[bytes, ...]) -> None:
    assert asyncio.run(exchange(*pieces)) == b""


@pytest.mark.usefixtures("impatient")
def test_a_second_request_that_does_not_come_is_not_waited_for_either() -> None:
    whole = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    got = asyncio.run(exchange(whole, b"GET / HTT", pause=0.05))
    assert got.count(b"HTTP/1.1 204") == 1


def test_a_request_in_pieces_is_answered() -> None:
    pieces = (b"GET / HTTP/1.1\r\nHo", b"st: x\r\nConnection: close\r\n\r\n")
    assert asyncio.run(exchange(*pieces, pause=0.01)).startswith(b"HTTP/1.1 204")
