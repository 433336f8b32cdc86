"""Linear mechanisms: whole-number combinations of exact counts, plus independent noise."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.channel import Block, Channel
from lapwing.errors import ArgumentError, PrivacyError
from lapwing.guarantee import Neighbours
from lapwing.integer_noise import Kind, Noise, Sensitivity, calibrated
from lapwing.noise_law import AdditiveNoise
from lapwing.privacy_loss import PrivacyLoss
from lapwing.promise import Promise, kept
from lapwing.randomness import RandomSource, secure
from lapwing.releases import LARGEST_ANSWER, Part, Release
from lapwing.summary import MOST_PEOPLE, Summary

Counts = NDArray[np.int64]


class Strategy(Protocol):
    """A fixed matrix of whole numbers: which combinations of the counts are asked."""

    @property
    def operator(self) -> LinearOperator:
        """The same matrix in floating point: shape [answers, symbols]."""
        ...

    @property
    def largest(self) -> int:
        """The largest absolute value in the matrix."""
        ...

    def answers(self, counts: Counts) -> Counts:
        """Return the exact answers: int64 [answers]."""
        ...

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Return how far the answers of two neighbours can be apart, exactly."""
        ...


def part_of(
    noise: Noise,
    promise: Promise,
    sensitivity: Sensitivity,
    people: int,
    *,
    source: RandomSource,
    identifier: str | None = None,
) -> Part:
    """Return the record of one drawing of noise, under a fresh identifier if none is given."""
    drawn = source.words(2).astype("<u8").tobytes().hex()
    identifier = drawn if identifier is None else identifier
    shown = people if promise.neighbours == "replace-one" else None
    return Part(identifier, promise, noise, noise.loss(sensitivity), shown)


def release_linear(
    mechanism: Any,
    strategy: Strategy,
    summary: Summary,
    promise: Promise,
    *,
    kind: Kind | None = None,
    rng: RandomSource | None = None,
    identifier: str | None = None,
) -> Release:
    """Return the answers of a strategy with the least noise that keeps the promise.

    Parameters
    ----------
    mechanism : Mechanism
        Recorded in the release.
    strategy : Strategy
    summary : Summary
    promise : Promise
    kind : {"normal", "laplace"}, optional
        Default: the better one.
    rng : RandomSource, optional
        Default: :func:`lapwing.randomness.secure`. A seeded one is for tests and simulation only.
    identifier : str, optional
        32 hex digits under which it was paid for; default: random ones.

    Notes
    -----
    All noise is drawn before the counts are looked at: the time it takes tells nothing of them.
    """
    if strategy.largest * MOST_PEOPLE >= LARGEST_ANSWER:
        raise ArgumentError("the numbers of this strategy are too large for exact answers")
    source = secure() if rng is None else rng
    sensitivity = strategy.sensitivity(promise.neighbours)
    noise = calibrated(promise, sensitivity, kind=kind)
    part = part_of(
        noise, promise, sensitivity, summary.people, source=source, identifier=identifier
    )
    drawn = noise.draw(strategy.operator.shape[0], source)
    return Release(mechanism, summary.domain, strategy.answers(summary.counts) + drawn, [part])


def linear_loss(strategy: Strategy, promise: Promise, *, kind: Kind | None = None) -> PrivacyLoss:
    """Return what a release will cost, before anything is drawn."""
    sensitivity = strategy.sensitivity(promise.neighbours)
    return calibrated(promise, sensitivity, kind=kind).loss(sensitivity)


def verify_linear(release: Release, strategy: Strategy) -> None:
    """Raise PrivacyError unless every part has the loss of its noise and keeps its promise.

    A document is not believed: the sensitivity is computed anew, exactly.
    """
    for part in release.parts:
        sensitivity = strategy.sensitivity(part.promise.neighbours)
        if part.loss != part.noise.loss(sensitivity):
            raise PrivacyError("the loss of a part is not that of its noise; do not trust it")
        if not kept(part.promise, part.loss):
            raise PrivacyError("a part has less noise than its promise needs; do not trust it")


def linear_channel(release: Release, strategy: Strategy) -> Channel:
    """Return one block: the strategy's operator with the noise of all parts."""
    law = AdditiveNoise(release.variance)
    return Channel(
        release.domain,
        [Block(strategy.operator, law)],
        release.fingerprint,
        release.guarantee,
    )
