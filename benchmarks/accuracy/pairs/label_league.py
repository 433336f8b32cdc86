"""An ordered attribute within each label of another one: the default and simpler questions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.pairs import baselines
from benchmarks.accuracy.pairs.columns import AGE, BINS, DELAY, SMALL, by_pair, full
from benchmarks.datasets import DataFolderError, data_folder
from benchmarks.markdown import table
from benchmarks.summaries import geometric, mean_and_error, ratio_of_means
from lapwing.decoders.empirical_bayes.log_density_prior import LogDensityPrior
from lapwing.errors import LapwingWarning

TITLE = "An ordered attribute within labels"
FULL = full(
    4, people=100_000, pairs=["age by hours", "delay by time of day", "pick-up time by month"]
)
QUICK = SMALL

OURS = "ours"
HALVES = "one question each"
GRID = "grid"
HOURS_GROUPS = (20, 35, 40, 41, 50)
"""First hours a week of the second to the sixth group; 40 hours are a group of their own."""

Table = NDArray[np.float64]


def _age_by_hours(rows: Any) -> tuple[Any, Any, lw.Interval]:
    groups = np.searchsorted(HOURS_GROUPS, rows["hours_per_week"].to_numpy(), side="right")
    return groups, rows["age"].to_numpy(), AGE.interval(BINS)


def _delay_by_time(rows: Any) -> tuple[Any, Any, lw.Interval]:
    times = rows["departure_minute"].to_numpy() // 180
    return times, rows["arrival_delay_minutes"].to_numpy(), DELAY.interval(BINS)


def _time_by_month(rows: Any) -> tuple[Any, Any, lw.Interval]:
    months = rows["year_month"].to_numpy() % 100 - 1
    return (
        months,
        rows["pickup_second"].to_numpy(),
        lw.Interval(0, 86_400, bins=BINS, outside="clip"),
    )


_PAIRS: dict[str, tuple[str, int, Callable[[Any], tuple[Any, Any, lw.Interval]]]] = {
    "age by hours": ("adult_numeric.parquet", 6, _age_by_hours),
    "delay by time of day": ("flights_houston2011.parquet", 8, _delay_by_time),
    "pick-up time by month": ("taxi_pickup_seconds.parquet", 12, _time_by_month),
}
"""File, number of labels, and how its rows are read."""


@cache
def shares(name: str, bins: int = BINS) -> Table:
    """Return the shares of labels and bins among the rows of a file.

    Parameters
    ----------
    name : str
        One of those of :data:`FULL`, or "made up".
    bins : int
        Of the ordered attribute; for real pairs always 64.

    Returns
    -------
    numpy.ndarray
        float64 [labels, bins], with sum 1.

    Raises
    ------
    DataFolderError
        If the file is not in the data folder.
    """
    if name == "made up":
        middle = (np.arange(bins) + 0.5) / bins
        bumps = [np.exp(-0.5 * ((middle - place) / 0.15) ** 2) for place in (0.3, 0.5, 0.7)]
        made = np.array(
            [share * bump / bump.sum() for share, bump in zip((5, 3, 2), bumps, strict=True)]
        )
        whole: Table = made / made.sum()
        return whole
    file, labels, read = _PAIRS[name]
    path = data_folder(None) / file
    if not path.exists():
        raise DataFolderError(f"{file} is not in the data folder")
    groups, values, interval = read(pyarrow.parquet.read_table(path))
    values = np.asarray(values, dtype=np.float64)
    present = ~np.isnan(values)
    symbols = interval.index(values[present])
    counts = np.bincount(
        np.asarray(groups, dtype=np.int64)[present] * BINS + symbols, minlength=labels * BINS
    )
    found: Table = (counts / counts.sum()).reshape(labels, BINS)
    return found


def error(estimate: Table, truth: Table) -> float:
    """Return the mean W1 of the distributions within labels, weighted by the people of a label.

    Parameters
    ----------
    estimate, truth : numpy.ndarray
        float64 [labels, bins]. A label to which nobody is estimated takes the whole's distribution.

    Returns
    -------
    float
        In parts of the length of the axis.
    """
    totals = estimate.sum(axis=1, keepdims=True)
    within = np.divide(estimate, totals, out=np.zeros_like(estimate), where=totals > 0)
    within[totals[:, 0] <= 0] = estimate.sum(axis=0) / estimate.sum()
    weights = truth.sum(axis=1)
    here = weights > 0
    apart = np.cumsum(within[here] - truth[here] / weights[here, None], axis=1)
    return float(weights[here] @ np.abs(apart).mean(axis=1))


def halves(counts: NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Table:
    """Return the product of marginals: half of the people answer each of two questions.

    Labels are estimated by a frequency oracle projected on the simplex, the ordered attribute by
    the library's default.
    """
    first, second = baselines.divided(counts, 2, rng)
    labels = baselines.on_simplex(baselines.frequencies(first.sum(axis=1), epsilon, rng))
    return np.outer(labels, baselines.marginal(second.sum(axis=0), epsilon, rng))


def grid(counts: NDArray[np.int64], epsilon: float, rng: np.random.Generator, side: int) -> Table:
    """Return the estimate of a grid of every label and some groups of bins."""
    bins = counts.shape[1]
    starts = np.arange(side) * bins // side
    held = np.add.reduceat(counts, starts, axis=1)
    found = baselines.on_simplex(baselines.frequencies(held, epsilon, rng))
    wide = np.diff(np.append(starts, bins))
    return np.repeat(found / wide, wide, axis=1)


def measure(**settings: Any) -> dict[str, Any]:
    """Return errors per repeat of ours, of one question each, and of the best grid."""
    return by_pair(_cell, **settings)


def _cell(
    pair: str, epsilon: float, *, people: int, bins: int, repeats: int, seed: int
) -> dict[str, Any]:
    population = shares(pair, bins)
    domain = lw.Product(
        label=lw.Categories([f"label {number}" for number in range(population.shape[0])]),
        value=lw.Interval(0, 1, bins=bins, outside="clip"),
    )
    randomizer = lw.randomizers.MultiscaleBoxes(domain, epsilon)
    sides = [side for side in baselines.GRID_SIDES if side <= bins]
    found: dict[str, list[float]] = {OURS: [], HALVES: [], **{f"{GRID} {k}": [] for k in sides}}
    for repeat in range(repeats):
        place = [seed, *pair.encode(), people, repeat]
        counts = np.random.default_rng(place).multinomial(people, population.ravel())
        held = counts.reshape(population.shape)
        reports = np.random.default_rng([*place, round(1000 * epsilon)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)
            answer = LogDensityPrior(band=False).decode(
                randomizer.channel, lw.simulate(randomizer, counts, rng=reports)
            )
            found[OURS].append(error(answer.table, held / people))
            found[HALVES].append(error(halves(held, epsilon, reports), held / people))
        for side in sides:
            got = grid(held, epsilon, reports, side)
            found[f"{GRID} {side}"].append(error(got, held / people))
    best = min((f"{GRID} {side}" for side in sides), key=lambda one: sum(found[one]))
    kept = {OURS: found[OURS], HALVES: found[HALVES], GRID: found[best]}
    return {
        "pair": pair,
        "epsilon": epsilon,
        "grid": best,
        "errors": {name: mean_and_error(some) for name, some in kept.items()},
        "ratios": {name: ratio_of_means(kept[name], found[OURS]) for name in (HALVES, GRID)},
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return errors within labels and their ratios to ours."""
    cells = measured["cells"]
    lines = []
    for cell in cells:
        ours = cell["errors"][OURS]
        lines.append(
            [
                cell["pair"],
                f"{cell['epsilon']:g}",
                f"{1e4 * ours['mean']:.1f} ± {1e4 * ours['standard_error']:.1f}",
                *(
                    f"{cell['ratios'][name]['ratio']:.2f} ± "
                    f"{cell['ratios'][name]['standard_error']:.2f}"
                    for name in (HALVES, GRID)
                ),
                cell["grid"].removeprefix(f"{GRID} "),
            ]
        )
    means = []
    for epsilon in dict.fromkeys(cell["epsilon"] for cell in cells):
        here = [cell for cell in cells if cell["epsilon"] == epsilon]
        of = {
            name: geometric([one["ratios"][name]["ratio"] for one in here])
            for name in (HALVES, GRID)
        }
        means.append(f"ε = {epsilon:g}: {HALVES} {of[HALVES]:.2f}, {GRID} {of[GRID]:.2f}")
    return "\n\n".join(
        [
            f"{settings['people']:,} people drawn with replacement from the rows, "
            f"{settings['bins']} bins, {settings['repeats']} repeats. W1 of the distribution "
            "within each label to the people's own, in parts of the axis, weighted by the people "
            "of a label. *Ours* is `MultiscaleBoxes` with `LogDensityPrior`. *One question each* "
            "asks half of the people for the label and half for the value, and takes them for "
            "independent. *Grid* is a frequency oracle on every label and some groups of bins, "
            "whose number is the best in hindsight. Delay by time of day and pick-up time by month "
            "were among the pairs on which the default was compared; age by hours was not.",
            table(
                [
                    "pair",
                    "ε",
                    "ours ×10⁴",
                    f"{HALVES} / ours",
                    f"{GRID} / ours",
                    "bins of the grid",
                ],
                lines,
                texts=1,
            ),
            f"Geometric means of the ratios, {'; '.join(means)}.",
        ]
    )
