"""Every randomizer of the registry: its exact law where it can be listed, and real reports."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import seeded
from lapwing.survey.survey import RANDOMIZERS
from lapwing.testing.randomizer_contract import (
    NotFollowed,
    TooMany,
    exact_law,
    exact_ratio,
    inputs_of,
    raw_value,
)
from tests.adversary.knobs import instances
from tests.adversary.sampled import worst_report

DOMAINS = [
    lw.Interval(0, 1, bins=4, missing="bin"),
    lw.Interval(0, 1, bins=4),
    lw.Interval(0, 24, bins=4, circular=True),
    lw.Categories(4),
]
LARGER = [
    lw.Product(x=lw.Integers(0, 3), y=lw.Integers(0, 2)),
    lw.Interval(0, 1, bins=8),
    lw.Interval(0, 1, bins=16),
    lw.Interval(0, 1, bins=64),
]
"""For those that none of the small ones suits."""

EPSILON = 1


def randomizers(*, most: int) -> Iterator[tuple[str, Any]]:
    """Yield every class of the registry, on the domains and with the knobs that it accepts."""
    for name, made in RANDOMIZERS.items():
        tried = 0
        for number, domain in enumerate([*DOMAINS, *LARGER]):
            if tried and number >= len(DOMAINS):
                break
            try:
                for randomizer in instances(made, domain, EPSILON, most=most):
                    randomizer.certificate()
                    yield name, randomizer
                    tried += 1
            except LapwingError:
                continue
        assert tried, f"{name} suits none of these domains. Add one that it suits"


def exact_excess(randomizer: Any) -> Fraction | None:
    """Return the exact worst ratio of all pairs over e^epsilon; None when it has no short law."""
    try:
        laws = [exact_law(randomizer, point, most=2000) for point in range(inputs_of(randomizer))]
    except (TooMany, NotFollowed):
        # Too long, or a word is more than compared: a seed.
        return None
    return exact_ratio(laws) / exponential_bounds(randomizer.epsilon)[0]


def value_of(randomizer: Any, symbol: int) -> Any:
    """Return a raw value of a symbol."""
    domain = randomizer.domain
    if isinstance(domain, lw.Product):
        return raw_value(randomizer, symbol)
    if symbol == domain.missing_index:
        return float("nan") if domain.ordered else None
    if not domain.ordered:
        return domain.listed[symbol]
    return float(domain.left[symbol] + domain.right[symbol]) / 2


def sampled_excess(randomizer: Any, *, draws: int) -> float:
    """Return the largest bound of a log-ratio of real reports of two symbols, over epsilon."""
    source = seeded(5)
    drawn = []
    for symbol in range(randomizer.domain.size):
        values = np.array([value_of(randomizer, symbol)] * draws)
        drawn.append(randomizer.randomize(values, rng=source).data)
    # Equal reports have equal numbers.
    _, codes = np.unique(np.concatenate(drawn), axis=0, return_inverse=True)
    # The last is the missing one, where there is one.
    pairs = list(combinations(codes.reshape(len(drawn), draws), 2))
    worst = max(
        worst_report(a, b) for a, b in (pairs if len(pairs) <= 10 else pairs[:5] + pairs[-5:])
    )
    return worst / float(randomizer.epsilon)
