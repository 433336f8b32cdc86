"""Open every page of the built site in Chromium, and search it: `make docs-check` runs this.

A page must load without an error and without a request that leaves this machine, must not scroll
sideways on a phone, and has a description. What is copied from a session runs as it is.
"""

from __future__ import annotations

import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

SITE = Path(__file__).resolve().parents[1] / "build" / "site"
PHONE = {"width": 390, "height": 844}
SEARCHES = {
    "square wave": "SquareWave",
    "how many people": "start/choose",
    "confidence band": "guides/results/confidence-bands",
    "RAPPOR": "Rappor",
}
"""What people search for, and a page that must be among the results."""

COPIED = "guides/local/two-attributes.html"
"""A page whose first block has prompts."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


TOGETHER = 2
"""Browsers that share the pages: one for each processor of a small machine."""

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    # A page takes a sixth less time where no process is started for the one that may follow.
    "--disable-site-isolation-trials",
    "--disable-features=SpareRendererForSitePerProcess,BackForwardCache,RenderDocument",
]


def checked(executable: str, address: str, pages: list[str], *, with_searches: bool) -> list[str]:
    """Return what is wrong with some pages, in a browser of their own.

    with_searches: Whether the searches and the copy are tried, too.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=OPTIONS)
        wrong = faults(browser, address, pages)
        if with_searches:
            wrong += lost(browser.new_page(), address) + copied(browser, address)
        browser.close()
    return wrong


def faults(browser: Browser, address: str, pages: list[str]) -> list[str]:
    """Return what is wrong with each page."""
    page = browser.new_page(viewport=PHONE)
    seen: list[str] = []
    page.on("console", lambda line: seen.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on(
        "request",
        lambda sent: (
            None if sent.url.startswith((address, "data:")) else seen.append(f"asks {sent.url}")
        ),
    )
    wrong = []
    for name in pages:
        seen.clear()
        page.goto(f"{address}/{name}")
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            seen.append(f"is {width} pixels wide on a phone of {PHONE['width']}")
        if not page.query_selector('meta[name="description"][content]'):
            seen.append("has no description")
        wrong += [f"{name}: {fault}" for fault in seen]
    return wrong


def lost(page: Page, address: str) -> list[str]:
    """Return the searches that do not find their page."""
    missing = []
    for words, expected in SEARCHES.items():
        page.goto(f"{address}/search.html?q={words.replace(' ', '+')}")
        page.wait_for_selector("#search-results p.search-summary, #search-results h2 + p")
        page.wait_for_function("document.querySelectorAll('#search-results li').length > 0")
        page.wait_for_timeout(1000)  # results come one by one
        links = page.eval_on_selector_all("#search-results li > a", "all => all.map(a => a.href)")
        if not any(expected in link for link in links[:12]):
            missing.append(f"the search for {words!r} does not find {expected}: {links[:5]}")
    return missing


def copied(browser: Browser, address: str) -> list[str]:
    """Return what is wrong with the copy of a page's first session: it must run as it is."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{address}/{COPIED}")
    page.locator("button.copy").first.dispatch_event("click")
    page.wait_for_selector("button.copy:has-text('Copied')")
    text = page.evaluate("navigator.clipboard.readText()")
    context.close()
    if text.startswith("import ") and ">>>" not in text:
        return []
    return [f"{COPIED}: copying its first session gives {text!r}"]


def main() -> int:
    """Check the site, say what is wrong with it, and return how the process ends."""
    pages = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    pages = [name for name in pages if not name.startswith("_static/")]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not pages or chromium is None:
        print("build the site with `make docs`, and install Chromium", file=sys.stderr)
        return 2
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with ThreadPoolExecutor(TOGETHER) as browsers:
        parts = [
            browsers.submit(
                checked, chromium, address, pages[part::TOGETHER], with_searches=part == 0
            )
            for part in range(TOGETHER)
        ]
        wrong = [fault for part in parts for fault in part.result()]
    server.shutdown()
    print("\n".join(wrong) or f"{len(pages)} pages load cleanly, and searches find their pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
