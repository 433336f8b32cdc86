"""Compressive privatization: reports with far fewer outputs than there are values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import AtLeastOne, Declared, From, Later
from lapwing.errors import ArgumentError, DomainError, PrivacyError
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.random_signs import (
    LARGEST_SEED,
    SignColumns,
    coherence,
    ones_per_column,
    random_columns,
    unpacked,
)
from lapwing.privacy.exact_numbers import (
    ExactNumber,
    check_whole,
    epsilon_field,
    epsilon_text,
    exponential_bounds,
    least_epsilon,
    square_root_below,
)
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import WORD, RandomSource, scalar_below, uniform_below
from lapwing.protocol.channels.channel import Block, Channel, Multinomial
from lapwing.protocol.domains.domain import Domain, class_document, domain_of
from lapwing.protocol.randomizer import check_symbol
from lapwing.randomizers.two_level import TwoLevel
from lapwing.randomizers.window_counts import spread_evenly


def given_columns(matrix: Any, *, symbols: int, outputs: int) -> tuple[tuple[str, ...], int]:
    """Return a matrix as hexadecimal strings, one for each column, and its number of rows.

    matrix: Entries +1 and -1, or 1 and 0, or the columns as this function returns them.
    symbols: Columns that there must be.
    outputs: Rows that there must be, or 0 if the matrix says it. Needed with strings.

    Raises ArgumentError on a wrong shape or entry, with its position.

    Returns
    -------
    tuple of str
        Bit ``j % 8`` of byte ``j // 8`` is 1 where row j has +1. Spare bits are 0.
    int
        Rows.
    """
    if isinstance(matrix, list | tuple) and any(isinstance(column, str) for column in matrix):
        return _text(matrix, symbols=symbols, outputs=outputs), outputs
    try:
        signs = np.asarray(matrix)
    except ValueError:
        raise ArgumentError("matrix", "must have rows of equal lengths") from None
    if signs.dtype.kind not in "iufb" or signs.ndim != 2:
        raise ArgumentError(
            "matrix",
            f"must be numbers of shape [outputs, {symbols}]",
            f"{signs.dtype.name} of shape {signs.shape}",
        )
    rows = signs.shape[0]
    if signs.shape[1] != symbols or rows < 2 or (outputs and rows != outputs):
        wanted = outputs or "at least 2"
        raise ArgumentError(
            "matrix",
            f"must have a row for each output ({wanted}) and a column for each of the {symbols} "
            "symbols",
            f"shape {signs.shape}",
        )
    wrong = (signs != 1) & (signs != (-1 if (signs == -1).any() else 0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise ArgumentError(
            "matrix",
            "must have entries that are all +1 or -1, or all 1 or 0",
            advice=f"The one in row {row}, column {column} is not",
        )
    return _hexadecimal(signs > 0), rows


def _hexadecimal(held: NDArray[np.bool_]) -> tuple[str, ...]:
    packed = np.packbits(held.T, axis=1, bitorder="little")
    return tuple(column.tobytes().hex() for column in packed)


def _text(columns: Any, *, symbols: int, outputs: int) -> tuple[str, ...]:
    if outputs < 2:
        raise ArgumentError("matrix", "as a string needs the number of its outputs, at least 2")
    if len(columns) != symbols:
        raise ArgumentError(
            "matrix", f"must have a column for each of the {symbols} symbols", str(len(columns))
        )
    width = (outputs + 7) // 8
    for number, column in enumerate(columns):
        try:
            bits = int.from_bytes(bytes.fromhex(column), "little")
            legal = len(column) == 2 * width and column == column.lower() and bits < 2**outputs
        except (TypeError, ValueError):
            legal = False
        if not legal:
            raise ArgumentError(
                f"column {number} of the matrix must be {2 * width} lowercase hexadecimal "
                f"digits with {outputs} bits, but it is not"
            )
    return tuple(columns)


def recommended_outputs(symbols: int, sparsity: int, epsilon: Fraction | float) -> int:
    """Return the number of outputs with which so many frequent categories can be distinguished.

    symbols: Number k of categories.
    sparsity: Number s of categories that hold nearly all of the mass, in 1..k.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Number of outputs, at most k.

    It is ``4 s ln(k / s)``, and at least ``8 (e^epsilon + 1)``. With the latter a high-probability
    output set has 8 outputs, so two of them seldom agree. The theorems 3.6 and 4.3 of [1]_ give
    only the orders, ``s log(k / s)`` and ``e^epsilon log k``. The constants are measured in
    `benchmarks/accuracy`. The term for the balance of random columns is not needed, because columns
    are balanced by construction.

    .. [1] Z. Xiong, Z. Huang, X. Mao, J. Wang, S. Ying, "Compressive privatization: sparse
       distribution estimation under locally differential privacy", 2021. arXiv:2012.02081v1.

    >>> recommended_outputs(10_000, 25, 0.5)
    600
    """
    logarithm = max(math.log(symbols / sparsity), 1.0)
    recovery = math.ceil(4 * sparsity * logarithm)
    return min(symbols, max(recovery, math.ceil(8 * (math.exp(epsilon) + 1))))


def best_weight(outputs: int, epsilon: Fraction | float) -> int:
    """Return the size of balanced high-probability output sets that gives the least variance.

    With density a and ``E = e^epsilon - 1``, a share near 0 has variance
    ``(1 + a E)^2 / (a (1 - a) E^2 n)``. It is least at ``a = 1 / (e^epsilon + 1)``. The paper's
    density of 1/2 costs 6% at epsilon 0.5 and 27% at 1. Its ``e^-epsilon`` for medium privacy
    costs 5% at 1.
    """
    gap = math.expm1(epsilon)

    def variance(ones: int) -> float:
        density = ones / outputs
        return (1 + density * gap) ** 2 / (density * (1 - density))

    ideal = outputs / (math.exp(epsilon) + 1)
    sizes = {min(max(size, 1), outputs - 1) for size in (math.floor(ideal), math.ceil(ideal))}
    return min(sorted(sizes), key=variance)


Thresholds = dict[int, int]
"""For each size of high-probability output sets, the T for which "near" has probability T /
2^64."""


def published(sizes: Iterable[int], outputs: int, odds: Fraction) -> Thresholds:
    """Return the thresholds of equation 2.

    An output in the high-probability set of a value is `odds` times as likely as one outside.
    """
    return {
        size: int(WORD * odds * size / (odds * size + outputs - size))
        for size in sorted(set(sizes))
    }


def scaled_odds(sizes: Iterable[int], outputs: int, bound: Fraction) -> Fraction:
    """Return the largest odds with which equation 2 keeps the privacy guarantee.

    Let n and N be the smallest and the largest size. The worst-case ratio of equation 2 is then at
    most ``r (N r + m - N) / (n r + m - n)``, which grows with r. It equals the bound at the
    positive root of ``N r^2 + (m - N - bound n) r - bound (m - n) = 0``, taken from below.
    """
    smallest, largest = min(sizes), max(sizes)
    middle = outputs - largest - bound * smallest
    discriminant = middle**2 + 4 * largest * bound * (outputs - smallest)
    return (square_root_below(discriminant) - middle) / (2 * largest)


def banded(sizes: NDArray[np.int64], outputs: int, bound: Fraction) -> Thresholds:
    """Return thresholds with which all probabilities lie between L and ``bound L`` for one L.

    sizes: Size of the high-probability output set of every value, int64 [values].
    outputs: Number of outputs.
    bound: Largest ratio of two probabilities.

    L is what a set of the mean size would give. A value with a smaller set has its likely outputs
    at the top of the range, and spreads the rest over the others. A value with a larger set has its
    other outputs at the bottom. Rounding goes inwards, so the ratio of any two probabilities is at
    most the bound.
    """
    mean = Fraction(int(sizes.sum()), sizes.size)
    low = 1 / (mean * bound + outputs - mean)
    thresholds = {}
    for size in np.unique(sizes).tolist():
        if (size * bound + outputs - size) * low <= 1:
            thresholds[size] = int(WORD * size * bound * low)
        else:
            bottom = WORD * (outputs - size) * low
            thresholds[size] = WORD - -(-bottom // 1)
    return thresholds


def probabilities(thresholds: Thresholds, outputs: int) -> dict[int, tuple[Fraction, Fraction]]:
    """Return the probability of one output inside and of one outside, for each size of sets.

    A set that is empty, or holds every output, leaves one of them undefined. It is then the other
    one.
    """
    found = {}
    for size, threshold in thresholds.items():
        near = Fraction(threshold, WORD * size) if size else Fraction(1, outputs)
        far = Fraction(WORD - threshold, WORD * (outputs - size)) if size < outputs else near
        found[size] = near, far
    return found


def worst_ratio(packed: NDArray[np.uint8], outputs: int, thresholds: Thresholds) -> Fraction:
    """Return the largest ratio of two values' probabilities of one output, exactly.

    packed: High-probability output set of every value as bits, uint8 [values, ceil(outputs / 8)].
    outputs: Number of outputs.
    thresholds: Threshold T for each size of sets.

    For every output the likeliest value is found among the sizes whose sets hold it. The least
    likely value is found among those whose sets do not. This takes O(values outputs / 8).
    """
    sizes = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
    chances = probabilities(thresholds, outputs)
    levels = sorted({chance for pair in chances.values() for chance in pair})
    rank = {chance: place for place, chance in enumerate(levels)}
    highest = np.full(outputs, -1)
    lowest = np.full(outputs, len(levels))
    for size in np.unique(sizes).tolist():
        group = packed[sizes == size]
        near, far = chances[size]
        some_near = np.bitwise_or.reduce(group, axis=0)
        some_far = ~np.bitwise_and.reduce(group, axis=0)
        for bits, chance in ((some_near, near), (some_far, far)):
            here = np.unpackbits(bits, count=outputs, bitorder="little").astype(np.bool_)
            highest[here] = np.maximum(highest[here], rank[chance])
            lowest[here] = np.minimum(lowest[here], rank[chance])
    pairs = {(int(top), int(bottom)) for top, bottom in zip(highest, lowest, strict=True)}
    return max(levels[top] / levels[bottom] for top, bottom in pairs)


LARGEST_MATRIX = 2**30
"""Most entries of the matrix: 128 MB of bits."""

DRAWN = ("balanced", "rademacher", "medium")

_FEW = 64
"""Columns up to which they are drawn one by one, as on a device, and not all."""

_AT_ONCE = 2**22


@dataclass(frozen=True)
class CompressivePrivatization(TwoLevel):
    """Compressive privatization (Xiong et al., 2021).

    A report is one of m outputs, far fewer than there are categories. Every category has a public
    random set of outputs, which it reports with higher probability. Several categories share every
    output, and :class:`lapwing.decoders.SparseRecovery` finds the few frequent ones. The gain is
    the server's memory and the length of a report, not accuracy. Given the same knowledge, subset
    selection is as good or better (`benchmarks/accuracy`).

    Parameters
    ----------
    domain : Domain
        Domain of the values, of any kind, with k bins or categories and ``k * outputs`` at most
        2^30.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. With `accept_epsilon` it is only the
        parameter of equation 2, and is kept as :attr:`design_epsilon`.
    outputs : int
        Number m of outputs, in 2..k for a drawn matrix. Default (0): chosen from `sparsity`, or
        the number of rows of a given matrix.
    sparsity : int, optional
        Number s of categories that hold nearly all of the mass, in 1..m. Default: none.
    matrix : {"balanced", "rademacher", "medium"} or array_like [m, k]
        Which outputs have high probability for a category. With "balanced" they are a uniformly
        random set of `weight` outputs. With "rademacher" each output is one with probability 1/2,
        as published for epsilon <= 1. With "medium" the probability is ``e^-epsilon``, as published
        for larger ones. An array is the paper's matrix A, of +1 and -1 (or 1 and 0). Default:
        "balanced".
    weight : int, optional
        Number of outputs in a balanced set, in 1..m-1. Default: the number with the least
        variance, about ``m / (e^epsilon + 1)``.
    uneven : {"refuse", "banded", "scaled"}
        Repair for sets of different sizes, with which equation 2 exceeds epsilon. With "banded"
        all probabilities are kept between two bounds. With "scaled" equation 2 is used with a
        smaller epsilon. Default: "refuse", which raises a PrivacyError.
    accept_epsilon : int, float, str or Fraction, optional
        Use equation 2 as published, and guarantee this epsilon. It must be at least the true one,
        which a refusal states. It becomes the attribute `epsilon`. Default: none.
    seed : int
        Seed of a drawn matrix, in 0..2^53-1. It is public, and part of the survey document.
        Default: 0.

    See Also
    --------
    lapwing.decoders.CompressiveEstimate : The estimator of the paper.

    Notes
    -----
    **Privacy.** With sets of one size the report satisfies epsilon-local differential privacy
    exactly, for every matrix. With different sizes n, the published form has the worst-case
    likelihood ratio ``e^epsilon max Z / min Z`` with ``Z = n e^epsilon + m - n``. That is up to
    1.3 more than epsilon at epsilon 4. It is refused unless you accept it by stating that number.
    The two repairs are exact. All thresholds are integers over 2^64. :meth:`certificate` finds the
    worst ratio over all pairs of categories and all outputs, in fractions. The matrix is public
    and drawn independently of all values.

    **Accuracy.** A share near 0 has variance ``4 e^epsilon / ((e^epsilon - 1)^2 n)``, as in the
    best randomizers. Cross-talk adds ``sum of squared other shares / (m - 1)``, which does not
    fall with n. Sparse recovery removes it for the categories that it finds.

    **Cost.** A report takes ``ceil(log2(m) / 8)`` bytes. A device computes one column, in O(m log
    m). The server keeps m counters, and a product with the channel takes O(m k).

    The method is from equation 2 and sections 2 to 4 of [1]_. Balanced columns, their density and
    the repairs are this library's own (`docs/papers/compressive.md`).

    References
    ----------
    .. [1] Z. Xiong, Z. Huang, X. Mao, J. Wang, S. Ying, "Compressive privatization: sparse
       distribution estimation under locally differential privacy", 2021. arXiv:2012.02081v1.

    Examples
    --------
    >>> import lapwing as lw
    >>> compressed = lw.CompressivePrivatization(lw.Categories(10_000), "0.5", outputs=500)
    >>> compressed.report_width, compressed.certificate().holds
    (2, True)
    >>> people = [0] * 10_000
    >>> people[7], people[8] = 120_000, 80_000
    >>> tally = lw.simulate(compressed, people, rng=1)
    >>> result = lw.decoders.SparseRecovery(sparsity=2).decode(compressed.channel, tally)
    >>> result.mass[[7, 8]].round(1).tolist()
    [0.6, 0.4]

    A matrix as published exceeds epsilon unless it is repaired:

    >>> repaired = lw.CompressivePrivatization(
    ...     lw.Categories(1000), 1, outputs=100, matrix="rademacher", uneven="banded"
    ... )
    >>> repaired.certificate().holds
    True
    """

    domain: Annotated[Domain, domain_of()]
    _: KW_ONLY
    outputs: Annotated[int, From(0, LARGEST_MATRIX)] = 0
    sparsity: AtLeastOne | None = None
    matrix: str | Annotated[Sequence[str], Later] = "balanced"
    weight: Annotated[int, From(1, LARGEST_MATRIX)] | None = None
    uneven: Literal["refuse", "banded", "scaled"] = "refuse"
    accept_epsilon: Annotated[Fraction, epsilon_field("accept_epsilon")] | None = None
    seed: Annotated[int, From(0, LARGEST_SEED)] = 0
    design_epsilon: Fraction = field(init=False)
    """Epsilon of equation 2 as given, even if another one is guaranteed."""

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Domain,
            epsilon: ExactNumber,
            *,
            outputs: int = 0,
            sparsity: int | None = None,
            matrix: str | Sequence[str] = "balanced",
            weight: int | None = None,
            uneven: Literal["refuse", "banded", "scaled"] = "refuse",
            accept_epsilon: ExactNumber | None = None,
            seed: int = 0,
        ) -> None: ...

    name: ClassVar[str] = "compressive-privatization"
    decoder: ClassVar[str] = "sparse-recovery"

    def __post_init__(self) -> None:
        """Check the fields alone: output sets of unequal sizes are no two-level design."""
        Declared.__post_init__(self)

    def _settle(self) -> None:
        """Check everything before a matrix is drawn, then what the matrix promises."""
        object.__setattr__(self, "design_epsilon", self.epsilon)
        if self.accept_epsilon is not None:
            object.__setattr__(self, "epsilon", self.accept_epsilon)
        if self.sparsity is not None:
            check_whole("sparsity", self.sparsity, low=1, high=self.domain.size)
        if not isinstance(self.matrix, str):
            columns, rows = given_columns(
                self.matrix, symbols=self.domain.size, outputs=self.outputs
            )
            object.__setattr__(self, "matrix", columns)
            object.__setattr__(self, "outputs", rows)
        self._check_choices()
        self._settle_outputs()
        if self.domain.size * self.outputs > LARGEST_MATRIX:
            raise DomainError(
                f"symbols times outputs must be at most {LARGEST_MATRIX}, got {self.domain.size} "
                f"times {self.outputs}. Use fewer outputs, or a hashing randomizer"
            )
        if self.matrix != "balanced":
            self._check_promise()
        else:  # at most the outputs minus one
            check_whole("weight", self._near, low=1, high=self.outputs - 1)

    def _check_choices(self) -> None:
        if isinstance(self.matrix, str) and self.matrix not in DRAWN:
            drawn = f"must be one of {', '.join(DRAWN)}, or the matrix itself"
            raise ArgumentError("matrix", drawn, repr(self.matrix[:40]))
        if self.matrix != "balanced" and self.weight is not None:
            raise ArgumentError(
                "weight",
                "is the size of balanced high-probability output sets",
                advice="This matrix has its own, so leave weight out",
            )
        if self.matrix == "balanced" and not (
            self.uneven == "refuse" and self.accept_epsilon is None
        ):
            raise ArgumentError(
                "with balanced high-probability output sets, epsilon already holds. Leave out "
                "uneven and accept_epsilon"
            )
        if self.uneven != "refuse" and self.accept_epsilon is not None:
            raise ArgumentError(
                "uneven repairs the matrix, and accept_epsilon takes it as it is. Give only "
                "one of them"
            )
        if not isinstance(self.matrix, str) and self.seed:
            raise ArgumentError(
                "seed", "is for drawing a matrix", advice="Leave it out with your own"
            )

    def _settle_outputs(self) -> None:
        size = self.domain.size
        if self.outputs == 0:
            if self.sparsity is None:
                raise ArgumentError(
                    "outputs",
                    "must be given, or sparsity: how many symbols have nearly all of the mass",
                    others=("sparsity",),
                )
            rows = recommended_outputs(size, self.sparsity, self.design_epsilon)
            object.__setattr__(self, "outputs", rows)
        elif isinstance(self.matrix, str) and not 2 <= self.outputs <= size:
            raise ArgumentError(
                "outputs",
                f"must be from 2 to {size}, the number of symbols",
                str(self.outputs),
                "If reports may be that long, use subset selection",
            )
        if self.sparsity is not None and self.sparsity > self.outputs:
            most, few = f"must be at most the {self.outputs} outputs", "Use more outputs"
            raise ArgumentError("sparsity", most, str(self.sparsity), few)

    def _check_promise(self) -> None:
        least, most = self.balance
        if self.accept_epsilon is None and (least == most or self.uneven != "refuse"):
            if all(near <= far for near, far in self._chances.values()):
                raise PrivacyError(
                    "the matrix does not distinguish the symbols, or epsilon is too small for "
                    f"it. The high-probability output sets have {least} to {most} of "
                    f"{self.outputs} outputs"
                )
            self.certificate().check()
            return
        true = self.true_epsilon
        if self.accept_epsilon is None:
            raise PrivacyError(
                "high-probability output sets must be of one size to keep epsilon = "
                f"{float(self.design_epsilon):g}. These have {least} to {most} outputs and a "
                f'true epsilon of {float(true)}. Use matrix="balanced" or uneven="banded", or '
                f'accept it explicitly with accept_epsilon="{float(true)}"'
            )
        if not self.certificate().holds:
            raise PrivacyError(
                "accept_epsilon",
                f"must be at least the true epsilon of this matrix, {float(true)}",
                f"{float(self.accept_epsilon):g}",
            )

    # The matrix.

    @cached_property
    def _packed(self) -> NDArray[np.uint8]:
        """The near set of every symbol as bits: uint8 [k, ceil(m / 8)]."""
        if isinstance(self.matrix, str):
            return self._drawn(0, self.domain.size)
        columns = np.frombuffer(bytes.fromhex("".join(self.matrix)), dtype=np.uint8)
        return columns.reshape(self.domain.size, -1)

    def _drawn(self, first: int, columns: int) -> NDArray[np.uint8]:
        ones, threshold = None, 2**31
        if self.matrix == "balanced":
            ones = self._near
        elif self.matrix == "medium":
            threshold = self._entry_threshold
        return random_columns(
            self.seed, columns, self.outputs, ones=ones, threshold=threshold, first=first
        )

    @property
    def _entry_threshold(self) -> int:
        """Of a "medium" matrix: each entry is one with probability this / 2^32."""
        return int(2**32 / exponential_bounds(self.design_epsilon)[0])

    def _columns(self, points: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the near sets of some symbols. A device asks for one."""
        if isinstance(self.matrix, str) and "_packed" not in self.__dict__ and points.size <= _FEW:
            return np.vstack([self._drawn(int(point), 1) for point in points])
        return self._packed[points]

    @cached_property
    def balance(self) -> tuple[int, int]:
        """Sizes of the smallest and the largest high-probability output set."""
        if self.matrix == "balanced":
            return self._near, self._near
        sizes = ones_per_column(self._packed)
        return int(sizes.min()), int(sizes.max())

    @property
    def true_epsilon(self) -> Fraction:
        """Least epsilon, in millionths, that the worst likelihood ratio is proved to satisfy."""
        return least_epsilon(self.certificate().ratio)

    def coherence(self) -> float:
        """Return the largest correlation between the output sets of two categories, in O(m k^2).

        If it is near 1, two categories cannot be distinguished, however many people report.

        Returns
        -------
        float
            Largest correlation, in [0, 1].
        """
        return coherence(self._packed, self.outputs)

    # Thresholds, by the size of the near set.

    @cached_property
    def _near(self) -> int:
        """Size of a near set. Only where all have one size."""
        if self.matrix == "balanced":
            if self.weight is not None:
                return self.weight
            return best_weight(self.outputs, self.design_epsilon)
        least, most = self.balance
        if least != most:
            raise ArgumentError(
                f"these high-probability output sets have {least} to {most} outputs. See `balance`"
            )
        return least

    @cached_property
    def _by_size(self) -> dict[int, int]:
        """T for every size of near sets that occurs."""
        bound = exponential_bounds(self.design_epsilon)[0]
        if self.matrix == "balanced":
            return published([self._near], self.outputs, bound)
        sizes = ones_per_column(self._packed)
        if self.uneven == "banded":
            return banded(sizes, self.outputs, bound)
        if self.uneven == "scaled" and sizes.max() > 0:
            bound = scaled_odds(sizes.tolist(), self.outputs, bound)
        return published(sizes.tolist(), self.outputs, bound)

    @cached_property
    def _chances(self) -> dict[int, tuple[Fraction, Fraction]]:
        return probabilities(self._by_size, self.outputs)

    @property
    def _thresholds(self) -> dict[str, int]:
        """T for every size of near sets, by the size."""
        return {str(size): threshold for size, threshold in self._by_size.items()}

    @cached_property
    def _threshold(self) -> int:
        """T of near sets of one size."""
        return self._by_size[self._near]

    @property
    def _outputs(self) -> int:
        return self.outputs

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"points": self._points, "outputs": self.outputs}

    @property
    def _derived(self) -> dict[str, Any]:
        derived = super()._derived
        if self.matrix == "balanced":
            derived["weight"] = self._near
        if self.matrix == "medium":
            derived["entry_threshold"] = self._entry_threshold
        return derived

    # The promise.

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form, with epsilon as it was given."""
        return class_document(self) | {"epsilon": epsilon_text(self.design_epsilon)}

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        if self.matrix == "balanced":
            near, far = self._chances[self._near]
            return Certificate(self.epsilon, max(near / far, far / near))
        return Certificate(self.epsilon, worst_ratio(self._packed, self.outputs, self._by_size))

    # The channel and its law.

    @cached_property
    def _near_sizes(self) -> NDArray[np.int64]:
        return ones_per_column(self._packed)

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one multinomial block."""
        block = Block(self._operator(*self._chances_of_symbols), Multinomial(self._draw))
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    def _operator(self, inside: float | Vector, outside: float | Vector) -> LinearOperator:
        """Return the matrix that is `inside` on near sets, of every symbol its own, or one."""
        near, far = (np.full(self.domain.size, level, np.float64) for level in (inside, outside))
        return SignColumns(self._packed, self.outputs, inside=near, outside=far)

    @property
    def _chances_of_symbols(self) -> tuple[Vector, Vector]:
        """Probability of one near and one far output of every symbol."""
        inside, outside = np.empty(self.domain.size), np.empty(self.domain.size)
        for size, (near, far) in self._chances.items():
            inside[self._near_sizes == size], outside[self._near_sizes == size] = (
                float(near),
                float(far),
            )
        return inside, outside

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        # As in the two-level core: anywhere with the probability of a far output times their
        # number, else uniform over the near set.
        _, outside = self._chances_of_symbols
        anywhere = rng.binomial(people, np.minimum(outside * self.outputs, 1.0))
        counts = self._spread_near(people - anywhere, rng)
        return counts + spread_evenly(int(anywhere.sum()), self.outputs, rng)

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the near set of their symbol."""
        counts = np.zeros(self.outputs, dtype=np.int64)
        for size in np.unique(self._near_sizes[people > 0]).tolist():
            (symbols,) = np.nonzero((people > 0) & (self._near_sizes == size))
            step = max(1, _AT_ONCE // size)
            for start in range(0, symbols.size, step):
                chunk = symbols[start : start + step]
                _, rows = np.nonzero(unpacked(self._packed[chunk], self.outputs))
                drawn = rng.multinomial(people[chunk], np.full(size, 1 / size))
                counts += np.bincount(rows, drawn.ravel(), self.outputs).astype(np.int64)
        return counts

    # Reports.

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return output `offset`, in increasing order, of a near set or of its complement."""
        values, place = np.unique(point, return_inverse=True)
        bits = unpacked(self._columns(values), self.outputs)
        order = np.argsort(1 - bits, axis=1, kind="stable")
        start = np.where(near, 0, bits.sum(axis=1, dtype=np.int64)[place])
        codes: NDArray[np.int64] = order[place, start + offset]
        return codes

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        # As of all two-level randomizers, with a T for each size.
        def encode(some: NDArray[np.int64]) -> NDArray[np.int64]:
            symbols, place = np.unique(some, return_inverse=True)
            sizes = ones_per_column(self._columns(symbols))
            limits = [self._by_size[size] for size in sizes.tolist()]
            # T may be 2^64, which 64 bits cannot hold: compare with the last word below it.
            last = np.array([max(limit - 1, 0) for limit in limits], dtype=np.uint64)
            ever = np.array([limit > 0 for limit in limits])
            near = (source.words(some.size) <= last[place]) & ever[place]
            bounds = np.where(near, sizes[place], self.outputs - sizes[place]).astype(np.uint64)
            return self._locate(some, near, uniform_below(source, bounds=bounds, count=some.size))

        return self._layout.make(points, encode)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one category.

        The first word is near if it is below the T of the set's size, and otherwise far. The next
        word draws the offset. The column is computed from only the seed and the category.
        """
        check_symbol(value, self._points, what="an input")
        size = int(ones_per_column(self._columns(np.array([value])))[0])
        near = next(words) < self._by_size[size]
        offset = scalar_below(words, size if near else self.outputs - size)
        code = self._locate(np.array([value]), np.array([near]), np.array([offset]))
        return self._layout.report(int(code[0]))
