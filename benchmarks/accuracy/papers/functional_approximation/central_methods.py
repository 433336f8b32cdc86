"""The central model's methods and distributions, as the benchmarks compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection
from lapwing.planning.release_defaults import release_decoder
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release
from lapwing.results.distribution import Distribution

Vector = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Vector]

SYMBOLS = 1024
DOMAIN = Interval(-1, 1, bins=SYMBOLS, outside="clip")
ENDS = 2 * np.arange(1, SYMBOLS + 1) / SYMBOLS - 1


@dataclass(frozen=True)
class Law:
    """A distribution on [-1, 1], clipped there.

    Parameters
    ----------
    draw : callable
        ``draw(n, rng)``: float64 [n].
    cdf : numpy.ndarray
        float64 [SYMBOLS], at the right ends of equal bins.
    """

    draw: Draw
    cdf: Vector


def _normal() -> Law:
    from scipy.special import ndtr

    cdf = ndtr(5 * ENDS)
    cdf[-1] = 1.0
    return Law(lambda n, rng: np.clip(rng.normal(size=n) / 5, -1, 1), cdf)


def _lognormal() -> Law:
    from scipy.special import ndtr

    cdf = ndtr(2 * np.log(4 * (ENDS + 1)))
    cdf[-1] = 1.0
    return Law(lambda n, rng: np.clip(rng.lognormal(0, 0.5, n) / 4 - 1, -1, 1), cdf)


def _beta() -> Law:
    from scipy.special import betainc

    return Law(lambda n, rng: 2 * rng.beta(10, 2, n) - 1, betainc(10, 2, (ENDS + 1) / 2))


_ATOMS = (90, 233, 377, 500, 610, 777, 940)
_WEIGHTS = (0.05, 0.16, 0.09, 0.2, 0.1, 0.06, 0.04)


def _spiky() -> Law:
    """70% on seven atoms, the rest a mixture of Beta(2, 5) and a narrow normal."""
    from scipy.special import betainc, ndtr

    unit = (ENDS + 1) / 2
    smooth = 0.6 * betainc(2, 5, unit) + 0.4 * ndtr((unit - 0.55) / 0.08)
    mass = 0.3 * np.diff(smooth / smooth[-1], prepend=0.0)
    mass[list(_ATOMS)] += np.array(_WEIGHTS)
    mass /= mass.sum()
    middles = ENDS - 1 / SYMBOLS

    def draw(n: int, rng: np.random.Generator) -> Vector:
        return np.repeat(middles, rng.multinomial(n, mass))

    return Law(draw, np.cumsum(mass))


def laws() -> Mapping[str, Law]:
    """Return the three distributions of the paper and a spiky one, scaled to [-1, 1].

    N(0, 1) / 5; Lognormal(0, 0.5) / 4 - 1; 2 Beta(10, 2) - 1, each clipped. The paper does not
    say its scaling; these are public and fixed before the data.
    """
    return {"normal": _normal(), "lognormal": _lognormal(), "beta": _beta(), "spiky": _spiky()}


@dataclass(frozen=True)
class Method:
    """A mechanism and its decoder.

    Parameters
    ----------
    mechanism : Mechanism
    pure : bool
        Released under epsilon alone, whatever delta is allowed.
    decoder : Decoder, optional
        Default: the mechanism's own.
    valid : bool
        False: the paper's budget for its algorithm 2, which costs up to 1.5 times what it says.
    """

    mechanism: Mechanism
    pure: bool = False
    decoder: Any = None
    valid: bool = True

    def promise(self, domain: Domain, epsilon: Fraction, delta: Fraction) -> Promise:
        """Return the promise that its budget makes."""
        if not self.valid:
            assert isinstance(self.mechanism, MatchingPursuit)
            one = Promise("replace-one", epsilon=Fraction(1))
            epsilon = epsilon / self.mechanism.claimed_epsilon(domain, one)
        return Promise("replace-one", epsilon=epsilon, delta=Fraction(0) if self.pure else delta)

    def release(self, summary: ExactCounts, epsilon: float, delta: float, *, seed: int) -> Release:
        """Return a seeded release."""
        promise = self.promise(summary.domain, Fraction(str(epsilon)), Fraction(str(float(delta))))
        return self.mechanism.release(summary, promise, rng=seeded(seed))

    def decode(self, release: Release) -> Distribution:
        """Return the decoded distribution."""
        decoder = self.decoder or release_decoder(self.mechanism, release.domain)
        result: Distribution = decoder.decode(release.channel, release)
        return result


DEFAULT = "prefix sums"
HALVES = "HQ 40, linear"
METHODS: dict[str, Method] = {
    "HQ 40, steps": Method(HistogramQuery(40, interpolate=False), pure=True),
    "AQ 80": Method(AdaptiveQuantiles(80, noise="normal", guarded=False)),
    "AQ 80, Laplace": Method(AdaptiveQuantiles(80, noise="laplace", guarded=False), pure=True),
    "AQ 80, repaired": Method(AdaptiveQuantiles(80)),
    "PP 6, moments": Method(PolynomialProjection(6, shape="moments", noise="normal")),
    "PP 6, algorithm 1": Method(PolynomialProjection(6, shape="algorithm-1", noise="normal")),
    "MP 6, as printed*": Method(MatchingPursuit(6, form="published"), pure=True, valid=False),
    "MP 6, its true cost": Method(MatchingPursuit(6, form="published"), pure=True),
    HALVES: Method(HistogramQuery(40), pure=True),
    "MP 6, repaired": Method(MatchingPursuit(6)),
    "PP 12, repaired": Method(PolynomialProjection(12)),
    "PP 16, repaired": Method(PolynomialProjection(16)),
    "tree, pure": Method(SumTree(32), pure=True, decoder=StepPursuit(band=False)),
    "isotonic only": Method(PrefixSums(), decoder=StepPursuit(smooth=False, band=False)),
    DEFAULT: Method(PrefixSums(), decoder=StepPursuit(band=False)),
}
PAPER = ("HQ 40, steps", "AQ 80", "AQ 80, Laplace", "PP 6, moments", "MP 6, its true cost")
"""The paper's four with a budget that is what it says; AQ in both ways of adding up; PP with
the tight sensitivity, which favors it."""


def distances(result: Distribution, cdf: Vector) -> dict[str, float]:
    """Return KS, W1 (the area) and energy distance on [-1, 1], over the ends of all bins.

    Of those whose value is present, who are all people here: a noisy count of nobody who is missing
    would keep the distribution function below one.
    """
    curve = np.cumsum(result.mass[: cdf.size])
    return of_gap(curve / curve[-1] - cdf)


def of_gap(gap: Vector) -> dict[str, float]:
    """Return KS, W1 and energy distance of the difference of two distribution functions."""
    width = 2 / gap.size
    return {
        "ks": float(np.abs(gap).max()),
        "w1": float(np.abs(gap).sum() * width),
        "energy": float(np.sqrt(2 * (gap**2).sum() * width)),
    }


def summarized(law: Law, people: int, *, seed: Sequence[int]) -> ExactCounts:
    """Return the summary of people drawn from a law."""
    return ExactCounts.of_values(law.draw(people, np.random.default_rng(list(seed))), DOMAIN)


def empirical(summary: ExactCounts) -> Vector:
    """Return the distribution function of the people themselves."""
    held = summary.domain.left.size
    cdf: Vector = np.cumsum(summary.counts[:held]) / summary.people
    return cdf
