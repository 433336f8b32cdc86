"""Spectral pursuit: the default decoder of a released distribution function.

Step pursuit finds the jumps of a release and how smooth the rest is. Its answer is where the
spectral prior of the local model (`empirical_bayes/dense_model.py`) begins, with waves of the
density and of its logarithm, spikes and steps, and polynomials (`polynomial_prior.py`). Both
estimate the law that people were drawn from; their mean is nearer to it than either. What the
release shows beyond that law is then shared between the draw of these people and the noise
(`released_masses.py`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.empirical_bayes.cell_band import carried_back
from lapwing.decoders.empirical_bayes.cells import Cells
from lapwing.decoders.empirical_bayes.dense_model import WholeAnswer, learned_answer
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.empirical_bayes.widened_band import (
    METHOD,
    always_allowed,
    widened_band,
    widened_posteriors,
)
from lapwing.decoders.releases.equal_runs import equal_runs
from lapwing.decoders.releases.polynomial_prior import polynomials
from lapwing.decoders.releases.prefix_estimate import noise_tails, prefix_estimate, spikes_of
from lapwing.decoders.releases.released_masses import (
    ReleasedMasses,
    inner_information,
    people_given,
)
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import Uncertainty, Variants

MOST_CELLS = 512


@dataclass(frozen=True)
class SpectralPursuit:
    """Average step pursuit and the spectral prior, and find these people's distribution beside it.

    Parameters
    ----------
    target : {"people", "population"}
        Whose distribution is estimated: that of the people in the release, or the one they were
        drawn from, which is smoother.
    passes : int
        Times the prior is learned, in 1..5.
    cells : int
        Cells whose masses the prior is learned for, in 8..512; a domain of up to half as many more
        symbols has a cell for each.
    band : bool
        False: no band is computed.

    Accuracy
    --------
    See `benchmarks/accuracy`: of the same releases it is nearer to the people than step pursuit.

    Privacy
    -------
    It sees the release only, so it costs nothing.

    Cost
    ----
    O(cells^3), and O(symbols log symbols) for each of them: 0.3 s at 256 symbols and 0.4 s at
    1024, of which the band is a quarter.

    Notes
    -----
    The release's likelihood is exact. Above 384 symbols the prior is learned for 256 cells, whose
    masses are spread as step pursuit has them; the people's distribution is found at all symbols.
    So within a cell only jumps are found; columns of whole numbers have theirs at every symbol.

    Beside waves of the density and of its logarithm the prior has polynomials of both, weighed by
    evidence: at small epsilon a density that ends with a slope is nearer by a tenth. A circle has
    none.

    The band is that of the posterior under a widened prior, as in the local model.

    Source: own; the prior as :class:`SpectralPrior`, the jumps as :class:`StepPursuit`.
    """

    _: KW_ONLY
    target: Literal["people", "population"] = "people"
    passes: int = 2
    cells: int = 256
    band: bool = True

    name: ClassVar[str] = "spectral-pursuit"
    reads: ClassVar[Kind] = "release"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if self.target not in ("people", "population"):
            raise ArgumentError(f"target must be 'people' or 'population', got {self.target!r}")
        if isinstance(self.passes, bool) or self.passes not in range(1, 6):
            raise ArgumentError(f"passes must be in 1..5, got {self.passes}")
        check_whole_field(self, "cells", low=8, high=MOST_CELLS)

    @one_thread
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution, with the bands of the posterior.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not one linear release, or its strategy cannot be inverted.
        """
        pursued = StepPursuit(band=False).decode(channel, release)
        people = pursued.reports
        held = channel.domain.left.size
        most = held if 2 * held <= 3 * self.cells else self.cells
        basis, cells = equal_runs(channel.domain, pursued.mass, most=most)
        said = ReleasedMasses.of(channel, release, cells, people)
        learned = learned_answer(
            said.near,
            basis,
            reports=people,
            passes=self.passes,
            start=cells.total(pursued.mass),
            further=polynomials,
        )
        population = (pursued.mass + cells.share * learned.mass[cells.cell]) / 2
        mass = population
        if self.target == "people":
            shown = people_given(channel.blocks[0], release, population, people)
            mass = _distribution(shown, population, held)
        uncertainty = None
        if self.band:
            tails = noise_tails(release)
            tails *= spikes_of(prefix_estimate(channel, release).root) if tails else 0.0
            uncertainty = _with_tails(_uncertainty(channel, learned, basis, cells), tails)
        provenance = decoder_document(self) | {"jumps": pursued.provenance["jumps"]}
        return Distribution(
            channel.domain,
            mass,
            reports=people,
            guarantee=channel.guarantee,
            uncertainty=uncertainty,
            provenance=provenance,
        )


def _distribution(masses: Vector, population: Vector, held: int) -> Vector:
    """Return the distribution whose curve is nearest to that of masses, some of them negative."""
    from scipy.optimize import isotonic_regression  # slow to import

    curve = isotonic_regression(np.cumsum(masses)).x
    mass = np.maximum(np.diff(np.clip(curve, 0.0, 1.0), prepend=0.0), 0.0)
    # Nobody is missing where the law has nobody missing.
    mass[held:][population[held:] == 0] = 0.0
    found: Vector = mass / mass.sum()
    return found


def _with_tails(uncertainty: Uncertainty, tails: float) -> Uncertainty:
    """Return an error law and all its variants with errors of this excess kurtosis.

    That of the unbiased sums: a posterior mean rests on no fewer answers, so it has no more.
    """
    variants = uncertainty.variants.listed()
    changed = Variants(**{name: replace(one, tails=tails) for name, one in variants.items()})
    return replace(uncertainty, tails=tails, variants=changed)


def _uncertainty(
    channel: Channel, learned: WholeAnswer, basis: ScaledBasis, cells: Cells
) -> Uncertainty:
    """Return the error law of the posterior, carried from the cells to their symbols."""
    waves, local = always_allowed(learned.mass, basis)
    single = local / local.size
    floor = waves @ waves.T + np.diag(single)
    if cells.cell.size == basis.size:
        return widened_band(learned.evidence, learned.prior, floor)
    pilot, people = learned.evidence.pilot, learned.evidence.reports
    inner = inner_information(channel, cells, people)
    laws = {}
    for one in widened_posteriors(learned.evidence, learned.prior, floor):
        bridge = 1 / (1 / (one.floor * single) + inner)
        if one.name.startswith("population"):
            bridge += pilot / people
        law, remainder = carried_back(one, cells, bridge)
        plug_in = law.spread.over_symbols(pilot)
        laws[one.name] = Uncertainty.spread(law, remainder, plug_in, people, METHOD)
    return replace(laws.pop("empirical_pointwise"), variants=Variants(**laws))
