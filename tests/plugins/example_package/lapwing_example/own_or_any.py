"""Report the own symbol, or any symbol at all, the own one among them.

The class inherits nothing from lapwing: a frozen dataclass with the public names is a randomizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import aslinearoperator

from lapwing.documents import fingerprint
from lapwing.privacy.exact_numbers import exact_epsilon, exponential_bounds
from lapwing.privacy.guarantee import Certificate, Guarantee
from lapwing.privacy.sampling.randomness import (
    WORD,
    RandomSource,
    bernoulli,
    scalar_below,
    secure,
    uniform_below,
)
from lapwing.protocol.channels.channel import Block, Channel, Multinomial
from lapwing.protocol.domains.domain import Domain, class_document
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import check_batch, local_guarantee
from lapwing.randomizers.two_level import CodeReports


@dataclass(frozen=True)
class OwnOrAny:
    """The own symbol with probability T / 2^64, else one of all k, each as likely.

    Privacy
    -------
    The ratio of two values' chances of a report is at most ``(k T + 2^64 - T) / (2^64 - T)``; T is
    the largest integer for which it is at most a rational lower bound of ``e^epsilon``.
    """

    domain: Domain
    epsilon: Any

    name: ClassVar[str] = "own-or-any"
    decoder: ClassVar[str] = "clipped-inverse"
    collects: ClassVar[str] = "counts"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def threshold(self) -> int:
        bound = exponential_bounds(self.epsilon)[0]
        return int(WORD * (bound - 1) / (bound + self.domain.size - 1))

    @cached_property
    def codes(self) -> CodeReports:
        return CodeReports(self.domain.size)

    @property
    def report_width(self) -> int:
        return self.codes.width

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint({"randomizer": self.to_document(), "threshold": hex(self.threshold)})

    @property
    def guarantee(self) -> Guarantee:
        return local_guarantee(self.epsilon)

    def certificate(self) -> Certificate:
        any_symbol = WORD - self.threshold
        ratio = Fraction(self.domain.size * self.threshold + any_symbol, any_symbol)
        return Certificate(self.epsilon, ratio)

    @cached_property
    def channel(self) -> Channel:
        size, own = self.domain.size, self.threshold / WORD
        matrix = np.full((size, size), (1 - own) / size) + own * np.eye(size)
        blocks = [Block(aslinearoperator(matrix), Multinomial())]
        return Channel(self.domain, blocks, self.fingerprint, self.guarantee)

    def to_document(self) -> dict[str, Any]:
        return class_document(self)

    def randomize(self, values: ArrayLike, *, rng: RandomSource | None = None) -> Reports:
        source = secure() if rng is None else rng

        def encode(points: np.ndarray) -> np.ndarray:
            own = bernoulli(source, threshold=self.threshold, count=points.size)
            any_symbol = uniform_below(source, bounds=self.domain.size, count=points.size)
            return np.where(own, points, any_symbol)

        return Reports(self.codes.make(self.domain.index(values), encode), self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        own = next(words) < self.threshold
        code = value if own else scalar_below(words, self.domain.size)
        return self.codes.report(code)

    def tally(self, reports: Reports) -> CountTally:
        data = check_batch(reports, width=self.report_width, fingerprint=self.fingerprint)
        return CountTally([self.codes.count(data)], [len(reports)], self.fingerprint)
