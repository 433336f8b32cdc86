"""Theorems and printed numbers of the papers that are quick to check: the rows of docs/papers.

Each test is named by the row of `docs/papers/*.md` that cites it (WE, CF, FA, SW, CP). A claim that
is false is tested to be false: if the check ever passes the other way round, the page is wrong.
Nothing here needs the method itself to be built.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.polynomial import legendre, polynomial
from scipy import optimize, stats

import lapwing as lw
from lapwing.randomizers.categorical.linear_hashing import (
    block_deviation,
    enough_hash_bits,
    least_variance_near,
)
from lapwing.randomizers.numerical.square_wave import mutual_information_width

# Wavelet expansion (Zhao 2026).


def signed_subset_constants(size: int, chosen: int, epsilon: float) -> tuple[float, float]:
    """Return p and q of lemma 2 and 3 in closed form, without binomials."""
    scale = math.exp(epsilon) + 1 + 2 * (size - chosen) / chosen
    p = math.exp(epsilon) / scale
    if size == 1:
        return p, 0.0
    q = (chosen - 1) * (math.exp(epsilon) + 1) / (2 * (size - 1)) + (size - chosen) / (size - 1)
    return p, q / scale


def signed_subset_outputs(size: int, chosen: int) -> np.ndarray:
    """Return all outputs, vectors in {-1, 0, 1}^size with so many entries that are not 0."""
    outputs = []
    for places in itertools.combinations(range(size), chosen):
        for signs in itertools.product((1, -1), repeat=chosen):
            output = np.zeros(size)
            output[list(places)] = signs
            outputs.append(output)
    return np.array(outputs)


def signed_subset_variance(size: int, chosen: int, epsilon: float) -> float:
    """Return the summed variance of the unbiased coefficients of one report, corrected (2 q)."""
    p, q = signed_subset_constants(size, chosen, epsilon)
    gap = p * (1 - math.exp(-epsilon))
    return (p * (1 + math.exp(-epsilon)) - gap**2 + (size - 1) * 2 * q) / gap**2


def plain_subset_variance(size: int, chosen: int, epsilon: float) -> float:
    """Return the same for plain subset selection on the 2 * size signed symbols, by differences."""
    symbols = 2 * size
    odds = chosen * math.exp(epsilon)
    own = odds / (odds + symbols - chosen)
    other = (chosen - own) / (symbols - 1)
    gap = own - other
    first = own * (1 - (chosen - 1) / (symbols - 1)) + (1 - own) * chosen / (symbols - 1)
    pair = (symbols - 1) * (symbols - 2)
    both = (own * (chosen - 1) * (chosen - 2) + (1 - own) * chosen * (chosen - 1)) / pair
    return (first - gap**2 + (size - 1) * 2 * (other - both)) / gap**2


@pytest.mark.parametrize("size", range(2, 7))
def test_we_07_closed_forms_of_lemma_2_and_3(size: int) -> None:
    for chosen in range(1, size + 1):
        outputs = signed_subset_outputs(size, chosen)
        law = np.where(outputs[:, 0] == 1, math.exp(1.0), 1.0)
        law /= law.sum()
        p, q = signed_subset_constants(size, chosen, 1.0)
        assert law[outputs[:, 0] == 1].sum() == pytest.approx(p, rel=1e-12)
        assert law[outputs[:, 1] == 1].sum() == pytest.approx(q, rel=1e-12)


def test_we_09_algorithm_2_as_printed_is_neither_unbiased_nor_private() -> None:
    """Its other picked entries are +1 instead of random signs."""
    outputs = signed_subset_outputs(4, 2)
    law = (
        np.where(outputs[:, 0] == 1, math.e, 1.0) / np.where(outputs[:, 0] == 1, math.e, 1.0).sum()
    )
    assert len(outputs) == 24
    assert law @ outputs == pytest.approx([0.300, 0, 0, 0], abs=1e-3)
    printed = outputs.copy()
    printed[:, 1:] = np.abs(printed[:, 1:])
    assert law @ printed == pytest.approx([0.300, 0.450, 0.450, 0.450], abs=1e-3)
    # With the printed rule a -1 can stand at the own coordinate only: it reveals which that is.
    assert (printed[:, 1:] >= 0).all() and (printed[:, 0] < 0).any()


def test_we_12_the_variance_of_an_absent_coordinate_is_2q_and_not_q() -> None:
    outputs = signed_subset_outputs(4, 2)
    law = np.where(outputs[:, 0] == 1, math.e, 1.0)
    law /= law.sum()
    _, q = signed_subset_constants(4, 2, 1.0)
    assert law @ outputs[:, 1] ** 2 == pytest.approx(2 * q, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "ratios"),
    [(4, (1.65, 1.40, 1.00, 1.00)), (16, (1.82, 1.53, 1.13, 1.00)), (64, (1.87, 1.56, 1.15, 1.01))],
)
def test_we_06_signed_subsets_beat_plain_ones_for_small_epsilon_only(
    size: int, ratios: tuple[float, ...]
) -> None:
    for epsilon, ratio in zip((0.5, 1, 2, 4), ratios, strict=True):
        plain = min(plain_subset_variance(size, m, epsilon) for m in range(1, 2 * size))
        signed = min(signed_subset_variance(size, m, epsilon) for m in range(1, size + 1))
        assert plain / signed == pytest.approx(ratio, abs=0.006)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0])
def test_we_08_the_best_weight_is_all_coordinates_up_to_epsilon_1(epsilon: float) -> None:
    for size in (2, 4, 8, 64):
        variances = [signed_subset_variance(size, m, epsilon) for m in range(1, size + 1)]
        assert int(np.argmin(variances)) + 1 == size


def level_variance(level: int, epsilon: float) -> float:
    """Return V_j of equation 75, with 2 q; it includes the sampling of the level's people."""
    size = 2**level
    best = min(signed_subset_variance(size, m, epsilon) for m in range(1, size + 1))
    return size * (best + 1)


def test_we_14_rates_of_lemma_7_in_the_level() -> None:
    slope = np.log2(level_variance(9, 0.5) / level_variance(8, 0.5))
    assert slope == pytest.approx(2, abs=0.01)
    assert np.log2(level_variance(9, 12.0) / level_variance(8, 12.0)) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("epsilon", "best"), [(0.5, 6), (1.0, 7)])
def test_we_15_the_papers_bound_is_smallest_far_below_its_rule_for_j(
    epsilon: float, best: int
) -> None:
    people = 100_000
    assert math.ceil(math.log2(people) / 2) == 9
    bounds = []
    for top in range(1, 11):
        variances = np.array([level_variance(level, epsilon) for level in range(top + 1)])
        halves = 2.0 ** -np.arange(top + 1)
        allocation = halves * np.sqrt(variances)
        allocation *= people / allocation.sum()
        privacy = math.sqrt(float((halves**2 / 4 * variances / allocation).sum()))
        bounds.append(2.0 ** -(top + 1) + privacy)
    assert int(np.argmin(bounds)) + 1 == best


def random_curves(seed: int) -> tuple[lw.Distribution, lw.Distribution]:
    rng = np.random.default_rng(seed)
    domain = lw.Interval(0, 1, bins=int(rng.integers(2, 40)), outside="clip")
    masses = [rng.dirichlet(np.full(domain.size, 0.3)) for _ in range(2)]
    return lw.Distribution(domain, masses[0]), lw.Distribution(domain, masses[1])


@pytest.mark.parametrize("seed", range(50))
def test_we_25_range_queries_are_bounded_by_the_distances(seed: int) -> None:
    """With both ends uniform, as the paper says; a range of fixed width alpha needs 1 - alpha."""
    first, second = random_curves(seed)
    distance = lw.distances.wasserstein(first, second)
    grid = (np.arange(400) + 0.5) / 400
    gap = first.cdf(grid) - second.cdf(grid)
    errors = np.abs(gap[:, None] - gap[None, :])
    assert errors.mean() <= 2 * distance + 1e-2 / 400 + 2 / 400
    assert errors.max() <= 2 * lw.distances.kolmogorov_smirnov(first, second) + 1e-12
    for width in (0.2, 0.4, 0.9):
        error = lw.distances.range_query_error(first, second, width=width, grid=4096)
        assert error <= 2 * distance / (1 - width) + 2 / 4096 / (1 - width)


def test_we_25_the_bound_without_1_minus_alpha_is_false_for_wide_ranges() -> None:
    domain = lw.Interval(0, 1, bins=100, outside="clip")
    masses = np.zeros((2, 100))
    masses[0, [0, 99]] = 0.5
    masses[1, [9, 90]] = 0.5
    first, second = (lw.Distribution(domain, mass) for mass in masses)
    error = lw.distances.range_query_error(first, second, width=0.9, grid=4000)
    assert error > 2 * lw.distances.wasserstein(first, second)


def test_we_27_equal_l1_and_divergence_but_another_wasserstein_distance() -> None:
    """Also SW-08: l1, l2 and Kullback-Leibler do not see how far mass was moved."""
    domain = lw.Interval(0, 4, bins=4)
    truth = lw.Distribution(domain, np.array([0.7, 0.1, 0.1, 0.1]))
    near = lw.Distribution(domain, np.array([0.1, 0.7, 0.1, 0.1]))
    far = lw.Distribution(domain, np.array([0.1, 0.1, 0.1, 0.7]))
    for distance in (lw.distances.l1, lw.distances.l2, lw.distances.kullback_leibler):
        assert distance(truth, near) == pytest.approx(distance(truth, far))
    assert lw.distances.wasserstein(truth, far) == pytest.approx(
        3 * lw.distances.wasserstein(truth, near)
    )


# Convolution framework (Fang 2023).

TAXI_TRIPS = 2_834_264
VALUES = 1000


def pure(epsilon: float, protocol: str) -> tuple[float, float]:
    """Return p* and q* of a pure protocol on 1000 values."""
    odds = math.exp(epsilon)
    if protocol == "KRR":
        return odds / (odds + VALUES - 1), 1 / (odds + VALUES - 1)
    return 0.5, 1 / (odds + 1)


def deviation(epsilon: float, protocol: str) -> float:
    """Return the standard deviation of the estimated share of a value that nobody has."""
    p, q = pure(epsilon, protocol)
    return math.sqrt(q * (1 - q) / TAXI_TRIPS) / (p - q)


def test_cf_05_unary_encoding_becomes_better_above_3_e_epsilon_plus_2_values() -> None:
    odds = math.exp(4)
    crossing = optimize.brentq(lambda d: (odds + d - 2) - 4 * odds, 2, 10_000)
    assert crossing == pytest.approx(3 * odds + 2) == pytest.approx(165.79, abs=0.01)


@pytest.mark.parametrize(
    ("epsilon", "field", "ratio"),
    [
        (0.5, 3, 0.991),
        (1, 4, 1.0),
        (2, 8, 1.0),
        (3, 23, 0.998),
        (4, 53, 1.001),
        (5, 149, 1.006),
        (6, 401, 1.055),
    ],
)
def test_cf_09_linear_hashing_has_the_variance_of_projective_geometry_response(
    epsilon: float, field: int, ratio: float
) -> None:
    """Variances of a share near zero; hyperplanes of a geometry over the best field, 41,270 values.

    A value's outputs are the points of its hyperplane; two of them share those of a subspace.
    """
    dimension = next(t for t in itertools.count(2) if (field**t - 1) // (field - 1) >= 41_270)
    points, near, shared = (
        (field**t - 1) // (field - 1) for t in (dimension - i for i in range(3))
    )
    odds = math.exp(epsilon)
    total = near * odds + points - near
    own, other = near * odds / total, (shared * odds + near - shared) / total
    bits = enough_hash_bits(epsilon)
    ours = block_deviation(least_variance_near(bits, epsilon) / 2**bits, epsilon) ** 2
    assert ours / (other * (1 - other) / (own - other) ** 2) == pytest.approx(ratio, abs=5e-4)


def test_cf_14_the_printed_thresholds_lack_the_division_by_the_number_of_values() -> None:
    def threshold(alpha: float, protocol: str) -> float:
        return TAXI_TRIPS * stats.norm.isf(alpha) * deviation(4, protocol)

    by_formula_6 = [threshold(0.05 / VALUES, name) for name in ("OUE", "KRR")]
    assert by_formula_6 == pytest.approx([1806, 3965], abs=0.5)
    printed = [threshold(0.05, name) for name in ("OUE", "KRR")]
    assert printed == pytest.approx([763.5, 1676.2], abs=0.05)


def test_cf_22_krr_has_less_noise_before_the_inversion_and_more_after() -> None:
    before = {}
    for protocol in ("KRR", "OUE"):
        p, q = pure(4, protocol)
        before[protocol] = deviation(4, protocol) * (p - q)
    assert before["KRR"] / before["OUE"] == pytest.approx(0.232, abs=0.001)
    assert deviation(4, "KRR") / deviation(4, "OUE") == pytest.approx(2.195, abs=0.001)


def test_cf_19_a_pure_protocol_is_a_circular_convolution() -> None:
    """Its spectrum is flat off zero: the inversion is a division by p* - q*."""
    labels = lw.RandomizedResponse(lw.Categories(12), 1)
    operator = labels.channel.blocks[0].operator
    first = operator.matvec(np.eye(12)[0])
    by_fourier = np.fft.ifft(np.fft.fft(first)[:, None] * np.fft.fft(np.eye(12), axis=0), axis=0)
    assert operator.matmat(np.eye(12)) == pytest.approx(by_fourier.real)
    spectrum = np.fft.fft(first).real
    own, other = first[0], first[1]
    assert spectrum[0] == pytest.approx(own + 11 * other) == pytest.approx(1)
    assert spectrum[1:] == pytest.approx(np.full(11, own - other))


def test_cf_24_noise_spectrum_of_theorem_3() -> None:
    """Flat off zero, there d / (d - 1) times equation 20; zero at zero for KRR."""
    size, people, runs = 50, 20_000, 2_000
    labels = lw.RandomizedResponse(lw.Categories(size), 1)
    _, other = labels._probabilities
    rng = np.random.default_rng(3)
    counts = np.zeros(size, dtype=np.int64)
    counts[: people // 400] = 400
    mean = labels.channel.blocks[0].mean(counts / people)
    power = np.zeros(size)
    for _ in range(runs):
        noise = lw.simulate(labels, counts, rng=rng).blocks[0] / people - mean
        power += np.abs(np.fft.fft(noise)) ** 2 / runs
    equation_20 = size * other * (1 - other) / people
    assert power[0] < 1e-25  # reports sum to their number
    assert power[1:].mean() == pytest.approx(equation_20 * size / (size - 1), rel=0.05)


@pytest.mark.parametrize(("signal", "noise"), [(4.0, 1.0), (1.5, 1.0), (0.5, 1.0)])
def test_cf_27_the_iteration_tends_to_spectral_subtraction(signal: float, noise: float) -> None:
    """With the correction term, P <- P + |H|^2 P^2 (|G|^2 - |H|^2 P - N) / (|H|^2 P + N)^2."""
    gain = 0.3
    power = signal / gain
    for _ in range(20_000):
        total = gain * power + noise
        power += gain * power**2 * (signal - total) / total**2
    assert power == pytest.approx(max(0.0, (signal - noise) / gain), abs=2e-3)


def test_cf_29_where_the_guaranteed_start_is_valid() -> None:
    """d sqrt(Var) must be below 1; the paper prints 10.93, 2.95, .99, .36 for KRR."""
    values = [VALUES * deviation(epsilon, "KRR") for epsilon in (1, 2, 3, 4)]
    assert values == pytest.approx([10.936, 2.948, 0.993, 0.360], abs=0.001)


# Functional approximation (Tao 2026), on [-1, 1].


def unit_legendre(degree: int) -> np.ndarray:
    """Return the Legendre coefficients of the polynomial of this degree with L2 norm 1."""
    coefficients = np.zeros(degree + 1)
    coefficients[degree] = math.sqrt((2 * degree + 1) / 2)
    return coefficients


def test_fa_02_the_analytic_gaussian_needs_less_noise_than_the_classic_formula() -> None:
    def delta(sigma: float, epsilon: float) -> float:
        normal = stats.norm.cdf
        near = normal(1 / (2 * sigma) - epsilon * sigma)
        return near - math.exp(epsilon) * normal(-1 / (2 * sigma) - epsilon * sigma)

    for epsilon, analytic, classic in (
        (0.1, 36.305, 52.988),
        (0.5, 8.058, 10.598),
        (1, 4.225, 5.299),
    ):
        sigma = optimize.brentq(lambda s, e=epsilon: delta(s, e) - 1e-6, 0.5, 500)
        assert sigma == pytest.approx(analytic, abs=5e-4)
        assert math.sqrt(2 * math.log(1.25e6)) / epsilon == pytest.approx(classic, abs=5e-4)


def test_fa_03_noise_on_each_value_gives_another_distribution_function() -> None:
    """Beta(5, 2) plus Laplace noise of scale 1, its range over epsilon, against Beta(5, 2)."""
    points, step = np.linspace(-0.25, 1.25, 1501, retstep=True)
    values = np.linspace(0, 1, 1001)
    shares = np.diff(stats.beta.cdf(values, 5, 2))
    middles = (values[:-1] + values[1:]) / 2
    noisy = stats.laplace.cdf(points[:, None] - middles[None, :]) @ shares
    assert step == pytest.approx(1e-3)
    assert np.abs(noisy - stats.beta.cdf(points, 5, 2)).max() == pytest.approx(0.383, abs=1e-3)


@pytest.mark.parametrize(("moments", "tight", "claimed"), [(4, 2.828, 3.391), (6, 3.464, 4.062)])
def test_fa_14_the_sensitivity_of_the_moments_is_loose(
    moments: int, tight: float, claimed: float
) -> None:
    points = np.linspace(-1, 1, 401)
    powers = np.array([points**k for k in range(1, moments + 1)])
    largest = max(np.sqrt(((powers - powers[:, [i]]) ** 2).sum(axis=0)).max() for i in range(401))
    assert (
        largest
        == pytest.approx(2 * math.sqrt(math.ceil(moments / 2)))
        == pytest.approx(tight, abs=5e-4)
    )
    assert math.sqrt((5 * (moments - 1) + 8) / 2) == pytest.approx(claimed, abs=5e-4)


@pytest.mark.parametrize(
    ("degree", "true", "holds"), [(3, 6.06, True), (5, 29.59, False), (7, 150.05, False)]
)
def test_fa_15_lemma_7_is_false_in_the_recommended_range(
    degree: int, true: float, holds: bool
) -> None:
    """The largest error over moment noise in [-1, 1], against (m + 1)^2 / 2 of lemma 7."""
    angles = np.cos(np.linspace(0, math.pi, 4001))
    by_noise = np.zeros((degree + 1, angles.size))
    for i in range(degree + 1):
        monomials = legendre.leg2poly(unit_legendre(i))
        values = polynomial.polyval(angles, monomials)
        for j, coefficient in enumerate(monomials):
            by_noise[j] += coefficient / (j + 1) * values
    largest = np.abs(by_noise).sum(axis=0).max()
    assert largest == pytest.approx(true, abs=0.01)
    assert (largest <= (degree + 1) ** 2 / 2) == holds


@pytest.mark.parametrize("seed", range(30))
def test_fa_17_isotonic_regression_never_raises_the_l2_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.random(60))
    noisy = truth + rng.normal(scale=rng.uniform(0.01, 1), size=60)
    monotone = optimize.isotonic_regression(noisy).x
    assert np.linalg.norm(monotone - truth) <= np.linalg.norm(noisy - truth) + 1e-12


@pytest.mark.parametrize(("gap", "loss"), [(0, 1.31), (2, 1.59), (10, 1.85)])
def test_fa_20_choosing_an_atom_costs_more_than_its_epsilon(gap: float, loss: float) -> None:
    """Two scores with Laplace(1 / epsilon) noise, epsilon 1; one record moves both, apart."""

    def wins(behind: float) -> float:
        return 0.5 * math.exp(-behind) * (1 + behind / 2)  # difference of two Laplace variables

    measured = math.log(wins(gap) / wins(gap + 2))
    assert measured == pytest.approx(loss, abs=0.005)
    assert measured > 1


@pytest.mark.parametrize(
    ("degree", "tight", "claimed"), [(0, 1.4142, 1.4142), (2, 0.6086, 1.2172), (10, 0.1516, 1.2165)]
)
def test_fa_21_the_sensitivity_of_an_atom_is_the_range_of_its_antiderivative(
    degree: int, tight: float, claimed: float
) -> None:
    antiderivative = legendre.legint(unit_legendre(degree))
    curve = legendre.legval(np.cos(np.linspace(0, math.pi, 20_001)), antiderivative)
    assert np.ptp(curve) == pytest.approx(tight, abs=5e-5)
    roots = legendre.legroots(unit_legendre(degree)) if degree else []
    knots = legendre.legval(np.concatenate([[-1], np.sort(roots), [1]]), antiderivative)
    assert np.abs(np.diff(knots)).sum() == pytest.approx(claimed, abs=1e-4)


def test_fa_24_the_bound_of_theorem_5_says_nothing() -> None:
    """Its first term exceeds sqrt 2, the largest L2 distance of two CDFs on [-1, 1]."""
    points, weights = legendre.leggauss(400)
    normal = stats.norm.cdf(5 * points)
    coefficients = [
        float(np.dot(weights, normal * legendre.legval(points, unit_legendre(degree))))
        for degree in range(41)
    ]
    largest_six = np.sort(np.abs(coefficients))[-6:]
    assert math.sqrt(2) * largest_six.sum() == pytest.approx(2.27, abs=0.01)
    assert math.sqrt(2) * largest_six.sum() > math.sqrt(2)


# Square wave (Li 2020).


def test_sw_19_the_square_wave_separates_outputs_best() -> None:
    """Theorem 5.3 for waves whose top falls to a share rho at the ends, epsilon 1."""
    half = mutual_information_width(1.0)
    separations = []
    for rho in (1, 0.8, 0.6, 0.4, 0.2, 0):
        outside = 1 / (1 + 2 * half + (math.e - 1) * half * (1 + rho))
        separations.append(1 - (2 * half + 1) * outside)
    expected = [0.3679, 0.3437, 0.3177, 0.2895, 0.2588, 0.2254]
    assert separations == pytest.approx(expected, abs=5e-5)


def test_sw_20_the_widths_and_that_they_maximize_the_bound() -> None:
    widths = [mutual_information_width(epsilon) for epsilon in (0.5, 1, 2, 4)]
    assert widths == pytest.approx([0.3582, 0.2561, 0.1293, 0.0304], abs=5e-5)
    assert mutual_information_width(1e-6) == pytest.approx(0.5, abs=1e-6)
    for epsilon, width in zip((0.5, 1, 2, 4), widths, strict=True):

        def lost(half: float, e: float = epsilon) -> float:
            total = 2 * half * math.exp(e) + 1
            return -(2 * half * math.exp(e) * e / total + math.log((2 * half + 1) / total))

        best = optimize.minimize_scalar(lost, bounds=(1e-4, 1), method="bounded").x
        assert best == pytest.approx(width, abs=1e-4)


def test_sw_26_a_relative_change_would_stop_expectation_maximization_at_once() -> None:
    """Beta(5, 2), 100,000 people, epsilon 1: changes of the log-likelihood against tau of 5.5."""
    counts = np.histogram(np.random.default_rng(1).beta(5, 2, 100_000), bins=256, range=(0, 1))[0]
    wave = lw.SquareWave(lw.Interval(0, 1, bins=256, outside="clip"), 1)
    seen = lw.simulate(wave, counts, rng=1).blocks[0]
    matrix = wave.channel.blocks[0].operator.matmat(np.eye(256))
    shares, likelihoods = np.full(256, 1 / 256), []
    for _ in range(4):
        expected = matrix @ shares
        likelihoods.append(float(seen @ np.log(expected)))
        shares = shares * (matrix.T @ (seen / expected)) / seen.sum()
    changes = np.abs(np.diff(likelihoods))
    assert (changes / np.abs(likelihoods[1:]) < 1e-3 * math.e).all()
    assert (changes > 100).all()
    assert np.abs(np.cumsum(shares) - np.cumsum(counts) / counts.sum()).mean() > 0.1


@pytest.mark.parametrize("bins", [16, 64, 256])
def test_sw_18_the_wave_on_a_grid_tends_to_the_continuous_one(bins: int) -> None:
    wave = lw.SquareWave(lw.Interval(0, 1, bins=bins, outside="clip"), 1)
    half = mutual_information_width(1)
    outside = 1 / (2 * half * math.e + 1)
    center = (bins // 3 + 0.5) / bins
    column = wave.channel.blocks[0].operator.matvec(np.eye(bins)[bins // 3])
    points = (np.arange(wave._outputs) - wave._half_window + 0.5) / bins
    on_grid = lw.results.Cumulative(points - 0.5 / bins, points + 0.5 / bins, column)
    edges = np.array([-half, center - half, center + half, 1 + half])
    density = outside * np.array([1, math.e, 1])
    continuous = lw.results.Cumulative(edges[:-1], edges[1:], density * np.diff(edges))
    assert lw.distances.wasserstein(on_grid, continuous) < 1 / bins


# Compressive privatization (Xiong 2021).


@pytest.mark.parametrize(
    ("epsilon", "density", "least", "most"),
    [(0.5, 0.5, 0.57, 0.60), (1, 0.5, 1.13, 1.21), (2, None, 2.33, 2.48), (4, None, 5.0, 5.5)],
)
def test_cp_08_random_columns_break_the_nominal_epsilon(
    epsilon: float, density: float | None, least: float, most: float
) -> None:
    """The true epsilon adds the log-ratio of the columns' totals: 10,000 values, 500 rows."""
    rng = np.random.default_rng(8)
    ones = rng.binomial(500, math.exp(-epsilon) if density is None else density, size=10_000)
    totals = ones * math.exp(epsilon) + 500 - ones
    true = epsilon + math.log(totals.max() / totals.min())
    assert least < true < most


def test_cp_06_half_of_the_rows_is_not_the_best_density() -> None:
    def variance(density: float, epsilon: float) -> float:
        gain = math.exp(epsilon) - 1
        return (1 + density * gain) ** 2 / (density * (1 - density) * gain**2)

    for epsilon, cost in ((0.5, 1.064), (1, 1.272)):
        best = 1 / (math.exp(epsilon) + 1)
        assert variance(0.5, epsilon) / variance(best, epsilon) == pytest.approx(cost, abs=1e-3)
        optimal = 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
        assert variance(best, epsilon) == pytest.approx(optimal)


def test_cp_02_randomized_response_is_the_two_level_channel_of_single_outputs() -> None:
    """Equation 2 with C_x = {x}: every entry of the channel from the certificate's fractions."""
    labels = lw.RandomizedResponse(lw.Categories(5), 1)
    matrix = labels.channel.blocks[0].operator.matmat(np.eye(5))
    near = float(Fraction(labels._threshold, 2**64))
    expected = np.full((5, 5), (1 - near) / 4) + np.eye(5) * (near - (1 - near) / 4)
    assert matrix == pytest.approx(expected, rel=1e-15)
    assert near == pytest.approx(math.e / (math.e + 4))
