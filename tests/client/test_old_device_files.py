"""Files of version 1 become files of this version, and nothing of what they told is left."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

import lapwing.client.device_file as device_file
from lapwing import Categories, Guarantee, RandomizedResponse, Rappor, Survey, seeded
from lapwing.client import Device, Gateway
from lapwing.client.outbox import Outbox
from lapwing.errors import PrivacyError
from lapwing.privacy.ledger import Ledger
from lapwing.protocol.messages.batch import Batch
from tests.client import old_device_file as old

RAPPOR = Rappor(Categories(300), 1, lifetime=2)
HABIT = Survey("habit", RAPPOR)
UNFETCHED = Survey("unfetched", RAPPOR)
CHANGED = Survey("changed", RAPPOR)
KEPT = Survey("kept", RandomizedResponse(Categories(300), 1), remembered=True)
BUDGET = Guarantee(20, 0, "replace-one", "local")
ROUNDS = {(HABIT, 7): 3, (UNFETCHED, 211): 1, (CHANGED, 5): 2, (CHANGED, 9): 1}
REMEMBERED = KEPT.randomize([3], rng=seeded(1))
SENT, WAITING = (
    Batch.of(KEPT.randomize([value], rng=seeded(2)), survey=KEPT.fingerprint) for value in (1, 2)
)


def write(folder: Path) -> Ledger:
    spent = RAPPOR.charge(3)
    assert spent is not None
    ledger = Ledger(BUDGET).spend("habit (w1)", spent)
    old.write(
        folder / "device.lapwing",
        ledger,
        rounds=ROUNDS,
        remembered={KEPT: REMEMBERED},
        fetched=(HABIT, CHANGED),
        batches=(("b" * 32, "w1", "", SENT, "stored"), ("c" * 32, "w2", "", WAITING, "waiting")),
    )
    return ledger


def opened(folder: Path, *, cap: int = 4) -> Device:
    return Device.open(folder, epsilon_cap=cap, budget=BUDGET)


def test_what_is_remembered_goes_on(tmp_path: Path) -> None:
    ledger = write(tmp_path)
    device = opened(tmp_path)
    assert device.ledger == ledger
    states = [(batch.id, batch.epoch, batch.state) for batch in device.batches()]
    assert states == [("b" * 32, "w1", "stored"), ("c" * 32, "w2", "waiting")]
    with closing(sqlite3.connect(device.file.path)) as connection:
        rows = connection.execute("SELECT round, tag, reports, earlier FROM permanent_round")
        found = set(rows.fetchall())
        (kept,) = connection.execute("SELECT report FROM remembered_report").fetchone()
    assert found == {
        (old.permanent_round(HABIT, 7), None, 3, 0),
        (None, None, 0, 1),
        (None, None, 0, 2),
    }
    assert kept == REMEMBERED.data.tobytes()
    charged = device.answer(HABIT, 100, epoch="w2").charged
    assert charged == RAPPOR.charge(1, after=3)
    assert device.answer(KEPT, 100, epoch="w2").charged is None


def test_a_round_that_could_not_be_carried_over_counts_in_the_cap(tmp_path: Path) -> None:
    """The document of this survey is not in the file; two rounds cost two lifetimes."""
    write(tmp_path)
    with pytest.raises(PrivacyError, match="at most epsilon 3"):
        opened(tmp_path, cap=3).answer(UNFETCHED, 211, epoch="w2")
    assert opened(tmp_path).answer(UNFETCHED, 8, epoch="w2").charged == RAPPOR.charge(1)
    again = opened(tmp_path).answer(UNFETCHED, 9, epoch="w3").charged
    assert again == RAPPOR.charge(1, after=1)


def test_a_value_that_changed_in_an_old_file_is_told_and_not_answered(tmp_path: Path) -> None:
    write(tmp_path)
    for cap in (4, 20):
        with pytest.raises(PrivacyError, match="No epsilon covers"):
            opened(tmp_path, cap=cap).answer(CHANGED, 5, epoch="w9")


def pieces() -> list[bytes]:
    """What nobody may read in a file any more."""
    return [
        old.SECRET,
        b"symbol",
        b"digest",
        SENT.digest,
        WAITING.digest,
        *(old.permanent_round(CHANGED, value) for value in (5, 9)),
    ]


def contents(folder: Path) -> bytes:
    """The bytes of the file, and of what SQLite puts beside it."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_nothing_old_is_left_in_the_bytes(tmp_path: Path) -> None:
    write(tmp_path)
    before = contents(tmp_path)
    assert old.SECRET in before and b"symbol" in before and SENT.digest in before
    assert CHANGED.fingerprint.encode() + bytes([5]) in before
    opened(tmp_path)
    after = contents(tmp_path)
    assert not [piece for piece in pieces() if piece in after]
    assert WAITING.to_bytes() in before and WAITING.to_bytes() not in after
    for (survey, value), _ in ROUNDS.items():
        number = value.to_bytes(1 if value < 128 else 2, "big")
        assert survey.fingerprint.encode() + number not in after
    with closing(sqlite3.connect(tmp_path / "device.lapwing")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)


def test_a_file_does_not_tell_the_value_of_a_round(tmp_path: Path) -> None:
    """Not by trying all values with all secrets of the file, as in version 1."""
    write(tmp_path)
    device = opened(tmp_path)
    with closing(sqlite3.connect(device.file.path)) as connection:
        (secret,) = connection.execute("SELECT secret FROM person").fetchone()
        (kept,) = connection.execute("SELECT round FROM permanent_round WHERE reports").fetchone()
    rounds = {value: old.permanent_round(HABIT, value) for value in range(300)}
    assert [value for value, made in rounds.items() if made == kept] == [7]  # by the old secret
    old_secret, old.SECRET = old.SECRET, secret
    try:
        assert kept not in [old.permanent_round(HABIT, value) for value in range(300)]
    finally:
        old.SECRET = old_secret


@pytest.mark.parametrize("version", [2, -2, -3])
def test_a_kill_between_migration_and_vacuum_is_made_up_for(tmp_path: Path, version: int) -> None:
    """And a file of version 2, which had the bytes of batches as they are sent."""
    write(tmp_path)
    path = tmp_path / "device.lapwing"
    with closing(device_file._connected(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        device_file._migrate_tables(connection)
        if version == -3:
            device_file._seal_batches(connection)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    device = opened(tmp_path)
    assert WAITING.to_bytes() not in contents(tmp_path)
    parcel = Outbox(device.file).parcel("c" * 32)
    assert parcel is not None and parcel.body == WAITING.to_bytes()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)


def test_many_that_open_an_old_file_at_once(tmp_path: Path) -> None:
    write(tmp_path)
    start, charged = threading.Barrier(6), []

    def use(number: int) -> None:
        start.wait()
        charged.append(opened(tmp_path).answer(HABIT, 7, epoch=f"e{number}").charged)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = [RAPPOR.charge(1, after=after) for after in range(3, 9)]
    assert sorted(map(str, charged)) == sorted(map(str, wanted))


def test_an_old_gateway_goes_on(tmp_path: Path) -> None:
    reports = KEPT.randomize([1, 2], rng=seeded(3))
    batch = Batch.of(reports, survey=KEPT.fingerprint)
    waiting = ("a" * 32, "w1", "monday", batch, "waiting")
    arrived = ("b" * 32, "w1", "tuesday", batch, "stored")
    old.write(tmp_path / "gateway.lapwing", None, batches=(waiting, arrived))
    gateway = Gateway.open(tmp_path / "gateway.lapwing")
    kept = {each.id: (each.epoch, each.reports, each.state) for each in gateway.batches()}
    assert kept == {"a" * 32: ("w1", 2, "waiting"), "b" * 32: ("w1", 2, "stored")}
    for pile, name in (("monday", "a"), ("tuesday", "b")):
        (again,) = gateway.put(KEPT, reports, epoch="w1", pile=pile)
        assert again.id == name * 32
