"""Running a collector as a process: its store, its server, and how it ends."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import threading
import time
from asyncio.events import TimerHandle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lapwing.service.app import make_application
from lapwing.service.collector import Collector
from lapwing.service.logs import server_lines_in, standard_log
from lapwing.service.security import ROLE_PREFIX, hash_of, new_token
from lapwing.service.settings import Secrets, Settings
from lapwing.service.storage.opening import open_store
from lapwing.service.storage.store import AccessToken

HEADER_SECONDS = 20.0
"""From the first byte of a request to the end of its headers, and from connecting to that byte."""


class Connection(HttpToolsProtocol):
    """uvicorn's own, with two timers that a request which comes in one piece never starts."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_headers = False
        self._header_timer: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and wait for a first byte no longer than for a further request."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(
            HEADER_SECONDS, self.timeout_keep_alive_handler
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and stop both timers."""
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._in_headers = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._in_headers = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the timer runs while they end within the headers of a request."""
        super().data_received(data)
        if self._in_headers:
            if self._header_timer is None:
                self._header_timer = self.loop.call_later(HEADER_SECONDS, self._close)
        elif self._header_timer is not None:
            self._stop_timer()

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


KEEP_ALIVE_SECONDS = 75

_OTHER_FILES = 256
"""Of a database, libraries and decoding processes."""


@dataclass(frozen=True)
class Ready:
    """What a collector that listens says of itself.

    Parameters
    ----------
    address : str
        Where it listens, such as "http://127.0.0.1:8080".
    admin_token : str, optional
        The one that was made because there was none; it is told this once.
    """

    address: str
    admin_token: str | None


def serve(settings: Settings, secrets: Secrets, *, ready: Callable[[Ready], None]) -> None:
    """Run a collector until SIGTERM or SIGINT; what it accepted is then stored and answered.

    Parameters
    ----------
    settings : Settings
    secrets : Secrets
    ready : callable
        Is told where it listens, once it does.

    Raises
    ------
    LapwingError
        When the database cannot be used.
    OSError
        When the address cannot be listened at.
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
            server = _Server(config, lambda: ready(Ready(address, made)))
            server.run(sockets=[listener])
        finally:
            store.close()


def allow_connections(connections: int) -> None:
    """Let this process open as many files as so many connections take, as far as it may.

    Many systems allow 1024 unless asked; beyond, connections would wait without an answer.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
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
        limit_concurrency=settings.connections,
        timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
    )


def _listener(host: str, port: int) -> socket.socket:
    """Return a socket that is bound; OSError when it cannot be."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    listener.setblocking(False)
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


class _Server(uvicorn.Server):
    """A server that says when it listens; a signal ends it, and is then over."""

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
        """Let SIGINT and SIGTERM end it; afterwards they mean what they meant before."""
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
