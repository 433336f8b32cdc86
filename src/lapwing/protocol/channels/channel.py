"""Channel: the distribution of counts of reports, given the distribution of the values.

A block of a channel is an operator M and a distribution of the counts of one report, whose mean
is ``M mass``. The distribution is stated for each block, because a wrong one is silently wrong:
expectation maximization on bits declared multinomial returns a confident wrong answer. As far as
possible it is checked when the block is made.

=================  ===========================================  =================================
distribution       a report is                                  used by
=================  ===========================================  =================================
Multinomial        one output                                   randomized response, square wave
ProductOfBits      a bit per output, independent given a value  unary encoding
FixedSizeSubset    a set of outputs of one size                 subset selection, affine
=================  ===========================================  =================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import (
    ArgumentError,
    MismatchError,
    TallyError,
    UnsupportedChannelError,
    kind_of,
)
from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.operator import Operator, WeightedInformation, as_operator, dense
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally, Observation, check_observation

CountVector = NDArray[np.int64]

Draw = Callable[[CountVector, np.random.Generator], CountVector]

_TINY = 1e-300
"""Added to a probability that is divided by: an output nobody could have sent has count zero."""


class Law(Protocol):
    """Interface of the distributions. Shapes: mass float64 [inputs], counts [outputs]."""

    def check(self, operator: Operator) -> None:
        """Raise UnsupportedChannelError when the operator cannot have this distribution."""
        ...

    def check_counts(self, counts: CountVector, reports: int) -> None:
        """Raise TallyError when so many reports cannot give these counts."""
        ...

    def covariance(self, operator: Operator, mass: Vector) -> Covariance:
        """Return the covariance of one report of a person drawn from `mass`."""
        ...

    def score_and_information(
        self, operator: Operator, mass: Vector, counts: CountVector, reports: int
    ) -> tuple[Vector, Operator]:
        """Return gradient and expected negative Hessian of the (composite) log-likelihood."""
        ...

    def likelihood_rows(
        self, operator: Operator, counts: CountVector, reports: int
    ) -> Iterable[tuple[Operator, CountVector]]:
        """Return (operator, counts) pairs whose sum of counts * log(operator mass) is maximized."""
        ...

    def sample(
        self, operator: Operator, people: CountVector, rng: np.random.Generator
    ) -> CountVector:
        """Return counts with exactly the joint distribution of randomizing every person."""
        ...


@dataclass(frozen=True)
class Multinomial:
    """A report is one output. Column i of the operator is its distribution for a person in bin i.

    draw: A fast exact sampler ``draw(people, rng)`` of the randomizer. Without one, a multinomial
        is drawn for every input from the dense operator.
    """

    draw: Draw | None = None

    def check(self, operator: Operator) -> None:
        """Raise UnsupportedChannelError unless every column sums to one.

        Columns are summed, not believed: a stack of groups labeled multinomial as a whole
        makes expectation maximization silently wrong, and its columns give it away.
        """
        # A matrix of one column: it keeps clients from loading compiled kernels.
        sums = operator.rmatmat(np.ones((operator.shape[0], 1)))
        worst = float(np.abs(sums - 1).max())
        if worst > 1e-9:
            raise UnsupportedChannelError(
                "the columns of a multinomial block must sum to 1, but they miss it by up to "
                f"{worst:.3g}. Give every group a block of its own, or another distribution"
            )

    def check_counts(self, counts: CountVector, reports: int) -> None:
        """Raise TallyError unless the counts sum to the number of reports."""
        if int(counts.sum()) != reports:
            raise TallyError(
                f"counts must sum to the {reports} reports, but they sum to {int(counts.sum())}"
            )

    def covariance(self, operator: Operator, mass: Vector) -> Covariance:
        """Return ``diag(g) - g g'`` with g = M mass."""
        mean = operator.matvec(mass)
        return Covariance(mean, mean[:, None], np.array([-1.0]))

    def log_likelihood(self, operator: Operator, mass: Vector, counts: CountVector) -> float:
        """Return ``sum(counts * log(M mass))``, without the constant of the multinomial."""
        return float(np.dot(counts, np.log(operator.matvec(mass) + _TINY)))

    def score_and_information(
        self, operator: Operator, mass: Vector, counts: CountVector, reports: int
    ) -> tuple[Vector, Operator]:
        """Return ``M' (counts / g - reports)`` and ``reports M' diag(1 / g) M``, g = M mass.

        Columns sum to one, so the score is the gradient minus the number of reports. That constant
        does not matter within the simplex, and makes its expectation zero.
        """
        mean = operator.matvec(mass) + _TINY
        score = operator.rmatvec(counts / mean - reports)
        return score, WeightedInformation(operator, reports / mean)

    def likelihood_rows(
        self, operator: Operator, counts: CountVector, reports: int
    ) -> Iterable[tuple[Operator, CountVector]]:
        """Return the operator and its counts: the likelihood itself."""
        return [(operator, counts)]

    def sample(
        self, operator: Operator, people: CountVector, rng: np.random.Generator
    ) -> CountVector:
        """Return counts with exactly the joint distribution of randomizing every person."""
        if self.draw is not None:
            return self.draw(people, rng)
        columns = dense(operator).T
        counts = np.zeros(operator.shape[0], dtype=np.int64)
        for number, column in zip(people, columns, strict=True):
            if number:
                counts += rng.multinomial(number, column / column.sum())
        return counts


@dataclass(frozen=True)
class ProductOfBits:
    """A report is a bit per output. Given the value, bit j is 1 with probability ``M[j, i]``.

    Its likelihood would need how often every combination of bits was sent. Decoders get the
    composite marginal-binomial likelihood instead: that of the bits as if independent.
    """

    def check(self, operator: Operator) -> None:
        """Raise UnsupportedChannelError unless the column sums can be numbers of bits."""
        sums = operator.rmatmat(np.ones((operator.shape[0], 1)))
        if sums.min() < 0 or sums.max() > operator.shape[0]:
            raise UnsupportedChannelError(
                "the entries of a block of bits must be probabilities. Its columns sum to up to "
                f"{float(sums.max()):.3g} over {operator.shape[0]} bits"
            )

    def check_counts(self, counts: CountVector, reports: int) -> None:
        """Raise TallyError when a bit was set more often than there are reports."""
        if int(counts.max(initial=0)) > reports:
            raise TallyError(f"no bit can be set more often than there are reports, {reports}")

    def covariance(self, operator: Operator, mass: Vector) -> Covariance:
        """Return the covariance of the bits of a person drawn from `mass`.

        Given the value bits are independent, so it is ``diag(g - (M*M) mass)`` (the randomizer's
        noise) plus ``M (diag(mass) - mass mass') M'`` (which value the person holds).
        """
        mean = operator.matvec(mass)
        second = operator.squared_entries().matvec(mass)
        noise = Covariance(mean - second, np.zeros((mean.size, 0)), np.zeros(0))
        value = Covariance(mass, mass[:, None], np.array([-1.0]))
        return noise + value.through(operator)

    def composite_log_likelihood(
        self, operator: Operator, mass: Vector, counts: CountVector, reports: int
    ) -> float:
        """Return the log-likelihood of the counts as if all bits were independent."""
        mean = operator.matvec(mass)
        ones = np.dot(counts, np.log(mean + _TINY))
        zeros = np.dot(reports - counts, np.log(1 - mean + _TINY))
        return float(ones + zeros)

    def score_and_information(
        self, operator: Operator, mass: Vector, counts: CountVector, reports: int
    ) -> tuple[Vector, Operator]:
        """Return those of the composite log-likelihood: weights ``reports / (g (1 - g))``."""
        mean = operator.matvec(mass)
        spread = mean * (1 - mean) + _TINY
        score = operator.rmatvec((counts - reports * mean) / spread)
        return score, WeightedInformation(operator, reports / spread)

    def likelihood_rows(
        self, operator: Operator, counts: CountVector, reports: int
    ) -> Iterable[tuple[Operator, CountVector]]:
        """Return the bits that are set and the bits that are not: the composite likelihood."""
        return [(operator, counts), (_Complement(operator), reports - counts)]

    def sample(
        self, operator: Operator, people: CountVector, rng: np.random.Generator
    ) -> CountVector:
        """Return counts with the exact joint distribution. Given values, bits are independent."""
        return operator.bits(people, rng)


@dataclass(frozen=True)
class FixedSizeSubset:
    """A report is a set of `members` of `symbols` cells, uniform in pairs but for the own one.

    Two other cells are in it as often as they are in a uniformly random set of this size. The
    operator gives the probability that each cell is in the set. Cells that nobody can be in may be
    left out of it, and are then not counted. The likelihood is that of sets, which counts do not
    hold. So decoders get the composite marginal-binomial likelihood.

    symbols, members: Cells, and how many are in a set.
    own: Probability that the own cell is in.
    draw: An exact sampler ``draw(people, rng)`` of the randomizer. Without one, sets are uniform.
    """

    symbols: int
    members: int
    own: float
    draw: Draw | None = None

    @property
    def other(self) -> float:
        """Probability that a cell that is not the own one is in."""
        return (self.members - self.own) / (self.symbols - 1)

    def check(self, operator: Operator) -> None:
        """Raise UnsupportedChannelError unless every column sums to what a set holds."""
        rows = operator.shape[0]
        sums = operator.rmatmat(np.ones((rows, 1)))
        expected = self.own + (rows - 1) * self.other
        worst = float(np.abs(sums - expected).max())
        if rows > self.symbols or worst > 1e-9 * self.members:
            raise UnsupportedChannelError(
                f"the columns of a block of {self.members}-subsets must sum to {expected:g}, "
                f"but they miss it by up to {worst:.3g}"
            )

    def check_counts(self, counts: CountVector, reports: int) -> None:
        """Raise TallyError unless every report can have held `members` different cells."""
        total, most = int(counts.sum()), reports * self.members
        # As many members of a set as there are cells left out may be missing.
        least = max(most - reports * (self.symbols - counts.size), 0)
        if not least <= total <= most or int(counts.max(initial=0)) > reports:
            must = f"{most}" if least == most else f"{least} to {most}"
            raise TallyError(
                f"counts of {reports} sets of {self.members} must sum to "
                f"{must} and none may exceed {reports}"
            )

    def covariance(self, operator: Operator, mass: Vector) -> Covariance:
        """Return the covariance of the memberships of a person drawn from `mass`.

        Two other cells are in together with probability `both`, the own and another with
        `with_own`. Sets have a fixed size, so cells exclude each other a little.
        """
        k, m = self.symbols, self.members
        mean = operator.matvec(mass)
        other = self.other
        # The share of people in each cell, read back from the mean: mean = other + gap * share.
        share = (mean - other) / (self.own - other)
        with_own = self.own * (m - 1) / (k - 1)
        both = 0.0
        if k > 2:
            pairs = (k - 1) * (k - 2)
            both = (m - 1) * (self.own * (m - 2) + (1 - self.own) * m) / pairs
        ones = np.ones(mean.size)
        lean = (with_own - both) / 2
        return Covariance(
            mean - both - 4 * lean * share,
            np.column_stack([ones, share + ones, share - ones, mean]),
            np.array([both, lean, -lean, -1.0]),
        )

    def score_and_information(
        self, operator: Operator, mass: Vector, counts: CountVector, reports: int
    ) -> tuple[Vector, Operator]:
        """Return those of the composite log-likelihood, corrected for the fixed size.

        Cells are negatively correlated. So contrasts vary k / (k - 1) times as much as if they were
        independent, and carry (k - 1) / k of the information.
        """
        mean = operator.matvec(mass)
        weights = (1 - 1 / self.symbols) / (mean * (1 - mean) + _TINY)
        score = operator.rmatvec((counts - reports * mean) * weights)
        return score, WeightedInformation(operator, reports * weights)

    def likelihood_rows(
        self, operator: Operator, counts: CountVector, reports: int
    ) -> Iterable[tuple[Operator, CountVector]]:
        """Return the cells that are in and the cells that are not: the composite likelihood."""
        return [(operator, counts), (_Complement(operator), reports - counts)]

    def sample(
        self, operator: Operator, people: CountVector, rng: np.random.Generator
    ) -> CountVector:
        """Return counts with exactly the joint distribution of drawing every person's set.

        A sweep over the cells. People who have not met their own cell yet differ only in whether it
        will be in and how many places are left. So it is enough to keep how many people are in each
        such state. A multivariate hypergeometric draw decides how many of them own the cell at
        hand. A binomial draw decides how many take it. O(symbols * members) for every 9e8 people.
        """
        if self.draw is not None:
            return self.draw(people, rng)
        # NumPy draws hypergeometric numbers below 1e9; people are independent, so they may be
        # split into parts in any way.
        parts = int(people.sum()) // _MOST_IN_A_SWEEP + 1
        everywhere = np.pad(people, (0, self.symbols - people.size))
        each, rest = np.divmod(everywhere, parts)
        counts = np.zeros(self.symbols, dtype=np.int64)
        for part in range(parts):
            counts += _sweep(each + (part < rest), self.symbols, self.members, self.own, rng)
        return counts[: people.size]


_MOST_IN_A_SWEEP = 9 * 10**8


def _sweep(
    owners: CountVector, symbols: int, members: int, own: float, rng: np.random.Generator
) -> CountVector:
    total = int(owners.sum())
    inside = int(rng.binomial(total, own))
    places = np.arange(members + 1)
    # [own is out, own is in][places left for other cells]: people before and after their own.
    before = np.zeros((2, members + 1), dtype=np.int64)
    before[0, members], before[1, members - 1] = total - inside, inside
    after = np.zeros(members + 1, dtype=np.int64)
    counts = np.zeros(symbols, dtype=np.int64)
    for cell in range(symbols):
        meeting = rng.multivariate_hypergeometric(
            before.ravel(), int(owners[cell]), method="marginals"
        ).reshape(before.shape)
        before -= meeting
        counts[cell] += meeting[1].sum()
        # Others yet to come: those before their own cell have one cell less among the rest.
        takers = rng.binomial(before, np.minimum(places / max(symbols - 1 - cell, 1), 1.0))
        counts[cell] += takers.sum()
        before -= takers
        before[:, :-1] += takers[:, 1:]
        takers = rng.binomial(after, np.minimum(places / max(symbols - cell, 1), 1.0))
        counts[cell] += takers.sum()
        after -= takers
        after[:-1] += takers[1:]
        after += meeting.sum(axis=0)
    return counts


class _Complement(Operator):
    """``J - M``: the probability that a bit is not set."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator.shape)
        self.operator = operator

    def _matvec(self, x: Vector) -> Vector:
        product: Vector = x.sum() - self.operator.matvec(x.ravel())
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        product: Vector = r.sum() - self.operator.rmatvec(r.ravel())
        return product


@dataclass(frozen=True, eq=False)
class Block:
    """Channel block: a group of people who randomize in the same way.

    Parameters
    ----------
    operator : Operator
        Mean count of every output for one report, shape [outputs, domain.size]. Any linear operator
        of SciPy, or an array, is converted to an operator of this package.
    law : Law
        Distribution of one report's counts about that mean.
    share : float
        Share of the people in this group, in (0, 1]. Default: 1.

    Raises
    ------
    UnsupportedChannelError
        When a check shows that the operator cannot have this distribution.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> (block,) = response.channel.blocks
    >>> block.outputs, block.mean([1, 0]).round(2).tolist()
    (2, [0.73, 0.27])
    """

    operator: Operator
    law: Law
    share: float = 1.0

    def __post_init__(self) -> None:
        """Take the operator in and check the label."""
        object.__setattr__(self, "operator", as_operator(self.operator))
        if not 0 < self.share <= 1:
            raise UnsupportedChannelError(f"a share must be in (0, 1], got {self.share}")
        self.law.check(self.operator)

    @property
    def outputs(self) -> int:
        """Number of counts."""
        return int(self.operator.shape[0])

    def mean(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean count of every output, per report: float64 [outputs].

        Parameters
        ----------
        mass : numpy.ndarray
            Shares of the bins or categories, float64 [domain.size].

        Returns
        -------
        numpy.ndarray
            Mean counts, float64 [outputs].
        """
        return self.operator.matvec(mass)

    def covariance(self, mass: NDArray[np.float64]) -> Covariance:
        """Return the covariance of one report of a person drawn from `mass`.

        Parameters
        ----------
        mass : numpy.ndarray
            Shares of the bins or categories, float64 [domain.size].

        Returns
        -------
        Covariance
            Covariance of the counts of one report.
        """
        # A report depends on the cell alone, and the operator on cells has a known structure.
        return self.law.covariance(self.operator.on_cells, self.operator.cell_totals(mass))

    def score_and_information(
        self, mass: NDArray[np.float64], counts: NDArray[np.int64], reports: int
    ) -> tuple[NDArray[np.float64], Operator]:
        """Return gradient and expected negative Hessian of the (composite) log-likelihood.

        Parameters
        ----------
        mass : numpy.ndarray
            Shares of the bins or categories, float64 [domain.size].
        counts : numpy.ndarray
            Counts of the outputs, int64 [outputs].
        reports : int
            Number of reports.

        Returns
        -------
        tuple of (numpy.ndarray, Operator)
            Gradient, float64 [domain.size], and expected negative Hessian.
        """
        return self.law.score_and_information(self.operator, mass, counts, reports)

    def sample(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts with the exact joint distribution of randomizing every person.

        Parameters
        ----------
        people : numpy.ndarray
            Number of people in each bin or category, int64 [domain.size].
        rng : numpy.random.Generator
            Source of random numbers. It is for simulation only.

        Returns
        -------
        numpy.ndarray
            Counts of the outputs, int64 [outputs].
        """
        return self.law.sample(self.operator.on_cells, self.operator.cell_totals(people), rng)


class ObservedChannel(Protocol):
    """Interface of the channel of a tally, or of stored reports, for decoders."""

    @property
    def domain(self) -> Domain:
        """Domain of the values."""
        ...

    def counts(self, tally: Any, /) -> CountTally:
        """Return the counts that an observation of this channel gives.

        Raises UnsupportedChannelError when there are too many values to count.
        """
        ...


@dataclass(frozen=True, eq=False)
class Channel:
    """Channel of a randomizer: the distribution of a report for each value.

    It has blocks over one domain. A decoder is given the channel and the counts, and nothing else.

    Parameters
    ----------
    domain : Domain
        Domain of the values, the columns of every operator.
    blocks : sequence of Block
        Groups of people, whose shares sum to one.
    fingerprint : str
        Fingerprint of the randomizer or mechanism, so that foreign counts are refused.
    guarantee : Guarantee, optional
        Privacy guarantee under which the counts were collected. Results inherit it. Default: none.

    See Also
    --------
    lapwing.simulate : Draws counts with the distribution of a channel.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> channel = response.channel
    >>> len(channel.blocks), channel.blocks[0].operator.shape
    (1, (2, 2))
    >>> tally = response.tally(response.randomize(["yes"] * 1000, rng=lw.seeded(1)))
    >>> lw.LeastSquares().decode(channel, tally).reports
    1000
    """

    domain: Domain
    blocks: Sequence[Block]
    fingerprint: str
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        """Check shapes and shares."""
        object.__setattr__(self, "blocks", tuple(self.blocks))
        if not self.blocks:
            raise UnsupportedChannelError("a channel needs at least one block")
        for block in self.blocks:
            if block.operator.shape[1] != self.domain.size:
                raise UnsupportedChannelError(
                    f"every operator must have {self.domain.size} columns, one per symbol of the "
                    f"domain, got {block.operator.shape[1]}"
                )
        total = sum(block.share for block in self.blocks)
        if abs(total - 1) > 1e-9:
            raise UnsupportedChannelError(f"the shares of the blocks must sum to 1, got {total}")

    def counts(self, tally: CountTally) -> CountTally:
        """Return the counts that a decoder reads, which are these.

        Parameters
        ----------
        tally : CountTally
            Counts of this channel.

        Returns
        -------
        CountTally
            The same tally.
        """
        return tally

    def check(self, tally: Observation) -> None:
        """Raise unless the tally was made for this channel and has at least one report.

        Parameters
        ----------
        tally : Tally or Release
            Observation to check.

        Raises
        ------
        ArgumentError
            When it is neither a tally nor a release.
        MismatchError
            When its fingerprint or shapes are another channel's.
        TallyError
            When it has no reports, or counts that no reports can give.
        """
        check_observation(tally)
        if tally.fingerprint != self.fingerprint:
            raise MismatchError(
                f"the tally was made by randomizer {tally.fingerprint[:12]}, but this channel "
                f"is of {self.fingerprint[:12]}. Decode it with the survey that collected it"
            )
        shapes = [block.outputs for block in self.blocks]
        found = [counts.size for counts in tally.blocks]
        if shapes != found:
            raise MismatchError(f"the tally must contain counts of sizes {shapes}, got {found}")
        if tally.total == 0:
            raise TallyError("there is nothing to decode: the tally has no reports")
        for block, counts, reports in zip(self.blocks, tally.blocks, tally.reports, strict=True):
            block.law.check_counts(counts, reports)


def check_given(channel: Any, tally: Any) -> None:
    """Raise unless a decoder was given a channel and a tally or release of it.

    channel: Channel of the randomizer.
    tally: Tally or release.

    Raises ArgumentError when it is not a channel, such as a survey or a randomizer, which has one.
    Raises UnsupportedChannelError when it is that of stored reports. For other errors see
    :meth:`Channel.check`.
    """
    if not isinstance(channel, Channel) and hasattr(channel, "counts"):
        raise UnsupportedChannelError(
            "this decoder reads counts, but this is the channel of stored reports. Let the "
            "survey count them: survey.decode(tally, decoder=...)"
        )
    if not isinstance(channel, Channel):
        raise ArgumentError(
            f"a decoder takes a channel and a tally, got {kind_of(channel)} for the channel. "
            "Pass randomizer.channel, or let the survey do it: survey.decode(tally, "
            "decoder=...)"
        )
    channel.check(tally)


class HasChannel(Protocol):
    """Interface of a randomizer for a function that needs its channel."""

    @property
    def name(self) -> str:
        """Kebab-case name."""
        ...

    @property
    def collects(self) -> str:
        """Counts, or a log."""
        ...

    @property
    def channel(self) -> Channel:
        """Distribution of a report for each value."""
        ...


def channel_for(
    randomizer: HasChannel, observation: Observation, *, bins: int | None = None
) -> ObservedChannel:
    """Return the channel that a decoder of an observation needs, or that of stored reports.

    randomizer: Randomizer of the reports. One that stores reports has a `log_channel`.
    observation: Tally of this randomizer's reports.
    bins: Other bins than those of the domain, where the randomizer has such channels. Default:
        those of the domain.
    returns: Distribution of a report for each value.

    Raises MismatchError when the observation holds stored reports, and the randomizer counts its
    reports.
    Raises ArgumentError when bins are given, and the tally cannot be decoded at other bins than its
    domain's.
    """
    log = observation.kind == "log"
    if bins is not None:
        channel_at = getattr(randomizer, "_channel_at", None)
        if channel_at is None or log:
            raise ArgumentError(
                "stored reports can be decoded only with their own bins. Leave out bins"
                if log
                else f"only a square wave can be decoded with other bins, not {randomizer.name}"
            )
        channel: ObservedChannel = channel_at(bins)
        return channel
    if not log:
        return randomizer.channel
    if randomizer.collects != "log":
        raise MismatchError(
            f"the tally has stored reports, but {randomizer.name} counts them. Use its own survey"
        )
    log_channel: ObservedChannel = randomizer.log_channel  # type: ignore[attr-defined]
    return log_channel
