"""Unbiased prefix sums from a linear release, and the exact covariance of their noise.

The counts of cells give a distribution function without a prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, required
from lapwing.docstrings import inherits
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Matrix, Vector, one_thread, read_only
from lapwing.linear.covariance import Covariance
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.operator import Operator, as_operator, dense
from lapwing.linear.operators.sums import (
    UNIT,
    BlendedSums,
    CellSums,
    NestedSums,
    NormalRoot,
    SquareRootSums,
)
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import MOST_TAILS, MOSTLY_ZERO, Uncertainty

DENSE = 2048
"""Most symbols of a release whose strategy is inverted as a matrix."""

_SEEN = 256
"""Of more sums than that, so many give the mean of :func:`spikes_of`."""


class PrefixRoot(Operator):
    """From unit noise in the answers of the square-root strategy to noise in the prefix sums."""

    def __init__(self, strategy: SquareRootSums) -> None:
        super().__init__(strategy.shape)
        self._strategy = strategy

    # Prefix sums times the inverse of the root is the root again, up to the rounding of its
    # entries to 2^-20.
    def _matmat(self, x: Matrix) -> Matrix:
        return self._strategy._matmat(x) / UNIT**2

    def _rmatmat(self, y: Matrix) -> Matrix:
        return self._strategy._rmatmat(y) / UNIT**2

    def squared_row_sums(self) -> Vector:
        """Return the sum of the squared entries of each row: float64 [rows]."""
        # Row k holds the first k + 1 coefficients of the first column.
        return np.cumsum(self.column(0) ** 2)

    @property
    def spikes(self) -> float:
        """See :func:`spikes_of`."""
        first = self.column(0)
        return float(np.mean(np.cumsum(first**4) / np.cumsum(first**2) ** 2))


@dataclass(frozen=True, eq=False)
class PrefixEstimate:
    """Prefix sums with normal errors of covariance ``variance (root root' - removed removed')``.

    sums: float64 [symbols], in people.
    root: Shape [symbols, answers].
    variance: Of the noise in each answer.
    exact_indices: The prefix sums whose values are known, in the order in which they came to be.
    """

    sums: Vector
    root: Operator
    variance: float
    exact_indices: tuple[int, ...] = ()

    @property
    def removed(self) -> Matrix:
        """Directions of the known values, which are removed: float64 [symbols, known]."""
        return removed_columns(self.root, self.exact_indices)

    def column(self, index: int) -> Vector:
        """Return one column of the covariance, in units of `variance`: float64 [symbols]."""
        return _column(self.root, self.exact_indices, index % self.sums.size)

    def condition(self, index: int, value: float) -> PrefixEstimate:
        """Return the estimate when one prefix sum is known."""
        column = self.column(index)
        sums: Vector = self.sums - (self.sums[index] - value) * column / column[index]
        sums[index] = value
        return PrefixEstimate(
            sums, self.root, self.variance, (*self.exact_indices, index % self.sums.size)
        )

    def deviation(self, index: int) -> float:
        """Return the standard deviation of one prefix sum."""
        return float(np.sqrt(max(self.variance * self.column(index)[index], 0.0)))


# What follows from the root alone is kept, because it is most of the work and the same for every
# release of one mechanism on one domain. The functions are pure, so threads may share them.
@memoized(most=8)
def _column(root: Operator, known: tuple[int, ...], index: int) -> Vector:
    """Return a column of the covariance of the prefix sums when some are known, read-only."""
    unit = np.zeros(root.shape[0])
    unit[index] = 1.0
    column = root.matvec(root.rmatvec(unit))
    removed = removed_columns(root, known)
    return read_only(column - removed @ removed[index])


@memoized(most=8)
def removed_columns(root: Operator, exact_indices: tuple[int, ...]) -> Matrix:
    """Return what known prefix sums take out of the covariance: float64 [symbols, known]."""
    if not exact_indices:
        return read_only(np.zeros((root.shape[0], 0)))
    *before, last = exact_indices
    column = _column(root, tuple(before), last)
    taken = (column / np.sqrt(column[last]))[:, None]
    return read_only(np.hstack([removed_columns(root, tuple(before)), taken]))


@memoized(most=4)
def spikes_of(root: Operator) -> float:
    """Return how far the errors of the sums rest on single answers, on average over the sums.

    The excess kurtosis of a sum in which independent answers have the weights a is that of one
    answer times ``sum(a^4) / sum(a^2)^2``. That factor is 1 for one answer, and 1 / m for m alike.
    """
    if isinstance(root, PrefixRoot):
        return root.spikes
    rows = root.shape[0]
    if rows > DENSE:
        units = np.zeros((rows, _SEEN))
        units[np.linspace(0, rows - 1, _SEEN).astype(np.int64), np.arange(_SEEN)] = 1.0
        squares = root.rmatmat(units).T ** 2
    else:
        squares = dense(root) ** 2
    return float(np.mean((squares**2).sum(axis=1) / np.maximum(squares.sum(axis=1), 1e-300) ** 2))


def noise_tails(release: Release) -> float:
    """Return the excess kurtosis of the noise in one answer, 0 for Gaussian.

    That of discrete Laplace noise of variance v is ``3 + 1 / v``: noise of less than a person is
    mostly zero, and then a person or more.
    """
    variances = [part.noise.variance for part in release.parts if part.noise.kind == "laplace"]
    return float(sum(3 * one**2 + one for one in variances) / release.variance**2)


def sums_tails(release: Release, spikes: Callable[[], float]) -> float:
    """Return the excess kurtosis of sums of answers, at most that of Laplace noise.

    spikes: Returns how far the sums rest on single answers, see :func:`spikes_of`. It is not called
        where the noise is Gaussian.
    """
    tails = noise_tails(release)
    return min(tails * spikes(), MOST_TAILS) if tails else 0.0


def in_whole_people(release: Release) -> bool:
    """Return whether errors are a few whole people, because the noise is mostly zero."""
    return release.variance < MOSTLY_ZERO


def prefix_estimate(channel: Channel, release: Release) -> PrefixEstimate:
    """Return the unbiased prefix sums of a release, before anything else is known.

    Raises UnsupportedChannelError when the channel is not one linear release, or cannot be
    inverted.
    """
    check_given(channel, release)
    block = channel.blocks[0]
    law = required(
        block.law if len(channel.blocks) == 1 else None,
        AdditiveNoise,
        "prefix sums are read from one linear release with added noise. Reports of a local "
        "randomizer are decoded by the spectral prior",
    )
    answers = release.blocks[0].astype(np.float64)
    size = channel.domain.size
    if isinstance(block.operator, SquareRootSums):
        sums = np.cumsum(block.operator.inverse(answers))
        return PrefixEstimate(sums, _square_root(size), law.variance)
    if isinstance(block.operator, BlendedSums | NestedSums):
        solved = block.operator.normal_solve(block.operator.rmatvec(answers))
        return PrefixEstimate(np.cumsum(solved), _normal(block.operator), law.variance)
    if channel.domain.inside_size > DENSE:
        raise UnsupportedChannelError(
            f"this strategy is inverted as a matrix, which is limited to {DENSE} bins, got "
            f"{size}. Use prefix-sums, or fewer bins"
        )
    matrix, root = _inverted(block.operator)
    return PrefixEstimate(matrix @ answers, root, law.variance)


@memoized(most=4)
def _square_root(size: int) -> PrefixRoot:
    return PrefixRoot(SquareRootSums(size))


@memoized(most=4)
def _normal(operator: BlendedSums | NestedSums) -> NormalRoot:
    return NormalRoot(operator)


@memoized(most=4)
def _inverted(operator: Operator) -> tuple[Matrix, Operator]:
    """Return the matrix from answers to prefix sums, also as an operator."""
    root = read_only(np.cumsum(_pseudo_inverse(operator), axis=0))
    return root, as_operator(root)


def _pseudo_inverse(operator: Operator) -> Matrix:
    matrix = dense(operator)
    try:
        factor = cho_factor(matrix.T @ matrix)
    except LinAlgError:
        raise UnsupportedChannelError(
            "this release does not determine every bin's share. Decode with the bins it asked for"
        ) from None
    inverse: Matrix = cho_solve(factor, matrix.T)
    return inverse


_NOTICED = 3.0
"""Standard deviations of noise below which a count of missing values is taken to be none."""


@dataclass(frozen=True)
class CellCounts(Declared):
    """Private histogram with negative counts set to zero (Tao and Sarwate, 2026).

    Negative counts become zero, and the rest is divided by its sum.

    Parameters
    ----------
    interpolate : bool
        True: a cell's share is spread evenly over its bins. False: all of it is put in the last
        one, which gives the step function of the paper. Default: True.

    See Also
    --------
    StepPursuit : Has no bias from negative counts.

    Notes
    -----
    **Privacy.** A decoder is post-processing of a release, so it costs no privacy.

    **Accuracy.** Setting negatives to zero adds about half the noise for every empty cell. With
    many more cells than the data fill, the tails of the distribution are too heavy. A count of
    missing values below 3 standard deviations of its noise is treated as zero. So the CDF ends at
    one when everybody has a value.

    For the same reason the band for the population does not compute the sampling variance from
    these shares. It uses the cumulative sums of the unbiased shares, made monotone. With 256 cells
    at epsilon 0.1, these shares overstate that variance by 20% on a Gaussian density. The
    distribution nearest to the unbiased shares overstates it by 12%.

    **Cost.** O(bins).

    The method is that of section II-B1 of [1]_.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional approximation methods for differentially private
       distribution estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> ages = list(range(20, 60)) * 500  # 52.5% of them at most 40
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=50, outside="clip"), neighbors="replace-one",
    ...     epsilon=1, mechanism=lw.mechanisms.HistogramQuery(25), rng=lw.seeded(1),
    ... )
    >>> release = published.release
    >>> round(float(lw.decoders.CellCounts().decode(release.channel, release).cdf(40)), 2)
    0.52
    """

    _: KW_ONLY
    interpolate: bool = True

    name: ClassVar[str] = "cell-counts"
    reads: ClassVar[Kind] = "release"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution, with the exact confidence band at the ends of cells.

        Raises
        ------
        UnsupportedChannelError
            When the release does not contain counts of cells.
        """
        check_given(channel, release)
        block = channel.blocks[0]
        refusal = "cell counts are read from a histogram query. Use step pursuit for other releases"
        operator = required(block.operator, CellSums, refusal)
        law = required(block.law, AdditiveNoise, refusal)
        kept = np.maximum(release.answers.astype(np.float64), 0.0)
        if channel.domain.missing_index is not None and kept[-1] < _NOTICED * math.sqrt(
            law.variance
        ):
            kept[-1] = 0.0
        if kept.sum() == 0:
            kept[:] = operator.lengths
            if channel.domain.missing_index is not None:
                kept[-1] = 0.0
        shares = kept / kept.sum()
        if self.interpolate:
            mass = operator.rmatvec(shares / operator.lengths)
        else:
            mass = np.zeros(operator.shape[1])
            mass[operator.starts + operator.lengths - 1] = shares
        people = release.total
        center = operator.rmatvec(release.answers / people / operator.lengths)
        # One column a cell: its error is spread as its count is.
        columns = operator.rmatmat(np.diag(1 / operator.lengths)) * np.sqrt(law.variance) / people
        if release.people is not None:
            # The sum of all counts is known, so what they miss it by is taken out of each.
            columns -= columns.mean(axis=1, keepdims=True)
            missed = (release.answers.sum() - people) / people / kept.size
            center = center - operator.rmatvec(missed / operator.lengths)
        noise = Covariance(np.zeros(center.size), columns, np.ones(columns.shape[1]))
        method = "exact noise of the counts, with even shares assumed within cells"
        uncertainty = Uncertainty(
            center,
            noise,
            np.zeros(center.size),
            _monotone(center),
            people,
            method,
            # The sums of 1, 2, ... cells: the sum of k answers has a k-th of an answer's tails.
            tails=sums_tails(release, lambda: float(np.mean(1 / np.arange(1, kept.size + 1)))),
        )
        provenance = decoder_document(self)
        return distribution_of(
            channel, release, mass, provenance=provenance, uncertainty=uncertainty
        )


def _monotone(center: Vector) -> Vector:
    """Return the distribution whose running sums are nearest to those of signed shares.

    Of float64 [symbols]. It is what the sampling of people is worked out at, and that depends on
    the running sums. Shares that are not negative one by one have the noise of empty cells as
    people, which flattens the sums.
    """
    from scipy.optimize import isotonic_regression  # slow to import

    heights = np.clip(isotonic_regression(np.cumsum(center)[:-1]).x, 0.0, 1.0)
    mass: Vector = np.diff(heights, prepend=0.0, append=1.0)
    return mass
