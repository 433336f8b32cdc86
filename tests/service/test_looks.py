"""What is hidden stays hidden, also from whoever subtracts what was shown at different times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.service.storage.looks import (
    SegmentLook,
    final_look,
    last_look,
    next_look,
    rests,
)
from lapwing.service.storage.store import Look, StoredEpoch

COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 50))
# The same cases each time, and as slow as the machine is just then.
STEADY = settings(deadline=None, max_examples=200, derandomize=True)


@STEADY
@given(COUNTS, st.integers(1, 40))
def test_no_small_count_is_shown_or_follows_from_what_is(
    counts: dict[str, int], minimum: int
) -> None:
    shown = next_look({}, counts, minimum=1, least=minimum) or set()
    assert all(counts[name] >= minimum for name in shown)
    hidden = sum(counts.values()) - sum(counts[name] for name in shown)
    assert hidden == 0 or hidden >= minimum or not shown


@STEADY
@given(COUNTS, st.integers(1, 40))
def test_nothing_is_hidden_without_need(counts: dict[str, int], minimum: int) -> None:
    enough = {name for name, reports in counts.items() if reports >= minimum}
    if enough and all(reports >= minimum or reports == 0 for reports in counts.values()):
        assert next_look({}, counts, minimum=1, least=minimum) == enough


Counts = tuple[int, ...]
Looks = tuple[tuple[Counts, frozenset[str]], ...]
Rule = Callable[..., set[str] | None]


def after(
    before: Mapping[str, SegmentLook], counts: Mapping[str, int], shown: set[str]
) -> dict[str, SegmentLook]:
    """The segments at a look."""
    return {
        name: SegmentLook(reports, True, reports)
        if name in shown
        else SegmentLook(reports, False, before[name].last_shown if name in before else 0)
        for name, reports in counts.items()
    }


def histories(
    steps: list[Counts], *, asks: int, minimum: int, least: int, rule: Rule
) -> Iterator[Looks]:
    """Yield the looks of everybody who asks so often, with any of these steps of counts between."""
    names = [str(place) for place in range(len(steps[0]))]
    found: dict[tuple[Counts, Looks], dict[str, SegmentLook]] = {((0,) * len(names), ()): {}}
    for _ in range(asks):
        later: dict[tuple[Counts, Looks], dict[str, SegmentLook]] = {}
        for ((counts, looks), before), step in product(found.items(), steps):
            now = tuple(map(sum, zip(counts, step, strict=True)))
            labelled = dict(zip(names, now, strict=True))
            shown = rule(before, labelled, minimum=minimum, least=least)
            if shown is None:
                later[now, looks] = before
            else:
                seen = (*looks, (now, frozenset(shown)))
                later[now, seen] = after(before, labelled, shown)
        yield from {looks for _, looks in later} - {looks for _, looks in found}
        found = later


@cache
def rank(rows: tuple[tuple[int, ...], ...]) -> int:
    """The rank of a matrix, exactly."""
    left, found = [[Fraction(value) for value in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in left if row[column]), None)
        if pivot is not None:
            left.remove(pivot)
            left = [
                [a - b * row[column] / pivot[column] for a, b in zip(row, pivot, strict=True)]
                for row in left
            ]
            found += 1
    return found


def isolated(looks: Looks, *, minimum: int) -> tuple[int, ...] | None:
    """Return the sizes of cells, fewer than the minimum, that a combination is all about; or None.

    A cell is the people of a segment who came between two looks. A linear combination of what was
    shown, with any coefficients, vanishes outside some cells just where the rest of the columns has
    a lower rank.
    """
    size = len(looks[0][0])
    people = [
        [now - then for now, then in zip(counts, before, strict=True)]
        for (counts, _), before in zip(looks, [(0,) * size, *(c for c, _ in looks)], strict=False)
    ]
    cells = [(at, s) for at in range(len(looks)) for s in range(size) if people[at][s]]
    rows = []
    for at, (_, shown) in enumerate(looks):
        rows.append([int(when <= at) for when, _ in cells])
        rows += [[int(when <= at and s == int(name)) for when, s in cells] for name in shown]
    columns = tuple(zip(*rows, strict=True))
    whole = rank(columns)
    for number in range(1, minimum):
        for few in combinations(range(len(cells)), number):
            sizes = tuple(people[cells[each][0]][cells[each][1]] for each in few)
            if sum(sizes) < minimum:
                rest = tuple(column for at, column in enumerate(columns) if at not in few)
                if rank(rest) < whole:
                    return sizes
    return None


TWO = [step for step in product(range(4), repeat=2)]
THREE = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2), (2, 2, 1), (2, 2, 2)]
SMALL = [
    (TWO, 3, 2, 2),
    (TWO, 3, 2, 3),
    ([(n,) for n in range(4)], 5, 3, 3),
    (THREE, 4, 2, 2),
    ([(a, b) for a in (0, 1, 3) for b in (0, 2, 3)], 3, 3, 3),
]
"""Steps, how often is asked, the minimum, and that of a segment."""


@pytest.mark.parametrize(("steps", "asks", "minimum", "least"), SMALL)
def test_no_combination_of_looks_isolates_fewer_than_the_minimum(
    steps: list[Counts], asks: int, minimum: int, least: int
) -> None:
    many = 0
    for looks in histories(steps, asks=asks, minimum=minimum, least=least, rule=next_look):
        if looks:
            many += len(looks) > 1
            assert isolated(looks, minimum=minimum) is None, looks
    assert many > 10


@pytest.mark.parametrize(("steps", "asks", "minimum", "least"), SMALL)
def test_no_combination_of_looks_and_final_results_isolates_fewer(
    steps: list[Counts], asks: int, minimum: int, least: int
) -> None:
    seen = Counter(
        final_isolates(looks, steps, minimum=minimum, least=least, final=final_look)
        for looks in histories(steps, asks=asks - 1, minimum=minimum, least=least, rule=next_look)
    )
    assert set(seen) == {None} and seen[None] > 3


def all_that_has_enough(
    epoch: int, before: Mapping[str, SegmentLook], counts: Mapping[str, int], **terms: int
) -> Look:
    """What final results were when they did not depend on the looks before."""
    return final_look(epoch, {}, counts, minimum=terms["minimum"], least=terms["least"])


def test_final_results_that_forget_the_looks_would_be_found() -> None:
    looks = histories(THREE, asks=3, minimum=2, least=2, rule=next_look)
    terms = {"minimum": 2, "least": 2, "final": all_that_has_enough}
    assert any(final_isolates(each, THREE, **terms) for each in looks)


def final_isolates(
    looks: Looks, steps: list[Counts], *, minimum: int, least: int, final: Callable[..., Look]
) -> tuple[int, ...] | None:
    """What :func:`isolated` finds when an epoch closes any step after its last look."""
    before: dict[str, SegmentLook] = {}
    for counts, shown in looks:
        before = after(before, {str(s): n for s, n in enumerate(counts)}, set(shown))
    for step in steps:
        ends = tuple(map(sum, zip(looks[-1][0] if looks else (0,) * len(step), step, strict=True)))
        labelled = {str(place): reports for place, reports in enumerate(ends)}
        look = final(0, before, labelled, minimum=minimum, least=least)
        counts = tuple(look.reports.values())
        if look.total >= minimum and (
            found := isolated((*looks, (counts, look.visible)), minimum=minimum)
        ):
            return found
    return None


def always(
    before: Mapping[str, SegmentLook], counts: Mapping[str, int], **terms: int
) -> set[str] | None:
    """Show whatever has enough reports now, as a collector without looks did."""
    if sum(counts.values()) < terms["minimum"]:
        return None
    return next_look({}, counts, minimum=1, least=terms["least"])


def with_more(
    before: Mapping[str, SegmentLook], counts: Mapping[str, int], **terms: int
) -> set[str] | None:
    """Look only at the whole before a new look."""
    old = sum(part.reports for part in before.values())
    return (
        always(before, counts, **terms) if sum(counts.values()) - old >= terms["minimum"] else None
    )


@pytest.mark.parametrize("rule", [always, with_more])
def test_a_weaker_rule_would_be_found(rule: Rule) -> None:
    found = histories(TWO, asks=3, minimum=2, least=2, rule=rule)
    assert any(looks and isolated(looks, minimum=2) for looks in found)


def test_looks_go_on_while_a_segment_hardly_grows() -> None:
    before: dict[str, SegmentLook] = {}
    north, looks = 0, []
    for _ in range(100):
        north += 100
        counts = {"north": north, "south": north // 3, "other": north // 100}
        shown = next_look(before, counts, minimum=1000, least=1000)
        if shown is not None:
            before = after(before, counts, shown)
            looks.append((sum(counts.values()), sorted(shown)))
    assert looks == [(1074, []), (2149, []), (4298, []), (8597, ["north"])]


def test_the_last_look_is_not_just_before_a_planned_end() -> None:
    planned = StoredEpoch("e", "open", opens=1000, closes=2000, grace_seconds=100)
    assert last_look(planned) == 1900
    assert not rests(planned, 1899, answers="fresh") and rests(planned, 1900, answers="fresh")
    by_hand = StoredEpoch("e", "open", opens=1000)
    assert last_look(by_hand) is None and not rests(by_hand, 1e12, answers="fresh")
    for state in ("planned", "grace", "closed"):
        assert rests(StoredEpoch("e", state), 0, answers="fresh")  # type: ignore[arg-type]


@pytest.mark.parametrize("answers", ["remembered report", "remembered round"])
def test_what_devices_remember_is_shown_when_the_epoch_has_closed(answers: str) -> None:
    assert rests(StoredEpoch("e", "open"), 0, answers=answers)
