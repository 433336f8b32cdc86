"""Methods side by side on one column: simulate, decode, judge, and keep means with their errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import (
    CountVector,
    Population,
    coarser,
    interval,
    truth,
)
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
    known: Callable[[CountVector], Any] = truth,
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
        tallies: dict[str, lw.tallies.CountTally] = {}
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


def kept_figures(samples: Samples) -> dict[str, dict[str, dict[str, Any]]]:
    """Return mean, standard error and every repeat in `values`, to five digits, of every method."""
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
