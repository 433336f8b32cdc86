"""Run times of the compressive paper's methods, as ratios of works in one process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lapwing as lw
from benchmarks.accuracy.papers.compressive.compressive_figures import randomizers
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.sparse_populations import POPULATIONS, drawn
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import seconds, table
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.summaries import mean_and_error
from benchmarks.timing import alternate
from benchmarks.verdicts import Claim, less
from lapwing.decoders.structured.sparse_recovery import CompressiveEstimate

TITLE = "The compressive paper: run times"
HEADING = "Time of decoding"
INDEX = (Entry("lemma 1.2, time", HEADING),)
FULL: dict[str, Any] = {
    "seed": 0,
    "rounds": 12,
    "symbols": [1000, 3000, 10_000],
    "outputs": 500,
    "people": 200_000,
    "population": "Unif(10)",
}
QUICK: dict[str, Any] = {**FULL, "rounds": 3, "symbols": [500, 1000], "outputs": 200}

EPSILON = 0.5
BASELINES = ("RR", "SS", "HR")
PUBLISHED = "CP, algorithm 1"

POLYNOMIAL = 2.0
"""An exponent in k that no polynomial algorithm of use exceeds; a step of it is a product."""


def measure(
    *,
    seed: int,
    rounds: int,
    symbols: Sequence[int],
    outputs: int,
    people: int,
    population: str,
) -> dict[str, Any]:
    """Return CPU seconds of decoding, in every round, by method and number of symbols."""
    rows = []
    for size in symbols:
        found = {}
        works = _decoders(size, outputs, people, population, seed)
        for name, times in alternate(works, rounds=rounds).items():
            found[name] = {**mean_and_error(times.cpu), "values": times.cpu}
        rows.append({"k": size, "works": found})
    return {"decoders": rows}


def _decoders(
    size: int, outputs: int, people: int, population: str, seed: int
) -> dict[str, Callable[[], object]]:
    one = POPULATIONS[population]
    rng = stream(seed, "times", size)
    made = randomizers(size, outputs, EPSILON, int(rng.integers(2**31)))
    mass = one.make(size, rng)
    held = rng.multinomial(people, mass)
    decode: dict[str, tuple[str, Any]] = {
        **{name: (name, SignedDecoder(lw.LeastSquares())) for name in BASELINES},
        PUBLISHED: ("CP published", CompressiveEstimate(sparsity=one.sparsity, regime="high")),
    }
    works: dict[str, Callable[[], object]] = {}
    for name, (which, decoder) in decode.items():
        tally = drawn(made[which], mass, held, rng)

        def work(decoder: Any = decoder, which: str = which, tally: Any = tally) -> object:
            return decoder.decode(made[which].channel, tally)

        works[name] = work
    return works


def claims(measured: Mapping[str, Any]) -> list[Claim]:
    """Return what lemma 1.2 says of time, of the recovery that is used."""
    rows = measured["decoders"]
    first, last = rows[0], rows[-1]
    growth = (last["k"] / first["k"]) ** POLYNOMIAL
    times = last["works"][PUBLISHED]["mean"] / first["works"][PUBLISHED]["mean"]
    exponent = math.log(times) / math.log(last["k"] / first["k"])
    over = last["works"][PUBLISHED]["mean"] / last["works"]["HR"]["mean"]
    return [
        Claim(
            "There is a polynomial time algorithm that recovers a sparse vector.",
            [
                less(
                    last["works"][PUBLISHED]["values"],
                    [first["works"][PUBLISHED]["values"]],
                    factor=growth,
                )
            ],
            f"Of algorithm 1 with matching pursuit, as in the paper's experiments: time grows as k "
            f"to the {exponent:.1f}; counted below {POLYNOMIAL:g}. At k = {last['k']:,} it takes "
            f"{over:.1f} times as long as Hadamard response's transform.",
            where=INDEX[0].where,
        )
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table of times and what it says."""
    rows = measured["decoders"]
    names = list(rows[0]["works"])
    lines = [
        [f"{row['k']:,}", *(seconds(row["works"][name]["mean"]) for name in names)] for row in rows
    ]
    return "\n\n".join(
        [
            f"### {HEADING}",
            f"Xiong et al. 2021, which prints no times. Mean CPU time of decoding the reports of "
            f"{settings['people']:,} people, {settings['population']}, ε = {EPSILON:g}, m = "
            f"{settings['outputs']}; {settings['rounds']} rounds in turn. Only ratios of one run "
            "mean anything.",
            table(["k", *names], lines, texts=0),
            "\n".join(claim.line() for claim in claims(measured)),
        ]
    )
