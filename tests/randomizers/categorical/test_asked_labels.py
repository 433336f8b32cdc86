"""Asked labels: what they refuse, and the exact distribution of the errors of what is decoded."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.unbiased.linear_estimate import asked_noise, linear_estimate, unbiased_shares
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.operators.operator import dense
from lapwing.planning.defaults import recommended_decoder
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers import AskedLabels

TEN = lw.Categories(10)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "must name 1 to 8 of the 10"),
        ([*range(9)], "must name 1 to 8 of the 10"),
        ([3, 3], "that increase"),
        ([3, 1], "that increase"),
        ([10], "in 0..9"),
        ([-1], "in 0..9"),
        ([True], "must be a list of whole numbers"),
        (["a"], "must be a list of whole numbers"),
        ("1", "must be a list of whole numbers"),
        (1, "must be a list of whole numbers"),
    ],
)
def test_labels_are_numbers_that_increase_and_leave_two(given: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        AskedLabels(TEN, 1, labels=given)


@pytest.mark.parametrize("share", [0, 1.1, -0.5, "half", None])
def test_a_share_is_of_the_people(share: Any) -> None:
    with pytest.raises(ArgumentError, match="share must be"):
        AskedLabels(TEN, 1, labels=[0], share=share)


def test_labels_alone_and_three_of_them() -> None:
    with pytest.raises(DomainError, match="must be labels"):
        AskedLabels(lw.Interval(0, 1, bins=8), 1)
    with pytest.raises(DomainError, match="must have 3 to"):
        AskedLabels(lw.Categories(2), 1)
    asked = AskedLabels(lw.Categories(3), 1, labels=[2])
    assert asked.certificate().holds and asked.report_width == 2
    assert lw.Survey.from_document(lw.Survey("x", asked).to_document()).randomizer == asked


def _by_hand(randomizer: Randomizer, mass: Any, people: int) -> Any:
    """Return the covariance of the best linear estimate, by matrices of all labels."""
    size = mass.size
    asked, every = (dense(block.operator) for block in randomizer.channel.blocks)
    total = np.zeros((size, size))
    center = np.eye(size) - 1 / size
    law = np.diag(mass) - np.outer(mass, mass)
    for block, matrix in zip(randomizer.channel.blocks, (asked, every), strict=True):
        inverse = np.linalg.pinv(matrix)
        # The estimate of the cells' sums, or of all labels, has the error of its outputs.
        outputs = block.covariance(mass).dense() / (block.share * people)
        seen = inverse @ matrix
        noise = center @ inverse @ outputs @ inverse.T @ center
        total += seen.T @ np.linalg.pinv(noise, rcond=1e-9, hermitian=True) @ seen
    return np.linalg.pinv(center @ total @ center, rcond=1e-9, hermitian=True) - law / people


def test_the_estimate_has_the_least_variance_where_its_weights_are_made_for() -> None:
    """The generalized least squares of both groups, by matrices."""
    randomizer = AskedLabels(TEN, 1, labels=[2, 7], share=0.4)
    mass = np.full(10, 0.1)
    noise = asked_noise(randomizer.channel, mass, people=10_000).dense()
    best = _by_hand(randomizer, mass, 10_000)
    assert np.allclose(np.diag(noise), np.diag(best), rtol=0.01)
    assert np.allclose(noise.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("share", [0.5, 1])
def test_errors_are_distributed_as_stated(share: float) -> None:
    randomizer = AskedLabels(TEN, 1, labels=[2, 7], share=share)
    held = np.array([500, 500, 3000, 500, 500, 500, 500, 500, 3000, 500])
    rng = np.random.default_rng(5)
    gaps = []
    for _ in range(400):
        estimate = linear_estimate(randomizer.channel, lw.simulate(randomizer, held, rng=rng))
        gaps.append((estimate.center - held / 10_000)[[2, 7]])
    stated = asked_noise(randomizer.channel, held / 10_000, people=10_000)
    spread = np.std(gaps, axis=0) / np.sqrt(stated.variance()[[2, 7]])
    assert np.abs(spread - 1).max() < 0.15  # 4 standard errors of 1 / sqrt(800)
    center = np.mean(gaps, axis=0) / np.sqrt(stated.variance()[[2, 7]] / 400)
    assert np.abs(center).max() < 4


@pytest.mark.parametrize("size", [10, 100])
def test_alone_nothing_is_known_of_the_others_but_their_sum(size: int) -> None:
    randomizer = AskedLabels(lw.Categories(size), 2, labels=[3])
    held = np.zeros(size, dtype=np.int64)
    held[[3, 4]] = 3000, 17_000
    tally = lw.simulate(randomizer, held, rng=1)
    result = recommended_decoder(randomizer).decode(randomizer.channel, tally)
    low, high = result.share_interval(3) or (1, 0)
    assert low < 0.15 < high < low + 0.03
    assert result.share_interval(4) == (0, 1) == result.share_interval(5)
    assert np.allclose(np.delete(result.mass, 3), (1 - result.mass[3]) / (size - 1))
    again = lw.Distribution.from_document(result.to_document())
    assert again.share_interval(4) == (0, 1) and again.share_interval(3) == (low, high)
    found = unbiased_shares(randomizer.channel, tally)
    assert found.own is not None and found.own.nonzero()[0].tolist() == [3]


def test_a_group_without_reports_is_left_out() -> None:
    """One person reports in one of the groups. That of asked labels may have nobody."""
    randomizer = AskedLabels(TEN, 1, labels=[2], share=0.5)
    for seed in range(8):
        tally = randomizer.tally(randomizer.randomize([2], rng=lw.seeded(seed)))
        result = lw.MixturePrior().decode(randomizer.channel, tally)
        low, high = result.share_interval(2) or (1, 0)
        assert 0 <= low <= high <= 1 and result.mass.sum() == pytest.approx(1)
