"""Where a density has what waves cannot follow: single cells and small blocks that stand out.

A candidate is a unit of mass spread over a block, less the same mass spread over all symbols. How
far the reports ask for it, beyond what the columns at hand explain, is one number per block. The
strongest become atoms of the model (`low_rank_model.py`), whose variances and spectrum are fitted
anew before the next are looked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lapwing.decoders.empirical_bayes.low_rank_model import (
    Atoms,
    LowRankModel,
    LowRankPosterior,
    Members,
)
from lapwing.decoders.empirical_bayes.quadratic_likelihood import Likelihood
from lapwing.linear.arrays import Matrix, Vector, Whole

WIDTHS = (1, 2, 4, 8, 16)
"""Cells of a block; blocks begin at multiples of their width."""

_SMOOTH = 0.9
"""Amplitude of the smooth spectrum, `_SMOOTH * frequency^-1.5`, under which heavy atoms show."""

_HEAVY = 12.0
"""How strong a single cell must be to be tried as a heavy atom, in squared deviations."""

_HEAVY_LIMIT = 8

_ROUNDS, _ROUND_LIMIT, _LIMIT = 6, 24, 160
"""Searches for atoms in a pass, how many each may add, and how many in all."""

_WEAK, _WEAK_AT_LAST, _WEAK_HEAVY = 2.0, 3.0, 6.0
"""Squared deviations below which an atom that was added is dropped again."""

_TINY = 1e-300


def with_atoms(
    model: LowRankModel, likelihood: Likelihood, allowed: Members, score: Vector, at_uniform: Vector
) -> LowRankModel:
    """Return the model with the atoms that the reports ask for, and a spectrum that fits beside.

    Parameters
    ----------
    model : LowRankModel
        Waves and symbols that stand apart.
    likelihood : Likelihood
    allowed : numpy.ndarray
        bool [size]: symbols that may be in a block.
    score, at_uniform : numpy.ndarray
        float64 [size]: the score at the prior mean and at the uniform distribution.
    """
    search = BlockSearch(likelihood, allowed)
    model = _with_heavy_atoms(model, search, score, at_uniform).refined(score)
    for _ in range(_ROUNDS):
        candidates = search.candidates(model.posterior(score), score)
        # What the strongest of so many would be by chance alone.
        least = 2 * float(np.log(candidates.score.size))
        limit = min(_ROUND_LIMIT, _LIMIT - model.atoms.count)
        found = candidates.standing_out(least=least, limit=limit, known=model.atoms)
        if found.count:
            model = model.extended(found, likelihood, allowed)
        number = model.atoms.count
        model = model.refitted(score, weak=_WEAK)
        if not found.count and model.atoms.count == number:
            break
    return model.refitted(score, weak=_WEAK_AT_LAST).refined(score)


def _with_heavy_atoms(
    model: LowRankModel, search: BlockSearch, score: Vector, at_uniform: Vector
) -> LowRankModel:
    """Return the model with single cells of much mass, if the evidence is for them.

    A spectrum that was fitted to such a cell is rough and hides it. So cells are looked for
    under a smooth one, and kept when together they beat the best spectrum without them by the
    price of naming them, the logarithm of the size each.
    """
    smooth = replace(model, waves=_SMOOTH**2 * model.frequency**-3)
    heavy = search.heavy(smooth.posterior(score), score, least=_HEAVY, limit=_HEAVY_LIMIT)
    if not heavy.count:
        return model
    tried = smooth.extended(heavy, search.likelihood, search.allowed)
    for _ in range(5):
        tried = tried.refitted(score, weak=_WEAK_HEAVY)
    spectrum = tried.spectrum(at_uniform)
    gained = spectrum.evidence - model.spectrum(at_uniform).evidence
    if gained <= tried.atoms.count * np.log(search.allowed.size):
        return model
    return replace(tried, waves=spectrum.variance)


class BlockSearch:
    """Looks for atoms in one quadratic likelihood.

    Parameters
    ----------
    likelihood : Likelihood
    allowed : numpy.ndarray
        bool [size]: symbols that may be in a block.
    """

    def __init__(self, likelihood: Likelihood, allowed: Members) -> None:
        size = allowed.size
        self.allowed = allowed
        self.size = size
        self.likelihood = likelihood
        self.flat = likelihood.curved(np.full(size, 1 / size))
        bands = likelihood.near_diagonal(max(WIDTHS))
        member = allowed.astype(np.float64)
        self.blocks = [_Blocks.of(width, bands, member, self.flat) for width in WIDTHS]

    def candidates(
        self, posterior: LowRankPosterior, score: Vector, *, widths: int = len(WIDTHS)
    ) -> Candidates:
        """Return the blocks of the first so many widths.

        O(size * columns^2) for one triangular solution, then O(size * columns).
        """
        residual = posterior.residual(score)
        taken = posterior.whitened(posterior.columns.curved)
        middle = taken.mean(axis=1)
        taken[:, ~self.allowed] = 0
        inside = np.where(self.allowed, residual, 0.0)
        found = []
        for blocks in self.blocks[:widths]:
            if blocks.width > 1:
                taken, inside = _pairs(taken), _pairs(inside)
            share = 1 / blocks.cells
            explained = np.einsum("ij,ij->j", taken, taken) * share**2
            explained += middle @ middle - 2 * (middle @ taken) * share
            found.append(
                (
                    blocks.start,
                    blocks.stop,
                    np.where(blocks.used, inside * share - residual.mean(), 0.0),
                    np.maximum(blocks.information - explained, _TINY),
                )
            )
        return Candidates(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def heavy(
        self, posterior: LowRankPosterior, score: Vector, *, least: float, limit: int
    ) -> Atoms:
        """Return single cells with more mass than expected, the strongest first.

        Each is explained before the next is looked for, so that no cell is found for the waves
        that a stronger one throws: a rank-one step, O(size * columns).

        Parameters
        ----------
        posterior : LowRankPosterior
            Under a smooth spectrum.
        score : numpy.ndarray
            float64 [size].
        least : float
            Strength of the weakest.
        limit : int
        """
        cells = self.candidates(posterior, score, widths=1)
        open_cells = self.allowed.copy()
        steps: list[tuple[Vector, float]] = []
        found = Atoms.none()
        while found.count < limit:
            strength = np.where(open_cells & (cells.score > 0), cells.strength, 0.0)
            cell = int(np.argmax(strength))
            if strength[cell] < least:
                break
            atom = cells.atoms(np.array([cell]))
            found = found.joined(atom)
            # Two cells side by side are one atom seen twice.
            open_cells[max(cell - 1, 0) : cell + 2] = False
            variance = float(atom.variance[0])
            unit = atom.columns(self.allowed)[:, 0]
            column = self.likelihood.curved(unit)
            curved = posterior.columns.curved
            column -= curved @ posterior.covariance_times(curved.T @ unit)
            for earlier, weight in steps:
                column -= earlier * (weight * float(earlier @ unit))
            # Masses of sum zero do not feel constants.
            column -= column.mean()
            weight = variance / (1 + variance * float(cells.precision[cell]))
            steps.append((column, weight))
            cells = replace(
                cells,
                score=cells.score - column * (weight * float(cells.score[cell])),
                precision=np.maximum(cells.precision - weight * column**2, _TINY),
            )
        return found


@dataclass(frozen=True, eq=False)
class _Blocks:
    """All blocks of one width: allowed cells in each, and the information about its mass."""

    width: int
    start: Whole
    stop: Whole
    cells: Vector
    used: Members
    information: Vector

    @classmethod
    def of(cls, width: int, bands: Matrix, member: Vector, flat: Vector) -> _Blocks:
        size = member.size
        start = np.arange(0, size, width)
        place = np.arange(size) % width
        # Sum the entries of H over the block: those on the diagonal once, the others twice.
        square = bands[0] * member
        for lag in range(1, min(width, size)):
            both = member[:-lag] * member[lag:] * (place[:-lag] < width - lag)
            square[:-lag] += 2 * bands[lag, :-lag] * both
        cells = np.add.reduceat(member, start)
        used = cells > 0
        cells = np.maximum(cells, 1)
        information = np.add.reduceat(square, start) / cells**2
        information -= 2 * np.add.reduceat(flat * member, start) / cells
        information += flat.mean()
        return cls(width, start, np.minimum(start + width, size), cells, used, information)


@dataclass(frozen=True, eq=False)
class Candidates:
    """All blocks of all widths, with what the reports say about each beyond the columns at hand.

    Parameters
    ----------
    start, stop : numpy.ndarray
        int64 [blocks].
    score, precision : numpy.ndarray
        float64 [blocks]: the score of the block's mass at zero, and its variance under the prior.
        Under a prior without the block, ``score^2 / precision`` is chi-squared of one degree.
    """

    start: Whole
    stop: Whole
    score: Vector
    precision: Vector

    @property
    def strength(self) -> Vector:
        """Score in squared standard deviations: float64 [blocks]."""
        return self.score**2 / self.precision

    def atoms(self, chosen: Whole) -> Atoms:
        """Return some as atoms, each with the variance that makes its score most probable."""
        score, precision = self.score[chosen], self.precision[chosen]
        variance = np.clip((score**2 - precision) / precision**2, 1e-16, 9)
        return Atoms(self.start[chosen], self.stop[chosen], variance)

    def standing_out(self, *, least: float, limit: int, known: Atoms) -> Atoms:
        """Return the strongest that do not overlap each other and are not known.

        Parameters
        ----------
        least : float
            Strength of the weakest.
        limit : int
        known : Atoms
        """
        strength = self.strength
        taken = np.zeros(int(self.stop.max()), dtype=np.bool_)
        before = set(zip(known.start.tolist(), known.stop.tolist(), strict=True))
        chosen: list[int] = []
        for block in np.argsort(-strength, kind="stable"):
            start, stop = int(self.start[block]), int(self.stop[block])
            if strength[block] < least or len(chosen) >= limit:
                break
            if not taken[start:stop].any() and (start, stop) not in before:
                taken[start:stop] = True
                chosen.append(int(block))
        return self.atoms(np.array(chosen, dtype=np.int64))


def _pairs(rows: Matrix) -> Matrix:
    """Return the sums of columns 0 and 1, 2 and 3, ...; an odd last one stays alone."""
    even = rows.shape[-1] // 2 * 2
    sums: Matrix = rows[..., 0:even:2] + rows[..., 1:even:2]
    if even < rows.shape[-1]:
        sums = np.concatenate([sums, rows[..., even:]], axis=-1)
    return sums
