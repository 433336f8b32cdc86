"""What is observed, what a decoder reads, and the channel between them: one way for all kinds."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.logs.exhaustive_scan import ExhaustiveScan
from lapwing.decoders.unbiased.least_squares import LeastSquares
from lapwing.errors import ArgumentError, MismatchError, UnsupportedChannelError
from lapwing.papers.baselines.prefix_hashing import PrefixHashing
from lapwing.planning.defaults import default_decoder, scanned_long
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.channels.channel import channel_for
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import Observation
from lapwing.randomizers.categorical.linear_hashing import LinearHashing
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.numerical.square_wave import SquareWave
from lapwing.registry import DECODERS
from lapwing.survey.curator_release import release
from lapwing.survey.survey import Survey

EPSILON = Fraction(2)
LABELS = Categories(8)
WAVE = SquareWave(Interval(0, 1, bins=8), EPSILON)


def counts() -> lw.tallies.CountTally:
    response = RandomizedResponse(LABELS, EPSILON)
    return response.tally(response.randomize([1] * 50, rng=seeded(1)))


def log() -> lw.tallies.TallyLog:
    hashing = LinearHashing(LABELS, EPSILON)
    return hashing.tally(hashing.randomize([1] * 50, rng=seeded(1)))


def released() -> lw.Release:
    made = release(np.full(50, 0.5), WAVE.domain, neighbors="replace-one", epsilon=1, rng=seeded(1))
    return made.release


@pytest.mark.parametrize(
    ("make", "kind"), [(counts, "counts"), (log, "log"), (released, "release")]
)
def test_all_kinds_are_observations(make: Callable[[], Observation], kind: str) -> None:
    observed = make()
    assert observed.kind == kind
    assert len(observed.fingerprint) == 64
    assert len(observed.blocks) == len(observed.reports)
    assert observed.total == sum(observed.reports) == 50


def test_every_decoder_says_what_it_reads() -> None:
    of_logs = {name for name, decoder in DECODERS.items() if decoder.reads == "log"}
    assert of_logs == {"exhaustive-scan", "candidates", "prefix-extension"}
    assert {decoder.reads for decoder in DECODERS.values()} == {"counts", "log"}


@pytest.mark.parametrize(
    "hashing", [LinearHashing(LABELS, EPSILON), PrefixHashing(LABELS, EPSILON)]
)
def test_a_log_is_counted_for_a_decoder_of_counts(hashing: LinearHashing | PrefixHashing) -> None:
    survey = Survey("label", hashing)
    collected = survey.tally(survey.randomize([1] * 600 + [2] * 300, rng=seeded(1)))
    assert isinstance(collected, lw.tallies.TallyLog)
    counted = channel_for(hashing, collected).counts(collected)
    assert counted.kind == "counts"
    assert counted.survey == survey.fingerprint
    assert channel_for(hashing, counted) is hashing.channel
    by_hand = LeastSquares().decode(hashing.channel, counted)
    found = survey.decode(collected, decoder=LeastSquares())
    assert isinstance(by_hand, lw.Distribution)
    assert isinstance(found, lw.Distribution)
    assert found.mass.tolist() == by_hand.mass.tolist()


def test_who_counts_refuses_a_log_and_other_bins() -> None:
    survey = Survey("label", RandomizedResponse(LABELS, EPSILON))
    with pytest.raises(MismatchError, match="randomized-response counts them"):
        survey.decode(log())
    with pytest.raises(ArgumentError, match="only a square wave can be decoded with other bins"):
        survey.decode(counts(), bins=4)
    with pytest.raises(
        ArgumentError, match="stored reports can be decoded only with their own bins"
    ):
        channel_for(LinearHashing(LABELS, EPSILON), log(), bins=4)
    with pytest.raises(UnsupportedChannelError, match="needs the log of linear hashing"):
        survey.decode(counts(), decoder=ExhaustiveScan())


def test_only_a_square_wave_has_a_channel_at_other_bins() -> None:
    tally = WAVE.tally(WAVE.randomize([0.5] * 50, rng=seeded(1)))
    assert channel_for(WAVE, tally) is WAVE.channel
    assert channel_for(WAVE, tally, bins=4).domain.size == 4


def test_the_default_of_a_log_depends_on_what_can_be_listed() -> None:
    assert default_decoder(PrefixHashing(LABELS, EPSILON), "log").name == "prefix-extension"
    assert default_decoder(LinearHashing(LABELS, EPSILON), "log").reads == "counts"
    long = LinearHashing(Categories(2**30), EPSILON)
    assert default_decoder(long, "log").name == "exhaustive-scan"
    assert not scanned_long(long, "log")
    assert scanned_long(LinearHashing(Categories(2**40), EPSILON), "log")
    assert not scanned_long(PrefixHashing(Categories(2**40), EPSILON), "log")
