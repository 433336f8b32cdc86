"""Signed subset selection: a set of signed coordinates, likely one with the true sign.

The value is one of the signed unit vectors +e_k and -e_k: a half of a cell, at one level of a
wavelet expansion. It beats subset selection on the ``2 d`` categories, because a set never spends
two places on the two signs of one coordinate.

The symbols are ``2 * coordinates`` signed unit vectors: symbol ``2k`` is +e_k, symbol ``2k + 1``
is -e_k. A report holds `members` different coordinates, each with one sign, so it is a set of
symbols with at most one of each pair. Outputs are numbered as symbols are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne
from lapwing.errors import DomainError, TallyError, UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import Covariance
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import (
    Operator,
    PairSymmetric,
    SymmetricOperator,
    as_operator,
)
from lapwing.privacy.exact_numbers import (
    ExactNumber,
    check_whole,
    exact_epsilon,
    exponential_bounds,
)
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    uniform_below,
)
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Fault, check_symbol, fault_of, fill_reports, refuse
from lapwing.randomizers.bit_reports import (
    BitReports,
    count_bits,
    drawn_in_order,
    random_sets,
    rows_at_once,
    write_bits,
)
from lapwing.randomizers.two_level import NearAndFar

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


MOST_COORDINATES = 2**20


class ClosedForms(NamedTuple):
    """Probabilities to which the distribution of a report reduces, see :func:`closed_forms`."""

    normalizer: float
    """Omega / A: the sum of all weights over the number of sets with the own sign."""
    own: float
    """p: the own coordinate is in, with the own sign."""
    other: float
    """q: another coordinate is in, with a given sign."""


def closed_forms(coordinates: int, members: int, epsilon: Fraction | float) -> ClosedForms:
    """Return Omega / A, p and q without binomial coefficients.

    coordinates: Number d of coordinates, at least 1.
    members: Number m of coordinates in a set, in 1..d.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: The three numbers.

    Of the sets, A hold the true sign, A the other one, and ``A 2 (d - m) / m`` neither. Here
    ``A = C(d - 1, m - 1) 2^(m - 1)``. Dividing the sums of [1]_, lemmas 2 and 3, by A leaves
    ``Omega / A = e^epsilon + 1 + 2 (d - m) / m`` and ``p = e^epsilon / (Omega / A)``. Likewise
    ``q = ((m - 1) (e^epsilon + 1) / (2 (d - 1)) + (d - m) / (d - 1)) / (Omega / A)``, which is 0
    for d = 1. They hold for every m, also 1 and d, and cannot overflow.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.

    >>> [round(number, 4) for number in closed_forms(4, 2, 1)]
    [5.7183, 0.4754, 0.2251]
    """
    odds = math.exp(epsilon)
    normalizer = odds + 1 + 2 * (coordinates - members) / members
    other = 0.0
    if coordinates > 1:
        with_own = (members - 1) * (odds + 1) / (2 * (coordinates - 1))
        other = (with_own + (coordinates - members) / (coordinates - 1)) / normalizer
    return ClosedForms(normalizer, odds / normalizer, other)


def optimal_members(coordinates: int, epsilon: Any) -> int:
    """Return the size of the sets that minimizes :func:`summed_variance`.

    coordinates: Number d of coordinates, at least 1.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Coordinates in a set, in 1..d.

    The variance is proportional to ``m + (2 d / (e^epsilon - 1))^2 / m``. So the best m is the
    smallest for which ``m (m + 1)`` reaches that square. It is d when that is beyond d, which is
    always so for ``epsilon <= ln 3``. It is computed in fractions, so that all clients agree.

    This is equation 61 of [1]_ with the variance corrected to ``2 q``.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.

    >>> optimal_members(256, 1), optimal_members(256, 2), optimal_members(4, 2)
    (256, 80, 1)
    """
    ideal = 2 * coordinates / (exponential_bounds(exact_epsilon(epsilon))[0] - 1)
    size = min(math.floor(ideal), coordinates)
    if size * (size + 1) < ideal**2:
        size += 1
    return min(size, coordinates)


def summed_variance(coordinates: int, members: int, epsilon: Fraction | float) -> float:
    """Return the sum over k of the variances of unbiased differences, for one report.

    coordinates, members, epsilon: As in :func:`closed_forms`.
    returns: Variance, greater than 0.

    The squares of a report's entries sum to m, so with the gain ``g = p (1 - e^-epsilon)`` it is
    ``m / g^2``. With ``f = e^-epsilon`` this equals
    ``(1 + f) / (p (1 - f)^2) + 2 q (d - 1) / (p^2 (1 - f)^2)``. This is about the population. About
    the people who reported at this level it is 1 less.

    This is equation 60 of [1]_ without the factor ``2^j``. Equation 117 there prints
    ``Var[Y(k) | v(k) = 0] = q``. But Y(k) is +1 and -1 with probability q each, so it is ``2 q``.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.

    >>> round(summed_variance(8, 8, 1), 3)
    37.462
    """
    excess = math.expm1(epsilon)
    return (members * excess + 2 * coordinates) ** 2 / (members * excess**2)


def _of_pairs(domain: Domain) -> None:
    if domain.size % 2:
        raise DomainError(
            "domain",
            "must have an even number of symbols, two for each coordinate",
            f"{domain.size}",
        )


@dataclass(frozen=True)
class SignedSubsetSelection(NearAndFar[CountTally]):
    """Signed subset selection of a signed unit vector (Zhao et al., 2026).

    A report is a set of `size` coordinates with signs. It holds the true coordinate with the true
    sign more often than any other.

    domain: Domain of the values, of any kind, with an even number of 2 to 2^21 categories. Category
        ``2k`` is +e_k and ``2k + 1`` is -e_k.
    epsilon: Privacy parameter of one report, in (0, 24], in nats. The field holds an exact
        Fraction.
    size: Number m of coordinates in a set, in 1..d. Size 1 is generalized randomized response on
        the ``2 d`` categories. Default: the size of least variance, :func:`optimal_members`.

    Notes
    -----
    **Privacy.** The sets with the true coordinate under the true sign number
    ``A = C(d-1, m-1) 2^(m-1)``. All others have one and the same probability. They are of two
    kinds: A with the other sign, and ``A 2 (d-m) / m`` without the true coordinate. A report is of
    the first sets with probability ``T / 2^64``. Otherwise an exactly uniform number below
    ``2d - m`` chooses the kind, of which m stand for the other sign. The rest of the set and its
    signs are uniform within each kind. So the worst-case likelihood ratio is
    ``T (2d - m) / ((2^64 - T) m)``. T is the largest integer for which it is at most a rational
    lower bound of ``e^epsilon``. :meth:`certificate` states it. The tests check it on the table of
    all sets, and T + 1 fails them.

    **Accuracy.** Unbiased differences (share at plus minus share at minus) have variances that sum
    to :func:`summed_variance` over the number of reports.

    **Cost.** A report takes ``ceil(d / 8)`` bytes of signs, and as many of presence unless all
    coordinates are in. Randomizing or tallying one takes O(d) bit operations, 64 at a time, and
    O(sqrt(d)) single draws.

    A report is a plane of bits "present" (left out when all coordinates are in every set), then a
    plane of bits "minus". Coordinate k is bit ``k % 8`` of byte ``k // 8``. Unused bits are 0. The
    tally counts categories, with plus of coordinate k in ``2k``.

    The method is that of sections 4.4 and 4.6 of [1]_. There algorithm 2 gives the other picked
    coordinates the value +1 in lines 4 and 7. This is biased, and every -1 reveals the true
    coordinate. Here their signs are independent and fair, as in equation 45.

    References
    ----------
    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.

    Examples
    --------
    >>> from lapwing.protocol.domains.integers import Integers
    >>> signs = SignedSubsetSelection(Integers(0, 7), 2)
    >>> signs.report_width, signs.certificate().holds
    (2, True)
    """

    domain: Annotated[Domain, domain_of(check=_of_pairs, most=2 * MOST_COORDINATES)]
    _: KW_ONLY
    size: AtLeastOne | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, size: int | None = None
        ) -> None: ...

    _threshold_name: ClassVar[str] = "own"
    name: ClassVar[str] = "signed-subset-selection"

    def _settle(self) -> None:
        """Check the size against the coordinates."""
        if self.size is not None:
            check_whole("size", self.size, low=1, high=self._coordinates)

    @cached_property
    def _coordinates(self) -> int:
        """d: half the symbols."""
        return self.domain.size // 2

    @cached_property
    def _members(self) -> int:
        """m: coordinates in a set."""
        return optimal_members(self._coordinates, self.epsilon) if self.size is None else self.size

    @property
    def _near(self) -> int:
        """Sets with the own coordinate under the own sign, in units of which others are `far`."""
        return self._members

    @cached_property
    def _far(self) -> int:
        """Sets that are not near."""
        return 2 * self._coordinates - self._members

    @cached_property
    def _all_in(self) -> bool:
        return self._members == self._coordinates

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"coordinates": self._coordinates, "members": self._members}

    @cached_property
    def _layout(self) -> BitReports:
        """How either plane, of presence and of signs, is laid out, and what presence must be."""
        return BitReports(self._coordinates, self._members)

    @cached_property
    def _plane(self) -> int:
        """Bytes that hold a bit per coordinate."""
        return self._layout.width

    @cached_property
    def report_width(self) -> int:
        """Bytes of one report: the plane of presence, unless all are present, and that of signs."""
        return self._plane if self._all_in else 2 * self._plane

    @cached_property
    def _law(self) -> SignedSubset:
        """The distribution of its reports, from T and not from epsilon."""
        own = Fraction(self._threshold, WORD)
        opposite = (1 - own) * self._members / self._far
        return SignedSubset(self._coordinates, self._members, float(own), float(opposite))

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one block of signed subsets."""
        law = self._law
        operator = PairSymmetric(
            self._coordinates, own=law.own, opposite=law.opposite, other=law.other
        )
        return Channel(self.domain, [Block(operator, law)], self.fingerprint, self.guarantee)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        def fill(symbols: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            self._fill(source, symbols, rows)

        width = self.report_width
        return fill_reports(points, fill, width=width, rows=rows_at_once(width))

    def _fill(
        self, source: RandomSource, symbols: NDArray[np.int64], rows: NDArray[np.uint8]
    ) -> None:
        near = bernoulli(source, threshold=self._threshold, count=symbols.size)
        coordinate, minus = symbols >> 1, (symbols & 1).astype(np.bool_)
        signs = self._layout.draw(source, threshold=WORD // 2, count=symbols.size)
        # Fair signs on all; the own one is then set, to the other sign when it is in but not near.
        write_bits(signs, coordinate, minus == near)
        if self._all_in:
            rows[:] = signs
            return
        kind = uniform_below(source, bounds=self._far, count=symbols.size)
        present = random_sets(
            source,
            coordinate,
            near | (kind < self._members),
            items=self._coordinates,
            members=self._members,
        )
        rows[:, : self._plane] = present
        np.bitwise_and(signs, present, out=rows[:, self._plane :])

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one category.

        The first word decides whether the true coordinate is in with the true sign (below T). If
        not, a uniform number below ``2d - m`` decides: below m it is in with the other sign, else
        it is out. Then every other coordinate is considered in order. It draws a uniform number
        below twice the number of others not yet seen. It is in when that number is below twice the
        number of places left. Its sign is minus when the number is odd. Numbers are drawn by
        :func:`lapwing.privacy.sampling.randomness.scalar_below`.
        """
        check_symbol(value, self.domain.size)
        own, negative = divmod(value, 2)
        signed = []
        if next(words) < self._threshold:
            signed = [(own, negative)]
        elif scalar_below(words, self._far) < self._members:
            signed = [(own, 1 - negative)]
        places = self._members - len(signed)
        signed += drawn_in_order(words, self._coordinates, own=own, places=places, kinds=2)
        minus = self._layout.report(coordinate for coordinate, sign in signed if sign)
        if self._all_in:
            return minus
        return self._layout.report(coordinate for coordinate, _ in signed) + minus

    def _count(self, data: NDArray[np.uint8]) -> list[tuple[NDArray[np.int64], int]]:
        refuse(self._faults(data))
        bits = count_bits(data)
        minus = bits[-8 * self._plane :][: self._coordinates]
        present = np.full_like(minus, len(data)) if self._all_in else bits[: self._coordinates]
        counts = np.column_stack([present - minus, minus]).reshape(-1)
        return [(counts, len(data))]

    def _faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        rows = rows_at_once(self.report_width)
        requirement = f"contain {self._members} signed coordinates and no spare bits"
        for start in range(0, len(data), rows):
            invalid = self._impossible(data[start : start + rows])
            yield from fault_of(invalid, requirement, start=start)

    def _impossible(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        present, minus = data[:, : self._plane], data[:, -self._plane :]
        if self._all_in:
            return BitReports(self._coordinates).impossible(minus)
        return self._layout.impossible(present) | (minus & ~present).any(axis=1)
