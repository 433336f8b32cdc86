"""A connection whose request does not come is closed; one that is slow to answer is not."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from lapwing.service import serving
from lapwing.service.receiving import closing
from lapwing.service.serving import Connection


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(0)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def exchange(
    *pieces: bytes, pause: float = 0.0, application: Any = answer, unread: float = 0.0
) -> bytes:
    """Send pieces, and return what came until the connection was closed."""
    config = uvicorn.Config(application, http=Connection, lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        with suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(pause)
        if unread:
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            await asyncio.sleep(unread)
            reader._transport.resume_reading()  # type: ignore[attr-defined]
        got = bytearray()
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                while piece := await reader.read(2**16):
                    got += piece
        return bytes(got)
    finally:
        writer.transport.abort()
        server.close()
        await server.wait_closed()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.3)


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


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


def lines(number: int, size: int) -> bytes:
    return b"".join(b"x-%d: %s\r\n" % (n, b"v" * size) for n in range(number))


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LINGER_SECONDS", 0.2)


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    "pieces",
    [
        (HEAD, lines(99, 200)),
        (HEAD + lines(99, 200) + b"\r\n",),
        (HEAD + lines(100, 1) + b"\r\n",),
        (HEAD, *[lines(50, 1)] * 3),
        (HEAD + b"x: ", *[b"v" * 4096] * 6),
        (b"GET /", *[b"v" * 4096] * 6),
        (b"GET /" + b"v" * 17000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",),
        (*[b"\r\n" * 2048] * 6,),
    ],
    ids=[
        "bytes",
        "at once",
        "lines",
        "lines in pieces",
        "a line",
        "a path",
        "path at once",
        "blank",
    ],
)
def test_headers_that_are_too_long_are_refused(pieces: tuple[bytes, ...]) -> None:
    got = asyncio.run(exchange(*pieces, pause=0.02))
    assert got.startswith(b"HTTP/1.1 431 ") and b"urn:lapwing:problem:headers-too-large" in got
    assert got.count(b"HTTP/1.1") == 1


def test_long_headers_within_the_limit_are_answered() -> None:
    asked = HEAD + lines(97, 150) + b"Connection: close\r\n\r\n"
    assert asyncio.run(exchange(asked)).startswith(b"HTTP/1.1 204")


@pytest.mark.usefixtures("brief")
def test_lines_behind_a_body_in_chunks_count_as_headers() -> None:
    body = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    for behind in ([lines(200, 1)], [b"x: ", *[b"v" * 4096] * 6]):
        got = asyncio.run(exchange(body, *behind, pause=0.02))
        assert b" 204 " in got and got.count(b"HTTP/1.1") <= 2


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


async def read_and_answer(scope: Any, receive: Any, send: Any) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        size, more = size + len(message["body"]), message["more_body"]
    body = b"%d bytes" % size
    headers = [(b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("application", [read_and_answer, answer])
def test_a_body_in_tiny_pieces_is_refused(application: Any) -> None:
    pieces = (CHUNKED, *[b"1\r\na\r\n" * 50] * 6, b"0\r\n\r\n")
    got = asyncio.run(exchange(*pieces, pause=0.02, application=application))
    if application is read_and_answer:
        assert got.startswith(b"HTTP/1.1 400 ") and b"urn:lapwing:problem:malformed-request" in got
    assert got.count(b"HTTP/1.1") == 1


def test_a_body_in_small_pieces_is_read() -> None:
    parts = [b"100\r\n" + b"a" * 256 + b"\r\n"] * 300 + [b"1\r\na\r\n"] * 100
    got = asyncio.run(exchange(CHUNKED, *parts, b"0\r\n\r\n", application=read_and_answer))
    assert got.endswith(b"76900 bytes")


def test_some_requests_may_wait_behind_another() -> None:
    asked = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * serving.WAITING_REQUESTS
    asked += b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert asyncio.run(exchange(asked)).count(b"HTTP/1.1 204") == serving.WAITING_REQUESTS + 1


def test_a_connection_with_too_many_waiting_requests_is_cut() -> None:
    got = asyncio.run(exchange(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1000))
    assert got.count(b"HTTP/1.1 204") <= serving.WAITING_REQUESTS + 1


def test_a_client_that_reads_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "WRITE_SECONDS", 0.5)
    asked = HEAD + b"Connection: close\r\n\r\n"
    got = asyncio.run(exchange(asked, application=flood, unread=1.0))
    assert len(got) < 2**24 < len(asyncio.run(exchange(asked, application=flood)))


async def flood(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(32):
        await send({"type": "http.response.body", "body": bytes(2**20), "more_body": True})
    await send({"type": "http.response.body"})


def test_nothing_private_of_the_server_is_overridden() -> None:
    """What begins with an underscore may change in any version of uvicorn."""
    own = {name for name in vars(Connection) if name.startswith("_") and name[1] != "_"}
    assert not own & {name for name in dir(HttpToolsProtocol)}
    documented = {name for name in vars(Connection) if not name.startswith("_")}
    assert documented <= {name for name in dir(HttpToolsProtocol)}


async def refuse(scope: Any, receive: Any, send: Any) -> None:
    """Answer before the body is read, as an address that nobody knows does."""
    lines = [(b"content-length", b"4"), *closing(scope)]
    await send({"type": "http.response.start", "status": 404, "headers": lines})
    await send({"type": "http.response.body", "body": b"none"})


LONG = HEAD.replace(b"GET", b"POST") + b"Content-Length: 1000000\r\n\r\n"


@pytest.mark.parametrize("pieces", [(LONG,), (LONG, *(b"a",) * 6), (LONG + bytes(2**14),)])
def test_a_body_that_nobody_reads_ends_soon(
    monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> None:
    """It would hold its connection for as long as a byte comes now and then."""
    monkeypatch.setattr(serving, "UNREAD_SECONDS", 0.7)
    got = asyncio.run(exchange(*pieces, pause=0.1, application=refuse))
    assert got.startswith(b"HTTP/1.1 404") and got.endswith(b"none")
    assert got.count(b"connection: close") == 1


def test_much_of_a_body_that_nobody_reads_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "UNREAD_SECONDS", 3600.0)
    monkeypatch.setattr(serving, "LINGER_SECONDS", 3600.0)
    got = asyncio.run(exchange(LONG, *(bytes(2**14),) * 5, pause=0.05, application=refuse))
    assert b"connection: close" in got and got.endswith(b"none")


def test_a_body_that_ends_after_its_answer_ends_the_connection_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "UNREAD_SECONDS", 3600.0)
    head = HEAD.replace(b"GET", b"POST") + b"Content-Length: 2\r\n\r\n"
    got = asyncio.run(exchange(head, b"a", b"b" + head + b"cd", pause=0.2, application=refuse))
    assert got.count(b"HTTP/1.1 404") == 1


def test_an_answer_after_its_body_keeps_the_connection() -> None:
    whole = HEAD.replace(b"GET", b"POST") + b"Content-Length: 2\r\n\r\nab"
    last = HEAD + b"Connection: close\r\n\r\n"
    got = asyncio.run(exchange(whole, whole, last, pause=0.2, application=refuse))
    assert got.count(b"HTTP/1.1 404") == 3 and got.count(b"connection: close") == 1
