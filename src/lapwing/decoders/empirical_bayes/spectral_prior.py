"""Empirical Bayes with a learned spectrum: the default decoder of numerical columns.

Here begins one decode. The waves of the domain are laid out (`wave_basis.py`); then the answer is
found in passes, with matrices of all symbols (`dense_model.py`) or of cells (`coarse_model.py`);
it becomes the shares of the people who reported (:func:`reporting_people`), and the band is drawn
(`widened_band.py`, `cell_band.py`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from lapwing.decoders.decoder import decoder_document, distribution_of
from lapwing.decoders.empirical_bayes.cell_band import cell_band
from lapwing.decoders.empirical_bayes.coarse_model import cell_answer
from lapwing.decoders.empirical_bayes.dense_model import whole_answer
from lapwing.decoders.empirical_bayes.low_rank_prior import BLUR, WAVES
from lapwing.decoders.empirical_bayes.quadratic_likelihood import likelihood_terms
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.empirical_bayes.widened_band import always_allowed, widened_band
from lapwing.decoders.unbiased.linear_estimate import warn_when_weak
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import Uncertainty

DENSE = 512
"""Symbols up to which all matrices are kept whole."""

SYMBOL_LIMIT = 2**16
"""More symbols are refused: the matrices take 35 kB for each, 2.2 GB in all."""


@dataclass(frozen=True)
class SpectralPrior:
    """Find how smooth, spiky and stepped the data are from the reports, then estimate with that.

    The masses get a normal prior: cosines with learned variances, scaled by a power of the local
    density, plus spikes in single bins and steps between bins whose variances go to zero where
    the reports show none. The posterior mean is moved to the nearest distribution, that of the
    population, and from there to the expected shares of the people who reported.

    Parameters
    ----------
    passes : int
        Times the likelihood is linearized, at the answer of the pass before; in 1..5.
    band : bool
        Whether to compute the bands, from a posterior under a widened prior.

    Accuracy
    --------
    See the tables of `benchmarks/accuracy`.

    Cost
    ----
    O(size^3) up to 512 symbols, 0.2 s at 256. Above, O(size * columns^2) with 192 waves and the
    atoms that are found, then O(size * cells) for each block and O(cells^3) with some 300 cells,
    and memory O(size * columns). Blocks whose operator has less structure (wavelets, Haar
    coefficients) add O(outputs * size): 5 s at 4096.

    Notes
    -----
    It asks a block for its score and information, so it decodes any list of blocks.

    Up to 512 symbols every cosine, bin and step takes part; waves of the density and waves of its
    logarithm are weighed by evidence. Above, 192 waves and the single bins or blocks of 2 to 16
    bins that stand out of them are found first, one after the other. Then the symbols are put
    into blocks of equal width, 192 to 384 of them, which are split at the ends of what was found,
    and on these cells the prior is the whole one. Within a cell the density follows its
    neighbors. Bands are those of the cells.

    Source: own; empirical Bayes by marginal likelihood (MacKay 1992), sparse variances by
    fixed-point updates (Tipping 2001).
    """

    _: KW_ONLY
    passes: int = 2
    band: bool = True

    name: ClassVar[str] = "spectral-prior"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if isinstance(self.passes, bool) or self.passes not in range(1, 6):
            raise ArgumentError(f"passes must be in 1..5, got {self.passes}")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the expected shares of the people who reported.

        Raises
        ------
        UnsupportedChannelError
            When the domain has no order, or more than 65,536 symbols.
        """
        check_given(channel, tally)
        size = channel.domain.size
        if size > SYMBOL_LIMIT:
            raise UnsupportedChannelError(
                f"the spectral prior decodes at most {SYMBOL_LIMIT} symbols, got {size}; decode at "
                "fewer bins, or by ExpectationMaximization"
            )
        whole = size <= DENSE
        mass, uncertainty = self._whole(channel, tally) if whole else self._on_cells(channel, tally)
        if uncertainty is not None:
            widest = uncertainty.about("simultaneous", "population")
            warn_when_weak(widest, what="the 95 % band", stacklevel=3)
        provenance = decoder_document(self)
        return distribution_of(channel, tally, mass, provenance=provenance, uncertainty=uncertainty)

    def _whole(self, channel: Channel, tally: CountTally) -> tuple[Vector, Uncertainty | None]:
        """Return the answer with its error law, from matrices of all symbols."""
        scaled = ScaledBasis(channel.domain)
        answer = whole_answer(channel, tally, scaled, passes=self.passes)
        people = reporting_people(channel, tally, answer.mass, scaled.uniform)
        if not self.band:
            return people, None
        waves, local = always_allowed(answer.mass, scaled)
        floor = waves @ waves.T + np.diag(local) / local.size
        return people, widened_band(answer.evidence, answer.prior, floor)

    def _on_cells(self, channel: Channel, tally: CountTally) -> tuple[Vector, Uncertainty | None]:
        """Return the same from a few hundred cells."""
        scaled = ScaledBasis(channel.domain, limit=WAVES, blur=BLUR * channel.domain.size)
        answer = cell_answer(channel, tally, scaled, passes=self.passes)
        people = reporting_people(channel, tally, answer.mass, scaled.uniform)
        if not self.band:
            return people, None
        return people, cell_band(answer, scaled, tally.total)


def reporting_people(channel: Channel, tally: CountTally, mass: Vector, uniform: Vector) -> Vector:
    """Return the expected shares of the people who reported: float64 [size], a distribution.

    The population that the people were drawn from is smooth where their sample is not. Reports of
    a large epsilon tell the two apart, and an error is one to the people who report.

    Parameters
    ----------
    channel : Channel
    tally : CountTally
        At least one report.
    mass : numpy.ndarray
        float64 [size], the population.
    uniform : numpy.ndarray
        float64 [size], the shares before anything is known. One person is taken to be anywhere, so
        that where the population seems empty somebody may be seen.

    Notes
    -----
    Each person holds a symbol with its probability given the report, under that population:
    ``p (1 + g / n)``, where g is the gradient of the log-likelihood along distributions. This is
    an expectation step, and no step further: the likelihood's own maximum fits the noise. Of bits
    the gradient is that of the composite likelihood, under which a share could be negative; it is
    zero then. One product with every block's operator and its adjoint.
    """
    people = tally.total
    population = mass + (uniform - mass) / people
    _, slope = likelihood_terms(channel, tally, population)
    shares = population * (1 + (slope - population @ slope) / people)
    shares = np.maximum(shares, 0.0)
    return np.asarray(shares / shares.sum())
