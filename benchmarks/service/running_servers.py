"""A collector in a process of its own, and a server beside it that does nothing."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.machine import ROOT
from lapwing.protocol.messages.batch import MEDIA_TYPE, MOST_REPORTS, Batch

_TICK = os.sysconf("SC_CLK_TCK")

# The collector's own server, with an application of three lines.
_BARE = """
import socket, sys, uvicorn
from lapwing.service.serving import Connection
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"2")]
async def application(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b"{}"})
config = uvicorn.Config(
    application, http=Connection, loop="uvloop", ws="none", lifespan="off", interface="asgi3",
    access_log=False, log_config=None, proxy_headers=False, server_header=False,
    timeout_keep_alive=75, limit_concurrency=2048,
)
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
"""


@dataclass(frozen=True)
class Running:
    """A server that listens.

    Parameters
    ----------
    url : str
    pid : int
    token : str
        Of its admin; empty where it has none.
    """

    url: str
    pid: int
    token: str = ""

    def ask(self, method: str, path: str, document: Any = None) -> Any:
        """Return what it answers to its admin, read as JSON where it is."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if document is None else json.dumps(document).encode(),
            headers={"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            body = answer.read()
            return json.loads(body) if "json" in answer.headers["content-type"] else body.decode()

    def upload(self, survey: lw.Survey, path: str, reports: lw.Reports) -> None:
        """Send reports in batches to an epoch, as its `open_epoch` says."""
        for start in range(0, len(reports), MOST_REPORTS):
            part = reports[start : start + MOST_REPORTS]
            request = urllib.request.Request(
                f"{self.url}{path}/{secrets.token_hex(16)}",
                method="PUT",
                data=Batch.of(part, survey=survey.fingerprint).to_bytes(),
                headers={"content-type": MEDIA_TYPE},
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                answer.read()

    def open_epoch(self, survey: lw.Survey, epoch: str) -> str:
        """Publish a survey, open an epoch of it, and return where its batches go."""
        path = f"/v1/surveys/{survey.fingerprint}"
        told = {"survey": survey.to_document(), "minimum": 1, "upload": "open"}
        self.ask("PUT", path, {**told, "retention_days": None})
        self.ask("POST", f"{path}/publish")
        by_hand = {"opens": None, "closes": None, "grace_seconds": 0}
        self.ask("PUT", f"{path}/epochs/{epoch}", by_hand)
        self.ask("POST", f"{path}/epochs/{epoch}/open")
        return f"{path}/epochs/{epoch}/batches"

    def counts(self, survey: lw.Survey, epoch: str) -> list[int]:
        """Return the counts of an epoch."""
        document = self.ask("GET", f"/v1/surveys/{survey.fingerprint}/tallies/{epoch}")
        tally = lw.tallies.CountTally.from_document(document)
        return [int(count) for count in np.concatenate(tally.blocks)]

    def counter(self, name: str) -> float:
        """Return one of the numbers that it counts about itself."""
        lines = self.ask("GET", "/metrics").splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))

    def cpu(self) -> float:
        """Return the CPU seconds of all its threads so far, those of its decoders left out."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory(self) -> float:
        """Return the megabytes that it holds in memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024 / 1e6


def start_document(
    process: subprocess.Popen[str], log: Path, *, seconds: float = 120
) -> dict[str, Any]:
    """Return what `lapwing serve --json` prints when it listens.

    Parameters
    ----------
    process : subprocess.Popen
        The server, whose output is a pipe.
    log : Path
        File of its errors.
    seconds : float
        The server is ended when it does not listen by then.

    Raises
    ------
    RuntimeError
        When the server ended before it listened. It shows the end of the log.
    """
    assert process.stdout is not None
    deadline = threading.Timer(seconds, process.kill)
    deadline.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line == "}\n":
                document: dict[str, Any] = json.loads("".join(lines))
                return document
    finally:
        deadline.cancel()
    raise RuntimeError(
        f"the server ended with {process.wait()} before it listened:\n{log.read_text()[-4000:]}"
    )


@contextmanager
def collector(folder: str) -> Iterator[Running]:
    """Run `lapwing serve` with a database in a folder, as everybody starts it."""
    command = [sys.executable, "-m", "lapwing", "serve", "--json", "--port", "0"]
    command += ["--database", f"{folder}/collector.db"]
    log = Path(folder) / "collector.log"
    with (
        log.open("wb") as lines,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=lines, text=True, env=_environment()
        ) as process,
    ):
        try:
            said = start_document(process, log)
            yield Running(said["address"], process.pid, said["admin_token"])
        finally:
            process.terminate()


@contextmanager
def bare_server() -> Iterator[Running]:
    """Run the collector's server with an application that answers "{}" to everything."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        command = [sys.executable, "-c", _BARE, str(listener.fileno())]
        with subprocess.Popen(
            command, pass_fds=[listener.fileno()], env=_environment(), stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield Running(f"http://127.0.0.1:{listener.getsockname()[1]}", process.pid)
            finally:
                process.terminate()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


def sync_times(folder: str, *, seconds: float = 0.3) -> list[float]:
    """Return how long each of some appends of 4 KiB took until it was on disk, for a while."""
    path = Path(folder) / "probe"
    found = []
    with path.open("wb", buffering=0) as stream:
        start = now = time.perf_counter()
        while now - start < seconds:
            before = now
            stream.write(b"\0" * 4096)
            os.fdatasync(stream.fileno())
            now = time.perf_counter()
            found.append(now - before)
    path.unlink()
    return found


def syncs_per_second(folder: str) -> float:
    """Return how often 4 KiB can be appended to a file and be on disk, in a second."""
    found = sync_times(folder)
    return len(found) / sum(found)
