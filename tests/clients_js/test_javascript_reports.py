"""Reports of the JavaScript client's secure words have the exact law of Python's randomizers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.reports import Reports
from lapwing.testing.randomizer_contract import exact_law, multinomial_tail
from tests.clients_js.programs import ask
from tests.clients_js.surveys import cases, plain, survey_text
from tests.contracts.registered import at_epsilon
from tests.false_alarms import REPORTS_PER_VALUE, accepts, binomial_tail

pytestmark = pytest.mark.service

KINDS = {case.randomizer.name: case for case in cases(1).values()}
SMALL = 3_000


Found = dict[bytes, int]
"""How often each report came."""


def _drawn(*values: tuple[Any, Any], number: int, how: str = "counts") -> list[Found]:
    """Return JavaScript's reports of (randomizer, value)."""
    tasks = [(how, survey_text(made), plain(value), number) for made, value in values]
    if how == "single":
        return [Counter(map(bytes.fromhex, answer)) for answer in ask(*tasks)]
    return [{bytes.fromhex(key): count for key, count in answer} for answer in ask(*tasks)]


def _tail(found: Found, law: dict[bytes, Fraction]) -> float:
    """Return how far out the frequencies of reports are under a law."""
    keys = sorted(found.keys() | law.keys())
    counts = np.array([found.get(report, 0) for report in keys])
    return multinomial_tail(counts, np.array([float(law.get(report, 0)) for report in keys]))


def _reports(found: Found, randomizer: Any) -> Reports:
    """Return reports as often as they came, as a collector takes them."""
    distinct = np.array([list(report) for report in found], dtype=np.uint8)
    return Reports(np.repeat(distinct, list(found.values()), axis=0), randomizer.fingerprint)


def test_reports_have_the_exact_law_of_the_first_and_of_the_last_value() -> None:
    asked = [(name, case, point) for name, case in KINDS.items() for point in (0, case.inputs - 1)]
    drawn = _drawn(
        *((case.randomizer, case.value(point)) for _, case, point in asked),
        number=REPORTS_PER_VALUE,
    )
    for (name, case, point), reports in zip(asked, drawn, strict=True):
        assert sum(reports.values()) == REPORTS_PER_VALUE
        law = exact_law(case.randomizer, point)
        assert accepts(_tail(reports, law)), (name, point)


def test_another_epsilon_and_another_value_are_told_apart_by_as_many_reports() -> None:
    """Broken inputs: the same test must reject them.

    Words are secure, so each run draws anew: by the divergence of the laws the statistic lies at
    least 15 standard deviations beyond the threshold (of a square wave, 750 +- 39 against 65).
    """
    drawn = _drawn(
        *((case.randomizer, case.value(0)) for case in KINDS.values()), number=REPORTS_PER_VALUE
    )
    for case, reports in zip(KINDS.values(), drawn, strict=True):
        randomizer = case.randomizer
        for factor in (Fraction(5, 4), Fraction(3, 4)):
            law = exact_law(at_epsilon(randomizer, factor), 0)
            assert not accepts(_tail(reports, law)), (randomizer.name, factor)
        law = exact_law(randomizer, case.inputs - 1)
        assert not accepts(_tail(reports, law)), randomizer.name


def test_one_report_at_a_time_has_the_same_law() -> None:
    drawn = _drawn(
        *((case.randomizer, case.value(1)) for case in KINDS.values()), number=SMALL, how="single"
    )
    for case, reports in zip(KINDS.values(), drawn, strict=True):
        assert accepts(_tail(reports, exact_law(case.randomizer, 1))), case.randomizer.name


def test_python_tallies_the_reports_and_finds_the_channel_in_them() -> None:
    """On domains of the size that is used, through the collector's own door."""
    wave = lw.SquareWave(lw.Interval(0, 100, bins=256), 1)
    bits = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(100), 2)
    ladder = lw.recommend(lw.Interval(0, 100, bins=256), epsilon=1, users=100_000).randomizer
    rows = lw.randomizers.HadamardResponse(lw.Categories(1000), 1)
    people = 50_000
    drawn = _drawn((wave, 12.5), (rows, 999), number=people)
    drawn += _drawn((bits, 3), (ladder, 12.5), number=people, how="single")

    def column(randomizer: Any, block: int, symbol: int) -> np.ndarray:
        unit = np.zeros(randomizer.domain.size)
        unit[symbol] = 1
        probabilities: np.ndarray = randomizer.channel.blocks[block].operator @ unit
        return probabilities

    def tallied(randomizer: Any, reports: Found) -> Any:
        return randomizer.tally(_reports(reports, randomizer))

    symbol = int(wave.domain.index([12.5])[0])
    for made, reports, own in ((wave, drawn[0], symbol), (rows, drawn[1], 999)):
        counts = tallied(made, reports).blocks[0]
        assert accepts(multinomial_tail(counts, column(made, 0, own)))
        assert not accepts(multinomial_tail(counts, column(made, 0, own // 2)))
    counts = tallied(bits, drawn[2]).blocks[0]
    assert accepts(binomial_tail(counts, people, column(bits, 0, 3)))
    assert not accepts(binomial_tail(counts, people, column(bits, 0, 4)))
    found = tallied(ladder, drawn[3])
    shares = np.array([part.share / 2**32 for part in ladder.groups])
    assert accepts(multinomial_tail(np.array(found.reports), shares))
    assert not accepts(multinomial_tail(np.array(found.reports), np.roll(shares, 1)))
    for block, (part, counts) in enumerate(zip(ladder.groups, found.blocks, strict=True)):
        law = column(ladder, block, symbol)
        if part.randomizer.name.endswith("subset-selection"):
            assert accepts(binomial_tail(counts, found.reports[block], law))
        else:
            assert accepts(multinomial_tail(counts, law))


def test_heavy_hitters_are_found_in_a_log_of_reports() -> None:
    """Words that a list of candidates holds, hashed and reported by JavaScript, found by Python."""
    hashing = lw.LinearHashing(lw.HashedStrings(32), 4)
    words = ["lapwing", "plover", "curlew", "Kiebitz 🐦"]
    drawn = _drawn(*((hashing, word) for word in words[:2]), number=6_000)
    logs = [hashing.tally(_reports(reports, hashing)) for reports in drawn]
    found = lw.Survey("words", hashing).decode(
        logs[0] + logs[1], decoder=lw.decoders.Candidates(words)
    )
    assert isinstance(found, lw.HeavyHitters) and found.labels is not None
    shares = dict(zip(found.labels, found.shares.tolist(), strict=True))
    # The deviation of a share is .0026: that of what nobody holds may be listed, and is small.
    assert abs(shares.pop("lapwing") - 0.5) < 0.02 and abs(shares.pop("plover") - 0.5) < 0.02
    assert all(share < 0.02 for share in shares.values())
