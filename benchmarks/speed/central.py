"""The curator's work: exact noise, a release with its decode, and counting a large table."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import seconds, table, timed
from benchmarks.timing import alternate, memory_beyond
from lapwing.privacy.gaussian_dp import scale_up
from lapwing.privacy.integer_noise import discrete_laplace, rounded_normal
from lapwing.privacy.sampling.randomness import seeded

TITLE = "The central model"
FULL: dict[str, Any] = {
    "rounds": 15,
    "draws": 1_000_000,
    "rows": 10_000_000,
    "tables": 3,
    "sizes": [256, 1024, 4096],
}
QUICK: dict[str, Any] = {
    "rounds": 2,
    "draws": 10_000,
    "rows": 20_000,
    "tables": 1,
    "sizes": [64],
}

ASKED_DRAW = 2e-6
ASKED_RELEASE = 0.06
ASKED_ROWS = 0.3
ASKED_MEGABYTES = 100.0
OTHERS_DRAW = 11e-6
"""A vector of opendp 0.16, measured in the study that came before."""

_IMPORTS = """
from pathlib import Path
import numpy, pyarrow.parquet
import lapwing as lw
import lapwing.cli.program
from lapwing.cli.console import Output
from lapwing.cli.reading.domain_options import CuratorDomainOptions
from lapwing.cli.reading.column_options import summary_of
domain = lw.Interval(0, 400_000, bins=1024, outside="clip").for_curator()
ASKED = CuratorDomainOptions()
"""


def measure(*, rounds: int, draws: int, rows: int, tables: int, sizes: list[int]) -> dict[str, Any]:
    """Return times of the samplers, of releases with their decodes, and of counting a table."""
    scale = scale_up(4.2247 * 2**20)
    source = seeded(1)
    times = alternate(
        {
            "normal": lambda: rounded_normal(scale, count=draws, source=source),
            "laplace": lambda: discrete_laplace(Fraction(2**22), count=draws, source=source),
        },
        rounds=rounds,
    )
    noise = {name: spent.summaries(each=draws) for name, spent in times.items()}
    return {
        "noise": noise,
        "releases": [_release(size, rounds) for size in sizes],
        "tables": [_table(rows) for _ in range(tables)],
    }


def _release(size: int, rounds: int) -> dict[str, Any]:
    values = np.random.default_rng(1).beta(5, 2, 100_000)
    summary = lw.protocol.ExactCounts.of_values(
        values, lw.Interval(0, 1, bins=size, outside="clip")
    )
    promise = lw.privacy.Promise("replace-one", epsilon=Fraction(1), delta=Fraction(1, 10**6))
    source = seeded(2)
    whole, bare = lw.decoders.StepPursuit(), lw.decoders.StepPursuit(band=False)

    def work(decoder: lw.decoders.StepPursuit) -> object:
        release = lw.mechanisms.PrefixSums().release(summary, promise, rng=source)
        return decoder.decode(release.channel, release)

    times = alternate({"with": lambda: work(whole), "without": lambda: work(bare)}, rounds=rounds)
    return {"size": size} | {name: spent.summaries() for name, spent in times.items()}


def _table(rows: int) -> dict[str, float]:
    import pyarrow as pa
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "salaries.parquet"
        salaries = np.random.default_rng(1).gamma(2, 30_000, rows)
        parquet.write_table(pa.table({"salary": salaries}), path)
        work = (
            f"summary_of(Path({str(path)!r}), 'salary', domain, Output(False, True), asked=ASKED)"
        )
        return memory_beyond(_IMPORTS, work)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the times beside those asked."""
    noise = [
        [name, timed(measured["noise"][key]["cpu"]), seconds(ASKED_DRAW), seconds(OTHERS_DRAW)]
        for key, name in (("normal", "rounded normal"), ("laplace", "discrete Laplace"))
    ]
    releases = [
        [
            f"{one['size']:,}",
            timed(one["with"]["cpu"]),
            timed(one["without"]["cpu"]),
            seconds(ASKED_RELEASE) if one["size"] == 1024 else "–",
        ]
        for one in measured["releases"]
    ]
    cpu = float(np.median([one["cpu"] for one in measured["tables"]]))
    megabytes = float(np.median([one["beyond_import"] for one in measured["tables"]]))
    slowest = max(measured["noise"][key]["cpu"]["median"] for key in measured["noise"])
    kilo = [one for one in measured["releases"] if one["size"] == 1024]
    verdicts = [
        ("noise", slowest <= ASKED_DRAW),
        ("the table's time", cpu <= ASKED_ROWS),
        ("its memory", megabytes <= ASKED_MEGABYTES),
    ]
    verdicts += [
        ("release and decode", one["with"]["cpu"]["median"] <= ASKED_RELEASE) for one in kilo
    ]
    missed = [name for name, reached in verdicts if not reached]
    return "\n\n".join(
        [
            f"Exact noise, {settings['draws']:,} numbers at a time, compiled; CPU a number:",
            table(["law", "CPU", "asked at most", "opendp 0.16"], noise, texts=1),
            "A release of prefix sums of 100,000 people and its decode, after the first of a size "
            "(which computes what all of that size share):",
            table(["symbols", "with its band", "without", "asked at most"], releases, texts=1),
            f"Counting {settings['rows']:,} rows of Parquet in a fresh process, without the "
            f"imports: {seconds(cpu)} of CPU ({seconds(ASKED_ROWS)} asked), {megabytes:.0f} MB "
            f"beyond the imports ({ASKED_MEGABYTES:.0f} asked).",
            f"Missed: {', '.join(missed)}." if missed else "All of them are reached.",
        ]
    )
