"""What the wavelet paper says of run times, as ratios of works that ran in turn in one process."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.papers.figure_columns import beta52, interval
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.streams import stream
from benchmarks.accuracy.papers.wavelet.wavelet_methods import PURE_CLIP
from benchmarks.markdown import listed, seconds, table
from benchmarks.summaries import mean_and_error
from benchmarks.timing import alternate
from benchmarks.verdicts import Claim, less
from lapwing.papers.wavelet.signed_subset_selection import optimal_members

TITLE = "The wavelet paper: run times"
HEADING = "Samplers, and EM beside the wavelet"
INDEX = (Entry("sections 3.3 and 4.6, time", HEADING),)
FULL: dict[str, Any] = {
    "seed": 0,
    "rounds": 12,
    "draws": 200,
    "coordinates": [64, 256, 1024],
    "epsilons": [1, 2, 4],
    "bins": [256, 512, 1024],
    "people": 100_000,
}
QUICK: dict[str, Any] = {
    **FULL,
    "rounds": 3,
    "draws": 20,
    "coordinates": [64, 256],
    "bins": [64, 256],
}

REJECTING, FAST = "until accepted", "algorithm 2"
EM, STEP, CLIP = "SW-EM", "one iteration, dense", "wavelet"

TWICE = 2.0
"""By more than this factor a work is called slower, or inefficient."""

SLACK = 1.25
"""Parts by which times may grow faster than their order says: small works have a fixed cost."""


def until_accepted(
    place: int, coordinates: int, members: int, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw signed sets until one is accepted (section 4.6, first paragraph); +1 is held."""
    rest = math.exp(-epsilon)
    while True:
        drawn = np.zeros(coordinates, dtype=np.int8)
        places = rng.choice(coordinates, members, replace=False)
        drawn[places] = 2 * rng.integers(0, 2, members) - 1
        if drawn[place] == 1 or rng.random() < rest:
            return drawn


def algorithm_2(
    place: int, coordinates: int, members: int, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw the own coordinate first, then the others (algorithm 2, with random signs)."""
    weights = np.array([math.exp(epsilon), 1.0, 2 * (coordinates - members) / members])
    own = int(np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(), side="right"))
    left = members if own == 2 else members - 1
    places = rng.choice(coordinates - 1, left, replace=False)
    drawn = np.zeros(coordinates, dtype=np.int8)
    drawn[places + (places >= place)] = 2 * rng.integers(0, 2, left) - 1
    drawn[place] = (1, -1, 0)[own]
    return drawn


def measure(
    *,
    seed: int,
    rounds: int,
    draws: int,
    coordinates: Sequence[int],
    epsilons: Sequence[float],
    bins: Sequence[int],
    people: int,
) -> dict[str, Any]:
    """Return CPU seconds of every round, by sampler, size and epsilon, and by decoder and bins."""
    return {
        "samplers": [
            {
                "coordinates": size,
                "epsilon": epsilon,
                "members": optimal_members(size, epsilon),
                "works": _timed(_samplers(size, epsilon, draws, seed), rounds, each=draws),
            }
            for size in coordinates
            for epsilon in epsilons
        ],
        "decoders": [
            {"bins": size, "works": _timed(_decoders(size, people, seed), rounds)} for size in bins
        ],
    }


def _timed(
    works: Mapping[str, Callable[[], object]], rounds: int, *, each: int = 1
) -> dict[str, Any]:
    found = {}
    for name, times in alternate(works, rounds=rounds).items():
        kept = [one / each for one in times.cpu]
        found[name] = {**mean_and_error(kept), "values": kept}
    return found


def _samplers(size: int, epsilon: float, draws: int, seed: int) -> dict[str, Callable[[], object]]:
    members = optimal_members(size, epsilon)

    def work(sampler: Callable[..., np.ndarray]) -> object:
        rng = stream(seed, "samplers", size, f"{epsilon:g}")
        return [sampler(size // 2, size, members, epsilon, rng) for _ in range(draws)]

    return {REJECTING: partial(work, until_accepted), FAST: partial(work, algorithm_2)}


def _decoders(size: int, people: int, seed: int) -> dict[str, Callable[[], object]]:
    rng = stream(seed, "decoders", size)
    domain, counts = interval(size), beta52(people).draw(size, rng)
    wave = lw.SquareWave(domain, 1)
    tree = lw.papers.wavelet.Wavelet(domain, 1)
    reports = lw.simulate(wave, counts, rng=rng)
    coefficients = lw.simulate(tree, counts, rng=rng)
    matrix = wave.channel.blocks[0].operator.matmat(np.eye(size))
    seen, even = reports.blocks[0].astype(float), np.full(size, 1 / size)
    em = lw.ExpectationMaximization(band=False)
    return {
        EM: lambda: em.decode(wave.channel, reports),
        STEP: lambda: [even * (matrix.T @ (seen / (matrix @ even))) for _ in range(5)],
        CLIP: lambda: PURE_CLIP.decode(tree.channel, coefficients),
    }


def claims(measured: Mapping[str, Any]) -> list[Claim]:
    """Return what sections 3.3 and 4.6 say of time."""
    rows, decoders = measured["samplers"], measured["decoders"]
    where = INDEX[0].where
    by = {(row["coordinates"], row["epsilon"]): row["works"] for row in rows}
    sizes = sorted({size for size, _ in by})
    epsilons = sorted({epsilon for _, epsilon in by})
    over = {key: _ratio(works, REJECTING, FAST) for key, works in by.items()}
    told = "; ".join(
        f"{listed([f'{over[size, e]:.1f} at ε = {e:g}' for e in epsilons])} with {size}"
        for size in sizes
    )
    large = decoders[-1]
    growth = _exponent(decoders, STEP)
    return [
        Claim(
            "Drawing until a vector is accepted becomes inefficient under large ε.",
            [
                less(
                    by[size, epsilons[-1]][FAST]["values"],
                    [by[size, epsilons[-1]][REJECTING]["values"]],
                    factor=1 / TWICE,
                )
                for size in sizes
            ],
            f"Counted where it takes more than {TWICE:g} times as long as algorithm 2 at the "
            f"largest ε. Over it, by coordinates: {told}.",
            where=where,
        ),
        Claim(
            "Algorithm 2 takes time O(d), at any ε.",
            [
                less(by[many, e][FAST]["values"], [by[few, e][FAST]["values"]], factor=factor)
                for e in epsilons
                for few, many in itertools.pairwise(sizes)
                for factor in [SLACK * many / few]
            ],
            f"Counted where the time grows by at most {SLACK:g} times the factor of d.",
            where=where,
        ),
        Claim(
            "The recovery of the distribution by EM is computationally expensive, O(d³) an "
            "iteration.",
            [
                less(
                    large["works"][CLIP]["values"],
                    [large["works"][EM]["values"]],
                    factor=1 / TWICE,
                )
            ],
            f"Counted where EM takes more than {TWICE:g} times as long as the wavelet at "
            f"{large['bins']:,} bins: {_ratio(large['works'], EM, CLIP):.1f} times. An iteration "
            f"with a dense matrix is two products with a vector: time grows as d to the "
            f"{growth:.1f}, not as d³.",
            where=where,
        ),
    ]


def _ratio(works: Mapping[str, Any], ours: str, theirs: str) -> float:
    return float(works[ours]["mean"] / works[theirs]["mean"])


def _exponent(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    first, last = rows[0], rows[-1]
    times = last["works"][name]["mean"] / first["works"][name]["mean"]
    return math.log(times) / math.log(last["bins"] / first["bins"])


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return both tables of times and what they say."""
    samplers = [
        [
            f"{row['coordinates']:,}",
            f"{row['epsilon']:g}",
            str(row["members"]),
            *(seconds(row["works"][name]["mean"]) for name in (REJECTING, FAST)),
            f"{_ratio(row['works'], REJECTING, FAST):.2f}",
        ]
        for row in measured["samplers"]
    ]
    decoders = [
        [
            f"{row['bins']:,}",
            *(seconds(row["works"][name]["mean"]) for name in (EM, STEP, CLIP)),
            f"{_ratio(row['works'], EM, CLIP):.2f}",
        ]
        for row in measured["decoders"]
    ]
    return "\n\n".join(
        [
            f"### {HEADING}",
            "Zhao et al. 2026, sections 3.3 and 4.6. Mean CPU time of one draw of both samplers as "
            f"the paper writes them, in Python with NumPy, and of decoding {settings['people']:,} "
            f"reports of Beta(5, 2) at ε = 1; {settings['rounds']} rounds in turn. The library's "
            "own sampler is neither. Only ratios of one run mean anything.",
            table(["d", "ε", "m", REJECTING, FAST, "ratio"], samplers, texts=0),
            table(["bins", EM, f"5 × {STEP}", CLIP, "EM / wavelet"], decoders, texts=0),
            "\n".join(claim.line() for claim in claims(measured)),
        ]
    )
