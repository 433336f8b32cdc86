"""Hadamard response: send a row number, more likely one whose sign at the own column is +1."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.hadamard import HadamardBlocks, hadamard_parity, is_power_of_two
from lapwing.privacy.exact_numbers import ExactNumber, check_whole_field
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.randomizers.two_level import LARGEST_TABLE, TwoLevel


def least_variance_blocks(symbols: int, epsilon: Fraction | float) -> int:
    """Return the number of blocks, a power of two, with the least variance on average.

    Parameters
    ----------
    symbols : int
        k, at least 2.
    epsilon : Fraction or float
        In (0, 24].

    Notes
    -----
    With B blocks the variance of a share near zero, when all blocks are equally popular, is
    ``(2 B + e^epsilon - 1)^2 / (B (e^epsilon - 1)^2)`` per report. One block is best up to
    epsilon = 1.343; the rule of :func:`published_blocks` takes two from epsilon = 0.69 on.
    """
    gain = math.expm1(epsilon)

    def variance(blocks: int) -> float:
        return float((2 * blocks + gain) ** 2 / blocks)

    return int(min((2**power for power in range(symbols.bit_length())), key=variance))


def published_blocks(symbols: int, epsilon: Fraction | float) -> int:
    """Return the number of blocks that the paper's authors take: about ``e^epsilon / 2``.

    Source: Acharya, Sun and Zhang 2019, section 5: ``2^(ceil(log2 min(e^epsilon, 2 k)) - 1)``.
    Differs: no more blocks than symbols, which the rule gives where k is no power of two.
    """
    power = math.ceil(math.log2(min(math.exp(epsilon), 2 * symbols))) - 1
    return int(2 ** min(max(power, 0), symbols.bit_length() - 1))


def spread_in_halves(people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each row comes up when everybody draws a row with sign +1 at their column.

    Parameters
    ----------
    people : numpy.ndarray
        int64 [rows], rows a power of two: how many hold each column. Those of column 0 draw any
        row.
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray
        int64 [rows].

    Notes
    -----
    A fast Walsh-Hadamard transform on people instead of numbers. The bits of the rows are drawn
    from the top. Those whose column has further ones below may draw a 0 or a 1, and owe the sign
    to the bits below; the bit at the lowest one of a column is what the sign asks for, and the
    bits below that are free again. The joint law is exactly that of every person drawing a row,
    in O(rows log rows) draws for any number of people.
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
    """Report a row of a Hadamard matrix, more likely one in which the own column is +1.

    Outputs are `blocks` times the rows of a Hadamard matrix. A symbol has a column in one of the
    blocks, and its near set are the rows of that block with +1 there: half of the block.

    Parameters
    ----------
    domain : Domain
        Any, of 2..2^25 symbols. Symbol s lies in block ``s % blocks``, so that neighbors, and
        the first of labels that are sorted by frequency, lie in different blocks.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    blocks : int, optional
        A power of two, at most as many as symbols. Default: :func:`least_variance_blocks`.

    Notes
    -----
    **Privacy.** Two-level: all near sets have the same size, half of a block; the worst ratio and
    its proof are those of :class:`TwoLevel`. Checked by :meth:`certificate` and by the contract
    tests.

    **Accuracy.** The variance of a share near zero in a block that a share S of all reports names
    is ``S (2 B + e^epsilon - 1)^2 / (e^epsilon - 1)^2 / n``; one block has S = 1. Blocks that hold
    popular symbols are noisier. The variance is 6 % (epsilon .5), 27 % (1), 75 % (2) and 98 % (4)
    above that of :class:`LinearHashing` and of subset selection.

    **Cost.** ceil(log2(outputs) / 8) bytes per report, with at most 4 k outputs; O(1) to randomize
    and to tally one, O(k log k) to decode and to simulate any number of people.

    Source: Acharya, Sun and Zhang 2019. Differs: the number of blocks minimizes the variance;
    the authors' is ``blocks=published_blocks(k, epsilon)``. Symbols are dealt to the blocks in
    turn, not in runs.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> response = HadamardResponse(Categories(1000), 1)
    >>> response.report_width, response.certificate().holds
    (2, True)
    """

    _: KW_ONLY
    blocks: int | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Domain, epsilon: ExactNumber, *, blocks: int | None = None
        ) -> None: ...

    name: ClassVar[str] = "hadamard-response"

    if not TYPE_CHECKING:  # to a type checker it is a class variable, as everywhere else

        @property
        def decoder(self) -> str:
            """Name of the decoder that a survey uses by default."""
            return "least-squares" if self.domain.ordered else "mixture-prior"

    def __post_init__(self) -> None:
        """Check the blocks, then what all two-level randomizers check."""
        require_domain(self.domain)
        if self.domain.size > LARGEST_TABLE // 2:
            raise DomainError(
                f"Hadamard response counts at most {LARGEST_TABLE // 2} symbols, got "
                f"{self.domain.size}; use LinearHashing"
            )
        if self.blocks is not None:
            check_whole_field(self, "blocks", low=1, high=self.domain.size)
            if not is_power_of_two(self.blocks):
                raise ArgumentError(f"blocks must be a power of two, got {self.blocks}")
        super().__post_init__()

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
        """Total variation distance of the reports of two values; None when it is not one for all.

        Near sets of one block share half of their outputs, those of two blocks share none.
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
