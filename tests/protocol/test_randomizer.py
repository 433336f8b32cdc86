"""The base class: what it refuses, what derives from fields, and how much a randomizer shows."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import DomainError, MismatchError, ReportError
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.randomizer import Randomizer, check_batch, check_symbol, fault_of, refuse
from lapwing.registry import RANDOMIZERS
from lapwing.testing import check_randomizer

MADE_BY = "f" * 64


def test_symbols_end_before_the_size() -> None:
    for value in (0, 2):
        check_symbol(value, 3)
    for value in (-1, 3):
        with pytest.raises(DomainError, match=r"^a symbol must be from 0 to 2$"):
            check_symbol(value, 3)


@pytest.mark.parametrize("width", [1, 3])
def test_records_of_another_width_are_refused(width: int) -> None:
    batch = Reports(np.zeros((4, width), dtype=np.uint8), MADE_BY)
    assert check_batch(batch, width=width, fingerprint=MADE_BY).shape == (4, width)
    with pytest.raises(ReportError, match=f"must have 2 bytes, but these have {width}"):
        check_batch(batch, width=2, fingerprint=MADE_BY)
    with pytest.raises(MismatchError, match="were made by randomizer ffff"):
        check_batch(batch, width=width, fingerprint="0" * 64)


def test_the_first_invalid_report_is_named() -> None:
    refuse(fault_of(np.zeros(3, dtype=bool), "be fine"))
    with pytest.raises(ReportError, match="must be fine, but the one at position 12") as caught:
        refuse(fault_of(np.array([False, True, True]), "be fine", failure="is not", start=11))
    assert caught.value.position == 12


WAVE = lw.SquareWave(lw.Interval(0, 1, bins=4), 1)
MIXTURE = lw.MultiscaleWave(lw.Interval(0, 1, bins=32), 2)
MATRIX = lw.CompressivePrivatization(lw.Categories(40), 1, outputs=20)
LOG = lw.LinearHashing(lw.Categories(8), 1)


def _used(randomizer: Any) -> Any:
    """Return it after all that it computes once was computed."""
    values = [0.3] * 50 if randomizer.domain.ordered else [1] * 50
    tally = randomizer.tally(randomizer.randomize(values, rng=lw.seeded(1)))
    assert tally.total == 50 and randomizer.channel.fingerprint == randomizer.fingerprint
    return randomizer


@pytest.mark.parametrize("randomizer", [WAVE, MIXTURE, MATRIX, LOG], ids=lambda made: made.name)
@pytest.mark.parametrize("copied", [lambda made: pickle.loads(pickle.dumps(made)), copy.copy])
def test_copies_carry_the_fields_and_nothing_that_derives_from_them(
    randomizer: Any, copied: Any
) -> None:
    used = _used(randomizer)
    names = {field.name for field in fields(used)}
    assert set(vars(used)) > names
    again = copied(used)
    assert set(vars(again)) == names
    assert again == used and again.fingerprint == used.fingerprint


def test_a_replaced_field_changes_all_that_derives_from_it() -> None:
    used = _used(replace(WAVE))
    other = replace(used, epsilon=2)
    fresh = lw.SquareWave(WAVE.domain, 2)
    assert other.fingerprint == fresh.fingerprint != used.fingerprint
    assert other.certificate() == fresh.certificate()
    column = other.channel.blocks[0].operator.matvec(np.eye(4)[0])
    np.testing.assert_array_equal(column, fresh.channel.blocks[0].operator.matvec(np.eye(4)[0]))


def test_a_changed_threshold_is_noticed_also_after_all_was_computed() -> None:
    used = _used(replace(WAVE))
    loosened = replace(used)
    loosened.__dict__["_threshold"] = used._threshold + 1
    check_randomizer(used, loosened=loosened, reports=1000)
    assert loosened.fingerprint != used.fingerprint
    assert loosened._probabilities[0] >= used._probabilities[0]
    tight = replace(used)
    tight.__dict__["_threshold"] = used._threshold - 1
    with pytest.raises(AssertionError, match="they could be larger"):
        check_randomizer(used, loosened=tight, reports=1000)


MOST_SHOWN = 14

BASE = {name for name in dir(Randomizer) if name[0] != "_"} | {"name"}

MORE = {
    "hierarchical": {"groups"},
    "haar-hadamard": {"groups"},
    "multiscale-wave": {"groups"},
    "multiscale-boxes": {"groups", "hybrid_grids"},
    "asked-labels": {"groups"},
    "wavelet": {"groups"},
    "prefix-hashing": {"groups", "log_channel"},
    "linear-hashing": {"log_channel", "total_variation"},
    "general-wave": {"separation", "half_width"},
    "compressive-privatization": {"balance", "coherence", "true_epsilon"},
    "rappor": {
        "certificate_of",
        "charge",
        "epsilon_of",
        "permanent_round",
        "report",
        "unshufflable",
    },
    "piecewise": {"mean"},
    "square-wave": {"half_width"},
    "randomized-response": {"total_variation"},
    "unary-encoding": {"total_variation"},
    "optimized-unary-encoding": {"total_variation"},
    "subset-selection": {"total_variation"},
    "affine-subset-selection": {"total_variation"},
    "hadamard-response": {"total_variation"},
}
"""What a randomizer shows beside its fields and what all randomizers show."""

LONG = {
    "asked-labels",
    "square-wave",
    "wavelet",
    "prefix-hashing",
    "local-hashing",
    "linear-hashing",
    "general-wave",
    "multiscale-boxes",
    "compressive-privatization",
    "rappor",
}
"""Those with more than 14 names: many fields, a log, reports of one device, or a recipe;
of the square wave, the width that a rule chose."""


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_a_randomizer_shows_few_names(name: str) -> None:
    kind = RANDOMIZERS[name]
    shown = {member for member in dir(kind) if member[0] != "_"}
    parameters = {field.name for field in fields(kind)}
    assert len(BASE) == 12
    assert shown - parameters - BASE == MORE.get(name, set())
    assert (len(shown) <= MOST_SHOWN) == (name not in LONG)
