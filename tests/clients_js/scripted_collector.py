"""A server that answers uploads as a test says: what a collector or a bad network may do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOST = "lost"
"""Instead of a status: the request is taken, and no answer comes."""

STORED: tuple[int, dict[str, str], bytes] = (201, {}, b"")
"""An answer without a body of its own names the batch, as a collector does."""


BATCH = b"<batch>"
"""Stands for the id of the batch in the body of an answer."""


OWN = {"content-type": "application/problem+json"}
"""By which a client knows that a collector spoke."""


def problem(word: str, status: int, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Return how a collector says a problem."""
    body = json.dumps({"type": f"urn:lapwing:problem:{word}"}).encode()
    return status, {**OWN, **headers}, body


@dataclass
class Scripted:
    """What was asked, and what is answered next.

    Parameters
    ----------
    answers : list
        Of (status, headers, body) or LOST, one for each upload; STORED when none is left.
    pages : dict
        Of address to (media type, body), for what is fetched.
    policy : str
        Content-Security-Policy of these pages.
    ahead : float
        Seconds by which its clock differs from that of this machine.
    """

    address: str = ""
    policy: str = ""
    ahead: float = 0.0
    answers: list[Any] = field(default_factory=list)
    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    uploads: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    fetched: list[tuple[str, dict[str, str]]] = field(default_factory=list)


def _confirmation(path: str) -> bytes:
    """Return what a collector says to a batch that it has stored."""
    return json.dumps(
        {"batch": path.partition("?")[0].rpartition("/")[2], "reports": 1, "state": "stored"}
    ).encode()


def _handler(script: Scripted) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

        def _headers(self) -> dict[str, str]:
            return {name.lower(): value for name, value in self.headers.items()}

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response_only(status)
            allowed = {
                "access-control-allow-origin": "*",
                "access-control-allow-methods": "GET, PUT",
                "access-control-allow-headers": "content-type, authorization",
                "access-control-expose-headers": "retry-after, date",
                "date": formatdate(time.time() + script.ahead, usegmt=True),
                "content-length": str(len(body)),
            }
            for name, value in {**allowed, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_OPTIONS(self) -> None:
            self._answer(204, {}, b"")

        def do_GET(self) -> None:
            script.fetched.append((self.path, self._headers()))
            media, body = script.pages.get(self.path, ("text/plain", b""))
            status = 200 if self.path in script.pages else 404
            headers = {"content-type": media}
            if script.policy:
                headers["content-security-policy"] = script.policy
            self._answer(status, headers, body)

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            script.uploads.append((self.path, self._headers(), body))
            answer = script.answers.pop(0) if script.answers else STORED
            if answer == LOST:
                self.close_connection = True
                self.connection.close()
                return
            status, headers, said = answer
            own = {} if said else {"content-type": "application/json"}
            said = said.replace(BATCH, self.path.partition("?")[0].rpartition("/")[2].encode())
            self._answer(status, {**own, **headers}, said or _confirmation(self.path))

    return Handler


@contextmanager
def scripted_collector() -> Iterator[Scripted]:
    """Serve a script on a free port of this machine while the block runs."""
    script = Scripted()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
    script.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
