"""Signed subset selection: a set of signed coordinates, likely one with the true sign.

The value is one of the signed unit vectors +e_k and -e_k: a half of a cell, at one level of a
wavelet expansion. It beats subset selection on the ``2 d`` categories, because a set never spends
two places on the two signs of one coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne
from lapwing.errors import DomainError
from lapwing.linear.arrays import cached_property
from lapwing.linear.operators.operator import PairSymmetric
from lapwing.papers.wavelet.signed_subset_law import SignedSubset
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
