"""The unbiased estimate of Hadamard response, by one transform, and its exact variances."""

from __future__ import annotations

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.hadamard_blocks import HadamardBlocks
from lapwing.linear.projections import simplex
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.uncertainty import Uncertainty

METHOD = (
    "exact linear intervals: unbiased estimate with its exact variances at the decoded "
    "distribution; 'simultaneous' takes the shares as independent"
)

WHOLE = 256
"""Symbols up to which a matrix is quick, and correlations are kept."""


def hadamard_operator(channel: Channel) -> HadamardBlocks | None:
    """Return the operator of a channel of one block of Hadamard codes, or None for others."""
    operator = channel.blocks[0].operator
    only = len(channel.blocks) == 1 and isinstance(operator, HadamardBlocks)
    return operator if only else None


def hadamard_suffices(channel: Channel) -> bool:
    """Return whether the transform is to stand for the matrix: for many labels without an order."""
    many = channel.domain.size > WHOLE and not channel.domain.ordered
    return many and hadamard_operator(channel) is not None


def hadamard_estimate(
    channel: Channel, tally: CountTally, *, plug_in: Vector | None = None
) -> Uncertainty:
    """Return the unbiased estimate (its `center`) with exact variances, without correlations.

    Parameters
    ----------
    channel : Channel
        One multinomial block with a :class:`HadamardBlocks` operator.
    tally : CountTally
    plug_in : numpy.ndarray, optional
        float64 [size], a distribution at which variances are evaluated. Default: the projection
        of the estimate on the simplex.

    Notes
    -----
    In each block the signed sum of the reports at the own column, over the operator's gain,
    estimates a share without bias; the number of reports in the block estimates the block's whole
    share far better than the sum of those estimates does, so what it says is dealt out evenly.
    The block shares sum to one, and so does the estimate. With one block this is least squares
    with equal weights under the known total.

    A report at a row of the own block adds ``(H_v(row) + R(row) / s) / gain`` with
    ``R = 1 - sum of H_u`` over the s columns of the block, one elsewhere nothing: the variance
    follows from the block's mean counts by three transforms. Shares v and u of a block are
    correlated in proportion to the share whose column is ``v xor u``; that is left out.

    O(size log size).
    """
    check_given(channel, tally)
    operator = hadamard_operator(channel)
    assert operator is not None
    reports = tally.reports[0]
    columns = np.arange(operator.size) // operator.blocks + 1
    blocks = np.arange(operator.size) % operator.blocks
    members = np.bincount(blocks, minlength=operator.blocks)
    held = np.maximum(members, 1)

    def estimate(rates: Vector) -> Vector:
        signed = operator.signs(rates) / operator.gain
        own = operator.of_inputs(signed)
        # The reports of a block that are there by chance: its share of the floor.
        whole = signed[0] - operator.outside * operator.length / operator.gain
        missing = whole - np.bincount(blocks, weights=own, minlength=operator.blocks)
        spread: Vector = own + (missing / held)[blocks]
        return spread

    center = estimate(tally.blocks[0] / reports)
    mass = simplex(center) if plug_in is None else plug_in

    taken = np.zeros((operator.length, operator.blocks))
    taken[columns, blocks] = 1.0
    # R by row: float64 [outputs], one minus the row's signs of all columns that are taken.
    rest = 1 - operator.signs(taken.T.reshape(-1)).T.reshape(-1)
    mean = operator.matvec(mass)
    own = np.broadcast_to(operator.signs(mean)[0], taken.shape)
    cross = operator.signs(mean * rest)
    squares = np.broadcast_to(operator.signs(mean * rest**2)[0], taken.shape)
    second = own + 2 * cross / held + squares / held**2
    # The floor is subtracted as a constant, so the mean contribution is the share and the floor.
    floor = operator.outside * operator.length / operator.gain / held
    contribution = mass + floor[blocks]
    variance = operator.of_inputs(second) / operator.gain**2 - contribution**2
    variance = (variance - mass * (1 - mass)) / reports
    empty = np.zeros((operator.size, 0))
    noise = Covariance(np.maximum(variance, 0.0), empty, np.zeros(0))
    return Uncertainty(center, noise, np.zeros(operator.size), mass, reports, METHOD)
