"""Reports of pairs beside those of one attribute: uploads to a collector, and the Arrow engine."""

from __future__ import annotations

import gc
import secrets
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import lapwing as lw
from benchmarks.markdown import figure, table, timed
from benchmarks.service.running_servers import collector
from benchmarks.speed.pairs import square
from benchmarks.summaries import summary
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch

TITLE = "Reports of pairs"
FULL: dict[str, Any] = {
    "rows": 20_000_000,
    "rounds": 3,
    "uploads": {"1": 1_000, "100": 500},
    "upload_rounds": 6,
}
QUICK: dict[str, Any] = {
    "rows": 50_000,
    "rounds": 1,
    "uploads": {"1": 20, "100": 20},
    "upload_rounds": 2,
}

ASKED_ARROW = 1.5
"""Target: CPU of pairs over that of one attribute, of the Arrow engine."""
ASKED_UPLOAD = 1.1
"""Target: CPU of the collector for a report of a pair over that of one attribute."""

_ROWS_OF_A_BATCH = 1_000_000

_WORK = ("randomize", "tally")


def measure(
    *, rows: int, rounds: int, uploads: dict[str, int], upload_rounds: int
) -> dict[str, Any]:
    """Return CPU seconds of both kinds of reports, in turn."""
    surveys = {
        "pairs": lw.Survey("pairs", lw.randomizers.MultiscaleBoxes(square(64), 1)),
        "one attribute": lw.Survey(
            "one", lw.MultiscaleWave(lw.Interval(0, 1, bins=64, outside="clip"), 1)
        ),
    }
    return {
        "arrow": _arrow(surveys, rows, rounds),
        "uploads": _uploads(surveys, uploads, upload_rounds),
    }


def _arrow(surveys: dict[str, lw.Survey], rows: int, rounds: int) -> dict[str, Any]:
    """Return CPU seconds of randomizing a stream of rows to Parquet, and of its tally."""
    import pyarrow as pa

    from lapwing.engines import arrow

    size = min(rows, _ROWS_OF_A_BATCH)
    rng = np.random.default_rng(1)
    batch = pa.record_batch({"x": rng.beta(5, 2, size), "y": rng.beta(2, 2, size)})
    spent: dict[str, dict[str, list[float]]] = {
        name: {what: [] for what in _WORK} for name in surveys
    }
    for turn in range(-1, rounds):
        number = size // 10 if turn < 0 else rows  # kernels are compiled before the clock runs
        batches = [batch.slice(0, min(size, number))] * max(1, number // size)
        for name in list(surveys)[:: 1 if turn % 2 == 0 else -1]:
            survey = surveys[name]
            column = None if name == "pairs" else "x"
            with tempfile.TemporaryDirectory() as folder:
                output = Path(folder) / "reports"
                gc.collect()
                start = time.process_time()
                reader = pa.RecordBatchReader.from_batches(batch.schema, batches)
                arrow.randomize(reader, survey, column=column, output=output)
                middle = time.process_time()
                total = arrow.tally(output, survey, threads=1).tally.total
                end = time.process_time()
            if total != sum(len(each) for each in batches):
                raise RuntimeError("the tally has not all rows")
            if turn >= 0:
                spent[name]["randomize"].append(middle - start)
                spent[name]["tally"].append(end - middle)
    return {
        name: {what: summary(times) for what, times in by_work.items()}
        for name, by_work in spent.items()
    }


def _uploads(surveys: dict[str, lw.Survey], uploads: dict[str, int], rounds: int) -> dict[str, Any]:
    """Return CPU seconds of the collector for an upload, by the reports in it."""
    spent: dict[str, dict[str, list[float]]] = {
        size: {name: [] for name in surveys} for size in uploads
    }
    values = {
        "pairs": {"x": np.linspace(0, 1, 100), "y": np.linspace(1, 0, 100)},
        "one attribute": np.linspace(0, 1, 100),
    }
    with tempfile.TemporaryDirectory() as folder, collector(folder) as site:
        places = {name: site.open_epoch(survey, "e") for name, survey in surveys.items()}
        parts = urlsplit(site.url)
        connection = HTTPConnection(str(parts.hostname), parts.port, timeout=60)
        for turn in range(-1, rounds):
            for size, number in uploads.items():
                for name in list(surveys)[:: 1 if turn % 2 == 0 else -1]:
                    survey = surveys[name]
                    reports = survey.randomize(values[name], rng=lw.seeded(turn + 2))
                    whole = int(size) == len(reports)
                    bodies = [
                        Batch.of(part, survey=survey.fingerprint).to_bytes()
                        for part in (
                            [reports] if whole else (reports[i : i + 1] for i in range(100))
                        )
                    ]
                    before = site.cpu()
                    for place in range(number):
                        _send(connection, places[name], bodies[place % len(bodies)])
                    if turn >= 0:
                        spent[size][name].append((site.cpu() - before) / number)
        connection.close()
    return {
        size: {name: summary(times) for name, times in by_name.items()}
        for size, by_name in spent.items()
    }


def _send(connection: HTTPConnection, path: str, body: bytes) -> None:
    """Send a batch under a new id on a connection that stays open."""
    address = f"{path}/{secrets.token_hex(16)}"
    connection.request("PUT", address, body=body, headers={"content-type": MEDIA_TYPE})
    answer = connection.getresponse()
    answer.read()
    if answer.status != 201:
        raise RuntimeError(f"an upload was answered with {answer.status}")


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the CPU of both kinds of reports, and their ratios beside what is asked."""
    lines = []
    for what in _WORK:
        pairs, one = (measured["arrow"][name][what] for name in ("pairs", "one attribute"))
        lines.append(_line(f"Arrow, {what} {settings['rows']:,} rows", pairs, one, ASKED_ARROW))
    for size, by_name in measured["uploads"].items():
        told = "an upload of one report" if size == "1" else f"an upload of {size} reports"
        lines.append(_line(told, by_name["pairs"], by_name["one attribute"], ASKED_UPLOAD))
    return "\n\n".join(
        [
            "CPU seconds of a pair of 64 x 64 cells with `MultiscaleBoxes`, and of the first "
            "attribute alone in 64 bins with `MultiscaleWave`, at ε = 1. Arrow: a stream of "
            f"{_ROWS_OF_A_BATCH:,} rows a batch is randomized to Parquet, and counted again on "
            f"one thread, in {settings['rounds']} round{'s' * (settings['rounds'] > 1)}. Uploads: "
            "all threads of `lapwing serve` with SQLite, one after the other on one connection, in "
            f"{settings['upload_rounds']} rounds in alternation.",
            table(["", "pairs", "one attribute", "times", "target: at most"], lines),
        ]
    )


def _line(what: str, pairs: Any, one: Any, asked: float) -> list[str]:
    ratio = pairs["median"] / one["median"]
    return [what, timed(pairs), timed(one), figure(ratio), f"{asked:g}"]
