"""The errors of labels in many weeks that were decoded together, and what any two weeks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.documents import require
from lapwing.errors import FormatError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.covariance import Covariance
from lapwing.results.band import Kind
from lapwing.results.stored_arrays import decoded, encoded
from lapwing.results.uncertainty import Uncertainty

_METHOD = "difference of two weeks: random walk of each label"


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """The shares of all labels in all weeks, given all weeks, each label by itself.

    Parameters
    ----------
    mean, variance : numpy.ndarray
        float64 [weeks, labels].
    carried : numpy.ndarray
        float64 [weeks, labels]: by what part of its error a week hands on to the next, given all
        weeks: the covariance of two weeks is the later one's variance times all parts between.
    """

    mean: Matrix
    variance: Matrix
    carried: Matrix

    def difference(
        self, earlier: int, later: int, mass: Vector, people: int
    ) -> dict[Kind, Uncertainty]:
        """Return the error laws of the later week less the earlier.

        Parameters
        ----------
        earlier, later : int
            Positions.
        mass : numpy.ndarray
            float64 [labels], of the later week.
        people : int
            In the smaller of the two.
        """
        center, variance = self.apart(earlier, later)
        noise = Covariance(variance, np.zeros((center.size, 0)), np.zeros(0))
        nothing = np.zeros(center.size)
        law = Uncertainty(center, noise, nothing, mass, people, _METHOD, laplace=0.0)
        return {"pointwise": law, "simultaneous": law}

    def apart(self, earlier: int, later: int) -> tuple[Vector, Vector]:
        """Return the later week less the earlier, and its variance: float64 [labels] each."""
        shared = self.variance[later] * np.prod(self.carried[earlier:later], axis=0)
        variance = self.variance[earlier] + self.variance[later] - 2 * shared
        return self.mean[later] - self.mean[earlier], np.maximum(variance, 0.0)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form; arrays as base64 of little-endian floats."""
        return {
            "mean": encoded(self.mean),
            "variance": encoded(self.variance),
            "carried": encoded(self.carried),
        }

    @classmethod
    def from_document(cls, document: Any, *, size: int, weeks: int) -> LabelErrors:
        """Return the errors that :meth:`to_document` wrote; FormatError when they are none."""
        keys = ("mean", "variance", "carried")
        require(document, set(keys), name="the errors of a series")
        arrays = [decoded(document[key], rows=weeks, columns=size) for key in keys]
        if (arrays[1] < 0).any():
            raise FormatError("the variances of a series are damaged")
        return cls(*arrays)
