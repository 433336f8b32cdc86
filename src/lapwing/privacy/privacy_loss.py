"""What a release costs: losses add, and their sum gives an epsilon at any delta.

Four kinds are kept apart, because each adds exactly only with its own: squares of mu (Gaussian
differential privacy), rho (zero-concentrated), and epsilon with delta (pure and approximate).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from lapwing.documents import spelled_number
from lapwing.errors import FormatError, MissingExtraError, PrivacyError
from lapwing.linear.memoized import memoized
from lapwing.privacy.exact_numbers import exact_number, exponential_bounds
from lapwing.privacy.gaussian_dp import delta_above, delta_exceeds, epsilon_above

ZERO = Fraction(0)

LARGEST = 10**15
"""Of each number of a loss: noise that costs more protects nobody, and would overflow a float."""

_LEAST_DELTA = Fraction(1, 10**300)
"""What is left of a smaller delta counts as nothing."""

_LEAST_RHO = Fraction(1, 2**60)
"""A smaller rho is rounded up to it."""


@dataclass(frozen=True)
class PrivacyLoss:
    """Composed privacy loss: a sum of losses between the same two neighbors.

    Parameters
    ----------
    mu_squared : int, float, str, Decimal or Fraction
        Of Gaussian differential privacy. Like the others in [0, 10^15] and kept as an exact
        fraction; a float is the decimal that it prints.
    rho : int, float, str, Decimal or Fraction
        Of zero-concentrated differential privacy.
    epsilon, delta : int, float, str, Decimal or Fraction
        Of pure and of approximate differential privacy, which add by basic composition.

    Notes
    -----
    **Privacy.** Adaptive composition, each kind with its own: mu-GDP adds squares (Dong et al.
    2022, corollary 2), rho adds (Bun and Steinke 2016), epsilon and delta add (Dwork and Roth 2014,
    theorem 3.16). Kinds are combined by basic composition of their (epsilon, delta), or, where
    there is rho, after ``rho += mu^2 / 2``, which every mu-GDP release with normal noise satisfies.

    Examples
    --------
    >>> one = PrivacyLoss(mu_squared=Fraction(1, 4))
    >>> round(float((one + one).epsilon_at(Fraction(1, 10**6))), 3)
    3.308
    """

    mu_squared: Fraction = ZERO
    rho: Fraction = ZERO
    epsilon: Fraction = ZERO
    delta: Fraction = ZERO

    def __post_init__(self) -> None:
        """Make the numbers exact and check the ranges."""
        for field in fields(self):
            name = f"the {field.name} of a privacy loss"
            exact = exact_number(getattr(self, field.name), name=name)
            if not 0 <= exact <= LARGEST:
                raise PrivacyError(f"{name} must not be negative, nor beyond 10^15")
            object.__setattr__(self, field.name, exact)

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the loss of both, in any order and also chosen one after the other."""
        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        return PrivacyLoss(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )

    def scaled(self, factor: Fraction) -> PrivacyLoss:
        """Return so many times this loss."""
        return PrivacyLoss(**{f.name: factor * getattr(self, f.name) for f in fields(self)})

    @property
    def pure(self) -> bool:
        """Whether it is an epsilon and nothing else."""
        return self.mu_squared == self.rho == self.delta == 0

    def epsilon_at(self, delta: Fraction) -> Fraction:
        """Return an epsilon with which the whole satisfies (epsilon, delta).

        Raises
        ------
        PrivacyError
            When the delta is not above what approximate releases have used of it already.
        """
        rest = delta - self.delta
        if rest < 0 or (rest < _LEAST_DELTA and (self.mu_squared or self.rho)):
            raise PrivacyError(
                f"delta must be above {float(self.delta):g}, which is already spent, got "
                f"{float(delta):g}"
            )
        if self.rho:
            return self.epsilon + concentrated_epsilon(self.rho + self.mu_squared / 2, rest)
        if self.mu_squared:
            return self.epsilon + epsilon_above(rest, self.mu_squared)
        return self.epsilon

    def within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether the whole is proved to satisfy (epsilon, delta)."""
        left, rest = epsilon - self.epsilon, delta - self.delta
        if left < 0 or rest < 0:
            return False
        if self.rho:
            whole = self.rho + self.mu_squared / 2
            return rest >= _LEAST_DELTA and concentrated_epsilon(whole, rest) <= left
        return self.mu_squared == 0 or delta_above(left, self.mu_squared) <= rest

    def uses_up(self, epsilon: Fraction, delta: Fraction, *, slack: Fraction) -> bool:
        """Return whether a guarantee is that of this loss: a little more would break it.

        Its own delta has no part in this. A loss that uses up the stated delta by its own is within
        the guarantee with any large epsilon, so that would make any epsilon believed.

        Parameters
        ----------
        epsilon, delta : Fraction
            The guarantee, which the loss satisfies.
        slack : Fraction
            Above 1: how much more.
        """
        left, squared = epsilon - slack * self.epsilon, slack * self.mu_squared
        if left < 0 and _pure_delta_below(-left) > delta:
            return True
        if self.rho:
            whole = slack * (self.rho + self.mu_squared / 2)
            return delta >= _LEAST_DELTA and concentrated_epsilon(whole, delta) > left
        # Randomized response with the own epsilon has the likelier of its answers half the time.
        return delta_exceeds(max(left, ZERO), squared, 2 * delta if self.epsilon else delta)

    def to_document(self) -> dict[str, str]:
        """Return the JSON form; fractions are written exactly, as text."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_document(cls, document: Any) -> PrivacyLoss:
        """Return the loss that :meth:`to_document` wrote; FormatError when it is none."""
        names = {field.name for field in fields(cls)}
        if not isinstance(document, dict) or set(document) != names:
            raise FormatError(f"a privacy loss must have exactly: {', '.join(sorted(names))}")
        try:
            return cls(
                **{name: spelled_number(document[name], name=f"the {name}") for name in names}
            )
        except PrivacyError as error:
            raise FormatError(f"the privacy loss cannot be used: {error}") from None


def _pure_delta_below(excess: Fraction) -> Fraction:
    """Return a lower bound of the delta that a pure epsilon needs at one that is less by so much.

    It is ``(1 - e^-excess) / (1 + e^-epsilon)``, that of randomized response.
    """
    return (1 - 1 / exponential_bounds(min(excess, Fraction(1)))[0]) / 2


def logarithm_above(number: Fraction) -> Fraction:
    """Return a rational number at least ln(number), within 1e-11 of it, with proof.

    For a positive number; minus that of its inverse is a lower bound.
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
    """Return an epsilon at which rho-zCDP has this delta, rounded upwards in exact arithmetic.

    The least over whole orders alpha of ``alpha rho + (ln(1 / delta) - ln(alpha - 1) + alpha
    ln(1 - 1 / alpha)) / (alpha - 1)``.

    Source: Canonne, Kamath and Steinke 2020, proposition 12.
    """
    if not 0 < delta < 1:
        raise PrivacyError(f"delta must be in (0, 1), got {float(delta):g}")
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
"""Of the privacy loss. Each payment is rounded up by at most this much."""

_MOST_EPSILON = 100

_MARGIN = Fraction(1, 10**7)
"""Added to the epsilon: far more than the rounding of the floating-point sums."""


def tight_epsilon(losses: Iterable[PrivacyLoss], delta: Fraction) -> Fraction:
    """Return an epsilon with which payments of several kinds together satisfy (epsilon, delta).

    Never more than exact composition says. Worth its time where normal noise stands beside pure
    epsilons, or where there are many pure ones.

    Parameters
    ----------
    losses : iterable of PrivacyLoss
        One a payment, not their sum: many small epsilons cost less than one large one.
    delta : Fraction
        In (0, 1).

    Raises
    ------
    MissingExtraError
        When `dp-accounting` is not installed.
    PrivacyError
        When delta is not above what the payments use of it already.

    Notes
    -----
    **Privacy.** A pure epsilon, whatever noise it had, is no easier to tell apart than randomized
    response with that epsilon; an (epsilon, delta) than the same with a chance delta of failure
    (Kairouz, Oh and Viswanath 2015); normal noise than one normal variable from another, mu apart.
    Their loss distributions are discretized pessimistically and convolved (Koskela et al. 2020;
    Doroshenko et al. 2022). Payments in rho have no loss distribution: then the exact sum is
    returned. Unlike the exact sum it is not proved in rational arithmetic. The tests compare it
    with closed forms. The theorem lets every question follow from earlier answers, but the losses
    must be fixed beforehand; the exact sum allows both.

    **Cost.** About 20 ms, after 2 s for the first import.

    Examples
    --------
    >>> normal = PrivacyLoss(mu_squared=Fraction(1, 900))
    >>> pure = PrivacyLoss(epsilon=Fraction(1, 10))
    >>> round(float((normal + pure).epsilon_at(Fraction(1, 10**6))), 4)
    0.2227
    >>> round(float(tight_epsilon([normal, pure], Fraction(1, 10**6))), 4)
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
