"""Linear hashing: send a public hash of the value, in a few bits that any server can undo."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import DomainError
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.toeplitz_hash import ToeplitzHash
from lapwing.privacy.exact_numbers import ExactNumber, check_whole_field, exact_epsilon
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    source_of,
    uniform_below,
)
from lapwing.protocol.channels.channel import Channel, ObservedChannel
from lapwing.protocol.channels.hashed_channel import LinearChannel, hashed_channel
from lapwing.protocol.domains.categories import MAXIMUM_CATEGORIES
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.observation import Observation
from lapwing.protocol.messages.reports import Reports, unpack_codes
from lapwing.protocol.messages.tally import CountTally, TallyLog
from lapwing.protocol.randomizer import (
    channel_of_log,
    check_batch,
    check_symbol,
    derived_values,
    randomizer_document,
    randomizer_fingerprint,
    randomizer_guarantee,
    refuse_reports,
)
from lapwing.randomizers.code_reports import CodeReports
from lapwing.randomizers.near_and_far import check_near, near_certificate, near_threshold

MOST_HASH_BITS = 8

_CLOSE_ENOUGH = 1.002
"""The smallest hash within this factor of the least deviation is taken."""


def block_deviation(fraction: float, epsilon: Fraction | float) -> float:
    """Return the standard deviation of a share near zero, times the square root of the people.

    Parameters
    ----------
    fraction : float
        Part of the outputs that is near a value, in (0, 1).
    epsilon : Fraction or float

    Notes
    -----
    ``(1 + a E) / (E sqrt(a (1 - a)))`` with a the fraction and E = e^epsilon - 1; smallest at
    ``1 / (e^epsilon + 1)``, where it is ``2 e^(epsilon / 2) / E``.
    """
    gain = math.expm1(epsilon)
    return (1 + fraction * gain) / (gain * math.sqrt(fraction * (1 - fraction)))


def least_variance_near(hash_bits: int, epsilon: Fraction | float) -> int:
    """Return the size of the near set among 2^hash_bits with the least variance."""
    size = 2**hash_bits
    return min(range(1, size), key=lambda near: block_deviation(near / size, epsilon))


def enough_hash_bits(epsilon: Fraction | float) -> int:
    """Return the fewest bits that come within 0.2 % of the least deviation, at most 8."""
    best = block_deviation(1 / (math.exp(epsilon) + 1), epsilon)
    for bits in range(1, MOST_HASH_BITS):
        near = least_variance_near(bits, epsilon)
        if block_deviation(near / 2**bits, epsilon) <= _CLOSE_ENOUGH * best:
            return bits
    return MOST_HASH_BITS


@dataclass(frozen=True)
class LinearHashing:
    """Report a public random matrix, and a point near the matrix times the own value.

    A value is the binary number of its symbol. A uniformly random binary Toeplitz matrix maps it
    to `hash_bits` parities; the near set of a value is a fixed set of points about its hash. The
    tally is the log of the reports: what they say about *all* values follows by one
    Walsh-Hadamard transform, so domains of billions of values can be searched entirely.

    Parameters
    ----------
    domain : Categories
        Of 2..2^40 symbols; ``Categories(number)`` never holds labels.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    hash_bits : int, optional
        Bits of a hash, l, in 1..8. Default: the fewest within 0.2 % of the least deviation (3 at
        epsilon 2). Decoding takes time and memory in proportion to 2^l.

    Privacy
    -------
    The matrix does not depend on the value. Given it, the report is two-level on 2^l points, with
    near sets of one size for every matrix, so the worst ratio and its proof are those of
    two levels, not only on average over matrices. Checked by :meth:`certificate`, and by
    the contract tests on every matrix of a small domain.

    Accuracy
    --------
    The variance of a share near zero is ``4 e^epsilon / ((e^epsilon - 1)^2 n)``, the least known,
    to 0.7 % up to epsilon = 5 whatever the number of values; above, 8 bits no longer suffice (1.05
    times that at 6, 3.4 times at 8). Every value that a person does not hold is
    supported with the same probability, exactly.

    Cost
    ----
    ceil((L + 2 l - 1) / 8) bytes per report with L = log2(values), 5 bytes for 2^32 values at
    epsilon 2; O(l) to randomize one. Decoding all of 2^L values: n 2^l points and a transform of
    2^L numbers, in bounded memory by `lapwing.decoders.logs.exhaustive_scan`.

    Source: the linear hashing of Bassily, Nissim, Stemmer and Thakurta 2017 with one parity;
    more parities and a block of points are this library's own.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> hashing = LinearHashing(Categories(2**32), 2)
    >>> hashing.bits, hashing.near, hashing.report_width, hashing.certificate().holds
    (3, 1, 5, True)
    """

    domain: Domain
    epsilon: Fraction
    _: KW_ONLY
    hash_bits: int | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, hash_bits: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "linear-hashing"
    simulation: ClassVar[Literal["exact", "users"]] = "users"
    to_document = randomizer_document

    def __post_init__(self) -> None:
        """Make epsilon exact and check the sizes."""
        require_domain(self.domain)
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        if self.domain.ordered:
            raise DomainError(
                "linear hashing is for labels without an order: sums over neighboring numbers "
                "would have correlated errors; use Categories, or a wave or subset selection"
            )
        if self.domain.size > MAXIMUM_CATEGORIES:
            raise DomainError(
                f"linear hashing takes at most 2^40 values, got {self.domain.size}; map them to "
                "fewer by a public hash first"
            )
        if self.hash_bits is not None:
            check_whole_field(self, "hash_bits", low=1, high=MOST_HASH_BITS)
        if self.domain.size < 2:
            raise DomainError("a randomizer needs a domain of at least 2 symbols, got 1")
        check_near(self)

    @cached_property
    def bits(self) -> int:
        """l: the bits of a hash that were given or chosen."""
        return self.hash_bits or enough_hash_bits(self.epsilon)

    @cached_property
    def hash(self) -> ToeplitzHash:
        """The family of hashes."""
        return ToeplitzHash((self.domain.size - 1).bit_length(), self.bits)

    @cached_property
    def near(self) -> int:
        """Points near a hash, given the matrix."""
        return least_variance_near(self.bits, self.epsilon)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of its canonical document, with all that derives from it."""
        return randomizer_fingerprint(self)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Pure epsilon, in the local model."""
        return randomizer_guarantee(self)

    @property
    def outputs(self) -> int:
        """Points, given the matrix."""
        return int(2**self.bits)

    @property
    def far(self) -> int:
        """Points that are not, given the matrix."""
        return self.outputs - self.near

    @cached_property
    def threshold(self) -> int:
        """T: a report is near with probability T / 2^64."""
        return near_threshold(self)

    certificate = near_certificate

    @property
    def thresholds(self) -> dict[str, int]:
        """The threshold by its name."""
        return {"near": self.threshold}

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance of the reports of two values, the same for every two.

        Their hashes differ by a uniformly random number, so their near sets share
        ``near^2 / 2^l`` points on average over the matrices.
        """
        gap = Fraction(self.threshold, WORD * self.near)
        gap -= Fraction(WORD - self.threshold, WORD * self.far)
        return gap * self.near * self.far / self.outputs

    @property
    def report_width(self) -> int:
        """Bytes per report: the seed of the matrix and the point."""
        return self.layout.width

    @property
    def layout(self) -> CodeReports:
        """How seed and point are packed, as one number."""
        return CodeReports(1 << (self.hash.seed_bits + self.bits))

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields; JSON values only."""
        sizes = derived_values(self, points=self.domain.size, near=self.near, outputs=self.outputs)
        return sizes | {"key_bits": self.hash.key_bits, "hash_bits": self.bits}

    @cached_property
    def linear_channel(self) -> LinearChannel:
        """What a decoder of the log knows."""
        return LinearChannel(
            self.domain,
            self.hash,
            self.near,
            Fraction(self.threshold, WORD),
            self.fingerprint,
            self.guarantee,
        )

    @cached_property
    def channel(self) -> Channel:
        """One block: a bit per value, whether a report supports it.

        Raises
        ------
        UnsupportedChannelError
            Above 2^24 values; decode the log with :attr:`linear_channel`.
        """
        known = self.linear_channel
        return hashed_channel(
            self.domain,
            inside=known.inside,
            outside=known.outside,
            fingerprint=self.fingerprint,
            guarantee=self.guarantee,
        )

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value; as every randomizer."""
        return self.randomize_symbols(self.domain.index(values), rng=rng)

    def randomize_symbols(
        self, symbols: NDArray[np.int64], *, rng: RandomSource | None = None
    ) -> Reports:
        """Return one report per symbol of the domain: what a simulation of people needs."""
        source = source_of(rng)
        shift = np.uint64(64 - self.hash.seed_bits)
        sizes = np.array([self.far, self.near], dtype=np.uint64)

        def encode(part: NDArray[np.int64]) -> NDArray[np.int64]:
            seeds = source.words(part.size) >> shift
            near = bernoulli(source, threshold=self.threshold, count=part.size)
            offset = uniform_below(source, bounds=sizes[near.view(np.uint8)], count=part.size)
            offset += np.where(near, 0, self.near)
            point = offset.view(np.uint64) ^ self.hash.hashes(seeds, part)
            return ((seeds << np.uint64(self.bits)) | point).view(np.int64)

        return self.layout.make(symbols, encode, self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one symbol.

        One word decides near (below T) or far; the offset u is uniform below `near`, or `near` and
        a number below the rest; the seed is a uniform number below 2^seed_bits. The point is
        ``u xor hash(value)``, and the report ``seed * 2^l + point``.

        Parameters
        ----------
        value : int
            Symbol, in 0..k-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        check_symbol(value, self.domain.size)
        near = next(words) < self.threshold
        offset = scalar_below(words, self.near if near else self.far)
        offset += 0 if near else self.near
        seed = scalar_below(words, 2**self.hash.seed_bits)
        hashed = sum(((seed >> row & value).bit_count() & 1) << row for row in range(self.bits))
        return self.layout.one(seed << self.bits | (offset ^ hashed))

    def tally(self, reports: Reports) -> TallyLog:
        """Return the log of a batch, entirely or not at all."""
        data = check_batch(reports, width=self.report_width, fingerprint=self.fingerprint)
        codes = unpack_codes(data).view(np.uint64)
        refuse_reports(
            codes >> np.uint64(self.hash.seed_bits + self.bits) != 0,
            f"hold a seed of {self.hash.seed_bits} bits",
            fails="has a longer one",
        )
        return TallyLog([codes], self.report_width, self.fingerprint)

    def counts(self, log: TallyLog) -> CountTally:
        """Return how many reports of a log support each value: what any decoder takes.

        Raises
        ------
        MismatchError
            When another randomizer made the log.
        UnsupportedChannelError
            Above 2^24 values.
        """
        return self.linear_channel.counts(log)

    def channel_for(self, observation: Observation, *, bins: int | None = None) -> ObservedChannel:
        """Return what a decoder of a log, or of its counts, is given."""
        return channel_of_log(self, self.linear_channel, observation, bins=bins)
