"""Honest bands of large domains: the widened posterior of a few hundred cells, carried back.

After the last pass on cells (`coarse_model.py`), whose prior is widened as that of a small domain.
What the density within a cell may be off by is added: the floor that `widened_band.py` gives to
single bins, less what the reports say about it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lapwing.decoders.empirical_bayes.cells import Cells
from lapwing.decoders.empirical_bayes.coarse_model import CellAnswer
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.empirical_bayes.widened_band import (
    METHOD,
    WidenedPosterior,
    always_allowed,
    widened_posteriors,
)
from lapwing.decoders.unbiased.linear_estimate import RANK, triangular
from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import as_stored
from lapwing.linear.operators.sums import running_sums
from lapwing.results.spread_law import Spread, SpreadLaw
from lapwing.results.uncertainty import Uncertainty, Variants

_FREE = 256
"""Bins of the floor: each may differ from its neighbors by as much as it holds itself."""


def cell_band(answer: CellAnswer, scaled: ScaledBasis, reports: int) -> Uncertainty:
    """Return the error law of a large domain, from the widened posterior of its cells.

    Parameters
    ----------
    answer : CellAnswer
    scaled : ScaledBasis
        Of the symbols.
    reports : int

    Notes
    -----
    Of the columns 128 are kept: standard deviations of ranges are at most 3 % too small, and for
    1 in 100 ranges, those of about one cell, 10 % and more too large. O(cells^3).
    """
    cells = answer.cells
    waves, local = always_allowed(answer.mass, scaled)
    waves, single = cells.total(waves), cells.total(local) / _FREE
    inner = cells.inner_information(answer.likelihood)
    floor = waves @ waves.T + np.diag(single)
    laws = {}
    for one in widened_posteriors(answer.whole.evidence, answer.whole.prior, floor):
        # How a cell's mass is spread is a bridge between its ends.
        bridge = 1 / (1 / (one.floor * single) + inner)
        law, remainder = carried_back(one, cells, bridge)
        laws[one.name] = Uncertainty.spread(law, remainder, answer.pilot, reports, METHOD)
    return replace(laws.pop("empirical_pointwise"), variants=Variants(**laws))


def carried_back(one: WidenedPosterior, cells: Cells, bridge: Vector) -> tuple[SpreadLaw, Vector]:
    """Return center and noise of the cells, spread over the symbols, and what is left of the sums.

    Parameters
    ----------
    one : WidenedPosterior
    cells : Cells
    bridge : numpy.ndarray
        float64 [cells]: variance of the mass that moves between the halves of a cell.
    """
    sums = running_sums(running_sums(one.covariance).T)
    heights = np.diff(triangular((sums + sums.T) / 2, limit=RANK), axis=0, prepend=0.0)
    law = SpreadLaw(Spread(cells.start, cells.share), one.center, as_stored(heights))
    factor = law.spread.over_symbols(law.factor)
    explained = (running_sums(factor) ** 2).sum(axis=1)
    # Of the sum at a place within a cell, by the sums at both of its ends.
    along = cells.along()
    right = np.diag(sums)[cells.cell]
    left = np.append(0.0, np.diag(sums))[cells.cell]
    both = np.append(0.0, np.diag(sums, -1))[cells.cell]
    variance = (1 - along) ** 2 * left + along**2 * right + 2 * along * (1 - along) * both
    variance += bridge[cells.cell] * along * (1 - along)
    return law, as_stored(np.maximum(variance - explained, 0.0))
