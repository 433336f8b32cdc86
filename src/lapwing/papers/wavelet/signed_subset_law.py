"""The distribution of a set of signed coordinates: what signed subset selection sends.

The symbols are ``2 * coordinates`` signed unit vectors: symbol ``2k`` is +e_k, symbol ``2k + 1``
is -e_k. A report holds `members` different coordinates, each with one sign, so it is a set of
symbols with at most one of each pair. Outputs are numbered as symbols are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import TallyError, UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.operator import Operator, SymmetricOperator, as_operator

CountVector = NDArray[np.int64]

LARGEST_COVARIANCE = 2**12
"""Most coordinates whose covariance is kept: it has a column for each, so 268 MB here."""

_TINY = 1e-300

_CROWD = 5 * 10**8
"""NumPy's hypergeometric draws need fewer than 10^9 people. Larger crowds are drawn in parts."""


@dataclass(frozen=True)
class SignedSubset:
    """A report is a set of signed coordinates, uniform but for the own coordinate.

    coordinates, members: How many there are (d), and how many are in a set (m).
    own, opposite: Probabilities that the own coordinate is in with the own sign (p) and with the
        other one. Every other coordinate is in with either sign with probability :attr:`other` (q).

    Notes
    -----
    The likelihood is that of sets, which counts do not hold. For ``members == 1`` it is
    multinomial. Else decoders get a composite likelihood, of each coordinate's three outcomes
    (plus, minus, absent) as if coordinates were independent.
    """

    coordinates: int
    members: int
    own: float
    opposite: float

    @property
    def present(self) -> float:
        """Probability that the own coordinate is in, with either sign."""
        return 1.0 if self.members == self.coordinates else self.own + self.opposite

    @property
    def other(self) -> float:
        """Probability that another coordinate is in with a given sign, 0 when there is none."""
        if self.coordinates == 1:
            return 0.0
        return (self.members - self.present) / (2 * (self.coordinates - 1))

    @property
    def gain(self) -> float:
        """Mean of plus minus minus at the own coordinate: ``p (1 - e^-epsilon)``."""
        return self.own - self.opposite

    @property
    def lift(self) -> float:
        """Difference of the probabilities that the own coordinate and another one are in."""
        return 0.0 if self.members == self.coordinates else self.present - 2 * self.other

    def differences(self, counts: CountVector, reports: int) -> Vector:
        """Return the unbiased share at plus less share at minus of every coordinate.

        counts: int64 [2 * coordinates].
        reports: At least 1.
        returns: float64 [coordinates], with variance about ``members / coordinates / gain^2 /
            reports``.
        """
        return (counts[0::2] - counts[1::2]) / (reports * self.gain)

    def masses(self, counts: CountVector, reports: int) -> Vector:
        """Return the unbiased share of people at every coordinate, of either sign.

        Raises UnsupportedChannelError when all coordinates are in every set, so that presence says
        nothing.
        """
        if self.lift == 0:
            raise UnsupportedChannelError(
                "sets of all coordinates carry no information about masses, only about signs"
            )
        seen: Vector = (counts[0::2] + counts[1::2]) / reports
        return (seen - 2 * self.other) / self.lift

    def difference_variance(self, reports: int) -> float:
        """Return the variance of :meth:`differences` when people are spread evenly."""
        return self.members / (self.coordinates * self.gain**2 * reports)

    def mass_variance(self, reports: int) -> float:
        """Return the variance of :meth:`masses` when people are spread evenly, or infinity."""
        if self.lift == 0:
            return np.inf
        presence = self.members / self.coordinates
        return presence * (1 - presence) / (self.lift**2 * reports)

    def check(self, operator: Operator) -> None:
        """Raise UnsupportedChannelError unless every column sums to the size of a set."""
        sums = operator.rmatmat(np.ones((operator.shape[0], 1)))
        worst = float(np.abs(sums - self.members).max())
        if operator.shape[0] != 2 * self.coordinates or worst > 1e-9 * self.members:
            raise UnsupportedChannelError(
                f"a block of {self.members} of {self.coordinates} signed coordinates must have "
                f"{2 * self.coordinates} rows and columns that sum to {self.members}. It has "
                f"{operator.shape[0]} rows and columns that miss it by up to {worst:.3g}"
            )

    def check_counts(self, counts: CountVector, reports: int) -> None:
        """Raise TallyError unless every report can have held `members` different coordinates."""
        seen = counts[0::2] + counts[1::2]
        if int(counts.sum()) != reports * self.members or int(seen.max(initial=0)) > reports:
            raise TallyError(
                f"counts of {reports} sets of {self.members} signed coordinates must sum to "
                f"{reports * self.members}, and no coordinate may be in more than {reports}"
            )

    def _shares(self, mean: Vector) -> tuple[Vector, Vector]:
        """Return mass and difference of every coordinate, read back from the mean counts.

        The mass is 0 when all coordinates are in every set: then nothing depends on it.
        """
        difference = (mean[0::2] - mean[1::2]) / self.gain
        if self.lift == 0:
            return np.zeros_like(difference), difference
        return (mean[0::2] + mean[1::2] - 2 * self.other) / self.lift, difference

    def covariance(self, operator: Operator, mass: Vector) -> Covariance:
        """Return the covariance of the memberships of a person drawn from `mass`.

        Signs of one coordinate exclude each other. Given signs of two coordinates that are not the
        own one are in together with probability `both`. Summed over whose value it is, the second
        moment of outputs s and t of different coordinates is ``both + h_s + h_t``.

        Raises UnsupportedChannelError above 2^12 coordinates: the exclusion within pairs takes a
        column for each.
        """
        d, m = self.coordinates, self.members
        if d > LARGEST_COVARIANCE:
            raise UnsupportedChannelError(
                f"the covariance of signed subsets is kept up to {LARGEST_COVARIANCE} "
                f"coordinates, got {d}. Decode without weights or without a band"
            )
        mean = operator.matvec(mass)
        both = with_own = with_opposite = 0.0
        if d > 1:
            with_own = self.own * (m - 1) / (2 * (d - 1))
            with_opposite = self.opposite * (m - 1) / (2 * (d - 1))
        if d == 2:
            # No third coordinate: any value serves; this one drops the mass, as for m = d below.
            both = (with_own + with_opposite) / 2
        if d > 2:
            pairs = 4 * (d - 1) * (d - 2)
            both = (m - 1) * (self.present * (m - 2) + (1 - self.present) * m) / pairs
        share, difference = self._shares(mean)
        level = ((with_own + with_opposite) / 2 - both) * share if self.lift else 0.0
        tilt = (with_own - with_opposite) / 2 * difference
        h = np.column_stack([level + tilt, level - tilt]).reshape(-1)
        ones = np.ones(2 * d)
        factor = np.column_stack([ones, h + ones, h - ones, mean])
        weights = np.array([both, 0.5, -0.5, -1.0])
        excluded = both + h[0::2] + h[1::2]
        diagonal = mean - both - 2 * h + np.repeat(excluded, 2)
        if excluded.any():
            factor = np.hstack([factor, np.repeat(np.eye(d), 2, axis=0)])
            weights = np.concatenate([weights, -excluded])
        return Covariance(diagonal, factor, weights)

    def score_and_information(
        self, operator: Operator, mass: Vector, counts: CountVector, reports: int
    ) -> tuple[Vector, Operator]:
        """Return those of the composite log-likelihood, corrected for the fixed size.

        A coordinate's three outcomes are presence, then the sign given presence. Signs of different
        coordinates are uncorrelated when people are spread evenly. Presences exclude each other a
        little. So contrasts vary d / (d - 1) times as much as if they were independent, and carry
        (d - 1) / d of the information. With one member this is the multinomial information on
        contrasts. When all coordinates are in, presence is certain and only the signs speak.
        """
        mean = operator.matvec(mass) + _TINY
        seen_mean = mean[0::2] + mean[1::2]
        seen = counts[0::2] + counts[1::2]
        shared = -reports / seen_mean
        pull = -seen / seen_mean
        if self.lift:
            weight = (1 - 1 / self.coordinates) / (seen_mean * (1 - seen_mean) + _TINY)
            shared = shared + reports * weight
            pull = pull + weight * (seen - reports * seen_mean)
        score = operator.rmatvec(counts / mean + np.repeat(pull, 2))
        weights = _PairWeights(reports / mean, shared)
        return score, as_operator(operator.adjoint() @ (weights @ operator))

    def likelihood_rows(
        self, operator: Operator, counts: CountVector, reports: int
    ) -> Iterable[tuple[Operator, CountVector]]:
        """Return signs that are in and coordinates that are not: the composite likelihood.

        With one member, the likelihood itself: the outputs.
        """
        if self.lift == 0 or self.members == 1:
            return [(operator, counts)]
        absent = reports - counts[0::2] - counts[1::2]
        return [(operator, counts), (_Absent(operator), absent)]

    def sample(
        self, operator: Operator, people: CountVector, rng: np.random.Generator
    ) -> CountVector:
        """Return counts with exactly the joint distribution of drawing every person's set.

        A binomial draw per symbol decides whether the own coordinate is in, and another one whether
        its sign is kept. The other coordinates take a sweep over them (none when all are in), and
        their signs are fair coins. At most O(coordinates * sqrt(coordinates)) time for any number
        of people.
        """
        holders = people.reshape(-1, 2)
        inside = rng.binomial(holders, self.present)
        kept = rng.binomial(inside, min(self.own / self.present, 1.0))
        owners, insiders = holders.sum(axis=1), inside.sum(axis=1)
        if self.members == self.coordinates:
            others = int(owners.sum()) - owners
        else:
            others = _others(insiders, owners - insiders, self.members, rng)
        counts = kept + (inside - kept)[:, ::-1]
        plus = rng.binomial(others, 0.5)
        counts += np.column_stack([plus, others - plus])
        return counts.reshape(-1)


def _others(
    insiders: CountVector, outsiders: CountVector, members: int, rng: np.random.Generator
) -> CountVector:
    """Return how many people hold each coordinate as one that is not their own: int64 [d].

    A sweep over the coordinates. People who have not met their own one yet are alike but for
    whether it is in and how many places are left, so it is enough to keep how many people are in
    each such state. Places left spread by about sqrt(d), and only that window is worked on.

    insiders, outsiders: int64 [d]: people with the own coordinate k in their set, and without.
    """
    total = int(insiders.sum() + outsiders.sum())
    if total > _CROWD:
        # Sets are independent, so people may be drawn in parts; these sum to all of them.
        parts = total // _CROWD + 1
        return sum(
            (
                _others((insiders + i) // parts, (outsiders + i) // parts, members, rng)
                for i in range(parts)
            ),
            np.zeros_like(insiders),
        )
    size = insiders.size
    places = np.arange(members + 1)
    # Rows: own is out, own is in, own has passed; columns: places left for others.
    state = np.zeros((3, members + 1), dtype=np.int64)
    state[0, members], state[1, members - 1] = outsiders.sum(), insiders.sum()
    counts = np.zeros(size, dtype=np.int64)
    for cell in range(size):
        held = np.flatnonzero(state.any(axis=0))
        if held.size == 0 or held[-1] == 0:
            break
        low, high = max(int(held[0]), 1) - 1, int(held[-1]) + 1
        window = state[:, low:high]
        meeting = np.zeros(high - low, dtype=np.int64)
        for row, number in ((0, int(outsiders[cell])), (1, int(insiders[cell]))):
            if number:
                part = rng.multivariate_hypergeometric(window[row], number, method="marginals")
                window[row] -= part
                meeting += part
        # Those before their own coordinate have one other less among the rest.
        rest = np.array([size - 1 - cell, size - 1 - cell, size - cell])
        chance = np.minimum(places[low:high] / np.maximum(rest, 1)[:, None], 1.0)
        takers = rng.binomial(window, chance)
        counts[cell] = takers.sum()
        window -= takers
        window[:, :-1] += takers[:, 1:]
        window[2] += meeting
    return counts


class _PairWeights(SymmetricOperator):
    """``diag(diagonal)`` plus ``shared[k]`` in all four entries of pair k."""

    def __init__(self, diagonal: Vector, shared: Vector) -> None:
        super().__init__((diagonal.size, diagonal.size))
        self.diagonal = diagonal
        self.shared = shared

    def _matmat(self, x: Vector) -> Vector:
        sums = (x[0::2] + x[1::2]) * self.shared[:, None]
        return self.diagonal[:, None] * x + np.repeat(sums, 2, axis=0)

    def _matvec(self, x: Vector) -> Vector:
        return self._matmat(x.reshape(-1, 1)).reshape(-1)


class _Absent(Operator):
    """Probability that each coordinate is not in a set: one less those of its two signs."""

    def __init__(self, operator: Operator) -> None:
        super().__init__((operator.shape[0] // 2, operator.shape[1]))
        self.operator = operator

    def _matvec(self, x: Vector) -> Vector:
        x = x.reshape(-1)
        mean = self.operator._matvec(x)
        product: Vector = x.sum() - mean[0::2] - mean[1::2]
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        r = r.reshape(-1)
        product: Vector = r.sum() - self.operator._rmatvec(np.repeat(r, 2))
        return product
