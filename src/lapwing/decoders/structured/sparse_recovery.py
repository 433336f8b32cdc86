"""Sparse recovery: a few frequent categories explain the counts, and the rest is not estimated.

:class:`CompressiveEstimate` is Algorithm 1 of compressive privatization as printed, for
comparison.

Two algorithms find sparse vectors. Orthogonal matching pursuit takes the best column, fits all
taken ones, and repeats. Basis pursuit finds the shortest vector in the sum of absolute values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing.declared import AtLeastOne, Between, Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, required
from lapwing.decoders.unbiased.linear_estimate import available_band, variance_of_noise
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, ConvergenceWarning, UnsupportedChannelError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.operators.operator import Whitened, as_operator
from lapwing.linear.operators.random_signs import SignColumns, unpacked
from lapwing.linear.projections import clipped, simplex
from lapwing.linear.solvers import Solution, largest_eigenvalue, projected_gradient
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution

_DEPENDENT = 1e-10
"""Square of the part of a column outside the span of the others below which it adds nothing."""


@dataclass(frozen=True, eq=False)
class Pursuit:
    """Where a pursuit ended.

    support: int64 [taken], columns in the order in which they were taken.
    values: float64 [taken], their coefficients.
    triangle, right: Lower triangle L and vector b with ``|B_S x - target|^2 = |L' x - b|^2 +
        constant``.
    exhausted: Whether it ended because nothing was left to take, and not at its limit.
    """

    support: NDArray[np.int64]
    values: Vector
    triangle: Vector
    right: Vector
    exhausted: bool

    def on_simplex(self) -> Vector:
        """Return the best coefficients that are not negative and sum to one: float64 [taken]."""
        from scipy.sparse.linalg import aslinearoperator

        size = self.support.size
        if size < 2:
            return np.ones(size)
        return projected_gradient(
            aslinearoperator(self.triangle.T),
            self.right,
            weights=np.ones(size),
            project=simplex,
            start=simplex(self.values),
            tolerance=1e-12,
        ).point


def matching_pursuit(
    operator: LinearOperator,
    target: Vector,
    *,
    norms: Vector,
    most: int,
    threshold: float = 0.0,
    nonnegative: bool = True,
) -> Pursuit:
    """Return a sparse x for which ``operator x`` is near the target.

    operator: Shape [rows, columns].
    target: float64 [rows].
    norms: float64 [columns], lengths of the columns of the operator. Columns of length 0 are left
        out.
    most: Largest number of columns to take, at least 1.
    threshold: Stop when no column correlates with the residual by more than this, in units of the
        target for a column of length 1.
    nonnegative: Take only columns that correlate positively, and fit coefficients that are not
        negative.

    The method is that of [1]_, and of [2]_ for the non-negative form.

    **Cost.** Two products with the operator for each column taken, or one if it knows its columns.
    The least squares are kept as a Cholesky factor that grows by a row, O(rows taken + taken^2) a
    step.

    .. [1] J. A. Tropp, "Greed is good: algorithmic results for sparse approximation", IEEE
       Transactions on Information Theory, 2004. doi:10.1109/TIT.2004.834793
    .. [2] A. M. Bruckstein, M. Elad, M. Zibulevsky, "On the uniqueness of nonnegative sparse
       solutions to underdetermined systems of equations", IEEE Transactions on Information Theory,
       2008. doi:10.1109/TIT.2008.929920
    """
    operator = as_operator(operator)
    rows = operator.shape[0]
    available = norms > 1e-12 * norms.max(initial=0.0)
    inverse = np.where(available, 1 / np.where(available, norms, 1.0), 0.0)
    taken: list[int] = []
    columns = np.empty((rows, 16))
    triangle, right = np.zeros((16, 16)), np.zeros(16)
    values = np.zeros(0)
    residual = target
    exhausted = False
    while len(taken) < most:
        correlation = operator.rmatvec(residual) * inverse
        if not nonnegative:
            np.abs(correlation, out=correlation)
        correlation[~available] = -np.inf
        best = int(np.argmax(correlation))
        if not correlation[best] > threshold:
            exhausted = True
            break
        available[best] = False
        column = operator.column(best)
        size = len(taken)
        if size == columns.shape[1]:
            columns = np.hstack([columns, np.empty_like(columns)])
            triangle = np.pad(triangle, (0, size))
            right = np.pad(right, (0, size))
        inner = columns[:, :size].T @ column
        row = _solved(triangle[:size, :size], inner)
        rest = float(column @ column - row @ row)
        if rest <= _DEPENDENT * float(column @ column):
            continue
        columns[:, size] = column
        triangle[size, :size], triangle[size, size] = row, np.sqrt(rest)
        right[size] = (float(column @ target) - row @ right[:size]) / triangle[size, size]
        taken.append(best)
        size += 1
        values = _fitted(triangle[:size, :size], right[:size], nonnegative=nonnegative)
        residual = target - columns[:, :size] @ values
    size = len(taken)
    return Pursuit(
        np.array(taken, dtype=np.int64),
        values,
        triangle[:size, :size].copy(),
        right[:size].copy(),
        exhausted,
    )


def _solved(triangle: Vector, vector: Vector) -> Vector:
    if vector.size == 0:
        return vector
    solution: Vector = solve_triangular(triangle, vector, lower=True, check_finite=False)
    return solution


def _fitted(triangle: Vector, right: Vector, *, nonnegative: bool) -> Vector:
    values: Vector = solve_triangular(triangle, right, lower=True, trans="T", check_finite=False)
    if not nonnegative or values.min() >= 0:
        return values
    from scipy.optimize import nnls  # not needed to import lapwing

    values = nnls(triangle.T, right)[0]
    return values


def l1_ball(point: Vector, radius: float) -> Vector:
    """Return the nearest vector whose absolute values sum to at most a radius.

    point: float64 [size].
    radius: Not negative.

    >>> l1_ball(np.array([3.0, -1.0, 0.5]), 2.0).tolist()
    [2.0, 0.0, 0.0]
    """
    sizes = np.abs(point)
    if sizes.sum() <= radius:
        return point
    if radius == 0:
        return np.zeros_like(point)
    return np.sign(point) * simplex(sizes, total=radius)


def positive_ball(point: Vector, radius: float) -> Vector:
    """Return the nearest vector without negative entries whose sum is at most a radius."""
    return l1_ball(np.maximum(point, 0.0), radius)


def basis_pursuit(
    operator: LinearOperator,
    target: Vector,
    *,
    noise: float,
    nonnegative: bool = False,
    tolerance: float = 1e-6,
    limit: int = 20_000,
) -> Solution:
    """Minimize ``sum |x|`` subject to ``|operator x - target| <= noise``.

    operator: Shape [rows, size].
    target: float64 [rows].
    noise: Euclidean length of the noise, at least 0.
    nonnegative: Also subject to ``x >= 0``.
    tolerance: How much longer than `noise` the residual may be, as a part of the target's length.
    limit: Largest number of gradient steps together.

    The least residual within a ball of sum t falls convexly in t, and its slope is known from the
    residual. So Newton's method finds the t at which it equals `noise` [1]_. It comes from below,
    so that no step overshoots. Each step is an accelerated projected gradient from the end of the
    last one.

    .. [1] E. van den Berg, M. P. Friedlander, "Probing the Pareto frontier for basis pursuit
       solutions", SIAM Journal on Scientific Computing, 2008. doi:10.1137/080714488
    """
    project: Callable[[Vector, float], Vector] = positive_ball if nonnegative else l1_ball
    length = float(np.linalg.norm(target))
    point = np.zeros(operator.shape[1])
    residual, radius, steps = target, 0.0, 0
    lipschitz = largest_eigenvalue(lambda x: operator.rmatvec(operator.matvec(x)), point.size)
    weights = np.ones(target.size)
    converged = length <= noise
    while not converged and steps < limit:
        gradient = operator.rmatvec(residual)
        steepest = float((gradient if nonnegative else np.abs(gradient)).max())
        current = float(np.linalg.norm(residual))
        if steepest <= 1e-12 * lipschitz**0.5 * length:
            # No sum explains the target better than this.
            break
        radius += current * (current - noise) / steepest
        solution = projected_gradient(
            operator,
            target,
            weights=weights,
            project=lambda x: project(x, radius),  # noqa: B023
            start=point,
            tolerance=0.01 * tolerance * radius,
            limit=limit - steps,
            lipschitz=lipschitz,
        )
        steps += solution.iterations
        point = solution.point
        residual = target - operator.matvec(point)
        converged = float(np.linalg.norm(residual)) <= noise + tolerance * length
    return Solution(point, float(np.abs(point).sum()), steps, converged)


_ROUNDS = 2
"""Times that the noise of the counts is taken: under the uniform distribution, then the answer."""
# What is a find and what is noise depends on it. With `sparsity` the largest shares are asked for
# and not the surest, so all counts keep the weights of the uniform distribution.


@dataclass(frozen=True)
class SparseRecovery(Declared):
    """Sparse recovery by compressive sensing, OMP and L1 (Xiong et al., 2021).

    It finds the few categories that explain the counts, and their shares. It works with any
    channel, whether or not it can be inverted. Fewer counts than categories are enough when few
    categories are frequent.

    Parameters
    ----------
    method : {"nonnegative-omp", "omp", "l1"}
        Recovery method. "omp" is orthogonal matching pursuit, and "nonnegative-omp" the same with
        shares that are not negative. "l1" is basis pursuit denoising: the smallest sum of shares
        that explains the counts within their noise. Default: "nonnegative-omp".
    sparsity : int, optional
        Number s of categories to find, from 1 to all. Default: as many as are significant.
    level : float
        Without `sparsity`, the probability that the pursuit selects a category when the
        distribution is uniform, in (0, 1). For "l1" it is the probability that the noise is larger
        than assumed. Default: 0.05.
    spread : bool, optional
        True: mass that was not found is spread evenly over all categories. False: the categories
        found have all the mass. Wrongly giving them all of it costs far more than spreading it.
        Default: True, unless `sparsity` is given.
    limit : int
        Most categories to select. "l1" takes at most a hundred times as many gradient steps.
        Default: 1000.
    band : bool
        Whether to compute the exact linear confidence band, where the channel can be inverted (up
        to 2048 categories). It depends on the channel and the tally, not on this decoder. Default:
        True.

    See Also
    --------
    lapwing.CompressivePrivatization : The randomizer of the paper.
    lapwing.MixturePrior : Better near the limit of recovery, and on heavy tails.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** On an exactly sparse distribution, with enough reports, the error is that of
    estimating only s shares. Near the limit of what can be recovered, and on heavy tails, an
    empirical-Bayes decoder is better. Truncating the distribution to s categories loses the mass
    of the tail, however many people report.

    **Cost.** Two products with the channel for each category found, and four without `sparsity`.
    "l1" takes a hundred to a thousand.

    Rows are divided by the standard deviation of their noise, and a constant column is subtracted.
    So under the uniform distribution the correlation of a column with the counts is standard
    normal. Without `sparsity` the pursuit stops when no correlation exceeds its
    ``1 - level / symbols`` quantile.

    OMP is from [1]_, as used in section 5 of [2]_. "l1" follows lemma 1.2 there, and [3]_. It
    differs from them in two ways. The counts are centered and whitened by the channel's own
    distribution, so there is no model error. The last step fits the categories found, not the
    whole simplex. :class:`CompressiveEstimate` is the method as printed.

    References
    ----------
    .. [1] J. A. Tropp, "Greed is good: algorithmic results for sparse approximation", IEEE
       Transactions on Information Theory 50(10), 2004. doi:10.1109/TIT.2004.834793
    .. [2] Z. Xiong, Z. Huang, X. Mao, J. Wang, S. Ying, "Compressive privatization: sparse
       distribution estimation under locally differential privacy", 2021. arXiv:2012.02081v1.
    .. [3] E. van den Berg, M. P. Friedlander, "Probing the Pareto frontier for basis pursuit
       solutions", SIAM Journal on Scientific Computing 31(2), 2008. doi:10.1137/080714488

    Examples
    --------
    >>> import lapwing as lw
    >>> compressed = lw.CompressivePrivatization(lw.Categories(1000), epsilon=1, outputs=200)
    >>> people = [0] * 1000
    >>> people[7], people[8] = 60_000, 40_000
    >>> tally = lw.simulate(compressed, people, rng=1)
    >>> result = lw.decoders.SparseRecovery(sparsity=2).decode(compressed.channel, tally)
    >>> result.mass[[7, 8]].round(1).tolist()
    [0.6, 0.4]
    """

    _: KW_ONLY
    method: Literal["nonnegative-omp", "omp", "l1"] = "nonnegative-omp"
    sparsity: AtLeastOne | None = None
    level: Between = 0.05
    spread: bool | None = None
    limit: AtLeastOne = 1000
    band: bool = True

    name: ClassVar[str] = "sparse-recovery"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the distribution of the categories found.

        Returns
        -------
        Distribution
            Estimate, with the exact linear confidence band if `band` and the channel can be
            inverted.

        Raises
        ------
        ArgumentError
            When `sparsity` exceeds the number of categories in the domain or of counts in the
            tally.
        """
        check_given(channel, tally)
        if self.sparsity is not None:
            check_sparsity(self.sparsity, channel)
        size = channel.domain.size
        mass = np.full(size, 1 / size)
        for _ in range(_ROUNDS if self.sparsity is None else 1):
            sensing, target = sensed(channel, tally, mass)
            found, values = self._found(sensing, target)
            mass = self._completed(size, found, values)
        provenance = {**decoder_document(self), "symbols_found": int(found.size)}
        band = available_band(channel, tally, mass) if self.band else None
        return distribution_of(channel, tally, mass, provenance=provenance, uncertainty=band)

    @property
    def _spreads(self) -> bool:
        return self.sparsity is None if self.spread is None else self.spread

    def _found(self, sensing: Whitened, target: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Return the symbols found and their shares above those of the rest."""
        norms = sensing.norms()
        if self.method == "l1":
            found = self._largest(self._shortest(sensing, target), norms)
            # The constraint has shrunk the shares; those that are kept are fitted anew.
            pursuit = refit(sensing, target, found, norms)
        else:
            pursuit = self._pursued(sensing, target, norms)
        if self._spreads or pursuit.support.size == 0:
            return pursuit.support, pursuit.values
        return pursuit.support, pursuit.on_simplex()

    def _pursued(self, sensing: Whitened, target: Vector, norms: Vector) -> Pursuit:
        nonnegative = self.method == "nonnegative-omp"
        size = sensing.shape[1]
        if self.sparsity is not None:
            return matching_pursuit(
                sensing, target, norms=norms, most=self.sparsity, nonnegative=nonnegative
            )
        tail = self.level / size / (1 if nonnegative else 2)
        pursuit = matching_pursuit(
            sensing,
            target,
            norms=norms,
            most=min(self.limit, size),
            threshold=-NormalDist().inv_cdf(tail),
            nonnegative=nonnegative,
        )
        if not pursuit.exhausted and pursuit.support.size < size:
            warnings.warn(
                f"sparse recovery stopped at its limit of {self.limit} symbols, but there are "
                "more. The data are not sparse, so use another decoder, or raise the limit",
                ConvergenceWarning,
                stacklevel=4,
            )
        return pursuit

    def _largest(self, point: Vector, norms: Vector) -> NDArray[np.int64]:
        """Return the symbols that stand out of a vector, the largest first."""
        found = np.argsort(-point, kind="stable")[: self.sparsity]
        least = 0.0
        if self.sparsity is None:
            least = -NormalDist().inv_cdf(self.level / point.size)
        kept: NDArray[np.int64] = found[point[found] * norms[found] > least]
        return kept

    def _shortest(self, sensing: Whitened, target: Vector) -> Vector:
        solution = basis_pursuit(
            sensing,
            target,
            noise=_noise_length(target.size, self.level),
            nonnegative=True,
            limit=100 * self.limit,
        )
        return solution.point

    def _completed(self, size: int, found: NDArray[np.int64], values: Vector) -> Vector:
        """Return masses of all symbols. `values` are shares above an even spread of the rest."""
        if found.size == 0:
            return np.full(size, 1 / size)
        mass = np.zeros(size)
        if not self._spreads:
            mass[found] = simplex(values)
            return mass
        mass += (1 - values.sum()) / size
        mass[found] += values
        return simplex(mass)


def check_sparsity(sparsity: int, channel: Channel) -> None:
    """Raise ArgumentError unless so many symbols can be asked of a channel."""
    limit = min(channel.domain.size, sum(block.outputs for block in channel.blocks))
    if sparsity > limit:
        raise ArgumentError(
            "sparsity",
            f"must be at most the number of symbols and of counts, {limit}",
            str(sparsity),
        )


def sensed(channel: Channel, tally: CountTally, mass: Vector) -> tuple[Whitened, Vector]:
    """Return the counts per report as a sensing problem whose noise has unit variance.

    channel: Distribution of a report for each value.
    tally: Counts of at least one report.
    mass: Distribution at which the noise is taken, float64 [size].

    Returns
    -------
    Whitened
        Operator of the problem.
    numpy.ndarray
        Right side of the problem.

    Notes
    -----
    Let M be the stacked operators, c their mean over all categories, and d the standard deviations
    of the counts per report. Then ``(y - c) / d = diag(1 / d) (M - c 1') x`` plus noise, for any x
    that sums to one. The uniform distribution gives zero, so what is found are shares above it.
    """
    size = channel.domain.size
    uniform = np.full(size, 1 / size)
    # A person more for each symbol: an answer without them would make their noise zero.
    likely = (tally.total * mass + size * uniform) / (tally.total + size)
    operators, centers, rates, scales = [], [], [], []
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        if reports:
            variance = block.covariance(likely).variance() + variance_of_noise(block, reports)
            operators.append(block.operator)
            centers.append(block.mean(uniform))
            rates.append(counts / reports)
            scales.append(1 / np.sqrt(np.maximum(variance / reports, 1e-300)))
    center, scale = np.concatenate(centers), np.concatenate(scales)
    sensing = Whitened(operators, center=center, scale=scale)
    return sensing, scale * (np.concatenate(rates) - center)


def refit(sensing: Whitened, target: Vector, columns: NDArray[np.int64], norms: Vector) -> Pursuit:
    """Return the fit on given columns, without negative coefficients."""
    only = np.zeros_like(norms)
    only[columns] = norms[columns]
    return matching_pursuit(
        sensing, target, norms=only, most=max(columns.size, 1), threshold=-math.inf
    )


def _noise_length(rows: int, level: float) -> float:
    """Return the length that noise of unit variance in so many rows exceeds with probability level.

    The chi-square quantile by Wilson and Hilferty, right to 1%. One row less than there are,
    because counts of one block sum to the reports.
    """
    freedom = max(rows - 1, 1)
    spread = 2 / (9 * freedom)
    root = 1 - spread + NormalDist().inv_cdf(1 - level) * math.sqrt(spread)
    return math.sqrt(freedom * max(root, 0.0) ** 3)


@dataclass(frozen=True)
class CompressiveEstimate(Declared):
    """Algorithm 1 of compressive privatization, as printed (Xiong et al., 2021).

    It is for comparison only. :class:`SparseRecovery` is more accurate.

    Parameters
    ----------
    sparsity : int
        Number s of categories to find, at least 1.
    regime : {"high", "medium"}
        Privacy regime. "high" uses equation 5, and goes with the matrix "rademacher". "medium"
        uses the equations of section 4, and goes with the matrix "medium". Default: "high".
    recovery : {"omp", "l1"}
        Recovery method: orthogonal matching pursuit, as in the paper's experiments, or the
        constrained L1 of its theory (lemma 1.2). Default: "omp".
    last_step : {"project", "normalize"}
        Last step. "project" is the projection onto the whole simplex, as printed. "normalize" sets
        negative masses to zero and divides the rest by its sum, as in the paper's figure 3.
        Default: "project".

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** The term ``e1`` of equation 5 is treated as noise although it is known. At epsilon
    2 and a million people it is as large as the noise. The projection spreads missing mass over
    all categories.

    **Cost.** ``2 s`` products of O(m k) for m outputs and k categories.

    The method is that of algorithm 1, equation 5 and section 4 of [1]_. For "l1" the norm of the
    noise is its expectation in lemma 3.2, because the paper gives no rule.

    References
    ----------
    .. [1] Z. Xiong, Z. Huang, X. Mao, J. Wang, S. Ying, "Compressive privatization: sparse
       distribution estimation under locally differential privacy", 2021. arXiv:2012.02081v1.

    Examples
    --------
    >>> import lapwing as lw
    >>> compressed = lw.CompressivePrivatization(
    ...     lw.Categories(1000), 1, outputs=200, matrix="rademacher", accept_epsilon="1.3"
    ... )
    >>> people = [0] * 1000
    >>> people[7], people[8] = 60_000, 40_000
    >>> tally = lw.simulate(compressed, people, rng=1)
    >>> estimate = lw.decoders.CompressiveEstimate(sparsity=2, last_step="normalize")
    >>> estimate.decode(compressed.channel, tally).mass[[7, 8]].round(1).tolist()
    [0.6, 0.4]
    """

    _: KW_ONLY
    sparsity: AtLeastOne
    regime: Literal["high", "medium"] = "high"
    recovery: Literal["omp", "l1"] = "omp"
    last_step: Literal["project", "normalize"] = "project"

    name: ClassVar[str] = "compressive-estimate"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the estimate.

        Returns
        -------
        Distribution
            Estimate, with the exact linear confidence band where the channel can be inverted.

        Raises
        ------
        UnsupportedChannelError
            When the reports were not made by compressive privatization with equation 2 of the
            paper.
        """
        check_given(channel, tally)
        operator = required(
            channel.blocks[0].operator if len(channel.blocks) == 1 else None,
            SignColumns,
            "the paper's estimate needs reports of compressive privatization. Use "
            "SparseRecovery, which decodes any channel",
        )
        check_sparsity(self.sparsity, channel)
        rows = operator.shape[0]
        far = operator.outside
        ratio = (operator.inside / far)[operator.ones > 0]
        odds = float(ratio.max(initial=1.0))
        if not odds > 1 or float(ratio.min()) < (1 - 1e-9) * odds:
            raise UnsupportedChannelError(
                "the paper's estimate needs equation 2: for every symbol, a near output is "
                "e^epsilon times as likely as a far one. For a banded matrix, use "
                "SparseRecovery"
            )
        rates = tally.blocks[0] / tally.total
        if self.regime == "high":
            gain = (odds + 1) / (odds - 1)
            mean, deviation = 0.0, 1.0
            weights = rows * (odds + 1) / 2 * far
        else:
            gain = (2 * odds - 1) / (odds - 1) ** 1.5
            mean, deviation = 2 / odds - 1, 2 / odds * math.sqrt(odds - 1)
            weights = rows * (2 - 1 / odds) * far
        target = gain * (math.sqrt(rows) * rates - 1 / math.sqrt(rows))
        signs = 2.0 * unpacked(operator.packed, rows).T - 1
        sensing = aslinearoperator((signs - mean) / (deviation * math.sqrt(rows)))
        noise = gain * math.sqrt(rows / tally.total)
        mass = self._last(self._recovered(sensing, target, noise) / weights)
        band, provenance = available_band(channel, tally, mass), decoder_document(self)
        return distribution_of(channel, tally, mass, provenance=provenance, uncertainty=band)

    def _recovered(self, sensing: LinearOperator, target: Vector, noise: float) -> Vector:
        if self.recovery == "l1":
            return basis_pursuit(sensing, target, noise=noise).point
        size = sensing.shape[1]
        pursuit = matching_pursuit(
            sensing, target, norms=np.ones(size), most=self.sparsity, nonnegative=False
        )
        vector = np.zeros(size)
        vector[pursuit.support] = pursuit.values
        return vector

    def _last(self, estimate: Vector) -> Vector:
        return simplex(estimate) if self.last_step == "project" else clipped(estimate)
