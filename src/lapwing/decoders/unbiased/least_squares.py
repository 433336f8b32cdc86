"""Least squares on the simplex, and the unbiased inverse of a channel."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from lapwing.decoders.decoder import decoder_document, distribution_of
from lapwing.decoders.unbiased.linear_estimate import (
    available_band,
    hadamard_estimate,
    hadamard_operator,
    linear_estimate,
    variance_of_noise,
)
from lapwing.errors import ConvergenceWarning
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.operators.operator import Stacked
from lapwing.linear.projections import simplex
from lapwing.linear.solvers import Solution, projected_gradient
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.uncertainty import Uncertainty


@dataclass(frozen=True)
class LeastSquares:
    """Weighted least squares on the simplex, and the unbiased inverse of the channel.

    Parameters
    ----------
    signed : bool
        Whether to keep the unbiased estimate, too, as :attr:`Distribution.signed`.
    weighted : bool
        True: outputs are weighted by the inverse of their variance under the uniform
        distribution. False: identity weights.

    Notes
    -----
    **Accuracy.** On randomized response and unary encoding all weights are equal and the answer is
    that of Norm-Sub: the Euclidean projection of the unbiased estimate on the simplex; on Hadamard
    response it is near that. On a square wave it follows the noise, as the maximum of the
    likelihood does; prefer a smoothed decoder.

    **Cost.** O(k log k) for those; otherwise two products with the channel a step, and one O(k^3)
    factorization for the band, up to 2048 symbols; a second one for the unbiased estimate. Above
    that there is no band.

    Source: Wang et al. 2020 (Norm-Sub); Fang et al. 2023, equation 1, for the unbiased estimate.
    Differs: the known total of one is imposed on the unbiased estimate, which takes 1 / k of its
    variance away.
    """

    _: KW_ONLY
    signed: bool = False
    weighted: bool = True

    name: ClassVar[str] = "least-squares"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the fitted distribution.

        Raises
        ------
        UnsupportedChannelError
            With ``signed=True``, when the channel cannot be inverted as a matrix.
        """
        check_given(channel, tally)
        provenance = decoder_document(self)
        unbiased = linear_estimate(channel, tally) if self.signed else None
        mass, uncertainty, solution = self._on_simplex(channel, tally)
        if solution is not None:
            provenance |= {"iterations": solution.iterations, "converged": solution.converged}
            if not solution.converged:
                warnings.warn(
                    f"least squares stopped after {solution.iterations} steps before it settled",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        signed = None
        if unbiased is not None:
            signed = SignedEstimate(
                channel.domain, unbiased.center, tally.total, uncertainty=unbiased
            )
        return distribution_of(
            channel, tally, mass, provenance=provenance, uncertainty=uncertainty, signed=signed
        )

    def _on_simplex(
        self, channel: Channel, tally: CountTally
    ) -> tuple[Vector, Uncertainty | None, Solution | None]:
        operators = [block.operator for block in channel.blocks]
        size = channel.domain.size
        start = uniform = np.full(size, 1 / size)
        if len(operators) == 1 and operators[0].compound is not None:
            estimate = linear_estimate(channel, tally)
            return estimate.plug_in, estimate, None
        in_blocks = hadamard_operator(channel)
        if in_blocks is not None:
            # Columns of one block have equal lengths and products: with equal weights the
            # projection is the answer, else it is near it.
            start = hadamard_estimate(channel, tally).plug_in
            if in_blocks.blocks == 1 and not self.weighted:
                return start, available_band(channel, tally, start), None
        rates, weights = [], []
        for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
            rates.append(counts / max(reports, 1))
            variance = np.ones(counts.size)
            if self.weighted and reports:
                variance = block.covariance(uniform).variance()
                variance += variance_of_noise(block, reports)
            weights.append(reports / variance)
        stacked = np.concatenate(weights)
        solution = projected_gradient(
            Stacked(operators),
            np.concatenate(rates),
            weights=stacked / stacked.max(),
            project=simplex,
            start=start,
            tolerance=1e-4 / size / np.sqrt(tally.total),
        )
        return solution.point, available_band(channel, tally, solution.point), solution
