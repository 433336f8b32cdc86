"""Being stopped: whatever the moment, no half-written file and no temporary one is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing import Integers, Survey
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.cli.running import environment, listing


@pytest.fixture
def much_to_do(tmp_path: Path) -> Path:
    """A survey whose reports have 2 KiB, and a table that takes a minute or more."""
    survey = Survey("slow", OptimizedUnaryEncoding(Integers(0, 2**14 - 1, outside="clip"), 1))
    (tmp_path / "survey.json").write_text(survey.to_json())
    parquet.write_table(pa.table({"n": np.arange(10**6) % 2**14}), tmp_path / "values.parquet")
    (tmp_path / "reports.lwr").write_bytes(b"what was there before")
    return tmp_path


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    """Start a long `randomize`, and wait until it has written some of its output."""
    arguments = [
        *("randomize", "survey.json", "values.parquet", "-o", "reports.lwr", "--force"),
        *more,
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "lapwing", *arguments],
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Who runs the tests in the background may have told them to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    end = time.monotonic() + 60
    while time.monotonic() < end:
        written = [path.stat().st_size for path in folder.glob(".reports.lwr.*")]
        if written and written[0] > 2**20:
            return process
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.01)
    process.kill()
    raise AssertionError("nothing was written within a minute")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_ctrl_c_leaves_everything_as_it_was(much_to_do: Path, more: list[str]) -> None:
    before = {path.name for path in much_to_do.iterdir()}
    process = start(much_to_do, *more)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # the impatient press it twice
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "No file was written or changed" in (out if more else err)
    assert "Traceback" not in err
    assert {path.name for path in much_to_do.iterdir()} == before
    assert (much_to_do / "reports.lwr").read_bytes() == b"what was there before"


def test_a_polite_kill_leaves_everything_as_it_was(much_to_do: Path) -> None:
    before = listing(much_to_do)
    process = start(much_to_do)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (143, "")
    assert listing(much_to_do) == before


def test_a_reader_that_goes_away_is_no_error(much_to_do: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "lapwing", "verify", "survey.json"],
            cwd=much_to_do,
            env=environment(),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


LOADING = """
import importlib.abc, runpy, sys

class Impatient(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "lapwing.cli.program":
            raise KeyboardInterrupt  # as the signal does, wherever the import is

sys.meta_path.insert(0, Impatient())
sys.argv = ["lapwing", "verify", "survey.json"]
runpy.run_module("lapwing", run_name="__main__")
"""


def test_ctrl_c_while_the_program_is_loaded_shows_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADING],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "lapwing: stopped by Ctrl-C. No file was written or changed\n"
