"""What is sent goes straight to the collector: no proxy of the environment sees anything."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.client import CollectorAddress, Device, Patience
from lapwing.errors import CollectorError, LapwingError
from tests.client.test_hostile_collectors import OK, once, server

SURVEY = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=16), epsilon=1))

VARIABLES = [
    name
    for each in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY")
    for name in (each, each.lower())
]


@contextmanager
def proxy(patch: pytest.MonkeyPatch, *, no_proxy: str | None) -> Iterator[list[str]]:
    """Run a proxy that every variable names; yields what it has been asked."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def _see(self) -> None:
            seen.append(self.requestline)
            self.send_error(502)

        do_GET = do_PUT = do_DELETE = do_CONNECT = _see

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    for name in VARIABLES:
        patch.setenv(name, f"http://127.0.0.1:{running.server_address[1]}")
    for name in ("NO_PROXY", "no_proxy"):
        patch.delenv(name, raising=False)
        if no_proxy is not None:
            patch.setenv(name, no_proxy)
    try:
        yield seen
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


HERE = ["127.0.0.1", "127.8.9.10", "::1"]


@pytest.mark.parametrize("host", HERE)
@pytest.mark.parametrize("no_proxy", [None, "", "example.com", "*"])
def test_a_proxy_sees_nothing_of_what_is_sent(
    host: str, no_proxy: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device.open(tmp_path, epsilon_cap=1, budget=1)
    answer = device.answer(SURVEY, 40, epoch="e", upload_token="lwu_" + "S" * 43)
    stored = b'{"batch": "%s", "reports": 1, "state": "stored"}' % answer.batch.encode()
    kind = b"content-type: application/json\r\n"
    said = OK + kind + b"content-length: %d\r\n\r\n" % len(stored) + stored
    with proxy(monkeypatch, no_proxy=no_proxy) as seen, server(once(said), host=host) as url:
        if host == "127.0.0.1":
            url = url.replace(host, "localhost")
        with pytest.raises(LapwingError):
            CollectorAddress(url).survey(SURVEY.fingerprint)
        with pytest.raises(LapwingError):
            CollectorAddress(url).role_tokens(token="lwa_" + "A" * 43)
        assert device.send(url, patience=Patience(1)).stored == 1
        assert seen == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_sees_nothing_when_nobody_is_there(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(monkeypatch, no_proxy=None) as seen, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = CollectorAddress(f"{scheme}://127.0.0.1:{nobody.getsockname()[1]}", seconds=1)
        with pytest.raises(CollectorError):
            address.add_survey(SURVEY, epoch="e", token="lwa_" + "A" * 43)
        with pytest.raises(CollectorError):
            address.epochs(SURVEY)
        assert seen == []
