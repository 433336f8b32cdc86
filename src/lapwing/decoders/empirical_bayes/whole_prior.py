"""The spectral prior up to 512 symbols: every wave, bin and step takes part, in whole matrices.

A pass linearises the likelihood at the answer so far, learns the smooth part of the prior
(`smooth_prior.py`), then here the variances of single bins and of steps between neighbours, and
takes the nearest distribution to the posterior mean (`normal_posterior.py`). The band of the
last pass is drawn in `widened_band.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dsygst

from lapwing.decoders.empirical_bayes.normal_posterior import NormalPrior, Posterior
from lapwing.decoders.empirical_bayes.quadratic_likelihood import Evidence, quadratic_likelihood
from lapwing.decoders.empirical_bayes.smooth_prior import smooth_part
from lapwing.decoders.empirical_bayes.wave_basis import FREE, ScaledBasis
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.operators.sums import running_sums
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import Counts

_SPARSITY = 5.0
"""How much stronger than its noise a spike or step must be before its variance grows."""

_SWEEPS = 8


@dataclass(frozen=True, eq=False)
class WholeAnswer:
    """A decoded distribution with what a band needs to know.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size], the distribution.
    evidence : Evidence
        The likelihood of the last pass.
    prior : NormalPrior
        What was learnt from it.
    """

    mass: Vector
    evidence: Evidence
    prior: NormalPrior


def whole_answer(
    channel: Channel, tally: Counts, scaled: ScaledBasis, *, passes: int
) -> WholeAnswer:
    """Return the posterior's nearest distribution under a prior of waves, spikes and steps.

    Parameters
    ----------
    channel : Channel
    tally : Counts
    scaled : ScaledBasis
        All waves of the domain of the channel.
    passes : int
        Times the likelihood is linearised, at least 1.

    Notes
    -----
    O(size^3) time, O(size^2) memory.
    """
    size = channel.domain.size
    answer: Vector | None = None
    for _ in range(passes):
        pilot = 0.95 * (np.full(size, 1 / size) if answer is None else answer) + 0.05 / size
        information, score = quadratic_likelihood(channel, tally, pilot)
        prior = learnt_prior(information, score, scaled, answer)
        posterior = Posterior.of(information, score, prior.mean, prior.covariance)
        answer = posterior.distribution()
    assert answer is not None
    return WholeAnswer(answer, Evidence(information, score, pilot, tally.total), prior)


def learnt_prior(
    information: Matrix, score: Vector, scaled: ScaledBasis, answer: Vector | None
) -> NormalPrior:
    """Return the prior that a quadratic likelihood supports best, of waves, spikes and steps.

    Parameters
    ----------
    information, score : numpy.ndarray
        Of the quadratic likelihood: float64 [size, size] and [size].
    scaled : ScaledBasis
    answer : numpy.ndarray, optional
        float64 [size], the answer so far.
    """
    apart = apart_columns(scaled, answer)
    inner, slope = marginal(information, score, apart)
    smooth, heavy = smooth_part(inner, slope, scaled, answer)
    prior = _with_spikes_and_steps(smooth, heavy, inner, slope, scaled)
    return NormalPrior(prior.mean, prior.covariance + FREE * apart @ apart.T)


def apart_columns(scaled: ScaledBasis, answer: Vector | None) -> Matrix:
    """Return what a unit at each symbol that stands apart adds: float64 [size, symbols apart].

    It is taken from the others by their shares, so that their shape stays what it was. If nothing
    were taken, only waves and spikes could make room for it, and they are small: atoms were
    shrunk to a fraction then.

    Parameters
    ----------
    scaled : ScaledBasis
    answer : numpy.ndarray, optional
        float64 [size], the answer so far; shares are even without one.
    """
    uniform = np.full(scaled.size, 1 / scaled.size)
    return scaled.taken_from(uniform if answer is None else scaled.mean_of(answer))


def marginal(information: Matrix, score: Vector, free: Matrix) -> tuple[Matrix, Vector]:
    """Return the quadratic likelihood of the masses without their part along free columns.

    Amplitudes of those are integrated out under their prior, so that neither waves nor spikes
    are learnt from what a symbol that stands apart explains.

    Parameters
    ----------
    information, score : numpy.ndarray
        Of the quadratic likelihood: float64 [size, size] and [size].
    free : numpy.ndarray
        float64 [size, columns], each with a prior variance of `FREE`.
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

    Heavy atoms keep a variance of their square: nothing pulls them to what they were thought
    to be.
    """
    known = heavy**2
    single = np.where(known > 0, known, 1e-4)
    single[scaled.apart] = 0  # they are free in the whole prior, and integrated out here
    at_mean = score - information @ smooth.mean
    jump = np.full(scaled.joined.size - 1, 0.0 if scaled.circular else 0.02**2)
    root = root_of(information)
    for _ in range(_SWEEPS):
        covariance = _summed(smooth.covariance, _steps(jump, scaled), single)
        whitened = whitener(root, covariance)
        residual = at_mean - whitened.T @ (whitened @ (covariance @ at_mean))
        expected = np.maximum(np.einsum("ij,ij->j", whitened, whitened), 1e-300)
        update = single * residual**2 / (_SPARSITY * expected)
        single = np.where(known > 0, known, np.clip(update, 1e-16, 9))
        single[scaled.apart] = 0
        if not scaled.circular:
            jump = _refitted_steps(jump, residual, whitened, scaled)
    return NormalPrior(smooth.mean, _summed(smooth.covariance, _steps(jump, scaled), single))


def _summed(smooth: Matrix, steps: Matrix, single: Vector) -> Matrix:
    """Return the covariance of waves, steps and spikes together: float64 [size, size]."""
    covariance = smooth + steps
    covariance[np.diag_indices_from(covariance)] += single
    return covariance


def _steps(jump: Vector, scaled: ScaledBasis) -> Matrix:
    """Return the covariance of centred steps of the density between neighbours."""
    size, joined = scaled.size, scaled.joined
    if scaled.circular:
        return np.zeros((size, size))
    # Steps shared by two cells are those up to the earlier one.
    heights = np.concatenate([[0.0], np.cumsum(jump)])
    block: Matrix = np.minimum.outer(heights, heights)
    middle = block.mean(axis=0)
    block -= middle
    block -= (middle - middle.mean())[:, None]
    block /= size**2
    if joined.size == size:
        return block
    covariance = np.zeros((size, size))
    covariance[np.ix_(joined, joined)] = block
    return covariance


def _refitted_steps(
    jump: Vector, residual: Vector, whitened: Matrix, scaled: ScaledBasis
) -> Vector:
    """Return the fixed-point update of the variances of the steps.

    A centred step is minus the indicator of the cells before it, up to a constant, and
    centred rows do not feel constants: sums before a step are as good as those after.
    """
    score = _sums_before(residual[scaled.joined]) / scaled.size
    rows = _sums_before(whitened.T[scaled.joined])
    expected = np.maximum(np.einsum("ij,ij->i", rows, rows) / scaled.size**2, 1e-300)
    updated: Vector = np.clip(jump * score**2 / (_SPARSITY * expected), 1e-12, 9)
    return updated


def _sums_before(rows: Matrix) -> Matrix:
    """Return running sums of the centred columns up to each step between two cells: a row less."""
    return running_sums(rows - rows.mean(axis=0))[:-1]


def root_of(information: Matrix) -> Matrix:
    """Return a lower triangular F with ``F F' = information``, which may be singular.

    The diagonal is raised by 1e-13 of its mean, far less than any prior that is not flat.
    """
    raised = information.copy()
    raised[np.diag_indices_from(raised)] += 1e-13 * float(np.trace(raised)) / raised.shape[0]
    root: Matrix = cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    return root


def whitener(root: Matrix, prior: Matrix) -> Matrix:
    """Return W such that ``W'W = H - H C H``, the covariance of the posterior's residual score.

    With ``H = F F'`` and ``G G' = I + F' S F`` it is ``W = G^-1 F'``: one reduction, one
    Cholesky factor and one triangular solution, a quarter of the work of C itself.

    Parameters
    ----------
    root : numpy.ndarray
        float64 [size, size], the lower triangular F of :func:`root_of`.
    prior : numpy.ndarray
        float64 [size, size], the covariance S.
    """
    system, _ = dsygst(prior.T, root, itype=2, lower=1)
    system[np.diag_indices_from(system)] += 1
    factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    whitened: Matrix = dtrsm(1.0, factor, root, side=1, lower=1, trans_a=1).T
    return whitened
