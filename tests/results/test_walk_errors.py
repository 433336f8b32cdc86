"""The errors of weeks, and jumps added one by one, beside dense formulas for all of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.series.walk_model import (
    JUMP_LEVELS,
    PRICE,
    Walk,
    _best_spectrum,
    _gains,
    _with_jumps,
    found_changes,
    refitted,
    with_added_jumps,
)
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.random_walk import PseudoMeasurement
from lapwing.results.walk_errors import WalkErrors, WeekErrors, Wider, root_of
from lapwing.survey.series_decoding import _check_size

SIZE, STATE, WEEKS = 6, 5, 5
KINDS = {
    "pointwise": Wider(jump=2.0, step=3.0, flicker=1.5, least=0.1),
    "simultaneous": Wider(jump=1.0, step=1.0, flicker=0.0, least=0.0),
}


def walk_of(weeks: int) -> Walk:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(SIZE, STATE))
    columns -= columns.mean(axis=0)
    columns = columns.astype(np.float32).astype(np.float64)
    frequency = np.arange(1.0, STATE + 1)
    quiet = np.zeros(weeks)
    mean = np.full(SIZE, 1 / SIZE)
    return Walk(mean, columns, frequency, np.diag(1 / frequency), 0.02 / frequency, quiet, quiet)


@pytest.fixture(scope="module")
def errors() -> WalkErrors:
    """Five weeks, the second a gap, with a jump into the fourth and an odd fifth."""
    rng = np.random.default_rng(4)
    walk = walk_of(WEEKS)
    weeks: list[WeekErrors | None] = []
    for week in range(WEEKS):
        root = (rng.normal(size=(STATE, STATE)) * 4).astype(np.float32).astype(np.float64)
        pilot = rng.dirichlet(np.full(SIZE, 5))
        centers: Any = {kind: rng.dirichlet(np.full(SIZE, 5)) for kind in KINDS}
        weeks.append(None if week == 1 else WeekErrors(root, pilot, 300 + 40 * week, centers))
    jump, odd = np.array([0, 0, 0, 0.3, 0]), np.array([0, 0, 0, 0, 0.2])
    given: Any = KINDS
    return WalkErrors(
        walk.columns, walk.first, walk.step, walk.shape, jump, odd, 0.05, given, "m", tuple(weeks)
    )


def dense(errors: WalkErrors, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariance of all weeks' errors about their own people, by inverses.

    Of the masses: float64 [weeks, size, weeks, size]; and which weeks there are.
    """
    wider = errors.wider[kind]
    prior = np.zeros((WEEKS, STATE, WEEKS, STATE))
    steps = wider.step * errors.step + np.outer(wider.jump * errors.jump, errors.shape)
    steps += wider.least**2 * errors.shape
    for one in range(WEEKS):
        for two in range(WEEKS):
            passed = np.diag(steps[1 : min(one, two) + 1].sum(axis=0))
            prior[one, :, two] = wider.jump * errors.first + passed
        own = wider.jump * errors.odd[one] + wider.flicker * errors.flicker
        prior[one, :, one] += own * np.diag(errors.shape)
    flat = prior.reshape(WEEKS * STATE, -1)
    information = np.zeros_like(prior)
    for number, week in enumerate(errors.weeks):
        if week is not None:
            information[number, :, number] = week.root.T @ week.root
    after = np.linalg.inv(np.linalg.inv(flat) + information.reshape(flat.shape))
    after = after.reshape(prior.shape)
    there = [number for number, week in enumerate(errors.weeks) if week is not None]
    found = np.zeros((WEEKS, SIZE, WEEKS, SIZE))
    inverse = np.linalg.pinv(errors.columns)
    kept = {}
    for number in there:
        week = errors.weeks[number]
        assert week is not None
        drawn = (np.diag(week.pilot) - np.outer(week.pilot, week.pilot)) / week.reports
        seen = drawn @ inverse.T @ week.root.T @ week.root @ inverse
        kept[number] = (np.eye(SIZE) - seen) @ errors.columns
        found[number, :, number] += drawn - seen @ drawn
    for one in there:
        for two in there:
            found[one, :, two] += kept[one] @ after[one, :, two] @ kept[two].T
    return found, np.array(there)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_weeks_and_of_differences_are_those_of_the_dense_model(
    errors: WalkErrors, kind: Any
) -> None:
    expected, there = dense(errors, kind)
    for week in there.tolist():
        law = errors.law(week)
        assert law is not None
        found = law.about(kind, "empirical")
        assert found.noise.dense() == pytest.approx(expected[week, :, week], abs=2e-6)
        given = errors.weeks[week]
        assert given is not None
        assert np.array_equal(found.center, given.centers[kind])
        assert found.reports == given.reports
    for one, two in ((0, 2), (2, 3), (0, 4)):
        apart = errors.difference(one, two, np.full(SIZE, 1 / SIZE), 300)[kind]
        both = expected[one, :, one] + expected[two, :, two]
        both = both - expected[one, :, two] - expected[two, :, one]
        assert apart.noise.dense() == pytest.approx(both, abs=2e-6)
        assert apart.noise.dense() != pytest.approx(both + expected[one, :, two], abs=2e-4)
        first, second = errors.weeks[one], errors.weeks[two]
        assert first is not None and second is not None
        assert np.array_equal(apart.center, second.centers[kind] - first.centers[kind])
    assert errors.law(1) is None


def test_information_that_matters_is_kept_and_what_says_nothing_is_not() -> None:
    rng = np.random.default_rng(8)
    root = rng.normal(size=(4, 7))
    information = root.T @ root + 1e-7 * np.eye(7)
    kept = root_of(information, np.full(7, 2.0))
    assert kept.shape == (4, 7)
    assert kept.T @ kept == pytest.approx(information, abs=1e-5)
    # What may vary a thousand times as much is worth keeping.
    assert root_of(information, np.full(7, 2000.0)).shape == (7, 7)


def seen(
    steps: dict[int, float], *, odd: dict[int, float] | None = None
) -> list[PseudoMeasurement | None]:
    """Return looks at a state that stands still, but for steps of its first amplitude."""
    rng = np.random.default_rng(11)
    information = np.diag([400.0, 300, 200, 100, 50])
    found: list[PseudoMeasurement | None] = []
    state = np.zeros(STATE)
    for week in range(16):
        state[0] += steps.get(week, 0.0)
        here = state + np.array([(odd or {}).get(week, 0.0), 0, 0, 0, 0])
        noise = rng.normal(size=STATE) * np.sqrt(np.diag(information))
        found.append(
            None if week == 5 else PseudoMeasurement(information, information @ here + noise)
        )
    return found


def test_what_a_jump_gains_is_the_gain_of_the_evidence() -> None:
    looks = seen({}, odd={13: 0.8})
    quiet = replace(walk_of(16), step=np.full(STATE, 1e-5))
    before = quiet.evidence(looks)
    gains = _gains(quiet, looks)
    assert {odd for *_, odd in gains} == {True, False}
    for gain, week, level, odd in gains:
        levels = np.zeros(16)
        levels[week] = level
        more = replace(quiet, odd=levels) if odd else replace(quiet, jump=levels)
        assert more.evidence(looks) - before == pytest.approx(gain, abs=1e-6)
        assert level in JUMP_LEVELS


def test_jumps_are_added_where_they_are_and_nowhere_else() -> None:
    quiet = replace(walk_of(16), step=np.full(STATE, 1e-5))
    jumped = with_added_jumps(quiet, seen({9: 0.8}))
    assert np.flatnonzero(jumped.jump).tolist() == [9] and not jumped.odd.any()
    alone = with_added_jumps(quiet, seen({}, odd={11: 0.8}))
    assert np.flatnonzero(alone.odd).tolist() == [11] and not alone.jump.any()
    still = with_added_jumps(quiet, seen({}))
    assert not still.jump.any() and not still.odd.any()


def test_what_one_jump_explains_is_not_made_steps_of_all_weeks() -> None:
    # Fixed points alone find no jump here, and steps ten thousand times as large instead.
    walk, kept = _with_jumps(walk_of(16), seen({9: 0.4}))
    assert np.flatnonzero(walk.jump > 0.01).tolist() == np.flatnonzero(kept).tolist() == [9]
    assert walk.step[0] < 1e-4


def test_a_jump_that_won_its_price_is_as_large_as_it_is() -> None:
    here = np.arange(16) == 9
    quiet = replace(walk_of(16), step=np.full(STATE, 1e-5))
    jumped = replace(quiet, jump=np.where(here, 0.02, 0.0))
    fits = [
        refitted(jumped, seen({9: 0.3}), again=True, spectrum=False, kept=kept).jump[9]
        for kept in (here, ~here)
    ]
    # Of most evidence is what the squares say; one that must be stronger than noise is held back.
    assert fits[0] > 2 * fits[1]
    levels = [replace(quiet, jump=here * level) for level in (fits[0], 1.5 * fits[0], fits[0] / 2)]
    found, more, less = (level.evidence(seen({9: 0.3})) for level in levels)
    assert found > max(more, less)


def test_what_flickers_is_no_walk_and_what_walks_does_not_flicker() -> None:
    rng = np.random.default_rng(2)
    ups = {week: float(value) for week, value in enumerate(rng.normal(size=16) * 0.3)}
    _, flickers = _best_spectrum(walk_of(16), seen({}, odd=ups))
    assert flickers.flicker > 0.02 and flickers.step[0] < 0.01
    _, walks = _best_spectrum(walk_of(16), seen(ups))
    assert walks.flicker < walks.step[0] and walks.step[0] > 0.01
    _, still = _best_spectrum(walk_of(16), seen({}))
    assert still.flicker == 0.0 and still.step[0] < 1e-3
    # Of three weeks nobody can tell.
    assert _best_spectrum(walk_of(3), seen({}, odd=ups)[:3])[1].flicker == 0.0


def test_a_change_must_win_more_where_there_are_more_weeks() -> None:
    quiet = replace(walk_of(16), step=np.full(STATE, 1e-5))
    jumped = replace(quiet, jump=np.where(np.arange(16) == 9, 0.02, 0.0))
    for size, found in ((0.1, False), (0.12, True)):
        looks = seen({9: size})
        gained = jumped.evidence(looks) - quiet.evidence(looks)
        assert gained > PRICE
        assert (gained > PRICE + np.log(15)) == found
        assert [change.week for change in found_changes(jumped, looks)] == [9] * found


def test_more_weeks_than_memory_should_hold_are_refused() -> None:
    domain = lw.Interval(0, 1, bins=1024, outside="clip")
    _check_size(domain, 128)
    with pytest.raises(UnsupportedChannelError, match=r"at most 128 weeks .* got 129"):
        _check_size(domain, 129)
