"""Linear mechanisms: whole-number combinations of exact counts, plus independent noise."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.errors import ArgumentError, PrivacyError
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.operator import BlockDiagonal, Operator, as_operator
from lapwing.linear.whole_columns import LARGEST_ENTRY
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Noise, Sensitivity, calibrated
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, standing_of
from lapwing.protocol.domains.domain import Domain, check_ordered
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release, ReleasePart

if TYPE_CHECKING:  # so that completion does not stumble over the words of a property
    from lapwing.privacy.integer_noise import Kind

CountVector = NDArray[np.int64]

MOST_BINS = 2**14
"""Most bins of a released distribution function. The time for its band grows with their square."""


class Strategy(Protocol):
    """A fixed matrix of whole numbers: which combinations of the counts are asked."""

    @property
    def operator(self) -> LinearOperator:
        """The same matrix in floating point: shape [answers, symbols]."""
        ...

    @property
    def largest(self) -> int:
        """The largest absolute value in the matrix."""
        ...

    def answers(self, counts: CountVector) -> CountVector:
        """Return the exact answers: int64 [answers]."""
        ...

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return how far the answers of two neighbors can be apart, exactly."""
        ...

    def __hash__(self) -> int:
        """Return a number that is equal for equal strategies."""
        ...


@dataclass(frozen=True)
class UnitStrategy:
    """Strategy that hides a unit of up to `most` rows instead of one row.

    strategy: Of the relation that hides how many rows there are.
    most: Largest number of rows of one unit, at least 1.

    **Privacy.** Rows add columns. A unit that is added or removed moves the answers by a sum of up
    to k columns. A unit that is replaced moves them by the difference of two such sums. A norm is
    convex, so it is largest at a corner: k times a column, or k times the difference of two. All
    rows of a unit may be equal, so the bound is reached.
    """

    strategy: Strategy
    most: int

    @property
    def operator(self) -> LinearOperator:
        """The same matrix."""
        return self.strategy.operator

    @property
    def largest(self) -> int:
        """The same entries."""
        return self.strategy.largest

    def answers(self, counts: CountVector) -> CountVector:
        """Return the same answers."""
        return self.strategy.answers(counts)

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return how far one unit moves the answers, exactly."""
        moved = [self.strategy.sensitivity("add-or-remove-one")]
        if neighbors == "replace-one":
            moved.append(self.strategy.sensitivity("replace-one"))
        squared, absolute = max(one.squared for one in moved), max(one.absolute for one in moved)
        return Sensitivity(self.most**2 * squared, self.most * absolute)


@dataclass(frozen=True)
class SegmentedStrategy:
    """The same questions about each segment of a table, each segment on its own.

    strategy: Of one segment, for the relation that hides how many rows there are.
    segments: At least 2. The rows in none of the listed ones are one of them.

    A row that comes or goes moves the answers of one segment. A row that is replaced either stays
    in its segment, or leaves one and comes to another. Answers of two segments have no entry in
    common, so the squared norms of the two columns add, and so do the absolute ones.
    """

    strategy: Strategy
    segments: int

    @property
    def operator(self) -> LinearOperator:
        """The matrix of one segment, along the diagonal."""
        return BlockDiagonal(self.strategy.operator, times=self.segments)

    @property
    def largest(self) -> int:
        """The same entries."""
        return self.strategy.largest

    def answers(self, counts: CountVector) -> CountVector:
        """Return the exact answers of all segments, one segment after the other."""
        tables = counts.reshape(self.segments, -1)
        return np.concatenate([self.strategy.answers(table) for table in tables])

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return how far one row moves the answers, exactly."""
        come = self.strategy.sensitivity("add-or-remove-one")
        if neighbors == "add-or-remove-one":
            return come
        within = self.strategy.sensitivity("replace-one")
        squared = max(2 * come.squared, within.squared)
        return Sensitivity(squared, max(2 * come.absolute, within.absolute))


def part_of(
    noise: Noise,
    promise: Promise,
    sensitivity: Sensitivity,
    people: int,
    *,
    source: RandomSource,
    identifier: str | None = None,
) -> ReleasePart:
    """Return the record of one drawing of noise, under a fresh identifier if none is given."""
    drawn = source.words(2).astype("<u8").tobytes().hex()
    identifier = drawn if identifier is None else identifier
    shown = people if promise.shows_people else None
    return ReleasePart(
        identifier, promise, noise, noise.loss(sensitivity), shown, standing_of(source)
    )


def least_noise(
    strategy: Strategy, promise: Promise, *, kind: Kind | None = None
) -> tuple[Noise, Sensitivity]:
    """Return the least noise with which answers keep a privacy guarantee, and what it hides.

    Everything that a release can be refused for is refused here, so whoever asks for the loss
    before paying has asked for it all.

    Raises ArgumentError when the matrix has numbers that are too large for exact answers.
    Raises PrivacyError, MissingExtraError as :func:`lapwing.privacy.integer_noise.calibrated`.
    """
    if strategy.largest >= LARGEST_ENTRY:
        raise ArgumentError("the numbers of this strategy are too large for exact answers")
    sensitivity = strategy.sensitivity(promise.neighbors)
    return calibrated(promise, sensitivity, kind=kind), sensitivity


def check_part(release_part: ReleasePart, loss: PrivacyLoss) -> None:
    """Raise PrivacyError unless a component has the stated loss and privacy guarantee."""
    if release_part.loss != loss:
        raise PrivacyError(
            "the stated privacy loss does not match the noise scale. Do not use this release"
        )
    if not release_part.promise.allows(release_part.loss):
        raise PrivacyError(
            "the noise is too small for the privacy guarantee. Do not use this release"
        )


def check_curve(domain: Domain, *, name: str, most: int = MOST_BINS) -> None:
    """Raise ArgumentError unless a distribution function can be released on so many bins."""
    check_ordered(domain, name=name)
    bins = domain.left.size - len(domain.outside_indices)
    if domain.size < 2 or bins > most:
        raise ArgumentError(
            f"{name} is for at least 2 symbols and at most {most} bins, got {bins} bins. Use "
            f"{'fewer' if bins > most else 'more'} bins"
        )


class LinearMechanism(Mechanism):
    """Base class of mechanisms that answer a strategy matrix with added noise."""

    linear: ClassVar[bool] = True
    hides_units: ClassVar[bool] = True

    @property
    def noise(self) -> Kind | None:
        """Kind of the noise, or None for the kind with less variance."""
        return None

    @abstractmethod
    def strategy_for(self, domain: Domain, neighbors: Neighbors) -> Strategy:
        """Return the strategy matrix for a domain.

        Parameters
        ----------
        domain : Domain
            Domain of the exact counts.
        neighbors : {"replace-one", "add-or-remove-one"}
            Neighbor relation.

        Returns
        -------
        Strategy
            Matrix of whole numbers that turns counts into exact answers.

        Raises
        ------
        ArgumentError
            When the domain does not suit the mechanism.
        """

    def noise_for(self, strategy: Strategy, promise: Promise) -> tuple[Noise, Sensitivity]:
        """Return the noise of each answer, and the sensitivity that it covers.

        Parameters
        ----------
        strategy : Strategy
            Strategy matrix.
        promise : Promise
            Privacy parameters of the release.

        Returns
        -------
        noise : Noise
            Noise distribution, with the least scale that meets the privacy guarantee.
        sensitivity : Sensitivity
            Largest L1 norm and squared L2 norm of the difference between the answers of two
            neighbors.

        Raises
        ------
        ArgumentError
            When the numbers of the matrix are too large for exact answers.
        PrivacyError, MissingExtraError
            When no noise meets the privacy guarantee, or its sampler is not installed.
        """
        return least_noise(strategy, promise, kind=self.noise)

    def _strategy_of(self, release: Release) -> Strategy:
        return strategy_under(self, release.domain, release.parts[0].promise)

    def loss(self, domain: Domain, promise: Promise) -> PrivacyLoss:
        """Return the privacy loss of a release, before anything is drawn."""
        strategy = strategy_under(self, domain, promise)
        noise, sensitivity = self.noise_for(strategy, promise)
        return noise.loss(sensitivity)

    def _draw(
        self, summary: ExactCounts, promise: Promise, source: RandomSource, identifier: str | None
    ) -> Release:
        """Return the answers of the strategy with the least noise that the guarantee allows."""
        # All noise is drawn before the counts are looked at: the time it takes tells nothing of
        # them.
        strategy = strategy_under(self, summary.domain, promise)
        noise, sensitivity = self.noise_for(strategy, promise)
        part = part_of(
            noise, promise, sensitivity, summary.people, source=source, identifier=identifier
        )
        drawn = noise.draw(strategy.operator.shape[0], source)
        return Release(self, summary.domain, strategy.answers(summary.counts) + drawn, [part])

    def verify(self, release: Release) -> None:
        """Raise PrivacyError unless every component has the stated loss and privacy guarantee.

        A document is not trusted. The sensitivity is computed again, exactly.

        Raises
        ------
        PrivacyError
            When a stated loss does not match the noise, or the noise is too small for the privacy
            guarantee.
        """
        # Parts of a large sum share these objects.
        known = {(id(one.promise), id(one.noise), id(one.loss)): one for one in release.parts}
        for part in known.values():
            strategy = strategy_under(self, release.domain, part.promise)
            check_part(part, part.noise.loss(strategy.sensitivity(part.promise.neighbors)))

    def _operator_for(self, release: Release) -> LinearOperator:
        strategy = self._strategy_of(release)
        return _operator(strategy.strategy if isinstance(strategy, UnitStrategy) else strategy)

    def estimated_people(self, release: Release) -> int:
        """Return the estimated number of people: the sum of the noisy answers.

        Returns
        -------
        int
            Estimate, which may be negative.
        """
        # As whole numbers of any size: a sum of many answers need not fit 64 bits.
        return sum(release.answers.tolist())


@memoized(most=4)
def _operator(strategy: Strategy) -> Operator:
    """Return one object for equal strategies, so that decoders may keep what follows from it."""
    return as_operator(strategy.operator)


def strategy_under(mechanism: LinearMechanism, domain: Domain, promise: Promise) -> Strategy:
    """Return what a mechanism asks under a privacy guarantee."""
    if promise.unit is None:
        return mechanism.strategy_for(domain, promise.neighbors)
    # A unit may come with more or fewer rows, so their number has to be asked, too.
    return UnitStrategy(mechanism.strategy_for(domain, "add-or-remove-one"), promise.unit.most)
