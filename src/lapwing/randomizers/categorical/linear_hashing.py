"""Linear hashing: a report has a public hash of the value, which a server can invert."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import From
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.toeplitz_hash import ToeplitzHash
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    uniform_below,
)
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.channels.hashed_channel import LinearChannel, hashed_channel
from lapwing.protocol.domains.categories import MAXIMUM_CATEGORIES
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.reports import unpack_codes
from lapwing.protocol.messages.tally import TallyLog
from lapwing.protocol.randomizer import Fault, check_symbol, fault_of, refuse
from lapwing.randomizers.two_level import CodeReports, NearAndFar

MOST_HASH_BITS = 8

_CLOSE_ENOUGH = 1.002
"""The smallest hash within this factor of the least deviation is taken."""


def block_deviation(fraction: float, epsilon: Fraction | float) -> float:
    """Return the standard deviation of a share near zero, times the square root of the reports.

    fraction: Part a of the outputs that has high probability, in (0, 1).
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Standard deviation for one report, greater than 0.

    It is ``(1 + a E) / (E sqrt(a (1 - a)))`` with ``E = e^epsilon - 1``. It is least at
    ``a = 1 / (e^epsilon + 1)``, where it is ``2 e^(epsilon / 2) / E``.
    """
    gain = math.expm1(epsilon)
    return (1 + fraction * gain) / (gain * math.sqrt(fraction * (1 - fraction)))


def least_variance_near(hash_bits: int, epsilon: Fraction | float) -> int:
    """Return the number of high-probability points, of 2^hash_bits, with the least variance."""
    size = 2**hash_bits
    return min(range(1, size), key=lambda near: block_deviation(near / size, epsilon))


def enough_hash_bits(epsilon: Fraction | float) -> int:
    """Return the fewest bits that come within 0.2% of the least deviation, at most 8."""
    best = block_deviation(1 / (math.exp(epsilon) + 1), epsilon)
    for bits in range(1, MOST_HASH_BITS):
        near = least_variance_near(bits, epsilon)
        if block_deviation(near / 2**bits, epsilon) <= _CLOSE_ENOUGH * best:
            return bits
    return MOST_HASH_BITS


@dataclass(frozen=True)
class LinearHashing(NearAndFar[TallyLog]):
    """Linear local hashing, after Bassily et al. (2017).

    A value is the binary number of its category. A uniformly random binary Toeplitz matrix maps it
    to `hash_bits` parities. A report is the public matrix and a point, probably one of a fixed set
    of points around the hash. The tally stores the reports. One Walsh-Hadamard transform scores
    all values, so a domain of billions of values can be searched completely.

    Parameters
    ----------
    domain : Categories or HashedStrings
        Domain of the values, with 2 to 2^40 categories. ``Categories(number)`` stores no labels.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    hash_bits : int, optional
        Number l of bits of a hash, in 1..8. Decoding takes time and memory proportional to 2^l.
        Default: the fewest bits within 0.2% of the least standard deviation (3 at epsilon 2).

    Notes
    -----
    **Privacy.** The matrix does not depend on the value. Given the matrix, the report is two-level
    on 2^l points, with the same number of high-probability points for every value. So the
    worst-case likelihood ratio holds for each matrix, not only on average. The contract tests check
    it on every matrix of a small domain.

    **Accuracy.** A share near zero has variance ``4 e^epsilon / ((e^epsilon - 1)^2 n)``, the least
    known. This holds to within 0.7% up to epsilon = 5, whatever the number of values. Above 5, 8
    bits are no longer enough: the variance is 1.05 times as large at 6, and 3.4 times at 8. Every
    value that a person does not have is supported with exactly the same probability.

    **Cost.** A report takes ``ceil((L + 2 l - 1) / 8)`` bytes with ``L = log2(values)``: 5 bytes
    for 2^32 values at epsilon 2. Randomizing a value takes O(l) time. Decoding all 2^L values
    takes ``n 2^l`` points and a transform of 2^L numbers, in bounded memory by
    :class:`lapwing.decoders.ExhaustiveScan`.

    Linear hashing with one parity is from [1]_. More parities and a block of points are this
    library's own.

    References
    ----------
    .. [1] R. Bassily, K. Nissim, U. Stemmer, A. Thakurta, "Practical locally private heavy
       hitters", NIPS, 2017.

    Examples
    --------
    >>> import lapwing as lw
    >>> hashing = lw.LinearHashing(lw.Categories(2**32), epsilon=2)
    >>> hashing.report_width, hashing.certificate().holds
    (5, True)
    >>> hashing = lw.LinearHashing(lw.Categories(1024), epsilon=2)
    >>> reports = hashing.randomize([7] * 14_000 + [8] * 6000, rng=lw.seeded(1))
    >>> lw.decoders.ExhaustiveScan().decode(hashing.log_channel, hashing.tally(reports)).values
    [7, 8]
    """

    domain: Annotated[Domain, domain_of("labels", most=MAXIMUM_CATEGORIES)]
    _: KW_ONLY
    hash_bits: Annotated[int, From(1, MOST_HASH_BITS)] | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, hash_bits: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "linear-hashing"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "mixture-prior"
    collects: ClassVar[Literal["counts", "log"]] = "log"
    _simulation: ClassVar[Literal["exact", "users"]] = "users"

    @cached_property
    def _bits(self) -> int:
        """l: the bits of a hash that were given or chosen."""
        return self.hash_bits or enough_hash_bits(self.epsilon)

    @cached_property
    def _hash(self) -> ToeplitzHash:
        """The family of hashes."""
        return ToeplitzHash((self.domain.size - 1).bit_length(), self._bits)

    @cached_property
    def _near(self) -> int:
        """Points near a hash, given the matrix."""
        return least_variance_near(self._bits, self.epsilon)

    @cached_property
    def _outputs(self) -> int:
        """Points, given the matrix."""
        return int(2**self._bits)

    @cached_property
    def _far(self) -> int:
        """Points that are not, given the matrix."""
        return self._outputs - self._near

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance between the reports of any two values, in [0, 1].

        The hashes of two values differ by a uniformly random number. So their sets of
        high-probability points share ``near^2 / 2^l`` points on average over the matrices.
        """
        gap = Fraction(self._threshold, WORD * self._near)
        gap -= Fraction(WORD - self._threshold, WORD * self._far)
        return gap * self._near * self._far / self._outputs

    @cached_property
    def _layout(self) -> CodeReports:
        """How seed and point are packed, as one number."""
        return CodeReports(1 << (self._hash.seed_bits + self._bits))

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"points": self.domain.size, "near": self._near, "outputs": self._outputs}

    @property
    def _derived(self) -> dict[str, Any]:
        return super()._derived | {"key_bits": self._hash.key_bits, "hash_bits": self._bits}

    @cached_property
    def log_channel(self) -> LinearChannel:
        """Distribution of a report for each value, for decoders that read stored reports."""
        return LinearChannel(
            self.domain,
            self._hash,
            self._near,
            Fraction(self._threshold, WORD),
            self.fingerprint,
            self.guarantee,
        )

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: a bit per value, whether a report supports it.

        Raises
        ------
        UnsupportedChannelError
            When there are more than 2^24 values. Decode the stored reports with
            :attr:`log_channel` instead.
        """
        log_channel = self.log_channel
        return hashed_channel(
            self.domain,
            inside=log_channel.inside,
            outside=log_channel.outside,
            fingerprint=self.fingerprint,
            guarantee=self.guarantee,
        )

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        shift = np.uint64(64 - self._hash.seed_bits)
        sizes = np.array([self._far, self._near], dtype=np.uint64)

        def encode(symbols: NDArray[np.int64]) -> NDArray[np.int64]:
            seeds = source.words(symbols.size) >> shift
            near = bernoulli(source, threshold=self._threshold, count=symbols.size)
            offset = uniform_below(source, bounds=sizes[near.view(np.uint8)], count=symbols.size)
            offset += np.where(near, 0, self._near)
            point = offset.view(np.uint64) ^ self._hash.hashes(seeds, symbols)
            return ((seeds << np.uint64(self._bits)) | point).view(np.int64)

        return self._layout.make(points, encode)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one category.

        The first word is near if it is below T, and otherwise far. The offset u is uniform below
        `near` if near. If far, it is `near` plus a uniform number below the rest. The seed is a
        uniform number below 2^seed_bits. The point is ``u xor hash(value)``, and the report is
        ``seed * 2^l + point``.
        """
        check_symbol(value, self.domain.size)
        near = next(words) < self._threshold
        offset = scalar_below(words, self._near if near else self._far)
        offset += 0 if near else self._near
        seed = scalar_below(words, 2**self._hash.seed_bits)
        hashed = sum(((seed >> row & value).bit_count() & 1) << row for row in range(self._bits))
        return self._layout.report(seed << self._bits | (offset ^ hashed))

    def _count(self, data: NDArray[np.uint8]) -> list[tuple[NDArray[np.int64], int]]:
        refuse(self._faults(data))
        return []

    def _faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        codes = unpack_codes(data).view(np.uint64)
        return fault_of(
            codes >> np.uint64(self._hash.seed_bits + self._bits) != 0,
            f"contain a seed of {self._hash.seed_bits} bits",
            failure="has a longer one",
        )
