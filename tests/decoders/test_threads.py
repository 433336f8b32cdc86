"""Decoding from several threads at once gives the bytes that one thread gets."""

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior
from lapwing.decoders.releases.prefix_estimate import prefix_estimate
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.decoders.structured.sparse_recovery import SparseRecovery
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.planning.simulation import simulate
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.randomizers.categorical.compressive_privatization import CompressivePrivatization
from lapwing.randomizers.numerical.square_wave import SquareWave

THREADS = 8
ROUNDS = 2

Decode = Callable[[], bytes]


@pytest.fixture(autouse=True)
def often_interrupted() -> Iterator[None]:
    """Let threads take turns a thousand times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


def _decoded(decoder: Any, channel: Channel, observed: Any) -> bytes:
    document = decoder.decode(channel, observed).to_document()
    return json.dumps(document, sort_keys=True).encode()


def _estimated(release: Release) -> bytes:
    estimate = prefix_estimate(release.channel, release).condition(-1, release.total)
    return estimate.sums.tobytes() + estimate.column(1).tobytes()


def _release(mechanism: PrefixSums | SumTree, bins: int) -> Release:
    values = np.random.default_rng(bins).beta(5, 2, 2_000)
    summary = ExactCounts.of_values(values, Interval(0, 1, bins=bins))
    promise = Promise("replace-one", epsilon=1, delta="1e-6")
    return mechanism.release(summary, promise, rng=seeded(bins))


def estimates() -> list[Decode]:
    """Return the first step of a decode over and over, which is short: threads often meet in it."""
    made = [
        _release(PrefixSums(), 7),
        *(_release(SumTree(strategy="haar"), n) for n in range(4, 10)),
    ]
    return [partial(_estimated, release) for release in made] * 30


def releases() -> list[Decode]:
    """Return decodes of more mechanisms and sizes than anything that is kept has room for."""
    made = [PrefixSums(), SumTree(2), SumTree(strategy="haar")]
    found = [_release(mechanism, bins) for bins in range(4, 16) for mechanism in made]
    return [partial(_decoded, StepPursuit(), release.channel, release) for release in found]


def reports() -> list[Decode]:
    """Return decodes of one channel by several decoders, which share its operator."""
    randomizers = [
        CompressivePrivatization(Categories(20), "2", outputs=16),
        SquareWave(Interval(0, 1, bins=16), "1"),
    ]
    found: list[Decode] = []
    for randomizer in randomizers:
        people = np.arange(1, randomizer.domain.size + 1) * 50
        tally = simulate(randomizer, people, rng=np.random.default_rng(3))
        channel = randomizer.channel
        found.append(partial(_decoded, SparseRecovery(), channel, tally))
        if randomizer.domain.ordered:
            found.append(partial(_decoded, SpectralPrior(), channel, tally))
    return found


@pytest.mark.parametrize("make", [estimates, releases, reports])
def test_threads_get_the_same_bytes(make: Callable[[], list[Decode]]) -> None:
    decodes = make()
    start = Barrier(THREADS)

    def decode_all(_: int) -> list[bytes]:
        start.wait()
        return [decode() for _ in range(ROUNDS) for decode in decodes]

    with ThreadPoolExecutor(THREADS) as threads:
        # In step, and nothing is kept yet: all look for the same things, make and forget them.
        together = list(threads.map(decode_all, range(THREADS)))
    alone = [decode() for decode in decodes]
    assert together == [alone * ROUNDS] * THREADS
