"""A collector that is killed while it stores loses nothing, and counts nothing twice."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from lapwing.service.storage.opening import SqliteStore
from tests.service.forked_server import Fork
from tests.service.storing_process import LINE
from tests.service.uploading import COUNTED, counts, publish


def storing(database: Path, codes: range, left_out: set[int]) -> Fork:
    environment = {**os.environ, "LEFT_OUT": ",".join(map(str, left_out))}
    program = [str(Path(__file__).with_name("storing_process.py")), str(database), "-", "FULL"]
    program.append(f"{codes.start}-{codes.stop}")
    with database.with_name("said").open("w") as said:
        process = Fork(*program, environment=environment, stderr=said)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        # So small that it cannot store much more than we have read when we kill it.
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    return process


def acknowledged(process: Fork, most: int | None) -> set[int]:
    """Return the codes that a process acknowledges; it is killed after some."""
    found: set[int] = set()
    while data := process.stdout.buffer.read(LINE):
        if len(data) == LINE:
            found.add(int.from_bytes(data[:4], "little"))
        if most is not None and len(found) >= most:
            process.kill()
            most = None  # what stands in the pipe was acknowledged, too
    process.stdout.close()
    process.wait()
    return found


def run(folder: Path, *, kills: int, reports: int) -> None:
    database = folder / "collector.db"
    store = SqliteStore(database)
    publish(store, COUNTED)
    store.close()
    done: set[int] = set()
    for kill in range(kills):
        # Devices send again what nobody acknowledged, in the same bytes.
        left = reports // (kills + 1)
        new = acknowledged(storing(database, range(reports), done), left - 7 * kill)
        assert len(new) >= left - 7 * kill
        done |= new
        store = SqliteStore(database)
        found = counts(store, COUNTED)
        assert max(found) == 1, "counted twice"
        assert all(found[code] for code in done), "acknowledged, then lost"
        assert store.check() == []
        store.close()
    process = storing(database, range(reports), done)
    done |= acknowledged(process, None)
    assert process.returncode == 0 and done == set(range(reports))
    store = SqliteStore(database)
    assert counts(store, COUNTED) == [1] * reports + [0] * (8192 - reports)
    store.close()


def test_a_killed_collector_has_what_it_acknowledged(tmp_path: Path) -> None:
    run(tmp_path, kills=2, reports=1500)


@pytest.mark.soak
def test_a_collector_is_killed_twenty_times(tmp_path: Path) -> None:
    run(tmp_path, kills=20, reports=8000)
