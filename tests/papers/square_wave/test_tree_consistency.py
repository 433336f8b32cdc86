"""Tree consistency: dense least squares, a quadratic program, unbiased ranges, hard tallies."""

import math
import warnings

import numpy as np
import pytest
from scipy import optimize

from lapwing.decoders.unbiased.least_squares import LeastSquares
from lapwing.decoders.unbiased.linear_estimate import linear_estimate
from lapwing.errors import (
    ArgumentError,
    ConvergenceWarning,
    DomainError,
    UnsupportedChannelError,
    WeakAnswerWarning,
)
from lapwing.linear.operators.operator import dense
from lapwing.linear.projections import simplex
from lapwing.papers.square_wave.haar_hadamard import HaarHadamard
from lapwing.papers.square_wave.hierarchical import Hierarchical
from lapwing.papers.square_wave.tree_consistency import (
    Method,
    TreeConsistency,
    TreeEstimate,
    nearest_distribution,
    tree_estimate,
)
from lapwing.planning.simulation import simulate
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.randomizers.numerical.square_wave import SquareWave
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate
from tests.signed_decoder import signed_estimate, unbiased

METHODS: tuple[Method, ...] = ("weighted-average", "admm")

ADMM = TreeConsistency(method="admm", band=False)


def hierarchy(size: int, branching: int, epsilon: float = 1) -> Hierarchical:
    return Hierarchical(Interval(0, 1, bins=size, outside="clip"), epsilon, branching=branching)


def tally_of(randomizer: Randomizer, reports: int, *, seed: int) -> CountTally:
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(randomizer.domain.size, 0.3))
    return simulate(randomizer, rng.multinomial(reports, law), rng=rng)


def noiseless(randomizer: Randomizer, mass: np.ndarray) -> CountTally:
    """Return the expected counts of 10^14 reports of each group, rounded."""
    reports = 10**14
    blocks = []
    for block in randomizer.channel.blocks:
        counts = np.round(reports * block.mean(mass)).astype(np.int64)
        multinomial = abs(dense(block.operator).sum(axis=0)[0] - 1) < 1e-9
        if multinomial:
            counts[0] += reports - counts.sum()
        blocks.append(counts)
    return CountTally(blocks, [reports] * len(blocks), randomizer.fingerprint)


def estimates_by_hand(
    randomizer: Hierarchical, tally: CountTally, *, weighted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the matrix from symbols to nodes, the estimates of the nodes and their weights."""
    size, exp = randomizer.domain.size, math.exp(randomizer.epsilon)
    rows, estimates, weights = [], [], []
    for part, counts, reports in zip(randomizer.groups, tally.blocks, tally.reports, strict=True):
        cells = part.randomizer.domain.size
        if part.randomizer.name == "randomized-response":
            p, q = exp / (exp + cells - 1), 1 / (exp + cells - 1)
        else:
            p, q = 1 / 2, 1 / (exp + 1)
        held = np.zeros(cells)
        for symbol in range(size):
            row = np.zeros(size)
            held[symbol * cells // size] += 1 / size
        # The variance of one report under the uniform law: who holds it, and the coin.
        one = p * held + q * (1 - held)
        variance = one * (1 - one) / ((p - q) ** 2 * reports)
        for cell in range(cells):
            row = np.array([float(symbol * cells // size == cell) for symbol in range(size)])
            rows.append(row)
            estimates.append((counts[cell] / reports - q) / (p - q))
            weights.append(1 / variance[cell] if weighted else 1.0)
    return np.array(rows), np.array(estimates), np.array(weights)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("size", "branching"), [(16, 2), (16, 4), (23, 3), (16, 16), (2, 2)])
def test_weighted_average_is_dense_least_squares(size: int, branching: int, weighted: bool) -> None:
    randomizer = hierarchy(size, branching)
    tally = tally_of(randomizer, 3_000, seed=1)
    matrix, estimate, weights = estimates_by_hand(randomizer, tally, weighted=weighted)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = matrix.T @ (weights[:, None] * matrix)
    system[size, size] = 0
    right = np.append(matrix.T @ (weights * estimate), 1.0)
    expected = np.linalg.solve(system, right)[:size]
    decoder = TreeConsistency(weighted=weighted, band=False)
    result = signed_estimate(decoder, randomizer.channel, tally)
    np.testing.assert_allclose(result.mass, expected, atol=1e-9)


@pytest.mark.parametrize(("size", "branching"), [(64, 4), (100, 4), (37, 2)])
def test_weighted_average_is_the_unbiased_inverse(size: int, branching: int) -> None:
    randomizer = hierarchy(size, branching)
    tally = tally_of(randomizer, 20_000, seed=2)
    result = signed_estimate(TreeConsistency(), randomizer.channel, tally)
    other = unbiased(randomizer.channel, tally)
    np.testing.assert_allclose(result.mass, other.mass, atol=1e-10)
    assert result.uncertainty is not None
    np.testing.assert_allclose(result.uncertainty.center, result.mass, atol=1e-10)


def test_signed_answer_is_no_density() -> None:
    randomizer = hierarchy(64, 4)
    tally = tally_of(randomizer, 2_000, seed=3)
    result = signed_estimate(TreeConsistency(), randomizer.channel, tally)
    assert isinstance(result, SignedEstimate)
    assert result.mass.min() < 0
    assert result.mass.sum() == pytest.approx(1)
    with pytest.raises((ArgumentError, DomainError), match="not negative"):
        Distribution(result.domain, result.mass)
    nearest = TreeConsistency().decode(randomizer.channel, tally)
    np.testing.assert_array_equal(nearest.mass, result.project("simplex"))


def quadratic_program(matrix: np.ndarray, estimate: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the distribution of least weighted squares by SciPy's SLSQP."""
    size = matrix.shape[1]
    scale = weights.max()
    root = np.sqrt(weights / scale)
    scaled, target = root[:, None] * matrix, root * estimate

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        missed = scaled @ x - target
        return 0.5 * float(missed @ missed), scaled.T @ missed

    result = optimize.minimize(
        objective,
        np.full(size, 1 / size),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * size,
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like}],
        options={"ftol": 1e-16, "maxiter": 10_000},
    )
    return np.asarray(result.x)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("size", "branching"), [(16, 2), (16, 4), (23, 3)])
@pytest.mark.parametrize("reports", [300, 5_000, 500_000])
def test_admm_ends_at_the_quadratic_program(
    size: int, branching: int, weighted: bool, reports: int
) -> None:
    randomizer = hierarchy(size, branching)
    tally = tally_of(randomizer, reports, seed=6)
    target = tree_estimate(randomizer.channel, tally)
    weights = target.noise[1:].min() / target.noise if weighted else np.ones(target.share.size)
    weights[0] = 1.0
    solution = nearest_distribution(
        target.tree, target.share, weights, tolerance=1e-11, limit=50_000
    )
    assert solution.converged
    matrix = dense(target.tree)
    expected = quadratic_program(matrix, target.share, weights)
    np.testing.assert_allclose(solution.point, expected, atol=1e-6)
    # The conditions of an optimum, without another solver: one slope wherever there is mass, and
    # none smaller elsewhere.
    slope = matrix.T @ (weights * (matrix @ solution.point - target.share))
    held = solution.point > 1e-8
    assert np.ptp(slope[held]) < 1e-7
    assert slope[~held].min(initial=np.inf) >= slope[held].min() - 1e-7
    # The paper's equal weights are another program where the oracles differ.
    if weighted and reports == 5_000:
        other = quadratic_program(matrix, target.share, np.ones(target.share.size))
        assert np.abs(other - expected).max() > 1e-4


def literal_algorithm(
    matrix: np.ndarray, cells: list[int], estimate: np.ndarray, iterations: int
) -> np.ndarray:
    """Return w of algorithm 2 of Li et al. 2020 with dense projections, the root being 1."""
    # Nodes that are sums of leaves, and of those the ones with root 1: an affine set.
    project = matrix @ np.linalg.pinv(matrix)
    up = project[:, 0] / project[0, 0]
    ends = np.cumsum(cells)
    x = estimate.copy()
    mu, nu, eta = np.zeros((3, x.size))
    for _ in range(iterations):
        y = (x - estimate + mu) / 2
        z = project @ (x + nu)
        z = z + up * (1 - z[0])
        w = np.concatenate([simplex(part) for part in np.split(x + eta, ends[:-1])])
        x = ((y + estimate - mu) + (z - nu) + (w - eta)) / 3
        mu, nu, eta = mu + x - estimate - y, nu + x - z, eta + x - w
    return w


@pytest.mark.parametrize("size", [16, 22])
@pytest.mark.parametrize("iterations", [1, 2, 3, 40])
def test_admm_with_equal_weights_is_the_published_algorithm(size: int, iterations: int) -> None:
    randomizer = hierarchy(size, 4)
    target = tree_estimate(randomizer.channel, tally_of(randomizer, 700, seed=20))
    solution = nearest_distribution(
        target.tree, target.share, np.ones(target.share.size), tolerance=0.0, limit=iterations
    )
    literal = literal_algorithm(
        dense(target.tree), list(target.tree.cells), target.share, iterations
    )
    np.testing.assert_allclose(solution.point, literal[-size:], atol=1e-10)


@pytest.mark.parametrize("limit", [1, 2, 17])
def test_every_iterate_of_admm_is_a_distribution(limit: int) -> None:
    randomizer = hierarchy(64, 4)
    target = tree_estimate(randomizer.channel, tally_of(randomizer, 500, seed=7))
    solution = nearest_distribution(
        target.tree, target.share, np.ones(target.share.size), tolerance=0.0, limit=limit
    )
    assert solution.point.min() >= 0
    assert solution.point.sum() == pytest.approx(1)
    assert solution.iterations == limit and not solution.converged


def test_default_of_admm_is_within_a_hundredth_of_its_end() -> None:
    randomizer = hierarchy(256, 4)
    tally = tally_of(randomizer, 50_000, seed=8)
    result = ADMM.decode(randomizer.channel, tally)
    assert isinstance(result, Distribution)
    assert result.provenance["converged"] and 20 <= result.provenance["iterations"] <= 300
    end = TreeConsistency(method="admm", tolerance=1e-9, limit=50_000, band=False).decode(
        randomizer.channel, tally
    )
    deviation = linear_estimate(randomizer.channel, tally).cdf_deviation("empirical")[:-1]
    apart = np.abs(np.cumsum(result.mass - end.mass))[:-1]
    assert apart.max() < 0.01 * deviation.max()


def test_levels_may_come_from_subset_selection() -> None:
    domain = Interval(0, 1, bins=24)
    randomizer = MultiscaleWave(
        domain, 0.5, components=[("subset", 24, 0.5), ("subset", 4, 0.2), ("subset", 12, 0.3)]
    )
    names = {part.randomizer.name for part in randomizer.groups}
    assert "subset-selection" in names
    mass = np.random.default_rng(10).dirichlet(np.ones(24))
    tally = noiseless(randomizer, mass)
    sums = [counts.sum() for counts in tally.blocks]
    # Rounding must not leave a tally that no sets can give.
    blocks = []
    for counts, block, total in zip(tally.blocks, randomizer.channel.blocks, sums, strict=True):
        members = getattr(block.law, "members", 1)
        fixed = counts.copy()
        fixed[0] += members * 10**14 - total
        blocks.append(fixed)
    tally = CountTally(blocks, tally.reports, randomizer.fingerprint)
    for method in METHODS:
        decoder = TreeConsistency(method=method, band=False)
        np.testing.assert_allclose(decoder.decode(randomizer.channel, tally).mass, mass, atol=1e-5)


def two_atoms(size: int, people: int) -> np.ndarray:
    """Return a column like the availability of flats: a third at 0, a quarter at the top."""
    law = np.full(size, 0.4 / size)
    law[0] += 0.35
    law[-1] += 0.25
    return np.random.default_rng(11).multinomial(people, law)


@pytest.mark.parametrize(
    ("size", "epsilon", "people", "weighted"),
    [
        (366, 0.5, 48_895, True),
        (366, 0.5, 40, False),
        (1024, 0.01, 200, True),
        (64, 1e-9, 100, False),
        (64, 1e-9, 100, True),
        (64, 20, 100, True),
    ],
)
def test_no_estimates_are_too_wild(size: int, epsilon: float, people: int, weighted: bool) -> None:
    randomizer = hierarchy(size, 4, epsilon)
    column = two_atoms(size, people)
    for seed in range(2):
        tally = simulate(randomizer, column, rng=seed)
        target = tree_estimate(randomizer.channel, tally)
        assert np.isfinite(target.share).all() and np.isfinite(target.variance).all()
        decoder = TreeConsistency(method="admm", weighted=weighted, band=False)
        with warnings.catch_warnings():
            # ADMM may reach its limit: that warns, and has its test.
            if epsilon < 0.1:
                warnings.simplefilter("ignore", ConvergenceWarning)
            result = decoder.decode(randomizer.channel, tally)
            tree = TreeConsistency(weighted=weighted, band=False)
            signed = signed_estimate(tree, randomizer.channel, tally)
        assert np.isfinite(result.mass).all()
        assert np.isfinite(signed.mass).all()
        assert signed.mass.sum() == pytest.approx(1, abs=1e-6 * np.abs(signed.mass).max() + 1e-9)


def test_level_with_only_negative_estimates() -> None:
    # Nobody's bit is set in the whole last level: every estimate there is the same and negative,
    # and the published Norm-Sub has nothing left to raise.
    randomizer = hierarchy(64, 4, 0.5)
    tally = simulate(randomizer, two_atoms(64, 10_000), rng=12)
    assert randomizer.groups[-1].randomizer.name == OptimizedUnaryEncoding.name
    blocks = [*tally.blocks[:-1], np.zeros(64, dtype=np.int64)]
    hard = CountTally(blocks, tally.reports, tally.fingerprint)
    assert tree_estimate(randomizer.channel, hard).share[-64:].max() < 0
    result = ADMM.decode(randomizer.channel, hard)
    assert np.isfinite(result.mass).all()
    # The levels above still say how much is in the first of its sixteen nodes.
    assert result.mass[:4].sum() == pytest.approx(0.35, abs=0.1)


@pytest.mark.parametrize("haar", [False, True])
def test_one_report_is_decoded_with_a_warning(haar: bool) -> None:
    randomizer = HaarHadamard(Interval(0, 1, bins=16), 1) if haar else hierarchy(16, 4)
    tally = simulate(randomizer, np.eye(16, dtype=np.int64)[3], rng=13)
    for method in ("weighted-average",) if haar else ("weighted-average", "admm"):
        with pytest.warns(WeakAnswerWarning, match="levels have no reports"):
            result = TreeConsistency(method=method).decode(randomizer.channel, tally)
        assert np.isfinite(result.mass).all()
        assert result.uncertainty is None


@pytest.mark.parametrize("method", ["weighted-average", "admm"])
def test_what_an_empty_level_alone_knows_is_split_evenly(method: Method) -> None:
    randomizer = hierarchy(16, 4)
    mass = np.random.default_rng(14).dirichlet(np.ones(16))
    tally = noiseless(randomizer, mass)
    silent = CountTally(
        [tally.blocks[0], np.zeros(16, dtype=np.int64)], [tally.reports[0], 0], tally.fingerprint
    )
    decoder = TreeConsistency(method=method)
    with pytest.warns(WeakAnswerWarning, match="1 of the 2 levels"):
        result = decoder.decode(randomizer.channel, silent)
    groups = mass.reshape(4, 4).sum(axis=1)
    np.testing.assert_allclose(result.mass, np.repeat(groups / 4, 4), atol=1e-4)
    # An empty level above is made up for by the one below.
    silent = CountTally(
        [np.zeros(4, dtype=np.int64), tally.blocks[1]], [0, tally.reports[1]], tally.fingerprint
    )
    with pytest.warns(WeakAnswerWarning, match="1 of the 2 levels"):
        result = decoder.decode(randomizer.channel, silent)
    np.testing.assert_allclose(result.mass, mass, atol=1e-4)


@pytest.mark.parametrize("method", ["weighted-average", "admm"])
def test_channels_that_are_no_trees(method: Method) -> None:
    domain = Interval(0, 1, bins=24)
    nested = [("subset", 4, 0.5), ("subset", 24, 0.5)]
    for randomizer, message in [
        (SquareWave(domain, 1), "count cells"),
        (MultiscaleWave(domain, 1, components=[("wave", 0.5, 0.5), *nested]), "count cells"),
        (
            MultiscaleWave(domain, 1, components=[("subset", 4, 0.5), ("subset", 8, 0.5)]),
            "24 symbols",
        ),
        (MultiscaleWave(domain, 1, components=[*nested, ("subset", 24, 0.5)]), "different numbers"),
        (MultiscaleWave(domain, 1, components=[*nested, ("subset", 6, 0.5)]), "not the levels"),
        (HaarHadamard(domain, 1), "power of two|count cells"),
    ]:
        tally = tally_of(randomizer, 1_000, seed=15)
        decoder = TreeConsistency(method=method, band=False)
        with pytest.raises(UnsupportedChannelError, match=message):
            decoder.decode(randomizer.channel, tally)


def test_one_block_of_symbols_is_a_tree_of_one_level() -> None:
    bits = OptimizedUnaryEncoding(Interval(0, 1, bins=10), 1)
    tally = tally_of(bits, 2_000, seed=16)
    signed = signed_estimate(TreeConsistency(), bits.channel, tally)
    plain = unbiased(bits.channel, tally)
    np.testing.assert_allclose(signed.mass, plain.mass, atol=1e-12)
    tight = TreeConsistency(method="admm", tolerance=1e-9)
    np.testing.assert_allclose(
        tight.decode(bits.channel, tally).mass,
        LeastSquares().decode(bits.channel, tally).mass,
        atol=1e-6,
    )


def test_a_limit_that_is_reached_gives_a_warning() -> None:
    randomizer = hierarchy(64, 4)
    tally = tally_of(randomizer, 2_000, seed=17)
    with pytest.warns(ConvergenceWarning, match="limit of 3 iterations"):
        result = TreeConsistency(method="admm", limit=3).decode(randomizer.channel, tally)
    assert result.provenance["iterations"] == 3 and result.provenance["converged"] is False


def test_the_band_ends_where_matrices_do() -> None:
    randomizer = hierarchy(2_100, 16)
    result = TreeConsistency().decode(randomizer.channel, tally_of(randomizer, 50_000, seed=18))
    assert result.uncertainty is None


def test_estimates_say_what_part_is_noise() -> None:
    randomizer = hierarchy(16, 4, 2)
    target = tree_estimate(randomizer.channel, tally_of(randomizer, 4_000, seed=19))
    assert isinstance(target, TreeEstimate)
    # A rare node's noise under optimized unary encoding, and under randomized response.
    exp = math.exp(2)
    levels = [part.randomizer.name for part in randomizer.groups]
    assert levels == ["randomized-response"] * 2
    for cells, part in ((4, slice(1, 5)), (16, slice(5, 21))):
        reports = tally_of(randomizer, 4_000, seed=19).reports[int(cells == 16)]
        p, q = exp / (exp + cells - 1), 1 / (exp + cells - 1)
        coin = (p * (1 - p) / cells + q * (1 - q) * (1 - 1 / cells)) / (p - q) ** 2
        np.testing.assert_allclose(target.noise[part], coin / reports, rtol=1e-9)


def test_two_blocks_of_one_level_are_refused() -> None:
    domain = Interval(0, 1, bins=8)
    (block,) = OptimizedUnaryEncoding(domain, 1).channel.blocks
    half = Block(block.operator, block.law, 0.5)
    channel = Channel(domain, [half, half], "twice")
    tally = CountTally([np.ones(8, dtype=np.int64)] * 2, [4, 4], "twice")
    with pytest.raises(UnsupportedChannelError, match="different numbers"):
        TreeConsistency(band=False).decode(channel, tally)
