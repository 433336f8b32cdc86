"""Steps of a density: merged by a rule of channel, people and domain, with intervals that hold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.decoder import RELATIVE_ERROR, preferred_steps, resolved_steps, step_error
from lapwing.errors import ArgumentError
from lapwing.linear.covariance import Covariance
from lapwing.results.steps import Steps, drawn_steps, grouped, shared_steps, step_numbers
from lapwing.results.uncertainty import Uncertainty

LINE = lw.Interval(0, 1, bins=64, outside="clip")


def decoded(values: np.ndarray, *, epsilon: float, seed: int, domain: Any = LINE) -> Any:
    survey = lw.Survey("column", lw.recommend(domain, epsilon=epsilon, users=values.size))
    counts = np.bincount(domain.index(values), minlength=domain.size)
    return survey.decode(lw.simulate(survey.randomizer, counts, rng=seed))


def maxima(heights: np.ndarray) -> list[int]:
    """Return the places that are higher than both neighbors, equal ones taken as one."""
    kept = np.flatnonzero(np.diff(heights, prepend=-1.0) != 0)
    padded = np.pad(heights[kept], 1, constant_values=-1.0)
    peaks = (padded[1:-1] > padded[:-2]) & (padded[1:-1] > padded[2:])
    return [int(place) for place in kept[peaks]]


def test_one_peak_is_drawn_with_few_steps_and_no_second_maximum() -> None:
    rng, drawn = np.random.default_rng(1), []
    for seed in range(6):
        result = decoded(rng.normal(0.5, 0.15, 60_000).clip(0, 0.999), epsilon=1, seed=seed)
        steps = result.provenance["steps"]
        assert 8 <= steps <= 24
        fine, coarse = drawn_steps(result), drawn_steps(result, steps=steps)
        assert fine.shares.size == 64 and coarse.shares.size == steps
        assert coarse.shares.sum() == pytest.approx(1) and coarse.bins == 64
        # By what a band of a step can be off: all bins would have a far wider one.
        wide = [np.mean((each.high - each.low) / each.shares.mean()) for each in (fine, coarse)]
        drawn.append((wide[0] / wide[1], false_maxima(coarse)))
    assert min(ratio for ratio, _ in drawn) > 1.5
    assert sum(false for _, false in drawn) == 0


def false_maxima(steps: Steps) -> int:
    """Return how many lower maxima have an interval that leaves that of the dip beside them."""
    assert steps.low is not None and steps.high is not None
    widths = np.diff(steps.edges)
    heights, low, high = steps.shares / widths, steps.low / widths, steps.high / widths
    places = maxima(heights)
    top = max(places, key=lambda place: heights[place])
    count = 0
    for place in places:
        between = slice(*sorted((place, top)))
        if place != top:
            dip = between.start + int(np.argmin(heights[between]))
            count += bool(low[place] > high[dip])
    return count


def test_the_rule_follows_channel_people_and_domain_alone() -> None:
    survey = lw.Survey("column", lw.recommend(LINE, epsilon=1, users=60_000))
    counts = np.full((3, 64), 937)
    counts[1], counts[2, :] = np.arange(64) * 29 + 24, 0
    counts[2, 5] = counts[1].sum()
    tallies = [lw.simulate(survey.randomizer, row, rng=1) for row in counts]
    steps = [survey.decode(tally).provenance["steps"] for tally in tallies]
    assert steps[1:] == steps[:1] * 2 == [16, 16]
    channel = survey.randomizer.channel
    by_people = [resolved_steps(channel, people) for people in (100, 60_000, 10**6, 10**9)]
    assert by_people == sorted(by_people, key=int) and by_people[0] == 8 and by_people[-1] == 64
    assert step_error(channel, 60_000, 16) <= RELATIVE_ERROR < step_error(channel, 60_000, 32)
    assert step_error(channel, 10_000, 16) == pytest.approx(step_error(channel, 40_000, 16) * 2)


def test_the_error_of_a_step_against_randomized_response() -> None:
    """Of which the unbiased estimate of a step has the variance of its bins' sum."""
    wave = lw.RandomizedResponse(LINE, 2)
    own, other = np.exp(2) / (np.exp(2) + 63), 1 / (np.exp(2) + 63)
    rate = 1 / 64
    variance = rate * (1 - rate) / (10_000 * (own - other) ** 2)
    assert step_error(wave.channel, 10_000, 64) == pytest.approx(64 * variance**0.5, rel=0.01)
    assert step_error(wave.channel, 10_000, 8) == pytest.approx(
        8 * (8 * variance) ** 0.5 * (7 / 8) ** 0.5, rel=0.02
    )


def test_steps_have_equally_many_bins_where_that_is_possible() -> None:
    assert np.bincount(step_numbers(LINE, 16)).tolist() == [4] * 16
    ring = lw.Interval(0, 24, bins=48, circular=True)
    assert np.bincount(step_numbers(ring, 12)).tolist() == [4] * 12
    own = lw.Interval(0, 100, edges=[0, 1, 2, 3, 4, 50, 52, 54, 100])
    assert step_numbers(own, 2).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    log = lw.Interval(1, 10_000, bins=40, scale="log")
    assert np.bincount(step_numbers(log, 8)).tolist() == [5] * 8
    assert [preferred_steps(*each) for each in ((48, 23), (31, 20), (5, 3), (300, 22))] == [
        16,
        20,
        5,
        20,
    ]


def test_atoms_and_people_outside_are_apart() -> None:
    domain = lw.Interval(0, 1, bins=32, atoms=[0.0], outside="overflow")
    mass = np.full(domain.size, 0.5 / 32)
    mass[:2], mass[-1] = 0.2, 0.1
    bins = np.flatnonzero(domain.right > domain.left)
    steps = Steps.of_mass(domain, mass, 8, atom_bins=bins[:0])
    assert steps.shares == pytest.approx(4 * 0.5 / 32)
    # A detected atom leaves its step the density of the other bins.
    spiked = mass.copy()
    spiked[bins[9]] += 0.3
    for number in (8, None):
        again = Steps.of_mass(domain, spiked, number, atom_bins=bins[9:10])
        assert again.shares == pytest.approx(0.5 / again.shares.size)


@pytest.mark.parametrize("ends", [0.0, 1e-5])
def test_the_error_law_of_groups_against_the_dense_covariance(ends: float) -> None:
    rng = np.random.default_rng(4)
    factor, mass = rng.normal(size=(7, 3)), np.full(7, 1 / 7)
    noise = Covariance(rng.uniform(0.1, 1, 7), factor, np.array([1.0, 1.0, -0.01]))
    law = Uncertainty(mass, noise, np.append(np.full(6, ends), 0), mass, 100, "by hand")
    groups = np.array([0, 0, 1, 1, 1, -1, 2])
    merge = np.array([[group == each for group in groups] for each in range(3)], dtype=float)
    steps = np.eye(7) - np.eye(7, k=-1)
    dense = noise.dense() + steps @ np.diag(law.remainder) @ steps.T
    merged = grouped(law, groups)
    assert merged.center == pytest.approx(merge @ mass)
    assert merged.noise.variance() == pytest.approx(np.diag(merge @ dense @ merge.T))
    with_remainder = grouped(replace(law, remainder=np.full(7, 0.1)), groups)
    assert np.all(with_remainder.noise.variance() > merged.noise.variance())


def test_weeks_share_the_steps_of_the_one_that_tells_the_fewest_apart() -> None:
    rng = np.random.default_rng(5)
    survey = lw.Survey("column", lw.recommend(LINE, epsilon=2, users=60_000))
    tallies = []
    for people in (60_000, 6_000):
        values = rng.normal(0.4, 0.1, people).clip(0, 0.999)
        counts = np.bincount(LINE.index(values), minlength=64)
        tallies.append(lw.simulate(survey.randomizer, counts, rng=people))
    series = lw.decode_series([(survey, tally) for tally in tallies])
    weeks = [week.distribution for week in series.weeks]
    few = min(week.provenance["steps"] for week in weeks)
    assert shared_steps(weeks) == few < weeks[0].provenance["steps"]
    panels = [ax for ax in series.plot(kind="weeks").axes if ax.patches]
    fine = [ax for ax in series.plot(kind="weeks", detail="all").axes if ax.patches]
    sizes = [[patch.get_data().values.size for patch in ax.patches] for ax in (*panels, *fine)]
    assert {size for row in sizes[:2] for size in row} == {few}
    assert {size for row in sizes[2:] for size in row} == {64}


def test_a_detail_is_one_of_two() -> None:
    result = lw.Distribution.of_counts(np.arange(64), LINE)
    assert shared_steps([result]) is None and drawn_steps(result).low is None
    with pytest.raises(ArgumentError, match="'resolved' or 'all'"):
        result.plot(detail="some")


def test_no_end_is_nearer_to_the_estimate_than_a_deviation() -> None:
    """The center of a posterior is not the estimate: an end could touch it, or a tail be sure."""
    mass, center = np.full(8, 1 / 8), np.full(8, 1 / 8)
    mass[:3], center[:3] = [0.0, 0.25, 0.125], [0.125, 0.0, 0.25]
    noise = Covariance(np.full(8, 0.02**2), np.zeros((8, 1)), np.ones(1))
    law = Uncertainty(center, noise, np.zeros(8), mass, 100, "by hand")
    domain = lw.Interval(0, 1, bins=8)
    for steps, deviation in ((None, 0.02), (4, 0.02 * 2**0.5)):
        drawn = Steps.of_mass(domain, mass, steps, atom_bins=np.zeros(0, int), error_law=law)
        assert drawn.low is not None and drawn.high is not None
        assert np.all(drawn.low <= np.maximum(drawn.shares - deviation, 0) + 1e-12)
        assert np.all(drawn.high >= drawn.shares + deviation - 1e-12)
        assert drawn.low.min() >= 0 and drawn.high.max() <= 1
        # At the center, intervals are those of the error distribution alone.
        same = slice(4, None) if steps is None else slice(2, None)
        reach = (drawn.high - drawn.shares)[same] / deviation
        assert np.all((reach > 2.5) & (reach < 3))
    whole = np.eye(8)[0]
    drawn = Steps.of_mass(domain, whole, None, atom_bins=np.zeros(0, int), error_law=law)
    assert drawn.high is not None and drawn.high[0] == 1.0
