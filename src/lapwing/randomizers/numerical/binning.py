"""Binning: a coarse histogram of an interval, asked with the better of two randomizers."""

from __future__ import annotations

from typing import Any

from lapwing.errors import DomainError
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding

SIZES = (8, 16, 32, 64)
"""The numbers of bins that the papers compare."""


def least_variance_randomizer(
    domain: Domain, epsilon: Any
) -> RandomizedResponse | OptimizedUnaryEncoding:
    """Return the randomizer of less variance for a rare one of the domain's k symbols.

    That of randomized response grows with the symbols, ``(e^epsilon + k - 2) / (e^epsilon - 1)^2``
    per report; that of optimized unary encoding is ``4 e^epsilon / (e^epsilon - 1)^2``. They
    cross at ``k = 3 e^epsilon + 2``. Source: Wang et al. 2017; Li et al. 2020, section 2.1.
    """
    response = RandomizedResponse(domain, epsilon)
    if domain.size < 3 * exponential_bounds(response.epsilon)[0] + 2:
        return response
    return OptimizedUnaryEncoding(domain, epsilon)


def binned(
    domain: Interval, epsilon: Any, *, bins: int
) -> RandomizedResponse | OptimizedUnaryEncoding:
    """Return the randomizer of the papers' binning: few bins, and the one with less variance.

    Decode it with ``LeastSquares()``, which for both is Norm-Sub; the answer's CDF is
    linear inside a bin.

    Parameters
    ----------
    domain : Interval
        Its own number of bins does not matter; atoms and a missing bin stay symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    bins : int
        At least 2; 8, 16, 32 and 64 in the papers.

    Returns
    -------
    RandomizedResponse or OptimizedUnaryEncoding
        See :func:`least_variance_randomizer`.

    Accuracy
    --------
    Noise grows and the bias of wide bins falls with their number, and no number is good for all
    columns; here to be compared with. It is best by far where the bins happen to meet the edges
    of the data.

    Source: Li et al. 2020, section 4.1; Wang et al. 2017. Differs: unary encoding stands for
    local hashing, which has the same variance.

    Examples
    --------
    >>> ages = Interval(0, 120, bins=120)
    >>> [binned(ages, 1, bins=bins).name for bins in (8, 16)]
    ['randomized-response', 'optimized-unary-encoding']
    """
    if not isinstance(domain, Interval):
        raise DomainError(
            f"binning needs an Interval, got {type(domain).__name__}; give the range of the "
            "values as an Interval with as many bins as you want"
        )
    return least_variance_randomizer(domain.refined(bins), epsilon)
