"""Subset selection: send a set of symbols, more likely one that holds the own symbol."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.symmetric import CompoundSymmetric
from lapwing.privacy.exact_numbers import ExactNumber, check_whole_field
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import WORD, RandomSource, bernoulli
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.channels.laws import FixedSizeSubset
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer, check_domain, check_symbol
from lapwing.randomizers.bit_reports import BitReports, drawn_in_order, random_sets
from lapwing.randomizers.two_level import check_near, near_certificate, near_threshold

LARGEST_REPORT = 2**20
"""Most symbols."""


def optimal_size(symbols: int, epsilon: Fraction | float) -> int:
    """Return the size of the sets that minimizes the variance of an unbiased share near zero.

    Parameters
    ----------
    symbols : int
        k, at least 2.
    epsilon : Fraction or float
        In (0, 24].

    Notes
    -----
    With A and q the probabilities that a set holds the own and another symbol, the variance is
    ``q (1 - q) / (A - q)^2`` per report; the best size is a neighbor of ``k / (e^epsilon + 1)``.
    Source: Ye and Barg 2018; Wang et al. 2016.
    """
    ideal = symbols / (math.exp(epsilon) + 1)
    sizes = {min(max(size, 1), symbols - 1) for size in (math.floor(ideal), math.ceil(ideal))}

    def variance(size: int) -> float:
        odds = size * math.exp(epsilon)
        own = odds / (odds + symbols - size)
        other = (size - own) / (symbols - 1)
        return other * (1 - other) / (own - other) ** 2

    return min(sorted(sizes), key=variance)


@dataclass(frozen=True)
class SubsetSelection(Randomizer[CountTally]):
    """Send a uniformly random set of `size` symbols, with or without the own one.

    Parameters
    ----------
    domain : Domain
        Any, of 2..2^20 symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    size : int, optional
        Symbols in a set, in 1..k-1. Default: :func:`optimal_size`. Size 1 is randomized response.

    Notes
    -----
    **Privacy.** Two-level: a set that holds the value has probability ``(T / 2^64) / C(k-1,
    size-1)``, one that does not ``(1 - T / 2^64) / C(k-1, size)``. Both draws are exact, so the
    worst ratio is ``T (k - size) / ((2^64 - T) size)``, and T is the largest integer for which it
    is at most a rational lower bound of ``e^epsilon``. Checked by :meth:`certificate` and by the
    contract tests on the table of all sets.

    **Accuracy.** The least variance of all known randomizers for every k and epsilon; unary
    encoding comes within 1 / k of it.

    **Cost.** ceil(k / 8) bytes per report; O(k) to randomize and tally one, 64 bits at a time, and
    O(sqrt(k)) single draws.

    Source: Ye and Barg 2018; Fang et al. 2023, section II-A.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> sets = SubsetSelection(Categories(8), 1)
    >>> sets.report_width, sets.certificate().holds
    (1, True)
    """

    _: KW_ONLY
    size: int | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, size: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "subset-selection"
    decoder: ClassVar[str] = "mixture-prior"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the sizes."""
        super().__post_init__()
        check_domain(self.domain, "subset selection", LARGEST_REPORT)
        if self.size is not None:
            check_whole_field(self, "size", low=1, high=self.domain.size - 1)
        check_near(self)

    @cached_property
    def _members(self) -> int:
        """Symbols in a set."""
        return optimal_size(self.domain.size, self.epsilon) if self.size is None else self.size

    @property
    def _near(self) -> int:
        """Sets that hold a given symbol, in units of which all others are `far`."""
        return self._members

    @cached_property
    def _far(self) -> int:
        """Sets that do not hold it."""
        return self.domain.size - self._members

    @cached_property
    def _threshold(self) -> int:
        """T: a report is near with probability T / 2^64."""
        return near_threshold(self)

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio.

        Returns
        -------
        Certificate
            Claimed epsilon and exact worst-case likelihood ratio of one report.
        """
        return near_certificate(self)

    @property
    def _thresholds(self) -> dict[str, int]:
        return {"own": self._threshold}

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"bits": self.domain.size, "members": self._members}

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance of the reports of two values, the same for every two.

        It is the difference of the probabilities of a set that holds the one and not the other.
        """
        own = Fraction(self._threshold, WORD)
        others = self.domain.size - 1
        return (own * (self.domain.size - self._members) - (1 - own) * self._members) / others

    @cached_property
    def _layout(self) -> BitReports:
        return BitReports(self.domain.size, self._members)

    @cached_property
    def channel(self) -> Channel:
        """One block of fixed-size subsets."""
        own = float(Fraction(self._threshold, WORD))
        other = (self._members - own) / (self.domain.size - 1)
        operator = CompoundSymmetric(self.domain.size, diagonal=own, off_diagonal=other)
        law = FixedSizeSubset(symbols=self.domain.size, members=self._members, own=own)
        return Channel(self.domain, [Block(operator, law)], self.fingerprint, self.guarantee)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        items, members = self._points, self._members

        def fill(symbols: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            own = bernoulli(source, threshold=self._threshold, count=symbols.size)
            rows[:] = random_sets(source, symbols, own, items=items, members=members)

        return self._layout.make(points, fill)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one symbol.

        One word decides whether the own symbol is in (below T). Then every other symbol s, in
        order, is in when a uniform number below the number of others not yet seen is below the
        number of places left (:func:`lapwing.privacy.sampling.randomness.scalar_below`).

        Parameters
        ----------
        value : int
            Symbol, in 0..k-1.
        words : iterator of int
            Each in 0..2^64-1.

        Returns
        -------
        bytes
            One report in its wire format.
        """
        check_symbol(value, self.domain.size)
        near = next(words) < self._threshold
        others = drawn_in_order(
            words, self.domain.size, own=value, places=self._members - near, kinds=1
        )
        return self._layout.report([value] * near + [symbol for symbol, _ in others])
