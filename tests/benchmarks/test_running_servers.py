"""Waiting for a server ends with its death, or when its time is over."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.service.running_servers import start_document

DEAD = "import sys; print('{', flush=True); sys.exit('no such database')"
SILENT = "import sys, time; print('waiting', file=sys.stderr, flush=True); time.sleep(3600)"
LISTENS = 'print(\'{\\n "address": "here"\\n}\', flush=True); import time; time.sleep(3600)'


def start(program: str, log: Path, *, seconds: float) -> object:
    command = [sys.executable, "-c", program]
    with (
        log.open("w") as lines,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=lines, text=True) as process,
    ):
        try:
            return start_document(process, log, seconds=seconds)
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("program", "seconds", "said"),
    [(DEAD, 120, "ended with 1 .*no such database"), (SILENT, 2, "ended with -9 .*waiting")],
)
def test_a_server_that_does_not_listen_shows_its_log(
    tmp_path: Path, program: str, seconds: float, said: str
) -> None:
    with pytest.raises(RuntimeError, match=rf"(?s){said}"):
        start(program, tmp_path / "log", seconds=seconds)


def test_a_server_that_listens_is_read(tmp_path: Path) -> None:
    assert start(LISTENS, tmp_path / "log", seconds=120) == {"address": "here"}
