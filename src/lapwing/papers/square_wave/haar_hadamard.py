"""One Haar coefficient level per person, its signed index sent as one bit of a Hadamard row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.hadamard import HadamardAgreement, hadamard_parity
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain, bins_alone, domain_of
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.mixture import Component, Mixture, whole_shares
from lapwing.randomizers.two_level import LARGEST_TABLE, TwoLevel


def spread_over_rows(people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each (row, sign) is drawn, if everybody draws a row uniformly.

    people: int64 [2 rows]: how many hold index ``c // 2`` with sign + (c even) or - (c odd).
    rng: Source of random numbers. It is for simulation only.
    returns: Number of draws of each output ``2 row + b``, int64 [2 rows]. Here b = 0 where the
        Hadamard entry of row and index, times the sign, is +1.

    It is a fast Walsh-Hadamard transform on people instead of numbers. The rows' bits are drawn
    from the highest down: a fair binomial of each cell has a 0 there. Indices that differ in the
    same bit then agree for those people, and differ by their sign for the others. So the cells
    halve as the rows double. The joint distribution is exactly that of every person drawing a row.
    It takes O(rows log rows) draws for any number of people.
    """
    # [rows so far, indices still told apart, sign]
    state = people.reshape(1, -1, 2)
    while state.shape[1] > 1:
        half = state.shape[1] // 2
        with_zero = rng.binomial(state, 0.5)
        with_one = state - with_zero
        alike = with_zero[:, :half] + with_zero[:, half:]
        flipped = with_one[:, :half] + with_one[:, half:, ::-1]
        state = np.stack([alike, flipped], axis=1).reshape(-1, half, 2)
    return state.reshape(-1)


@dataclass(frozen=True)
class SignedHadamard(TwoLevel):
    """One-bit Hadamard response of a signed index (Cormode et al., 2019).

    A report is a uniformly random row of a Hadamard matrix and one bit. Cell c, in 0..2K-1, stands
    for index ``c // 2`` with sign + or - (c odd). The high-probability outputs of a cell are every
    row, each with the sign that the matrix gives the signed index there: half of all outputs. It is
    a part of :class:`HaarHadamard`.

    domain: Domain of the cells, with 2 to 2^26 of them. When they are no power of two, cell s
        stands for cell ``s * 2 K // cells`` of the next power, 2 K.
    epsilon: Privacy parameter of one report, in (0, 24], in nats. The field holds an exact
        Fraction.

    Notes
    -----
    **Accuracy.** Let s be the sum over reports of bit times Hadamard entry. The difference of the
    two cells' shares is estimated by ``s (e^epsilon + 1) / ((e^epsilon - 1) n)``, without bias. Its
    variance is ``(((e^epsilon + 1) / (e^epsilon - 1))^2 - difference^2) / n``, whatever the number
    of cells.

    **Cost.** A report takes ``ceil(log2(2 K) / 8)`` bytes. Randomizing or tallying one takes O(1)
    time, and simulating any number of people O(K log K).

    The method is the HRR of [1]_.

    References
    ----------
    .. [1] G. Cormode, T. Kulkarni, D. Srivastava, "Answering range queries under local differential
       privacy", Proceedings of the VLDB Endowment 12(10), 2019. doi:10.14778/3339490.3339496
    """

    name: ClassVar[str] = "signed-hadamard"

    @cached_property
    def _outputs(self) -> int:
        """Two per row: output ``2 row + b``, b = 1 for the sign -1."""
        return int(2 ** (self.domain.size - 1).bit_length())

    @cached_property
    def _near(self) -> int:
        """Half of the outputs: one sign in every row."""
        return self._outputs // 2

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        return np.arange(self.domain.size, dtype=np.int64) * self._outputs // self.domain.size

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return row `offset` with the sign that the matrix gives there, or with the other."""
        cell = self._place[point]
        sign = hadamard_parity(offset, cell >> 1) ^ (cell & 1) ^ ~near.astype(np.bool_)
        return 2 * offset + sign

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the near set of their cell."""
        cells = np.zeros(self._outputs, dtype=np.int64)
        cells[self._place] = people
        return spread_over_rows(cells, rng)

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix that is `inside` where the signs agree."""
        return HadamardAgreement(self._near, inside=inside, outside=outside, place=self._place)


@dataclass(frozen=True)
class HaarHadamard(Mixture[CountTally]):
    """HaarHRR: Haar coefficients by Hadamard randomized response (Cormode et al., 2019).

    A report is one bit about the person's Haar coefficient at one level. Public randomness draws
    the level, each with the same probability. At level j the domain is divided into ``2^j`` cells.
    A person's coefficient is that of their cell: + in its left half, - in its right half. A random
    row of a Hadamard matrix turns the signed index into one bit, which is flipped with probability
    ``1 / (e^epsilon + 1)``.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, with 2 to 2^26 bins. When the size is not a power of two, bin s lies
        in half-cell ``s * 2^(j+1) // size`` of level j. The empty leaves of the padded tree are
        spread evenly.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.

    Notes
    -----
    **Privacy.** The level does not depend on the value. Given the level, a report is a row and a
    sign, and each value has one sign in each row. So the worst-case likelihood ratio is
    ``T / (2^64 - T)`` exactly, the same at every level. T is the largest integer for which it is at
    most a rational lower bound of ``e^epsilon``. The tests check it by enumeration.

    **Accuracy.** The coefficient a_jk, divided by ``2^(j/2)``, is the difference of the shares of
    two halves. Its unbiased estimate has variance
    ``(((e^epsilon + 1) / (e^epsilon - 1))^2 - difference^2) / n_j``. Here n_j is the number of
    people of the level, about n / log2(size).

    **Cost.** A report takes one byte for the level and ``ceil(log2(size) / 8)`` for the row and the
    bit. Randomizing or tallying one takes O(1) time. Simulating any number of people, or a product
    with the channel, takes O(size log size).

    The method is that of [1]_, as section 4.2 of [2]_ describes it. It differs in two ways. The
    branching is two, because a Haar tree cannot have four, as the experiments of [2]_ say. Any
    size is allowed.

    References
    ----------
    .. [1] G. Cormode, T. Kulkarni, D. Srivastava, "Answering range queries under local differential
       privacy", Proceedings of the VLDB Endowment 12(10), 2019. doi:10.14778/3339490.3339496
    .. [2] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 64, bins=64, outside="clip")
    >>> haar = lw.papers.square_wave.HaarHadamard(domain, epsilon=1)
    >>> len(haar.groups), haar.report_width, haar.certificate().holds
    (6, 2, True)
    >>> ages = list(range(20, 60)) * 500  # half of them below 40
    >>> tally = haar.tally(haar.randomize(ages, rng=lw.seeded(1)))
    >>> round(float(lw.papers.square_wave.TreeConsistency().decode(haar.channel, tally).cdf(40)), 1)
    0.5
    """

    domain: Annotated[Domain, domain_of("numbers", bins_alone, most=LARGEST_TABLE)]

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "haar-hadamard"
    _in_javascript: ClassVar[bool] = True

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """Randomizer of each level 0, 1, ..., of which level j has ``2^(j + 1)`` half-cells."""
        levels = (self.domain.size - 1).bit_length()
        shares = whole_shares([1 / levels] * levels)
        return tuple(
            Component(
                SignedHadamard(Categories(min(2 ** (level + 1), self.domain.size)), self.epsilon),
                share,
            )
            for level, share in enumerate(shares)
        )
