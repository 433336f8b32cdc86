"""Privacy losses of releases. Losses add, and their sum gives an epsilon at any delta.

Four numbers are kept separate, because each adds exactly only to its own kind. They are squares of
mu (Gaussian differential privacy), rho (zero-concentrated), and epsilon with delta (pure and
approximate).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from lapwing.errors import MissingExtraError, PrivacyError
from lapwing.linear.memoized import memoized
from lapwing.privacy.exact_numbers import exact_number, exponential_bounds
from lapwing.privacy.gaussian_dp import delta_above, delta_exceeds, epsilon_above
from lapwing.stored_fields import Exact, FromFields

ZERO = Fraction(0)

LARGEST = 10**15
"""Limit of each number of a loss: noise that costs more protects nobody, and would overflow a
float."""

_LEAST_DELTA = Fraction(1, 10**300)
"""What is left of a smaller delta counts as nothing."""

_LEAST_RHO = Fraction(1, 2**60)
"""A smaller rho is rounded up to it."""


@dataclass(frozen=True)
class PrivacyLoss(FromFields):
    """Composed privacy loss: a sum of losses for the same neighbor relation.

    Parameters
    ----------
    mu_squared : int, float, str, Decimal or Fraction
        Square of mu of Gaussian differential privacy, in [0, 10^15]. Default: 0. It is kept as an
        exact fraction. A float is read as its shortest decimal representation.
    rho : int, float, str, Decimal or Fraction
        Parameter of zero-concentrated differential privacy, in [0, 10^15]. Default: 0.
    epsilon, delta : int, float, str, Decimal or Fraction
        Parameters of pure and approximate differential privacy, in [0, 10^15]. Default: 0. They add
        by basic composition.

    Raises
    ------
    PrivacyError
        When a number is negative or too large.

    Notes
    -----
    **Privacy.** Adaptive composition adds each kind separately. Gaussian differential privacy adds
    squares of mu ([1]_, corollary 2). Rho adds [2]_. Epsilon and delta add ([3]_, theorem 3.16).
    Kinds are combined by basic composition of their (epsilon, delta). If there is a rho, they are
    combined after ``rho += mu^2 / 2``, which holds for every mu-GDP release with Gaussian noise.

    References
    ----------
    .. [1] J. Dong, A. Roth, W. J. Su, "Gaussian differential privacy", Journal of the Royal
       Statistical Society Series B, 2022. doi:10.1111/rssb.12454
    .. [2] M. Bun, T. Steinke, "Concentrated differential privacy: simplifications, extensions, and
       lower bounds", TCC, 2016. doi:10.1007/978-3-662-53641-4_24
    .. [3] C. Dwork, A. Roth, "The algorithmic foundations of differential privacy", Foundations and
       Trends in Theoretical Computer Science, 2014. doi:10.1561/0400000042

    Examples
    --------
    >>> import lapwing as lw
    >>> from fractions import Fraction
    >>> one = lw.privacy.PrivacyLoss(mu_squared="0.25")
    >>> round(float((one + one).epsilon_at(Fraction(1, 10**6))), 3)
    3.308
    """

    mu_squared: Exact = ZERO
    rho: Exact = ZERO
    epsilon: Exact = ZERO
    delta: Exact = ZERO

    _name: ClassVar = "a privacy loss"

    def __post_init__(self) -> None:
        """Make the numbers exact and check the ranges."""
        for field in fields(self):
            name = f"the {field.name} of a privacy loss"
            exact = exact_number(getattr(self, field.name), name=name)
            if not 0 <= exact <= LARGEST:
                raise PrivacyError(name, "must be from 0 to 10^15")
            object.__setattr__(self, field.name, exact)

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the loss of both, in any order and also chosen one after the other."""
        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        return PrivacyLoss(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )

    def scaled(self, factor: Fraction) -> PrivacyLoss:
        """Return a multiple of this loss.

        Parameters
        ----------
        factor : Fraction
            Factor, at least 0.

        Returns
        -------
        PrivacyLoss
            Loss with each number multiplied by the factor.
        """
        return PrivacyLoss(**{f.name: factor * getattr(self, f.name) for f in fields(self)})

    @property
    def pure(self) -> bool:
        """Whether the loss is an epsilon and nothing else."""
        return self.mu_squared == self.rho == self.delta == 0

    def epsilon_at(self, delta: Fraction) -> Fraction:
        """Return an epsilon at a delta, by the proved conversion.

        Parameters
        ----------
        delta : Fraction
            Delta of the composed guarantee, in [0, 1).

        Returns
        -------
        Fraction
            Epsilon in nats for which the composed loss satisfies (epsilon, delta).

        Raises
        ------
        PrivacyError
            When the delta does not exceed the delta that approximate releases have already spent.
        """
        rest = delta - self.delta
        if rest < 0 or (rest < _LEAST_DELTA and (self.mu_squared or self.rho)):
            raise PrivacyError(
                "delta",
                f"must be above {float(self.delta):g}, which is already spent",
                f"{float(delta):g}",
            )
        if self.rho:
            return self.epsilon + concentrated_epsilon(self.rho + self.mu_squared / 2, rest)
        if self.mu_squared:
            return self.epsilon + epsilon_above(rest, self.mu_squared)
        return self.epsilon

    def within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether the composed loss is proved to satisfy (epsilon, delta).

        Parameters
        ----------
        epsilon, delta : Fraction
            Privacy parameters of a guarantee.

        Returns
        -------
        bool
            True when it is proved.
        """
        left, rest = epsilon - self.epsilon, delta - self.delta
        if left < 0 or rest < 0:
            return False
        if self.rho:
            whole = self.rho + self.mu_squared / 2
            return rest >= _LEAST_DELTA and concentrated_epsilon(whole, rest) <= left
        return self.mu_squared == 0 or delta_above(left, self.mu_squared) <= rest

    def uses_up(self, epsilon: Fraction, delta: Fraction, *, slack: Fraction) -> bool:
        """Return whether a guarantee matches this loss: a slightly larger loss would break it.

        The loss's own delta is ignored here. A loss whose own delta uses up the stated one
        satisfies the guarantee with any large epsilon. So any epsilon would be believed.

        Parameters
        ----------
        epsilon, delta : Fraction
            Guarantee that the loss satisfies.
        slack : Fraction
            Factor above 1 by which the loss is increased.

        Returns
        -------
        bool
            True when this loss times `slack` would break the guarantee.
        """
        left, squared = epsilon - slack * self.epsilon, slack * self.mu_squared
        if left < 0 and _pure_delta_below(-left) > delta:
            return True
        if self.rho:
            whole = slack * (self.rho + self.mu_squared / 2)
            return delta >= _LEAST_DELTA and concentrated_epsilon(whole, delta) > left
        # Randomized response with the own epsilon has the likelier of its answers half the time.
        return delta_exceeds(max(left, ZERO), squared, 2 * delta if self.epsilon else delta)


def _pure_delta_below(excess: Fraction) -> Fraction:
    """Return a lower bound of the delta that a pure epsilon needs at one that is less by so much.

    It is ``(1 - e^-excess) / (1 + e^-epsilon)``, that of randomized response.
    """
    return (1 - 1 / exponential_bounds(min(excess, Fraction(1)))[0]) / 2


def logarithm_above(number: Fraction) -> Fraction:
    """Return a rational number at least ln(number), within 1e-11 of it, with proof.

    The number must be positive. Minus the result for its inverse is a lower bound.
    """
    if number < 1:
        found = Fraction(math.ceil(math.log(number) * 2**40) + 1, 2**40)
        # e^-x is at most 1 / number exactly when e^x is at least number.
        parts = math.ceil(-found / 40) or 1
        assert exponential_bounds(-found / parts)[1] ** parts <= 1 / number
        return found
    found = Fraction(math.ceil(math.log(number) * 2**40) + 1, 2**40)
    parts = math.ceil(found / 40)
    assert exponential_bounds(found / parts)[0] ** parts >= number
    return found


@memoized(most=256)
def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Conversion of rho-zCDP to an epsilon at a delta (Canonne, Kamath and Steinke, 2020).

    It is the least over whole orders alpha of ``alpha rho + (ln(1 / delta) - ln(alpha - 1) + alpha
    ln(1 - 1 / alpha)) / (alpha - 1)``, rounded upwards in exact arithmetic.

    rho: Parameter of zero-concentrated differential privacy.
    delta: Delta, in (0, 1).
    returns: Epsilon in nats.

    Raises PrivacyError when delta is out of range.

    The bound is proposition 12 of [1]_.

    .. [1] C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy",
       NeurIPS, 2020.
    """
    if not 0 < delta < 1:
        raise PrivacyError("delta", "must be in (0, 1)", f"{float(delta):g}")
    rho = max(rho, _LEAST_RHO)

    def epsilon(alpha: int) -> float:
        rest = -math.log(delta) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)
        return alpha * float(rho) + rest / (alpha - 1)

    # Any order gives a bound; for a rho below 1e-20 the best one is too large for the sums below.
    best = 1 + min(math.sqrt(-math.log(delta) / float(rho)), 2.0**38)
    orders = range(max(2, int(best / 2)), max(4, int(2 * best) + 2))
    if len(orders) > 4000:  # a tiny rho: the optimum is flat
        orders = range(max(2, int(best / 2)), int(2 * best) + 2, len(orders) // 2000)
    alpha = min(orders, key=epsilon)
    rest = logarithm_above(1 / delta) + logarithm_above(Fraction(1, alpha - 1))
    rest += alpha * logarithm_above(Fraction(alpha - 1, alpha))
    return max(alpha * rho + rest / (alpha - 1), Fraction(0))


GRID = 1e-4
"""Grid step of the privacy loss. Each payment is rounded up by at most this much."""

_MOST_EPSILON = 100

_MARGIN = Fraction(1, 10**7)
"""Added to the epsilon: far more than the rounding of the floating-point sums."""


def tight_epsilon(losses: Iterable[PrivacyLoss], delta: Fraction) -> Fraction:
    """Numerical composition: an epsilon for payments of several kinds (Koskela et al., 2020).

    It is never more than exact composition gives. It is worth its time where Gaussian noise is
    combined with pure epsilons, or where there are many pure ones.

    losses: Losses of the payments, one by one. Many small epsilons cost less than their sum.
    delta: Delta of the composed guarantee, in (0, 1).
    returns: Epsilon in nats with which all payments together satisfy (epsilon, delta).

    Raises MissingExtraError when `dp-accounting` is not installed.
    Raises PrivacyError when the delta is not above the delta that the payments have already spent.

    **Privacy.** A pure epsilon, whatever its noise, is dominated by randomized response with that
    epsilon. An (epsilon, delta) is dominated by the same with probability delta of failure [1]_.
    Gaussian noise is a Gaussian pair at distance mu. Their loss distributions are discretized
    pessimistically and convolved [2]_ [3]_. Payments in rho have no loss distribution, so the exact
    sum is returned then. Unlike the exact sum, the result is not proved in rational arithmetic. The
    tests compare it with closed forms. The theorem lets every question follow from earlier answers,
    but the losses must be fixed beforehand. The exact sum allows both.

    **Cost.** About 20 ms, after 2 s for the first import.

    .. [1] P. Kairouz, S. Oh, P. Viswanath, "The composition theorem for differential privacy",
       ICML, 2015.
    .. [2] A. Koskela, J. Jälkö, A. Honkela, "Computing tight differential privacy guarantees using
       FFT", AISTATS, 2020.
    .. [3] V. Doroshenko, B. Ghazi, P. Kamath, R. Kumar, P. Manurangsi, "Connect the dots: tighter
       discrete approximations of privacy loss distributions", PoPETs, 2022.

    >>> from fractions import Fraction
    >>> from lapwing.privacy import PrivacyLoss
    >>> gaussian, pure = PrivacyLoss(mu_squared=Fraction(1, 900)), PrivacyLoss(epsilon="0.1")
    >>> round(float((gaussian + pure).epsilon_at(Fraction(1, 10**6))), 4)
    0.2227
    >>> round(float(tight_epsilon([gaussian, pure], Fraction(1, 10**6))), 4)
    0.2173
    """
    paid = list(losses)
    total = sum(paid, start=PrivacyLoss())
    if not 0 < delta < 1:
        raise PrivacyError(f"numerical composition needs a delta in (0, 1), got {float(delta):g}")
    exact = total.epsilon_at(delta)
    # Where hardly anything is hidden the grid would have millions of places, for nothing.
    if total.rho or len(paid) < 2 or exact > _MOST_EPSILON:
        return exact
    whole = _composed(paid, total)
    found = float(whole.get_epsilon_for_delta(float(delta) * (1 - 1e-12)))
    if not math.isfinite(found):
        return exact
    return min(exact, Fraction(math.ceil(found * 10**7), 10**7) + _MARGIN)


def _composed(paid: list[PrivacyLoss], total: PrivacyLoss) -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution as distributions
        from dp_accounting.pld.common import DifferentialPrivacyParameters
    except ImportError:
        raise MissingExtraError("dp-accounting", extra="central") from None
    parts = []
    if total.mu_squared:
        # A little less noise than there is, so that the float is on the safe side.
        deviation = (1 - 1e-12) / math.sqrt(float(total.mu_squared))
        parts.append(
            distributions.from_gaussian_mechanism(
                deviation, pessimistic_estimate=True, value_discretization_interval=GRID
            )
        )
    repeated: dict[tuple[Fraction, Fraction], int] = {}
    for loss in paid:
        if loss.epsilon or loss.delta:
            key = (loss.epsilon, loss.delta)
            repeated[key] = repeated.get(key, 0) + 1
    for (epsilon, delta), times in repeated.items():
        stated = DifferentialPrivacyParameters(
            float(epsilon), math.nextafter(float(delta), 1.0) if delta else 0.0
        )
        # Always pessimistic.
        one = distributions.from_privacy_parameters(stated, value_discretization_interval=GRID)
        parts.append(one.self_compose(times))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole
