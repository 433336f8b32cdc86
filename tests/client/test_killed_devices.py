"""Killed at any line between randomizing, storing and sending: paid once, counted once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lapwing import Categories, Survey
from lapwing.client import Device
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.cli.running import environment
from tests.client.small_collector import SmallCollector

ROOT = Path(__file__).parents[2]

BITS = OptimizedUnaryEncoding(Categories(400), 1)
FRESH = Survey("bits", BITS)
KEPT = Survey("bits", BITS, remembered=True)
"""No two reports of them are equal by chance: below 1e-60."""


def killed_everywhere(
    folder: Path, survey: Survey, url: str, *, code: str = "", first: int = 1, step: int = 1
) -> list[list[object]]:
    """Run the device that is killed, and return what it says of each line."""
    path = folder / "survey.json"
    path.write_text(survey.to_json())
    start = (
        "import runpy, sys\n"
        + code
        + "\nrunpy.run_module('tests.client.killed_device', run_name='__main__')"
    )
    arguments = [str(folder), str(path), url, str(first), str(step)]
    ran = subprocess.run(
        [sys.executable, "-c", start, *arguments],
        cwd=ROOT,
        env=environment() | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def faults(said: list[list[object]], collector: SmallCollector, *, epsilon: str) -> list[str]:
    """Return what is wrong: a payment that is not one, bytes that changed, a report too many."""
    wrong = []
    for number, _, entries, states in said:
        assert isinstance(entries, list) and isinstance(states, list)
        uploads = [asked for asked in collector.uploads if asked.epoch == f"k{number}"]
        ids = {asked.batch for asked in uploads}
        if [cost for _, cost in entries] != [epsilon]:
            wrong.append(f"{number}: paid {entries}")
        if [state for _, state in states] != ["stored"]:
            wrong.append(f"{number}: {states}")
        if len({asked.body for asked in uploads}) != 1 or len(ids) != 1:
            wrong.append(f"{number}: other bytes, or another id, were sent")
        if len(collector.reports_of(f"k{number}")) != 1:
            wrong.append(f"{number}: counted {len(collector.reports_of(f'k{number}'))} times")
        if ids != {release for release, _ in entries} or ids != {one for one, _ in states}:
            wrong.append(f"{number}: what was sent is not what was paid for")
    return wrong


@pytest.mark.parametrize(
    ("survey", "step"),
    [
        pytest.param(FRESH, 1, id="fresh-every", marks=pytest.mark.soak),
        pytest.param(FRESH, 17, id="fresh"),
        pytest.param(KEPT, 23, id="remembered"),
    ],
)
def test_killed_at_every_line(
    tmp_path: Path, collector: SmallCollector, survey: Survey, step: int
) -> None:
    """At some lines; at every one among the long tests."""
    said = killed_everywhere(tmp_path, survey, collector.url, step=step)
    assert faults(said, collector, epsilon="1") == []
    codes = [code for _, code, _, _ in said]
    assert codes[-1] == 0 and set(codes[:-1]) == {9} and len(codes) > 150 / step
    # Some were killed after the collector had the batch, which was then sent again.
    again = [k for k, *_ in said if sum(a.epoch == f"k{k}" for a in collector.uploads) == 2]
    assert 1 <= len(again) < len(said)


PAID_AFTERWARDS = """
import lapwing.client.device as device
from lapwing.client.device import Device
real = Device.answer
def answer(self, survey, value, *, epoch, **more):
    # The payment in a transaction of its own, after the report.
    import lapwing.privacy.ledger as ledger
    spend, kept = ledger.Ledger.spend, []
    ledger.Ledger.spend = lambda self, *given, **named: (kept.append((given, named)), self)[1]
    made = real(self, survey, value, epoch=epoch, **more)
    ledger.Ledger.spend = spend
    for given, named in kept:
        with self.file.transaction() as connection:
            paid = device._ledger(connection).spend(*given, **named)
            connection.execute("UPDATE person SET ledger = ?", (device._written(paid),))
    return made
Device.answer = answer
"""

DRAWN_AGAIN = """
import lapwing.client.outbox as outbox
from dataclasses import replace
from lapwing.client.outbox import Outbox
from lapwing import Survey
from lapwing.protocol.messages.batch import Batch
real = Outbox.parcel
def parcel(self, batch):
    found = real(self, batch)
    survey = Survey.load(sys.argv[2])
    body = Batch.of(survey.randomize([3]), survey=survey.fingerprint).to_bytes()
    return found and replace(found, body=body)
Outbox.parcel = parcel
"""


@pytest.mark.parametrize("code", [PAID_AFTERWARDS, DRAWN_AGAIN], ids=["paid-late", "drawn-again"])
def test_a_device_that_does_it_wrong_is_caught(
    tmp_path: Path, collector: SmallCollector, code: str
) -> None:
    """At some of the lines from the randomizing on."""
    said = killed_everywhere(tmp_path, FRESH, collector.url, code=code, first=120, step=42)
    assert faults(said, collector, epsilon="1")


CHILD = """
import sys
from pathlib import Path
from lapwing import Survey
from tests.client.killed_device import job
print("ready", flush=True)
sys.stdin.readline()
job(Path(sys.argv[1]), Survey.load(sys.argv[2]), sys.argv[3], epoch="1", value=1)
"""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_from_outside_while_it_sends(
    tmp_path: Path, collector: SmallCollector, after: bool
) -> None:
    """By the collector's hand, just before or just after it stores the batch."""
    path = tmp_path / "survey.json"
    path.write_text(FRESH.to_json())
    device = Device.open(tmp_path, epsilon_cap=4, budget=4)
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), str(path), collector.url],
        cwd=ROOT,
        env=environment() | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None and child.stdout is not None

        def kill(asked: object) -> None:
            child.kill()
            child.wait()
            if not after:
                raise ConnectionError

        collector.before = kill
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("go\n")
        child.stdin.flush()
        child.wait()
    collector.settled()
    assert child.returncode == -9 and len(collector.stored) == after
    collector.before = lambda asked: None
    (waiting,) = device.batches()
    assert waiting.state == "waiting" and len(device.ledger.entries) == 1
    device.answer(FRESH, 2, epoch="1")
    assert device.send(collector.url).stored == 1
    assert len({(asked.path, asked.body) for asked in collector.uploads}) == 1
    assert len(collector.stored) == 1 and len(device.ledger.entries) == 1
