"""Methods on the same fixed people, repeat by repeat, and how their errors compare."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.local.real_columns import people
from benchmarks.accuracy.local.scores import PAPER_GRID
from benchmarks.accuracy.papers.figure_columns import coarser
from benchmarks.summaries import ratio_of_means
from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior
from lapwing.errors import LapwingWarning

FIGURES = ("w1", "ks")
"""W1 and KS over the papers' 256 points."""

OURS = Method("multiscale wave, SpectralPrior", lw.MultiscaleWave, SpectralPrior(band=False))
"""The default. On a circular column its domain is declared circular, which only the decoder uses:
the waves do not wrap."""

Errors = dict[str, dict[str, list[float]]]


@dataclass(frozen=True, eq=False)
class Crowd:
    """People known by how many hold each bin of [0, 1].

    Parameters
    ----------
    name : str
    counts : numpy.ndarray
        int64 [bins].
    circular : bool
    rule : str
        Where they come from.
    """

    name: str
    counts: NDArray[np.int64]
    circular: bool
    rule: str

    @property
    def people(self) -> int:
        """How many there are."""
        return int(self.counts.sum())


def real(name: str, *, bins: int) -> Crowd:
    """Return the people of a column by its name in the catalog."""
    column = people(name)
    assert column.values is not None  # count tables are not compared here
    domain = lw.Interval(column.low, column.high, bins=bins, outside="clip")
    counts = np.bincount(domain.index(column.values), minlength=bins)
    return Crowd(name, counts, column.circular, column.rule)


def errors(methods: Sequence[Method], crowd: Crowd, *, epsilon: float, repeats: int) -> Errors:
    """Return method -> figure -> an error per repeat.

    The people stay; their reports are drawn anew, with a seed per repeat and randomizer. Methods
    of one randomizer get the same reports, others independent ones. Truth is the people's own CDF.
    """
    bins = crowd.counts.size
    truth = lw.Distribution.of_counts(
        crowd.counts, lw.Interval(0, 1, bins=bins, outside="clip")
    ).cumulative
    made = {
        method.name: method.randomizer(
            lw.Interval(0, 1, bins=bins, circular=turns, outside="clip"), epsilon
        )
        for method in methods
        for turns in [crowd.circular and method is OURS]
    }
    found: Errors = {method.name: {figure: [] for figure in FIGURES} for method in methods}
    for repeat in range(repeats):
        tallies: dict[str, lw.tallies.CountTally] = {}
        for method in methods:
            randomizer = made[method.name]
            if randomizer.fingerprint not in tallies:
                held = coarser(crowd.counts, randomizer.domain.size)
                rng = np.random.default_rng([repeat, len(tallies)])
                tallies[randomizer.fingerprint] = lw.simulate(randomizer, held, rng=rng)
            with warnings.catch_warnings():
                # Weak answers are part of the comparison.
                warnings.simplefilter("ignore", LapwingWarning)
                answer = method.decoder.decode(randomizer.channel, tallies[randomizer.fingerprint])
            kept = found[method.name]
            kept["w1"].append(lw.distances.wasserstein(answer, truth, grid=PAPER_GRID))
            kept["ks"].append(lw.distances.kolmogorov_smirnov(answer, truth, grid=PAPER_GRID))
    return found


def compared(found: Errors, ours: str, theirs: str) -> dict[str, dict[str, float]]:
    """Return figure -> ratio of the means of two methods, with its standard error."""
    return {
        figure: ratio_of_means(found[ours][figure], found[theirs][figure]) for figure in FIGURES
    }


def mean_ratio(ratios: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the geometric mean of independent ratios, with its standard error."""
    logs = [math.log(one["ratio"]) for one in ratios]
    spread = math.sqrt(sum((one["standard_error"] / one["ratio"]) ** 2 for one in ratios))
    ratio = math.exp(math.fsum(logs) / len(logs))
    return {"ratio": ratio, "standard_error": ratio * spread / len(logs)}


def told(ratio: dict[str, Any]) -> str:
    """Return a ratio with its standard error as text."""
    return f"{ratio['ratio']:.3f} ± {ratio['standard_error']:.3f}"
