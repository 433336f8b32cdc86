"""A cut of the power at any sync: what could have been sent is paid, stored, and made once.

A recorder that is loaded before the device writes down what it writes, syncs and removes. Its files
are then built as a disk could hold them if the power had failed around each sync: what was synced
is there; of what was written since, nothing, everything, or any part; and a name that was removed
is there again, unless its folder was synced.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from lapwing import Categories, Survey
from lapwing.client import Device
from lapwing.errors import LapwingError
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.service.test_power_cut import (
    Operation,
    apply,
    apply_part,
    built_recorder,
    operations,
)

ROOT = Path(__file__).parents[2]
SAID = "said"
ANSWERS = 12

SURVEY = Survey("bits", OptimizedUnaryEncoding(Categories(100), 1))

PROGRAM = """
import os, sys
from pathlib import Path
from lapwing import Survey
from lapwing.client import Device
from lapwing.client.outbox import Outbox
import lapwing.client.device_file as device_file
folder, survey = Path(sys.argv[1]), Survey.load(sys.argv[2])
mode, answers = sys.argv[3], int(sys.argv[4])
real = device_file._connected
def connected(path):
    connection = real(path)
    connection.execute(f"PRAGMA synchronous = {mode}")
    return connection
device_file._connected = connected
said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
device = Device.open(folder, epsilon_cap=4, budget=100)
for number in range(answers):
    made = device.answer(survey, number, epoch=f"e{number}")
    os.write(said, f"{made.epoch} {made.batch}\\n".encode())
    if number % 3 == 2:  # and the journal is overwritten
        Outbox(device.file).settle(made.batch, "stored", None)
"""


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_recorder(tmp_path_factory.mktemp("recorder"))


@dataclass
class Disk:
    """What a disk holds: synced bytes, what was written since, and names whose removal may fail."""

    synced: dict[str, bytearray]
    since: dict[str, list[Operation]] = field(default_factory=dict)
    removed: dict[str, bytearray] = field(default_factory=dict)

    def take(self, operation: Operation) -> None:
        letter, name, _, _ = operation
        if letter == "d":
            self.removed.clear()
        elif letter == "u":
            self.since.pop(name, None)
            if name in self.synced:
                self.removed[name] = self.synced.pop(name)
        elif letter == "s":
            content = self.synced.setdefault(name, bytearray())
            for waiting in self.since.pop(name, []):
                apply(content, waiting)
        else:
            self.since.setdefault(name, []).append(operation)

    def left(self, chosen: str, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
        """Yield the files as a cut could leave them; "none": nothing but what was synced."""
        again = self.removed if chosen == "none" else {}
        for name, content in again.items():
            if name not in self.synced and name not in self.since:
                yield name, bytes(content)
        for name in self.synced.keys() | self.since.keys():
            content = bytearray(self.synced.get(name, b""))
            for operation in self.since.get(name, []):
                if chosen == "all":
                    apply(content, operation)
                elif chosen == "some":
                    apply_part(content, operation, rng)
            yield name, bytes(content)


def faults(folder: Path, recorder: Path, *, mode: str) -> tuple[int, list[str]]:
    """Return how many cuts were tried, and what was wrong after them."""
    home = folder / "running"
    home.mkdir()
    (folder / "survey.json").write_text(SURVEY.to_json())
    Device.open(home, epsilon_cap=4, budget=100)
    disk = Disk({"device.lapwing": bytearray((home / "device.lapwing").read_bytes())})
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "LD_PRELOAD": str(recorder),
        "SYNC_RECORD_FOLDER": str(home),
        "SYNC_RECORD_FILE": str(folder / "record"),
        "SYNC_RECORD_NAMES": "1",
    }
    arguments = [str(home), str(folder / "survey.json"), mode, str(ANSWERS)]
    subprocess.run([sys.executable, "-c", PROGRAM, *arguments], check=True, env=environment)
    rng = np.random.default_rng(8)
    said = bytearray()
    tried, wrong = 0, []
    for operation in operations((folder / "record").read_bytes()):
        letter, name, _, data = operation
        if name == SAID:
            said += data
            if not data:
                continue
        # What was said may be sent at once; just before a sync least is on the disk.
        if letter in "sd" or name == SAID:
            for chosen in ("none", "all", "some"):
                tried += 1
                place = folder / f"cut-{tried}"
                found = after(place, disk.left(chosen, rng), said.decode().splitlines())
                wrong += [f"cut {tried} ({chosen}): {text}" for text in found]
        if name != SAID:
            disk.take(operation)
    assert len(said.splitlines()) == ANSWERS
    return tried, wrong


def after(folder: Path, files: Iterator[tuple[str, bytes]], said: list[str]) -> list[str]:
    """Return what is wrong with the device that comes back."""
    folder.mkdir()
    for name, content in files:
        (folder / name).write_bytes(content)
    try:
        device = Device.open(folder, epsilon_cap=4, budget=100)
        made = {f"{batch.epoch} {batch.id}" for batch in device.batches()}
    except LapwingError:
        return ["the file is damaged"]
    paid = {entry.release for entry in device.ledger.entries}
    with closing(sqlite3.connect(device.file.path)) as connection:
        try:
            whole = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        except sqlite3.DatabaseError:
            whole = False
    shutil.rmtree(folder)
    wrong = [] if whole else ["the file is damaged"]
    if {text.split()[1] for text in made} != paid:
        wrong.append("what is stored is not what is paid")
    return wrong + [f"{text} would be answered again" for text in said if text not in made]


@pytest.mark.service
def test_no_cut_lets_a_device_answer_twice(tmp_path: Path, recorder: Path) -> None:
    tried, wrong = faults(tmp_path, recorder, mode="EXTRA")
    assert wrong == [] and tried > 3 * 3 * ANSWERS


@pytest.mark.service
def test_a_device_that_does_not_wait_for_the_disk_is_found_out(
    tmp_path: Path, recorder: Path
) -> None:
    """In mode FULL the device is as safe: its journal is never removed."""
    _, wrong = faults(tmp_path, recorder, mode="OFF")
    assert any("answered again" in text for text in wrong)
    assert any("the file is damaged" in text for text in wrong)
