"""A cut of the power at any sync: every acknowledged batch is there, once.

A recorder that is loaded before the collector writes down all that it writes and syncs. The files
are then built as a disk could hold them if the power had failed just before or after each sync:
what was synced is there; of what was written since, nothing, everything, or any part.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from lapwing.errors import LapwingError
from lapwing.service.storage.opening import SqliteStore
from tests.service.storing_process import LINE
from tests.service.uploading import COUNTED, counts, publish

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ACKNOWLEDGED = "acknowledged"
SECTOR = 512

Operation = tuple[str, str, int, bytes]
"""Its letter, the file, the offset, the data."""


def built_recorder(folder: Path) -> Path:
    """Compile the recorder into a folder; the test that asks is skipped where that cannot be."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if sys.platform != "linux":
        pytest.skip("recording syncs needs Linux")
    if compiler is None:
        pytest.skip(
            "a C compiler is not here: install it (Debian, Ubuntu: apt-get install gcc libc6-dev)"
        )
    library = folder / "recorder.so"
    source = str(HERE / "sync_recorder.c")
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), source, "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="session")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_recorder(tmp_path_factory.mktemp("recorder"))


@dataclass
class Disk:
    """What a disk holds: the synced bytes of each file, and the operations since."""

    synced: dict[str, bytearray]
    since: dict[str, list[Operation]] = field(default_factory=dict)

    def take(self, operation: Operation) -> None:
        letter, name, _, _ = operation
        if letter != "s":
            self.since.setdefault(name, []).append(operation)
            return
        content = self.synced.setdefault(name, bytearray())
        for waiting in self.since.pop(name, []):
            apply(content, waiting)

    def left(self, chosen: str, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
        """Yield the files as a cut could leave them."""
        for name in self.synced.keys() | self.since.keys():
            content = bytearray(self.synced.get(name, b""))
            for operation in self.since.get(name, []):
                if chosen == "all":
                    apply(content, operation)
                elif chosen == "some":
                    apply_part(content, operation, rng)
            yield name, bytes(content)


def apply(content: bytearray, operation: Operation) -> None:
    letter, _, offset, data = operation
    if letter == "t":
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    content[offset : offset + len(data)] = data


def apply_part(content: bytearray, operation: Operation, rng: np.random.Generator) -> None:
    """Apply some sectors of a write, or all, or none."""
    letter, name, offset, data = operation
    if letter == "t":
        if rng.random() < 0.5:
            apply(content, operation)
        return
    for start in range(0, len(data), SECTOR):
        if rng.random() < 0.7:
            apply(content, (letter, name, offset + start, data[start : start + SECTOR]))


def operations(record: bytes) -> Iterator[Operation]:
    at = 0
    while at < len(record):
        letter, letters = struct.unpack_from("<cH", record, at)
        name = record[at + 3 : at + 3 + letters].decode()
        offset, length = struct.unpack_from("<QI", record, at + 3 + letters)
        at += 3 + letters + 12
        yield letter.decode(), name, offset, record[at : at + length]
        at += length


def recorded(folder: Path, recorder: Path, *, durable: str, reports: int) -> list[Operation]:
    """Return all operations of a collector that stores some reports, one code each."""
    record = folder.with_name("record")
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "LD_PRELOAD": str(recorder),
        "SYNC_RECORD_FOLDER": str(folder),
        "SYNC_RECORD_FILE": str(record),
    }
    program = [sys.executable, "-m", "tests.service.storing_process", str(folder / "collector.db")]
    program += [str(folder / ACKNOWLEDGED), durable, f"0-{reports}"]
    subprocess.run(program, check=True, cwd=ROOT, env=environment)
    return list(operations(record.read_bytes()))


def cuts(
    tmp_path: Path, recorder: Path, *, durable: str, reports: int, step: int
) -> Iterator[tuple[list[int], list[int] | LapwingError]]:
    """Yield, for cuts around syncs, the codes acknowledged before, and the counts found after."""
    folder = tmp_path / "running"
    folder.mkdir()
    store = SqliteStore(folder / "collector.db")
    publish(store, COUNTED)
    store.close()
    disk = Disk({"collector.db": bytearray((folder / "collector.db").read_bytes())})
    done = recorded(folder, recorder, durable=durable, reports=reports)
    rng = np.random.default_rng(8)
    said = bytearray()
    syncs = 0
    synced: set[str] = set()
    for operation in done:
        letter, name, _, data = operation
        if name == ACKNOWLEDGED:
            said += data
            continue
        before = letter == "s"
        syncs += before
        synced |= {name} if before else set()
        # Acknowledgements come behind a sync: just before the next one they are the most.
        if before and syncs % step == 0:
            codes = acknowledged(said)
            for chosen in ("none", "all", "some"):
                yield codes, found_after(tmp_path / f"cut-{syncs}-{chosen}", disk.left(chosen, rng))
        disk.take(operation)
    assert synced >= {"collector.db", "collector.db-wal"}, "the recorder saw no checkpoint"
    codes = acknowledged(said)
    assert sorted(codes) == list(range(reports))
    yield codes, found_after(tmp_path / "end", disk.left("none", rng))


def acknowledged(said: bytearray) -> list[int]:
    lines = range(0, len(said), LINE)
    return [int.from_bytes(said[start : start + LINE], "little") for start in lines]


def found_after(folder: Path, files: Iterator[tuple[str, bytes]]) -> list[int] | LapwingError:
    folder.mkdir()
    for name, content in files:
        if not name.endswith(("-shm", ".lock")):
            (folder / name).write_bytes(content)
    try:
        store = SqliteStore(folder / "collector.db")
        try:
            found = counts(store, COUNTED)
            assert store.check() == []
        finally:
            store.close()
    except LapwingError as error:
        return error
    finally:
        shutil.rmtree(folder)
    return found


def lost_or_twice(codes: list[int], found: list[int] | LapwingError) -> bool:
    if isinstance(found, LapwingError):
        return True
    return max(found) > 1 or not all(found[code] for code in codes)


@pytest.mark.service
def test_no_cut_loses_or_doubles_a_report(tmp_path: Path, recorder: Path) -> None:
    results = list(cuts(tmp_path, recorder, durable="FULL", reports=600, step=3))
    assert len(results) > 20
    assert not any(lost_or_twice(*result) for result in results)


@pytest.mark.service
def test_a_collector_that_does_not_wait_for_the_disk_is_found_out(
    tmp_path: Path, recorder: Path
) -> None:
    results = list(cuts(tmp_path, recorder, durable="NORMAL", reports=600, step=1))
    assert any(lost_or_twice(*result) for result in results)


@pytest.mark.service
@pytest.mark.soak
def test_no_cut_at_any_sync_of_a_long_run(tmp_path: Path, recorder: Path) -> None:
    results = cuts(tmp_path, recorder, durable="FULL", reports=8000, step=1)
    assert not any(lost_or_twice(*result) for result in results)
