"""A server that answers without end, slowly, encoded or elsewhere costs a device little."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lapwing import Categories, RandomizedResponse, Survey
from lapwing.client import CollectorAddress, Device, Patience
from lapwing.errors import CollectorError

COLOR = Survey("color", RandomizedResponse(Categories(3), 1))

Behavior = Callable[[socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def server(behavior: Behavior, *, host: str = "127.0.0.1") -> Iterator[str]:
    """Run a server that does the same to every connection, after it has read a request's head."""
    stop = threading.Event()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listening:
        listening.settimeout(0.05)

        def one(connection: socket.socket) -> None:
            with connection:
                connection.settimeout(10)
                try:
                    while b"\r\n\r\n" not in (received := connection.recv(65536)) and received:
                        pass
                    behavior(connection)
                except OSError:
                    pass

        def run() -> None:
            while not stop.is_set():
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                threading.Thread(target=one, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=run)
        thread.start()
        name = f"[{host}]" if ":" in host else host
        try:
            yield f"http://{name}:{listening.getsockname()[1]}"
        finally:
            stop.set()
            thread.join()


def endless(first: bytes, again: bytes, *, pause: float = 0.0) -> Behavior:
    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(pause)

    return send


def once(answer: bytes) -> Behavior:
    return lambda connection: connection.sendall(answer)


def bomb() -> bytes:
    """1 GB of zeros, twice compressed: some kilobytes."""
    return gzip.compress(gzip.compress(bytes(10**7), 9) * 100, 9)


def encoded(coding: bytes) -> bytes:
    body = bomb()
    head = OK + b"content-encoding: " + coding + b"\r\ncontent-length: %d\r\n\r\n" % len(body)
    return head + body


SLOW = {
    "body": endless(OK + b"content-length: 9999\r\n\r\n", b" ", pause=0.05),
    "chunks": endless(OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n", pause=0.05),
    "headers": endless(OK, b"x", pause=0.05),
    "nothing": lambda connection: time.sleep(5),
    "before the answer": endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", pause=0.05),
}

LONG = {
    "body": endless(OK + b"connection: close\r\n\r\n", b"x" * 65536),
    "chunks": endless(
        OK + b"transfer-encoding: chunked\r\n\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"
    ),
    "headers": endless(OK, b"name: value\r\n" * 5000),
    "a header": endless(OK + b"name: ", b"x" * 65536),
    "before the answer": endless(b"", b"HTTP/1.1 103 Early\r\nlink: " + b"x" * 9000 + b"\r\n\r\n"),
}


def answered(folder: Path, *, epochs: int = 1) -> Device:
    device = Device.open(folder, epsilon_cap=1, budget=20)
    for number in range(epochs):
        device.answer(COLOR, number % 3, epoch=str(number))
    return device


@pytest.mark.parametrize("behavior", SLOW.values(), ids=SLOW)
def test_a_slow_server_takes_no_more_time_than_is_given(behavior: Behavior, tmp_path: Path) -> None:
    """One byte a second kept a device busy for 69 s with `together=5`.

    Here without a limit it would be minutes; the bounds leave room for a busy machine.
    """
    device = answered(tmp_path, epochs=5)
    with server(behavior) as url:
        begun = time.monotonic()
        sent = device.send(url, patience=Patience(50, first=0.01, longest=0.01, together=0.5))
        busy = time.monotonic() - begun
        assert (sent.stored, sent.waiting) == (0, 5) and busy < 30
        begun = time.monotonic()
        with pytest.raises(CollectorError, match=r"cannot be reached \(TimeoutError\)"):
            CollectorAddress(url, seconds=0.3).survey(COLOR.fingerprint)
        assert time.monotonic() - begun < 30


@pytest.mark.parametrize("behavior", LONG.values(), ids=LONG)
def test_an_answer_without_end_is_cut(behavior: Behavior, tmp_path: Path) -> None:
    device = answered(tmp_path)
    with server(behavior) as url:
        tracemalloc.start()
        sent = device.send(url, patience=Patience(1, together=30))
        with pytest.raises(CollectorError, match=r"sent more than|RemoteProtocolError"):
            CollectorAddress(url).survey(COLOR.fingerprint)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sent.waiting == 1 and peak < 30 * 2**20


@pytest.mark.parametrize("coding", [b"gzip", b"gzip, gzip", b"br", b"zstd", b"deflate", b"x"])
def test_an_encoded_answer_is_refused_and_not_decoded(coding: bytes, tmp_path: Path) -> None:
    """1,628 bytes became 1.5 GB."""
    device = answered(tmp_path)
    with server(once(encoded(coding))) as url:
        tracemalloc.start()
        sent = device.send(url, patience=Patience(1))
        with pytest.raises(CollectorError, match="encoded"):
            CollectorAddress(url).survey(COLOR.fingerprint)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sent.waiting == 1 and peak < 10 * 2**20


def test_identity_is_asked_for_and_taken(tmp_path: Path) -> None:
    text = COLOR.to_json().encode()
    asked: list[bytes] = []

    def behavior(connection: socket.socket) -> None:
        head = OK + b"content-encoding: identity\r\ncontent-length: %d\r\n\r\n" % len(text)
        connection.sendall(head + text)

    with server(behavior) as url:
        assert CollectorAddress(url).survey(COLOR.fingerprint) == COLOR

    def keep(connection: socket.socket) -> None:
        connection.sendall(OK + b"content-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            connection, _ = listening.accept()
            with connection:
                asked.append(connection.recv(65536))
                keep(connection)

        thread = threading.Thread(target=run)
        thread.start()
        with pytest.raises(CollectorError):
            CollectorAddress(f"http://127.0.0.1:{listening.getsockname()[1]}").epochs(COLOR)
        thread.join()
    assert b"accept-encoding: identity\r\n" in asked[0].lower()


def test_redirects_are_followed_to_nowhere(tmp_path: Path) -> None:
    """Not even once: 8 requests for 8 attempts."""
    count = []

    def behavior(connection: socket.socket) -> None:
        count.append(1)
        connection.sendall(b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /again\r\n\r\n")

    device = answered(tmp_path)
    with server(behavior) as url:
        patience = Patience(8, first=0.01, longest=0.01)
        assert device.send(url, patience=patience).waiting == 1
    assert len(count) == 8
