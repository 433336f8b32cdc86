"""Two groups drawn from one law: how often they are said to differ."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.results.uncertainty import to_zero
from tests.signed_decoder import projected, unbiased

PEOPLE, PAIRS = 4000, 20

ALLOWED = int(stats.binom.isf(1e-8, PAIRS, 0.07))
"""Of so many pairs at 95%. At 7% each, for what 1000 simulated suprema leave open."""

Group = Callable[[np.random.Generator, int], lw.Distribution]


def released(domain: lw.Interval) -> Group:
    def group(numbers: np.random.Generator, seed: int) -> lw.Distribution:
        return lw.release(
            numbers.random(PEOPLE),
            domain,
            neighbors="replace-one",
            epsilon=1,
            rng=lw.seeded(seed),
        ).distribution

    return group


def of_reports(domain: lw.Interval) -> Group:
    randomizer = lw.SquareWave(domain, 1)

    def group(numbers: np.random.Generator, seed: int) -> lw.Distribution:
        counts = np.bincount(domain.index(numbers.random(PEOPLE)), minlength=domain.size)
        tally = lw.simulate(randomizer, counts, rng=seed)
        signed = unbiased(randomizer.channel, tally)
        return projected(signed)

    return group


def of_labels(numbers: np.random.Generator, seed: int) -> lw.Distribution:
    labels = lw.Categories(["a", "b", "c"], missing="category")
    held = numbers.choice(["a", "b", "c"], PEOPLE)
    return lw.release(
        held, labels, neighbors="replace-one", epsilon=1, rng=lw.seeded(seed)
    ).distribution


@pytest.mark.parametrize(
    "group",
    [
        released(lw.Interval(0, 1, bins=16)),
        of_reports(lw.Interval(0, 1, bins=16, missing="bin")),
        of_labels,
    ],
    ids=["released", "reports with missing", "labels"],
)
def test_equal_groups_are_rarely_said_to_differ(group: Group) -> None:
    told = 0
    for pair in range(PAIRS):
        numbers = np.random.default_rng(pair)
        first, second = (group(numbers, 2 * pair + side) for side in (0, 1))
        made = first.difference(second)
        band = made.confidence_band(kind="simultaneous")
        assert band is not None
        told += band.leaves_zero
    assert told <= ALLOWED


def test_groups_three_standard_errors_apart_are_mostly_said_to_differ() -> None:
    """Of 20 pairs; P(Bin(20, .9) < 12) = 6e-5."""
    domain = lw.Interval(0, 1, bins=16)
    group = of_reports(domain)
    pilot = np.random.default_rng(0)
    band = group(pilot, 1).difference(group(pilot, 2)).confidence_band()
    assert band is not None
    shift = 3 * (band.high - band.low)[7] / 2 / stats.norm.ppf(0.975)

    class Moved:
        """Numbers of which so many are moved from the lower half to the upper one."""

        def __init__(self, seed: int) -> None:
            self._rng = np.random.default_rng(seed)

        def random(self, size: int) -> np.ndarray:
            values = self._rng.random(size)
            low = (values < 0.5) & (self._rng.random(size) < 2 * shift)
            return np.where(low, values + 0.5, values)

    told = 0
    for pair in range(PAIRS):
        first = group(np.random.default_rng(pair), 2 * pair)
        second = group(Moved(1000 + pair), 2 * pair + 1)  # type: ignore[arg-type]
        whole = first.difference(second).confidence_band(kind="simultaneous")
        assert whole is not None
        told += whole.leaves_zero
    assert told >= 12


@pytest.mark.parametrize("dust", [1e-17, -1e-17, 3e-13])
def test_rounding_at_an_edge_without_error_leaves_no_zero(dust: float) -> None:
    low, high = to_zero(np.array([-0.1, dust]), np.array([0.2, dust]))
    assert low[1] <= 0 <= high[1]
    assert low[0] == -0.1
    assert high[0] == 0.2


def test_what_has_an_error_leaves_zero_as_before() -> None:
    # A narrow band that lies apart from zero by more than rounding, and a wide one that does.
    ends = np.array([0.1, 1e-3]), np.array([0.2, 1e-3])
    low, high = to_zero(*ends)
    assert low.tolist() == ends[0].tolist()
    assert high.tolist() == ends[1].tolist()
