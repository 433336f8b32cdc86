"""The curator's work: exact noise, a release with its decode, and counting a large table."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from functools import partial
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
    "people": 1_000_000,
    "sizes": [256, 1024, 4096, 16383],
}
QUICK: dict[str, Any] = {
    "rounds": 2,
    "draws": 10_000,
    "rows": 20_000,
    "tables": 1,
    "people": 10_000,
    "sizes": [64],
}

ASKED_DRAW = 2e-6
ASKED_RELEASE = {"with": {1024: 0.6, 16383: 5.0}, "without": {1024: 0.15}}
"""Seconds of a release and its estimate, with and without band, by the number of bins."""

ASKED_MOST_MEGABYTES = 1000.0
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


_MOST_IMPORTS = """
import numpy
import lapwing as lw
values = numpy.random.default_rng(1).lognormal(0, 0.5, {people})
domain = lw.Interval(0, 10, bins={size}, outside="clip")
"""

_MOST_WORK = """
lw.release(
    values, domain, neighbors="replace-one", epsilon=1, delta="1e-9", rng=lw.seeded(1)
).distribution
"""


def measure(
    *, rounds: int, draws: int, rows: int, tables: int, people: int, sizes: list[int]
) -> dict[str, Any]:
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
        "releases": [_release(size, people, rounds) for size in sizes],
        "largest": memory_beyond(_MOST_IMPORTS.format(people=people, size=max(sizes)), _MOST_WORK),
        "tables": [_table(rows) for _ in range(tables)],
    }


def _release(size: int, people: int, rounds: int) -> dict[str, Any]:
    values = np.random.default_rng(1).lognormal(0, 0.5, people)
    domain = lw.Interval(0, 10, bins=size, outside="clip")
    source = seeded(2)

    def work(decoder: lw.decoders.SpectralPursuit | lw.decoders.StepPursuit) -> object:
        release = lw.release(
            values, domain, neighbors="replace-one", epsilon=1, delta="1e-9", rng=source
        ).release
        return decoder.decode(release.channel, release)

    decoders = {
        "with": lw.decoders.SpectralPursuit(),
        "without": lw.decoders.SpectralPursuit(band=False),
        "steps": lw.decoders.StepPursuit(band=False),
    }
    times = alternate(
        {name: partial(work, decoder) for name, decoder in decoders.items()}, rounds=rounds
    )
    return {"size": size} | {name: spent.summaries() for name, spent in times.items()}


def _asked(way: str, size: int) -> str:
    asked = ASKED_RELEASE[way].get(size)
    return "–" if asked is None else seconds(asked)


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
            *(
                text
                for way in ("with", "without")
                for text in (timed(one[way]["cpu"]), _asked(way, one["size"]))
            ),
            timed(one["steps"]["cpu"]),
        ]
        for one in measured["releases"]
    ]
    cpu = float(np.median([one["cpu"] for one in measured["tables"]]))
    megabytes = float(np.median([one["beyond_import"] for one in measured["tables"]]))
    slowest = max(measured["noise"][key]["cpu"]["median"] for key in measured["noise"])
    largest = measured["largest"]["beyond_import"]
    verdicts = [
        ("noise", slowest <= ASKED_DRAW),
        ("the table's time", cpu <= ASKED_ROWS),
        ("its memory", megabytes <= ASKED_MEGABYTES),
    ]
    verdicts += [
        (
            f"release and estimate {way} band at {one['size']:,} bins",
            one[way]["cpu"]["median"] <= ASKED_RELEASE[way][one["size"]],
        )
        for way in ("with", "without")
        for one in measured["releases"]
        if one["size"] in ASKED_RELEASE[way]
    ]
    verdicts.append(("memory of the largest release", largest <= ASKED_MOST_MEGABYTES))
    missed = [name for name, reached in verdicts if not reached]
    return "\n\n".join(
        [
            f"Exact noise, {settings['draws']:,} numbers at a time, compiled; CPU a number:",
            table(["law", "CPU", "target: at most", "opendp 0.16"], noise, texts=1),
            f"`release` of {settings['people']:,} rows and its estimate by the default decoder, "
            "`SpectralPursuit`, after the first of a size (which computes what all of that size "
            "share). At the end `StepPursuit` without band:",
            table(
                ["bins", "with band", "target", "without", "target", "StepPursuit"],
                releases,
                texts=1,
            ),
            f"The largest with band in a fresh process: {largest:.0f} MB beyond the imports "
            f"(target {ASKED_MOST_MEGABYTES:.0f}).",
            f"Counting {settings['rows']:,} rows of Parquet in a fresh process, without the "
            f"imports: {seconds(cpu)} of CPU (target {seconds(ASKED_ROWS)}), {megabytes:.0f} MB "
            f"beyond the imports (target {ASKED_MEGABYTES:.0f}).",
            f"Missed: {', '.join(missed)}." if missed else "All of them are reached.",
        ]
    )
