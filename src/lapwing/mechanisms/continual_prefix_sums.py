"""Prefix sums round after round: new people are added, and old rows are not paid for again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import From
from lapwing.errors import ArgumentError, MismatchError, PrivacyError
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.sums import UNIT, SquareRootSums, coefficients
from lapwing.mechanisms.linear_mechanism import check_part, part_of
from lapwing.mechanisms.prefix_sums import PrefixSums, SquareRootStrategy
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Noise, Sensitivity, calibrated
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.ledger_entry import check_standing
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
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

    Round t releases prefix-sum answers over the rounds so far, with less weight for older rounds.
    The weights are those of the square-root factorization over time. After ten rounds the combined
    answers have the noise of 1.8 rounds. The sum of ten separate releases has the noise of 3.2.

    Parameters
    ----------
    rounds : int
        Largest number of rounds, in 1..1000. Default: 10. It is fixed before the first round.

    Raises
    ------
    ArgumentError
        When `rounds` is out of range.

    Notes
    -----
    **Privacy.** A person is in one round. Their row changes the answers of that round and of all
    later ones, with the weights of its column. So the squared sensitivity is exactly that of
    prefix sums times the sum of squared weights. All rounds together meet the privacy guarantee,
    and stopping early is safe. The curator keeps the exact counts of earlier rounds, which are as
    secret as the data.

    Each round may be drawn once, because the noise of repeated draws averages out. So
    :meth:`following` needs the ledger that paid for all rounds. The ledger marks a round before
    its noise is drawn, and refuses to draw it again. After a crash, a round that was marked but
    not stored is the last one.

    **Accuracy.** Noise grows with the logarithm of the rounds. The variance is about ``(1 +
    ln(rounds) / pi) (1 + ln(t) / pi)`` times that of one release.

    **Cost.** Time O(symbols^2) for each round. The release has one number for each symbol and
    round.

    The method is the continual counting of [1]_, as a Kronecker product with the prefix sums over
    symbols.

    References
    ----------
    .. [1] H. Fichtenberger, M. Henzinger, J. Upadhyay, "Constant matters: fine-grained error bound
       on differentially private continual observation", ICML, 2023.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> running = lw.mechanisms.RunningPrefixSums(rounds=4)
    >>> domain = lw.Interval(0, 100, bins=64)
    >>> draw = np.random.default_rng(1)
    >>> months = [
    ...     lw.protocol.ExactCounts.of_values(draw.normal(40, 12, size=5000), domain)
    ...     for _ in range(2)]
    >>> budget = lw.Guarantee(1, "1e-6", "replace-one", "central")
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "budget.json"
    ...     lw.Ledger(budget).save(path)
    ...     first = lw.release(
    ...         months[0], neighbors="replace-one", epsilon=1, delta="1e-6", mechanism=running,
    ...         ledger=path).release
    ...     second = running.following(
    ...         first, months[:1], months[1], ledger=path)
    >>> second.people
    10000
    """

    rounds: Annotated[int, From(1, MOST_ROUNDS)] = 10

    name: ClassVar[str] = "running-prefix-sums"
    most_people: ClassVar[int] = LARGEST_ANSWER // (TIME_UNIT * UNIT) - 1

    @property
    def weights(self) -> NDArray[np.int64]:
        """TIME_UNIT times the weight of a round in its own and later releases: int64 [rounds]."""
        return _weights(self.rounds)

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError if the domain does not suit prefix sums.

        Raises
        ------
        ArgumentError
            When there are fewer than 2 or more than 2^14 symbols.
        DomainError
            When the symbols have no order.
        """
        check_ordered(domain, name=self.name)
        PrefixSums().check(domain)

    def _sensitivity(self, size: int, neighbors: Neighbors) -> Sensitivity:
        one = SquareRootStrategy(size).sensitivity(neighbors)
        weights = self.weights
        return Sensitivity(one.squared * int((weights**2).sum()), one.absolute * int(weights.sum()))

    def _noise(self, size: int, promise: Promise) -> tuple[Noise, Sensitivity]:
        if not promise.shows_people:
            raise PrivacyError(
                "running prefix sums need a public number of people in every round. Use "
                "neighbors 'replace-one' without a unit, or add separate releases of prefix "
                "sums"
            )
        sensitivity = self._sensitivity(size, promise.neighbors)
        return calibrated(promise, sensitivity), sensitivity

    def loss(self, domain: Domain, promise: Promise) -> PrivacyLoss:
        """Return the privacy loss of all rounds together, before anything is drawn.

        Parameters
        ----------
        promise : Promise
            Privacy parameters of all rounds together, with public numbers of people.
        """
        self.check(domain)
        noise, sensitivity = self._noise(domain.size, promise)
        return noise.loss(sensitivity)

    def _draw(
        self, summary: ExactCounts, promise: Promise, source: RandomSource, identifier: str | None
    ) -> Release:
        """Return the release of the first round. Pay for all of them, see :meth:`following`."""
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
            Release after the rounds so far.
        earlier : sequence of ExactCounts
            Exact counts of those rounds, in order.
        summary : ExactCounts
            Exact counts of the newly collected people.
        ledger : LedgerFile, Path or str
            Ledger that paid for the first round. It marks this round before its noise is drawn.
        rng : RandomSource, optional
            Default: secure randomness. A seeded source is for tests and simulation only.

        Returns
        -------
        Release
            Release of all rounds so far.

        Raises
        ------
        MismatchError
            When the earlier rounds are not those of the release.
        ArgumentError
            When all rounds have been released.
        BudgetError
            When the ledger did not pay, or this round was already drawn. Nothing is drawn.
        """
        people = [part.people for part in before.parts]
        domains = {s.domain == before.domain for s in [*earlier, summary]}
        if before.mechanism != self or people != [s.people for s in earlier] or domains != {True}:
            raise MismatchError(
                "the exact counts must be those of the earlier rounds, in order, with the "
                "domain and bins of the release"
            )
        if len(before.parts) == self.rounds:
            raise ArgumentError(f"all {self.rounds} rounds have been released")
        summaries = [*earlier, summary]
        source = source_of(rng)
        self._check(summaries)
        promise = before.parts[0].promise
        check_unit(self, promise, *summaries)
        noise, sensitivity = self._noise(summary.domain.size, promise)
        check_standing(standing_of(source), name=f"round {len(people) + 1}")
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
            noise, promise, sensitivity, summaries[-1].people, source=source, identifier=identifier
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
        """Raise PrivacyError unless the noise of a release meets its privacy guarantee.

        Raises
        ------
        PrivacyError
            When the noise is too small, or there are more rounds than were paid for.
        """
        for part in release.parts:
            _, sensitivity = self._noise(release.domain.size, part.promise)
            check_part(part, part.noise.loss(sensitivity))
        if len(release.parts) > self.rounds:
            raise PrivacyError("this release has more rounds than were paid for")

    def combined(self, release: Release) -> NDArray[np.int64]:
        """Return the prefix-sum answers for all people so far, from those of the rounds.

        Returns
        -------
        numpy.ndarray
            Noisy answers, int64 [symbols].
        """
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
