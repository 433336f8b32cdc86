"""A collector of a few lines, over real HTTP, that can be told to lose, refuse and repeat."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lapwing import Survey
from lapwing.protocol.messages.batch import Batch

PROBLEM = "urn:lapwing:problem:"


@dataclass
class Asked:
    """One request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def batch(self) -> str:
        return self.path.partition("?")[0].rpartition("/")[2]

    @property
    def epoch(self) -> str:
        return self.path.split("/")[5]


OWN = {"content-type": "application/problem+json"}
"""By which a client knows that a collector spoke."""

JSON = {"content-type": "application/json"}
"""The same for what is no problem."""


@dataclass
class Reply:
    """What an upload gets instead of being stored and confirmed.

    Parameters
    ----------
    status : int
        0: the connection is closed without an answer.
    word : str, optional
        Of the problem.
    headers : dict
    body : bytes, optional
        Instead of a problem.
    stored : bool
        Whether the batch was stored nevertheless.
    """

    status: int
    word: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    stored: bool = False


class SmallCollector:
    """What came, and what is told: `replies` are used up in order, and then all is stored."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.replies: deque[Reply] = deque()
        self.documents: dict[str, bytes] = {}
        self.stored: dict[str, bytes] = {}
        self.before: Callable[[Asked], None] = lambda asked: None
        self.url = ""
        self.ahead: float | None = 0.0
        """Seconds by which its clock differs from that of this machine. None: it says no date."""
        self._lock = threading.Lock()

    @property
    def uploads(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.method == "PUT"]

    def publish(self, survey: Survey) -> None:
        self.documents[f"/v1/surveys/{survey.fingerprint}"] = survey.to_json().encode()

    def reports_of(self, epoch: str) -> list[bytes]:
        """The records of every stored batch of an epoch."""
        ids = {asked.batch for asked in self.uploads if asked.epoch == epoch}
        return [Batch.from_bytes(self.stored[i]).records for i in ids if i in self.stored]

    def settled(self) -> None:
        """Wait until the request that is being taken has been."""
        with self._lock:
            pass

    def take(self, asked: Asked) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            self.asked.append(asked)
            if asked.method == "GET":
                found = self.documents.get(asked.path)
                if found is None:
                    return 404, OWN, json.dumps({"type": f"{PROBLEM}unknown-survey"}).encode()
                kind = {"content-type": "text/html"} if found.startswith(b"<") else JSON
                return 200, {**kind, "set-cookie": "who=you"}, found
            self.before(asked)
            reply = self.replies.popleft() if self.replies else None
            if reply is None or reply.stored:
                known = self.stored.setdefault(asked.batch, asked.body)
                if known != asked.body:
                    return 409, OWN, json.dumps({"type": f"{PROBLEM}batch-changed"}).encode()
            if reply is not None:
                kind = {"type": f"{PROBLEM}{reply.word}"} if reply.word else {}
                body = json.dumps(kind).encode() if reply.body is None else reply.body
                return reply.status, {**(OWN if reply.word else {}), **reply.headers}, body
            said = {"batch": asked.batch, "reports": Batch.from_bytes(asked.body).reports}
            return 201, JSON, json.dumps({**said, "state": "stored"}).encode()


@contextmanager
def small_collector() -> Iterator[SmallCollector]:
    """Run one on a free port of this machine."""
    collector = SmallCollector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            body = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            if len(body) != length:  # whoever sent it is gone
                self.close_connection = True
                return
            status, more, content = collector.take(Asked(self.command, self.path, headers, body))
            if status == 0:
                self.close_connection = True
                return
            if collector.ahead is not None:
                more = {"date": formatdate(time.time() + collector.ahead, usegmt=True), **more}
            try:
                self.send_response_only(status)
                for name, value in {**more, "content-length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
            except OSError:  # killed meanwhile
                self.close_connection = True

        do_GET = do_PUT = _answer

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
