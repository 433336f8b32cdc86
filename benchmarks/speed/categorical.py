"""Categories: hashing, Hadamard response, subsets; and a scan of four thousand million values."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import seconds, table, timed
from benchmarks.summaries import summary
from benchmarks.timing import alternate, memory_beyond

TITLE = "Categories, from a thousand to 2^32"
FULL: dict[str, Any] = {
    "people": 1_000_000,
    "symbols": 1024,
    "subset_people": 100_000,
    "large": 2**20,
    "rounds": 9,
    "scanned_bits": 32,
    "scan_people": 1_000_000,
    "scans": 3,
}
QUICK: dict[str, Any] = {
    "people": 5_000,
    "symbols": 64,
    "subset_people": 1_000,
    "large": 2**12,
    "rounds": 2,
    "scanned_bits": 18,
    "scan_people": 5_000,
    "scans": 1,
}

OLH = "OLH: support counting"
HADAMARD = "Hadamard response: randomize, tally, decode"
LINEAR = "linear hashing: randomize, tally, decode"
SUBSET = "subset selection: randomize"

ASKED = {OLH: 0.3, HADAMARD: 0.1, LINEAR: 1.0, SUBSET: 1.0}
"""Target: CPU seconds, kernels warm."""

OTHERS = {OLH: "350 to 630 s", HADAMARD: "3 to 5 s", LINEAR: "not possible", SUBSET: "1.4 to 5 s"}
"""Other software today, as stated when this was planned."""

ASKED_SCAN, ASKED_MEMORY = 60.0, 1000.0

_SCAN_IMPORTS = "import json, numpy as np, lapwing as lw, lapwing.linear.operators.hash_kernels"

# Zipf(1.1) over 20,000 values that lie anywhere among all.
_SCAN = """
rng = np.random.default_rng({seed})
held = rng.integers(0, 2**{bits}, 20_000)
weights = np.arange(1, 20_001) ** -1.1
values = held[rng.choice(20_000, {people}, p=weights / weights.sum())]
survey = lw.Survey("scan", lw.LinearHashing(lw.Categories(2**{bits}), 2))
log = survey.tally(survey.randomize(values, rng=lw.seeded({seed})))
found = survey.decode(log, decoder=lw.decoders.ExhaustiveScan())
known, counts = np.unique(values, return_counts=True)
shares = counts / values.size
deviation = float(survey.randomizer.log_channel.deviations(np.zeros(1), values.size)[0])
sure = known[shares >= found.threshold + 3 * deviation]
with open({path!r}, "w") as stream:
    json.dump({{
        "listed": len(found),
        "false": int((~np.isin(found.symbols, known)).sum()),
        "threshold": found.threshold,
        "deviations": found.threshold / deviation,
        "sure": int(sure.size),
        "sure_found": int(np.isin(sure, found.symbols).sum()),
    }}, stream)
"""


def measure(
    *,
    people: int,
    symbols: int,
    subset_people: int,
    large: int,
    rounds: int,
    scanned_bits: int,
    scan_people: int,
    scans: int,
) -> dict[str, Any]:
    """Return times of every work, and what scans of all values take and find."""
    rng = np.random.default_rng(1)
    few = rng.zipf(1.3, people) % symbols
    many = rng.zipf(1.3, people) % large
    olh = lw.papers.baselines.LocalHashing(lw.Categories(symbols), 1)
    reports = olh.randomize(few)
    rows = lw.randomizers.HadamardResponse(lw.Categories(symbols), 1)
    linear = lw.LinearHashing(lw.Categories(large), 1)
    subset = lw.SubsetSelection(lw.Categories(symbols), 1)

    def hadamard() -> object:
        tally = rows.tally(rows.randomize(few))
        return lw.LeastSquares().decode(rows.channel, tally)

    def transform() -> object:
        counts = linear.log_channel.counts(linear.tally(linear.randomize(many)))
        return lw.LeastSquares().decode(linear.channel, counts)

    works: dict[str, Callable[[], object]] = {
        OLH: lambda: olh.tally(reports),
        HADAMARD: hadamard,
        LINEAR: transform,
        SUBSET: lambda: subset.randomize(few[:subset_people]),
    }
    times = alternate(works, rounds=rounds)
    return {
        "times": {name: spent.summaries() for name, spent in times.items()},
        "scans": _scans(scanned_bits, scan_people, scans),
    }


def _scans(bits: int, people: int, scans: int) -> dict[str, Any]:
    """Return what whole scans take in fresh processes, randomizing included, and what they find."""
    spent, beyond, found = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        for seed in range(scans):
            work = _SCAN.format(seed=seed + 1, bits=bits, people=people, path=str(path))
            memory = memory_beyond(_SCAN_IMPORTS, work)
            spent.append(memory["cpu"])
            beyond.append(memory["beyond_import"])
            found.append(json.loads(path.read_text()))
    return {"cpu": summary(spent), "beyond_import": max(beyond), "found": found}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables and what they say."""
    sizes = {
        OLH: f"{settings['people']:,} × {settings['symbols']:,}",
        HADAMARD: f"{settings['people']:,}, k = {settings['symbols']:,}",
        LINEAR: f"{settings['people']:,}, k = {settings['large']:,}",
        SUBSET: f"{settings['subset_people']:,}, k = {settings['symbols']:,}",
    }
    lines = [
        [
            name,
            sizes[name],
            timed(measured["times"][name]["cpu"]),
            seconds(measured["times"][name]["wall"]["median"]),
            seconds(ASKED[name]),
            OTHERS[name],
        ]
        for name in ASKED
    ]
    return "\n\n".join(
        [
            f"ε = 1, secure randomness, kernels warm, {settings['rounds']} rounds; the decoder is "
            "least squares on the simplex.",
            table(
                ["work", "people and symbols", "CPU", "wall", "target", "others"], lines, texts=2
            ),
            _scan_table(measured, settings),
            _reading(measured, settings),
        ]
    )


def _scan_table(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    scans = measured["scans"]
    found = scans["found"]
    rows = [
        ["CPU, from values to the list", timed(scans["cpu"]), seconds(ASKED_SCAN)],
        [
            "peak memory beyond the imports",
            f"{scans['beyond_import']:.0f} MB",
            f"{ASKED_MEMORY:.0f} MB",
        ],
        [
            "values 3 deviations above the threshold, found",
            f"{sum(f['sure_found'] for f in found)} of {sum(f['sure'] for f in found)}",
            "all, but 1 in 740",
        ],
        ["listed values that nobody holds", str(sum(f["false"] for f in found)), "0.05 a scan"],
        ["threshold, in deviations", f"{found[0]['deviations']:.2f}", "–"],
        ["threshold, share", f"{100 * found[0]['threshold']:.2f}%", "–"],
    ]
    what = (
        f"all 2^{settings['scanned_bits']} values, {settings['scan_people']:,} people, ε = 2, "
        f"{settings['scans']} scan(s)"
    )
    return table([what, "measured", "target"], rows)


def _reading(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    if settings != FULL:
        return "There are no targets for these sizes."
    scans = measured["scans"]
    marks = {
        name: measured["times"][name]["cpu"]["median"] <= asked for name, asked in ASKED.items()
    }
    marks["the scan's time"] = scans["cpu"]["median"] <= ASKED_SCAN
    marks["the scan's memory"] = scans["beyond_import"] <= ASKED_MEMORY
    marks["sure values found"] = all(f["sure_found"] == f["sure"] for f in scans["found"])
    # Three scans list one by chance in 7 runs, two in 95.
    marks["no false values"] = sum(f["false"] for f in scans["found"]) <= 1
    missed = [name for name, reached in marks.items() if not reached]
    if missed:
        return f"**Missed: {', '.join(missed)}**. All other targets are met."
    return "All targets are met."
