"""The spectral prior up to 512 symbols: a dense Gaussian model with spike-and-slab bins.

A pass linearizes the likelihood at the answer so far and learns the prior. It begins with the
smooth part, and then learns the variances of single bins and of steps between neighbors. The answer
is the nearest distribution to the posterior mean (`gaussian_model.py`). The band of the last pass
is drawn in `spectral_prior.py`. Above 512 symbols the last pass is the same on cells
(`coarse_model.py`).

The smooth part is made of waves of the density and of its logarithm, weighed by evidence. A wave of
the density adds to it, by as much anywhere or by more where there are many people. A wave of its
logarithm multiplies: a density that varies by factors and cannot be negative. Near a shape that is
linear in the amplitudes, so a few Newton steps find the shape. The last of them is a normal prior
of the masses like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dlauum, dpotrf, dsygst

from lapwing.decoders.empirical_bayes.gaussian_model import (
    FREE,
    Evidence,
    NormalPrior,
    Posterior,
    ScaledBasis,
    Spectrum,
    averaged_spectrum,
    quadratic_likelihood,
    refined,
)
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally

STEPS = 3
"""Newton steps. The spectrum is learned again in the last."""

_FLOOR = 0.002
"""Least density of a shape, of a mean of 1: below it nobody can tell how empty a cell is."""

_NEIGHBORHOOD = 13
"""Cells, its own included, that a heavy atom is compared with."""

_LEAST_ATOM, _TIMES_USUAL = 0.02, 5.0
"""A heavy atom stands out by this mass, and by so many times what is usual around it."""

_NEGLIGIBLE = 0.02
"""Candidates of less weight are left out."""


def smooth_part(
    information: Matrix,
    score: Vector,
    scaled: ScaledBasis,
    mass: Vector | None,
    further: Further | None = None,
) -> tuple[NormalPrior, Vector]:
    """Return the prior of smooth shapes that the reports support best, and the heavy atoms.

    The atoms, float64 [size], are in the prior's mean but not in its covariance.

    Waves of the density, scaled by a power of the answer so far, and waves of its logarithm are
    weighed by their evidence. The heavy atoms of that answer are set aside before.

    information, score: Of the quadratic likelihood: float64 [size, size] and [size].
    mass: float64 [size], the answer so far. None in the first pass.
    further: Returns further candidates for the same likelihood of the part that is not in heavy
        atoms.
    """
    uniform = scaled.uniform
    heavy = np.zeros(scaled.size) if mass is None else heavy_atoms(mass, scaled)
    # The people are the heavy atoms and this part, a distribution of its own.
    part = 1 - float(heavy.sum())
    inner = part**2 * information
    slope = part * (score - information @ heavy)
    rest = None if mass is None else (mass - heavy) / part
    # With a mean that follows the data the evidence would count them twice.
    at_uniform = slope - inner @ uniform
    zero = baseline(inner, slope, uniform)
    candidates = []
    for mean, columns in scaled.shapes(rest):
        curvature = columns.T @ inner @ columns
        spectrum = averaged_spectrum(curvature, columns.T @ at_uniform, scaled.basis.frequency)
        candidates.append(Candidate(mean, columns, spectrum, spectrum.evidence + zero))
    if rest is not None:
        density = scaled.density(rest)
        shape, variance = density / density.mean(), candidates[-1].spectrum.variance
        candidates.append(log_density(inner, slope, scaled, shape, variance))
    if further is not None:
        candidates += further(inner, slope, scaled, rest)
    mean, covariance = averaged(candidates, inner, slope, scaled.basis.frequency)
    return NormalPrior(part * mean + heavy, part**2 * covariance), heavy


def heavy_atoms(mass: Vector, scaled: ScaledBasis) -> Vector:
    """Return what stands out of an answer in single cells: float64 [size], mostly zero.

    No smooth density has a cell with many times the people of its neighbors. Set aside, it
    neither bends the waves nor makes the spectrum look rougher than the rest is. Half of the
    people at least are left to the waves.

    >>> import numpy as np
    >>> from lapwing.protocol.domains.interval import Interval
    >>> mass = np.full(20, 0.03)
    >>> mass[7] = 0.43
    >>> found = heavy_atoms(mass, ScaledBasis(Interval(0, 1, bins=20)))
    >>> np.flatnonzero(found), round(float(found.sum()), 3)
    (array([7]), 0.4)
    """
    from scipy.ndimage import median_filter

    cells = mass[scaled.joined]
    mode = "wrap" if scaled.circular else "reflect"
    around = median_filter(scaled.of_groups(cells), _NEIGHBORHOOD, mode=mode)
    usual = around[scaled.group] * scaled.width
    excess = cells - usual
    heavy = np.zeros(mass.size)
    out = (excess > _LEAST_ATOM) & (excess > _TIMES_USUAL * usual)
    heavy[scaled.joined] = np.where(out, excess, 0.0)
    return heavy if heavy.sum() <= 0.5 else np.zeros(mass.size)


def baseline(information: Matrix, score: Vector, mean: Vector) -> float:
    """Return the quadratic log-likelihood at a mean, which makes evidences comparable."""
    return float(score @ mean - mean @ information @ mean / 2)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A normal prior of the masses from waves, and the evidence for it.

    mean: float64 [size].
    columns: float64 [size, frequencies]: change of the masses by an amplitude of 1, of sum zero.
    spectrum: Variances of the amplitudes.
    evidence: Logarithm of the probability of the reports, up to a constant that is the same for all
        candidates under one quadratic likelihood, whatever their mean.
    settled: True: the variances are not refined by half-octaves of the frequencies.
    """

    mean: Vector
    columns: Matrix
    spectrum: Spectrum
    evidence: float
    settled: bool = False


Further = Callable[[Matrix, Vector, ScaledBasis, Vector | None], list[Candidate]]
"""From a quadratic likelihood, the waves and the answer so far to candidates of one's own."""


def log_density(
    information: Matrix,
    score: Vector,
    scaled: ScaledBasis,
    shape: Vector,
    variance: Vector,
    *,
    learn: Callable[[Matrix, Vector, Vector], Spectrum] = averaged_spectrum,
) -> Candidate:
    """Return the prior of smooth logarithms that the reports support, near its own answer.

    information, score: Of the quadratic likelihood: float64 [size, size] and [size].
    shape: float64 [joined cells]: positive densities to start from, mean 1.
    variance: float64 [frequencies], of the amplitudes, to start from: waves scaled by the density
        have nearly the same.
    learn: From information, score and frequencies of the amplitudes to their variances.

    The steps may not converge, as at an atom that no smooth logarithm has. Then the evidence of the
    last one is small, and the candidate gets no weight.
    """
    for _ in range(STEPS - 1):
        mean, columns = linearized(scaled, shape)
        curvature = columns.T @ information @ columns
        at_mean = columns.T @ (score - information @ mean)
        shape = _shape(scaled, _amplitudes(curvature, at_mean, variance))
    mean, columns = linearized(scaled, shape)
    curvature = columns.T @ information @ columns
    at_mean = columns.T @ (score - information @ mean)
    spectrum = learn(curvature, at_mean, scaled.basis.frequency)
    evidence = spectrum.evidence + baseline(information, score, mean)
    return Candidate(mean, columns, spectrum, evidence)


def linearized(scaled: ScaledBasis, shape: Vector) -> tuple[Vector, Matrix]:
    """Return mean and columns of the masses whose log-density is a sum of waves, near a shape.

    ``shape (1 + waves z - log shape)``, on the plane of its total. The mean is where all
    amplitudes z are zero: not the shape, but what its tangent says of a uniform density.

    shape: float64 [joined cells], positive densities with mean 1.
    """
    share = scaled.share
    masses = shape * scaled.width
    masses *= share / masses.sum()
    tangent = masses * (1 - np.log(shape))
    mean = scaled.uniform.copy()
    mean[scaled.joined] = tangent + masses * (1 - tangent.sum() / share)
    waves = scaled.basis.columns * masses[:, None]
    columns = np.zeros((scaled.size, waves.shape[1]))
    columns[scaled.joined] = waves - np.outer(masses, waves.sum(axis=0)) / share
    return mean, columns


def _amplitudes(curvature: Matrix, score: Vector, variance: Vector) -> Vector:
    """Return the posterior mean of the amplitudes."""
    root = np.sqrt(variance)
    matrix = curvature * root * root[:, None]
    matrix[np.diag_indices_from(matrix)] += 1
    amplitudes: Vector = root * np.linalg.solve(matrix, root * score)
    return amplitudes


def _shape(scaled: ScaledBasis, amplitudes: Vector) -> Vector:
    logarithm = scaled.basis.columns @ amplitudes
    shape = np.exp(logarithm - logarithm.max())
    shape = np.maximum(shape / shape.mean(), _FLOOR)
    positive: Vector = shape / shape.mean()
    return positive


def averaged(
    candidates: Sequence[Candidate], information: Matrix, score: Vector, frequency: Vector
) -> tuple[Vector, Matrix]:
    """Return mean and covariance of the candidates' mixture, weighed by evidence.

    candidates: Under one quadratic likelihood.
    information, score: That likelihood.
    frequency: float64 [frequencies]: of the amplitudes, whose variances are refined by
        half-octaves.

    The covariance is the mean of the covariances. It leaves out the spread of the mixture's means,
    which are estimates of one shape and not a prior belief.
    """
    evidence = np.array([one.evidence for one in candidates])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    weights[weights < _NEGLIGIBLE] = 0
    weights /= weights.sum()
    size = score.size
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for weight, one in zip(weights, candidates, strict=True):
        if weight:
            variance = one.spectrum.variance
            if not one.settled:
                curvature = one.columns.T @ information @ one.columns
                at_mean = one.columns.T @ (score - information @ one.mean)
                variance = refined(variance, curvature, at_mean, frequency)
            mean += weight * one.mean
            covariance += weight * (one.columns * variance) @ one.columns.T
    return mean, covariance


_SPARSITY = 5.0
"""Squared z-score from which the variance of a step between neighboring bins grows."""

_LEAST = 2.5
"""Least squared z-score from which the variance of a spike in one bin grows."""

_EXPECTED = 0.05
"""Spikes expected in a column before any is seen."""
# The strongest cell of 256 by chance alone is one in fewer than 1 of 100 columns then. Where
# another is sure to be there, one more is expected.

_OUTSIDE_ODDS = 0.7
"""Log prior odds against anybody below, or above, the range."""
# The place is known, so little evidence is needed: nobody outside is as likely as somebody.

_TOTAL = 1.0
"""Prior variance of the total while spikes are learned: anything goes. It is one in the end."""

_SWEEPS, _LAST = 8, 2
"""Times the variances of spikes and steps are fitted, and how often of those to what is likely."""


@dataclass(frozen=True, eq=False)
class WholeAnswer:
    """A decoded distribution with what a band needs to know.

    mass: float64 [size], the distribution.
    evidence: The likelihood of the last pass.
    prior: Prior that was learned from it.
    """

    mass: Vector
    evidence: Evidence
    prior: NormalPrior


def whole_answer(
    channel: Channel, tally: CountTally, scaled: ScaledBasis, *, passes: int
) -> WholeAnswer:
    """Return the posterior's nearest distribution under a prior of waves, spikes and steps.

    scaled: All waves of the domain of the channel.
    passes: Times the likelihood is linearized, at least 1.

    O(size^3) time, O(size^2) memory.
    """
    return learned_answer(
        lambda pilot: quadratic_likelihood(channel, tally, pilot),
        scaled,
        reports=tally.total,
        passes=passes,
    )


def learned_answer(
    near: Callable[[Vector], tuple[Matrix, Vector]],
    scaled: ScaledBasis,
    *,
    reports: int,
    passes: int,
    start: Vector | None = None,
    further: Further | None = None,
) -> WholeAnswer:
    """Return the same for any quadratic likelihood of the masses.

    near: ``near(pilot)`` returns what :func:`quadratic_likelihood` does.
    scaled: All waves of the domain of the masses.
    reports: People whom the masses are shares of.
    passes: At least 1.
    start: float64 [size], a first answer. Without one the first pass has none.
    further: Smooth shapes alongside the waves: see :func:`smooth_part`.
    """
    answer = start
    doubtful = np.zeros(scaled.size)
    for _ in range(passes):
        pilot = pilot_of(scaled.uniform if answer is None else answer, scaled.uniform)
        evidence = Evidence(*near(pilot), pilot, reports)
        found = one_pass(evidence, scaled, answer, further)
        answer = found.mass
        # A spike that one pass saw may be hidden in the next by waves that follow the answer.
        if found.prior.doubtful is not None:
            doubtful = np.maximum(doubtful, found.prior.doubtful)
    return replace(found, prior=replace(found.prior, doubtful=doubtful))


def pilot_of(answer: Vector, uniform: Vector) -> Vector:
    """Return where the likelihood is linearized next: an answer that is nowhere empty."""
    return 0.95 * answer + 0.05 * uniform


def one_pass(
    evidence: Evidence, scaled: ScaledBasis, before: Vector | None, further: Further | None = None
) -> WholeAnswer:
    """Return the answer to one quadratic likelihood: a pass.

    before: float64 [size], the answer of the pass before.
    further: See :func:`learned_answer`.
    """
    information, score = evidence.information, evidence.score
    prior = learned_prior(information, score, scaled, before, further)
    posterior = Posterior.of(information, score, prior.mean, prior.covariance)
    return WholeAnswer(posterior.distribution(scaled.line), evidence, prior)


def learned_prior(
    information: Matrix,
    score: Vector,
    scaled: ScaledBasis,
    answer: Vector | None,
    further: Further | None = None,
) -> NormalPrior:
    """Return the prior that a quadratic likelihood supports best, of waves, spikes and steps.

    information, score: Of the quadratic likelihood: float64 [size, size] and [size].
    answer: float64 [size], the answer so far.
    further: See :func:`learned_answer`.
    """
    apart = apart_columns(scaled, answer)
    inner, slope = marginal(information, score, apart)
    smooth, heavy = smooth_part(inner, slope, scaled, answer, further)
    free = apart
    if scaled.outside.any():  # they are spikes: learned, not free
        free = apart[:, ~scaled.outside[scaled.apart]]
        inner, slope = marginal(information, score, free)
    prior = _with_spikes_and_steps(smooth, heavy, inner, slope, scaled)
    return replace(prior, covariance=prior.covariance + FREE * free @ free.T)


def apart_columns(scaled: ScaledBasis, answer: Vector | None) -> Matrix:
    """Return what a unit at each symbol that stands apart adds: float64 [size, symbols apart].

    It is taken from the others by their shares, so that their shape stays what it was. If nothing
    were taken, only waves and spikes could make room for it, and they are small: atoms were shrunk
    to a fraction then.

    answer: float64 [size], the answer so far. Shares are even without one.
    """
    return scaled.taken_from(scaled.uniform if answer is None else scaled.mean_of(answer))


def marginal(information: Matrix, score: Vector, free: Matrix) -> tuple[Matrix, Vector]:
    """Return the quadratic likelihood of the masses without their part along free columns.

    Amplitudes of those are integrated out under their prior, so that neither waves nor spikes
    are learned from what a symbol that stands apart explains.

    information, score: Of the quadratic likelihood: float64 [size, size] and [size].
    free: float64 [size, columns], each with a prior variance of `FREE`.
    """
    if not free.shape[1]:
        return information, score
    curved = information @ free
    system = free.T @ curved
    system[np.diag_indices_from(system)] += 1 / FREE
    explained = np.linalg.solve(system, curved.T)
    left = information - curved @ explained
    return (left + left.T) / 2, score - explained.T @ (free.T @ score)


def _with_spikes_and_steps(
    smooth: NormalPrior, heavy: Vector, information: Matrix, score: Vector, scaled: ScaledBasis
) -> NormalPrior:
    """Return the prior with spikes and steps whose variances were fitted in turn.

    Heavy atoms keep a variance of their square, so nothing pulls them to what they were thought to
    be. The total is free, so that the mass of a spike is taken from all others by their shares.
    Otherwise only other spikes could make room for it, and smooth densities got spikes and holes
    while atoms were shrunk.
    """
    known = heavy**2
    single = np.where(known > 0, known, 1e-4)
    free = scaled.apart & ~scaled.outside  # free in the whole prior, and integrated out here
    single[free] = 0
    at_mean = score - information @ smooth.mean
    jump = np.full(scaled.joined.size - 1, 0.0 if scaled.circular else 0.02**2)
    with_total = smooth.covariance + _TOTAL * np.outer(smooth.mean, smooth.mean)
    reports = Whitener.of(information, with_total, scaled)
    along = with_total @ at_mean
    for sweep in range(_SWEEPS):
        whitened = reports.whitened(jump, single)
        moved = along + single * at_mean + _stepped(jump * _at_steps(at_mean, scaled), scaled)
        residual = at_mean - whitened.T @ (whitened @ moved)
        expected = np.maximum(np.einsum("ij,ij->j", whitened, whitened), 1e-300)
        determined = np.minimum(single * expected, 1 - 1e-9)
        strength = residual**2 / expected
        if sweep < _SWEEPS - _LAST:
            # A spike that the reports determine is there in one step. What fades is squared: in as
            # many sweeps it would be half gone only, and be seen in smooth densities.
            update = single * (strength / _sparsity(determined, scaled.outside)) ** (2 - determined)
        else:
            update = _spike_and_slab_variance(strength, expected, determined, scaled.outside)
        before = single
        single = np.where(known > 0, known, np.clip(update, 1e-16, 9))
        single[free] = 0
        if not scaled.circular:
            jump = _refitted_steps(jump, residual, whitened, scaled)
    doubtful = np.where(single > 1e-16, 0.0, _unlikely(strength, expected, determined))
    for spike in np.flatnonzero((single > 1e-16) & (known == 0)).tolist():
        elsewhere = _moved_spike_variance(spike, float(before[spike]), residual, whitened)
        doubtful = np.maximum(doubtful, elsewhere)
    doubtful[free] = 0
    return NormalPrior(smooth.mean, _summed(with_total, _steps(jump, scaled), single), doubtful)


def _spike_and_slab_variance(
    strength: Vector, expected: Vector, determined: Vector, outside: NDArray[np.bool_]
) -> Vector:
    """Return spike-and-slab variances: a spike shrinks by the odds that none is there.

    A spike of unknown size is worth ``(z^2 - 1 - log z^2) / 2`` in log-evidence, against the price
    of naming its cell. Where it is sure to be there only 1 / z^2 of it is taken away: under the
    variances of :func:`_sparsity` spikes of seven deviations had three quarters of their mass.

    strength, expected, determined: float64 [size]: the squared score of each spike in its
        variances, that variance, and which part of the spike the reports determine, in [0, 1).
    """
    alone, doubt = _leave_one_out(strength, determined, _log_prior_odds(determined, outside))
    # kept / (1 - kept), where 1 / z^2 or the doubt may be less than numbers near one can tell.
    variance = (1 - 1 / alone) / (doubt + 1 / alone) * (1 - determined) / expected
    return np.where(alone > _sparsity(determined, outside), variance, 0.0)


def _unlikely(strength: Vector, expected: Vector, determined: Vector) -> Vector:
    """Return spike-and-slab variances of spikes that the estimate lacks.

    What such a spike would hold, squared, times the probability that it is there: a heavy symbol
    whose score is by bad luck what the strongest of chance may have is missed by the answer, and
    a band that knew no spike there would be sure of that. So here one is expected from the start.

    strength, expected, determined: As :func:`_spike_and_slab_variance`.
    """
    price = np.full(determined.size, np.log(determined.size / (1 + determined.sum())))
    alone, doubt = _leave_one_out(strength, determined, price)
    variance: Vector = (alone - 1) / (1 + doubt) * (1 - determined) / expected
    return variance


def _moved_spike_variance(
    spike: int, variance: float, residual: Vector, whitened: Matrix
) -> Vector:
    """Return the variances of a spike moved to other cells, by Sherman-Morrison.

    What it would hold in each, squared, times the probability that it is there rather than where
    it was found.

    spike: Its cell.
    variance: Its prior variance, with which the residual was found.
    residual: float64 [size], the score at the posterior.
    whitened: float64 [size, size], of :meth:`Whitener.whitened`.
    """
    column = whitened.T @ whitened[:, spike]
    # The residual and its variances as they would be without the spike.
    factor = variance / max(1 - variance * float(column[spike]), 1e-9)
    expected = np.einsum("ij,ij->j", whitened, whitened) + factor * column**2
    expected = np.maximum(expected, 1e-300)
    score = residual + factor * float(residual[spike]) * column
    alone = np.maximum(score**2 / expected, 1.0)
    worth = (alone - np.log(alone)) / 2
    chance = np.exp(worth - worth.max())
    chance /= chance.sum()
    moved: Vector = chance * (alone - 1) / expected
    moved[spike] = 0.0
    return moved


def _leave_one_out(strength: Vector, determined: Vector, price: Vector) -> tuple[Vector, Vector]:
    """Return leave-one-out squared z-scores of spikes, and the odds that none is there."""
    alone = np.maximum(strength / (1 - determined), 1.0)
    odds = (alone - 1 - np.log(alone)) / 2 - price
    return alone, np.exp(-np.clip(odds, -50, 50))


def _log_prior_odds(determined: Vector, outside: NDArray[np.bool_]) -> Vector:
    """Return the log prior odds against a spike in each cell.

    The spikes that are expected come with the others that are there: where one cell in ten has
    one, a spike is no surprise. That a cell seems to have one itself says nothing about that.

    determined: float64 [size], in 0..1: of each spike, which part the reports determine.
    """
    others = determined.sum() - determined
    expected = _EXPECTED + (1 - _EXPECTED) * np.minimum(others, 1.0) + others
    price: Vector = np.log(determined.size / expected)
    return np.where(outside, _OUTSIDE_ODDS, price)


def _sparsity(determined: Vector, outside: NDArray[np.bool_]) -> Vector:
    """Return how much stronger than its noise a spike must be before its variance grows, squared.

    What the strongest of the cells would be by chance alone in one column of a hundred, and less
    the more spikes there are. See :func:`_log_prior_odds`.
    """
    return np.maximum(_LEAST, 2 * _log_prior_odds(determined, outside))


def _summed(smooth: Matrix, steps: Matrix, single: Vector) -> Matrix:
    """Return the covariance of waves, steps and spikes together: float64 [size, size]."""
    covariance = smooth + steps
    covariance[np.diag_indices_from(covariance)] += single
    return covariance


def _steps(jump: Vector, scaled: ScaledBasis) -> Matrix:
    """Return the covariance of centered steps of the density between neighbors."""
    size, joined = scaled.size, scaled.joined
    if scaled.circular:
        return np.zeros((size, size))
    # Steps shared by two cells are those up to the earlier one.
    heights = np.concatenate([[0.0], np.cumsum(jump)])
    block: Matrix = np.minimum.outer(heights, heights)
    part = scaled.width / scaled.width.sum()
    middle = part @ block
    block -= middle
    block -= (middle - middle @ part)[:, None]
    block *= scaled.width / size
    block *= (scaled.width / size)[:, None]
    if joined.size == size:
        return block
    covariance = np.zeros((size, size))
    covariance[np.ix_(joined, joined)] = block
    return covariance


def _refitted_steps(
    jump: Vector, residual: Vector, whitened: Matrix, scaled: ScaledBasis
) -> Vector:
    """Return the fixed-point update of the variances of the steps.

    A centered step is minus the indicator of the cells before it, up to a constant, and
    centered rows do not feel constants: sums before a step are as good as those after.
    """
    score, rows = _at_steps(residual, scaled), _at_steps(whitened, scaled)
    expected = np.maximum(np.einsum("ij,ij->j", rows, rows), 1e-300)
    updated: Vector = np.clip(jump * score**2 / (_SPARSITY * expected), 1e-12, 9)
    return updated


def _at_steps(rows: Matrix, scaled: ScaledBasis) -> Matrix:
    """Return products of rows with a unit of each step, down: float64 [..., steps].

    Sums of the centered cells, by width, before each step.
    """
    part = scaled.width / scaled.width.sum()
    cells = rows[..., scaled.joined]
    centered = (cells - (cells @ part)[..., None]) * (scaled.width / scaled.size)
    return np.cumsum(centered, axis=-1)[..., :-1]


def _stepped(heights: Vector, scaled: ScaledBasis) -> Vector:
    """Return the masses of steps down of these heights: float64 [size]."""
    masses = np.zeros(scaled.size)
    after = np.append(np.cumsum(heights[::-1])[::-1], 0.0)
    centered = after - (scaled.width / scaled.width.sum()) @ after
    masses[scaled.joined] = centered * (scaled.width / scaled.size)
    return masses


def root_of(information: Matrix) -> Matrix:
    """Return a lower triangular F with ``F F' = information``, which may be singular.

    The diagonal is raised by 1e-13 of its mean, far less than any prior that is not flat.
    """
    raised = information.copy()
    raised[np.diag_indices_from(raised)] += 1e-13 * float(np.trace(raised)) / raised.shape[0]
    root: Matrix = cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    return root


@dataclass(frozen=True, eq=False)
class Whitener:
    """Common part of the residual scores of posteriors that differ in steps and spikes alone.

    root: float64 [size, size], the lower triangular F of :func:`root_of`.
    smooth: ``F' S F`` of the rest of the prior: the lower triangle, float64 [size, size].
    steps: ``F'`` times a unit of each step: float64 [size, steps].
    """

    root: Matrix
    smooth: Matrix
    steps: Matrix

    @classmethod
    def of(cls, information: Matrix, smooth: Matrix, scaled: ScaledBasis) -> Whitener:
        """Return that of a likelihood, and of the covariance of all but steps and spikes."""
        root = root_of(information)
        reduced, _ = dsygst(smooth.T, root, itype=2, lower=1)
        return cls(root, reduced, _at_steps(root.T, scaled))

    def whitened(self, jump: Vector, single: Vector) -> Matrix:
        """Return W such that ``W'W = H - H C H``, the covariance of the posterior's residual score.

        With ``H = F F'`` and ``G G' = I + F' S F`` it is ``W = G^-1 F'``, float64 [size, size]. The
        products are triangular or symmetric, a quarter of the work of C itself.

        jump: float64 [steps], variances of the steps.
        single: float64 [size], variances of the spikes.
        """
        spikes = np.asfortranarray(np.sqrt(single)[:, None] * self.root)
        system, _ = dlauum(spikes, lower=1, overwrite_c=1)
        system += self.smooth
        system[np.diag_indices_from(system)] += 1
        if jump.any():
            heights = (self.steps * np.sqrt(jump)).T
            system = dsyrk(1.0, heights, beta=1.0, c=system, trans=1, lower=1, overwrite_c=1)
        factor, failed = dpotrf(system, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(
                "the information matrix of the cells is not positive definite"
            )
        whitened: Matrix = dtrsm(1.0, factor, self.root, side=1, lower=1, trans_a=1).T
        return whitened
