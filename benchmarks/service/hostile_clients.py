"""Clients without a token that send far more than a collector should keep."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from benchmarks.machine import ROOT
from lapwing.protocol.messages.batch import LARGEST_JSON

HOLDING = 50
"""Connections that hold a body. A collector that let them would serve nobody else after a while."""

PIPELINED = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 1024
LINES = b"".join(b"x-%04d: %s\r\n" % (n, b"v" * 40) for n in range(1024))


@dataclass
class Tries:
    """What the clients saw.

    Parameters
    ----------
    connections, sent : dict of int
        Connections that were made, and bytes that were sent, by the name of the client.
    answers : dict of set of str
        The status lines that came, by the name of the client.
    """

    connections: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    answers: dict[str, set[str]] = field(default_factory=dict)

    def note(self, name: str, *, sent: int = 0, answer: bytes = b"") -> None:
        """Count bytes, or an answer."""
        self.sent[name] = self.sent.get(name, 0) + sent
        if answer.startswith(b"HTTP/"):
            self.answers.setdefault(name, set()).add(answer[9:12].decode())


def address_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


async def _again(
    name: str,
    url: str,
    tries: Tries,
    once: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object],
) -> None:
    """Connect and send, again and again, until it is cancelled."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(*address_of(url), limit=2**12)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        tries.connections[name] = tries.connections.get(name, 0) + 1
        try:
            await once(reader, writer)  # type: ignore[misc]
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
        await asyncio.sleep(0.02)


async def endless_headers(url: str, tries: Tries) -> None:
    """Send header lines for as long as they are taken."""

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        with suppress(OSError):
            while not reader._buffer:  # type: ignore[attr-defined]
                writer.write(LINES)
                # Whoever takes no more for a second has said why, and is read.
                await asyncio.wait_for(writer.drain(), 1.0)
                tries.note("headers", sent=len(LINES))
        tries.note("headers", answer=await reader.read(2**12))

    await _again("headers", url, tries, once)


async def unread_answers(url: str, tries: Tries) -> None:
    """Send request after request, and read no answer."""

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        raw: socket.socket = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**12)
        while not writer.is_closing():
            writer.write(PIPELINED)
            await writer.drain()
            tries.note("pipelined", sent=len(PIPELINED))

    await _again("pipelined", url, tries, once)


HELD = b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\na"


async def held_bodies(url: str, tries: Tries, *, path: str) -> None:
    """Send a body whose answer comes at once, and a byte of it now and then."""
    upload = f"PUT {path}/{'0' * 32} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
    heads = itertools.cycle((HELD, upload.encode() + HELD.partition(b"x\r\n")[2]))

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = next(heads)
        writer.write(head)
        tries.note("held", sent=len(head), answer=await reader.readuntil(b"\r\n\r\n"))
        while not reader.at_eof():
            writer.write(b"a")
            tries.note("held", sent=1)
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await reader.read(2**12)

    await _again("held", url, tries, once)


async def json_batches(url: str, tries: Tries, *, path: str, survey: str, size: int) -> None:
    """Send batches in JSON that cost the most for their size and hold no report."""
    junk = ",".join(["{}"] * ((size - 120) // 3))
    body = f'{{"survey":"{survey}","reports":[{junk}]}}'.encode()
    head = (
        f"PUT {path}/{'0' * 32} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(head)
            writer.write(body)
            tries.note(f"json {size}", sent=len(body))
            answer = await reader.readuntil(b"\r\n\r\n")
            tries.note(f"json {size}", answer=answer)
            length = answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            json.loads(await reader.readexactly(int(length)))
            if b"connection: close" in answer.lower():
                return

    await _again(f"json {size}", url, tries, once)


async def _all(url: str, path: str, survey: str, seconds: float, largest: int) -> Tries:
    """Run all four for some seconds: one, eight, fifty and two clients."""
    tries = Tries()
    work = [
        endless_headers(url, tries),
        *(unread_answers(url, tries) for _ in range(8)),
        *(held_bodies(url, tries, path=path) for _ in range(HOLDING)),
        json_batches(url, tries, path=path, survey=survey, size=15 * 2**20),
        json_batches(url, tries, path=path, survey=survey, size=largest),
    ]
    running = {asyncio.create_task(each) for each in work}
    await asyncio.wait(running, timeout=seconds)
    while running:  # until Python 3.12 `wait_for` may swallow a cancellation
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=1)
    return tries


@contextmanager
def hostile_clients(
    url: str, path: str, *, survey: str, seconds: float, largest: int = LARGEST_JSON
) -> Iterator[subprocess.Popen[str]]:
    """Run all four in a process of their own; its only line of output is the `Tries` as JSON.

    Parameters
    ----------
    url, path : str
        Of a collector, and of the batches of an open epoch.
    survey : str
        Fingerprint.
    seconds : float
    largest : int
        Bytes of the largest batch in JSON that is read.
    """
    work = {"url": url, "path": path, "survey": survey, "seconds": seconds, "largest": largest}
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.service.hostile_clients", json.dumps(work)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


if __name__ == "__main__":
    found = asyncio.run(_all(**json.loads(sys.argv[1])))
    answers = {name: sorted(every) for name, every in found.answers.items()}
    print(json.dumps({**vars(found), "answers": answers}))
