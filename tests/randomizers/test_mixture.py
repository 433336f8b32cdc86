"""Mixtures by a public coin: shares that sum exactly, and a coin that knows no values."""

from typing import Any

import numpy as np
import pytest

from lapwing import Interval
from lapwing.errors import ArgumentError, ReportError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers import mixture as mixtures
from lapwing.randomizers.mixture import COIN, whole_shares
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from tests.false_alarms import accepts, multinomial_tail

DOMAIN = Interval(0, 1, bins=64)


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5], [1 / 3] * 3, [0.1] * 10, [1e-10, 1 - 1e-10]])
def test_whole_shares_sum_exactly(shares: list[float]) -> None:
    whole = whole_shares(shares)
    assert sum(whole) == COIN
    assert min(whole) >= 1
    for share, part in zip(shares, whole, strict=True):
        assert abs(part / COIN - share) < 1e-8


@pytest.mark.parametrize("shares", [[], [0.5, 0.6], [0.0, 1.0], [-0.5, 1.5], [0.4, 0.4]])
def test_shares_that_do_not_sum_to_one_are_refused(shares: list[float]) -> None:
    with pytest.raises(ArgumentError, match="sum to 1"):
        whole_shares(shares)


def test_the_group_has_its_share_and_does_not_depend_on_the_value() -> None:
    mixture = MultiscaleWave(DOMAIN, 1)
    shares = np.array([part.share for part in mixture.groups]) / COIN
    for value in (0.0, 0.99):
        reports = mixture.randomize(np.full(100_000, value), rng=seeded(8))
        counts = np.bincount(reports.data[:, 0], minlength=shares.size)
        assert accepts(multinomial_tail(counts, shares))
        assert not accepts(multinomial_tail(counts, np.full(shares.size, 1 / shares.size)))


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("wave", 1.0)],
        [("box", 1.0, 1.0)],
        [("wave", 0.0, 1.0)],
        [("wave", 1.0, 0.0)],
        [("subset", 2.5, 1.0)],
        [("subset", 1, 1.0)],
        [("subset", 128, 1.0)],
        [("wave", float("nan"), 1.0)],
    ],
)
def test_impossible_parts_are_refused(parts: list[Any]) -> None:
    with pytest.raises(ValueError):
        MultiscaleWave(DOMAIN, 1, components=parts)


def test_more_groups_than_a_byte_can_number_are_refused() -> None:
    with pytest.raises(ValueError, match="groups"):
        MultiscaleWave(DOMAIN, 1, components=[("wave", 1.0, 1 / 256)] * 256)


def test_compiled_and_plain_loops_make_and_count_the_same_reports(monkeypatch):
    mixture = MultiscaleWave(DOMAIN, 1)
    values = np.random.default_rng(1).random(3000)
    made, refused = [], []
    for many in (3000, 3001):
        monkeypatch.setattr(mixtures, "_MANY", many)
        reports = mixture.randomize(values, rng=seeded(3))
        made.append((reports.data, np.concatenate(mixture.tally(reports).blocks)))
        data = reports.data.copy()
        data[[7, 11], 0] = (255, len(mixture.groups))
        with pytest.raises(ReportError) as error:
            mixture.tally(Reports(data, mixture.fingerprint))
        refused.append(str(error.value))
    for plain, compiled in zip(*made, strict=True):
        np.testing.assert_array_equal(plain, compiled)
    assert refused[0] == refused[1] and "position 7" in refused[0]
