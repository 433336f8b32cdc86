"""Reports of many people, each stored and sent once."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, RandomizedResponse, Reports, Survey, seeded
from lapwing.client import Device, Gateway, Patience, send_reports
from lapwing.errors import ArgumentError, FormatError, MismatchError, ReportError
from lapwing.protocol.messages.batch import Batch
from tests.client.small_collector import Reply, SmallCollector

COLORS = RandomizedResponse(Categories(300), 1)
SURVEY = Survey("color", COLORS, segments=["north", "south"])


def reports_of(people: int, *, seed: int = 1) -> Reports:
    return SURVEY.randomize([number % 300 for number in range(people)], rng=seeded(seed))


def opened(folder: Path) -> Gateway:
    return Gateway.open(folder / "gateway.lapwing")


def test_a_pile_is_sent_whole_and_once(tmp_path: Path, collector: SmallCollector) -> None:
    reports = reports_of(20_000)
    for again in range(3):
        made = send_reports(
            SURVEY,
            reports,
            epoch="1",
            pile="monday.lwr",
            segment="south",
            gateway=opened(tmp_path),
            collector=collector.url,
        )
        assert (made.stored, made.refused, made.waiting) == (0 if again else 3, 0, 0)
    batches = [
        Batch.from_bytes(body, segments=SURVEY.segments) for body in collector.stored.values()
    ]
    assert sorted(batch.reports for batch in batches) == [3616, 8192, 8192]
    assert {batch.segment for batch in batches} == {2}
    parts = [SURVEY.tally(batch.to_reports(COLORS.fingerprint)) for batch in batches]
    assert parts[0] + parts[1] + parts[2] == SURVEY.tally(reports)
    assert stat.S_IMODE((tmp_path / "gateway.lapwing").stat().st_mode) == 0o600


def test_equal_piles_of_other_people_count_apart(tmp_path: Path, collector: SmallCollector) -> None:
    """Ids are drawn, and do not follow from the bytes."""
    gateway = opened(tmp_path)
    reports = reports_of(1)
    for pile in ("a", "b", "c"):
        gateway.put(SURVEY, reports, epoch="1", pile=pile)
    gateway.put(SURVEY, reports, epoch="2", pile="a")
    assert gateway.send(collector.url).stored == 4 and len(collector.stored) == 4


def test_a_crash_between_two_batches(tmp_path: Path, collector: SmallCollector) -> None:
    reports = reports_of(20_000)
    opened(tmp_path).put(SURVEY, reports, epoch="1", pile="a")
    ids = {batch.id for batch in opened(tmp_path).batches()}
    collector.replies.append(Reply(0, stored=True))
    assert opened(tmp_path).send(collector.url, patience=Patience(1)).waiting == 3
    assert {batch.id for batch in opened(tmp_path).put(SURVEY, reports, epoch="1", pile="a")} == ids
    assert opened(tmp_path).send(collector.url).waiting == 0
    assert set(collector.stored) == ids and len({a.body for a in collector.uploads}) == 3


def test_other_reports_under_a_known_name_are_refused(
    tmp_path: Path, collector: SmallCollector
) -> None:
    gateway = opened(tmp_path)
    gateway.put(SURVEY, reports_of(10), epoch="1", pile="a")
    for reports, segment in (
        (reports_of(10, seed=2), None),
        (reports_of(9), None),
        (reports_of(10), "north"),
    ):
        with pytest.raises(MismatchError, match="stored with other reports"):
            gateway.put(SURVEY, reports, epoch="1", pile="a", segment=segment)
    assert len(gateway.batches()) == 1
    # Once they have arrived nothing that tells of them is kept, but how many there were.
    gateway.send(collector.url)
    gateway.put(SURVEY, reports_of(10, seed=2), epoch="1", pile="a")
    with pytest.raises(MismatchError, match="stored with other reports"):
        gateway.put(SURVEY, reports_of(9), epoch="1", pile="a")
    assert len(gateway.batches()) == len(collector.stored) == 1


def test_refused(tmp_path: Path) -> None:
    gateway = opened(tmp_path)
    other = Survey("other", RandomizedResponse(Categories(7), 1))
    wrong = Reports(np.array([[0, 0], [255, 255]], dtype=np.uint8), COLORS.fingerprint)
    with pytest.raises(MismatchError):
        gateway.put(other, reports_of(1), epoch="1", pile="a")
    with pytest.raises(ReportError) as caught:
        gateway.put(SURVEY, wrong, epoch="1", pile="a")
    assert caught.value.position == 1
    cases: list[dict[str, Any]] = [
        {"epoch": "A"},
        {"pile": ""},
        {"pile": "x" * 201},
        {"pile": "a\n"},
        {"pile": None},
        {"segment": 1},
    ]
    for changes in cases:
        with pytest.raises(ArgumentError):
            gateway.put(SURVEY, reports_of(1), **{"epoch": "1", "pile": "a", **changes})
    for reports in (reports_of(1)[:0], [b"\0\0"]):
        with pytest.raises(ArgumentError, match="at least one"):
            gateway.put(SURVEY, reports, epoch="1", pile="a")  # type: ignore[arg-type]
    assert not gateway.batches()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gateway.lapwing").write_bytes(b"something else")
    with pytest.raises(FormatError, match="foreign"):
        opened(tmp_path)


def test_the_file_of_a_device_holds_no_piles_by_mistake(tmp_path: Path) -> None:
    Device.open(tmp_path, epsilon_cap=1, budget=1)
    with pytest.raises(FormatError, match="belongs to a device"):
        Gateway.open(tmp_path / "device.lapwing")
