"""How far one person moves the numbers of a question, by brute force over tiny tables."""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError
from lapwing.privacy.guarantee import PrivacyUnit
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.segmented import Segmented
from lapwing.questions import read
from lapwing.results.asked_numbers import AskedNumbers, counting_domain, within

RELATIONS = ("replace-one", "add-or-remove-one")
TINY = lw.Interval(0, 3, bins=3).for_curator()
OUTSIDE = lw.Interval(0, 2, bins=2, outside="overflow").for_curator()
WHOLE = lw.Integers(0, 2).for_curator()


def tables(size, most):
    """Yield all tables of up to so many rows."""
    for rows in range(most + 1):
        for cells in combinations_with_replacement(range(size), rows):
            yield np.bincount(np.array(cells, dtype=int), minlength=size)


def pairs(size, promise):
    """Yield two tables that differ in one person."""
    most = 1 if promise.unit is None else promise.unit.most
    mine = [*tables(size, most)]
    rests = [np.zeros(size, dtype=int), *np.eye(size, dtype=int)]
    if size > 6:  # two rows in each segment
        half = range(size // 2)
        rests = [
            np.bincount([i, i, j + len(half), j + len(half)], minlength=size)
            for i, j in product(half, half)
        ]
    for rest in rests[:: 1 if size < 6 else most**2]:
        for one, other in product(mine, mine):
            replaced = promise.neighbors == "replace-one"
            if promise.shows_people and one.sum() != other.sum():
                continue
            if not replaced and one.sum() and other.sum():
                continue
            yield rest + one, rest + other


def promises():
    for relation in RELATIONS:
        yield Promise(relation, epsilon=1)
        yield Promise(relation, epsilon=1, unit=PrivacyUnit("user", 2))


def exact(numbers, table, counted):
    size = within(counted).size
    return np.concatenate(
        [numbers.exact(each, within(counted)) for each in table.reshape(-1, size)]
    )


QUESTIONS = [
    (TINY, "share above 1"),
    (TINY, "share label missing"),
    (TINY, "histogram bins 3"),
    (TINY, "histogram edges 1 2 3"),
    (OUTSIDE, "share above 1"),
    (OUTSIDE, "histogram bins 2"),
    (WHOLE, "mean"),
    (WHOLE, "share at-least 1 below 3"),
    (lw.Categories(["a", "b"]).for_curator(), "share label a"),
]


@pytest.mark.parametrize("segmented", [False, True])
@pytest.mark.parametrize(("domain", "asked"), QUESTIONS, ids=str)
def test_the_sensitivity_is_that_of_all_tiny_tables(domain, asked, segmented):
    if segmented:
        domain = Segmented(domain, ["x"])
    for promise in promises():
        numbers = AskedNumbers(read(asked), domain, promise)
        columns = np.array([exact(numbers, row, domain) for row in np.eye(domain.size, dtype=int)])
        several = np.arange(domain.size)
        assert np.array_equal(exact(numbers, several, domain), several @ columns)
        moved = np.array([(one - other) @ columns for one, other in pairs(domain.size, promise)])
        stated = numbers.sensitivity
        assert np.abs(moved).sum(axis=1).max() == stated.absolute
        assert (moved**2).sum(axis=1).max() == stated.squared


def test_cells_on_a_circle_do_not_overlap():
    circle = lw.Interval(0, 4, bins=4, circular=True).for_curator()
    promise, counted = Promise("replace-one", epsilon=1), 0
    for edges in product(range(-1, 5), repeat=3):
        asked = lw.questions.Histogram(edges)
        try:
            numbers = AskedNumbers(asked, circle, promise)
            columns = [numbers.exact(row, circle) for row in np.eye(circle.size, dtype=int)]
        except ArgumentError:
            continue
        counted += 1
        moved = [np.abs(one - other).sum() for one, other in combinations(columns, 2)]
        assert max(moved) == numbers.sensitivity.absolute, edges
        assert AskedNumbers(asked, circle, promise).numbers
    assert counted > 40
    with pytest.raises(ArgumentError, match="go around the circle at most once"):
        AskedNumbers(lw.questions.Histogram([3, 1, 3, 2]), circle, promise)


def test_a_mean_counts_its_steps_and_has_the_sensitivity_of_the_range():
    for relation in RELATIONS:
        numbers = AskedNumbers(read("mean"), TINY, Promise(relation, epsilon=1))
        counted = counting_domain(TINY, (read("mean"),), steps=numbers.steps)
        places = (0, 1, counted.size // 2, counted.size - 2, counted.size - 1, counted.size)
        rows = [(np.arange(counted.size) == place).astype(np.int64) for place in places]
        ends = [numbers.exact(row, counted) for row in rows]
        moved = [
            int(np.abs(one - other).sum())
            for place, one in enumerate(ends)
            for other in (ends[:-1] if relation == "replace-one" else ends[-1:])
        ]
        assert 0.9999 * numbers.sensitivity.absolute < max(moved) <= numbers.sensitivity.absolute


def test_a_mean_of_wide_bins_is_refused():
    numbers = AskedNumbers(read("mean"), TINY, Promise("replace-one", epsilon=1))
    with pytest.raises(ArgumentError, match="a mean needs the values"):
        numbers.exact(np.zeros(TINY.size, dtype=np.int64), TINY)
