"""Privacy amplification by shuffling: the guarantee of reports in random order.

Every person randomizes on their own device with a local epsilon. A shuffler then passes all reports
on in random order, without any name, address or time. An observer of the shuffled reports alone
learns much less about one person, because others may have sent what this person sent. This module
computes an upper bound of epsilon. It uses the smaller of two theorems:

* **clones** (Feldman, McMillan and Talwar 2021): holds for every local randomizer. Each of the
  others hides the person with probability ``e^-epsilon0``.
* **flagged**: for randomizers whose reports of any two values have the same total variation
  distance (a `total_variation` that they state). Others hide more often. With some probability the
  report does not depend on the value at all, and the bound even tells the observer when that is so.

Neither says anything about the reports themselves, which keep their local guarantee. Both are void
when the shuffler is not trusted, or when reports can be linked to people by other means.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from lapwing.docstrings import inherits
from lapwing.errors import PrivacyError
from lapwing.linear.arrays import Vector
from lapwing.privacy.exact_numbers import check_whole, exact_delta
from lapwing.privacy.guarantee import Guarantee

MARGIN = 1e-9
"""Relative error allowed for every tail probability."""
# The tests compare them with exact fractions and find less than a hundredth of it. The bound is
# raised by the whole of it.

MOST_USERS = 10**9
"""More people are counted as so many: the bound only falls with their number."""

_NODES = 1024
"""Most numbers of clones at which the conditional bound is computed."""

_TAIL = 1e-4
"""Part of delta that may be lost at either end of the numbers of clones. It is added back."""


class Shuffled(Protocol):
    """Randomizer with what the bounds need. A `total_variation` makes the second apply."""

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of one report, in the local model."""
        ...


def amplified(randomizer: Shuffled, *, users: int, delta: Any) -> Guarantee:
    """Privacy amplification by shuffling (Feldman, McMillan and Talwar, 2021).

    It is the guarantee that shuffled reports give to each person in a group of a given size.

    Parameters
    ----------
    randomizer : Randomizer
        Randomizer with pure epsilon. All people use it, each once.
    users : int
        Number of honest people whose reports are shuffled together, at least 1.
    delta : float, str or Fraction
        Delta of the guarantee, in (0, 1). Choose it well below 1 / users.

    Returns
    -------
    Guarantee
        Guarantee in the "shuffle" model with the smallest epsilon that is proved, rounded up to
        six digits.

    Raises
    ------
    PrivacyError
        When an argument is out of range, or the reports must not be shuffled (`unshufflable`).

    Notes
    -----
    **Privacy.** The smaller epsilon of two theorems is returned, and never more than the local one.
    See :func:`clones_delta` and :func:`flagged_delta`. Reports must contain nothing but the output
    of the randomizer. Hashing seeds are public and drawn by the device, independently of the
    value, so they may be shuffled with the reports. A seed that the server assigned to a person
    identifies that person.

    **Cost.** About 0.1 s for any number of users.

    References
    ----------
    .. [1] V. Feldman, A. McMillan, K. Talwar, "Hiding among the clones: a simple and nearly optimal
       analysis of privacy amplification by shuffling", FOCS, 2021. doi:10.1109/FOCS52979.2021.00096

    Examples
    --------
    >>> import lapwing as lw
    >>> bits = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(range(100)), 1)
    >>> print(lw.shuffle.amplified(bits, users=10_000, delta="1e-6"))
    epsilon = 0.0530061, delta = 1e-06, neighbors replace-one, shuffle model
    """
    reason = getattr(randomizer, "unshufflable", None)
    if reason is not None:
        raise PrivacyError(f"these reports must not be shuffled: {reason}")
    local = randomizer.guarantee
    if local.model != "local" or local.delta != 0:
        raise PrivacyError(f"shuffling amplifies a pure local guarantee, got: {local}")
    exact = exact_delta(delta)
    if exact == 0:
        raise PrivacyError(
            "delta", "must be greater than 0: shuffling does not improve a pure guarantee"
        )
    distance = getattr(randomizer, "total_variation", None)
    epsilon = amplified_epsilon(
        float(local.epsilon),
        users=users,
        delta=float(exact),
        total_variation=None if distance is None else float(distance),
    )
    rounded = decimal.Context(prec=6, rounding=decimal.ROUND_CEILING).create_decimal(
        decimal.Decimal(epsilon)
    )
    promised = min(Fraction(rounded), local.epsilon)
    return Guarantee(promised, exact, "replace-one", "shuffle")


def amplified_epsilon(
    local_epsilon: float, *, users: int, delta: float, total_variation: float | None = None
) -> float:
    """Epsilon of shuffled reports: the smallest for which delta is bounded as given.

    Parameters
    ----------
    local_epsilon : float
        Epsilon of one report in nats, in (0, 64].
    users : int
        Number of honest people whose reports are shuffled together, at least 1.
    delta : float
        Delta of the guarantee, in (0, 1).
    total_variation : float, optional
        Total variation distance between the reports of two values, if it is the same for every
        pair. Default: None, which uses only :func:`clones_delta`.

    Returns
    -------
    float
        Epsilon of the shuffled reports, at most `local_epsilon`.

    Raises
    ------
    PrivacyError
        When an argument is out of range.

    Examples
    --------
    >>> import lapwing as lw
    >>> round(lw.shuffle.amplified_epsilon(1, users=10_000, delta=1e-6), 3)
    0.053
    """
    users = check_whole("users", users, low=1, error=PrivacyError)
    if not 0 < delta < 1:
        raise PrivacyError("delta", "must be in (0, 1)", str(delta))
    if not 0 < local_epsilon <= 64:
        raise PrivacyError(
            "local_epsilon", "must be greater than 0 and at most 64", str(local_epsilon)
        )

    laws = [_any_randomizer(local_epsilon, users)]
    if total_variation is not None:
        laws.append(_two_levels(local_epsilon, users, total_variation))
    bounds = []
    for law in laws:
        clones = _Clones.of(law.others, law.clone, tail=_TAIL * delta)
        bounds.append(_smallest(clones, local_epsilon, share=law.share, delta=delta))
    return min(bounds)


@dataclass(frozen=True)
class _Law:
    """How many others there are, how probably each is a clone, and how often that is needed."""

    others: int
    clone: float
    share: float

    def delta(self, epsilon: float, local_epsilon: float, *, least: float) -> float:
        """Return the bound of delta at an epsilon."""
        clones = _Clones.of(self.others, self.clone, tail=_TAIL * least)
        return self.share * clones.delta(epsilon, local_epsilon)


def _any_randomizer(local_epsilon: float, users: int) -> _Law:
    return _Law(min(users, MOST_USERS) - 1, math.exp(-local_epsilon), 1.0)


def _two_levels(local_epsilon: float, users: int, total_variation: float) -> _Law:
    largest = math.tanh(local_epsilon / 2)
    if not 0 < total_variation <= largest * (1 + 1e-9):
        raise PrivacyError(
            f"the total variation of reports of epsilon {local_epsilon:g} must be in "
            f"(0, {largest:g}], got {total_variation:g}"
        )
    each = total_variation / math.expm1(local_epsilon)
    share = min((math.exp(local_epsilon) + 1) * each, 1.0)
    return _Law(min(users, MOST_USERS) - 1, min(2 * each, 1.0), share)


def clones_delta(
    epsilon: float, *, local_epsilon: float, users: int, least: float = 1e-12
) -> float:
    """Bound on delta at an epsilon, by clones (Feldman, McMillan and Talwar, 2021).

    It holds for every local randomizer with pure epsilon.

    Parameters
    ----------
    epsilon : float
        Epsilon of the shuffled reports in nats, at least 0.
    local_epsilon : float
        Epsilon of one report in nats, called epsilon0 in the paper.
    users : int
        Number of honest people whose reports are shuffled together, at least 1.
    least : float
        The bound is not refined beyond a thousandth of this. Default: 1e-12.

    Returns
    -------
    float
        Upper bound on delta, in [0, 1].

    Notes
    -----
    **Privacy.** Let R be the randomizer, and let two populations differ in the value of person 1, x
    or x'. By the local guarantee there are distributions Q and Q' with ``R(x) = (p Q + Q') / (p +
    1)`` and ``R(x') = (Q + p Q') / (p + 1)``, where p = e^epsilon0. Every other person's report is
    at least ``1 / p`` times ``(Q + Q') / 2``. So each other person is a clone with probability ``1
    / p``, independently. A clone draws from Q or Q' at random. Given the number of clones, the
    other reports do not depend on person 1. Only the numbers of draws from Q and from Q'
    distinguish the populations. Let C be binomial(users - 1, 1 / p) and A binomial(C, 1/2). Let D
    be 1 with probability p / (p + 1), and otherwise 0. Then the two numbers are ``(A + D, C - A +
    1 - D)``, or the same in the other order. The tests compare the bound with the enumeration of
    all shuffles of small populations.

    The bound is theorem 3.1 of [1]_.

    References
    ----------
    .. [1] V. Feldman, A. McMillan, K. Talwar, "Hiding among the clones: a simple and nearly optimal
       analysis of privacy amplification by shuffling", FOCS, 2021. doi:10.1109/FOCS52979.2021.00096

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.shuffle.clones_delta(0.2, local_epsilon=1, users=10_000) < 1e-6
    True
    """
    return _any_randomizer(local_epsilon, users).delta(epsilon, local_epsilon, least=least)


@inherits(clones_delta)
def flagged_delta(
    epsilon: float,
    *,
    local_epsilon: float,
    users: int,
    total_variation: float,
    least: float = 1e-12,
) -> float:
    """Bound on delta at an epsilon, from the total variation (Feldman et al., 2023).

    It holds for randomizers whose reports of any two values have the same total variation distance.

    Parameters
    ----------
    local_epsilon : float
        Epsilon of one report in nats.
    total_variation : float
        Total variation distance v, in (0, (p - 1) / (p + 1)] with p = e^local_epsilon.

    Raises
    ------
    PrivacyError
        When the total variation is out of range.

    Notes
    -----
    **Privacy.** Let a = v / (p - 1), ``Q = (R(x) - R(x'))+ / v`` and ``Q' = (R(x') - R(x))+ / v``.
    The local guarantee gives ``R(x) = p a Q + a Q' + W`` and ``R(x') = a Q + p a Q' + W`` with the
    same W >= 0 of mass ``1 - (p + 1) a``. Every other report is at least ``a (Q + Q')``. The reason
    is that where R(x) > R(x') the difference is at most p - 1 times the smallest probability that
    any value gives to that report. Tell the observer whether person 1 drew W. If so, the
    populations cannot be distinguished. Otherwise the two numbers are as in :func:`clones_delta`,
    with clones of probability 2 a. So ``delta = (p + 1) a delta2(epsilon)``. The tests compare the
    bound with the enumeration of all shuffles of small populations.

    The decomposition is that of [1]_ for two levels, with the flag given to the observer. Without
    that the bound would be smaller, but enumeration contradicts it.

    References
    ----------
    .. [1] V. Feldman, A. McMillan, K. Talwar, "Stronger privacy amplification by shuffling for
       Rényi and approximate differential privacy", SODA, 2023. doi:10.1137/1.9781611977554.ch181

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.shuffle.flagged_delta(
    ...     0.2, local_epsilon=1, users=10_000, total_variation=0.25) < 1e-6
    True
    """
    law = _two_levels(local_epsilon, users, total_variation)
    return law.delta(epsilon, local_epsilon, least=least)


@dataclass(frozen=True)
class _Clones:
    """How many of the others are clones: numbers, bounds of their probabilities, mass left out."""

    numbers: Vector
    masses: Vector
    missing: float

    @classmethod
    def of(cls, others: int, clone: float, *, tail: float) -> _Clones:
        """Return the distribution of C, binomial(others, clone), in at most so many nodes.

        The range is Bernstein's: a binomial is further than x from its mean with probability at
        most ``2 exp(-x^2 / (2 (variance + x / 3)))``. Numbers between two nodes count as the lower
        one: with fewer clones the bound is larger, because an observer can add a clone to what is
        seen.
        """
        if others == 0:
            return cls(np.zeros(1), np.ones(1), 0.0)
        mean, variance = others * clone, others * clone * (1 - clone)
        bits = -math.log(tail)
        reach = bits / 3 + math.sqrt(bits * bits / 9 + 2 * bits * variance)
        first, last = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
        step = -(-(last - first + 1) // _NODES)
        edges = np.append(np.arange(first, last + 1, step, dtype=np.float64), last + 1.0)
        # P(node <= C < next) is a difference of the smaller tails, so that it keeps its digits.
        below = _binomial_below(edges, others, clone)
        beyond = _binomial_from(edges, others, clone)
        left = edges[1:] < mean
        masses = np.where(left, below[1:] - below[:-1], beyond[:-1] - beyond[1:])
        masses = np.maximum(masses, 0.0) + MARGIN * np.where(left, below[1:], beyond[:-1])
        return cls(edges[:-1], masses, 2 * tail)

    def delta(self, epsilon: float, local_epsilon: float) -> float:
        """Return the sum over numbers of clones of P(C) times the bound given C."""
        given = _given_clones(epsilon, local_epsilon, self.numbers)
        return min(1.0, float(np.dot(self.masses, given)) * (1 + MARGIN) + self.missing)


def _smallest(clones: _Clones, local_epsilon: float, *, share: float, delta: float) -> float:
    """Return the upper end of a bisection for ``share * clones.delta(epsilon) = delta``."""
    low, high = 0.0, local_epsilon
    while high - low > 1e-7 * high and high > 1e-9:
        middle = (low + high) / 2
        if share * clones.delta(middle, local_epsilon) <= delta:
            high = middle
        else:
            low = middle
    return high


def _given_clones(epsilon: float, local_epsilon: float, clones: Vector) -> Vector:
    """Return the bound of delta when so many of the others are clones.

    The first number U = A + D is the statistic: its likelihood ratio rises in it, so the worst set
    is U > u, with ``u = t (p e^epsilon - 1) / ((p - 1)(1 + e^epsilon))`` and t = C + 1. A threshold
    that rounding puts one too high or low misses a term that is nearly zero there, and is below the
    margin.
    """
    p, ratio = math.exp(local_epsilon), math.exp(epsilon)
    if epsilon >= local_epsilon:
        return np.zeros_like(clones)
    level = (p * ratio - 1) / ((p - 1) * (1 + ratio))
    above = np.floor((clones + 1) * level)
    one = _fair_above(above - 1, clones)
    two = _fair_above(above, clones)
    with_x = (p * one + two) / (p + 1)
    with_other = ratio * (one + p * two) / (p + 1)
    delta: Vector = with_x - with_other + MARGIN * (with_x + with_other)
    return np.maximum(delta, 0.0)


def _fair_above(number: Vector, tosses: Vector) -> Vector:
    """Return P(heads > number) for so many tosses of a fair coin."""
    from scipy.special import betainc

    inside = (number >= 0) & (number < tosses)
    heads = np.where(inside, number, 0.0)
    rest = np.where(inside, tosses - number, 1.0)
    tail: Vector = np.where(inside, betainc(heads + 1, rest, 0.5), np.where(number < 0, 1.0, 0.0))
    return tail


def _binomial_below(number: Vector, tosses: int, probability: float) -> Vector:
    """Return P(heads < number) for a coin of a given probability of heads."""
    from scipy.special import betainc

    inside = (number > 0) & (number <= tosses)
    heads = np.where(inside, number, 1.0)
    tail: Vector = betainc(tosses - heads + 1, heads, 1 - probability)
    return np.where(inside, tail, np.where(number <= 0, 0.0, 1.0))


def _binomial_from(number: Vector, tosses: int, probability: float) -> Vector:
    """Return P(heads >= number)."""
    from scipy.special import betainc

    inside = (number > 0) & (number <= tosses)
    heads = np.where(inside, number, 1.0)
    tail: Vector = betainc(heads, tosses - heads + 1, probability)
    return np.where(inside, tail, np.where(number <= 0, 1.0, 0.0))
