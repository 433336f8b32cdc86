"""The two-level design of many randomizers, whose reports are a single integer code.

Every value has a high-probability output set. All these sets have the same size, and an output is
``e^epsilon`` times as likely inside the set of a value as outside. In the code an output is "near"
a value if it is in the value's set, and otherwise "far". So a report takes two exact draws: near
with probability ``T / 2^64``, then uniform inside or outside. A concrete randomizer defines only
the sets, not the probabilities.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.errors import DomainError, PrivacyError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    uniform_below,
)
from lapwing.protocol.channels.channel import Block, Channel, Multinomial
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.reports import code_width, pack_codes, unpack_codes
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import (
    CHUNK,
    Collected,
    Fault,
    Randomizer,
    check_symbol,
    fault_of,
    refuse,
)
from lapwing.randomizers.window_counts import spread_evenly

Encode = Callable[[NDArray[np.int64]], NDArray[np.int64]]

LARGEST_TABLE = 2**26
"""Most outputs that are counted individually."""


@dataclass(frozen=True)
class CodeReports:
    """Reports that are a code in ``0..outputs-1``, in as few whole bytes as hold it.

    outputs: Codes that can occur.
    """

    outputs: int

    @cached_property
    def width(self) -> int:
        """Bytes per report."""
        return code_width(self.outputs)

    def report(self, code: int) -> bytes:
        """Return the report of a code."""
        return code.to_bytes(self.width, "little")

    def make(self, points: NDArray[np.int64], encode: Encode) -> NDArray[np.uint8]:
        """Return one report per person: uint8 [n, width].

        points: int64 [n], the input of everybody.
        encode: Draws the codes of some inputs: int64 [m] to int64 [m], each in 0..outputs-1.
        """
        data = np.empty((points.size, self.width), dtype=np.uint8)
        for start in range(0, points.size, CHUNK):
            codes = encode(points[start : start + CHUNK])
            data[start : start + CHUNK] = pack_codes(codes, width=self.width)
        return data

    def count(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return how often every code was reported, with the errors of `Randomizer.tally`."""
        counts = np.zeros(self.outputs, dtype=np.int64)
        for codes in self._chunks(data):
            counts += np.bincount(codes, minlength=self.outputs)
        return counts

    def read(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the codes of a batch, int64 [n], with the errors of `Randomizer.tally`."""
        chunks = list(self._chunks(data))
        return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int64)

    def _chunks(self, data: NDArray[np.uint8]) -> Iterator[NDArray[np.int64]]:
        for start in range(0, len(data), CHUNK):
            codes = unpack_codes(data[start : start + CHUNK])
            # The extremes are cheaper than a mask.
            if int(codes.max(initial=0)) >= self.outputs or int(codes.min(initial=0)) < 0:
                refuse(self.faults(data))
            yield codes

    def faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        """Yield which reports of a batch cannot occur."""
        codes = unpack_codes(data)
        invalid = (codes >= self.outputs) | (codes < 0)
        return fault_of(invalid, f"be a code in 0..{self.outputs - 1}", failure="is not")


@dataclass(frozen=True)
class NearAndFar(Randomizer[Collected]):
    """Base class of randomizers whose report is near its value with probability T / 2^64.

    All near outputs are equally likely, and so are all others. A randomizer that reports sets
    counts them in a unit in which both numbers are whole.
    """

    domain: Annotated[Domain, domain_of()]

    _threshold_name: ClassVar[str] = "near"
    """Name of T in the fingerprint."""

    def __post_init__(self) -> None:
        """Check the fields, and that outputs inside a set are more likely than others."""
        super().__post_init__()
        near, far = self._near, self._far
        if near < 1 or far < 1:
            raise DomainError(
                f"high-probability output sets must leave some output out: got {near} of "
                f"{near + far}. Choose a smaller width"
            )
        if self._threshold * far <= (WORD - self._threshold) * near:
            raise PrivacyError(
                "epsilon is too small for 64-bit thresholds on this domain, so reports would carry "
                "no information. Use a larger epsilon"
            )

    @property
    @abstractmethod
    def _near(self) -> int:
        """Number of outputs that are near a value."""

    @property
    @abstractmethod
    def _far(self) -> int:
        """Number of outputs that are not."""

    @cached_property
    def _threshold(self) -> int:
        """T: the largest for which the ratio is at most a rational bound below ``e^epsilon``.

        The ratio is ``(T / near) / ((2^64 - T) / far)``.
        """
        odds = exponential_bounds(self.epsilon)[0] * self._near
        return int(WORD * odds / (odds + self._far))

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        ratio = Fraction(self._threshold * self._far, (WORD - self._threshold) * self._near)
        return Certificate(self.epsilon, max(ratio, 1 / ratio))

    @property
    def _thresholds(self) -> dict[str, int]:
        return {self._threshold_name: self._threshold}


@dataclass(frozen=True)
class TwoLevel(NearAndFar[CountTally]):
    """Base class of the two-level randomizers.

    domain: Domain of the values.
    epsilon: Privacy parameter of one report, in (0, 24], in nats. The field holds an exact
        Fraction.

    **Privacy.** Take an output y and values x and x'. The ratio P(y | x) / P(y | x') is 1 when y is
    in the high-probability sets of both or of neither. Otherwise it is
    ``(T / near) / ((2^64 - T) / far)`` or its inverse, with near and far the sizes of a set and of
    the rest. Both draws are exact, so this is the true ratio. T is the largest integer for which it
    is at most a rational lower bound of ``e^epsilon``. :meth:`certificate` states it. The contract
    tests check it on the table of all ratios, and T + 1 fails them.
    """

    def __post_init__(self) -> None:
        """Check the fields, and that the outputs can be counted."""
        super().__post_init__()
        if self._outputs > LARGEST_TABLE:
            raise DomainError(
                f"at most {LARGEST_TABLE} outputs can be counted, got {self._outputs}. Use fewer "
                "bins, or a hashing randomizer"
            )

    # What a concrete randomizer says.

    @property
    @abstractmethod
    def _outputs(self) -> int:
        """Number of outputs."""

    @abstractmethod
    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return output number `offset` of the near set of a point, or of its complement."""

    @abstractmethod
    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the near set of their point."""

    @abstractmethod
    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix that is `inside` on near sets and `outside` elsewhere."""

    # What follows from it.

    @cached_property
    def _far(self) -> int:
        """Number of outputs that are not near a value."""
        return self._outputs - self._near

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"points": self._points, "near": self._near, "outputs": self._outputs}

    @cached_property
    def _layout(self) -> CodeReports:
        return CodeReports(self._outputs)

    @cached_property
    def _probabilities(self) -> tuple[float, float]:
        """Probability of one near and of one far output, from T and not from epsilon."""
        return (
            float(Fraction(self._threshold, WORD * self._near)),
            float(Fraction(WORD - self._threshold, WORD * self._far)),
        )

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one multinomial block."""
        inside, outside = self._probabilities
        block = Block(self._operator(inside, outside), Multinomial(self._draw))
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        # The distribution is a mixture: uniform over all outputs with probability
        # outputs * outside, else uniform over the near set. Both are drawn for all people at once.
        _, outside = self._probabilities
        anywhere = rng.binomial(people, outside * self._outputs)
        counts = self._spread_near(people - anywhere, rng)
        return counts + spread_evenly(int(anywhere.sum()), self._outputs, rng)

    @cached_property
    def _bounds(self) -> NDArray[np.uint64]:
        """Numbers of far and of near outputs."""
        return np.array([self._far, self._near], dtype=np.uint64)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        def encode(some: NDArray[np.int64]) -> NDArray[np.int64]:
            near = bernoulli(source, threshold=self._threshold, count=some.size)
            bounds = self._bounds[near.view(np.uint8)]
            offset = uniform_below(source, bounds=bounds, count=some.size)
            return self._locate(some, near, offset)

        return self._layout.make(points, encode)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one input.

        The first word is near if it is below T, and otherwise far.
        :func:`lapwing.privacy.sampling.randomness.scalar_below` draws the offset from the next
        word.
        """
        check_symbol(value, self._points, what="an input")
        near = next(words) < self._threshold
        offset = scalar_below(words, self._near if near else self._far)
        code = self._locate(np.array([value]), np.array([near]), np.array([offset]))
        return self._layout.report(int(code[0]))
