"""Wiener filters on labels: what the paper says of heavy tails, and its remedy."""

from typing import Any

import numpy as np
import pytest

from lapwing import Categories, LinearHashing, RandomizedResponse, SubsetSelection, simulate
from lapwing.decoders.unbiased.linear_estimate import unbiased_shares
from lapwing.papers.convolution import Wiener
from lapwing.papers.convolution.wiener import Method
from lapwing.privacy.sampling.randomness import seeded
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.testing.decoder_contract import noiseless

SIZE = 400


def heavy_tail(people: int) -> np.ndarray:
    """Return counts of a Zipf law in a random order: there is nothing smooth in them."""
    mass = 1 / np.random.default_rng(2).permutation(np.arange(1.0, SIZE + 1))
    return np.random.default_rng(3).multinomial(people, mass / mass.sum())


def signed_masses(decoder: Wiener, channel: Any, tally: Any) -> Any:
    """Return the masses before they became a distribution."""
    estimate = decoder.decode(channel, tally).signed
    assert estimate is not None
    return estimate.mass


@pytest.mark.parametrize("make", [OptimizedUnaryEncoding, RandomizedResponse])
@pytest.mark.parametrize("method", ["direct", "permuted"])
def test_unfiltered_largest_shares_repair_the_largest(make: type, method: Method) -> None:
    """DW and AMRP take away from the largest shares; kept, they err as the unbiased ones do."""
    randomizer = make(Categories(SIZE), 3)
    counts = heavy_tail(100_000)
    held = counts / counts.sum()
    largest = np.argsort(-held)[:10]
    errors: dict[str, list[float]] = {"raw": [], "filtered": [], "kept": []}
    plain: dict[str, Any] = {"method": method, "permutations": 20, "signed": True, "band": False}
    for seed in range(4):
        tally = simulate(randomizer, counts, rng=seed)
        found = {
            "raw": unbiased_shares(randomizer.channel, tally).shares,
            "filtered": signed_masses(Wiener(**plain), randomizer.channel, tally),
            "kept": signed_masses(Wiener(**plain, keep_largest=15), randomizer.channel, tally),
        }
        for name, mass in found.items():
            errors[name].append(float(np.mean((mass - held)[largest] ** 2)))
    raw, filtered, kept = (np.mean(errors[name]) for name in ("raw", "filtered", "kept"))
    assert kept == pytest.approx(raw, rel=0.1)
    assert filtered > 1.5 * kept


@pytest.mark.parametrize("make", [SubsetSelection, LinearHashing])
@pytest.mark.parametrize("method", ["direct", "iterative", "permuted"])
def test_every_randomizer_that_supports_symbols_may_be_filtered(make: type, method: Method) -> None:
    channel = make(Categories(16), 3).channel
    mass = np.arange(1.0, 17) / 136
    decoder = Wiener(method=method, permutations=3)
    np.testing.assert_allclose(
        decoder.decode(channel, noiseless(channel, mass)).mass, mass, atol=1e-5
    )


def test_hashed_reports_of_people() -> None:
    hashing = LinearHashing(Categories(16), 3)
    log = hashing.tally(hashing.randomize(np.arange(16).repeat(500), rng=seeded(1)))
    found = Wiener(method="permuted").decode(hashing.channel, hashing.log_channel.counts(log))
    assert np.abs(found.mass - 1 / 16).max() < 0.02
