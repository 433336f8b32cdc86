"""`lapwing collector add-survey`: at a collector in a process of its own, and what it refuses."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import lapwing as lw
from tests.cli.running import Program
from tests.service.one_collector import ADMIN, ANALYST, ServedCollector, as_role, served

pytestmark = pytest.mark.service

SURVEY = lw.Survey("income", lw.SquareWave(lw.Interval(0, 100, bins=16), epsilon=2))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCollector]:
    folder = tmp_path_factory.mktemp("collector")
    with served(folder, LAPWING_ANALYST_TOKEN=ANALYST) as collector:
        yield collector


@pytest.fixture(autouse=True)
def admin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAPWING_ADMIN_TOKEN", ADMIN)
    monkeypatch.delenv("LAPWING_ADMIN_TOKEN_FILE", raising=False)
    SURVEY.save(tmp_path / "income.json")


def surveys(here: ServedCollector) -> dict[str, list[tuple[str, str]]]:
    """The epochs of every survey, with their states."""
    answer = httpx.get(f"{here.address}/v1/surveys", headers=as_role(ADMIN), timeout=60)
    return {
        row["name"]: [(epoch["name"], epoch["state"]) for epoch in row["epochs"]]
        for row in answer.json()["surveys"]
    }


def test_a_survey_that_no_browser_answers_gets_no_address(
    here: ServedCollector, done: Program, tmp_path: Path
) -> None:
    habit = lw.Survey("habit", lw.Rappor(lw.Categories(["yes", "no"]), 1, lifetime=2))
    habit.save(tmp_path / "habit.json")
    add = ("collector", "add-survey", "habit.json", here.address, "--epoch")
    assert done(*add, "1", "--json").document["take_part"] is None
    said = " ".join(done(*add, "2").out.split())
    assert "with your own app or page" in said and "rappor" in said and "/take-part/" not in said


def test_a_survey_is_published_with_its_epoch_and_another_follows(
    here: ServedCollector, done: Program, lapwing: Program, tmp_path: Path
) -> None:
    add = ("collector", "add-survey", "income.json", here.address, "--epoch")
    said = done(*add, "2026-w47", "--minimum", 5, "--json").document
    assert said["take_part"] == f"{here.address}/take-part/{SURVEY.fingerprint}"
    path = f"{here.address}/v1/surveys/{SURVEY.fingerprint}"
    assert httpx.get(path, timeout=60).json() == SURVEY.to_document()
    state = httpx.get(f"{path}/state", headers=as_role(ADMIN), timeout=60).json()
    assert (state["state"], state["minimum"]) == ("published", 5)
    # The next one keeps the terms, and closes by itself.
    done(*add, "2026-w48", "--closes", "2999-12-06T00:00:00Z", "-q")
    epochs = httpx.get(f"{path}/epochs", timeout=60).json()["epochs"]
    assert [(row["name"], row["state"], row["closes"]) for row in epochs] == [
        ("2026-w47", "open", None),
        ("2026-w48", "open", "2999-12-06T00:00:00Z"),
    ]
    before = surveys(here)
    other = lw.Survey("income", lw.SquareWave(lw.Interval(0, 100, bins=20), epsilon=2))
    other.save(tmp_path / "other.json")
    changed = {**json.loads((tmp_path / "income.json").read_text()), "name": "changed"}
    (tmp_path / "changed.json").write_text(json.dumps(changed))
    for arguments, code, words in (
        (("income.json", "--epoch", "2026-w47"), 2, "already has an epoch with this name"),
        (("income.json", "--epoch", "W 49"), 2, "the name of an epoch must be"),
        (("income.json", "--epoch", "x", "--closes", "soon"), 2, 'a time such as "2026-12-01'),
        (("income.json", "--epoch", "x", "--closes", "2001-01-01T00:00:00Z"), 2, "in the future"),
        (("income.json", "--epoch", "x", "--minimum", "6"), 2, "with another minimum"),
        (("other.json", "--epoch", "x"), 2, f"fingerprint, {SURVEY.fingerprint[:12]}"),
        (("changed.json", "--epoch", "x"), 4, "changed.json"),
    ):
        file, *more = arguments
        refused = lapwing("collector", "add-survey", file, here.address, *more)
        assert refused.code == code and words in refused.complaint, (arguments, refused)
        assert ADMIN not in refused.err
        assert surveys(here) == before  # nothing half made


def test_another_text_is_shown_and_needs_a_yes(
    here: ServedCollector, done: Program, lapwing: Program, tmp_path: Path
) -> None:
    tea = lw.Survey("tea", lw.RandomizedResponse(lw.Categories(["no", "yes"]), 1), question="Tea?")
    for name, question in (("tea", "Tea?"), ("other", "Did you steal?")):
        replace(tea, question=question).save(tmp_path / f"{name}.json")
    add = ("collector", "add-survey")
    done(*add, "tea.json", here.address, "--epoch", "1")
    done(*add, "tea.json", here.address, "--epoch", "2")
    refused = lapwing(*add, "other.json", here.address, "--epoch", "3")
    assert refused.code == 2 and "--yes agrees without asking" in refused.err
    assert "Tea?" in refused.err and "Did you steal?" in refused.err
    refused = lapwing(*add, "other.json", here.address, "--epoch", "3", "--yes")
    assert refused.code == 2 and "cannot change while one of its epochs" in refused.complaint
    path = f"{here.address}/v1/surveys/{tea.fingerprint}"
    for epoch in ("1", "2"):
        httpx.post(f"{path}/epochs/{epoch}/close", headers=as_role(ADMIN), timeout=60)
    done(*add, "other.json", here.address, "--epoch", "3", "--yes")
    assert httpx.get(path, timeout=60).json()["notice"] == {"question": "Did you steal?"}
    assert [len(surveys(here)["tea"])] == [3]


def test_what_is_no_survey_no_token_or_no_collector_is_said(
    here: ServedCollector, lapwing: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = surveys(here)

    def refused(file: str = "income.json", address: str = here.address) -> tuple[int, str]:
        run = lapwing("collector", "add-survey", file, address, "--epoch", "never")
        assert surveys(here) == before
        return run.code, run.complaint

    (tmp_path / "table.json").write_text('{"format": "lapwing-tally", "version": 1}')
    (tmp_path / "words.json").write_text("income,age\n1,2\n")
    for file in ("table.json", "words.json"):
        code, said = refused(file)
        assert code == 4 and file in said
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        code, said = refused(address=nobody)
    assert code == 7 and said.startswith(f"{nobody} cannot be reached")
    code, said = refused(address="http://elsewhere.example")
    assert code == 2 and "https://" in said
    for token, words in (
        (ANALYST, "allows reading only. Use an admin token"),
        ("lwa_" + "C" * 43, "does not know this token"),
        ("secret", "must be lwa_ and 43 more characters"),
    ):
        monkeypatch.setenv("LAPWING_ADMIN_TOKEN", token)
        code, said = refused()
        assert code == 2 and words in said and token not in said
    monkeypatch.delenv("LAPWING_ADMIN_TOKEN")
    code, said = refused()
    assert code == 2 and "Set LAPWING_ADMIN_TOKEN" in said


def test_the_token_may_come_from_a_file(
    here: ServedCollector, done: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LAPWING_ADMIN_TOKEN")
    (tmp_path / "token").write_text(f"{ADMIN}\n")
    monkeypatch.setenv("LAPWING_ADMIN_TOKEN_FILE", str(tmp_path / "token"))
    other = lw.Survey("birds", lw.RandomizedResponse(lw.Categories(["lapwing", "snipe"]), 2))
    other.save(tmp_path / "birds.json")
    said = done("collector", "add-survey", "birds.json", here.address, "--epoch", "spring")
    assert f"{here.address}/surveys/{other.fingerprint}" in said.out
    assert surveys(here)["birds"] == [("spring", "open")]


def test_tokens_are_listed_and_revoked(
    here: ServedCollector, done: Program, lapwing: Program
) -> None:
    made = httpx.post(
        f"{here.address}/v1/tokens",
        json={"role": "analyst", "label": "Ann"},
        headers=as_role(ADMIN),
        timeout=60,
    ).json()["token"]
    listed = done("collector", "tokens", here.address, "--json").document["tokens"]
    (row,) = [row for row in listed if row["label"] == "Ann"]
    assert (row["role"], row["last_use"], row["revocable"]) == ("analyst", None, True)
    shown = done("collector", "tokens", here.address).out
    assert row["id"] in shown and "never" in shown and made not in shown
    revoke = ("collector", "revoke")
    done(*revoke, row["id"], here.address)
    answer = httpx.get(f"{here.address}/v1/surveys", headers=as_role(made), timeout=60)
    assert answer.status_code == 401
    (own,) = [row["id"] for row in listed if row["label"] == "admin_token"]
    for id, words in (
        (row["id"], "no token has this id"),
        (own, "Change it there and start the collector again"),
        (made, "12 hex digits"),
    ):
        refused = lapwing(*revoke, id, here.address)
        assert refused.code == 2 and words in refused.complaint and made not in refused.err
