"""Subset selection: a report is a set of categories that probably contains the true one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import CompoundSymmetric
from lapwing.privacy.exact_numbers import ExactNumber, check_whole
from lapwing.privacy.sampling.randomness import WORD, RandomSource, bernoulli
from lapwing.protocol.channels.channel import Block, Channel, FixedSizeSubset
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import check_symbol
from lapwing.randomizers.bit_reports import BitReports, drawn_in_order, random_sets
from lapwing.randomizers.two_level import NearAndFar

LARGEST_REPORT = 2**20
"""Most symbols."""


def optimal_size(symbols: int, epsilon: Fraction | float) -> int:
    """Return the set size that minimizes the variance of an unbiased share near zero.

    symbols: Number k of bins or categories, at least 2.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Categories in a set, in 1..k-1.

    Let A be the probability that a set holds the true category, and q that of another one. Then the
    variance is ``q (1 - q) / (A - q)^2`` for one report. The best size is one of the two whole
    numbers next to ``k / (e^epsilon + 1)`` [1]_, [2]_.

    .. [1] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally
       differential privacy", IEEE Transactions on Information Theory 64(8), 2018.
       doi:10.1109/TIT.2018.2809790
    .. [2] S. Wang, L. Huang, P. Wang, Y. Nie, H. Xu, W. Yang, X.-Y. Li, C. Qiao, "Mutual
       information optimally local private discrete distribution estimation", 2016.
       arXiv:1607.08025.
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
class SetsOfOneSize(NearAndFar[CountTally]):
    """Base class of randomizers whose report is a set of elements, the first of them the symbols.

    size: Elements in a set. Default: :func:`optimal_size`.
    """

    _: KW_ONLY
    size: AtLeastOne | None = None

    _threshold_name: ClassVar[str] = "own"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "mixture-prior"

    def _settle(self) -> None:
        """Check the size against the elements."""
        if self.size is not None:
            check_whole("size", self.size, low=1, high=self._elements - 1)

    @cached_property
    def _elements(self) -> int:
        """Elements of which a set may consist."""
        return self.domain.size

    @cached_property
    def _members(self) -> int:
        """Elements in a set."""
        return optimal_size(self._elements, self.epsilon) if self.size is None else self.size

    @property
    def _near(self) -> int:
        """Sets that hold a given symbol, in units of which all others are `far`."""
        return self._members

    @cached_property
    def _far(self) -> int:
        """Sets that do not hold it."""
        return self._elements - self._members

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance between the reports of any two values, in [0, 1].

        It is the difference between two probabilities: that a set contains the first value but not
        the second, under either value.
        """
        own = Fraction(self._threshold, WORD)
        return (own * self._far - (1 - own) * self._members) / (self._elements - 1)

    _draw: ClassVar[Any] = None
    """An exact sampler of the counts of sets, where the sets are not uniform."""

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one block of subsets of fixed size.

        Of the elements in a set, only those that are categories are counted.
        """
        own = float(Fraction(self._threshold, WORD))
        other = (self._members - own) / (self._elements - 1)
        operator = CompoundSymmetric(self.domain.size, diagonal=own, off_diagonal=other)
        law = FixedSizeSubset(
            symbols=self._elements, members=self._members, own=own, draw=self._draw
        )
        return Channel(self.domain, [Block(operator, law)], self.fingerprint, self.guarantee)


@dataclass(frozen=True)
class SubsetSelection(SetsOfOneSize):
    """Subset selection (Ye and Barg, 2018).

    A report is a random set of `size` of the k categories. It contains the true category more
    often than any other.

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with k = 2 to 2^20 bins or categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    size : int, optional
        Number of categories in a set, in 1..k-1. Default: the size with the least variance, a
        whole number next to ``k / (e^epsilon + 1)``. Size 1 is generalized randomized response.

    See Also
    --------
    lapwing.randomizers.AffineSubsetSelection : The same accuracy with reports of 2 or 3 bytes.

    Notes
    -----
    **Privacy.** A set that contains the value has probability ``(T / 2^64) / C(k-1, size-1)``. One
    that does not has probability ``(1 - T / 2^64) / C(k-1, size)``. Both draws are exact, so the
    worst-case likelihood ratio is ``T (k - size) / ((2^64 - T) size)``. T is the largest integer
    for which this ratio is at most a rational lower bound of ``e^epsilon``. The contract tests
    check it on the table of all sets.

    **Accuracy.** No randomizer with less variance is known, for any k and epsilon. Unary encoding
    comes within 1 / k of it.

    **Cost.** A report takes ``ceil(k / 8)`` bytes. Randomizing or tallying one takes O(k) bit
    operations, 64 at a time, and O(sqrt(k)) single draws.

    The method is that of [1]_ and [2]_.

    References
    ----------
    .. [1] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally
       differential privacy", IEEE Transactions on Information Theory 64(8), 2018.
       doi:10.1109/TIT.2018.2809790
    .. [2] S. Wang, L. Huang, P. Wang, Y. Nie, H. Xu, W. Yang, X.-Y. Li, C. Qiao, "Mutual
       information optimally local private discrete distribution estimation", 2016.
       arXiv:1607.08025.

    Examples
    --------
    >>> import lapwing as lw
    >>> subsets = lw.SubsetSelection(lw.Categories(["bus", "car", "train", "walk"]), epsilon=1)
    >>> subsets.report_width, subsets.certificate().holds
    (1, True)
    >>> reports = subsets.randomize(["car"] * 14_000 + ["walk"] * 6000, rng=lw.seeded(1))
    >>> result = lw.LeastSquares().decode(subsets.channel, subsets.tally(reports))
    >>> round(result.share("car"), 1)
    0.7
    """

    domain: Annotated[Domain, domain_of(most=LARGEST_REPORT)]

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, size: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "subset-selection"

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"bits": self.domain.size, "members": self._members}

    @cached_property
    def _layout(self) -> BitReports:
        return BitReports(self.domain.size, self._members)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        items, members = self._points, self._members

        def fill(symbols: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            own = bernoulli(source, threshold=self._threshold, count=symbols.size)
            rows[:] = random_sets(source, symbols, own, items=items, members=members)

        return self._layout.make(points, fill)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one category.

        The first word determines whether the set contains the true category: it does if the word
        is below T. Then every other category s is considered in order. It is in the set if a
        uniform number is below the number of places left. The number is drawn below the count of
        categories not yet seen, by :func:`lapwing.privacy.sampling.randomness.scalar_below`.
        """
        check_symbol(value, self.domain.size)
        near = next(words) < self._threshold
        others = drawn_in_order(
            words, self.domain.size, own=value, places=self._members - near, kinds=1
        )
        return self._layout.report([value] * near + [symbol for symbol, _ in others])
