"""The likelihood of reports about pairs: slopes by differences, curvature by dense matrices."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.empirical_bayes.octave_variances import AxisFunctions
from lapwing.decoders.empirical_bayes.separable_model import (
    LogDensity,
    SeparablePart,
    separable_parts,
)
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.papers.baselines import LocalHashing
from lapwing.protocol.channels.channel import Multinomial
from lapwing.randomizers import BoxWave, HadamardResponse, MultiscaleBoxes
from lapwing.testing.decoder_contract import sampled

PAIRS = lw.Product(
    x=lw.Interval(0, 1, bins=9, outside="overflow"),
    y=lw.Interval(0, 24, bins=8, circular=True, missing="bin"),
)
EVERYTHING: list[Any] = [
    ("box", (3, 2), 0.3),
    ("box", (None, 4), 0.2),
    ("blocks", (1, None), 0.3),
    ("blocks", (2, 3), 0.2),
]
"""One report of one output, and sets of several blocks."""


_CIRCLE = lw.Interval(0, 24, bins=8, circular=True)


def _model(epsilon: float = 1, *, domain: lw.Product = PAIRS) -> tuple[LogDensity, Any, np.ndarray]:
    """Return a model of drawn reports, its channel, and amplitudes that are not zero."""
    channel = MultiscaleBoxes(domain, epsilon, components=EVERYTHING).channel
    rng = np.random.default_rng(1)
    tally = sampled(channel, rng.dirichlet(np.ones(domain.size)), people=3000, seed=2)
    first, second = (AxisFunctions.of(axis, most=6) for axis in domain.domains)
    density = LogDensity(first.columns, second.columns, separable_parts(channel, tally))
    shape = first.family.size, second.family.size
    return density, channel, 0.3 * rng.standard_normal(shape)


def _jacobian(density: LogDensity, amplitudes: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Return the slopes of the cells by the amplitudes, by differences: [cells, amplitudes]."""
    columns = []
    for place in range(amplitudes.size):
        moved = np.zeros(amplitudes.size)
        moved[place] = step
        ahead = density.cells(amplitudes + moved.reshape(amplitudes.shape))
        behind = density.cells(amplitudes - moved.reshape(amplitudes.shape))
        columns.append(((ahead - behind) / (2 * step)).ravel())
    return np.array(columns).T


@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_parts_have_the_means_of_the_channel(epsilon: float) -> None:
    density, channel, amplitudes = _model(epsilon)
    cells = density.cells(amplitudes)
    assert cells.sum() == pytest.approx(1) and cells.min() > 0
    for part, block in zip(density.parts, channel.blocks, strict=True):
        np.testing.assert_allclose(part.means(cells).ravel(), block.mean(cells.ravel()), rtol=1e-9)
        assert (part.information is None) == isinstance(block.law, Multinomial)
    assert [part.information is None for part in density.parts][:3:2] == [True, epsilon == 4]


@pytest.mark.parametrize("first", [1, 7, 40])
@pytest.mark.parametrize("second", [1, 7, 40])
def test_a_product_is_the_same_in_the_cheaper_order(first: int, second: int) -> None:
    rng = np.random.default_rng(first * second)
    ones = [rng.integers(2, size=(size, 9)).astype(float) for size in (first, second)]
    part = SeparablePart(*ones, 0.1, 0.5, np.ones((first, second)), 9, None)
    moved, seen = rng.normal(size=(3, 9, 9)), rng.normal(size=(3, first, second))
    found = part.changes(moved)
    assert np.allclose(found, 0.5 * np.einsum("ai,kij,bj->kab", ones[0], moved, ones[1]))
    assert (part.adjoint(seen) * moved).sum() == pytest.approx(float((seen * found).sum()))


@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_slope_of_the_likelihood_by_differences(epsilon: float) -> None:
    density, _, amplitudes = _model(epsilon)
    value, slope = density.value_and_slope(amplitudes)
    found = np.empty_like(slope)
    for place in np.ndindex(*slope.shape):
        moved = np.zeros(slope.shape)
        moved[place] = 1e-5
        ahead, behind = (density.value_and_slope(amplitudes + s * moved)[0] for s in (1, -1))
        found[place] = (ahead - behind) / 2e-5
    scale = np.abs(slope).max()
    np.testing.assert_allclose(slope, found, atol=1e-5 * scale)
    assert slope[0, 0] == pytest.approx(0, abs=1e-9 * scale), "a constant changes nothing"
    # Without the mean of the score, as a density that need not sum to one would have it.
    cells = density.cells(amplitudes)
    score = sum(part.adjoint(part.value_and_score(cells)[1]) for part in density.parts)
    wrong = density.first.T @ (cells * score) @ density.second
    assert np.abs(wrong - found).max() > 0.1 * scale
    assert np.isfinite(value)


def test_moved_cells_and_their_transpose_are_the_jacobian() -> None:
    density, _, amplitudes = _model()
    cells, jacobian = density.cells(amplitudes), _jacobian(density, amplitudes)
    rng = np.random.default_rng(3)
    stack = rng.standard_normal((2, *amplitudes.shape))
    moved = density.moved(cells, stack)
    slope = rng.standard_normal(cells.shape)
    for one, found in zip(stack, moved, strict=True):
        np.testing.assert_allclose(found.ravel(), jacobian @ one.ravel(), atol=1e-8)
    back = density.pulled_back(cells, slope)
    np.testing.assert_allclose(back.ravel(), jacobian.T @ slope.ravel(), atol=1e-7)


def _dense_curvature(density: LogDensity, channel: Any, amplitudes: np.ndarray) -> np.ndarray:
    """Return J' A' W A J, from dense matrices and weights of their own."""
    cells, jacobian = density.cells(amplitudes), _jacobian(density, amplitudes)
    total = np.zeros((amplitudes.size, amplitudes.size))
    for part, block in zip(density.parts, channel.blocks, strict=True):
        matrix = dense(block.operator)
        means = matrix @ cells.ravel()
        if isinstance(block.law, Multinomial):
            weights = part.reports / means
        else:
            weights = (1 - 1 / block.law.symbols) * part.reports / (means * (1 - means))
        along = matrix @ jacobian
        total += along.T @ (weights[:, None] * along)
    return total


def test_curvature_of_a_stack_is_that_of_dense_matrices() -> None:
    density, channel, amplitudes = _model()
    cells = density.cells(amplitudes)
    weights = density.weights(cells)
    expected = _dense_curvature(density, channel, amplitudes)
    stack = np.eye(amplitudes.size).reshape(-1, *amplitudes.shape)
    found = density.curved(cells, weights, stack).reshape(amplitudes.size, -1)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * scale)
    # The weights of another density are another curvature.
    other = density.curved(cells, density.weights(density.cells(0 * amplitudes)), stack)
    assert np.abs(other.reshape(found.shape) - expected).max() > 0.01 * scale


def test_the_diagonal_is_exact_where_the_axes_are_independent() -> None:
    density, channel, amplitudes = _model()
    apart = amplitudes.copy()
    apart[1:, 1:] = 0.0
    apart[0, 1:] *= 3  # uneven, so that waves of this axis have means
    expected = np.diag(_dense_curvature(density, channel, apart)).reshape(apart.shape)
    found = density.diagonal(density.cells(apart))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * expected.max())
    # Waves without their means are another matrix.
    cells = density.cells(apart)
    means = np.outer(cells.sum(axis=1) @ density.first, cells.sum(axis=0) @ density.second)
    assert np.abs(means[1:, 1:]).max() > 0.05

    density, channel, amplitudes = _model(domain=lw.Product(x=lw.Integers(0, 8), y=_CIRCLE))
    even = 0 * amplitudes
    expected = np.diag(_dense_curvature(density, channel, even)).reshape(even.shape)
    found = density.diagonal(density.cells(even))
    assert expected[1:, 1:].min() > 1e-3 * expected.max()
    np.testing.assert_allclose(found.ravel()[1:], expected.ravel()[1:], rtol=1e-4)


def test_noise_of_slopes_has_the_curvature_as_its_covariance() -> None:
    density, channel, amplitudes = _model(4)
    cells = density.cells(amplitudes)
    scores = density.scores(density.weights(cells), 6000, np.random.default_rng(4))
    draws = density.pulled_back(cells, scores)
    rows = draws.reshape(6000, -1)
    expected = _dense_curvature(density, channel, amplitudes)
    deviation = np.sqrt(np.diag(expected)) + 1e-12
    found = (rows.T @ rows / 6000) / np.outer(deviation, deviation)
    correlation = expected / np.outer(deviation, deviation)
    held = np.diag(expected) > 1e-6 * expected.max()
    # Of 6000 draws a correlation has a standard error of at most .0183; 7 of them.
    assert np.abs((found - correlation)[np.ix_(held, held)]).max() < 0.13


def test_blocks_without_reports_are_left_out() -> None:
    channel = MultiscaleBoxes(PAIRS, 1, components=EVERYTHING).channel
    tally = sampled(channel, np.full(PAIRS.size, 1 / PAIRS.size), people=1, seed=1)
    assert len(separable_parts(channel, tally)) == 1


def test_randomizers_of_single_cells_are_separable() -> None:
    small = lw.Product(x=lw.Integers(0, 3), y=lw.Integers(0, 2))
    for made in (lw.RandomizedResponse, lw.randomizers.UnaryEncoding, lw.SubsetSelection):
        channel = made(small, 1).channel
        tally = sampled(channel, np.full(12, 1 / 12), people=100, seed=1)
        (part,) = separable_parts(channel, tally)
        assert isinstance(part, SeparablePart)
        mass = np.random.default_rng(5).dirichlet(np.ones(12))
        np.testing.assert_allclose(
            part.means(mass.reshape(4, 3)).ravel(), channel.blocks[0].mean(mass), rtol=1e-9
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda: HadamardResponse(lw.Product(x=lw.Integers(0, 3), y=lw.Integers(0, 2)), 1),
        lambda: LocalHashing(
            lw.Product(x=lw.Integers(0, 3), y=lw.Integers(0, 2)), 1, hashes=6, size=3
        ),
        lambda: lw.SquareWave(lw.Integers(0, 11), 1),
        lambda: lw.RandomizedResponse(lw.Categories(12), 1),
    ],
    ids=["Hadamard", "hashing", "wave", "labels"],
)
def test_other_channels_are_refused(make: Any) -> None:
    channel = make().channel
    tally = sampled(channel, np.full(12, 1 / 12), people=100, seed=1)
    with pytest.raises(UnsupportedChannelError, match="this decoder"):
        separable_parts(channel, tally)


def test_a_box_has_one_part() -> None:
    channel = BoxWave(PAIRS, 1, widths=(3, 2)).channel
    tally = sampled(channel, np.full(PAIRS.size, 1 / PAIRS.size), people=50, seed=1)
    (part,) = separable_parts(channel, tally)
    assert part.counts.shape == (part.first.shape[0], part.second.shape[0]) and part.reports == 50


def test_groups_of_cells_see_what_their_even_cells_say() -> None:
    density, _, _ = _model()
    starts = [np.array([0, 1, 4, 7, 10]), np.array([0, 2, 4, 6, 8])]
    grouped = density.grouped(starts)
    sizes = [np.diff([*begin, count]) for begin, count in zip(starts, PAIRS.shape, strict=True)]
    shares = np.random.default_rng(5).dirichlet(np.ones(25)).reshape(5, 5)
    even = np.repeat(np.repeat(shares / np.outer(*sizes), sizes[0], 0), sizes[1], 1)
    assert grouped.first.shape[0] == grouped.second.shape[0] == 5
    for part, coarse in zip(density.parts, grouped.parts, strict=True):
        assert coarse.counts.sum() == part.counts.sum()
        assert coarse.means(shares).sum() == pytest.approx(part.means(even).sum())
        if coarse.counts.shape == part.counts.shape:
            np.testing.assert_allclose(coarse.means(shares), part.means(even))
    assert any(
        one.counts.size < other.counts.size
        for one, other in zip(grouped.parts, density.parts, strict=True)
    )
    assert density.grouped([np.arange(size) for size in PAIRS.shape]) is density


def test_the_information_about_some_amplitudes_is_that_of_the_curvature() -> None:
    density, _, amplitudes = _model()
    cells = density.cells(amplitudes)
    units = np.eye(amplitudes.size).reshape(-1, *amplitudes.shape)
    whole = density.curved(cells, density.weights(cells), units).reshape(amplitudes.size, -1)
    chosen = np.arange(3, amplitudes.size, 2)
    found = density.information(amplitudes, chosen)
    assert chosen.size > 32
    np.testing.assert_allclose(found, whole[np.ix_(chosen, chosen)], atol=1e-9 * abs(whole).max())
