"""Polynomials beside waves: their values, their evidence by brute force, and what they are for."""

from itertools import product

import numpy as np
import pytest

from lapwing.decoders.empirical_bayes.dense_model import (
    Candidate,
    averaged,
    learned_answer,
    smooth_part,
)
from lapwing.decoders.empirical_bayes.gaussian_model import Spectrum
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.releases.spectral_pursuit import (
    AHEAD,
    CORNERS,
    DECAYS,
    DEGREES,
    LEVELS,
    STEEPER,
    ReleasedMasses,
    SpectralPursuit,
    equal_runs,
    polynomial_basis,
    polynomials,
)
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts

BINS = 64
NOISY = Promise("replace-one", epsilon="0.1", delta="1e-6")
DOMAIN = Interval(0, 1, bins=BINS, outside="clip").for_curator()
PLACE = (np.arange(BINS) + 0.5) / BINS
FALLING = (1 - PLACE) ** 3 * PLACE  # to zero at both ends, with a slope at the left one
COMB = np.where(np.arange(BINS) % 12 == 5, 1.0, 0.02)


def released(density, *, seed, people=10_000):
    """A release, what it says of masses, the waves, and where the decoder begins."""
    counts = np.random.default_rng(seed).multinomial(people, density / density.sum())
    held = ExactCounts(DOMAIN, np.append(counts, 0))
    made = PrefixSums(smooth=50).release(held, NOISY, rng=seeded(seed))
    start = StepPursuit(band=False).decode(made.channel, made).mass
    basis, cells = equal_runs(DOMAIN, start, most=BINS)
    said = ReleasedMasses.of(
        made.channel.blocks[0], made.blocks[0], cells, people, hidden=made.people is None
    )
    return made, said, basis, start


@pytest.mark.parametrize("cells", [20, 4000])
def test_the_basis_is_orthonormal_and_at_the_middles_of_cells(cells) -> None:
    even = polynomial_basis(np.ones(cells))
    degrees = min(DEGREES, cells - 1)
    assert even.frequency.tolist() == list(range(1, degrees + 1))
    if cells == 4000:
        assert np.allclose(even.columns.T @ even.columns / cells, np.eye(degrees), atol=0.01)
    widths = np.random.default_rng(1).uniform(0.2, 1, cells)
    ends = np.append(0, np.cumsum(widths)) / widths.sum()
    middles = (ends[1:] + ends[:-1]) / 2
    found = polynomial_basis(widths).columns
    assert np.allclose(found[:, 0], np.sqrt(3) * (2 * middles - 1))
    assert np.allclose(found[:, 1], np.sqrt(5) * (6 * middles**2 - 6 * middles + 1))


def test_evidence_is_that_of_the_best_spectrum_by_brute_force() -> None:
    """With the likelihood at the mean, without which other candidates could not be compared."""
    basis = ScaledBasis(Interval(0, 1, bins=24).for_curator())
    rng = np.random.default_rng(1)
    root = 30 * rng.normal(size=(25, 25))
    start = np.append(rng.dirichlet(np.ones(24)), 0.0)
    information = root.T @ root
    score = information @ start + root.T @ rng.normal(size=25)
    grids = [LEVELS, LEVELS, (*LEVELS, STEEPER)]
    found = polynomials(information, score, basis, start)
    assert len(polynomials(information, score, basis, None)) == 1
    for one, levels in zip(found, grids, strict=True):
        slope = score - information @ one.mean
        expected = -np.inf
        degree = np.arange(1.0, one.columns.shape[1] + 1)
        for level, corner, decay in product(levels, CORNERS, DECAYS):
            variance = level**2 * (1 + (degree / corner) ** 2) ** -decay
            covariance = (one.columns * variance) @ one.columns.T
            system = np.eye(score.size) + information @ covariance
            explained = slope @ covariance @ np.linalg.solve(system, slope) / 2
            expected = max(expected, explained - np.linalg.slogdet(system)[1] / 2)
        expected += score @ one.mean - one.mean @ information @ one.mean / 2
        assert one.evidence == pytest.approx(expected + AHEAD, abs=1e-4)
        assert np.abs(one.columns.sum(axis=0)).max() < 1e-12


def test_settled_variances_stay_and_others_are_refined() -> None:
    information, score = 50.0 * np.eye(BINS + 1), np.ones(BINS + 1)
    scaled = ScaledBasis(DOMAIN)
    columns = scaled.columns(np.ones(BINS))
    spectrum = Spectrum(scaled.basis.frequency**-2.0, 0.0)
    frequency = scaled.basis.frequency
    expected = (columns * spectrum.variance) @ columns.T
    for settled in (True, False):
        one = Candidate(scaled.uniform, columns, spectrum, 0.0, settled=settled)
        _, covariance = averaged([one], information, score, frequency)
        assert np.allclose(covariance, expected, rtol=1e-9, atol=1e-15) == settled


def test_a_circle_has_no_polynomials() -> None:
    scaled = ScaledBasis(Interval(0, 1, bins=BINS, circular=True))
    assert polynomials(np.eye(BINS), np.zeros(BINS), scaled, None) == []


def changed_by_polynomials(density, *, people):
    """How far polynomials change the prior, as a part of its largest variance."""
    _, said, basis, start = released(density, seed=2, people=people)
    information, score = said.near(0.95 * start + 0.05 * basis.uniform)
    seen = []

    def watched(*given):
        found = polynomials(*given)
        seen.extend(found)
        return found

    smooth, _ = smooth_part(information, score, basis, start, watched)
    without, _ = smooth_part(information, score, basis, start)
    assert len(seen) == 3
    changed = np.abs(smooth.covariance - without.covariance).max()
    return changed / np.abs(without.covariance).max()


def test_a_slope_at_an_end_is_taken_by_polynomials_and_a_comb_is_not() -> None:
    assert changed_by_polynomials(FALLING, people=10_000) > 0.3
    assert changed_by_polynomials(COMB, people=10**7) < 1e-9


def test_the_answer_is_nearer_with_them_and_the_default_has_them() -> None:
    """Four paired releases of fixed seeds: without them a third more of the mass is misplaced."""
    law = FALLING / FALLING.sum()
    misplaced = {"with": 0.0, "without": 0.0}
    for seed in range(4):
        made, said, basis, start = released(FALLING, seed=seed)
        found = {}
        for name, further in (("with", polynomials), ("without", None)):
            learned = learned_answer(
                said.near, basis, reports=10_000, passes=2, start=start, further=further
            )
            found[name] = learned.mass
            misplaced[name] += np.abs(learned.mass[:BINS] - law).sum()
        if seed == 0:
            decoder = SpectralPursuit(target="population", band=False)
            answer = decoder.decode(made.channel, made)
            assert np.allclose(answer.mass, (start + found["with"]) / 2, atol=1e-12)
            assert not np.allclose(found["with"], found["without"], atol=1e-4)
    assert misplaced["with"] < 0.85 * misplaced["without"]
