"""How long an upload waits at half load while the collector decodes beside.

First the rate is found that the collector can take; then uploads are begun by the clock at half of
it, once alone and once while one result after the other is asked for, each of a state that was not
decoded yet. Requests for nothing, beside decodes at the same rate, tell what of a delay is the
processor's and what is the disk's.
"""

from __future__ import annotations

import tempfile
import threading
from contextlib import nullcontext
from typing import Any

import lapwing as lw
from benchmarks.markdown import figure, seconds, table
from benchmarks.service.running_servers import Running, collector, sync_times
from benchmarks.service.upload_load import load
from benchmarks.summaries import summary

TITLE = "Delays during a decode"
FULL: dict[str, Any] = {
    "symbols": 1024,
    "bins": 1024,
    "people": 1_000_000,
    "connections": 32,
    "seconds": 4.0,
    "rounds": 8,
}
QUICK: dict[str, Any] = {
    "symbols": 1024,
    "bins": 256,
    "people": 20_000,
    "connections": 32,
    "seconds": 1.0,
    "rounds": 1,
}

ASKED = 0.050
"""Target: seconds within which 99% of the uploads are answered, beside a decode."""

_KINDS = ("full", "alone", "beside", "nothing")


def measure(
    *, symbols: int, bins: int, people: int, connections: int, seconds: float, rounds: int
) -> dict[str, Any]:
    """Return delays at full speed, at half of it, and at half of it beside decodes."""
    survey = lw.Survey("uploads", lw.RandomizedResponse(lw.Categories(symbols), 1))
    line = lw.Survey("decoded", lw.MultiscaleWave(lw.Interval(0, 1, bins=bins, outside="clip"), 1))
    found: dict[str, dict[str, list[float]]] = {name: {} for name in _KINDS}
    decodes: list[int] = []
    syncs: list[float] = []
    slowest: list[float] = []
    uploads = {"survey": survey.fingerprint, "reports": 1, "symbols": symbols}
    with tempfile.TemporaryDirectory() as folder, collector(folder) as site:
        path = site.open_epoch(survey, "e")
        decoded = _Decodes(site, line, people)
        truth = [0] * symbols
        for turn in range(rounds):
            half = 0.0
            for name in _KINDS:
                tried = sync_times(folder)
                syncs.append(len(tried) / sum(tried))
                slowest.append(max(tried))
                options = {"connections": connections, "seconds": seconds, "rate": half}
                with decoded if name in ("beside", "nothing") else nullcontext():
                    if name == "nothing":
                        seen = load(site.url, "/healthz", **options)
                    else:
                        seen = load(site.url, path, **options, **uploads, seed=turn + 1)
                if name == "beside":
                    decodes.append(decoded.done)
                half = half or seen["requests"] / seen["seconds"] / 2
                if name != "nothing":
                    truth = [a + b for a, b in zip(truth, seen["counts"], strict=True)]
                if site.counts(survey, "e") != truth:
                    raise RuntimeError("the collector's counts are not the reports it took")
                one = {**seen["delays"], "rate": seen["requests"] / seen["seconds"]}
                for key, value in one.items():
                    found[name].setdefault(key, []).append(value)
    return {
        "kinds": {
            name: {key: summary(values) for key, values in one.items()}
            for name, one in found.items()
        },
        "decodes": sum(decodes),
        "syncs": summary(syncs),
        "slowest_sync": summary(slowest),
        "stored": sum(truth),
    }


class _Decodes:
    """While it is entered, results are asked for one after the other, each decoded anew."""

    def __init__(self, site: Running, survey: lw.Survey, people: int) -> None:
        self._site = site
        self._survey = survey
        self._path = site.open_epoch(survey, "e")
        self._rng = lw.seeded(1)
        self._send(people)
        self._ask()  # compiled loops are read, and the process that decodes is there

    def __enter__(self) -> None:
        self.done = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            self._send(1)  # so that the last result is not simply given again
            self._ask()
            self.done += 1

    def _ask(self) -> None:
        self._site.ask("GET", f"/v1/surveys/{self._survey.fingerprint}/results/e")

    def _send(self, people: int) -> None:
        values = [0.5] * people
        self._site.upload(self._survey, self._path, self._survey.randomize(values, rng=self._rng))


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    titles = {
        "full": "the highest rate",
        "alone": "half of that rate",
        "beside": "half of that rate, during decodes",
        "nothing": "`GET /healthz` at half of that rate, during decodes",
    }
    rows = [
        [
            title,
            figure(measured["kinds"][name]["rate"]["median"]),
            *(seconds(measured["kinds"][name][key]["median"]) for key in ("middle", "p99")),
            seconds(measured["kinds"][name]["p99"]["max"]),
            seconds(measured["kinds"][name]["largest"]["max"]),
        ]
        for name, title in titles.items()
    ]
    found = measured["kinds"]["beside"]["p99"]["median"]
    reached = "reached" if found <= ASKED else "**missed**"
    return "\n\n".join(
        [
            f"Uploads of one report, SQLite with synchronous FULL, {settings['connections']} "
            f"connections, {settings['seconds']:g} s each in {settings['rounds']} rounds. At half "
            "of the rate, requests start on a fixed schedule, whether or not earlier ones are "
            "answered, and a delay is counted from the scheduled time. The decodes are recommended "
            f"ones of {settings['people']:,} reports of a multiscale wave at {settings['bins']} "
            f"bins with a band, {measured['decodes']} in all, one after the other. Before them, "
            f"the disk gave {figure(measured['syncs']['median'])} syncs per second. The slowest "
            f"sync in a third of a second took {seconds(measured['slowest_sync']['median'])} (at "
            f"most {seconds(measured['slowest_sync']['max'])}). All {measured['stored']:,} "
            "acknowledged reports were counted exactly once.",
            table(
                ["load", "per second", "median", "99%", "99%, worst round", "largest"],
                rows,
            ),
            f"During decodes, 99% of uploads are answered within {seconds(found)} (target "
            f"{seconds(ASKED)}, {reached}), and within "
            f"{seconds(measured['kinds']['beside']['p99']['min'])} in the best round. Without "
            f"decodes it is {_p99(measured, 'alone')}. For `/healthz` requests, which need no "
            f"disk, it is {_p99(measured, 'nothing')} during decodes.",
        ]
    )


def _p99(measured: dict[str, Any], name: str) -> str:
    return seconds(measured["kinds"][name]["p99"]["median"])
