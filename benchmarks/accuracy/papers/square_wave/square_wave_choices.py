"""What the square-wave paper decides in a sentence: branching, budget, order, when EM stops.

Section 4.2 takes a branching of 4 and splits the people instead of the budget; section 5.4 finds
randomizing before and after the values are put into bins "very similar", without a figure; section
5.5 speaks of the tau at which EM stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import (
    CountVector,
    Population,
    coarser,
    interval,
    truth,
)
from benchmarks.accuracy.papers.figure_runs import Judge, Samples, cell, compare, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.square_wave.randomize_first import FINER, InBuckets
from benchmarks.accuracy.papers.square_wave.square_wave_claims import (
    ADMM,
    HAAR,
    HH,
    Row,
    below,
    near_best,
    over,
)
from benchmarks.accuracy.papers.square_wave.square_wave_figures import (
    BINS,
    columns_told,
    population,
)
from benchmarks.accuracy.papers.square_wave.square_wave_stopping import (
    curators_trees,
    stopping,
    stopping_claims,
    tree_claims,
)
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import listed, table
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.verdicts import Cell, Claim, both, loosely
from lapwing.decoders.decoder import Decoder

TITLE = "The square-wave paper: what it decides in a sentence"
FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 20,
    "repeats_of_orders": 12,
    "repeats_of_prior": 4,
    "repeats_of_stopping": 12,
    "bins": None,
    "branchings": [2, 4, 8, 16],
    "epsilons": [0.5, 1, 2],
    "epsilons_of_orders": [1, 2, 4],
    "columns": ["beta52", "taxi", "acs_income", "sf_retirement"],
}
QUICK: dict[str, Any] = {
    **FULL,
    "repeats": 2,
    "repeats_of_orders": 2,
    "repeats_of_prior": 2,
    "repeats_of_stopping": 2,
    "bins": 64,
    "branchings": [2, 4],
    "epsilons": [1],
    "epsilons_of_orders": [1],
    "columns": ["beta52"],
}

NEAR_BEST = 1.2
"""What is called near the best has less than so many times the error of each other."""

SIMILAR = 1.1
"""Orders are called similar if neither has so many times the error of the other."""

JUDGES: dict[str, Judge] = {
    "w1": lw.distances.wasserstein,
    "ks": lw.distances.kolmogorov_smirnov,
    "range": partial(lw.distances.range_query_error, width=0.1),
}
ASKED = {HH: "range", ADMM: "w1", HAAR: "range"}
"""HH and HaarHRR give no distribution: they are judged by range queries, HH-ADMM by W1."""

PLAIN = SignedDecoder(lw.papers.square_wave.TreeConsistency(weighted=False, band=False))
BY_ADMM = lw.papers.square_wave.TreeConsistency(method="admm", weighted=False, band=False)

EM, EMS, PRIOR = "EM", "EMS", "SpectralPrior"
ORDERED: dict[str, Decoder] = {
    EMS: lw.ExpectationMaximization(smoothed=True, band=False),
    EM: lw.ExpectationMaximization(band=False),
    PRIOR: lw.SpectralPrior(band=False),
}
"""Decoders of the square wave; the last is the library's own, not the paper's."""

PRIOR_ON, PRIOR_AT = ("beta52", "acs_income"), (1, 4)
"""Where the slow one runs: on a smooth and a heaped column, at two epsilons."""

FIRST, LAST = "R-B", "B-R"
"""Randomize before bucketize, and bucketize before randomize: the paper's abbreviations."""

INDEX = (
    Entry("section 4.2, branching", "Branching of trees", "branching"),
    Entry("section 4.2, budget", "People split against budget split", "budgets"),
    Entry("section 5.4", "Randomize or bucketize first", "orders"),
    Entry("section 5.5", "When EM stops"),
)


def measure(
    *,
    seed: int,
    repeats: int,
    repeats_of_orders: int,
    repeats_of_prior: int,
    repeats_of_stopping: int,
    bins: int | None,
    branchings: Sequence[int],
    epsilons: Sequence[float],
    epsilons_of_orders: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return errors of trees by branching, of both ways to split, and of both orders."""
    chosen = [population(name) for name in columns]
    sizes = {one.name: bins or BINS.get(one.name, 1024) for one in chosen}
    for one in chosen:
        one.law(FINER * sizes[one.name])  # without the data folder nothing is measured in vain
    return {
        "columns": {
            one.name: {"people": one.people, "bins": sizes[one.name], "rule": one.rule}
            for one in chosen
        },
        "branchings": [
            _row(one, e, branching(one, sizes[one.name], branchings, e, repeats, seed))
            for one in chosen
            for e in epsilons
        ],
        "budgets": [
            _row(one, e, budgets(one, sizes[one.name], e, repeats, seed))
            for one in chosen
            for e in epsilons
        ],
        "orders": [
            _row(one, e, orders(name, one, sizes[one.name], e, times, seed)) | {"decoder": name}
            for name in ORDERED
            for one in chosen
            for e in epsilons_of_orders
            for times in [repeats_of_prior if name == PRIOR else repeats_of_orders]
            if name != PRIOR or (one.name in PRIOR_ON and e in PRIOR_AT)
        ],
        "stopping": [
            _row(one, e, stopping(one, sizes[one.name], e, repeats_of_stopping, seed))
            for one in chosen
            for e in epsilons_of_orders
        ],
        "trees": curators_trees(),
    }


def _row(one: Population, epsilon: float, samples: Samples) -> dict[str, Any]:
    return {"column": one.name, "epsilon": epsilon, "methods": kept_figures(samples)}


def trees(branchings: Sequence[int]) -> list[Method]:
    """Return HH and HH-ADMM with every branching."""
    return [
        Method(
            f"{name} {number}",
            partial(lw.papers.square_wave.Hierarchical, branching=number),
            decoder,
        )
        for name, decoder in ((HH, PLAIN), (ADMM, BY_ADMM))
        for number in branchings
    ]


def branching(
    one: Population,
    bins: int,
    branchings: Sequence[int],
    epsilon: float,
    repeats: int,
    seed: int,
) -> Samples:
    """Return errors of HH and HH-ADMM by branching."""
    methods = trees(branchings)
    allowed = {method.name: [ASKED[method.name.split()[0]]] for method in methods}
    return compare(
        methods,
        one,
        JUDGES,
        bins=bins,
        epsilon=epsilon,
        repeats=repeats,
        allowed=allowed,
        seed=seed,
        factors=("branching",),
    )


def everybody(
    randomizer: Any, counts: CountVector, rng: np.random.Generator
) -> lw.tallies.CountTally:
    """Return the tally when each person reports in every group of a mixture, not in one."""
    blocks = randomizer.channel.blocks
    sampled = [block.sample(counts, rng) for block in blocks]
    return lw.tallies.CountTally(sampled, [int(counts.sum())] * len(blocks), randomizer.fingerprint)


def budgets(one: Population, bins: int, epsilon: float, repeats: int, seed: int) -> Samples:
    """Return errors when levels share the people, and when they share each person's epsilon."""
    whole = Fraction(str(epsilon))
    made: dict[str, tuple[Callable[..., Any], Decoder]] = {
        HH: (partial(lw.papers.square_wave.Hierarchical, branching=4), PLAIN),
        ADMM: (partial(lw.papers.square_wave.Hierarchical, branching=4), BY_ADMM),
        HAAR: (
            lw.papers.square_wave.HaarHadamard,
            SignedDecoder(lw.papers.square_wave.TreeConsistency(band=False)),
        ),
    }
    found: Samples = {}
    for name, (make, decoder) in made.items():
        people = make(interval(bins), whole)
        parts = len(people.groups)
        budget = make(interval(bins), whole / parts)
        # Sequential composition: what a person spends is the sum over the levels.
        assert parts * budget.epsilon == whole and budget.certificate().holds
        judge = JUDGES[ASKED[name]]
        kept: dict[str, list[float]] = {"people": [], "budget": []}
        for repeat in range(repeats):
            rng = stream(seed, "budgets", one.name, bins, f"{epsilon:g}", name, repeat)
            counts = one.draw(bins, rng)
            for kind, randomizer, tally in (
                ("people", people, lw.simulate(people, counts, rng=rng)),
                ("budget", budget, everybody(budget, counts, rng)),
            ):
                answer = decoder.decode(randomizer.channel, tally)
                kept[kind].append(judge(answer, truth(counts)))
        for kind, samples in kept.items():
            found[f"{name}, {kind}"] = {ASKED[name]: samples}
    return found


def _before(bins: int, _: lw.Interval, epsilon: float) -> lw.SquareWave:
    return lw.SquareWave(interval(bins), epsilon)


def orders(
    name: str, one: Population, bins: int, epsilon: float, repeats: int, seed: int
) -> Samples:
    """Return errors of a decoder with values put into bins first (B-R) and reports (R-B)."""
    decoder = ORDERED[name]
    return compare(
        [
            Method(LAST, partial(_before, bins), decoder),
            Method(FIRST, lw.SquareWave, InBuckets(bins, decoder)),
        ],
        one,
        {key: JUDGES[key] for key in ("w1", "ks")},
        bins=FINER * bins,
        epsilon=epsilon,
        repeats=repeats,
        known=lambda counts: truth(coarser(counts, bins)),
        seed=seed,
        factors=("orders", name),
    )


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what sections 4.2 and 5.4 say."""
    return [
        *_branching_claims(measured["branchings"]),
        *(tree_claims(measured["trees"]) if "trees" in measured else []),
        *(stopping_claims(measured["stopping"]) if "stopping" in measured else []),
        Claim(
            "In the local model it is better to divide the population instead of the privacy "
            "budget.",
            [
                below(row, ASKED[name], f"{name}, people", [f"{name}, budget"])
                for row in measured["budgets"]
                for name in ASKED
            ],
            "Budget over people: "
            + "; ".join(
                f"{name} "
                + over(measured["budgets"], ASKED[name], f"{name}, budget", f"{name}, people")
                for name in ASKED
            )
            + ".",
            where="section 4.2, budget",
        ),
        *(
            claim
            for name in (EMS, EM)
            for claim in _order_claims(
                name, [row for row in measured["orders"] if row["decoder"] == name]
            )
        ),
    ]


def _branching_claims(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for name in (HH, ADMM):
        own = [one for one in rows[0]["methods"] if one.startswith(f"{name} ")]
        four = f"{name} 4"
        if four not in own:
            continue
        best = [min(own, key=lambda n, r=row: _mean(r, n, ASKED[name])) for row in rows]
        found.append(
            Claim(
                f"The optimal branching of {name} is close to 4.",
                [near_best(row, ASKED[name], four, own, factor=NEAR_BEST) for row in rows],
                f"Counted where 4 has less than {NEAR_BEST:g} times the error of each other; the "
                f"least is at {listed([f'{n.split()[-1]} in {best.count(n)}' for n in own])}.",
                where="section 4.2, branching",
            )
        )
    return found


def _mean(row: Row, method: str, figure: str) -> float:
    return float(row["methods"][method][figure]["mean"])


def _order_claims(name: str, rows: Sequence[Row]) -> list[Claim]:
    if not rows:
        return []
    return [
        Claim(
            "R-B and B-R are very similar.",
            [_similar(row, key) for row in rows],
            f"Similar: neither has {SIMILAR:g} times the error of the other. R-B over B-R: "
            f"{over(rows, key, FIRST, LAST)}.",
            where="section 5.4",
            form=f"{label} with {name}",
        )
        for key, label in (("w1", "W1"), ("ks", "KS"))
    ]


def _similar(row: Row, key: str) -> Cell:
    pairs = (FIRST, LAST), (LAST, FIRST)
    return loosely(
        lambda beyond: both([below(row, key, a, [b], factor=1 + beyond) for a, b in pairs]),
        beyond=SIMILAR - 1,
    )


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the three comparisons and what they say."""
    judged = claims(measured)
    lines = {
        entry.where: "\n".join(claim.line() for claim in judged if claim.where == entry.where)
        for entry in INDEX
    }
    trees, split, order, stop = INDEX
    return "\n\n".join(
        [
            f"Li et al. 2020. {settings['repeats']} repeats, {settings['repeats_of_orders']} of "
            f"orders ({settings['repeats_of_prior']} of {PRIOR}); figures ×10⁴, KS ×10³, ± "
            "standard error. The paper says these without a figure of its own.",
            columns_told(measured["columns"]),
            f"### {trees.heading}",
            "HH: mean absolute error of range queries of width .1; HH-ADMM: W1; with equal "
            "weights, as published.",
            lines[trees.where],
            _table(measured["branchings"], 1e4),
            "![HH and HH-ADMM by branching](figures/branching.png)",
            f"### {split.heading}",
            "*People*: each person reports at one level with all of ε. *Budget*: each reports at "
            "every level with ε over the number of levels; composition adds these up to ε exactly. "
            "HH and HaarHRR: range queries of width .1; HH-ADMM: W1.",
            lines[split.where],
            _table(measured["budgets"], 1e4),
            "![Splitting people and splitting the budget](figures/budgets.png)",
            f"### {order.heading}",
            f"R-B, as in the paper's experiments: the value is randomized on a grid {FINER} times "
            "as fine, its report put into as many buckets as the estimate has bins, and the value "
            "taken to be even within its bin. B-R: the value is put into a bin and that is "
            "randomized, which is what the library does.",
            lines[order.where],
            f"{PRIOR} is the library's own decoder, not the paper's.",
            _orders_table(measured["orders"]),
            "![R-B over B-R by decoder and ε](figures/orders.png)",
            f"### {stop.heading}",
            "EM stops where the log-likelihood changes by less than τ. W1 of EM without smoothing "
            f"on the same reports, {settings.get('repeats_of_stopping', 0)} repeats.",
            lines[stop.where],
            *([_table(measured["stopping"], 1e4)] if "stopping" in measured else []),
        ]
    )


def _table(rows: Sequence[Row], scale: float) -> str:
    names = list(rows[0]["methods"])
    lines = []
    for row in rows:
        cells = [cell(next(iter(row["methods"][name].values())), scale=scale) for name in names]
        lines.append([row["column"], f"{row['epsilon']:g}", *cells])
    return table(["column", "ε", *names], lines, texts=2)


def _orders_table(rows: Sequence[Row]) -> str:
    lines = [
        [
            row["decoder"],
            row["column"],
            f"{row['epsilon']:g}",
            *(
                cell(row["methods"][order][key], scale=scale)
                for key, scale in (("w1", 1e4), ("ks", 1e3))
                for order in (LAST, FIRST)
            ),
        ]
        for row in rows
    ]
    heads = [f"{key}, {order}" for key in ("W1", "KS") for order in (LAST, FIRST)]
    return table(["decoder", "column", "ε", *heads], lines, texts=3)
