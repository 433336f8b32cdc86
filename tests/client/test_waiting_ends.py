"""How a wait ends without a collector: a last day, a withdrawal, a division, a second try."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lapwing import Categories, RandomizedResponse, Reports, Survey, seeded
from lapwing.client import Device, Gateway, Patience
from lapwing.client.outbox import OutgoingBatch
from lapwing.errors import ArgumentError, MismatchError
from lapwing.protocol.messages.batch import Batch
from tests.client.small_collector import Reply, SmallCollector
from tests.client.test_sending import AGE, BITS, TOKEN, answered

COLORS = Survey(
    "colors", RandomizedResponse(Categories(["red", "blue"]), 1), segments=["north", "south"]
)
DAY = 86_400


def after(days: float) -> Patience:
    """One attempt at a time so many days from now."""
    clock = datetime.now(UTC).timestamp() + days * DAY
    return Patience(1, clock=lambda: clock)


def states(device: Device | Gateway) -> list[str]:
    return [batch.state for batch in device.batches()]


def colors(number: int) -> Reports:
    return COLORS.randomize(["red", "blue"] * (number // 2), rng=seeded(3))


def body_left(batch: OutgoingBatch, device: Device | Gateway) -> bool:
    with device.file.transaction() as connection:
        row = connection.execute("SELECT key, body FROM batch WHERE id = ?", (batch.id,)).fetchone()
        keys = connection.execute("SELECT key FROM report_key WHERE key != zeroblob(32)").fetchall()
    return row["body"] is not None or bool(keys)


def test_after_its_last_day_a_report_has_one_more_try(
    tmp_path: Path, collector: SmallCollector
) -> None:
    device = answered(tmp_path, "1", "2")
    (one, _) = device.batches()
    expected = datetime.now(UTC).date() + timedelta(days=60)
    assert abs(datetime.fromisoformat(one.last_day).date() - expected) <= timedelta(days=1)
    collector.replies.extend([Reply(404, "unknown-epoch")] * 2)
    assert device.send(collector.url, patience=after(0)).waiting == 2
    collector.ahead = 61 * DAY
    collector.replies.extend([Reply(404, "unknown-epoch")] * 2)
    assert device.send(collector.url, patience=after(59.9)).waiting == 2
    # The network says nothing of a report, and neither does a proxy, whatever the clock says.
    assert device.send("http://127.0.0.1:1", patience=after(61)).waiting == 2
    collector.replies.append(Reply(404, body=b"not here"))
    assert device.send(collector.url, patience=after(5000)).waiting == 2
    # Nor does the clock of the device alone, or a collector that says no date.
    for ahead in (59.9 * DAY, None):
        collector.ahead = ahead
        collector.replies.extend([Reply(404, "unknown-epoch")] * 2)
        assert device.send(collector.url, patience=after(5000)).waiting == 2
    collector.ahead = 60.1 * DAY
    collector.replies.extend([Reply(404, "unknown-epoch")] * 2)
    made = device.send(collector.url, patience=after(60.1))
    assert (made.expired, made.refused, made.waiting) == (2, 0, 0)
    assert states(device) == ["expired", "expired"]
    assert made.problems == ("404 (unknown-epoch)",)
    assert not any(body_left(batch, device) for batch in device.batches())
    # It stays paid and answered.
    assert device.answer(AGE, 1, epoch="1").state == "expired"
    assert len(device.ledger.entries) == 2


def test_a_clock_that_is_wrong_loses_nothing_where_the_collector_answers(
    tmp_path: Path, collector: SmallCollector
) -> None:
    device = answered(tmp_path, "1")
    assert device.send(collector.url, patience=after(5000)).stored == 1


@pytest.mark.parametrize("wrong", ["device", "collector"])
def test_no_wrong_clock_alone_ends_a_report(
    tmp_path: Path, collector: SmallCollector, wrong: str
) -> None:
    """Whatever one of the two clocks says, at each answer and when the report was made."""
    rnd, ended = random.Random(4), 0
    collector.before = lambda asked: collector.replies.append(Reply(404, "unknown-epoch"))
    for trace in range(8):
        device = answered(tmp_path / str(trace), "1")
        offsets = [0, 0, rnd.uniform(-300, 300), rnd.uniform(-20_000, 20_000)]
        if wrong == "device":
            with device.file.transaction() as connection:
                made = rnd.choice(offsets) * DAY
                connection.execute("UPDATE batch SET last = last + ?", (made,))
        day, first = 0.0, None
        for _ in range(10):
            day += rnd.uniform(0, 20)
            offset = rnd.choice(offsets)
            collector.ahead = (day + (offset if wrong == "collector" else 0)) * DAY
            patience = after(day + (offset if wrong == "device" else 0))
            was = len(collector.uploads)
            gone = device.send(collector.url, patience=patience).expired
            asked = len(collector.uploads) > was
            if gone:
                since = first if wrong == "device" else 0.0
                assert since is not None and day - since >= 60 - 1e-4
                ended += 1
                break
            first = day if first is None and asked else first
    assert ended > 2


def test_a_second_try_waits_as_long_again(tmp_path: Path, collector: SmallCollector) -> None:
    gateway, put = Gateway.open(tmp_path / "g.lapwing"), {"epoch": "1", "pile": "monday"}
    gateway.put(COLORS, colors(2), **put)
    collector.before = lambda asked: collector.replies.append(Reply(404, "unknown-epoch"))
    for day, states_then in ((0, "waiting"), (61, "expired")):
        collector.ahead = day * DAY
        gateway.send(collector.url, patience=after(day))
        assert states(gateway) == [states_then]
    Gateway.open(tmp_path / "g.lapwing", keep_days=1).put(COLORS, colors(2), **put, again=True)
    for day, states_then in ((61, "waiting"), (61.9, "waiting"), (62.1, "expired")):
        collector.ahead = day * DAY
        gateway.send(collector.url, patience=after(day))
        assert states(gateway) == [states_then]


def test_days_are_chosen(tmp_path: Path, collector: SmallCollector) -> None:
    device = Device.open(tmp_path, epsilon_cap=1, budget=2, keep_days=2)
    device.answer(AGE, 4, epoch="1")
    collector.replies.extend([Reply(404, "unknown-epoch"), Reply(503, "not-ready")])
    assert device.send(collector.url, patience=after(0)).waiting == 1
    collector.ahead = 2.1 * DAY
    assert device.send(collector.url, patience=after(2.1)).waiting == 1
    collector.replies.append(Reply(404, "unknown-epoch"))
    assert device.send(collector.url, patience=after(2.1)).expired == 1
    for days in (0, 3651, 1.5, True, "60"):
        with pytest.raises(ArgumentError, match="keep_days"):
            Device.open(tmp_path, epsilon_cap=1, budget=2, keep_days=days)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="keep_days"):
            Gateway.open(tmp_path / "new", keep_days=days)  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


def test_a_person_withdraws(tmp_path: Path, collector: SmallCollector) -> None:
    device = answered(tmp_path, "1", "2", "3")
    answered(tmp_path, "1", survey=BITS)
    spent = device.ledger.spent
    assert device.send(collector.url, survey=AGE, epoch="3").stored == 1
    assert device.withdraw(AGE, epoch="1") == 1
    assert device.withdraw(AGE.fingerprint, epoch="1") == device.withdraw(AGE, epoch="3") == 0
    assert device.withdraw(BITS) == 1 and device.withdraw(epoch="2") == 1
    assert device.withdraw() == 0 and not any(
        body_left(batch, device) for batch in device.batches()
    )
    assert sorted(states(device)) == ["stored", "withdrawn", "withdrawn", "withdrawn"]
    assert device.send(collector.url).stored == 0 and len(collector.uploads) == 1
    assert device.ledger.spent == spent
    assert device.answer(AGE, 9, epoch="1").state == "withdrawn"


@pytest.mark.parametrize(
    ("survey", "epoch", "said"),
    [
        (COLORS, None, f"survey {COLORS.fingerprint[:12]}"),
        (None, "w9", "epoch 'w9'"),
        (AGE, "w9", f"epoch 'w9' in survey {AGE.fingerprint[:12]}"),
        ("age", None, "64 lowercase hex digits"),
        (None, "W 9", "name of an epoch"),
    ],
)
def test_an_unknown_name_is_not_withdrawn(
    tmp_path: Path, survey: Survey | str | None, epoch: str | None, said: str
) -> None:
    device = answered(tmp_path, "1")
    with pytest.raises(ArgumentError, match=said):
        device.withdraw(survey, epoch=epoch)
    assert states(device) == ["waiting"]
    assert Device.open(tmp_path, epsilon_cap=4, budget=20).withdraw() == 1


def test_a_batch_that_is_too_large_is_sent_in_halves(
    tmp_path: Path, collector: SmallCollector
) -> None:
    """Also in segments, and when the collector takes one report at a time only."""
    gateway, reports = Gateway.open(tmp_path / "gateway.lapwing"), colors(6)
    put = {"epoch": "1", "pile": "monday", "segment": "south"}
    gateway.put(COLORS, reports, **put)
    collector.before = lambda asked: collector.replies.append(
        Reply(413, "too-large")
        if Batch.from_bytes(asked.body).reports > 1
        else Reply(425, "epoch-not-open")
    )
    for _ in range(4):
        gateway.send(collector.url, patience=Patience(1))
        # The same reports may be put again, in however many parts they are.
        gateway.put(COLORS, reports, **put)
    assert [batch.reports for batch in gateway.batches()] == [1] * 6
    assert [batch.first for batch in gateway.batches()] == list(range(6))
    collector.before = lambda asked: None
    assert gateway.send(collector.url, patience=Patience(1)).stored == 6
    order = {batch.id: batch.first for batch in gateway.batches()}
    stored = sorted(collector.stored, key=lambda id: order[id])
    batches = [Batch.from_bytes(collector.stored[id], segments=None) for id in stored]
    assert b"".join(batch.records for batch in batches) == reports.data.tobytes()
    assert {batch.segment for batch in batches} == {2}
    with pytest.raises(MismatchError):
        gateway.put(COLORS, colors(8), **put)


def test_the_413_of_a_proxy_divides_nothing(tmp_path: Path, collector: SmallCollector) -> None:
    gateway = Gateway.open(tmp_path / "gateway.lapwing")
    (batch,) = gateway.put(COLORS, colors(4), epoch="1", pile="a")
    collector.replies.append(
        Reply(413, headers={"content-type": "text/html"}, body=b"<h1>413</h1>")
    )
    assert gateway.send(collector.url, patience=Patience(1)).waiting == 1
    assert gateway.batches()[0].id == batch.id
    assert gateway.send(collector.url, patience=Patience(1)).stored == 1


@pytest.mark.parametrize("foreign", [Reply(0), Reply(502), Reply(404)])
def test_a_batch_that_met_somebody_else_first_is_divided_too(
    tmp_path: Path, collector: SmallCollector, foreign: Reply
) -> None:
    """A collector says "too large" of batches that it does not have, so nothing counts twice."""
    gateway = Gateway.open(tmp_path / "gateway.lapwing")
    gateway.put(COLORS, colors(4), epoch="1", pile="a")
    collector.replies.extend([foreign, Reply(413, "too-large")])
    for waiting in (1, 2):
        assert gateway.send(collector.url, patience=Patience(1)).waiting == waiting
    assert gateway.send(collector.url, patience=Patience(1)).stored == 2
    assert len(collector.stored) == 2


def test_a_gateway_sends_a_refused_group_again(tmp_path: Path, collector: SmallCollector) -> None:
    gateway, reports = Gateway.open(tmp_path / "gateway.lapwing"), colors(20_000)
    first = gateway.put(COLORS, reports, epoch="1", pile="a")
    assert len(first) == 3
    # Two of three: one refused after an answer that got lost, one refused at once.
    collector.replies.extend([Reply(0, stored=True), Reply(410, "epoch-closed")])
    made = gateway.send(collector.url, patience=Patience(1))
    assert (made.refused, made.waiting) == (0, 3)
    collector.replies.extend([Reply(410, "epoch-closed"), Reply(410, "epoch-closed")])
    made = gateway.send(collector.url, patience=Patience(1))
    assert (made.stored, made.refused, made.waiting) == (0, 3, 0)
    assert sorted(states(gateway)) == ["refused"] * 3
    assert gateway.put(COLORS, reports, epoch="1", pile="a") == gateway.batches()
    with pytest.raises(MismatchError):
        gateway.put(COLORS, colors(20_002), epoch="1", pile="a", again=True)
    again = gateway.put(COLORS, reports, epoch="1", pile="a", again=True)
    assert [batch.id for batch in again] == [batch.id for batch in first]
    assert gateway.send(collector.url, patience=Patience(1)).stored == 3
    # The lost answer's batch is stored once, because it kept its identifier.
    assert len(collector.stored) == 3
    assert gateway.put(COLORS, reports, epoch="1", pile="a", again=True)[0].state == "stored"


def listing(collector: SmallCollector, *, invited: bool = False) -> None:
    more = ', "invited": true' if invited else ""
    epochs = ", ".join(
        f'{{"name": "{name}", "state": "{state}"}}'
        for name, state in {"w1": "closed", "w2": "grace", "w3": "open", "w4": "planned"}.items()
    )
    path = f"/v1/surveys/{AGE.fingerprint}/epochs"
    collector.documents[path] = f'{{"epochs": [{epochs}]{more}}}'.encode()


def test_what_the_collector_listed_is_known_before_the_payment(
    tmp_path: Path, collector: SmallCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing(collector)
    device = Device.open(tmp_path, epsilon_cap=1, budget=9)
    device.answer(AGE, 4, epoch="w0")  # without a list any name may come to be
    assert [epoch.name for epoch in device.epochs(collector.url, AGE)] == ["w1", "w2", "w3", "w4"]
    for epoch, said in (("w1", "no new answers"), ("w2", "no new answers"), ("w5", "listed no")):
        with pytest.raises(ArgumentError, match=said):
            device.answer(AGE, 4, epoch=epoch)
    assert len(device.ledger.entries) == 1
    device.answer(AGE, 4, epoch="w3")
    device.answer(AGE, 4, epoch="w4")
    assert device.answer(AGE, 4, epoch="w0").charged is None  # it was answered before
    import lapwing.client.device as module

    tomorrow = module.time.time() + DAY + 1
    monkeypatch.setattr(module.time, "time", lambda: tomorrow)
    assert device.answer(AGE, 4, epoch="w5").state == "waiting"


def test_an_epoch_that_asks_another_text_is_known_before_the_payment(
    tmp_path: Path, collector: SmallCollector
) -> None:
    path = f"/v1/surveys/{AGE.fingerprint}/epochs"
    for text, refused in ((AGE.text_fingerprint, False), ("0" * 64, True)):
        row = {"name": f"w{refused:d}", "state": "open", "text": text}
        collector.documents[path] = json.dumps({"epochs": [row]}).encode()
        device = Device.open(tmp_path, epsilon_cap=1, budget=9)
        device.epochs(collector.url, AGE)
        if refused:
            with pytest.raises(MismatchError, match="asks a different text"):
                device.answer(AGE, 4, epoch="w1")
        else:
            device.answer(AGE, 4, epoch="w0")
    assert len(device.ledger.entries) == 1


def test_a_survey_of_invited_people_needs_a_token_before_the_payment(
    tmp_path: Path, collector: SmallCollector
) -> None:
    listing(collector, invited=True)
    device = Device.open(tmp_path, epsilon_cap=1, budget=9)
    device.epochs(collector.url, AGE)
    with pytest.raises(ArgumentError, match="from invited people only"):
        device.answer(AGE, 4, epoch="w3")
    for wrong in ("", "lwu_short", TOKEN + "a", "lwa_" + 43 * "a", f"{TOKEN}\n", 7):
        with pytest.raises(ArgumentError, match="lwu_ and 43 more"):
            device.answer(AGE, 4, epoch="w3", upload_token=wrong)  # type: ignore[arg-type]
    assert not device.ledger.entries and not device.batches()
    device.answer(AGE, 4, epoch="w3", upload_token=TOKEN)


def test_a_token_that_comes_later_goes_out_with_the_report_that_waits(
    tmp_path: Path, collector: SmallCollector
) -> None:
    device = answered(tmp_path, "1")
    collector.replies.append(Reply(401, "upload-token-needed"))
    assert device.send(collector.url, patience=Patience(1)).waiting == 1
    (waits,), spent = device.batches(), device.ledger.spent
    for wrong in ("", "lwu_short", f"{TOKEN}\n"):
        with pytest.raises(ArgumentError, match="lwu_ and 43 more"):
            device.answer(AGE, 4, epoch="1", upload_token=wrong)
    for token in ("lwu_" + 43 * "z", TOKEN):  # the last one counts
        again = device.answer(AGE, 90, epoch="1", upload_token=token)
        assert (again.batch, again.state, again.charged) == (waits.id, "waiting", None)
    device.answer(AGE, 90, epoch="1")  # takes no token away
    assert device.ledger.spent == spent
    assert device.send(collector.url, patience=Patience(1)).stored == 1
    first, second = collector.uploads
    assert "authorization" not in first.headers
    assert second.headers["authorization"] == f"Bearer {TOKEN}"
    assert (first.path, first.body) == (second.path, second.body)
    # The collector has it, so it needs no token.
    assert device.answer(AGE, 4, epoch="1", upload_token=TOKEN).state == "stored"


def test_a_token_for_a_report_that_ended_is_refused(
    tmp_path: Path, collector: SmallCollector
) -> None:
    device = answered(tmp_path, "1", "2")
    device.withdraw(AGE, epoch="1")
    collector.replies.append(Reply(410, "epoch-closed"))
    device.send(collector.url)
    for epoch, state in (("1", "withdrawn"), ("2", "refused")):
        with pytest.raises(ArgumentError, match=f"is {state}, so no upload token can be stored"):
            device.answer(AGE, 4, epoch=epoch, upload_token=TOKEN)
        assert device.answer(AGE, 4, epoch=epoch).state == state
    with device.file.transaction() as connection:
        rows = connection.execute("SELECT token FROM batch").fetchall()
    assert [row["token"] for row in rows] == [None, None]
