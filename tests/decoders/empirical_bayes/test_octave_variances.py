"""Functions of an axis, and variances by octaves of two frequencies that are learned."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.empirical_bayes.octave_variances import (
    LEAST_WAVES,
    AxisFunctions,
    OctaveVariances,
)

AXES: dict[str, tuple[Any, int, int]] = {
    "a line": (lw.Integers(0, 19), 20, 0),
    "few bins": (lw.Integers(0, LEAST_WAVES - 2, outside="clip"), LEAST_WAVES - 1, 0),
    "labels": (lw.Categories(9), 9, 0),
    "labels with a missing one": (lw.Categories(4, missing="category"), 4, 1),
    "an even circle": (lw.Interval(0, 24, bins=12, circular=True), 12, 0),
    "an odd circle": (lw.Interval(0, 24, bins=13, circular=True), 13, 0),
    "symbols apart": (lw.Interval(0, 1, bins=10, outside="overflow", missing="bin"), 10, 3),
}
"""An axis, its bins or labels, and its symbols that are neither."""


@pytest.mark.parametrize("name", AXES)
def test_functions_of_an_axis_are_a_basis(name: str) -> None:
    axis, bins, apart = AXES[name]
    functions = AxisFunctions.of(axis, most=64)
    columns = functions.columns
    assert columns.shape == (axis.size, axis.size) == (bins + apart, bins + apart)
    assert np.linalg.matrix_rank(columns) == axis.size
    assert (columns[:, 0] == 1).all() and functions.family[0] == 0
    waves = columns[:, functions.family == 1]
    held = np.abs(waves).sum(axis=1) > 0
    assert held.sum() == bins
    # Each has a mean of 0 and a mean square of 1 over the bins, and they are orthogonal.
    np.testing.assert_allclose(waves[held].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(waves[held].T @ waves[held] / bins, np.eye(bins - 1), atol=1e-12)
    assert functions.family.max() == 1 + apart
    for number in range(apart):
        (symbol,) = np.flatnonzero(columns[:, functions.family == 2 + number].ravel())
        assert not held[symbol]


def test_octaves_are_logarithms_of_frequencies() -> None:
    line = AxisFunctions.of(lw.Integers(0, 19), most=64)
    np.testing.assert_allclose(2 ** line.octave[1:], np.arange(1, 20))
    for frequency in (1, 5, 19):
        wave = line.columns[:, frequency]
        assert (np.diff(np.sign(wave)) != 0).sum() == frequency
    circle = AxisFunctions.of(lw.Interval(0, 24, bins=12, circular=True), most=64)
    np.testing.assert_allclose(2 ** circle.octave[1:], [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6])
    few = AxisFunctions.of(lw.Integers(0, 5), most=64)
    assert (few.octave == 0).all() and few.knots == [1, 1]
    assert line.knots == [1, 6]


@pytest.mark.parametrize("most", [4, 5, 16])
def test_at_most_so_many_waves(most: int) -> None:
    for axis in (lw.Integers(0, 99, outside="clip"), lw.Interval(0, 1, bins=100, circular=True)):
        waves = (AxisFunctions.of(axis, most=most).family == 1).sum()
        assert most - 1 <= waves <= most


def test_interpolation_is_linear_between_the_octaves() -> None:
    functions = AxisFunctions.of(lw.Integers(0, 31, outside="clip"), most=64)
    weights = functions.interpolation(1)
    assert weights.shape == (31, functions.knots[1]) and weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights @ np.arange(functions.knots[1]), functions.octave[1:])
    np.testing.assert_allclose(functions.interpolation(0), [[1.0]])


def _prior(size: int = 32) -> OctaveVariances:
    axis = AxisFunctions.of(lw.Integers(0, size - 1, outside="clip"), most=64)
    return OctaveVariances(axis, axis)


def test_variances_before_anything_is_learned() -> None:
    variances = _prior().variances()
    number = np.arange(1, 32)
    assert variances.shape == (32, 32) and variances[0, 0] == 0
    for axis in (variances[1:, 0], variances[0, 1:]):
        np.testing.assert_allclose(axis, 0.8 * number ** (-1.6 / np.log(2)), rtol=1e-9)
    inner = 0.3 * np.multiply.outer(number, number) ** (-1.4 / np.log(2))
    np.testing.assert_allclose(variances[1:, 1:], inner, rtol=1e-9)


def test_a_symbol_apart_has_a_variance_of_its_own() -> None:
    first = AxisFunctions.of(AXES["symbols apart"][0], most=64)
    second = AxisFunctions.of(lw.Categories(3), most=64)
    prior = OctaveVariances(first, second)
    np.testing.assert_allclose(prior.variances()[-3:, 0], 4.0)
    squares = np.ones(prior.shape)
    squares[-1, 0] = 50.0
    before = prior.variances()
    prior.learn(squares, np.ones(prior.shape))
    after = prior.variances()
    np.testing.assert_allclose(after[-2, 0], before[-2, 0])
    assert after[-1, 0] > 2 * before[-1, 0]


def _learned(truth: np.ndarray, noise: float, *, seed: int, scale: float = 1.0) -> np.ndarray:
    """Return the variances learned from amplitudes that are seen with noise.

    Of one amplitude y with noise the posterior mean is s y / (s + noise), and the share
    s / (s + noise) is determined. Then (u^2 - share) / 2 is the slope of the marginal likelihood.
    """
    rng = np.random.default_rng(seed)
    seen = rng.standard_normal(truth.shape) * np.sqrt(truth + noise)
    prior = _prior()
    for _ in range(20):
        variances = prior.variances()
        share = variances / (variances + noise)
        squares = variances * seen**2 / (variances + noise) ** 2
        prior.learn(scale * squares, share)
    return prior.variances()


def test_variances_are_learned_from_amplitudes() -> None:
    number = np.arange(1, 32)
    truth = np.zeros((32, 32))
    truth[1:, 0] = 5 / number**1.0
    truth[0, 1:] = 0.05 / number**3.0
    truth[1:, 1:] = 2 / np.multiply.outer(number, number) ** 0.7
    found = _learned(truth, 1e-4, seed=1)
    ratio = np.log(found[1:, 1:] / truth[1:, 1:])
    assert np.abs(ratio).max() < 1.2 and abs(ratio.mean()) < 0.2
    assert np.abs(np.log(found[1:, 0] / truth[1:, 0])).mean() < 1.0
    assert np.abs(np.log(found[0, 1:16] / truth[0, 1:16])).mean() < 1.0
    # The start is far off, and so is a step that takes squares twice as large.
    start = _prior().variances()
    assert np.abs(np.log(start[1:, 1:] / truth[1:, 1:])).mean() > 2
    doubled = np.log(_learned(truth, 1e-4, seed=1, scale=2.0)[1:, 1:] / truth[1:, 1:])
    assert doubled.mean() > 0.5


def test_dependence_that_is_not_there_fades() -> None:
    truth = np.zeros((32, 32))
    truth[1:, 0] = truth[0, 1:] = 1 / np.arange(1, 32) ** 2.0
    found, start = _learned(truth, 1e-3, seed=2), _prior().variances()
    assert found[1:9, 1:9].sum() < 0.02 * start[1:9, 1:9].sum()
    assert found[1:9, 0].sum() > 0.3 * truth[1:9, 0].sum()


def test_octaves_that_are_not_determined_continue_those_that_are() -> None:
    number = np.arange(1, 32)
    truth = 3 / np.multiply.outer(number, number) ** 0.5
    prior = _prior()
    seen = number <= 8
    determined = np.zeros((32, 32))
    determined[1:, 1:] = np.outer(seen, seen)
    for _ in range(20):
        squares = np.zeros((32, 32))
        squares[1:, 1:] = truth / prior.variances()[1:, 1:] * determined[1:, 1:]
        prior.learn(squares, determined)
    found = prior.variances()[1:, 1:]
    np.testing.assert_allclose(np.log(found[seen][:, seen] / truth[seen][:, seen]), 0, atol=0.8)
    start = _prior().variances()[1:, 1:]
    beyond = np.log(found[-1, -1] / truth[-1, -1]), np.log(start[-1, -1] / truth[-1, -1])
    assert abs(beyond[0]) < 0.5 * abs(beyond[1]), "nearer to the power law than to the start"


def test_a_step_is_limited() -> None:
    prior = _prior()
    before = prior.variances()
    prior.learn(np.full(prior.shape, 1e9), np.ones(prior.shape))
    ratio = np.log(prior.variances()[1:, 1:] / before[1:, 1:])
    assert ratio.max() <= 2.5 + 1e-9 and ratio.max() > 2
