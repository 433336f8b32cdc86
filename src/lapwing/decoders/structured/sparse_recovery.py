"""Sparse recovery: a few frequent symbols explain the counts, and nothing is said of the rest.

:class:`CompressiveEstimate` is Algorithm 1 of compressive privatization as it is printed, for
comparison with it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing.decoders.decoder import decoder_document, distribution_of, required
from lapwing.decoders.unbiased.linear_estimate import available_band, variance_of_noise
from lapwing.decoders.unbiased.normalization import clipped
from lapwing.errors import ArgumentError, ConvergenceWarning, UnsupportedChannelError, kind_of
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.operators.operator import Whitened
from lapwing.linear.operators.random_signs import SignColumns, unpacked
from lapwing.linear.projections import simplex
from lapwing.linear.pursuit import Pursuit, basis_pursuit, matching_pursuit
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution

METHODS = ("nonnegative-omp", "omp", "l1")

_ROUNDS = 2
"""Without `sparsity` the noise of the counts is taken under the uniform distribution first, then
under the answer: what is a find and what is noise depends on it. With `sparsity` the largest shares
are asked for and not the surest, so all counts keep the weights of the uniform distribution."""


@dataclass(frozen=True)
class SparseRecovery:
    """Find the few symbols that the counts show, and their shares, by compressive sensing.

    Works with any channel, whether it can be inverted or not: fewer counts than symbols are enough
    when few symbols are frequent.

    Parameters
    ----------
    method : {"nonnegative-omp", "omp", "l1"}
        Orthogonal matching pursuit with shares that are not negative; without that; or the smallest
        sum of shares that explains the counts within their noise (basis pursuit denoising).
    sparsity : int, optional
        s, how many symbols to find, in 1..symbols. Default: as many as the noise lets one see.
    level : float
        Without `sparsity`: the probability that pursuit takes a symbol although the distribution is
        uniform, in (0, 1); for "l1", that the noise is larger than assumed.
    spread : bool, optional
        Whether mass that was not found is spread evenly over all symbols; else the symbols found
        hold everything. Default: spread it unless `sparsity` is given. Wrongly giving all mass to
        what was found costs far more than spreading it.
    limit : int
        Most symbols that are taken, and for "l1" a hundred times as many gradient steps.
    band : bool
        Whether to compute the exact linear band, where the channel can be inverted (up to 2048
        symbols). It belongs to the channel and the tally, not to this decoder.

    Notes
    -----
    **Accuracy.** On an exactly sparse distribution, with enough reports, the error is that of
    estimating s shares alone. Near the limit of what can be recovered, and on heavy tails, an
    empirical-Bayes decoder is better. The truncation of a tail to s symbols costs the tail's mass,
    however many people report.

    **Cost.** Two products with the channel for each symbol found, four without `sparsity`; "l1"
    some hundred to thousand.

    Rows are divided by the standard deviation of their noise and a constant column is taken off, so
    under the uniform distribution the correlation of a column with the counts is a standard normal
    number. Without `sparsity` the pursuit stops when no correlation exceeds its ``1 - level /
    symbols`` quantile.

    Source: Tropp 2004 (OMP), as used by Xiong et al. 2021, section 5; lemma 1.2 there and van den
    Berg and Friedlander 2008 for "l1". Differs: centered and whitened with the channel's own law,
    so that there is no model error; the last step fits on the symbols found and not on the whole
    simplex. As printed: :class:`lapwing.decoders.CompressiveEstimate`.
    """

    _: KW_ONLY
    method: Literal["nonnegative-omp", "omp", "l1"] = "nonnegative-omp"
    sparsity: int | None = None
    level: float = 0.05
    spread: bool | None = None
    limit: int = 1000
    band: bool = True

    name: ClassVar[str] = "sparse-recovery"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if self.method not in METHODS:
            raise ArgumentError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.sparsity is not None:
            check_sparsity(self.sparsity)
        if not 0 < self.level < 1:
            raise ArgumentError(f"level must be between 0 and 1, got {self.level}")
        if self.limit < 1:
            raise ArgumentError(f"limit must be at least 1, got {self.limit}")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the distribution that the symbols found make.

        Raises
        ------
        ArgumentError
            When `sparsity` exceeds the symbols of the domain or the counts of the tally.
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
                f"sparse recovery stopped at its limit of {self.limit} symbols, and there are "
                "more; these data are not sparse, use another decoder or raise the limit",
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
        """Return masses of all symbols; `values` are shares above an even spread of the rest."""
        if found.size == 0:
            return np.full(size, 1 / size)
        mass = np.zeros(size)
        if not self._spreads:
            mass[found] = simplex(values)
            return mass
        mass += (1 - values.sum()) / size
        mass[found] += values
        return simplex(mass)


def check_sparsity(sparsity: int, channel: Channel | None = None) -> None:
    """Raise ArgumentError unless so many symbols can be asked of a channel."""
    if isinstance(sparsity, bool) or not isinstance(sparsity, int):
        raise ArgumentError(f"sparsity must be a whole number, got {kind_of(sparsity)}")
    limit: float = math.inf
    if channel is not None:
        limit = min(channel.domain.size, sum(block.outputs for block in channel.blocks))
    if not 1 <= sparsity <= limit:
        raise ArgumentError(
            "sparsity must be at least 1 and at most the number of symbols and of counts"
            f"{'' if channel is None else f', {limit}'}, got {sparsity}"
        )


def sensed(channel: Channel, tally: CountTally, mass: Vector) -> tuple[Whitened, Vector]:
    """Return the counts per report as a sensing problem whose noise has unit variance.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size], the distribution at which the noise is taken.

    Notes
    -----
    With M the stacked operators, c their mean over all symbols and d the standard deviations of the
    counts per report, ``(y - c) / d = diag(1 / d) (M - c 1') x`` plus noise, for any x that sums to
    one. A spread over all symbols gives zero, so what is found are shares above it.
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

    The chi-square quantile by Wilson and Hilferty, right to 1 %; one row less than there are,
    because counts of one block sum to the reports.
    """
    freedom = max(rows - 1, 1)
    spread = 2 / (9 * freedom)
    root = 1 - spread + NormalDist().inv_cdf(1 - level) * math.sqrt(spread)
    return math.sqrt(freedom * max(root, 0.0) ** 3)


@dataclass(frozen=True)
class CompressiveEstimate:
    """Estimate a sparse distribution as Xiong et al. do.

    :class:`lapwing.decoders.SparseRecovery` is more accurate.

    Parameters
    ----------
    sparsity : int
        s, how many symbols to find.
    regime : {"high", "medium"}
        The equations for high privacy (5) or those of section 4, which belong to the matrices
        "rademacher" and "medium".
    recovery : {"omp", "l1"}
        Orthogonal matching pursuit, as in the paper's experiments, or the constrained l1 of its
        theory (lemma 1.2).
    last_step : {"project", "normalize"}
        The projection on the whole simplex, as printed; or negative masses set to zero and the rest
        divided by its sum, as in the paper's figure 3.

    Notes
    -----
    **Accuracy.** The term ``e1`` of equation 5 is treated as noise although it is known; at epsilon
    2 and a million people it is as large as the noise. The projection smears what is absent over
    all symbols.

    **Cost.** 2 s products of O(m k).

    Source: Xiong et al. 2021, algorithm 1, equation 5, section 4. For "l1" the length of the noise
    is its expectation in lemma 3.2; the paper gives no rule.
    """

    _: KW_ONLY
    sparsity: int
    regime: Literal["high", "medium"] = "high"
    recovery: Literal["omp", "l1"] = "omp"
    last_step: Literal["project", "normalize"] = "project"

    name: ClassVar[str] = "compressive-estimate"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        check_sparsity(self.sparsity)
        for name, value, choices in (
            ("regime", self.regime, ("high", "medium")),
            ("recovery", self.recovery, ("omp", "l1")),
            ("last_step", self.last_step, ("project", "normalize")),
        ):
            if value not in choices:
                raise ArgumentError(f"{name} must be one of {', '.join(choices)}, got {value!r}")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the estimate; the band is the channel's, where it can be inverted.

        Raises
        ------
        UnsupportedChannelError
            When the reports were not made by compressive privatization.
        """
        check_given(channel, tally)
        operator = required(
            channel.blocks[0].operator if len(channel.blocks) == 1 else None,
            SignColumns,
            "the paper's estimate needs reports of compressive privatization; use "
            "SparseRecovery, which decodes any channel",
        )
        check_sparsity(self.sparsity, channel)
        rows = operator.shape[0]
        far = operator.outside
        ratio = (operator.inside / far)[operator.ones > 0]
        odds = float(ratio.max(initial=1.0))
        if not odds > 1 or float(ratio.min()) < (1 - 1e-9) * odds:
            raise UnsupportedChannelError(
                "the paper's estimate needs equation 2, a near output e^epsilon times as likely as "
                "a far one for every symbol; for a banded matrix use SparseRecovery"
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
