"""The page of the guide for browsers, as copied, answers the survey of the collector's guide."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import lapwing as lw
from lapwing.cli import main
from lapwing.client import Device, Gateway
from lapwing.service.storage.opening import open_store
from tests.clients_js.programs import CLIENT, ROOT, node
from tests.clients_js.scripted_collector import scripted_collector
from tests.service.one_collector import ADMIN, served

pytestmark = pytest.mark.service

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not here: pip install '.[test]'"
)

from tests.clients_js.chromium_browser import running_chromium  # noqa: E402

GUIDES = ROOT / "docs" / "guides"
BROWSER = (GUIDES / "local" / "javascript-devices.md").read_text("utf-8")
COLLECTOR = (GUIDES / "operate" / "collector.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8080"


def block(page: str, language: str, word: str) -> str:
    """Return the only block of a page in a language that holds a word."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)
    (wanted,) = (text for text in found if word in text)
    return str(wanted)


class _Quiet(SimpleHTTPRequestHandler):
    """What `python3 -m http.server` runs, without its log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    """Serve a folder; yield its address."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_the_page_of_the_guide_reports_to_the_collector_of_the_guide(tmp_path: Path) -> None:
    html = block(BROWSER, "html", "<script")
    add = block(COLLECTOR, "python", "add_survey")
    folder = tmp_path / "js"
    shutil.copytree(CLIENT, folder)
    with (
        served(tmp_path) as collector,
        pages(folder) as address,
        sync_api.sync_playwright() as playwright,
        running_chromium(playwright, tmp_path / "profile") as running,
    ):
        names: dict[str, Any] = {}
        code = add.replace(ADDRESS, collector.address).replace("lwa_...", ADMIN)
        exec(compile(code, "collector.md", "exec"), names)
        survey = names["survey"]
        assert isinstance(survey, lw.Survey) and survey.fingerprint in html
        (folder / "answer.html").write_text(html.replace(ADDRESS, collector.address))
        wrong: list[str] = []
        page = running.browser.contexts[0].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        for value in ("42500", "99"):
            page.goto(f"{address}/answer.html")
            page.fill("input", value)
            page.click("button")
            page.wait_for_function(
                "document.querySelector('[role=status]').textContent", timeout=60_000
            )
            assert page.inner_text("[role=status]") == "Your report: stored"
        assert wrong == []
        assert collector.stop() == 0
    store = open_store(str(tmp_path / "collector.sqlite"))
    try:
        assert store.tally(survey.fingerprint, "2026-w49").total == 1
    finally:
        store.close()


def test_a_page_a_device_and_a_gateway_fill_the_map_of_two_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide of pairs as it stands, from its commands and its page to its answers."""
    guide = (GUIDES / "local" / "pairs-from-a-page.md").read_text("utf-8")
    html, commands = block(guide, "html", "<script"), block(guide, "sh", "--domain-only")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAPWING_ADMIN_TOKEN", ADMIN)
    folder = tmp_path / "js"
    shutil.copytree(CLIENT, folder)
    with (
        served(tmp_path) as collector,
        pages(folder) as address,
        sync_api.sync_playwright() as playwright,
        running_chromium(playwright, tmp_path / "profile") as running,
    ):
        for line in commands.splitlines():
            program, *words = shlex.split(line.replace(ADDRESS, collector.address))
            assert program == "lapwing"
            assert main(words) == 0
        survey = lw.Survey.load(tmp_path / "start-up.json")
        assert survey.fingerprint in html
        (folder / "start-up.html").write_text(html.replace(ADDRESS, collector.address))
        page = running.browser.contexts[0].new_page()
        for _ in range(2):
            page.goto(f"{address}/start-up.html")
            page.wait_for_function(
                "document.querySelector('[role=status]').textContent", timeout=60_000
            )
            assert page.inner_text("[role=status]") == "Your report: stored"
        device = Device.open(tmp_path, epsilon_cap=1, budget=10)
        names = {"device": device, "survey": device.fetch(collector.address, survey.fingerprint)}
        exec(compile(block(guide, "text", "device.answer"), "guide", "exec"), names)
        assert device.send(collector.address).stored == 1
        gateway = Gateway.open(tmp_path / "gateway.lapwing")
        people = {"ms": [800] * 998, "hour": ["09:00"] * 998}
        gateway.put(survey, survey.randomize(people), epoch="2026-w48", pile="office")
        gateway.send(collector.address)
        asked, csv, png = block(guide, "text", "pairs/2026-w48?ask").split()[:3]

        def read(path: str) -> bytes:
            path = path.replace("FINGERPRINT", survey.fingerprint)
            headers = {"Authorization": f"Bearer {ADMIN}"}
            with urlopen(Request(f"{collector.address}{path}", headers=headers)) as answer:
                return bytes(answer.read())

        document = json.loads(read(asked))
        assert document["reports"] == 1000  # the page's two visits are of one person
        (answer,) = document["questions"]
        # Nearly all are at 800 ms and 9 o'clock.
        assert answer["low"] < 1600 and answer["high"] > 400
        table = read(csv).decode().splitlines()
        at_nine = [line for line in table if '"09:00:00 to 10:00:00"' in line]
        shares = [float(line.rsplit(",", 1)[1]) for line in table[1:]]
        assert len(shares) == 52 * 24 and sum(shares) == pytest.approx(1)
        assert sum(float(line.rsplit(",", 1)[1]) for line in at_nine) > 5 / 24
        assert read(png).startswith(b"\x89PNG")
        assert collector.stop() == 0


def test_the_new_text_is_read_past_the_memory_and_agreed_to(tmp_path: Path) -> None:
    survey = lw.Survey("tea", lw.RandomizedResponse(lw.Categories(["no", "yes"]), 1))
    texts = [replace(survey, question=question).to_json() for question in ("Tea?", "Coffee?")]
    with scripted_collector() as collector:
        path = f"/v1/surveys/{survey.fingerprint}"
        collector.pages[path] = ("application/json", texts[1].encode())
        names = {"collector": collector.address, "fingerprint": survey.fingerprint}
        program = f"""
            import {{ Device, MemoryStorage }} from "{(CLIENT / "lapwing.mjs").as_uri()}";
            const {{ collector, fingerprint }} = {json.dumps(names)};
            const storage = new MemoryStorage();
            const device = new Device({{ epsilonCap: 2, budget: 10, storage }});
            const old = device.readSurvey({json.dumps(texts[0])});
            await device.answer(old, "yes", {{ epoch: "a" }});
            const refused = await device.fetch(collector, fingerprint).catch(({{ name }}) => name);
            {block(BROWSER, "js", "offered")}
            const survey = await device.fetch(collector, fingerprint, {{ text }});
            console.log(refused, offered.question, survey.question);
        """
        said = node("--input-type=module", "-e", program)
    assert said == "MismatchError Coffee? Coffee?\n"
