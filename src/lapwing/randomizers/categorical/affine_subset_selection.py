"""Affine subset selection: sets distributed pairwise as in subset selection, in few bytes.

Its arithmetic is that of the fields of 2^k elements, by tables of logarithms. An element is a
number of k bits, the coefficients of a polynomial over the integers modulo 2. A sum is an exclusive
or. A product is that of the polynomials, modulo a fixed one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    uniform_below,
)
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.randomizer import Fault, check_symbol
from lapwing.randomizers.categorical.subset_selection import SetsOfOneSize
from lapwing.randomizers.two_level import CodeReports

MODULI = (
    *(0x3, 0x7, 0xB, 0x13, 0x25, 0x43, 0x83, 0x11D),
    *(0x211, 0x409, 0x805, 0x1053, 0x201B, 0x4443, 0x8003, 0x1100B),
)
"""The modulus of k = 1..16 bits. Each is primitive: the powers of 2 are all elements but 0."""


class BinaryField:
    """The field of 2^bits elements. :func:`binary_field` keeps those that were made.

    bits: k, in 1..16.

    Attributes
    ----------
    size : int
        Elements.
    powers : numpy.ndarray
        int64 [4 size + 1]: power i of the generator 2, for i = 0..2 size - 4. Then zeros.
    logarithms : numpy.ndarray
        int64 [size]: i with ``powers[i] == x``. Of 0 one so large that all its sums lie among the
        zeros of `powers`.

    Tables of 40 bytes an element, made in O(size).
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.size = 1 << bits
        modulus, value = MODULI[bits - 1], 1
        found = []
        for _ in range(self.size - 1):
            found.append(value)
            value <<= 1
            value ^= modulus if value & self.size else 0
        order = np.array(found, dtype=np.int64)
        self.powers: NDArray[np.int64] = np.zeros(4 * self.size + 1, dtype=np.int64)
        self.powers[: 2 * self.size - 2] = np.tile(order, 2)
        self.logarithms: NDArray[np.int64] = np.full(self.size, 2 * self.size, dtype=np.int64)
        self.logarithms[order] = np.arange(self.size - 1)
        self.powers.setflags(write=False)
        self.logarithms.setflags(write=False)

    def products(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the products of elements, which are broadcast: int64."""
        found: NDArray[np.int64] = self.powers[self.logarithms[a] + self.logarithms[b]]
        return found

    def quotients(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a / b for b other than 0."""
        step = self.size - 1 - self.logarithms[b]
        found: NDArray[np.int64] = self.powers[self.logarithms[a] + step]
        return found

    def product(self, a: int, b: int) -> int:
        """Return one product, without the tables."""
        found = 0
        for bit in reversed(range(self.bits)):
            found <<= 1
            found ^= MODULI[self.bits - 1] if found & self.size else 0
            found ^= a if b >> bit & 1 else 0
        return found


@cache
def binary_field(bits: int) -> BinaryField:
    """Return the field of 2^bits elements, bits in 1..16."""
    return BinaryField(bits)


Whole = NDArray[np.int64]

_AT_ONCE = 2**18
"""Numbers worked on together, which stay in a core's cache."""

_PEOPLE_PER_PAIR = 16
"""People for each pair (a, b) above which pairs are drawn instead of people."""


@dataclass(frozen=True)
class AffineSets:
    """The sets of one size.

    bits: Bits k of an element, in 1..16. There are 2^k elements.
    members: Elements in a set, in 1..2^k - 1.
    """

    bits: int
    members: int

    @property
    def field(self) -> BinaryField:
        """The field of the elements."""
        return binary_field(self.bits)

    @property
    def sets(self) -> int:
        """How many there are: code ``(a - 1) 2^k + b`` for each pair."""
        return (self.field.size - 1) << self.bits

    def count(self, codes: Whole) -> Whole:
        """Return in how many of the sets with these codes each element is: int64 [2^k].

        It takes O(codes * members) by listing the members, or O(4^k) for all sets at once. The
        cheaper one is taken.
        """
        size = self.field.size
        if codes.size * self.members < 2 * size * size:
            return self._listed(codes)
        total = np.zeros(size, dtype=np.int64)
        rows = codes >> self.bits
        if self.sets <= 4 * _AT_ONCE:
            table = np.bincount(codes, minlength=self.sets).reshape(size - 1, size)
            for first, last in self._rounds():
                places = self.field.powers[first:last] - 1
                self._add(table[places], first, total)
            return total
        # By the logarithm of a, so that the rows of a round lie together.
        codes = self.field.logarithms[rows + 1] << self.bits | codes & (size - 1)
        codes.sort()
        for first, last in self._rounds():
            part = codes[slice(*np.searchsorted(codes, [first << self.bits, last << self.bits]))]
            if part.size:
                length = (last - first) << self.bits
                table = np.bincount(part - (first << self.bits), minlength=length)
                self._add(table.reshape(last - first, size), first, total)
        return total

    def draw(self, people: Whole, rng: np.random.Generator) -> Whole:
        """Return the counts when everybody's set is uniform among those with their own element.

        The joint distribution is exactly that of drawing a set for every person. For few people
        each set is drawn. For more the time is O(4^k), whatever their number.

        people: int64, of at most 2^k entries: how many people have each element.
        rng: Source of random numbers. It is for simulation only.
        returns: In how many sets each element is, int64 [2^k].
        """
        total = int(people.sum())
        if total <= _PEOPLE_PER_PAIR * self.sets:
            return self._draw_people(np.repeat(np.arange(people.size), people), rng)
        counts = np.zeros(self.field.size, dtype=np.int64)
        left = people
        for first, last in self._rounds():
            rows = last - first
            here = rng.binomial(left, rows / (self.field.size - 1 - first))
            left = left - here
            chosen = rng.multinomial(here, np.full(rows, 1 / rows)).T
            self._add(self._drawn_pairs(chosen, first, rng), first, counts)
        return counts

    def draw_anywhere(self, people: int, rng: np.random.Generator) -> Whole:
        """Return the counts when so many people have uniformly random sets: int64 [2^k]."""
        counts = np.zeros(self.field.size, dtype=np.int64)
        if people <= _PEOPLE_PER_PAIR * self.sets:
            for part in _parts(people):
                counts += self.count(rng.integers(self.sets, size=part))
            return counts
        for first, last in self._rounds():
            rows = last - first
            here = int(rng.binomial(people, rows / (self.field.size - 1 - first)))
            people -= here
            length = rows << self.bits
            table = rng.multinomial(here, np.full(length, 1 / length))
            self._add(table.reshape(rows, self.field.size), first, counts)
        return counts

    def _rounds(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of logarithms of a, of which the tables are worked on together."""
        rows = max(1, _AT_ONCE >> self.bits)
        for first in range(0, self.field.size - 1, rows):
            yield first, min(first + rows, self.field.size - 1)

    def _listed(self, codes: Whole) -> Whole:
        field, counts = self.field, np.zeros(self.field.size, dtype=np.int64)
        below = np.arange(self.members)
        step = max(1, _AT_ONCE // self.members)
        for start in range(0, codes.size, step):
            part = codes[start : start + step, None]
            values = below ^ (part & (field.size - 1))
            held = field.quotients(values, (part >> self.bits) + 1)
            counts += np.bincount(held.ravel(), minlength=field.size)
        return counts

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (level, position): the numbers below the size are these 2^level long blocks."""
        for level in reversed(range(self.bits)):
            if self.members >> level & 1:
                yield level, self.members >> (level + 1) << 1

    def _add(self, table: Whole, first: int, counts: Whole) -> None:
        """Add what is in the sets of a table to the counts.

        `table` is int64 [rows, 2^k]: row i has the sets whose a is power ``first + i`` of 2, by b.
        """
        rows, size = table.shape
        levels = [table]
        for _ in range(self.bits - 1):
            levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
        blocks = dict(self._blocks())
        # Column u: how many of the row's sets have u + b below the size.
        held = np.zeros((rows, 1), dtype=np.int64)
        for level in reversed(range(self.bits)):
            held = np.repeat(held, 2, axis=1)
            if level in blocks:
                held += levels[level][:, np.arange(size >> level) ^ blocks[level]]
        counts[0] += held[:, 0].sum()
        # An x is in if u = a x is, and logarithms of products are sums: in the order of the
        # logarithms of u, an x other than 0 goes down a diagonal.
        order = self.field.powers[(first + np.arange(rows + size - 2)) % (size - 1)]
        shifted = np.ascontiguousarray(held[:, order])
        step, item = shifted.strides
        diagonals = as_strided(shifted, (rows, size - 1), (step + item, item), writeable=False)
        counts[self.field.powers[: size - 1]] += diagonals.sum(axis=0)

    def _draw_people(self, own: Whole, rng: np.random.Generator) -> Whole:
        counts = np.zeros(self.field.size, dtype=np.int64)
        start = 0
        for part in _parts(own.size):
            values = rng.integers(self.members, size=part)
            a = rng.integers(1, self.field.size, size=part)
            b = values ^ self.field.products(a, own[start : start + part])
            counts += self.count((a - 1) << self.bits | b)
            start += part
        return counts

    def _drawn_pairs(self, chosen: Whole, first: int, rng: np.random.Generator) -> Whole:
        """Return by b how many people of each row have the set: int64 [rows, 2^k].

        `chosen` is int64 [rows, elements]: how many with each element have the row's a. Their
        ``a x + b`` is uniform below the size: a block by its length, then halves by fair coins.
        """
        rows, size = chosen.shape[0], self.field.size
        shift = self.field.powers[first + np.arange(rows)]
        waiting = np.zeros((rows, size), dtype=np.int64)
        place = self.field.products(shift[:, None], np.arange(chosen.shape[1]))
        np.put_along_axis(waiting, place, chosen, axis=1)
        nodes = [np.zeros((rows, size >> level), dtype=np.int64) for level in range(self.bits)]
        left = self.members
        for level, position in self._blocks():
            here = rng.binomial(waiting, (1 << level) / left)
            waiting -= here
            left -= 1 << level
            sums = here.reshape(rows, size >> level, 1 << level).sum(axis=2)
            nodes[level] += sums[:, np.arange(size >> level) ^ position]
        for level in range(self.bits - 1, 0, -1):
            half = rng.binomial(nodes[level], 0.5)
            nodes[level - 1][:, 0::2] += half
            nodes[level - 1][:, 1::2] += nodes[level] - half
        return nodes[0]


def _parts(people: int) -> Iterator[int]:
    """Yield sizes of parts of so many people, each small enough to be drawn at once."""
    most = 2**20
    for start in range(0, people, most):
        yield min(most, people - start)


MOST_CELLS = 2**16
"""Most symbols."""


@dataclass(frozen=True)
class AffineReports:
    """Reports that are the code of an affine set, checked and counted by what is in the sets.

    symbols: Elements that are counted: the first ones.
    """

    symbols: int
    family: AffineSets

    @cached_property
    def codes(self) -> CodeReports:
        """How a code is packed."""
        return CodeReports(self.family.sets)

    @cached_property
    def width(self) -> int:
        """Bytes per report."""
        return self.codes.width

    def count(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return in how many sets each category is, with the errors of `Randomizer.tally`."""
        return self.family.count(self.codes.read(data))[: self.symbols]

    def faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        """Yield which reports of a batch cannot occur."""
        return self.codes.faults(data)


@dataclass(frozen=True)
class AffineSubsetSelection(SetsOfOneSize):
    """Subset selection from affine sets, with reports of 2 or 3 bytes.

    Categories are elements of the finite field of q = 2^k elements, the smallest that contains
    them all. A report is a pair (a, b) with a not 0. It identifies the set of elements x for which
    ``a x + b``, read as a number, is below `size`. For two values these numbers are a uniformly
    random pair of different numbers. So counts of reports have the means and covariances of
    :class:`SubsetSelection`. For 256 categories a report takes 2 bytes instead of 32.

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with 2 to 2^16 bins or categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    size : int, optional
        Number of elements in a set, in 1..q-1. Default: the number with the least variance.

    See Also
    --------
    lapwing.SubsetSelection : The same with independent sets.

    Notes
    -----
    **Privacy.** Of the ``(q - 1) q`` sets, ``(q - 1) size`` contain a given value. Each of these
    has probability ``(T / 2^64) / ((q - 1) size)``. Each of the others has probability ``(1 - T /
    2^64) / ((q - 1) (q - size))``. Both draws are exact, so the worst-case likelihood ratio is ``T
    (q - size) / ((2^64 - T) size)``. T is the largest integer for which this is at most a rational
    lower bound of ``e^epsilon``. :meth:`certificate` states the ratio. The contract tests check it
    on the table of all reports.

    **Accuracy.** The variance is that of subset selection from q categories. No randomizer with
    less variance is known.

    **Cost.** A report takes ``ceil(2 k / 8)`` bytes: 2 for 256 categories and 3 for 4096.
    Randomizing a value takes O(1) time. Tallying takes O(reports * size) or O(q^2), whichever is
    less.

    The design is this library's own. It uses the affine maps of a finite field, which are sharply
    2-transitive. Subset selection is from [1]_.

    References
    ----------
    .. [1] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally
       differential privacy", IEEE Transactions on Information Theory 64(8), 2018.
       doi:10.1109/TIT.2018.2809790

    Examples
    --------
    >>> import lapwing as lw
    >>> subsets = lw.randomizers.AffineSubsetSelection(lw.Categories(256), epsilon=1)
    >>> subsets.report_width, subsets.certificate().holds
    (2, True)
    >>> tally = lw.simulate(subsets, [60_000, 40_000] + [0] * 254, rng=1)
    >>> lw.MixturePrior().decode(subsets.channel, tally).mass[:2].round(1).tolist()
    [0.6, 0.4]
    """

    domain: Annotated[Domain, domain_of(most=MOST_CELLS)]

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, size: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "affine-subset-selection"

    @cached_property
    def _bits(self) -> int:
        """k: bits of an element."""
        return (self.domain.size - 1).bit_length()

    @cached_property
    def _elements(self) -> int:
        """q: elements of the field, of which the first are the symbols."""
        return 1 << self._bits

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"points": self.domain.size, "elements": self._elements, "members": self._members}

    @cached_property
    def _family(self) -> AffineSets:
        """The sets."""
        return AffineSets(self._bits, self._members)

    @cached_property
    def _layout(self) -> AffineReports:
        return AffineReports(self.domain.size, self._family)

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        # Uniform over all sets with the chance of a far one for each, else over the near ones.
        far = float(Fraction(WORD - self._threshold, WORD))
        anywhere = rng.binomial(people, far * self._elements / self._far)
        counts = self._family.draw(people - anywhere, rng)
        counts += self._family.draw_anywhere(int(anywhere.sum()), rng)
        return counts[: self.domain.size]

    @cached_property
    def _bounds(self) -> NDArray[np.uint64]:
        """Numbers of elements outside and inside of a set."""
        return np.array([self._far, self._members], dtype=np.uint64)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        field, bits = self._family.field, self._bits

        def encode(symbols: NDArray[np.int64]) -> NDArray[np.int64]:
            near = bernoulli(source, threshold=self._threshold, count=symbols.size)
            bounds = self._bounds[near.view(np.uint8)]
            place = uniform_below(source, bounds=bounds, count=symbols.size)
            place += np.where(near, 0, self._members)
            row = uniform_below(source, bounds=self._elements - 1, count=symbols.size)
            return row << bits | (place ^ field.products(row + 1, symbols))

        return self._layout.codes.make(points, encode)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one category.

        The first word is near if it is below T, and otherwise far. A number y is uniform below
        `size` if near. If far, it is `size` plus a uniform number below ``q - size``. The factor a
        is 1 plus a uniform number below ``q - 1``. Then ``b = y + a x`` in the field, and the
        report is the code ``(a - 1) q + b``. Numbers are drawn by
        :func:`lapwing.privacy.sampling.randomness.scalar_below`.
        """
        check_symbol(value, self.domain.size)
        near = next(words) < self._threshold
        place = scalar_below(words, self._members if near else self._far)
        place += 0 if near else self._members
        row = scalar_below(words, self._elements - 1)
        b = place ^ self._family.field.product(row + 1, value)
        return self._layout.codes.report(row << self._bits | b)
