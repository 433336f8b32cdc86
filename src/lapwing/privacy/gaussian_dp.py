"""Gaussian differential privacy: the noise that a guarantee needs, with proof (Dong et al., 2022).

A mechanism is `mu`-GDP when its pairs of neighbors are no easier to distinguish than a Gaussian
variable from itself shifted by `mu` standard deviations. It then satisfies (epsilon, delta) for
every epsilon with one closed form of delta. Independent or adaptive releases add their squares of
mu exactly. Floating-point numbers find the noise. A rational upper bound of delta, from integers
alone, proves that it is enough.
"""

from __future__ import annotations

import math
from fractions import Fraction

from lapwing.errors import PrivacyError
from lapwing.linear.memoized import memoized

SIGNIFICANT_BITS = 32
"""Of a noise scale. Rounding it up costs at most 2^-31 of it, and lets samplers work in words."""

_GUARD = 128
"""Bits of the fixed-point numbers beyond the size of the tail that they bound."""

_LARGEST_EPSILON = 1000
"""Beyond it, delta is bounded by that at it: exponentials of millions have millions of digits."""

_LEAST_MU_SQUARED = Fraction(1, 10**300)
"""Where an epsilon is searched in floating point. A smaller one is rounded up to it."""

_LARGEST_ARGUMENT = 64
"""Standard deviations beyond which tails are not computed: below 1e-890."""


def scale_up(number: float) -> Fraction:
    """Return the smallest number of 32 significant bits that is at least a positive one.

    >>> scale_up(4.0), float(scale_up(0.1)) - 0.1 < 1e-10
    (Fraction(4, 1), True)
    """
    if not 0 < number < math.inf:
        raise PrivacyError(f"a noise scale must be positive and finite, got {number}")
    exponent = math.frexp(number)[1] - SIGNIFICANT_BITS
    return math.ceil(Fraction(number) / Fraction(2) ** exponent) * Fraction(2) ** exponent


def root_above(number: Fraction, bits: int = 128) -> Fraction:
    """Return a rational number at least the square root, within 2^-bits of it."""
    scale = 1 << (2 * bits)
    root = math.isqrt(math.ceil(number * scale))
    return Fraction(root + 1, 1 << bits)


@memoized(most=64)
def _pi_below(bits: int) -> int:
    """Return an integer in (pi * 2^bits - 2^20, pi * 2^bits), by Machin's formula."""
    one = 1 << bits

    def inverse_tangent(divisor: int) -> int:
        term = one // divisor
        total, square, odd, sign = term, divisor * divisor, 1, 1
        while term:
            term //= square
            odd, sign = odd + 2, -sign
            total += sign * (term // odd)
        return total

    # Fewer than 2^10 terms, each off by less than two units, times at most 20.
    return 16 * inverse_tangent(5) - 4 * inverse_tangent(239) - (1 << 19)


def _exponential(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers around ``2^bits * e^exponent`` for an exponent of at least 0."""
    low = high = low_term = high_term = 1 << bits
    index = 0
    while high_term > 1 or 2 * exponent > index + 1:
        index += 1
        numerator, denominator = exponent.numerator, exponent.denominator * index
        low_term = low_term * numerator // denominator
        high_term = -(-high_term * numerator // denominator)
        low, high = low + low_term, high + high_term
    # From here on every term is less than half the one before.
    return low, high + 2 * high_term + 1


def _tail(point: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational bounds of the standard normal's P(Z > point).

    ``P(0 < Z < x) = density(x) * (x + x^3/3 + x^5/(3*5) + ...)``: all terms are positive, so
    partial sums with rounded-down terms are below it, and a geometric series bounds the rest.
    """
    if point < 0:
        low, high = _tail(-point)
        return 1 - high, 1 - low
    if point > _LARGEST_ARGUMENT:
        return Fraction(0), _tail(Fraction(_LARGEST_ARGUMENT))[1]
    # 512 binary digits of the point are enough, and keep the fractions short.
    grid = 1 << 512
    lower, upper = Fraction(math.floor(point * grid), grid), Fraction(math.ceil(point * grid), grid)
    return _tail_at(upper)[0], _tail_at(lower)[1]


@memoized(most=4096)
def _tail_at(point: Fraction) -> tuple[Fraction, Fraction]:
    bits = _GUARD + math.ceil(1.5 * float(point) ** 2)
    one = 1 << bits
    square = point * point
    low_term = math.floor(point * one)
    high_term = math.ceil(point * one)
    low, high, odd = low_term, high_term, 1
    while high_term > 1 or 2 * square > odd + 2:
        odd += 2
        low_term = low_term * square.numerator // (square.denominator * odd)
        high_term = -(-high_term * square.numerator // (square.denominator * odd))
        low, high = low + low_term, high + high_term
    high += 2 * high_term + 1
    # density(x) = 1 / (e^(x^2/2) * sqrt(2 pi)).
    growth_low, growth_high = _exponential(square / 2, bits)
    pi = _pi_below(bits)
    root_low = math.isqrt(2 * pi << bits)
    root_high = math.isqrt((2 * (pi + (1 << 20))) << bits) + 1
    inside_low = Fraction(low * one, growth_high * root_high)
    inside_high = Fraction(high * one, growth_low * root_low)
    half = Fraction(1, 2)
    return max(half - inside_high, Fraction(0)), half - inside_low


def delta_above(epsilon: Fraction, mu_squared: Fraction) -> Fraction:
    """Upper bound of the delta of a mu-GDP mechanism at an epsilon, as a fraction.

    epsilon: At least 0.
    mu_squared: At least 0.
    returns: Upper bound of delta, in [0, 1].

    ``delta = P(Z > epsilon/mu - mu/2) - e^epsilon P(Z > epsilon/mu + mu/2)`` ([1]_, theorem 8, and
    [2]_, corollary 1). It grows with mu, so a rational mu at least the root gives a bound. The
    relative excess is below 1e-20 for delta above 1e-100 and mu above 1e-15. Delta falls with
    epsilon, so beyond 1000 that at 1000 is a bound.

    .. [1] B. Balle, Y.-X. Wang, "Improving the Gaussian mechanism for differential privacy:
       analytical calibration and optimal denoising", ICML, 2018.
    .. [2] J. Dong, A. Roth, W. J. Su, "Gaussian differential privacy", Journal of the Royal
       Statistical Society Series B, 2022. doi:10.1111/rssb.12454
    """
    if epsilon < 0 or mu_squared < 0:
        raise PrivacyError("epsilon and mu squared must not be negative")
    if mu_squared == 0:
        return Fraction(0)
    epsilon = min(epsilon, Fraction(_LARGEST_EPSILON))
    # Scaled so that a small mu keeps its digits.
    lowest = mu_squared.denominator.bit_length() - mu_squared.numerator.bit_length() + 1
    bits = 256 + max(0, lowest)
    mu = root_above(mu_squared, bits)
    near, far = _tail(epsilon / mu - mu / 2), _tail(epsilon / mu + mu / 2)
    growth = Fraction(_exponential(epsilon, 256)[0], 1 << 256)
    return min(max(near[1] - growth * far[0], Fraction(0)), Fraction(1))


def delta_exceeds(epsilon: Fraction, mu_squared: Fraction, delta: Fraction) -> bool:
    """Return whether mu-GDP is proved to need more than a delta at an epsilon.

    False where it does not, and where the bounds cannot decide. They cannot beyond an epsilon of
    1000, or where tails are too far out to be computed.
    """
    if mu_squared <= 0 or not 0 <= epsilon <= _LARGEST_EPSILON:
        return False
    lowest = mu_squared.denominator.bit_length() - mu_squared.numerator.bit_length() + 1
    bits = 256 + max(0, lowest)
    mu = Fraction(math.isqrt(math.floor(mu_squared * (1 << (2 * bits)))), 1 << bits)
    if not mu:
        return False
    near, far = _tail(epsilon / mu - mu / 2), _tail(epsilon / mu + mu / 2)
    growth = Fraction(_exponential(epsilon, 256)[1], 1 << 256)
    return near[0] - growth * far[1] > delta


def _delta(epsilon: float, mu: float) -> float:
    """Return delta in floating point, stable down to 1e-300."""
    from scipy.special import erfcx, log_ndtr

    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > -5:
        gap = float(erfcx(near / math.sqrt(2)) - erfcx(far / math.sqrt(2)))
        return math.exp(-near * near / 2) * gap / 2
    return float(math.exp(log_ndtr(-near)) - math.exp(epsilon + log_ndtr(-far)))


def largest_mu(epsilon: float, delta: float) -> float:
    """Return the mu at which delta is reached, in floating point and without proof."""
    from scipy.optimize import brentq

    low, high = 1e-9, 1.0
    while _delta(epsilon, high) < delta:
        high *= 2
    while _delta(epsilon, low) > delta:
        low /= 16
        if low < 1e-40:
            raise PrivacyError("epsilon and delta are too small: the noise would not fit a number")
    # Where delta has lost its digits the search may not end; what it finds is proved, or refused.
    found = brentq(
        lambda mu: _delta(epsilon, mu) - delta, low, high, xtol=1e-300, rtol=1e-14, disp=False
    )
    return float(found)


def noise_scale(epsilon: Fraction, delta: Fraction, *, squared_sensitivity: Fraction) -> Fraction:
    """Return a standard deviation that makes a release (epsilon, delta)-private, with proof.

    epsilon, delta: Privacy parameters, with epsilon > 0 and 0 < delta < 1.
    squared_sensitivity: Largest squared Euclidean distance of the true answers of two neighbors.
    returns: Of 32 significant bits, less than 1e-8 above the smallest that suffices.

    Raises PrivacyError when delta is not in (0, 1).

    >>> exact = noise_scale(Fraction(1), Fraction(1, 10**6), squared_sensitivity=Fraction(1))
    >>> round(float(exact), 4)
    4.2247
    """
    if not 0 < delta < 1:
        raise PrivacyError("delta", "must be in (0, 1) for Gaussian noise", f"{float(delta):g}")
    if squared_sensitivity <= 0:
        raise PrivacyError(
            f"the squared sensitivity must be positive, got {float(squared_sensitivity):g}"
        )
    mu = largest_mu(float(epsilon), float(delta))
    scale = scale_up(math.sqrt(float(squared_sensitivity)) / mu)
    # Floating point may have ended a hair on the wrong side; the exact bound decides.
    for _ in range(64):
        if delta_above(epsilon, squared_sensitivity / scale**2) <= delta:
            return scale
        scale = scale_up(float(scale) * (1 + 2.0**-30))
    raise PrivacyError("no noise scale could be proved for this epsilon and delta")


def epsilon_above(delta: Fraction, mu_squared: Fraction) -> Fraction:
    """Return an epsilon, at most 1e-6 above the smallest, at which mu-GDP has this delta.

    Raises PrivacyError when delta is not in (0, 1), or no epsilon up to 1000 reaches it.
    """
    if not 0 < delta < 1:
        raise PrivacyError("delta", "must be in (0, 1)", f"{float(delta):g}")
    if delta_above(Fraction(0), mu_squared) <= delta:
        return Fraction(0)
    mu_squared = max(mu_squared, _LEAST_MU_SQUARED)
    low, high = 0.0, 1.0
    mu = math.sqrt(float(mu_squared))
    while _delta(high, mu) > float(delta):
        low, high = high, 2 * high
        if high > _LARGEST_EPSILON:
            raise PrivacyError("no epsilon up to 1000 reaches this delta")
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, mu) > float(delta) else (low, middle)
    exact = Fraction(math.ceil(high * 10**7), 10**7)
    while delta_above(exact, mu_squared) > delta:
        exact += Fraction(1, 10**7)
    return exact
