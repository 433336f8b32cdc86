"""Algorithm 1 of compressive privatization as it is printed, for comparison with it."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing.decoders.decoder import decoder_document, distribution_of, required
from lapwing.decoders.structured.sparse_recovery import check_sparsity
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.decoders.unbiased.normalization import clipped
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.linear.basis_pursuit import basis_pursuit
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.operators.random_signs import unpacked
from lapwing.linear.operators.sign_columns import SignColumns
from lapwing.linear.projections import simplex
from lapwing.linear.pursuit import matching_pursuit
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution


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

    Accuracy
    --------
    The term ``e1`` of equation 5 is treated as noise although it is known; at epsilon 2 and a
    million people it is as large as the noise. The projection smears what is absent over all
    symbols.

    Cost
    ----
    2 s products of O(m k).

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
                "a far one for every symbol; of a banded matrix use SparseRecovery"
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
