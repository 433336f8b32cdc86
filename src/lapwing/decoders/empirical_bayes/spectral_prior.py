"""Empirical Bayes with a learned spectrum: the default decoder for numerical columns.

A decode begins here. The waves of the domain are laid out (`gaussian_model.py`). The answer is
found in passes, with matrices of all symbols (`dense_model.py`) or of cells (`coarse_model.py`). It
is converted to the shares of the people who reported (:func:`reporting_people`), and the band is
drawn.

The posterior of a fitted prior is overconfident about what the reports do not show. On the worst
columns, a nominal 95% band that trusts it covers 66 to 91%. So the prior is widened before the
band is drawn. The fitted amplitudes are doubled, and a floor of smooth shapes and of single bins
is added. This costs 20 to 60% in width and repairs the coverage. `results/uncertainty.py` turns
the draws into intervals.

The steps of a density need less widening where the reports show a smooth one. Their floor is as
large as the reports allow (:func:`density_law`).

On a large domain the widened posterior of a few hundred cells is carried back to the symbols. The
possible error of the density within a cell is added. It is the floor that single bins get on a
small domain, minus what the reports show about it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from lapwing.declared import Declared, From
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, warn_when_weak
from lapwing.decoders.empirical_bayes.coarse_model import CellAnswer, Cells, cell_answer
from lapwing.decoders.empirical_bayes.dense_model import WholeAnswer, whole_answer
from lapwing.decoders.empirical_bayes.gaussian_model import (
    FREE,
    Evidence,
    NormalPrior,
    ScaledBasis,
    likelihood_terms,
    shrunk,
)
from lapwing.decoders.empirical_bayes.low_rank_model import BLUR, WAVES
from lapwing.docstrings import inherits
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Matrix, Vector, one_thread, running_sums
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
from lapwing.results.spread_law import Spread, SpreadLaw
from lapwing.results.uncertainty import RANK, Uncertainty, Variants, as_stored, triangular

POINTWISE = (4.0, 1.0)

SIMULTANEOUS = (10.0, 4.0)
"""Factors of the fitted prior and of the floors, for the two kinds of band."""
# The whole curve of a spiky column at epsilon 0.5 needs the larger ones: on a made-up one (100,000
# people, 256 bins, 73 polls each of a multiscale and a square wave) 97 and 99% were covered, by
# (6, 2) 95 and 96%, by the pointwise factors 89 and 88%. Smooth, stepped and other columns do
# not, and their whole curves are covered in 99%.

METHOD = "posterior under a widened prior"


@dataclass(frozen=True, eq=False)
class WidenedPosterior:
    """Where the masses are under one widened prior, about one target.

    name: Target and kind of the band it is for, as the fields of :class:`Variants` are named.
    floor: Factor of the floor in the prior.
    center: float64 [size].
    covariance: float64 [size, size].
    """

    name: str
    floor: float
    center: Vector
    covariance: Matrix


def widened_band(evidence: Evidence, fitted: NormalPrior, floor: Matrix) -> Uncertainty:
    """Return the error distribution under the widened prior, for every target and kind of band.

    fitted: The prior that was learned, with what is doubtful: a heavy symbol that the answer has
        missed or put alongside its place.
    floor: Covariance that is always allowed, float64 [size, size], see :func:`always_allowed`.
    """
    laws = {
        one.name: Uncertainty.of_covariance(
            one.center, one.covariance, evidence.pilot, evidence.reports, METHOD
        )
        for one in widened_posteriors(evidence, fitted, floor)
    }
    return replace(laws.pop("empirical_pointwise"), variants=Variants(**laws))


def widened_posteriors(
    evidence: Evidence, fitted: NormalPrior, floor: Matrix
) -> list[WidenedPosterior]:
    """Return the posteriors of :func:`widened_band`, one for each target and kind.

    Covariance of the masses of the population: ``C = S (I + H S)^-1``. Of the people who reported,
    whose sample shares its deviation D with the reports: ``C + D - X - X' - D R H D`` with
    ``R = (I + H S)^-1`` and ``X = C H D``, centered at ``mean + C h + D R h``. It is written
    without cancellation. D, H and the pilot must belong together, or it can turn negative.
    """
    found = []
    for kind, (amplify, share) in (("pointwise", POINTWISE), ("simultaneous", SIMULTANEOUS)):
        prior = amplify * fitted.allowed() + share * floor
        for target, (center, covariance) in _error_laws(evidence, fitted.mean, prior).items():
            found.append(WidenedPosterior(f"{target}_{kind}", share, center, covariance))
    return found


def _error_laws(
    evidence: Evidence, mean: Vector, prior: Matrix
) -> dict[str, tuple[Vector, Matrix]]:
    """Return the center and the covariance about either target, at a total of one."""
    along = prior.sum(axis=1)
    prior = prior - np.outer(along, along) / along.sum()
    information = evidence.information
    score = evidence.score - information @ mean
    system = information @ prior
    system[np.diag_indices_from(system)] += 1
    inverse = np.linalg.inv(system)
    covariance = prior @ inverse
    covariance = (covariance + covariance.T) / 2
    center = mean + covariance @ score
    p = evidence.pilot

    def sampled(rows: Matrix) -> Matrix:
        """Multiply by D = (diag(p) - p p') / n from the right."""
        return (rows * p - np.outer(rows @ p, p)) / evidence.reports

    cross = sampled(covariance @ information)
    shared = sampled(sampled(inverse @ information).T)
    about = covariance - cross - cross.T - shared
    about[np.diag_indices_from(about)] += p / evidence.reports
    about -= np.outer(p, p) / evidence.reports
    moved = sampled((inverse @ score)[None, :])[0]
    return {
        "empirical": (center + moved, (about + about.T) / 2),
        "population": (center, covariance),
    }


def always_allowed(
    mass: Vector, scaled: ScaledBasis, *, least: float = 0.02
) -> tuple[Matrix, Vector]:
    """Return the floor of a prior: shapes and single bins that are allowed whatever was learned.

    The first are columns G such that ``G G'`` is the covariance of smooth shapes, float64 [size,
    frequencies]. The second are local masses, float64 [size], averaged over neighbors and at least
    `least` times a uniform one. A bin's variance is a part of its local mass. Anything goes outside
    of the range: what an interval says of the people there must not follow from what was learned of
    others.

    mass: float64 [size], the decoded distribution.
    scaled: Its waves, and its filter.
    least: Smallest local mass, in uniform masses.
    """
    from scipy.ndimage import gaussian_filter1d  # slow to import

    size, joined, basis = scaled.size, scaled.joined, scaled.basis
    local = np.maximum(mass, least / size)
    local[joined] = np.maximum(gaussian_filter1d(mass[joined], scaled.blur), least / size)
    local[scaled.outside] = FREE * size
    columns = np.zeros((size, basis.frequency.size))
    cells = basis.columns * np.sqrt(local[joined] * size)[:, None] / size
    columns[joined] = cells - cells.mean(axis=0)
    return columns / basis.frequency, local


def with_free_ends(local: Vector, scaled: ScaledBasis) -> Vector:
    """Return local masses whose first and last bin may hold anything: float64 [size].

    People heap at the ends of a range: values beyond it are moved there, and tables have top codes.
    Bins nearby say nothing about such a heap. If the end is taken to be like an empty tail, the
    band puts the heap into the tail. The whole curve of a column with a heap of 0.5% was covered
    in half of the polls (epsilon 1, 32,561 people). Where values outside are counted apart, they
    are free already.

    local: float64 [size], see :func:`always_allowed`.
    """
    if scaled.circular or scaled.outside.any():
        return local
    free = local.copy()
    free[scaled.joined[[0, -1]]] = FREE * scaled.size
    return free


SMOOTH = 0.16
"""Roughness below which a learned prior counts as smooth, see :func:`roughness`. A Gaussian column
has 0.01 to 0.03. Combs, atoms, jumps and narrow peaks that the reports show have more than 0.2.
"""

_LEAST_EPSILON = 1.5
"""Least epsilon of a learned floor. At epsilon 1 reports show a narrow peak too late. With one that
2% of 200,000 people form, intervals held in 8 of 12 polls, under the whole floor in 10."""

_COARSE = 12.0
"""Half-waves up to which a shape counts as coarse, and keeps its floor. A flat column has no coarse
shapes, which says nothing of fine ones: with one share for both, intervals of 20 saw teeth held in
5 of 12 polls (20,000 people, epsilon 4) and in none of 12 (200,000, epsilon 2)."""

_STRONGEST = 15.0
"""Chi-square of two degrees of freedom from which a wave is not chance, and the floor stays. Of 180
polls of smooth columns four had one. Without this rule the intervals of 25 ripples of 40% held in
17 of 20 polls (20,000 people, epsilon 4)."""

_LIMIT = 1.35
"""By how much the log-evidence falls from its top to the upper end of a one-sided 95% interval."""

_SHARES = np.geomspace(1e-3, 1.0, 61)


def roughness(covariance: Matrix, scaled: ScaledBasis) -> float:
    """Return how much the density is expected to differ from a line through its neighbors.

    Root mean square of the second differences of the density, of mean one, under a prior of its
    masses. The differences are between bins that touch, in their order.
    """
    width = scaled.width * (scaled.joined.size / scaled.width.sum()) / scaled.size
    heights = covariance[np.ix_(scaled.joined, scaled.joined)] / np.outer(width, width)
    square = np.diff(np.diff(heights, 2, axis=0), 2, axis=1).diagonal()
    return float(np.sqrt(max(square.mean(), 0.0))) if square.size else np.inf


def unexplained(evidence: Evidence, mean: Vector, prior: Matrix) -> tuple[Matrix, Vector]:
    """Return what the reports say beyond a prior: the residual score with its covariance.

    mean: Of the prior, float64 [size].
    prior: Covariance, float64 [size, size].
    """
    information = evidence.information
    covariance = shrunk(information, prior)
    score = evidence.score - information @ mean
    left = information - information @ covariance @ information
    return (left + left.T) / 2, score - information @ (covariance @ score)


def floor_limit(left: Matrix, score: Vector, floor: Matrix) -> float:
    """Return the largest share of a floor that the reports allow, with 95% confidence: at most 1.

    The evidence for the prior with a share of the floor is compared with that of the best share.

    left, score: See :func:`unexplained`.
    floor: Covariance of the whole floor, float64 [size, size].

    In some coordinates the floor is white, and the information i about each is independent. There
    the score has variance ``i + share i^2`` under a share. O(size^3).
    """
    root = triangular(floor)
    told, turn = np.linalg.eigh(root.T @ left @ root)
    told = np.maximum(told, 0.0)
    square = (turn.T @ (root.T @ score)) ** 2
    allowed = _SHARES[:, None] * told
    logarithm = (_SHARES[:, None] * square / (1 + allowed) - np.log1p(allowed)).sum(axis=1) / 2
    best = max(float(logarithm.max()), 0.0)  # zero is the evidence without a floor
    return float(_SHARES[logarithm >= best - _LIMIT].max(initial=_SHARES[0]))


def strongest_wave(left: Matrix, score: Vector, scaled: ScaledBasis, local: Vector) -> float:
    """Return the largest chi-square of a fine wave, of any phase: two degrees of freedom.

    left, score: See :func:`unexplained`.
    local: See :func:`always_allowed`. A wave varies the density by a factor.
    """
    cells = local[scaled.joined]
    place = (np.arange(cells.size) + 0.5) / cells.size
    angle = np.pi * np.outer(place, np.arange(_COARSE + 1, cells.size))
    if not angle.size:
        return 0.0
    both = np.hstack([np.cos(angle), np.sin(angle)]) * cells[:, None]
    both -= np.outer(cells / cells.sum(), both.sum(axis=0))
    along = left[np.ix_(scaled.joined, scaled.joined)] @ both
    (a, b), (even, odd) = (
        np.split(each, 2) for each in (both.T @ score[scaled.joined], (both * along).sum(axis=0))
    )
    mixed = (np.hsplit(both, 2)[0] * np.hsplit(along, 2)[1]).sum(axis=0)
    rest = np.maximum(even * odd - mixed**2, 1e-9 * even * odd + 1e-300)
    return float(((odd * a**2 - 2 * mixed * a * b + even * b**2) / rest).max())


def density_law(
    answer: WholeAnswer, scaled: ScaledBasis, waves: Matrix, local: Vector
) -> Uncertainty | None:
    """Return the error distribution of a smooth density's steps, with a floor from the reports.

    None where the learned prior is not smooth, where a fine wave stands out, or where the reports
    allow the whole floor. Coarse shapes, the ends of a line and the symbols outside of the range
    keep theirs.

    waves, local: See :func:`always_allowed`.
    """
    evidence, fitted = answer.evidence, answer.prior
    if roughness(fitted.covariance, scaled) >= SMOOTH:
        return None
    coarse = scaled.basis.frequency <= _COARSE
    single = np.where(scaled.outside, 0.0, local) / local.size
    fine = waves[:, ~coarse] @ waves[:, ~coarse].T + np.diag(single)
    ends = with_free_ends(local, scaled) / local.size - single
    amplify, most = POINTWISE[0], SIMULTANEOUS[1]
    prior = amplify * fitted.allowed() + most * (waves[:, coarse] @ waves[:, coarse].T)
    left, score = unexplained(evidence, fitted.mean, prior)
    share = floor_limit(left, score, fine)
    if share == 1 or strongest_wave(left, score, scaled, local) > _STRONGEST:
        return None
    prior += most * (share * fine + np.diag(ends))
    center, covariance = _error_laws(evidence, fitted.mean, prior)["empirical"]
    return Uncertainty.of_covariance(center, covariance, evidence.pilot, evidence.reports, METHOD)


_FREE = 256
"""Bins of the floor: each may differ from its neighbors by as much as it holds itself."""


def cell_band(answer: CellAnswer, scaled: ScaledBasis, reports: int) -> Uncertainty:
    """Return the error distribution of a large domain, from the widened posterior of its cells.

    scaled: Of the symbols.

    Of the columns 128 are kept, so standard deviations of ranges are at most 3% too small. For 1
    in 100 ranges, those of about one cell, they are 10% and more too large. O(cells^3).
    """
    cells = answer.cells
    waves, local = always_allowed(answer.mass, scaled)
    waves, single = cells.total(waves), cells.total(with_free_ends(local, scaled)) / _FREE
    inner = cells.inner_information(answer.likelihood)
    floor = waves @ waves.T + np.diag(single)
    laws = {}
    for one in widened_posteriors(answer.whole.evidence, answer.whole.prior, floor):
        # How a cell's mass is spread is a bridge between its ends.
        bridge = 1 / (1 / (one.floor * single) + inner)
        law, remainder = carried_back(one, cells, bridge)
        laws[one.name] = Uncertainty.spread(law, remainder, answer.pilot, reports, METHOD)
    return replace(laws.pop("empirical_pointwise"), variants=Variants(**laws))


def carried_back(one: WidenedPosterior, cells: Cells, bridge: Vector) -> tuple[SpreadLaw, Vector]:
    """Return center and noise of the cells, spread over the symbols, and what is left of the sums.

    bridge: float64 [cells]: variance of the mass that moves between the halves of a cell.
    """
    sums = running_sums(running_sums(one.covariance).T)
    heights = np.diff(triangular((sums + sums.T) / 2, limit=RANK), axis=0, prepend=0.0)
    law = SpreadLaw(Spread(cells.start, cells.share), one.center, as_stored(heights))
    factor = law.spread.over_symbols(law.factor)
    explained = (running_sums(factor) ** 2).sum(axis=1)
    # Of the sum at a place within a cell, by the sums at both of its ends.
    along = cells.along()
    right = np.diag(sums)[cells.cell]
    left = np.append(0.0, np.diag(sums))[cells.cell]
    both = np.append(0.0, np.diag(sums, -1))[cells.cell]
    variance = (1 - along) ** 2 * left + along**2 * right + 2 * along * (1 - along) * both
    variance += bridge[cells.cell] * along * (1 - along)
    return law, as_stored(np.maximum(variance - explained, 0.0))


DENSE = 512
"""Number of symbols up to which all matrices are kept whole."""

SYMBOL_LIMIT = 2**16
"""More symbols are refused: the matrices take 35 kB for each, 2.2 GB in all."""


@dataclass(frozen=True)
class SpectralPrior(Declared):
    """Empirical-Bayes density with a learned spectrum, spikes and steps.

    It learns from the reports how smooth, spiky and stepped the data are, and then estimates with
    that prior. The masses of the bins get a Gaussian prior with three components. Cosines have
    learned variances, scaled by a power of the local density. Spikes in single bins, and steps
    between bins, have variances that go to zero where the reports show none. The posterior mean is
    moved to the nearest distribution, whose tails are then restored to the running sums of that
    mean. This estimates the population. The last step converts it to the expected shares of the
    respondents. This is the default decoder for numerical values.

    Parameters
    ----------
    passes : int
        Number of times the likelihood is linearized, each time at the answer of the previous pass,
        in 1..5. Default: 2.
    band : bool
        Whether to compute the credible bands, from a posterior under a widened prior. Default:
        True.

    See Also
    --------
    MixturePrior : For categories, which have no order.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** See the tables of `benchmarks/accuracy`, which include the coverage of the bands.
    A band that trusted the fitted prior would cover 66 to 91% on the worst columns, instead of
    95%. So the prior is widened first. At epsilon 1.5 and above, with up to 512 bins, the steps of
    a smooth density need less widening: see `accuracy/smooth_densities`.

    **Cost.** Up to 512 bins it takes O(size^3) time, 0.2 s at 256. Above 512, it takes O(size *
    columns^2) time and O(size * columns) memory, where the columns are 192 waves and the detected
    atoms. Each block adds O(size * cells), and the cells, about 300, add O(cells^3). Blocks whose
    operator has less structure (wavelets, Haar coefficients) add O(outputs * size): 5 s at 4096.

    It asks a block for its score and information, so it decodes any list of blocks.

    Up to 512 bins every cosine, bin and step takes part. Waves of the density and waves of its
    logarithm are weighted by evidence. Above 512, the first 192 waves are fitted first. Then
    single bins, and blocks of 2 to 16 bins, that stand out from them are added one by one. Then
    the bins are grouped into 192 to 384 cells of equal width, which are split at the ends of those
    bins and blocks. On these cells the full prior is used. Within a cell the density follows its
    neighbors. Bands are those of the cells.

    The decoder is this library's own. It is empirical Bayes by marginal likelihood [1]_, with
    sparse variances by fixed-point updates [2]_.

    References
    ----------
    .. [1] D. J. C. MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992.
       doi:10.1162/neco.1992.4.3.415
    .. [2] M. E. Tipping, "Sparse Bayesian learning and the relevance vector machine", Journal of
       Machine Learning Research 1, 2001.

    Examples
    --------
    >>> import lapwing as lw
    >>> mixture = lw.MultiscaleWave(lw.Interval(0, 100, bins=50, outside="clip"), epsilon=2)
    >>> people = [0] * 10 + [1000] * 20 + [0] * 20  # ages 20 to 60, half of them below 40
    >>> tally = lw.simulate(mixture, people, rng=1)
    >>> result = lw.SpectralPrior().decode(mixture.channel, tally)
    >>> round(float(result.cdf(40)), 2)
    0.5
    """

    _: KW_ONLY
    passes: Annotated[int, From(1, 5)] = 2
    band: bool = True

    name: ClassVar[str] = "spectral-prior"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the expected shares of the respondents.

        Raises
        ------
        UnsupportedChannelError
            When the domain has no order, or more than 65,536 bins.
        """
        check_given(channel, tally)
        size = channel.domain.inside_size
        if size > SYMBOL_LIMIT:
            raise UnsupportedChannelError(
                f"the spectral prior decodes at most {SYMBOL_LIMIT} bins, got {size}. Decode "
                "with fewer bins, or with ExpectationMaximization"
            )
        whole = size <= DENSE
        mass, uncertainty = self._whole(channel, tally) if whole else self._on_cells(channel, tally)
        if uncertainty is not None:
            widest = uncertainty.about("simultaneous", "population")
            warn_when_weak(widest, what="the 95% band", stacklevel=3)
        provenance = decoder_document(self)
        return distribution_of(channel, tally, mass, provenance=provenance, uncertainty=uncertainty)

    def _whole(self, channel: Channel, tally: CountTally) -> tuple[Vector, Uncertainty | None]:
        """Return the answer with its error distribution, from matrices of all symbols."""
        scaled = ScaledBasis(channel.domain)
        answer = whole_answer(channel, tally, scaled, passes=self.passes)
        people = reporting_people(channel, tally, answer.mass, scaled.uniform)
        if not self.band:
            return people, None
        waves, local = always_allowed(answer.mass, scaled)
        floor = waves @ waves.T + np.diag(with_free_ends(local, scaled)) / local.size
        law = widened_band(answer.evidence, answer.prior, floor)
        promised = channel.guarantee
        if promised is not None and promised.epsilon >= _LEAST_EPSILON:
            density = density_law(answer, scaled, waves, local)
            law = replace(law, variants=replace(law.variants, density=density))
        return people, law

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

    The population that the people were drawn from is smooth where their sample is not. Reports of a
    large epsilon tell the two apart, and an error is one to the people who report.

    tally: At least one report.
    mass: float64 [size], the population.
    uniform: float64 [size], the shares before anything is known. One person is taken to be
        anywhere, so that where the population seems empty somebody may be seen.

    Each person holds a symbol with its probability given the report, under that population:
    ``p (1 + g / n)``, where g is the gradient of the log-likelihood along distributions. This is an
    expectation step, and no step further: the likelihood's own maximum fits the noise. Of bits the
    gradient is that of the composite likelihood, under which a share could be negative. It is zero
    then. One product with every block's operator and its adjoint.
    """
    people = tally.total
    population = mass + (uniform - mass) / people
    _, slope = likelihood_terms(channel, tally, population)
    shares = population * (1 + (slope - population @ slope) / people)
    shares = np.maximum(shares, 0.0)
    return np.asarray(shares / shares.sum())
