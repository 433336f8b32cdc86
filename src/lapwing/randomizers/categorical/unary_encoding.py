"""Unary encoding: a bit per symbol, each flipped on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import PrivacyError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.symmetric import CompoundSymmetric
from lapwing.privacy.exact_numbers import (
    ExactNumber,
    exponential_bounds,
    square_root_below,
)
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import WORD, RandomSource, bernoulli
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.channels.laws import ProductOfBits
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer, check_domain, check_symbol
from lapwing.randomizers.bit_reports import BitReports, write_bits

LARGEST_REPORT = 2**24
"""Most bits in a report."""


@dataclass(frozen=True)
class UnaryEncoding(Randomizer[CountTally]):
    """Send a bit per symbol: the own one is 1 with probability p, every other with q = 1 - p.

    With symmetric flips this is the one-round (basic) RAPPOR.

    Parameters
    ----------
    domain : Domain
        Any, of 2..2^24 symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.

    Notes
    -----
    **Privacy.** Only the bits of the two values differ in law, so the worst ratio is ``(p / q) ((1
    - q) / (1 - p))``, exactly, with p and q multiples of 2^-64. With q = 1 - p it is ``(p / q)^2``,
    and T is the largest integer for which that is at most a rational lower bound of ``e^epsilon``.
    Checked by :meth:`certificate`, by the contract tests on the table of all reports, and with a
    threshold one off, which must fail.

    **Accuracy.** Variance of an unbiased share near 0: ``e^(epsilon/2) / ((e^(epsilon/2) - 1)^2
    n)``.

    **Cost.** ceil(k / 8) bytes per report; O(k) to randomize and tally one, 64 bits at a time.

    Source: Erlingsson et al. 2014 (RAPPOR), Wang et al. 2017 (SUE).

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> flips = UnaryEncoding(Categories(8), 2)
    >>> flips.report_width, flips.certificate().holds
    (1, True)
    """

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "unary-encoding"
    decoder: ClassVar[str] = "mixture-prior"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the sizes."""
        super().__post_init__()
        check_domain(self.domain, "unary encoding", LARGEST_REPORT)
        own, other = self._own_and_other
        if own <= other:
            raise PrivacyError(
                "epsilon is too small to be expressed by 64-bit thresholds; "
                "reports would carry no information"
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
        """Return the exact worst-case likelihood ratio.

        Returns
        -------
        Certificate
            Claimed epsilon and exact worst-case likelihood ratio of one report.
        """
        own, other = self._own_and_other
        return Certificate(self.epsilon, Fraction(own * (WORD - other), other * (WORD - own)))

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance of the reports of two values, the same for every two.

        Reports with the one bit set and the other not are p (1 - q) against q (1 - p).
        """
        own, other = self._own_and_other
        return Fraction(own - other, WORD)

    @cached_property
    def _layout(self) -> BitReports:
        return BitReports(self.domain.size)

    @cached_property
    def channel(self) -> Channel:
        """One block of bits."""
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
        """Return the report that these random 64-bit words make of one symbol.

        Bit s is 1 when word s is below the threshold of the own bit (s is the value) or of the
        others.

        Parameters
        ----------
        value : int
            Symbol, in 0..size-1.
        words : iterator of int
            Each in 0..2^64-1; as many as there are symbols are taken.

        Returns
        -------
        bytes
            One report in its wire format.
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
    """Unary encoding with p = 1/2 and the smallest q: least variance for rare symbols.

    Parameters and cost are those of :class:`UnaryEncoding`.

    Parameters
    ----------
    domain : Domain
        Domain of the values.
    epsilon : int, float, str or Fraction
        Privacy parameter epsilon of one report.

    Notes
    -----
    **Privacy.** As for :class:`UnaryEncoding`; with p = 1/2 the worst ratio is ``(1 - q) / q``, and
    q is the smallest multiple of 2^-64 for which it is at most a rational lower bound of
    ``e^epsilon``.

    **Accuracy.** Variance of an unbiased share near 0: ``4 e^epsilon / ((e^epsilon - 1)^2 n)``.

    Source: Wang et al. 2017 (OUE); Fang et al. 2023, section II-A.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> bits = OptimizedUnaryEncoding(Categories(1000), 1)
    >>> bits.report_width, bits.certificate().holds
    (125, True)
    """

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "optimized-unary-encoding"

    @cached_property
    def _own_and_other(self) -> tuple[int, int]:
        bound = exponential_bounds(self.epsilon)[0]
        # The smallest q with (1 - q) / q <= bound is 1 / (1 + bound), rounded up.
        return WORD // 2, -int(-WORD // (bound + 1))
