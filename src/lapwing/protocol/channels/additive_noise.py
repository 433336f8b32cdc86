"""The distribution of a curator's release: linear answers with known noise added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.operator import Operator, as_operator, dense

CountVector = NDArray[np.int64]


@dataclass(frozen=True)
class AdditiveNoise:
    """The block's counts are ``M h`` plus independent noise, h the counts of all n people.

    Unlike a report's distribution, the noise does not grow with the people: its share of what is
    seen falls as 1 / n. Seen from the distribution the people were drawn from, ``M h / n`` itself
    varies about ``M mass``.

    variance: Variance of the noise in every output, in squared units of the counts, greater than 0.
    """

    variance: float

    def check(self, operator: Operator) -> None:
        """Accept any operator: answers of any sign and size can be released."""

    def check_counts(self, counts: CountVector, reports: int) -> None:
        """Accept any counts: noise can make any number."""

    def covariance(self, operator: Operator, mass: Vector) -> Covariance:
        """Return the covariance of one person's share in the answers, without the noise."""
        value = Covariance(mass, mass[:, None], np.array([-1.0]))
        return value.through(operator)

    def score_and_information(
        self, operator: Operator, mass: Vector, counts: CountVector, reports: int
    ) -> tuple[Vector, Operator]:
        """Return those of the normal distribution of the counts about ``n M mass``.

        Its covariance ``n M (diag(mass) - mass mass') M' + variance I`` is taken at `mass`.
        O(outputs^2 size).
        """
        matrix = dense(operator)
        mean = matrix @ mass
        spread = reports * ((matrix * mass) @ matrix.T - np.outer(mean, mean))
        spread[np.diag_indices_from(spread)] += self.variance
        factor = cho_factor(spread)
        score: Vector = reports * (matrix.T @ cho_solve(factor, counts - reports * mean))
        information = reports**2 * (matrix.T @ cho_solve(factor, matrix))
        return score, as_operator(information)

    def likelihood_rows(
        self, operator: Operator, counts: CountVector, reports: int
    ) -> Iterable[tuple[Operator, CountVector]]:
        """Refuse: a release is not a count of events, so there is nothing for EM to share out."""
        raise UnsupportedChannelError(
            "expectation maximization needs counts of events, and a release has noise added. "
            "Decode it by step pursuit, least squares or the spectral prior"
        )

    def sample(
        self, operator: Operator, people: CountVector, rng: np.random.Generator
    ) -> CountVector:
        """Return answers with rounded Gaussian noise, for simulation only."""
        noise = rng.normal(scale=np.sqrt(self.variance), size=operator.shape[0])
        drawn: CountVector = np.rint(operator.matvec(people.astype(np.float64)) + noise).astype(
            np.int64
        )
        return drawn
