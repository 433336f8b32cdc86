"""Boxes of pairs: the promise by brute force, near sets by hand, simulation against reports."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.operators.operator import dense
from lapwing.planning.simulation import simulate
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.randomizers import BoxWave
from lapwing.randomizers.joint.axis_windows import (
    BinWindows,
    LabelSets,
    NotAsked,
    _order_of_sets,
    axis_windows,
    bins_of,
)
from lapwing.testing.randomizer_contract import (
    check_channel,
    check_document,
    check_promise,
    exact_ratio,
    laws_of,
)
from tests.false_alarms import PEOPLE, SIMULATED_REPEATS, accepts, moments_tail
from tests.mistaken import mistaken
from tests.rows import each

LINES = lw.Product(x=lw.Integers(0, 4), y=lw.Integers(0, 3))
APART = lw.Product(
    x=lw.Interval(0, 5, bins=5, outside="overflow", missing="bin"),
    y=lw.Interval(0, 4, bins=4, circular=True, missing="bin"),
)
LABELS = lw.Product(label=lw.Categories(list("abcde")), y=lw.Integers(0, 3))
LABELS_MISSING = lw.Product(y=lw.Integers(0, 4), label=lw.Categories(3, missing="category"))

CASES: dict[str, tuple[lw.Product, Any, tuple[int | None, int | None]]] = {
    "box": (LINES, 1, (2, 2)),
    "box of one cell": (LINES, "0.5", (1, 1)),
    "box as wide as both axes": (LINES, 1, (5, 4)),
    "strip of the first axis": (LINES, 1, (2, None)),
    "strip of the second axis": (LINES, 4, (None, 3)),
    "box with symbols apart, on a circle": (APART, 2, (2, 3)),
    "box around the whole circle": (APART, 2, (2, 4)),
    "strip around a circle": (APART, 1, (None, 2)),
    "set of labels and a window": (LABELS, 1, (2, 3)),
    "label and a window": (LABELS, 3, (1, 2)),
    "set of labels alone": (LABELS, 1, (3, None)),
    "all labels but one": (LABELS, 1, (4, 1)),
    "a missing label is a label": (LABELS_MISSING, 1, (2, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_promise_channel_and_document_by_brute_force(name: str) -> None:
    domain, epsilon, widths = CASES[name]
    box = BoxWave(domain, epsilon, widths=widths)
    laws = laws_of(box)
    assert len(laws) == domain.size
    check_promise(box, laws)
    check_channel(box, laws)
    check_document(box)
    bound = exponential_bounds(box.epsilon)[0]
    assert exact_ratio(laws) > bound * (1 - 2 * bound / 2**50), "no privacy is given away unused"


def test_a_window_that_ends_with_its_axis_would_break_the_promise() -> None:
    """Why windows reach over the ends of a line: every symbol needs as many outputs."""

    class Cut(BoxWave):
        """Near outputs beyond the last bin of the second axis fall on that bin's output."""

        def _locate(self, point: Any, near: Any, offset: Any) -> Any:
            rows, columns = np.divmod(super()._locate(point, near, offset), 5)
            return 5 * rows + np.where(near, np.minimum(columns, 3), columns)

    box = Cut(LINES, 1, widths=(2, 2))
    with pytest.raises(AssertionError, match="some report reveals a value"):
        check_promise(box, laws_of(box))


def _near_by_hand(axis: Any, width: int | None, symbol: int) -> set[Any]:
    """Return the outputs that see a symbol, by names of their own."""
    if width is None:
        return {"all"}
    if not axis.ordered:
        return {one for one in combinations(range(axis.size), width) if symbol in one}
    bins = bins_of(axis).tolist()
    if symbol not in bins:
        return {(symbol, place) for place in range(width)}
    place = bins.index(symbol)
    if axis.circular:
        return {("bin", (place + step) % len(bins)) for step in range(width)}
    return {("bin", place + step) for step in range(width)}


@pytest.mark.parametrize("name", CASES)
def test_two_pairs_share_as_many_outputs_as_by_hand(name: str) -> None:
    domain, epsilon, widths = CASES[name]
    box = BoxWave(domain, epsilon, widths=widths)
    (block,) = box.channel.blocks
    inside, outside = box._probabilities
    near = dense(block.operator) > (inside + outside) / 2
    shared = near.T.astype(int) @ near.astype(int)
    for (one, first), (other, second) in combinations(enumerate(np.ndindex(domain.shape)), 2):
        counts = [
            len(_near_by_hand(axis, width, a) & _near_by_hand(axis, width, b))
            for axis, width, a, b in zip(domain.domains, widths, first, second, strict=True)
        ]
        assert shared[one, other] == counts[0] * counts[1]
    assert (np.diag(shared) == box._near).all()


@pytest.mark.parametrize(
    ("windows", "outputs", "near"),
    [
        (NotAsked(lw.Integers(0, 4)), 1, 1),
        (BinWindows(lw.Integers(0, 4), 3), 7, 3),
        (BinWindows(lw.Interval(0, 1, bins=5, circular=True), 3), 5, 3),
        (BinWindows(APART.domains[0], 2), 6 + 3 * 2, 2),
        (BinWindows(APART.domains[1], 4), 4 + 1 * 4, 4),
        (LabelSets(lw.Categories(5), 1), 5, 1),
        (LabelSets(lw.Categories(5), 2), comb(5, 2), comb(4, 1)),
        (LabelSets(lw.Categories(5), 4), 5, 4),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "near") else str(one),
)
def test_every_order_of_outputs_is_a_permutation(windows: Any, outputs: int, near: int) -> None:
    assert (windows.outputs, windows.near) == (outputs, near)
    size = windows.domain.size
    for symbol in range(size):
        places = np.arange(outputs)
        order = windows.locate(np.full(outputs, symbol), places)
        assert sorted(order.tolist()) == places.tolist()
        seen = np.flatnonzero(windows.indicator[:, symbol])
        assert sorted(order[:near].tolist()) == seen.tolist()
    assert windows.indicator.shape == (outputs, size)
    assert (windows.indicator.sum(axis=0) == near).all()


def test_sets_of_one_label_have_the_order_of_the_table() -> None:
    symbols, places = np.indices((7, 7))
    found = LabelSets(lw.Categories(7), 1).locate(symbols, places)
    assert (found == _order_of_sets(7, 1)).all()


def test_a_simulator_that_draws_both_sides_apart_is_found() -> None:
    """With the means of both axes, but not of the same people.

    That of the package passes the same comparison in `tests/contracts`, with real reports.
    """

    class Apart(BoxWave):
        def _spread_near(self, people: Any, rng: Any) -> Any:
            table = people.reshape(self.domain.shape)
            product = np.outer(table.sum(axis=1), table.sum(axis=0)).ravel().astype(float)
            mixed = rng.multinomial(people.sum(), product / product.sum())
            return super()._spread_near(mixed, rng)

    box = Apart(lw.Product(x=lw.Integers(0, 1), y=lw.Integers(0, 1)), 3, widths=(1, 1))
    people = np.array([PEOPLE // 2, 0, 0, PEOPLE // 2])
    matrix = dense(box.channel.blocks[0].operator)
    mean = matrix @ people
    covariance = np.diag(mean) - (matrix * people) @ matrix.T
    rng = np.random.default_rng(1)
    drawn = np.array([simulate(box, people, rng=rng).blocks[0] for _ in range(SIMULATED_REPEATS)])
    assert not accepts(moments_tail(drawn.astype(float), mean, covariance))


def test_reports_are_as_wide_as_their_outputs_need() -> None:
    wide = lw.Product(x=lw.Integers(0, 299, outside="clip"), y=lw.Integers(0, 299, outside="clip"))
    assert BoxWave(LINES, 1, widths=(2, 2)).report_width == 1
    assert BoxWave(wide, 1, widths=(30, None)).report_width == 2
    assert BoxWave(wide, 1, widths=(30, 30)).report_width == 3


def test_extreme_pairs_of_a_large_table_are_reported() -> None:
    wide = lw.Product(x=lw.Integers(0, 299, outside="clip"), y=lw.Integers(0, 299, outside="clip"))
    box = BoxWave(wide, 24, widths=(30, 20))
    reports = box.randomize([(0, 0), (299, 299)] * 50, rng=lw.seeded(1))
    rows, columns = np.divmod(np.flatnonzero(box.tally(reports).blocks[0]), 299 + 20)
    low = (rows < 30) & (columns < 20)
    high = (rows >= 299) & (columns >= 299)
    assert (low | high).all() and low.any() and high.any()


WRONG: dict[str, tuple[Any, Any, str]] = {
    "three": (LINES, (1, 2, 3), "widths must be a pair"),
    "asks nothing": (
        LINES,
        (None, None),
        "widths must be a pair.*, not both None",
    ),
    "wider than the axis": (LINES, (6, 2), "axis x must be a whole number from 1 to 5.*got 6"),
    "wider than the bins, with symbols apart": (APART, (6, 2), "axis x .* from 1 to 5"),
    "wider than a circle": (APART, (2, 5), "axis y .* from 1 to 4"),
    "all labels": (LABELS, (5, 2), "labels of a set of axis label .* from 1 to 4"),
    "too many sets": (
        lw.Product(label=lw.Categories(40), y=lw.Integers(0, 3)),
        (8, 2),
        "axis label must have at most 5,000 sets of labels.* Got 76,904,685 sets of 8 of 40 labels",
    ),
    "too large a table of sets": (
        lw.Product(label=lw.Categories(1025), y=lw.Integers(0, 3)),
        (1024, 2),
        "must be at most 1,048,576. Got 1,025 sets of 1024 of 1,025 labels. Use smaller",
    ),
    "one label in each of too many sets": (
        lw.Product(label=lw.Categories(5001), y=lw.Integers(0, 3)),
        (1, 2),
        "Got 5,001 sets of 1 of 5,001 labels",
    ),
}


@each("name", WRONG)
def test_wrong_widths_are_refused(name: str) -> None:
    domain, widths, words = WRONG[name]
    with pytest.raises(ArgumentError, match=words):
        BoxWave(domain, 1, widths=mistaken(widths))


def test_a_box_that_leaves_nothing_out_is_refused() -> None:
    circle = lw.Product(
        x=lw.Interval(0, 1, bins=4, circular=True), y=lw.Interval(0, 1, bins=3, circular=True)
    )
    with pytest.raises(DomainError, match="must leave some output out"):
        BoxWave(circle, 1, widths=(4, 3))
    assert BoxWave(circle, 1, widths=(4, 2)).certificate().holds


@each("domain", [lw.Integers(0, 3), lw.Categories(4), lw.Interval(0, 1, bins=4)])
def test_another_domain_is_refused(domain: Any) -> None:
    with pytest.raises(DomainError, match="domain must be a Product of two axes"):
        BoxWave(mistaken(domain), 1, widths=(1, 1))


def test_widths_as_a_list_are_the_same_box() -> None:
    one, other = (BoxWave(LINES, 1, widths=widths) for widths in ([2, None], (2, None)))
    assert one == other and hash(one) == hash(other) and one.fingerprint == other.fingerprint
    assert replace(one, widths=(None, 2)) != one


def test_windows_of_one_axis_name_it() -> None:
    with pytest.raises(ArgumentError, match="axis delay"):
        axis_windows(lw.Integers(0, 3), 9, name="delay")


def test_every_output_of_a_box_is_as_frequent_as_another() -> None:
    """Of 20,000 real reports at epsilon 24 all are in the box, and all its outputs come."""
    box = BoxWave(LABELS, 24, widths=(2, 3))
    reports = box.randomize([("c", 1)] * 20_000, rng=lw.seeded(2))
    found = Counter(np.flatnonzero(box.tally(reports).blocks[0]).tolist())
    assert len(found) == box._near == comb(4, 1) * 3
