"""Identifiers of tallies: random, in files alone, and equal ones are never added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import FormatError, MismatchError
from lapwing.protocol.messages.tally import MOST_IDS
from tests.rows import each

COIN = lw.RandomizedResponse(lw.Categories(2), 1)
HASHING = lw.LinearHashing(lw.HashedStrings(16), epsilon=2)


def told(randomizer: Any, seed: int = 1) -> lw.Tally:
    values = [1] * 9 if randomizer is COIN else ["a"] * 9
    tally: lw.Tally = randomizer.tally(randomizer.randomize(values, rng=lw.seeded(seed)))
    return tally


@pytest.mark.parametrize("randomizer", [COIN, HASHING], ids=["counts", "log"])
def test_a_file_and_its_copy_are_never_added(randomizer: Any, tmp_path: Path) -> None:
    one, other = told(randomizer), told(randomizer, seed=2)
    plain = one.to_json()
    one.save(tmp_path / "one.json")
    one.save(tmp_path / "again.json")
    other.save(tmp_path / "other.json")
    first, again, second = (
        lw.Tally.load(tmp_path / f"{name}.json") for name in ("one", "again", "other")
    )
    assert first == again == one and hash(first) == hash(one) and len(first.ids) == 1
    assert first.to_json() == again.to_json() == plain, "identifiers take no part in the document"
    for both in ((first, again), (first + second, again), (one, first)):
        with pytest.raises(MismatchError, match="the same tally is in both"):
            both[0] + both[1]
    whole = first + second
    assert whole.ids == first.ids | second.ids
    whole.save(tmp_path / "whole.json")
    assert type(one).load(tmp_path / "whole.json").ids == whole.ids
    assert first.of_survey("0" * 64).ids == first.ids


def test_identifiers_say_nothing_of_the_reports(tmp_path: Path) -> None:
    for name in ("one", "other"):
        told(COIN).save(tmp_path / f"{name}.json")
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "other"))
    assert one.pop("ids") != other.pop("ids") and one == other == told(COIN).to_document()


def test_a_sum_of_very_many_files_keeps_none() -> None:
    counts = [np.array([1, 1])]
    tallies = [
        lw.tallies.CountTally(counts, [2], COIN.fingerprint, ids=frozenset([f"{number:032x}"]))
        for number in range(MOST_IDS + 1)
    ]
    assert len(sum(tallies[:MOST_IDS]).ids) == MOST_IDS and not sum(tallies).ids


@each(
    "ids",
    [
        [],
        "0" * 32,
        ["0" * 31],
        ["A" * 32],
        [1],
        ["0" * 32] * 2,
        ["1" * 32, "0" * 32],
        [f"{number:032x}" for number in range(MOST_IDS + 1)],
    ],
    ids=["none", "text", "short", "upper case", "number", "twice", "unsorted", "too many"],
)
def test_false_identifiers_are_refused(ids: Any) -> None:
    for tally in (told(COIN), told(HASHING)):
        with pytest.raises(FormatError, match="ids of a tally"):
            lw.Tally.from_document({**tally.to_document(), "ids": ids})
