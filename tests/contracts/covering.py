"""A few cases of a large grid that cover every pair: the same cases in each run.

`make test` runs a covering array, `make soak` the whole grid. An error in one class, or in how two
of them meet, fails in both; an error that needs three to meet is found by the whole grid only.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Pairs = Callable[[Case], Iterable[Hashable]]


def covering(cases: Sequence[Case], pairs: Pairs[Case]) -> list[Case]:
    """Return cases that have every pair which any case has, and none that could be left out.

    Greedy: the case with the most uncovered pairs is next, the first of equals. Then cases whose
    pairs others have, too, are left out, from the last to the first.

    Parameters
    ----------
    cases : sequence
        The whole grid.
    pairs : callable
        What a case covers.
    """
    covers = [frozenset(pairs(case)) for case in cases]
    queue = [(-len(own), place) for place, own in enumerate(covers)]
    heapq.heapify(queue)
    covered: set[Hashable] = set()
    chosen: list[int] = []
    while queue:
        gain, place = heapq.heappop(queue)
        new = len(covers[place] - covered)
        if new and new < -gain:
            heapq.heappush(queue, (-new, place))
        elif new:
            chosen.append(place)
            covered |= covers[place]
    times = Counter(pair for place in chosen for pair in covers[place])
    for place in reversed(chosen.copy()):
        if all(times[pair] > 1 for pair in covers[place]):
            chosen.remove(place)
            times -= Counter(covers[place])
    return [cases[place] for place in sorted(chosen)]


def idle(chosen: Sequence[Case], pairs: Pairs[Case]) -> list[Case]:
    """Return the cases without which every pair would still be covered, each taken alone."""
    times = Counter(pair for case in chosen for pair in set(pairs(case)))
    return [case for case in chosen if all(times[pair] > 1 for pair in set(pairs(case)))]


def uncovered(chosen: Sequence[Case], cases: Sequence[Case], pairs: Pairs[Case]) -> set[Hashable]:
    """Return the pairs of the whole grid that none of the chosen cases has."""
    covered = {pair for case in chosen for pair in pairs(case)}
    return {pair for case in cases for pair in pairs(case)} - covered
