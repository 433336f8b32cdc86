"""Every decoder on every channel: the truth of a noiseless tally, a legal answer, or a refusal."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from lapwing import Distribution, ExpectationMaximization, registry
from lapwing.decoders.decoder import Neighbors
from lapwing.distances import l1
from lapwing.errors import LapwingWarning, MismatchError, TallyError, UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.papers.wavelet.signed_subset_selection import SignedSubset
from lapwing.protocol import Channel
from lapwing.protocol.channels.channel import Block, Multinomial, ProductOfBits
from lapwing.tallies import CountTally
from lapwing.testing.decoder_contract import (
    check_answer,
    check_refusals,
    check_result,
    check_truth,
    noiseless,
    sampled,
    truth,
)
from tests.contracts.covering import covering
from tests.contracts.registered_decoders import (
    CHANNELS,
    DECODERS,
    DecoderRow,
    decoder_grid,
    features_of,
)
from tests.rows import each

GRID = decoder_grid()


def _features(case: tuple[str, str]) -> Iterator[Hashable]:
    return features_of(case, GRID[case])


CHOSEN = set(covering(list(GRID), _features))

pairs = pytest.mark.parametrize(
    ("channel", "row"),
    [
        pytest.param(
            channel,
            DECODERS[case[0]],
            id=", ".join(case),
            marks=[] if case in CHOSEN else [pytest.mark.soak],
        )
        for case, channel in GRID.items()
    ],
)
"""Every decoder on every kind of domain and every set of blocks that it decodes; in `make soak` on
every channel."""


def same_report(channel: Channel, people: int) -> CountTally:
    """Return the tally of people who all sent one and the same report."""
    blocks, numbers = [], []
    for index, block in enumerate(channel.blocks):
        counts = np.zeros(block.outputs, dtype=np.int64)
        sent = people if index == 0 else 0
        members = getattr(block.law, "members", 1)
        step = 2 if isinstance(block.law, SignedSubset) else 1
        counts[: step * members : step] = sent
        blocks.append(counts)
        numbers.append(sent)
    return CountTally(blocks, numbers, channel.fingerprint)


def test_every_decoder_of_a_survey_is_registered() -> None:
    assert {type(row.decoder) for row in DECODERS.values()} >= set(registry.DECODERS.values())


def test_registered_channels_hold_what_they_say() -> None:
    several = {"mixed": 2, "multiscale": 3, "hierarchy": 3, "Haar coefficients": 3}
    several |= {"wavelet": 3, "wavelet, large sets": 3}
    for name, make in CHANNELS.items():
        assert len(make().blocks) == several.get(name, 1)


@pairs
def test_noiseless_tally_gives_the_truth(channel: Channel, row: DecoderRow) -> None:
    size = channel.domain.size
    mass = truth(size) if row.recovers == "any" else _flat(channel)
    check_truth(row.exact, channel, mass)


def _flat(channel: Channel) -> np.ndarray:
    """Return the distribution that smoothing leaves alone: equal density, atoms apart."""
    mass: np.ndarray = Neighbors.of(channel.domain).width.copy()
    mass /= mass.sum()
    return mass


@pairs
def test_answers_are_legal_and_reproducible_and_have_bands(
    channel: Channel, row: DecoderRow
) -> None:
    tally = sampled(channel, truth(channel.domain.size), people=20_000, seed=1)
    result = row.decoder.decode(channel, tally)
    assert isinstance(result, Distribution) and (result.signed is not None) == row.signed
    check_answer(row.decoder, channel, tally)
    # Smoothing takes the spike of this truth away, and may; nothing else is far off.
    assert l1(result.mass, truth(channel.domain.size)) < (1.0 if row.recovers == "uniform" else 0.3)
    for target in ("empirical", "population"):
        widths = []
        for kind in ("pointwise", "simultaneous"):
            band = result.confidence_band(0.95, kind=kind, target=target)
            assert band is not None and (band.high > band.low).any()
            assert row.band in band.method
            widths.append((band.high - band.low).sum())
        assert widths[0] < widths[1]


def _stopped(decoder: Any) -> Any:
    """Return the decoder with fewer iterations: with next to no data some need very many."""
    return replace(decoder, limit=100) if hasattr(decoder, "limit") else decoder


def _legal_or_refused(channel: Channel, row: DecoderRow, tally: CountTally) -> None:
    try:
        result = _stopped(row.decoder).decode(channel, tally)
    except (UnsupportedChannelError, TallyError):
        assert row.inverts and 0 in tally.reports, "only a silent group makes it impossible"
        return
    check_result(result, channel, tally)


@pairs
@each("people", [1, 2**53 - 1])
def test_no_nan_when_all_reports_are_equal(channel: Channel, row: DecoderRow, people: int) -> None:
    tally = same_report(channel, min(people, row.most))
    with warnings.catch_warnings():
        # Saying that this is weak, or not yet at its end, is allowed; NumPy's warnings are not.
        warnings.simplefilter("ignore", LapwingWarning)
        _legal_or_refused(channel, row, tally)


@pairs
def test_no_nan_for_one_report_of_any_kind(channel: Channel, row: DecoderRow) -> None:
    """From the first symbol and the last, which are where a curve or a tree ends."""
    rng = np.random.default_rng(3)
    for symbol in (0, channel.domain.size - 1):
        for number, block in enumerate(channel.blocks):
            people = np.eye(channel.domain.size, dtype=np.int64)[symbol]
            blocks = [np.zeros(other.outputs, dtype=np.int64) for other in channel.blocks]
            blocks[number] = block.sample(people, rng)
            reports = [int(index == number) for index in range(len(blocks))]
            tally = CountTally(blocks, reports, channel.fingerprint)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LapwingWarning)
                _legal_or_refused(channel, row, tally)


@pairs
def test_nothing_or_foreign_or_impossible_counts_are_refused(
    channel: Channel, row: DecoderRow
) -> None:
    check_refusals(row.decoder, channel)
    tally = sampled(channel, truth(channel.domain.size), people=1000, seed=4)
    nothing = {"blocks": [0 * c for c in tally.blocks], "reports": [0] * len(tally.reports)}
    with pytest.raises(TallyError, match="nothing to decode"):
        row.decoder.decode(channel, replace(tally, **nothing))
    with pytest.raises(MismatchError, match="Decode it with the survey that collected it"):
        row.decoder.decode(channel, replace(tally, fingerprint="another"))
    with pytest.raises(MismatchError, match="sizes"):
        longer = [np.append(counts, 0) for counts in tally.blocks]
        row.decoder.decode(channel, replace(tally, blocks=longer))


@pytest.mark.parametrize("name", [name for name, row in DECODERS.items() if row.only])
def test_decoders_of_some_channels_refuse_all_others(name: str) -> None:
    row = DECODERS[name]
    refused = [make() for where, make in CHANNELS.items() if not row.decodes(where, make())]
    assert refused
    for channel in refused:
        tally = noiseless(channel, truth(channel.domain.size), people=1000)
        with pytest.raises(UnsupportedChannelError):
            row.decoder.decode(channel, tally)


@pytest.mark.parametrize("row", [row for row in DECODERS.values() if row.ordered])
@each("make", [make for make in CHANNELS.values() if not make().domain.ordered])
def test_decoders_that_need_an_order_refuse_labels(make: Any, row: DecoderRow) -> None:
    channel = make()
    with pytest.raises(UnsupportedChannelError, match="needs an ordered domain"):
        row.decoder.decode(channel, noiseless(channel, truth(channel.domain.size), people=1000))


@each("name", DECODERS)
def test_decoders_are_frozen_values(name: str) -> None:
    decoder = DECODERS[name].decoder
    assert decoder == replace(decoder) and hash(decoder) == hash(replace(decoder))
    with pytest.raises(FrozenInstanceError):
        decoder.name = "other"


def uneven_bits() -> np.ndarray:
    """Return bits of which some symbols set more than others: columns of unequal sums."""
    matrix = np.full((6, 6), 0.2)
    np.fill_diagonal(matrix, [0.9, 0.9, 0.9, 0.4, 0.4, 0.4])
    return matrix


def test_a_wrong_label_is_refused_and_would_be_wrong_without_a_word() -> None:
    """Why the law is checked: EM on bits that claim to be a multinomial converges, to nonsense."""
    from scipy.sparse.linalg import aslinearoperator

    domain = CHANNELS["symmetric bits"]().domain
    operator = aslinearoperator(uneven_bits())
    honest = Channel(domain, [Block(operator, ProductOfBits())], "bits")
    with pytest.raises(UnsupportedChannelError, match="columns of a multinomial block must sum"):
        Block(operator, Multinomial())
    mass = truth(6)
    tally = noiseless(honest, mass)
    em = ExpectationMaximization(tolerance=1e-3, band=False, limit=100_000)
    assert l1(em.decode(honest, tally).mass, mass) < 1e-4

    class Unchecked(Multinomial):
        def check(self, operator: object) -> None:
            pass

        def check_counts(self, counts: np.ndarray, reports: int) -> None:
            pass

    forced = Channel(domain, [Block(operator, Unchecked())], "bits")
    assert l1(em.decode(forced, tally).mass, mass) > 0.2


def test_groups_drawn_by_a_public_coin_may_be_one_multinomial_or_two_blocks() -> None:
    """Two views of the same people: a block per group, or one whose outputs name the group."""
    from scipy.sparse.linalg import aslinearoperator

    waves = [CHANNELS["wave"]().blocks[0], CHANNELS["response on an interval"]().blocks[0]]
    domain = CHANNELS["wave"]().domain
    shares = (0.25, 0.75)
    two = Channel(
        domain,
        [replace(block, share=share) for block, share in zip(waves, shares, strict=True)],
        "both",
    )
    parts = [share * dense(block.operator) for block, share in zip(waves, shares, strict=True)]
    one = Channel(domain, [Block(aslinearoperator(np.vstack(parts)), Multinomial())], "both")
    tally = sampled(two, truth(8), people=5000, seed=5)
    joined = CountTally([np.concatenate(tally.blocks)], [tally.total], "both")
    em = ExpectationMaximization(tolerance=1e-6)
    first, second = em.decode(two, tally), em.decode(one, joined)
    np.testing.assert_allclose(first.mass, second.mass, atol=1e-12)
    assert first.provenance["iterations"] == second.provenance["iterations"]
