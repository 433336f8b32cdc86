"""Subset selection: send a set of symbols, more likely one that holds the own symbol."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.symmetric import CompoundSymmetric
from lapwing.privacy.exact_numbers import ExactNumber, check_whole_field, exact_epsilon
from lapwing.privacy.sampling.randomness import WORD, RandomSource, bernoulli, source_of
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.channels.laws import FixedSizeSubset
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.randomizer import Counted, check_domain, check_symbol, derived_values
from lapwing.randomizers.bit_reports import BitReports, drawn_in_order, random_sets
from lapwing.randomizers.near_and_far import check_near, near_certificate, near_threshold

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
class SubsetSelection(Counted):
    """Send a uniformly random set of `size` symbols, with or without the own one.

    Parameters
    ----------
    domain : Domain
        Any, of 2..2^20 symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    size : int, optional
        Symbols in a set, in 1..k-1. Default: :func:`optimal_size`. Size 1 is randomized response.

    Privacy
    -------
    Two-level: a set that holds the value has probability ``(T / 2^64) / C(k-1, size-1)``, one
    that does not ``(1 - T / 2^64) / C(k-1, size)``. Both draws are exact, so the worst ratio is
    ``T (k - size) / ((2^64 - T) size)``, and T is the largest integer for which it is at most a
    rational lower bound of ``e^epsilon``. Checked by :meth:`certificate` and by the contract
    tests on the table of all sets.

    Accuracy
    --------
    The least variance of all known randomizers for every k and epsilon; unary encoding comes
    within 1 / k of it.

    Cost
    ----
    ceil(k / 8) bytes per report; O(k) to randomize and tally one, 64 bits at a time, and
    O(sqrt(k)) single draws.

    Source: Ye and Barg 2018; Fang et al. 2023, section II-A.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> sets = SubsetSelection(Categories(8), 1)
    >>> sets.members, sets.certificate().holds
    (2, True)
    """

    domain: Domain
    epsilon: Fraction
    _: KW_ONLY
    size: int | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, size: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "subset-selection"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the sizes."""
        require_domain(self.domain)
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        check_domain(self.domain, "subset selection", LARGEST_REPORT)
        if self.size is not None:
            check_whole_field(self, "size", low=1, high=self.domain.size - 1)
        check_near(self)

    @property
    def members(self) -> int:
        """Symbols in a set."""
        return optimal_size(self.domain.size, self.epsilon) if self.size is None else self.size

    @property
    def near(self) -> int:
        """Sets that hold a given symbol, in units of which all others are `far`."""
        return self.members

    @property
    def far(self) -> int:
        """Sets that do not hold it."""
        return self.domain.size - self.members

    @cached_property
    def threshold(self) -> int:
        """T: a report is near with probability T / 2^64."""
        return near_threshold(self)

    certificate = near_certificate

    @property
    def thresholds(self) -> dict[str, int]:
        """The threshold by its name."""
        return {"own": self.threshold}

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields; JSON values only."""
        return derived_values(self, bits=self.domain.size, members=self.members)

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance of the reports of two values, the same for every two.

        It is the difference of the probabilities of a set that holds the one and not the other.
        """
        own = Fraction(self.threshold, WORD)
        others = self.domain.size - 1
        return (own * (self.domain.size - self.members) - (1 - own) * self.members) / others

    @property
    def layout(self) -> BitReports:
        """How a report is laid out, checked and counted."""
        return BitReports(self.domain.size, self.members)

    @cached_property
    def channel(self) -> Channel:
        """One block of fixed-size subsets."""
        own = float(Fraction(self.threshold, WORD))
        other = (self.members - own) / (self.domain.size - 1)
        operator = CompoundSymmetric(self.domain.size, diagonal=own, off_diagonal=other)
        law = FixedSizeSubset(symbols=self.domain.size, members=self.members, own=own)
        return Channel(self.domain, [Block(operator, law)], self.fingerprint, self.guarantee)

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value.

        Notes
        -----
        See :func:`lapwing.randomizers.bit_reports.random_sets`: the set is exactly uniform.
        """
        source = source_of(rng)
        symbols = self.domain.index(values)

        def fill(part: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            own = bernoulli(source, threshold=self.threshold, count=part.size)
            items, members = self.domain.size, self.members
            rows[:] = random_sets(source, part, own, items=items, members=members)

        return self.layout.make(symbols, fill, self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one symbol.

        One word decides whether the own symbol is in (below T). Then every other symbol s, in
        order, is in when a uniform number below the number of others not yet seen is below the
        number of places left (:func:`lapwing.privacy.sampling.randomness.scalar_below`). This is
        what test vectors pin and what other languages port.

        Parameters
        ----------
        value : int
            Symbol, in 0..k-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        check_symbol(value, self.domain.size)
        held = next(words) < self.threshold
        others = drawn_in_order(
            words, self.domain.size, own=value, places=self.members - held, kinds=1
        )
        return self.layout.one([value] * held + [symbol for symbol, _ in others])
