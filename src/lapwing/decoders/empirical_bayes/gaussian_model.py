"""The Gaussian model of a pass: quadratic likelihood, normal prior, posterior, spectra by evidence.

Near a distribution that is close to the truth every block's log-likelihood is a parabola, so a
normal prior gives a normal posterior. Up to a few hundred symbols the matrix of the likelihood is
kept whole (`quadratic_likelihood`), above only its products (`Likelihood`). Cells of many symbols
have the matrix of their sums (`coarse_model.py`).

How smooth the data are is learned from the reports. A density is written as a uniform mean plus
cosines (sines and cosines on a circle) with independent normal amplitudes. Their variances follow
``a^2 k^(-2 alpha) + w^2``. A grid of such spectra is weighed by its evidence, the probability of
the reports under each.

The posterior mean can be negative where the reports say little. The last step of a pass moves it
to the distribution nearest to it, as little as the reports notice. Over hundreds of empty bins such
small steps add up. So the tails then return to what the running sums say.

A pass begins with waves on the cells that touch. Their amplitude is scaled by a power of the local
density (0, 1/2 or 1), because a density varies more where there are many people. The evidence
decides which power fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from lapwing.decoders.decoder import Neighbors
from lapwing.linear.arrays import Matrix, Vector, Whole, running_sums
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Operator, dense
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally

FREE = 0.25
"""Prior variance of the mass of a declared atom or of the missing symbol: anything goes."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns of unit mean square over the cells, and the number of half-waves of each.

    columns: float64 [cells, frequencies].
    frequency: float64 [frequencies]: half-waves per domain, at least 1.
    """

    columns: Matrix
    frequency: Vector

    @classmethod
    def of(cls, cells: int, *, circular: bool, limit: int | None = None) -> Basis:
        """Return cosines, or sines and cosines on a circle, without the constant.

        limit: Frequencies kept. Default: all but the constant.
        """
        place = (np.arange(cells) + 0.5) / cells
        return cls.at(place, circular=circular, limit=cells - 1 if limit is None else limit)

    @classmethod
    def at(cls, place: Vector, *, circular: bool, limit: int) -> Basis:
        """Return the same at the middles of cells that may differ in width.

        place: float64 [cells], in (0, 1).
        limit: Frequencies kept.
        """
        number = np.arange(1, min(limit + 1, place.size))
        if not circular:
            columns = np.sqrt(2) * np.cos(np.pi * np.outer(place, number))
            return cls(columns, number.astype(np.float64))
        turns = (number + 1) // 2
        shift = np.where(number % 2 == 1, 0.0, np.pi / 2)
        columns = np.sqrt(2) * np.cos(2 * np.pi * np.outer(place, turns) - shift)
        return cls(columns, 2 * turns.astype(np.float64))


class ScaledBasis:
    """The basis of a domain as masses of all its symbols.

    domain: Ordered domain. Another one raises UnsupportedChannelError.
    limit: Frequencies kept. Default: all.
    blur: Standard deviation, in cells, of the filter that makes an answer a local density.

    Attributes
    ----------
    joined : numpy.ndarray
        int64, the symbols that touch. Atoms and the missing symbol stand apart.
    apart : numpy.ndarray
        bool [size], the others.
    outside : numpy.ndarray
        bool [size], those that stand apart for values below and above the range.
    line : numpy.ndarray
        bool [size], the symbols in order on a line: none on a circle, and not the missing one.
    width : numpy.ndarray
        float64 [joined]: of each symbol that touches, in units of the widest, or of each run
        (:meth:`merged`), in units of their mean.
    uniform : numpy.ndarray
        float64 [size], the masses before anything is known: nobody is outside.
    group : numpy.ndarray
        int64 [joined], not decreasing from 0 in steps of one: the density of a group is one.
    basis : Basis
        On the cells that touch. Computed when it is first asked for.
    """

    def __init__(self, domain: Domain, *, limit: int | None = None, blur: float = 5.0) -> None:
        neighbors = Neighbors.of(domain)
        self.size = domain.size
        self.circular = domain.circular
        self.joined = neighbors.joined
        self.apart = np.ones(domain.size, dtype=np.bool_)
        self.apart[self.joined] = False
        self.outside = np.zeros(domain.size, dtype=np.bool_)
        for end in (domain.below_index, domain.above_index):
            if end is not None:
                self.outside[end] = True
        self.line = (np.arange(domain.size) < domain.left.size) & (not domain.circular)
        self.width = neighbors.width[self.joined]
        self.uniform = ~self.outside / np.count_nonzero(~self.outside)
        self.group = np.arange(self.joined.size)
        self.limit = limit
        self.blur = blur

    @cached_property
    def basis(self) -> Basis:  # noqa: D102 - among the attributes of the class
        return Basis.of(self.joined.size, circular=self.circular, limit=self.limit)

    def on(self, basis: Basis) -> ScaledBasis:
        """Return the same with other columns on the cells that touch."""
        other = copy(self)
        other.__dict__["basis"] = basis
        return other

    def merged(self, start: Whole, *, width: int, blur: float) -> ScaledBasis:
        """Return that of runs of symbols, with as many waves as there are blocks but one.

        start: int64 [runs], increasing from 0: where each begins. A symbol that stands apart is a
            run of its own.
        width: Symbols of a block. Runs end at its multiples at the latest. The density is that of
            blocks: parts of one have the same.
        blur: Standard deviation of the filter, as a part of the domain.
        """
        runs = copy(self)
        runs.size = start.size
        runs.apart = self.apart[start]
        runs.outside = self.outside[start]
        runs.line = self.line[start]
        runs.joined = np.flatnonzero(~runs.apart)
        runs.uniform = np.add.reduceat(self.uniform, start)
        wide, place = np.zeros(self.size), np.zeros(self.size)
        wide[self.joined] = self.width
        place[self.joined] = np.arange(self.joined.size) + 0.5
        first = start[runs.joined]
        runs.width = np.add.reduceat(wide, start)[runs.joined] * (start.size / self.size)
        number = np.diff(np.append(start, self.size))[runs.joined]
        middle = np.add.reduceat(place, start)[runs.joined] / number / self.joined.size
        runs.group = np.unique(first // width, return_inverse=True)[1]
        blocks = int(runs.group[-1]) + 1
        runs.blur = blur * blocks
        return runs.on(Basis.at(middle, circular=self.circular, limit=blocks - 1))

    def shapes(self, mass: Vector | None) -> Iterator[tuple[Vector, Matrix]]:
        """Return prior mean and waves for each scale to choose from, given the answer so far.

        Before there is an answer there is one: the uniform mean, and waves as they are.
        """
        yield self.uniform, self.columns(np.ones(self.joined.size))
        if mass is not None:
            density = self.density(mass)
            for scale in (np.sqrt(density), density):
                yield self._mean(density), self.columns(scale)

    def density(self, mass: Vector) -> Vector:
        """Return the blurred density of the joined cells, mean 1, at least 0.02."""
        from scipy.ndimage import gaussian_filter1d  # slow to import

        # When all mass is in atoms nothing is here: a flat density then.
        density = self.of_groups(np.maximum(mass[self.joined], 1e-300))
        mode = "wrap" if self.circular else "reflect"
        smooth: Vector = gaussian_filter1d(density / density.mean(), self.blur, mode=mode)
        return np.maximum(smooth, 0.02)[self.group]

    def of_groups(self, cells: Vector) -> Vector:
        """Return the density of each group: float64 [groups], from the masses of its cells."""
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        density: Vector = np.add.reduceat(cells, first) / np.add.reduceat(self.width, first)
        return density

    def columns(self, scale: Vector) -> Matrix:
        """Return the waves as masses, scaled, each with sum zero: float64 [size, frequencies]."""
        columns = np.zeros((self.size, self.basis.frequency.size))
        cells = self.basis.columns * (scale * self.width / self.size)[:, None]
        columns[self.joined] = cells - cells.mean(axis=0)
        return columns

    def taken_from(self, mean: Vector) -> Matrix:
        """Return a unit at each symbol that stands apart, less a prior mean.

        Their mass is taken from all others by their shares, so that their shape stays: float64
        [size, symbols apart], of sum zero.
        """
        (places,) = np.nonzero(self.apart)
        columns: Matrix = np.repeat(-mean[:, None], places.size, axis=1)
        columns[places, np.arange(places.size)] += 1
        return columns

    def mean_of(self, mass: Vector) -> Vector:
        """Return the blurred answer as masses, where separate symbols have 1 / size each."""
        return self._mean(self.density(mass))

    def _mean(self, density: Vector) -> Vector:
        """Return the density as masses. Symbols that stand apart have 1 / size each."""
        mean = self.uniform.copy()
        shape = density * self.width
        mean[self.joined] = shape * (self.share / shape.sum())
        return mean

    @property
    def share(self) -> float:
        """Masses of the uniform distribution in the cells that touch."""
        return float(self.uniform[self.joined].sum())


def quadratic_likelihood(
    channel: Channel, tally: CountTally, pilot: Vector
) -> tuple[Matrix, Vector]:
    """Return (H, s) such that the log-likelihood near the pilot is ``s'x - x'Hx / 2 + constant``.

    H is the expected information of all blocks and s the score at the pilot plus ``H pilot``.
    Blocks without a likelihood contribute their composite one.

    pilot: float64 [size], positive.

    O(outputs * size) per structured block, as its operator is applied to a matrix once.
    """
    size = channel.domain.size
    terms, slope = likelihood_terms(channel, tally, pilot)
    information = np.zeros((size, size))
    for term in terms:
        information += dense(term)
    information = (information + information.T) / 2
    return information, slope + information @ pilot


def likelihood_terms(
    channel: Channel, tally: CountTally, pilot: Vector
) -> tuple[list[Operator], Vector]:
    """Return the information of every block with reports, and the score of all at the pilot."""
    terms: list[Operator] = []
    slope = np.zeros(channel.domain.size)
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        if reports:
            score, information = block.score_and_information(pilot, counts, reports)
            slope += score
            terms.append(information)
    return terms, slope


@dataclass(frozen=True, eq=False)
class Evidence:
    """The quadratic likelihood as a matrix of all symbols, and the pilot it was taken at.

    information: float64 [size, size].
    score: float64 [size].
    pilot: float64 [size].
    """

    information: Matrix
    score: Vector
    pilot: Vector
    reports: int


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The quadratic likelihood ``s'x - x'Hx / 2`` near a pilot, with H as operators.

    terms: The information of every block. H is their sum.
    score: float64 [size], s.
    """

    terms: Sequence[Operator]
    score: Vector

    @classmethod
    def of(cls, channel: Channel, tally: CountTally, pilot: Vector) -> Likelihood:
        """Return that of a tally at a pilot of positive masses."""
        terms, slope = likelihood_terms(channel, tally, pilot)
        without = cls(terms, slope)
        return cls(terms, slope + without.curved(pilot))

    def curved(self, masses: Matrix) -> Matrix:
        """Return H times a vector or a matrix: float64 of the shape given."""
        product = np.zeros(masses.shape)
        for term in self.terms:
            product += term.matvec(masses) if masses.ndim == 1 else term.matmat(masses)
        return product

    def score_at(self, masses: Vector) -> Vector:
        """Return the score of the quadratic at some masses, ``s - H masses``: float64 [size]."""
        return self.score - self.curved(masses)

    def near_diagonal(self, lags: int) -> Matrix:
        """Return the entries (i, i + lag) of H: float64 [lags, size]."""
        bands = np.zeros((lags, self.score.size))
        for term in self.terms:
            bands += term.near_diagonal(lags)
        return bands


_BELOW = 1e-6
"""How far below zero a mass may stay, as a part of 1 / size, before it is set to zero."""
# It changes the CDF by at most that.

_TAIL = 0.1
"""By which part a tail may differ from that of the signed mean."""
# With 0.5 the Wasserstein-1 distance of columns on a range ten times too wide is 8% larger
# (logarithmic bins: 5%). With 0.05 it is 1% smaller, and where the range fits 0.3% larger. The
# Kolmogorov-Smirnov distances hardly differ.

_EMPTY, _RAMP = 0.4, 0.2
"""Part of a range that people fill below which the rest counts as empty, and its ramp."""
# The ramp is how much further down it counts wholly. Where the range fits, true tails would be
# lost: the Wasserstein-1 distance grew by 13%.

_UNKNOWN = 0.5
"""Deviation of a running sum from which on nothing is known of the tails: they stay as they are."""

_LEAST_VARIANCE = 1e-12
"""Of a running sum: that of the total is zero."""


@dataclass(frozen=True, eq=False)
class NormalPrior:
    """A normal prior of the masses.

    mean: float64 [size].
    covariance: float64 [size, size].
    doubtful: float64 [size], variances of what may be there alongside, too improbable for the
        answer but not for a band.
    """

    mean: Vector
    covariance: Matrix
    doubtful: Vector | None = None

    def allowed(self) -> Matrix:
        """Return the covariance with what is doubtful, as a new array: float64 [size, size]."""
        covariance = self.covariance.copy()
        if self.doubtful is not None:
            covariance[np.diag_indices_from(covariance)] += self.doubtful
        return covariance


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mean and covariance of the masses given the reports, on the plane of total one.

    mean: float64 [size], which may have negative entries.
    covariance: float64 [size, size], singular along the total.
    """

    mean: Vector
    covariance: Matrix

    @classmethod
    def of(cls, information: Matrix, score: Vector, mean: Vector, prior: Matrix) -> Posterior:
        """Return the posterior of the prior N(mean, prior).

        ``C = S (I + H S)^-1`` needs no inverse of the prior, which may be singular.
        """
        covariance = shrunk(information, prior)
        center = mean + covariance @ (score - information @ mean)
        along = covariance.sum(axis=1)
        spread = along.sum()
        center = center + along * ((1 - center.sum()) / spread)
        return cls(center, covariance - np.outer(along, along) / spread)

    def distribution(self, line: NDArray[np.bool_] | None = None) -> Vector:
        """Return the distribution that is nearest to the mean in the posterior's own metric.

        Minimizes ``(x - mean)' C^-1 (x - mean)`` over x >= 0, total one: what is taken from
        negative cells goes where the reports cannot tell the difference. The Euclidean
        projection can be far worse.

        line: bool [size], the symbols in order on a line, whose tails return to the sums of the
            mean. Default: none.

        See :func:`nearest_distribution` and :meth:`_with_tails`.
        """

        def shift(cells: Whole, multipliers: Vector) -> Vector:
            return self.covariance[:, cells] @ multipliers

        def block(cells: Whole) -> Matrix:
            return self.covariance[np.ix_(cells, cells)]

        mass = nearest_distribution(self.mean, block, shift)
        if line is not None and line.any():
            mass[line] = self._with_tails(mass[line], line)
        return mass

    def _with_tails(self, mass: Vector, line: NDArray[np.bool_]) -> Vector:
        """Return masses of symbols on a line whose tails hold about what the mean has there.

        Negative masses of empty cells are noise, and so are the positive ones between them. Their
        sum is nearly zero. Cells that are pushed up one by one hold a share that the sums rule out
        and that grows with the number of empty cells. The running sums of the mean have much less
        bias, when isotonic regression with their posterior precisions makes them monotone. So the
        mass beyond each place, on the side that holds less, may differ from theirs by `_TAIL` of
        it. In the middle the metric decides, because it is better near an atom.

        Where less than `_EMPTY` of the cells lie between the tails that the reports show, those of
        one posterior standard deviation or more, the range is too wide. Then tails of up to two
        standard deviations are reduced as well, and those of half of one are zero.
        """
        from scipy.optimize import isotonic_regression  # slow to import

        curve = np.cumsum(mass)
        total = curve[-1]
        sums = running_sums(running_sums(self.covariance[np.ix_(line, line)]).T)
        variance = np.maximum(np.diag(sums), _LEAST_VARIANCE)
        if variance.max() > _UNKNOWN**2:
            return mass
        below = isotonic_regression(np.cumsum(self.mean[line]), weights=1 / variance).x
        below = np.clip(below, 0.0, total)
        above, deviation = total - below, np.sqrt(variance)
        shown = np.flatnonzero(np.minimum(below, above) > deviation)
        part = (shown[-1] - shown[0] + 2) / curve.size if shown.size else 1.0
        empty = np.clip((_EMPTY - part) / _RAMP, 0.0, 1.0)
        # What the reports do not show beyond a place, nor anywhere further out, is taken as empty.
        lower, upper = (
            1 - empty * (1 - np.clip((tail / deviation - 0.5) / 1.5, 0.0, 1.0))
            for tail in (below, above)
        )
        below = total - above * np.maximum.accumulate(upper[::-1])[::-1]
        below = np.maximum.accumulate(below * np.maximum.accumulate(lower))
        allowed = _TAIL * np.minimum(below, total - below)
        kept = np.clip(curve, below - allowed, below + allowed)
        kept[-1] = total
        found: Vector = np.maximum(np.diff(kept, prepend=0.0), 0.0)
        return found


def nearest_distribution(
    start: Vector, block: Callable[[Whole], Matrix], shift: Callable[[Whole, Vector], Vector]
) -> Vector:
    """Return the x >= 0 that minimizes ``(x - start)' C^-1 (x - start)``, for a covariance C.

    ``x = start + C v`` with multipliers v >= 0, zero where x > 0. They solve a non-negative
    least-squares problem in the cells at zero. Those are found by adding the deepest cell of every
    negative stretch until nothing is negative. This takes about ten rounds, because a cell that is
    pushed up takes its neighbors along.

    start: float64 [size], of sum one.
    block: Returns the entries of C for some cells: float64 [cells, cells].
    shift: Returns C v: float64 [size], given the cells where v is not zero, and v there.

    The method is that of [1]_, chapter 23. Exchanging cells by the signs of their multipliers needs
    no least squares. But it did not converge where the reports hardly distinguish neighboring
    cells.

    .. [1] C. L. Lawson, R. J. Hanson, "Solving Least Squares Problems", Prentice-Hall, 1974.
    """
    from scipy.optimize import nnls  # slow to import

    size = start.size
    point = start
    cells = np.zeros(0, dtype=np.int64)
    for _ in range(10 * size):
        before = np.concatenate([[np.inf], point[:-1]])
        after = np.concatenate([point[1:], [np.inf]])
        dips = (point < -_BELOW / size) & (point <= before) & (point <= after)
        deeper = np.setdiff1d(np.flatnonzero(dips), cells)
        if deeper.size == 0:
            break
        cells = np.union1d(cells, deeper)
        system = block(cells)
        # Cells that the reports cannot tell apart make it singular.
        system[np.diag_indices_from(system)] += 1e-13 * np.trace(system)
        root = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        lacking = solve_triangular(root, -start[cells], lower=True, check_finite=False)
        multipliers, _ = nnls(root.T, lacking, maxiter=100 * cells.size)
        point = start + shift(cells, multipliers)
        cells = cells[multipliers > 0]
    mass = np.maximum(point, 0.0)
    mass /= mass.sum()
    return mass


def shrunk(information: Matrix, prior: Matrix) -> Matrix:
    """Return the posterior covariance ``S (I + H S)^-1``, symmetric."""
    system = information @ prior
    system[np.diag_indices_from(system)] += 1
    # (I + H S)' C = S, because C is symmetric.
    covariance: Matrix = solve(system, prior, transposed=True, check_finite=False)
    return (covariance + covariance.T) / 2


SLOPES = (0.5, 1.0, 1.5, 2.0, 3.0)

AMPLITUDES = (0.4, 0.9, 2.0)

FLOORS = (0.0, 0.05, 0.2, 0.7)
"""The grid: alpha, a and w. The amplitude 0.9 with slope 1 is a density with a kink."""

_GRID = (SLOPES, AMPLITUDES, FLOORS)

_STARTS = tuple(product((0, 2, 4), (1,), (0, 3)))

_UNLIKELY = 40.0
"""How far below the best, in log-evidence, a spectrum is not followed any further."""
# Its weight is nothing, and so are those behind it. The search goes from neighbor to neighbor,
# which spares up to two thirds of the 60 spectra. Six starts, because the evidence can have two
# tops, a smooth and a rough one.

Place = tuple[int, ...]

PSEUDO_COUNT = 4.0
"""Weight, in amplitudes, of the chosen spectrum when half-octaves are refined."""


def _beside(place: Place) -> list[Place]:
    """Return the places one step away in one of the three lines of the grid."""
    steps = product(range(3), (-1, 1))
    near = [(*place[:line], place[line] + step, *place[line + 1 :]) for line, step in steps]
    sizes = [len(line) for line in _GRID]
    return [other for other in near if all(0 <= i < n for i, n in zip(other, sizes, strict=True))]


_BESIDE = {place: _beside(place) for place in product(*(range(len(line)) for line in _GRID))}


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Prior variances of the amplitudes, with the evidence for them.

    variance: float64 [frequencies].
    evidence: Logarithm of the probability of the reports under the best spectrum of the grid. The
        constant is the same for all priors with one mean.
    """

    variance: Vector
    evidence: float


def evidence_of(information: Matrix, score: Vector, variance: Vector) -> float:
    """Return the log-evidence of amplitudes N(0, variance).

    ``b'(A + T^-1)^-1 b / 2 - log det(I + T^1/2 A T^1/2) / 2`` with A the information and b the
    score of the amplitudes at zero.
    """
    if variance.size == 0:
        return 0.0  # LAPACK prints a complaint about a matrix without rows
    root = np.sqrt(variance)
    factor = _factor(information, root)
    reduced, _ = dtrtrs(factor, root * score, lower=1)
    return float(reduced @ reduced) / 2 - float(np.log(factor.diagonal()).sum())


def _factor(information: Matrix, root: Vector) -> Matrix:
    """Return the lower triangular L with ``L L' = I + diag(root) information diag(root)``."""
    matrix = information * root
    matrix *= root[:, None]
    matrix.reshape(-1)[:: root.size + 1] += 1
    # LAPACK itself: SciPy's wrappers copy and check, a third of the time at 200 frequencies.
    # The matrix is symmetric, so its transpose is it in LAPACK's order.
    found, failed = dpotrf(matrix.T, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(
            "the information matrix of the amplitudes is not positive definite"
        )
    factor: Matrix = found
    return factor


def averaged_spectrum(
    information: Matrix, score: Vector, frequency: Vector, others: Vector | None = None
) -> Spectrum:
    """Return the grid's spectra averaged in the logarithm, each weighed by its evidence.

    information: float64 [columns, columns], of the amplitudes: first the frequencies, then the
        others.
    score: float64 [columns], their score at zero.
    frequency: float64 [frequencies].
    others: Variances of further amplitudes, the same under every spectrum.
    """
    rest = np.zeros(0) if others is None else others
    spectra: dict[Place, tuple[float, Vector]] = {}

    def weigh(place: Place) -> None:
        slope, amplitude, floor = (line[i] for line, i in zip(_GRID, place, strict=True))
        waves = amplitude**2 * frequency ** (-2 * slope) + floor**2
        evidence = evidence_of(information, score, np.concatenate([waves, rest]))
        spectra[place] = (evidence, waves)

    for start in _STARTS:
        weigh(start)
    best = max(evidence for evidence, _ in spectra.values())
    unmoved: set[Place] = set(_STARTS)
    while unmoved:
        place = max(unmoved, key=lambda place: spectra[place][0])
        unmoved.remove(place)
        if spectra[place][0] < best - _UNLIKELY:
            break
        for near in _BESIDE[place]:
            if near not in spectra:
                weigh(near)
                unmoved.add(near)
                best = max(best, spectra[near][0])
    weights = np.exp([evidence - best for evidence, _ in spectra.values()])
    weights /= weights.sum()
    return Spectrum(np.exp(weights @ np.log([waves for _, waves in spectra.values()])), best)


def refined(
    variance: Vector,
    information: Matrix,
    score: Vector,
    frequency: Vector,
    others: Vector | None = None,
) -> Vector:
    """Return variances scaled, a half-octave of frequencies at a time, to what the reports show.

    Expectation maximization for a common factor per half-octave, with the given variances as
    :data:`PSEUDO_COUNT` more amplitudes. Further amplitudes, after the frequencies, have the
    variances `others`, which stay.
    """
    waves = variance.size
    rest = np.zeros(0) if others is None else others
    number = np.unique(np.floor(2 * np.log2(frequency)), return_inverse=True)[1]
    size = np.bincount(number)
    for _ in range(3):
        root = np.sqrt(np.concatenate([variance, rest]))
        inverse, _ = dtrtri(_factor(information, root), lower=1, overwrite_c=1)
        mean = root * (inverse.T @ (inverse @ (root * score)))
        second_moment = mean**2 + root**2 * np.einsum("ij,ij->j", inverse, inverse)
        ratio = second_moment[:waves] / variance
        factor = (PSEUDO_COUNT + np.bincount(number, ratio)) / (PSEUDO_COUNT + size)
        variance = variance * factor[number]
    return variance
