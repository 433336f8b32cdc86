"""The same bytes until the collector has them, or says that it never will."""

from __future__ import annotations

import json
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lapwing import Categories, Interval, SquareWave, Survey
from lapwing.client import Device, Patience, SendResult
from lapwing.errors import ArgumentError, CollectorError
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.problems import Problem
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.client.small_collector import OWN, Reply, SmallCollector, small_collector

TOKEN = "lwu_" + 43 * "a"
AGE = Survey("age", SquareWave(Interval(0, 100, bins=10), "0.5"))
BITS = Survey("bits", OptimizedUnaryEncoding(Categories(400), 1))


class Clock:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now = 1e9
        self.pauses: list[float] = []

    def wait(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, rounds: int = 5, **numbers: float) -> Patience:
        return Patience(rounds, **numbers, wait=self.wait, clock=lambda: self.now)


def answered(folder: Path, *epochs: str, survey: Survey = AGE) -> Device:
    folder.mkdir(exist_ok=True)
    device = Device.open(folder, epsilon_cap=4, budget=20)
    for epoch in epochs:
        device.answer(survey, 42 if survey is AGE else 7, epoch=epoch)
    return device


def test_what_waits_is_sent_once(tmp_path: Path, collector: SmallCollector) -> None:
    device = answered(tmp_path, "1", "2", "3")
    assert device.send(collector.url) == SendResult(3, 0, 0)
    assert {batch.state for batch in device.batches()} == {"stored"}
    assert {batch.attempts for batch in device.batches()} == {1}
    assert sorted(asked.epoch for asked in collector.uploads) == ["1", "2", "3"]
    assert device.send(collector.url) == SendResult(0, 0, 0) and len(collector.uploads) == 3
    again = device.answer(AGE, 1, epoch="1")
    assert again.state == "stored" and again.charged is None
    for asked in collector.uploads:
        batch = Batch.from_bytes(asked.body)
        assert (batch.survey, batch.reports) == (AGE.fingerprint, 1)
        assert f"/surveys/{AGE.fingerprint}/epochs/{asked.epoch}/" in asked.path


def test_a_request_tells_nothing_of_the_device(tmp_path: Path, collector: SmallCollector) -> None:
    collector.publish(AGE)
    device = answered(tmp_path, "1")
    device.fetch(collector.url, AGE.fingerprint)
    device.send(collector.url)
    known = {"host", "accept", "accept-encoding", "connection", "user-agent"}
    for asked in collector.asked:
        more = {"content-type", "content-length"} if asked.method == "PUT" else set()
        assert set(asked.headers) | {"transfer-encoding"} <= known | more | {"transfer-encoding"}
        assert asked.headers["user-agent"] == "lapwing"
    assert collector.uploads[0].headers["content-type"] == "application/vnd.lapwing.batch"


def test_bytes_are_forgotten_when_they_have_arrived(
    tmp_path: Path, collector: SmallCollector
) -> None:
    device = answered(tmp_path, "1", survey=BITS)
    device.send(collector.url)
    (records,) = collector.reports_of("1")
    assert len(records) == 50
    assert all(records not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_lost_answer_resends_the_same_bytes(tmp_path: Path, collector: SmallCollector) -> None:
    clock = Clock()
    device = answered(tmp_path, "1", survey=BITS)
    collector.replies += [Reply(0, stored=True), Reply(0, stored=True)]
    made = device.send(collector.url, patience=clock.patience())
    assert (made.stored, made.waiting) == (1, 0)
    assert len(collector.uploads) == 3 and len({a.body for a in collector.uploads}) == 1
    assert len({asked.path for asked in collector.uploads}) == 1 and len(collector.stored) == 1
    assert device.batches()[0].attempts == 3 and len(device.ledger.entries) == 1


def test_a_lost_answer_and_a_new_program(tmp_path: Path, collector: SmallCollector) -> None:
    """Which answers again, with another value."""
    device = answered(tmp_path, "1", survey=BITS)
    collector.replies.append(Reply(0, stored=True))
    made = device.send(collector.url, patience=Patience(1))
    assert (made.stored, made.refused, made.waiting) == (0, 0, 1)
    device = Device.open(tmp_path, epsilon_cap=4, budget=20)
    device.answer(BITS, 8, epoch="1")
    assert device.send(collector.url) == SendResult(1, 0, 0)
    assert len({(asked.path, asked.body) for asked in collector.uploads}) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_what_passes_is_kept_and_tried_again(
    tmp_path: Path, collector: SmallCollector, status: int
) -> None:
    clock = Clock()
    device = answered(tmp_path, "1")
    collector.replies += [Reply(status, "busy")] * 4
    made = device.send(collector.url, patience=clock.patience(5, first=2))
    assert (made.stored, made.refused, made.waiting) == (1, 0, 0)
    assert made.problems == (f"{status} (busy)",)
    assert len({asked.body for asked in collector.uploads}) == 1 and len(collector.uploads) == 5
    for number, pause in enumerate(clock.pauses):
        assert 2 * 2**number / 2 <= pause <= 2 * 2**number
    assert len(clock.pauses) == 4


def test_tries_are_bounded(tmp_path: Path, collector: SmallCollector) -> None:
    clock = Clock()
    device = answered(tmp_path, "1", "2")
    collector.replies += [Reply(503, "not-ready")] * 100
    made = device.send(collector.url, patience=clock.patience(4))
    assert made == SendResult(0, 0, 2, ("503 (not-ready)",))
    # The whole collector is not ready: the second batch is not tried in vain.
    assert len(collector.uploads) == 4 and len(clock.pauses) == 3
    assert {asked.epoch for asked in collector.uploads} == {"1", "2"}
    clock = Clock()
    device.send(collector.url, patience=clock.patience(100, first=10, together=100))
    assert sum(clock.pauses) <= 100


def test_retry_after_is_kept(tmp_path: Path, collector: SmallCollector) -> None:
    """Within a call, and over the end of the program."""
    clock = Clock()
    device = answered(tmp_path, "1", "2")
    collector.replies.append(Reply(429, "busy", {"retry-after": "50"}))
    assert device.send(collector.url, patience=clock.patience()).stored == 2
    assert len(clock.pauses) == 1 and clock.pauses[0] >= 50
    device = answered(tmp_path, "3", "4")
    collector.replies.append(Reply(503, "not-ready", {"retry-after": "3600"}))
    made = device.send(collector.url, patience=clock.patience())
    assert (made.stored, made.waiting) == (0, 2) and len(clock.pauses) == 1
    for later, stored in ((0, 0), (3599, 0), (4500, 2)):
        moved = Clock()
        moved.now = clock.now + later
        uploads = len(collector.uploads)
        device = Device.open(tmp_path, epsilon_cap=4, budget=20)
        assert device.send(collector.url, patience=moved.patience()).stored == stored
        assert len(collector.uploads) == uploads + stored


def test_a_retry_after_as_a_date(tmp_path: Path, collector: SmallCollector) -> None:
    device = answered(tmp_path, "1", "2")
    for text, stays in (
        ("Fri, 01 Jan 2100 00:00:00 GMT", True),
        ("Thu, 01 Jan 1970 00:00:00 GMT", False),
    ):
        clock = Clock()
        collector.replies.append(Reply(503, None, {"retry-after": text}))
        made = device.send(collector.url, patience=clock.patience())
        assert bool(made.waiting) == stays
        # A day at most, whatever is asked; and a clock that was wrong holds nothing back for ever.
        clock.now += 86_401
        assert device.send(collector.url, patience=clock.patience()).waiting == 0
        device = answered(tmp_path, "3")


def test_devices_that_were_sent_away_together_come_back_apart(
    tmp_path: Path, collector: SmallCollector
) -> None:
    """Over at least a tenth of the pause, also where it is the longest that a device believes."""
    for seconds in (60, 10**6):
        pauses = []
        for number in range(25):
            collector.replies.append(Reply(503, "not-ready", {"retry-after": str(seconds)}))
            clock = Clock()
            device = answered(tmp_path / f"{seconds}-{number}", "1", "2")
            device.send(collector.url, patience=clock.patience(1))
            with sqlite3.connect(device.file.path) as connection:
                rows = connection.execute("SELECT not_before FROM batch").fetchall()
            connection.close()
            assert len(set(rows)) == 1  # of the batch that was tried, and of the one held back
            pauses.append(rows[0][0] - clock.now)
        least = min(seconds, 86_400 / 1.25)
        # 25 draws lie within .4 of their range: below 5e-9.
        assert least <= min(pauses) and max(pauses) <= 1.25 * least
        assert max(pauses) - min(pauses) >= 0.1 * least


@pytest.mark.parametrize("text", ["soon", "-5", "1e3", "", "9" * 30, "٣"])
def test_a_retry_after_that_says_nothing(
    tmp_path: Path, collector: SmallCollector, text: str
) -> None:
    clock = Clock()
    device = answered(tmp_path, "1")
    # Headers are Latin-1 on their way.
    collector.replies.append(Reply(503, None, {"retry-after": text.encode().decode("latin-1")}))
    assert device.send(collector.url, patience=clock.patience()).stored == 1
    assert sum(clock.pauses) <= 1


def test_one_batch_that_must_wait_holds_no_other(tmp_path: Path, collector: SmallCollector) -> None:
    """An epoch that is not open yet, and a batch at which the collector fails."""
    clock = Clock()
    for reply in (Reply(425, "epoch-not-open", {"retry-after": "7200"}), Reply(500)):
        device = answered(tmp_path, f"{reply.status}-a", f"{reply.status}-b", f"{reply.status}-c")
        collector.replies.append(reply)
        made = device.send(collector.url, patience=clock.patience(1))
        assert (made.stored, made.waiting) == (2, 1)
        clock.now += 9000
        assert device.send(collector.url, patience=clock.patience(1)).waiting == 0


@pytest.mark.parametrize("problem", [problem for problem in Problem if problem.final])
def test_what_is_refused_is_dropped_and_says_why(
    tmp_path: Path, collector: SmallCollector, problem: Problem
) -> None:
    device = answered(tmp_path, "1", "2")
    collector.replies.append(Reply(problem.status, problem.value))
    made = device.send(collector.url)
    assert (made.stored, made.refused, made.waiting) == (1, 1, 0)
    reason = f"{problem.status:d} ({problem})"
    assert made.problems == (reason,)
    (refused,) = [batch for batch in device.batches() if batch.state == "refused"]
    assert refused.reason == reason and len(collector.uploads) == 2
    assert device.send(collector.url) == SendResult(0, 0, 0)
    # It stays paid, and is not made anew.
    assert device.answer(AGE, 1, epoch=refused.epoch).state == "refused"
    assert len(device.ledger.entries) == 2


FINAL = json.dumps({"type": Problem.CLOSED.urn}).encode()


@pytest.mark.parametrize(
    "reply",
    [
        *(Reply(problem.status, problem.value) for problem in Problem if not problem.final),
        # A proxy, a portal, a firewall: with a page of its own, or with a problem of its own.
        *(
            Reply(status, headers={"content-type": "text/html"}, body=b"<h1>No</h1>")
            for status in (401, 404, 410, 413, 502)
        ),
        Reply(404, headers=OWN, body=b'{"type": "about:blank", "title": "Not Found"}'),
        Reply(410, headers=OWN, body=b'{"type": "https://proxy.example/epoch-closed"}'),
        Reply(410, headers=OWN, body=b'{"type": ["urn:lapwing:problem:epoch-closed"]}'),
        Reply(410, headers=OWN, body=b'{"type": "urn:lapwing:problem:epoch-closed-2"}'),
        # The words of a collector without its status or its media type.
        Reply(404, headers=OWN, body=FINAL),
        Reply(410, headers={"content-type": "application/json"}, body=FINAL),
        Reply(410, body=FINAL),
    ],
    ids=lambda reply: f"{reply.status:d}-{reply.word or (reply.body or b'')[:24]!r}",
)
def test_any_other_answer_leaves_the_batch(
    tmp_path: Path, collector: SmallCollector, reply: Reply
) -> None:
    clock = Clock()
    device = answered(tmp_path, "1")
    collector.replies.append(reply)
    made = device.send(collector.url, patience=clock.patience(1))
    assert (made.stored, made.refused, made.waiting) == (0, 0, 1)
    assert made.problems[0].startswith(f"{reply.status:d}")
    assert device.send(collector.url, patience=clock.patience(1)).stored == 1
    first, second = (asked.body for asked in collector.uploads)
    assert first == second and len(device.ledger.entries) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, body=b"<html>Sign in to the airport</html>"),
        Reply(200, body=b'{"batch": "another"}'),
        Reply(201, body=b""),
        Reply(204, body=b""),
        Reply(302, headers={"location": "http://127.0.0.1:1/"}, body=b""),
        Reply(307, headers={"location": "/elsewhere"}, body=b""),
        Reply(200, body=b"[" * 100_000),
    ],
    ids=lambda reply: f"{reply.status}-{(reply.body or b'')[:8]!r}",
)
def test_only_a_collector_settles_a_batch(
    tmp_path: Path, collector: SmallCollector, reply: Reply
) -> None:
    device = answered(tmp_path, "1")
    collector.replies.append(reply)
    made = device.send(collector.url, patience=Patience(1))
    assert (made.stored, made.refused, made.waiting) == (0, 0, 1) and len(made.problems) == 1
    assert device.send(collector.url).stored == 1
    assert len({asked.path for asked in collector.uploads}) == 1


NAMED: list[tuple[str | None, dict[str, Any]]] = [
    ("text/html", {}),
    (None, {}),
    ("application/problem+json", {}),
    ("application/json+html", {}),
    ("application/json", {"batch": None}),
    ("application/json", {"state": "received"}),
    ("application/json", {"state": None}),
    ("application/json", {"state": ["stored"]}),
    ("application/json", {"reports": "1"}),
    ("application/json", {"reports": True}),
    ("application/json", {"reports": 0}),
]
"""Answers that name the batch, and are no collector's: media type, and what is another."""


@pytest.mark.parametrize(
    ("status", "kind", "changed"), [(200 + n % 2, *each) for n, each in enumerate(NAMED)]
)
def test_a_foreign_answer_that_names_the_batch_settles_nothing(
    tmp_path: Path,
    collector: SmallCollector,
    kind: str | None,
    changed: dict[str, Any],
    status: int,
) -> None:
    device = answered(tmp_path, "1")
    said = {"batch": device.batches()[0].id, "reports": 1, "state": "stored", **changed}
    headers = {} if kind is None else {"content-type": kind}
    collector.replies.append(Reply(status, headers=headers, body=json.dumps(said).encode()))
    made = device.send(collector.url, patience=Patience(1))
    assert (made.stored, made.refused, made.waiting) == (0, 0, 1)
    assert made.problems == (f"{collector.url} does not answer like a collector",)
    # The collector's own, even of a later version that says more.
    own = {"batch": said["batch"] or device.batches()[0].id, "reports": 1, "more": 1}
    body = json.dumps({**own, "state": "already stored"}).encode()
    typed = {"content-type": "Application/JSON; charset=utf-8"}
    collector.replies.append(Reply(200, headers=typed, body=body))
    assert device.send(collector.url).stored == 1


def test_a_collector_that_is_not_there(tmp_path: Path, collector: SmallCollector) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        clock = Clock()
        device = answered(tmp_path, "1", "2")
        made = device.send(nobody, patience=clock.patience(3))
        assert (made.stored, made.waiting) == (0, 2) and len(clock.pauses) == 2
        assert made.problems == (f"{nobody} cannot be reached (ConnectionRefusedError)",)
        with pytest.raises(CollectorError, match="cannot be reached"):
            device.fetch(nobody, AGE.fingerprint)
    assert device.send(collector.url).stored == 2


def test_answers_go_to_the_collector_that_asked(tmp_path: Path, collector: SmallCollector) -> None:
    collector.publish(AGE)
    device = Device.open(tmp_path, epsilon_cap=4, budget=20)
    device.answer(device.fetch(collector.url, AGE.fingerprint), 42, epoch="1")
    said = (f"1 answer waits for another collector: {collector.url}",)
    assert device.send("http://127.0.0.1:1", patience=Patience(1)) == SendResult(0, 0, 1, said)
    for survey, epoch in ((BITS, None), (AGE, "2")):  # of these, nothing waits anywhere
        made = device.send("http://127.0.0.1:1", survey=survey, epoch=epoch, patience=Patience(1))
        assert made.problems == ()
    # Two names of one machine may be two collectors.
    device.answer(AGE, 42, epoch="2")
    port = collector.url.rpartition(":")[2]
    made = device.send(f"http://localhost:{port}")
    assert (made.stored, made.waiting) == (0, 2) and collector.uploads == []
    assert made.problems == (f"2 answers wait for another collector: {collector.url}",)
    assert device.send(collector.url.upper() + "/") == SendResult(2, 0, 0)


def test_answers_of_several_collectors_are_sent_to_their_own(
    tmp_path: Path, collector: SmallCollector
) -> None:
    collector.publish(AGE)
    device = Device.open(tmp_path, epsilon_cap=4, budget=20)
    device.answer(device.fetch(collector.url, AGE.fingerprint), 42, epoch="1")
    with device.file.transaction() as connection:  # as a device of before wrote it
        connection.execute("UPDATE batch SET collector = upper(collector) || '/'")
    with small_collector() as other:
        other.publish(BITS)
        device.answer(device.fetch(other.url, BITS.fingerprint), 1, epoch="1")
        made = device.send(other.url)
        assert made.problems == (f"1 answer waits for another collector: {collector.url}",)
        assert made.stored == made.waiting == len(other.uploads) == 1
        assert device.send(collector.url) == SendResult(1, 0, 0)


def test_one_survey_or_one_epoch_is_sent_alone(tmp_path: Path, collector: SmallCollector) -> None:
    device = answered(tmp_path, "1", "2")
    answered(tmp_path, "1", survey=BITS)
    assert device.send(collector.url, survey=AGE, epoch="2") == SendResult(1, 0, 2)
    assert device.send(collector.url, survey=BITS).stored == 1
    assert device.send(collector.url, epoch="2") == SendResult(0, 0, 1)
    assert device.send(collector.url).stored == 1
    surveys = [(asked.epoch, Batch.from_bytes(asked.body).survey) for asked in collector.uploads]
    assert surveys == [("2", AGE.fingerprint), ("1", BITS.fingerprint), ("1", AGE.fingerprint)]


def test_an_upload_token_travels_with_its_batch(tmp_path: Path, collector: SmallCollector) -> None:
    device = Device.open(tmp_path, epsilon_cap=4, budget=20)
    device.answer(AGE, 42, epoch="1", upload_token=TOKEN)
    device.answer(AGE, 42, epoch="2")
    device.send(collector.url)
    found = {asked.epoch: asked.headers.get("authorization") for asked in collector.uploads}
    assert found == {"1": f"Bearer {TOKEN}", "2": None}
    connection = sqlite3.connect(device.file.path)
    assert connection.execute("SELECT count(token) FROM batch").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize(
    "numbers",
    [
        {"first": -1},
        {"first": float("nan")},
        {"longest": "1"},
        {"together": True},
        {"together": 1e9},
    ],
)
def test_patience_is_checked(numbers: dict[str, float]) -> None:
    with pytest.raises(ArgumentError):
        Patience(**numbers)


@pytest.mark.parametrize("rounds", [0, 101, 1.5, True])
def test_rounds_are_checked(rounds: int) -> None:
    with pytest.raises(ArgumentError, match="rounds"):
        Patience(rounds)
