"""The channel of hashed reports: which of them support a value, and how often by chance.

A report holds a public seed and a point of a small space. It *supports* the values that the seed's
hash puts near that point. These are the true value with probability `inside`, and any other with
probability `outside`. This is exact, whatever the true value is. So the supports of a value nobody
holds are a binomial number, and the unbiased share of a value is linear in its supports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import MismatchError, TallyError, UnsupportedChannelError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import CompoundSymmetric, Operator
from lapwing.linear.operators.toeplitz_hash import ToeplitzHash, block_spectrum
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.channels.channel import Block, Channel, CountVector, ProductOfBits
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally, Observation, TallyLog, check_observation

LISTED = 2**24
"""Most values whose supports are counted all at once."""

_POINTS_AT_A_TIME = 2**20


@dataclass(frozen=True)
class HashedSupport(ProductOfBits):
    """A bit per value: whether a report supports it, given the report's hash.

    Means and variances are those of independent bits. So are the covariances of two values given a
    third, the own one, when the hash treats any three as independent. A random hash does. A
    Toeplitz matrix does except for 2^(2 l) / k of all pairs, whose differences to the true value
    are shifts of each other. Decoders get the composite marginal-binomial likelihood, as for bits.
    """

    def sample(
        self, operator: Operator, people: CountVector, rng: np.random.Generator
    ) -> CountVector:
        """Refuse: the joint distribution of all supports is not known."""
        raise UnsupportedChannelError(
            "no exact joint distribution of hashed supports is known. Randomize every person "
            "instead"
        )


def hashed_channel(
    domain: Domain, *, inside: float, outside: float, fingerprint: str, guarantee: Guarantee
) -> Channel:
    """Return the channel of support counts, for decoders of distributions.

    Raises UnsupportedChannelError when the domain is too large to count all its values.
    """
    if domain.size > LISTED:
        raise UnsupportedChannelError(
            f"a distribution can be decoded for at most {LISTED} values, but the domain has "
            f"{domain.size}. Look for its heavy hitters: ExhaustiveScan, or Candidates"
        )
    operator = CompoundSymmetric(domain.size, diagonal=inside, off_diagonal=outside)
    return Channel(domain, [Block(operator, HashedSupport())], fingerprint, guarantee)


def check_log(log: Observation, fingerprint: str) -> None:
    """Raise UnsupportedChannelError at no log, MismatchError at one of another randomizer."""
    check_observation(log)
    if log.kind != "log":
        raise UnsupportedChannelError(
            f"hashed reports are decoded from a log, got {type(log).__name__}"
        )
    if log.fingerprint != fingerprint:
        raise MismatchError(
            f"the log was made by randomizer {log.fingerprint[:12]}, but this channel is of "
            f"{fingerprint[:12]}. Decode it with the survey that collected it"
        )


@dataclass(frozen=True)
class LinearChannel:
    """Channel of linear hashing, which a decoder is given with the stored reports.

    domain: Values are keys: their numbers.
    near: A report with point y supports the values whose hash h has ``h xor y < near``.
    threshold: Probability that a report supports the own value.
    fingerprint: Of the randomizer.
    """

    domain: Domain
    hash: ToeplitzHash
    near: int
    threshold: Fraction
    fingerprint: str
    guarantee: Guarantee

    @property
    def inside(self) -> float:
        """Probability that a report supports the own value."""
        return float(self.threshold)

    @property
    def outside(self) -> float:
        """Probability that a report supports any other value: exactly near / 2^hash_bits."""
        return self.near / float(2**self.hash.hash_bits)

    def check(self, log: TallyLog) -> None:
        """Raise unless the log was made for this channel and holds at least one report.

        Raises UnsupportedChannelError when it is no log.
        Raises MismatchError when another randomizer made it.
        Raises TallyError when it holds no reports, or one that cannot occur.
        """
        self.check_origin(log)
        if log.total == 0:
            raise TallyError("there is nothing to decode: the log has no reports")
        bits = self.hash.seed_bits + self.hash.hash_bits
        if int(log.codes[-1]) >> bits:
            raise TallyError(f"the log is damaged: it contains a report of more than {bits} bits")

    def check_origin(self, log: TallyLog) -> None:
        """Raise unless the stored reports were made for this channel. There may be none."""
        check_log(log, self.fingerprint)

    @cached_property
    def spectrum(self) -> NDArray[np.int64]:
        """Walsh-Hadamard transform of the high-probability output set: int64 [2^hash_bits]."""
        return block_spectrum(self.near, self.hash.hash_bits)

    @property
    def points_of_a_report(self) -> int:
        """How many points a report adds to the transform of the supports: at most 2^l - 1."""
        return int(np.count_nonzero(self.spectrum[1:]))

    def parts(self, log: TallyLog) -> Iterator[TallyLog]:
        """Yield a log in parts of which each has few points, so that they need little memory."""
        reports = max(1, _POINTS_AT_A_TIME // self.points_of_a_report)
        for start in range(0, log.total, reports):
            yield TallyLog([log.codes[start : start + reports]], log.width, log.fingerprint)

    def points(self, log: TallyLog) -> tuple[NDArray[np.uint64], NDArray[np.int16]]:
        """Return the transform of the supports as weighted points.

        ``2^l supports(v) = near * reports + sum of weight * (-1)^popcount(position & v)``. A report
        with seed t and point y adds a term for every l parities c except 0. The term is the c-th
        entry of the set's transform at position ``M_t' c``, with the sign ``(-1)^popcount(c & y)``.

        Returns
        -------
        positions : numpy.ndarray
            uint64 [points], each below 2^key_bits.
        weights : numpy.ndarray
            int16 [points].
        """
        from lapwing.linear.operators.hash_kernels import spectrum_points

        codes = log.codes
        positions = np.empty(codes.size * self.points_of_a_report, dtype=np.uint64)
        weights = np.empty(positions.size, dtype=np.int16)
        spectrum_points(
            codes, self.hash.key_bits, self.hash.hash_bits, self.spectrum, positions, weights
        )
        return positions, weights

    def whole_numbers(self, reports: int) -> type[np.int32] | type[np.int64]:
        """Return the type that holds every entry of the transform of so many reports."""
        return np.int32 if reports * 2**self.hash.hash_bits < 2**31 else np.int64

    def supports(self, log: TallyLog, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each of some values: int64 [values].

        About 0.02 ns per report, value and bit of the hash.
        """
        from lapwing.linear.operators.hash_kernels import linear_supports

        counts = np.zeros(symbols.size, dtype=np.int64)
        keys = symbols.astype(np.uint64)
        key_bits, hash_bits = self.hash.key_bits, self.hash.hash_bits
        linear_supports(log.codes, keys, key_bits, hash_bits, np.uint64(self.near), counts)
        return counts

    def counts(self, log: TallyLog) -> CountTally:
        """Return how many reports support each value, as a tally that any decoder takes.

        One Walsh-Hadamard transform of all keys.

        Raises UnsupportedChannelError when there are more than 2^24 values.
        """
        from lapwing.linear.operators.hash_kernels import scatter, walsh

        self.check_origin(log)
        size = self.domain.size
        if size > LISTED:
            raise UnsupportedChannelError(
                f"the supports of at most {LISTED} values are counted at once, but the domain has "
                f"{size}. Use ExhaustiveScan or Candidates"
            )
        supports = np.zeros(2**self.hash.key_bits, dtype=self.whole_numbers(log.total))
        for part in self.parts(log):
            scatter(*self.points(part), supports)
        walsh(supports)
        counts = (supports[:size].astype(np.int64) + self.near * log.total) >> self.hash.hash_bits
        return CountTally([counts], [log.total], self.fingerprint, log.survey, log.standing)

    def shares(self, supports: NDArray[np.int64], reports: int) -> NDArray[np.float64]:
        """Return the unbiased shares behind numbers of supports."""
        return (supports / reports - self.outside) / self.gap

    @property
    def gap(self) -> float:
        """Inside minus outside."""
        return self.inside - self.outside

    def deviations(self, shares: NDArray[np.float64], reports: int) -> NDArray[np.float64]:
        """Return standard deviations of shares about those among the people who reported."""
        held = np.clip(shares, 0, 1)
        inside, outside = self.inside, self.outside
        variance = held * inside * (1 - inside) + (1 - held) * outside * (1 - outside)
        return np.sqrt(variance / reports) / self.gap

    def least_supports(self, reports: int, *, values: float, expected_false: float) -> int:
        """Return the number of supports that few values reach that nobody holds.

        values: How many values are looked at.
        expected_false: Number of them that may reach it on average, greater than 0.

        The supports of a value that nobody holds are exactly Binomial(reports, outside), so the
        expected number is ``values * P(Binomial >= limit)``, also though they are dependent. The
        Gaussian distribution would admit 10% too many at 6.7 standard deviations.
        """
        from scipy.stats import binom

        level = expected_false / values
        if level >= 1:
            return 0
        limit = int(binom.isf(level, reports, self.outside))
        # isf is right to one; the survival function decides.
        while limit > 0 and binom.sf(limit - 2, reports, self.outside) <= level:
            limit -= 1
        while binom.sf(limit - 1, reports, self.outside) > level:
            limit += 1
        return limit


@dataclass(frozen=True)
class PrefixChannel:
    """Groups of linear hashing, each on one length of prefix.

    domain: Of 2^L values.
    parts: One for each group, the shortest prefixes first. The last has all L bits.
    fingerprint: Of the randomizer.
    """

    domain: Domain
    parts: Sequence[LinearChannel]
    fingerprint: str
    guarantee: Guarantee

    def split(self, log: TallyLog) -> list[TallyLog]:
        """Return the log of each group.

        A report is the number of its group in the lowest byte, then the group's own report.

        Raises UnsupportedChannelError when it is no log.
        Raises MismatchError when another randomizer made it.
        Raises TallyError when a group has no reports, or one does not exist.
        """
        check_log(log, self.fingerprint)
        group = log.codes & np.uint64(0xFF)
        if int(group.max(initial=0)) >= len(self.parts):
            raise TallyError(
                "the log is damaged: it contains a report of a group that does not exist"
            )
        logs = []
        for number, part in enumerate(self.parts):
            own = log.codes[group == np.uint64(number)] >> np.uint64(8)
            bits = part.hash.seed_bits + part.hash.hash_bits
            logs.append(TallyLog([own], (bits + 7) // 8, part.fingerprint, log.survey))
        return logs

    def counts(self, log: TallyLog) -> CountTally:
        """Return how many reports of each group support each prefix, with the same errors."""
        counted = [part.counts(own) for part, own in zip(self.parts, self.split(log), strict=True)]
        return CountTally(
            [part.blocks[0] for part in counted],
            [part.total for part in counted],
            self.fingerprint,
            log.survey,
            log.standing,
        )
