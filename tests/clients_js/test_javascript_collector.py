"""Devices in Node and in Chromium report to `lapwing serve`, which counts each of them once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.tally import Tally
from lapwing.service.storage.opening import open_store
from tests.clients_js.programs import FOLDER, node, program
from tests.clients_js.scripted_collector import scripted_collector
from tests.service.lying_box import lying_box
from tests.service.one_collector import ADMIN, ServedCollector, as_role, open_survey, served

pytestmark = pytest.mark.service

SURVEYS = {
    "numbers": lw.Survey("numbers", lw.MultiscaleWave(lw.Interval(0, 1, bins=256), 2)),
    "labels": lw.Survey("labels", lw.SubsetSelection(lw.Categories(40), 1)),
    "few": lw.Survey("few", lw.RandomizedResponse(lw.Categories(["a", "b"]), 4)),
    "words": lw.Survey("words", lw.LinearHashing(lw.HashedStrings(32), 2)),
    "pairs": lw.Survey(
        "pairs",
        lw.randomizers.BoxWave(
            lw.Product(
                ms=lw.Interval(0, 5000, bins=16),
                hour=lw.Interval("00:00", "24:00", bins=8, unit="time-of-day", circular=True),
            ),
            24,
            widths=(1, 1),
        ),
    ),
}
PEOPLE = 24
VALUES: dict[str, list[Any]] = {
    "numbers": [step / PEOPLE for step in range(PEOPLE)],
    "labels": [*range(PEOPLE)],
    "few": ["a"] * PEOPLE,
    "words": ["lapwing"] * PEOPLE,
    "pairs": [{"hour": f"{step % 24:02}:30", "ms": 200 * step} for step in range(PEOPLE)],
}


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[ServedCollector]:
    program("node", package="nodejs")  # before a collector is started for nothing
    with served(tmp_path) as here:
        yield here


def _task(address: str, survey: lw.Survey, values: list[Any], **more: Any) -> str:
    answers = [value if isinstance(value, list) else [value, None] for value in values]
    text = survey.to_json()
    task = {"collector": address, "text": text, "epochs": ["e"], "answers": answers, **more}
    return json.dumps(task)


def _crowd(address: str, survey: lw.Survey, values: list[Any], **more: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(
        node("crowd.mjs", text=_task(address, survey, values, **more))
    )
    assert len(made) == len(values)
    return made


def _tally(folder: Path, survey: lw.Survey, epoch: str = "e", **more: Any) -> Tally:
    """Return what is stored; the collector must have ended."""
    store = open_store(str(folder / "collector.sqlite"))
    try:
        return store.tally(survey.fingerprint, epoch, **more)
    finally:
        store.close()


def test_every_report_of_node_is_counted_once(collector: ServedCollector, tmp_path: Path) -> None:
    for name, survey in SURVEYS.items():
        open_survey(collector.address, survey)
        for made in _crowd(collector.address, survey, VALUES[name]):
            assert made == {"spent": str(survey.randomizer.epsilon), "states": ["stored"]}
    assert collector.stop() == 0
    for survey in SURVEYS.values():
        assert _tally(tmp_path, survey).total == PEOPLE
    # With an epsilon so large that the report is the pair itself.
    pairs = SURVEYS["pairs"]
    cells = pairs.randomizer.domain.index(VALUES["pairs"])
    own = np.bincount(cells, minlength=pairs.randomizer.domain.size)
    tally = _tally(tmp_path, pairs)
    assert isinstance(tally, lw.tallies.CountTally) and tally.blocks[0].tolist() == own.tolist()


def test_a_survey_is_fetched_and_its_open_epoch_found(collector: ServedCollector) -> None:
    survey = SURVEYS["few"]
    open_survey(collector.address, survey)
    options = {"epsilonCap": 4, "budget": 4, "collector": collector.address}
    steps = [
        ["survey", survey.fingerprint], ["epochs", "few"], ["answer", "few", "e", "b"], ["send"],
        ["survey", "0" * 64],
    ]  # fmt: skip
    task = {"options": options, "surveys": {"few": survey.to_json()}, "steps": steps}
    fetched, epochs, _, sent, absent = json.loads(node("device_driver.mjs", text=json.dumps(task)))
    assert fetched["fingerprint"] == survey.fingerprint
    assert [(epoch["name"], epoch["state"]) for epoch in epochs] == [("e", "open")]
    assert sent[0]["state"] == "stored" and "404" in absent["message"]


def test_what_was_stored_is_answered_so_when_the_epoch_has_closed(
    collector: ServedCollector, tmp_path: Path
) -> None:
    """The connection was cut before the answer, and the device comes again after the end."""
    survey = SURVEYS["few"]
    path = open_survey(collector.address, survey)
    with lying_box(collector.port, seed=1) as (box, address):
        options = {"epsilonCap": 4, "budget": 4, "collector": address}
        task = {"options": options, "surveys": {"few": survey.to_json()}}

        def sent(name: str, *steps: list[Any]) -> dict[str, Any]:
            more = {"file": str(tmp_path / name), "steps": [*steps, ["send"]]}
            *_, (answer,) = json.loads(node("device_driver.mjs", text=json.dumps({**task, **more})))
            found: dict[str, Any] = answer
            return found

        box.only = "lost"
        first = sent("memory", ["answer", "few", "e", "a"])
        assert (first["state"], first["problem"]) == ("waiting", "no answer")
        closed = httpx.post(f"{path}/epochs/e/close", headers=as_role(ADMIN), timeout=60)
        assert closed.status_code < 300
        box.only = "passed on"
        again = sent("memory", ["clock", 86_400_000])
        assert (again["state"], again["batch"]) == ("stored", first["batch"])
        late = sent("late", ["answer", "few", "e", "a"])
        assert (late["state"], late["problem"]) == ("refused", "epoch-closed")
    assert collector.stop() == 0
    assert _tally(tmp_path, survey).total == 1


def test_an_answer_to_the_old_text_is_not_counted_for_the_new_one(
    collector: ServedCollector, tmp_path: Path
) -> None:
    texts = {name: replace(SURVEYS["few"], question=f"Do you like {name}?") for name in ("a", "b")}
    path = open_survey(collector.address, texts["a"], epoch="e0")
    with httpx.Client(headers=as_role(ADMIN), timeout=60) as client:
        assert client.post(f"{path}/epochs/e0/close").status_code < 300
        body = {"survey": texts["b"].to_document(), "minimum": 1, "epoch": {"name": "e"}}
        assert client.put(path, json=body).status_code < 300
    options = {"epsilonCap": 4, "budget": 4, "collector": collector.address}
    surveys = {name: survey.to_json() for name, survey in texts.items()}
    for name, said in (("a", ("refused", "other-text")), ("b", ("stored", None))):
        task = {
            "options": options,
            "surveys": surveys,
            "steps": [["answer", name, "e", "a"], ["send"]],
        }
        _, (sent,) = json.loads(node("device_driver.mjs", text=json.dumps(task)))
        assert (sent["state"], sent["problem"]) == said
    assert collector.stop() == 0
    assert _tally(tmp_path, SURVEYS["few"]).total == 1


def test_remembered_answers_and_segments_reach_their_tallies(
    collector: ServedCollector, tmp_path: Path
) -> None:
    randomizer = SURVEYS["few"].randomizer
    survey = lw.Survey("kept", randomizer, segments=["north", "süd"], remembered=True)
    open_survey(collector.address, survey)
    open_survey_again(collector, survey, "f")
    places = ["north"] * 20 + ["süd"] * 30 + ["other"] * 10
    for made in _crowd(
        collector.address, survey, [["a", place] for place in places], epochs=["e", "f"]
    ):
        assert made == {"spent": "4", "states": ["stored", "stored"]}
    assert collector.stop() == 0
    for segment, people in (("north", 20), ("süd", 30), ("other", 10)):
        first = _tally(tmp_path, survey, "e", segment=segment)
        second = _tally(tmp_path, survey, "f", segment=segment)
        assert first.total == second.total == people
        # The very same reports, not only as many.
        assert first.to_document() == second.to_document()


def open_survey_again(collector: ServedCollector, survey: lw.Survey, epoch: str) -> None:
    """Open one more epoch of a survey that is published."""
    path = f"{collector.address}/v1/surveys/{survey.fingerprint}/epochs/{epoch}"
    with httpx.Client(headers=as_role(ADMIN), timeout=60) as client:
        assert client.put(path, json={}).status_code < 300
        assert client.post(f"{path}/open").status_code < 300


def test_only_invited_devices_are_counted_where_tokens_are_asked_for(
    collector: ServedCollector, tmp_path: Path
) -> None:
    survey = SURVEYS["few"]
    path = open_survey(collector.address, survey, upload="tokens")
    answer = httpx.post(
        f"{path}/upload-tokens", json={"count": 3}, headers=as_role(ADMIN), timeout=60
    )
    (tokens,) = (value for value in answer.json().values() if isinstance(value, list))
    # Without a list of the epochs they pay, and wait for their last day.
    used = _crowd(collector.address, survey, ["a"] * 5, tokens=tokens, keepDays=1)
    assert sorted(made["states"][0] for made in used) == [
        *["stored"] * 3, *["upload-token-needed"] * 2
    ]  # fmt: skip
    (again,) = _crowd(collector.address, survey, ["a"], tokens=tokens[:1], keepDays=1)
    assert again["states"] == ["upload-token-used"]
    assert collector.stop() == 0
    assert _tally(tmp_path, survey).total == 3


def test_a_collector_that_is_killed_loses_and_doubles_none_of_them(tmp_path: Path) -> None:
    survey = SURVEYS["numbers"]
    values = [step / 150 for step in range(150)]
    with served(tmp_path) as first:
        open_survey(first.address, survey)
        address, port = first.address, first.port
        devices = subprocess.Popen(
            [program("node", package="nodejs"), "crowd.mjs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=FOLDER,
        )
        try:
            assert devices.stdin is not None and devices.stdout is not None
            devices.stdin.write(_task(address, survey, values))
            devices.stdin.close()
            _wait_for_reports(devices, address, survey, 20)
            first.kill()
            with served(tmp_path, "--port", str(port)) as second:
                made = json.loads(devices.stdout.read())
                assert devices.wait(timeout=300) == 0
                assert second.stop() == 0
        finally:
            devices.kill()
            devices.wait(timeout=60)
            devices.stdout.close()
    assert [one["states"] for one in made] == [["stored"]] * 150
    assert _tally(tmp_path, survey).total == 150


def _wait_for_reports(
    devices: subprocess.Popen[str], address: str, survey: lw.Survey, wanted: int
) -> None:
    """Ask until a collector has so many reports, or nobody is left to send any."""
    path = f"{address}/v1/surveys/{survey.fingerprint}/tallies/e"
    with httpx.Client(headers=as_role(ADMIN), timeout=60) as client:
        while devices.poll() is None:
            answer = client.get(path)
            if answer.status_code == 200 and sum(answer.json()["reports"]) >= wanted:
                return


def test_a_page_of_another_origin_reports_from_chromium(
    collector: ServedCollector, tmp_path: Path
) -> None:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not here: pip install '.[test]'"
    )
    from tests.clients_js.chromium_browser import device_page, running_chromium, serve_module

    survey = SURVEYS["numbers"]
    open_survey(collector.address, survey)
    with (
        scripted_collector() as pages,
        sync_api.sync_playwright() as playwright,
        running_chromium(playwright, tmp_path / "profile") as browser,
    ):
        serve_module(pages)
        page = device_page(browser, pages)
        found = page.evaluate(
            """async ({ collector, fingerprint }) => {
              const device = new lapwing.Device({ epsilonCap: 2, budget: 2 });
              const survey = await device.fetch(collector, fingerprint);
              const [epoch] = await device.epochs(collector, survey);
              await device.answer(survey, 0.5, { epoch: epoch.name });
              const sent = await device.send(collector);
              return sent.map(({ state }) => state);
            }""",
            {"collector": collector.address, "fingerprint": survey.fingerprint},
        )
    assert found == ["stored"]
    assert collector.stop() == 0
    assert _tally(tmp_path, survey).total == 1
