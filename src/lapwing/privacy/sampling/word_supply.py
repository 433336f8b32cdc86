"""Random words that can be taken again: a sample whose words ran out starts over with more.

Throwing the words of an interrupted sample away would condition on samples that are short, and
short samples of the normal law are small ones.
"""

from __future__ import annotations

from collections.abc import Iterator

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
