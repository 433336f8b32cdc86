"""A box between devices and a collector: it passes requests on, or answers in its own name."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from tests.service.faulty_proxy import whole_message

PAGE = b"<!doctype html><title>Box</title><h1>You cannot pass</h1>"

STATUSES = (401, 403, 404, 405, 407, 408, 410, 413, 415, 421, 429, 431, 451)
"""Of the pages that a proxy, a portal or a firewall answers with."""

TROUBLE = (500, 502, 503, 504)

FOREIGN_PROBLEMS = {
    "about:blank": 404,
    "https://box.example/problems/batch-changed": 409,
    "urn:box:problem:epoch-closed": 410,
    "urn:lapwing:problem:epoch-closed:box": 410,
    "urn:lapwing:problem:of-a-later-version": 400,
}
"""Types of problem documents that no collector of today sends, and their statuses."""


def answer(status: int, body: bytes, **headers: str) -> bytes:
    """Return the bytes of an HTTP answer."""
    lines = [f"HTTP/1.1 {status} Box", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _own_answers() -> dict[str, bytes]:
    made = {f"page {status}": answer(status, PAGE, content_type="text/html") for status in STATUSES}
    for status in TROUBLE:
        made[f"trouble {status}"] = answer(status, PAGE, content_type="text/html", retry_after="60")
    for kind, status in FOREIGN_PROBLEMS.items():
        document = {"type": kind, "title": HTTPStatus(status).phrase, "status": status}
        body = json.dumps(document).encode()
        made[f"problem {kind}"] = answer(status, body, content_type="application/problem+json")
    made["portal"] = answer(200, PAGE, content_type="text/html")
    made["portal of JSON"] = answer(200, b'{"batch": null}', content_type="application/json")
    made["redirect"] = answer(302, PAGE, location="http://127.0.0.1:9/sign-in")
    return made


OWN_ANSWERS = _own_answers()

CHANGED_ANSWERS = ("no media type", "no headers", "another status", "lost", "half an answer")
"""What becomes of a collector's answer: the batch may be stored."""

CUT_REQUESTS = ("cut", "half a request")

LIES = (*OWN_ANSWERS, *CHANGED_ANSWERS, *CUT_REQUESTS)

PASSED_ON = "passed on"

HONEST = 0.4
"""Share of the requests that even a lying box passes on with their answers."""


class LyingBox:
    """Sends requests on to a port, or does what its seeded schedule says.

    Parameters
    ----------
    port : int
        Of the collector. It may be changed at any time.
    seed : int

    Attributes
    ----------
    only : str, optional
        All that it does, such as "passed on". None: what the schedule says.
    fates : Counter
        What became of the requests.
    """

    def __init__(self, port: int, *, seed: int) -> None:
        self.port = port
        self.only: str | None = None
        self.fates: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._lies: list[str] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)  # the loop holds it by a weak reference only
        try:
            while await self._one(await whole_message(reader), writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self._serving.discard(task)

    async def _one(self, request: bytes, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. Return whether the connection stays."""
        fate = self.only or (PASSED_ON if self._random.random() < HONEST else self._lie())
        self.fates[fate] += 1
        said = OWN_ANSWERS.get(fate)
        if said is None and fate not in CUT_REQUESTS:
            said = _changed(await self._forward(request), fate)
        elif fate == "half a request":
            await self._forward(request, cut=True)
        writer.write(said or b"")
        await writer.drain()
        return bool(said) and fate != "half an answer"

    def _lie(self) -> str:
        """Return another one, as long as there is one that was not told as often as the others."""
        self._lies = self._lies or self._random.sample(LIES, len(LIES))
        return self._lies.pop()

    async def _forward(self, request: bytes, *, cut: bool = False) -> bytes:
        """Return the collector's answer, or a page where none comes."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                if cut:
                    begin = request.index(b"\r\n\r\n") + 4
                    writer.write(request[: (begin + len(request)) // 2])
                    await writer.drain()
                    return b""
                writer.write(request)
                return await whole_message(reader)
            finally:
                writer.close()
        except (OSError, asyncio.IncompleteReadError):
            self.fates["no collector behind"] += 1
            return OWN_ANSWERS["trouble 502"]


def _changed(said: bytes, fate: str) -> bytes:
    """Return what a client gets of a collector's answer."""
    head, _, body = said.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    if fate == "lost":
        return b""
    if fate == "half an answer":
        return said[: len(said) - len(body) // 2 - 1]
    if fate == "another status":
        first = b"HTTP/1.1 404 Not Found"
    if fate == "no media type":
        lines = [line for line in lines if not line.lower().startswith(b"content-type:")]
    if fate == "no headers":
        lines = [f"content-length: {len(body)}".encode()]
    return b"\r\n".join([first, *lines, b"", body])


@contextmanager
def lying_box(port: int, *, seed: int) -> Iterator[tuple[LyingBox, str]]:
    """Yield a box that runs in a thread of its own, and its address."""
    box, loop = LyingBox(port, seed=seed), asyncio.new_event_loop()
    opening = asyncio.start_server(box.take, "127.0.0.1", 0, backlog=1024)
    server = loop.run_until_complete(opening)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield box, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ended(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
