"""`make test` runs a part of the grids of the contract suites; this is what the part covers."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from typing import Any

import pytest

from tests.contracts.covering import covering, idle, uncovered
from tests.contracts.registered import RANDOMIZERS, pairs_of, randomizer_cases
from tests.contracts.registered_decoders import DECODERS, decoder_grid, features_of

EPSILONS = (0.1, 1, 4, 24)


def _names(case: Any) -> tuple[str, ...]:
    """Return the row, domain and epsilon of a case; rows have commas in their names."""
    return tuple(str(case.id).rsplit(", ", 2))


@pytest.mark.parametrize("epsilons", [EPSILONS, (1, 4), (1,)])
def test_every_pair_of_randomizer_domain_and_epsilon_is_covered(
    epsilons: tuple[float, ...],
) -> None:
    everything = randomizer_cases(*epsilons)
    chosen = [_names(case) for case in everything if not case.marks]
    grid = [
        (name, where, str(epsilon))
        for name, row in RANDOMIZERS.items()
        for where in row.domains
        for epsilon in epsilons
    ]
    assert sorted(map(_names, everything)) == sorted(grid)
    assert uncovered(chosen, grid, pairs_of) == set() and len(grid) > 90
    assert idle(chosen, pairs_of) == []
    places = {(name, where) for name, where, _ in grid}
    assert len(chosen) < 1.2 * max(len(places), len(RANDOMIZERS) * len(epsilons))


def test_once_is_every_row_and_every_domain() -> None:
    chosen = [_names(case) for case in randomizer_cases(1, once=True) if not case.marks]
    assert {name for name, _, _ in chosen} == set(RANDOMIZERS)
    assert {where for _, where, _ in chosen} == {
        where for row in RANDOMIZERS.values() for where in row.domains
    }
    assert idle(chosen, frozenset) == [] and len(chosen) < len(RANDOMIZERS) + 9


def test_every_decoder_meets_every_kind_of_domain_and_of_blocks() -> None:
    grid = decoder_grid()

    def features(case: tuple[str, str]) -> Iterator[Hashable]:
        return features_of(case, grid[case])

    chosen = covering(list(grid), features)
    assert uncovered(chosen, list(grid), features) == set()
    assert idle(chosen, features) == []
    assert {name for name, _ in chosen} == {
        name for name, row in DECODERS.items() if not row.lists and row.only != ("a log",)
    }
    assert len(chosen) < len(grid)


def test_the_array_is_small_and_the_same_each_time() -> None:
    """Nine cases cover all pairs of four factors with three values; greedy takes a few more."""
    grid = list(
        itertools.product(*[[f"{factor}{value}" for value in range(3)] for factor in "abcd"])
    )
    chosen = covering(grid, pairs_of)
    assert uncovered(chosen, grid, pairs_of) == set() and idle(chosen, pairs_of) == []
    assert 9 <= len(chosen) <= 13 and chosen == covering(grid, pairs_of)
    for case in chosen:
        others = [other for other in chosen if other != case]
        assert uncovered(others, grid, pairs_of), case
    doubled = [*chosen, chosen[0]]
    assert idle(doubled, pairs_of) == [chosen[0], chosen[0]]
