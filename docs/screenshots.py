"""Write the pictures of the collector's pages anew: ``make screenshots``. Needs Chromium.

A collector is started on a free port with made-up people, and looked at as anybody would.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import Page, sync_playwright

import lapwing as lw
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch

IMAGES = Path(__file__).parent / "images"

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]

PATIENCE = 300

PERSON = lw.Interval(0, 100_000, bins=256, atoms=[0])


@contextmanager
def collector(folder: str) -> Iterator[httpx.Client]:
    """Run `lapwing serve`, and return a client that asks it as its admin."""
    command = [sys.executable, "-m", "lapwing", "serve", "--json", "--port", "0"]
    command += ["--database", f"{folder}/collector.sqlite"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        try:
            said = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            headers = {"authorization": f"Bearer {said['admin_token']}"}
            with httpx.Client(
                base_url=said["address"], headers=headers, timeout=PATIENCE
            ) as client:
                yield client
        finally:
            process.terminate()


def ask(client: httpx.Client, method: str, path: str, **more: Any) -> None:
    """Ask what must be done."""
    client.request(method, path, **more).raise_for_status()


def publish(client: httpx.Client, survey: lw.Survey, *epochs: str) -> None:
    """Publish a survey with open epochs."""
    path = f"/v1/surveys/{survey.fingerprint}"
    ask(client, "PUT", path, json={"survey": survey.to_document(), "minimum": 1000})
    ask(client, "POST", f"{path}/publish")
    for epoch in epochs:
        ask(client, "PUT", f"{path}/epochs/{epoch}", json={})
        ask(client, "POST", f"{path}/epochs/{epoch}/open")


def report(
    client: httpx.Client, survey: lw.Survey, epoch: str, values: Any, *, segment: int = 0
) -> None:
    """Send a report of each value."""
    batch = Batch.of(survey.randomize(values), survey=survey.fingerprint, segment=segment)
    path = f"/v1/surveys/{survey.fingerprint}/epochs/{epoch}/batches/{secrets.token_hex(16)}"
    ask(client, "PUT", path, content=batch.to_bytes(), headers={"content-type": MEDIA_TYPE})


def incomes(rng: np.random.Generator, people: int, *, middle: float) -> np.ndarray:
    """Return made-up incomes, some of them zero."""
    earned = rng.lognormal(np.log(middle), 0.5, people).clip(0, 100_000)
    return np.where(rng.random(people) < 0.08, 0, earned)


def filled(client: httpx.Client) -> tuple[lw.Survey, lw.Survey]:
    """Publish two surveys, of numbers and of labels, and report to them."""
    rng = np.random.default_rng(7)
    money = lw.recommend(PERSON, epsilon=1, users=120_000).randomizer
    income = lw.Survey("Income in dollars", money, segments=["north", "south"])
    publish(client, income, "2026-w47", "2026-w48")
    for epoch, middle in (("2026-w47", 27_000), ("2026-w48", 32_000)):
        for segment in (0, 1, 2):
            values = incomes(rng, 40_000, middle=middle * (1 + 0.1 * segment))
            report(client, income, epoch, values, segment=segment)
    names = ["lapwing", "curlew", "snipe", "godwit", "dunlin", "knot"]
    labels = lw.recommend(lw.Categories(names), epsilon=1, users=30_000).randomizer
    birds = lw.Survey("Favorite wader", labels)
    publish(client, birds, "spring")
    seen = rng.choice(names, p=[0.34, 0.25, 0.18, 0.12, 0.08, 0.03], size=30_000)
    report(client, birds, "spring", list(seen))
    return income, birds


def shoot(page: Page, name: str, *, height: int) -> None:
    """Write what is seen of a page."""
    page.set_viewport_size({"width": 1000, "height": height})
    page.screenshot(path=IMAGES / f"collector-{name}.png", animations="disabled")


def settled(page: Page) -> None:
    """Wait until nothing more is fetched."""
    page.wait_for_selector("#result [aria-labeledby]", state="attached")
    page.wait_for_selector("[data-load], [aria-busy]", state="detached")


def main() -> None:
    """Write all pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit(
            "Chromium is not here: install it (Debian, Ubuntu: apt-get install chromium)"
        )
    with (
        tempfile.TemporaryDirectory() as folder,
        collector(folder) as client,
        sync_playwright() as playwright,
    ):
        income, birds = filled(client)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_default_timeout(1000 * PATIENCE)
            address = str(client.base_url).rstrip("/")
            page.goto(address)
            page.fill("#token", client.headers["authorization"].removeprefix("Bearer "))
            page.click("main button")
            page.wait_for_selector("h1:has-text('Surveys')")
            if scheme == "light":
                shoot(page, "surveys", height=640)
            page.goto(f"{address}/surveys/{income.fingerprint}?epoch=2026-w48")
            settled(page)
            shoot(page, "numbers" if scheme == "light" else "dark", height=1000)
            if scheme == "dark":
                continue
            query = "?epoch=2026-w48&against=epoch:2026-w47"
            page.goto(f"{address}/surveys/{income.fingerprint}{query}")
            settled(page)
            page.locator("#h-difference").evaluate("each => each.scrollIntoView()")
            shoot(page, "difference", height=900)
            page.goto(f"{address}/surveys/{birds.fingerprint}")
            settled(page)
            shoot(page, "labels", height=640)
            page.goto(f"{address}/take-part/{birds.fingerprint}")
            page.wait_for_selector("[data-ready]")
            page.get_by_label("curlew").check()
            page.click("#randomize")
            page.wait_for_selector("#report:not([hidden])")
            page.evaluate("scrollTo(0, 0)")
            shoot(page, "take-part", height=1000)
        browser.close()


if __name__ == "__main__":
    main()
