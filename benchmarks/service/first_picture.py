"""The analyst's page in a browser: from opening it to the first picture."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import seconds, table
from benchmarks.programs import MissingProgramError, chromium
from benchmarks.service.running_servers import Running, collector
from benchmarks.summaries import summary
from lapwing.service.security import COOKIE

TITLE = "The analyst's page: first picture"
FULL: dict[str, Any] = {"reports": 1_000_000, "bins": 1024, "rounds": 7}
QUICK: dict[str, Any] = {"reports": 5_000, "bins": 64, "rounds": 1}

ASKED = 1.0
"""Target: seconds from opening the page to its first picture."""

KINDS = {"decoded": "decoded anew: a report came since", "kept": "already decoded"}


def measure(*, reports: int, bins: int, rounds: int) -> dict[str, Any]:
    """Return seconds from opening the page to the frame in which its first picture stands."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingProgramError("Playwright is not here: pip install '.[test]'") from None
    domain = lw.Interval(0, 100, bins=bins, outside="clip")
    chosen = lw.recommend(domain, epsilon=1, users=max(reports, 1)).randomizer
    survey = lw.Survey("bench", chosen)
    rng = np.random.default_rng(1)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with (
        tempfile.TemporaryDirectory() as folder,
        collector(folder) as server,
        sync_playwright() as playwright,
    ):
        path = server.open_epoch(survey, "e")
        server.upload(survey, path, survey.randomize(rng.gamma(4, 8, reports).clip(0, 100)))
        browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
        try:
            page = _signed_in(browser, server)
            # The first opening fills the browser's cache and compiles what decodes.
            for _ in range(rounds + 1):
                server.upload(survey, path, survey.randomize([50.0]))
                for times in found.values():
                    times.append(_opened(page, f"{server.url}/surveys/{survey.fingerprint}"))
        finally:
            browser.close()
    return {
        "randomizer": survey.randomizer.name,
        "first": found["decoded"][0],
        "times": {kind: summary(times[1:]) for kind, times in found.items()},
    }


def _signed_in(browser: Any, server: Running) -> Any:
    context = browser.new_context()
    context.add_cookies([{"name": COOKIE, "value": server.token, "url": server.url}])
    page = context.new_page()
    page.set_default_timeout(300_000)
    return page


def _opened(page: Any, address: str) -> float:
    """Return the seconds from opening an address to its first picture, by the browser's clock."""
    page.goto(address)
    page.wait_for_selector("[data-drawn]", state="attached")
    # Its alarm is worked out after the picture; the next opening must not wait for it.
    page.wait_for_selector("[data-load], [aria-busy]", state="detached")
    drawn = page.evaluate("performance.getEntriesByName('lapwing-drawn')[0].startTime")
    return float(drawn) / 1000


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    rows = []
    for kind, words in KINDS.items():
        one = measured["times"][kind]
        rows.append([words, seconds(one["median"]), seconds(one["max"]), seconds(ASKED)])
    missed = [kind for kind in KINDS if measured["times"][kind]["median"] > ASKED]
    reached = "The target is met." if not missed else "**The target is missed.**"
    return "\n\n".join(
        [
            f"Headless Chromium on the same machine, {settings['reports']:,} reports of "
            f"{measured['randomizer']} in {settings['bins']:,} bins, {settings['rounds']} rounds. "
            "The browser's clock measures the time from the start of the navigation to the frame "
            "after the first chart is drawn.",
            table(["the result is", "median", "slowest", "target"], rows),
            f"{reached} The very first opening after the start took {seconds(measured['first'])}.",
        ]
    )
