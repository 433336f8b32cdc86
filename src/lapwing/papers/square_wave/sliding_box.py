"""The square wave on the continuous line, where the value is randomized before it is binned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.operators.operator import Operator


class SlidingBox(Operator):
    """Probability that a value, uniform in input bin i of [0, 1], is reported in output bin j.

    The report has density `inside` within `half_width` of the value and `outside` elsewhere on
    ``[-half_width, 1 + half_width]``. Shape ``[outputs, inputs]``, bins of equal width on each
    side but not equal between the sides.

    inputs, outputs: Numbers of bins.
    half_width: Greater than 0, in units of the input interval (the paper's b).
    inside, outside: Densities (the paper's p and q).

    Let F be the CDF of the input and G its integral. The probability of the output bin ``[y, z]``
    is ``outside (z - y) + (inside - outside) [D(z) - D(y)]`` where ``D(y) = G(y + b) - G(y - b)``.
    F is piecewise linear, so G is piecewise quadratic and is evaluated exactly. The midpoint rule
    would be biased at large epsilon. The adjoint runs the same steps backwards.

    It is the matrix M of [1]_ (square wave), section 5.5. Their text prints M with its indices
    swapped. Here columns sum to one.

    **Cost.** Both products take O(inputs + outputs).

    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    """

    def __init__(
        self, *, inputs: int, outputs: int, half_width: float, inside: float, outside: float
    ) -> None:
        super().__init__((outputs, inputs))
        self.inputs = inputs
        self.outputs = outputs
        self.half_width = half_width
        self.inside = inside
        self.outside = outside
        edges = np.linspace(-half_width, 1 + half_width, outputs + 1)
        self._output_width = (1 + 2 * half_width) / outputs
        self._upper = _points(edges + half_width, inputs)
        self._lower = _points(edges - half_width, inputs)

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        x = np.append(x.reshape(self.inputs), 0.0)
        step = 1 / self.inputs
        cdf = np.concatenate([[0.0], np.cumsum(x[:-1])])
        area = np.concatenate([[0.0], np.cumsum(cdf[:-1] + cdf[1:])]) * (step / 2)
        difference = np.zeros(self.outputs + 1)
        for sign, (index, offset) in ((1, self._upper), (-1, self._lower)):
            slope = x[index] / step
            difference += sign * (area[index] + cdf[index] * offset + slope * offset**2 / 2)
        gap = self.inside - self.outside
        product: NDArray[np.float64] = gap * np.diff(difference)
        product += self.outside * self._output_width * cdf[-1]
        return product

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        r = r.reshape(self.outputs)
        step = 1 / self.inputs
        gap = self.inside - self.outside
        weight = -gap * np.diff(r, prepend=0.0, append=0.0)
        knots = self.inputs + 1
        to_x = np.zeros(knots)
        to_cdf = np.zeros(knots)
        to_area = np.zeros(knots)
        for sign, (index, offset) in ((1, self._upper), (-1, self._lower)):
            to_area += np.bincount(index, sign * weight, knots)
            to_cdf += np.bincount(index, sign * weight * offset, knots)
            to_x += np.bincount(index, sign * weight * offset**2 / (2 * step), knots)
        to_cdf[-1] += self.outside * self._output_width * r.sum()
        later = np.cumsum(to_area[:0:-1])[::-1] * (step / 2)
        to_cdf[:-1] += later
        to_cdf[1:] += later
        return to_x[:-1] + np.cumsum(to_cdf[:0:-1])[::-1]


def _points(
    points: NDArray[np.float64], inputs: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the knot at or below each point and the distance beyond it, 0 below the first.

    Points beyond 1 belong to the last knot, where the density is 0 and F is 1, so that G goes on
    as a straight line.
    """
    clipped = np.maximum(points, 0.0)
    index = np.minimum((clipped * inputs).astype(np.int64), inputs)
    return index, clipped - index / inputs
