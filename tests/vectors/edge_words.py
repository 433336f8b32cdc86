"""Words at the edges of every draw that a randomizer makes, for its vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, cycle, repeat
from typing import Any

import numpy as np

from lapwing.privacy.sampling.randomness import WORD


def _two_level(randomizer: Any, points: list[int]) -> Iterator[tuple[int, list[int], str]]:
    """Yield words at the edges of both draws, with words that must be drawn anew in between."""
    for point in points:
        near, threshold = _near_set(randomizer, point)
        for kind, first, bound in (
            ("near", threshold - 1, near),
            ("far", threshold, randomizer._outputs - near),
        ):
            excess = WORD % bound
            starts = (-(-result * WORD // bound) for result in range(min(bound, 1000)))
            rejected = [word for word in starts if word * bound % WORD < excess]
            for result in sorted({0, bound // 2, bound - 1}):
                smallest = -(-(result * WORD + excess) // bound)
                largest = (result * WORD + WORD - 1) // bound
                yield point, [first, smallest], f"{kind}, the smallest word for offset {result}"
                yield point, [first, largest], f"{kind}, the largest word for offset {result}"
                if excess:
                    yield (
                        point,
                        [first, rejected[-1], 0, largest],
                        f"{kind}, two words are rejected before offset {result}",
                    )
        yield point, [0, WORD - 1], "near by the smallest word"
        yield point, [WORD - 1, WORD - 1], "far by the largest word"


def _near_set(randomizer: Any, point: int) -> tuple[int, int]:
    """Return the size of the near set of an input, and the threshold of being in it."""
    if randomizer.name != "compressive-privatization":
        return randomizer._near, randomizer._threshold
    size = int.from_bytes(randomizer._packed[point].tobytes(), "little").bit_count()
    return size, randomizer._thresholds[str(size)]


def _one_of_each_size(randomizer: Any) -> list[int]:
    """Return the first input with each size of near sets."""
    return sorted(
        {
            _near_set(randomizer, point)[0]: point for point in reversed(range(randomizer._points))
        }.values()
    )


def _two_rounds(randomizer: Any, points: list[int]) -> Iterator[tuple[int, list[int], str]]:
    """Yield words at the thresholds of both rounds."""
    keep, again = randomizer._thresholds["permanent"], randomizer._thresholds["instantaneous"]
    size = randomizer.domain.size
    for point in points:
        for first in (0, keep - 1, keep, WORD - 1):
            for second in (0, again - 1, again, WORD - 1):
                why = f"all words of a round alike: {first:#x}, {second:#x}"
                yield point, [first] * size + [second] * size, why
        alternating = [keep - 1, keep] * size
        again_alternating = [again, again - 1] * size
        yield point, alternating[:size] + again_alternating[:size], "alternating words"


def _bits(randomizer: Any, points: list[int]) -> Iterator[tuple[int, list[int], str]]:
    """Yield words at the thresholds of the own and of the other bits."""
    own, other = randomizer._thresholds["own"], randomizer._thresholds["other"]
    size = randomizer.domain.size
    for point in points:
        below = [own - 1 if symbol == point else other - 1 for symbol in range(size)]
        yield point, below, "every word is the largest below its threshold"
        yield point, [word + 1 for word in below], "every word is its threshold"
        yield point, [own - 1] * size, "one word for all: below the threshold of the own bit"


def _wave(randomizer: Any, points: list[int]) -> Iterator[tuple[int, list[int], str]]:
    """Yield words on both sides of every limit, and draws outside the window."""
    outside = randomizer._limits[-1]
    for point in points:
        for offset, limit in enumerate(randomizer._limits[:-1]):
            yield point, [limit - 1], f"the largest word for offset {offset}"
            yield point, [limit], f"the smallest word for offset {offset + 1}"
        yield point, [0], "the smallest word"
        yield point, [outside - 1], "the largest word of the window"
        yield point, [outside, 2**32], "outside by the smallest word, at the first point"
        yield point, [WORD - 1, WORD - 1], "outside by the largest word, at the last point"
        if WORD % randomizer._far:
            yield point, [WORD - 1, 0, WORD - 1], "outside, after a word that is rejected"


def _sets(randomizer: Any, points: list[int]) -> Iterator[tuple[int, Iterable[int], str]]:
    """Yield words on both sides of the threshold with draws at their ends."""
    own = randomizer._thresholds["own"]
    for point in points:
        for first in (0, own - 1, own, WORD - 1):
            yield point, chain([first], repeat(2**32)), "every draw is 0"
            yield point, chain([first], repeat(WORD - 1)), "every draw is the largest"
            mixed = cycle([0, WORD - 1, 2**32, WORD // 3])
            yield point, chain([first], mixed), "mixed draws; 0 may be rejected"


def _groups(randomizer: Any, points: list[int]) -> Iterator[tuple[int, Iterable[int], str]]:
    """Yield the first and the last coin of every group, each with the edges of its part."""
    ends = list(accumulate(part.share for part in randomizer.groups))
    for number, part in enumerate(randomizer.groups):
        first, last = (ends[number] - part.share) << 32, (ends[number] << 32) - 1
        # Of an input that is the cell of the part, or the block that holds it.
        for symbol in (points[0], points[-1]):
            inner = edges(part.randomizer, randomizer._cells(number, np.array([symbol])).tolist())
            for coin, (_, words, why) in zip(cycle([first, last]), inner, strict=False):
                yield symbol, chain([coin], words), f"group {number}: {why}"


def _seeded(randomizer: Any, points: list[int]) -> Iterator[tuple[int, Iterable[int], str]]:
    """Yield the edges of a two-level draw, each with a seed after it."""
    seeds = cycle([0, WORD - 1, 2**63, WORD // 3])
    for point, words, why in _two_level(randomizer, points):
        yield point, chain(words, [next(seeds)]), f"{why}, then the seed"


def edges(randomizer: Any, points: list[int]) -> Iterator[tuple[int, Iterable[int], str]]:
    """Return the way of making edge cases that suits a randomizer."""
    if hasattr(randomizer, "groups"):
        return _groups(randomizer, points)
    if hasattr(randomizer, "_limits"):
        return _wave(randomizer, points)
    if randomizer.name == "compressive-privatization":
        return _two_level(randomizer, _one_of_each_size(randomizer))
    if randomizer.name == "rappor":
        return _two_rounds(randomizer, points)
    if randomizer._simulation == "users":
        return _seeded(randomizer, points)
    if hasattr(randomizer, "_members"):
        return _sets(randomizer, points)
    return (
        _two_level(randomizer, points)
        if hasattr(randomizer, "_near")
        else _bits(randomizer, points)
    )
