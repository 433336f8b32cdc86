"""The compressive paper's theorem 1.1 and table 1: sweeps of n, epsilon, s, m and k; our rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lapwing as lw
from benchmarks.accuracy.papers.compressive.compressive_figures import MOST, printed
from benchmarks.accuracy.papers.compressive.theorem_claims import (
    ALONG,
    BALANCED,
    BOUNDS,
    HADAMARD,
    PRINTED,
    claims,
    exponent,
)
from benchmarks.accuracy.papers.figure_runs import kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.sparse_populations import POPULATIONS, drawn, errors, even
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import figure, table
from benchmarks.signed_decoder import SignedDecoder
from lapwing.randomizers.categorical.compressive_privatization import recommended_outputs
from lapwing.randomizers.categorical.hadamard_response import published_blocks

__all__ = ["FULL", "INDEX", "QUICK", "TITLE", "claims", "measure", "section"]

TITLE = "The compressive paper: theorem 1.1 and table 1, our rule for m, `recommend`"
INDEX = (
    Entry("theorem 1.1", "Theorem 1.1, along every letter", "theorem-1-1"),
    Entry("table 1", "Table 1, people needed and bits of a report"),
)

FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 20,
    "symbols": 10_000,
    "sparsity": 10,
    "people": 2_000_000,
    "n": [250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000],
    "epsilon": [1.0, 0.5, 0.25],
    "s": [5, 10, 20, 40],
    "m": [250, 500, 1000, 2000],
    "k": [1000, 3000, 10_000, 30_000],
    "people_of_s": 8_000_000,
    "people_of_rule": 200_000,
    "repeats_of_rule": 20,
    "recommended": list(POPULATIONS),
}
QUICK: dict[str, Any] = {
    "seed": 0,
    "repeats": 2,
    "symbols": 1000,
    "sparsity": 5,
    "people": 500_000,
    "n": [250_000, 1_000_000],
    "epsilon": [1.0, 0.5],
    "s": [3, 6],
    "m": [200, 400],
    "k": [500, 1000],
    "people_of_s": 1_000_000,
    "people_of_rule": 50_000,
    "repeats_of_rule": 2,
    "recommended": ["Unif(10)"],
}

EPSILON = 0.5
"""Of every sweep but that of epsilon: the paper's default."""


OUTPUTS = 500
"""Of the paper's experiments, for the bits of table 1."""


@dataclass(frozen=True)
class Point:
    """One setting of a sweep: the letters of the theorem."""

    k: int
    s: int
    m: int
    n: int
    epsilon: float


def points(
    *,
    symbols: int,
    sparsity: int,
    people: int,
    n: Sequence[int],
    epsilon: Sequence[float],
    s: Sequence[int],
    m: Sequence[int],
    k: Sequence[int],
    people_of_s: int,
) -> dict[str, list[Point]]:
    """Return the settings of each sweep; m follows s and k by our rule, else it stays."""

    def ruled(size: int, found: int) -> int:
        return recommended_outputs(size, found, EPSILON)

    plain = ruled(symbols, sparsity)
    return {
        "n": [Point(symbols, sparsity, plain, one, EPSILON) for one in n],
        "epsilon": [Point(symbols, sparsity, plain, people_of_s, one) for one in epsilon],
        "s": [Point(symbols, one, ruled(symbols, one), people_of_s, EPSILON) for one in s],
        "m": [Point(symbols, sparsity, one, people, EPSILON) for one in m],
        "k": [Point(one, sparsity, ruled(one, sparsity), people, EPSILON) for one in k],
    }


def measure(
    *,
    seed: int,
    repeats: int,
    symbols: int,
    sparsity: int,
    people: int,
    n: Sequence[int],
    epsilon: Sequence[float],
    s: Sequence[int],
    m: Sequence[int],
    k: Sequence[int],
    people_of_s: int,
    people_of_rule: int,
    repeats_of_rule: int,
    recommended: Sequence[str],
) -> dict[str, Any]:
    """Return errors along the sweeps, the rule's record, and `recommend` beside simulation."""
    sweeps = points(
        symbols=symbols,
        sparsity=sparsity,
        people=people,
        n=n,
        epsilon=epsilon,
        s=s,
        m=m,
        k=k,
        people_of_s=people_of_s,
    )
    return {
        "sweeps": {
            name: [_point(f"sweep of {name}", one, repeats, seed) for one in found]
            for name, found in sweeps.items()
        },
        "rule": _rule(symbols, people_of_rule, repeats_of_rule, seed),
        "recommended": [
            predicted(name, symbols=symbols, people=people_of_rule, repeats=repeats, seed=seed)
            for name in recommended
        ],
        "bits": _bits(symbols, min(OUTPUTS, symbols)),
    }


def _point(sweep: str, point: Point, repeats: int, seed: int) -> dict[str, Any]:
    domain, epsilon = lw.Categories(point.k), point.epsilon
    samples: dict[str, dict[str, list[float]]] = {
        name: {"l1": [], "l2": []} for name in (BALANCED, PRINTED, HADAMARD)
    }
    for repeat in range(repeats):
        key = (sweep, *(f"{name} {one:g}" for name, one in vars(point).items()), repeat)
        matrix = int(stream(seed, *key, "matrix").integers(2**31))
        made: dict[str, Any] = {
            BALANCED: lw.CompressivePrivatization(domain, epsilon, outputs=point.m, seed=matrix),
            PRINTED: lw.CompressivePrivatization(
                domain,
                epsilon,
                outputs=point.m,
                matrix="rademacher",
                accept_epsilon=MOST,
                seed=matrix,
            ),
            HADAMARD: lw.randomizers.HadamardResponse(
                domain, epsilon, blocks=published_blocks(point.k, epsilon)
            ),
        }
        decode: dict[str, Callable[..., Any]] = {
            BALANCED: lw.decoders.SparseRecovery(sparsity=point.s, band=False).decode,
            PRINTED: lambda channel, tally: printed(point.s, epsilon)(channel, tally)[
                "CP as printed"
            ],
            HADAMARD: SignedDecoder(lw.LeastSquares()).decode,
        }
        rng = stream(seed, *key, "people")
        mass = even(point.s)(point.k, rng)
        held = rng.multinomial(point.n, mass)
        for name, one in made.items():
            tally = drawn(one, mass, held, stream(seed, *key, name))
            l1, l2 = errors(decode[name](one.channel, tally), mass)
            samples[name]["l1"].append(l1)
            samples[name]["l2"].append(l2)
    return {**vars(point), "methods": kept_figures(samples)}


def _rule(symbols: int, people: int, repeats: int, seed: int) -> list[dict[str, Any]]:
    """Return how often just the ten symbols of Unif(10) are found at the rule's m and at half."""
    rows = []
    epsilon: Any
    for epsilon in (EPSILON, 2.0):
        ruled = recommended_outputs(symbols, 10, epsilon)
        for outputs in (ruled, ruled // 2):
            right = 0
            for repeat in range(repeats):
                key = ("rule", f"epsilon {epsilon:g}", f"{outputs} outputs", repeat)
                rng = stream(seed, *key)
                mass = POPULATIONS["Unif(10)"].make(symbols, rng)
                randomizer = lw.CompressivePrivatization(
                    *(lw.Categories(symbols), epsilon),
                    outputs=outputs,
                    seed=int(rng.integers(2**31)),
                )
                tally = drawn(randomizer, mass, rng.multinomial(people, mass), rng)
                answer = lw.decoders.SparseRecovery(sparsity=10, band=False).decode(
                    randomizer.channel, tally
                )
                right += bool(((answer.mass > 0) == (mass > 0)).all())
            row = {"epsilon": epsilon, "outputs": outputs, "people": people}
            rows.append({**row, "right": right, "of": repeats})
    return rows


def predicted(name: str, *, symbols: int, people: int, repeats: int, seed: int) -> dict[str, Any]:
    """Return the L1 error that `recommend` expects of reports of one byte, and the one seen.

    One byte is where it recommends compressive privatization. The column is told, as a guess.
    """
    mass = POPULATIONS[name].make(symbols, stream(seed, "recommend", name))
    found = lw.recommend(
        lw.Categories(symbols), epsilon=EPSILON, users=people, like=mass, report_bytes=1
    )
    seen: list[float] = []
    for repeat in range(repeats):
        rng = stream(seed, "recommend", name, repeat)
        tally: Any = drawn(found.randomizer, mass, rng.multinomial(people, mass), rng)
        answer = found.decoder.decode(found.randomizer.channel, tally)
        seen.append(errors(answer, mass)[0])
    return {
        "population": name,
        "people": people,
        "randomizer": found.randomizer.name,
        "outputs": int(getattr(found.randomizer, "outputs", 0)),
        "decoder": found.decoder.name,
        "expected": float(found.expected_error["l1"].by_kind["like"]),
        **kept_figures({"seen": {"l1": seen}}),
    }


def _bits(symbols: int, outputs: int) -> dict[str, float]:
    domain = lw.Categories(symbols)
    hadamard = lw.randomizers.HadamardResponse(
        domain, EPSILON, blocks=published_blocks(symbols, EPSILON)
    )
    compressed = lw.CompressivePrivatization(domain, EPSILON, outputs=outputs)
    return {
        "HR": math.log2(hadamard._outputs),
        "log k": math.log2(symbols),
        "CP": math.log2(compressed._outputs),
        "log m": math.log2(outputs),
    }


# The page.


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the sweeps, table 1, the rule and what `recommend` expects, with what is seen."""
    said: dict[str, list[str]] = {}
    for one in claims(measured):
        said.setdefault(one.where, []).append(one.line())
    bits = measured["bits"]
    return "\n\n".join(
        [
            f"Xiong et al. 2021, theorems 1.1 and 3.6 and table 1. Unif(s) on k symbols, "
            f"{settings['repeats']} repeats, seed {settings['seed']}, each point with matrices, "
            "people and reports of its own. *Balanced* columns, s known and a fit on the symbols "
            "found: the theorem's conditions with β = 0. *As printed*: random signs and algorithm "
            "1, whose β does not shrink with n, so the theorem promises no error below its order. "
            "*HR unbiased*: the unbiased estimate of Hadamard response, which table 1 sets beside.",
            "### Theorem 1.1, along every letter",
            "![Theorem 1.1: L1 error along n, ε, s, m and k](figures/theorem-1-1.png)",
            "m follows s and k by our rule (`recommended_outputs`); in the sweep of m all else "
            "stays.",
            *(_sweep(name, rows) for name, rows in measured["sweeps"].items()),
            "Exponents of the L1 error along each letter, least squares of logarithms, beside the "
            "theorem's:",
            _exponents(measured["sweeps"]),
            "\n".join(said["theorem 1.1"]),
            "### Table 1, people needed and bits of a report",
            table(
                ["method", "people for error α, high privacy", "bits here", "bits printed"],
                [
                    ["HR", "k² / (ε² α²)", f"{bits['HR']:.1f}", f"log₂ k = {bits['log k']:.1f}"],
                    ["CP", "s m / (ε² α²)", f"{bits['CP']:.1f}", f"log₂ m = {bits['log m']:.1f}"],
                ],
                texts=2,
            ),
            "\n".join(said["table 1"]),
            "### Our rule for m",
            f"Runs that find exactly the support of Unif(10) among {settings['symbols']:,} symbols "
            f"at n = {measured['rule'][0]['people']:,} with s known, balanced columns, at the "
            "rule's m and half of it:",
            table(
                ["ε", "m", "exactly the ten found"],
                [
                    [f"{row['epsilon']:g}", str(row["outputs"]), f"{row['right']} of {row['of']}"]
                    for row in measured["rule"]
                ],
                texts=0,
            ),
            "### What `recommend` expects of compressed reports",
            f"ε = {EPSILON:g}, n = {settings['people_of_rule']:,}, at most one byte a report, the "
            "column told with `like`: the L1 error it expects, from its own simulations, beside "
            "that of the pair here.",
            table(
                ["distribution", "pair", "expected", "seen"],
                [_recommended(row) for row in measured["recommended"]],
                texts=2,
            ),
        ]
    )


def _recommended(row: Mapping[str, Any]) -> list[str]:
    seen = row["seen"]["l1"]
    return [
        row["population"],
        f"{row['randomizer']}, {row['outputs']} outputs; {row['decoder']}",
        figure(row["expected"]),
        f"{figure(seen['mean'])} ± {figure(seen['standard_error'], digits=2)}",
    ]


def _sweep(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    methods = list(rows[0]["methods"])
    lines = [
        [f"{row[letter]:,g}" if letter == "epsilon" else f"{row[letter]:,}" for letter in ALONG]
        + [
            f"{figure(found['mean'])} ± {figure(found['standard_error'], digits=2)}"
            for found in (row["methods"][one]["l1"] for one in methods)
        ]
        for row in rows
    ]
    titles = [
        f"**{'ε' if one == 'epsilon' else one}**"
        if one == name
        else ("ε" if one == "epsilon" else one)
        for one in ALONG
    ]
    return table([*titles, *methods], lines, texts=0)


def _exponents(sweeps: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    lines = []
    for name, rows in sweeps.items():
        bound = BOUNDS[name]
        lines.append(
            [
                "ε" if name == "epsilon" else name,
                bound.printed,
                f"{exponent(rows, name, bound.l1):.2f}",
                *(f"{exponent(rows, name, method):.2f}" for method in rows[0]["methods"]),
            ]
        )
    methods = list(next(iter(sweeps.values()))[0]["methods"])
    return table(["along", "the theorem's L1 error", "its exponent", *methods], lines, texts=2)
