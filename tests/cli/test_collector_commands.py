"""serve, export, import and backup: what they refuse, and what is left then."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from lapwing.documents import canonical
from lapwing.service.storage.opening import open_store
from lapwing.service.storage.store import StoredSurvey
from tests.cli.running import Program, listing, the_survey

SURVEY = the_survey()


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The database of these tests is named by the environment."""
    monkeypatch.setenv("LAPWING_DATABASE", "collector.sqlite")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with one survey, in the folder where commands run."""
    path = tmp_path / "collector.sqlite"
    store = open_store(str(path))
    store.add_survey(StoredSurvey(SURVEY.fingerprint, canonical(SURVEY.to_document())))
    store.close()
    return path


def test_a_backup_is_a_database(done: Program, lapwing: Program, database: Path) -> None:
    copy = database.with_name("copy.sqlite")
    assert (
        done("collector", "backup", "-o", copy, "--json").document["bytes"] == copy.stat().st_size
    )
    store = open_store(str(copy))
    assert [each.fingerprint for each in store.surveys()] == [SURVEY.fingerprint]
    store.close()
    assert "already exists" in lapwing("collector", "backup", "-o", copy).complaint
    done("collector", "backup", "-o", copy, "--force", "-q")
    refused = lapwing("collector", "backup", "-o", database, "--force")
    assert refused.code == 2 and "must not be one of the inputs" in refused.complaint
    assert not [name for name in listing(database.parent) if name.endswith((".new", ".partial"))]


def test_a_survey_is_named_by_the_start_of_its_fingerprint(
    done: Program, lapwing: Program, database: Path
) -> None:
    told = done(
        "collector", "export", SURVEY.fingerprint[:8], "-o", "survey.lwx", "--json"
    ).document
    assert told["survey"] == SURVEY.fingerprint
    for wrong in ("", "zz", SURVEY.fingerprint + "0"):
        refused = lapwing("collector", "export", wrong, "-o", "other.lwx")
        assert refused.code == 2 and "but 0 do" in refused.complaint
    assert "other.lwx" not in listing(database.parent)
    again = lapwing("collector", "import", "survey.lwx")
    assert again.code == 2 and "already" in again.complaint
    assert {"collector.sqlite", "survey.lwx"} <= set(listing(database.parent))
    told = done("collector", "import", "survey.lwx", "--database", "new.sqlite", "--json").document
    assert (told["survey"], told["epochs"], told["reports"]) == (SURVEY.fingerprint, 0, 0)


def test_copies_are_for_their_owner_only_as_the_database_is(done: Program, database: Path) -> None:
    open_to_all = os.umask(0)
    try:
        done("collector", "backup", "-o", "copy.sqlite")
        done("collector", "export", SURVEY.fingerprint, "-o", "survey.lwx")
    finally:
        os.umask(open_to_all)
    for name in (database.name, "copy.sqlite", "survey.lwx"):
        assert stat.S_IMODE(database.with_name(name).stat().st_mode) == 0o600, name


def test_what_is_no_database_or_no_export_is_refused(lapwing: Program, tmp_path: Path) -> None:
    for arguments in (("collector", "backup", "-o", "x"), ("collector", "export", "ab", "-o", "x")):
        refused = lapwing(*arguments, "--database", "absent.sqlite")
        assert refused.code == 7 and "no database absent.sqlite" in refused.complaint
        assert listing(tmp_path) == {}
    (tmp_path / "foreign").write_bytes(b"SQLite format 3\0" + b"x" * 4096)
    for arguments in (("collector", "backup", "-o", "x"), ("serve", "--port", "0")):
        refused = lapwing(*arguments, "--database", "foreign")
        assert refused.code in (4, 7), refused.err
    assert list(listing(tmp_path)) == ["foreign"]
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    refused = lapwing("serve", "--port", "0", "--database", "other.sqlite")
    assert refused.code == 4
    refused = lapwing("collector", "import", "foreign", "--database", "new.sqlite")
    assert refused.code == 4
    assert sorted(listing(tmp_path)) == ["foreign", "other.sqlite"]
    refused = lapwing("serve", "--database", "postgresql://me:hush@there/db")
    assert refused.code == 2 and "hush" not in refused.complaint


def test_a_setting_that_is_wrong_is_named(
    lapwing: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.toml").write_text("decoders = 0")
    refused = lapwing("serve", "--config", "c.toml")
    assert refused.code == 2 and "decoders" in refused.complaint
    monkeypatch.setenv("LAPWING_ADMIN_TOKEN", "short")
    refused = lapwing("serve", "--port", "0", "--database", "c.sqlite")
    assert refused.code == 2 and "short" not in refused.complaint
    assert "the admin token must be" in refused.complaint
    assert list(listing(tmp_path)) == ["c.toml"]
