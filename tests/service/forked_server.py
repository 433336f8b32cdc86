"""`lapwing serve`, or a file, as a fork of a process that has imported it: a tenth of a start.

Run as a program, this file is that process. One waits in each process of tests, starts what it is
asked for, says how it ended, and ends all that still runs when the process of tests is gone.
Another one has read all decoders: processes that decode are its forks, whoever starts them.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from contextlib import redirect_stdout, suppress
from functools import cache
from multiprocessing import forkserver, get_context, resource_tracker
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT / "src"), str(ROOT)])


class Fork:
    """A process that another one started for us, with what tests use of `subprocess.Popen`."""

    def __init__(self, *arguments: str, environment: dict[str, str], stderr: IO[str]) -> None:
        reads, writes = os.pipe()
        self.stdout = open(reads, encoding="utf-8")  # noqa: SIM115
        try:
            request = [arguments, environment, fork_decoders()]
            self.pid: int = _ask(request, [writes, stderr.fileno()])
        finally:
            os.close(writes)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        if self.returncode is None:
            self.returncode = _ask([self.pid])
        return self.returncode

    def wait(self, timeout: float = 120) -> int:
        """Return its exit code when it has ended."""
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("lapwing serve", timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended. Its number is its own until its end is asked."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def fork_decoders() -> dict[str, str]:
    """Let a process that decodes be a fork of one that has read all decoders; return where that is.

    That of a collector that tests start as a program is spawned, as everybody's is.
    """
    from lapwing.service.decoding_process import DecodingProcess

    DecodingProcess._context = forks = get_context("forkserver")
    forks.set_forkserver_preload(["tests.service.warm_decoding"])
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = PATHS
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
    server: Any = forkserver._forkserver  # type: ignore[attr-defined]
    # Newer Pythons want a key.
    key = getattr(server, "_forkserver_authkey", None) or b""
    return {"address": server._forkserver_address, "key": key.hex()}


@cache
def _waiting() -> socket.socket:
    """Return the line to the process that forks for this process of tests."""
    from tests.cli.running import environment

    ours, theirs = socket.socketpair()
    with theirs:
        waiting = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**environment(), "PYTHONPATH": PATHS},
        )
    atexit.register(waiting.wait)
    atexit.register(ours.close)  # it ends with the line
    return ours


def _ask(request: list[Any], descriptors: list[int] | None = None) -> Any:
    line = _waiting()
    socket.send_fds(line, [json.dumps(request).encode() + b"\n"], descriptors or [])
    return json.loads(_line_of(line)[0])


def _line_of(line: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next message and what files came with it. Empty when the other end is closed."""
    text, descriptors = b"", []
    while not text.endswith(b"\n"):
        part, more, _, _ = socket.recv_fds(line, 2**16, 2)
        if not part:
            return b"", []
        text, descriptors = text + part, [*descriptors, *more]
    return text, descriptors


def _wait(line: socket.socket) -> None:
    """Start what is asked for, and say how it ended. A fork returns when its program has ended."""
    import lapwing.service.app
    import lapwing.service.serving
    import lapwing.service.storage.opening  # noqa: F401
    from lapwing.cli import main

    resource_tracker.ensure_running()  # one for all
    with suppress(SystemExit), redirect_stdout(io.StringIO()):
        main(["serve", "--help"])
    running: set[int] = set()
    while (message := _line_of(line))[0]:
        text, descriptors = message
        match json.loads(text):
            case [int(pid)]:
                ended, status = os.waitpid(pid, os.WNOHANG)
                running -= {ended}
                answer = os.waitstatus_to_exitcode(status) if ended else None
            case [arguments, environment, decoders]:
                answer = os.fork()
                if answer == 0:
                    line.close()
                    _fork_decoders_at(**decoders)
                    _become(arguments, environment, descriptors)
                    return
                running.add(answer)
        for descriptor in descriptors:
            os.close(descriptor)
        line.sendall(json.dumps(answer).encode() + b"\n")
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _fork_decoders_at(address: str, key: str) -> None:
    """Let processes that decode be forks of the one that the process of tests has started."""
    from lapwing.service.decoding_process import DecodingProcess

    server: Any = forkserver._forkserver  # type: ignore[attr-defined]
    server._forkserver_address, server._forkserver_authkey = address, bytes.fromhex(key)
    server._forkserver_alive_fd = os.open(os.devnull, os.O_WRONLY)
    server.ensure_running = lambda: None
    DecodingProcess._context = get_context("forkserver")


def _become(arguments: list[str], environment: dict[str, str], descriptors: list[int]) -> None:
    """Be `python -m lapwing`, or `python` where the first is a file, with these arguments."""
    os.environ.clear()
    os.environ.update(environment)
    for number, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout = sys.__stdout__ = open(1, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = ["lapwing", *arguments]
    if arguments[0].endswith(".py"):
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        runpy.run_module("lapwing", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    # The folder of the tests holds names of packages.
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    with socket.socket(fileno=int(sys.argv[1])) as own:
        _wait(own)
