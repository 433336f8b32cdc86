"""A headless Chromium that a test can kill, and pages that hold the client's module."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.clients_js.programs import CLIENT, SECONDS, chromium
from tests.clients_js.scripted_collector import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    # A quarter of the time of a start: what is fetched, measured and drawn for a person at a desk.
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-field-trial-config",
    "--metrics-recording-only",
    "--disable-features=PreloadTopChromeWebUI,OptimizationHints,MediaRouter,Translate",
    "--remote-debugging-port=0",
    # A name that is not this machine's, so that its pages are no secure context over plain HTTP.
    "--host-resolver-rules=MAP *.test 127.0.0.1",
)

POLICY = "default-src 'self'; connect-src *"

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A device</title>
<link rel="icon" href="/icon.svg"><script type="module" src="/page.mjs"></script></head>
<body><p id="state">loading</p></body></html>"""

SCRIPT = """
import * as lapwing from "/lapwing.mjs";
globalThis.lapwing = lapwing;
document.getElementById("state").textContent = "ready";
"""


@dataclass
class Running:
    """A browser process and the connection to it."""

    process: subprocess.Popen[str]
    browser: Browser

    def kill(self) -> None:
        """End the browser and all of its processes at once, as a crash or a battery does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _read(process: subprocess.Popen[str], addresses: queue.SimpleQueue[str]) -> None:
    """Find where the browser listens in what it says, and read on, or it would wait for us.

    A browser that ended listens nowhere: the address is then its last line.
    """
    line = ""
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            _, listens, address = line.partition("DevTools listening on ")
            if listens:
                addresses.put(address.strip())
    addresses.put(line)


@contextmanager
def running_chromium(playwright: Playwright, profile: Path) -> Iterator[Running]:
    """Run a Chromium with a profile of its own, which outlives it."""
    process = subprocess.Popen(
        [chromium(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    addresses: queue.SimpleQueue[str] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process, addresses))
    reader.start()
    try:
        browser = playwright.chromium.connect_over_cdp(
            addresses.get(timeout=SECONDS), timeout=1000 * SECONDS
        )
        yield Running(process, browser)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        reader.join()


def serve_module(script: Scripted) -> None:
    """Let a server give out the module and a page that holds it."""
    script.pages["/"] = ("text/html; charset=utf-8", PAGE.encode())
    script.pages["/icon.svg"] = ("image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg"/>')
    script.pages["/page.mjs"] = ("text/javascript", SCRIPT.encode())
    for path in [CLIENT / "lapwing.mjs", *sorted((CLIENT / "lapwing").glob("*.mjs"))]:
        address = f"/{path.relative_to(CLIENT).as_posix()}"
        script.pages[address] = ("text/javascript", path.read_bytes())
    script.policy = POLICY


def named(script: Scripted) -> str:
    """Return the address of a server under a name, so that its pages are no secure context."""
    return script.address.replace("127.0.0.1", "device.test")


def device_page(running: Running, script: Scripted) -> Page:
    """Return an open page that holds the module, in the browser's own profile."""
    page = running.browser.contexts[0].new_page()
    page.set_default_timeout(1000 * SECONDS)
    page.goto(f"{named(script)}/")
    page.wait_for_function("document.getElementById('state').textContent === 'ready'")
    return page
