"""A device answers pairs of attributes: the same values as `randomize`, one payment, few costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from lapwing import Interval, Product, Survey
from lapwing.client import Device, Gateway
from lapwing.client.outbox import Outbox
from lapwing.errors import DomainError, PrivacyError
from lapwing.protocol.messages.batch import Batch
from lapwing.randomizers import BoxWave, MultiscaleBoxes
from tests.cli.running import environment
from tests.service.one_collector import ADMIN, as_role, open_survey, served

STARTS = Product(
    ms=Interval(0, 5000, bins=16),
    hour=Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
)
PAIR = Survey("start-up", MultiscaleBoxes(STARTS, 1))
CELL = int(STARTS.index([(800, "09:00")])[0])
SHARP = Survey("sharp", BoxWave(STARTS, 24, widths=(1, 1)))
"""Of 10^10 reports at most one is not the own cell."""


@pytest.mark.parametrize(
    "value",
    [(800, "09:00"), [800, "09:00"], {"ms": 800, "hour": "09:00"}, {"hour": "09:00", "ms": 800}],
)
def test_a_pair_is_given_as_randomize_takes_it_or_by_the_names(tmp_path: Path, value: Any) -> None:
    device = Device.open(tmp_path, epsilon_cap=24, budget=30)
    made = device.answer(SHARP, value, epoch="1")
    assert made.charged == SHARP.guarantee
    parcel = Outbox(device.file).parcel(made.batch)
    assert parcel is not None
    reports = Batch.from_bytes(parcel.body).records
    assert int.from_bytes(reports, "little") == CELL
    assert int(SHARP.randomize([value]).data[0] @ [1, 256]) == CELL


@pytest.mark.parametrize(
    "value", [800, "800", None, {"ms": 800}, {"ms": 800, "our": 3}, (800,), (800, "9 o'clock"), {}]
)
def test_what_is_no_pair_costs_nothing(tmp_path: Path, value: Any) -> None:
    device = Device.open(tmp_path, epsilon_cap=4, budget=9)
    with pytest.raises(DomainError):
        device.answer(PAIR, value, epoch="1")
    assert not device.ledger.entries and not device.batches()


def test_milliseconds_of_an_axis_are_refused(tmp_path: Path) -> None:
    axes = Product(
        at=Interval("2026-01-01", "2027-01-01", bins=8, unit="datetime"), ms=STARTS.domains[0]
    )
    device = Device.open(tmp_path, epsilon_cap=4, budget=9)
    survey = Survey("at", MultiscaleBoxes(axes, 1))
    with pytest.raises(DomainError, match="divide milliseconds by 1000"):
        device.answer(survey, {"at": 1.78e12, "ms": 3}, epoch="1")
    device.answer(survey, {"at": 1.78e9, "ms": 3}, epoch="1")


@pytest.mark.parametrize("pair", [(800, 9), {"ms": 800, "hour": 9}])
def test_a_number_for_the_hour_is_refused(tmp_path: Path, pair: Any) -> None:
    device = Device.open(tmp_path, epsilon_cap=4, budget=9)
    with pytest.raises(DomainError, match="axis hour: a time-of-day must not be a plain number"):
        device.answer(PAIR, pair, epoch="1")
    assert not device.ledger.entries


def test_a_changed_pair_is_refused_where_that_is_asked_for(tmp_path: Path) -> None:
    kept = Survey("kept", BoxWave(STARTS, 1, widths=(4, 4)), remembered=True)
    device = Device.open(tmp_path, epsilon_cap=4, budget=9, on_change="refuse")
    device.answer(kept, {"ms": 800, "hour": "09:00"}, epoch="1")
    assert device.answer(kept, (800, "09:30"), epoch="2").charged is None
    with pytest.raises(PrivacyError, match="differs from the first one"):
        device.answer(kept, (800, "11:00"), epoch="3")


_LARGE = """
import resource, sys, time
from lapwing import Categories, Interval, Product, Survey
from lapwing.client import Device
import lapwing.randomizers as r
kind, folder = sys.argv[1:]
axes = {
    "wide": Product(x=Interval(0, 1, bins=1022), y=Interval(0, 1, bins=1022)),
    "labels": Product(x=Categories(list("abcdefghijklmnop")), y=Interval(0, 1, bins=2**13 - 2)),
}[kind]
text = Survey("large", r.MultiscaleBoxes(axes, 1)).to_json()
before = resource.getrusage(resource.RUSAGE_SELF)
device = Device.open(folder, epsilon_cap=4, budget=9)
survey = Survey.from_json(text)
device.answer(survey, {"x": "d" if kind == "labels" else 0.3, "y": 0.4}, epoch="1")
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime - before.ru_utime, (after.ru_maxrss - before.ru_maxrss) / 1024)
"""


@pytest.mark.parametrize("kind", ["wide", "labels"])
def test_the_largest_pairs_cost_a_device_little_memory(tmp_path: Path, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LARGE, kind, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    seconds, megabytes = map(float, done.stdout.split())
    assert megabytes < 200, (seconds, megabytes)


@pytest.mark.service
def test_devices_and_a_gateway_report_two_weeks_to_a_collector(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    with served(tmp_path) as collector:
        path = open_survey(collector.address, PAIR, epoch="w1", minimum=1000)
        as_admin: dict[str, Any] = {"headers": as_role(ADMIN)}
        httpx.put(f"{path}/epochs/w2", json={}, timeout=60, **as_admin).raise_for_status()
        httpx.post(f"{path}/epochs/w2/open", timeout=60, **as_admin).raise_for_status()
        gateway = Gateway.open(tmp_path / "gateway.lapwing")
        for week, slower in (("w1", 1), ("w2", 2)):
            hours = rng.uniform(0, 86_400, 20_000)
            values = {"ms": slower * rng.gamma(4, 250, 20_000), "hour": hours}
            gateway.put(PAIR, PAIR.randomize(values), epoch=week, pile="site")
            for person in range(3):
                folder = tmp_path / f"person {person}"
                folder.mkdir(exist_ok=True)
                device = Device.open(folder, epsilon_cap=1, budget=4)
                device.answer(PAIR, {"ms": 800, "hour": "09:00"}, epoch=week)
                assert device.send(collector.address).stored == 1
        assert gateway.send(collector.address).waiting == 0
        answer = httpx.get(f"{path}/pairs/w2?against=w1", timeout=60, **as_admin).json()
        assert answer["reports"] == answer["against_reports"] == 20_003
        assert answer["marginals"]["ms"]["mean"]["low"] > 150
        asked = "quantile+0.5+of+ms+given+hour+at-least+06:00"
        shown = httpx.get(f"{path}/pairs/w1?ask={asked}", timeout=60, **as_admin)
        (row,) = shown.json()["questions"]
        assert row["low"] <= row["value"] <= row["high"]
