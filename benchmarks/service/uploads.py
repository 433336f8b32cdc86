"""Uploads over HTTP: what one costs the collector, how many are durable in a second, and groups.

A round asks the same server for nothing (`/healthz`), then sends it uploads, and tries the disk
before; a fourth server has an application of three lines. After every round the collector's counts
must be those that the program which sent them has heard acknowledged.
"""

from __future__ import annotations

import tempfile
from typing import Any

import lapwing as lw
from benchmarks.markdown import figure, seconds, table, timed
from benchmarks.service.running_servers import Running, bare_server, collector, syncs_per_second
from benchmarks.service.upload_load import load
from benchmarks.summaries import ratio_of_pairs, summary

TITLE = "Uploads"
FULL: dict[str, Any] = {"symbols": 1024, "connections": 32, "seconds": 3.0, "rounds": 10}
QUICK: dict[str, Any] = {"symbols": 1024, "connections": 32, "seconds": 0.5, "rounds": 2}

ASKED_CPU = 110e-6
"""Target: CPU seconds of the server for an upload of one report, all its threads together."""
ASKED_GROUP = 10
"""Target: such uploads that share a sync, on average."""
ASKED_SHARE = 0.4
"""Target: uploads in a second, as a share of the requests for nothing in the same minute..."""
ENOUGH_SYNCS = 1000
"""... where the disk can be brought up to date so often in a second."""
ASKED_REPORTS = 250_000
"""Target: durable reports in a second, in batches of 100."""

BATCH = 100

_NOTHING = ("nothing", "bare")
_UPLOADS = {"single": 1, "batches": BATCH}


def measure(*, symbols: int, connections: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Return rates, CPU, delays and groups of each kind of request, in alternation."""
    grr = lw.RandomizedResponse(lw.Categories(symbols), 1)
    survey = lw.Survey("uploads", grr)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in (*_NOTHING, *_UPLOADS)}
    syncs: list[float] = []
    stored = 0
    with tempfile.TemporaryDirectory() as folder, collector(folder) as site, bare_server() as bare:
        places = {name: (site, site.open_epoch(survey, name)) for name in _UPLOADS}
        places |= {"nothing": (site, "/healthz"), "bare": (bare, "/")}
        truth = {name: [0] * symbols for name in _UPLOADS}
        for turn in range(-1, rounds):
            for name in list(found) if turn % 2 == 0 else list(found)[::-1]:
                server, path = places[name]
                sync = syncs_per_second(folder)
                uploads = {"survey": survey.fingerprint, "symbols": symbols, "seed": turn + 2}
                uploads["reports"] = _UPLOADS.get(name, 0)
                if name in _NOTHING:
                    uploads = {}
                one, counts = _loaded(server, path, connections, seconds, uploads, groups=site)
                if uploads:
                    truth[name] = [a + b for a, b in zip(truth[name], counts, strict=True)]
                    if site.counts(survey, name) != truth[name]:
                        raise RuntimeError("the collector's counts are not the reports it took")
                if turn >= 0:
                    syncs.append(sync)
                    for key, value in one.items():
                        found[name].setdefault(key, []).append(value)
        stored = sum(map(sum, truth.values()))
    return {
        "kinds": {
            name: {key: summary(values) for key, values in one.items()}
            for name, one in found.items()
        },
        "shares": {
            name: ratio_of_pairs(found[name]["rate"], found["nothing"]["rate"]) for name in _UPLOADS
        },
        "syncs": summary(syncs),
        "stored": stored,
    }


def _loaded(
    server: Running,
    path: str,
    connections: int,
    seconds: float,
    uploads: dict[str, Any],
    *,
    groups: Running,
) -> tuple[dict[str, float], list[int]]:
    """Return what one stretch of requests took, and the reports acknowledged of each symbol."""
    grouped = [groups.counter(f"lapwing_{name}_total") for name in ("grouped_uploads", "groups")]
    before = server.cpu()
    seen = load(server.url, path, connections=connections, seconds=seconds, **uploads)
    spent = server.cpu() - before
    number = seen["requests"]
    one = {
        "rate": number / seen["seconds"],
        "cpu": spent / number,
        "middle": seen["delays"]["middle"],
        "p99": seen["delays"]["p99"],
        "client": seen["cpu"] / number,
    }
    if uploads:
        now = [groups.counter(f"lapwing_{name}_total") for name in ("grouped_uploads", "groups")]
        one["group"] = (now[0] - grouped[0]) / (now[1] - grouped[1])
    return one, seen["counts"]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables and what they say."""
    kinds = measured["kinds"]
    titles = {
        "bare": "three lines on the same HTTP server",
        "nothing": "`GET /healthz` of the collector",
        "single": "an upload of one report",
        "batches": f"an upload of {BATCH} reports",
    }
    rows = [
        [
            title,
            timed(kinds[name]["cpu"]),
            figure(kinds[name]["rate"]["median"]),
            seconds(kinds[name]["middle"]["median"]),
            seconds(kinds[name]["p99"]["median"]),
            figure(kinds[name]["group"]["median"]) if name in _UPLOADS else "–",
            f"{100 * measured['shares'][name]['ratio']:.0f}%" if name in _UPLOADS else "–",
        ]
        for name, title in titles.items()
    ]
    return "\n\n".join(
        [
            f"`lapwing serve` with SQLite (WAL, synchronous FULL) on the disk of temporary files, "
            f"reports of two bytes (randomized response, {settings['symbols']} symbols), "
            f"{settings['connections']} connections of one program, {settings['seconds']:g} s of "
            f"each kind in {settings['rounds']} alternating rounds. Under the same load, the disk "
            f"can be synced {figure(measured['syncs']['median'])} times per second "
            f"[{figure(measured['syncs']['min'])}, {figure(measured['syncs']['max'])}]. CPU is the "
            "time of all the server's threads per request. After every round, all "
            f"{measured['stored']:,} acknowledged reports were counted exactly once.",
            table(
                [
                    *("request", "CPU", "per second", "median delay", "99%"),
                    *("uploads per sync", "of `/healthz`"),
                ],
                rows,
            ),
            _reading(measured),
        ]
    )


def _reading(measured: dict[str, Any]) -> str:
    single, shares = measured["kinds"]["single"], measured["shares"]
    reports = BATCH * measured["kinds"]["batches"]["rate"]["median"]
    share = min(shares[name]["ratio"] for name in _UPLOADS)
    lines = [
        f"- CPU time of an upload of one report: {seconds(single['cpu']['median'])} (target "
        f"{seconds(ASKED_CPU)}, {_reached(single['cpu']['median'] <= ASKED_CPU)}).",
        f"- Uploads that share a sync: {figure(single['group']['median'])} (target {ASKED_GROUP}, "
        f"{_reached(single['group']['median'] >= ASKED_GROUP)}).",
        f"- Durable reports per second in batches of {BATCH}: {reports:,.0f} (target "
        f"{ASKED_REPORTS:,}, {_reached(reports >= ASKED_REPORTS)}).",
    ]
    rate = f"- Rate relative to `/healthz` in the same round: at least {share:.2f}"
    if measured["syncs"]["median"] >= ENOUGH_SYNCS:
        lines.append(f"{rate} (target {ASKED_SHARE}, {_reached(share >= ASKED_SHARE)}).")
    else:
        lines.append(
            f"{rate}. The target of {ASKED_SHARE} needs a disk with {ENOUGH_SYNCS} syncs per "
            "second, so it was not judged."
        )
    return "\n".join(lines)


def _reached(yes: bool) -> str:
    return "reached" if yes else "**missed**"
