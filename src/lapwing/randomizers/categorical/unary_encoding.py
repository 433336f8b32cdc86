"""Unary encoding: one bit for each category, each flipped independently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import PrivacyError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import CompoundSymmetric
from lapwing.privacy.exact_numbers import ExactNumber, exponential_bounds, square_root_below
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import WORD, RandomSource, bernoulli
from lapwing.protocol.channels.channel import Block, Channel, ProductOfBits
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer, check_symbol
from lapwing.randomizers.bit_reports import BitReports, write_bits

LARGEST_REPORT = 2**24
"""Most bits in a report."""


@dataclass(frozen=True)
class UnaryEncoding(Randomizer[CountTally]):
    """Symmetric unary encoding, basic one-time RAPPOR (Erlingsson et al., 2014).

    A report has one bit for each category. The bit of the true category is 1 with probability p,
    and every other bit with probability ``q = 1 - p``.

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with k = 2 to 2^24 bins or categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.

    See Also
    --------
    OptimizedUnaryEncoding : Less variance for rare categories.

    Notes
    -----
    **Privacy.** Two values differ in two bits only, so the worst-case likelihood ratio is
    ``(p / q) ((1 - q) / (1 - p))``. It is exact, because p and q are multiples of 2^-64. With
    ``q = 1 - p`` it is ``(p / q)^2``. The threshold T is the largest integer for which this is at
    most a rational lower bound of ``e^epsilon``. :meth:`certificate` states the ratio. The contract
    tests check it on the table of all reports, and a threshold one higher fails them.

    **Accuracy.** An unbiased share near 0, estimated from n reports, has variance
    ``e^(epsilon/2) / ((e^(epsilon/2) - 1)^2 n)``.

    **Cost.** A report takes ``ceil(k / 8)`` bytes. Randomizing or tallying one takes O(k) bit
    operations, 64 at a time.

    The method is the one-round RAPPOR without a Bloom filter [1]_, also named SUE [2]_.

    References
    ----------
    .. [1] U. Erlingsson, V. Pihur, A. Korolova, "RAPPOR: randomized aggregatable privacy-preserving
       ordinal response", ACM CCS, 2014. doi:10.1145/2660267.2660348
    .. [2] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for
       frequency estimation", USENIX Security, 2017.

    Examples
    --------
    >>> import lapwing as lw
    >>> bits = lw.randomizers.UnaryEncoding(lw.Categories(["bus", "car", "walk"]), epsilon=2)
    >>> bits.report_width, bits.certificate().holds
    (1, True)
    >>> reports = bits.randomize(["car"] * 14_000 + ["walk"] * 6000, rng=lw.seeded(1))
    >>> result = lw.LeastSquares().decode(bits.channel, bits.tally(reports))
    >>> round(result.share("car"), 1)
    0.7
    """

    domain: Annotated[Domain, domain_of(most=LARGEST_REPORT)]

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "unary-encoding"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "mixture-prior"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the sizes."""
        super().__post_init__()
        own, other = self._own_and_other
        if own <= other:
            raise PrivacyError(
                "epsilon is too small for 64-bit thresholds, so reports would carry no "
                "information. Use a larger epsilon"
            )

    @cached_property
    def _own_and_other(self) -> tuple[int, int]:
        root = square_root_below(exponential_bounds(self.epsilon)[0])
        own = int(WORD * root / (root + 1))
        return own, WORD - own

    @property
    def _thresholds(self) -> dict[str, int]:
        own, other = self._own_and_other
        return {"own": own, "other": other}

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"bits": self.domain.size}

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        own, other = self._own_and_other
        return Certificate(self.epsilon, Fraction(own * (WORD - other), other * (WORD - own)))

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance between the reports of any two values, in [0, 1].

        Reports in which the first value's bit is set and the second's is not have probability ``p
        (1 - q)`` under the first value, and ``q (1 - p)`` under the second.
        """
        own, other = self._own_and_other
        return Fraction(own - other, WORD)

    @cached_property
    def _layout(self) -> BitReports:
        return BitReports(self.domain.size)

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one block of independent bits."""
        own, other = (float(Fraction(threshold, WORD)) for threshold in self._own_and_other)
        operator = CompoundSymmetric(self.domain.size, diagonal=own, off_diagonal=other)
        block = Block(operator, ProductOfBits())
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        # All bits are drawn with probability q, 64 at a time, then the own bit of every person is
        # overwritten by one drawn with probability p.
        own, other = self._own_and_other

        def fill(symbols: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            rows[:] = self._layout.draw(source, threshold=other, count=symbols.size)
            write_bits(rows, symbols, bernoulli(source, threshold=own, count=symbols.size))

        return self._layout.make(points, fill)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one category.

        Bit s is 1 if word s is below a threshold. The true category has one threshold, and all
        others share another.
        """
        check_symbol(value, self.domain.size)
        own, other = self._own_and_other
        return self._layout.report(
            symbol
            for symbol in range(self.domain.size)
            if next(words) < (own if symbol == value else other)
        )


@dataclass(frozen=True)
class OptimizedUnaryEncoding(UnaryEncoding):
    """Optimized unary encoding, OUE (Wang et al., 2017).

    A report has one bit for each category. The bit of the true category is 1 with probability 1/2,
    and every other bit with the smallest probability q that the privacy parameter allows.

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with k = 2 to 2^24 bins or categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.

    Notes
    -----
    **Privacy.** As for :class:`UnaryEncoding`. With ``p = 1/2`` the worst-case likelihood ratio is
    ``(1 - q) / q``. The probability q is the smallest multiple of 2^-64 for which this is at most a
    rational lower bound of ``e^epsilon``.

    **Accuracy.** An unbiased share near 0, estimated from n reports, has variance
    ``4 e^epsilon / ((e^epsilon - 1)^2 n)``. This is the least of all unary encodings [1]_.

    **Cost.** A report takes ``ceil(k / 8)`` bytes. Randomizing or tallying one takes O(k) bit
    operations, 64 at a time.

    References
    ----------
    .. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for
       frequency estimation", USENIX Security, 2017.

    Examples
    --------
    >>> import lapwing as lw
    >>> pets = lw.Categories(["cat", "dog", "fish"])
    >>> bits = lw.randomizers.OptimizedUnaryEncoding(pets, epsilon=1)
    >>> bits.report_width, bits.certificate().holds
    (1, True)
    >>> reports = bits.randomize(["cat"] * 14_000 + ["dog"] * 6000, rng=lw.seeded(1))
    >>> result = lw.LeastSquares().decode(bits.channel, bits.tally(reports))
    >>> round(result.share("cat"), 1)
    0.7
    """

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "optimized-unary-encoding"
    _in_javascript: ClassVar[bool] = True

    @cached_property
    def _own_and_other(self) -> tuple[int, int]:
        bound = exponential_bounds(self.epsilon)[0]
        # The smallest q with (1 - q) / q <= bound is 1 / (1 + bound), rounded up.
        return WORD // 2, -int(-WORD // (bound + 1))
