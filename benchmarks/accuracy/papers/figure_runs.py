"""Methods side by side on one column: simulate, decode, judge, and keep means with their errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import Counts, Population, coarser, interval, truth
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import listed, uncertain
from benchmarks.summaries import mean_and_error
from lapwing.errors import LapwingWarning

Judge = Callable[[Any, Any], float]
"""How far an answer is from what is known of the people: their CDF, unless told otherwise."""

Samples = dict[str, dict[str, list[float]]]
Figure = dict[str, float]


def compare(
    methods: Sequence[Method],
    population: Population,
    judges: Mapping[str, Judge],
    *,
    bins: int,
    epsilon: float,
    repeats: int,
    allowed: Mapping[str, Sequence[str]] | None = None,
    known: Callable[[Counts], Any] = truth,
    seed: int = 0,
    factors: Sequence[str] = (),
) -> Samples:
    """Return method -> figure -> one number per repeat.

    Parameters
    ----------
    methods : sequence of Method
        Each makes its randomizer from a domain of `bins` bins, or of fewer that divide them.
    judges : mapping
        Figure -> what compares an answer with the people's own CDF.
    allowed : mapping, optional
        Method -> the figures it may be judged by; default: all.
    known : callable
        What the judges know of the people, from their counts.
    seed : int
        Another one gives other people and other reports in every cell.
    factors : sequence of str
        What tells this call from others beyond column, bins and epsilon, such as the figure.

    Notes
    -----
    Every repeat draws new people. Methods of one randomizer get the same reports. People and
    reports of two calls have nothing in common unless column, bins, epsilon, factors and seed
    agree; then they are the same people.
    """
    domain = interval(bins)
    made = {method.name: method.randomizer(domain, epsilon) for method in methods}
    found: Samples = {
        method.name: {name: [] for name in (allowed or {}).get(method.name, list(judges))}
        for method in methods
    }
    for repeat in range(repeats):
        rng = stream(seed, population.name, bins, f"{epsilon:g}", repeat, *factors)
        counts = population.draw(bins, rng)
        target = known(counts)
        tallies: dict[str, lw.Counts] = {}
        for method in methods:
            randomizer = made[method.name]
            if randomizer.fingerprint not in tallies:
                people = coarser(counts, randomizer.domain.size)
                tallies[randomizer.fingerprint] = lw.simulate(randomizer, people, rng=rng)
            with warnings.catch_warnings():
                # Weak answers and the paper's own bad settings are part of the comparison.
                warnings.simplefilter("ignore", LapwingWarning)
                answer = method.decoder.decode(randomizer.channel, tallies[randomizer.fingerprint])
            for name, kept in found[method.name].items():
                kept.append(judges[name](answer, target))
    return found


def figures(samples: Samples) -> dict[str, dict[str, Figure]]:
    """Return the mean and its standard error of every method and figure."""
    return {
        method: {name: mean_and_error(kept) for name, kept in by_figure.items()}
        for method, by_figure in samples.items()
    }


def kept_figures(samples: Samples) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the same with every repeat in `values`, to five digits, so it can be judged again."""
    return {
        method: {
            name: {**mean_and_error(kept), "values": [float(f"{one:.5g}") for one in kept]}
            for name, kept in by_figure.items()
        }
        for method, by_figure in samples.items()
    }


def cell(figure: Figure | None, *, scale: float, places: int = 1) -> str:
    """Return a figure with its standard error as text; a dash where a method is not judged."""
    if figure is None:
        return "–"
    return uncertain(figure["mean"], figure["standard_error"], scale=scale, places=places)


def apart(first: Figure, second: Figure, *, errors: float = 2.0) -> bool:
    """Return whether two figures differ by more than so many standard errors of the difference.

    Errors of methods that met the same people are positively correlated, so this is cautious.
    """
    spread = float(np.hypot(first["standard_error"], second["standard_error"]))
    return abs(first["mean"] - second["mean"]) > errors * spread


def best(row: Mapping[str, Mapping[str, Figure]], figure: str) -> str:
    """Return the method with the least mean among those judged by a figure."""
    judged = {name: found[figure]["mean"] for name, found in row.items() if figure in found}
    return min(judged, key=lambda name: judged[name])


def shares_of_cells(rows: Sequence[dict[str, Any]], figure: str, among: Sequence[str]) -> str:
    """Return in how many rows each of some methods has the least mean of them, as a phrase."""
    count = dict.fromkeys(among, 0)
    for row in rows:
        count[best({name: row["methods"][name] for name in among}, figure)] += 1
    ranked = sorted((name for name in among if count[name]), key=lambda name: -count[name])
    return listed([f"{name} {count[name]}" for name in ranked])


def ratios(rows: Sequence[dict[str, Any]], figure: str, ours: str, theirs: str) -> list[float]:
    """Return mean over mean of two methods in every row."""
    return [
        row["methods"][ours][figure]["mean"] / row["methods"][theirs][figure]["mean"]
        for row in rows
    ]


Verdict = tuple[bool, bool]
"""Whether a claim holds in a cell, and whether two standard errors of the difference say so."""


def less(row: Mapping[str, Any], figure: str, ours: str, theirs: Iterable[str]) -> Verdict:
    """Return whether one method has a smaller mean than each of others in a row."""
    own = row["methods"][ours][figure]
    others = [row["methods"][name][figure] for name in theirs if name != ours]
    nearest = min(others, key=lambda figure: float(figure["mean"]))
    return own["mean"] < nearest["mean"], apart(own, nearest)


def claim(
    text: str, cells: Sequence[Verdict | bool], evidence: str = "", *, most: bool = False
) -> str:
    """Return a line of the paper, whether it holds in the cells measured here, and the numbers.

    Parameters
    ----------
    cells : sequence of Verdict or bool
        bool where there is no standard error to judge by.
    most : bool
        Whether the paper claims it of most cells only.
    """
    if not cells:
        return f"- *{text}* Here: not measured."
    number = sum(one[0] if isinstance(one, tuple) else one for one in cells)
    rest = [one for one in cells if not (one[0] if isinstance(one, tuple) else one)]
    judged = all(isinstance(one, tuple) for one in cells)
    against = sum(one[1] if isinstance(one, tuple) else True for one in rest)
    if 2 * number > len(cells) if most else not rest:
        verdict = "agrees"
    elif not most and against == 0:
        verdict = "agrees within two standard errors"
    else:
        verdict = "disagrees" if 2 * number <= len(cells) else "agrees in part"
    left = f" ({against} of the others contradict it beyond two standard errors)"
    line = f"- *{text}* Here: {verdict}, in {number} of {len(cells)} cells"
    return f"{line}{left if rest and judged else ''}. {evidence}".rstrip()
