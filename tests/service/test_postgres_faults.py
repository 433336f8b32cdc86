"""What may befall a PostgreSQL that collectors share: restarts, two at once, other tables."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from lapwing.errors import ArgumentError, FormatError, StoreError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.storage.driver import FOLDER, Transaction, migrations
from lapwing.service.storage.opening import PostgresStore, open_store
from lapwing.service.storage.postgres_driver import PostgresTransaction
from lapwing.service.storage.sql_store import Place
from lapwing.service.storage.store import ALREADY, STORED, Upload, Verdict
from tests.service.postgres_server import PostgresServer
from tests.service.uploading import COUNTED, LABELS, counts, fold, publish, upload

pytestmark = pytest.mark.service

FP = LABELS.fingerprint


@pytest.fixture
def address(postgres_server: PostgresServer) -> str:
    return postgres_server.new_database()


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_is_restarted_under_load_loses_nothing(
    postgres_server: PostgresServer, address: str, how: str
) -> None:
    store = PostgresStore(address)
    publish(store, COUNTED)
    numbers = count()
    acknowledged: list[int] = []
    away = threading.Event()
    back = threading.Event()
    enough = threading.Event()
    wrong: list[BaseException] = []

    def device() -> None:
        try:
            while not back.is_set() or acknowledged[-1:] < [end]:
                code = next(numbers)
                if code >= 8192:
                    return
                mine = upload([code], COUNTED)
                while True:  # it sends the same bytes until they are counted
                    try:
                        (outcome,) = store.store([mine])
                    except StoreError:
                        away.set()
                        assert back.wait(60)
                        continue
                    assert outcome.verdict in (STORED, ALREADY)
                    acknowledged.append(code)
                    if len(acknowledged) >= 30:
                        enough.set()
                    break
        except BaseException as error:
            wrong.append(error)
            away.set()

    end = 8192
    threads = [threading.Thread(target=device) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    postgres_server.stop(how=how)
    assert away.wait(60)
    postgres_server.start()
    end = next(numbers) + 30
    back.set()
    for thread in threads:
        thread.join()
    assert not wrong
    found = counts(store, COUNTED)
    assert {code for code, number in enumerate(found) if number} == set(acknowledged)
    assert max(found) == 1 and len(set(acknowledged)) == len(acknowledged)
    fold(store)
    assert counts(store, COUNTED) == found
    store.close()


def test_collectors_share_a_database(address: str) -> None:
    one, other = PostgresStore(address), PostgresStore(address)
    publish(one, COUNTED)
    uploads = [upload([code], COUNTED) for code in range(120)]
    verdicts: list[Verdict] = []
    wrong: list[BaseException] = []

    def send(store: PostgresStore, mine: list[Upload]) -> None:
        try:
            for start in range(0, len(mine), 3):
                outcomes = store.store(mine[start : start + 3])
                verdicts.extend(outcome.verdict for outcome in outcomes)
                store.fold(everything=True)
        except BaseException as error:
            wrong.append(error)

    # Both get every batch, as when a proxy repeats what it sends.
    threads = [
        threading.Thread(target=send, args=(one, uploads)),
        threading.Thread(target=send, args=(other, uploads)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sorted(verdicts) == [ALREADY] * 120 + [STORED] * 120
    for store in (one, other):
        assert counts(store, COUNTED) == [1] * 120 + [0] * (8192 - 120)
    one.set_epoch_state(COUNTED.fingerprint, "w1", "closed")
    (outcome,) = other.store([upload([200], COUNTED)])
    assert outcome.verdict is Problem.CLOSED
    one.close()
    other.close()


def waits(server: PostgresServer, call: Callable[[], object], holding: PostgresStore) -> bool:
    """Return whether a call waits for a lock that another store's open transaction holds."""
    done = threading.Event()

    def run() -> None:
        try:
            call()
        finally:
            done.set()

    thread = threading.Thread(target=run)
    with holding._driver.writing() as transaction:
        held = holding._met(transaction, FP, "w1")
        assert isinstance(held, Place)
        number = held.epoch << 16  # of the group without a segment
        transaction.rows(holding._driver.fold_lock, number)
        thread.start()
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        found = False
        while not done.is_set() and not found:
            found = bool(asyncio.run(server.ask(waiting)))
    thread.join()
    return found


def test_an_epoch_is_not_closed_between_a_look_at_it_and_the_commit(
    postgres_server: PostgresServer, address: str
) -> None:
    one, other = PostgresStore(address), PostgresStore(address)
    publish(one)
    closing = partial(other.set_epoch_state, FP, "w1", "closed")
    assert waits(postgres_server, closing, one)
    assert not waits(postgres_server, lambda: other.store([upload([1])]), one)
    one.close()
    other.close()


def test_a_batch_that_two_collectors_store_at_one_moment_is_counted_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = PostgresStore(address), PostgresStore(address)
    publish(one)
    sent = upload([1])
    known = PostgresTransaction.stored_digests
    meanwhile: list[Verdict] = []

    def late(self: PostgresTransaction, epoch: int, ids: list[bytes]) -> dict[bytes, bytes]:
        """Find nothing, whereupon the other collector stores it."""
        found = known(self, epoch, ids)
        if not meanwhile:
            meanwhile.append(STORED)
            assert [outcome.verdict for outcome in one.store([sent])] == meanwhile
        return found

    monkeypatch.setattr(PostgresTransaction, "stored_digests", late)
    assert [outcome.verdict for outcome in other.store([sent])] == [ALREADY]
    assert meanwhile and counts(one)[1] == counts(other)[1] == 1
    one.close()
    other.close()


def test_a_group_is_folded_by_one_collector_at_a_time(
    postgres_server: PostgresServer, address: str
) -> None:
    one, other = PostgresStore(address), PostgresStore(address)
    publish(one)
    other.store([upload([1])])
    assert waits(postgres_server, partial(other.fold, everything=True), one)
    assert counts(one)[1] == 1
    one.close()
    other.close()


def test_an_unknown_version_is_refused(postgres_server: PostgresServer, address: str) -> None:
    PostgresStore(address).close()
    schema = address.rpartition("=")[2]
    asyncio.run(postgres_server.ask(f"UPDATE {schema}.lapwing_version SET version = 99"))
    newest = len(migrations())
    with pytest.raises(
        FormatError, match=f"version 99, but this software supports versions up to {newest}"
    ):
        open_store(address)


def test_an_interrupted_migration_is_as_if_it_had_not_begun(address: str, tmp_path: Path) -> None:
    store = PostgresStore(address)
    publish(store)
    store.store([upload([1])])
    store.close()
    folder = tmp_path / "migrations"
    shutil.copytree(FOLDER, folder)
    newest = len(migrations()) + 1
    step = folder / f"{newest:04}_added.sql"
    step.write_text("CREATE TABLE added (x BIGINT);\nSELECT 1 / 0;\n")
    with pytest.raises(StoreError):
        PostgresStore(address, migrations=folder)
    store = PostgresStore(address)
    assert counts(store)[1] == 1
    store.close()
    step.write_text("CREATE TABLE added (x BIGINT);\n")
    store = PostgresStore(address, migrations=folder)
    assert counts(store)[1] == 1
    store.close()
    with pytest.raises(FormatError, match=f"version {newest}"):
        PostgresStore(address)


def test_a_server_that_is_not_there_is_said_without_its_address(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be reached") as raised:
        PostgresStore(f"postgresql://me:secret@/postgres?host={tmp_path}")
    assert "secret" not in str(raised.value) and str(tmp_path) not in str(raised.value)


def test_its_own_tools_back_it_up(address: str, tmp_path: Path) -> None:
    store = PostgresStore(address)
    with pytest.raises(ArgumentError, match="pg_dump"):
        store.backup(tmp_path / "x")
    assert store.check() == []
    store.close()


def test_a_commit_waits_for_the_disk(postgres_server: PostgresServer, address: str) -> None:
    schema = address.rpartition("=")[2]
    store = PostgresStore(f"{address}&synchronous_commit=off")
    with store._driver.writing() as transaction:
        assert transaction.rows("SHOW synchronous_commit")[0][0] == "on"
        assert transaction.rows("SHOW search_path")[0][0] == schema
    store.close()


def test_an_upload_token_is_good_for_one_batch_of_two_collectors(address: str) -> None:
    store, other = PostgresStore(address), PostgresStore(address)
    publish(store, upload="tokens")
    token = b"m" * 32
    store.add_upload_tokens(FP, [token])
    asked = store._token
    heard: list[Verdict] = []

    def meanwhile(transaction: Transaction, survey: int, digest: bytes) -> bool | None:
        used = asked(transaction, survey, digest)
        if not heard:
            heard.append(other.store([upload([2], token=token)])[0].verdict)
        return used

    store._token = meanwhile  # type: ignore[method-assign]
    found = store.store([upload([1], token=token)])[0].verdict
    assert (heard, found) == ([STORED], Problem.UPLOAD_TOKEN_USED)
    assert sum(counts(store)) == counts(store)[2] == 1
    for each in (store, other):
        each.close()
