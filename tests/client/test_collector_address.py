"""Where a collector may be, and which survey of it a device answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lapwing import Categories, Interval, RandomizedResponse, SquareWave, Survey
from lapwing.client import CollectorAddress, Device, Epoch
from lapwing.errors import (
    ArgumentError,
    CollectorError,
    FormatError,
    MismatchError,
    PrivacyError,
)
from tests.client.small_collector import SmallCollector

AGE = Survey("age", SquareWave(Interval(0, 100, bins=10), "0.5"))
COLOR = Survey("color", RandomizedResponse(Categories(["red", "green"]), 2))


VECTORS = Path(__file__).parents[1] / "vectors" / "v1" / "addresses.json"


@pytest.mark.parametrize("typed, normal", json.loads(VECTORS.read_text("utf-8"))["addresses"])
def test_an_address_has_one_spelling(typed: str, normal: str | None) -> None:
    if normal is None:
        with pytest.raises(ArgumentError, match="the address of a collector"):
            CollectorAddress(typed)
        return
    address = CollectorAddress(typed)
    assert address.url == normal and CollectorAddress.of(address) is address
    assert CollectorAddress.of(typed) == address == CollectorAddress(normal)


@pytest.mark.parametrize(
    "url",
    [
        "http://0.0.0.0",
        "file:///etc/passwd",
        "https://name:word@collector.example",
        "https://[::1",
        "https://[127.0.0.1]",
        f"https://{64 * 'a'}.example",
        b"https://collector.example",
        None,
    ],
)
def test_other_addresses_are_refused(url: Any) -> None:
    with pytest.raises(ArgumentError, match="the address of a collector"):
        CollectorAddress(url)


@pytest.mark.parametrize("seconds", [0, -1, "1", True, float("nan"), 1e6])
def test_the_time_to_answer_is_checked(seconds: Any) -> None:
    with pytest.raises(ArgumentError, match="seconds"):
        CollectorAddress("https://collector.example", seconds=seconds)


def opened(folder: Path, *, cap: Any = 4) -> Device:
    return Device.open(folder, epsilon_cap=cap, budget=10)


def test_a_survey_is_asked_for_each_time_and_the_copy_stands_in(
    tmp_path: Path, collector: SmallCollector
) -> None:
    """A device that asked once would never learn that the text is another one."""
    collector.publish(AGE)
    for _ in range(2):
        assert opened(tmp_path).fetch(collector.url, AGE.fingerprint) == AGE
    assert len(collector.asked) == 2
    collector.documents.clear()
    assert opened(tmp_path).fetch(collector.url, AGE.fingerprint) == AGE


@pytest.mark.parametrize(
    "given", [b"<html>Sign in to the airport</html>", b"", b"[]", COLOR.to_json().encode()]
)
def test_the_copy_stands_in_behind_a_portal(
    tmp_path: Path, collector: SmallCollector, given: bytes
) -> None:
    """As when nobody answers, and what is answered goes to the collector later."""
    collector.publish(AGE)
    opened(tmp_path).fetch(collector.url, AGE.fingerprint)
    collector.documents[f"/v1/surveys/{AGE.fingerprint}"] = given
    device = opened(tmp_path)
    survey = device.fetch(collector.url, AGE.fingerprint)
    assert survey == AGE and device.answer(survey, 41, epoch="1").state == "waiting"
    assert device.send(collector.url).stored == 1
    with pytest.raises(
        PrivacyError, match="an epsilon of at most"
    ):  # the cap holds for the copy, too
        opened(tmp_path, cap="0.1").fetch(collector.url, AGE.fingerprint)
    collector.documents[f"/v1/surveys/{COLOR.fingerprint}"] = b"<html>Sign in</html>"
    with pytest.raises(CollectorError, match="sent a web page"):
        device.fetch(collector.url, COLOR.fingerprint)


def test_another_survey_is_refused(tmp_path: Path, collector: SmallCollector) -> None:
    """A whole one, that verifies, under the fingerprint of the one that was agreed to."""
    collector.documents[f"/v1/surveys/{AGE.fingerprint}"] = COLOR.to_json().encode()
    with pytest.raises(MismatchError, match="Do not answer it"):
        opened(tmp_path).fetch(collector.url, AGE.fingerprint)
    collector.publish(AGE)
    assert opened(tmp_path).fetch(collector.url, AGE.fingerprint) == AGE


def loosened() -> bytes:
    """AGE with a threshold that keeps less than its epsilon says."""
    document = AGE.to_document()
    threshold = int(document["derived"]["thresholds"]["near"], 16)
    document["derived"]["thresholds"]["near"] = f"{threshold + 2**56:#018x}"
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "document",
    [
        loosened(),
        b"",
        b"[]",
        AGE.to_json().encode()[:-20],
        json.dumps({**AGE.to_document(), "name": "wage"}).encode(),
        json.dumps({**AGE.to_document(), "more": 1}).encode(),
    ],
)
def test_a_survey_that_does_not_verify_is_refused(
    tmp_path: Path, collector: SmallCollector, document: bytes
) -> None:
    collector.documents[f"/v1/surveys/{AGE.fingerprint}"] = document
    device = opened(tmp_path)
    with pytest.raises(FormatError):
        device.fetch(collector.url, AGE.fingerprint)
    assert not device.batches() and not device.ledger.entries


def test_a_survey_above_the_cap_is_refused(tmp_path: Path, collector: SmallCollector) -> None:
    for survey in (COLOR, Survey("kept", COLOR.randomizer, remembered=True)):
        collector.publish(survey)
        with pytest.raises(PrivacyError, match="an epsilon of at most 1"):
            opened(tmp_path, cap=1).fetch(collector.url, survey.fingerprint)
        opened(tmp_path, cap=2).fetch(collector.url, survey.fingerprint)
        # Also when it is on the device.
        with pytest.raises(PrivacyError, match="an epsilon of at most 1"):
            opened(tmp_path, cap=1).fetch(collector.url, survey.fingerprint)


def test_a_survey_that_is_not_there(tmp_path: Path, collector: SmallCollector) -> None:
    with pytest.raises(CollectorError, match=r"404 \(unknown-survey\)"):
        opened(tmp_path).fetch(collector.url, AGE.fingerprint)


def test_a_document_without_end_is_not_read(tmp_path: Path, collector: SmallCollector) -> None:
    collector.documents[f"/v1/surveys/{AGE.fingerprint}"] = b" " * (64 * 2**20 + 1)
    with pytest.raises(CollectorError, match="not a collector"):
        opened(tmp_path).fetch(collector.url, AGE.fingerprint)


@pytest.mark.parametrize("fingerprint", ["", "0" * 63, "A" * 64, "../" * 21 + "x", None, 0])
def test_fingerprints_are_checked_before_anybody_is_asked(
    tmp_path: Path, collector: SmallCollector, fingerprint: Any
) -> None:
    with pytest.raises(ArgumentError, match="64 lowercase hex digits"):
        opened(tmp_path).fetch(collector.url, fingerprint)
    with pytest.raises(ArgumentError, match="64 lowercase hex digits"):
        CollectorAddress(collector.url).epochs(fingerprint)
    assert not collector.asked


def test_epochs(collector: SmallCollector) -> None:
    path = f"/v1/surveys/{AGE.fingerprint}/epochs"
    row = {"name": "2026-12", "state": "open", "opens": "2026-12-01T00:00:00Z", "closes": None}
    collector.documents[path] = json.dumps({"epochs": [row]}).encode()
    address = CollectorAddress(collector.url)
    (epoch,) = address.epochs(AGE)
    assert epoch == Epoch("2026-12", "open", "2026-12-01T00:00:00Z")
    assert address.epochs(AGE.fingerprint) == [epoch]
    collector.documents[path] = b'{"epochs": []}'
    assert address.epochs(AGE) == []


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{}",
        b'{"epochs": 3}',
        b'{"epochs": [3]}',
        b'{"epochs": [{}]}',
        b'{"epochs": [{"name": "a/b", "state": "open"}]}',
        b'{"epochs": [{"name": "a", "state": 3}]}',
        b'{"epochs": [{"name": "a", "state": "open", "opens": 3}]}',
    ],
)
def test_what_lists_no_epochs_is_no_collector(collector: SmallCollector, document: bytes) -> None:
    collector.documents[f"/v1/surveys/{AGE.fingerprint}/epochs"] = document
    with pytest.raises(CollectorError, match="lists no epochs"):
        CollectorAddress(collector.url).epochs(AGE)
