"""Noise on whole numbers: how much a privacy guarantee needs, and drawing it exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, FormatError, MissingExtraError, PrivacyError
from lapwing.privacy.gaussian_dp import noise_scale, scale_up
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, scalar_below
from lapwing.stored_fields import Exact, FromFields


class Words:
    """A supply of random words, with the place up to which they are used.

    expected: About how many words will be used in all.
    """

    def __init__(self, source: RandomSource, *, expected: int) -> None:
        self._source = source
        self._chunk = max(1024, min(expected, 2**20))
        self.held: NDArray[np.uint64] = source.words(self._chunk)
        self.used = 0

    def more(self) -> None:
        """Drop the used words and append new ones."""
        fresh = self._source.words(self._chunk)
        self.held = np.concatenate([self.held[self.used :], fresh])
        self.used = 0

    def iterate(self) -> Iterator[int]:
        """Yield the words one by one, from the first unused one on. Each counts as used."""
        while True:
            if self.used == self.held.size:
                self.more()
            self.used += 1
            yield int(self.held[self.used - 1])


def drawn_from(
    source: RandomSource,
    count: int,
    one: Callable[[Iterator[int], int, int], int],
    parts: tuple[int, int],
    *,
    compiled: Callable[..., tuple[int, int]] | None,
    each: int,
    plenty: int,
) -> NDArray[np.int64]:
    """Return draws, each exactly as `one` makes it from the words in their order: int64 [count].

    source: Source of the words.
    count: Number of draws, at least 0.
    one: One draw from an iterator of words and the two parts: the definition.
    parts: The two whole numbers that a scale is made of.
    compiled: The same for many draws. It fills numbers from a place on, from words from a place on,
        and returns how far it came in both. It stops before a draw that it cannot finish.
    each: Approximate number of words of a draw.
    plenty: Number of words that a draw practically never exceeds. With fewer left, the supply is
        extended.
    """
    words = Words(source, expected=each * count)
    drawn = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        if compiled is not None:
            done, words.used = compiled(*parts, words.held, words.used, drawn, done)
            if done == count:
                break
            if words.held.size - words.used < plenty:
                words.more()
                continue
        drawn[done] = one(words.iterate(), *parts)
        done += 1
    return drawn


LARGEST_PART = 2**48
"""Of a scale's numerator and denominator, so that compiled products fit a word."""

_PLENTY = 4096


def laplace_fraction(scale: Fraction) -> tuple[int, int]:
    """Return numerator and denominator, or raise ArgumentError."""
    if scale <= 0 or max(scale.numerator, scale.denominator) > LARGEST_PART:
        # Not as a floating-point number, which those of a document may not fit.
        size = scale.numerator.bit_length() - scale.denominator.bit_length()
        raise ArgumentError(
            "a noise scale must be a positive fraction with numerator and denominator of at most "
            f"2^48, got about 2^{size}"
        )
    return scale.numerator, scale.denominator


def discrete_laplace(
    scale: Fraction, *, count: int, source: RandomSource, compiled: bool = True
) -> NDArray[np.int64]:
    """Discrete Laplace noise: ``P(k)`` proportional to ``exp(-|k| / scale)``, exactly.

    Added to whole-number answers of L1 sensitivity D it costs epsilon = D / scale, pure. For whole
    numbers this noise is the better one. Rounding a continuous Laplace variable gives the same
    epsilon and more variance.

    scale: Positive, numerator and denominator at most 2^48.
    count: At least 0.
    source: Secure, but in tests and simulation.
    compiled: True: compiled, with the same words for the same draws, bit for bit.
    returns: int64 [count].

    The sampler is algorithm 2 of [1]_. The probability that a run of coins of bias ``a / (b j)``, j
    = 1, 2, ..., first fails at an odd place is ``exp(-a / b)``.

    **Cost.** About 9 words for each draw.

    .. [1] C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy",
       NeurIPS, 2020.
    """
    parts = laplace_fraction(scale)
    kernel: Any = None
    if compiled:
        from lapwing.privacy.sampling.noise_kernels import (
            discrete_laplaces as kernel,  # imports numba
        )
    return drawn_from(
        source, count, one_discrete_laplace, parts, compiled=kernel, each=10, plenty=_PLENTY
    )


def one_discrete_laplace(words: Iterator[int], numerator: int, denominator: int) -> int:
    """Return one draw at scale numerator / denominator: the definition."""
    while True:
        place = scalar_below(words, numerator)
        if not exponential_coin(words, place, numerator):
            continue
        turns = 0
        while exponential_coin(words, 1, 1):
            turns += 1
        # place + numerator * turns is geometric with ratio exp(-1 / numerator).
        value = (place + numerator * turns) // denominator
        negative = next(words) >> 63
        # Zero has two signs; one of them is drawn anew.
        if negative and value == 0:
            continue
        return -value if negative else value


def exponential_coin(words: Iterator[int], numerator: int, denominator: int) -> bool:
    """Return True with probability ``exp(-numerator / denominator)``, for a ratio in [0, 1]."""
    index = 1
    while scalar_below(words, denominator * index) < numerator:
        index += 1
    return index % 2 == 1


_DIGIT = 1 << 64

LARGEST_SCALE = 2**52
SMALLEST_SCALE = Fraction(1, 2**16)

_PLENTY = 512
"""Words that a draw practically never exceeds. With fewer left, the supply is extended first."""


def normal_fraction(scale: Fraction) -> tuple[int, int]:
    """Return (P, s) with ``scale = P / 2^s`` and P below 2^32, or raise ArgumentError."""
    denominator = scale.denominator
    if scale <= 0 or denominator & (denominator - 1):
        raise ArgumentError(
            f"a noise scale must be positive, with a power of two as denominator, got {scale}"
        )
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        size = scale.numerator.bit_length() - scale.denominator.bit_length()
        raise ArgumentError(f"a noise scale must be in [2^-16, 2^52], got about 2^{size}")
    numerator, shift = scale.numerator, denominator.bit_length() - 1
    while numerator % 2 == 0 and numerator >= 2**32:
        numerator, shift = numerator // 2, shift - 1
    if numerator >= 2**32:
        raise ArgumentError("a noise scale must have at most 32 significant bits. Use scale_up")
    return numerator, shift


def rounded_normal(
    scale: Fraction, *, count: int, source: RandomSource, compiled: bool = True
) -> NDArray[np.int64]:
    """Rounded Gaussian noise: draws of ``round(scale * Z)``, Z standard normal, exactly.

    scale: In [2^-16, 2^52], of at most 32 significant bits. See :func:`gaussian_dp.scale_up`.
    count: Number of draws, at least 0.
    source: Secure, but in tests and simulation.
    compiled: True: the common path of every draw is compiled. Both ways use the same words for the
        same draws, bit for bit.
    returns: int64 [count].

    The sampler is algorithm N of [1]_ on uniform numbers whose 64-bit digits are drawn when a
    comparison ties. Exact rounding follows. No floating-point number takes part.

    **Cost.** About 17.5 words a draw, and 0.7 us compiled or 12 us in Python.

    .. [1] C. F. F. Karney, "Sampling exactly from the normal distribution", ACM Transactions on
       Mathematical Software, 2016. doi:10.1145/2710016
    """
    parts = normal_fraction(scale)
    kernel: Any = None
    if compiled:
        from lapwing.privacy.sampling.noise_kernels import (
            rounded_normals as kernel,  # imports numba
        )
    return drawn_from(
        source, count, one_rounded_normal, parts, compiled=kernel, each=18, plenty=_PLENTY
    )


def one_rounded_normal(words: Iterator[int], numerator: int, shift: int) -> int:
    """Return one draw of ``round(numerator / 2^shift * Z)``: the definition, and the rare cases.

    Karney's steps: k has density ``e^(-k^2 / 2)`` (steps 1 and 2), x in [0, 1) completes it to
    ``e^(-(k + x)^2 / 2)`` (steps 3 and 4), a sign follows.
    """
    while True:
        k = 0
        while _half(words):
            k += 1
        if not all(_half(words) for _ in range(k * (k - 1))):
            continue
        x = [next(words)]
        if all(_bernoulli(k, x, words) for _ in range(k + 1)):
            break
    negative = next(words) >> 63
    while True:
        # The digits so far place x in [place, place + 1] / digits, and one step is `unit`.
        digits = 1 << (64 * len(x))
        unit = digits << shift if shift >= 0 else digits >> -shift
        place = 0
        for digit in x:
            place = place * _DIGIT + digit
        low = (2 * numerator * (k * digits + place) + unit) // (2 * unit)
        # Half-open at the upper end: a boundary there is not reached.
        high = (2 * numerator * (k * digits + place + 1) + unit - 1) // (2 * unit)
        if low == high:
            return -low if negative else low
        x.append(next(words))


def _half(words: Iterator[int]) -> bool:
    """Return True with probability ``e^(-1/2)``: whether a run 1/2 > U > V > ... is even."""
    last = [next(words)]
    if last[0] >= 1 << 63:
        return True
    length = 1
    while True:
        following = [next(words)]
        if not _less(following, last, words):
            return length % 2 == 0
        last, length = following, length + 1


def _bernoulli(k: int, x: list[int], words: Iterator[int]) -> bool:
    """Return True with probability ``exp(-x (2 k + x) / (2 k + 2))``."""
    choices = 2 * k + 2
    last, length = x, 0
    while True:
        following = [next(words)]
        if not _less(following, last, words):
            break
        chosen = scalar_below(words, choices)
        if chosen == choices - 1:
            break
        if chosen == choices - 2 and not _less([next(words)], x, words):
            break
        last, length = following, length + 1
    return length % 2 == 0


def _less(first: list[int], second: list[int], words: Iterator[int]) -> bool:
    """Return whether a lazy uniform number is below another. Digits are drawn while they tie."""
    place = 0
    while True:
        for number in (first, second):
            if len(number) == place:
                number.append(next(words))
        if first[place] != second[place]:
            return first[place] < second[place]
        place += 1


Kind = Literal["normal", "laplace", "discrete-normal"]

KINDS = ("normal", "laplace", "discrete-normal")

SMOOTHING = Fraction(1, 2**90)
"""Bound of zeta of theorem B, for a smoothing width of 2 and up to 2^20 numbers: 1.1e-28."""

LEAST_SCALE = Fraction(1, 100)
"""Least scale of the noise in a document."""
# One row changes an answer by at least 1, so no promise with an epsilon or mu of at most 24 is kept
# by less.

LEAST_DISCRETE_SCALE = 2**10
MOST_DISCRETE_NUMBERS = 2**20
"""The least scale and the most numbers for which SMOOTHING is a bound."""


@dataclass(frozen=True)
class Sensitivity:
    """How far the exact answers of two neighbors can be apart, in whole numbers.

    squared: Largest squared Euclidean distance.
    absolute: Largest sum of absolute differences.
    """

    squared: int
    absolute: int

    def __post_init__(self) -> None:
        """Check that there is something to hide."""
        if self.squared <= 0 or self.absolute <= 0:
            raise PrivacyError("these answers depend on no value, so they need no mechanism")


@dataclass(frozen=True)
class Noise(FromFields):
    """Distribution of independent noise on whole numbers.

    kind: "normal" is rounded Gaussian noise, and "laplace" discrete Laplace noise.
        "discrete-normal" is discrete Gaussian noise as drawn by OpenDP, an optional dependency.
    scale: Standard deviation before rounding, or the scale of the discrete Laplace distribution.
    """

    kind: Kind
    scale: Exact

    _name: ClassVar = "the noise"

    @property
    def variance(self) -> float:
        """The exact variance, to floating point."""
        scale = float(self.scale)
        if self.kind == "discrete-normal":
            return scale**2
        if self.kind == "normal":
            if scale >= 4:
                # What rounding adds beyond 1/12 is below e^-300 of it here.
                return scale**2 + 1 / 12
            # E X^2 = sum of (2 k - 1) P(|X| >= k).
            root = scale * math.sqrt(2)
            return sum((2 * k - 1) * math.erfc((k - 0.5) / root) for k in range(1, 60))
        half = math.expm1(1 / scale)
        return 2 * (half + 1) / half**2

    @property
    def largest_probability(self) -> float:
        """Probability of the likeliest noise, 0, to floating point."""
        scale = float(self.scale)
        if self.kind == "laplace":
            return math.tanh(1 / (2 * scale))
        return math.erf(1 / (2 * math.sqrt(2) * scale))

    def check(self) -> None:
        """Raise PrivacyError unless this noise can be drawn exactly, and in bounded time."""
        try:
            if self.kind == "laplace":
                laplace_fraction(self.scale)
            else:
                normal_fraction(self.scale)
        except ArgumentError as error:
            raise PrivacyError(
                f"{error}. Such noise cannot be drawn, so give a larger epsilon (or mu, or "
                "rho), or ask for fewer numbers"
            ) from None
        if self.kind == "discrete-normal" and self.scale < LEAST_DISCRETE_SCALE:
            raise PrivacyError(
                "discrete Gaussian noise must have a scale of at least "
                f"{LEAST_DISCRETE_SCALE}, got {float(self.scale):.4g}, because its privacy loss "
                "is not computed below. Use prefix sums, or another noise"
            )

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the exact privacy loss of answers of a sensitivity under this noise.

        sensitivity: Largest L1 norm and squared L2 norm by which the answers of two neighbors
            differ.

        **Privacy.** Discrete Gaussian noise of scale sigma is covered by the Gaussian mechanism of
        variance ``sigma^2 - 4``, but for factors ``e^zeta`` between the two probabilities.
        Smoothing the whole numbers by a Gaussian of width 2 leaves a ripple below 1e-34 a number,
        by Poisson summation. The proof is in `docs/privacy/central.md`.
        """
        if self.kind == "discrete-normal":
            return PrivacyLoss(
                mu_squared=sensitivity.squared / (self.scale**2 - 4),
                epsilon=2 * SMOOTHING,
                delta=2 * SMOOTHING,
            )
        if self.kind == "normal":
            return PrivacyLoss(mu_squared=sensitivity.squared / self.scale**2)
        return PrivacyLoss(epsilon=sensitivity.absolute / self.scale)

    def draw(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """Return independent noise of exactly this distribution: int64 [count]."""
        if self.kind == "normal":
            return rounded_normal(self.scale, count=count, source=source)
        if self.kind == "discrete-normal":
            return _by_opendp(self.scale, count)
        return discrete_laplace(self.scale, count=count, source=source)

    def _check_stored(self) -> None:
        if self.scale < LEAST_SCALE:
            least = f"1/{LEAST_SCALE.denominator}"
            raise FormatError(
                f"a noise scale must be at least {least}: a smaller scale hides nothing"
            )
        try:
            self.check()
        except PrivacyError as error:
            raise FormatError(f"the noise of a part cannot have been drawn: {error}") from None


def calibrated(promise: Promise, sensitivity: Sensitivity, *, kind: Kind | None = None) -> Noise:
    """Return the least noise with which answers of a sensitivity keep a privacy guarantee.

    promise: Privacy parameters of the answers.
    sensitivity: Largest L1 norm and squared L2 norm by which the answers of two neighbors differ.
    kind: Kind of the noise. Default: of the first two, the one of less variance among those that
        keep the privacy guarantee.
    returns: Noise that can be drawn.

    Raises PrivacyError when Gaussian noise is asked for with delta 0, or Laplace noise for mu. Also
    when the noise would be too large to be drawn.
    Raises MissingExtraError when discrete Gaussian noise is asked for and OpenDP is not installed.
    """
    if kind == "discrete-normal":
        ways = [_discrete_normal]
    else:
        ways = [_laplace] if kind != "normal" and promise.mu is None else []
        ways += [_normal] if kind != "laplace" and not promise.pure else []
    if not ways:
        raise PrivacyError(
            "Gaussian noise needs a delta above 0 (or mu or rho), and Laplace noise an epsilon "
            "(or rho). Change the parameters, or the noise"
        )
    found, refusals = [], []
    for way in ways:
        try:
            noise = way(promise, sensitivity)
            noise.check()
            found.append(noise)
        except PrivacyError as error:
            refusals.append(error)
    if not found:
        raise refusals[-1]
    return min(found, key=lambda noise: noise.variance)


def _laplace(promise: Promise, sensitivity: Sensitivity) -> Noise:
    # An epsilon-DP release is epsilon^2 / 2 zero-concentrated.
    epsilon = promise.epsilon
    if epsilon is None:
        assert promise.rho is not None
        epsilon = Fraction(math.isqrt(math.floor(2 * promise.rho * 2**80)), 2**40)
    exact = sensitivity.absolute / epsilon
    if max(exact.numerator, exact.denominator) <= 2**40:
        return Noise("laplace", exact)
    return Noise("laplace", scale_up(float(exact) * (1 + 2.0**-50)))


def _normal(promise: Promise, sensitivity: Sensitivity) -> Noise:
    squared = Fraction(sensitivity.squared)
    if promise.epsilon is not None:
        scale = noise_scale(promise.epsilon, promise.delta, squared_sensitivity=squared)
        return Noise("normal", scale)
    if promise.mu is not None:
        variance = squared / promise.mu**2
    else:
        assert promise.rho is not None
        variance = squared / (2 * promise.rho)
    scale = scale_up(math.sqrt(variance))
    while scale**2 < variance:
        scale = scale_up(float(scale) * (1 + 2.0**-31))
    return Noise("normal", scale)


def _discrete_normal(promise: Promise, sensitivity: Sensitivity) -> Noise:
    if promise.epsilon is None or promise.delta <= 4 * SMOOTHING:
        raise PrivacyError(
            "discrete Gaussian noise is accounted for with epsilon and delta. Give both, or "
            "use the default noise"
        )
    smooth = noise_scale(
        promise.epsilon - 2 * SMOOTHING,
        promise.delta - 2 * SMOOTHING,
        squared_sensitivity=Fraction(sensitivity.squared),
    )
    scale = scale_up(math.sqrt(smooth**2 + 4))
    while scale**2 - 4 < smooth**2:
        scale = scale_up(float(scale) * (1 + 2.0**-31))
    _opendp()
    return Noise("discrete-normal", scale)


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError("opendp", extra="opendp") from None
    dp.enable_features("contrib")
    return dp


def _by_opendp(scale: Fraction, count: int) -> NDArray[np.int64]:
    """Return discrete normal noise from OpenDP, which has random words of its own."""
    if count > MOST_DISCRETE_NUMBERS:
        raise PrivacyError(
            f"discrete Gaussian noise is for at most {MOST_DISCRETE_NUMBERS} numbers"
        )
    dp = _opendp()
    # Not the default of 32 bits, which saturates without a word.
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    drawn = dp.m.make_gaussian(*space, float(scale))([0] * count)
    return np.array(drawn, dtype=np.int64)
