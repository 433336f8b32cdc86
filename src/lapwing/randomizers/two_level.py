"""The one idea under many randomizers: two levels of probability.

Every value has a *near set* of outputs; all near sets have the same size, and an output is
``e^epsilon`` times as likely inside the set of a value as outside. So a report is made by two
exact draws: "near" with probability ``T / 2^64``, then uniform inside or outside. A concrete
randomizer says where its near sets are and nothing about probabilities.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.errors import DomainError
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import exact_epsilon
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    source_of,
    uniform_below,
)
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.channels.laws import Multinomial
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.randomizer import Counted, check_symbol, derived_values
from lapwing.randomizers.code_reports import CodeReports
from lapwing.randomizers.near_and_far import check_near, near_certificate, near_threshold
from lapwing.randomizers.window_counts import spread_evenly

LARGEST_TABLE = 2**26
"""Most outputs that are counted one by one."""


@dataclass(frozen=True)
class TwoLevel(Counted):
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

    def __post_init__(self) -> None:
        """Make epsilon exact and check that the sizes can carry it."""
        require_domain(self.domain)
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
        check_near(self)

    # What a concrete randomizer says.

    @property
    def points(self) -> int:
        """Number of inputs of the randomizer; the domain's symbols, or a finer grid."""
        return self.domain.size

    @property
    @abstractmethod
    def near(self) -> int:
        """Size of a near set."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of outputs."""

    @abstractmethod
    def locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return output number `offset` of the near set of a point, or of its complement."""

    @abstractmethod
    def spread_near(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the near set of their point."""

    @abstractmethod
    def operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix that is `inside` on near sets and `outside` elsewhere."""

    def point_of(self, values: Values) -> NDArray[np.int64]:
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
        return near_threshold(self)

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        return near_certificate(self)

    @property
    def thresholds(self) -> dict[str, int]:
        """The threshold by its name."""
        return {"near": self.threshold}

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields; JSON values only."""
        return derived_values(self, points=self.points, near=self.near, outputs=self.outputs)

    @property
    def layout(self) -> CodeReports:
        """How an output is packed, checked and counted."""
        return CodeReports(self.outputs)

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

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value."""
        source = source_of(rng)
        points = self.point_of(values)
        sizes = np.array([self.far, self.near], dtype=np.uint64)

        def encode(part: NDArray[np.int64]) -> NDArray[np.int64]:
            near = bernoulli(source, threshold=self.threshold, count=part.size)
            bounds = sizes[near.view(np.uint8)]
            offset = uniform_below(source, bounds=bounds, count=part.size)
            return self.locate(part, near, offset)

        return self.layout.make(points, encode, self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one input.

        One word decides near (below T) or far;
        :func:`lapwing.privacy.sampling.randomness.scalar_below` draws the offset from the next.
        This is what test vectors pin and what other languages port.

        Parameters
        ----------
        value : int
            Input, in 0..points-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        check_symbol(value, self.points, what="an input")
        near = next(words) < self.threshold
        offset = scalar_below(words, self.near if near else self.far)
        code = self.locate(np.array([value]), np.array([near]), np.array([offset]))
        return self.layout.one(int(code[0]))
