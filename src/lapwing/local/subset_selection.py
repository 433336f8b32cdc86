"""Subset selection: send a set of symbols, more likely one that holds the own symbol."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from lapwing.bits import count_bits, random_sets
from lapwing.channel import Block, Channel
from lapwing.domain import Domain
from lapwing.errors import ArgumentError, DomainError, PrivacyError, ReportError
from lapwing.guarantee import Certificate, Guarantee, exact_epsilon, exponential_bounds
from lapwing.laws import FixedSizeSubset
from lapwing.linear.compound_symmetric import CompoundSymmetric
from lapwing.randomizer import (
    check_batch,
    hexadecimal,
    local_guarantee,
    randomizer_document,
    randomizer_fingerprint,
)
from lapwing.randomness import WORD, RandomSource, bernoulli, scalar_below, secure
from lapwing.reports import Reports
from lapwing.tally import Counts

LARGEST_REPORT = 2**20
"""Most symbols."""

_CHUNK_BYTES = 2**22


def optimal_size(symbols: int, epsilon: Fraction | float) -> int:
    """Return the size of the sets that minimises the variance of an unbiased share near zero.

    Parameters
    ----------
    symbols : int
        k, at least 2.
    epsilon : Fraction or float
        In (0, 24].

    Notes
    -----
    With A and q the probabilities that a set holds the own and another symbol, the variance is
    ``q (1 - q) / (A - q)^2`` per report; the best size is a neighbour of ``k / (e^epsilon + 1)``.
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
class SubsetSelection:
    """Send a uniformly random set of `size` symbols, with or without the own one.

    Parameters
    ----------
    domain : Domain
        Any, of 2..2^20 symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    size : int, optional
        Symbols in a set, in 1..k-1. Default: :func:`optimal_size`. Size 1 is randomised response.

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
    ceil(k / 8) bytes per report; O(k) to randomise and tally one, 64 bits at a time, and
    O(sqrt(k)) single draws.

    Source: Ye and Barg 2018; Fang et al. 2023, section II-A.

    Examples
    --------
    >>> from lapwing.categories import Categories
    >>> sets = SubsetSelection(Categories(8), 1)
    >>> sets.members, sets.certificate().holds
    (2, True)
    """

    domain: Domain
    epsilon: Fraction
    _: KW_ONLY
    size: int | None = None

    name: ClassVar[str] = "subset-selection"
    simulation: ClassVar[Literal["exact", "users"]] = "exact"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the sizes."""
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        if not 2 <= self.domain.size <= LARGEST_REPORT:
            raise DomainError(
                f"subset selection needs a domain of 2..{LARGEST_REPORT} symbols, "
                f"got {self.domain.size}; use fewer bins, or a hashing randomizer"
            )
        if self.size is not None:
            if isinstance(self.size, bool) or not isinstance(self.size, int):
                raise ArgumentError(
                    f"size must be a whole number, got a {type(self.size).__name__}"
                )
            if not 1 <= self.size < self.domain.size:
                raise ArgumentError(f"size must be in 1..{self.domain.size - 1}, got {self.size}")
        if self.threshold * (self.domain.size - self.members) <= (
            (WORD - self.threshold) * self.members
        ):
            raise PrivacyError(
                "epsilon is too small to be expressed by 64-bit thresholds on this domain; "
                "reports would carry no information"
            )

    @property
    def members(self) -> int:
        """Symbols in a set."""
        return optimal_size(self.domain.size, self.epsilon) if self.size is None else self.size

    @cached_property
    def threshold(self) -> int:
        """T: the set holds the own symbol with probability T / 2^64."""
        odds = exponential_bounds(self.epsilon)[0] * self.members
        return int(WORD * odds / (odds + self.domain.size - self.members))

    @property
    def thresholds(self) -> dict[str, int]:
        """The threshold by its name."""
        return {"own": self.threshold}

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields; JSON values only."""
        return {
            "thresholds": hexadecimal(self.thresholds),
            "bits": self.domain.size,
            "members": self.members,
            "report_width": self.report_width,
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of its canonical document, thresholds included."""
        return randomizer_fingerprint(self)

    @property
    def guarantee(self) -> Guarantee:
        """Pure epsilon, in the local model."""
        return local_guarantee(self.epsilon)

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        others = self.domain.size - self.members
        ratio = Fraction(self.threshold * others, (WORD - self.threshold) * self.members)
        return Certificate(self.epsilon, max(ratio, 1 / ratio))

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance of the reports of two values, the same for every two.

        It is the difference of the probabilities of a set that holds the one and not the other.
        """
        own = Fraction(self.threshold, WORD)
        others = self.domain.size - 1
        return (own * (self.domain.size - self.members) - (1 - own) * self.members) / others

    @property
    def report_width(self) -> int:
        """Bytes per report: symbol s is bit ``s % 8`` of byte ``s // 8``; spare bits are 0."""
        return (self.domain.size + 7) // 8

    @cached_property
    def channel(self) -> Channel:
        """One block of fixed-size subsets."""
        own = float(Fraction(self.threshold, WORD))
        other = (self.members - own) / (self.domain.size - 1)
        operator = CompoundSymmetric(self.domain.size, diagonal=own, off_diagonal=other)
        law = FixedSizeSubset(symbols=self.domain.size, members=self.members, own=own)
        return Channel(self.domain, [Block(operator, law)], self.fingerprint, self.guarantee)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the class and its fields."""
        return randomizer_document(self)

    def randomize(self, values: ArrayLike, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value.

        Parameters
        ----------
        values : array_like [n]
            Values of the domain.
        rng : RandomSource, optional
            Default: :func:`lapwing.randomness.secure`. A seeded source is for tests only.

        Raises
        ------
        DomainError
            With the position of the first value that the domain refuses. Nothing is randomised.

        Notes
        -----
        See :func:`lapwing.bits.random_sets`: the set is exactly uniform.
        """
        source = secure() if rng is None else rng
        symbols = self.domain.index(values)
        data = np.empty((symbols.size, self.report_width), dtype=np.uint8)
        rows = max(1, _CHUNK_BYTES // self.report_width)
        for start in range(0, symbols.size, rows):
            part = symbols[start : start + rows]
            own = bernoulli(source, threshold=self.threshold, count=part.size)
            data[start : start + rows] = random_sets(
                source, part, own, items=self.domain.size, members=self.members
            )
        return Reports(data, self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one symbol.

        One word decides whether the own symbol is in (below T). Then every other symbol s, in
        order, is in when a uniform number below the number of others not yet seen is below the
        number of places left (:func:`lapwing.randomness.scalar_below`). This is what test
        vectors pin and what other languages port.

        Parameters
        ----------
        value : int
            Symbol, in 0..k-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        if not 0 <= value < self.domain.size:
            raise DomainError(f"a symbol must be in 0..{self.domain.size - 1}")
        report = bytearray(self.report_width)
        places = self.members
        if next(words) < self.threshold:
            report[value // 8] |= 1 << value % 8
            places -= 1
        unseen = self.domain.size - 1
        for symbol in range(self.domain.size):
            if symbol == value:
                continue
            if scalar_below(words, unseen) < places:
                report[symbol // 8] |= 1 << symbol % 8
                places -= 1
            unseen -= 1
        return bytes(report)

    @property
    def _spare(self) -> int:
        """Mask of the bits of the last byte that stand for no symbol."""
        used = self.domain.size % 8
        return 0 if used == 0 else 0xFF ^ (2**used - 1)

    def tally(self, reports: Reports) -> Counts:
        """Return how often every symbol is in a set of a batch, entirely or not at all.

        Raises
        ------
        MismatchError
            When another randomizer made the reports.
        ReportError
            With the position of the first report that cannot occur: a set of another size, or a
            spare bit.
        """
        data = check_batch(reports, width=self.report_width, fingerprint=self.fingerprint)
        wrong = (data[:, -1] & self._spare) != 0
        wrong |= np.bitwise_count(data).sum(axis=1, dtype=np.int64) != self.members
        if wrong.any():
            position = int(np.argmax(wrong))
            raise ReportError(
                f"every report must hold {self.members} symbols and no spare bits, the one at "
                f"position {position} does not; the batch was not counted",
                position=position,
            )
        counts = count_bits(data)[: self.domain.size]
        return Counts([counts], [len(reports)], self.fingerprint)
