"""Polynomial projection (figures 2, 10-12), its noise, and the isotonic step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.accuracy.papers.functional_approximation import central_index
from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    People,
    people_of,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_judging import (
    COMPARABLE,
    SLACK,
    curves,
    falling,
    first_falls_then_rises,
    laws_of,
    nearly_constant,
    within,
)
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    METHODS,
    Method,
    Vector,
    empirical,
    of_gap,
)
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import (
    KEYS,
    NONE,
    PEOPLE,
    cells,
    ks_means,
    number,
    sweep_tables,
)
from benchmarks.markdown import figure, listed, table, uncertain
from benchmarks.summaries import mean_and_error
from benchmarks.verdicts import Cell, Claim, certain
from lapwing.decoders.releases.prefix_estimate import prefix_estimate
from lapwing.linear.function_families import fourier, legendre, orthonormal, splines
from lapwing.linear.operators.sums import CurveAnswers
from lapwing.papers.functional_approximation.polynomial_projection import (
    UNIT,
    PolynomialProjection,
    Shape,
    lemma_6,
)
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release

TITLE = "The functional-approximation paper: projection (figures 2, 10-12)"
FULL: dict[str, Any] = {
    "repeats": 50,
    "functions": list(range(2, 17)),
    "people": [1000, 3000, 10_000, 30_000, 100_000],
    "laws": ["normal", "lognormal", "beta"],
    "epsilon": 0.5,
    "noise_at": [4, 6, 8, 12, 16],
    "repeats_isotonic": 50,
    "isotonic_epsilons": [0.1, 1],
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "functions": [4, 6, 8],
    "people": [1000, 10_000],
    "laws": ["normal"],
    "epsilon": 0.5,
    "noise_at": [6],
    "repeats_isotonic": 2,
    "isotonic_epsilons": [1],
    "seed": 0,
}

FUNCTIONS = 6
"""Held fixed while the people vary, as in the paper."""

RECOMMENDED = range(5, 9)
"""Numbers of functions that the paper prefers."""

ASKED_NOISE = {6: 14, 12: 1300}
FORMS: dict[Shape, str] = {
    "algorithm-1": "algorithm 1",
    "moments": "tight moments",
    "a-optimal": "repaired",
}
PUBLISHED = "algorithm 1"
BASES = ("Fourier", "splines 0", "splines 1", "Legendre")
COUNTS = (8, 16, 24, 32)
PREFIX = "prefix sums"
STEPS = ("PP 6, algorithm 1", "PP 12, repaired", "MP 6, its true cost", "MP 6, repaired")


def measure(
    *,
    repeats: int,
    functions: Sequence[int],
    people: Sequence[int],
    laws: Sequence[str],
    epsilon: float,
    noise_at: Sequence[int],
    repeats_isotonic: int,
    isotonic_epsilons: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Return both sweeps, the noise, the isotonic step and the bases."""
    columns = people_of(laws)
    return {
        "by_functions": [
            {
                "at": count,
                "columns": cells(
                    columns, forms(count), PEOPLE, epsilon, repeats, seed=seed, sweep=f"K {count}"
                ),
            }
            for count in functions
        ],
        "by_people": [
            {
                "at": count,
                "columns": cells(
                    columns, forms(FUNCTIONS), count, epsilon, repeats, seed=seed, sweep="n of PP"
                ),
            }
            for count in people
        ],
        "noise": [_noise(columns[0], count, epsilon, repeats, seed) for count in noise_at],
        "isotonic": _isotonic(
            [*columns, *people_of(["spiky"])], isotonic_epsilons, repeats_isotonic, seed
        ),
        "bases": _bases(columns[0], seed),
    }


def forms(functions: int) -> dict[str, Method]:
    """Return projection with the noise of algorithm 1, with no more than moments need, and best."""
    return {
        name: Method(PolynomialProjection(functions, shape=shape, noise="normal"))
        for shape, name in FORMS.items()
    }


def _noise(
    column: People, functions: int, epsilon: float, repeats: int, seed: int
) -> dict[str, Any]:
    """Return the root mean square of the curve's noise times people, by theory and as drawn."""
    summary = column.summarized(PEOPLE, seed=[number("noise of PP", seed, functions)])
    theory, drawn = {}, {}
    for name, method in forms(functions).items():
        squares = []
        for repeat in range(repeats):
            one = number("noise of PP", seed, functions, name, epsilon, repeat)
            release = method.release(summary, epsilon, PEOPLE**-1.5, seed=one)
            operator = release.channel.blocks[0].operator
            noise = release.answers - without_noise(release, summary).answers
            squares.append(float(((operator.curve @ noise) ** 2).mean()))
        theory[name] = math.sqrt((operator.curve**2).sum(axis=1).mean() * release.variance)
        drawn[name] = math.sqrt(float(np.mean(squares)))
    mechanism = PolynomialProjection(functions, shape="moments")
    exact = math.sqrt(
        mechanism.strategy_for(column.domain, "replace-one").sensitivity("replace-one").squared
    )
    return {
        "functions": functions,
        "sensitivity": exact / UNIT,
        "lemma_6": math.sqrt(lemma_6(functions).squared) / UNIT,
        "noise": theory,
        "ratio": theory["tight moments"] / theory["repaired"],
        "ratio_with_lemma_6": theory[PUBLISHED] / theory["repaired"],
        "ratio_drawn": drawn[PUBLISHED] / drawn["repaired"],
    }


def _raw(method: str, release: Release) -> Vector:
    """Return the released distribution function before anything makes it monotone."""
    channel = release.channel
    operator = channel.blocks[0].operator
    if isinstance(operator, CurveAnswers):
        return np.asarray(operator.start + operator.curve @ (release.answers / release.total))
    sums = prefix_estimate(channel, release).condition(-1, release.total).sums / release.total
    return np.asarray(sums[: release.domain.left.size])


def _isotonic(
    columns: Sequence[People], epsilons: Sequence[float], repeats: int, seed: int
) -> list[dict[str, Any]]:
    """Return distances to the people's own curve, raw and as the library's decoder makes it."""
    rows = []
    for name in (*STEPS, "isotonic only"):
        method = METHODS[name]
        for epsilon in epsilons:
            before: list[dict[str, float]] = []
            after: list[dict[str, float]] = []
            for column in columns:
                for repeat in range(repeats):
                    cell = ("isotonic", seed, column.name, name, epsilon, repeat)
                    summary = column.summarized(PEOPLE, seed=[number("people", *cell)])
                    release = method.release(
                        summary, epsilon, PEOPLE**-1.5, seed=number("noise", *cell)
                    )
                    curve, truth = _raw(name, release), empirical(summary)
                    monotone = np.cumsum(method.decode(release).mass)[: truth.size]
                    before.append(of_gap(curve - truth))
                    after.append(of_gap(monotone - truth))
            rows.append(
                {
                    "method": PREFIX if name == "isotonic only" else name,
                    "epsilon": epsilon,
                    "releases": len(after),
                    "without": {key: mean_and_error([one[key] for one in before]) for key in KEYS},
                    "with": {key: mean_and_error([one[key] for one in after]) for key in KEYS},
                    "worse": {
                        key: sum(b[key] > a[key] for a, b in zip(before, after, strict=True))
                        for key in KEYS
                    },
                }
            )
    return rows


def basis(name: str, count: int, points: Vector) -> Vector:
    """Return orthonormal functions of a family of figure 10: float64 [count, points]."""
    made: Mapping[str, Callable[[], Vector]] = {
        "Fourier": lambda: fourier(count, points),
        "splines 0": lambda: splines(count, points, degree=0),
        "splines 1": lambda: splines(count, points, degree=1),
        "Legendre": lambda: legendre(count, points),
    }
    return orthonormal(made[name]())


def projected(name: str, count: int, cdf: Vector) -> Vector:
    """Return the nearest sum of a basis' functions to a distribution function on [-1, 1]."""
    points = (2 * np.arange(cdf.size) + 1) / cdf.size - 1
    functions = basis(name, count, points)
    return np.asarray(functions.T @ (functions @ cdf) * 2 / cdf.size)


def _bases(column: People, seed: int) -> list[dict[str, Any]]:
    """Return errors of projecting one empirical distribution function, without privacy."""
    summary = column.summarized(PEOPLE, seed=[number("bases", seed)])
    cdf = centered(summary)
    return [
        {
            "basis": name,
            "functions": count,
            "l2": math.sqrt(float((gap**2).mean()) * 2),
            "largest": float(np.abs(gap).max()),
            "at_the_ends": float(max(abs(gap[0]), abs(gap[-1]))),
        }
        for name in BASES
        for count in COUNTS
        for gap in [projected(name, count, cdf) - cdf]
    ]


def centered(summary: ExactCounts) -> Vector:
    """Return the empirical distribution function at the middles of the symbols."""
    held = summary.domain.left.size
    counts = summary.counts[:held]
    return np.asarray((np.cumsum(counts) - counts / 2) / summary.people)


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what sections IV-C and VI-A1 and appendix A say of figures 2, 10, 11 and 12."""
    functions, people = measured["by_functions"], measured["by_people"]
    laws = laws_of(functions)
    where = "figures 2 and 11 (m)"
    ends = {(row["basis"], row["functions"]): row for row in measured["bases"]}
    few, most = COUNTS[0], COUNTS[-1]
    return [
        Claim(
            "Without privacy more functions consistently reduce the error.",
            falling(functions, NONE, laws=laws, slack=SLACK),
            "Each next number is a cell; up to 5% more counts as no rise, because a function of "
            "the wrong parity adds nothing.",
            where=where,
        ),
        Claim(
            "With privacy the error first falls and then rises with the number of functions.",
            curves(functions, PUBLISHED, first_falls_then_rises, laws=laws),
            where=where,
        ),
        Claim(
            "5 to 8 functions are preferable.",
            curves(functions, PUBLISHED, _least_in(functions), laws=laws),
            where=where,
        ),
        Claim(
            "Without privacy the error is nearly constant in the number of people.",
            curves(people, NONE, nearly_constant, laws=laws),
            f"Nearly: within a factor of {COMPARABLE:g}.",
            where="figures 2 and 12 (n)",
        ),
        Claim(
            "With privacy more people reduce the error.",
            falling(people, PUBLISHED, laws=laws),
            where="figures 2 and 12 (n)",
        ),
        Claim(
            "With more people the error approaches that without privacy.",
            _near_the_end(people, laws),
            f"Of the most people, within a factor of {COMPARABLE:g}.",
            where="figures 2 and 12 (n)",
        ),
        Claim(
            "The isotonic step never raises the mean square (proposition 1).",
            [
                certain(row["worse"]["energy"] == 0)
                for row in measured["isotonic"]
                if row["method"] != PREFIX
            ],
            "PP and MP as the library decodes them; prefix sums, ours, have another step.",
            where="section IV-C",
        ),
        Claim(
            "Overshoot at the ends remains with more Fourier functions.",
            [
                certain(2 * ends["Fourier", more]["at_the_ends"] > first["at_the_ends"])
                for first in [ends["Fourier", few]]
                for more in COUNTS[1:]
            ],
            "Remains: more than half of that with the fewest.",
            where="figure 10",
        ),
        Claim(
            "B-splines of either degree come closer with more functions.",
            [
                certain(ends[name, more]["l2"] < ends[name, less_]["l2"])
                for name in ("splines 0", "splines 1")
                for less_, more in pairwise(COUNTS)
            ],
            where="figure 10",
        ),
        Claim(
            "Polynomials give approximations of higher quality than the other families.",
            [
                certain(ends["Legendre", count]["l2"] < ends[name, count]["l2"])
                for name in BASES
                if name != "Legendre"
                for count in COUNTS
            ],
            f"L2 error, each family and number a cell, up to {most} functions.",
            most=True,
            where="figure 10",
        ),
    ]


def _least_in(points: Sequence[dict[str, Any]]) -> Callable[[list[float]], bool]:
    places = [point["at"] for point in points]
    return lambda means: places[int(np.argmin(means))] in RECOMMENDED


def _near_the_end(points: Sequence[dict[str, Any]], laws: Sequence[str]) -> list[Cell]:
    last = points[-1]["columns"]
    return [
        within(found[PUBLISHED][key]["values"], [found[NONE][key]["values"]], factor=COMPARABLE)
        for found in (last[law] for law in laws)
        for key in KEYS
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the sweeps, the noise, the isotonic step and the bases."""
    return "\n\n".join(
        [
            f"Replace-one neighbors, ε = {settings['epsilon']:g}, δ = n^-1.5, "
            f"{settings['repeats']} repeats as in the paper, distances to the law on [-1, 1], ± "
            "standard error, isotonic step last. *Algorithm 1*: Gaussian noise on raw moments, "
            "calibrated to lemma 6. *Tight moments*: the same with their exact sensitivity. "
            "*Repaired*: noise of least mean square in the curve. *None*: no noise and no privacy. "
            "K functions are the paper's m basis functions (in its formulas they are m + 1). The "
            "paper prints curves, no numbers.",
            "\n".join(claim.line() for claim in claims(measured)),
            *central_index.shown("figure-1", "figure-2", "figure-11", "figure-12"),
            sweep_tables(measured["by_functions"], "K", f"n = {PEOPLE:,} (figures 2, 11)"),
            _said_of_functions(measured["by_functions"]),
            sweep_tables(measured["by_people"], "n", f"K = {FUNCTIONS} (figures 2, 12)"),
            _shown_noise(measured["noise"]),
            _shown_isotonic(measured["isotonic"]),
            _shown_bases(measured["bases"]),
        ]
    )


def _said_of_functions(points: Sequence[dict[str, Any]]) -> str:
    names = list(points[0]["columns"])
    counts = [point["at"] for point in points]
    best = {
        form: [counts[int(np.argmin(ks_means(points, name, form)))] for name in names]
        for form in FORMS.values()
    }
    gains = [
        min(ks_means(points, name, PUBLISHED)) / min(ks_means(points, name, "repaired"))
        for name in names
    ]
    last = [
        ks_means(points, name, PUBLISHED)[-1] / min(ks_means(points, name, PUBLISHED))
        for name in names
    ]
    return (
        f"By algorithm 1 KS is least at K = {listed([str(count) for count in best[PUBLISHED]])} "
        f"({listed(names)}), and at K = {counts[-1]} it is {min(last):.1f} to {max(last):.1f} "
        "times that. Repaired it is least at K = "
        f"{listed([str(count) for count in best['repaired']])}, {min(gains):.1f} to "
        f"{max(gains):.1f} times lower than the published best: the number to prefer is a matter "
        "of the noise of raw moments."
    )


def _shown_noise(rows: Sequence[dict[str, Any]]) -> str:
    shown = [
        [
            str(row["functions"]),
            f"{row['sensitivity']:.3f}",
            f"{row['lemma_6']:.3f}",
            figure(row["noise"]["repaired"]),
            figure(row["noise"][PUBLISHED]),
            figure(row["ratio_with_lemma_6"]),
            figure(row["ratio"]),
            figure(row["ratio_drawn"]),
            f"{ASKED_NOISE[row['functions']]:,}" if row["functions"] in ASKED_NOISE else "–",
        ]
        for row in rows
    ]
    verdicts = [
        f"K = {row['functions']}: asked {asked:,}, reached {figure(row['ratio_with_lemma_6'])} "
        f"with the paper's sensitivity and {figure(row['ratio'])} with the exact one"
        for row in rows
        if (asked := ASKED_NOISE.get(row["functions"]))
    ]
    header = ["K", "sensitivity", "lemma 6", "repaired", "moments", "ratio, lemma 6"]
    return (
        "Root mean square over the domain of the curve's noise, before the isotonic step, in "
        "people; how many times larger that of raw moments is, as Algorithm 1 says (sensitivity "
        "of lemma 6) and with the exact sensitivity, by formula and as drawn:\n\n"
        + table([*header, "ratio, exact", "drawn", "target"], shown, texts=0)
        + "\n\n"
        + "; ".join(verdicts)
        + "." * bool(verdicts)
    )


def _shown_isotonic(rows: Sequence[dict[str, Any]]) -> str:
    shown = [
        [row["method"], f"{row['epsilon']:g}"]
        + [
            f"{_short(row['without'][key])} → {_short(row['with'][key])} ({row['worse'][key]})"
            for key in KEYS
        ]
        for row in rows
    ]
    releases = rows[0]["releases"]
    worse = {key: sum(row["worse"][key] for row in rows) for key in KEYS}
    every = releases * len(rows)
    return (
        f"Without and with the isotonic step and the clip, n = {PEOPLE:,}, over the laws and the "
        f"spiky one, distances ×10³ to the people's own curve; in brackets in how many of "
        f"{releases} releases the step made it larger:\n\n"
        + table(["method", "ε", *KEYS.values()], shown, texts=1)
        + f"\n\nThe energy distance, the mean square of proposition 1, rose in {worse['energy']} "
        f"of {every:,} releases; of the others it says nothing: KS rose in {worse['ks']}, W1 in "
        f"{worse['w1']}."
    )


def _short(found: Mapping[str, Any]) -> str:
    return uncertain(found["mean"], found["standard_error"], scale=1e3)


def _shown_bases(rows: Sequence[dict[str, Any]]) -> str:
    found = {(row["basis"], row["functions"]): row for row in rows}
    shown = [
        [name]
        + [f"{found[name, count]['l2']:.4f}" for count in COUNTS]
        + [f"{found[name, count]['at_the_ends']:.3f}" for count in (COUNTS[0], COUNTS[-1])]
        for name in BASES
    ]
    most = COUNTS[-1]
    best = [min(BASES, key=lambda name: found[name, count]["l2"]) for count in COUNTS]
    return (
        f"Figure 10: the empirical distribution function of {PEOPLE:,} people of the normal law, "
        "projected without privacy; L2 error by functions, and the error at the ends:\n\n"
        + table(
            ["basis", *(str(count) for count in COUNTS), "ends, 8", f"ends, {most}"],
            shown,
            texts=1,
        )
        + f"\n\nThe least L2 errors with {listed([str(count) for count in COUNTS])} functions "
        f"are those of {listed(best)}.\n\n" + "\n\n".join(central_index.shown("figure-10"))
    )
