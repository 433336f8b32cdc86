"""What the contract suites run over. A new class gets all of them by a row beside its test.

Randomizers: :data:`RANDOMIZERS`, the rows of `tests/randomizers/**/registered_*.py`, on every
domain of :data:`DOMAINS` that they name. Operators: `registered_operators.py`. Decoders:
`registered_decoders.py`. A test fails when a class that a survey may name has no row.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, Integers, Interval, Product, Survey
from lapwing.linear.operators.operator import dense
from lapwing.papers.wavelet.signed_subset_selection import SignedSubset
from lapwing.protocol import Channel
from lapwing.protocol.channels.channel import FixedSizeSubset, Multinomial, ProductOfBits
from lapwing.protocol.channels.hashed_channel import HashedSupport
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.label_columns import CodedLabels
from lapwing.randomizers.mixture import Mixture
from lapwing.registry import RANDOMIZERS as NAMES
from lapwing.tallies import CountTally
from lapwing.testing.randomizer_contract import exact_law, inputs_of, raw_value
from tests.contracts.covering import covering
from tests.contracts.randomizer_rows import RandomizerRow, row_of

DOMAINS: dict[str, Domain] = {
    "linear": Interval(0, 1, bins=6),
    "eight": Interval(0, 1, bins=8),
    "circular": Interval(0, 24, bins=6, circular=True),
    "log": Interval(1, 1000, bins=5, scale="log"),
    "atoms-and-missing": Interval(0, 100, bins=3, atoms=(0, 40), missing="bin"),
    "integers": Integers(3, 8),
    "categories": Categories(["red", "green", "blue"]),
    "categories-missing": Categories(4, missing="category"),
    "categories-eight": Categories(8),
    "pair": Product(x=Integers(0, 2), y=Integers(4, 6)),
    # A circle with a missing symbol, and a line with values below and above it.
    "pair-apart": Product(
        hour=Interval(0, 24, bins=3, circular=True, missing="bin"),
        wait=Interval(0, 10, bins=2, outside="overflow"),
    ),
    "pair-of-labels": Product(label=Categories(3), y=Integers(4, 6)),
}

TESTS = Path(__file__).parent.parent


def _rows() -> dict[str, RandomizerRow]:
    """Return every row that stands beside the tests of its class."""
    found: dict[str, RandomizerRow] = {}
    for path in sorted((TESTS / "randomizers").rglob("registered_*.py")):
        name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
        rows: dict[str, RandomizerRow] = import_module(name).ROWS
        twice = rows.keys() & found.keys()
        if twice:
            raise ValueError(f"{path.name} has rows that another file has: {', '.join(twice)}")
        found.update(rows)
    return found


RANDOMIZERS = _rows()


def example_surveys(known: Iterable[Survey]) -> dict[str, Survey]:
    """Return a survey for each row whose randomizer has none among these, at epsilon 1.

    So a new randomizer gets vectors and stored files without a line in the scripts that make them.
    """
    absent = NAMES.keys() - {survey.randomizer.name for survey in known}
    return {
        name: Survey(name, row.make(DOMAINS[row.domains[-1]], 1))
        for name, row in RANDOMIZERS.items()
        if name in absent
    }


@functools.cache
def law_of(randomizer: Any, point: int) -> dict[bytes, Fraction]:
    """Return the exact law of an input, found once a process; for reading only.

    Equal randomizers share it, so a randomizer that was tampered with must not be asked for.
    """
    return exact_law(randomizer, point)


@dataclass(frozen=True)
class RandomizerCase:
    """A row on one domain at one epsilon."""

    row: RandomizerRow
    randomizer: Any

    @property
    def inputs(self) -> int:
        """How many values a client tells apart: points of its grid, or symbols."""
        return inputs_of(self.randomizer)

    @property
    def laws(self) -> list[dict[bytes, Fraction]]:
        """The exact law of the reports of every input; for reading only."""
        return [law_of(self.randomizer, point) for point in range(self.inputs)]

    def counted(self, tally: Any) -> CountTally:
        """Return a tally as counts: itself, or what a log says of every symbol."""
        counts: CountTally = self.randomizer.log_channel.counts(tally) if self.row.log else tally
        return counts

    def value(self, point: int) -> Any:
        """Return a raw value of an input."""
        return raw_value(self.randomizer, point)

    def values(self, points: np.ndarray) -> Any:
        """Return raw values of inputs, as a column that `randomize` takes."""
        raw = np.array([self.value(point) for point in range(self.inputs)])
        return raw[points]

    def column(self, points: np.ndarray) -> Any:
        """Return the same values as a data frame gives them: labels as numbers into a list.

        Reading 200,000 labels one by one takes longer than the draws that a test is about.
        """
        if not isinstance(self.randomizer.domain, Categories):
            return self.values(points)
        return CodedLabels(points, [self.value(point) for point in range(self.inputs)])


def randomizer_cases(
    *epsilons: float,
    domains: tuple[str, ...] = tuple(DOMAINS),
    rows: str = "",
    logs: bool = True,
    once: bool = False,
) -> list[Any]:
    """Return rows on domains at epsilons, for `pytest.mark.parametrize`.

    Every pair of a row and a domain, a row and an epsilon, a domain and an epsilon comes at least
    once. The other cases of the grid are marked: they run in `make soak`.

    `domains` and `rows` (how names start) leave some out, for tests that take seconds each;
    `logs=False` leaves out those whose tally is a log. `once`: every row at every epsilon, and
    every domain, where a test looks at something that a randomizer does not share with its domain.
    """
    grid = [
        (name, where, epsilon)
        for name, row in RANDOMIZERS.items()
        for where in row.domains
        for epsilon in epsilons
        if where in domains and name.startswith(rows) and (logs or not row.log)
    ]
    chosen = set(covering(grid, _row_or_domain if once else pairs_of))
    return [
        pytest.param(
            RandomizerCase(RANDOMIZERS[name], RANDOMIZERS[name].make(DOMAINS[where], epsilon)),
            id=f"{name}, {where}, {epsilon}",
            marks=[] if (name, where, epsilon) in chosen else [pytest.mark.soak],
        )
        for name, where, epsilon in grid
    ]


def pairs_of(case: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield every two of the values of a case."""
    return itertools.combinations(case, 2)


def _row_or_domain(case: tuple[str, str, float]) -> Iterator[Any]:
    name, where, epsilon = case
    yield from ((name, epsilon), where)


def at_epsilon(randomizer: Any, factor: Fraction) -> Any:
    """Return the same randomizer with its epsilon times a factor, and the same near sets."""
    fixed = row_of(randomizer).near_sets(randomizer)
    changed = replace(randomizer, epsilon=randomizer.epsilon * factor, **fixed)
    if isinstance(randomizer, Mixture):
        parts = [
            replace(part, randomizer=at_epsilon(part.randomizer, factor))
            for part in randomizer.groups
        ]
        changed.__dict__["groups"] = tuple(parts)
    return changed


def dense_ratio(channel: Channel) -> tuple[float, float]:
    """Return the worst likelihood ratio in the floats of a channel, and its relative precision.

    A probability near 0 that a Fourier transform or ``1 - p`` made is right to 1e-16 of 1, and
    only so many digits of a ratio can be asked for; at epsilon = 24 on a circle these are 5.
    """
    ratios, smallest = [], 1.0
    for block in channel.blocks:
        matrix = dense(block.operator)
        smallest = min(smallest, matrix.min(), (1 - matrix).min())
        ratio = (matrix.max(axis=1) / matrix.min(axis=1)).max()
        if isinstance(block.law, FixedSizeSubset):
            own, others = matrix.max(), block.law.symbols - block.law.members
            ratio = own * others / ((1 - own) * block.law.members)
        elif isinstance(block.law, SignedSubset):
            own, others = matrix.max(), 2 * block.law.coordinates - block.law.members
            ratio = own * others / ((1 - own) * block.law.members)
        elif isinstance(block.law, HashedSupport):
            # Given the hash, the near point of the own value against the same of another.
            own, other = matrix.max(), matrix.min()
            ratio = own * (1 - other) / ((1 - own) * other)
        elif isinstance(block.law, ProductOfBits):
            # Given two values only their two bits differ in law, one up and one down.
            ratio *= ((1 - matrix).max(axis=1) / (1 - matrix).min(axis=1)).max()
        else:
            assert isinstance(block.law, Multinomial)
        ratios.append(ratio)
    return max(ratios), 1e-12 + 1e-15 / smallest
