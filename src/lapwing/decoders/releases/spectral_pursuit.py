"""Spectral pursuit: the default decoder for a released distribution function.

Step pursuit finds the jumps of a release and how smooth the rest is. The spectral prior of the
local model (`empirical_bayes/dense_model.py`) starts from its answer. It has waves of the density
and of its logarithm, spikes and steps, and polynomials. Both methods estimate the distribution
from which people were drawn, and their mean is nearer to it than either. The deviation of the
release from that distribution is then divided between the sampling of these people and the noise.

The noise of a release is known exactly. So its log-likelihood for the people is a parabola
everywhere, not only near a pilot estimate. For the population, the sampling of people is added to
the noise. The bins of large domains are first grouped into cells, whose masses are spread as in a
pilot estimate.

A cosine is flat at both ends. A density that falls steeply to an end, or has a slope there, needs
many cosines and few polynomials. Where noise is strong, only a few terms can be learned. The
spectral prior weights these candidates against its waves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from typing import Annotated, ClassVar, Literal

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from lapwing.declared import Declared, From
from lapwing.decoders.decoder import Decoder, decoder_document, required
from lapwing.decoders.empirical_bayes.coarse_model import Cells
from lapwing.decoders.empirical_bayes.dense_model import (
    Candidate,
    WholeAnswer,
    baseline,
    learned_answer,
    log_density,
)
from lapwing.decoders.empirical_bayes.gaussian_model import (
    Basis,
    ScaledBasis,
    Spectrum,
    evidence_of,
)
from lapwing.decoders.empirical_bayes.spectral_prior import (
    METHOD,
    always_allowed,
    carried_back,
    widened_band,
    widened_posteriors,
)
from lapwing.decoders.releases.fine_band import FINE, FineLikelihood, fine_band
from lapwing.decoders.releases.prefix_estimate import (
    in_whole_people,
    prefix_estimate,
    spikes_of,
    sums_tails,
)
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.docstrings import inherits
from lapwing.linear.arrays import Matrix, Vector, one_thread
from lapwing.linear.function_families import legendre
from lapwing.linear.operators.operator import Stacked, as_operator
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.steps import KEY
from lapwing.results.uncertainty import Uncertainty, Variants

_CLOSE = 1e-6

_STEP_LIMIT = 20_000
"""Some tens of steps are enough at epsilon 1, and 2,000 for ten million people at epsilon 16."""

_LOOSE = 1e-4
"""Variance of a known total, in units of that of a count of so many."""


@dataclass(frozen=True, eq=False)
class ReleasedMasses:
    """Independent unit Gaussian errors: ``z = R x + e`` for the people's masses x of cells.

    root: R, float64 [rows, cells], with at most as many rows as cells.
    answers: z, float64 [rows].
    people: Number of people of whom the masses are shares.
    hidden: Whether that number is an estimate. Then the total of the masses need not be one, and
        what the release shows of it is not used.
    """

    root: Matrix
    answers: Vector
    people: int
    hidden: bool

    @classmethod
    def of(
        cls, block: Block, answers: Vector, cells: Cells, people: int, *, hidden: bool
    ) -> ReleasedMasses:
        """Return that of a block with additive noise.

        answers: float64 [answers], noisy.
        cells: How the mass of each lies on the symbols.

        One product of the operator with as many columns as cells, and O(answers * cells^2).
        """
        deviation = np.sqrt(noise_of(block))
        seen = block.operator.matmat(cells.spread())
        seen *= people / deviation
        # The last column of the root is what the others see of the answers.
        both = np.column_stack([seen, answers / deviation])
        root, told = np.split(np.linalg.qr(both, mode="r")[: seen.shape[1]], [-1], axis=1)
        return cls(root, told[:, 0], people, hidden)

    def near(self, pilot: Vector) -> tuple[Matrix, Vector]:
        """Return H and s about the population, sampled by the distribution of the pilot.

        With D the covariance of the sampling, ``H = R' (I + R D R')^-1 R``, and the same of z. The
        total varies by as much as itself where it is hidden, because nothing is known of it. A
        known total keeps a hundredth of the sampling's standard deviation. In the end the posterior
        is taken at a total of one. Information without bounds would drown all other in its
        rounding.
        """
        # D is diagonal but for the total.
        through, along = self.root * np.sqrt(pilot / self.people), self.root @ pilot
        total = (1.0 if self.hidden else 0.0) - (1 - _LOOSE) / self.people
        system = through @ through.T + np.outer(total * along, along)
        system[np.diag_indices_from(system)] += 1
        factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        both = np.column_stack([self.root, self.answers])
        whitened = solve_triangular(factor, both, lower=True, check_finite=False)
        seen, told = whitened[:, :-1], whitened[:, -1]
        return seen.T @ seen, seen.T @ told


@dataclass(frozen=True, eq=False)
class LinearAnswers:
    """Weighted sums of the people in a release, with independent noise of their own.

    weights: Weight of each symbol, float64 [answers, symbols]: the middle of those of its people.
    spread: How far those of its people are from it at most, float64 [answers, symbols].
    answers: Noisy sums, float64 [answers].
    variances: Of their noise, float64 [answers].
    """

    weights: Matrix
    spread: Matrix
    answers: Vector
    variances: Vector

    def beside(
        self, block: Block, answers: Vector, mass: Vector, people: int
    ) -> tuple[Block, Vector]:
        """Return a block that also has these answers, all of them with its noise, and all answers.

        answers: Those of the block, float64 [answers].
        mass: A distribution near that of the people, float64 [symbols]. Differences between the
            people of a symbol count as noise.
        """
        law = required(block.law, AdditiveNoise, "a release with added noise is needed")
        unknown = people * (self.spread @ mass)
        scale = np.sqrt(law.variance / (self.variances + unknown**2))
        more = as_operator(self.weights * scale[:, None])
        both = Stacked([block.operator, more])
        return Block(both, law), np.concatenate([answers, self.answers * scale])


def noise_of(block: Block) -> float:
    """Return the variance of the noise in each answer, or raise UnsupportedChannelError."""
    # Of several rounds the answers are combined, and so is their noise.
    refusal = "a release with added noise is needed. Reports are decoded by the spectral prior"
    return required(block.law, AdditiveNoise, refusal).variance


def inner_information(block: Block, cells: Cells, people: int) -> Vector:
    """Return what a release says about mass that moves between the halves of each cell.

    See :meth:`Cells.inner_information`: float64 [cells].
    """
    halves = np.where(cells.along() - cells.share / 2 < 0.5, 1.0, -1.0)
    seen = block.operator.matmat(cells.spread() * halves[:, None])
    told: Vector = (seen**2).sum(axis=0) * (people**2 / noise_of(block))
    return told


def people_given(
    block: Block, answers: Vector, population: Vector, people: int, *, hidden: bool
) -> Vector:
    """Return the mean of the people's masses, given the distribution from which they were drawn.

    It is ``m + D A' (A D A' + V)^-1 (y - A m)``, with D the covariance of the sampling and V that
    of the noise. So the deviation of the release from the distribution is divided between the two.
    Some masses may be negative, and they sum to one.

    block: Block of the release's channel.
    answers: Its noisy answers, float64 [answers].
    population: Distribution m, float64 [symbols].
    people: Number of people.
    hidden: Whether that is an estimate. Their true number is then left free.

    It uses conjugate gradients, O(symbols log symbols) a step for prefix sums. Some tens of steps
    are enough, or thousands where there is hardly any noise. So nothing of the size [symbols,
    symbols] is held.
    """
    operator, variance = block.operator, noise_of(block)
    # The total varies by as much as itself where it is not known, and not at all where it is.
    total = float(people) if hidden else 0.0

    def drawn(masses: Vector) -> Vector:
        found: Vector = population * (masses + (total - 1) * float(population @ masses))
        return found

    def system(answers: Vector) -> Vector:
        along: Vector = operator.matvec(drawn(operator.rmatvec(answers)))
        return along * (people / variance) + answers

    residual = answers - people * operator.matvec(population)
    found = population + drawn(operator.rmatvec(_solved(system, residual))) / variance
    masses: Vector = found / found.sum()
    return masses


def _solved(system: Callable[[Vector], Vector], right: Vector) -> Vector:
    """Return x with ``system(x) = right``, for a positive symmetric system, to 1e-6 of the right.

    Conjugate gradients (Hestenes and Stiefel 1952).
    """
    solution = np.zeros(right.size)
    residual = right
    square = float(residual @ residual)
    enough = _CLOSE**2 * square
    direction = residual
    for _ in range(_STEP_LIMIT):
        if square <= enough:
            break
        moved = system(direction)
        step = square / float(direction @ moved)
        solution = solution + step * direction
        residual = residual - step * moved
        before, square = square, float(residual @ residual)
        direction = residual + (square / before) * direction
    return solution


_BLUR = 5.0
"""Standard deviation, in runs, of the filter that makes an answer a local density."""


def equal_runs(domain: Domain, mass: Vector, *, most: int) -> tuple[ScaledBasis, Cells]:
    """Return the waves of runs of bins that touch, each other bin alone, and these cells.

    domain: Ordered domain. Another one raises UnsupportedChannelError.
    mass: Distribution as which the mass of a cell is spread over its bins, float64 [symbols]. Every
        bin keeps a twentieth of an even share.
    most: Most runs, at least 2. A domain of no more bins that touch is left as it is.
    """
    size = domain.size
    basis = ScaledBasis(domain)
    touching = basis.joined
    runs = min(most, touching.size)
    first = touching[np.arange(runs) * touching.size // runs]
    (alone,) = np.nonzero(basis.apart)
    ends = np.concatenate([first, alone, alone + 1])
    start = np.unique(ends[ends < size])
    if start.size < size:
        together = start.size - int(basis.apart[start].sum())
        basis = basis.merged(start, width=1, blur=_BLUR / together)
    cell = np.repeat(np.arange(start.size), np.diff(np.append(start, size)))
    held = 0.95 * mass + 0.05 / size
    return basis, Cells(start, cell, held / np.add.reduceat(held, start)[cell])


DEGREES = 32
"""Highest degree of a polynomial. Narrower features are left to waves and spikes."""

LEVELS, STEEPER = (0.3, 1.0, 3.0), 9.0
"""Standard deviations of the first amplitudes, and one more for those of a logarithm."""

CORNERS, DECAYS = (2.0, 4.0, 8.0, 12.0, 16.0), (2.0, 4.0, 8.0)
"""Degree from which amplitudes fall, and how fast: ``(1 + (degree / corner)^2)^-decay``."""

AHEAD = 6.0
"""Log-odds of polynomials against waves before anything is seen."""
# Waves are scaled by the answer so far, which the evidence for them counts again. On made-up
# columns at epsilon 0.1 that is worth as much. Without it polynomials had little weight where their
# answer is a tenth nearer.


def polynomials(
    information: Matrix, score: Vector, scaled: ScaledBasis, mass: Vector | None
) -> list[Candidate]:
    """Return smooth shapes that are polynomials, with the reports' evidence for each.

    They are polynomials of the density, and the same scaled by its root where there is an answer so
    far. There are also polynomials of the logarithm, of which a Gaussian density has degree 2. A
    circle has none.

    information, score: Quadratic likelihood: float64 [size, size] and [size].
    scaled: Waves of the bins.
    mass: The answer so far, float64 [size].

    It takes O(size^2) for each degree.
    """
    if scaled.circular:
        return []
    shaped = scaled.on(polynomial_basis(scaled.width))
    uniform = scaled.uniform
    at_uniform = score - information @ uniform
    zero = baseline(information, score, uniform)
    scales = [np.ones(scaled.joined.size)]
    if mass is not None:
        density = scaled.density(mass)
        scales.append(np.sqrt(density))
    found = []
    for scale in scales:
        columns = shaped.columns(scale)
        curvature = columns.T @ information @ columns
        spectrum = falling(curvature, columns.T @ at_uniform, shaped.basis.frequency)
        evidence = spectrum.evidence + zero + AHEAD
        found.append(Candidate(uniform, columns, spectrum, evidence, settled=True))
    if mass is not None:
        variance = _falling_from(STEEPER / 3, 4.0, 2.0, shaped.basis.frequency)
        shape = density / density.mean()
        one = log_density(information, score, shaped, shape, variance, learn=_steeper)
        evidence = one.evidence + AHEAD
        found.append(Candidate(one.mean, one.columns, one.spectrum, evidence, settled=True))
    return found


def polynomial_basis(width: Vector) -> Basis:
    """Return Legendre polynomials at the middles of cells, from degree 1, of unit mean square.

    width: float64 [cells], of any total.
    """
    place = (np.cumsum(width) - width / 2) / width.sum()
    degrees = min(DEGREES, width.size - 1)
    # On [-1, 1] an orthonormal polynomial has a mean square of 1/2.
    columns = np.sqrt(2) * legendre(degrees + 1, 2 * place - 1)[1:].T
    return Basis(columns, np.arange(1.0, degrees + 1))


def falling(
    information: Matrix, score: Vector, degree: Vector, *, levels: tuple[float, ...] = LEVELS
) -> Spectrum:
    """Return variances that fall with the degree, averaged in the logarithm by their evidence.

    information: float64 [degrees, degrees], of the amplitudes.
    score: float64 [degrees], theirs at zero.
    degree: float64 [degrees].
    levels: Standard deviations of the first amplitudes.
    """
    spectra = [_falling_from(*one, degree) for one in product(levels, CORNERS, DECAYS)]
    evidences = np.array([evidence_of(information, score, one) for one in spectra])
    best = float(evidences.max())
    weights = np.exp(evidences - best)
    weights /= weights.sum()
    return Spectrum(np.exp(weights @ np.log(spectra)), best)


def _steeper(information: Matrix, score: Vector, degree: Vector) -> Spectrum:
    return falling(information, score, degree, levels=(*LEVELS, STEEPER))


def _falling_from(level: float, corner: float, decay: float, degree: Vector) -> Vector:
    variance: Vector = level**2 * (1 + (degree / corner) ** 2) ** -decay
    return variance


MOST_CELLS = 512

_FLOOR, _FLOOR_BESIDE = (0.02, 1.0), (3.0, 2.0)
"""Of a band alone, and of one with further answers: least local mass, as a part of a uniform one,
and factor of the variance that is always allowed."""
# The learned prior leaves a thin tail too little room, and a mean depends on the tail. With 300
# people and epsilon 1, bands with a mean held 91% of the points with the first values, over five
# columns, and 95% with the second. They are 25% narrower than those of the curve alone,
# instead of 40% (`accuracy/released_beside_curve`: no larger epsilon, and at most 3,000 people).


@dataclass(frozen=True)
class SpectralPursuit(Declared):
    """Empirical-Bayes CDF from a release: step pursuit averaged with a spectral prior.

    It is the default decoder for a released distribution function.

    Parameters
    ----------
    target : {"people", "population"}
        Distribution to estimate: that of the people in the release, or that of the population from
        which they were drawn, which is smoother. Default: "people".
    passes : int
        Number of times the prior is learned, in 1..5. Default: 2.
    cells : int
        Number of cells whose masses the prior is learned for, in 8..512. A domain of up to 1.5
        times as many bins has a cell for each bin. Default: 256.
    band : bool
        Whether to compute the credible bands. Default: True.

    See Also
    --------
    StepPursuit : Faster, with the exact confidence band of the unbiased sums.

    Notes
    -----
    **Privacy.** A decoder is post-processing of a release, so it costs no privacy.

    **Accuracy.** On the same releases it is nearer to the people's distribution than step pursuit.
    See `benchmarks/accuracy`. The bands are those of the posterior under a widened prior, as in
    the local model.

    **Cost.** O(cells^3), and O(bins log bins) for each cell: 0.2 s from 256 to 1024 bins, 0.3 s at
    4096, and 1 s at 16,383. Up to 384 bins the band takes almost no time. Above that, it takes
    O(bins^3) up to 4,196 bins and O(bins) beyond. With it a decode takes 0.4 s at 1024 bins, 3 s
    and 0.5 GB at 4096, and 1.5 s and 0.4 GB at 16,383. Where hardly any noise is left (ten million
    people at epsilon 16) the estimate takes up to 2 s at 4096.

    The release's likelihood is exact. Above 384 bins the prior is learned for 256 cells, whose
    masses are spread as in step pursuit. The people's distribution and its band are computed for
    all bins. So within a cell only jumps are found. Columns of whole numbers have a jump at every
    bin. Above 4,196 bins the band treats the spread within a cell as known. At epsilon 2 and above
    it is too narrow there. :class:`StepPursuit` has a band without this assumption.

    In addition to waves of the density and of its logarithm, the prior has polynomials of both,
    weighted by evidence. At small epsilon this reduces the error by a tenth on a density that ends
    with a slope. A circle has no polynomials.

    The decoder is this library's own. Its prior is that of :class:`SpectralPrior`, by marginal
    likelihood [1]_ with sparse variances [2]_. Its jumps are those of :class:`StepPursuit`.

    References
    ----------
    .. [1] D. J. C. MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992.
       doi:10.1162/neco.1992.4.3.415
    .. [2] M. E. Tipping, "Sparse Bayesian learning and the relevance vector machine", Journal of
       Machine Learning Research 1, 2001.

    Examples
    --------
    >>> import lapwing as lw
    >>> ages = list(range(20, 60)) * 500  # 52.5% of them at most 40
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=50, outside="clip"), neighbors="replace-one",
    ...     epsilon=1, delta="1e-6", rng=lw.seeded(1),
    ... )
    >>> release = published.release
    >>> round(float(lw.decoders.SpectralPursuit().decode(release.channel, release).cdf(40)), 2)
    0.52
    """

    _: KW_ONLY
    target: Literal["people", "population"] = "people"
    passes: Annotated[int, From(1, 5)] = 2
    cells: Annotated[int, From(8, MOST_CELLS)] = 256
    band: bool = True

    name: ClassVar[str] = "spectral-pursuit"
    reads: ClassVar[Kind] = "release"

    @inherits(Decoder.decode)
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution, with the credible bands of the posterior.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not one linear release, or its strategy cannot be inverted.
        """
        return self.decode_beside(channel, release, None)

    @one_thread
    def decode_beside(
        self, channel: Channel, release: Release, beside: LinearAnswers | None
    ) -> Distribution:
        """Return the distribution from a release and from further answers about the same people.

        Parameters
        ----------
        channel : Channel
            Channel of the release.
        release : Release
            Release of one linear mechanism.
        beside : LinearAnswers or None
            Further answers. None for the release alone.

        Returns
        -------
        Distribution
            Distribution, whose jumps are those of the release alone.
        """
        pursued = StepPursuit(band=False).decode(channel, release)
        people, hidden = pursued.reports, release.people is None
        block, answers = channel.blocks[0], release.blocks[0].astype(np.float64)
        floor = _FLOOR
        if beside is not None:
            floor = _FLOOR_BESIDE
            block, answers = beside.beside(block, answers, pursued.mass, people)
        held = channel.domain.left.size
        most = held if 2 * held <= 3 * self.cells else self.cells
        basis, cells = equal_runs(channel.domain, pursued.mass, most=most)
        said = ReleasedMasses.of(block, answers, cells, people, hidden=hidden)
        learned = learned_answer(
            said.near,
            basis,
            reports=people,
            passes=self.passes,
            start=cells.total(pursued.mass),
            further=polynomials,
        )
        smooth = cells.share * learned.mass[cells.cell]
        stepped = pursued.mass.copy()
        for outside, near in zip(channel.domain.outside_indices, (1, -1), strict=False):
            # A step of the bins goes on outside, where nothing may be; what it put there is theirs.
            excess = stepped[outside] - smooth[outside]
            stepped[outside] = smooth[outside]
            stepped[outside + near] = max(stepped[outside + near] + excess, 0.0)
        population = (stepped + smooth) / (stepped + smooth).sum()
        mass = population
        if self.target == "people":
            shown = people_given(block, answers, population, people, hidden=hidden)
            mass = _distribution(shown, population, held)
        uncertainty = None
        if self.band:
            uncertainty = _with_tails(
                _uncertainty(block, answers, learned, basis, cells, hidden=hidden, floor=floor),
                sums_tails(release, lambda: spikes_of(prefix_estimate(channel, release).root)),
                whole=in_whole_people(release),
            )
        provenance = decoder_document(self) | {
            key: pursued.provenance[key] for key in ("jumps", KEY) if key in pursued.provenance
        }
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


def _with_tails(uncertainty: Uncertainty, tails: float, *, whole: bool) -> Uncertainty:
    """Return an error distribution and all its variants with errors of this excess kurtosis.

    That of the unbiased sums: a posterior mean rests on no fewer answers, so it has no more. About
    the people, errors may be a few whole people.
    """
    changed = {
        name: replace(one, tails=tails, whole=whole and name.startswith("empirical"))
        for name, one in uncertainty.variants.listed().items()
    }
    return replace(uncertainty, tails=tails, whole=whole, variants=Variants(**changed))


def _uncertainty(
    block: Block,
    answers: Vector,
    learned: WholeAnswer,
    basis: ScaledBasis,
    cells: Cells,
    *,
    hidden: bool,
    floor: tuple[float, float],
) -> Uncertainty:
    """Return the error distribution of the posterior, carried from the cells to their symbols."""
    least, factor = floor
    waves, local = always_allowed(learned.mass, basis, least=least)
    waves, single = waves * np.sqrt(factor), local / local.size * factor
    allowed = waves @ waves.T + np.diag(single)
    if cells.cell.size == basis.size:
        return widened_band(learned.evidence, learned.prior, allowed)
    pilot, people = learned.evidence.pilot, learned.evidence.reports
    if cells.cell.size <= FINE:
        likelihood = FineLikelihood.of(
            as_operator(block.operator),
            answers,
            people=people,
            variance=noise_of(block),
            hidden=hidden,
        )
        return fine_band(likelihood, learned, cells, waves, single)
    inner = inner_information(block, cells, people)
    laws = {}
    for one in widened_posteriors(learned.evidence, learned.prior, allowed):
        bridge = 1 / (1 / (one.floor * single) + inner)
        if one.name.startswith("population"):
            bridge += pilot / people
        law, remainder = carried_back(one, cells, bridge)
        plug_in = law.spread.over_symbols(pilot)
        laws[one.name] = Uncertainty.spread(law, remainder, plug_in, people, METHOD)
    return replace(laws.pop("empirical_pointwise"), variants=Variants(**laws))
