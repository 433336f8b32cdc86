"""Least squares on the simplex, and the unbiased inverse of a channel."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of
from lapwing.decoders.unbiased.linear_estimate import (
    HADAMARD_WHOLE,
    available_band,
    linear_estimate,
    variance_of_noise,
)
from lapwing.docstrings import inherits
from lapwing.errors import ConvergenceWarning
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.operators.operator import Stacked
from lapwing.linear.projections import simplex
from lapwing.linear.solvers import Solution, projected_gradient
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.uncertainty import Uncertainty


@dataclass(frozen=True)
class LeastSquares(Declared):
    """Least squares on the simplex, and the unbiased inverse (Wang et al., 2020).

    Parameters
    ----------
    signed : bool
        Whether to keep the unbiased estimate, which may be negative, as
        :attr:`Distribution.signed`. Default: False.
    weighted : bool
        True: outputs are weighted by the inverse of their variance under the uniform distribution.
        False: all weights are equal. Default: True.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** On randomized response, unary encoding and subset selection all weights are equal.
    Then the answer is that of Norm-Sub, the Euclidean projection of the unbiased estimate onto the
    simplex. On Hadamard response above 256 bins or categories the weights are taken as equal. With
    one block the answer is that of Norm-Sub as well. On a square wave it follows the noise, as the
    maximum of the likelihood does, so prefer a smoothed decoder.

    **Cost.** O(k log k) for these randomizers, without iterations. Otherwise it takes two products
    with the channel for each step. The confidence band takes one O(k^3) factorization, up to 2048
    bins. The unbiased estimate takes a second one. Above 2048 bins there is no band.

    Norm-Sub is from [1]_, and the unbiased estimate is equation 1 of [2]_. Unlike there, the
    unbiased estimate has the known total of one, which removes 1 / k of its variance.

    References
    ----------
    .. [1] T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Škorić, N. Li, "Locally differentially private
       frequency estimation with consistency", NDSS, 2020. doi:10.14722/ndss.2020.24157
    .. [2] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no", "unsure"]), epsilon=1)
    >>> tally = lw.simulate(response, [7000, 3000, 0], rng=1)
    >>> result = lw.LeastSquares(signed=True).decode(response.channel, tally)
    >>> round(float(result.share("yes")), 1)
    0.7
    """

    _: KW_ONLY
    signed: bool = False
    weighted: bool = True

    name: ClassVar[str] = "least-squares"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the fitted distribution.

        Returns
        -------
        Distribution
            Estimate, with the exact linear confidence band where the channel can be inverted.

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
                    f"least squares stopped after {solution.iterations} steps before it converged",
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
        rates, weights = [], []
        for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
            rates.append(counts / max(reports, 1))
            variance = np.ones(counts.size)
            if self.weighted and reports:
                variance = block.covariance(uniform).variance()
                variance += variance_of_noise(block, reports)
            weights.append(reports / variance)
        stacked = np.concatenate(weights)
        gram = operators[0].grouped_gram if len(operators) == 1 else None
        if gram is not None:
            # All columns have the same sum, so a constant changes no answer. Nor does it drown one.
            start = gram.nearest(operators[0].rmatvec(rates[0] - rates[0].mean()))
            # With equal weights that is the answer. Those of many columns are nearly equal.
            if size > HADAMARD_WHOLE or np.ptp(stacked) <= 1e-9 * stacked.max():
                return start, available_band(channel, tally, start), None
        solution = projected_gradient(
            Stacked(operators),
            np.concatenate(rates),
            weights=stacked / stacked.max(),
            project=simplex,
            start=start,
            tolerance=1e-4 / size / np.sqrt(tally.total),
        )
        return solution.point, available_band(channel, tally, solution.point), solution
