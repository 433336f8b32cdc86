"""What a rule that knows the law could reach, read from its frontier of errors."""

import numpy as np
import pytest

from benchmarks.accuracy.labels import head_of_labels


def test_the_best_head_is_within_the_price_and_the_price_is_of_a_head_that_is_good_enough() -> None:
    # All, largest: the last is best in the head but too dear, the first cheapest but not enough.
    frontier = np.array([[0.95, 3.0], [1.02, 2.0], [1.5, 1.05], [4.0, 0.5]])
    best, price = head_of_labels.bounds(frontier)
    assert (best, price) == pytest.approx((2.0, 1.5))


def test_what_no_rule_reaches_is_infinite() -> None:
    assert head_of_labels.bounds(np.array([[1.5, 2.0]])) == (np.inf, np.inf)
