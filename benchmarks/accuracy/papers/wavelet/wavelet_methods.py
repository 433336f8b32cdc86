"""The methods, columns and judges of the wavelet paper's figures, and how repeats are drawn."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import EMS as SMOOTHED
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.local.scores import PAPER_GRID
from benchmarks.accuracy.papers.figure_columns import (
    Population,
    beta52,
    coarser,
    interval,
    paper_column,
    stand_in,
    truth,
)
from benchmarks.accuracy.papers.figure_runs import Judge, Samples
from benchmarks.accuracy.papers.wavelet.wave_buckets import InBuckets
from benchmarks.signed_decoder import SignedDecoder
from lapwing.errors import LapwingWarning
from lapwing.papers.square_wave.hierarchical import binned, least_variance_randomizer
from lapwing.papers.wavelet.wavelet import best_levels, paper_levels

PEOPLE = {"taxi": 8_760_687, "acs_income": 2_308_374, "sf_benefits": 682_410}
"""As many as the paper has in the columns for which these are stand-ins; it does not say how many
people are below its limit of income, for which the square-wave paper's number is taken."""

FILES = {
    "taxi": "taxi_2018_01",
    "acs_income": "acs_income_2017",
    "sf_benefits": "sf_retirement_city",
}
"""The paper's own files of these columns, by their names in the catalog."""

SMOOTH, SPIKY = ("beta52", "taxi"), ("acs_income", "sf_benefits")
"""Columns by what the paper calls them; its Retirement and Income are the non-smooth ones."""

WAVELET, LITERAL = "wavelet", "next cell's clip"
PURE, OWN = "bound's J", "bound's J, sums"
BEST = "best J"
"""The wavelet with the J of least error in a cell, which nobody knows beforehand."""

BUCKETS = (256, 512)
EM = "SW-EM, B-R"
EMS = {bins: f"SW-EM, R-B {bins}" for bins in BUCKETS}
FORMS = (EM, *EMS.values())
"""SW-EM with values put into bins before the wave (B-R), and with its reports put into buckets
(R-B), which Li's experiments do; the wavelet paper does not say which it ran, nor how many bins."""

HH, DW, IIW = "HH", "DW", "IIW"
BINNED = {bins: f"bins {bins}" for bins in (8, 16, 32, 64)}
CATEGORICAL = tuple(BINNED.values())
OTHERS = (HH, DW, IIW, *CATEGORICAL)
"""The paper's competitors but SW-EM."""

JUDGES: dict[str, Judge] = {
    "w1": partial(lw.distances.wasserstein, grid=PAPER_GRID),
    "ks": partial(lw.distances.kolmogorov_smirnov, grid=PAPER_GRID),
    "range .2": partial(lw.distances.range_query_error, width=0.2),
    "range .4": partial(lw.distances.range_query_error, width=0.4),
}
"""Section 6.1: the mean and the largest difference over 256 points; section 6.5: ranges."""

PURE_CLIP = lw.papers.wavelet.WaveletClip(mass_sums=False, band=False)


def population(name: str) -> Population:
    """Return a column of the paper: its own file, or its stand-in where that is not there."""
    if name == "beta52":
        return beta52()
    return paper_column(name, FILES[name], partial(stand_in, name, PEOPLE[name]))


def paper_methods(people: int, bins: int) -> list[Method]:
    """Return the paper's methods for so many people; `bins` are those of SW-EM B-R and of HH.

    The wavelet with the paper's rule for J and its clip; the same reports, clipped by the smaller
    of a cell and the next one; with the J that minimizes the paper's bound; that with the sums of
    masses, which are of this library. Then the competitors.
    """
    em = lw.ExpectationMaximization(band=False)
    ruled = partial(_levels, paper_levels(people))
    return [
        Method(WAVELET, ruled, PURE_CLIP),
        Method(
            LITERAL, ruled, lw.papers.wavelet.WaveletClip(literal=True, mass_sums=False, band=False)
        ),
        Method(PURE, partial(_bound, people), PURE_CLIP),
        Method(OWN, partial(_bound, people), lw.papers.wavelet.WaveletClip(band=False)),
        Method(EM, partial(_at, bins, lw.SquareWave), em),
        *(Method(name, lw.SquareWave, InBuckets(number, em)) for number, name in EMS.items()),
        *_categorical(bins),
    ]


def by_order(levels: int) -> list[Method]:
    """Return the paper's wavelet at every J that people known to ``2^levels`` bins allow."""
    return [
        Method(f"J = {order}", partial(_levels, order + 1), PURE_CLIP) for order in range(1, levels)
    ]


def league(people: int, bins: int) -> list[Method]:
    """Return what the default of this library is compared with; EMS and HH-ADMM among them."""
    wave, tree = (
        partial(_at, bins, lw.SquareWave),
        partial(_at, bins, lw.papers.square_wave.Hierarchical),
    )
    admm = lw.papers.square_wave.TreeConsistency(method="admm", weighted=False, band=False)
    return [
        Method(WAVELET, partial(_levels, paper_levels(people)), PURE_CLIP),
        Method(PURE, partial(_bound, people), lw.papers.wavelet.WaveletClip(band=False)),
        Method("SW-EM", wave, lw.ExpectationMaximization(band=False)),
        Method("SW-EMS", wave, SMOOTHED),
        Method("HH-ADMM", tree, admm),
        *_categorical(bins),
    ]


def _categorical(bins: int) -> list[Method]:
    """Return the competitors but SW-EM: HH, DW and IIW at 256 bins at most, few bins."""
    few = partial(_at, min(bins, PAPER_GRID), least_variance_randomizer)
    tree = SignedDecoder(lw.papers.square_wave.TreeConsistency(weighted=False, band=False))
    return [
        Method(HH, partial(_at, bins, lw.papers.square_wave.Hierarchical), tree),
        Method(DW, few, lw.papers.convolution.Wiener(method="direct", band=False)),
        Method(IIW, few, lw.papers.convolution.Wiener(band=False)),
        *(
            Method(name, partial(_binned, number), lw.LeastSquares())
            for number, name in BINNED.items()
        ),
    ]


def _at(bins: int, make: Any, domain: lw.Interval, epsilon: Any) -> Any:
    return make(domain.refined(min(bins, domain.bins)), epsilon)


def _binned(bins: int, domain: lw.Interval, epsilon: Any) -> Any:
    return binned(domain, epsilon, bins=min(bins, domain.bins))


def _levels(levels: int, domain: lw.Interval, epsilon: Any) -> lw.papers.wavelet.Wavelet:
    return lw.papers.wavelet.Wavelet(
        domain, epsilon, levels=min(levels, domain.bins.bit_length() - 1)
    )


def _bound(people: int, domain: lw.Interval, epsilon: Any) -> lw.papers.wavelet.Wavelet:
    # As a number: where it is the rule's J the two are one randomizer, simulated once.
    most = domain.bins.bit_length() - 1
    return _levels(best_levels(people, epsilon, most=most), domain, epsilon)


def generator(*factors: Any) -> np.random.Generator:
    """Return the random numbers of one place: no others have them unless every factor is alike."""
    text = "|".join(str(one) for one in factors)
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))


def repeated(
    methods: Sequence[Method],
    one: Population,
    judges: Mapping[str, Judge],
    *,
    bins: int,
    epsilon: float,
    repeats: int,
    seed: int,
) -> Samples:
    """Return method -> figure -> one number per repeat; people are known to so many bins.

    Methods of one randomizer get the same reports. Everything else that is random is drawn by a
    generator of its own: people by seed, column, number, bins, epsilon and repeat, reports by the
    randomizer besides.
    """
    domain = interval(bins)
    made = {method.name: method.randomizer(domain, epsilon) for method in methods}
    found: Samples = {method.name: {name: [] for name in judges} for method in methods}
    for repeat in range(repeats):
        cell = (seed, one.name, one.people, bins, f"{float(epsilon):g}", repeat)
        counts = one.draw(bins, generator(*cell, "people"))
        target = truth(counts)
        tallies: dict[str, lw.tallies.CountTally] = {}
        for method in methods:
            randomizer = made[method.name]
            mark = randomizer.fingerprint
            if mark not in tallies:
                people = coarser(counts, randomizer.domain.size)
                tallies[mark] = lw.simulate(randomizer, people, rng=generator(*cell, mark))
            with warnings.catch_warnings():
                # Weak answers and the paper's own bad settings are part of the comparison.
                warnings.simplefilter("ignore", LapwingWarning)
                answer = method.decoder.decode(randomizer.channel, tallies[mark])
            for name, judge in judges.items():
                found[method.name][name].append(judge(answer, target))
    return found
