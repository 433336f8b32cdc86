"""An unbiased estimate that is not a distribution: masses may be negative.

What it says about sums is right on average, so it answers ranges and averages over many surveys;
it has no quantiles and cannot be drawn from. It becomes a Distribution only by a projection that
is named: :meth:`SignedEstimate.project`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.memoized import cached_property
from lapwing.linear.projections import simplex
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.domains.asked_places import to_places, to_span
from lapwing.protocol.domains.domain import Domain
from lapwing.results.band import Band, Kind, Target
from lapwing.results.cumulative import Cumulative
from lapwing.results.distribution import Distribution
from lapwing.results.readable import equal_results, hash_of_result
from lapwing.results.symbols import one_for_each_symbol
from lapwing.results.uncertainty import Uncertainty

Projection = Literal["simplex", "clip-and-normalize"]


@dataclass(frozen=True, eq=False, repr=False)
class SignedEstimate:
    """Unbiased masses, of either sign.

    Parameters
    ----------
    domain : Domain
    mass : numpy.ndarray
        float64 [domain.size]; the sum is about 1.
    reports : int
        Reports behind it.
    guarantee : Guarantee, optional
    uncertainty : Uncertainty, optional
    made : dict
        How it was made.
    """

    domain: Domain
    mass: NDArray[np.float64]
    reports: int
    guarantee: Guarantee | None = None
    uncertainty: Uncertainty | None = None
    made: dict[str, Any] = field(default_factory=dict)
    kind: ClassVar[Literal["signed-estimate"]] = "signed-estimate"
    __eq__ = equal_results
    __hash__ = hash_of_result

    def __post_init__(self) -> None:
        """Check the shape and freeze the masses."""
        mass = one_for_each_symbol(self.mass, self.domain)
        if not np.isfinite(mass).all():
            raise ArgumentError("the masses of a signed estimate must be finite, some are not")
        mass.flags.writeable = False
        object.__setattr__(self, "mass", mass)

    def __repr__(self) -> str:
        """Return one line: what it is about, not its numbers."""
        kind = type(self.domain).__name__
        return f"<SignedEstimate on {kind} of {self.domain.size} symbols, {self.reports} reports>"

    @cached_property
    def cumulative(self) -> Cumulative:
        """The signed CDF among those whose value is present."""
        present = self.mass[: self.domain.left.size]
        return Cumulative(self.domain.left, self.domain.right, present / present.sum())

    def cdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated P(value <= x); need not be monotone or within [0, 1]."""
        return self.cumulative.below(to_places(points, self.domain))

    def probability(self, low: Any, high: Any) -> float:
        """Return the estimated P(low < value <= high)."""
        return self.cumulative.between(to_span(low, high, self.domain))

    def probability_interval(
        self, low: Any, high: Any, *, level: float = 0.95, target: Target = "empirical"
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`probability`; None without an error law."""
        return self.project("simplex").probability_interval(low, high, level=level, target=target)

    def confidence_band(
        self, level: float = 0.95, *, kind: Kind = "pointwise", target: Target = "empirical"
    ) -> Band | None:
        """Return the band of the CDF, or of the shares of categories; None when not computed."""
        return self.project("simplex").confidence_band(level, kind=kind, target=target)

    def project(self, projection: Projection) -> Distribution:
        """Return the distribution that a named projection makes of it.

        Parameters
        ----------
        projection : {"simplex", "clip-and-normalize"}
            The nearest distribution in the Euclidean norm (Norm-Sub); or negative masses set to
            zero and the rest divided by its sum (the papers' baseline: biased upwards where
            there is nothing).
        """
        if projection == "simplex":
            mass = simplex(self.mass)
        elif projection == "clip-and-normalize":
            positive = np.maximum(self.mass, 0.0)
            if positive.sum() <= 0:
                raise ArgumentError(
                    "clip-and-normalize needs at least one positive mass, there is none; use the "
                    "projection 'simplex'"
                )
            mass = positive / positive.sum()
        else:
            raise ArgumentError(
                f"a projection must be 'simplex' or 'clip-and-normalize', got {projection!r}"
            )
        return Distribution(
            self.domain,
            mass,
            reports=self.reports,
            guarantee=self.guarantee,
            uncertainty=self.uncertainty,
            made={**self.made, "projection": projection},
        )
