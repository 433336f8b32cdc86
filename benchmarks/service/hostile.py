"""How long others wait, and how much memory is held, while hostile clients send without a token.

One sends header lines without end, eight send requests and read no answer, two send batches in
JSON: of 15 MB, and of the largest size that is read.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from typing import Any

import lapwing as lw
from benchmarks.markdown import figure, seconds, table
from benchmarks.service.hostile_clients import hostile_clients
from benchmarks.service.running_servers import collector
from benchmarks.service.upload_load import load
from benchmarks.summaries import summary

TITLE = "Hostile clients without a token"
FULL: dict[str, Any] = {"seconds": 6.0, "rounds": 4, "rate": 200.0, "connections": 4}
QUICK: dict[str, Any] = {"seconds": 2.0, "rounds": 1, "rate": 100.0, "connections": 2}

_STARTING = 2.0
"""Seconds until the hostile clients have been imported, which takes a processor by itself."""

ASKED_TIMES = 4.0
"""Target: the 99th percentile of `/healthz` beside them, as a multiple of an idle collector's."""
ASKED_MEGABYTES = 300
"""Target: megabytes in memory at most."""


def measure(*, seconds: float, rounds: int, rate: float, connections: int) -> dict[str, Any]:
    """Return delays alone and beside them in alternation, and the memory at its largest."""
    survey = lw.Survey("hostile", lw.RandomizedResponse(lw.Categories(8), 1))
    alone: dict[str, list[float]] = {"middle": [], "p99": []}
    beside: dict[str, list[float]] = {"middle": [], "p99": []}
    times: list[float] = []
    held: list[float] = []
    sent: dict[str, int] = {}
    options: dict[str, Any] = {"connections": connections, "seconds": seconds, "rate": rate}
    with tempfile.TemporaryDirectory() as folder, collector(folder) as site:
        path = site.open_epoch(survey, "e")
        before = site.memory()
        for _ in range(rounds):
            idle = load(site.url, "/healthz", **options)["delays"]
            over = threading.Event()
            watch = threading.Thread(target=_watch, args=(site, held, over))
            with hostile_clients(
                site.url, path, survey=survey.fingerprint, seconds=seconds + 5
            ) as process:
                watch.start()
                time.sleep(_STARTING)
                busy = load(site.url, "/healthz", **options)["delays"]
                assert process.stdout is not None
                tries = json.loads(process.stdout.read())
            over.set()
            watch.join()
            for name, number in tries["sent"].items():
                sent[name] = sent.get(name, 0) + number
            times.append(busy["p99"] / idle["p99"])
            for found, delays in ((alone, idle), (beside, busy)):
                for key, values in found.items():
                    values.append(delays[key])
    return {
        "alone": {key: summary(values) for key, values in alone.items()},
        "beside": {key: summary(values) for key, values in beside.items()},
        "times": summary(times),
        "before": before,
        "held": max(held),
        "sent": sent,
    }


def _watch(site: Any, held: list[float], over: threading.Event) -> None:
    while not over.wait(0.05):
        held.append(site.memory())


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    rows = [
        [title, *(seconds(measured[name][key]["median"]) for key in ("middle", "p99"))]
        for name, title in (("alone", "an idle collector"), ("beside", "a collector under attack"))
    ]
    times, held = measured["times"]["median"], measured["held"]
    sent = ", ".join(
        f"{figure(number / 1e6)} MB of {name}" for name, number in measured["sent"].items()
    )
    return "\n\n".join(
        [
            f"`GET /healthz` {settings['rate']:g} times per second on {settings['connections']} "
            f"connections, {settings['seconds']:g} s each in {settings['rounds']} alternating "
            "rounds. The hostile clients are one that sends endless header lines, eight that send "
            "requests and read no answer, and two that send batches in JSON, of 15 MB and of the "
            f"largest size that is read. They sent {sent}.",
            table(["`/healthz` of", "median", "99%"], rows),
            f"The 99th percentile is {times:.1f} times that of an idle collector (target "
            f"{ASKED_TIMES:g}, {'met' if times <= ASKED_TIMES else '**missed**'}). Memory use is "
            f"{measured['before']:.0f} MB before and at most {held:.0f} MB (target "
            f"{ASKED_MEGABYTES} MB, {'met' if held <= ASKED_MEGABYTES else '**missed**'}).",
        ]
    )
