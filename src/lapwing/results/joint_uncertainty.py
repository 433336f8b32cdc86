"""The uncertainty of a joint distribution: draws of the shares of all cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.covariance import Covariance
from lapwing.protocol.domains.product import Product
from lapwing.results.association import MEASURES, deviation, measure_of, most_information
from lapwing.results.uncertainty import Uncertainty, Variants, normal_critical_value
from lapwing.stored_fields import FromFields, StoredArray

_LARGEST = 1e30
"""Shares, draws and measures in a document are not beyond this: nothing overflows."""

_MOST_DRAWS = 4096
"""Draws in a document. Decoders make a few hundred, and an answer takes memory for each."""


@dataclass(frozen=True, eq=False)
class JointUncertainty(FromFields):
    """Posterior draws of the shares of all cells.

    Parameters
    ----------
    center : numpy.ndarray
        Mean of the posterior under the widened prior, float64 [cells].
    draws : numpy.ndarray
        Difference of each draw from the center, float32 [draws, cells]. The mean square is the
        variance.
    method : str
        How the draws were made.
    direct : dict, optional
        Measures of the dependence estimated from the reports without smoothing, each with its
        standard deviation.
    """

    center: Annotated[Vector, StoredArray(packed=True, shape=("symbols",))]
    draws: Annotated[NDArray[np.float32], StoredArray("<f4", packed=True, shape=("", "symbols"))]
    method: str
    direct: dict[str, tuple[float, float]] = field(default_factory=dict, metadata={"absent": {}})

    _name: ClassVar = "the uncertainty"
    _sizes: ClassVar = ("symbols",)

    def __post_init__(self) -> None:
        """Check the sizes, and that nothing overflows."""
        object.__setattr__(self, "draws", self.draws.astype(np.float32, copy=False))
        if not 1 <= len(self.draws) <= _MOST_DRAWS:
            raise ArgumentError("draws", f"must be 1 to {_MOST_DRAWS}", f"{len(self.draws)}")
        if max(np.abs(self.center).max(), np.abs(self.draws).max()) > _LARGEST:
            raise ArgumentError("shares and draws", "must be numbers near 0 to 1")
        for name, (value, spread) in self.direct.items():
            if name not in MEASURES or not (abs(value) <= _LARGEST and 0 <= spread <= _LARGEST):
                raise ArgumentError(
                    "direct",
                    "must contain pairs of a finite number and a deviation, of "
                    f"{', '.join(MEASURES)}",
                )

    def deviation(self, weights: Vector) -> float:
        """Return the standard deviation of ``sum(weights * shares)``.

        Parameters
        ----------
        weights : numpy.ndarray
            Weights of the cells, float64 [cells].

        Returns
        -------
        float
            Standard deviation.
        """
        return float(np.sqrt(np.mean((self.draws @ weights) ** 2)))

    def of_sums(self, sums: Matrix, mass: Vector, reports: int) -> Uncertainty:
        """Return the error distribution of sums of cells.

        Parameters
        ----------
        sums : numpy.ndarray
            The center, then the draws: float64 [draws + 1, symbols].
        mass : numpy.ndarray
            Their estimates, float64 [symbols].
        reports : int
            Number of people who reported.

        Returns
        -------
        Uncertainty
            Error distribution for both targets and both kinds of band.
        """
        center, draws = sums[0], sums[1:]
        factor = draws.T / math.sqrt(len(draws))
        noise = Covariance(np.zeros(center.size), factor, np.ones(len(draws)))
        one = Uncertainty(center, noise, np.zeros(center.size), mass, reports, self.method)
        # A posterior is about the population. For the people who reported it is a little wide.
        same = Variants(
            population_pointwise=one, empirical_simultaneous=one, population_simultaneous=one
        )
        return replace(one, variants=same)

    def measure_interval(
        self, measure: str, domain: Product, table: Matrix, level: float
    ) -> tuple[float, float]:
        """Return an interval for a measure of the dependence.

        Parameters
        ----------
        measure : str
            "pearson", "spearman" or "mutual_information".
        domain : Product
            The two axes.
        table : numpy.ndarray
            The estimate, float64 [rows, columns].
        level : float
            Confidence level.

        Returns
        -------
        tuple of float
            Lower and upper end. The interval contains the value of the table, even if the reports
            alone would not, because the table is smooth.
        """
        statistic = measure_of(domain, measure)
        value = center = statistic(table)
        if measure in self.direct:
            center, spread = self.direct[measure]
        else:
            spread = deviation(statistic, table, self.draws.reshape(-1, *table.shape))
        reach = normal_critical_value(level) * spread
        low, high = min(center - reach, value), max(center + reach, value)
        if measure != "mutual_information":
            return max(low, -1.0), min(high, 1.0)
        most = most_information(table)
        # A direct estimate is about a lower bound, so it limits the measure on one side only.
        return max(low, 0.0), most if measure in self.direct else min(high, most)
