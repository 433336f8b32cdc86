"""What may befall a collector's file: a second collector, a full or read-only disk."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lapwing.errors import ArgumentError, FormatError, StoreError, StoreFullError
from lapwing.service.storage.driver import FOLDER, migrations
from lapwing.service.storage.opening import SqliteStore, open_store
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import ALREADY, STORED, Upload
from tests.service.forked_server import Fork
from tests.service.uploading import COUNTED, LABELS, counts, fold, publish, upload

FP = LABELS.fingerprint


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with an epoch that has one report, of code 1."""
    path = tmp_path / "collector.db"
    store = SqliteStore(path)
    publish(store)
    store.store([upload([1])])
    store.close()
    return path


def ran(folder: Path, program: str, *arguments: object) -> tuple[int, str]:
    """Run a program in a process of its own; return its exit code and what it says on stderr."""
    path = folder / "program.py"
    path.write_text(program)
    with (folder / "said").open("w+") as said:
        process = Fork(str(path), *map(str, arguments), environment={**os.environ}, stderr=said)
        process.stdout.close()
        return process.wait(), (folder / "said").read_text()


def writer(store: Store) -> sqlite3.Connection:
    found = store._driver._writer  # type: ignore[attr-defined]
    assert isinstance(found, sqlite3.Connection)
    return found


def test_every_commit_waits_for_the_disk(database: Path) -> None:
    store = SqliteStore(database)
    asked = {
        name: writer(store).execute(f"PRAGMA {name}").fetchone()[0]
        for name in (
            "journal_mode",
            "synchronous",
            "journal_size_limit",
            "application_id",
            "secure_delete",
        )
    }
    store.close()
    expected = {"journal_mode": "wal", "synchronous": 2, "journal_size_limit": 64 * 2**20}
    fast = 2  # of what is deleted, all that is written anyway is overwritten
    assert asked == {**expected, "application_id": 0x4C574331, "secure_delete": fast}


def test_a_second_collector_is_refused_in_one_process_and_in_another(database: Path) -> None:
    store = SqliteStore(database)
    with pytest.raises(StoreError, match=r"another collector uses collector\.db"):
        SqliteStore(database)
    program = "import sys; from lapwing.service.storage.opening import SqliteStore; "
    code, said = ran(database.parent, program + "SqliteStore(sys.argv[1])", database)
    assert code and "another collector uses collector.db" in said
    store.store([upload([2])])
    store.close()
    SqliteStore(database).close()


def test_it_can_be_read_beside_the_collector(database: Path) -> None:
    store = SqliteStore(database)
    reader = open_store(f"sqlite:///{database}", reading=True)
    store.store([upload([2])])
    assert counts(reader)[:3] == [0, 1, 1]
    with pytest.raises(StoreError, match="open for reading only"):
        reader.store([upload([3])])
    reader.close()
    store.store([upload([3])])
    store.close()
    with pytest.raises(StoreError, match="no database"):
        open_store(str(database.with_name("none.db")), reading=True)


def test_only_its_owner_reads_the_files(database: Path) -> None:
    store = SqliteStore(database)
    store.store([upload([2])])
    modes = {path.name: path.stat().st_mode & 0o077 for path in database.parent.iterdir()}
    store.close()
    assert len(modes) == 4 and set(modes.values()) == {0}


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(database: Path) -> None:
    store = SqliteStore(database)
    (pages,) = writer(store).execute("PRAGMA page_count").fetchone()
    writer(store).execute(f"PRAGMA max_page_count = {pages + 3}")
    kept: list[Upload] = []
    refused = upload([2] * 300)
    with pytest.raises(StoreFullError, match=r"disk of collector\.db is full"):
        while True:
            refused = upload([2, 3] * 30)
            store.store([refused])
            kept.append(refused)
    # Nothing of it is there, and reading goes on.
    assert counts(store)[2] == 30 * len(kept)
    writer(store).execute("PRAGMA max_page_count = 1000000")
    outcomes = [outcome.verdict for outcome in store.store([*kept, refused, refused])]
    assert outcomes == [*[ALREADY] * len(kept), STORED, ALREADY]
    fold(store)
    assert counts(store)[1:4] == [1, 30 * len(kept) + 30, 30 * len(kept) + 30]
    assert store.check() == []
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    asked = [mount or "mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)]
    if os.geteuid() or mount is None or subprocess.run(asked, check=False).returncode:
        # Where nothing can be mounted, the test of the limited file says nearly the same.
        yield folder
        return
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_small_disk_fills_up_and_is_freed(small_disk: Path) -> None:
    store = SqliteStore(small_disk / "collector.db")
    publish(store, COUNTED)
    if os.path.ismount(small_disk):
        with (small_disk / "other").open("wb", buffering=0) as stream:
            stream.write(bytes(shutil.disk_usage(small_disk).free - 300_000))
    else:
        writer(store).execute("PRAGMA max_page_count = 60")
    sent: list[Upload] = []
    with pytest.raises(StoreFullError):
        for code in range(8192):
            sent.append(upload([code], COUNTED))
            store.store([sent[-1]])
    acknowledged = len(sent) - 1
    assert counts(store, COUNTED) == [1] * acknowledged + [0] * (8192 - acknowledged)
    (small_disk / "other").unlink(missing_ok=True)
    writer(store).execute("PRAGMA max_page_count = 1000000")
    store.store(sent)
    fold(store)
    assert counts(store, COUNTED) == [1] * len(sent) + [0] * (8192 - len(sent))
    store.close()
    store = SqliteStore(small_disk / "collector.db")
    assert counts(store, COUNTED) == [1] * len(sent) + [0] * (8192 - len(sent))
    assert store.check() == []
    store.close()


def test_a_database_that_becomes_read_only_refuses_and_recovers(database: Path) -> None:
    store = SqliteStore(database)
    writer(store).execute("PRAGMA query_only = 1")  # as the system answers for a read-only disk
    sent = upload([2])
    with pytest.raises(StoreError, match="read-only"):
        store.store([sent])
    assert counts(store)[1:3] == [1, 0]
    writer(store).execute("PRAGMA query_only = 0")
    assert store.store([sent])[0].verdict == STORED
    store.close()


def test_a_read_only_folder_is_refused_when_it_is_opened(database: Path) -> None:
    # Root is stopped by no permission, so it asks as somebody else, after all is imported.
    program = "import fcntl, os, sys; from pathlib import Path; "
    program += "from lapwing.service.storage.opening import SqliteStore; "
    program += "os.geteuid() or os.setuid(65534); SqliteStore(Path(sys.argv[1]))"
    database.with_name("collector.db.lock").unlink()
    folder = database.parent / "program"
    folder.mkdir()
    database.parent.chmod(0o500)
    _, said = ran(folder, program, database)
    database.parent.chmod(0o700)
    assert "StoreError: collector.db.lock cannot be opened next to the database" in said


def test_files_of_others_are_left_alone(tmp_path: Path, database: Path) -> None:
    text = tmp_path / "notes.db"
    text.write_text("something else entirely, of more than a hundred bytes " * 20)
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(FormatError, match=r"not a collector's database|another program"):
            SqliteStore(path)
        with pytest.raises(FormatError, match=r"not a collector's database|another program"):
            SqliteStore(path, reading=True)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="folder must exist"):
        SqliteStore(tmp_path / "none" / "collector.db")


def test_an_unknown_version_is_refused(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for reading in (False, True):
        with pytest.raises(
            FormatError, match=f"version 99, but this software supports versions up to {NEWEST}"
        ):
            SqliteStore(database, reading=reading)


def test_migrations_are_numbered_without_gaps(tmp_path: Path) -> None:
    (tmp_path / "0002_late.sql").write_text("CREATE TABLE x (y);\n")
    with pytest.raises(FormatError, match=r"without gaps, found 0002_late\.sql"):
        migrations(tmp_path)


NEWEST = len(migrations())

STEPS = """-- Three statements, in the middle of which the process dies.
CREATE TABLE added (x INTEGER);
INSERT INTO added SELECT key FROM epochs;
ALTER TABLE epochs ADD COLUMN color TEXT;
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from lapwing.service.storage import sqlite_driver
from lapwing.service.storage.opening import SqliteStore
seen = 0
def watched(statement):
    global seen
    seen += statement.startswith(("CREATE", "INSERT", "ALTER", "PRAGMA user_version =", "COMMIT"))
    if seen > int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
opened = sqlite_driver.SqliteDriver._opened
def traced(self):
    connection = opened(self)
    connection.set_trace_callback(watched)
    return connection
sqlite_driver.SqliteDriver._opened = traced
SqliteStore(Path(sys.argv[1]), migrations=Path(sys.argv[2]))
"""


def test_an_interrupted_migration_is_as_if_it_had_not_begun(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(FOLDER, folder)
    (folder / f"{NEWEST + 1:04}_added.sql").write_text(STEPS)
    for statements in range(5):
        assert ran(tmp_path, KILLED, database, folder, statements)[0] == -signal.SIGKILL
        connection = sqlite3.connect(database)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'added'").fetchall()
        connection.close()
        assert (version, tables) == (NEWEST, [])
        store = SqliteStore(database)
        assert counts(store)[1] == 1
        store.close()
    store = SqliteStore(database, migrations=folder)
    assert counts(store)[1] == 1
    with store._driver.reading() as transaction:
        assert len(transaction.rows("SELECT * FROM added")) == 1
    store.close()
    with pytest.raises(
        FormatError,
        match=f"version {NEWEST + 1}, but this software supports versions up to {NEWEST}",
    ):
        SqliteStore(database)


def test_an_older_file_is_read_only_after_its_collector_started(
    database: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(FOLDER, folder)
    (folder / f"{NEWEST + 1:04}_added.sql").write_text(STEPS)
    with pytest.raises(FormatError, match="Start the collector once"):
        SqliteStore(database, reading=True, migrations=folder)


def test_a_damaged_row_is_said_not_counted(database: Path) -> None:
    store = SqliteStore(database)
    with store._driver.writing() as transaction:
        transaction.run("UPDATE deltas SET body = ?1", b"\x01\x02\x03")
    with pytest.raises(StoreError, match="Restore a backup"):
        counts(store)
    assert any("Restore a backup" in line for line in store.check())
    store.close()


def test_a_backup_is_a_collectors_file_of_its_own(database: Path, tmp_path: Path) -> None:
    store = SqliteStore(database)
    store.store([first := upload([2])])
    copy = tmp_path / "copy" / "backup.db"
    copy.parent.mkdir()
    store.backup(copy)
    store.store([upload([3])])
    with pytest.raises(ArgumentError, match="already exists"):
        store.backup(copy)
    assert [path.name for path in copy.parent.iterdir()] == ["backup.db"]
    restored = SqliteStore(copy)
    assert counts(restored)[1:4] == [1, 1, 0] and counts(store)[1:4] == [1, 1, 1]
    assert restored.store([first])[0].verdict == ALREADY
    assert restored.check() == store.check() == []
    restored.close()
    store.close()


@pytest.mark.parametrize("address", ["mysql://x/y", "sqlite://", "sqlite:///"])
def test_an_address_is_a_path_or_one_of_two_databases(address: str) -> None:
    with pytest.raises(ArgumentError, match="postgresql://user@host/name"):
        open_store(address)
