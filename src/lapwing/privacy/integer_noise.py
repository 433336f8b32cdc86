"""Noise on whole numbers: how much a promise needs, and drawing it exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import require, spelled_number
from lapwing.errors import ArgumentError, FormatError, MissingExtraError, PrivacyError
from lapwing.privacy.gaussian_dp import noise_scale, scale_up
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.discrete_laplace import discrete_laplace, laplace_fraction
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.privacy.sampling.rounded_normal import normal_fraction, rounded_normal

Kind = Literal["normal", "laplace", "discrete-normal"]

KINDS = ("normal", "laplace", "discrete-normal")

SMOOTHING = Fraction(1, 2**90)
"""Bound of zeta of theorem B, for a smoothing width of 2 and up to 2^20 numbers: 1.1e-28."""

LEAST_SCALE = Fraction(1, 100)
"""Of the noise in a document. One row changes an answer by at least 1, so no promise with an
epsilon or mu of at most 24 is kept by less."""

LEAST_DISCRETE_SCALE = 2**10
MOST_DISCRETE_NUMBERS = 2**20
"""The least scale and the most numbers for which SMOOTHING is a bound."""


@dataclass(frozen=True)
class Sensitivity:
    """How far the exact answers of two neighbors can be apart, in whole numbers.

    Parameters
    ----------
    squared : int
        Largest squared Euclidean distance.
    absolute : int
        Largest sum of absolute differences.
    """

    squared: int
    absolute: int

    def __post_init__(self) -> None:
        """Check that there is something to hide."""
        if self.squared <= 0 or self.absolute <= 0:
            raise PrivacyError("answers that no value can change need no mechanism")


@dataclass(frozen=True)
class Noise:
    """A distribution of independent noise on whole numbers.

    Parameters
    ----------
    kind : {"normal", "laplace", "discrete-normal"}
        The rounded normal, or discrete Laplace; or the discrete normal distribution as drawn by
        OpenDP, an optional dependency.
    scale : Fraction
        Standard deviation before rounding, or the scale of the discrete Laplace.
    """

    kind: Kind
    scale: Fraction

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

    def check(self) -> None:
        """Raise PrivacyError unless this noise can be drawn exactly, and in bounded time."""
        try:
            if self.kind == "laplace":
                laplace_fraction(self.scale)
            else:
                normal_fraction(self.scale)
        except ArgumentError as error:
            raise PrivacyError(
                f"{error}; such noise cannot be drawn, so promise a larger epsilon (or mu, or "
                "rho), or ask for fewer numbers"
            ) from None
        if self.kind == "discrete-normal" and self.scale < LEAST_DISCRETE_SCALE:
            raise PrivacyError(
                f"discrete normal noise must have a scale of at least {LEAST_DISCRETE_SCALE} whole "
                f"numbers to be accounted, got {float(self.scale):.4g}; use prefix sums, or "
                "another noise"
            )

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return what answers of this sensitivity cost under this noise, exactly.

        Discrete normal noise of scale sigma is covered by the Gaussian mechanism of variance
        ``sigma^2 - 4``, but for factors ``e^zeta`` between the two probabilities: smoothing
        the whole numbers by a normal of width 2 leaves a ripple below 1e-34 a number (Poisson
        summation; the proof stands in `docs/privacy.md`).
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

    def to_document(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"kind": self.kind, "scale": str(self.scale)}

    @classmethod
    def from_document(cls, document: Any) -> Noise:
        """Return the noise that :meth:`to_document` wrote; FormatError when it is none."""
        require(document, {"kind", "scale"}, name="the noise")
        if document["kind"] not in KINDS:
            raise FormatError(f"the kind of a noise must be one of {', '.join(KINDS)}")
        scale = spelled_number(document["scale"], name="the scale of a noise")
        if scale < LEAST_SCALE:
            raise FormatError(
                f"the scale of a noise must be at least 1/{LEAST_SCALE.denominator}: less hides "
                "nothing"
            )
        noise = cls(document["kind"], scale)
        try:
            noise.check()
        except PrivacyError as error:
            raise FormatError(f"the noise of a part cannot have been drawn: {error}") from None
        return noise


def calibrated(promise: Promise, sensitivity: Sensitivity, *, kind: Kind | None = None) -> Noise:
    """Return the least noise with which answers of this sensitivity keep a promise.

    Parameters
    ----------
    promise : Promise
    sensitivity : Sensitivity
    kind : {"normal", "laplace", "discrete-normal"}, optional
        Default: of the first two, the one of less variance among those that keep the promise.

    Raises
    ------
    PrivacyError
        When normal noise is asked for with delta 0, or Laplace noise for mu; or when the noise
        would be too large to be drawn. What is returned can be drawn.
    MissingExtraError
        When discrete normal noise is asked for and OpenDP is not installed.
    """
    if kind == "discrete-normal":
        ways = [_discrete_normal]
    else:
        ways = [_laplace] if kind != "normal" and promise.mu is None else []
        ways += [_normal] if kind != "laplace" and not promise.pure else []
    if not ways:
        raise PrivacyError(
            "normal noise needs a delta above 0 (or mu or rho), and Laplace noise an epsilon (or "
            "rho); change the promise or the noise"
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
            "discrete normal noise is accounted in epsilon and delta; give both, or take the "
            "default noise"
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
        raise PrivacyError(f"discrete normal noise is for at most {MOST_DISCRETE_NUMBERS} numbers")
    dp = _opendp()
    # Not the default of 32 bits, which saturates without a word.
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    drawn = dp.m.make_gaussian(*space, float(scale))([0] * count)
    return np.array(drawn, dtype=np.int64)
