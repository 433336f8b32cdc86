"""Generalized randomized response: the true category, or any other with lower probability."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import CompoundSymmetric
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.domains.domain import Domain
from lapwing.randomizers.two_level import TwoLevel


@dataclass(frozen=True)
class RandomizedResponse(TwoLevel):
    """Generalized randomized response (Kairouz et al., 2014).

    It reports the true category with probability ``e^epsilon / (e^epsilon + k - 1)``, and each of
    the ``k - 1`` others with probability ``1 / (e^epsilon + k - 1)``. Other names are k-RR, GRR and
    direct encoding. For two categories it is the randomized response of Warner (1965).

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with k = 2 to 2^26 bins or categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.

    See Also
    --------
    SubsetSelection : Less variance for more than about ``3 e^epsilon + 2`` categories.

    Notes
    -----
    **Privacy.** A report satisfies pure epsilon-local differential privacy. Both probabilities are
    integers over 2^64, so :meth:`certificate` states the exact worst-case likelihood ratio.

    **Accuracy.** An unbiased share near 0, estimated from n reports, has variance
    ``(e^epsilon + k - 2) / ((e^epsilon - 1)^2 n)``. This is less than that of optimized unary
    encoding while ``k < 3 e^epsilon + 2``.

    **Cost.** A report takes ``ceil(log2(k) / 8)`` bytes. Randomizing or tallying one takes O(1)
    time.

    The method is that of [1]_, and of [2]_ for two categories.

    References
    ----------
    .. [1] P. Kairouz, S. Oh, P. Viswanath, "Extremal mechanisms for local differential privacy",
       NIPS, 2014.
    .. [2] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer
       bias", Journal of the American Statistical Association 60(309), 1965.
       doi:10.1080/01621459.1965.10480775

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["red", "green", "blue"]), epsilon=2)
    >>> reports = response.randomize(["red"] * 6000 + ["blue"] * 4000, rng=lw.seeded(1))
    >>> result = lw.LeastSquares().decode(response.channel, response.tally(reports))
    >>> round(result.share("red"), 2)
    0.6
    """

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "randomized-response"
    _in_javascript: ClassVar[bool] = True
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
        """Total variation distance between the reports of any two values, in [0, 1]."""
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
