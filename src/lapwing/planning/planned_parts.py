"""The parts of a multiscale wave for one column: those of the least predicted error.

The ladder suits smooth, rough and atomic columns at once, so each pays for the others: on a smooth
one a sixth of the people tell of fine bins where nothing is. Who knows a column like the one that
is asked for, or has the published answer of a first epoch, need not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.planning.curve_risk import CurveRisk
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Domain
from lapwing.randomizers.numerical.multiscale_wave import (
    MultiscaleWave,
    Wave,
    default_mixture,
    fitted,
)

SUBSETS = (0.25, 0.5, 1.0, 2.0)
"""Factors of the subsets' share."""

NARROW = (0.0, 1.0)
"""Factors of the narrowest wave's share."""

WIDTHS = (0.8, 1.0, 1.25)
"""Factors of the widths of all waves."""

GAIN = 0.03
"""What must be gained of both errors to leave the ladder: less is in doubt."""


def tables(epsilon: ExactNumber) -> Iterator[tuple[Wave, ...]]:
    """Yield the tables that are compared, the ladder first."""
    yield default_mixture(float(epsilon))
    for subsets, narrow, widths in product(SUBSETS, NARROW, WIDTHS):
        if (subsets, narrow, widths) != (1.0, 1.0, 1.0):
            yield bent(
                default_mixture(float(epsilon)), subsets=subsets, narrow=narrow, widths=widths
            )


def bent(
    table: Sequence[Wave], *, subsets: float, narrow: float, widths: float
) -> tuple[Wave, ...]:
    """Return a table with other shares and widths.

    Parameters
    ----------
    table : sequence of (kind, size, share)
    subsets : float
        Factor of the share of all subsets; waves get what is left.
    narrow : float
        Factor of the share of the narrowest wave among the waves.
    widths : float
        Factor of the waves' widths.
    """
    waves = [part for part in table if part[0] == "wave"]
    sets = [(kind, size, share * subsets) for kind, size, share in table if kind != "wave"]
    least = min(size for _, size, _ in waves)
    weighed = [
        (kind, round(size * widths, 3), share * (narrow if size == least else 1.0))
        for kind, size, share in waves
    ]
    left = 1 - math.fsum(share for _, _, share in sets)
    total = math.fsum(share for _, _, share in weighed)
    kept = [(kind, size, share * left / total) for kind, size, share in weighed if share > 0]
    return tuple((kind, size, round(share, 9)) for kind, size, share in [*kept, *sets])


@one_thread
def planned_parts(
    domain: Domain,
    mass: Vector,
    *,
    epsilon: ExactNumber,
    users: int,
    before: Sequence[tuple[Channel, int]] = (),
) -> tuple[Wave, ...]:
    """Return the parts of least predicted error on a column, for :class:`MultiscaleWave`.

    Parameters
    ----------
    domain : Domain
        Ordered, of at least 8 symbols.
    mass : numpy.ndarray
        float64 [domain.size], the column: a public one, or the published answer of a first epoch.
        The parts say something of it, so it must not be anybody's secret.
    epsilon : int, float, str or Fraction
        The promise of one report.
    users : int
        People who will report with these parts.
    before : sequence of (Channel, int)
        Channels through which others have reported, and how many: their reports and the new ones
        will be decoded together.

    Returns
    -------
    tuple of (kind, size, share)

    Cost
    ----
    0.6 s at 256 symbols and 1.5 s at 1024, of which 10 ms for each of 24 tables: they are compared
    on at most 256 blocks of symbols.

    Notes
    -----
    Least is the larger of two ratios to the ladder's, of the expected W1 and of the expected
    largest gap: neither is bought with the other. By their product, columns with many small spikes
    lost the subsets that find them, and some per cent of W1. No table has less than a quarter of
    the ladder's subsets of fine bins: what an estimate did not show may be there, and a column may
    change until the next epoch; they cost one to two per cent of the error where there is nothing.
    """
    risk = CurveRisk(domain, mass)
    known: dict[tuple[str, float], Matrix] = {}

    def one_report(table: Sequence[Wave]) -> Matrix:
        total: Matrix = np.zeros(())
        for kind, size, share in table:
            if (kind, size) not in known:
                alone = MultiscaleWave(domain, epsilon, components=[(kind, size, 1.0)])
                known[kind, size] = risk.information(alone.channel)
            total = total + share * known[kind, size]
        return total

    made = [fitted(table, domain.size) for table in tables(epsilon)]
    so_far = [people * risk.information(channel) for channel, people in before]
    seen = sum(so_far[1:], so_far[0]) if so_far else users * one_report(made[0])
    prior = risk.prior(seen)
    people = users + sum(number for _, number in before)

    def errors(table: Sequence[Wave]) -> tuple[float, float]:
        information = users * one_report(table) + (seen if so_far else 0.0)
        return risk.errors(information, prior, people=people)

    usual = errors(made[0])

    def cost(table: Sequence[Wave]) -> float:
        return max(one / other for one, other in zip(errors(table), usual, strict=True))

    best = min(made, key=cost)
    return best if cost(best) < 1 - GAIN else made[0]
