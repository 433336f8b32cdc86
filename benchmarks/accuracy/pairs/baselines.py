"""Methods of other papers for pairs of ordered attributes, written from the papers.

Each takes how many people hold each cell, epsilon and a generator. It draws the reports of these
people with their exact joint distribution and returns its estimate of the shares of the cells.
The sizes of HDG and the threshold of AHEAD were compared with public programs of both; none of
their code is here.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior
from lapwing.linear.operators.separable import Separable
from lapwing.linear.projections import simplex

Counts = NDArray[np.int64]
Table = NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)

GRID_SIDES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
"""Sides of the grid that are tried, in cells."""

BOX_SIDES = {1.0: (32, 48), 2.0: (20, 32), 4.0: (8, 12, 20)}
"""Sides of the box that are tried, in 64ths of an axis, by epsilon."""

_CONSISTENCY_ROUNDS = 5
_UPDATE_ROUNDS = 100
_EM_ROUNDS = 10_000
_EM_CHECKED = 10


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
    fine, coarse = hdg_sides(int(counts.sum()), epsilon, size)
    groups = divided(counts, 3, rng)
    strips = [
        frequencies(_grouped(groups[0].sum(axis=1), np.arange(fine) * size // fine), epsilon, rng),
        frequencies(_grouped(groups[1].sum(axis=0), np.arange(fine) * size // fine), epsilon, rng),
    ]
    starts = np.arange(coarse) * size // coarse
    table = frequencies(_grouped(groups[2], starts, starts), epsilon, rng)
    table, strips = _consistent(table, strips)
    return _updated(table, strips, size, 1 / int(counts.sum()))


def hdg_sides(people: int, epsilon: float, size: int) -> tuple[int, int]:
    """Return HDG's cells of the fine and on each side of the coarse grid, for two attributes.

    Parameters
    ----------
    people : int
        In all three groups.
    epsilon : float
    size : int
        Bins of an axis, a power of two.

    Returns
    -------
    tuple of int
        Powers of two between 2 and `size`.
    """
    group, odds = people / 3, math.exp(epsilon)
    fine = (group * (odds - 1) ** 2 * 0.7**2 / (2 * odds)) ** (1 / 3)
    coarse = math.sqrt(2 * 0.03 * (odds - 1) * math.sqrt(group / odds))
    return max(_power_of_two(fine, size), _power_of_two(coarse, size)), _power_of_two(coarse, size)


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
    layers = counts.shape[0].bit_length() - 1
    groups = divided(counts, layers, rng)
    odds = math.exp(epsilon)
    threshold = math.sqrt(5 * 4 * odds / (counts.sum() / layers * (odds - 1) ** 2))
    # By depth: the estimate of each node, how often it was asked, and whether it has children.
    estimate = [np.zeros((2**depth, 2**depth)) for depth in range(layers + 1)]
    asked = [np.zeros((2**depth, 2**depth)) for depth in range(layers + 1)]
    split = [np.zeros((2**depth, 2**depth), dtype=bool) for depth in range(layers + 1)]
    exists = [np.zeros((2**depth, 2**depth), dtype=bool) for depth in range(layers + 1)]
    exists[0][:], estimate[0][:], asked[0][:] = True, 1.0, np.inf
    for depth, group in enumerate(groups):
        split[depth] = exists[depth] & ((estimate[depth] >= threshold) | (depth == 0))
        exists[depth + 1] = np.kron(split[depth], np.ones((2, 2), dtype=bool))
        leaves = [exists[one] & ~split[one] for one in range(depth + 2)]
        held = np.concatenate([_halved(group, one)[leaf] for one, leaf in enumerate(leaves)])
        found = on_simplex(frequencies(held, epsilon, rng))
        for one, leaf in enumerate(leaves):
            here, found = found[: leaf.sum()], found[leaf.sum() :]
            before = asked[one][leaf]
            estimate[one][leaf] = (before * estimate[one][leaf] + here) / (before + 1)
            asked[one][leaf] = before + 1
    return _settled(estimate, asked, split)


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
    the log-likelihood gains less than 0.001 e^epsilon a round, EMS at 0.001, as in that paper; it
    is looked at every ten rounds. EMS takes averages with weights 1, 2, 1 along both axes.

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
        first=lw.Integers(0, counts.shape[0] - 1), second=lw.Integers(0, counts.shape[1] - 1)
    )
    wave = lw.randomizers.BoxWave(domain, epsilon, widths=(side, side))
    (block,) = wave.channel.blocks
    (reports,) = lw.simulate(wave, counts.ravel(), rng=rng).blocks
    operator = block.operator
    assert isinstance(operator, Separable)
    rows, columns, base, slope = operator.first, operator.second, operator.outside, operator.slope
    seen = reports.reshape(rows.shape[0], columns.shape[0]).astype(np.float64)
    stop = 1e-3 if smoothed else 1e-3 * math.exp(epsilon)
    mass, before = np.full(counts.shape, 1 / counts.size), -math.inf
    for number in range(_EM_ROUNDS):
        mean = base + slope * (rows @ mass @ columns.T)
        if number % _EM_CHECKED == 0:
            likelihood = float((seen * np.log(mean)).sum())
            if likelihood - before < stop * _EM_CHECKED:
                break
            before = likelihood
        ratio = seen / mean
        mass = mass * (base * ratio.sum() + slope * (rows.T @ ratio @ columns)) / seen.sum()
        if smoothed:
            mass = _averaged(_averaged(mass).T).T
            mass /= mass.sum()
    return mass


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


def _power_of_two(number: float, most: int) -> int:
    """Return the nearest power of two, the smaller one on a tie, from 2 to `most`."""
    powers = 2 ** np.arange(1, most.bit_length())
    return int(powers[np.argmin(np.abs(powers - number))])


def _consistent(table: Table, strips: list[Table]) -> tuple[Table, list[Table]]:
    """Make three grids non-negative and consistent in turn, ending with non-negative ones.

    Of a run of coarse cells each grid has a sum; the sums are averaged with weights that are the
    reciprocals of the number of cells summed, and differences are divided among these cells.
    """
    coarse = table.shape[0]
    ratio = strips[0].size // coarse
    for _ in range(_CONSISTENCY_ROUNDS):
        table, strips = on_simplex(table), [on_simplex(strip) for strip in strips]
        for axis in (0, 1):
            own = strips[axis].reshape(coarse, ratio).sum(axis=1)
            both = table.sum(axis=1 - axis)
            mean = (own / ratio + both / coarse) / (1 / ratio + 1 / coarse)
            strips[axis] = strips[axis] + np.repeat((mean - own) / ratio, ratio)
            table = table + np.expand_dims((mean - both) / coarse, 1 - axis)
    return on_simplex(table), [on_simplex(strip) for strip in strips]


def _updated(table: Table, strips: list[Table], size: int, least: float) -> Table:
    """Return the response matrix: shares of cells that agree with all grids."""
    found = np.full((size, size), size**-2.0)
    starts = [np.arange(strip.size) * size // strip.size for strip in strips]
    coarse = np.arange(table.shape[0]) * size // table.shape[0]
    for _ in range(_UPDATE_ROUNDS):
        before = found
        for axis in (0, 1):
            sums = np.add.reduceat(found.sum(axis=1 - axis), starts[axis])
            factor = np.repeat(_ratio(strips[axis], sums), size // strips[axis].size)
            found = found * np.expand_dims(factor, 1 - axis)
        factor = _ratio(table, _grouped(found, coarse, coarse))
        found = found * np.kron(factor, np.ones((size // table.shape[0],) * 2))
        if np.abs(found - before).sum() < least:
            break
    shares: Table = found / found.sum()
    return shares


def _ratio(wanted: Table, sums: Table) -> Table:
    ratio: Table = np.divide(wanted, sums, out=np.ones_like(sums), where=sums > 0)
    return ratio


def _halved(counts: Counts, depth: int) -> Counts:
    """Return the counts of the nodes of a quadtree at a depth."""
    starts = np.arange(2**depth) * counts.shape[0] // 2**depth
    return _grouped(counts, starts, starts)


def _settled(estimate: list[Table], asked: list[Table], split: list[NDArray[np.bool_]]) -> Table:
    """Average parents with their children, then make children consistent, and spread leaves."""
    layers = len(estimate) - 1
    variance = [np.divide(1, one, out=np.full_like(one, np.inf), where=one > 0) for one in asked]
    for depth in range(layers - 1, -1, -1):
        parents = split[depth]
        below = _fours(estimate[depth + 1]).sum(axis=2)[parents]
        spread = _fours(variance[depth + 1]).sum(axis=2)[parents]
        weight = spread / (spread + variance[depth][parents])
        estimate[depth][parents] = weight * estimate[depth][parents] + (1 - weight) * below
        variance[depth][parents] = weight * variance[depth][parents]
    table = estimate[0]
    for depth in range(layers):
        children = np.repeat(np.repeat(table / 4, 2, axis=0), 2, axis=1)
        for row, column in np.argwhere(split[depth]):
            place = np.s_[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            own = estimate[depth + 1][place]
            shares = own.ravel() + (table[row, column] - own.sum()) / 4
            total = table[row, column]
            four = simplex(shares, total=total) if total > 0 else np.zeros(4)
            children[place] = four.reshape(2, 2)
        table = children
    return table


def _fours(nodes: Table) -> Table:
    """Return the four children of each parent along the last axis."""
    half = nodes.shape[0] // 2
    return nodes.reshape(half, 2, half, 2).transpose(0, 2, 1, 3).reshape(half, half, 4)


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


def _averaged(table: Table) -> Table:
    """Average each row with its neighbors, with weights 1, 2, 1; ends keep three quarters."""
    padded = np.vstack([table[:1], table, table[-1:]])
    averaged: Table = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return averaged
