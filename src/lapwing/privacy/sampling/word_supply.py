"""Random words that can be taken again: a sample whose words ran out starts over with more.

Throwing the words of an interrupted sample away would condition on samples that are short, and
short samples of the normal distribution are small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from lapwing.privacy.sampling.randomness import RandomSource


class Words:
    """A supply of random words, with the place up to which they are used.

    Parameters
    ----------
    source : RandomSource
    expected : int
        About how many words will be used in all.
    """

    def __init__(self, source: RandomSource, *, expected: int) -> None:
        self._source = source
        self._chunk = max(1024, min(expected, 2**20))
        self.held: NDArray[np.uint64] = source.words(self._chunk)
        self.used = 0

    def more(self) -> None:
        """Drop the used words and append new ones."""
        fresh = self._source.words(self._chunk)
        self.held = np.concatenate([self.held[self.used :], fresh])
        self.used = 0

    def iterate(self) -> Iterator[int]:
        """Yield the words one by one, from the first unused one on; each counts as used."""
        while True:
            if self.used == self.held.size:
                self.more()
            self.used += 1
            yield int(self.held[self.used - 1])


def drawn_from(
    source: RandomSource,
    count: int,
    one: Callable[[Iterator[int], int, int], int],
    parts: tuple[int, int],
    *,
    compiled: Callable[..., tuple[int, int]] | None,
    each: int,
    plenty: int,
) -> NDArray[np.int64]:
    """Return draws, each exactly as `one` makes it from the words in their order: int64 [count].

    Parameters
    ----------
    source : RandomSource
    count : int
    one : callable
        One draw from an iterator of words and the two parts: the definition.
    parts : tuple of int
        The two whole numbers that a scale is made of.
    compiled : callable or None
        The same for many draws: fills numbers from a place on, from words from a place on, and
        returns how far it came in both. It stops before a draw that it cannot finish.
    each : int
        About how many words a draw uses.
    plenty : int
        Words that a draw practically never exceeds; with fewer left, the supply is extended.
    """
    words = Words(source, expected=each * count)
    drawn = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        if compiled is not None:
            done, words.used = compiled(*parts, words.held, words.used, drawn, done)
            if done == count:
                break
            if words.held.size - words.used < plenty:
                words.more()
                continue
        drawn[done] = one(words.iterate(), *parts)
        done += 1
    return drawn
