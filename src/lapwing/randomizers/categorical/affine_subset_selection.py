"""Affine subset selection: sets of the law of subset selection, pair by pair, in a few bytes."""

from __future__ import annotations

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
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    source_of,
    uniform_below,
)
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.channels.laws import FixedSizeSubset
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Counted, check_domain, check_symbol, derived_values
from lapwing.randomizers.categorical.affine_counts import AffineSets
from lapwing.randomizers.categorical.subset_selection import optimal_size
from lapwing.randomizers.code_reports import CodeReports
from lapwing.randomizers.near_and_far import check_near, near_certificate, near_threshold

MOST_CELLS = 2**16
"""Most symbols."""


@dataclass(frozen=True)
class AffineReports:
    """Reports that are the code of an affine set, checked and counted by what is in the sets.

    Parameters
    ----------
    symbols : int
        Elements that are counted: the first ones.
    family : AffineSets
    """

    symbols: int
    family: AffineSets

    @property
    def codes(self) -> CodeReports:
        """How a code is packed."""
        return CodeReports(self.family.sets)

    @property
    def width(self) -> int:
        """Bytes per report."""
        return self.codes.width

    def count(self, reports: Reports, fingerprint: str) -> CountTally:
        """Return the exact counts of a batch; errors as of `Randomizer.tally`."""
        codes = self.codes.read(reports, fingerprint)
        counts = self.family.count(codes)[: self.symbols]
        return CountTally([counts], [len(reports)], fingerprint)


@dataclass(frozen=True)
class AffineSubsetSelection(Counted):
    """Send the name of a set of symbols, more likely one that holds the own symbol.

    Symbols are elements of the field of q = 2^k, the least that holds them all. The pair (a, b),
    a not 0, names the set of the x for which ``a x + b``, read as a number, is below `size`. For
    two values these numbers are a uniformly random pair of different ones, so every pair of symbols
    is in a random set as it is in a uniform one of the same size, and counts of reports have the
    means and covariances of :class:`SubsetSelection`; but a report takes 2 bytes for 256 symbols
    in place of 32.

    Parameters
    ----------
    domain : Domain
        Any, of 2..2^16 symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    size : int, optional
        Elements of a set, in 1..q-1. Default: that of least variance.

    Privacy
    -------
    Two-level: ``(q - 1) size`` of the ``(q - 1) q`` sets hold a given value. One that does has
    probability ``(T / 2^64) / ((q - 1) size)``, another one
    ``(1 - T / 2^64) / ((q - 1) (q - size))``. Both draws are exact, so the worst ratio is
    ``T (q - size) / ((2^64 - T) size)``, and T is the largest integer for which it is at most a
    rational lower bound of ``e^epsilon``. Checked by :meth:`certificate` and by the contract
    tests on the table of all reports.

    Accuracy
    --------
    That of subset selection from q symbols: the least variance of all known randomizers.

    Cost
    ----
    ceil(2 k / 8) bytes per report, 2 for 256 symbols and 3 for 4096; O(1) to randomize one.
    Tallying takes O(reports * size) or O(q^2), what is less.

    Source: own design. The family is that of the affine maps of a finite field, which are sharply
    twofold transitive.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> sets = AffineSubsetSelection(Categories(256), 1)
    >>> sets.members, sets.report_width, sets.certificate().holds
    (69, 2, True)
    """

    domain: Domain
    epsilon: Fraction
    _: KW_ONLY
    size: int | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, size: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "affine-subset-selection"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the sizes."""
        require_domain(self.domain)
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        check_domain(self.domain, "affine subset selection", MOST_CELLS)
        if self.size is not None:
            check_whole_field(self, "size", low=1, high=self.elements - 1)
        check_near(self)

    @property
    def bits(self) -> int:
        """k: bits of an element."""
        return (self.domain.size - 1).bit_length()

    @property
    def elements(self) -> int:
        """q: elements of the field, of which the first are the symbols."""
        return 1 << self.bits

    @cached_property
    def members(self) -> int:
        """Elements in a set."""
        return optimal_size(self.elements, self.epsilon) if self.size is None else self.size

    @property
    def near(self) -> int:
        """Sets that hold a given symbol, in units of which all others are `far`."""
        return self.members

    @property
    def far(self) -> int:
        """Sets that do not hold it."""
        return self.elements - self.members

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
        return derived_values(
            self, points=self.domain.size, elements=self.elements, members=self.members
        )

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance of the reports of two values, the same for every two.

        It is the difference of the probabilities of a set that holds the one and not the other.
        """
        own = Fraction(self.threshold, WORD)
        return (own * self.far - (1 - own) * self.members) / (self.elements - 1)

    @property
    def family(self) -> AffineSets:
        """The sets."""
        return AffineSets(self.bits, self.members)

    @property
    def layout(self) -> AffineReports:
        """How a report is laid out, checked and counted."""
        return AffineReports(self.domain.size, self.family)

    @cached_property
    def channel(self) -> Channel:
        """One block of fixed-size subsets of the field, of which the symbols are counted."""
        own = float(Fraction(self.threshold, WORD))
        other = (self.members - own) / (self.elements - 1)
        operator = CompoundSymmetric(self.domain.size, diagonal=own, off_diagonal=other)
        law = FixedSizeSubset(symbols=self.elements, members=self.members, own=own, draw=self._draw)
        return Channel(self.domain, [Block(operator, law)], self.fingerprint, self.guarantee)

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        # Uniform over all sets with the chance of a far one for each, else over the near ones.
        far = float(Fraction(WORD - self.threshold, WORD))
        anywhere = rng.binomial(people, far * self.elements / self.far)
        counts = self.family.draw(people - anywhere, rng)
        counts += self.family.draw_anywhere(int(anywhere.sum()), rng)
        return counts[: self.domain.size]

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value."""
        source = source_of(rng)
        sizes = np.array([self.far, self.members], dtype=np.uint64)
        field, bits = self.family.field, self.bits

        def encode(part: NDArray[np.int64]) -> NDArray[np.int64]:
            near = bernoulli(source, threshold=self.threshold, count=part.size)
            place = uniform_below(source, bounds=sizes[near.view(np.uint8)], count=part.size)
            place += np.where(near, 0, self.members)
            row = uniform_below(source, bounds=self.elements - 1, count=part.size)
            return row << bits | (place ^ field.products(row + 1, part))

        return self.layout.codes.make(self.domain.index(values), encode, self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one symbol.

        One word decides near (below T) or far. A number y is uniform below `members` if near, or
        `members` and a number below the rest; a is 1 and a number below q - 1. Then
        ``b = y + a x`` in the field, and the report is the code ``(a - 1) q + b``
        (:func:`lapwing.privacy.sampling.randomness.scalar_below`). This is what test vectors pin
        and what other languages port.

        Parameters
        ----------
        value : int
            Symbol, in 0..symbols-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        check_symbol(value, self.domain.size)
        near = next(words) < self.threshold
        place = scalar_below(words, self.members if near else self.far)
        place += 0 if near else self.members
        row = scalar_below(words, self.elements - 1)
        b = place ^ self.family.field.product(row + 1, value)
        return self.layout.codes.one(row << self.bits | b)
