"""A survey's state goes to another collector and is the same there; a damaged file is none."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.documents import canonical
from lapwing.errors import ArgumentError, FormatError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.storage.opening import SqliteStore
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import (
    ALREADY,
    STORED,
    EpochState,
    Refused,
    StoredEpoch,
    StoredSurvey,
    UploadTokens,
)
from tests.damaged_documents import mutants
from tests.service.uploading import (
    HASHED,
    LABELS,
    SEGMENTED,
    codes,
    counts,
    fold,
    publish,
    upload,
)

FP = SEGMENTED.fingerprint

MUTANTS = 20
"""Ways in which each line of a file is damaged."""


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(tmp_path / "target.db")
    yield store
    store.close()


def filled(store: Store) -> list[Any]:
    """Fill a store with everything that a survey can have; return its uploads."""
    publish(store, SEGMENTED, upload="tokens")
    store.add_upload_tokens(FP, [bytes([number] * 32) for number in range(4)])
    store.put_epoch(FP, StoredEpoch("w2", "open", opens=5, closes=10, grace_seconds=60))
    uploads = [
        upload([1, 2], SEGMENTED, segment=1, token=bytes(32)),
        upload([3], SEGMENTED, token=bytes([1] * 32)),
        upload([4], SEGMENTED, epoch="w2", segment=2, token=bytes([2] * 32)),
    ]
    assert [outcome.verdict for outcome in store.store(uploads[:2])] == [STORED] * 2
    fold(store)
    store.store(uploads[2:])
    store.add_refused(FP, [Refused("w1", "busy", 3)])
    store.set_epoch_state(FP, "w1", "closed")
    return uploads


def test_a_state_is_the_same_elsewhere(store: Store, target: Store) -> None:
    uploads = filled(store)
    written = b"".join(store.export(FP))
    # However it is cut into pieces.
    assert target.import_([written[at : at + 7] for at in range(0, len(written), 7)]) == FP
    assert target.surveys() == store.surveys() and target.epochs(FP) == store.epochs(FP)
    assert target.totals(FP) == store.totals(FP) and target.refused(FP) == store.refused(FP)
    assert target.upload_tokens(FP) == UploadTokens(unused=1, used=3)
    for epoch in ("w1", "w2"):
        assert counts(target, SEGMENTED, epoch=epoch) == counts(store, SEGMENTED, epoch=epoch)
    found = [outcome.verdict for outcome in target.store(uploads)]
    assert found == [Problem.CLOSED, Problem.CLOSED, ALREADY]
    fold(target)
    with target._driver.reading() as transaction:
        assert not transaction.rows("SELECT * FROM deltas")
    assert counts(target, SEGMENTED, segment="DE")[1:3] == [1, 1]
    with pytest.raises(ArgumentError, match="already exists here"):
        target.import_([written])
    again = [json.loads(line) for line in target.export(FP)][:-1]
    first = [json.loads(line) for line in written.splitlines()][:-1]
    assert [line for line in again if "rows" not in line] == [
        line for line in first if "rows" not in line
    ]


@pytest.mark.parametrize("state", ["open", "grace"])
def test_what_comes_again_elsewhere_is_counted_once(
    store: Store, target: Store, state: EpochState
) -> None:
    publish(store, SEGMENTED)
    sent = upload([3], SEGMENTED)
    assert store.store([sent])[0].verdict == STORED
    store.set_epoch_state(FP, "w1", state)
    target.import_(store.export(FP))
    assert target.store([sent])[0].verdict == ALREADY
    assert counts(target, SEGMENTED) == counts(store, SEGMENTED)


def test_the_text_of_each_epoch_goes_along(store: Store, target: Store) -> None:
    publish(store, SEGMENTED)
    store.set_epoch_state(FP, "w1", "closed")
    changed = replace(SEGMENTED, question="Another?")
    stored = StoredSurvey(FP, canonical(changed.to_document()))
    store.add_epoch(stored, StoredEpoch("w2", "open", opens=1), now=1)
    written = list(store.export(FP))
    assert sum(b"text_version" in line for line in written) == 1
    target.import_(written)
    assert [epoch.text_version for epoch in target.epochs(FP)] == [0, 1]
    assert target.notices(FP) == store.notices(FP)
    target.delete_survey(FP)
    # A file without the text that an epoch asked is refused.
    lines = [json.loads(line) for line in written if b'{"notices"' not in line][:-1]
    with pytest.raises(FormatError, match="lacks a text that people were asked"):
        target.import_(sealed(lines))
    assert target.surveys() == []


def test_names_of_deleted_epochs_go_along(store: Store, target: Store) -> None:
    publish(store, SEGMENTED)
    assert not any(b'"ended"' in line for line in store.export(FP))
    store.put_epoch(FP, StoredEpoch("w2"))
    store.delete_epoch(FP, "w1")
    written = list(store.export(FP))
    assert b'{"ended":["w1"]}\n' in written
    target.import_(written)
    assert target.epochs(FP) == [StoredEpoch("w2")]
    with pytest.raises(ArgumentError, match="would count the reports sent to the first again"):
        target.put_epoch(FP, StoredEpoch("w1"))
    target.delete_survey(FP)
    lines = [json.loads(line) for line in written][:-1]
    for damaged in ("w1", [1], ["W1"], {"w1": 1}):
        with pytest.raises(FormatError):
            target.import_(sealed([*lines[:-1], {"ended": damaged}]))
    # What an older collector has written holds no such line.
    assert target.import_(sealed(lines[:-1])) == FP
    with pytest.raises(ArgumentError, match="would count the reports sent to the first again"):
        target.put_epoch(FP, StoredEpoch("w1"))


def test_a_log_is_the_same_elsewhere(store: Store, target: Store) -> None:
    publish(store, HASHED)
    for _ in range(3):
        store.store([upload([5, 6], HASHED)])
        fold(store)
    store.store([upload([7], HASHED)])
    target.import_(store.export(HASHED.fingerprint))
    assert codes(target, HASHED) == codes(store, HASHED) == [5, 5, 5, 6, 6, 6, 7]


@pytest.mark.parametrize("survey", [SEGMENTED, HASHED])
def test_the_look_that_is_shown_goes_along(store: Store, target: Store, survey: lw.Survey) -> None:
    publish(store, survey)
    fingerprint = survey.fingerprint
    store.store([upload([3] * 1000, survey, segment=1 if survey.segments else 0)])
    look = store.look(fingerprint, "w1", now=7200)
    assert look is not None and look.total == 1000 and look.hour == 7200
    store.store([upload([4] * 999, survey)])
    assert store.look(fingerprint, "w1", now=7200) == look
    for folded in range(2):
        written = [json.loads(line) for line in store.export(fingerprint)][:-1]
        target.import_(sealed(written))
        again = target.look(fingerprint, "w1", now=99_999)
        assert again is not None and again._replace(epoch=look.epoch) == look
        for shown in (True, False):
            tally = store.tally(fingerprint, "w1", shown=shown)
            assert target.tally(fingerprint, "w1", shown=shown) == tally
            assert tally.total == (1000 if shown else 1999)
        target.delete_survey(fingerprint)
        fold(target)
        while folded == 0 and store.fold(everything=True):
            pass
        with target._driver.writing() as transaction:
            for table in ("looks", "look_segments", "folded", "deltas"):
                assert not transaction.rows(f"SELECT * FROM {table}")
            transaction.run("DELETE FROM ended")
    (line,) = (line for line in written if "look" in line)
    for changed, match in (
        ([one for one in written if "look" not in one], "rows of a look must come after it"),
        ([*written[:3], line, *written[3:]], "may have a look, which comes before its rows"),
        (
            [one for one in written if not one.get("rows", {}).get("look")],
            "same number of reports as",
        ),
    ):
        refused(target, changed, match)


def test_what_comes_while_it_is_written_is_not_in_it(store: Store, target: Store) -> None:
    publish(store, SEGMENTED)
    store.store([upload([1], SEGMENTED)])
    chunks = store.export(FP)
    written = [next(chunks)]
    store.store([upload([2], SEGMENTED)])
    fold(store)
    target.import_([*written, *chunks])
    assert counts(target, SEGMENTED)[1:3] == [1, 0] and counts(store, SEGMENTED)[1:3] == [1, 1]


def sealed(lines: list[Any]) -> list[bytes]:
    written = [
        line
        if isinstance(line, bytes)
        else json.dumps(line, separators=(",", ":")).encode() + b"\n"
        for line in lines
    ]
    end = {"lines": len(written), "sha256": sha256(b"".join(written)).hexdigest()}
    return [*written, json.dumps({"end": end}).encode() + b"\n"]


def test_a_damaged_file_changes_nothing(tmp_path: Path, target: Store) -> None:
    source = SqliteStore(tmp_path / "source.db")
    filled(source)
    lines = list(source.export(FP))
    source.close()
    documents = [json.loads(line) for line in lines[:-1]]
    broken: list[list[bytes]] = [lines[:count] for count in range(len(lines))]
    broken += [[*lines[:place], *lines[place + 1 :]] for place in range(len(lines))]
    broken += [[*lines, b"{}\n"], [*lines, lines[-1]], [b"not JSON\n"], [b"[]\n"], [b""]]
    for place in range(0, len(b"".join(lines)), 37):
        flipped = bytearray(b"".join(lines))
        flipped[place] ^= 1
        broken.append([bytes(flipped)])
    for change in (
        {"version": 2},
        {"format": "other"},
        {"state": "odd"},
        {"minimum": 0},
        {"upload": "?"},
    ):
        broken.append(sealed([{**documents[0], **change}, *documents[1:]]))
    for line in (
        {"epoch": {"name": "w1"}},
        {"epoch": "w9"},
        {"rows": {"segment": "IT", "reports": 1, "form": "records", "body": "AAA="}},
        {"rows": {"segment": "DE", "reports": 2, "form": "records", "body": "AAA="}},
        {"rows": {"segment": "DE", "reports": 1, "form": "records", "body": "//8="}},
        {"rows": {"segment": "DE", "reports": 1, "form": "counts", "body": "AAA="}},
        {"rows": {"segment": "DE", "reports": "1", "form": "records", "body": "AAA="}},
        {"batches": {"ids": "AAA=", "digests": "AAA="}},
        {"batches": {"ids": 5, "digests": "AAA="}},
        {"refused": {"epoch": "w1", "reason": 1, "number": 1}},
        {"upload_tokens": {"unused": ["xx"], "used": []}},
        {"unknown": 1},
        {},
    ):
        broken.append(sealed([*documents, line]))
        broken.append(sealed([documents[0], line]))
    for chunks in broken:
        with pytest.raises(FormatError):
            target.import_(chunks)
        assert target.surveys() == []
    assert target.import_(lines) == FP


def refused(target: Store, lines: list[Any], match: str) -> None:
    """Check that a file which is whole is refused for what it says, and nothing of it is kept."""
    with pytest.raises(FormatError, match=match):
        target.import_(sealed(lines))
    with target._driver.reading() as transaction:
        for table in ("surveys", "epochs", "ledger", "deltas", "folded", "refused", "ended"):
            assert not transaction.rows(f"SELECT * FROM {table}")


def test_a_file_of_nothing_but_its_end_is_refused(target: Store) -> None:
    refused(target, [], "contains no survey, only its end")


BITS = lw.Survey("bits", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(4), 1))


def test_rows_that_no_randomizer_can_give_are_refused(store: Store, target: Store) -> None:
    publish(store, BITS)
    publish(store, HASHED)
    publish(store)
    store.store([upload([1], survey) for survey in (BITS, HASHED, LABELS)])
    bits, log, labels = (
        [json.loads(line) for line in store.export(survey.fingerprint)][:-1]
        for survey in (BITS, HASHED, LABELS)
    )

    def rows(body: bytes, *, reports: int, form: str) -> dict[str, Any]:
        text = b64encode(body).decode()
        return {"rows": {"segment": "other", "reports": reports, "form": form, "body": text}}

    def counted(*numbers: int) -> bytes:
        return np.array(numbers, dtype="<i8").tobytes()

    # Bit 0 was set in two of one report; 65 labels of 64; one report, of which two were counted.
    for lines, body, reports, form in (
        (bits, counted(1, 2, 0, 0, 0), 1, "counts"),
        (bits, counted(1, -1, 0, 0, 0), 1, "counts"),
        (bits, counted(2**62, 0, 0, 0, 0), 2**62, "counts"),
        (bits, bytes([16]), 1, "records"),
        (labels, bytes([64]), 1, "records"),
        (labels, counted(1, *[1] * 64), 1, "counts"),
        (labels, counted(*[0] * 65), 0, "counts"),
        (labels, b"", 0, "records"),
        (log, b"", 0, "records"),
        (log, b"\xff" * 7, 1, "records"),
        (log, counted(1), 1, "counts"),
    ):
        (place,) = (number for number, line in enumerate(lines) if "rows" in line)
        changed = [*lines[:place], rows(body, reports=reports, form=form), *lines[place + 1 :]]
        refused(target, changed, f"line {place + 1} of the file")


def test_lines_that_no_collector_writes_are_refused(store: Store, target: Store) -> None:
    filled(store)
    store.put_epoch(FP, StoredEpoch("w3"))
    lines = [json.loads(line) for line in store.export(FP)][:-1]
    for place, line in enumerate(lines[1:], 1):
        if "rows" not in line:  # two equal rows are as many reports again
            refused(target, [*lines[:place], line, *lines[place:]], f"line {place + 2} of the file")
    row = next(line for line in lines if "rows" in line)
    batches = next(line for line in lines if "batches" in line)
    w2, w3 = (
        next(n for n, line in enumerate(lines) if line.get("epoch", {}).get("name") == name)
        for name in ("w2", "w3")
    )
    many = {"batches": {key: b64encode(bytes(range(64))).decode() for key in ("ids", "digests")}}
    for changed, match in (
        ([*lines[: w3 + 1], row, *lines[w3 + 1 :]], "epoch w3 .* has not opened"),
        ([*lines[:w2], batches, *lines[w2:]], "epoch w1 .* is closed"),
        ([line for line in lines if "batches" not in line], "epoch w2 .* list the batches"),
        ([many if "batches" in line else line for line in lines], "epoch w2 .* list the batches"),
        ([*lines, {"ended": ["w8", "w8"]}], "deleted epoch must be named once"),
        ([*lines, {"refused": {"epoch": "w1", "reason": "\x00", "number": 1}}], "a reason"),
        ([*lines, {"refused": {"epoch": "w1", "reason": "r", "number": 10**30}}], "one is larger"),
    ):
        refused(target, changed, match)
    for deep in (90, 3000, 300_000):
        nested = b'{"ended":' + b"[" * deep + b"]" * deep + b"}\n"
        refused(target, [*lines, nested], f"line {len(lines) + 1} of the file")
    assert target.import_(sealed(lines)) == FP


def test_a_message_about_a_file_holds_no_report(store: Store, target: Store) -> None:
    publish(store)
    store.store([upload([42], LABELS)])
    lines = [json.loads(line) for line in store.export(LABELS.fingerprint)][:-1]
    (row,) = (line["rows"] for line in lines if "rows" in line)
    row["body"] = b64encode(b"\xfe").decode()
    with pytest.raises(FormatError) as caught:
        target.import_(sealed(lines))
    assert "254" not in str(caught.value) and row["body"] not in str(caught.value)
    assert "at position 0" in str(caught.value)


def test_whatever_is_damaged_is_refused_or_is_a_state_again(tmp_path: Path, target: Store) -> None:
    source = SqliteStore(tmp_path / "source.db")
    filled(source)
    lines = [json.loads(line) for line in source.export(FP)][:-1]
    source.close()
    for place, line in enumerate(lines):
        if place == 0:
            line = {**line, "survey": {}}  # a survey's document is damaged in tests of its own
        for mutant in mutants(line, most=MUTANTS, seed=place):
            damaged = mutant if place else {**mutant, "survey": lines[0]["survey"]}
            try:
                written = sealed([*lines[:place], damaged, *lines[place + 1 :]])
            except (TypeError, ValueError, RecursionError):
                continue  # it cannot be written as JSON at all
            try:
                target.import_(written)
            except FormatError:
                assert target.surveys() == []
                continue
            assert target.check() == []
            again = b"".join(target.export(FP))
            target.delete_survey(FP)
            fold(target)
            with target._driver.writing() as transaction:
                transaction.run("DELETE FROM ended")
            target.import_([again])
            target.delete_survey(FP)
            with target._driver.writing() as transaction:
                transaction.run("DELETE FROM ended")
