"""The spectral prior above 512 symbols: the whole prior on cells, split where atoms were found.

A prior of few columns comes first (`low_rank_prior.py`): its waves are an answer to begin with, and
its atoms say where a symbol or a small block stands out. Blocks of equal width are split there, and
on these cells the prior of all waves, spikes and steps is learned (`dense_model.py`), the
likelihood being that of the symbols, whose density follows that of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.decoders.empirical_bayes.cells import Cells
from lapwing.decoders.empirical_bayes.dense_model import WholeAnswer, one_pass, pilot_of
from lapwing.decoders.empirical_bayes.low_rank_model import Atoms
from lapwing.decoders.empirical_bayes.low_rank_prior import BLUR, LowRankAnswer, low_rank_answer
from lapwing.decoders.empirical_bayes.quadratic_likelihood import Evidence, Likelihood
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.linear.arrays import Vector, Whole
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally

BLOCKS = 384
"""Most blocks before any is split. Their width is a power of two, as that of atoms is."""

_SPLITS = 48
"""Most atoms that split a block, the surest first."""


@dataclass(frozen=True, eq=False)
class CellAnswer:
    """A decoded distribution of many symbols with what a band needs to know.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size], the distribution.
    whole : WholeAnswer
        Of the cells.
    cells : Cells
        As the last pilot was spread.
    pilot : numpy.ndarray
        float64 [size].
    likelihood : Likelihood
        Of the symbols, at the pilot.
    """

    mass: Vector
    whole: WholeAnswer
    cells: Cells
    pilot: Vector
    likelihood: Likelihood


def block_width(size: int) -> int:
    """Return the symbols of a block: the least power of two that leaves at most 384 of them.

    Examples
    --------
    >>> [block_width(size) for size in (513, 1024, 4096, 65536)]
    [2, 4, 16, 256]
    """
    width = 1
    while -(-size // width) > BLOCKS:
        width *= 2
    return width


def cell_answer(
    channel: Channel, tally: CountTally, scaled: ScaledBasis, *, passes: int
) -> CellAnswer:
    """Return the answer of the whole prior on cells.

    Parameters
    ----------
    channel : Channel
    tally : CountTally
    scaled : ScaledBasis
        The waves of the first answer, on the domain of the channel.
    passes : int
        Times the likelihood is linearized before cells are made, at least 1; once more on them.

    Notes
    -----
    O(size * cells) for each block, then O(cells^3), beside the first answer.
    """
    found = low_rank_answer(channel, tally, scaled, passes=passes)
    size = scaled.size
    width = block_width(size)
    cells = Cells.of(cell_starts(found, scaled, width), size)
    merged = scaled.merged(cells.start, width=width, blur=BLUR)
    extent = np.zeros(size)
    extent[scaled.joined] = scaled.width
    before = cells.total(found.mass)
    pilot = pilot_of(before, merged.uniform)
    cells = cells.following(pilot, extent, circular=scaled.circular)
    spread = cells.of_symbols(pilot)
    likelihood = Likelihood.of(channel, tally, spread)
    evidence = Evidence(*cells.quadratic(likelihood), pilot, tally.total)
    whole = one_pass(evidence, merged, before)
    spread_anew = cells.following(whole.mass, extent, circular=scaled.circular)
    mass = spread_anew.of_symbols(whole.mass)
    return CellAnswer(mass, whole, cells, spread, likelihood)


def cell_starts(found: LowRankAnswer, scaled: ScaledBasis, width: int) -> Whole:
    """Return where cells begin: int64 [cells].

    At multiples of the width, at the ends of the surest atoms of less than a block, and around
    what stands apart.
    """
    (places,) = np.nonzero(scaled.apart)
    atoms = _narrow(found, width)
    ends = [np.arange(0, scaled.size, width), places, places + 1, atoms.start, atoms.stop]
    start = np.unique(np.concatenate(ends))
    return start[start < scaled.size]


def _narrow(found: LowRankAnswer, width: int) -> Atoms:
    """Return the atoms of less than a block, the surest first."""
    atoms = found.model.atoms
    narrow = np.flatnonzero(atoms.stop - atoms.start < width)
    surest = narrow[np.argsort(-atoms.variance[narrow], kind="stable")]
    return atoms.kept(surest[:_SPLITS])
