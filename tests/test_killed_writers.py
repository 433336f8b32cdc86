"""What a killed process leaves in a folder is removed by the next one that writes there."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lapwing import atomic_files
from lapwing.atomic_files import replacing
from lapwing.cli.console import check_output
from lapwing.errors import ArgumentError
from lapwing.privacy import Guarantee, Ledger
from lapwing.protocol import ExactCounts

KILLS = int(os.environ.get("LAPWING_KILLS", "12"))

FOREIGN = [".out.lwr.abcdefgh", ".out.lwr.progress", "x.lapwing-abcdefgh", ".x.lapwing-ABCDEFGH"]
"""Names that no temporary file has."""


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".*"))


def test_killed_processes_leave_nothing_for_ever(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.killed_writers", str(tmp_path), str(KILLS), "7"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1], timeout=900,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    left = json.loads(run.stdout)
    # Each one removed what those before had left: at most the last one's own file is there.
    assert max(map(len, left)) <= 2, left
    assert any(left), "no kill came while a file was written. The test proves nothing"
    atomic_files._folders.forget()
    with replacing(tmp_path / "next.json") as stream:
        stream.write(b"{}")
    assert hidden(tmp_path) == []
    ExactCounts.load(tmp_path / "counts.lws")
    assert Ledger.load(tmp_path / "budget.json").entries


def abandoned(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(b"reports")
    return path


def test_every_writer_removes_what_was_abandoned(tmp_path: Path) -> None:
    Ledger(Guarantee(1, 0, "replace-one", "central")).save(tmp_path / "budget.json")
    atomic_files._folders.forget()
    abandoned(tmp_path, ".budget.json.lapwing-abcd_123")
    abandoned(tmp_path, ".out.lwr.lapwing-abcd_123")
    for name in FOREIGN:
        abandoned(tmp_path, name)
    guarantee = Guarantee("0.5", 0, "replace-one", "central")
    with Ledger.open(tmp_path / "budget.json").paying("x", guarantee, loss=None, release="0" * 32):
        pass
    assert hidden(tmp_path) == sorted(name for name in FOREIGN if name.startswith("."))
    assert (tmp_path / FOREIGN[2]).exists()


def test_a_run_that_is_refused_removes_what_was_abandoned(tmp_path: Path) -> None:
    output = tmp_path / "out.lwr"
    output.write_bytes(b"published by another")
    for refused in (
        lambda: atomic_files.check_absent(output),
        lambda: check_output(output, inputs=[], force=False),
    ):
        atomic_files._folders.forget()
        abandoned(tmp_path, ".out.lwr.lapwing-abcd_123")
        with pytest.raises(ArgumentError, match="already exists"):
            refused()
        assert hidden(tmp_path) == []


def test_nobody_else_reads_what_finds_its_name_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several write to one name, and one publishes: the others' reports were always closed."""
    take, modes = atomic_files._take_name, []

    def looked_at(temporary: str, path: Path) -> None:
        modes.append(os.stat(temporary).st_mode & 0o777)
        take(temporary, path)

    monkeypatch.setattr(atomic_files, "_take_name", looked_at)
    output = tmp_path / "out.lwr"
    with (
        pytest.raises(ArgumentError, match="already exists"),
        replacing(output, absent=True) as late,
    ):
        late.write(b"second reports of the same values")
        with replacing(output, absent=True) as early:
            early.write(b"reports")
    assert modes == [0o600, 0o600] and output.read_bytes() == b"reports"
    (tmp_path / "usual").touch()
    assert output.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_file_that_is_being_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with replacing(tmp_path / "one.json") as first:
        (name,) = hidden(tmp_path)
        first.write(b"1")
        atomic_files._folders.forget()  # as another process
        with replacing(tmp_path / "two.json") as second:
            second.write(b"2")
        assert hidden(tmp_path) == [name]
        # It stays locked until it has its name, also when its content is written.
        first.flush()
    assert hidden(tmp_path) == [] and (tmp_path / "one.json").read_bytes() == b"1"


def test_a_file_is_locked_until_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, seen = os.replace, []

    def looked_at(temporary: str, path: Path) -> None:
        with open(temporary, "rb") as stream, pytest.raises(BlockingIOError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        seen.append(temporary)
        replace(temporary, path)

    monkeypatch.setattr(os, "replace", looked_at)
    with replacing(tmp_path / "one.json") as stream:
        stream.write(b"1")
    assert len(seen) == 1
    with open(tmp_path / "one.json", "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and no longer


def test_one_that_was_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = atomic_files.lock_file, []

    def removed_first(descriptor: int) -> bool | None:
        if not removed:
            removed.extend(tmp_path.glob(".*"))
            removed[0].unlink()
        return lock(descriptor)

    monkeypatch.setattr(atomic_files, "lock_file", removed_first)
    with replacing(tmp_path / "one.json") as stream:
        stream.write(b"1")
    assert removed and (tmp_path / "one.json").read_bytes() == b"1" and hidden(tmp_path) == []


def test_what_is_no_plain_file_of_ours_stays(tmp_path: Path) -> None:
    target = abandoned(tmp_path, "precious")
    (tmp_path / ".a.lapwing-abcdefgh").symlink_to(target)
    (tmp_path / ".b.lapwing-abcdefgh").mkdir()
    os.mkfifo(tmp_path / ".c.lapwing-abcdefgh")
    atomic_files._folders.forget()
    with replacing(tmp_path / "one.json") as stream:
        stream.write(b"1")
    assert len(hidden(tmp_path)) == 3 and target.read_bytes() == b"reports"


def test_a_long_name_has_a_temporary_file(tmp_path: Path) -> None:
    for name in ("x" * 255, "\u20ac" * 85):
        with replacing(tmp_path / name) as stream:
            stream.write(b"1")
        assert (tmp_path / name).read_bytes() == b"1"
