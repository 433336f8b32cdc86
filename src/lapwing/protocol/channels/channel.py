"""Channel: the distribution of counts of reports, given the distribution of the values."""

from __future__ import annotations

from collections.abc import Sequence
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
from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.operator import Operator, as_operator
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.channels.laws import Law
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.observation import Observation, check_observation
from lapwing.protocol.messages.tally import CountTally


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
        Part of the people in this group, in (0, 1]. Default: 1.

    Raises
    ------
    UnsupportedChannelError
        When the operator cannot have this distribution. It is checked.

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
        Privacy guarantee under which the counts were collected. A result carries it on. Default:
        none.

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
        """Raise unless the tally was made for this channel and holds at least one report.

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
            When it holds no reports, or counts that no reports can give.
        """
        check_observation(tally)
        if tally.fingerprint != self.fingerprint:
            raise MismatchError(
                f"the tally was made by randomizer {tally.fingerprint[:12]}, this channel is of "
                f"{self.fingerprint[:12]}. Decode it with the survey that collected it"
            )
        shapes = [block.outputs for block in self.blocks]
        found = [counts.size for counts in tally.blocks]
        if shapes != found:
            raise MismatchError(f"the tally must hold counts of sizes {shapes}, got {found}")
        if tally.total == 0:
            raise TallyError("there is nothing to decode: the tally holds no reports")
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
            "this decoder reads counts, and this is the channel of stored reports. Let the "
            "survey count them: survey.decode(tally, decoder=...)"
        )
    if not isinstance(channel, Channel):
        raise ArgumentError(
            f"a decoder is given a channel and a tally, got {kind_of(channel)} for the "
            "channel. Pass randomizer.channel, or let the survey do it: "
            "survey.decode(tally, decoder=...)"
        )
    channel.check(tally)
