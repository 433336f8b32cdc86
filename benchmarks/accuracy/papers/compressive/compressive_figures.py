"""The compressive paper's figures 2 and 3, and the same with equal knowledge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.papers.compressive.compressive_claims import (
    BASELINES,
    NORMALIZED,
    PUBLISHED,
    SAME,
    STEPS,
    UNKNOWN,
    claims,
    named,
    same_knowledge,
)
from benchmarks.accuracy.papers.figure_runs import kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.sparse_populations import POPULATIONS, drawn, errors, tail_mass
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import figure, table
from benchmarks.signed_decoder import SignedDecoder
from lapwing.decoders.structured.sparse_recovery import CompressiveEstimate
from lapwing.papers.baselines.threshold import clipped
from lapwing.randomizers.categorical.hadamard_response import published_blocks

__all__ = ["FULL", "INDEX", "QUICK", "TITLE", "claims", "measure", "section"]

TITLE = "The compressive paper: figures 2 and 3"
INDEX = (
    Entry("figure 1", "Figure 1, how the data flow", "figure-1"),
    Entry("figure 2", "Figure 2, errors by number of people", "figure-2"),
    Entry("figure 3", "Figure 3, errors by ε and the last step", "figure-3"),
    Entry("lemmas 2.1 and 4.1", "What the matrices promise"),
)

FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 10,
    "symbols": 10_000,
    "outputs": 500,
    "people": list(range(50_000, 1_050_000, 50_000)),
    "people_of_ours": [50_000, 200_000, 1_000_000],
    "people_of_figure_3": 200_000,
    "epsilons": [1, 2, 3, 4],
    "populations": list(POPULATIONS),
}
QUICK: dict[str, Any] = {
    "seed": 0,
    "repeats": 2,
    "symbols": 2000,
    "outputs": 200,
    "people": [50_000],
    "people_of_ours": [50_000],
    "people_of_figure_3": 50_000,
    "epsilons": [2],
    "populations": ["Geo(.8), text", "Unif(10)"],
}

EPSILON = 0.5
"""Of figure 2."""

MOST: Any = 24
"""What is accepted of the published matrices: whatever it is, to measure it."""


@lru_cache(maxsize=12)  # the repeats of one distribution, which all numbers of people use in turn
def randomizers(symbols: int, outputs: int, epsilon: Any, seed: int) -> dict[str, Any]:
    """Return every randomizer; the matrices follow from the seed."""
    domain = lw.Categories(symbols)
    matrix = "rademacher" if epsilon <= 1 else "medium"
    return {
        "RR": lw.RandomizedResponse(domain, epsilon),
        "RAPPOR": lw.randomizers.UnaryEncoding(domain, epsilon),
        "SS": lw.SubsetSelection(domain, epsilon),
        "HR": lw.randomizers.HadamardResponse(
            domain, epsilon, blocks=published_blocks(symbols, epsilon)
        ),
        "CP published": lw.CompressivePrivatization(
            domain, epsilon, outputs=outputs, matrix=matrix, accept_epsilon=MOST, seed=seed
        ),
        "CP balanced": lw.CompressivePrivatization(domain, epsilon, outputs=outputs, seed=seed),
    }


@dataclass(frozen=True)
class _Shares:
    mass: Any


def printed(sparsity: int, epsilon: float) -> Callable[..., dict[str, Any]]:
    """Return algorithm 1 with both of its last steps, from one run of matching pursuit."""
    regime: Any = "high" if epsilon <= 1 else "medium"
    found: list[Any] = []

    class Both(CompressiveEstimate):
        """The estimate as printed, which also leaves what it had before its last step."""

        def _last(self, estimate: Any) -> Any:
            found.append(estimate)
            return super()._last(estimate)

    def decode(channel: Any, tally: Any) -> dict[str, Any]:
        answer = Both(sparsity=sparsity, regime=regime).decode(channel, tally)
        return {PUBLISHED: answer, NORMALIZED: _Shares(clipped(found[-1]))}

    return decode


def ours(sparsity: int) -> list[tuple[str, str, Callable[..., Any]]]:
    """Return (name, randomizer, decode) of what the paper does not compare."""
    known = lw.decoders.SparseRecovery(sparsity=sparsity, band=False)
    unknown = lw.decoders.SparseRecovery(band=False)
    return [
        (SAME[0], "SS", known.decode),
        (SAME[1], "HR", known.decode),
        (SAME[2], "CP published", known.decode),
        (SAME[3], "CP balanced", known.decode),
        (UNKNOWN[0], "SS", unknown.decode),
        (UNKNOWN[1], "CP balanced", unknown.decode),
    ]


def beta_of(randomizer: Any, epsilon: float) -> float:
    """Return beta of lemmas 2.1 and 4.1: how far a column's ones are from half, or e^-epsilon."""
    density = 0.5 if epsilon <= 1 else float(np.exp(-epsilon))
    ones = randomizer.channel.blocks[0].operator.ones
    return float(np.abs(ones / (randomizer._outputs * density) - 1).max())


def cell(
    name: str,
    *,
    symbols: int,
    outputs: int,
    people: int,
    epsilon: float,
    repeats: int,
    seed: int,
    with_ours: bool,
) -> dict[str, Any]:
    """Return the errors of every method for one population, number of people and epsilon."""
    population = POPULATIONS[name]
    samples: dict[str, dict[str, list[float]]] = {}
    promise: dict[str, list[float]] = {"true": [], "beta": []}
    for repeat in range(repeats):
        key = (name, f"{people} people", f"epsilon {epsilon:g}", repeat)
        # One matrix for each run, as in the paper: the same at all of its numbers of people.
        about = (name, f"epsilon {epsilon:g}", repeat, "matrix")
        matrix = int(stream(seed, *about).integers(2**31))
        made = randomizers(symbols, outputs, epsilon, matrix)
        rng = stream(seed, *key, "people")
        mass = population.make(symbols, rng)
        held = rng.multinomial(people, mass)
        wanted = ours(population.sparsity) if with_ours else []
        used = {*BASELINES, "CP published", *(which for _, which, _ in wanted)}
        tallies = {
            which: drawn(one, mass, held, stream(seed, *key, which))
            for which, one in made.items()
            if which in used
        }
        found = {}
        for which in BASELINES:
            estimate: Any = SignedDecoder(lw.LeastSquares()).decode(
                made[which].channel, tallies[which]
            )
            for step, projection in STEPS.items():
                masses = estimate.project(projection)
                found[f"{which} {step}"] = lw.Distribution(estimate.domain, masses)
        both = printed(population.sparsity, epsilon)
        found |= both(made["CP published"].channel, tallies["CP published"])
        for method, which, decode in wanted:
            found[method] = decode(made[which].channel, tallies[which])
        for method, answer in found.items():
            l1, l2 = errors(answer, mass)
            kept = samples.setdefault(method, {"l1": [], "l2": []})
            kept["l1"].append(l1)
            kept["l2"].append(l2)
        promise["true"].append(float(made["CP published"].true_epsilon))
        promise["beta"].append(beta_of(made["CP published"], epsilon))
    return {
        "population": name,
        "people": people,
        "epsilon": epsilon,
        "sparsity": population.sparsity,
        "promise": kept_figures({"promise": promise})["promise"],
        "methods": kept_figures(samples),
    }


def measure(
    *,
    seed: int,
    repeats: int,
    symbols: int,
    outputs: int,
    people: Sequence[int],
    people_of_ours: Sequence[int],
    people_of_figure_3: int,
    epsilons: Sequence[float],
    populations: Sequence[str],
) -> dict[str, Any]:
    """Return the cells of both figures, and the tails of the distributions."""
    shape = {"symbols": symbols, "outputs": outputs, "repeats": repeats, "seed": seed}
    rng = stream(seed, "tails")
    return {
        "figure_2": [
            cell(name, people=many, epsilon=EPSILON, with_ours=many in people_of_ours, **shape)
            for name in populations
            for many in people
        ],
        "figure_3": [
            cell(name, people=people_of_figure_3, epsilon=epsilon, with_ours=True, **shape)
            for name in populations
            for epsilon in epsilons
        ],
        "tails": {
            name: tail_mass(POPULATIONS[name].make(symbols, rng), POPULATIONS[name].sparsity)
            for name in populations
        },
    }


# The page.


def _error(row: Mapping[str, Any], name: str) -> str:
    if name not in row["methods"]:
        return "–"
    found = row["methods"][name]["l1"]
    error = found["standard_error"]
    return f"{figure(found['mean'])} ± {figure(error if error > 5e-5 else 0, digits=1)}"


def _table(rows: Sequence[Mapping[str, Any]], names: Sequence[str], key: str, letter: str) -> str:
    lines = [
        [row["population"], f"{row[key]:,}", *(_error(row, name) for name in names)] for row in rows
    ]
    return table(["distribution", letter, *names], lines)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables, each with what the paper says of it and what is seen."""
    tails = ", ".join(
        f"{name}: s = {POPULATIONS[name].sparsity}, tail {tail:.2g}"
        for name, tail in measured["tails"].items()
    )
    said: dict[str, list[str]] = {}
    for one in claims(measured):
        said.setdefault(one.where, []).append(one.line())
    second, third = measured["figure_2"], measured["figure_3"]
    same = [row for row in second if SAME[0] in row["methods"]]
    names = [*named("norm"), *named("proj"), PUBLISHED, NORMALIZED]
    return "\n\n".join(
        [
            f"Xiong et al. 2021, section 5. {settings['symbols']:,} symbols, m = "
            f"{settings['outputs']}; mean L1 error to the distribution ± standard error over "
            f"{settings['repeats']} repeats, 10 in the paper, seed {settings['seed']}; each repeat "
            "of each cell has people and reports of its own, and a matrix that it shares with the "
            'other n of its distribution. "norm" is clip and divide, '
            'which the baselines\' own code does; "proj" the projection on the simplex. Made '
            "distributions, no file: Geo(λ) is ambiguous, the text has p(i) ~ (1-λ)^i λ, the "
            f"baselines' code (1-λ) λ^i. s as in the paper, roughly (s, 0.1)-sparse: {tails}. L2 "
            "errors stand in the JSON. Subset selection is drawn from the normal law of its "
            "counts; all others from the exact one.",
            "### Figure 1, how the data flow",
            "![Figure 1: the scheme](figures/figure-1.png)",
            "A value x, m public sets and one report: see "
            "[the way of a value](../../../../docs/privacy/life-of-a-value.md"
            "#compressive-privatization).",
            "### Figure 2, errors by number of people",
            "![Figure 2: errors by number of people](figures/figure-2.png)",
            f"ε = {EPSILON:g}.",
            _table(second, names, "people", "n"),
            "\n".join(said["figure 2"]),
            "### Figure 3, errors by ε and the last step",
            "![Figure 3: errors by ε](figures/figure-3.png)",
            f"n = {third[0]['people']:,}; the paper does not print its n.",
            _table(third, names, "epsilon", "ε"),
            "\n".join(said["figure 3"]),
            "### What the matrices promise",
            "\n".join(said["lemmas 2.1 and 4.1"]),
            "### The same with equal knowledge",
            "Our addition. The same tallies with s and the last step the same for everyone (a fit "
            f"on the symbols found), and with s unknown to all; ε = {EPSILON:g}, then by ε.",
            _table(same, [*SAME, *UNKNOWN], "people", "n"),
            _table(third, [*SAME, *UNKNOWN], "epsilon", "ε"),
            same_knowledge([*same, *third]),
        ]
    )
