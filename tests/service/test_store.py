"""What a store promises, held to it over SQLite and over PostgreSQL alike."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lapwing.documents import canonical
from lapwing.errors import ArgumentError, FormatError, NotStoredError, StoreError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.problems import Problem
from lapwing.service.catalog import Catalog
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import (
    ALREADY,
    STORED,
    AccessToken,
    Outcome,
    Refused,
    StoredEpoch,
    StoredSurvey,
    Total,
    Upload,
    UploadTokens,
    Verdict,
)
from tests.service.uploading import (
    HASHED,
    LABELS,
    LARGE,
    SEGMENTED,
    codes,
    counts,
    fold,
    new_id,
    publish,
    upload,
)

FP = LABELS.fingerprint


def verdicts(outcomes: list[Outcome]) -> list[Verdict]:
    return [outcome.verdict for outcome in outcomes]


def nonzero(found: list[int]) -> dict[int, int]:
    return {code: number for code, number in enumerate(found) if number}


def test_reports_are_counted_once(store: Store) -> None:
    publish(store)
    first, second = upload([1, 2, 2]), upload([63])
    assert verdicts(store.store([first, second])) == [STORED, STORED]
    assert verdicts(store.store([second, first])) == [ALREADY, ALREADY]
    assert nonzero(counts(store)) == {1: 1, 2: 2, 63: 1}
    assert store.totals(FP) == [Total("w1", "other", 4)]


def test_an_id_with_other_bytes_is_refused(store: Store) -> None:
    publish(store)
    first = upload([1])
    store.store([first])
    for changed in (upload([2], id=first.id), upload([1, 1], id=first.id)):
        assert verdicts(store.store([changed])) == [Problem.CHANGED]
    assert nonzero(counts(store)) == {1: 1}


def test_a_group_behaves_as_its_uploads_one_after_another(store: Store) -> None:
    publish(store)
    first = upload([5])
    wrong = upload([200, 5], id=first.id)
    group = [wrong, first, first, upload([6], id=first.id), upload([7])]
    assert verdicts(store.store(group)) == [
        Problem.REFUSED,
        STORED,
        ALREADY,
        Problem.CHANGED,
        STORED,
    ]
    assert nonzero(counts(store)) == {5: 1, 7: 1}


def test_one_id_in_two_epochs_is_two_batches(store: Store) -> None:
    publish(store)
    store.put_epoch(FP, StoredEpoch("w2"))
    store.set_epoch_state(FP, "w2", "open")
    first = upload([5])
    again = first._replace(epoch="w2")
    assert verdicts(store.store([first, again])) == [STORED, STORED]
    assert nonzero(counts(store)) == nonzero(counts(store, epoch="w2")) == {5: 1}


def test_wrong_reports_are_named_and_the_others_counted(store: Store) -> None:
    publish(store)
    mixed = [64 if place in (3, 700) else place % 64 for place in range(1000)]
    good, bad = upload([1, 2]), upload(mixed)
    outcomes = store.store([good, bad, upload([3])])
    assert verdicts(outcomes) == [STORED, Problem.REFUSED, STORED]
    assert [place for place, _ in outcomes[1].refused] == [3, 700]
    assert {reason for _, reason in outcomes[1].refused} == {"every report must be a code in 0..63"}
    assert nonzero(counts(store)) == {1: 1, 2: 1, 3: 1}
    # It was refused whole, so its id is free.
    assert verdicts(store.store([upload([9], id=bad.id)])) == [STORED]


def test_a_batch_of_wrong_reports_only_names_a_hundred(store: Store) -> None:
    publish(store)
    (outcome,) = store.store([upload([255] * 65_536)])
    assert [place for place, _ in outcome.refused] == list(range(100))
    (outcome,) = store.store([upload([*[0] * 65_535, 99])])
    assert [place for place, _ in outcome.refused] == [65_535]


def test_reports_of_another_width_are_refused(store: Store) -> None:
    publish(store)
    wide = Upload(FP, "w1", new_id(), Batch(FP, 0, b"\0\0\0\0", 2))
    outcomes = store.store([upload([1]), wide])
    assert verdicts(outcomes) == [STORED, Problem.REFUSED]
    assert outcomes[1].refused == ((0, "every report must have 1 bytes, but these have 2"),)


def test_epochs_only_go_forward(store: Store) -> None:
    publish(store)
    store.put_epoch(FP, StoredEpoch("w2", opens=100, closes=200, grace_seconds=60))
    assert verdicts(store.store([upload([1], epoch="w2")])) == [Problem.NOT_OPEN]
    assert verdicts(store.store([upload([1], epoch="w3")])) == [Problem.UNKNOWN_EPOCH]
    assert verdicts(store.store([upload([1], LARGE)])) == [Problem.UNKNOWN_SURVEY]
    store.set_epoch_state(FP, "w2", "open")
    kept = upload([1], epoch="w2")
    assert verdicts(store.store([kept])) == [STORED]
    store.set_epoch_state(FP, "w2", "grace")
    assert verdicts(store.store([upload([2], epoch="w2")])) == [STORED]
    with pytest.raises(ArgumentError, match="that is grace cannot become open again"):
        store.set_epoch_state(FP, "w2", "open")
    store.set_epoch_state(FP, "w2", "closed")
    store.set_epoch_state(FP, "w2", "closed")
    changed = kept._replace(batch=upload([2]).batch)
    again = [kept, upload([3], epoch="w2"), changed]
    assert verdicts(store.store(again)) == [ALREADY, Problem.CLOSED, Problem.CLOSED]
    with pytest.raises(ArgumentError, match="closed epoch cannot be changed"):
        store.put_epoch(FP, StoredEpoch("w2", closes=999))
    store.drop_lists(259)
    fold(store)
    assert verdicts(store.store([kept])) == [ALREADY]
    assert table_sizes(store)["ledger"] == 2
    store.drop_lists(260)
    fold(store)
    assert verdicts(store.store([kept])) == [Problem.CLOSED]
    assert table_sizes(store)["ledger"] == table_sizes(store)["dropped"] == 0
    assert nonzero(counts(store, epoch="w2")) == {1: 1, 2: 1}
    assert store.epochs(FP) == [
        StoredEpoch("w1", "open"),
        StoredEpoch("w2", "closed", opens=100, closes=200, grace_seconds=60),
    ]


def test_times_may_change_until_it_closes_and_the_state_stays(store: Store) -> None:
    publish(store)
    assert not store.put_epoch(FP, StoredEpoch("w1", "planned", closes=9))
    assert store.epochs(FP) == [StoredEpoch("w1", "open", closes=9)]
    with pytest.raises(ArgumentError, match="opens cannot be changed"):
        store.put_epoch(FP, StoredEpoch("w1", "planned", opens=5, closes=9))
    assert store.put_epoch(FP, StoredEpoch("w2", "planned", opens=5))
    store.set_epoch_state(FP, "w2", "open")
    assert not store.put_epoch(FP, StoredEpoch("w2", "planned", closes=9))
    assert store.epochs(FP)[-1] == StoredEpoch("w2", "open", opens=5, closes=9)


@pytest.mark.parametrize("name", ["", "W1", "-a", "a b", "a" * 65, "ü", "a/b"])
def test_names_of_epochs_are_checked(store: Store, name: str) -> None:
    publish(store)
    with pytest.raises(ArgumentError, match="name of an epoch"):
        store.put_epoch(FP, StoredEpoch(name))


def test_a_draft_is_unknown_and_a_retired_survey_closed(store: Store) -> None:
    document = canonical(LABELS.to_document())
    wanted = StoredSurvey(FP, document, minimum=5, upload="tokens", retention_days=30)
    assert store.add_survey(wanted)
    assert not store.add_survey(replace(wanted, minimum=7))
    assert store.surveys() == [wanted]
    store.put_epoch(FP, StoredEpoch("w1", "open"))
    assert verdicts(store.store([upload([1])])) == [Problem.UNKNOWN_SURVEY]
    store.set_survey_state(FP, "retired")
    assert verdicts(store.store([upload([1])])) == [Problem.CLOSED]
    with pytest.raises(ArgumentError, match="that is retired cannot become published"):
        store.set_survey_state(FP, "published")


def test_a_survey_comes_with_its_epoch_or_not_at_all(store: Store) -> None:
    stored = StoredSurvey(FP, canonical(LABELS.to_document()), minimum=5)
    store.add_epoch(stored, StoredEpoch("w1", "open", opens=1), now=1)
    assert store.surveys() == [replace(stored, state="published")]
    assert verdicts(store.store([upload([1])])) == [STORED]
    store.add_epoch(replace(stored, minimum=7), StoredEpoch("w2", "open", opens=1), now=1)
    assert [epoch.name for epoch in store.epochs(FP)] == ["w1", "w2"]
    assert store.surveys()[0].minimum == 5
    with pytest.raises(ArgumentError, match="already has an epoch"):
        store.add_epoch(stored, StoredEpoch("w2", "open", opens=1), now=1)
    store.delete_survey(FP)
    # The name of the epoch is refused after the survey was inserted: that goes, too.
    with pytest.raises(ArgumentError, match="was deleted"):
        store.add_epoch(stored, StoredEpoch("w1", "open", opens=1), now=1)
    assert store.surveys() == []
    store.add_survey(replace(stored, state="retired"))
    with pytest.raises(ArgumentError, match="retired cannot become published"):
        store.add_epoch(stored, StoredEpoch("w3", "open", opens=1), now=1)
    assert store.epochs(FP) == []


def test_an_epoch_keeps_the_text_that_it_asks(store: Store) -> None:
    one, two = (
        StoredSurvey(FP, canonical(replace(LABELS, question=text).to_document()))
        for text in ("One?", "Two?")
    )
    store.add_epoch(one, StoredEpoch("w1", "open", opens=1), now=1)
    for state in ("open", "grace"):
        store.set_epoch_state(FP, "w1", state)
        with pytest.raises(
            ArgumentError, match="cannot change while one of its epochs can be answered"
        ):
            store.set_notice(two, now=2)
        with pytest.raises(ArgumentError, match="cannot change while"):
            store.add_epoch(two, StoredEpoch("w2", "open", opens=2), now=2)
    assert [epoch.name for epoch in store.epochs(FP)] == ["w1"]
    assert not store.set_notice(one, now=2)
    store.set_epoch_state(FP, "w1", "closed")
    store.put_epoch(FP, StoredEpoch("w2"))
    with pytest.raises(ArgumentError, match="delete the planned ones"):
        store.set_notice(two, now=3)
    store.delete_epoch(FP, "w2")
    assert store.set_notice(two, now=3)
    # In the same second as the change, which no time tells apart.
    store.put_epoch(FP, StoredEpoch("w3", "open", opens=3))
    store.set_epoch_state(FP, "w3", "closed")
    store.add_epoch(one, StoredEpoch("w4", opens=9), now=3)
    store.set_epoch_state(FP, "w4", "open")
    assert [epoch.text_version for epoch in store.epochs(FP)] == [0, 1, 2]
    assert [former.text["question"] for former in store.notices(FP)] == ["One?", "Two?"]


def test_the_question_of_memoized_reports_stays(store: Store) -> None:
    """They answer the first one, whatever a later epoch asks."""
    first = replace(LABELS, question="Which?", owner="Lab", remembered=True)
    same, other, none = (
        StoredSurvey(first.fingerprint, canonical(replace(first, **said).to_document()))
        for said in ({"owner": "Office"}, {"question": "Whose?"}, {"question": None})
    )
    stored = replace(same, document=canonical(first.to_document()))
    store.add_epoch(stored, StoredEpoch("w1", "open", opens=1), now=1)
    store.set_epoch_state(first.fingerprint, "w1", "closed")
    for wrong in (other, none):
        with pytest.raises(ArgumentError, match="a survey with another name"):
            store.set_notice(wrong, now=2)
        with pytest.raises(ArgumentError, match="a survey with another name"):
            store.add_epoch(wrong, StoredEpoch("w2", "open", opens=2), now=2)
    assert store.set_notice(same, now=2)


def test_a_draft_says_what_it_says_when_its_epoch_opens(store: Store) -> None:
    """Its epochs may open by the clock before it is published. People see its last text alone."""
    one, two, three = (
        StoredSurvey(FP, canonical(replace(LABELS, question=text).to_document()))
        for text in ("One?", "Two?", "Three?")
    )
    store.add_survey(one)
    for name in ("w1", "w2"):
        store.put_epoch(FP, StoredEpoch(name))
    store.set_epoch_state(FP, "w1", "open")
    assert store.set_notice(two, now=1) and store.set_notice(three, now=2)
    store.set_epoch_state(FP, "w2", "open")
    store.set_survey_state(FP, "published")
    catalog = Catalog(store)
    catalog.load()
    kept = catalog.get(FP)
    assert kept is not None and kept.notices == []
    assert {kept.text_of(epoch) for epoch in kept.epochs.values()} == {kept.survey.text_fingerprint}


def test_a_survey_is_what_its_fingerprint_says(store: Store) -> None:
    with pytest.raises(FormatError, match="a different fingerprint"):
        store.add_survey(StoredSurvey(FP, canonical(LARGE.to_document())))
    with pytest.raises(FormatError, match="survey"):
        store.add_survey(StoredSurvey(FP, b"{}"))
    assert store.surveys() == []


def test_what_is_not_there_is_said(store: Store) -> None:
    for ask in (
        lambda: store.epochs(FP),
        lambda: store.totals(FP),
        lambda: store.tally(FP, "w1"),
        lambda: store.delete_survey(FP),
        lambda: store.put_epoch(FP, StoredEpoch("w1")),
        lambda: store.add_refused(FP, [Refused("w1", "busy", 1)]),
        lambda: list(store.export(FP)),
    ):
        with pytest.raises(NotStoredError, match="no survey"):
            ask()
    publish(store)
    for ask in (
        lambda: store.tally(FP, "w9"),
        lambda: store.set_epoch_state(FP, "w9", "open"),
        lambda: store.delete_epoch(FP, "w9"),
    ):
        with pytest.raises(NotStoredError, match="no epoch"):
            ask()


def test_segments_have_tallies_of_their_own(store: Store) -> None:
    publish(store, SEGMENTED)
    sent = [
        upload([299], SEGMENTED),
        upload([1], SEGMENTED, segment=1),
        upload([2, 2], SEGMENTED, segment=2),
        upload([3], SEGMENTED, segment=3),  # the survey has two
    ]
    assert verdicts(store.store(sent)) == [STORED] * 4
    for _ in range(2):
        assert nonzero(counts(store, SEGMENTED)) == {299: 1, 1: 1, 2: 2, 3: 1}
        assert nonzero(counts(store, SEGMENTED, segment="DE")) == {1: 1}
        assert nonzero(counts(store, SEGMENTED, segment="FR")) == {2: 2}
        assert nonzero(counts(store, SEGMENTED, segment="other")) == {299: 1, 3: 1}
        found = store.totals(SEGMENTED.fingerprint)
        assert found == [Total("w1", "other", 2), Total("w1", "DE", 1), Total("w1", "FR", 2)]
        fold(store)
    with pytest.raises(ArgumentError, match="'DE', 'FR', 'other'"):
        store.tally(SEGMENTED.fingerprint, "w1", segment="IT")


def test_logs_keep_every_report(store: Store) -> None:
    publish(store, HASHED)
    reports = HASHED.randomize([7] * 500, rng=seeded(3))
    parts = [reports[start : start + 50] for start in range(0, 500, 50)]
    for part in parts:
        made = Batch.of(part, survey=HASHED.fingerprint)
        store.store([Upload(HASHED.fingerprint, "w1", new_id(), made)])
        fold(store)
    truth = HASHED.tally(reports)
    assert store.tally(HASHED.fingerprint, "w1") == truth
    assert codes(store, HASHED) == truth.codes.tolist()


def test_a_log_goes_on_in_another_row_when_one_is_full(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.service.storage.counting.RUN_BYTES", 40)
    publish(store, HASHED)
    for code in range(30):
        store.store([upload([code], HASHED)])
        fold(store)
    width = HASHED.randomizer.report_width
    with store._driver.reading() as transaction:
        rows = transaction.rows("SELECT part, reports FROM folded ORDER BY part")
    full = -(-40 // width)
    assert [tuple(row) for row in rows] == [
        (part, min(full, 30 - start)) for part, start in enumerate(range(0, 30, full))
    ]
    assert codes(store, HASHED) == list(range(30))


def test_what_one_fold_cannot_take_waits_for_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.service.storage.counting.MOST_ROWS", 4)
    monkeypatch.setattr("lapwing.service.storage.counting.MOST_BYTES", 6)
    publish(store)
    for code in range(10):
        store.store([upload([code, code, code])])
    folds = 0
    while store.fold(everything=True):
        folds += 1
        assert counts(store)[:11] == [3] * 10 + [0]
    assert folds >= 5 and table_sizes(store)["deltas"] == 0
    assert counts(store)[:11] == [3] * 10 + [0]


def test_enough_is_folded_without_being_asked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.service.storage.sql_store.MOST_ROWS", 5)
    publish(store)
    for code in range(5):
        assert not store.fold() and table_sizes(store)["deltas"] == code
        store.store([upload([code])])
    assert store.fold() and table_sizes(store)["deltas"] == 0
    assert counts(store)[:6] == [1] * 5 + [0]


def test_an_empty_epoch_has_an_empty_tally(store: Store) -> None:
    publish(store)
    publish(store, HASHED)
    assert store.tally(FP, "w1").total == store.tally(HASHED.fingerprint, "w1").total == 0
    assert store.totals(FP) == []
    assert store.tally(FP, "w1").survey == FP


def test_folding_changes_no_answer(store: Store) -> None:
    publish(store, LARGE)
    rng = np.random.default_rng(1)
    truth = np.zeros(65_536, dtype=np.int64)
    for number in range(12):
        # Also batches whose counts are shorter than their records.
        drawn = rng.integers(0, 65_536, 300_000 // 5 if number % 4 == 3 else 50)
        truth += np.bincount(drawn, minlength=65_536)
        store.store([upload(drawn.tolist(), LARGE)])
        if number % 3 == 1:
            store.fold()
        if number % 5 == 4:
            fold(store)
    assert np.array_equal(counts(store, LARGE), truth)
    fold(store)
    assert np.array_equal(counts(store, LARGE), truth)
    assert store.check() == []


def test_counts_shorter_than_records_are_what_is_stored(store: Store) -> None:
    publish(store)
    store.store([upload([place % 64 for place in range(6400)])])
    with store._driver.reading() as transaction:
        rows = transaction.rows("SELECT reports, form, LENGTH(body) FROM deltas")
    assert [tuple(row) for row in rows] == [(6400, 1, 8 * 65)]
    assert set(counts(store)) == {100}


def test_an_upload_token_is_good_for_one_batch(store: Store) -> None:
    publish(store, upload="tokens")
    mine, yours = b"m" * 32, b"y" * 32
    store.add_upload_tokens(FP, [mine, yours])
    store.add_upload_tokens(FP, [mine])
    first = upload([1], token=mine)
    assert (
        verdicts(store.store([upload([1]), upload([1], token=b"?" * 32)]))
        == [Problem.UPLOAD_TOKEN_NEEDED] * 2
    )
    # A refused batch spends no token.
    group = [upload([99], token=mine), first, upload([2], token=mine), first]
    assert verdicts(store.store(group)) == [
        Problem.REFUSED,
        STORED,
        Problem.UPLOAD_TOKEN_USED,
        ALREADY,
    ]
    assert verdicts(store.store([first, upload([2], token=mine), upload([3], token=yours)])) == [
        ALREADY,
        Problem.UPLOAD_TOKEN_USED,
        STORED,
    ]
    assert store.upload_tokens(FP) == UploadTokens(unused=0, used=2)
    store.add_upload_tokens(FP, [mine])  # does not make it good again
    assert verdicts(store.store([upload([2], token=mine)])) == [Problem.UPLOAD_TOKEN_USED]


def test_access_tokens_are_kept_by_their_hashes(store: Store) -> None:
    tokens = [AccessToken(b"a" * 32, "admin", "first"), AccessToken(b"b" * 32, "analyst", "ann")]
    for token in tokens:
        store.add_access_token(token)
    assert store.access_tokens() == tokens
    assert store.delete_access_token(b"a" * 32) and not store.delete_access_token(b"a" * 32)
    assert store.access_tokens() == tokens[1:]


def test_refused_uploads_are_counted_by_reason(store: Store) -> None:
    publish(store)
    store.add_refused(FP, [Refused("w1", "busy", 2), Refused("", "unknown-epoch", 1)])
    store.add_refused(FP, [Refused("w1", "busy", 3)])
    assert store.refused(FP) == [Refused("", "unknown-epoch", 1), Refused("w1", "busy", 5)]


def test_a_deleted_epoch_leaves_nothing(store: Store) -> None:
    publish(store)
    first = upload([1])
    store.store([first])
    store.add_refused(FP, [Refused("w1", "busy", 2)])
    store.delete_epoch(FP, "w1")
    assert store.epochs(FP) == store.totals(FP) == store.refused(FP) == []
    fold(store)
    assert table_sizes(store) == {"ledger": 0, "deltas": 0, "folded": 0, "dropped": 0}
    assert verdicts(store.store([first])) == [Problem.EPOCH_DELETED]
    assert verdicts(store.store([upload([1], epoch="w9")])) == [Problem.UNKNOWN_EPOCH]


def test_a_deleted_survey_leaves_nothing(store: Store) -> None:
    publish(store, upload="tokens")
    store.add_upload_tokens(FP, [b"m" * 32])
    store.store([upload([1], token=b"m" * 32)])
    store.delete_survey(FP)
    assert store.surveys() == []
    fold(store)
    with store._driver.reading() as transaction:
        for table in ("surveys", "epochs", "ledger", "deltas", "folded", "upload_tokens"):
            assert not transaction.rows(f"SELECT * FROM {table}"), table
    publish(store, epoch="w2")
    assert verdicts(store.store([upload([1], epoch="w2")])) == [STORED]


def table_sizes(store: Store) -> dict[str, int]:
    with store._driver.reading() as transaction:
        return {
            table: int(transaction.rows(f"SELECT COUNT(*) FROM {table}")[0][0])
            for table in ("ledger", "deltas", "folded", "dropped")
        }


def test_a_long_list_of_batches_is_dropped_in_stretches(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.service.storage.survey_rows._DROPPED_ROWS", 10)
    publish(store)
    store.store([upload([1]) for _ in range(35)])
    store.put_epoch(FP, StoredEpoch("w1", closes=99))
    store.drop_lists(99)  # an open epoch needs its own
    store.set_epoch_state(FP, "w1", "closed")
    fold(store)
    for _ in range(2):
        store.drop_lists(99)
    left = [table_sizes(store)["ledger"]]
    while store.fold(everything=True):
        left.append(table_sizes(store)["ledger"])
    assert left[:3] == [35, 25, 15] and left[-1] == 0 and table_sizes(store)["dropped"] == 0
    assert nonzero(counts(store)) == {1: 35}


def test_it_is_there_when_opened_again(opening: Callable[[], Store]) -> None:
    store = opening()
    publish(store)
    first = upload([1])
    store.store([first])
    store.close()
    store.close()
    with pytest.raises(StoreError):
        store.store([upload([2])])
    with pytest.raises(StoreError):
        store.surveys()
    again = opening()
    assert verdicts(again.store([first])) == [ALREADY]
    assert nonzero(counts(again)) == {1: 1}
    again.close()


def test_threads_share_a_store(store: Store) -> None:
    publish(store)
    wrong: list[BaseException] = []

    def send(code: int) -> None:
        try:
            for _ in range(10):
                mine = upload([code])
                assert verdicts(store.store([mine])) == [STORED]
                assert counts(store)[code] >= 1
                store.fold(everything=True)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=send, args=(code,)) for code in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert nonzero(counts(store)) == dict.fromkeys(range(4), 10)
