"""Generalized randomized response: the true label, or any other with less probability."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.symmetric import CompoundSymmetric
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.domains.domain import Domain
from lapwing.randomizers.two_level import TwoLevel


@dataclass(frozen=True)
class RandomizedResponse(TwoLevel):
    """Report the own symbol with probability ``e^epsilon / (e^epsilon + k - 1)``, else another.

    The near set of a value is the value. Also known as k-RR, GRR, direct encoding; for two
    symbols it is Warner's randomized response.

    Parameters
    ----------
    domain : Domain
        Any, of 2..2^26 symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.

    Notes
    -----
    **Accuracy.** Variance of an unbiased share near 0: ``(e^epsilon + k - 2) / ((e^epsilon - 1)^2
    n)``. Better than unary encoding while ``k < 3 e^epsilon + 2``.

    **Cost.** ceil(log2(k) / 8) bytes per report; O(1) to randomize and to tally one.

    Source: Kairouz et al. 2014; Li et al. 2020, section 2.1, equation 1.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> colors = RandomizedResponse(Categories(["red", "green", "blue"]), 2)
    >>> colors.tally(colors.randomize(["red"] * 1000, rng=seeded(1))).blocks[0].tolist()
    [792, 103, 105]
    """

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "randomized-response"
    decoder: ClassVar[str] = "mixture-prior"

    @cached_property
    def _near(self) -> int:
        """One: the value itself."""
        return 1

    @cached_property
    def _outputs(self) -> int:
        """As many as symbols."""
        return self.domain.size

    @property
    def total_variation(self) -> Fraction:
        """Total variation distance of the reports of two values, the same for every two."""
        return Fraction(self._threshold, WORD) - Fraction(WORD - self._threshold, WORD * self._far)

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the value, or output `offset` of all the others."""
        return np.where(near, point, offset + (offset >= point))

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the people: everybody is at their own symbol."""
        return people

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix with `inside` on the diagonal."""
        return CompoundSymmetric(self.domain.size, diagonal=inside, off_diagonal=outside)
