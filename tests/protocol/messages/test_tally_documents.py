"""Tallies: exact sums, refusals, and documents. Their laws are tested by the contracts."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.documents import canonical
from lapwing.errors import MismatchError, TallyError
from lapwing.protocol.messages.tally import LARGEST_COUNT
from lapwing.tallies import CountTally
from tests.mistaken import mistaken

STEADY = settings(deadline=None, max_examples=200, derandomize=True)

small_counts = st.lists(st.integers(0, 2**50), min_size=3, max_size=3)


def counts(numbers: list[int], *, survey: str | None = "s", fingerprint: str = "f") -> CountTally:
    return CountTally([np.array(numbers[:2]), np.array(numbers[2:])], [3, 4], fingerprint, survey)


@STEADY
@given(st.lists(small_counts, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_any_order_gives_identical_bytes(parts: list[list[int]], random: Any) -> None:
    tallies = [counts(numbers) for numbers in parts]
    in_order = canonical(sum(tallies).to_document())
    while len(tallies) > 1:
        random.shuffle(tallies)
        tallies.append(tallies.pop() + tallies.pop())
    assert canonical(tallies[0].to_document()) == in_order
    assert tallies[0].total == 7 * len(parts)


def test_documents_and_back() -> None:
    for survey in ("s", None):
        tally = counts([0, 5, LARGEST_COUNT], survey=survey)
        again = CountTally.from_document(json.loads(json.dumps(tally.to_document())))
        assert again == tally and hash(again) == hash(tally)
        assert canonical(again.to_document()) == canonical(tally.to_document())


def test_equality_looks_at_everything() -> None:
    tally = counts([1, 2, 3])
    assert tally == counts([1, 2, 3])
    assert tally != counts([1, 2, 4])
    assert tally != counts([1, 2, 3], survey=None)
    assert tally != counts([1, 2, 3], fingerprint="g")
    assert tally != CountTally(tally.blocks, [3, 5], "f", "s")
    assert tally != "tally" and tally.__eq__("tally") is NotImplemented


def test_nothing_can_be_changed() -> None:
    numbers = np.array([1, 2])
    tally = CountTally([numbers], [3], "f")
    numbers[0] = 99
    assert tally.blocks[0].tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        tally.blocks[0][0] = 5


@pytest.mark.parametrize(
    "other",
    [
        counts([1, 2, 3], survey="t"),
        counts([1, 2, 3], survey=None),
        counts([1, 2, 3], fingerprint="g"),
        CountTally([np.array([1, 2, 3])], [7], "f", "s"),
        CountTally([np.array([1, 2]), np.array([3, 4])], [3, 4], "f", "s"),
        CountTally([np.array([1]), np.array([3])], [3, 4], "f", "s"),
    ],
)
def test_what_does_not_belong_is_not_merged(other: CountTally) -> None:
    with pytest.raises(MismatchError):
        counts([1, 2, 3]) + other


def test_only_tallies_are_added() -> None:
    for other in (1, None, np.array([1])):
        with pytest.raises(TypeError):
            counts([1, 2, 3]) + mistaken(other)
    with pytest.raises(TypeError):
        1 + counts([1, 2, 3])


@pytest.mark.parametrize(
    ("blocks", "reports"),
    [
        ([], []),
        ([[1, 2]], []),
        ([[1, 2]], [1, 2]),
        ([[]], [0]),
        ([[[1]]], [1]),
        ([[-1, 2]], [1]),
        ([[1, 2]], [-1]),
        ([[LARGEST_COUNT + 1]], [1]),
        ([[10**30]], [1]),
        ([[1]], [LARGEST_COUNT + 1]),
        ([[1.5, 2.0]], [3]),
        ([[float("nan")]], [3]),
        ([[True, False]], [1]),
        ([["1"]], [1]),
    ],
)
def test_counts_that_no_reports_can_give(blocks: Any, reports: Any) -> None:
    with pytest.raises(TallyError):
        CountTally([np.array(block) for block in blocks], reports, "f")


def test_a_sum_that_json_cannot_hold_is_refused() -> None:
    tally = CountTally([np.array([LARGEST_COUNT])], [1], "f")
    with pytest.raises(TallyError, match="2\\^53"):
        tally + dataclasses.replace(tally)
