"""A file is written entirely or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lapwing.atomic_files import replacing


def test_the_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "tally.json"
    path.write_text("old")
    with replacing(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["tally.json"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", ["old", None])
def test_an_error_leaves_everything_as_it_was(
    tmp_path: Path, error: type[BaseException], old: str | None
) -> None:
    path = tmp_path / "tally.json"
    if old is not None:
        path.write_text(old)
    with pytest.raises(error), replacing(path) as stream:
        stream.write(b"half")
        raise error
    assert os.listdir(tmp_path) == ([] if old is None else ["tally.json"])
    assert old is None or path.read_text() == old


@pytest.mark.parametrize(("mode", "umask"), [(0o644, 0o022), (0o644, 0o077), (0o600, 0o000)])
def test_permissions_are_those_asked_for_less_the_umask(
    tmp_path: Path, mode: int, umask: int
) -> None:
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "x", mode=mode) as stream:
            # Nobody else may read it while it is being written.
            assert stat.S_IMODE(os.fstat(stream.fileno()).st_mode) == 0o600
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == mode & ~umask


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "no" / "x"):
        pass


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(OSError), replacing(tmp_path / "x") as stream:
        stream.write(b"1")
    assert os.listdir(tmp_path) == ["x"]


HALF = """
import sys, time
from pathlib import Path
from lapwing.atomic_files import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half" * 100_000)
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_dies_leaves_the_old_file(tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "tally.json"
    path.write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", HALF, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Who runs the tests in the background may have told them to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"writing\n"
        process.send_signal(how)
        process.wait(timeout=300)
    assert process.returncode != 0
    assert path.read_text() == "old"
    if how == signal.SIGINT:  # after SIGKILL nothing can tidy up
        assert os.listdir(tmp_path) == ["tally.json"]


def test_a_folder_that_cannot_be_written_names_the_file_alone(tmp_path: Path) -> None:
    # A folder that is not there is refused by the same call, and to root, too.
    path = tmp_path / "nowhere" / "ledger.json"
    with pytest.raises(FileNotFoundError) as refused, replacing(path):
        pass
    assert refused.value.filename == str(path)
