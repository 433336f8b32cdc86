"""Running a collector as a process: its store, its server, and how it ends.

The server is uvicorn with limits of our own (:class:`Connection`). Others were measured alongside
in November 2026, on 2 cores that were busy with other work: CPU of one small request, and the
memory of an application of ten lines under two attacks of 6 s. In one, a client sent header lines
without end. In the other, eight clients pipelined requests and read no answer.

=============================  ======  ============  =========
server                         CPU     header lines  pipelined
=============================  ======  ============  =========
uvicorn 0.54, httptools        36 us   over 970 MB   over 990 MB
the same with our limits       42 us   93 MB (idle)  95 MB
uvicorn 0.54, h11              183 us  30 MB         31 MB
hypercorn 0.18                 300 us  75 MB         75 MB
granian 2.8                    58 us   63 MB         63 MB
=============================  ======  ============  =========

The servers that limit both on their own take 1.4 to 7 times our CPU, which is the main cost of an
upload. granian comes near, so look at it first when uvicorn changes. A proxy in front may also
limit both, but a collector must survive without one.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import signal
import socket
import threading
import time
from asyncio.events import TimerHandle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast
from weakref import WeakKeyDictionary

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from lapwing.protocol.messages.problems import Problem
from lapwing.service.app import HEALTH_PATH, make_application
from lapwing.service.collector import Collector
from lapwing.service.logs import server_lines_in, standard_log
from lapwing.service.problem_answers import ProblemError
from lapwing.service.receiving import UNREAD
from lapwing.service.security import ROLE_PREFIX, hash_of, new_token
from lapwing.service.settings import Secrets, Settings
from lapwing.service.storage.opening import open_store
from lapwing.service.storage.store import AccessToken
from lapwing.service.upload_path import OPEN_TO_ALL

HEADER_SECONDS = 20.0
"""From the first byte of a request to the end of its headers, and from connecting to that byte."""

WRITE_SECONDS = 60.0
"""How long a client may leave an answer unread before its connection is cut."""

HEADER_BYTES = 2**14
"""Of all header lines of a request together. Also of anything else that is no body."""

HEADER_LINES = 100

WAITING_REQUESTS = 8
"""Requests of one connection that wait behind the one that is being answered."""

PIECE_BYTES = 256
SHORT_BYTES = 2**15
"""Bytes that the pieces of a body may lack in all of 256 bytes each."""
# A piece is a chunk, or what came at once. One of one byte takes as long to read as one of many.

LINGER_SECONDS = 1.0
"""From a refusal to the end of its connection, so that the client can read it."""

UNREAD_SECONDS = 2.0
UNREAD_BYTES = 2**16
"""Bytes that are read of a body whose answer came before its end."""
# The client can read the answer then. Without these limits, a few who send one byte now and then
# would hold all connections.

SPARE_SHARE = 16
"""For so many connections that may be busy, one more may wait for a request."""
# Whoever has just connected, above all to ask whether the collector is well, is not let go before
# its request came.

_waiting_at: WeakKeyDictionary[ServerState, dict[Connection, None]] = WeakKeyDictionary()
"""Connections of a server without a whole request, that which has waited longest first."""


_LONG_HEADERS = ProblemError(
    Problem.HEADERS_TOO_LARGE,
    f"a request may have {HEADER_LINES} header lines with {HEADER_BYTES} bytes in total",
)

_SMALL_PIECES = ProblemError(
    Problem.MALFORMED_REQUEST,
    f"the pieces of a body must have at least {PIECE_BYTES} bytes on average. Send it in one piece",
)


class _Unread:
    """The transport of an answer that came before the end of the body: its end waits a moment."""

    def __init__(self, transport: asyncio.Transport, end: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = end


class Connection(HttpToolsProtocol):
    """uvicorn's own, with limits of time and memory for those who have no token.

    uvicorn limits neither the header lines of a request nor the requests that wait behind an
    unread answer. It counts idle connections among those that are served. Nothing is overridden
    here that is private to uvicorn. As the class itself may change, the version has an upper bound.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_headers = False
        self._timer: TimerHandle | None = None
        self._write_timer: TimerHandle | None = None
        self._header_bytes = 0
        self._quiet_bytes = 0
        self._progress = False
        self._refused = False
        self._short_bytes = 0
        self._problem = _LONG_HEADERS
        self._unread_timer: TimerHandle | None = None
        self._unread_bytes = 0
        self._waiting = _waiting_at.setdefault(self.server_state, {})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and wait for a first byte no longer than for a further request."""
        super().connection_made(transport)
        self._make_room()
        self._waiting[self] = None
        self._timer = self.loop.call_later(HEADER_SECONDS, self._close)

    def _make_room(self) -> None:
        """Let go of those that have waited longest for a request, where this is one too many."""
        limit = self.config.limit_concurrency
        if limit is None:
            return
        while self._waiting and len(self.connections) > most_open(limit - 1):
            longest = next(iter(self._waiting))
            del self._waiting[longest]
            self.connections.discard(longest)
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and stop both timers."""
        self._waiting.pop(self, None)
        self._stop_timer()
        self._stop_write_timer()
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop answering until the client reads, which it does soon or is cut off."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Answer again."""
        self._stop_write_timer()
        super().resume_writing()

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._in_headers = self._progress = True
        self._header_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header line, or a line behind a body in chunks, while there are not too many."""
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > HEADER_BYTES or len(self.headers) >= HEADER_LINES:
            self._stop_parsing()
        HttpToolsProtocol.on_header(self, name, value)  # half the time of super(), for each line

    def on_headers_complete(self) -> None:
        """Begin to answer, unless it was too much or too many wait already."""
        self._in_headers = False
        self._progress = True
        self._short_bytes = 0
        if len(self.url) > HEADER_BYTES or len(self.pipeline) >= WAITING_REQUESTS:
            self._stop_parsing()
        self._waiting.pop(self, None)
        limit = self.config.limit_concurrency
        if limit is not None and len(self.connections) >= limit:
            of_health = self.url.partition(b"?")[0] == HEALTH_PATH.encode()
            # Only the busy ones count.
            self.limit_concurrency = None if of_health else limit + len(self._waiting)
        cast(dict[str, Any], self.scope)[UNREAD] = self._unread_body
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """End an answer, and wait for the next request unless it is here already."""
        HttpToolsProtocol.on_response_complete(self)
        if self.cycle.response_complete:
            self._waiting[self] = None

    def _unread_body(self) -> bool:
        """Return whether the request that is answered goes on. It is then read a little longer.

        Only the latest request of a connection can go on.
        """
        cycle = self.cycle
        if cycle is None or not cycle.more_body or self.pipeline:
            return False
        cycle.transport = cast(asyncio.Transport, _Unread(self.transport, self._linger))
        return True

    def _linger(self) -> None:
        self._unread_timer = self.loop.call_later(UNREAD_SECONDS, self._close)

    def on_message_complete(self) -> None:
        """End a request, and its connection where the answer came before."""
        if self._unread_timer is not None:
            self._close()
        HttpToolsProtocol.on_message_complete(self)

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body, while they are not too small."""
        self._progress = True
        if self._unread_timer is not None:
            self._unread_bytes += len(body)
            if self._unread_bytes > UNREAD_BYTES:
                self._close()
            return
        self._short_bytes += PIECE_BYTES - len(body)
        if self._short_bytes > SHORT_BYTES:
            self._problem = _SMALL_PIECES
            self._stop_parsing()
        super().on_body(body)

    def _stop_parsing(self) -> None:
        """End what is parsed now: the rest of it would take as long as it is made to."""
        self._refused = True
        raise ValueError("too many header lines, small pieces, or requests that wait")

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with a request that cannot be parsed."""
        if self._refused:
            self._refuse()
        else:
            super().send_400_response(msg)

    def data_received(self, data: bytes) -> None:
        """Take bytes. A timer runs while they end within the headers of a request."""
        if self._refused:
            self.transport.pause_reading()  # an answer that ended had it read on
            return
        self._progress = False
        super().data_received(data)
        if self._refused:
            return
        # A line without an end, which the parser keeps: no callback says how long it is.
        self._quiet_bytes = 0 if self._progress else self._quiet_bytes + len(data)
        if self._quiet_bytes > HEADER_BYTES:
            self._refuse()
        elif self._progress and not self._in_headers:
            if self._timer is not None:
                self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._close)

    def _refuse(self) -> None:
        """Read no more, say why unless answers are under way, and end.

        The end comes a moment later: whoever does this comes again at once.
        """
        self._refused = True
        self._stop_timer()
        if self.transport.is_closing():
            return
        self.transport.pause_reading()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)
        in_body = self._problem is _SMALL_PIECES and not self.pipeline
        if self.cycle is not None and not self.cycle.response_complete:
            # Whoever waits for the rest of this very body has not answered.
            if not in_body or self.cycle.response_started:
                return
        elif in_body:
            return  # it was answered before the rest of it came
        problem = self._problem
        body = problem.body()
        lines = [
            *problem.headers(),
            OPEN_TO_ALL,
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in lines)
        status = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n"
        self.transport.write(status.encode() + head + b"\r\n")
        self.transport.write(body)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def most_open(connections: int) -> int:
    """Return how many connections are open at most when so many may be busy."""
    return connections + connections // SPARE_SHARE


KEEP_ALIVE_SECONDS = 75

_OTHER_FILES = 256
"""Of a database, libraries and decoding processes."""


@dataclass(frozen=True)
class Ready:
    """Log line of a collector that listens.

    address: Where it listens, such as "http://127.0.0.1:8080".
    admin_token: The one that was made because there was none. It is told this once.
    database: Absolute path, or address without a password.
    surveys: Number of surveys in it.
    new: Whether it never had a survey.
    """

    address: str
    admin_token: str | None
    database: str
    surveys: int
    new: bool


def serve(settings: Settings, secrets: Secrets, *, ready: Callable[[Ready], None]) -> None:
    """Run a collector until SIGTERM or SIGINT. Accepted uploads are then stored and answered.

    ready: Is told where it listens, once it does.

    Raises LapwingError when the database cannot be used.
    Raises OSError when the address cannot be listened at.
    """
    log = standard_log(time.time)
    allow_connections(settings.connections)
    with server_lines_in(log), _listener(settings.host, settings.port) as listener:
        store = open_store(settings.database)
        try:
            collector = Collector(store, settings=settings, log=log, secrets=secrets)
        except BaseException:  # a wrong token, say: nothing was begun
            store.discard()
            raise
        try:
            made = _first_admin(collector)
            address = _address(listener)
            config = _configured(collector)
            catalog = collector.catalog
            said = Ready(address, made, settings.database, len([*catalog]), catalog.new)
            server = _Server(config, lambda: ready(said))
            server.run(sockets=[listener])
        finally:
            store.close()


def allow_connections(connections: int) -> None:
    """Let this process open as many files as so many connections take, as far as it may.

    Many systems allow 1024 unless asked. Beyond, connections would wait without an answer.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most_open(connections) + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _first_admin(collector: Collector) -> str | None:
    """Return the token of an admin, who is made when there is none."""
    if collector.roles.has("admin"):
        return None
    made = new_token(ROLE_PREFIX)
    collector.store.add_access_token(AccessToken(hash_of(made), "admin", "first start"))
    collector.roles.add(hash_of(made), "admin")
    return made


def _configured(collector: Collector) -> uvicorn.Config:
    settings = collector.settings
    return uvicorn.Config(
        make_application(collector),
        http=Connection,
        loop="uvloop",
        ws="none",
        lifespan="on",
        interface="asgi3",
        access_log=False,
        log_config=None,
        proxy_headers=False,  # an address that nobody needs is not read
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=settings.connections + 1,  # the first number that is too many
        timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
    )


def _listener(host: str, port: int) -> socket.socket:
    """Return a socket that is bound. OSError when it cannot be."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        used = error.errno == errno.EADDRINUSE
        advice = ". Stop the program that uses this port, or choose another --port" if used else ""
        raise OSError(error.errno, f"{error.strerror}{advice}", f"{host}:{port}") from None
    listener.setblocking(False)
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


class _Server(uvicorn.Server):
    """A server that says when it listens. A signal ends it, and is then over."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: Any = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self._listening()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end it. Afterwards they mean what they meant before."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
