"""Prefix sums round after round: newly collected people are added, and old rows are not re-paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, MismatchError, PrivacyError
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.sums import UNIT, SquareRootSums, coefficients
from lapwing.mechanisms.linear_mechanism import check_part, part_of
from lapwing.mechanisms.prefix_sums import PrefixSums, SquareRootStrategy
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Noise, Sensitivity, calibrated
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of
from lapwing.protocol.domains.domain import Domain, check_ordered
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import LARGEST_ANSWER, Mechanism, Release, check_unit

TIME_UNIT = 2**8
"""Weights of earlier rounds are whole multiples of 1 / TIME_UNIT."""

MOST_ROUNDS = 1000


@dataclass(frozen=True)
class RunningPrefixSums(Mechanism):
    """Continual release of prefix sums (Fichtenberger, Henzinger and Upadhyay, 2023).

    It gives the distribution of all people so far, after each of a fixed number of rounds.

    Round t releases prefix-sum answers of the rounds so far, the older with less weight, by the
    square-root factorization in time as well. Their combination has the noise of 1.8 rounds after
    ten rounds, where adding ten separate releases has that of 3.2.

    Parameters
    ----------
    rounds : int
        The most there will be, in 1..1000; fixed before the first.

    Notes
    -----
    **Privacy.** A person is in one round. Their row changes the answers of that round and, with the
    weights of its column, of all later ones, so the squared sensitivity is that of prefix sums
    times the sum of squared weights, exactly. All rounds together keep the promise; stopping early
    is free. The curator keeps the exact counts of earlier rounds, as secret as the data.

    Each round may be drawn once: the noise of many drawings averages out. So :meth:`following`
    needs the ledger that paid for all rounds, which marks a round before its noise is drawn and
    refuses it a second time. A round that was marked and lost, by a crash, ends the rounds.

    **Accuracy.** Noise grows with the logarithm of the rounds: variance about
    ``(1 + ln(rounds) / pi) (1 + ln(t) / pi)`` times one release's.

    The method is the continual counting of [1]_, as a Kronecker product with the prefix sums over
    symbols.

    References
    ----------
    .. [1] H. Fichtenberger, M. Henzinger, J. Upadhyay, "Constant matters: fine-grained error bound
       on differentially private continual observation", ICML, 2023.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> from tempfile import TemporaryDirectory
    >>> from lapwing.privacy.guarantee import Guarantee
    >>> running = RunningPrefixSums(rounds=4)
    >>> promise = Promise("replace-one", epsilon=1, delta="1e-6")
    >>> unit = Interval(0, 1, bins=8)
    >>> months = [ExactCounts.of_values(np.full(100, m / 4), unit) for m in range(2)]
    >>> loss = running.loss(months[0].domain, promise)
    >>> with TemporaryDirectory() as folder:
    ...     Ledger(promise.guarantee(loss)).save(Path(folder) / "budget.json")
    ...     ledger = Ledger.open(Path(folder) / "budget.json")
    ...     paid = dict(loss=loss, release="0" * 32, rounds=4)
    ...     # As :func:`lapwing.release` does with mechanism=running and ledger=ledger.
    ...     with ledger.paying("months", promise.guarantee(loss), **paid):
    ...         first = running.release(months[0], promise, rng=seeded(1), identifier="0" * 32)
    ...     second = running.following(first, months[:1], months[1], ledger=ledger, rng=seeded(2))
    >>> second.people
    200
    """

    rounds: int = 10

    name: ClassVar[str] = "running-prefix-sums"
    most_people: ClassVar[int] = LARGEST_ANSWER // (TIME_UNIT * UNIT) - 1

    def __post_init__(self) -> None:
        """Check the number of rounds."""
        check_whole_field(self, "rounds", low=1, high=MOST_ROUNDS)

    @property
    def weights(self) -> NDArray[np.int64]:
        """TIME_UNIT times the weight of a round in itself and the later ones: int64 [rounds]."""
        return _weights(self.rounds)

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError when the domain does not suit prefix sums."""
        check_ordered(domain, name=self.name)
        PrefixSums().check(domain)

    def _sensitivity(self, size: int, neighbors: Neighbors) -> Sensitivity:
        one = SquareRootStrategy(size).sensitivity(neighbors)
        weights = self.weights
        return Sensitivity(one.squared * int((weights**2).sum()), one.absolute * int(weights.sum()))

    def _noise(self, size: int, promise: Promise) -> tuple[Noise, Sensitivity]:
        if not promise.shows_people:
            raise PrivacyError(
                "running prefix sums need public numbers of people in every round: use neighbors "
                "'replace-one' without a unit, or add separate releases of prefix sums"
            )
        sensitivity = self._sensitivity(size, promise.neighbors)
        return calibrated(promise, sensitivity), sensitivity

    def loss(self, domain: Domain, promise: Promise) -> PrivacyLoss:
        """Return what all rounds together will cost, before anything is drawn."""
        self.check(domain)
        noise, sensitivity = self._noise(domain.size, promise)
        return noise.loss(sensitivity)

    def _draw(
        self, summary: ExactCounts, promise: Promise, source: RandomSource, identifier: str | None
    ) -> Release:
        """Return the release of the first round; pay for all of them, see :meth:`following`."""
        self._check([summary])
        noise, sensitivity = self._noise(summary.domain.size, promise)
        return self._answered([summary], promise, noise, sensitivity, None, source, identifier)

    def following(
        self,
        before: Release,
        earlier: Sequence[ExactCounts],
        summary: ExactCounts,
        *,
        ledger: LedgerFile | Path | str,
        rng: RandomSource | None = None,
    ) -> Release:
        """Return the release after one more round.

        Parameters
        ----------
        before : Release
            After the rounds so far.
        earlier : sequence of ExactCounts
            The exact counts of those rounds, in order.
        summary : ExactCounts
            Of the newly collected people.
        ledger : LedgerFile or path
            That paid for the first round. It marks this one before its noise is drawn.
        rng : RandomSource, optional

        Raises
        ------
        MismatchError
            When the earlier rounds are not those of the release.
        ArgumentError
            When all rounds have been released.
        BudgetError
            When the ledger did not pay, or this round was drawn before. Nothing is drawn.
        """
        people = [part.people for part in before.parts]
        domains = {s.domain == before.domain for s in [*earlier, summary]}
        if before.mechanism != self or people != [s.people for s in earlier] or domains != {True}:
            raise MismatchError(
                "the exact counts must be those of the earlier rounds, in order, on the domain and "
                "bins of the release"
            )
        if len(before.parts) == self.rounds:
            raise ArgumentError(f"all {self.rounds} rounds have been released")
        summaries = [*earlier, summary]
        source = source_of(rng)
        self._check(summaries)
        promise = before.parts[0].promise
        check_unit(self, promise, *summaries)
        noise, sensitivity = self._noise(summary.domain.size, promise)
        file = Ledger.open(ledger)
        # Everything else that can fail was before this.
        file.begin_round(
            before.parts[0].identifier, after=len(before.parts), loss=noise.loss(sensitivity)
        )
        return self._answered(summaries, promise, noise, sensitivity, before, source, None)

    def _check(self, summaries: Sequence[ExactCounts]) -> None:
        domain = summaries[-1].domain
        self.check(domain)
        # The number of people is public here, so this error tells nothing else.
        people = sum(summary.people for summary in summaries)
        if people > self.most_people:
            raise ArgumentError("exact answers over rounds are limited to fewer than 2^34 people")

    def _answered(
        self,
        summaries: Sequence[ExactCounts],
        promise: Promise,
        noise: Noise,
        sensitivity: Sensitivity,
        before: Release | None,
        source: RandomSource,
        identifier: str | None,
    ) -> Release:
        domain = summaries[-1].domain
        part = part_of(
            noise,
            promise,
            sensitivity,
            summaries[-1].people,
            source=source,
            identifier=identifier,
        )
        drawn = noise.draw(domain.size, source)
        weighted = sum(
            int(weight) * summary.counts
            for weight, summary in zip(self.weights, reversed(summaries), strict=False)
        )
        exact = SquareRootStrategy(domain.size).answers(np.asarray(weighted, dtype=np.int64))
        if before is None:
            return Release(self, domain, exact + drawn, [part])
        answers = np.concatenate([before.answers, exact + drawn])
        return Release(self, domain, answers, [*before.parts, part])

    def verify(self, release: Release) -> None:
        """Raise PrivacyError unless the noise of a release keeps its promise."""
        for part in release.parts:
            _, sensitivity = self._noise(release.domain.size, part.promise)
            check_part(part, part.noise.loss(sensitivity))
        if len(release.parts) > self.rounds:
            raise PrivacyError("this release has more rounds than were paid for")

    def combined(self, release: Release) -> NDArray[np.int64]:
        """Return the prefix-sum answers of all people so far, from those of the rounds."""
        rounds = release.answers.reshape(len(release.parts), release.domain.size)
        combined: NDArray[np.int64] = np.rint(self._row(len(rounds)) @ rounds).astype(np.int64)
        return combined

    def _row(self, rounds: int) -> NDArray[np.float64]:
        """Return the weights of the released rounds in the total: ones divided by the root."""
        root = np.zeros((rounds, rounds))
        for age in range(rounds):
            root += np.diag(np.full(rounds - age, float(self.weights[age])), -age)
        row: NDArray[Any] = np.linalg.solve(root.T, np.ones(rounds))
        return row

    def _operator_for(self, release: Release) -> SquareRootSums:
        return SquareRootStrategy(release.domain.size).operator

    def _variance_for(self, release: Release) -> float:
        row = self._row(len(release.parts))
        return release.parts[0].noise.variance * float(row @ row)


@memoized(most=16)
def _weights(rounds: int) -> NDArray[np.int64]:
    weights: NDArray[np.int64] = np.rint(
        coefficients(max(rounds, 2))[:rounds] / (2**20 // TIME_UNIT)
    ).astype(np.int64)
    weights.flags.writeable = False
    return weights
