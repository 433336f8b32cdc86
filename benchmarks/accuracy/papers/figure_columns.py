"""The columns of the papers' figures: laws from which as many people are drawn as a paper had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks import datasets
from benchmarks.datasets import Column

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

UNIT = (0.0, 1.0)
"""Every column is mapped to it, so that distances, means and variances are the papers'."""


@dataclass(frozen=True)
class Population:
    """A law on [0, 1], and how many people are drawn from it in each repeat.

    ``law(bins)`` is the mass of so many equal bins: float64 [bins], summing to one.
    """

    name: str
    people: int
    rule: str
    law: Callable[[int], Vector]

    def draw(self, bins: int, rng: np.random.Generator) -> Counts:
        """Return how many people hold each bin: int64 [bins]."""
        counts: Counts = rng.multinomial(self.people, self.law(bins))
        return counts


def interval(bins: int) -> lw.Interval:
    """Return the domain of so many bins on which all columns live."""
    return lw.Interval(*UNIT, bins=bins)


def truth(counts: Counts) -> lw.Cumulative:
    """Return the CDF of people known to so many bins."""
    return lw.Distribution.of_counts(counts, interval(counts.size)).cumulative


def coarser(counts: Counts, bins: int) -> Counts:
    """Return counts of fewer bins, whose number must divide that of the counts."""
    sums: Counts = counts.reshape(bins, -1).sum(axis=1)
    return sums


def beta52(people: int = 100_000) -> Population:
    """Return the Beta(5, 2) column of both papers on numerical domains."""
    return Population("beta52", people, "draws from Beta(5, 2)", _beta)


def blocks(parts: int, people: int = 100_000) -> Population:
    """Return a density of 1.5 and .5 in turn on so many parts, the lower first.

    Source: Zhao et al. 2026, equation 92, with h = 1 / parts.
    """
    return Population(
        f"h = 1/{parts}", people, "draws from the block density", partial(_blocks, parts)
    )


def stand_in(name: str, people: int) -> Population:
    """Return a real column: so many people drawn from its rows with replacement."""
    column = _load(name)
    rule = f"drawn with replacement from the {column.kept:,} rows of {column.source}"
    return Population(name, people, rule, partial(_rows, name))


def smoothed(name: str, people: int, *, width: float) -> Population:
    """Return a circular column whose law is its rows' histogram, smoothed by a Gaussian.

    Parameters
    ----------
    width : float
        Standard deviation of the Gaussian, as a part of the circle.
    """
    column = _load(name)
    rule = (
        f"drawn from the histogram of the {column.kept:,} rows of {column.source}, smoothed round "
        f"the circle by a Gaussian of standard deviation {width:.2g} of it"
    )
    return Population(name, people, rule, partial(_smooth_rows, name, width))


def permuted(population: Population, *, seed: int) -> Population:
    """Return the same masses in a random order of the bins, as the convolution paper does."""

    def law(bins: int) -> Vector:
        order = np.random.default_rng(seed).permutation(bins)
        return population.law(bins)[order]

    rule = f"{population.rule}; bins in a random order, seed {seed}"
    return Population(f"{population.name}, permuted", population.people, rule, law)


def items(name: str, people: int, *, size: int) -> Population:
    """Return a column of labelled counts, padded with empty labels to the paper's number."""
    column = datasets.load(name)
    assert column.counts is not None  # a count table
    law = np.zeros(size)
    law[: column.counts.size] = column.counts / column.counts.sum()
    rule = f"{people:,} draws from {column.source}, {column.rule}; padded to {size:,} labels"
    return Population(name, people, rule, lambda bins: _only(law, bins))


def _only(law: Vector, bins: int) -> Vector:
    if bins != law.size:
        raise ValueError(f"this column has {law.size} labels and no other number of bins")
    return law


def _beta(bins: int) -> Vector:
    from scipy.stats import beta

    mass: Vector = np.diff(beta(5, 2).cdf(np.arange(bins + 1) / bins))
    mass /= mass.sum()
    return mass


def _blocks(parts: int, bins: int) -> Vector:
    if bins % parts:
        raise ValueError(f"the bins must be a multiple of the {parts} parts, got {bins}")
    heights: Vector = np.where(np.arange(bins) * parts // bins % 2, 1.5, 0.5)
    heights /= heights.sum()
    return heights


@lru_cache
def _load(name: str) -> Column:
    return datasets.load(name)


@lru_cache
def _rows(name: str, bins: int) -> Vector:
    column = _load(name)
    assert column.values is not None  # not a count table
    domain = lw.Interval(column.low, column.high, bins=bins)
    mass: Vector = lw.Distribution.of_values(column.values, domain).mass
    return mass


@lru_cache
def _smooth_rows(name: str, width: float, bins: int) -> Vector:
    """Smooth on a fine grid and add up, so the law of fewer bins is that of more, added up."""
    from scipy.ndimage import gaussian_filter1d

    fine = bins * max(1, 8640 // bins)
    smooth = gaussian_filter1d(_rows(name, fine), width * fine, mode="wrap")
    mass: Vector = smooth.reshape(bins, -1).sum(axis=1)
    mass /= mass.sum()
    return mass
