"""A report of the JavaScript client in Node, and the reading and proving of a survey."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import lapwing as lw
from benchmarks.markdown import figure, seconds, table, timed
from benchmarks.programs import node
from benchmarks.timing import Times

TITLE = "Reports of the JavaScript client"
FULL: dict[str, Any] = {"reports": 200_000, "rounds": 15}
QUICK: dict[str, Any] = {"reports": 5_000, "rounds": 3}

ASKED = {"GRR": 0.3e-6, "recommended": 10e-6}
"""Target: seconds of a report."""


def _surveys() -> dict[str, tuple[str, lw.Survey, list[Any]]]:
    """Return what is measured: in words, the survey, and values that are reported in turn."""
    line = lw.Interval(0, 100, bins=256, outside="clip")
    chosen = lw.recommend(line, epsilon=1, users=100_000).randomizer
    numbers = [100 * step / 97 for step in range(97)]
    return {
        "GRR": (
            "randomized response, 256 labels",
            lw.Survey("bench", lw.RandomizedResponse(lw.Categories(256), 1)),
            list(range(256)),
        ),
        "recommended": (
            f"the recommended {chosen.name}, 256 bins",
            lw.Survey("bench", chosen),
            numbers,
        ),
        "square wave": (
            "square wave, 1024 bins",
            lw.Survey("bench", lw.SquareWave(lw.Interval(0, 100, bins=1024, outside="clip"), 1)),
            numbers,
        ),
        "OUE": (
            "optimized unary encoding, 256 labels",
            lw.Survey("bench", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(256), 1)),
            list(range(256)),
        ),
        "words": (
            "linear hashing, texts in 32 bits",
            lw.Survey("bench", lw.LinearHashing(lw.HashedStrings(32), 1)),
            [f"word {number}" for number in range(97)],
        ),
    }


def measure(*, reports: int, rounds: int) -> dict[str, Any]:
    """Return times of a report of each survey, and of reading it."""
    surveys = [
        {"name": name, "text": survey.to_json(), "values": values}
        for name, (_, survey, values) in _surveys().items()
    ]
    done = subprocess.run(
        [node(), Path(__file__).with_suffix(".mjs").name],
        input=json.dumps({"surveys": surveys, "reports": reports, "rounds": rounds}),
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    times = {
        name: Times(spent["cpu"], spent["wall"]).summaries(
            each=1 if name.endswith(": read") else reports
        )
        for name, spent in found["times"].items()
    }
    return {"node": found["node"], "times": times}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables and what they say."""
    times = measured["times"]
    rows = []
    for name, (words, survey, _) in _surveys().items():
        one, asked = times[name], ASKED.get(name)
        rows.append(
            [
                words,
                timed(one["cpu"]),
                seconds(one["wall"]["median"]),
                "–" if asked is None else seconds(asked),
                str(survey.randomizer.report_width),
                seconds(times[f"{name}: read"]["wall"]["median"]),
            ]
        )
    missed = [name for name in ASKED if times[name]["cpu"]["median"] > ASKED[name]]
    reached = "both targets are met" if not missed else f"**missed: {', '.join(missed)}**"
    rate = figure(1 / times["recommended"]["cpu"]["median"] / 1e3)
    return "\n\n".join(
        [
            f"Node {measured['node']}, ε = 1, secure words from a pool, {settings['reports']:,} "
            f"reports per round, {settings['rounds']} rounds. The time is from a value to the "
            "bytes of its report, one at a time. *Reading*: the JSON is parsed and fingerprinted, "
            "every size and threshold is recomputed, and the guarantee is proved.",
            table(["survey", "CPU", "wall", "target", "bytes", "reading, wall"], rows),
            f"For the times per report, {reached}. A program that simulates many devices makes "
            f"{rate} thousand of the recommended reports per CPU second.",
        ]
    )
