"""The uncertainty of a joint distribution: draws of the shares of all cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import require
from lapwing.errors import FormatError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.covariance import Covariance
from lapwing.protocol.domains.product import Product
from lapwing.results.association import MEASURES, deviation, measure_of, most_information
from lapwing.results.critical_values import normal_critical_value
from lapwing.results.spread_law import decoded, encoded
from lapwing.results.uncertainty import Uncertainty, Variants

_LARGEST = 1e30
"""Shares, draws and measures in a document are not beyond this: nothing overflows."""

_MOST_DRAWS = 4096
"""Draws in a document. Decoders make a few hundred, and an answer takes memory for each."""


@dataclass(frozen=True, eq=False)
class JointUncertainty:
    """Posterior draws of the shares of all cells.

    Parameters
    ----------
    center : numpy.ndarray
        Mean of the posterior under the widened prior, float64 [cells].
    draws : numpy.ndarray
        Distance of each draw from the center, float32 [draws, cells]. Their mean square is the
        variance.
    method : str
        How they were made.
    direct : dict, optional
        Measures of the dependence that were estimated from the reports without smoothing: each
        with its standard deviation.
    """

    center: Vector
    draws: NDArray[np.float32]
    method: str
    direct: dict[str, tuple[float, float]] = field(default_factory=dict)

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
            People behind them.

        Returns
        -------
        Uncertainty
            One that serves both targets and both kinds of band.
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
            Lower and upper end. It holds the value of the table, which may lie beyond what the
            reports say, because the table is smooth.
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

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            Arrays as base64.
        """
        document: dict[str, Any] = {
            "center": encoded(self.center),
            "draws": encoded(self.draws.astype(np.float64), kind="<f4"),
            "method": self.method,
        }
        if self.direct:
            document["direct"] = {name: list(pair) for name, pair in self.direct.items()}
        return document

    @classmethod
    def from_document(cls, document: Any, *, cells: int) -> JointUncertainty:
        """Return what :meth:`to_document` wrote.

        Parameters
        ----------
        document : dict
            JSON object.
        cells : int
            Cells of the domain.

        Returns
        -------
        JointUncertainty
            The posterior draws.
        """
        require(
            document, {"center", "draws", "method"}, name="the uncertainty", optional=["direct"]
        )
        center = decoded(document["center"], numbers=cells)
        draws = decoded(document["draws"], kind="<f4", columns=cells)
        if not 1 <= len(draws) <= _MOST_DRAWS:
            raise FormatError(
                f"the uncertainty must hold 1 to {_MOST_DRAWS} draws, it holds {len(draws)}"
            )
        if not isinstance(document["method"], str):
            raise FormatError("the method of the uncertainty must be a string")
        if max(np.abs(center).max(), np.abs(draws).max()) > _LARGEST:
            raise FormatError("shares and draws of the uncertainty must be numbers near 0 to 1")
        direct = document.get("direct", {})
        if not isinstance(direct, dict) or not all(
            name in MEASURES and _value_and_deviation(pair) for name, pair in direct.items()
        ):
            raise FormatError(
                "the direct estimates of the uncertainty must be pairs of a finite number and a "
                f"deviation, of {', '.join(MEASURES)}"
            )
        pairs = {name: (float(value), float(spread)) for name, (value, spread) in direct.items()}
        return cls(center.ravel(), draws.astype(np.float32), document["method"], pairs)


def _value_and_deviation(pair: Any) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(one, int | float) and abs(one) <= _LARGEST for one in pair)
        and pair[1] >= 0
    )
