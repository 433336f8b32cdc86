"""Scanning all values in tiles, and scoring a list of candidates."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, Distribution, HashedStrings, HeavyHitters, LinearHashing, Survey
from lapwing.decoders import Candidates, ExhaustiveScan
from lapwing.decoders.logs import exhaustive_scan
from lapwing.errors import (
    ArgumentError,
    DomainError,
    FormatError,
    LapwingWarning,
    MismatchError,
    UnsupportedChannelError,
)
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.channels.hashed_channel import LinearChannel
from lapwing.protocol.messages.reports import Reports
from lapwing.tallies import TallyLog
from tests.mistaken import mistaken

BITS = 20
HASHING = LinearHashing(Categories(2**BITS), 2)
HEAVY = {5: 0.3, 2**19 + 7: 0.2, 2**20 - 1: 0.15}
"""Shares of three values; everybody else holds a value of their own."""


def _log(hashing: LinearHashing, people: int, *, seed: int) -> TallyLog:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, hashing.domain.size, people)
    start = 0
    for value, share in HEAVY.items():
        stop = start + int(share * people)
        values[start:stop] = value
        start = stop
    return hashing.tally(hashing.randomize(values, rng=seeded(seed)))


LOG = _log(HASHING, 20_000, seed=1)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> int:
    """Tiles of 2^12 values: 256 of them."""
    monkeypatch.setattr(exhaustive_scan, "TILE_BITS", 12)
    return 2**8


def test_tiles_find_what_one_transform_finds(small_tiles: int) -> None:
    counts = HASHING.log_channel.counts(LOG).blocks[0]
    channel = HASHING.log_channel
    least = channel.least_supports(LOG.total, values=2**BITS, expected_false=100)
    expected = np.flatnonzero(counts >= least)
    assert expected.size > 50, "chance alone lists about a hundred"
    seen: list[tuple[int, int]] = []
    found = ExhaustiveScan(expected_false=100).decode(
        channel, LOG, progress=lambda done, tiles: seen.append((done, tiles))
    )
    assert sorted(found.symbols.tolist()) == expected.tolist()
    shares = channel.shares(counts[found.symbols], LOG.total)
    np.testing.assert_array_equal(found.shares, shares)
    assert (np.diff(found.shares) <= 0).all() and found.searched == 2**BITS
    assert seen == [(done, small_tiles) for done in range(1, small_tiles + 1)]


def test_wide_numbers_give_the_same(small_tiles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many reports that 32 bits do not hold their transform take 64."""
    channel = HASHING.log_channel
    narrow = ExhaustiveScan(expected_false=100).decode(channel, LOG)
    counts = HASHING.log_channel.counts(LOG)
    assert channel.whole_numbers(LOG.total) is np.int32
    assert channel.whole_numbers(2**28 - 1) is np.int32 and channel.whole_numbers(2**28) is np.int64
    monkeypatch.setattr(LinearChannel, "whole_numbers", lambda self, reports: np.int64)
    wide = ExhaustiveScan(expected_false=100).decode(channel, LOG)
    assert wide.to_document() == narrow.to_document()
    assert HASHING.log_channel.counts(LOG) == counts


def test_heavy_values_and_nothing_else(small_tiles: int) -> None:
    found = ExhaustiveScan().decode(HASHING.log_channel, LOG)
    assert set(found.values) == set(HEAVY)
    band = found.confidence_band(0.95)
    for value, low, high in zip(found.values, band.low, band.high, strict=True):
        assert low < HEAVY[value] < high
    assert found.threshold < min(HEAVY.values()) and found.expected_false == 0.05
    assert found.guarantee == HASHING.guarantee and found.provenance["class"] == "exhaustive-scan"


def test_false_values_are_as_many_as_stated(small_tiles: int) -> None:
    """Nobody holds a listed value but by chance: a Poisson number with the mean that was asked."""
    channel = HASHING.log_channel
    listed = []
    for seed in range(20):
        # Everybody holds one value; all others are held by nobody.
        log = HASHING.tally(HASHING.randomize(np.full(3000, 77), rng=seeded(seed)))
        found = ExhaustiveScan(expected_false=20).decode(channel, log)
        assert found.values[0] == 77
        listed.append(len(found) - 1)
    # The discrete law may stay below 20; far below or above is wrong.
    assert 8 < np.mean(listed) < 22


def test_a_domain_that_is_no_power_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustive_scan, "TILE_BITS", 5)
    hashing = LinearHashing(Categories(1000, missing="category"), 2)
    log = hashing.tally(hashing.randomize([999, None, 3] * 500, rng=seeded(1)))
    found = ExhaustiveScan(expected_false=1000).decode(hashing.log_channel, log)
    # Nearly as many false ones as values: nearly all are listed, and none beyond the domain.
    assert len(found) > 900 and int(found.symbols.max()) <= 1000
    assert set(found.values[:3]) == {999, None, 3}


def test_a_stopped_scan_goes_on(small_tiles: int, tmp_path: Path) -> None:
    channel, state = HASHING.log_channel, tmp_path / "scan.json"
    scan = ExhaustiveScan(expected_false=100)

    def stop(done: int, tiles: int) -> None:
        if done == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan.decode(channel, LOG, progress=stop, state=state)
    assert json.loads(state.read_text())["done"] == 100
    seen: list[int] = []
    again = scan.decode(channel, LOG, progress=lambda done, _: seen.append(done), state=state)
    assert seen == list(range(101, small_tiles + 1))
    whole = scan.decode(channel, LOG)
    assert again.to_document() == whole.to_document()
    # Once more: nothing is left to do.
    assert scan.decode(channel, LOG, state=state).to_document() == whole.to_document()
    assert [path.name for path in tmp_path.iterdir()] == ["scan.json"]


def log_of(survey: Survey, reports: Reports) -> TallyLog:
    log = survey.tally(reports)
    assert isinstance(log, TallyLog)
    return log


def test_the_state_of_another_scan_is_refused(small_tiles: int, tmp_path: Path) -> None:
    state = tmp_path / "scan.json"
    spring, autumn = Survey("spring", HASHING), Survey("autumn", HASHING)
    reports = HASHING.randomize([1, 2, 3], rng=seeded(1))
    channel = HASHING.log_channel
    ExhaustiveScan().decode(channel, log_of(spring, reports), state=state)
    before = state.read_bytes()
    other = LinearHashing(Categories(2**BITS), 3)
    for log, scan, match in (
        (log_of(autumn, reports), ExhaustiveScan(), "another survey"),
        (log_of(spring, HASHING.randomize([1, 2], rng=seeded(2))), ExhaustiveScan(), "tally"),
        (log_of(spring, reports), ExhaustiveScan(expected_false=1), "another threshold"),
    ):
        with pytest.raises(MismatchError, match=match):
            scan.decode(channel, log, state=state)
    with pytest.raises(MismatchError, match="another"):
        log = other.tally(other.randomize([1], rng=seeded(1)))
        ExhaustiveScan().decode(other.log_channel, log, state=state)
    assert state.read_bytes() == before, "a refused state stays as it was"


def test_a_damaged_state_is_refused(small_tiles: int, tmp_path: Path) -> None:
    state = tmp_path / "scan.json"
    channel = HASHING.log_channel
    ExhaustiveScan().decode(channel, LOG, state=state)
    good = json.loads(state.read_text())
    changes: list[dict[str, Any]] = [
        {"done": -1},
        {"done": 10**9},
        {"done": True},
        {"symbols": [1, 2]},
        {"symbols": ["a"] * len(good["symbols"])},
        {"version": 2},
        {"format": "lapwing-tally"},
        {"more": 1},
    ]
    for change in changes:
        state.write_text(json.dumps({**good, **change}))
        with pytest.raises(FormatError):
            ExhaustiveScan().decode(channel, LOG, state=state)
    state.write_text("{")
    with pytest.raises(FormatError):
        ExhaustiveScan().decode(channel, LOG, state=state)


def test_foreign_logs_and_other_channels_are_refused() -> None:
    other = LinearHashing(Categories(2**BITS), 3)
    counts = HASHING.log_channel.counts(LOG)
    for decoder in (ExhaustiveScan(), Candidates([1, 2])):
        with pytest.raises(MismatchError, match="Decode it with the survey"):
            decoder.decode(other.log_channel, LOG)
        with pytest.raises(UnsupportedChannelError):
            decoder.decode(mistaken(HASHING.channel), mistaken(counts))
        with pytest.raises(UnsupportedChannelError):
            decoder.decode(HASHING.log_channel, mistaken(counts))


# Candidates


@pytest.mark.parametrize("number", [5, 100])
def test_candidates_are_scored_as_the_transform_does(number: int) -> None:
    """By counting their supports, or by the transform where the list is long."""
    values = [*HEAVY, *range(1000, 1000 + number)]
    counts = HASHING.log_channel.counts(LOG).blocks[0]
    candidates = Candidates(values)
    shares, deviations = candidates.scores(HASHING.log_channel, LOG)
    expected = HASHING.log_channel.shares(counts[values], LOG.total)
    np.testing.assert_array_equal(shares, expected)
    assert (deviations > 0).all()
    found = candidates.decode(HASHING.log_channel, LOG)
    scan = ExhaustiveScan().decode(HASHING.log_channel, LOG)
    assert found.values == scan.values and set(found.values) == set(HEAVY)
    assert found.searched == len(values)
    assert found.threshold < scan.threshold, "a short list needs less"


def test_texts_are_found_in_the_analyst_s_words() -> None:
    hashing = LinearHashing(HashedStrings(40), 2)
    words = ["lapwing"] * 4000 + ["curlew"] * 3000 + [f"word {n}" for n in range(3000)]
    log = hashing.tally(hashing.randomize(words, rng=seeded(1)))
    found = Candidates(["heron", "curlew", "lapwing", "Lapwing"]).decode(hashing.log_channel, log)
    assert found.values == ["lapwing", "curlew"]
    assert found.shares == pytest.approx([0.4, 0.3], abs=0.05)


def test_bad_lists_are_refused_before_any_work() -> None:
    with pytest.raises(ArgumentError, match="positions 0 and 2") as caught:
        Candidates(["secret", "b", "secret"])
    assert "secret" not in str(caught.value)
    with pytest.raises(ArgumentError, match="at least one"):
        Candidates([])
    channel = HASHING.log_channel
    with pytest.raises(DomainError, match="position 1") as refused:
        Candidates([1, 2**BITS]).decode(channel, LOG)
    assert refused.value.position == 1 and str(2**BITS) not in str(refused.value)
    # Two texts with one hash cannot be told apart.
    short = LinearHashing(HashedStrings(2), 2)
    log = short.tally(short.randomize(["a"], rng=seeded(1)))
    with pytest.raises(ArgumentError, match="the same value in the domain"):
        Candidates([f"word {n}" for n in range(5)]).decode(short.log_channel, log)


# Through a survey


def test_a_survey_decodes_its_log() -> None:
    survey = Survey("word", LinearHashing(HashedStrings(30), 2))
    log = log_of(survey, survey.randomize(["lapwing"] * 3000, rng=seeded(1)))
    found = survey.decode(log, decoder=Candidates(["lapwing", "heron"]))
    assert isinstance(found, HeavyHitters)
    assert found.values == ["lapwing"]
    small = Survey("browser", LinearHashing(Categories(["a", "b", "c"]), 2))
    log = log_of(small, small.randomize(["a"] * 900 + ["b"] * 600, rng=seeded(1)))
    result = small.decode(log)
    assert isinstance(result, Distribution)
    assert result.mass == pytest.approx([0.6, 0.4, 0], abs=0.1)
    huge = Survey("word", LinearHashing(HashedStrings(40), 2))
    with pytest.raises(ArgumentError, match=r"takes hours.*Candidates.*ExhaustiveScan"):
        huge.decode(log_of(huge, huge.randomize(["a"], rng=seeded(1))))


def test_a_long_default_scan_is_announced_and_shows_its_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survey = Survey("word", LinearHashing(HashedStrings(25), 3))
    log = log_of(survey, survey.randomize(["lapwing"] * 3000, rng=seeded(1)))
    monkeypatch.setattr("lapwing.decoders.logs.exhaustive_scan.LONG_SECONDS", 0)
    with pytest.warns(LapwingWarning, match=r"a scan of 33,554,432 hashes .*Candidates") as caught:
        found = survey.decode(log)
    assert len(caught) == 1 and caught[0].filename == __file__
    # Whoever asked for the scan, or watches it, is not warned: warnings are errors here.
    assert survey.decode(log, decoder=ExhaustiveScan()) == found
    steps: list[tuple[int, int]] = []
    assert survey.decode(log, progress=lambda done, tiles: steps.append((done, tiles))) == found
    assert steps == [(n, 8) for n in range(1, 9)]
    assert isinstance(found, HeavyHitters)
    value = f"hash {HashedStrings(25).index(['lapwing'])[0]}"
    assert found.values[0] == value and found.share(value) == found.shares[0] > 0.9
    assert "of 33,554,432 hashes have" in repr(found)
    assert found.to_dict()["value"][0] == value


def test_a_scan_is_interrupted_between_two_steps() -> None:
    survey = Survey("word", LinearHashing(HashedStrings(25), 3))
    log = log_of(survey, survey.randomize(["lapwing"] * 300, rng=seeded(1)))
    steps: list[int] = []

    def interrupt(done: int, tiles: int) -> None:
        steps.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey.decode(log, progress=interrupt)
    assert steps == [1]
