"""Every number lies in its own interval, however far its decoder has smoothed."""

import math
from typing import Any

import numpy as np
import pytest

from lapwing import Distribution, Integers, Interval
from lapwing.linear.covariance import Covariance
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answers import result_answer
from lapwing.results.intervals import reaching
from lapwing.results.uncertainty import Uncertainty

SIZE = 8


def smoothed(domain: Any, seed: int) -> Distribution:
    """Return masses that have nothing to do with their error law."""
    rng = np.random.default_rng(seed)
    mass, center = rng.dirichlet(np.full(SIZE, 0.5), size=2)
    noise = Covariance(1e-6 * center, 1e-3 * center[:, None], np.array([-1.0]))
    law = Uncertainty(center, noise, np.zeros(SIZE), center, 1000, "by hand")
    return Distribution(domain, mass, uncertainty=law)


def numbers(one: Any, *, label: float) -> dict[str, tuple[float, Any]]:
    """Return answers with their intervals, of a distribution or of a difference."""
    return {
        "range": (one.probability(2, 5), one.probability_interval(2, 5)),
        "share": (one.share(label), one.share_interval(label)),
        "mean": (one.mean(), one.mean_interval()),
        "quantile": (float(one.quantile(0.3)), one.quantile_interval(0.3)),
    }


@pytest.mark.parametrize("domain", [Interval(0, 8, bins=SIZE), Integers(1, 8)], ids=repr)
def test_every_number_lies_in_its_own_interval(domain: Any) -> None:
    for seed in range(20):
        one, two = smoothed(domain, seed), smoothed(domain, seed + 100)
        asked = [numbers(one, label=3), numbers(one.difference(two), label=3)]
        asked.append({"variance": (one.variance(), one.variance_interval())})
        for answers in asked:
            for name, (value, (low, high)) in answers.items():
                assert low <= value <= high, name
        document = result_answer(one, AnswerRequest())
        assert document["kind"] == "numbers"
        for row in document["quantiles"]:
            low, high = row.get("low"), row.get("high")
            assert low is not None or row["low_at_most"] == domain.left[0]
            assert high is not None or row["high_at_least"] == domain.right[-1]
            least, most = -math.inf if low is None else low, math.inf if high is None else high
            assert row["value"] is not None and least <= row["value"] <= most


def test_an_interval_reaches_no_further() -> None:
    assert reaching((1.0, 2.0), 1.5) == (1.0, 2.0)
    assert reaching((1.0, 2.0), 0.5) == (0.5, 2.0)
    assert reaching((1.0, 2.0), 2.5) == (1.0, 2.5)
