"""The exact linear band: the unbiased estimate of a channel and its covariance.

The best linear unbiased estimate under the known total of one, and its exact covariance at a
plug-in distribution. Any decoder may take its band from here, because a band belongs to the channel
and the tally. The unbiased estimate carries its whole error, and a smoothed one does not. Of
Hadamard response one transform gives the estimate, and its exact variances.

Where reports say of every symbol whether they *support* it, no matrix is inverted. A report
supports the own symbol with probability p, every other with q. Then
``(support / n - q) / (p - q)`` is the share, without bias, and its variance is known for every
share. So a domain may be as large as memory allows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpocon

from lapwing.decoders.decoder import warn_when_weak
from lapwing.errors import TallyError, UnsupportedChannelError
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.hadamard import HadamardBlocks
from lapwing.linear.operators.operator import CompoundSymmetric, OwnColumns, Stacked, dense
from lapwing.linear.projections import simplex
from lapwing.linear.solvers import projected_gradient
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Block, Channel, check_given
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.uncertainty import UNKNOWN, Uncertainty

HADAMARD_METHOD = (
    "exact linear intervals: unbiased estimate with its exact variances at the decoded "
    "distribution. 'simultaneous' takes the shares as independent"
)

HADAMARD_WHOLE = 256
"""Symbols up to which a matrix is quick, and correlations are kept."""


def hadamard_operator(channel: Channel) -> HadamardBlocks | None:
    """Return the operator of a channel of one block of Hadamard codes, or None for others."""
    operator = channel.blocks[0].operator
    only = len(channel.blocks) == 1 and isinstance(operator, HadamardBlocks)
    return operator if only else None


def hadamard_suffices(channel: Channel) -> bool:
    """Return whether the transform is to stand for the matrix: for many labels without an order."""
    many = channel.domain.size > HADAMARD_WHOLE and not channel.domain.ordered
    return many and hadamard_operator(channel) is not None


def hadamard_estimate(
    channel: Channel, tally: CountTally, *, plug_in: Vector | None = None
) -> Uncertainty:
    """Return the unbiased estimate (its `center`) with exact variances, without correlations.

    channel: One multinomial block with a :class:`HadamardBlocks` operator.
    plug_in: float64 [size], a distribution at which variances are evaluated. Default: the
        projection of the estimate on the simplex.

    In each block the signed sum of the reports at the own column, over the operator's gain,
    estimates a share without bias. The number of reports in the block estimates the block's whole
    share far better than the sum of those estimates. So the difference is divided evenly. The block
    shares sum to one, and so does the estimate. With one block this is least squares with equal
    weights under the known total.

    A report at a row of the own block adds ``(H_v(row) + R(row) / s) / gain`` with
    ``R = 1 - sum of H_u`` over the s columns of the block, and one elsewhere adds nothing. The
    variance follows from the block's mean counts by three transforms. Shares v and u of a block are
    correlated in proportion to the share whose column is ``v xor u``. That is left out.

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
    return Uncertainty(center, noise, np.zeros(operator.size), mass, reports, HADAMARD_METHOD)


DENSE = 2048
"""Most symbols for which a channel is inverted as a matrix. Some channels need no matrix."""

METHOD = (
    "exact linear band: unbiased estimate with its exact covariance at the decoded distribution. "
    "Its measured coverage is in benchmarks/accuracy"
)


def linear_estimate(
    channel: Channel, tally: CountTally, *, plug_in: Vector | None = None
) -> Uncertainty:
    """Return the unbiased estimate (its `center`) with its error distribution.

    channel: At most 2048 symbols, or one block with a :class:`CompoundSymmetric` operator. Without
        an order and above 256 symbols, the block may have a :class:`HadamardBlocks` operator.
    plug_in: float64 [size], a distribution at which the covariance is evaluated. Default: least
        squares on the simplex.

    Raises UnsupportedChannelError when the channel is too large for a matrix, or cannot be
    inverted.
    Raises TallyError when it could be, but a group that is needed for it has no reports.

    With y the counts per report and W the inverse variances of the outputs under the uniform
    distribution, the estimate minimizes ``(y - M x)' W (y - M x)`` subject to ``sum(x) = 1``. The
    weights do not depend on the data, so the estimate is exactly linear and unbiased. About the
    respondents, its covariance is ``A C A' - D / n``, the noise without the sampling of people.
    Here A is the linear map, C the covariance of y, and ``D = diag(x) - x x'``.

    O(size^3) for a matrix (20 ms at 256 symbols, 0.7 s at 1024), O(size) without.
    """
    check_given(channel, tally)
    alone = len(channel.blocks) == 1 and channel.blocks[0].operator.compound is not None
    if alone or _asked_alike(channel):
        estimate = _of_parts(_parts(channel, tally), channel.domain.size, plug_in)
    elif hadamard_suffices(channel):
        estimate = hadamard_estimate(channel, tally, plug_in=plug_in)
    else:
        estimate = _matrix(channel, tally, plug_in)
    if not channel.domain.ordered:
        # Reports of labels that are seldom wrong move whole people from one label to another.
        return replace(estimate, whole=True)
    warn_when_weak(estimate, what="the exact 95% band", stacklevel=4)
    return estimate


def variance_of_noise(block: Block, reports: int) -> float:
    """Return what a release's noise adds to the variance of an output, counted per report."""
    # A report's own law spreads with the people; the noise of a release is added once.
    return block.law.variance / reports if isinstance(block.law, AdditiveNoise) else 0.0


def available_band(channel: Channel, tally: CountTally, plug_in: Vector) -> Uncertainty | None:
    """Return the exact linear band's error distribution, or None where the channel has none.

    A decoder that needs no inverse still answers then, with a result that has no band.
    """
    try:
        return linear_estimate(channel, tally, plug_in=plug_in)
    except (UnsupportedChannelError, TallyError):  # the second: a group has no reports
        return None


def _about_reporters(covariance: Covariance, mass: Vector, reports: int) -> Covariance:
    sampling = Covariance(mass, mass[:, None], np.array([-1.0]))
    return covariance + sampling.scaled(-1 / reports)


Part = tuple[Block, Vector | Whole, int]
"""A block, its counts and how many reports they are of."""


def _parts(channel: Channel, tally: CountTally) -> list[Part]:
    """Return the blocks that have reports."""
    every = zip(channel.blocks, tally.blocks, tally.reports, strict=True)
    return [part for part in every if part[2]]


@dataclass(frozen=True)
class _Compounds:
    """Estimates from blocks that have one value on the diagonal and one elsewhere, on their cells.

    size: Cells.
    parts: Blocks that have reports, and the inverse of each: followed by the shift that makes the
        total one, it is ``(I - J / size) / gap``.
    """

    size: int
    parts: list[tuple[Part, CompoundSymmetric]]

    @classmethod
    def of(cls, parts: list[Part]) -> _Compounds:
        size = parts[0][0].operator.on_cells.shape[1]
        inverses = []
        for block, _, _ in parts:
            own, other = block.operator.on_cells.compound or (1.0, 0.0)
            gap = own - other
            inverses.append(
                CompoundSymmetric(
                    size, diagonal=(1 - 1 / size) / gap, off_diagonal=-1 / (size * gap)
                )
            )
        return cls(size, list(zip(parts, inverses, strict=True)))

    @property
    def weights(self) -> Vector:
        """The weight of each, by its precision where all cells are alike."""
        if len(self.parts) == 1:
            return np.ones(1)
        precise = np.array([1 / one.variance().mean() for one in self._alike])
        weights: Vector = precise / precise.sum()
        return weights

    @property
    def _alike(self) -> list[Covariance]:
        uniform = np.full(self.size, 1 / self.size)
        return [
            self._through(part, inverse, part[0].law.covariance(part[0].operator.on_cells, uniform))
            for part, inverse in self.parts
        ]

    @property
    def center(self) -> Vector:
        """The shares of the cells: float64 [size]."""
        found = [inverse.matvec(counts / reports) for (_, counts, reports), inverse in self.parts]
        weighed: Vector = self.weights @ np.array(found) + 1 / self.size
        return weighed

    def covariance(self, mass: Vector) -> Covariance:
        """Return that of the center, with the sampling of people, at the masses of symbols."""
        found = [
            self._through(part, inverse, part[0].covariance(mass)).scaled(weight**2)
            for (part, inverse), weight in zip(self.parts, self.weights, strict=True)
        ]
        return functools.reduce(Covariance.__add__, found)

    @staticmethod
    def _through(part: Part, inverse: CompoundSymmetric, outputs: Covariance) -> Covariance:
        block, _, reports = part
        noisy = outputs.diagonal + variance_of_noise(block, reports)
        outputs = Covariance(noisy, outputs.factor, outputs.signs)
        return outputs.through(inverse).scaled(1 / reports)


def _asked_alike(channel: Channel) -> bool:
    """Return whether some people reported on a few labels, the same ones, and others on all."""
    operators = [block.operator for block in channel.blocks]
    own = {tuple(one.own.tolist()) for one in operators if isinstance(one, OwnColumns)}
    return len(own) == 1 and all(one.on_cells.compound is not None for one in operators)


def asked_noise(channel: Channel, mass: Vector, *, people: int) -> Covariance:
    """Return the covariance of the estimate about so many respondents with these shares.

    channel: Blocks of one value on the diagonal and one elsewhere, on all labels or on asked ones.
    """
    parts: list[Part] = [
        (block, np.zeros(block.operator.shape[0]), max(1, round(block.share * people)))
        for block in channel.blocks
    ]
    return _of_parts(parts, mass.size, mass).noise


def _of_parts(parts: list[Part], size: int, plug_in: Vector | None) -> Uncertainty:
    """Return the estimate where some of the people reported on a few labels and the rest together.

    Let x be the estimate of those who reported on all labels, C its covariance, y and E those of
    the cells, and S the sums over cells. Then ``x + C S' (S C S' + E)^+ (y - S x)`` has the least
    variance. C and E are those of :func:`guessed_shares`, because weights may not depend on the
    data. They are the same for all labels of a cell. Where nobody reported on all labels, those of
    the last cell share it evenly, and each has a variance of :data:`UNKNOWN`.

    O(size * cells).
    """
    asked = [part for part in parts if isinstance(part[0].operator, OwnColumns)]
    every = [part for part in parts if not isinstance(part[0].operator, OwnColumns)]
    people = sum(reports for *_, reports in parts)
    if not asked:
        whole = _Compounds.of(every)
        mass = simplex(whole.center) if plug_in is None else plug_in
        noise = _about_reporters(whole.covariance(mass), mass, people)
        return Uncertainty(whole.center, noise, np.zeros(size), mass, people, METHOD)
    cells = _Compounds.of(asked)
    sums = asked[0][0].operator
    members = sums.cell_totals(np.ones(size))
    if every:
        whole = _Compounds.of(every)
        center, guess = whole.center, guessed_shares(size, sums.own)
        gain = _gain(whole.covariance(guess), sums, cells.covariance(guess).dense())
    else:
        center, gain = np.full(size, 1 / size), np.diag(1 / members)
    center = center + (gain @ (cells.center - sums.cell_totals(center)))[sums.cell]
    mass = simplex(center) if plug_in is None else plug_in
    if every:
        covariance = whole.covariance(mass)
    else:
        unknown = np.where(sums.cell == cells.size - 1, UNKNOWN, 0.0)
        covariance = Covariance(unknown, np.zeros((size, 0)), np.zeros(0))
    noise = _corrected(covariance, sums, gain, cells.covariance(mass).dense())
    noise = _about_reporters(noise, mass, people)
    return Uncertainty(center, noise, np.zeros(size), mass, people, METHOD)


def _gain(found: Covariance, sums: OwnColumns, cells: Matrix) -> Matrix:
    """Return ``C S' (S C S' + E)^+`` by cells: labels of a cell are alike in C."""
    totals = sums.cell_totals(found.factor) * found.signs
    first = np.append(sums.own, np.argmax(sums.cell))  # the largest cell is the last
    ones = np.eye(first.size)
    own = found.diagonal[first][:, None] * ones + found.factor[first] @ totals.T
    whole = np.diag(sums.cell_totals(found.diagonal)) + sums.cell_totals(found.factor) @ totals.T
    gain: Matrix = own @ np.linalg.pinv(whole + cells, rcond=1e-10, hermitian=True)
    return gain


def _corrected(found: Covariance, sums: OwnColumns, gain: Matrix, cells: Matrix) -> Covariance:
    """Return the covariance of ``x + S' gain (y - S x)``, of x and of the cells y given."""
    spread = np.eye(gain.shape[0])[sums.cell]  # S'
    moved = found.diagonal[:, None] * (spread @ gain.T)
    inner = gain @ np.diag(sums.cell_totals(found.diagonal)) @ gain.T + gain @ cells @ gain.T
    values, vectors = np.linalg.eigh(inner)
    # a b' + b a' is half of the square of a + b less that of a - b, which are of one size here.
    scale = math.sqrt(max(float(np.abs(moved).max()), 1e-300))
    ups, downs = moved / scale + spread * scale, moved / scale - spread * scale
    factor = found.factor - spread @ (gain @ sums.cell_totals(found.factor))
    return Covariance(
        found.diagonal,
        np.hstack([factor, ups, downs, spread @ vectors]),
        np.concatenate(
            [found.signs, np.full(gain.shape[0], -0.5), np.full(gain.shape[0], 0.5), values]
        ),
    )


def _matrix(channel: Channel, tally: CountTally, plug_in: Vector | None) -> Uncertainty:
    size = channel.domain.size
    if channel.domain.inside_size > DENSE:
        raise UnsupportedChannelError(
            f"this channel is inverted as a matrix, which is limited to {DENSE} bins, got "
            f"{size}. Decode with fewer bins, or without a band"
        )
    uniform = np.full(size, 1 / size)
    parts = []
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        if reports:
            variance = block.covariance(uniform).variance() + variance_of_noise(block, reports)
            variance = np.maximum(variance, 1e-300)
            parts.append((block, counts, reports, dense(block.operator), reports / variance))
    normal = np.zeros((size, size))
    for _, _, _, matrix, weights in parts:
        normal += matrix.T @ (weights[:, None] * matrix)
    try:
        factor = _factorized(normal)
    except UnsupportedChannelError:
        _blame_silent_groups(tally)
        raise
    ones = cho_solve(factor, np.ones(size))
    total = ones.sum()

    def constrained(right: Vector) -> Vector:
        """Solve, then remove what changes the total."""
        solution: Vector = cho_solve(factor, right)
        solution -= np.multiply.outer(ones, solution.sum(axis=0) / total)
        return solution

    center = ones / total
    for _, counts, reports, matrix, weights in parts:
        center = center + constrained(matrix.T @ (weights * (counts / reports)))
    if plug_in is None:
        plug_in = _plug_in(channel, tally)
    covariance = np.zeros((size, size))
    for block, _, reports, matrix, weights in parts:
        inverse = constrained(matrix.T * weights)
        one = block.covariance(plug_in)
        spread = one.diagonal + variance_of_noise(block, reports)
        covariance += (inverse * spread) @ inverse.T / reports
        columns = inverse @ one.factor
        covariance += (columns * one.signs) @ columns.T / reports
    reports = tally.total
    covariance -= (np.diag(plug_in) - np.outer(plug_in, plug_in)) / reports
    if channel.domain.ordered:
        return Uncertainty.of_covariance(center, covariance, plug_in, reports, METHOD)
    values, vectors = np.linalg.eigh(covariance)
    noise = Covariance(np.zeros(size), vectors, np.maximum(values, 0.0))
    return Uncertainty(center, noise, np.zeros(size), plug_in, reports, METHOD)


def _factorized(normal: Vector) -> tuple[Vector, bool]:
    """Return the Cholesky factor of a matrix that can be inverted in float64."""
    try:
        factor, lower = cho_factor(normal)
    except LinAlgError:
        reciprocal = 0.0
    else:
        norm = float(np.abs(normal).sum(axis=0).max())
        reciprocal = float(dpocon(factor, norm, uplo="L" if lower else "U")[0])
    if reciprocal < 1e-14:
        raise UnsupportedChannelError(
            "this channel cannot be inverted, because different distributions give the same "
            "reports. Decode with fewer bins"
        )
    return factor, lower


def _blame_silent_groups(tally: CountTally) -> None:
    """Raise TallyError when groups have no reports: then more reports help, not fewer bins."""
    silent = [number for number, reports in enumerate(tally.reports) if reports == 0]
    if silent:
        listed = ", ".join(map(str, silent[:8])) + (", ..." if len(silent) > 8 else "")
        raise TallyError(
            f"for an unbiased estimate, each of the {len(tally.reports)} groups must have "
            f"reports, but group {listed} has none. Collect more reports, or use a decoder that "
            "needs no inverse"
        ) from None


def _plug_in(channel: Channel, tally: CountTally) -> Vector:
    """Return a rough distribution on the simplex, for variances only."""
    used = [
        (block.operator, counts / reports, reports)
        for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True)
        if reports
    ]
    size = channel.domain.size
    uniform = np.full(size, 1 / size)
    operator = Stacked([part[0] for part in used])
    weights = np.concatenate([np.full(part[1].size, float(part[2])) for part in used])
    weights /= np.maximum(operator.matvec(uniform), 1e-300)
    return projected_gradient(
        operator,
        np.concatenate([part[1] for part in used]),
        weights=weights / weights.max(),
        project=simplex,
        start=uniform,
        tolerance=1e-7,
        limit=500,
    ).point


Tails = Literal["normal", "laplace"]

GUESS = 0.1
"""The share of an asked label that weights are made for, because they may not follow from data."""


def guessed_shares(size: int, asked: Sequence[int] | Whole) -> Vector:
    """Return the shares that weights are made for: float64 [size]. Those not asked are equal."""
    one = min(GUESS, 1 / (len(asked) + 1))
    shares = np.full(size, (1 - len(asked) * one) / (size - len(asked)))
    shares[[*asked]] = one
    return shares


@dataclass(frozen=True, eq=False)
class UnbiasedShares:
    """Estimates of all shares, about the respondents.

    shares: Unbiased shares, float64 [size], which may be negative. Their sum is one only on
        average.
    empty: Variance of the estimate where the share is zero, float64 [size].
    slope: Variance that a share of one adds, the same for all that are not kept. It may be
        negative. float, or float64 [size].
    reports: Number of respondents.
    tails: {"normal", "laplace"}. Distribution of the errors.
    whole: Whether errors are whole people where they are a few. Default: False.
    own: Whether a share was asked on its own, so that no prior of the others moves it, bool
        [size]. Default: none was.
    """

    shares: Vector
    empty: Vector
    slope: float | Vector
    reports: int
    tails: Tails = "normal"
    whole: bool = False
    own: NDArray[np.bool_] | None = None

    def variance(self, mass: Vector) -> Vector:
        """Return the variances of the estimates when these are the shares: float64 [size]."""
        return np.maximum(self.empty + self.slope * mass, 1e-300)

    @property
    def common_slope(self) -> float:
        """The slope of those that are not kept."""
        slopes = np.broadcast_to(self.slope, self.shares.shape)
        return float(slopes[0 if self.own is None else int(np.argmin(self.own))])

    def with_total(self) -> UnbiasedShares:
        """Return the shares with the known total of one, where the noisiest are changed most.

        This removes about 1 / size of the variance, which is not counted here.
        """
        off = 1 - float(self.shares.sum())
        return replace(self, shares=self.shares + off * self.empty / self.empty.sum())

    @property
    def deviation(self) -> Vector:
        """Standard deviations of the estimates where the share is zero: float64 [size]."""
        return np.sqrt(self.empty)


def unbiased_shares(channel: Channel, tally: CountTally) -> UnbiasedShares:
    """Return the unbiased shares of a channel that supports categories, with their variances.

    channel: Distribution of a report for each value.
    tally: Counts of at least one report.

    Raises UnsupportedChannelError for any other block. It reads generalized randomized response,
    unary encoding, subset selection, Hadamard response and the support counts of local hashing.
    Some of the people may have reported on a few labels only.

    It takes O(size), and for Hadamard response O(size log size). The estimate is that of equations
    1 and 2 of [1]_.

    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    """
    check_given(channel, tally)
    there = [
        (block.operator, counts, reports)
        for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True)
        if reports
    ]
    whole = [each for each in there if not isinstance(each[0], OwnColumns)]
    read = [one.separate_shares(counts / reports, reports) for one, counts, reports in whole]
    known = [UnbiasedShares(*one, tally.total) for one in read if one is not None]
    if len(known) == len(read):
        size = channel.domain.size
        unknown = UnbiasedShares(np.full(size, 1 / size), np.full(size, UNKNOWN), 0.0, tally.total)
        found = _weighed(known) if known else unknown
        for operator, counts, reports in there:
            if isinstance(operator, OwnColumns):
                found = _with_asked(found, operator, counts / reports, reports, spread=not known)
        return found
    raise UnsupportedChannelError(
        "this decoder needs a channel that estimates the share of every symbol on its own. "
        "Examples are generalized response, unary encoding, subset selection, Hadamard "
        "response and local hashing. For this channel, use LeastSquares or "
        "ExpectationMaximization"
    )


def _weighed(known: list[UnbiasedShares]) -> UnbiasedShares:
    """Return the mean of estimates of different people, drawn alike, weighed by precision.

    The weights are those of a share of zero, because they may not follow from the estimates.
    """
    if len(known) == 1:
        return known[0]
    precisions = np.array([1 / one.empty.mean() for one in known])
    weights = precisions / precisions.sum()
    pairs = list(zip(weights, known, strict=True))
    shares: Vector = np.sum([weight * one.shares for weight, one in pairs], axis=0)
    empty: Vector = np.sum([weight**2 * one.empty for weight, one in pairs], axis=0)
    slope = sum(weight**2 * one.slope for weight, one in pairs)
    return UnbiasedShares(shares, empty, slope, known[0].reports)


def _with_asked(
    found: UnbiasedShares, operator: OwnColumns, rates: Vector, reports: int, *, spread: bool
) -> UnbiasedShares:
    """Return the shares with those that some people were asked for, weighed as above.

    spread: Whether nothing else is known of the others, which then have equal shares of the rest.
    """
    read = operator.inner.separate_shares(rates, reports)
    assert read is not None
    own = operator.own
    more, noise = read[0][:-1], read[1][:-1]
    shares, empty = found.shares.copy(), found.empty.copy()
    slope = np.array(np.broadcast_to(found.slope, shares.shape))
    kept = np.zeros(shares.size, dtype=bool) if found.own is None else found.own.copy()
    guess = guessed_shares(shares.size, own)[own]
    # Each share is of a part of the people, which varies from part to part.
    among = guess * (1 - guess) / reports
    before = empty[own] + slope[own] * guess + guess * (1 - guess) / max(found.reports - reports, 1)
    weight = before / (before + noise + read[2] * guess + among)
    shares[own] += weight * (more - shares[own])
    empty[own] = (1 - weight) ** 2 * empty[own] + weight**2 * noise
    slope[own] = (1 - weight) ** 2 * slope[own] + weight**2 * read[2]
    kept[own] = True
    if spread:
        shares[~kept] = (1 - shares[kept].sum()) / (~kept).sum()
    return replace(found, shares=shares, empty=empty, slope=slope, own=kept)
