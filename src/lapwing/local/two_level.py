"""The one idea under many randomizers: two levels of probability.

Every value has a *near set* of outputs; all near sets have the same size, and an output is
``e^epsilon`` times as likely inside the set of a value as outside. So a report is made by two
exact draws: "near" with probability ``T / 2^64``, then uniform inside or outside. A concrete
randomizer says where its near sets are and nothing about probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.channel import Block, Channel
from lapwing.domain import Domain
from lapwing.errors import DomainError, PrivacyError, ReportError
from lapwing.guarantee import Certificate, Guarantee, exact_epsilon, exponential_bounds
from lapwing.laws import Multinomial
from lapwing.randomizer import (
    CHUNK,
    check_batch,
    hexadecimal,
    local_guarantee,
    randomizer_document,
    randomizer_fingerprint,
)
from lapwing.randomness import WORD, RandomSource, bernoulli, scalar_below, secure, uniform_below
from lapwing.reports import Reports, code_width, pack_codes, unpack_codes
from lapwing.tally import Counts
from lapwing.windows import spread_evenly

LARGEST_TABLE = 2**26
"""Most outputs that are counted one by one."""


@dataclass(frozen=True)
class TwoLevel:
    """What the two-level randomizers share; not used by itself.

    Parameters
    ----------
    domain : Domain
    epsilon : int, float, str or Fraction
        In (0, 24], nats.

    Privacy
    -------
    For outputs y and values x, x' the ratio P(y | x) / P(y | x') is 1 when y is near both or
    neither, and otherwise ``(T / near) / ((2^64 - T) / far)`` or its inverse, with near and far
    the sizes of a near set and of the rest. Both draws are exact, so this is the true ratio, not
    a rounded one. T is the largest integer for which it is at most a rational lower bound of
    ``e^epsilon``. Checked by :meth:`certificate`, by the contract tests on the table of all
    ratios, and with T + 1, which must fail.
    """

    domain: Domain
    epsilon: Fraction

    name: ClassVar[str]
    simulation: ClassVar[Literal["exact", "users"]] = "exact"

    def __post_init__(self) -> None:
        """Make epsilon exact and check that the sizes can carry it."""
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        if self.domain.size < 2:
            raise DomainError("a randomizer needs a domain of at least 2 symbols, got 1")
        if self.near < 1 or self.outputs - self.near < 1:
            raise DomainError(
                f"near sets must leave some output out: got {self.near} of {self.outputs}; "
                "choose a smaller width"
            )
        if self.outputs > LARGEST_TABLE:
            raise DomainError(
                f"at most {LARGEST_TABLE} outputs can be counted, got {self.outputs}; "
                "use fewer bins, or a hashing randomizer"
            )
        if self.threshold * self.far <= (WORD - self.threshold) * self.near:
            raise PrivacyError(
                "epsilon is too small to be expressed by 64-bit thresholds on this domain; "
                "reports would carry no information"
            )

    # What a concrete randomizer says.

    @property
    def points(self) -> int:
        """Number of inputs of the randomizer; the domain's symbols, or a finer grid."""
        return self.domain.size

    @property
    def near(self) -> int:
        """Size of a near set."""
        raise TypeError("a concrete randomizer says how large its near sets are")

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        raise TypeError("a concrete randomizer says how many outputs it has")

    def locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return output number `offset` of the near set of a point, or of its complement."""
        raise TypeError("a concrete randomizer says where its near sets are")

    def spread_near(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the near set of their point."""
        raise TypeError("a concrete randomizer says how to draw in its near sets")

    def operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix that is `inside` on near sets and `outside` elsewhere."""
        raise TypeError("a concrete randomizer says what its operator is")

    def point_of(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return the input of each value: int64 [n]."""
        return self.domain.index(values)

    # What follows from it.

    @property
    def far(self) -> int:
        """Number of outputs that are not near a given value."""
        return self.outputs - self.near

    @cached_property
    def threshold(self) -> int:
        """T: a report is near with probability T / 2^64."""
        bound = exponential_bounds(self.epsilon)[0]
        return int(WORD * bound * self.near / (bound * self.near + self.far))

    @property
    def thresholds(self) -> dict[str, int]:
        """The threshold by its name."""
        return {"near": self.threshold}

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields; JSON values only."""
        return {
            "thresholds": hexadecimal(self.thresholds),
            "points": self.points,
            "near": self.near,
            "outputs": self.outputs,
            "report_width": self.report_width,
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of its canonical document, thresholds included."""
        return randomizer_fingerprint(self)

    @property
    def guarantee(self) -> Guarantee:
        """Pure epsilon, in the local model."""
        return local_guarantee(self.epsilon)

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        ratio = Fraction(self.threshold * self.far, (WORD - self.threshold) * self.near)
        return Certificate(self.epsilon, max(ratio, 1 / ratio))

    @property
    def report_width(self) -> int:
        """Bytes per report."""
        return code_width(self.outputs)

    @property
    def probabilities(self) -> tuple[float, float]:
        """Probability of one near and of one far output, from T and not from epsilon."""
        return (
            float(Fraction(self.threshold, WORD * self.near)),
            float(Fraction(WORD - self.threshold, WORD * self.far)),
        )

    @cached_property
    def channel(self) -> Channel:
        """One multinomial block."""
        inside, outside = self.probabilities
        block = Block(self.operator(inside, outside), Multinomial(self._draw))
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        # The law is a mixture: uniform over all outputs with probability outputs * outside,
        # else uniform over the near set. Both parts are drawn for all people at once.
        _, outside = self.probabilities
        anywhere = rng.binomial(people, outside * self.outputs)
        counts = self.spread_near(people - anywhere, rng)
        return counts + spread_evenly(int(anywhere.sum()), self.outputs, rng)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the class and its fields."""
        return randomizer_document(self)

    def randomize(self, values: ArrayLike, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value.

        Parameters
        ----------
        values : array_like [n]
            Values of the domain.
        rng : RandomSource, optional
            Default: :func:`lapwing.randomness.secure`. A seeded source is for tests only.

        Raises
        ------
        DomainError
            With the position of the first value that the domain refuses. Nothing is randomised.
        """
        source = secure() if rng is None else rng
        points = self.point_of(values)
        data = np.empty((points.size, self.report_width), dtype=np.uint8)
        sizes = np.array([self.far, self.near], dtype=np.uint64)
        for start in range(0, points.size, CHUNK):
            part = points[start : start + CHUNK]
            near = bernoulli(source, threshold=self.threshold, count=part.size)
            bounds = sizes[near.view(np.uint8)]
            offset = uniform_below(source, bounds=bounds, count=part.size)
            codes = self.locate(part, near, offset)
            data[start : start + CHUNK] = pack_codes(codes, width=self.report_width)
        return Reports(data, self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one input.

        One word decides near (below T) or far; :func:`lapwing.randomness.scalar_below` draws the
        offset from the next. This is what test vectors pin and what other languages port.

        Parameters
        ----------
        value : int
            Input, in 0..points-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        if not 0 <= value < self.points:
            raise DomainError(f"an input must be in 0..{self.points - 1}")
        near = next(words) < self.threshold
        offset = scalar_below(words, self.near if near else self.far)
        code = self.locate(np.array([value]), np.array([near]), np.array([offset]))
        return int(code[0]).to_bytes(self.report_width, "little")

    def tally(self, reports: Reports) -> Counts:
        """Return the exact counts of a batch, entirely or not at all.

        Raises
        ------
        MismatchError
            When another randomizer made the reports.
        ReportError
            With the position of the first report that cannot occur.
        """
        data = check_batch(reports, width=self.report_width, fingerprint=self.fingerprint)
        counts = np.zeros(self.outputs, dtype=np.int64)
        for start in range(0, len(reports), CHUNK):
            codes = unpack_codes(data[start : start + CHUNK])
            if int(codes.max(initial=0)) >= self.outputs or int(codes.min(initial=0)) < 0:
                wrong = (codes >= self.outputs) | (codes < 0)
                position = start + int(np.argmax(wrong))
                raise ReportError(
                    f"every report must be a code in 0..{self.outputs - 1}, the one at position "
                    f"{position} is not; the batch was not counted",
                    position=position,
                )
            counts += np.bincount(codes, minlength=self.outputs)
        return Counts([counts], [len(reports)], self.fingerprint)
