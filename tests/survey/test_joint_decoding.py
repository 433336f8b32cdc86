"""Tallies of several surveys as one answer: nothing is lost, swapped or counted twice."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.unbiased.linear_estimate import unbiased_shares
from lapwing.errors import ArgumentError, MismatchError, TallyError
from lapwing.survey.joint_decoding import joined

LINE = lw.Interval(0, 60, bins=32, outside="clip")
LADDER = lw.Survey("wait", lw.MultiscaleWave(LINE, 2))
WAVE = lw.Survey("wait on", lw.SquareWave(LINE, 1))
SHAPE = np.linspace(400, 20, 32).astype(np.int64)


def told(survey: lw.Survey, counts: Any = SHAPE, *, seed: int = 1) -> lw.tallies.CountTally:
    return lw.simulate(survey.randomizer, counts, rng=seed)


def nobody(survey: lw.Survey) -> lw.tallies.CountTally:
    blocks = [np.zeros(block.outputs, int) for block in survey.randomizer.channel.blocks]
    return lw.tallies.CountTally(blocks, [0] * len(blocks), survey.randomizer.fingerprint)


def test_one_survey_alone_is_what_it_decodes_to() -> None:
    tally = told(LADDER)
    alone = LADDER.decode(tally)
    for pairs in ([(LADDER, tally)], [(LADDER, tally), (WAVE, nobody(WAVE))]):
        found = lw.decode_together(pairs)
        np.testing.assert_array_equal(found.mass, alone.mass)
        assert found.reports == alone.reports and found.guarantee == alone.guarantee
    band, same = found.confidence_band(), alone.confidence_band()
    np.testing.assert_array_equal(band.low, same.low)


def test_two_tallies_of_one_survey_are_their_sum_in_any_order() -> None:
    first, second = told(LADDER), told(LADDER, SHAPE[::-1].copy(), seed=2)
    both = LADDER.decode(first + second)
    for tallies in ((first, second), (second, first)):
        found = lw.decode_together([(LADDER, tally) for tally in tallies])
        assert found.reports == both.reports == 2 * SHAPE.sum()
        np.testing.assert_allclose(found.mass, both.mass, atol=1e-9)
    # As it would be if an epoch were left out.
    assert np.abs(LADDER.decode(first).mass - both.mass).max() > 0.01


def test_one_randomizer_is_decoded_as_it_is_alone() -> None:
    """Labels, trees: the prior of one kind and the consistency of the other are not lost."""
    labels, tree = lw.Categories(range(40)), lw.papers.square_wave.Hierarchical(LINE, 2)
    for randomizer in (lw.randomizers.OptimizedUnaryEncoding(labels, 2), tree):
        size = randomizer.domain.size
        weeks = [lw.Survey(name, randomizer) for name in ("may", "june")]
        parts = [told(one, np.arange(size) * 20, seed=n) for n, one in enumerate(weeks)]
        found = lw.decode_together(list(zip(weeks, parts, strict=True)))
        alone = weeks[0].decode(parts[0] + parts[1])
        assert found.provenance["class"] == alone.provenance["class"] != "spectral-prior"
        np.testing.assert_array_equal(found.mass, alone.mass)
        assert [one["survey"] for one in found.provenance["together"]] == [
            w.fingerprint for w in weeks
        ]


def test_logs_are_counted() -> None:
    hashing = lw.LinearHashing(lw.Categories(range(6)), 2)
    survey = lw.Survey("log", hashing)
    logs = [survey.tally(survey.randomize([n] * 300, rng=lw.seeded(n))) for n in (1, 4)]
    assert {log.kind for log in logs} == {"log"}
    found = lw.decode_together([(survey, log) for log in logs])
    assert found.reports == 600 and found.mass[[1, 4]].min() > 0.4
    response = lw.Survey("b", lw.RandomizedResponse(hashing.domain, 4))
    many = told(response, np.array([0, 0, 0, 5000, 0, 0]))
    found = lw.decode_together([(survey, logs[0]), (response, many)])
    assert found.reports == 5300 and found.mass[3] > 0.9


def test_tallies_of_one_randomizer_are_one_block_each() -> None:
    """Others stand between them; nobody is lost, and each keeps the weight of their people."""
    pairs = [(LADDER, told(LADDER)), (WAVE, told(WAVE)), (LADDER, told(LADDER, seed=2))]
    merged = [pairs[1], (LADDER, pairs[0][1] + pairs[2][1])]
    found, meant = lw.decode_together(pairs), lw.decode_together(merged)
    assert found.reports == meant.reports == 3 * SHAPE.sum()
    np.testing.assert_allclose(found.mass, meant.mass, atol=1e-9)


def test_what_is_alike_by_chance_is_not_the_same() -> None:
    coin = lw.RandomizedResponse(lw.Categories(["no", "yes"]), 1)
    first, second = lw.Survey("may", coin), lw.Survey("june", coin)
    one = lw.tallies.CountTally([np.array([2, 1])], [3], coin.fingerprint)
    marked = [dataclasses.replace(one, survey=each.fingerprint) for each in (first, second)]
    assert lw.decode_together([(first, marked[0]), (second, marked[1])]).reports == 6
    for given in ((marked[0], one), (one, marked[1]), (one, dataclasses.replace(one))):
        assert lw.decode_together([(first, given[0]), (second, given[1])]).reports == 6
    for twice in ([(first, one), (second, one)], [(first, marked[0]), (first, marked[0])]):
        with pytest.raises(MismatchError, match="given twice"):
            lw.decode_together(twice)


def test_equal_counts_of_many_are_a_copy_unless_they_are_named() -> None:
    one = told(LADDER)
    copy = dataclasses.replace(one)
    with pytest.raises(MismatchError, match=r"allow_equal=\[2\]"):
        lw.decode_together([(LADDER, one), (LADDER, copy)])
    both = lw.decode_together([(LADDER, one), (LADDER, copy)], allow_equal=[2])
    assert both.reports == 2 * SHAPE.sum()


def test_no_tally_counts_for_another_survey() -> None:
    coin = lw.RandomizedResponse(lw.Categories(["no", "yes"]), 1)
    first, second = lw.Survey("may", coin), lw.Survey("june", coin)
    one = lw.tallies.CountTally([np.array([2, 1])], [3], coin.fingerprint)
    marked = [dataclasses.replace(one, survey=each.fingerprint) for each in (first, second)]
    with pytest.raises(MismatchError, match="collected by survey"):
        lw.decode_together([(first, marked[0]), (second, marked[0])])


def test_without_every_promise_there_is_none() -> None:
    ladder, wave = LADDER.randomizer.channel, WAVE.randomizer.channel
    silent = dataclasses.replace(wave, guarantee=None)
    channel, _ = joined([(ladder, told(LADDER)), (silent, told(WAVE))])
    assert channel.guarantee is None


def test_each_block_keeps_its_own_people() -> None:
    small, large = told(LADDER, SHAPE // 10), told(WAVE, 10 * SHAPE)
    ladder, wave = LADDER.randomizer.channel, WAVE.randomizer.channel
    channel, counts = joined([(ladder, small), (wave, large)])
    assert list(counts.reports) == [*small.reports, *large.reports]
    shares = [block.share for block in channel.blocks]
    assert sum(shares) == pytest.approx(1)
    assert shares[-1] == pytest.approx(large.total / (small.total + large.total))
    channel.check(counts)
    turned, _ = joined([(wave, large), (ladder, small)])
    assert turned.fingerprint != channel.fingerprint
    with pytest.raises(MismatchError):
        ladder.check(counts)


def test_the_many_outweigh_the_few() -> None:
    turned = SHAPE[::-1].copy()
    pairs = [(LADDER, told(LADDER, SHAPE // 20)), (WAVE, told(WAVE, 200 * turned))]
    found = lw.decode_together(pairs)
    assert np.abs(found.mass - turned / turned.sum()).sum() < 0.15
    # The other way round it would be the falling line.
    assert np.abs(found.mass - SHAPE / SHAPE.sum()).sum() > 0.6


def test_the_promise_is_the_weakest_and_the_result_says_of_whom_it_is() -> None:
    tallies = told(WAVE), told(LADDER)
    found = lw.decode_together([(WAVE, tallies[0]), (LADDER, tallies[1])])
    assert found.guarantee == LADDER.guarantee
    assert found.provenance["together"] == [
        {"survey": one.fingerprint, "reports": tally.total}
        for one, tally in zip((WAVE, LADDER), tallies, strict=True)
    ]
    assert lw.Distribution.from_document(found.to_document()).provenance == found.provenance


def test_decoders_by_name_and_labels() -> None:
    pairs = [(WAVE, told(WAVE)), (LADDER, told(LADDER))]
    named = lw.decode_together(pairs, decoder="least-squares")
    assert named.provenance["class"] == "least-squares"
    colors = lw.Categories(["red", "green", "blue"])
    asked = [
        lw.Survey("a", lw.RandomizedResponse(colors, 1)),
        lw.Survey("b", lw.randomizers.OptimizedUnaryEncoding(colors, 2)),
    ]
    found = lw.decode_together([(one, told(one, np.array([6000, 3000, 1000]))) for one in asked])
    np.testing.assert_allclose(found.mass, [0.6, 0.3, 0.1], atol=0.05)


def test_many_labels_of_two_surveys_are_weighed_and_shrunk() -> None:
    labels = lw.Categories(100)
    asked = [
        lw.Survey("a", lw.SubsetSelection(labels, 1)),
        lw.Survey("b", lw.SubsetSelection(labels, 2)),
    ]
    people = np.r_[2000, np.full(99, 30)]
    tallies = [lw.simulate(one.randomizer, people, rng=5) for one in asked]

    def error(found: lw.Distribution) -> float:
        return float(np.abs(found.mass - people / people.sum()).sum())

    both = lw.decode_together(list(zip(asked, tallies, strict=True)))
    alone = [error(one.decode(tally)) for one, tally in zip(asked, tallies, strict=True)]
    # Least squares loses to the better of the two by a factor of five.
    assert both.provenance["class"] == "mixture-prior"
    assert error(both) < 1.1 * min(alone), (error(both), alone)
    apart = [
        unbiased_shares(one.randomizer.channel, t) for one, t in zip(asked, tallies, strict=True)
    ]
    pooled = unbiased_shares(
        *joined([(one.randomizer.channel, t) for one, t in zip(asked, tallies, strict=True)])
    )
    nobody_there = np.zeros(100)
    precisions = [1 / one.variance(nobody_there)[0] for one in apart]
    np.testing.assert_allclose(1 / pooled.variance(nobody_there), sum(precisions))
    weighed = sum(weight * one.shares for weight, one in zip(precisions, apart, strict=True))
    np.testing.assert_allclose(pooled.shares, weighed / sum(precisions))
    hashed = lw.Survey("c", lw.papers.baselines.LocalHashing(labels, 1))
    trees = lw.decode_together([(asked[0], tallies[0]), (hashed, told(hashed, people))])
    assert trees.reports == 2 * people.sum()


def test_what_does_not_belong_together() -> None:
    tally = told(LADDER)
    elsewhere = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 90, bins=32, outside="clip"), 1))
    kept = lw.Survey("kept", lw.SquareWave(LINE, 1), remembered=True)
    refused: list[tuple[Any, type[Exception], str]] = [
        ([], ArgumentError, "at least one"),
        ([tally], ArgumentError, "pair of a survey"),
        ((LADDER, tally), ArgumentError, "pair of a survey"),
        (LADDER, ArgumentError, "list of pairs"),
        ([(LADDER, nobody(LADDER))], TallyError, "no reports"),
        ([(LADDER, tally), (LADDER, tally)], MismatchError, "given twice"),
        ([(LADDER, tally), (WAVE, tally)], MismatchError, "made by"),
        ([(WAVE, tally), (LADDER, told(WAVE))], MismatchError, "made by"),
        ([(LADDER, tally), (elsewhere, told(elsewhere))], MismatchError, "different domains"),
        ([(LADDER, tally), (elsewhere, nobody(elsewhere))], MismatchError, "different domains"),
        ([(kept, told(kept))], ArgumentError, "memoized"),
    ]
    for pairs, error, words in refused:
        with pytest.raises(error, match=words):
            lw.decode_together(pairs)
