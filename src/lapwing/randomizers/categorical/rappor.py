"""RAPPOR: a permanent round drawn once, and a fresh round on top of it for every report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, PrivacyError
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import CompoundSymmetric
from lapwing.privacy.exact_numbers import (
    ExactNumber,
    check_whole,
    epsilon_field,
    exponential_bounds,
    least_epsilon,
    square_root_below,
)
from lapwing.privacy.guarantee import Certificate, Guarantee
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    source_of,
    standing_of,
)
from lapwing.protocol.channels.channel import Block, Channel, ProductOfBits
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer, check_symbol, local_guarantee
from lapwing.randomizers.bit_reports import BitReports, write_bits

LARGEST_REPORT = 2**24
"""Most bits in a report."""

MOST_EXACT = 256
"""Number of reports up to which the guarantee is computed exactly. Beyond, it is that of any
number."""


@dataclass(frozen=True)
class Rappor(Randomizer[CountTally]):
    """RAPPOR: repeated reports with a bounded total privacy cost (Erlingsson et al., 2014).

    A device flips every bit of its value's unary code once (the permanent round). It flips the bits
    of that round again for every report (the instantaneous round). One report has privacy parameter
    `epsilon`. All reports from one permanent round together, however many, have privacy parameter
    `lifetime`.

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with k = 2 to 2^24 bins or categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    lifetime : int, float, str or Fraction, optional
        Privacy parameter of any number of reports from one permanent round, in nats. It is larger
        than epsilon and at most 24. The nearer it is to epsilon, the more two reports of a device
        look alike. Default: ``2 * epsilon``.

    Notes
    -----
    **Privacy.** Two values differ in two bits only. The permanent round keeps a bit with
    probability ``K / 2^64``, the instantaneous round with ``Q / 2^64``. So one report keeps it with
    probability ``s = (K Q + (2^64 - K) (2^64 - Q)) / 2^128``, and its worst-case likelihood ratio
    is ``(s / (1 - s))^2``. Q is the largest integer for which this is at most a rational lower
    bound of ``e^epsilon``. Any number of reports is post-processing of the permanent round. Its
    worst-case ratio is ``(K / (2^64 - K))^2``, at most ``e^lifetime``. For n reports see
    :meth:`certificate_of`.

    The guarantees for several reports apply to one permanent round, and so to one value. A device
    draws one round for each survey, from its first value, and keeps it when the value changes
    (:class:`lapwing.client.Device`). Then no report depends on a later value, and the lifetime
    covers all reports of this survey. A second round, for another value, would reveal that the
    value changed, and when it changed back. No lifetime bounds that. For values that change, use
    an ordinary randomizer, whose reports compose. Each survey costs a lifetime of its own.

    The method `randomize` does not know devices, so it makes the first reports of new people. If
    you use it again for the same people, it costs epsilon again, like any other randomizer.

    The contract tests check the distribution of one report. Further tests enumerate the
    distribution of several reports, and all histories of a device.

    **Accuracy.** One report is as accurate as unary encoding with the same epsilon. An unbiased
    share near 0 has variance ``e^(epsilon/2) / ((e^(epsilon/2) - 1)^2 n)``. Further reports of the
    same people average out only the noise of the instantaneous round.

    **Cost.** A report takes ``ceil(k / 8)`` bytes. Randomizing or tallying one takes O(k) time.

    The method is the basic RAPPOR of sections 2 and 3.1 of [1]_, with one bit for each category and
    no Bloom filter. Unlike there, the flips are symmetric and follow from the two privacy
    parameters. In the paper's notation ``f = 2 (1 - K / 2^64)``, ``q = Q / 2^64`` and ``p = 1 -
    q``.

    References
    ----------
    .. [1] U. Erlingsson, V. Pihur, A. Korolova, "RAPPOR: randomized aggregatable privacy-preserving
       ordinal response", ACM CCS, 2014. doi:10.1145/2660267.2660348

    Examples
    --------
    >>> import lapwing as lw
    >>> habits = lw.Rappor(lw.Categories(["never", "weekly", "daily"]), epsilon=1, lifetime=2)
    >>> habits.certificate().holds, [round(float(habits.epsilon_of(n)), 2) for n in (1, 2, 10)]
    (True, [1.0, 1.61, 2.0])
    >>> kept = habits.permanent_round("daily")  # once; store it, and forget the value
    >>> [len(habits.report(kept)) for month in range(2)]
    [1, 1]
    """

    domain: Annotated[Domain, domain_of(most=LARGEST_REPORT)]
    _: KW_ONLY
    lifetime: Annotated[Fraction, epsilon_field("lifetime")] | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, lifetime: ExactNumber | None = None
        ) -> None: ...

    name: ClassVar[str] = "rappor"

    if not TYPE_CHECKING:  # to a type checker it is a class variable, as everywhere else

        @property
        def decoder(self) -> str:
            """Name of the decoder that a survey uses by default."""
            return "least-squares" if self.domain.ordered else "mixture-prior"

    unshufflable: ClassVar[str] = (
        "its permanent round is drawn once for all reports of a person, so the gain from "
        "shuffling does not compose over rounds"
    )

    def __post_init__(self) -> None:
        """Make both promises exact and check the sizes."""
        super().__post_init__()
        if self.lifetime is not None and self.lifetime <= self.epsilon:
            raise PrivacyError(
                "lifetime (of all reports) must be larger than epsilon = "
                f"{float(self.epsilon):g} (of one), got {float(self.lifetime):g}. For a single "
                "report, use UnaryEncoding"
            )
        keep, again = self._keep_and_repeat
        if 2 * keep <= WORD or 2 * again <= WORD or again >= WORD:
            raise PrivacyError(
                "epsilon is too small, or too near to lifetime, to be expressed by 64-bit "
                "thresholds. Raise lifetime"
            )

    # Thresholds and promises.

    @property
    def _total(self) -> Fraction:
        """Epsilon of any number of reports from one permanent round."""
        return 2 * self.epsilon if self.lifetime is None else self.lifetime

    @cached_property
    def _keep_and_repeat(self) -> tuple[int, int]:
        root = square_root_below(exponential_bounds(self._total)[0])
        keep = int(WORD * root / (root + 1))
        once = square_root_below(exponential_bounds(self.epsilon)[0])
        # One report keeps a bit with probability (lost + Q (keep - lost) / 2^64) / 2^64.
        lost = WORD - keep
        again = int(WORD * (WORD * once / (once + 1) - lost) / (keep - lost)) if keep > lost else 0
        return keep, again

    @property
    def _thresholds(self) -> dict[str, int]:
        """The thresholds with which either round keeps a bit."""
        keep, again = self._keep_and_repeat
        return {"permanent": keep, "instantaneous": again}

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"bits": self.domain.size}

    @cached_property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of one report (pure epsilon in the local model), and of a lifetime."""
        return replace(local_guarantee(self.epsilon), lifetime=self._total)

    @cached_property
    def _bit_kept(self) -> Fraction:
        """Probability that one report shows a bit as it is."""
        keep, again = self._keep_and_repeat
        return Fraction(keep * again + (WORD - keep) * (WORD - again), WORD**2)

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio of one report."""
        return Certificate(self.epsilon, (self._bit_kept / (1 - self._bit_kept)) ** 2)

    def certificate_of(self, reports: int | None = None) -> Certificate:
        """Return the exact worst likelihood ratio of several reports from one permanent round.

        Parameters
        ----------
        reports : int, optional
            Number of reports, in 1..256, in any order. Default: any number, which is the permanent
            round itself.

        Returns
        -------
        Certificate
            Claimed epsilon and exact worst-case likelihood ratio of that many reports.

        Notes
        -----
        Given the permanent bit, the reports of a bit are independent. Their likelihood depends on
        the number of ones, and its ratio grows with that number. So the worst case is n ones of
        the first value's bit and n zeros of the second value's bit. Both have the ratio ``(K Q^n +
        L R^n) / (L Q^n + K R^n)`` with ``L = 2^64 - K`` and ``R = 2^64 - Q``.
        """
        keep, again = self._keep_and_repeat
        lost, changed = WORD - keep, WORD - again
        if reports is None:
            return Certificate(self._total, Fraction(keep, lost) ** 2)
        reports = check_whole("reports", reports, low=1, high=MOST_EXACT)
        same, other = again**reports, changed**reports
        one = Fraction(keep * same + lost * other, lost * same + keep * other)
        return Certificate(min(reports * self.epsilon, self._total), one**2)

    def epsilon_of(self, reports: int | None = None) -> Fraction:
        """Return an epsilon that this many reports are proved to satisfy.

        It is the smallest such epsilon, rounded up to a multiple of 1e-6. If the stated privacy
        parameter lies between two multiples and is proved, it is that parameter. So it never
        exceeds the lifetime, and never decreases with the number of reports.

        Parameters
        ----------
        reports : int, optional
            Number of reports from one permanent round, at least 1. Default: any number.

        Returns
        -------
        Fraction
            Proved epsilon of these reports together.
        """
        if isinstance(reports, int) and reports > MOST_EXACT:
            reports = None
        certificate = self.certificate_of(reports)
        least = least_epsilon(certificate.ratio)
        return min(least, certificate.epsilon) if certificate.holds else least

    def charge(self, reports: int = 1, *, after: int = 0) -> Guarantee | None:
        """Return the privacy cost to charge for further reports from one permanent round.

        Parameters
        ----------
        reports : int
            Number of further reports, at least 1. Default: 1.
        after : int
            Number of reports that the device has already sent and been charged for. Default: 0.

        Returns
        -------
        Guarantee or None
            Amount by which the guarantee of all reports exceeds that of the earlier ones. None when
            nothing is left to charge. The charges of a device sum to at most its lifetime.
        """
        if reports < 1 or after < 0:
            raise ArgumentError(
                "reports",
                "must be at least 1, and after must be at least 0",
                f"{reports} and {after}",
            )
        before = self.epsilon_of(after) if after else Fraction(0)
        more = self.epsilon_of(after + reports) - before
        return local_guarantee(more) if more > 0 else None

    @cached_property
    def _layout(self) -> BitReports:
        return BitReports(self.domain.size)

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one block of independent bits, for one round."""
        kept = float(self._bit_kept)
        operator = CompoundSymmetric(self.domain.size, diagonal=kept, off_diagonal=1 - kept)
        block = Block(operator, ProductOfBits())
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    # Reports.

    def permanent_round(self, value: Any, *, rng: RandomSource | None = None) -> bytes:
        """Return the permanent round of a person's first value, to be drawn once for each survey.

        Parameters
        ----------
        value : object
            Value of the domain.
        rng : RandomSource, optional
            Source of random numbers. Default: the secure source of the operating system. A seeded
            one is for tests only, because the bytes do not show that they came from a seed.

        Returns
        -------
        bytes
            One bit for each category. Store it on the device and keep it when the value changes. It
            protects the value with the lifetime, so it must not leave the device.

        Raises
        ------
        DomainError
            When the value is not in the domain.
        """
        rows = np.empty((1, self.report_width), dtype=np.uint8)
        self._draw_permanent(self.domain.index([value]), rows, source_of(rng))
        return rows.tobytes()

    def _draw_permanent(
        self, symbols: NDArray[np.int64], rows: NDArray[np.uint8], source: RandomSource
    ) -> None:
        keep = self._keep_and_repeat[0]
        rows[:] = self._layout.draw(source, threshold=WORD - keep, count=symbols.size)
        write_bits(rows, symbols, bernoulli(source, threshold=keep, count=symbols.size))

    def _instantaneous_changes(self, source: RandomSource, count: int) -> NDArray[np.uint8]:
        """Keeping a bit with probability Q is changing it with the rest, whatever it is."""
        return self._layout.draw(source, threshold=WORD - self._keep_and_repeat[1], count=count)

    def report(
        self, permanent_round: bytes, *, survey: str | None = None, rng: RandomSource | None = None
    ) -> Reports:
        """Return one report from a permanent round.

        Parameters
        ----------
        permanent_round : bytes
            Result of :meth:`permanent_round`. Two surveys must never share one.
        survey : str, optional
            Fingerprint of the survey that asks, :attr:`lapwing.Survey.fingerprint`. Default: none.
        rng : RandomSource, optional
            Source of random numbers for the instantaneous round. Default: the secure source of the
            operating system.

        Returns
        -------
        Reports
            Batch of one report.

        Raises
        ------
        ArgumentError
            When the bytes are not a permanent round of this randomizer.
        """
        whole = isinstance(permanent_round, bytes) and len(permanent_round) == self.report_width
        if not whole or permanent_round[-1] > self._layout.last:
            raise ArgumentError(
                f"a permanent round must be the {self.report_width} bytes that permanent_round of "
                "this randomizer returned"
            )
        kept = np.frombuffer(permanent_round, dtype=np.uint8)
        source = source_of(rng)
        data = kept ^ self._instantaneous_changes(source, 1)
        return Reports(data, self.fingerprint, survey, standing_of(source))

    def _permanent(self, symbol: int, words: Iterator[int]) -> list[bool]:
        keep = self._keep_and_repeat[0]
        own = [next(words) < keep for _ in range(self.domain.size)]
        return [kept == (other == symbol) for other, kept in enumerate(own)]

    def _instantaneous(self, permanent: list[bool], words: Iterator[int]) -> bytes:
        again = self._keep_and_repeat[1]
        return self._layout.report(
            symbol for symbol, bit in enumerate(permanent) if (next(words) < again) == bit
        )

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the first report that these random 64-bit words produce for one category.

        One word for each category, in order, determines whether the permanent round keeps its bit.
        It does if the word is below the first threshold. Then one word for each category
        determines whether the instantaneous round keeps that bit.
        """
        check_symbol(value, self.domain.size)
        return self._instantaneous(self._permanent(value, words), words)

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report for each value, as first reports of new people who store nothing.

        It is for simulation, and for surveys that ask once. A device that will be asked again keeps
        a :meth:`permanent_round`.
        """
        return super().randomize(values, rng=rng)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        def fill(symbols: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            self._draw_permanent(symbols, rows, source)
            rows ^= self._instantaneous_changes(source, symbols.size)

        return self._layout.make(points, fill)
