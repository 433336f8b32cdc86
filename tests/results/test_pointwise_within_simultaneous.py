"""A pointwise band lies within the simultaneous one, also where there are few symbols."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw

LEVELS = (0.5, 0.95, 0.999)

DOMAINS = {
    "2 labels": lw.Categories(["yes", "no"]),
    "3 labels": lw.Categories(["yes", "no", "maybe"]),
    "2 bins": lw.Interval(0, 10, bins=2),
    "3 bins": lw.Interval(0, 10, bins=3),
}


def of_reports(domain: Any, seed: int) -> lw.Distribution:
    chosen = lw.SquareWave if domain.ordered else lw.RandomizedResponse
    survey = lw.Survey("habit", chosen(domain, 1))
    people = np.arange(1, domain.size + 1) * 1000
    return survey.decode(lw.simulate(survey.randomizer, people[:: 1 - 2 * (seed % 2)], rng=seed))


def of_a_release(domain: Any, seed: int) -> lw.Distribution:
    names = domain.labels if not domain.ordered else 10 * np.arange(domain.size) / domain.size + 1
    values = np.random.default_rng(seed).choice(np.array(names), 2000)
    made = lw.release(values, domain, epsilon=1, neighbors="replace-one", rng=lw.seeded(seed))
    return made.distribution


def overhang(pointwise: Any, simultaneous: Any) -> float:
    """Return by how much a pointwise band reaches out of the simultaneous one."""
    below, above = simultaneous.low - pointwise.low, pointwise.high - simultaneous.high
    return float(max(below.max(), above.max()))


@pytest.mark.parametrize("decoded", [of_reports, of_a_release])
@pytest.mark.parametrize("name", DOMAINS)
def test_a_pointwise_band_lies_within_the_simultaneous_one(name: str, decoded: Any) -> None:
    one, two = (decoded(DOMAINS[name], seed) for seed in (1, 2))
    for target in ("empirical", "population"):
        change = lw.Difference(one, two, target=target)
        for level in LEVELS:
            each = [
                one.confidence_band(level, kind=kind, target=target)
                for kind in ("pointwise", "simultaneous")
            ]
            assert overhang(*each) <= 1e-9
            each = [change.confidence_band(level, kind=k) for k in ("pointwise", "simultaneous")]
            assert overhang(*each) <= 1e-9
