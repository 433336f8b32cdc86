"""Maximum likelihood with a penalty on roughness, by an accelerated EM."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from lapwing.declared import AtLeastOne, Declared, Positive
from lapwing.decoders.decoder import Decoder, Neighbors, decoder_document, distribution_of
from lapwing.decoders.likelihood.expectation_maximization import expect, likelihood_rows
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.docstrings import inherits
from lapwing.errors import ConvergenceWarning
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.solvers import accelerated_fixed_point
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution


@dataclass(frozen=True)
class PenalizedLikelihood(Declared):
    """Maximum penalized likelihood with a roughness penalty, by accelerated EM.

    It maximizes ``log-likelihood - roughness / 2 * sum over neighbors (density' - density)^2``.
    The regularizer is explicit, instead of an early stop. So the answer does not depend on where
    an iteration ended, and the iteration may be accelerated.

    Parameters
    ----------
    roughness : float
        Weight of the penalty in nats, the unit of the log-likelihood, greater than 0. Densities
        are relative to the uniform one: a step from 1 to 2 between two neighbors costs half of
        this weight. Default: 100.
    tolerance : float
        Stop when three evaluations raise the penalized objective by less, in nats. Default: 1e-4.
    limit : int
        Most evaluations of the EM map. Default: 20,000.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** See the tables of `benchmarks/accuracy`.

    **Cost.** Two products with every operator for each evaluation, O(outputs) for square waves, and
    the root of one monotone equation for the total.

    Each pair's penalty is bounded by a separable one that touches it at the current point [1]_. So
    the maximization step is a quadratic for each bin, and the objective never falls. SQUAREM [2]_
    extrapolates two such steps. Densities of bins of unequal width are compared, not their masses.

    References
    ----------
    .. [1] A. R. De Pierro, "A modified expectation maximization algorithm for penalized likelihood
       estimation in emission tomography", IEEE Transactions on Medical Imaging 14(1), 1995.
    .. [2] R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating the
       convergence of any EM algorithm", Scandinavian Journal of Statistics 35(2), 2008.

    Examples
    --------
    >>> import lapwing as lw
    >>> wave = lw.SquareWave(lw.Interval(0, 100, bins=50, outside="clip"), epsilon=2)
    >>> people = [0] * 10 + [1000] * 20 + [0] * 20  # ages 20 to 60, half of them below 40
    >>> tally = lw.simulate(wave, people, rng=1)
    >>> result = lw.papers.baselines.PenalizedLikelihood().decode(wave.channel, tally)
    >>> round(float(result.cdf(40)), 2)
    0.5
    """

    _: KW_ONLY
    roughness: Positive = 100.0
    tolerance: Positive = 1e-4
    limit: AtLeastOne = 20_000

    name: ClassVar[str] = "penalized-likelihood"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the distribution that maximizes the penalized likelihood.

        Returns
        -------
        Distribution
            Estimate, with the exact linear confidence band where the channel can be inverted.

        Raises
        ------
        UnsupportedChannelError
            When the channel has no likelihood, or the domain has no order.
        """
        check_given(channel, tally)
        rows = likelihood_rows(channel, tally)
        pairs = Neighbors.of(channel.domain)
        size = channel.domain.size
        degree = np.bincount(pairs.first, minlength=size) + np.bincount(
            pairs.second, minlength=size
        )
        scale = self.roughness * size**2 / pairs.width**2

        def objective(mass: Vector) -> float:
            if mass.min() <= 0:
                return -math.inf
            _, likelihood = expect(rows, mass)
            density = size * mass / pairs.width
            jumps = density[pairs.first] - density[pairs.second]
            return likelihood - self.roughness / 2 * float(np.dot(jumps, jumps))

        def improve(mass: Vector) -> Vector:
            expected, _ = expect(rows, mass)
            density = mass / pairs.width
            meeting = density[pairs.first] + density[pairs.second]
            tilt = np.bincount(pairs.first, meeting, size)
            tilt += np.bincount(pairs.second, meeting, size)
            # Per symbol: maximize expected log x - scale (degree x^2 - width tilt x), total 1.
            return _quadratic_step(
                np.maximum(expected, 1e-12), 2 * scale * degree, scale * pairs.width * tilt
            )

        solution = accelerated_fixed_point(
            improve,
            objective,
            lambda mass: np.maximum(mass, 1e-3 / size**2),
            start=np.full(size, 1 / size),
            tolerance=self.tolerance,
            limit=self.limit,
        )
        if not solution.converged:
            warnings.warn(
                f"the penalized likelihood was still rising after {self.limit} evaluations. "
                "Raise the limit or the tolerance",
                ConvergenceWarning,
                stacklevel=2,
            )
        band = available_band(channel, tally, solution.point)
        steps = {"iterations": solution.iterations, "converged": solution.converged}
        provenance = decoder_document(self) | steps
        return distribution_of(
            channel, tally, solution.point, provenance=provenance, uncertainty=band
        )


def _quadratic_step(expected: Vector, bend: Vector, tilt: Vector) -> Vector:
    """Return x > 0 with ``expected / x - bend x + tilt = level``, the level making the total 1."""

    def at(level: float) -> Vector:
        slope = tilt - level
        root = np.sqrt(slope**2 + 4 * bend * expected)
        # Two forms of the positive root, each without cancellation where it is used. Without a
        # bend and with a level below the tilt there is none; a huge number says: raise the level.
        rises = (slope > 0) & (bend > 0)
        upward = (slope + root) / np.where(bend > 0, 2 * bend, 1.0)
        downward = 2 * expected / np.where(rises, 1.0, np.maximum(root - slope, 1e-200))
        return np.where(rises, upward, downward)

    high = float((expected / 1e-3 + np.abs(tilt)).max()) + float(expected.sum())
    low = float(tilt.min()) - float(bend.max()) - float(expected.sum()) - 1.0
    while at(low).sum() < 1:
        low -= 2 * abs(low) + 1
    while at(high).sum() > 1:
        high += 2 * abs(high) + 1
    for _ in range(200):
        middle = (low + high) / 2
        if at(middle).sum() > 1:
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            break
    point = at((low + high) / 2)
    point /= point.sum()
    return point
