"""Sockets that give up: an answer has a number of bytes and a time, whatever a server does.

HTTP libraries apply their timeout to each read, so a server that sends single bytes could keep a
device busy indefinitely. Here the deadline is that of the whole request: of connecting, the
handshake, sending, every header, every answer before the answer (1xx) and the body.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import certifi
import httpcore

from lapwing.errors import ArgumentError


class Limit:
    """Rest of one request: bytes to receive, and seconds."""

    def __init__(self) -> None:
        self._deadline = 0.0
        self._bytes = 0

    def begin(self, *, seconds: float, most: int) -> None:
        """Begin a request that may take so long, and be answered by so many bytes."""
        self._deadline, self._bytes = time.monotonic() + seconds, most

    def left(self) -> float:
        """Return the seconds that are left. TimeoutError when there are none."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def count(self, received: int) -> None:
        """Take bytes off. TooLongError when there were too many."""
        self._bytes -= received
        if self._bytes < 0:
            raise TooLongError


class TooLongError(OSError):
    """An answer of more bytes than a collector sends."""


class LimitedStream(httpcore.NetworkStream):
    """A socket whose every wait ends at the deadline of the request."""

    def __init__(self, connected: socket.socket, limit: Limit) -> None:
        self._socket = connected
        self._limit = limit

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has come."""
        self._socket.settimeout(self._limit.left())
        received = self._socket.recv(max_bytes)
        self._limit.count(len(received))
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all bytes."""
        rest = memoryview(buffer)
        while rest:
            self._socket.settimeout(self._limit.left())
            rest = rest[self._socket.send(rest) :]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> LimitedStream:
        """Return the stream on the same socket, encrypted."""
        self._socket.settimeout(self._limit.left())
        try:
            wrapped = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
        except BaseException:
            self.close()
            raise
        return LimitedStream(wrapped, self._limit)

    def get_extra_info(self, info: str) -> Any:
        """Return what the pool asks for: whether a waiting socket was closed, and TLS."""
        if info == "is_readable":
            waiting = select.poll()  # select takes no descriptor above 1023
            waiting.register(self._socket, select.POLLIN)
            return bool(waiting.poll(0))
        if info == "ssl_object":
            return self._socket if isinstance(self._socket, ssl.SSLSocket) else None
        return None


class LimitedBackend(httpcore.NetworkBackend):
    """Connects straight to the address: nothing of the environment, and no proxy, comes between."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> LimitedStream:
        """Return a connection to the first address of a host that answers."""
        problem: OSError = ConnectionError()
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        ):
            connected = socket.socket(family, kind, protocol)
            try:
                connected.settimeout(self._limit.left())
                connected.connect(address)
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return LimitedStream(connected, self._limit)
            except OSError as error:
                connected.close()
                problem = error
        raise problem


def connection_pool(
    limit: Limit, *, secure: bool, ca_file: Path | str | None = None
) -> httpcore.ConnectionPool:
    """Return a pool of one connection at a time, every request of which has this limit."""
    # Not `ssl.create_default_context`: it takes certificates, and a file for the keys of every
    # connection, from variables of the environment.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if secure:  # reading the certificates takes long, and plain http has no use for them
        try:
            context.load_verify_locations(certifi.where() if ca_file is None else ca_file)
        except OSError as error:
            raise ArgumentError(
                "ca_file (or SSL_CERT_FILE) must name a PEM file of certificates, but "
                f"{Path(ca_file or '').name!r} cannot be read: {error.strerror or 'no PEM'}"
            ) from None
    return httpcore.ConnectionPool(
        ssl_context=context,
        max_connections=1,
        network_backend=LimitedBackend(limit),
    )


def collector_url(scheme: bytes, host: bytes, port: int | None, target: bytes) -> httpcore.URL:
    """Return an address as it is, without reading a string once more."""
    return httpcore.URL(scheme=scheme, host=host, port=port, target=target)


FAILURES: tuple[type[Exception], ...] = (
    OSError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)
"""What a request may raise."""
