"""The wavelet paper's figures 2, 3, 6 and 7: distances and range queries against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_columns import Population
from benchmarks.accuracy.papers.figure_runs import Samples, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.wavelet import wavelet_tables as tables
from benchmarks.accuracy.papers.wavelet.wavelet_claims import (
    ALIKE,
    Rows,
    alike,
    below,
    by_column,
    falls,
    forms_and_orders,
    left_told,
    measured_forms,
    read_as,
    stays,
    wins,
    worst_even_at_best,
)
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    BEST,
    BINNED,
    CATEGORICAL,
    DW,
    HH,
    IIW,
    JUDGES,
    OTHERS,
    SMOOTH,
    SPIKY,
    WAVELET,
    by_order,
    paper_methods,
    population,
    repeated,
)
from benchmarks.verdicts import Claim
from lapwing.papers.wavelet.wavelet import best_levels, paper_levels

TITLE = "Figures 2, 3, 6 and 7: distances and range queries"
HEADINGS = {
    2: "Figure 2: Wasserstein distance",
    3: "Figure 3: KS distance",
    6: "Figure 6: range queries of width .2",
    7: "Figure 7: range queries of width .4",
}
TOGETHER = "All figures together"
INDEX = (
    *(Entry(f"figure {number}", title, f"figure-{number}") for number, title in HEADINGS.items()),
    Entry("section 6.1", TOGETHER),
    Entry("section 6.5", TOGETHER),
)
UNITS = {
    "w1": "W1 ×10⁴ on the 256 points",
    "ks": "KS ×10³ on the 256 points",
    "range .2": "mean absolute error ×10⁴ of ranges of width .2",
    "range .4": "mean absolute error ×10⁴ of ranges of width .4",
}
FULL: dict[str, Any] = {
    "repeats": 100,
    "repeats_between": 10,
    "seed": 0,
    "bins": 1024,
    "levels": 13,
    "epsilons": [0.5, 1, 2, 3, 4],
    "between": [0.75, 1.25, 1.5, 2.5, 3.5],
    "columns": ["beta52", "taxi", "acs_income", "sf_benefits"],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "repeats_between": 2,
    "seed": 0,
    "bins": 64,
    "levels": 6,
    "epsilons": [1, 4],
    "between": [2],
    "columns": ["beta52"],
}


def measure(
    *,
    repeats: int,
    repeats_between: int,
    seed: int,
    bins: int,
    levels: int,
    epsilons: Sequence[float],
    between: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return the figures; people are known to ``2^levels`` bins, which cap the paper's J.

    The epsilons between have fewer repeats: they are drawn, and no sentence is judged by them.
    """
    chosen = [population(name) for name in columns]
    for one in chosen:
        one.law(2**levels)  # without the data folder nothing is measured in vain
    shape = {"seed": seed, "bins": bins, "levels": levels}
    return {
        "columns": {
            one.name: {
                "people": one.people,
                "rule": one.rule,
                "own_file": one.own_file,
                "J": min(paper_levels(one.people), levels) - 1,
            }
            for one in chosen
        },
        "rows": [_row(one, epsilon, repeats, **shape) for one in chosen for epsilon in epsilons],
        "rows, between": [
            _row(one, epsilon, repeats_between, **shape) for one in chosen for epsilon in between
        ],
    }


def _row(
    one: Population, epsilon: float, repeats: int, *, seed: int, bins: int, levels: int
) -> dict[str, Any]:
    orders = by_order(levels)
    samples = repeated(
        [*paper_methods(one.people, bins), *orders],
        one,
        JUDGES,
        bins=2**levels,
        epsilon=epsilon,
        repeats=repeats,
        seed=seed,
    )
    by_figure = _best_order({method.name: samples.pop(method.name) for method in orders})
    samples[BEST] = {figure: kept for figure, (_, kept) in by_figure.items()}
    return {
        "column": one.name,
        "epsilon": epsilon,
        "bound's J": best_levels(one.people, epsilon, most=levels) - 1,
        BEST: {figure: order for figure, (order, _) in by_figure.items()},
        "methods": kept_figures(samples),
    }


def _best_order(samples: Samples) -> dict[str, tuple[int, list[float]]]:
    """Return by figure the J of least mean, and its repeats."""
    found = {}
    for figure in JUDGES:
        name = min(samples, key=lambda one: sum(samples[one][figure]))
        found[figure] = (int(name.removeprefix("J = ")), samples[name][figure])
    return found


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return every sentence of sections 6.1, 6.2 and 6.5 that can be judged.

    Where SW-EM is spoken of there is a claim for each form of it, because the paper does not say
    which it ran; and for each with the J of the paper's rule and with the best one, because
    section 6 does not say which J it ran.
    """
    rows = measured["rows"]
    found = _baselines(rows)
    for figure, where in (("w1", "figure 2"), ("ks", "figure 3")):
        for form, ours in forms_and_orders(rows):
            found += _distance(rows, figure, where, form, ours)
    found += _convergence(rows)
    for figure, where in (("range .2", "figure 6"), ("range .4", "figure 7")):
        for form, ours in forms_and_orders(rows):
            found += _ranges(rows, figure, where, form, ours)
    for form, ours in forms_and_orders(rows):
        cells = [below(row, f, ours, [form, *OTHERS]) for row in rows for f in JUDGES]
        text = "For all data sets and metrics the wavelet is better in most cases."
        found.append(Claim(text, cells, most=True, where="section 6.5", form=read_as(form, ours)))
    return found


def _baselines(rows: Rows) -> list[Claim]:
    """Return what figure 2 says of the competitors among themselves."""
    few, many = BINNED[8], BINNED[64]
    low = [r for r in rows if r["column"] == "beta52" and r["epsilon"] <= 1]
    high = [r for r in rows if r["column"] != "beta52" and r["epsilon"] >= 3]
    found = [
        Claim(
            "With few people and a small ε fewer bins are better.",
            [below(row, "w1", few, [many]) for row in low],
            "8 bins against 64 on Beta(5, 2) up to ε = 1.",
            where="figure 2",
        ),
        Claim(
            "With many people and a large ε more bins are better.",
            [below(row, "w1", many, [few]) for row in high],
            "64 bins against 8 on the other columns from ε = 3 on.",
            where="figure 2",
        ),
        Claim(
            "Even with the best number of bins the performance is far from optimal.",
            [
                worst_even_at_best(row, "w1", CATEGORICAL, (WAVELET, HH, *measured_forms(rows)))
                for row in rows
            ],
            "The best number of bins against the best of the wavelet, HH and SW-EM.",
            where="figure 2",
        ),
    ]
    for name in (HH, *measured_forms(rows)):
        found.append(
            Claim(
                f"{HH if name == HH else 'SW-EM'} significantly improves on categorical oracles "
                "with bins.",
                [below(row, "w1", name, CATEGORICAL) for row in rows],
                "Against each number of bins.",
                where="figure 2",
                form="" if name == HH else name,
            )
        )
    found.append(
        Claim(
            "DW and IIW are very close.",
            [alike(row, "w1", DW, IIW) for row in rows],
            f"Within a factor of {ALIKE:g} of each other.",
            where="section 6.1",
        )
    )
    return found


def _distance(rows: Rows, figure: str, where: str, form: str, ours: str) -> list[Claim]:
    spiky = [row for row in rows if row["column"] in SPIKY]
    found = [
        Claim(
            "The wavelet performs consistently better than the competitors.",
            [below(row, figure, ours, [form, *OTHERS]) for row in rows],
            f"{wins(rows, figure, form, ours)} {by_column(rows, figure, ours, form)}",
            where=where,
            form=read_as(form, ours),
        )
    ]
    if figure == "w1":
        large = [r for r in spiky if 2 * r["epsilon"] >= max(one["epsilon"] for one in rows)]
        text = "The advantage is especially obvious on non-smooth columns with a large ε"
        found.append(
            Claim(
                f"{text}.",
                [below(row, figure, ours, [form]) for row in large],
                "From half of the largest ε on.",
                where=where,
                form=read_as(form, ours),
            )
        )
    else:
        text = "With spikes in the distribution the wavelet performs significantly better"
        found.append(
            Claim(
                f"{text}.",
                [below(row, figure, ours, [form, *OTHERS]) for row in spiky],
                where=where,
                form=read_as(form, ours),
            )
        )
    return found


def _convergence(rows: Rows) -> list[Claim]:
    """Return what figure 3 says of KS as epsilon grows; one epsilon says nothing of it."""
    several = len({row["epsilon"] for row in rows}) > 1
    there = list(dict.fromkeys(row["column"] for row in rows)) if several else []
    smooth = [name for name in there if name in SMOOTH]
    spiky = [name for name in there if name in SPIKY]
    every = (WAVELET, *measured_forms(rows), *OTHERS)
    found = [
        Claim(
            "On smooth columns KS converges to zero with ε in general.",
            [falls(rows, column, "ks", name) for column in smooth for name in every],
            "A cell for each method and column; it converges where it falls to a third.",
            most=True,
            where="figure 3",
        )
    ]
    for text, names in (
        ("categorical oracles", CATEGORICAL),
        *((form, (form,)) for form in measured_forms(rows)),
    ):
        shown = (names[-1], WAVELET)
        found.append(
            Claim(
                "On non-smooth columns KS does not converge to zero.",
                [stays(rows, column, "ks", name) for column in spiky for name in names],
                left_told(rows, spiky, "ks", shown, scale=1e3) if spiky else "",
                where="figure 3",
                form=text,
            )
        )
    return found


def _ranges(rows: Rows, figure: str, where: str, form: str, ours: str) -> list[Claim]:
    smooth = [row for row in rows if row["column"] in SMOOTH]
    spiky = [row for row in rows if row["column"] in SPIKY]
    return [
        Claim(
            "The wavelet performs best in most cases.",
            [below(row, figure, ours, [form, *OTHERS]) for row in rows],
            f"{wins(rows, figure, form, ours)} {by_column(rows, figure, ours, form)}",
            most=True,
            where=where,
            form=read_as(form, ours),
        ),
        Claim(
            "On smooth columns SW-EM is similar.",
            [alike(row, figure, ours, form) for row in smooth],
            f"Within a factor of {ALIKE:g}, either way.",
            where=where,
            form=read_as(form, ours),
        ),
        Claim(
            "On columns with spikes the wavelet performs significantly better.",
            [below(row, figure, ours, [form]) for row in spiky],
            where=where,
            form=read_as(form, ours),
        ),
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of the figures, and what they say of the paper's sentences."""
    rows, found = measured["rows"], claims(measured)
    parts = [
        "Zhao et al. 2026, sections 6.2 and 6.5. The paper prints no numbers of these figures, "
        "only sentences; they stand under each table with what they come to here.",
        tables.columns(measured["columns"]),
        tables.methods_told(settings["bins"]),
    ]
    for number, figure in ((2, "w1"), (3, "ks"), (6, "range .2"), (7, "range .4")):
        parts += [
            f"### {HEADINGS[number]}",
            f"![Figure {number}](figures/figure-{number}.png)",
            tables.head(measured["columns"], settings, UNITS[figure]),
            tables.wide(rows, figure),
            tables.said(found, f"figure {number}"),
        ]
    parts += [
        f"### {TOGETHER}",
        tables.said(found, "section"),
        *tables.beside_the_wave(rows),
        tables.where_better(rows, list(JUDGES)),
        tables.over_forms(rows, list(JUDGES)),
        "### What differs from the paper's own wavelet",
        tables.clips(rows),
        tables.own(rows),
    ]
    return "\n\n".join(parts)
