"""The convolution paper's columns, decoders and squared errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import (
    CountVector,
    Population,
    Vector,
    beta52,
    interval,
    items,
    paper_column,
    permuted,
    smoothed,
    stand_in,
)
from benchmarks.accuracy.papers.figure_runs import Judge, kept_figures
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import figure as digits
from benchmarks.markdown import table
from benchmarks.signed_decoder import SignedDecoder
from lapwing.decoders.decoder import Decoder
from lapwing.errors import LapwingWarning
from lapwing.protocol.randomizer import Randomizer

TRIPS, CLICKS = 2_834_264, 8_019_015
"""Values in the paper's taxi and Kosarak columns."""

OWN_TRIPS, OWN_CLICKS = "taxi_2021_06", "kosarak_fimi"
"""The paper's files by their names in the data catalog."""

SMOOTH, ROUGH, PERMUTED, ITEMS = "taxi", "taxi, rows as they are", "taxi, permuted", "kosarak"
MINUTES = 5
"""Standard deviation of the Gaussian that smooths the taxi histogram."""

MAIN = 4.0
"""Epsilon of figures 7 to 9."""

TOPS = (10, 20, 30, 50, 100)
"""Numbers of most frequent values by which sentences are judged."""

DRAWN_TOPS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Those of figures 8 and 10."""

THRESHOLDS = {SMOOTH: (500, 1000, 1500, 2000), ITEMS: (5_000, 10_000, 15_000, 20_000)}
"""Counts of people in figure 9; the permuted column has those of the smooth one."""

ALPHA = 0.05
PRINTED = {"OUE": 763, "KRR": 1676}
"""Significance thresholds as section V-E prints them."""

ORACLES: dict[str, Callable[..., Randomizer]] = {
    "KRR": lw.RandomizedResponse,
    "OUE": lw.randomizers.OptimizedUnaryEncoding,
}


@dataclass(frozen=True)
class Known:
    """Shares of the people by value, the values by falling share, and how many people there are."""

    shares: Vector
    order: CountVector
    people: int

    @classmethod
    def of(cls, counts: CountVector) -> Known:
        """Return what is known from counts."""
        people = int(counts.sum())
        return cls(counts / people, np.argsort(-counts, kind="stable"), people)


def mse(answer: Any, known: Known) -> float:
    """Return the mean squared error over the whole domain."""
    return lw.distances.mean_squared_error(answer.mass, known.shares)


def top_mse(top: int, answer: Any, known: Known) -> float:
    """Return the mean squared error over the most frequent values."""
    first = known.order[:top]
    return float(((answer.mass[first] - known.shares[first]) ** 2).mean())


def positives(threshold: float, right: bool, answer: Any, known: Known) -> float:
    """Return how many values are estimated above a count, and truly are, or truly are not."""
    found = answer.mass * known.people > threshold
    above = known.shares * known.people > threshold
    return float(np.count_nonzero(found & (above == right)))


def populations(column: str, labels: str, size: int, seed: int) -> dict[str, Population]:
    """Return the paper's columns by name: its own files where the user has them, or stand-ins.

    Parameters
    ----------
    column : str
        A circular column of the data folder; or "beta52", which needs no folder.
    labels : str
        A count table of the data folder, or "beta52" again.
    size : int
        Labels of the last.
    seed : int
        Of the order of the permuted column.
    """
    if column == "beta52":
        smooth, rough, clicks = beta52(TRIPS), beta52(TRIPS), beta52(CLICKS)
    else:
        by_sampling = partial(smoothed, column, TRIPS, width=MINUTES / 1440)
        smooth = paper_column(SMOOTH, OWN_TRIPS, by_sampling)
        clicks = paper_column(
            ITEMS, OWN_CLICKS, partial(items, labels, CLICKS, size=size), size=size
        )
        rough = None if smooth.own_file else stand_in(column, TRIPS)
    found = {SMOOTH: smooth, PERMUTED: permuted(smooth, seed=seed), ITEMS: clicks}
    # The paper's own rows are as they are: there is nothing else to show beside them.
    return found if rough is None else {**found, ROUGH: rough}


@dataclass(frozen=True)
class Shares:
    """An estimate that is no distribution: float64 [bins], of any sign and any total."""

    mass: Vector


class EachAlone:
    """Equation 1: the unbiased share of every value on its own, whatever they add up to.

    The signed estimate of `LeastSquares` is the same with the known total of one imposed, which
    takes 1 / d of the variance away; the paper's figures, and its DW, start from these shares.
    """

    def decode(self, channel: Any, tally: Any) -> Shares:
        """Return (counts / people - q*) / (p* - q*)."""
        own, other = channel.blocks[0].operator.compound
        return Shares((tally.blocks[0] / tally.total - other) / (own - other))


EACH_ALONE: Any = EachAlone()


def _wiener(**knobs: Any) -> SignedDecoder:
    return SignedDecoder(lw.papers.convolution.Wiener(band=False, **knobs))


def _gaussian(sigma: float, *, wiener: bool = False) -> SignedDecoder:
    return SignedDecoder(lw.papers.convolution.GaussianSmoothing(sigma=sigma, wiener=wiener))


ON_SMOOTH: dict[str, Decoder] = {
    "": EACH_ALONE,
    "smoothing": SignedDecoder(lw.papers.convolution.BinomialSmoothing()),
    "DW": _wiener(method="direct"),
    "IIW": _wiener(method="iterative"),
    "IIW-G": _wiener(method="iterative-from-reports"),
    "GF1": _gaussian(1),
    "GF3": _gaussian(3),
    "GF1-DW": _gaussian(1, wiener=True),
    "GF3-DW": _gaussian(3, wiener=True),
}
ON_ROUGH: dict[str, Decoder] = {
    "": EACH_ALONE,
    "DW": _wiener(method="direct"),
    "DW-AMRP": _wiener(method="permuted"),
    "DW, 100 kept": _wiener(method="direct", keep_largest=100),
}
"""Decoders by the paper's names; the last is its advice for extremely large values."""


def methods(decoders: Mapping[str, Decoder]) -> list[Method]:
    """Return both oracles with every decoder; IIW-G is for KRR only."""
    return [
        Method("-".join(filter(None, (name, short))), oracle, decoder)
        for name, oracle in ORACLES.items()
        for short, decoder in decoders.items()
        if (name, short) != ("OUE", "IIW-G")
    ]


def judges_of(name: str) -> dict[str, Judge]:
    """Return what is asked of a column at the main epsilon."""
    wanted: dict[str, Judge] = {"mse": mse}
    wanted |= {f"top {top}": partial(top_mse, top) for top in DRAWN_TOPS}
    for threshold in THRESHOLDS[ITEMS if name == ITEMS else SMOOTH]:
        wanted[f"true {threshold}"] = partial(positives, threshold, True)
        wanted[f"false {threshold}"] = partial(positives, threshold, False)
    return wanted


def run(
    column: str,
    population: Population,
    chosen: Sequence[Method],
    judges: Mapping[str, Judge],
    *,
    figure: str,
    bins: int,
    epsilon: float,
    repeats: int,
    seed: int,
) -> dict[str, Any]:
    """Return method -> judge -> mean, standard error and every repeat of one cell of a figure.

    Every repeat draws new people, or new reports of the same people; methods of one randomizer get
    the same reports, two randomizers meet the same people. No other cell shares random numbers.
    """
    samples: dict[str, dict[str, list[float]]] = {
        method.name: {name: [] for name in judges} for method in chosen
    }
    made = {method.randomizer: method.randomizer(interval(bins), epsilon) for method in chosen}
    for repeat in range(repeats):
        cell = (figure, column, f"{bins} values", f"epsilon {epsilon:g}", repeat)
        counts = population.draw(bins, stream(seed, *cell))
        known = Known.of(counts)
        tallies = {
            which: lw.simulate(one, counts, rng=stream(seed, *cell, one.name))
            for which, one in made.items()
        }
        for method in chosen:
            decoder = method.decoder
            if isinstance(decoder, lw.papers.convolution.Wiener) and decoder.method == "permuted":
                decoder = replace(decoder, seed=int(stream(seed, *cell, "orders").integers(2**31)))
            with warnings.catch_warnings():
                # Weak answers and the paper's own bad settings are part of the comparison.
                warnings.simplefilter("ignore", LapwingWarning)
                channel, tally = made[method.randomizer].channel, tallies[method.randomizer]
                answer = decoder.decode(channel, tally)
            for name, kept in samples[method.name].items():
                kept.append(judges[name](answer, known))
    return kept_figures(samples)


def significance(oracle: str, epsilon: float, *, bins: int, people: int, divided: bool) -> float:
    """Return the count above which an unbiased estimate is significant: equation 6 times people.

    With ``divided=False`` alpha is not divided by the number of values, as in the numbers that
    section V-E prints.
    """
    from scipy.stats import norm

    e = math.exp(epsilon)
    own, other = (e / (e + bins - 1), 1 / (e + bins - 1)) if oracle == "KRR" else (0.5, 1 / (e + 1))
    deviation = math.sqrt(people * other * (1 - other)) / (own - other)
    return float(norm.isf(ALPHA / bins if divided else ALPHA)) * deviation


def drawn_from(one: Population, bins: int) -> dict[str, Any]:
    """Return what a table's head says of a column."""
    return {"people": one.people, "rule": one.rule, "bins": bins}


def on_rows(columns: Mapping[str, Population]) -> list[tuple[str, Population]]:
    """Return the columns of times of day in their own order, smoothed and as they are."""
    return [(name, columns[name]) for name in (SMOOTH, ROUGH) if name in columns]


def head(columns: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return what is said above the tables of a script: whose rows, how many, how often."""
    told = "; ".join(
        f"**{name}**: {one['people']:,} people, {one['bins']:,} values, {one['rule']}"
        for name, one in columns.items()
        if name != PERMUTED
    )
    about = (
        "A stand-in's rows are so few that their histogram has the roughness of a sample, which a "
        "filter cannot tell from noise: the smooth column is that histogram smoothed over "
        f"{MINUTES} minutes ({MINUTES / 1440 * settings['bins']:.1f} of {settings['bins']} values, "
        "which suits the Gaussian filters), from which the paper's number of people is drawn; the "
        "rows as they are stand beside it, and what is said of the smooth column is judged on both."
    )
    return (
        f"Fang et al. 2023. {told}; **{PERMUTED}**: the first in random orders of its values, one "
        "for each repeat."
        + (f" {about}" if ROUGH in columns else "")
        + f" {settings['repeats']} repeats ({settings['repeats_of_items']} on {ITEMS}), 10 in the "
        f"paper, seed {settings['seed']}; squared errors ×10⁹ ± standard error, no projection "
        "unless named. Without a filter a share is equation 1, each value on its own; the filters "
        "also know that frequency 0 is one, which the paper's do not (a part 1/d of the error)."
    )


def values(row: Mapping[str, Any], method: str, key: str = "mse") -> list[float]:
    """Return every repeat of a method in a row."""
    kept: list[float] = row["methods"][method][key]["values"]
    return kept


def mean_of(row: Mapping[str, Any], method: str, key: str = "mse") -> float:
    """Return the mean of a method in a row."""
    return float(row["methods"][method][key]["mean"])


def ratio(row: Mapping[str, Any], ours: str, theirs: str, key: str = "mse") -> float:
    """Return mean over mean of two methods in a row."""
    return mean_of(row, ours, key) / mean_of(row, theirs, key)


def quotients(row: Mapping[str, Any], ours: str, theirs: str, key: str = "mse") -> list[float]:
    """Return the quotients of two methods in a row, repeat by repeat."""
    pairs = zip(values(row, ours, key), values(row, theirs, key), strict=True)
    return [a / b for a, b in pairs]


def squared_cell(found: Mapping[str, Any], key: str) -> str:
    """Return a squared error times 10^9, with its standard error."""
    mean, error = 1e9 * found[key]["mean"], 1e9 * found[key]["standard_error"]
    return f"{digits(mean)} ± {digits(error, digits=2)}"


def grid_table(
    rows: Sequence[Any],
    names: Sequence[str],
    text: Callable[[Any, str], str],
    head: Callable[[Any], str],
    corner: str,
) -> str:
    """Return a table with methods in rows: there are more of them than of anything else."""
    lines = [[name, *(text(row, name) for row in rows)] for name in names]
    return table([corner, *map(head, rows)], lines)
