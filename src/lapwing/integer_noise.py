"""Noise on whole numbers: how much a promise needs, and drawing it exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.discrete_laplace import discrete_laplace
from lapwing.documents import require
from lapwing.errors import FormatError, PrivacyError
from lapwing.gaussian_dp import noise_scale, scale_up
from lapwing.privacy_loss import PrivacyLoss, exact_fraction
from lapwing.promise import Promise
from lapwing.randomness import RandomSource
from lapwing.rounded_normal import rounded_normal

Kind = Literal["normal", "laplace"]


@dataclass(frozen=True)
class Sensitivity:
    """How far the exact answers of two neighbours can be apart, in whole numbers.

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
    """A law of independent noise on whole numbers.

    Parameters
    ----------
    kind : {"normal", "laplace"}
        The rounded normal, or the discrete Laplace law.
    scale : Fraction
        Standard deviation before rounding, or the scale of the discrete Laplace law.
    """

    kind: Kind
    scale: Fraction

    @property
    def variance(self) -> float:
        """The exact variance of the law, to floating point."""
        scale = float(self.scale)
        if self.kind == "normal":
            if scale >= 4:
                # What rounding adds beyond 1/12 is below e^-300 of it here.
                return scale**2 + 1 / 12
            # E X^2 = sum of (2 k - 1) P(|X| >= k).
            root = scale * math.sqrt(2)
            return sum((2 * k - 1) * math.erfc((k - 0.5) / root) for k in range(1, 60))
        half = math.expm1(1 / scale)
        return 2 * (half + 1) / half**2

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return what answers of this sensitivity cost under this noise, exactly."""
        if self.kind == "normal":
            return PrivacyLoss(mu_squared=sensitivity.squared / self.scale**2)
        return PrivacyLoss(epsilon=sensitivity.absolute / self.scale)

    def draw(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """Return independent noise of exactly this law: int64 [count]."""
        if self.kind == "normal":
            return rounded_normal(self.scale, count=count, source=source)
        return discrete_laplace(self.scale, count=count, source=source)

    def to_document(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"kind": self.kind, "scale": str(self.scale)}

    @classmethod
    def from_document(cls, document: Any) -> Noise:
        """Return the noise that :meth:`to_document` wrote; FormatError when it is none."""
        require(document, {"kind", "scale"}, name="the noise")
        if document["kind"] not in ("normal", "laplace"):
            raise FormatError("the kind of a noise must be 'normal' or 'laplace'")
        scale = exact_fraction(document["scale"])
        if scale <= 0:
            raise FormatError("the scale of a noise must be positive")
        return cls(document["kind"], scale)


def calibrated(promise: Promise, sensitivity: Sensitivity, *, kind: Kind | None = None) -> Noise:
    """Return the least noise with which answers of this sensitivity keep a promise.

    Parameters
    ----------
    promise : Promise
    sensitivity : Sensitivity
    kind : {"normal", "laplace"}, optional
        Default: the one of less variance among those that keep the promise.

    Raises
    ------
    PrivacyError
        When normal noise is asked for with delta 0, or Laplace noise for mu.
    """
    candidates = []
    if kind != "normal" and promise.mu is None:
        candidates.append(_laplace(promise, sensitivity))
    if kind != "laplace" and not promise.pure:
        candidates.append(_normal(promise, sensitivity))
    if not candidates:
        raise PrivacyError(
            "normal noise needs a delta above 0 (or mu or rho), and Laplace noise an epsilon (or "
            "rho); change the promise or the noise"
        )
    return min(candidates, key=lambda noise: noise.variance)


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
