"""No mechanism tells neighbors apart better than it charges for: by its noise, and by counting."""

from __future__ import annotations

import math
from itertools import combinations, islice
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.mechanisms.private_bounds import private_bounds
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.survey.publication import MECHANISMS
from tests.adversary.coupling import Tape, costs
from tests.adversary.mechanisms import (
    OTHER_PROMISES,
    ROUNDING,
    shown_of,
    suitable,
    worst_of,
    worst_of_all,
    worst_of_second,
)
from tests.adversary.neighbors import RELATIONS
from tests.adversary.sampled import worst_event

SOAK = pytest.mark.soak
LOOSE = {"matching-pursuit": 0.5}
"""The least share of the charge that an output must be seen to cost, where it is not all of it:
an adaptive choice has many outputs, and only a few are tried."""


@pytest.mark.filterwarnings("ignore:.* cannot represent a simple curve")  # by one term
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("most", [1, pytest.param(60, marks=SOAK)])
def test_no_output_costs_more_than_is_charged(name: str, most: int) -> None:
    share, where = worst_of_all(name, most=most)
    assert share <= ROUNDING, where
    assert share >= LOOSE.get(name, 1 / ROUNDING), "the worst pair was not among those tried"


@pytest.mark.parametrize("name", MECHANISMS)
def test_promises_of_every_kind_are_kept(name: str) -> None:
    tried = set()
    for relation in RELATIONS:
        cases = suitable(MECHANISMS[name], most=1, relation=relation, promises=OTHER_PROMISES)
        for mechanism, domain, promise in islice(cases, 6):
            share = worst_of(mechanism, domain, promise, most_rest=0)
            assert share <= ROUNDING, (mechanism, domain, promise)
            tried.add(promise.rho is not None)
    assert tried == {True, False}


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_that_are_found_cost_what_they_are_charged(neighbors: str) -> None:
    """They are found by a function, not by a mechanism of the registry."""

    def run(values: list[float | None], tape: Tape) -> list[int]:
        bounds = private_bounds(values, neighbors=neighbors, epsilon="0.5", rng=tape)
        tape.shown.append((bounds.low, bounds.high, bounds.threshold))
        return shown_of(bounds.release, tape)

    rng = np.random.default_rng(4)
    usual = [3.0, -2.5]
    sides = [[*usual, cell] for cell in (0.0, 1.0, -1e300, 1e-9, math.inf, math.nan, None)]
    if neighbors == "add-or-remove-one":
        pairs = [(side, usual) for side in sides]
    else:
        pairs = list(combinations(sides, 2))
    found = [each.epsilon for each in costs(run, pairs, rng)]
    assert 0.5 / ROUNDING <= max(found) <= 0.5 * ROUNDING


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_second_release_costs_what_it_is_charged(name: str) -> None:
    tried = 0
    for relation in RELATIONS:
        for case in islice(suitable(MECHANISMS[name], most=1, relation=relation), 6):
            assert worst_of_second(*case) <= ROUNDING, case
            tried += 1
    assert tried


def drawn(mechanism: Any, domain: Any, promise: Promise, counts: np.ndarray, draws: int) -> Any:
    """Return what real releases of one table show: float64 [draws, shown], zeros where less."""
    held = lw.protocol.ExactCounts(domain, counts)
    source = seeded(int(counts @ np.arange(1, counts.size + 1)))
    rows = []
    for _ in range(draws):
        release = mechanism.release(held, promise, rng=source)
        rows.append([*release.answers.tolist(), *(x for c in release.choices.values() for x in c)])
    width = max(map(len, rows))
    return np.array([row + [0] * (width - len(row)) for row in rows], dtype=np.float64)


@pytest.mark.parametrize(
    ("name", "draws"),
    [
        # Of an adaptive choice 500 draws would see nothing, even at 8 times the epsilon.
        *((name, 500) for name in MECHANISMS if name not in LOOSE),
        *(pytest.param(name, 100_000, marks=SOAK) for name in MECHANISMS),
    ],
)
def test_real_draws_tell_no_more_than_is_charged(name: str, draws: int) -> None:
    promise = Promise("replace-one", epsilon=1)
    domain = lw.Interval(0, 1, bins=2).for_curator()
    cases = suitable(MECHANISMS[name], most=20, relation="replace-one")
    mechanism = next(m for m, where, stated in cases if (where, stated) == (domain, promise))
    # One row, of each symbol.
    sides = [
        drawn(mechanism, domain, promise, one, draws) for one in np.eye(domain.size, dtype=int)
    ]
    width = max(side.shape[1] for side in sides)
    sides = [np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in sides]
    assert max(worst_event(*pair) for pair in combinations(sides, 2)) <= 1


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(
    "domain",
    [
        lw.Categories(["a", "b", "rest"], other="rest"),
        lw.protocol.Segmented(lw.Categories(["a"]), ["here", "there"]),
    ],
    ids=["labels", "segments"],
)
def test_labels_cost_what_they_are_charged(domain: Any, neighbors: str) -> None:
    """A row may change its label and its segment: all cells of the table are symbols."""
    for stated in ({"epsilon": 1}, *OTHER_PROMISES):
        promise = Promise(neighbors, **stated)
        share = worst_of(lw.mechanisms.LabelCounts(), domain.for_curator(), promise)
        assert 0.99 < share <= ROUNDING or (promise.rho and share <= ROUNDING), stated
