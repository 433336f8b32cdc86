"""The JavaScript client in a real Chromium: reports, memory, kills, several tabs, other origins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.protocol.messages.batch import Batch
from tests.clients_js.scripted_collector import Scripted, scripted_collector
from tests.clients_js.surveys import ELSEWHERE

pytestmark = pytest.mark.service

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not here: pip install '.[test]'"
)

from tests.clients_js.chromium_browser import (  # noqa: E402
    Running,
    device_page,
    named,
    running_chromium,
    serve_module,
)

V1 = Path(__file__).parent.parent / "vectors" / "v1"

SURVEY = lw.Survey("income", lw.MultiscaleWave(lw.Interval(0, 1, bins=256), 1))
GIVEN = {"text": SURVEY.to_json(), "epoch": "2026-w47", "value": 0.3}

ANSWER = """async ({ text, epoch, value }) => {
  const device = new lapwing.Device({ epsilonCap: 1, budget: 3 });
  const answer = await device.answer(device.readSurvey(text), value, { epoch });
  return { ...answer, body: answer.body && Array.from(answer.body) };
}"""

SEND = """async (collector) => {
  const device = new lapwing.Device({ epsilonCap: 1, budget: 3 });
  const sent = await device.send(collector);
  return { sent: sent.map(({ state, problem }) => [state, problem]), ...(await device.ledger()) };
}"""


@pytest.fixture(scope="module")
def playwright() -> Iterator[Any]:
    with sync_api.sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def running(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One browser for the tests that do not kill it; each test has an origin of its own."""
    with running_chromium(playwright, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def collector() -> Iterator[Scripted]:
    with scripted_collector() as script:
        serve_module(script)
        yield script


def _given(script: Scripted, **more: Any) -> dict[str, Any]:
    return {**GIVEN, "collector": script.address, **more}


def test_the_module_loads_without_errors_and_needs_no_secure_context(
    running: Running, collector: Scripted
) -> None:
    wrong: list[str] = []
    page = running.browser.contexts[0].new_page()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{named(collector)}/")
    page.wait_for_function("document.getElementById('state').textContent === 'ready'")
    found = page.evaluate(
        """() => ({ secure: isSecureContext, subtle: typeof crypto.subtle,
                    names: Object.keys(lapwing).sort() })"""
    )
    assert found["secure"] is False and found["subtle"] == "undefined"
    assert {"readSurvey", "Device", "Batch", "BrowserStorage"} <= set(found["names"])
    fingerprint = page.evaluate("text => lapwing.readSurvey(text).fingerprint", SURVEY.to_json())
    assert fingerprint == SURVEY.fingerprint and wrong == []


def test_reports_of_all_vectors_are_made_in_the_browser(
    running: Running, collector: Scripted
) -> None:
    page = device_page(running, collector)
    given = []
    for path in sorted(V1.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        ours = document.get("survey", {}).get("randomizer", {}).get("class", "") not in ELSEWHERE
        if "survey" in document and ours:
            given.append([json.dumps(document["survey"]), document["reports"]])
    made = page.evaluate(
        """given => given.map(([text, reports]) => {
          const survey = lapwing.readSurvey(text);
          return reports.map(({ input, words }) => Array.from(survey.fromWords(input, words)));
        })""",
        given,
    )
    assert len(given) >= 25
    for (_, reports), found in zip(given, made, strict=True):
        assert [bytes(report).hex() for report in found] == [case["report"] for case in reports]


def test_bad_surveys_are_refused_in_the_browser(running: Running, collector: Scripted) -> None:
    texts = [c["text"] for c in json.loads((V1 / "bad_surveys.json").read_text())["surveys"]]
    page = device_page(running, collector)
    names = page.evaluate(
        """texts => texts.map((text) => {
          try { return lapwing.readSurvey(text).name; } catch (error) { return error.name; }
        })""",
        texts,
    )
    assert set(names) <= {"FormatError", "PrivacyError"}


def test_an_answer_reaches_its_own_origin_and_another_without_cookies(
    running: Running, collector: Scripted
) -> None:
    with scripted_collector() as other:
        page = device_page(running, collector)
        page.evaluate("() => { document.cookie = 'who=me'; }")
        addresses = [named(collector), other.address]
        answers, sent = [], []
        for number, address in enumerate(addresses):
            answers.append(page.evaluate(ANSWER, {**GIVEN, "epoch": f"epoch-{number}"}))
            found = page.evaluate(SEND, address)
            sent += found["sent"]
        page.evaluate("() => { document.cookie = 'who=; max-age=0'; }")
    assert sent == [["stored", None]] * 2 and found["spent"] == "2"
    for script, answer in zip((collector, other), answers, strict=True):
        ((path, headers, body),) = script.uploads
        assert path.partition("?")[0].endswith(answer["batch"]) and list(body) == answer["body"]
        assert "cookie" not in headers and "referer" not in headers
        batch = Batch.from_bytes(body)
        assert SURVEY.tally(batch.to_reports(SURVEY.randomizer.fingerprint)).total == 1


def test_a_collector_that_fails_and_is_busy_gets_the_same_bytes(
    running: Running, collector: Scripted
) -> None:
    with scripted_collector() as other:
        other.answers = [(503, {}, b""), (429, {"retry-after": "1000"}, b""), (200, {}, b"")]
        page = device_page(running, collector)
        # The clock stands, and is moved.
        page.evaluate(
            """() => {
              let now = Date.now();
              Date.now = () => now;
              globalThis.later = (milliseconds) => { now += milliseconds; };
            }"""
        )
        page.evaluate(ANSWER, GIVEN)
        states = []
        # The wait is over after 11 s; Retry-After asks for 1000 s, and up to a quarter is added.
        for wait in (0, 11_000, 900_000, 351_000):
            page.evaluate("(wait) => later(wait)", wait)
            states.append([state for state, _ in page.evaluate(SEND, other.address)["sent"]])
    assert states == [["waiting"], ["waiting"], [], ["stored"]]
    assert len({body for _, _, body in other.uploads}) == 1
    assert len({path for path, _, _ in other.uploads}) == 1


def test_two_tabs_that_answer_at_once_answer_once(running: Running, collector: Scripted) -> None:
    first, second = (device_page(running, collector) for _ in range(2))
    many = """async (given) => {
      const device = new lapwing.Device({ epsilonCap: 1, budget: 3 });
      const survey = device.readSurvey(given.text);
      globalThis.answers = Promise.all(Array.from({ length: 20 }, (_, i) =>
        device.answer(survey, i / 20, { epoch: given.epoch })));
    }"""
    for page in (first, second):
        page.evaluate(many, _given(collector))
    batches = [
        batch
        for page in (first, second)
        for batch in page.evaluate("async () => (await answers).map(({ batch }) => batch)")
    ]
    assert len(batches) == 40 and len(set(batches)) == 1
    assert first.evaluate(SEND, collector.address)["spent"] == "1" and len(collector.uploads) == 1


def test_a_budget_holds_across_tabs(running: Running, collector: Scripted) -> None:
    pages = [device_page(running, collector) for _ in range(3)]
    spend = """async (given) => {
      const device = new lapwing.Device({ epsilonCap: 1, budget: 3 });
      const survey = device.readSurvey(given.text);
      globalThis.answers = Promise.allSettled(Array.from({ length: 4 }, (_, i) =>
        device.answer(survey, 0.5, { epoch: `${given.epoch}-${i}` })));
    }"""
    for number, page in enumerate(pages):
        page.evaluate(spend, _given(collector, epoch=f"tab-{number}"))
    ends = [
        end
        for page in pages
        for end in page.evaluate(
            "async () => (await answers).map((one) => one.reason?.name ?? 'answered')"
        )
    ]
    assert ends.count("answered") == 3 and ends.count("BudgetError") == 9
    assert pages[0].evaluate(SEND, collector.address)["spent"] == "3"


def test_a_browser_that_is_killed_before_sending_sends_the_same_bytes(
    playwright: Any, collector: Scripted, tmp_path: Path
) -> None:
    given = _given(collector)
    with running_chromium(playwright, tmp_path) as browser:
        kept = device_page(browser, collector).evaluate(ANSWER, given)
        browser.kill()
    assert collector.uploads == []
    with running_chromium(playwright, tmp_path) as browser:
        page = device_page(browser, collector)
        again = page.evaluate(ANSWER, {**given, "value": 0.9})
        found = page.evaluate(SEND, collector.address)
        # The page itself may be gone before the memory is asked once more.
        browser.kill()
    assert again == kept and found["sent"] == [["stored", None]] and found["spent"] == "1"
    assert [list(body) for _, _, body in collector.uploads] == [kept["body"]]


def test_without_a_memory_it_does_not_answer(running: Running, collector: Scripted) -> None:
    page = device_page(running, collector)
    name = page.evaluate(
        """async ({ text }) => {
          Object.defineProperty(globalThis, "indexedDB", { value: {
            open() { throw new DOMException("refused", "SecurityError"); } } });
          const device = new lapwing.Device({ epsilonCap: 1, budget: 3 });
          const answered = device.answer(device.readSurvey(text), 0.5, { epoch: "a" });
          return answered.then(() => "answered", (error) => error.message);
        }""",
        _given(collector),
    )
    assert "must not answer" in name and collector.uploads == []


def test_a_full_disk_is_an_error_of_ours_and_costs_nothing(
    running: Running, collector: Scripted
) -> None:
    page = device_page(running, collector)
    answer = """async ({ text, epoch }) => {
      const device = new lapwing.Device({ epsilonCap: 1, budget: 3 });
      const answered = device.answer(device.readSurvey(text), 0.5, { epoch });
      const said = await answered.then(() => null, ({ name, message }) => [name, message]);
      return [said, (await device.ledger().catch(() => null))?.spent];
    }"""
    quota = running.browser.contexts[0].new_cdp_session(page)
    origin = {"origin": named(collector)}
    given = _given(collector)
    # Before anything is kept: the browser asks again for the space that is left only now and then.
    quota.send("Storage.overrideQuotaForOrigin", {**origin, "quotaSize": 1})
    (name, message), _ = page.evaluate(answer, {**given, "epoch": "during"})
    assert name == "LapwingError" and "is full" in message
    quota.send("Storage.overrideQuotaForOrigin", origin)
    assert page.evaluate(answer, {**given, "epoch": "after"}) == [None, "1"]
