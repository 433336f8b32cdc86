"""Prefix sums by a square-root factorization: a default release of a distribution function.

Prefix sums treat all data alike. Smooth data lie near a few polynomials, so some of the budget can
be spent on their coefficients. That share of the budget depends on the amount of noise, never on
the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import From
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.function_families import legendre_tails
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.sums import UNIT, BlendedSums, SquareRootSums, coefficients
from lapwing.mechanisms.linear_mechanism import LinearMechanism, SegmentedStrategy, check_curve
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Kind, Sensitivity
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.release import Release

FUNCTIONS = 24
"""Number of polynomials. With twelve, smooth data gain nothing more and bumpy data lose."""

_SLOPE, _BETWEEN, _WIDEST = 1.5, 0.72, 1.535
"""Parameters of :func:`_noise_shape`, and the largest distance of two of its columns."""

_ROUGH = 2**8
"""Entries of the rows are multiples of this part of the unit."""
# Far coarser than what machines could differ by, and the rounded rows are the strategy.


@dataclass(frozen=True)
class BlendedStrategy:
    """The square root of the prefix sums with 24 smooth rows below, in whole numbers.

    bins: Number of present symbols, at least 64.
    size: Number of all symbols. A missing one counts as the upper end in the smooth rows.
    percent: Percent of the squared sensitivity that the smooth rows have, in 1..80.
    """

    bins: int
    size: int
    percent: int

    @property
    def rows(self) -> Whole:
        """The smooth rows: int64 [24, size]."""
        return _rows(self.bins, self.size, self.percent)

    @property
    def operator(self) -> BlendedSums:
        """The matrix in floating point."""
        return BlendedSums(self.rows.astype(np.float64))

    @property
    def largest(self) -> int:
        """The largest absolute value in the matrix."""
        return max(UNIT, int(np.abs(self.rows).max()))

    def answers(self, counts: Whole) -> Whole:
        """Return the exact answers: prefix sums first. O(size^2)."""
        sums = np.convolve(counts, coefficients(self.size))[: self.size]
        return np.concatenate([sums, self.rows @ counts])

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return the largest norms over all pairs of symbols, exactly. O(size^2)."""
        return _blended_sensitivity(self.bins, self.size, self.percent, neighbors)


@memoized(most=16)
def _rows(bins: int, size: int, percent: int) -> Whole:
    steps = legendre_tails(FUNCTIONS, (2 * np.arange(bins) + 1) / bins - 1)
    # What all symbols have in common tells nothing.
    shaped = _noise_shape() @ np.hstack([steps, np.zeros((FUNCTIONS, size - bins))])
    shaped -= (shaped.max(axis=1, keepdims=True) + shaped.min(axis=1, keepdims=True)) / 2
    apart = math.sqrt(_first_apart(size) * percent / (100 - percent)) / _WIDEST
    rows: Whole = np.rint(shaped * (apart / _ROUGH)).astype(np.int64) * _ROUGH
    rows.flags.writeable = False
    return rows


def _noise_shape() -> Matrix:
    """Return what the Legendre coefficients are multiplied by before noise is added: [24, 24].

    ``sqrt(1 + 1.5 i)`` on the diagonal and ``0.72 / |i - j|`` where i - j is even: the noise of
    least mean square in the curve (`PolynomialProjection`) within 2%. In closed form because a
    strategy must be the same on every machine, and a search would not be.
    """
    degree = np.arange(FUNCTIONS)
    lag = np.abs(degree[:, None] - degree)
    shape: Matrix = np.where(lag % 2 == 0, _BETWEEN / np.maximum(lag, 1), 0.0)
    shape[degree, degree] = np.sqrt(1 + _SLOPE * degree)
    return shape


def _first_apart(size: int) -> int:
    """Return the largest squared distance of two columns of the root: of the first from another."""
    f = coefficients(size)
    squares = np.cumsum(f * f)
    cross = np.correlate(f, f, "full")[size:]
    return int((squares[-1] + squares[-2::-1] - 2 * cross).max())


@memoized(most=16)
def _blended_sensitivity(bins: int, size: int, percent: int, neighbors: Neighbors) -> Sensitivity:
    # Whole numbers, whose sums of squares stay below 2^53. So floating point is exact.
    rows = _rows(bins, size, percent) / _ROUGH
    f = coefficients(size).astype(np.float64)
    sums, squares = np.cumsum(f), np.cumsum(f * f)[::-1]
    norms = _ROUGH**2 * (rows**2).sum(axis=0)
    if neighbors == "add-or-remove-one":
        alone = sums[::-1] + _ROUGH * np.abs(rows).sum(axis=0)
        return Sensitivity(int((squares + norms).max()), int(alone.max()))

    def telescoped(after: int) -> Vector:
        """Return the absolute distances of the root's columns after one from it, so many."""
        # f decreases: before the lag the change is f, after it negative, and sums telescope.
        apart: Vector = 2 * sums[:after] + sums[after - 1 :: -1] - sums[after]
        return apart

    def largest(after: int, of: NDArray[np.int64]) -> float:
        """Return the largest absolute distance of a column from some of the columns after it."""
        one = size - 1 - after
        moved = np.abs(rows[:, one + 1 + of] - rows[:, one, None]).sum(axis=0)
        return float((telescoped(after)[of] + _ROUGH * moved).max())

    # Of the first column all are computed. They bound what can be larger.
    squared, absolute = 0.0, largest(size - 1, np.arange(size - 1))
    products = np.zeros(size)
    for after in range(1, size):
        one = size - 1 - after
        # Columns one place further to the left have one more product in their sum.
        products[:after] += f[after] * f[after - 1 :: -1]
        apart = squares[one] + squares[one + 1 :] - 2 * products[:after]
        smooth = 2 * _ROUGH**2 * (rows[:, one] @ rows[:, one + 1 :])
        moved = norms[one] + norms[one + 1 :] - smooth
        squared = max(squared, float((apart + moved).max()))
        # An absolute sum of 24 numbers is at most the root of 24 times that of their squares.
        (near,) = np.nonzero(telescoped(after) + np.sqrt(FUNCTIONS * moved) > absolute)
        if near.size:
            absolute = max(absolute, largest(after, near))
    return Sensitivity(int(squared), int(absolute))


MOST_CELLS = 2**20
"""Most cells of a table by segment. The noise of each takes a microsecond."""

SMOOTH_RANGE = (64, 4096)
"""Range of the number of present symbols with which smooth rows are possible."""

MOST_SMOOTH = 80
"""Percent."""


@dataclass(frozen=True)
class SquareRootStrategy:
    """The square root of the prefix sums over the symbols of a domain, in whole numbers.

    size: Symbols, at least 2.
    """

    size: int

    @property
    def operator(self) -> SquareRootSums:
        """The matrix in floating point."""
        return SquareRootSums(self.size)

    @property
    def largest(self) -> int:
        """The first coefficient, which is the largest."""
        return UNIT

    def answers(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the exact answers, by a convolution of whole numbers. O(size^2)."""
        return np.convolve(counts, coefficients(self.size))[: self.size]

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return the exact sensitivity: of the first column, or of its difference from another."""
        return _sensitivity(self.size, neighbors)


@memoized(most=32)
def _sensitivity(size: int, neighbors: Neighbors) -> Sensitivity:
    f = coefficients(size)
    squares = np.cumsum(f * f)
    if neighbors == "add-or-remove-one":
        return Sensitivity(int(squares[-1]), int(f.sum()))
    # Moving a row from symbol i to i + u changes answer i + t by f_t - f_(t - u). Fewer answers
    # lie behind a later i, so i = 0 is the worst; the tests compare with all pairs.
    lags = np.arange(1, size)
    cross = np.correlate(f, f, "full")[size:]
    squared = squares[-1] + squares[size - 1 - lags] - 2 * cross
    # f decreases: before u the change is f, from u on it is negative, and sums telescope.
    sums = np.cumsum(f)
    absolute = sums[lags - 1] + sums[size - 1 - lags] - (sums[-1] - sums[lags - 1])
    return Sensitivity(int(squared.max()), int(absolute.max()))


@dataclass(frozen=True)
class PrefixSums(LinearMechanism):
    """Square-root factorization mechanism for prefix sums (Henzinger et al., 2023).

    It answers all prefix sums of the counts at once. It is a default release of a CDF if the
    privacy guarantee has a delta (:func:`lapwing.release` chooses).

    Parameters
    ----------
    noise : {"normal", "laplace", "discrete-normal"}, optional
        Kind of the noise. Default: Gaussian ("normal") if the privacy guarantee has a delta, mu or
        rho, and otherwise Laplace. "discrete-normal" is discrete Gaussian noise, drawn by OpenDP.
    smooth : int
        Percentage of the squared sensitivity, in 0..80, that is spent on the coefficients of the
        CDF in 24 polynomials. Default: 0. They help most for smooth data. The prefix sums get the
        rest. Needs 64 to 4096 present symbols. All sites whose releases are added must use the
        same number.

    Raises
    ------
    ArgumentError
        When a parameter is out of range.

    Notes
    -----
    **Privacy.** The exact counts h are multiplied by a fixed matrix A of whole numbers. Independent
    rounded Gaussian noise is added to every answer, or Laplace noise where delta is 0. One row
    moved from one symbol to another changes ``A h`` by a difference of two columns. The largest
    norm of such a difference is computed in whole numbers. A is rounded before that, so rounding
    costs no privacy. Smooth rows are further rows of A, and the largest norm includes them. The
    tests compare the norm with all pairs of symbols, and the noise with its exact distribution.

    **Accuracy.** At 1024 symbols the root mean square error of the prefix sums is 3.89 standard
    deviations of unit noise. It grows by about 0.3 each time the number of symbols doubles. It is
    5.3% above that of the best linear mechanism with Gaussian noise, where the best is known (64
    and 128 symbols). The error after decoding matters more. Smooth rows raise the error of
    unbiased sums and lower that of smooth estimates, and more so with more noise. They were
    measured at 256 symbols, on rough and smooth densities and with atoms. Spending half of the
    budget multiplies the root mean square error of the best linear answer by 0.90 at noise of 3.6%
    of the people. At noise of 0.004% of them, the factor is 0.97, and at worst 1.05.

    **Cost.** Time O(symbols^2) for the exact answers, with at most 2^14 bins. The release has one
    number for each symbol, and 24 more with smooth rows.

    The factorization is that of [1]_ and [2]_.

    References
    ----------
    .. [1] M. Henzinger, J. Upadhyay, S. Upadhyay, "Almost tight error bounds on differentially
       private continual counting", SODA, 2023. doi:10.1137/1.9781611977554.ch183
    .. [2] H. Fichtenberger, M. Henzinger, J. Upadhyay, "Constant matters: fine-grained error bound
       on differentially private continual observation", ICML, 2023.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 12, size=5000)
    >>> with lw.testing.reproducible(1):
    ...     published = lw.release(
    ...         ages, lw.Interval(0, 100, bins=64), neighbors="replace-one", epsilon=1,
    ...         delta="1e-6", mechanism=lw.mechanisms.PrefixSums(smooth=50))
    >>> round(published.distribution.quantile(0.5))
    40
    >>> print(published.guarantee)
    epsilon = 1, delta = 1e-06, neighbors replace-one, central model
    """

    noise: Kind | None = None
    smooth: Annotated[int, From(0, MOST_SMOOTH)] = field(default=0, metadata={"absent": 0})

    name: ClassVar[str] = "prefix-sums"

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError unless the domain has at least 2 symbols and at most 2^14 bins.

        Smooth rows need 64 to 4096 present symbols. In a table by segment these limits apply to
        each segment, and the table has at most 2^20 cells.

        Raises
        ------
        DomainError
            When the symbols have no order.
        """
        if isinstance(domain, Segmented):
            if domain.size > MOST_CELLS:
                raise ArgumentError(
                    f"prefix sums are released for at most {MOST_CELLS} cells of a table by "
                    f"segment, got {domain.size}. Use fewer bins or segments"
                )
            domain = domain.domain
        check_curve(domain, name=self.name)
        low, high = SMOOTH_RANGE
        if self.smooth and not low <= domain.left.size <= high:
            raise ArgumentError(
                "smooth", f"needs {low} to {high} symbols", str(domain.left.size), "Use smooth=0"
            )

    def strategy_for(
        self, domain: Domain, neighbors: Neighbors
    ) -> SquareRootStrategy | BlendedStrategy | SegmentedStrategy:
        """Return the strategy: the square root of the prefix sums, and smooth rows if requested.

        For a table by segment it is the strategy of each segment.
        """
        self.check(domain)
        if isinstance(domain, Segmented):
            each = self.strategy_for(domain.domain, "add-or-remove-one")
            return SegmentedStrategy(each, domain.segmentation.size)
        if self.smooth:
            return BlendedStrategy(domain.left.size, domain.size, self.smooth)
        return SquareRootStrategy(domain.size)

    def estimated_people(self, release: Release) -> int:
        """Return the estimated number of people: the last prefix sum."""
        domain, answers = release.domain, release.answers[None]
        if isinstance(domain, Segmented):
            answers = release.answers.reshape(domain.segmentation.size, -1)
            domain = domain.domain
        sums = answers[:, : domain.size].T / UNIT
        return round(float(SquareRootSums(domain.size).matmat(sums)[-1].sum()) / UNIT)
