"""The promise of one of several releases over the same people, so that all keep a whole one."""

from __future__ import annotations

import math
from fractions import Fraction

from lapwing.errors import PrivacyError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise, kept
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.exact_counts import for_curator
from lapwing.protocol.release import Mechanism

_FINE = 2**40
"""Parts of mu and rho are whole multiples of 1 / _FINE, rounded down."""


def promise_of_each(
    mechanism: Mechanism, domain: Domain, promise: Promise, *, releases: int
) -> Promise:
    """Return what each of several releases may promise so that all together keep one promise.

    For mechanisms that start again over all people in every round of newly collected rows, such as
    :class:`AdaptiveQuantiles` and :class:`MatchingPursuit`: whoever was there first is behind all
    of them. (Mechanisms whose releases add never need it: each round has people of its own.)

    Parameters
    ----------
    mechanism : Mechanism
    domain : Domain
    promise : Promise
        For all releases together.
    releases : int
        In 1..1000; fixed before the first.

    Returns
    -------
    Promise
        In epsilon where the mechanism's loss is pure, else in mu or rho: those add more tightly
        than epsilons with deltas.

    Privacy
    -------
    What one release under the whole promise would lose is cut into equal parts: epsilons add, the
    squares of mu add, and rho adds (:class:`PrivacyLoss`), also when each release is chosen after
    those before it. That the sum keeps the promise is computed, not assumed; a ledger that pays
    for each adds them up anew and refuses one more.

    Raises
    ------
    ArgumentError, PrivacyError
        Those of the mechanism, and when a part would be too small.

    Examples
    --------
    >>> from lapwing.mechanisms.adaptive_quantiles import AdaptiveQuantiles
    >>> from lapwing.protocol.domains.interval import Interval
    >>> whole = Promise("replace-one", epsilon=1, delta="1e-6")
    >>> each = promise_of_each(AdaptiveQuantiles(20), Interval(0, 1, bins=64), whole, releases=10)
    >>> round(float(each.mu), 4)
    0.0749
    """
    check_whole("releases", releases, low=1, high=1000)
    domain = for_curator(domain)
    loss = mechanism.loss(domain, promise)
    part = _part(loss, promise, releases)
    if not part:
        raise PrivacyError("a part of this promise is too small; promise more, or fewer releases")
    if loss.rho:
        each = Promise(promise.neighbors, rho=part)
    elif loss.mu_squared:
        each = Promise(promise.neighbors, mu=part)
    else:
        each = Promise(promise.neighbors, epsilon=part)
    one = mechanism.loss(domain, each)
    if not kept(promise, sum([one] * (releases - 1), one)):
        raise PrivacyError(
            f"releases of {mechanism.name} under a part of this promise do not add up to it; "
            "promise an epsilon for each"
        )
    return each


def _part(loss: PrivacyLoss, promise: Promise, releases: int) -> Fraction:
    """Return an equal part of a loss, rounded down; of mu where squares add."""
    if loss.rho:
        return Fraction(math.floor(loss.rho / releases * _FINE), _FINE)
    if loss.mu_squared:
        squared = loss.mu_squared / releases
        return Fraction(math.isqrt(math.floor(squared * _FINE**2)), _FINE)
    if promise.epsilon is not None:
        return promise.epsilon / releases
    return Fraction(math.floor(loss.epsilon / releases * _FINE), _FINE)
