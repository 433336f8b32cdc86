"""What the weeks of a series have in common, learned from all of them by evidence.

A week's masses are ``mean + columns (a_t + u_t)``: the walk a, and a part u that only this week
has. Steps of the walk have a spectrum, a level for each half-octave of frequencies. What every week
has alone, up and down again, has one level for all weeks. A single week may step by far more (a
jump), and may be an odd one that the next does not follow: each has a variance of its own, which
goes to zero where the reports show nothing, as those of spikes and steps between bins do in the
spectral prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from lapwing.decoders.empirical_bayes.normal_posterior import NormalPrior
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.series.added_jumps import ADDED, with_added_jumps
from lapwing.decoders.series.walk import JUMP_SLOPE, Walk, Week
from lapwing.linear.arrays import Flags, Matrix, Vector
from lapwing.linear.random_walk import (
    PseudoMeasurement,
    evidence_of,
    filtered,
    left_inverse,
    smoothed,
    without_own,
)

LEVELS = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Standard deviations of the step of the lowest wave from one week to the next, where 1 moves a
density by as much as it is high."""

SLOPES = (1.0, 2.0, 3.0, 4.0)
"""By which power of the frequency the variances of steps fall."""

FLICKERS = (0.0, 0.02, 0.028, 0.04, 0.056, 0.08, 0.11, 0.16, 0.22, 0.32)
"""Standard deviations of the lowest wave of what each week has alone."""

_FLICKERING = 1.0
"""Log-evidence that what each week has alone must win."""

_FEWEST = 4
"""Weeks with reports from which what a week has alone can be told from a step."""

SPARSITY = 3.0
"""How much stronger than its noise a jump must be before its variance grows."""

_START = 0.02**2

_FEWER = 5
"""Sweeps of the fixed point where jumps are only sought."""

_SHOWN = 1e-4
"""Level from which a jump counts as found."""

_PSEUDO_COUNT = 20.0
"""Weight of the chosen spectrum, in amplitudes of a week, when half-octaves are refined."""

_SEARCHED = 120
"""Weeks, the last ones, from which level and slope are chosen; half-octaves are refined on all."""

_MOST = 5.0
"""Factor by which a sweep changes a level at most."""

WHOLE = 128
"""Symbols up to which all waves are the state; above, the lowest 96 and what stands out."""

_WAVES, _EXTRA = 96, 32


def learned_walk(
    weeks: Sequence[Week | None],
    prior: NormalPrior,
    scaled: ScaledBasis,
    mass: Vector,
    *,
    rough: bool = False,
) -> tuple[Walk, list[PseudoMeasurement | None]]:
    """Return the walk that the weeks support best, and what they say of its amplitudes.

    Parameters
    ----------
    weeks : sequence of Week or None
    prior : NormalPrior
        Of a single week, learned from all weeks pooled.
    scaled : ScaledBasis
    mass : numpy.ndarray
        float64 [size], the answer so far for all weeks pooled, whose density scales the waves.
    rough : bool
        Whether it is wanted for pilots only: then one scale is tried, and nothing twice.
    """
    density = scaled.density(mass)
    found: tuple[float, Walk, list[PseudoMeasurement | None]] | None = None
    scales = (np.sqrt(density), np.ones_like(density), density)
    for scale in scales[:1] if rough else scales:
        start = _laid_out(prior, scaled, scale, weeks)
        looks = start.looks(weeks)
        evidence, walk = _best_spectrum(start, looks)
        if found is None or evidence > found[0]:
            found = evidence, walk, looks
    assert found is not None
    _, walk, looks = found
    if rough:
        return refitted(walk, looks, sweeps=_FEWER), looks
    walk, kept = _with_jumps(walk, looks)
    return refitted(walk, looks, again=True, kept=kept), looks


def _with_jumps(walk: Walk, looks: Sequence[PseudoMeasurement | None]) -> tuple[Walk, Flags]:
    """Return the walk with jumps, and with steps of most evidence beside them; and which it keeps.

    What one explains the other need not, so they are sought from three sides: jumps beside the
    steps that the weeks ask for without any, jumps beside hardly any steps, and jumps added one by
    one to hardly any steps. Each jump that was found has its price.
    """
    quiet = replace(walk, step=LEVELS[0] ** 2 * walk.frequency**-JUMP_SLOPE, flicker=0.0)
    price = ADDED + float(np.log(max(2, len(looks))))
    best: tuple[float, Walk, Flags] | None = None
    added = with_added_jumps(quiet, looks)
    for start in (walk, replace(quiet, flicker=walk.flicker), added):
        kept = (start.jump > 0) | (start.odd > 0)
        tried = start
        if not kept.any():
            tried = refitted(start, looks, spectrum=False, sweeps=_FEWER)
        _, tried = _best_spectrum(tried, looks)
        jumps = np.count_nonzero(np.append(tried.jump, tried.odd) > _SHOWN)
        worth = tried.evidence(looks) - price * jumps
        if best is None or worth > best[0]:
            best = worth, tried, kept
    assert best is not None
    return best[1], best[2]


def _laid_out(
    prior: NormalPrior, scaled: ScaledBasis, scale: Vector, weeks: Sequence[Week | None]
) -> Walk:
    """Return the walk of waves on this scale, before any variance of its steps is known."""
    waves = scaled.columns(scale)
    frequency = scaled.basis.frequency
    places = np.flatnonzero(scaled.apart)
    # A symbol that stands apart moves by a part of what it holds.
    apart = scaled.taken_from(prior.mean) * np.sqrt(np.clip(prior.mean[places], 1e-3, 1))
    columns = np.column_stack([waves[:, :_WAVES], apart])
    known = frequency[:_WAVES]
    if scaled.size <= WHOLE:
        columns, known = np.column_stack([waves, apart]), frequency
    else:
        there = [week.information for week in weeks if week is not None]
        usual: Matrix = np.mean(there, axis=0)
        extra = _left_out(prior.covariance, columns, usual)
        columns = np.column_stack([waves[:, :_WAVES], extra, apart])
        # What no low wave follows moves as the highest do.
        known = np.concatenate([known, np.full(extra.shape[1], frequency[_WAVES - 1])])
    known = np.concatenate([known, np.ones(places.size)])
    inverse = left_inverse(columns)
    first = inverse @ prior.covariance @ inverse.T
    nothing = np.zeros(known.size)
    quiet = np.zeros(len(weeks))
    return Walk(prior.mean, columns, known, (first + first.T) / 2, nothing, quiet, quiet)


def _left_out(covariance: Matrix, columns: Matrix, information: Matrix) -> Matrix:
    """Return columns for what a prior allows, a week's reports can see, and the others have not.

    float64 [size, at most 32]: principal directions of the rest of the covariance.
    """
    rest = np.eye(covariance.shape[0]) - columns @ left_inverse(columns)
    left = rest @ covariance @ rest.T
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    values, vectors = values[::-1][:_EXTRA], vectors[:, ::-1][:, :_EXTRA]
    seen = values * np.einsum("ij,ij->j", vectors, information @ vectors)
    kept: Matrix = vectors[:, seen > 0.01] * np.sqrt(values[seen > 0.01])
    return kept


def _best_spectrum(start: Walk, looks: Sequence[PseudoMeasurement | None]) -> tuple[float, Walk]:
    """Return the levels and the slope of most evidence, searched from neighbor to neighbor."""
    last = replace(start, jump=start.jump[-_SEARCHED:], odd=start.odd[-_SEARCHED:])
    looks = looks[-_SEARCHED:]
    lines = [len(LEVELS), len(SLOPES), len(FLICKERS)]
    seen = sum(look is not None for look in looks)
    tried: dict[tuple[int, ...], float] = {}
    parts: dict[int, tuple[list[PseudoMeasurement | None], float]] = {}

    def walk(place: tuple[int, ...], before: Walk) -> Walk:
        step = LEVELS[place[0]] ** 2 * start.frequency ** -SLOPES[place[1]]
        return replace(before, step=step, flicker=FLICKERS[place[2]] ** 2)

    def weigh(place: tuple[int, ...]) -> None:
        if place not in tried:
            candidate = walk(place, last)
            if place[2] not in parts:
                parts[place[2]] = candidate.without_own(looks)
            left, alone = parts[place[2]]
            price = _FLICKERING if place[2] else 0.0
            tried[place] = evidence_of(left, last.first, candidate.steps) + alone - price

    for place in ((4, 1, 0), (4, 2, 0), (1, 1, 0)):
        weigh(place)
    if seen >= _FEWEST:
        weigh((1, 1, FLICKERS.index(0.08)))
    else:
        lines[2] = 1
    before = 0
    while len(tried) > before:
        before = len(tried)
        best = max(tried, key=lambda place: tried[place])
        for line, step in product(range(3), (-1, 1)):
            near = (*best[:line], best[line] + step, *best[line + 1 :])
            if 0 <= near[line] < lines[line]:
                weigh(near)
    best = max(tried, key=lambda place: tried[place])
    return tried[best], walk(best, start)


def refitted(
    walk: Walk,
    looks: Sequence[PseudoMeasurement | None],
    *,
    spectrum: bool = True,
    again: bool = False,
    sweeps: int = 8,
    kept: Flags | None = None,
) -> Walk:
    """Return the walk with jumps and odd weeks where the reports show them.

    Parameters
    ----------
    walk : Walk
    looks : sequence of PseudoMeasurement or None
    spectrum : bool
        Whether levels of half-octaves are refined too.
    again : bool
        Whether to go on from the jumps that the walk has.
    sweeps : int
    kept : numpy.ndarray, optional
        bool [weeks]: jumps that won their price already, which need be no stronger than noise.

    Notes
    -----
    Fixed-point updates: a variance is multiplied by the squared score of its amplitude over the
    variance of that score, both from one backward pass. Where the first is no larger than the
    second, times :data:`SPARSITY` for a jump, the variance falls to nothing.
    """
    seen = np.array([look is not None for look in looks])
    if not again:
        jump = np.where(np.arange(seen.size) > 0, _START, 0.0)
        walk = replace(walk, jump=jump, odd=np.where(seen, _START, 0.0))
    sparsity = np.where(kept, 1.0, SPARSITY) if kept is not None else np.full(seen.size, SPARSITY)
    for _ in range(sweeps):
        walk = _swept(walk, looks, sparsity, spectrum=spectrum)
    return walk


def _swept(
    walk: Walk, looks: Sequence[PseudoMeasurement | None], sparsity: Vector, *, spectrum: bool
) -> Walk:
    own = walk.own_parts
    parts = [without_own(look, mine) for look, mine in zip(looks, own, strict=True)]
    after = smoothed(filtered(parts, walk.first, walk.steps))
    shape = walk.shape
    squares = after.score[1:] ** 2
    usual = np.einsum("tii->ti", after.precision[1:])
    step = walk.step
    if spectrum and len(squares) and step.any():
        step = step * _factors(walk, squares, usual)
    jump = walk.jump.copy()
    jump[1:] = _fixed_point(jump[1:], squares @ shape, sparsity[1:] * (usual @ shape))
    odd = walk.odd.copy()
    for week, part in enumerate(parts):
        if part is not None:
            score = part.score - part.information @ after.mean[week]
            told = part.information @ after.covariance[week]
            usually = np.diag(part.information) - np.einsum("ij,ji->i", told, part.information)
            (odd[week],) = _fixed_point(
                odd[week : week + 1],
                score[None] ** 2 @ shape,
                sparsity[week] * (usually[None] @ shape),
            )
    return replace(walk, step=step, jump=jump, odd=odd)


def _fixed_point(level: Vector, found: Vector, usual: Vector) -> Vector:
    updated: Vector = np.clip(level * found / np.maximum(usual, 1e-300), 1e-12, 4.0)
    return updated


def _factors(walk: Walk, squares: Matrix, usual: Matrix) -> Vector:
    """Return by how much the variance of each wave's steps is to be multiplied: float64 [state]."""
    band = np.unique(np.floor(2 * np.log2(walk.frequency)), return_inverse=True)[1]
    found = np.bincount(band, (squares * walk.step).sum(axis=0))
    expected = np.bincount(band, (usual * walk.step).sum(axis=0))
    kept = expected * _PSEUDO_COUNT / (squares.shape[0] * np.bincount(band))
    factor = (found + kept) / np.maximum(expected + kept, 1e-300)
    spread: Vector = np.clip(factor, 1 / _MOST, _MOST)[band]
    return spread
