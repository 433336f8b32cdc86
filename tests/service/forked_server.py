"""`lapwing serve` as a fork of a process that has imported it: a tenth of what a start costs.

Run as a program, this file is that process. One waits in each process of tests, starts what it is
asked for, says how it ended, and ends all that still runs when the process of tests is gone.
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
from pathlib import Path
from typing import IO, Any


class Fork:
    """A process that another one started for us, with what tests use of `subprocess.Popen`."""

    def __init__(self, *arguments: str, environment: dict[str, str], stderr: IO[str]) -> None:
        reads, writes = os.pipe()
        self.stdout = open(reads, encoding="utf-8")  # noqa: SIM115
        try:
            self.pid: int = _ask([arguments, environment], [writes, stderr.fileno()])
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
def _waiting() -> socket.socket:
    """Return the line to the process that forks for this process of tests."""
    from tests.cli.running import environment

    ours, theirs = socket.socketpair()
    with theirs:
        waiting = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment(),
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
            case [arguments, environment]:
                answer = os.fork()
                if answer == 0:
                    line.close()
                    _become(arguments, environment, descriptors)
                    return
                running.add(answer)
        for descriptor in descriptors:
            os.close(descriptor)
        line.sendall(json.dumps(answer).encode() + b"\n")
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _become(arguments: list[str], environment: dict[str, str], descriptors: list[int]) -> None:
    """Be `python -m lapwing` with these arguments, output and errors."""
    os.environ.clear()
    os.environ.update(environment)
    for number, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout = sys.__stdout__ = open(1, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = ["lapwing", *arguments]
    runpy.run_module("lapwing", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    # The folder of the tests holds names of packages.
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    with socket.socket(fileno=int(sys.argv[1])) as own:
        _wait(own)
