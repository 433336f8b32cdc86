"""The default for pairs of ordered attributes compared with the methods of other papers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.pairs import baselines
from benchmarks.accuracy.pairs.columns import BINS, PAIRS, domain_of, shares
from benchmarks.accuracy.pairs.pair_coverage import covered
from benchmarks.accuracy.pairs.rectangles import NUMBER, scores
from benchmarks.markdown import listed, table
from benchmarks.summaries import geometric, mean_and_error
from lapwing.decoders.empirical_bayes.log_density_prior import LogDensityPrior
from lapwing.errors import LapwingWarning

TITLE = "Pairs of ordered attributes"
FULL: dict[str, Any] = {
    "repeats": {"200000": 20, "20000": 20},
    "bins": BINS,
    "epsilons": [1, 2, 4],
    "pairs": list(PAIRS),
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": {"20000": 2},
    "bins": 16,
    "epsilons": [4],
    "pairs": ["made up"],
    "seed": 0,
}

OURS = "ours"
FIGURES = {"rectangles": "rectangles", "cdf": "CDF"}
FAMILIES = ("HDG", "AHEAD", "grid", "product", "box")
ASKED = {
    1: {"best": 1.1, "least": 0.75, "each": 1.7},
    2: {"best": 1.25, "least": 0.85, "each": 1.8},
    4: {"best": 1.5, "least": 0.9, "each": 2.0},
}
"""Asked at 200,000 people: best of others over ours in geometric mean, the least of a pair, and
each of HDG, AHEAD, grid and product over ours in geometric mean."""
EACH = ("HDG", "AHEAD", "grid", "product")
COVERAGE = {
    "rectangles": (93, 97, 88),
    "marginal CDFs": (93, 97, 88),
    "conditional quantiles": (92, 97, None),
}
"""Asked in %: least and most of the mean over pairs, and least of a pair."""

_RESAMPLES = 2_000

Table = NDArray[np.float64]
Counts = NDArray[np.int64]
Estimate = Callable[[Counts, float, np.random.Generator], Table]


def methods(epsilon: float, bins: int) -> dict[str, dict[str, Estimate]]:
    """Return family -> size -> estimate: all others with each of their sizes."""
    sides = [side for side in baselines.GRID_SIDES if side <= bins]
    boxes = baselines.BOX_SIDES[min(baselines.BOX_SIDES, key=lambda one: abs(one - epsilon))]
    return {
        "HDG": {"own": baselines.hdg},
        "AHEAD": {"own": baselines.ahead},
        "grid": {str(side): _grid(side) for side in sides},
        "product": {
            "halves": baselines.product_of_halves,
            "both": baselines.product_of_both,
        },
        "box": {
            f"{side} {'EMS' if smoothed else 'EM'}": _box(max(side * bins // 64, 1), smoothed)
            for side in boxes
            for smoothed in (False, True)
        },
    }


def _grid(side: int) -> Estimate:
    return lambda counts, epsilon, rng: baselines.grid(counts, epsilon, rng, side=side)


def _box(side: int, smoothed: bool) -> Estimate:
    return lambda counts, epsilon, rng: baselines.box(
        counts, epsilon, rng, side=side, smoothed=smoothed
    )


def measure(
    *,
    repeats: Mapping[str, int],
    bins: int,
    epsilons: Sequence[float],
    pairs: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Return errors per repeat of ours and of each family's best size, and coverage.

    The repeats are given by the number of people.
    """
    return {
        "cells": [
            _cell(pair, int(people), epsilon, bins=bins, repeats=number, seed=seed)
            for people, number in repeats.items()
            for epsilon in epsilons
            for pair in pairs
        ]
    }


def _cell(
    pair: str, people: int, epsilon: float, *, bins: int, repeats: int, seed: int
) -> dict[str, Any]:
    """Measure all methods on the same people, repeat by repeat."""
    population = shares(pair, bins)
    randomizer = lw.randomizers.MultiscaleBoxes(domain_of(pair, bins), epsilon)
    others = methods(epsilon, bins)
    found: dict[str, dict[str, list[dict[str, float]]]] = {
        family: {size: [] for size in sizes} for family, sizes in others.items()
    }
    ours: list[dict[str, float]] = []
    coverage: dict[str, dict[str, list[float]]] = {}
    for repeat in range(repeats):
        place = [seed, *pair.encode(), people, repeat]
        counts = np.random.default_rng(place).multinomial(people, population.ravel())
        held = counts.reshape(bins, bins)
        reports = np.random.default_rng([*place, round(1000 * epsilon)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)  # weak answers are compared, too
            answer = LogDensityPrior().decode(
                randomizer.channel, lw.simulate(randomizer, counts, rng=reports)
            )
            ours.append(scores(answer.table, held / people))
            for family, sizes in others.items():
                for size, estimate in sizes.items():
                    got = estimate(held, epsilon, reports)
                    found[family][size].append(scores(got, held / people))
            for what, shares_held in covered(answer, held, population).items():
                for name, share in shares_held.items():
                    coverage.setdefault(what, {}).setdefault(name, []).append(share)
    cell = {
        "pair": pair,
        "people": people,
        "epsilon": epsilon,
        "errors": {
            figure: {
                OURS: {"size": "", "errors": _rounded([one[figure] for one in ours])},
                **{family: _best(sizes, figure) for family, sizes in found.items()},
            }
            for figure in FIGURES
        },
        "coverage": {
            what: {name: mean_and_error(some) for name, some in by_name.items()}
            for what, by_name in coverage.items()
        },
    }
    _say(cell)
    return cell


def _say(cell: dict[str, Any]) -> None:
    """Tell how far a long run is."""
    told = [f"{cell['pair']}, {cell['people']:,} people, epsilon {cell['epsilon']:g}:"]
    for figure in FIGURES:
        found = ratios(cell, figure)
        ours = np.mean(cell["errors"][figure][OURS]["errors"])
        told.append(f"{figure} {ours:.4f}, " + " ".join(f"{k} {v:.2f}" for k, v in found.items()))
    held = [f"{100 * one['people']['mean']:.1f}" for one in cell["coverage"].values()]
    print("; ".join(told), "covered", " ".join(held), file=sys.stderr, flush=True)


def _best(sizes: dict[str, list[dict[str, float]]], figure: str) -> dict[str, Any]:
    """Return the size with the least mean error in hindsight, and its error per repeat."""
    size = min(sizes, key=lambda one: sum(error[figure] for error in sizes[one]))
    return {"size": size, "errors": _rounded([error[figure] for error in sizes[size]])}


def _rounded(errors: Sequence[float]) -> list[float]:
    return [float(f"{error:.4g}") for error in errors]


def ratios(cell: dict[str, Any], figure: str) -> dict[str, float]:
    """Return family -> its mean error over ours, and "best" for the least of them."""
    by_method = cell["errors"][figure]
    ours = np.mean(by_method[OURS]["errors"])
    found = {one: float(np.mean(by_method[one]["errors"]) / ours) for one in FAMILIES}
    return {**found, "best": min(found.values())}


def mean_ratios(cells: Sequence[dict[str, Any]], figure: str) -> dict[str, dict[str, float]]:
    """Return the geometric means of ratios over pairs, with 95% intervals.

    The interval is from a bootstrap of the repeats of each pair; all methods of a pair take the
    same repeats, and the best of the others is chosen again in each resample.
    """
    each = [ratios(cell, figure) for cell in cells]
    rng = np.random.default_rng(0)
    logs = np.zeros((_RESAMPLES, len(FAMILIES) + 1))
    for cell in cells:
        by_method = cell["errors"][figure]
        errors = np.array([by_method[one]["errors"] for one in (OURS, *FAMILIES)])
        drawn = rng.integers(errors.shape[1], size=(_RESAMPLES, errors.shape[1]))
        means = errors[:, drawn].mean(axis=2)
        found = means[1:] / means[0]
        logs += np.log(np.vstack([found, found.min(axis=0)])).T / len(cells)
    low, high = np.exp(np.quantile(logs, [0.025, 0.975], axis=0))
    return {
        name: {
            "ratio": geometric([one[name] for one in each]),
            "low": float(low[place]),
            "high": float(high[place]),
        }
        for place, name in enumerate((*FAMILIES, "best"))
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the league and the coverage, each with what is asked."""
    cells = measured["cells"]
    bins = settings["bins"]
    repeats = listed(
        [f"{n} at {int(people):,} people" for people, n in settings["repeats"].items()]
    )
    parts = [
        f"{bins} x {bins} cells. Repeats: {repeats}{_runs(settings)}. In each, people are drawn "
        "with replacement from the rows of a file. All methods get the same people, whose reports "
        "are simulated with the exact joint distribution. Errors are relative to these people's "
        f"own table: root mean squares over {NUMBER} random rectangles, and over the "
        "two-dimensional CDF at all corners of cells. *Ours* is `MultiscaleBoxes` with "
        "`LogDensityPrior` and the blocks for few people. At ε = 1 and 200,000 people, `recommend` "
        "takes [finer blocks](#blocks-by-the-number-of-people). HDG and AHEAD use the sizes of "
        "their papers. Grid has 2 to 64 cells on a side, and box two or three sides, with EM and "
        "EMS. The product of marginals asks half of the people about each attribute, or all about "
        "both with half of ε. These use the size that is best in hindsight for each cell and "
        "figure. *Best* is the smallest error of all of them in hindsight. Brackets are 95% "
        "intervals of the geometric mean over the repeats.",
        _columns_used(settings),
    ]
    for people in dict.fromkeys(cell["people"] for cell in cells):
        for figure, name in FIGURES.items():
            parts.append(f"**{people:,} people, {name}**")
            parts.append(_league([one for one in cells if one["people"] == people], figure))
    parts += [_reading(cells), _coverage_table(cells), _coverage_reading(cells)]
    return "\n\n".join(part for part in parts if part)


def _runs(settings: dict[str, Any]) -> str:
    """Say so where a result was joined of several runs."""
    runs = settings.get("runs")
    return f", from {runs} runs at one commit" if runs else ""


def _columns_used(settings: dict[str, Any]) -> str:
    said = []
    for axis in dict.fromkeys(
        axis
        for name in settings["pairs"]
        if name in PAIRS
        for axis in (PAIRS[name].first, PAIRS[name].second)
    ):
        scale = ", log scale" if axis.scale == "log" else ""
        said.append(f"{axis.name} {axis.low:,g} to {axis.high:,g}{scale} ({axis.why})")
    if not said:
        return "A synthetic pair with two bumps."
    return (
        f"Ranges, chosen before any method ran: {', '.join(said)}. Values beyond a range are "
        "moved to its end."
    )


def _league(cells: Sequence[dict[str, Any]], figure: str) -> str:
    lines = []
    for epsilon in dict.fromkeys(cell["epsilon"] for cell in cells):
        here = [cell for cell in cells if cell["epsilon"] == epsilon]
        for cell in here:
            of = ratios(cell, figure)
            by_method = cell["errors"][figure]
            ours = mean_and_error(by_method[OURS]["errors"])
            best = min(FAMILIES, key=lambda one: of[one])
            size = by_method[best]["size"]
            lines.append(
                [
                    cell["pair"],
                    f"{epsilon:g}",
                    best if size == "own" else f"{best} {size}",
                    f"{1e4 * ours['mean']:.1f} ± {1e4 * ours['standard_error']:.1f}",
                    *(f"{of[family]:.2f}" for family in (*FAMILIES, "best")),
                ]
            )
        means = mean_ratios(here, figure)
        lines.append(
            [
                "**geometric mean**",
                f"{epsilon:g}",
                "",
                "",
                *(_told(means[family]) for family in (*FAMILIES, "best")),
            ]
        )
    return table(
        [
            "pair",
            "ε",
            "best of others",
            "ours ×10⁴",
            *(f"{one} / ours" for one in FAMILIES),
            "best",
        ],
        lines,
        texts=3,
    )


def _told(mean: dict[str, float]) -> str:
    return f"**{mean['ratio']:.2f}** [{mean['low']:.2f}, {mean['high']:.2f}]"


def _reading(cells: Sequence[dict[str, Any]]) -> str:
    """Return what is asked at 200,000 people, and what was found."""
    said = []
    for epsilon, asked in ASKED.items():
        here = [one for one in cells if one["epsilon"] == epsilon and one["people"] == 200_000]
        if not here:
            continue
        for figure, name in FIGURES.items():
            means = mean_ratios(here, figure)
            worst = min(here, key=lambda cell: ratios(cell, figure)["best"])
            least = ratios(worst, figure)["best"]
            each = {one: means[one]["ratio"] for one in EACH}
            lowest = min(each, key=lambda one: each[one])
            best = means["best"]["ratio"]
            said.append(
                f"- ε = {epsilon:g}, {name}: the best other method has {best:.2f} times our error "
                f"in the geometric mean (target {asked['best']:g}, "
                f"{_met(best >= asked['best'])}). The smallest ratio for a pair is {least:.2f}, "
                f"for {worst['pair']} (target {asked['least']:g}, "
                f"{_met(least >= asked['least'])}). Of {listed(list(EACH))}, {lowest} has the "
                f"smallest mean ratio, {each[lowest]:.2f} (target {asked['each']:g}, "
                f"{_met(each[lowest] >= asked['each'])})."
            )
    return "\n".join(said)


def _met(held: bool) -> str:
    return "met" if held else "**not met**"


def _coverage_table(cells: Sequence[dict[str, Any]]) -> str:
    whats = list(cells[0]["coverage"])
    lines = [
        [
            cell["pair"],
            f"{cell['people']:,}",
            f"{cell['epsilon']:g}",
            *(
                f"{100 * cell['coverage'][what]['people']['mean']:.1f} / "
                f"{100 * cell['coverage'][what]['population']['mean']:.1f}"
                for what in whats
            ),
            *(f"{cell['coverage'][what]['reach']['mean']:.4f}" for what in whats[:2]),
        ]
        for cell in cells
    ]
    header = ["pair", "people", "ε", *(f"{what}, %" for what in whats)]
    return table([*header, *(f"half-width, {what}" for what in whats[:2])], lines, texts=3)


def _coverage_reading(cells: Sequence[dict[str, Any]]) -> str:
    said = []
    for people, epsilon in dict.fromkeys((cell["people"], cell["epsilon"]) for cell in cells):
        here = [one for one in cells if (one["people"], one["epsilon"]) == (people, epsilon)]
        for what, (low, high, least) in COVERAGE.items():
            shares_held = [100 * one["coverage"][what]["people"]["mean"] for one in here]
            mean, worst = float(np.mean(shares_held)), min(shares_held)
            held = low <= mean <= high and (least is None or worst >= least)
            asked = f"target {low} to {high}" + (f", no pair below {least}" if least else "")
            pair = here[int(np.argmin(shares_held))]["pair"]
            said.append(
                f"- {people:,} people, ε = {epsilon:g}, {what}: {mean:.1f}% on average and "
                f"{worst:.1f}% for the lowest pair, {pair} ({asked}, {_met(held)})."
            )
    return (
        "The table shows the coverage of 95% intervals for the people's own table / for the rows "
        "from which they were drawn. It is measured on 200 of the rectangles, on both marginal "
        "CDFs at the edges with 0.02 < F < 0.98 (pointwise), and on the quartiles of each "
        "attribute in slices of the other with at least 5% of the people. For the people's own "
        "table:\n\n" + "\n".join(said)
    )
