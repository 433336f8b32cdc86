"""Pairs of randomizer and decoder that are compared, and one way to run them on people."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.scores import FIGURES, scores
from benchmarks.datasets import Column
from benchmarks.markdown import uncertain
from benchmarks.signed_decoder import SignedDecoder
from lapwing.decoders.decoder import Decoder
from lapwing.errors import WeakAnswerWarning
from lapwing.protocol.randomizer import Randomizer

BINS = 256
"""As in the papers' and in the notes' comparisons."""


@dataclass(frozen=True)
class Method:
    """A randomizer, a decoder, and what the domain declares beyond its ends and bins."""

    name: str
    randomizer: Callable[..., Randomizer]
    decoder: Decoder
    circular: bool = False
    atom_at_zero: bool = False


EMS = lw.ExpectationMaximization(smoothed=True, band=False)
UNBIASED = SignedDecoder(lw.LeastSquares())

METHODS = (
    Method("square wave, EM", lw.SquareWave, lw.ExpectationMaximization(band=False)),
    Method("square wave, EMS", lw.SquareWave, EMS),
    Method("square wave, LeastSquares", lw.SquareWave, lw.LeastSquares()),
    Method(
        "square wave, PenalizedLikelihood", lw.SquareWave, lw.papers.baselines.PenalizedLikelihood()
    ),
    Method("GRR, LeastSquares", lw.RandomizedResponse, lw.LeastSquares()),
    Method("GRR, unbiased", lw.RandomizedResponse, UNBIASED),
    Method("OUE, LeastSquares", lw.randomizers.OptimizedUnaryEncoding, lw.LeastSquares()),
    Method("OUE, unbiased", lw.randomizers.OptimizedUnaryEncoding, UNBIASED),
)
"""Compared on every column."""

ON_A_CIRCLE = Method("square wave on a circle, EMS", lw.SquareWave, EMS, circular=True)
WITH_AN_ATOM = Method("square wave, EMS, 0 declared as an atom", lw.SquareWave, EMS, False, True)


def domain_of(column: Column, method: Method, *, bins: int) -> lw.Interval:
    """Return the domain on which a method sees a column."""
    return lw.Interval(
        column.low,
        column.high,
        bins=bins,
        circular=method.circular,
        atoms=(0,) if method.atom_at_zero else (),
        outside="clip",
    )


def run(
    methods: Sequence[Method],
    people: Callable[[int], Column],
    *,
    epsilon: float,
    repeats: int,
    bins: int,
) -> list[dict[str, Any]]:
    """Return the scores of every method over repeats.

    Parameters
    ----------
    people : callable
        The column of a repeat: the same people each time, or new ones.

    Notes
    -----
    Reports are simulated with their exact joint law; what is asked of an answer is the empirical
    CDF of the people themselves.
    """
    found: dict[str, list[dict[str, float]]] = {method.name: [] for method in methods}
    known: tuple[Column, lw.results.Cumulative] | None = None
    for repeat in range(repeats):
        column = people(repeat)
        if known is None or known[0] is not column:
            known = column, lw.results.Cumulative.of_values(column.values)
        tallies: dict[str, lw.tallies.CountTally] = {}
        for method in methods:
            domain = domain_of(column, method, bins=bins)
            randomizer = method.randomizer(domain, epsilon)
            # Decoders of one randomizer get the same reports, so they are compared in pairs.
            if randomizer.fingerprint not in tallies:
                counts = np.bincount(domain.index(column.values), minlength=domain.size)
                rng = np.random.default_rng([repeat, len(tallies)])
                tallies[randomizer.fingerprint] = lw.simulate(randomizer, counts, rng=rng)
            tally = tallies[randomizer.fingerprint]
            with warnings.catch_warnings():
                # At small epsilon and 256 bins some of these are meant to be weak.
                warnings.simplefilter("ignore", WeakAnswerWarning)
                answer = method.decoder.decode(randomizer.channel, tally)
            length = column.high - column.low
            found[method.name].append(
                scores(answer, known[1], length=length, circular=column.circular)
            )
    return [{"method": name, "scores": repeats_of} for name, repeats_of in found.items()]


def cells(scores_of: dict[str, Any]) -> list[str]:
    """Return the figures of one method as cells: W1 times 10^4, KS times 10^3."""
    texts = []
    for key in FIGURES:
        one, scale = scores_of[key], 1e4 if key.startswith("w1") else 1e3
        texts.append(uncertain(one["mean"], one["standard_error"], scale=scale))
    return texts
