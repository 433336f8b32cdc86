"""A program that stands for many devices: as cheap as it can be, beside the server it loads.

    python -m benchmarks.service.upload_load < work.json

Requests are made before they are sent, one waits on each connection, and every answer must be the
one that was expected. Prints what it saw as JSON: requests, seconds, delays, and the reports of
every symbol that were acknowledged.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.machine import ROOT
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch

Request = tuple[bytes, int]
"""Its bytes, and which of the bodies it carries (-1: none)."""

_IDS = 4096


def load(
    url: str,
    path: str,
    *,
    connections: int,
    seconds: float = 60.0,
    requests: int = 0,
    rate: float = 0.0,
    survey: str = "",
    reports: int = 0,
    symbols: int = 0,
    seed: int = 1,
) -> dict[str, Any]:
    """Return what a program saw that sent requests for some time, or so many.

    Parameters
    ----------
    url, path : str
        `path` is asked for, or is where the batches of an epoch go.
    connections : int
    seconds : float
        When no more are begun.
    requests : int
        How many at most; 0: any number.
    rate : float
        Requests a second, begun by the clock whether or not those before them are answered;
        their delay counts from when they should have begun. 0: each as soon as it can.
    survey : str
        Fingerprint, for uploads.
    reports, symbols : int
        Of a batch: of two bytes each (reports); legal ones. 0: `path` is asked for.
    seed : int
        Of the symbols.
    """
    work = dict(locals())
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.service.upload_load"],
        input=json.dumps(work),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _asking(host: str, path: str) -> Callable[[], Request]:
    asked = f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode(), -1
    return lambda: asked


def _uploading(
    host: str, path: str, survey: str, drawn: np.ndarray[Any, np.dtype[np.int64]]
) -> Callable[[], Request]:
    """Return what makes the next upload: one of the bodies, in turn, under a new id."""
    before = f"PUT {path}/".encode()
    after = []
    for row in drawn:
        body = Batch(survey, 0, row.astype("<u2").tobytes(), row.size).to_bytes()
        lines = f"host: {host}\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}"
        after.append(f" HTTP/1.1\r\n{lines}\r\n\r\n".encode() + body)
    ids: list[str] = []
    turn = -1

    def request() -> Request:
        nonlocal turn
        if not ids:
            text = os.urandom(16 * _IDS).hex()
            ids.extend(text[at : at + 32] for at in range(0, len(text), 32))
        turn = (turn + 1) % len(after)
        return before + ids.pop().encode() + after[turn], turn

    return request


def _run(work: dict[str, Any]) -> dict[str, Any]:
    parts = urlsplit(work["url"])
    address = (parts.hostname, parts.port)
    bodies = max(16, min(1024, 2**18 // max(1, work["reports"])))
    drawn = np.random.default_rng(work["seed"]).integers(
        work["symbols"] or 1, size=(bodies, work["reports"])
    )
    if work["reports"]:
        request = _uploading(parts.netloc, work["path"], work["survey"], drawn)
        expected = b"HTTP/1.1 201 "
    else:
        request = _asking(parts.netloc, work["path"])
        expected = b"HTTP/1.1 200 "
    sockets: dict[int, socket.socket] = {}
    poll = select.epoll()
    for _ in range(work["connections"]):
        one = socket.create_connection(address)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets[one.fileno()] = one
        poll.register(one.fileno(), select.EPOLLIN)
    carried = [0] * bodies
    begun: dict[int, tuple[float, int]] = {}
    delays: list[float] = []
    free = list(sockets)
    most, rate, clock = work["requests"] or 2**62, work["rate"], time.perf_counter
    sent = 0
    started = clock()
    end = started + work["seconds"]
    while True:
        now = clock()
        over = (now >= end and sent > 0) or sent >= most
        if over and not begun:
            break
        while free and not over:
            due = started + sent / rate if rate else clock()
            if due > now and rate:
                break
            number = free.pop()
            content, body = request()
            begun[number] = due, body
            sockets[number].sendall(content)
            sent += 1
            over = sent >= most
        wait = 5.0 if over or not free else min(max(started + sent / rate - clock(), 0.0), 5.0)
        for number, _ in poll.poll(wait):
            answer = sockets[number].recv(65_536)
            # Answers here are short: they come whole, and end with the JSON that they hold.
            while not answer.endswith(b"}"):
                more = sockets[number].recv(65_536)
                if not more:
                    raise SystemExit("the server has closed a connection")
                answer += more
            if not answer.startswith(expected):
                raise SystemExit(f"the server has answered {answer[:300]!r}")
            due, body = begun.pop(number)
            delays.append(clock() - due)
            if body >= 0:
                carried[body] += 1
            free.append(number)
    spent = clock() - started
    for one in sockets.values():
        one.close()
    weights = np.repeat(carried, work["reports"])
    counts = np.bincount(drawn.ravel(), weights=weights, minlength=work["symbols"])
    return {
        "requests": len(delays),
        "seconds": spent,
        "delays": {
            "middle": float(np.quantile(delays, 0.5)),
            "p99": float(np.quantile(delays, 0.99)),
            "largest": max(delays),
        },
        "counts": [int(count) for count in counts],
        "cpu": time.process_time(),
    }


if __name__ == "__main__":
    json.dump(_run(json.load(sys.stdin)), sys.stdout)
