"""Tallies of every randomizer: exact sums in any order, and nothing foreign in them."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing import Survey
from lapwing.documents import canonical
from lapwing.errors import FormatError, MismatchError, TallyError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import LARGEST_COUNT, TallyLog
from lapwing.tallies import CountTally
from tests.contracts.registered import RandomizerCase, at_epsilon, randomizer_cases

at_one = pytest.mark.parametrize("case", randomizer_cases(1, logs=False))
once = pytest.mark.parametrize("case", randomizer_cases(1, logs=False, once=True))


def _reports(case: RandomizerCase, people: int = 120) -> Reports:
    values = case.values(np.arange(people) % case.inputs)
    reports: Reports = case.randomizer.randomize(values, rng=seeded(1))
    return reports


def _zero(case: RandomizerCase) -> CountTally:
    zero: CountTally = case.randomizer.tally(_reports(case)[:0])
    return zero


@once
def test_any_split_and_order_gives_identical_bytes(case: RandomizerCase) -> None:
    reports = _reports(case)
    whole = canonical(case.randomizer.tally(reports).to_document())
    parts = [case.randomizer.tally(reports[a:b]) for a, b in ((0, 1), (1, 50), (50, 50), (50, 120))]
    for order in itertools.permutations(parts):
        first, second, third, fourth = order
        for merged in (((first + second) + third) + fourth, first + (second + (third + fourth))):
            assert canonical(merged.to_document()) == whole
        assert canonical(sum(order[1:], order[0]).to_document()) == whole
    assert canonical(sum(parts).to_document()) == whole


@once
def test_zero_is_neutral(case: RandomizerCase) -> None:
    tally, zero = case.randomizer.tally(_reports(case)), _zero(case)
    assert tally + zero == zero + tally == tally and zero.total == 0


@once
def test_json_both_ways(case: RandomizerCase) -> None:
    tally = replace(case.randomizer.tally(_reports(case)), survey="s" * 64)
    again = CountTally.from_document(json.loads(canonical(tally.to_document())))
    assert again == tally and hash(again) == hash(tally) and again.survey == tally.survey
    assert again + replace(again) == tally + replace(tally)


@pytest.mark.parametrize(
    ("blocks", "reports"),
    [
        ([[3]], [2.9]),
        ([[3]], [3.0]),
        ([[3]], [True]),
        ([[3]], ["3"]),
        ([[3]], [None]),
        ([[3.0]], [3]),
        ([[True]], [1]),
        ([[[3]]], [3]),
        ([[1, [2]]], [3]),
        ([[10**400]], [3]),
        ([np.array([2**64 - 1], dtype=np.uint64)], [3]),
        ([[3]], [10**400]),
        ([[-1]], [3]),
        ([[3]], [-1]),
        ([], []),
        ([[]], [0]),
    ],
    ids=repr,
)
def test_only_whole_numbers_are_counts(blocks: list[Any], reports: list[Any]) -> None:
    with pytest.raises(TallyError):
        CountTally(blocks, reports, "r" * 64)


@pytest.mark.parametrize(("randomizer", "survey"), [(None, None), (3, "s"), ("r", 3), (b"r", None)])
def test_fingerprints_are_texts(randomizer: Any, survey: Any) -> None:
    with pytest.raises(TallyError, match="fingerprint"):
        CountTally([[1]], [1], randomizer, survey)
    with pytest.raises(TallyError, match="fingerprint"):
        TallyLog([np.zeros(1, dtype=np.uint64)], 1, randomizer, survey)


@once
def test_a_tally_is_not_added_to_itself(case: RandomizerCase) -> None:
    tally = case.randomizer.tally(_reports(case))
    for adding in (lambda: tally + tally, lambda: sum([tally, tally])):
        with pytest.raises(TallyError, match="added to itself"):
            adding()
    # Two days with equal counts are two tallies.
    assert (tally + replace(tally)).total == 2 * tally.total


def test_a_sum_that_cannot_be_stored_is_refused() -> None:
    most = CountTally([[LARGEST_COUNT, 0]], [LARGEST_COUNT], "r" * 64)
    assert (most + CountTally([[0, 1]], [0], "r" * 64)).blocks[0].tolist() == [LARGEST_COUNT, 1]
    with pytest.raises(TallyError, match=r"2\^53"):
        most + replace(most)


def test_base64_has_bits_to_spare() -> None:
    document = TallyLog([np.array([5], dtype=np.uint64)], 1, "r" * 64).to_document()
    assert document["records"] == "BQ=="
    with pytest.raises(FormatError, match=r'records of the log must be written "BQ==", got "BR=="'):
        TallyLog.from_document({**document, "records": "BR=="})


@at_one
def test_foreign_tallies_are_not_merged(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    tally = randomizer.tally(_reports(case))
    stranger = replace(tally, fingerprint=at_epsilon(randomizer, Fraction(2)).fingerprint)
    with pytest.raises(MismatchError, match="same survey"):
        tally + stranger
    with pytest.raises(MismatchError, match="same survey"):
        tally + replace(tally, survey="another survey")
    with pytest.raises(MismatchError, match="Decode it with the survey that collected it"):
        randomizer.channel.check(stranger)
    with pytest.raises(TypeError):
        tally + 1
    with pytest.raises(TypeError):
        1 + tally


@pytest.mark.parametrize("case", randomizer_cases(1))
def test_surveys_that_share_a_randomizer_are_told_apart(case: RandomizerCase) -> None:
    from lapwing.registry import RANDOMIZERS

    if case.randomizer.name not in RANDOMIZERS:
        with pytest.raises(ValueError, match="a survey needs a randomizer"):
            Survey("spring", case.randomizer)
        return
    spring, autumn = Survey("spring", case.randomizer), Survey("autumn", case.randomizer)
    reports = _reports(case)
    tallies = spring.tally(reports), autumn.tally(reports)
    with pytest.raises(MismatchError, match="same survey"):
        tallies[0] + tallies[1]
    with pytest.raises(MismatchError, match="collected by survey"):
        spring.decode(tallies[1])
    assert Survey.from_json(spring.to_json()).tally(reports) == tallies[0]


@once
def test_overflow_is_refused_not_wrapped(case: RandomizerCase) -> None:
    zero = _zero(case)
    full = replace(
        zero,
        blocks=[np.full(counts.size, LARGEST_COUNT) for counts in zero.blocks],
        reports=[LARGEST_COUNT] * len(zero.reports),
    )
    assert full + zero == full
    with pytest.raises(TallyError, match=r"above 2\^53"):
        full + replace(full)
    with pytest.raises(TallyError, match="negative"):
        replace(zero, reports=[-1] * len(zero.reports))


@once
def test_frozen(case: RandomizerCase) -> None:
    tally = case.randomizer.tally(_reports(case))
    with pytest.raises(ValueError, match="read-only"):
        tally.blocks[0][0] += 1
    with pytest.raises(AttributeError):
        tally.fingerprint = "x"
