"""Hadamard response: a report is a row number, likely one with sign +1 in the true column."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import AtLeastOne
from lapwing.errors import ArgumentError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.hadamard import HadamardBlocks, hadamard_parity, is_power_of_two
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.randomizers.two_level import LARGEST_TABLE, TwoLevel


def least_variance_blocks(symbols: int, epsilon: Fraction | float) -> int:
    """Return the number of blocks, a power of two, with the least variance on average.

    symbols: Number k of bins or categories, at least 2.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.

    Take B blocks that are equally popular. A share near zero then has variance
    ``(2 B + e^epsilon - 1)^2 / (B (e^epsilon - 1)^2)`` for one report. One block is best up to
    epsilon = 1.343. The rule of :func:`published_blocks` takes two from epsilon = 0.69 on.
    """
    gain = math.expm1(epsilon)

    def variance(blocks: int) -> float:
        return float((2 * blocks + gain) ** 2 / blocks)

    return int(min((2**power for power in range(symbols.bit_length())), key=variance))


def published_blocks(symbols: int, epsilon: Fraction | float) -> int:
    """Return the number of blocks that the paper's authors take: about ``e^epsilon / 2``.

    symbols: Number k of bins or categories, at least 2.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Number of blocks, a power of two.

    Section 5 of [1]_ takes ``2^(ceil(log2 min(e^epsilon, 2 k)) - 1)`` blocks. Here there are never
    more blocks than categories, which the rule gives where k is no power of two.

    .. [1] J. Acharya, Z. Sun, H. Zhang, "Hadamard response: estimating distributions privately,
       efficiently, and with little communication", AISTATS, 2019.
    """
    power = math.ceil(math.log2(min(math.exp(epsilon), 2 * symbols))) - 1
    return int(2 ** min(max(power, 0), symbols.bit_length() - 1))


def spread_in_halves(people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each row is drawn, if everybody draws a row with sign +1 at their column.

    people: int64 [rows], rows a power of two: how many people hold each column. Those of column 0
        draw any row.
    rng: Source of random numbers. It is for simulation only.
    returns: Number of draws of each row, int64 [rows].

    It is a fast Walsh-Hadamard transform on people instead of numbers. The bits of the rows are
    drawn from the highest down. A person whose column has further ones below may draw a 0 or a 1,
    and owes the sign to the bits below. The bit at the lowest one of a column is what the sign
    requires, and the bits below it are free again. The joint distribution is exactly that of every
    person drawing a row. It takes O(rows log rows) draws for any number of people.
    """
    # [rows so far, columns still told apart, parity that is owed]
    state = np.zeros((1, people.size, 2), dtype=np.int64)
    state[0, :, 0] = people
    while state.shape[1] > 1:
        half = state.shape[1] // 2
        with_zero = rng.binomial(state, 0.5)
        with_zero[:, half, 0] = state[:, half, 0]
        with_zero[:, half, 1] = 0
        with_one = state - with_zero
        alike = with_zero[:, :half] + with_zero[:, half:]
        flipped = with_one[:, :half] + with_one[:, half:, ::-1]
        state = np.stack([alike, flipped], axis=1).reshape(-1, half, 2)
    return state[:, 0, 0].copy()


@dataclass(frozen=True)
class HadamardResponse(TwoLevel):
    """Hadamard response (Acharya, Sun and Zhang, 2019).

    A report is a row of a Hadamard matrix, more likely one in which the value's column is +1.
    There are `blocks` times as many outputs as the matrix has rows. A value has a column in one of
    the blocks. Its high-probability outputs are the rows of that block with +1 there, half of the
    block.

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with k = 2 to 2^25 bins or categories. Category s lies in
        block ``s % blocks``. So neighbors, and the first of labels sorted by frequency, lie in
        different blocks.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    blocks : int, optional
        Number of blocks, a power of two that is at most k. Default: the number with the least
        average variance, which is 1 up to epsilon = 1.343.

    See Also
    --------
    lapwing.LinearHashing : Less variance, with a few more bytes per report.

    Notes
    -----
    **Privacy.** Every value has the same number of high-probability outputs, half of a block. So
    the worst-case likelihood ratio is that of a two-level randomizer, which :meth:`certificate`
    states. The contract tests check it.

    **Accuracy.** Suppose that a share S of all reports names a block. A category in it with a
    share near zero has variance ``S (2 B + e^epsilon - 1)^2 / (e^epsilon - 1)^2 / n`` with B
    blocks and n reports. One block has S = 1. Blocks that hold popular categories are noisier. The
    variance exceeds that of :class:`lapwing.LinearHashing` and of subset selection by 6% at
    epsilon 0.5. It exceeds them by 27% at 1, by 75% at 2, and by 98% at 4.

    **Cost.** A report takes ``ceil(log2(outputs) / 8)`` bytes, with at most ``4 k`` outputs.
    Randomizing or tallying one takes O(1) time. Decoding, and simulating any number of people,
    takes O(k log k).

    The method is that of [1]_. It differs in two ways. The number of blocks minimizes the
    variance, and categories are assigned to the blocks in turn.

    References
    ----------
    .. [1] J. Acharya, Z. Sun, H. Zhang, "Hadamard response: estimating distributions privately,
       efficiently, and with little communication", AISTATS, 2019.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.randomizers.HadamardResponse(lw.Categories(1000), epsilon=1)
    >>> response.report_width, response.certificate().holds
    (2, True)
    >>> people = [60_000, 40_000] + [0] * 998
    >>> tally = lw.simulate(response, people, rng=1)
    >>> result = lw.MixturePrior().decode(response.channel, tally)
    >>> result.mass[:2].round(2).tolist()
    [0.6, 0.4]
    """

    domain: Annotated[Domain, domain_of(most=LARGEST_TABLE // 2)]
    _: KW_ONLY
    blocks: AtLeastOne | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, blocks: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "hadamard-response"
    _in_javascript: ClassVar[bool] = True

    if not TYPE_CHECKING:  # to a type checker it is a class variable, as everywhere else

        @property
        def decoder(self) -> str:
            """Name of the decoder that a survey uses by default."""
            return "least-squares" if self.domain.ordered else "mixture-prior"

    def _settle(self) -> None:
        """Check the blocks against the domain."""
        size, blocks = self.domain.size, self.blocks
        if blocks is not None and (blocks > size or not is_power_of_two(blocks)):
            raise ArgumentError("blocks", f"must be a power of two, at most {size}", str(blocks))

    @cached_property
    def _block_count(self) -> int:
        """B: the blocks that were given or chosen."""
        return self.blocks or least_variance_blocks(self.domain.size, self.epsilon)

    @cached_property
    def _length(self) -> int:
        """Rows of a block: the least power of two above the symbols of a block."""
        return int(2 ** (-(-self.domain.size // self._block_count)).bit_length())

    @cached_property
    def _near(self) -> int:
        """Half of a block."""
        return self._length // 2

    @cached_property
    def _outputs(self) -> int:
        """All rows of all blocks."""
        return self._block_count * self._length

    @property
    def _derived(self) -> dict[str, Any]:
        return super()._derived | {"length": self._length}

    @property
    def total_variation(self) -> Fraction | None:
        """Total variation distance between the reports of any two values, or None.

        Two values in one block share half of their high-probability outputs, and values in
        different blocks share none. So with several blocks the distance is not the same for all
        values.
        """
        if self._block_count > 1:
            return None
        near = Fraction(self._threshold, WORD)
        return (near - (1 - near)) / 2

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return row `offset` of the own half of the own block, or of all the rest."""
        block, column = point % self._block_count, point // self._block_count + 1
        elsewhere = ~near & (offset >= self._near)
        # A row of a half: its bit at the lowest one of the column is left out, and then is the
        # one that gives the sign that is asked for.
        lowest = column & -column
        rest = np.where(elsewhere, 0, offset)
        row = (rest & (lowest - 1)) | ((rest & -lowest) << 1)
        row |= lowest * (hadamard_parity(row, column) ^ ~near.view(np.bool_))
        outside = np.where(elsewhere, offset - self._near, 0)
        other, other_row = outside // self._length, outside % self._length
        other += other >= block
        code: NDArray[np.int64] = np.where(
            elsewhere, other * self._length + other_row, block * self._length + row
        )
        return code

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the near set of their symbol."""
        columns = np.zeros((self._length, self._block_count), dtype=np.int64)
        columns.reshape(-1)[self._block_count : self._block_count + people.size] = people
        return np.concatenate([spread_in_halves(column, rng) for column in columns.T])

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix that is `inside` on near sets and `outside` elsewhere."""
        return HadamardBlocks(
            self.domain.size,
            blocks=self._block_count,
            length=self._length,
            inside=inside,
            outside=outside,
        )
