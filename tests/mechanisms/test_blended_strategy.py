"""Prefix sums with smooth rows: exact sensitivity, exact answers, the way back by transforms."""

import numpy as np
import pytest

from lapwing.decoders.releases.prefix_estimate import prefix_estimate
from lapwing.errors import ArgumentError, FormatError
from lapwing.linear.operators.sums import NormalRoot, coefficients
from lapwing.linear.whole_columns import most_moved
from lapwing.mechanisms.prefix_sums import (
    FUNCTIONS,
    BlendedStrategy,
    PrefixSums,
    SquareRootStrategy,
)
from lapwing.planning.release_defaults import recommended_mechanism
from lapwing.privacy.integer_noise import Sensitivity
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release

RELATIONS = ("replace-one", "add-or-remove-one")
SHAPES = [(64, 65, 50), (65, 65, 80), (97, 98, 1)]
MOVED = Promise("replace-one", epsilon="0.5", delta="1e-6")


def whole_matrix(strategy):
    """Return the matrix in whole numbers, entry by entry."""
    f = coefficients(strategy.size)
    lag = np.subtract.outer(np.arange(strategy.size), np.arange(strategy.size))
    sums = np.where(lag >= 0, f[np.maximum(lag, 0)], 0)
    return np.vstack([sums, strategy.rows])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_sensitivity_is_that_of_all_pairs_of_symbols(shape, relation) -> None:
    strategy = BlendedStrategy(*shape)
    brute = most_moved(whole_matrix(strategy), replaced=relation == "replace-one")
    assert strategy.sensitivity(relation) == Sensitivity(*brute)


def test_answers_are_exact_and_smooth_rows_come_last() -> None:
    strategy = BlendedStrategy(64, 65, 50)
    counts = np.random.default_rng(1).integers(0, 2**40, 65)
    assert np.array_equal(strategy.answers(counts), whole_matrix(strategy) @ counts)
    assert strategy.rows.shape == (FUNCTIONS, 65) and not strategy.rows.flags.writeable
    # A missing value is where the last present one is, but for its half cell.
    gap = np.abs(strategy.rows[:, 64] - strategy.rows[:, 63]).max()
    assert gap < np.ptp(strategy.rows, axis=1).max() / 4


@pytest.mark.parametrize("percent", [20, 50])
def test_smooth_rows_have_their_part_of_the_budget(percent) -> None:
    strategy = BlendedStrategy(256, 257, percent)
    alone = most_moved(strategy.rows, replaced=True)[0]
    sums = SquareRootStrategy(257).sensitivity("replace-one").squared
    assert alone / (alone + sums) == pytest.approx(percent / 100, rel=0.01)


def test_the_way_back_is_that_of_least_squares() -> None:
    strategy = BlendedStrategy(64, 65, 50)
    matrix = whole_matrix(strategy).astype(float)
    expected = np.cumsum(np.linalg.pinv(matrix), axis=0)
    root = NormalRoot(strategy.operator)
    close = 1e-9 * np.abs(expected).max()
    assert np.allclose(root.matmat(np.eye(root.shape[1])), expected, atol=close)
    assert np.allclose(root.rmatmat(np.eye(root.shape[0])), expected.T, atol=close)
    assert np.allclose(root.matvec(np.eye(root.shape[1])[3]), expected[:, 3], atol=close)
    assert np.allclose(root.rmatvec(np.eye(root.shape[0])[3]), expected[3], atol=close)
    summary = ExactCounts(Interval(0, 1, bins=64, missing="bin", outside="clip"), np.arange(65))
    made = PrefixSums(smooth=50).release(summary, MOVED, rng=seeded(1))
    sums = prefix_estimate(made.channel, made).sums
    assert np.allclose(sums, expected @ made.answers, atol=1e-6 * np.abs(sums).max())


def test_documents_say_the_part_and_old_ones_are_read() -> None:
    domain = Interval(0, 1, bins=64, missing="bin", outside="clip")
    summary = ExactCounts(domain, np.arange(65))
    made = PrefixSums(smooth=50).release(summary, MOVED, rng=seeded(1))
    assert Release.from_document(made.to_document()) == made
    assert "smooth" not in PrefixSums().to_document()
    broken = made.to_document()
    broken["mechanism"]["smooth"] = 40  # its noise hides another sensitivity
    with pytest.raises(FormatError):
        Release.from_document(broken)


NOISY = Promise("replace-one", epsilon="0.05", delta="1e-4")


def test_few_and_many_symbols_have_no_smooth_rows() -> None:
    for bins in (63, 4097):
        with pytest.raises(ArgumentError, match="Use smooth=0"):
            PrefixSums(smooth=50).check(Interval(0, 1, bins=bins, outside="clip"))
    for bins in (63, 5000):
        chosen = recommended_mechanism(Interval(0, 1, bins=bins, outside="clip"), NOISY)
        assert chosen == PrefixSums()


@pytest.mark.parametrize(("epsilon", "smooth"), [("0.1", 50), ("0.5", 40)])
def test_the_recommended_part_follows_from_the_promise(epsilon, smooth) -> None:
    promise = Promise("replace-one", epsilon=epsilon, delta="1e-6")
    chosen = recommended_mechanism(Interval(0, 1, bins=512, outside="clip"), promise)
    assert chosen == PrefixSums(smooth=smooth)
