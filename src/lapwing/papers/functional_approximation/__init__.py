"""Functional approximation of a distribution by a curator (Tao and Sarwate, 2026)."""

from lapwing.decoders.releases.prefix_estimate import CellCounts
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.allowed_band import allowed_band
from lapwing.papers.functional_approximation.interactive_sites import (
    PursuitSite,
    QuantileSite,
    pursuit_of_sites,
    quantiles_of_sites,
)
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.plain_curves import CurveSum, SortedPoints
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection

__all__ = [
    "AdaptiveQuantiles",
    "CellCounts",
    "CurveSum",
    "HistogramQuery",
    "MatchingPursuit",
    "PolynomialProjection",
    "PursuitSite",
    "QuantileSite",
    "SortedPoints",
    "allowed_band",
    "pursuit_of_sites",
    "quantiles_of_sites",
]
