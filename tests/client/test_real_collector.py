"""A device and a gateway against `lapwing serve`: what they send is what the collector counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from lapwing import (
    Categories,
    HashedStrings,
    LinearHashing,
    RandomizedResponse,
    Rappor,
    Survey,
    seeded,
)
from lapwing.client import CollectorAddress, Device, Gateway, Patience, send_reports
from lapwing.errors import CollectorError
from lapwing.protocol.messages.tally import Tally
from tests.service.lying_box import lying_box
from tests.service.one_collector import ADMIN, as_role, served

COLORS = RandomizedResponse(Categories(["red", "green", "blue"]), 1)
COLOR = Survey("color", COLORS, segments=["north", "south"], segment_minimum=1)
TEA = Survey("tea", COLORS)
KEPT = Survey("kept color", COLORS, remembered=True)
HABIT = Survey("habit", Rappor(Categories(9), 1))
WORD = Survey("word", LinearHashing(HashedStrings(32), 1))


@dataclass
class Running:
    """A collector, and its admin."""

    url: str
    admin: httpx.Client

    def publish(self, survey: Survey, *epochs: str, upload: str = "open") -> None:
        path = f"/v1/surveys/{survey.fingerprint}"
        created = {"survey": survey.to_document(), "minimum": 1, "upload": upload}
        self._ask("PUT", path, created)
        self._ask("POST", f"{path}/publish")
        for epoch in epochs:
            self._ask(
                "PUT", f"{path}/epochs/{epoch}", {"opens": None, "closes": None, "grace_seconds": 0}
            )
            self._ask("POST", f"{path}/epochs/{epoch}/open")

    def add(self, survey: Survey, epoch: str) -> None:
        """Add an epoch with the text of this survey, as `add-survey` does."""
        terms = {"minimum": 1, "epoch": {"name": epoch}}
        path = f"/v1/surveys/{survey.fingerprint}"
        self._ask("PUT", path, {"survey": survey.to_document(), **terms})

    def close(self, survey: Survey, epoch: str) -> None:
        self._ask("POST", f"/v1/surveys/{survey.fingerprint}/epochs/{epoch}/close")

    def tally(self, survey: Survey, epoch: str, segment: str | None = None) -> Tally:
        query = {} if segment is None else {"segment": segment}
        answer = self.admin.get(f"/v1/surveys/{survey.fingerprint}/tallies/{epoch}", params=query)
        assert answer.status_code == 200, answer.text
        return Tally.from_document(answer.json())

    def upload_tokens(self, survey: Survey, count: int) -> list[str]:
        path = f"/v1/surveys/{survey.fingerprint}/upload-tokens"
        tokens = self._ask("POST", path, {"count": count})["tokens"]
        assert isinstance(tokens, list)
        return tokens

    def _ask(self, method: str, path: str, document: Any = None) -> Any:
        answer = self.admin.request(method, path, json=document)
        assert answer.status_code < 300, (method, path, answer.text)
        return answer.json() if answer.content else None


@contextmanager
def serving(folder: Path) -> Iterator[Running]:
    with (
        served(folder) as here,
        httpx.Client(base_url=here.address, headers=as_role(ADMIN), timeout=60) as admin,
    ):
        yield Running(here.address, admin)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("collector")) as collector:
        yield collector


def test_devices_answer_and_are_counted_once(running: Running, tmp_path: Path) -> None:
    running.publish(COLOR, "1", "2")
    epochs = CollectorAddress(running.url).epochs(COLOR)
    assert sorted((epoch.name, epoch.state) for epoch in epochs) == [("1", "open"), ("2", "open")]
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        device = Device.open(folder, epsilon_cap=1, budget=4)
        survey = device.fetch(running.url, COLOR.fingerprint)
        for epoch in ("1", "2"):
            for _ in range(2):
                label = ("north", "south", None)[number % 3]
                device.answer(survey, "red", epoch=epoch, segment=label)
                made = device.send(running.url)
                assert made.refused == made.waiting == 0, made
        spent = device.ledger.spent
        assert spent is not None and spent.epsilon == 2
    for epoch in ("1", "2"):
        assert running.tally(COLOR, epoch).total == 12
        assert running.tally(COLOR, epoch, "south").total == 4


def test_a_collector_says_how_late_it_is(running: Running, tmp_path: Path) -> None:
    """Without it a report that no collector takes would wait for ever."""
    device = Device.open(tmp_path, epsilon_cap=1, budget=4, keep_days=1)
    device.answer(Survey("unknown", COLORS), "red", epoch="1")
    assert device.send(running.url, patience=Patience(1)).waiting == 1
    with device.file.transaction() as connection:
        (heard,) = connection.execute("SELECT heard FROM batch").fetchone()
        assert abs(heard - time.time()) < 60
        connection.execute("UPDATE batch SET heard = heard - 86400, last = last - 86400")
    assert device.send(running.url, patience=Patience(1)).expired == 1


def test_what_was_stored_is_answered_so_again(running: Running, tmp_path: Path) -> None:
    """The answer was lost: the device sends the same bytes, and nothing is counted twice."""
    survey = Survey("again", COLORS)
    running.publish(survey, "1")
    device = Device.open(tmp_path, epsilon_cap=1, budget=4)
    device.answer(survey, "red", epoch="1")
    before = device.file.path.read_bytes()
    assert device.send(running.url).stored == 1
    device.file.path.write_bytes(before)  # as if it had been killed before it heard
    assert device.send(running.url).stored == 1
    assert running.tally(survey, "1").total == 1


def test_what_was_stored_is_answered_so_when_the_epoch_has_closed(
    running: Running, tmp_path: Path
) -> None:
    """The connection was cut before the answer, and the device comes again after the end."""
    survey = Survey("cut", COLORS)
    running.publish(survey, "1")
    device = Device.open(tmp_path, epsilon_cap=1, budget=4)
    device.answer(survey, "red", epoch="1")
    gateway = Gateway.open(tmp_path / "gateway.lapwing")
    gateway.put(survey, survey.randomize(["red"] * 5), epoch="1", pile="monday")
    port = int(running.url.rpartition(":")[2])
    with lying_box(port, seed=1) as (box, address):
        box.only = "lost"
        for sender in (device, gateway):
            assert sender.send(address, patience=Patience(1)).waiting == 1
        assert box.fates == {"lost": 2}
        running.close(survey, "1")
        late = Device.open(make_folder(tmp_path / "late"), epsilon_cap=1, budget=4)
        late.answer(survey, "red", epoch="1")
        box.only = "passed on"
        for sender in (device, gateway):
            made = sender.send(address)
            assert (made.stored, made.refused, made.waiting) == (1, 0, 0)
        made = late.send(address)
        assert (made.refused, made.problems) == (1, ("410 (epoch-closed)",))
    assert running.tally(survey, "1").total == 6


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_an_answer_to_the_old_text_is_not_counted_for_the_new_one(
    running: Running, tmp_path: Path
) -> None:
    """Given offline, for an epoch that was added later with another text."""
    asked = {name: replace(TEA, question=f"Do you like {name}?") for name in ("tea", "coffee")}
    running.add(asked["tea"], "1")
    sent = {}
    for name, survey in asked.items():
        (tmp_path / name).mkdir()
        device = Device.open(tmp_path / name, epsilon_cap=1, budget=4)
        if name == "coffee":
            running.close(TEA, "1")
            running.add(survey, "2")
            survey = device.fetch(running.url, TEA.fingerprint, text=survey.text_fingerprint)
        device.answer(survey, "red", epoch="2")
        gateway = Gateway.open(tmp_path / name / "gateway.lapwing")
        gateway.put(survey, survey.randomize(["red"] * 5), epoch="2", pile="monday")
        sent[name] = device, gateway
    for both in sent["tea"]:
        made = both.send(running.url)
        assert (made.stored, made.refused, made.problems) == (0, 1, ("409 (other-text)",))
        (batch,) = both.batches()
        assert (batch.state, batch.reason) == ("refused", "409 (other-text)")
        assert batch.text == asked["tea"].text_fingerprint
    for both in sent["coffee"]:
        assert both.send(running.url).stored == 1
    assert running.tally(TEA, "2").total == 6


def test_other_ways_to_answer(running: Running, tmp_path: Path) -> None:
    """Remembered reports and rounds, and a log of hashed words."""
    device = Device.open(tmp_path, epsilon_cap=2, budget=10)
    for survey, value in ((KEPT, "blue"), (HABIT, 3), (WORD, "lapwing")):
        running.publish(survey, "1", "2")
        for epoch in ("1", "2"):
            device.answer(device.fetch(running.url, survey.fingerprint), value, epoch=epoch)
    assert device.send(running.url).stored == 6
    for survey in (KEPT, HABIT, WORD):
        for epoch in ("1", "2"):
            running.close(survey, epoch)
        assert running.tally(survey, "1").total == running.tally(survey, "2").total == 1
    one, two = (running.tally(KEPT, epoch) for epoch in ("1", "2"))
    assert one == two


def test_two_epochs_of_remembered_answers(running: Running, tmp_path: Path) -> None:
    """Their difference is refused; that of fresh ones is not."""
    surveys = [
        Survey("remembered", COLORS, remembered=True),
        Survey("rounds", Rappor(Categories(3), 1)),
        Survey("fresh", COLORS),
    ]
    gateway = Gateway.open(tmp_path / "gateway.lapwing")
    for survey in surveys:
        running.publish(survey, "1", "2")
        values = [*survey.randomizer.domain.listed] * 200  # type: ignore[attr-defined]
        for epoch in ("1", "2"):
            reports = survey.randomize(values, rng=seeded(int(epoch)))
            gateway.put(survey, reports, epoch=epoch, pile="a")
    assert gateway.send(running.url).waiting == 0
    *remembered, fresh = (
        running.admin.get(
            f"/v1/surveys/{survey.fingerprint}/results/1",
            params={"against": "2", "target": "empirical"},
        )
        for survey in surveys
    )
    for refused in remembered:
        assert 400 <= refused.status_code < 500 and "people who joined or left" in refused.text
    assert fresh.status_code == 200 and fresh.json()["caution"] is None


def test_a_gateway_is_counted_once(running: Running, tmp_path: Path) -> None:
    survey = Survey("gateway", COLORS)
    running.publish(survey, "1")
    reports = survey.randomize(["red", "blue"] * 10_000, rng=seeded(1))
    for _ in range(2):
        gateway = Gateway.open(tmp_path / "gateway.lapwing")
        made = send_reports(
            survey, reports, epoch="1", pile="a", gateway=gateway, collector=running.url
        )
        assert made.refused == made.waiting == 0
    assert running.tally(survey, "1") == survey.tally(reports)


def test_what_the_collector_refuses_says_why(running: Running, tmp_path: Path) -> None:
    survey = Survey("closing", COLORS)
    running.publish(survey, "1", "2")
    running.close(survey, "1")
    device = Device.open(tmp_path, epsilon_cap=1, budget=10)
    device.answer(survey, "red", epoch="1")
    device.answer(survey, "red", epoch="9")
    device.answer(survey, "red", epoch="2")
    made = device.send(running.url, patience=Patience(1))
    assert (made.stored, made.refused, made.waiting) == (1, 1, 1)
    reasons = {batch.epoch: batch.reason for batch in device.batches()}
    assert reasons == {"1": "410 (epoch-closed)", "9": "404 (unknown-epoch)", "2": None}
    # An epoch that is added later gets what waited for it.
    running.publish(survey, "9")
    assert device.send(running.url, patience=Patience(1)).stored == 1
    with pytest.raises(CollectorError, match="unknown-survey"):
        device.fetch(running.url, "0" * 64)


def test_only_invited_devices_are_counted(running: Running, tmp_path: Path) -> None:
    survey = Survey("invited", COLORS)
    running.publish(survey, "1", "2", upload="tokens")
    first, second = running.upload_tokens(survey, 2)
    for number, (epoch, token, reason) in enumerate(
        (
            ("1", first, None),
            ("1", None, "401 (upload-token-needed)"),
            ("1", first, "401 (upload-token-used)"),
            ("1", second, None),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        device = Device.open(folder, epsilon_cap=1, budget=10)
        device.answer(survey, "red", epoch=epoch, upload_token=token)
        device.send(running.url, patience=Patience(1))
        assert device.batches()[0].reason == reason
    assert running.tally(survey, "1").total == 2
