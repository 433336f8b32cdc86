"""The random walk of a series of distributions, learned from all weeks by evidence.

A week's masses are ``mean + columns (a_t + u_t)``: the random walk a, and a part u that only this
week has. Steps of the walk have a spectrum, a level for each half-octave of frequencies. The
deviation of a week that the next does not follow has one level for all weeks. A single week may
step by far more (a change point), or be an outlier. Each of these has a variance of its own, which
goes to zero where the reports show nothing. Those of spikes and steps between bins do so in the
spectral prior.

Change points and outliers are added one by one, each where it makes the reports most probable. One
backward pass gives the score of a variance and the variance of that score. From these follows
exactly the gain of evidence, for any level, when the variance of one step alone grows from nothing.

A variance that was learned for one week is not yet a finding: with many weeks some show a little by
chance. Each is taken away again, and only what the evidence misses by enough is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from lapwing.decoders.empirical_bayes.gaussian_model import NormalPrior, ScaledBasis
from lapwing.linear.arrays import Flags, Matrix, Vector
from lapwing.linear.random_walk import (
    Filtered,
    PseudoMeasurement,
    evidence_of,
    filtered,
    left_inverse,
    own_evidence,
    smoothed,
    without_own,
)
from lapwing.results.series_change import ChangeKind

JUMP_SLOPE = 2.0
"""Jumps are flatter than most steps are: a break in one week may be anywhere."""


@dataclass(frozen=True, eq=False)
class Week:
    """The quadratic likelihood of a week's masses x: ``score'x - x' information x / 2``."""

    information: Matrix
    score: Vector


@dataclass(frozen=True, eq=False)
class Walk:
    """A random walk of distributions, with the variances that were learned.

    mean: float64 [size]: masses where the state is zero.
    columns: float64 [size, state]: change of the masses by an amplitude, of sum zero.
    frequency: float64 [state].
    first: float64 [state, state]: prior covariance of the first week.
    step: float64 [state]: variances of an ordinary step.
    jump, odd: float64 [weeks]: levels of the change point and of the outlier.
    flicker: Level of what every week has alone.
    """

    mean: Vector
    columns: Matrix
    frequency: Vector
    first: Matrix
    step: Vector
    jump: Vector
    odd: Vector
    flicker: float = 0.0

    @property
    def shape(self) -> Vector:
        """Variances of a jump, or of what a week has alone, of level 1: float64 [state]."""
        shape: Vector = self.frequency**-JUMP_SLOPE
        return shape

    @property
    def steps(self) -> Matrix:
        """Variances of the step into each week: float64 [weeks, state]."""
        return self.step + np.outer(self.jump, self.shape)

    @property
    def own_parts(self) -> Matrix:
        """Variances of each week's own part: float64 [weeks, state]."""
        return np.outer(self.flicker + self.odd, self.shape)

    def looks(self, weeks: Sequence[Week | None]) -> list[PseudoMeasurement | None]:
        """Return what the weeks say about the amplitudes ``a + u``."""
        found: list[PseudoMeasurement | None] = []
        for week in weeks:
            if week is None:
                found.append(None)
                continue
            curved = week.information @ self.columns
            score = week.score @ self.columns - self.mean @ curved
            found.append(PseudoMeasurement(self.columns.T @ curved, score))
        return found

    def filtered(self, looks: Sequence[PseudoMeasurement | None]) -> Filtered:
        """Return the walk's state week by week, given the weeks up to each."""
        parts = [without_own(look, own) for look, own in zip(looks, self.own_parts, strict=True)]
        return filtered(parts, self.first, self.steps)

    def evidence(self, looks: Sequence[PseudoMeasurement | None]) -> float:
        """Return the logarithm of the probability of all reports, up to a constant."""
        parts, alone = self.without_own(looks)
        return evidence_of(parts, self.first, self.steps) + alone

    def without_own(
        self, looks: Sequence[PseudoMeasurement | None]
    ) -> tuple[list[PseudoMeasurement | None], float]:
        """Return what the weeks say about the walk alone, and what that adds to the evidence."""
        pairs = list(zip(looks, self.own_parts, strict=True))
        parts = [without_own(look, own) for look, own in pairs]
        return parts, sum(own_evidence(look, own) for look, own in pairs)


JUMP_LEVELS = np.geomspace(0.003, 0.6, 8)
"""Levels that are tried for one jump."""

ADDED = 2.0
"""Log-evidence that a jump or an odd week must win alongside the logarithm of the weeks."""
# Below, it is taken for a large step of a walk, or of what flickers.

_LOOKED_AT = 6
"""Weeks, those whose score is largest alongside its noise, that are tried at a time."""

_SPARSE, _MOST_JUMPS = 12, 8
"""One jump or odd week is added for so many weeks, one in any case, and this many at most."""


def with_added_jumps(walk: Walk, looks: Sequence[PseudoMeasurement | None]) -> Walk:
    """Return the walk with the change points and outliers that exceed their price.

    walk: Walk without change points and outliers.

    Each must gain more log-evidence than its price. One pass of the smoother for each that is
    added.
    """
    price = ADDED + float(np.log(max(2, len(looks))))
    for _ in range(min(max(1, len(looks) // _SPARSE), _MOST_JUMPS)):
        jump, odd = walk.jump.copy(), walk.odd.copy()
        found = max(_gains(walk, looks), default=(0.0, 0, 0.0, False))
        if found[0] <= price:
            break
        (odd if found[3] else jump)[found[1]] = found[2]
        walk = replace(walk, jump=jump, odd=odd)
    return walk


def _gains(
    walk: Walk, looks: Sequence[PseudoMeasurement | None]
) -> list[tuple[float, int, float, bool]]:
    """Return what one more gains at most, its week, its level, and whether it is an odd week."""
    parts, _ = walk.without_own(looks)
    after = smoothed(filtered(parts, walk.first, walk.steps))
    shape = walk.shape
    tried: list[tuple[float, int, bool, Vector, Matrix]] = []
    for week, part in enumerate(parts):
        if week and not walk.jump[week]:
            score, usual = after.score[week], after.precision[week]
            tried.append((_ratio(score, usual, shape), week, False, score, usual))
        if part is not None and not walk.odd[week]:
            score = part.score - part.information @ after.mean[week]
            usual = part.information - part.information @ after.covariance[week] @ part.information
            tried.append((_ratio(score, usual, shape), week, True, score, usual))
    tried.sort(key=lambda one: -one[0])
    found = []
    root = np.sqrt(shape)
    for _, week, odd, score, usual in tried[:_LOOKED_AT]:
        values, vectors = np.linalg.eigh(root[:, None] * usual * root)
        values = np.maximum(values, 0.0)
        squares = (vectors.T @ (root * score)) ** 2
        grown = 1 + np.outer(JUMP_LEVELS, values)
        gains = (JUMP_LEVELS[:, None] * squares / grown - np.log(grown)).sum(axis=1) / 2
        best = int(np.argmax(gains))
        found.append((float(gains[best]), week, float(JUMP_LEVELS[best]), odd))
    return found


def _ratio(score: Vector, usual: Matrix, shape: Vector) -> float:
    """Return the squared score of a variance over what is usual."""
    return float(score**2 @ shape) / max(float(np.diag(usual) @ shape), 1e-300)


LEVELS = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Standard deviations of the weekly step of the lowest wave, as parts of the density's height."""

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
"""Weeks, the last ones, from which level and slope are chosen. Half-octaves are refined on all."""

_MOST_SPREAD = 5.0
"""Factor by which a sweep changes a level at most."""

WHOLE = 128
"""Symbols up to which all waves are the state. Above, the lowest 96 and what stands out."""

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

    prior: Of a single week, learned from all weeks pooled.
    mass: float64 [size], the answer so far for all weeks pooled, whose density scales the waves.
    rough: Whether it is wanted for pilots only: then one scale is tried, and nothing twice.
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
    """Return the walk with its jumps and the steps of most evidence, and which it keeps.

    What one explains the other need not, so they are sought from three sides: jumps alongside the
    steps that the weeks ask for without any, jumps alongside hardly any steps, and jumps added one
    by one to hardly any steps. Each jump that was found has its price.
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
    """Return the walk with change points and outliers where the reports show them.

    spectrum: Whether levels of half-octaves are refined as well.
    again: Whether to go on from the jumps that the walk has.
    kept: bool [weeks]: jumps that won their price already, which need be no stronger than noise.

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
    spread: Vector = np.clip(factor, 1 / _MOST_SPREAD, _MOST_SPREAD)[band]
    return spread


PRICE = 2.0
"""Log-evidence that a change must win, alongside the logarithm of the number of weeks."""
# A change into any of them might have been found. In one of 44 made-up series that stand still
# noise won more, 5.8 in all, before jumps that are added had a price of their own.

_TRIED = 1e-5
"""Level from which a jump is tried. Its square root is the step of a density 1 high."""


@dataclass(frozen=True)
class FoundChange:
    """A change that the reports show: its week, its kind, and the log-evidence for it."""

    week: int
    kind: ChangeKind
    evidence: float


def found_changes(walk: Walk, looks: Sequence[PseudoMeasurement | None]) -> list[FoundChange]:
    """Return the change points and outliers that the reports show, in order.

    walk: As learned.

    One run of the filter for each week that is tried. The first week has nothing before it, and an
    outlier in the last week cannot be distinguished from a change point. It is called a change
    point.
    """
    seen = np.flatnonzero([look is not None for look in looks])
    whole = walk.evidence(looks)
    price = PRICE + float(np.log(max(2, seen.size)))
    found = []
    for week in seen[1:].tolist():
        if max(walk.jump[week], walk.odd[week]) < _TRIED:
            continue
        without = walk.jump.copy(), walk.odd.copy()
        for levels in without:
            levels[week] = 0.0
        gained = whole - replace(walk, jump=without[0], odd=without[1]).evidence(looks)
        if gained > price:
            kind: ChangeKind = "jump" if walk.jump[week] >= walk.odd[week] else "odd week"
            last = week == seen[-1]
            found.append(FoundChange(week, "jump" if last else kind, gained))
    return found
