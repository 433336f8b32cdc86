"""A device answers the text that the person agreed to, and no other under the same fingerprint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.client import Device, Gateway, Patience
from lapwing.errors import ArgumentError, CollectorError, MismatchError
from tests.client.small_collector import Reply, SmallCollector
from tests.vectors.text_vectors import BATCH, EPOCH

TEA = lw.Survey(
    "s",
    lw.RandomizedResponse(lw.Categories(["no", "yes"]), 1),
    question="Do you like tea?",
    owner="Tea club",
)
OTHER = replace(TEA, question="Did you ever steal?", owner="Somebody else")
CAFE = replace(TEA, question="Do you like the caf\u00e9?")
RAPPOR = lw.randomizers.Rappor(lw.Interval(0, 100, bins=16), 1, lifetime=2)


def opened(folder: Path) -> Device:
    return Device.open(folder, epsilon_cap=2, budget=10)


@contextmanager
def serving(*surveys: lw.Survey) -> Iterator[tuple[str, list[lw.Survey]]]:
    """Serve the first of a list of surveys, by a real server; nothing when the list is empty."""
    shown = [*surveys]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if shown else 404)
            body = shown[0].to_json().encode() if shown else b"{}"
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", shown
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "swapped",
    [
        OTHER,
        replace(TEA, owner=None),
        replace(TEA, question=None, owner=None),
        replace(TEA, question="Do you like tea\u037e"),  # the Greek question mark
    ],
)
def test_a_second_question_in_an_answered_epoch_is_an_error(
    tmp_path: Path, swapped: lw.Survey
) -> None:
    device = opened(tmp_path)
    first = device.answer(TEA, "yes", epoch="e1")
    with pytest.raises(MismatchError, match=r"epoch e1 .* answered under another text"):
        device.answer(swapped, "no", epoch="e1")
    with pytest.raises(MismatchError, match="epoch e1"):  # whatever is agreed to later
        device.answer(swapped, "no", epoch="e1", text=swapped.text_fingerprint)
    again = opened(tmp_path).answer(TEA, "no", epoch="e1")
    assert (again.batch, again.charged) == (first.batch, None)
    assert device.ledger.spent.epsilon == 1


def test_another_text_in_a_later_epoch_needs_agreement(tmp_path: Path) -> None:
    device = opened(tmp_path)
    device.answer(TEA, "yes", epoch="e1")
    with pytest.raises(MismatchError, match=rf"pass text='{OTHER.text_fingerprint}'"):
        device.answer(OTHER, "no", epoch="e2")
    with pytest.raises(MismatchError, match=f"text {TEA.text_fingerprint[:12]} was agreed to"):
        device.answer(OTHER, "no", epoch="e2", text=TEA.text_fingerprint)
    with pytest.raises(ArgumentError, match="64 lowercase hex digits"):
        device.answer(OTHER, "no", epoch="e2", text="yes")
    assert device.ledger.spent.epsilon == 1 and len(device.batches()) == 1
    device.answer(OTHER, "no", epoch="e2", text=OTHER.text_fingerprint)
    # From now on that is the text, and the former one needs agreement.
    device.answer(OTHER, "no", epoch="e3")
    with pytest.raises(MismatchError):
        device.answer(TEA, "no", epoch="e4")
    assert [batch.notice for batch in device.batches()] == [TEA.notice, OTHER.notice, OTHER.notice]
    assert device.answer(TEA, "no", epoch="e1").charged is None


def test_a_silent_survey_is_a_text_like_any_other(tmp_path: Path) -> None:
    device, silent = opened(tmp_path), replace(TEA, question=None, owner=None)
    device.answer(silent, "yes", epoch="e1")
    assert device.answer(silent, "no", epoch="e1").charged is None
    for epoch in ("e1", "e2"):
        with pytest.raises(MismatchError):
            device.answer(TEA, "yes", epoch=epoch)


def test_a_pinned_text_is_fetched_and_no_other(tmp_path: Path) -> None:
    with serving(TEA) as (url, shown):
        device = opened(tmp_path)
        with pytest.raises(MismatchError, match=f"text {OTHER.text_fingerprint[:12]}"):
            device.fetch(url, TEA.fingerprint, text=OTHER.text_fingerprint)
        assert device.fetch(url, TEA.fingerprint, text=TEA.text_fingerprint) == TEA
        shown[:] = [OTHER]
        for text in (None, TEA.text_fingerprint):
            with pytest.raises(MismatchError):
                device.fetch(url, TEA.fingerprint, text=text)
        # Nothing was replaced, and the copy stands in where the collector gives none.
        shown.clear()
        assert device.fetch(url, TEA.fingerprint) == TEA
        with pytest.raises(MismatchError):
            device.fetch(url, TEA.fingerprint, text=OTHER.text_fingerprint)
        shown[:] = [OTHER]
        assert device.fetch(url, TEA.fingerprint, text=OTHER.text_fingerprint) == OTHER
        assert device.fetch(url, TEA.fingerprint) == OTHER
        device.answer(OTHER, "yes", epoch="e2")
        shown.clear()
        assert device.fetch(url, TEA.fingerprint) == OTHER
        with pytest.raises(CollectorError):
            opened_elsewhere(tmp_path).fetch(url, TEA.fingerprint)


def opened_elsewhere(folder: Path) -> Device:
    (folder / "elsewhere").mkdir()
    return opened(folder / "elsewhere")


def test_text_that_only_looks_the_same_is_another_text(tmp_path: Path) -> None:
    decomposed = replace(CAFE, question="Do you like the cafe\u0301?")
    assert decomposed.text_fingerprint != CAFE.text_fingerprint
    device = opened(tmp_path)
    device.answer(CAFE, "yes", epoch="e1")
    for epoch in ("e1", "e2"):
        with pytest.raises(MismatchError):
            device.answer(decomposed, "yes", epoch=epoch)


VECTORS = Path(__file__).parent.parent / "vectors" / "v1"
CASES = json.loads((VECTORS / "texts.json").read_text())["texts"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_an_upload_names_the_text_that_was_answered(
    tmp_path: Path, collector: SmallCollector, case: dict[str, Any]
) -> None:
    """As in the vectors, of a device and of a gateway, at each try."""
    survey = lw.Survey.from_document(case["survey"])
    device = opened(tmp_path)
    device.answer(survey, 5, epoch=EPOCH)
    gateway = Gateway.open(tmp_path / "gateway.lapwing")
    gateway.put(survey, survey.randomize([1, 2]), epoch=EPOCH, pile="monday")
    # Whatever the person agrees to before it is sent.
    later = replace(survey, question="And now?")
    device.answer(later, 5, epoch="later", text=later.text_fingerprint)
    device.withdraw(epoch="later")
    collector.replies.append(Reply(404, "unknown-epoch"))
    assert device.send(collector.url, patience=Patience(1)).waiting == 1
    assert device.send(collector.url).stored == 1
    collector.replies.append(Reply(413, "too-large"))
    gateway.send(collector.url, patience=Patience(1))
    assert gateway.send(collector.url).waiting == 0 and len(gateway.batches()) == 2
    texts = {(batch.epoch, batch.text) for batch in (*device.batches(), *gateway.batches())}
    assert texts == {(EPOCH, case["text_fingerprint"]), ("later", later.text_fingerprint)}
    assert len(collector.uploads) == 5
    for asked in collector.uploads:
        assert asked.path.replace(asked.batch, BATCH) == case["upload"]


def test_a_batch_group_has_one_text(tmp_path: Path) -> None:
    gateway = Gateway.open(tmp_path / "gateway.lapwing")
    reports = TEA.randomize(["yes", "no"])
    (batch,) = gateway.put(TEA, reports, epoch="e1", pile="monday")
    with pytest.raises(MismatchError, match="another text"):
        gateway.put(OTHER, reports, epoch="e1", pile="monday")
    assert gateway.put(TEA, reports, epoch="e1", pile="monday") == [batch]
    (other,) = gateway.put(OTHER, reports, epoch="e1", pile="tuesday")
    assert (batch.text, other.text) == (TEA.text_fingerprint, OTHER.text_fingerprint)


@pytest.mark.parametrize(
    "randomizer",
    [lw.SquareWave(lw.Interval(0, 100, bins=16), 1), RAPPOR],
    ids=["report", "round"],
)
@pytest.mark.parametrize("asked", [None, "How long, in ms?"])
def test_a_memoized_report_answers_no_other_question(
    tmp_path: Path, randomizer: Any, asked: str | None
) -> None:
    """It would be counted as the answer to a question that nobody was asked."""
    unit = None if asked is None else "ms"
    report = randomizer is not RAPPOR
    first = lw.Survey("wait", randomizer, question=asked, measured_in=unit, remembered=report)
    device = opened(tmp_path)
    device.answer(first, 40, epoch="one")
    for other in (replace(first, question="How long, in s?"), replace(first, measured_in="s")):
        spent = device.ledger.spent
        with pytest.raises(MismatchError, match="in a new survey"):
            device.answer(other, 0.04, epoch="two", text=other.text_fingerprint)
        assert len(device.batches()) == 1 and device.ledger.spent == spent
    renamed = replace(first, owner="Another office")
    device.answer(renamed, 40, epoch="two", text=renamed.text_fingerprint)
    assert len(device.batches()) == 2
