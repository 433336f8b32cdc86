"""A connection of the HTTP server that does not wait for ever for the lines of a request."""

from __future__ import annotations

import asyncio
from asyncio.events import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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
