"""The square-wave paper's figures 2 to 4: distances, range queries, mean, variance, quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import (
    CountVector,
    Population,
    beta52,
    coarser,
    interval,
    paper_column,
    stand_in,
    truth,
)
from benchmarks.accuracy.papers.figure_runs import Judge, Samples, best, cell, compare, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.square_wave import square_wave_claims
from benchmarks.accuracy.papers.square_wave.randomize_first import FINER, InBuckets
from benchmarks.accuracy.papers.square_wave.square_wave_claims import (
    ADMM,
    BINNED,
    DISTRIBUTIONS,
    EM,
    EMS,
    HAAR,
    HH,
    TREES,
)
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import table
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.verdicts import Claim
from lapwing.decoders.decoder import Decoder
from lapwing.papers.baselines.stochastic_rounding import SquaredDeviation
from lapwing.papers.square_wave.hierarchical import binned

TITLE = "The square-wave paper: figures 2 to 4"
FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 100,
    "repeats_between": 10,
    "bins": None,
    "epsilons": [0.5, 1, 1.5, 2, 2.5],
    "between": [0.75, 1.25, 1.75, 2.25],
    "columns": ["beta52", "taxi", "acs_income", "sf_retirement"],
}
QUICK: dict[str, Any] = {
    "seed": 0,
    "repeats": 2,
    "repeats_between": 2,
    "bins": 64,
    "epsilons": [1],
    "between": [2],
    "columns": ["beta52"],
}

PEOPLE = {"taxi": 2_189_968, "acs_income": 2_308_374, "sf_retirement": 178_012}
"""As many as the paper has in the columns for which these are stand-ins."""

FILES = {
    "taxi": "taxi_2018_01",
    "acs_income": "acs_income_2017",
    "sf_retirement": "sf_retirement_city",
}
"""The papers' own files of these columns, by their names in the catalog."""

BINS = {"beta52": 256}
"""Of the paper; 1024 for all other columns."""

MEANS: dict[str, Callable[..., Any]] = {
    "SR": lw.papers.baselines.StochasticRounding,
    "PM": lw.randomizers.Piecewise,
}


WHOLE = {name: f"{name}, [0, 1]" for name in MEANS}
"""The same in two rounds, the second asking for the squared difference on all of [0, 1]."""


def _binned(bins: int, domain: lw.Interval, epsilon: float) -> Any:
    return binned(domain, epsilon, bins=min(bins, domain.bins))


def _on(bins: int, make: Callable[..., Any], _: lw.Interval, epsilon: float) -> Any:
    """Return a randomizer on the bins of the figure; people are known on a finer grid."""
    return make(interval(bins), epsilon)


TREE = partial(lw.papers.square_wave.Hierarchical, branching=4)
LEAST = lw.LeastSquares()


def methods(bins: int) -> list[Method]:
    """Return what the paper compares at so many bins; the wave randomizes on a finer grid."""
    plain, smooth = (lw.ExpectationMaximization(smoothed=s, band=False) for s in (False, True))
    others: list[tuple[str, Callable[..., Any], Decoder]] = [
        (
            ADMM,
            TREE,
            lw.papers.square_wave.TreeConsistency(method="admm", weighted=False, band=False),
        ),
        *((name, partial(_binned, size), LEAST) for size, name in BINNED.items()),
        (
            HH,
            TREE,
            SignedDecoder(lw.papers.square_wave.TreeConsistency(weighted=False, band=False)),
        ),
        (
            HAAR,
            lw.papers.square_wave.HaarHadamard,
            SignedDecoder(lw.papers.square_wave.TreeConsistency(band=False)),
        ),
    ]
    return [
        Method(EMS, lw.SquareWave, InBuckets(bins, smooth)),
        Method(EM, lw.SquareWave, InBuckets(bins, plain)),
        *(Method(name, partial(_on, bins, make), decoder) for name, make, decoder in others),
    ]


JUDGES: dict[str, Judge] = {
    "w1": lw.distances.wasserstein,
    "ks": lw.distances.kolmogorov_smirnov,
    "range .1": partial(lw.distances.range_query_error, width=0.1),
    "range .4": partial(lw.distances.range_query_error, width=0.4),
    "mean": lw.distances.mean_error,
    "variance": lw.distances.variance_error,
    "quantiles": lw.distances.decile_error,
}
SCALES = {"ks": 1e3}
"""Of figures in the tables; 1e4 for all others."""

TABLE_2: dict[str, list[str]] = {
    **{name: list(JUDGES) for name in DISTRIBUTIONS},
    **{name: ["range .1", "range .4"] for name in TREES},
    **{name: ["mean", "variance"] for name in MEANS},
}
"""The paper's table 2: which methods may be judged by which figures."""


def population(name: str) -> Population:
    """Return a column of the paper: its own file, or its stand-in where that is not there."""
    if name == "beta52":
        return beta52()
    return paper_column(name, FILES[name], lambda: stand_in(name, PEOPLE[name]))


def measure(
    *,
    seed: int,
    repeats: int,
    repeats_between: int,
    bins: int | None,
    epsilons: Sequence[float],
    between: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return every figure of every method that table 2 allows, by column and epsilon.

    The epsilons between have fewer repeats: they are drawn, and no sentence is judged by them.
    """
    chosen = [population(name) for name in columns]
    sizes = {one.name: bins or BINS.get(one.name, 1024) for one in chosen}
    for one in chosen:
        one.law(FINER * sizes[one.name])  # without the data folder nothing is measured in vain
    return {
        "columns": {one.name: described(one, sizes[one.name]) for one in chosen},
        **{
            part: [
                {
                    "column": one.name,
                    "epsilon": epsilon,
                    "methods": kept_figures(_samples(one, sizes[one.name], epsilon, times, seed)),
                }
                for one in chosen
                for epsilon in at
            ]
            for part, at, times in (
                ("rows", epsilons, repeats),
                ("rows, between", between, repeats_between),
            )
        },
    }


def described(one: Population, bins: int) -> dict[str, Any]:
    """Return what the head of a table says of a column, and its shares for figure 1."""
    return {
        "people": one.people,
        "bins": bins,
        "rule": one.rule,
        "shares": [float(f"{share:.4g}") for share in one.law(bins)],
    }


def _samples(
    one: Population, bins: int, epsilon: float, repeats: int, seed: int
) -> dict[str, dict[str, list[float]]]:
    samples = compare(
        methods(bins),
        one,
        JUDGES,
        bins=FINER * bins,
        epsilon=epsilon,
        repeats=repeats,
        allowed=TABLE_2,
        known=partial(_at, bins),
        seed=seed,
    )
    for name in MEANS:
        samples |= _means(name, one, bins, epsilon, repeats, seed)
    return samples


def _at(bins: int, counts: CountVector) -> lw.results.Cumulative:
    """Return the people's CDF as the paper has it: that of their histogram of so many bins."""
    return truth(coarser(counts, bins))


def _means(
    name: str, one: Population, bins: int, epsilon: float, repeats: int, seed: int
) -> Samples:
    """Return the errors of the mean, asked of everybody, and of the variance in two rounds.

    The people are those whom the other methods ask; the reports are of this method alone. The
    second round asks the same half of the people twice: for the squared difference within the
    bounds that follow from the mean that was sent back, and on all of [0, 1].
    """
    make = MEANS[name]
    first = make(interval(bins), epsilon)
    points = (np.arange(bins) + 0.5) / bins
    found: Samples = {name: {"mean": [], "variance": []}, WHOLE[name]: {"variance": []}}
    for repeat in range(repeats):
        cell_of = (one.name, FINER * bins, f"{epsilon:g}", repeat)
        counts = coarser(one.draw(FINER * bins, stream(seed, *cell_of)), bins)
        rng = stream(seed, *cell_of, name)
        target = truth(counts)
        whole = first.mean(lw.simulate(first, counts, rng=rng)).value
        found[name]["mean"].append(abs(whole - target.mean))
        asked = rng.multivariate_hypergeometric(counts, one.people // 2, method="marginals")
        sent_back = first.mean(lw.simulate(first, asked, rng=rng)).value
        question = SquaredDeviation(interval(bins), sent_back)
        wide = lw.Interval(0.0, 1.0, bins=question.bins, outside="clip")
        for key, grid, words in (
            (name, question.grid, rng),
            (WHOLE[name], wide, stream(seed, *cell_of, WHOLE[name])),
        ):
            places = grid.index(question.of(points))
            later = np.bincount(places, weights=counts - asked, minlength=grid.bins)
            second = make(grid, epsilon)
            tally = lw.simulate(second, later.astype(np.int64), rng=words)
            found[key]["variance"].append(abs(second.mean(tally).value - target.variance))
    return found


PARTS = (
    ("figure 2, W1", "Figure 2, Wasserstein distance", ["w1"], DISTRIBUTIONS),
    ("figure 2, KS", "Figure 2, KS distance", ["ks"], DISTRIBUTIONS),
    ("figure 3", "Figure 3, range queries", ["range .1", "range .4"], [*DISTRIBUTIONS, *TREES]),
    ("figure 4, mean", "Figure 4, mean", ["mean"], [*DISTRIBUTIONS, *MEANS]),
    (
        "figure 4, variance",
        "Figure 4, variance",
        ["variance"],
        [*DISTRIBUTIONS, *MEANS, *WHOLE.values()],
    ),
    ("figure 4, quantiles", "Figure 4, quantiles", ["quantiles"], DISTRIBUTIONS),
)
"""Where in the paper, its heading here, what is judged, and the methods that table 2 allows."""

INDEX = (
    Entry("figure 1", "Figure 1, the columns", "figure-1"),
    Entry("table 2", "Table 2, what a method is judged by"),
    *(Entry(where, title, f"figure-{title[7]}") for where, title, _, _ in PARTS),
)


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what the paper says of figures 2 to 4 and of its table 2."""
    return square_wave_claims.claims(measured["rows"])


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of figures 1 to 4 and what they say."""
    rows, judged = measured["rows"], claims(measured)
    parts = [
        f"Li et al. 2020, section 6, {repeats_told(settings)}, on the "
        "interval [0, 1]. As there, the wave randomizes first and its reports are put into as many "
        "buckets as the estimate has bins (section 5.4); HH and HH-ADMM have branching 4 and equal "
        "weights. Figures are mean absolute errors ×10⁴, KS ×10³, ± standard error, to the "
        "people's own histogram of as many bins. The paper prints no numbers, only curves. Its SR "
        "and PM send the mean back and ask for squared differences, by a range that the paper does "
        "not state: here *SR* and *PM* ask within the bounds that follow from the mean, and with "
        "*[0, 1]* on all of it.",
        columns_told(measured["columns"]),
        "### Figure 1, the columns",
        "The shares that the columns above have in each bin.",
        "![Figure 1: shares of the four columns](figures/figure-1.png)",
        "### Table 2, what a method is judged by",
        _table_2(),
    ]
    for where, title, names, chosen in PARTS:
        parts += [
            f"### {title}",
            "\n".join(claim.line() for claim in judged if claim.where == where),
            _table(rows, names, chosen),
        ]
        if where in PICTURED:
            parts.append(f"![{PICTURED[where]}](figures/figure-{title[7]}.png)")
    return "\n\n".join(parts)


PICTURED = {
    "figure 2, KS": "Figure 2: W1 and KS of every method against ε",
    "figure 3": "Figure 3: error of range queries against ε",
    "figure 4, quantiles": "Figure 4: errors of mean, variance and deciles against ε",
}
"""The last part of each picture, below which it stands."""


PAPERS_REPEATS = 100


def repeats_told(settings: dict[str, Any]) -> str:
    """Return the number of repeats beside the paper's, as a phrase."""
    found = settings["repeats"]
    beside = "as in the paper" if found == PAPERS_REPEATS else f"(the paper has {PAPERS_REPEATS})"
    return f"{found} repeats {beside}"


def columns_told(columns: dict[str, Any]) -> str:
    """Return a list of columns with people, bins and where they come from."""
    return "\n".join(
        f"- **{name}**: {one['people']:,} people, {one['bins']} bins; {one['rule']}."
        for name, one in columns.items()
    )


def _table_2() -> str:
    asked = {
        "W1 and KS": "w1",
        "range query": "range .1",
        "mean and variance": "mean",
        "quantile": "quantiles",
    }
    lines = [
        [name, *("✓" if key in allowed else "" for key in asked.values())]
        for name, allowed in TABLE_2.items()
    ]
    return table(["method", *asked], lines)


def _table(rows: list[dict[str, Any]], names: list[str], chosen: list[str]) -> str:
    methods = [name for name in chosen if name in rows[0]["methods"]]
    several = len(names) > 1
    lines = []
    for name in names:
        for row in rows:
            cells = [
                cell(row["methods"][method].get(name), scale=SCALES.get(name, 1e4))
                for method in methods
            ]
            least = methods.index(best({m: row["methods"][m] for m in methods}, name))
            cells[least] = f"**{cells[least]}**"
            start = [name.removeprefix("range ")] if several else []
            lines.append([*start, row["column"], f"{row['epsilon']:g}", *cells])
    header = [*(["width"] if several else []), "column", "ε", *methods]
    return table(header, lines, texts=2 + several)
