"""Empirical Bayes with a learnt spectrum: the default decoder of numerical columns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.channel import Channel
from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.neighbours import Neighbours
from lapwing.decoders.posterior import (
    LearntPrior,
    Posterior,
    quadratic_likelihood,
    root_of,
    whitener,
)
from lapwing.decoders.posterior_band import Evidence, widened_band
from lapwing.decoders.spectrum import Basis, averaged_spectrum, refined
from lapwing.distribution import Distribution
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.tally import Counts

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

DENSE = 512
"""Symbols up to which all matrices are kept whole."""

_APART = 0.25
"""Prior variance of the mass of a declared atom or of the missing symbol: anything goes."""

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
    O(size^3): about 0.2 s at 256 symbols; at most 512.

    Notes
    -----
    It asks a block for its score and information, so it decodes any list of blocks.

    Source: own; empirical Bayes by marginal likelihood (MacKay 1992), sparse variances by
    fixed-point updates (Tipping 2001).
    """

    _: KW_ONLY
    passes: int = 2
    band: bool = True

    name: ClassVar[str] = "spectral-prior"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if isinstance(self.passes, bool) or self.passes not in range(1, 6):
            raise ArgumentError(f"passes must be in 1..5, got {self.passes}")

    def decode(self, channel: Channel, tally: Counts) -> Distribution:
        """Return the posterior's nearest distribution.

        Raises
        ------
        UnsupportedChannelError
            When the domain has no order or more than 512 symbols.
        """
        channel.check(tally)
        size = channel.domain.size
        if size > DENSE:
            raise UnsupportedChannelError(
                f"the spectral prior keeps matrices of at most {DENSE} symbols, got {size}; "
                "decode at fewer bins"
            )
        prior = _Prior(channel)
        mass = np.full(size, 1 / size)
        for number in range(self.passes):
            pilot = 0.95 * mass + 0.05 / size
            information, score = quadratic_likelihood(channel, tally, pilot)
            learnt = prior.learn(information, score, mass if number else None)
            posterior = Posterior.of(information, score, learnt.mean, learnt.covariance)
            mass = posterior.distribution()
        uncertainty = None
        if self.band:
            evidence = Evidence(information, score, pilot, tally.total)
            uncertainty = widened_band(evidence, learnt, mass, prior.basis, prior.joined)
        return Distribution(
            channel.domain,
            mass,
            reports=tally.total,
            guarantee=channel.guarantee,
            uncertainty=uncertainty,
            made=decoder_document(self),
        )


class _Prior:
    """What is the same in all passes: the basis on the cells that touch."""

    def __init__(self, channel: Channel) -> None:
        domain = channel.domain
        neighbours = Neighbours.of(domain)
        self.size = domain.size
        self.circular = domain.circular
        self.joined = neighbours.joined
        self.width = neighbours.width[self.joined]
        self.basis = Basis.of(self.joined.size, circular=domain.circular)

    def smoothed_density(self, mass: Vector) -> Vector:
        """Return the density of the joined cells about 5 cells wide, mean 1, at least 0.02."""
        from scipy.ndimage import gaussian_filter1d  # slow to import

        # When all mass is in atoms nothing is here: a flat density then.
        density = np.maximum(mass[self.joined], 1e-300) / self.width
        mode = "wrap" if self.circular else "reflect"
        smooth: Vector = gaussian_filter1d(density / density.mean(), 5, mode=mode)
        return np.maximum(smooth, 0.02)

    def columns(self, scale: Vector) -> Matrix:
        """Return the basis as masses of all symbols, scaled, each column with sum zero."""
        columns = np.zeros((self.size, self.basis.frequency.size))
        cells = self.basis.columns * (scale * self.width / self.size)[:, None]
        columns[self.joined] = cells - cells.mean(axis=0)
        return columns

    def learn(self, information: Matrix, score: Vector, mass: Vector | None) -> LearntPrior:
        """Return the prior that the reports support best; `mass` is the answer so far."""
        uniform = np.full(self.size, 1 / self.size)
        scales = [np.ones(self.joined.size)]
        if mass is not None:
            density = self.smoothed_density(mass)
            scales += [np.sqrt(density), density]
        # With a mean that follows the data the evidence would count them twice.
        pull = score - information @ uniform
        best = None
        for power, scale in enumerate(scales):
            columns = self.columns(scale)
            curvature = columns.T @ information @ columns
            spectrum = averaged_spectrum(curvature, columns.T @ pull, self.basis.frequency)
            if best is None or spectrum.evidence > best[0].evidence:
                best = (spectrum, columns, curvature, power)
        assert best is not None
        spectrum, columns, curvature, power = best
        mean = uniform.copy()
        if power:
            shape = self.smoothed_density(mass) * self.width  # type: ignore[arg-type]
            mean[self.joined] = shape * (self.joined.size / self.size / shape.sum())
        pull = score - information @ mean
        variance = refined(spectrum.variance, curvature, columns.T @ pull, self.basis.half_octave)
        return self._sparse(information, pull, mean, (columns * variance) @ columns.T)

    def _sparse(
        self, information: Matrix, pull: Vector, mean: Vector, spectral: Matrix
    ) -> LearntPrior:
        """Return the prior with spikes and steps whose variances were fitted in turn."""
        single = np.full(self.size, 1e-4)
        apart = np.ones(self.size, dtype=np.bool_)
        apart[self.joined] = False
        single[apart] = _APART
        jump = np.full(self.joined.size - 1, 0.0 if self.circular else 0.02**2)
        root = root_of(information)
        for _ in range(_SWEEPS):
            covariance = LearntPrior(mean, spectral + self._steps(jump), single).covariance
            whitened = whitener(root, covariance)
            residual = pull - whitened.T @ (whitened @ (covariance @ pull))
            expected = np.maximum(np.einsum("ij,ij->j", whitened, whitened), 1e-300)
            update = single * residual**2 / (_SPARSITY * expected)
            single = np.where(apart, _APART, np.clip(update, 1e-16, 9))
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
        rows = _sums_before(whitened[:, self.joined])
        expected = np.maximum(np.einsum("ij,ij->j", rows, rows) / self.size**2, 1e-300)
        updated: Vector = np.clip(jump * pull**2 / (_SPARSITY * expected), 1e-12, 9)
        return updated


def _sums_before(rows: Matrix) -> Matrix:
    """Return sums of the centred rows up to each step between two cells: one column less."""
    sums: Matrix = np.cumsum(rows - rows.mean(axis=-1, keepdims=True), axis=-1)[..., :-1]
    return sums
