"""Groups that have intervals only because the noise of their number is high."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.releases.label_shares import KNOWN_WELL, CountedShares, NoisyTotal
from lapwing.decoders.releases.prefix_estimate import prefix_estimate
from lapwing.decoders.releases.segment_curves import segment_distributions, segments_alone

VARIANCE = 88.0
"""Variance of a count, and with seven of them the threshold is at 199 people."""


def coverage(shares: list[float], people: int, *, passing: int = 300) -> tuple[float, float]:
    """Return the pointwise coverage of groups that passed, and the share of groups that did."""
    held = np.round(np.array(shares) * people)
    held[0] += people - held.sum()
    scale, rng = np.sqrt(VARIANCE / 2), np.random.default_rng(7)
    inside: list[np.ndarray] = []
    drawn = 0
    while len(inside) < passing:
        drawn += 1
        counts = np.rint(held + rng.laplace(scale=scale, size=held.size))
        found = CountedShares.of(counts, int(counts.sum()), VARIANCE, total_is_known=False)
        law = found.uncertainty(int(counts.sum()), "laplace")
        if law is not None:
            low, high = law.curves(0.95, "pointwise", cumulative=False, least=0.0)
            inside.append((low <= held / people) & (held / people <= high))
    return float(np.mean(inside)), passing / drawn


@pytest.mark.parametrize(
    "shares", [[0.6, 0.2, 0.1, 0.05, 0.03, 0.02, 0], [0.97, 0.03, 0, 0, 0, 0, 0]]
)
def test_labels_of_a_group_that_passed_by_chance_are_covered(shares: list[float]) -> None:
    # By the law of any group .86 and .81 at 165 people.
    for people in (165, 240):
        found, passed = coverage(shares, people)
        assert found >= 0.92, (people, found)
        assert people == 240 or passed < 0.3


def test_a_curve_of_a_group_that_passed_by_chance_is_covered() -> None:
    values = np.random.default_rng(1).lognormal(3.5, 0.6, 470)
    domain = lw.Interval(0, 200, bins=48)
    inside: list[np.ndarray] = []
    for seed in range(2000):
        release = lw.release(
            values,
            domain,
            by=["a"] * values.size,
            segments=["a"],
            neighbors="replace-one",
            epsilon=0.3,
            delta="1e-6",
            rng=lw.seeded(seed),
        ).release
        table = release.domain
        assert isinstance(table, lw.protocol.Segmented)
        alone = segments_alone(release, table)["a"]
        sums = prefix_estimate(alone.channel, alone)
        if not NoisyTotal(float(sums.sums[-1]), sums.deviation(-1)).is_known:
            continue
        result = segment_distributions(release)["a"]
        band = result.confidence_band(0.95)
        truth = lw.Distribution.of_values(values, result.domain).cumulative.sums
        assert band is not None
        inside.append((band.low <= truth) & (truth <= band.high) | (truth > 0.995))
        if len(inside) == 24:
            break
    assert len(inside) == 24
    assert np.mean(inside) >= 0.92


def test_far_above_the_threshold_the_number_has_its_usual_interval() -> None:
    low, high = NoisyTotal(3000.0, 100.0).ends
    assert (low, high) == pytest.approx((3000 - 196, 3000 + 196), abs=0.1)
    near = NoisyTotal((KNOWN_WELL + 0.5) * 100, 100.0)
    assert near.is_known and near.ends[0] < near.people - 300
    assert not NoisyTotal(799.0, 100.0).is_known
