"""The columns of the papers' figures: a paper's own rows, or laws from which people are drawn.

``paper_column`` takes the file that a paper used wherever it lies in the user's data folder: its
rows as they are, unsmoothed, and as many people as it has. Only where it is not there does the
stand-in take its place, with as many people as the paper had. Each says which it is in its `rule`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks import datasets
from benchmarks.datasets import Column

Vector = NDArray[np.float64]
CountVector = NDArray[np.int64]

UNIT = (0.0, 1.0)
"""Every column is mapped to it, so that distances, means and variances are the papers'."""


@dataclass(frozen=True)
class Population:
    """The people of a figure on [0, 1]: the rows of a paper's own file, or draws from a law.

    Parameters
    ----------
    name : str
        As the tables call it; the same for a paper's file and for its stand-in.
    people : int
        How many there are.
    rule : str
        Which file or law, range, months and rows, for the head of a table.
    law : callable
        ``law(bins)`` is the mass of so many equal bins: float64 [bins], summing to one.
    own_file : bool
        Whether these are the rows of the file that the paper used. They are then the people of
        every repeat, as in the papers; otherwise every repeat draws its people from the law.
    reordered : bool
        Whether every repeat has the bins in a random order of its own. With one order for all
        repeats a verdict would speak of that order.
    """

    name: str
    people: int
    rule: str
    law: Callable[[int], Vector]
    own_file: bool = False
    reordered: bool = False

    def draw(self, bins: int, rng: np.random.Generator) -> CountVector:
        """Return how many people hold each bin: int64 [bins]; of an own file always the same."""
        counts: CountVector
        if self.own_file:
            counts = np.rint(self.people * self.law(bins)).astype(np.int64)
        else:
            counts = rng.multinomial(self.people, self.law(bins))
        return rng.permutation(counts) if self.reordered else counts


def interval(bins: int) -> lw.Interval:
    """Return the domain of so many bins on which all columns live."""
    return lw.Interval(*UNIT, bins=bins, outside="clip")


def truth(counts: CountVector) -> lw.results.Cumulative:
    """Return the CDF of people known to so many bins."""
    return lw.Distribution.of_counts(counts, interval(counts.size)).cumulative


def coarser(counts: CountVector, bins: int) -> CountVector:
    """Return counts of fewer bins, whose number must divide that of the counts."""
    sums: CountVector = counts.reshape(bins, -1).sum(axis=1)
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


def paper_column(
    name: str, file: str, instead: Callable[[], Population], *, size: int | None = None
) -> Population:
    """Return the rows of the file that a paper used if the user has it, else its stand-in.

    Parameters
    ----------
    name : str
        As the tables call the column.
    file : str
        The paper's file by its name in :mod:`benchmarks.datasets`: "taxi_2018_01",
        "taxi_2021_06", "acs_income_2017", "sf_retirement_city", "kosarak_fimi", "airbnb_us_2020",
        "lyft_yaw".
    instead : callable
        Makes the stand-in; called only if the file is not there, so whoever has a paper's file
        needs no stand-in.
    size : int, optional
        For a file of labels: how many there are in the paper. Labels that never occur are added.

    Raises
    ------
    DataFolderError, DataFileError
        If the file is there and cannot be read as its publisher's; it is not passed over.

    Notes
    -----
    A file is read once by a process, for each data folder.
    """
    column = _load_own(file, _folder())
    if column is None:
        return replace(instead(), name=name)
    if column.counts is not None:
        whole = column.padded(size or column.counts.size)
        assert whole.counts is not None
        masses = whole.counts / whole.kept
        return Population(name, whole.kept, _own(whole), partial(_only, masses), own_file=True)
    return Population(name, column.kept, _own(column), partial(_rows, column), own_file=True)


def _own(column: Column) -> str:
    return (
        f"the paper's own file {column.source}: its {column.kept:,} rows as they are, the same "
        f"people in every repeat ({column.rule}; {column.dropped:,} rows dropped)"
    )


def stand_in(name: str, people: int) -> Population:
    """Return a real column: so many people drawn from its rows with replacement."""
    column = _load(name, _folder())
    rule = f"{_called(column)}, drawn with replacement from the {_rows_of(column)}"
    return Population(name, people, rule, partial(_rows, column))


def smoothed(name: str, people: int, *, width: float) -> Population:
    """Return a circular column whose law is its rows' histogram, smoothed by a Gaussian.

    Parameters
    ----------
    width : float
        Standard deviation of the Gaussian, as a part of the circle.
    """
    column = _load(name, _folder())
    rule = (
        f"{_called(column)}, drawn from the histogram of the {_rows_of(column)}, smoothed round "
        f"the circle by a Gaussian of standard deviation {width:.2g} of it"
    )
    return Population(name, people, rule, partial(_smooth_rows, column, width))


def _called(column: Column) -> str:
    return "a stand-in" if column.is_stand_in else "no column of the paper"


def _rows_of(column: Column) -> str:
    return f"{column.kept:,} rows of {column.source} ({column.rule})"


def permuted(population: Population, *, seed: int) -> Population:
    """Return the same masses in random orders of the bins, as the convolution paper does.

    The seed is of the order of the law, which pictures show.
    """

    def law(bins: int) -> Vector:
        order = np.random.default_rng(seed).permutation(bins)
        return population.law(bins)[order]

    rule = f"{population.rule}; bins in a random order of each repeat"
    return replace(
        population, name=f"{population.name}, permuted", rule=rule, law=law, reordered=True
    )


def items(name: str, people: int, *, size: int) -> Population:
    """Return a column of labeled counts, padded with empty labels to the paper's number."""
    column = _load(name, _folder())
    assert column.counts is not None  # a count table
    law = np.zeros(size)
    law[: column.counts.size] = column.counts / column.counts.sum()
    rule = (
        f"{_called(column)}, {people:,} draws from {column.source} ({column.rule}), padded to "
        f"{size:,} labels"
    )
    return Population(name, people, rule, partial(_only, law))


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


def _folder() -> str:
    """Return what tells one data folder from another, so that a kept column is of this one."""
    return os.environ.get(datasets.DATA_VARIABLE, "")


@lru_cache
def _load(name: str, _of: str) -> Column:
    return datasets.load(name)


@lru_cache
def _load_own(file: str, _of: str) -> Column | None:
    return datasets.load_own(file)


@lru_cache
def _rows(column: Column, bins: int) -> Vector:
    assert column.values is not None  # not a count table
    domain = lw.Interval(column.low, column.high, bins=bins, outside="clip")
    mass: Vector = lw.Distribution.of_values(column.values, domain).mass
    return mass


@lru_cache
def _smooth_rows(column: Column, width: float, bins: int) -> Vector:
    """Smooth on a fine grid and add up, so the law of fewer bins is that of more, added up."""
    from scipy.ndimage import gaussian_filter1d

    fine = bins * max(1, 8640 // bins)
    smooth = gaussian_filter1d(_rows(column, fine), width * fine, mode="wrap")
    mass: Vector = smooth.reshape(bins, -1).sum(axis=1)
    mass /= mass.sum()
    return mass
