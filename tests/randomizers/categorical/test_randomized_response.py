"""Generalized randomized response: the textbook table."""

import math

import numpy as np
import pytest

from lapwing import Categories, Integers, RandomizedResponse
from lapwing.linear.operators.operator import dense


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_textbook_table(epsilon: float) -> None:
    k = 5
    matrix = dense(RandomizedResponse(Categories(k), epsilon).channel.blocks[0].operator)
    p = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    q = 1 / (math.exp(epsilon) + k - 1)
    expected = np.full((k, k), q)
    np.fill_diagonal(expected, p)
    np.testing.assert_allclose(matrix, expected, rtol=1e-14)


def test_two_symbols_are_warners_coin() -> None:
    yes_or_no = RandomizedResponse(Categories(["no", "yes"]), math.log(3))
    np.testing.assert_allclose(
        dense(yes_or_no.channel.blocks[0].operator), [[0.75, 0.25], [0.25, 0.75]]
    )


def test_order_does_not_matter() -> None:
    """Labels, whole numbers or bins: the same channel, with another fingerprint."""
    labels = RandomizedResponse(Categories(4), 1)
    numbers = RandomizedResponse(Integers(0, 3), 1)
    np.testing.assert_array_equal(
        dense(labels.channel.blocks[0].operator), dense(numbers.channel.blocks[0].operator)
    )
    assert labels._threshold == numbers._threshold and labels.fingerprint != numbers.fingerprint
