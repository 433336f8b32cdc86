"""A collector whose connections are all taken: who is let go, and who is still answered."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from lapwing.protocol.messages.batch import MEDIA_TYPE
from tests.service.one_collector import (
    ServedCollector,
    batch_of,
    labels_survey,
    new_id,
    open_survey,
    served,
)

PLACES = 20
KEPT = PLACES + 1  # one more may wait
SURVEY = labels_survey()
EPOCHS = f"/v1/surveys/{SURVEY.fingerprint}/epochs"


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[ServedCollector]:
    with served(tmp_path, LAPWING_CONNECTIONS=str(PLACES)) as here:
        open_survey(here.address, SURVEY)
        yield here


@pytest.fixture
def links() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Link:
    """A connection that is held until the test ends."""

    def __init__(self, collector: ServedCollector, stack: ExitStack) -> None:
        self.socket = socket.create_connection(("127.0.0.1", collector.port), timeout=60)
        stack.enter_context(closing(self.socket))
        self._lines = stack.enter_context(self.socket.makefile("rb"))

    def send(self, method: str, path: str, *lines: str, body: bytes = b"") -> None:
        head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""])
        self.socket.sendall(head.encode() + body)

    def answer(self) -> int:
        """Read one answer, and return its status."""
        status = int(self._lines.readline().split()[1])
        length = 0
        while (line := self._lines.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        self._lines.read(length)
        return status

    def get(self, path: str) -> int:
        self.send("GET", path)
        return self.answer()

    def upload_slowly(self) -> None:
        """Send all of a batch but its last byte."""
        body = batch_of(SURVEY, 1, 2, 3).to_bytes()
        lines = f"Content-Type: {MEDIA_TYPE}", f"Content-Length: {len(body)}"
        self.send("PUT", f"{EPOCHS}/e/batches/{new_id()}", *lines, body=body[:-1])
        self._last = body[-1:]

    def finish_upload(self) -> int:
        self.socket.sendall(self._last)
        return self.answer()

    def ends(self) -> bool:
        """Wait until it is closed, or says more."""
        with suppress(ConnectionError):
            return self._lines.read(1) == b""
        return True

    def closed(self) -> bool:
        """Say at once whether it was closed before the last answer that another one has read."""
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        finally:
            self.socket.settimeout(60)


def test_the_longest_idle_are_closed_for_those_who_come(
    collector: ServedCollector, links: ExitStack
) -> None:
    held = [Link(collector, links) for _ in range(KEPT)]
    assert [link.get(EPOCHS) for link in held] == [200] * KEPT
    assert not any(link.closed() for link in held)
    assert held[0].get(EPOCHS) == 200  # now the second is the one that is idle longest
    for _ in range(3):
        assert Link(collector, links).get(EPOCHS) == 200
    assert [link.closed() for link in held] == [False, True, True, True] + [False] * (KEPT - 4)
    for _ in range(2 * PLACES):
        assert Link(collector, links).get(EPOCHS) == 200


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost"], ids=["nothing", "part"])
def test_requests_that_do_not_come_hold_no_place(
    collector: ServedCollector, links: ExitStack, sent: bytes
) -> None:
    for _ in range(3 * PLACES):
        Link(collector, links).socket.sendall(sent)
    assert Link(collector, links).get(EPOCHS) == 200


def test_who_sends_keeps_the_place_and_health_is_told(
    collector: ServedCollector, links: ExitStack
) -> None:
    idle = Link(collector, links)
    assert idle.get(EPOCHS) == 200
    held = [Link(collector, links) for _ in range(PLACES - 1)]
    for link in held:
        link.upload_slowly()
    last = Link(collector, links)
    last.upload_slowly()
    for _ in range(3):
        assert Link(collector, links).get("/healthz") == 200
        late = Link(collector, links)
        assert late.get(EPOCHS) == 503
        assert late.ends()
    probe = Link(collector, links)
    assert probe.get("/healthz?probe=1") == 200
    assert probe.get(EPOCHS) == 503  # the place is that of the request
    assert idle.closed()
    assert [link.finish_upload() for link in [*held, last]] == [201] * PLACES
