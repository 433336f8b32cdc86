"""What a device sends follows the survey's channel, and so does what a remembered device sends."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from lapwing import Categories, Rappor, Survey
from lapwing.client import Device
from lapwing.client.outbox import of_pile
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.messages.batch import Batch
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.false_alarms import accepts, binomial_tail

SYMBOLS = 500
ANSWERS = 60
"""Each with 499 bits that are not its own: 29,940 coins of probability .27, whose rate is known to
.0026. Of epsilon 1.25 it is .22, of 0.8 .31, more than 15 of that away."""

BITS = Survey("bits", OptimizedUnaryEncoding(Categories(SYMBOLS), 1))


def sent_by(folder: Path, survey: Survey, values: list[int]) -> np.ndarray:
    """The bits of the reports of a device that answers in one epoch after the other."""
    device = Device.open(folder, epsilon_cap=24, budget=1000)
    for number, value in enumerate(values):
        device.answer(survey, value, epoch=f"w{number}")
    with device.file.transaction() as connection:
        found = {
            name: Batch.from_bytes(body or b"").records
            for name in (f"w{number}" for number in range(len(values)))
            for _, body in of_pile(connection, survey.fingerprint, name)
        }
    packed = [np.frombuffer(found[f"w{number}"], np.uint8) for number in range(len(values))]
    bits = np.unpackbits(np.array(packed), axis=1, bitorder="little")[:, :SYMBOLS]
    return bits.astype(bool)


def tails(bits: np.ndarray, values: list[int], thresholds: dict[str, int]) -> list[float]:
    """The tails of the number of ones among own bits, among others, and at every place of them."""
    own = bits[np.arange(len(values)), values]
    rest = bits.copy()
    rest[np.arange(len(values)), values] = False
    keep, flip = (thresholds[key] / WORD for key in ("own", "other"))
    others = len(values) - np.bincount(values, minlength=SYMBOLS)
    return [
        binomial_tail(own.sum(), len(values), keep),
        binomial_tail(rest.sum(), others.sum(), flip),
        binomial_tail(rest.sum(axis=0), others, flip),
        binomial_tail(rest.sum(axis=1), SYMBOLS - 1, flip),
    ]


def test_fresh_answers_follow_the_channel(tmp_path: Path) -> None:
    """At four comparisons of 1e-12; the same reports are refused under another epsilon or value."""
    values = [7 * number % SYMBOLS for number in range(ANSWERS)]
    bits = sent_by(tmp_path, BITS, values)
    assert all(accepts(tail) for tail in tails(bits, values, BITS.randomizer._thresholds))
    for epsilon in ("0.8", "1.25"):
        wrong = OptimizedUnaryEncoding(Categories(SYMBOLS), epsilon)
        assert not all(accepts(tail) for tail in tails(bits, values, wrong._thresholds))
    # A device that says nothing of its value, and one that sends one report again and again.
    silent = bits.copy()
    silent[np.arange(ANSWERS), values] = False
    same = np.repeat(bits[:1], ANSWERS, axis=0)
    for broken in (silent, same):
        assert not all(accepts(tail) for tail in tails(broken, values, BITS.randomizer._thresholds))


def test_rounds_follow_the_channel_of_two_reports(tmp_path: Path) -> None:
    """Pairs of bits of one permanent round: 500 of each of 12 devices, of which none is its own.

    At 1e-12; a permanent round that is drawn anew for the second report has other pairs.
    """
    rappor = Rappor(Categories(SYMBOLS), 2, lifetime=3)
    survey = Survey("habit", rappor)
    keep, again = (
        Fraction(rappor._thresholds[key], WORD) for key in ("permanent", "instantaneous")
    )
    pairs: Counter[int] = Counter()
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        bits = sent_by(folder, survey, [number, number])
        others = np.delete(bits, number, axis=1)
        pairs.update((others[0] * 2 + others[1]).tolist())
    # A bit that is not the value's own is 0, and 1 in the permanent round with 1 - keep.
    law = [
        sum(
            permanent
            * (again if first == held else 1 - again)
            * (again if second == held else 1 - again)
            for held, permanent in ((0, keep), (1, 1 - keep))
        )
        for first in (0, 1)
        for second in (0, 1)
    ]
    counts = np.array([pairs[code] for code in range(4)])
    total = int(counts.sum())
    assert sum(law) == 1 and total == 12 * (SYMBOLS - 1)
    assert accepts(binomial_tail(counts, total, np.array([float(p) for p in law])))
    one = float(rappor._bit_kept)
    fresh = np.array([one * one, one * (1 - one), one * (1 - one), (1 - one) ** 2])
    assert not accepts(binomial_tail(counts, total, fresh))


@pytest.mark.parametrize("value", [0, SYMBOLS - 1])
def test_remembered_devices_follow_the_channel(tmp_path: Path, value: int) -> None:
    """The first reports of 20 devices, whose values change afterwards."""
    survey = Survey("bits", BITS.randomizer, remembered=True)
    rows = []
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        bits = sent_by(folder, survey, [value, 250])
        assert (bits[0] == bits[1]).all()
        rows.append(bits[1])
    found = np.array(rows)
    assert all(accepts(tail) for tail in tails(found, [value] * 20, BITS.randomizer._thresholds))
