"""Methods of other papers for pairs of ordered attributes, written from the papers.

Each takes how many people hold each cell, epsilon and a generator. It draws the reports of these
people with their exact joint distribution and returns its estimate of the shares of the cells.
The sizes of HDG and the threshold of AHEAD were compared with public programs of both; none of
their code is here. What the library offers of both is used from there.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior
from lapwing.linear.projections import simplex
from lapwing.papers.baselines.adaptive_tree import AdaptiveTree
from lapwing.papers.baselines.hybrid_grids import Grid, consistent, updated
from lapwing.randomizers.joint.multiscale_boxes import guideline

Counts = NDArray[np.int64]
Table = NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)

GRID_SIDES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
"""Sides of the grid that are tried, in cells."""

BOX_SIDES = {1.0: (32, 48), 2.0: (20, 32), 4.0: (8, 12, 20)}
"""Sides of the box that are tried, in 64ths of an axis, by epsilon."""


def frequencies(counts: Counts, epsilon: float, rng: np.random.Generator) -> Table:
    """Return unbiased shares of cells from the reports of a frequency oracle.

    Optimized unary encoding, or generalized randomized response where that has the smaller
    variance (Wang et al., USENIX Security 2017).

    Parameters
    ----------
    counts : numpy.ndarray
        int64, of any shape: people in each cell, at least one.
    epsilon : float
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        float64 of the same shape. Can be negative.
    """
    people, cells = int(counts.sum()), counts.size
    odds = math.exp(epsilon)
    if people == 0:
        return np.full(counts.shape, 1 / cells)
    if cells - 2 + odds < 4 * odds:
        own, other = odds / (odds + cells - 1), 1 / (odds + cells - 1)
        # Who does not keep the own cell reports any of the cells, evenly.
        kept = rng.binomial(counts.ravel(), own - other)
        free = rng.multinomial(people - kept.sum(), np.full(cells, 1 / cells))
        ones = (kept + free).reshape(counts.shape)
    else:
        own, other = 0.5, 1 / (odds + 1)
        ones = rng.binomial(counts, own) + rng.binomial(people - counts, other)
    shares: Table = (ones / people - other) / (own - other)
    return shares


def grid(counts: Counts, epsilon: float, rng: np.random.Generator, *, side: int) -> Table:
    """Return the estimate of a uniform grid of cells under a frequency oracle.

    The estimated shares are projected on the simplex, and people within a cell are spread evenly.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [d1, d2].
    epsilon : float
    rng : numpy.random.Generator
    side : int
        Cells of the grid on each axis, at most d1 and d2.

    Returns
    -------
    numpy.ndarray
        float64 [d1, d2].
    """
    rows, columns = (np.arange(side) * size // side for size in counts.shape)
    shares = on_simplex(frequencies(_grouped(counts, rows, columns), epsilon, rng))
    return _spread(shares, rows, columns, counts.shape)


def hdg(counts: Counts, epsilon: float, rng: np.random.Generator) -> Table:
    """Return the estimate of hybrid-dimensional grids, HDG (Yang et al., 2020).

    A third of the people each report a cell of a fine grid of the first attribute, of the second
    one, and of a coarse grid of both. Sizes follow the paper's guideline (alpha1 = 0.7,
    alpha2 = 0.03, rounded to powers of two). The three grids are made non-negative and consistent
    in turn, and then joined by the weighted update.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [d, d], d a power of two.
    epsilon : float
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        float64 [d, d].

    References
    ----------
    Yang, J., Wang, T., Li, N., Cheng, X. and Su, S. Answering multi-dimensional range queries under
    local differential privacy. PVLDB 14(3), 2020. arXiv:2009.06538.
    """
    size = counts.shape[0]
    fine, coarse = guideline(int(counts.sum()), epsilon, size)
    groups = divided(counts, 3, rng)
    grids = []
    for group, sides in zip(groups, ((fine, 1), (1, fine), (coarse, coarse)), strict=True):
        first, second = (_cells_of(size, side) for side in sides)
        shares = frequencies(_grouped(group, *_starts(size, sides)), epsilon, rng)
        grids.append(Grid(first, second, shares))
    return updated(consistent(grids), least=1 / int(counts.sum()))


def ahead(counts: Counts, epsilon: float, rng: np.random.Generator) -> Table:
    """Return the estimate of AHEAD in two dimensions, a quadtree (Du et al., 2021).

    The people are divided into as many groups as the tree has layers. A group reports which leaf
    of the tree so far holds its cell. Estimates are projected on the simplex. A new leaf above the
    threshold is split for the next group; a leaf that is not split is asked again, and its
    estimates are averaged. Then parents are averaged with their children by inverse variance, and
    children are made consistent with their parent and non-negative.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [d, d], d a power of two.
    epsilon : float
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        float64 [d, d].

    References
    ----------
    Du, L., Zhang, Z., Bai, S., Liu, C., Ji, S., Cheng, P. and Chen, J. AHEAD: adaptive hierarchical
    decomposition for range query under local differential privacy. CCS 2021.
    """
    domain = lw.Product(
        first=lw.Integers(0, counts.shape[0] - 1, outside="clip"),
        second=lw.Integers(0, counts.shape[1] - 1, outside="clip"),
    )
    tree = AdaptiveTree(domain, epsilon, users=int(counts.sum()))
    table: Table = tree.simulate(counts, rng=rng).table
    return table


def ahead_alone(counts: Counts, epsilon: float, rng: np.random.Generator) -> Table:
    """Return the estimate of AHEAD in one dimension, a binary tree (Du et al., 2021).

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [bins].
    epsilon : float
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        float64 [bins].
    """
    tree = AdaptiveTree(
        lw.Integers(0, counts.size - 1, outside="clip"), epsilon, users=int(counts.sum())
    )
    mass: Table = tree.simulate(counts, rng=rng).mass
    return mass


def product_of_halves(counts: Counts, epsilon: float, rng: np.random.Generator) -> Table:
    """Return the product of marginals, each of them asked of half of the people.

    The marginals are estimated by the library's default for one attribute, the multiscale wave
    with the spectral prior.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [d1, d2].
    epsilon : float
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        float64 [d1, d2].
    """
    first, second = divided(counts, 2, rng)
    return np.outer(
        marginal(first.sum(axis=1), epsilon, rng), marginal(second.sum(axis=0), epsilon, rng)
    )


def product_of_both(counts: Counts, epsilon: float, rng: np.random.Generator) -> Table:
    """Return the product of marginals, both asked of everybody at half of epsilon.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [d1, d2].
    epsilon : float
        Of both reports together.
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        float64 [d1, d2].
    """
    return np.outer(
        marginal(counts.sum(axis=1), epsilon / 2, rng),
        marginal(counts.sum(axis=0), epsilon / 2, rng),
    )


def box(
    counts: Counts, epsilon: float, rng: np.random.Generator, *, side: int, smoothed: bool
) -> Table:
    """Return the estimate of one square wave in two dimensions, by EM or EMS.

    The square wave of Li et al. (SIGMOD 2020) with a box in place of the window. EM stops where
    the log-likelihood gains less than 0.001 e^epsilon a round, EMS at 0.001, as in that paper. EMS
    takes averages with weights 1, 2, 1 along both axes.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [d1, d2].
    epsilon : float
    rng : numpy.random.Generator
    side : int
        Bins of the box on each axis.
    smoothed : bool
        EMS, not EM.

    Returns
    -------
    numpy.ndarray
        float64 [d1, d2].
    """
    domain = lw.Product(
        first=lw.Integers(0, counts.shape[0] - 1, outside="clip"),
        second=lw.Integers(0, counts.shape[1] - 1, outside="clip"),
    )
    wave = lw.randomizers.BoxWave(domain, epsilon, widths=(side, side))
    tally = lw.simulate(wave, counts.ravel(), rng=rng)
    decoder = lw.ExpectationMaximization(smoothed=smoothed, band=False)
    answer: Any = decoder.decode(wave.channel, tally)
    table: Table = answer.table
    return table


def divided(counts: Counts, number: int, rng: np.random.Generator) -> list[Counts]:
    """Divide people into groups of equal size but for one, whatever they hold.

    Parameters
    ----------
    counts : numpy.ndarray
        int64, of any shape.
    number : int
        Groups.
    rng : numpy.random.Generator

    Returns
    -------
    list of numpy.ndarray
        Counts of each group, of the same shape.
    """
    people, left, groups = int(counts.sum()), counts.ravel().copy(), []
    for group in range(number):
        size = people * (group + 1) // number - people * group // number
        drawn = rng.multivariate_hypergeometric(left, size, method="marginals")
        left -= drawn
        groups.append(drawn.reshape(counts.shape))
    return groups


def _grouped(counts: NDArray[Number], *starts: NDArray[np.int64]) -> NDArray[Number]:
    """Return sums of runs of cells that begin at these places of each axis."""
    for axis, places in enumerate(starts):
        counts = np.add.reduceat(counts, places, axis=axis)
    return counts


def _starts(size: int, sides: tuple[int, int]) -> list[NDArray[np.int64]]:
    """Return the first bin of each cell, along both axes."""
    return [np.arange(side) * size // side for side in sides]


def _cells_of(size: int, side: int) -> Table:
    """Return the 0/1 matrix of which cell of an axis holds a bin: [cells, bins]."""
    cells: Table = (np.arange(size) * side // size == np.arange(side)[:, None]).astype(np.float64)
    return cells


def _spread(
    shares: Table,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    shape: tuple[int, ...],
) -> Table:
    """Return the shares of cells when each share is spread evenly over its group of cells."""
    tall = np.diff(np.append(rows, shape[0]))
    wide = np.diff(np.append(columns, shape[1]))
    even = shares / np.outer(tall, wide)
    return np.repeat(np.repeat(even, tall, axis=0), wide, axis=1)


def on_simplex(shares: Table) -> Table:
    """Return the nearest shares that are not negative and have sum 1: Norm-Sub.

    Parameters
    ----------
    shares : numpy.ndarray
        float64, of any shape.

    Returns
    -------
    numpy.ndarray
        float64 of the same shape.
    """
    nearest: Table = simplex(shares.ravel()).reshape(shares.shape)
    return nearest


def marginal(counts: Counts, epsilon: float, rng: np.random.Generator) -> Table:
    """Return the estimate of one attribute by the library's default.

    Parameters
    ----------
    counts : numpy.ndarray
        int64 [bins].
    epsilon : float
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        float64 [bins].
    """
    wave = lw.MultiscaleWave(lw.Interval(0, 1, bins=counts.size, outside="clip"), epsilon)
    tally = lw.simulate(wave, counts, rng=rng)
    answer = SpectralPrior(band=False).decode(wave.channel, tally)
    assert isinstance(answer, lw.Distribution)
    mass: Table = answer.mass
    return mass
