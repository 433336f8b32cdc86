"""The spectral prior on large domains: a few waves and the blocks that stand out of them.

A density of thousands of bins is smooth but for a few places. So its masses are written with 192
waves and with atoms, mass on one cell or on a block of up to 16, found one after the other where
the reports ask for them. All matrices are [size, columns] or smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.empirical_bayes.block_atoms import Atoms, BlockSearch
from lapwing.decoders.empirical_bayes.low_rank_posterior import (
    Columns,
    Likelihood,
    ReducedPosterior,
)
from lapwing.decoders.empirical_bayes.spectrum import Spectrum, averaged_spectrum, refined
from lapwing.decoders.empirical_bayes.wave_basis import FREE, ScaledBasis
from lapwing.linear.arrays import Vector, Whole
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import Counts

Members = NDArray[np.bool_]

WAVES = 192
"""Frequencies kept. With 128 the error is the same within 2 % on most data."""

BLUR = 5 / 256
"""Width of the filter that makes an answer a local density, as a part of the domain."""

_SMOOTH = 0.9
"""Amplitude of the smooth spectrum, `_SMOOTH * frequency^-1.5`, under which heavy atoms show."""

_HEAVY = 12.0
"""How strong a single cell must be to be tried as a heavy atom, in squared deviations."""

_MOST_HEAVY = 8

_ROUNDS, _A_ROUND, _MOST = 6, 24, 160
"""Searches for atoms in a pass, the most that each may add, and the most in all."""

_WEAK, _WEAK_AT_LAST, _WEAK_HEAVY = 2.0, 3.0, 6.0
"""Squared deviations below which an atom that was added is dropped again."""


@dataclass(frozen=True, eq=False)
class Model:
    """Columns with their prior variances: waves, symbols that stand apart, then atoms.

    Parameters
    ----------
    columns : Columns
    waves : numpy.ndarray
        float64 [waves]: the spectrum.
    apart : int
        Number of symbols that stand apart.
    atoms : Atoms
    """

    columns: Columns
    waves: Vector
    apart: int
    atoms: Atoms

    @property
    def variance(self) -> Vector:
        """Prior variances of all amplitudes: float64 [columns]."""
        return np.concatenate([self.waves, self.others])

    @property
    def others(self) -> Vector:
        """Prior variances of what is not a wave."""
        return np.concatenate([np.full(self.apart, FREE), self.atoms.variance])

    def posterior(self, pull: Vector) -> ReducedPosterior:
        """Return the posterior, given the score at the prior mean."""
        return ReducedPosterior.of(self.columns, pull, self.variance)

    def spectrum(self, pull: Vector, frequency: Vector) -> Spectrum:
        """Return the spectrum of the waves that the reports support, the rest as it is."""
        columns = self.columns
        return averaged_spectrum(
            columns.information, columns.value.T @ pull, frequency, self.others
        )

    def refined(self, pull: Vector, half_octave: Whole) -> Model:
        """Return the model with its spectrum adapted by half-octaves."""
        columns = self.columns
        waves = refined(
            self.waves, columns.information, columns.value.T @ pull, half_octave, self.others
        )
        return replace(self, waves=waves)

    def extended(self, atoms: Atoms, likelihood: Likelihood, allowed: Members) -> Model:
        """Return the model with more atoms."""
        more = Columns.of(atoms.columns(allowed), likelihood)
        return replace(self, columns=self.columns.joined(more), atoms=self.atoms.joined(atoms))

    def refitted(self, pull: Vector, *, weak: float) -> Model:
        """Return the model with new variances of its atoms, and without the weak ones.

        The variance that makes an amplitude most probable, given how much of it the reports
        determine: a fixed-point step.

        Parameters
        ----------
        pull : numpy.ndarray
            float64 [size].
        weak : float
            Squared amplitude, in posterior variances, below which an atom is dropped.
        """
        fixed = self.waves.size + self.apart
        posterior = self.posterior(pull)
        amplitude = posterior.amplitude[fixed:]
        spread = posterior.variance()[fixed:]
        determined = np.maximum(1 - spread / self.atoms.variance, 1e-3)
        variance = np.clip(amplitude**2 / determined, 1e-16, 9)
        keep = amplitude**2 >= weak * spread
        return Model(
            self.columns.kept(np.concatenate([np.ones(fixed, dtype=np.bool_), keep])),
            self.waves,
            self.apart,
            replace(self.atoms, variance=variance).kept(keep),
        )


@dataclass(frozen=True, eq=False)
class ReducedAnswer:
    """A decoded distribution with what a band needs to know.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size], the distribution.
    likelihood : Likelihood
        At the last pilot.
    pilot, mean : numpy.ndarray
        float64 [size]: that pilot, and the prior mean.
    model : Model
        The learnt prior: columns of masses with variances of their amplitudes.
    """

    mass: Vector
    likelihood: Likelihood
    pilot: Vector
    mean: Vector
    model: Model


def reduced_answer(
    channel: Channel, tally: Counts, scaled: ScaledBasis, *, passes: int
) -> ReducedAnswer:
    """Return the posterior's nearest distribution under a prior of waves and atoms.

    Parameters
    ----------
    channel : Channel
    tally : Counts
    scaled : ScaledBasis
        :data:`WAVES` waves on the domain of the channel.
    passes : int
        Times the likelihood is linearised, at least 1.

    Notes
    -----
    O(size * columns^2) time with about 200 columns, O(size * columns) memory. Blocks whose
    operator has no structure add O(outputs * size).
    """
    size = channel.domain.size
    answer: Vector | None = None
    for _ in range(passes):
        pilot = np.full(size, 1 / size) if answer is None else 0.95 * answer + 0.05 / size
        likelihood = Likelihood.of(channel, tally, pilot)
        model, mean, pull = _learnt(scaled, likelihood, answer)
        answer = model.posterior(pull).distribution(mean)
    assert answer is not None
    return ReducedAnswer(answer, likelihood, pilot, mean, model)


def _learnt(
    scaled: ScaledBasis, likelihood: Likelihood, answer: Vector | None
) -> tuple[Model, Vector, Vector]:
    """Return the prior that the reports support best, its mean, and the score there."""
    allowed = ~scaled.apart
    search = BlockSearch(likelihood, allowed)
    mean = np.full(scaled.size, 1 / scaled.size)
    # With a mean that follows the data the evidence would count them twice.
    neutral = likelihood.score - search.flat
    model, power = _best_scale(scaled, likelihood, neutral, answer)
    pull = neutral
    if answer is not None and power:
        mean = scaled.mean(answer)
        pull = likelihood.score - likelihood.curved(mean)
    model = _with_heavy_atoms(model, scaled, search, pull, neutral)
    model = model.refined(pull, scaled.basis.half_octave)
    for _ in range(_ROUNDS):
        candidates = search.candidates(model.posterior(pull), pull)
        # What the strongest of so many would be by chance alone.
        least = 2 * float(np.log(candidates.pull.size))
        most = min(_A_ROUND, _MOST - model.atoms.count)
        found = candidates.standing_out(least=least, most=most, known=model.atoms)
        if found.count:
            model = model.extended(found, likelihood, allowed)
        number = model.atoms.count
        model = model.refitted(pull, weak=_WEAK)
        if not found.count and model.atoms.count == number:
            break
    model = model.refitted(pull, weak=_WEAK_AT_LAST)
    return model.refined(pull, scaled.basis.half_octave), mean, pull


def _best_scale(
    scaled: ScaledBasis, likelihood: Likelihood, neutral: Vector, answer: Vector | None
) -> tuple[Model, int]:
    """Return the waves with the scale of most evidence, and the power of that scale."""
    frequency = scaled.basis.frequency
    places = np.flatnonzero(scaled.apart)
    apart = np.full((scaled.size, places.size), -1 / scaled.size)
    apart[places, np.arange(places.size)] += 1
    best: tuple[float, Model, int] | None = None
    for power, scale in enumerate(scaled.scales(answer)):
        columns = Columns.of(np.hstack([scaled.columns(scale), apart]), likelihood)
        model = Model(columns, np.zeros(frequency.size), places.size, Atoms.none())
        spectrum = model.spectrum(neutral, frequency)
        if best is None or spectrum.evidence > best[0]:
            best = (spectrum.evidence, replace(model, waves=spectrum.variance), power)
    assert best is not None
    return best[1], best[2]


def _with_heavy_atoms(
    model: Model, scaled: ScaledBasis, search: BlockSearch, pull: Vector, neutral: Vector
) -> Model:
    """Return the model with single cells of much mass, if the evidence is for them.

    A spectrum that was fitted to such a cell is rough and hides it. So cells are looked for
    under a smooth one, and kept when together they beat the best spectrum without them by the
    price of naming them, the logarithm of the size each.
    """
    frequency = scaled.basis.frequency
    smooth = replace(model, waves=_SMOOTH**2 * frequency**-3)
    heavy = search.heavy(smooth.posterior(pull), pull, least=_HEAVY, most=_MOST_HEAVY)
    if not heavy.count:
        return model
    tried = smooth.extended(heavy, search.likelihood, search.allowed)
    for _ in range(5):
        tried = tried.refitted(pull, weak=_WEAK_HEAVY)
    spectrum = tried.spectrum(neutral, frequency)
    gained = spectrum.evidence - model.spectrum(neutral, frequency).evidence
    if gained <= tried.atoms.count * np.log(scaled.size):
        return model
    return replace(tried, waves=spectrum.variance)
