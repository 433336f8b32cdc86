"""Empirical Bayes with a learnt spectrum: the default decoder of numerical columns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.empirical_bayes.cell_band import cell_band
from lapwing.decoders.empirical_bayes.log_density import (
    Candidate,
    averaged,
    baseline,
    heavy_atoms,
    log_density,
)
from lapwing.decoders.empirical_bayes.low_rank_prior import BLUR, WAVES, reduced_answer
from lapwing.decoders.empirical_bayes.normal_posterior import (
    LearntPrior,
    Posterior,
    quadratic_likelihood,
    root_of,
    whitener,
)
from lapwing.decoders.empirical_bayes.spectrum import averaged_spectrum
from lapwing.decoders.empirical_bayes.wave_basis import FREE, ScaledBasis
from lapwing.decoders.empirical_bayes.widened_band import Evidence, floors, widened_band
from lapwing.decoders.unbiased.linear_estimate import warn_when_weak
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.operators.sums import running_sums
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import Counts
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import Uncertainty

DENSE = 512
"""Symbols up to which all matrices are kept whole."""

LARGEST = 2**16
"""Most symbols. The matrices take 35 kB for each, 2.2 GB in all."""

_SPARSITY = 5.0
"""How much stronger than its noise a spike or step must be before its variance grows."""

_SWEEPS = 8


@dataclass(frozen=True)
class SpectralPrior:
    """Find how smooth, spiky and stepped the data are from the reports, then estimate with that.

    The masses get a normal prior: cosines with learnt variances, scaled by a power of the local
    density, plus spikes in single bins and steps between bins whose variances go to zero where
    the reports show none. The posterior mean is moved to the nearest distribution.

    Parameters
    ----------
    passes : int
        Times the likelihood is linearised, at the answer of the pass before; in 1..5.
    band : bool
        Whether to compute the widened posterior bands (recipes R and R').

    Accuracy
    --------
    See the tables of `benchmarks/accuracy`.

    Cost
    ----
    O(size^3) up to 512 symbols, 0.2 s at 256. Above, O(size * columns^2) with 192 waves and the
    atoms that are found, and memory O(size * columns): on waves, subsets and trees 0.2 s at 1024
    symbols, 0.5 s at 4096, 3 s and 0.5 GB at 16,384. Blocks whose operator has less structure
    (wavelets, Haar coefficients) add O(outputs * size): 5 s at 4096.

    Notes
    -----
    It asks a block for its score and information, so it decodes any list of blocks.

    Up to 512 symbols every cosine, bin and step takes part; waves of the density and waves of its
    logarithm are weighed by evidence. Above, 192 waves and the single bins
    or blocks of 2 to 16 bins that stand out of them, found one after the other; steps are left to
    the blocks. The answers have the same error within a few per cent. Bands are then made on
    192 cells, split where an atom was found.

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

    def decode(self, channel: Channel, tally: Counts) -> Distribution:
        """Return the posterior's nearest distribution.

        Raises
        ------
        UnsupportedChannelError
            When the domain has no order, or more than 65,536 symbols.
        """
        channel.check(tally)
        size = channel.domain.size
        if size > LARGEST:
            raise UnsupportedChannelError(
                f"the spectral prior decodes at most {LARGEST} symbols, got {size}; decode at "
                "fewer bins, or by ExpectationMaximization"
            )
        whole = size <= DENSE
        mass, uncertainty = self._whole(channel, tally) if whole else self._reduced(channel, tally)
        if uncertainty is not None:
            widest = uncertainty.about("simultaneous", "population")
            warn_when_weak(widest, what="the 95 % band", stacklevel=3)
        return Distribution(
            channel.domain,
            mass,
            reports=tally.total,
            guarantee=channel.guarantee,
            uncertainty=uncertainty,
            made=decoder_document(self),
        )

    def _whole(self, channel: Channel, tally: Counts) -> tuple[Vector, Uncertainty | None]:
        """Return the answer with its error law, from matrices of all symbols."""
        size = channel.domain.size
        prior = _Prior(channel)
        mass = np.full(size, 1 / size)
        for number in range(self.passes):
            pilot = 0.95 * mass + 0.05 / size
            information, score = quadratic_likelihood(channel, tally, pilot)
            learnt = prior.learn(information, score, mass if number else None)
            posterior = Posterior.of(information, score, learnt.mean, learnt.covariance)
            mass = posterior.distribution()
        if not self.band:
            return mass, None
        evidence = Evidence(information, score, pilot, tally.total)
        floor = floors(mass, prior.scaled.basis, prior.joined)
        return mass, widened_band(evidence, learnt, floor)

    def _reduced(self, channel: Channel, tally: Counts) -> tuple[Vector, Uncertainty | None]:
        """Return the same from matrices of a few hundred columns."""
        scaled = ScaledBasis(channel.domain, most=WAVES, blur=BLUR * channel.domain.size)
        answer = reduced_answer(channel, tally, scaled, passes=self.passes)
        if not self.band:
            return answer.mass, None
        return answer.mass, cell_band(answer, scaled, tally.total)


class _Prior:
    """What is the same in all passes: the basis on the cells that touch."""

    def __init__(self, channel: Channel) -> None:
        self.scaled = ScaledBasis(channel.domain)
        self.size = channel.domain.size
        self.circular = channel.domain.circular
        self.joined = self.scaled.joined

    def learn(self, information: Matrix, score: Vector, mass: Vector | None) -> LearntPrior:
        """Return the prior that the reports support best; `mass` is the answer so far.

        Waves of the density, scaled by a power of the answer so far, and waves of its logarithm
        are weighed by their evidence, after the heavy atoms of that answer were set aside.
        """
        basis = self.scaled.basis
        uniform = np.full(self.size, 1 / self.size)
        heavy = np.zeros(self.size) if mass is None else heavy_atoms(mass, self.scaled)
        # The people are the heavy atoms and this part, a distribution of its own.
        part = 1 - float(heavy.sum())
        inner = part**2 * information
        slope = part * (score - information @ heavy)
        rest = None if mass is None else (mass - heavy) / part
        # With a mean that follows the data the evidence would count them twice.
        pull = slope - inner @ uniform
        zero = baseline(inner, slope, uniform)
        candidates = []
        for power, scale in enumerate(self.scaled.scales(rest)):
            columns = self.scaled.columns(scale)
            curvature = columns.T @ inner @ columns
            spectrum = averaged_spectrum(curvature, columns.T @ pull, basis.frequency)
            mean = uniform if rest is None or power == 0 else self.scaled.mean(rest)
            candidates.append(Candidate(mean, columns, spectrum, spectrum.evidence + zero))
        if rest is not None:
            density = self.scaled.density(rest)
            shape, variance = density / density.mean(), candidates[-1].spectrum.variance
            candidates.append(log_density(inner, slope, self.scaled, shape, variance))
        mean, spectral = averaged(candidates, inner, slope, basis.half_octave)
        return self._sparse(information, score, part * mean + heavy, part**2 * spectral, heavy)

    def _sparse(
        self, information: Matrix, score: Vector, mean: Vector, spectral: Matrix, heavy: Vector
    ) -> LearntPrior:
        """Return the prior with spikes and steps whose variances were fitted in turn.

        Heavy atoms keep a variance of their square: nothing pulls them to what they were thought
        to be.
        """
        known = np.where(self.scaled.apart, FREE, heavy**2)
        single = np.where(known > 0, known, 1e-4)
        pull = score - information @ mean
        jump = np.full(self.joined.size - 1, 0.0 if self.circular else 0.02**2)
        root = root_of(information)
        for _ in range(_SWEEPS):
            covariance = LearntPrior(mean, spectral + self._steps(jump), single).covariance
            whitened = whitener(root, covariance)
            residual = pull - whitened.T @ (whitened @ (covariance @ pull))
            expected = np.maximum(np.einsum("ij,ij->j", whitened, whitened), 1e-300)
            update = single * residual**2 / (_SPARSITY * expected)
            single = np.where(known > 0, known, np.clip(update, 1e-16, 9))
            if not self.circular:
                jump = self._jumps(jump, residual, whitened)
        return LearntPrior(mean, spectral + self._steps(jump), single)

    def _steps(self, jump: Vector) -> Matrix:
        """Return the covariance of centred steps of the density between neighbours."""
        if self.circular:
            return np.zeros((self.size, self.size))
        # Steps shared by two cells are those up to the earlier one.
        heights = np.concatenate([[0.0], np.cumsum(jump)])
        block: Matrix = np.minimum.outer(heights, heights)
        middle = block.mean(axis=0)
        block -= middle
        block -= (middle - middle.mean())[:, None]
        block /= self.size**2
        if self.joined.size == self.size:
            return block
        covariance = np.zeros((self.size, self.size))
        covariance[np.ix_(self.joined, self.joined)] = block
        return covariance

    def _jumps(self, jump: Vector, residual: Vector, whitened: Matrix) -> Vector:
        """Return the fixed-point update of the variances of the steps.

        A centred step is minus the indicator of the cells before it, up to a constant, and
        centred rows do not feel constants: sums before a step are as good as those after.
        """
        pull = _sums_before(residual[self.joined]) / self.size
        rows = _sums_before(whitened.T[self.joined])
        expected = np.maximum(np.einsum("ij,ij->i", rows, rows) / self.size**2, 1e-300)
        updated: Vector = np.clip(jump * pull**2 / (_SPARSITY * expected), 1e-12, 9)
        return updated


def _sums_before(rows: Matrix) -> Matrix:
    """Return running sums of the centred columns up to each step between two cells: a row less."""
    return running_sums(rows - rows.mean(axis=0))[:-1]
