"""The uncertainty of a joint distribution: draws of the shares of all cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import require
from lapwing.errors import FormatError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.covariance import Covariance
from lapwing.results.spread_law import decoded, encoded
from lapwing.results.uncertainty import Uncertainty, Variants


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
    """

    center: Vector
    draws: NDArray[np.float32]
    method: str

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

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            Arrays as base64.
        """
        return {
            "center": encoded(self.center),
            "draws": encoded(self.draws.astype(np.float64), kind="<f4"),
            "method": self.method,
        }

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
        require(document, {"center", "draws", "method"}, name="the uncertainty")
        center = decoded(document["center"], numbers=cells)
        draws = decoded(document["draws"], kind="<f4", columns=cells)
        if not len(draws):
            raise FormatError("the uncertainty must hold at least one draw")
        if not isinstance(document["method"], str):
            raise FormatError("the method of the uncertainty must be a string")
        return cls(center.ravel(), draws.astype(np.float32), document["method"])
