"""Grids of one and of two attributes, made to agree: HDG, and grids of one size."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of
from lapwing.decoders.empirical_bayes.separable_model import separable_parts
from lapwing.docstrings import inherits
from lapwing.errors import UnsupportedChannelError, WeakAnswerWarning
from lapwing.linear.arrays import Matrix, Vector, one_thread
from lapwing.linear.projections import simplex
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution

CONSISTENCY_ROUNDS = 5
"""Times the grids are made non-negative and consistent in turn."""

UPDATE_ROUNDS = 100
"""Times the weighted update visits all grids, at most."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Shares of the cells of a grid over two axes.

    first, second: Zeros and ones, [cells along the axis, symbols]: which cell holds a symbol.
    shares: float64 [cells along the first axis, along the second].
    """

    first: Matrix
    second: Matrix
    shares: Matrix

    def divides(self, axis: int) -> bool:
        """Return whether the grid has more than one cell along an axis."""
        return bool(self.shares.shape[axis] > 1)

    def sums(self, table: Matrix) -> Matrix:
        """Return the sums of a table of symbols over the cells."""
        return self.first @ table @ self.second.T

    def spread(self, cells: Matrix) -> Matrix:
        """Return for each pair of symbols the number of its cell."""
        return self.first.T @ cells @ self.second

    def projected(self) -> Grid:
        """Return the grid with the nearest shares that are not negative and sum to one."""
        return replace(self, shares=simplex(self.shares.ravel()).reshape(self.shares.shape))


def consistent(grids: Sequence[Grid]) -> list[Grid]:
    """Return the grids, made nonnegative and approximately consistent in each attribute.

    Of each run of cells that all grids of an attribute can add up, they take one average. A sum of
    k cells has k times the variance of a cell, so it has the weight 1 / k. Differences are divided
    evenly among the cells.

    Raises UnsupportedChannelError when the cells of one grid along an axis do not divide those of a
    coarser one.
    """
    found = list(grids)
    runs = [_runs(found, axis) for axis in (0, 1)]
    for _ in range(CONSISTENCY_ROUNDS):
        found = [grid.projected() for grid in found]
        for axis, members in enumerate(runs):
            if len(members) < 2:
                continue
            sums = {one: run @ found[one].shares.sum(axis=1 - axis) for one, run in members.items()}
            added = {
                one: run.sum(axis=1) * found[one].shares.shape[1 - axis]
                for one, run in members.items()
            }
            weight = sum(1 / added[one] for one in members)
            mean = sum(sums[one] / added[one] for one in members) / weight
            for one, run in members.items():
                change = run.T @ ((mean - sums[one]) / added[one])
                shares = found[one].shares + np.expand_dims(change, 1 - axis)
                found[one] = replace(found[one], shares=shares)
    return [grid.projected() for grid in found]


def _runs(grids: Sequence[Grid], axis: int) -> dict[int, Matrix]:
    """Return for each grid that divides an axis which of its cells are in a run: 0 and 1."""
    sides = {
        one: (grid.first, grid.second)[axis] for one, grid in enumerate(grids) if grid.divides(axis)
    }
    if not sides:
        return {}
    coarsest = min(sides.values(), key=len)
    # A cell that is in two runs shares symbols with both.
    runs = {one: (coarsest @ side.T > 0).astype(np.float64) for one, side in sides.items()}
    if any((run.sum(axis=0) != 1).any() for run in runs.values()):
        raise UnsupportedChannelError(
            "the cells of a fine grid must divide those of a coarse one. Use block sizes that "
            "are multiples of each other, such as 2 and 8"
        )
    return runs


def updated(grids: Sequence[Grid], *, least: float) -> Matrix:
    """Return the table that agrees with all grids, by the weighted update from a uniform one.

    grids: With shares that are not negative.
    least: It stops when the table changes by less, summed over the cells.
    returns: Shares of pairs of symbols.

    Each grid in turn scales the table to its own shares. Of a single grid this spreads people
    evenly in each cell. Of a grid of each attribute it is the product of both.
    """
    shape = (grids[0].first.shape[1], grids[0].second.shape[1])
    table = np.full(shape, 1 / (shape[0] * shape[1]))
    for _ in range(UPDATE_ROUNDS):
        before = table
        for grid in grids:
            sums = grid.sums(table)
            ratio = np.divide(grid.shares, sums, out=np.ones_like(sums), where=sums > 0)
            table = table * grid.spread(ratio)
        if np.abs(table - before).sum() < least:
            break
    shares: Matrix = table / table.sum()
    return shares


@dataclass(frozen=True)
class HybridGrids(Declared):
    """Hybrid-dimensional grids: HDG (Yang et al., 2020).

    It reads shares of grid cells: of each attribute alone, of both, or of only some of these. The
    grids are made non-negative and consistent in turn. A table that agrees with all of them is
    found by scaling a uniform one to each in turn. For a single grid it is that grid, projected to
    a distribution, with people spread evenly in each cell.

    See Also
    --------
    LogDensityPrior : The recommended decoder for pairs.
    lapwing.randomizers.MultiscaleBoxes.hybrid_grids : The paper's reports.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** See the benchmark page on pairs. There is no interval.

    **Cost.** At most 100 products with the matrices of each grid: a few milliseconds for 64 x 64
    cells.

    The method is that of [1]_ for two attributes. It differs in two ways. Public randomness draws
    the groups, so they are not of equal size. Cells are reported by subset selection, whose
    variance is not larger than that of the paper's local hashing. The paper's TDG is this decoder
    on a grid of both attributes alone.

    References
    ----------
    .. [1] J. Yang, T. Wang, N. Li, X. Cheng, S. Su, "Answering multi-dimensional range queries
       under local differential privacy", PVLDB 14(3), 2020. arXiv:2009.06538

    Examples
    --------
    >>> import lapwing as lw
    >>> pairs = lw.Product(x=lw.Integers(0, 15), y=lw.Integers(0, 15))
    >>> grids = lw.randomizers.MultiscaleBoxes.hybrid_grids(pairs, epsilon=4, users=10_000)
    >>> survey = lw.Survey("pairs", grids)
    >>> values = [(3, 4)] * 4000 + [(12, 10)] * 6000
    >>> tally = survey.tally(survey.randomize(values, rng=lw.seeded(1)))
    >>> joint = survey.decode(tally, decoder=lw.papers.baselines.HybridGrids())
    >>> round(joint.probability(x=(8, 15), y=(8, 15)), 1)
    0.6
    """

    name: ClassVar[str] = "hybrid-grids"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the joint distribution that agrees with all grids.

        Returns
        -------
        JointDistribution
            Estimate, without intervals.

        Raises
        ------
        UnsupportedChannelError
            When the reports are not about blocks of cells, or the blocks of one grid do not divide
            those of a coarser one.

        Warns
        -----
        WeakAnswerWarning
            When a grid has no reports. Only the others are then used.
        """
        check_given(channel, tally)
        parts = separable_parts(channel, tally)
        if len(parts) < len(channel.blocks):
            warnings.warn(
                f"{len(channel.blocks) - len(parts)} of the {len(channel.blocks)} grids have no "
                "reports, so only the others are used. Collect more reports",
                WeakAnswerWarning,
                stacklevel=2,
            )
        grids = []
        for part in parts:
            if any((side.sum(axis=0) != 1).any() for side in (part.first, part.second)):
                raise UnsupportedChannelError(
                    "hybrid grids decode reports about blocks of cells, but these are about "
                    "overlapping boxes. Use LogDensityPrior"
                )
            shares = (part.counts / part.reports - part.base) / part.slope
            grids.append(Grid(part.first, part.second, shares))
        table: Vector = updated(consistent(grids), least=1 / tally.total).ravel()
        return distribution_of(channel, tally, table, provenance=decoder_document(self))
