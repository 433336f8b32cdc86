"""The filter and the smoother beside one dense normal model of all weeks together."""

import numpy as np
import pytest

from lapwing.decoders.series.label_walk import _walk
from lapwing.linear.random_walk import (
    PseudoMeasurement,
    evidence_of,
    filtered,
    own_evidence,
    smoothed,
    without_own,
)
from lapwing.survey.watch import needed, verdict

STATE = 4


def looks(weeks: int, *, seed: int, gaps: tuple[int, ...] = ()) -> list[PseudoMeasurement | None]:
    """Weeks that each say something, of low rank, about the state."""
    rng = np.random.default_rng(seed)
    found: list[PseudoMeasurement | None] = []
    for week in range(weeks):
        root = rng.normal(size=(STATE, STATE - 1 + week % 2)) * 3
        look = PseudoMeasurement(root @ root.T, root @ rng.normal(size=root.shape[1]) * 2)
        found.append(None if week in gaps else look)
    return found


class Dense:
    """All weeks as one normal vector, solved by inverses: the textbook's way."""

    def __init__(
        self, seen: list[PseudoMeasurement | None], first: np.ndarray, steps: np.ndarray
    ) -> None:
        weeks = len(seen)
        size = weeks * STATE
        prior = np.zeros((size, size))
        for one in range(weeks):
            for two in range(weeks):
                shared = first + np.diag(steps[1 : min(one, two) + 1].sum(axis=0))
                prior[self.at(one), self.at(two)] = shared
        information, score = np.zeros((size, size)), np.zeros(size)
        for week, look in enumerate(seen):
            if look is not None:
                information[self.at(week), self.at(week)] = look.information
                score[self.at(week)] = look.score
        self.covariance = np.linalg.inv(np.linalg.inv(prior) + information)
        self.mean = self.covariance @ score
        self.evidence = float(score @ self.mean) / 2
        self.evidence -= np.linalg.slogdet(np.eye(size) + information @ prior)[1] / 2

    @staticmethod
    def at(week: int) -> slice:
        return slice(week * STATE, (week + 1) * STATE)


@pytest.fixture(scope="module")
def model() -> tuple[list[PseudoMeasurement | None], np.ndarray, np.ndarray]:
    """Seven weeks, two of them gaps, with steps that differ by week and direction."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(STATE, STATE))
    steps = rng.uniform(0.01, 0.5, size=(7, STATE))
    return looks(7, seed=6, gaps=(2, 5)), root @ root.T, steps


def test_smoothed_weeks_and_any_two_of_them_are_those_of_the_dense_model(
    model: tuple[list[PseudoMeasurement | None], np.ndarray, np.ndarray],
) -> None:
    seen, first, steps = model
    dense = Dense(seen, first, steps)
    after = smoothed(filtered(seen, first, steps))
    assert after.mean.ravel() == pytest.approx(dense.mean, abs=1e-8)
    for one in range(7):
        for two in range(one, 7):
            expected = dense.covariance[Dense.at(one), Dense.at(two)]
            assert after.between(one, two) == pytest.approx(expected, abs=1e-8)


def test_filtered_weeks_are_the_last_of_a_dense_model_of_those_so_far(
    model: tuple[list[PseudoMeasurement | None], np.ndarray, np.ndarray],
) -> None:
    seen, first, steps = model
    forward = filtered(seen, first, steps)
    for week in range(7):
        dense = Dense(seen[: week + 1], first, steps[: week + 1])
        assert forward.mean[week] == pytest.approx(dense.mean[-STATE:], abs=1e-8)
        last = dense.covariance[-STATE:, -STATE:]
        assert forward.covariance[week] == pytest.approx(last, abs=1e-8)


def test_the_evidence_is_that_of_the_dense_model_and_its_slope_is_the_score(
    model: tuple[list[PseudoMeasurement | None], np.ndarray, np.ndarray],
) -> None:
    seen, first, steps = model
    forward = filtered(seen, first, steps)
    assert forward.evidence == pytest.approx(Dense(seen, first, steps).evidence, abs=1e-8)
    assert evidence_of(seen, first, steps) == pytest.approx(forward.evidence, abs=1e-10)
    after = smoothed(forward)
    for week, place in ((1, 0), (3, 2), (6, 3)):
        raised, lowered = steps.copy(), steps.copy()
        raised[week, place] += 1e-5
        lowered[week, place] -= 1e-5
        slope = (evidence_of(seen, first, raised) - evidence_of(seen, first, lowered)) / 2e-5
        told = (after.score[week, place] ** 2 - after.precision[week, place, place]) / 2
        assert told == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_a_part_that_a_week_has_alone_is_integrated_out() -> None:
    (seen,) = looks(1, seed=2)
    assert seen is not None
    own, first = np.array([0.3, 0.0, 1.0, 0.2]), np.diag([1.0, 2.0, 0.5, 0.1])
    together = Dense([seen], first + np.diag(own), np.zeros((1, STATE)))
    told = evidence_of([without_own(seen, own)], first, np.zeros((1, STATE)))
    assert told + own_evidence(seen, own) == pytest.approx(together.evidence, abs=1e-10)


def test_labels_walk_as_the_dense_model_does() -> None:
    rng = np.random.default_rng(3)
    seen = [None if week == 2 else rng.normal(size=STATE) / 10 + 0.25 for week in range(5)]
    noise = [None if week == 2 else rng.uniform(0.001, 0.01, STATE) for week in range(5)]
    steps = rng.uniform(0.0005, 0.005, size=(5, STATE))
    found = _walk(seen, noise, steps)
    looked = [
        None
        if value is None or own is None
        else PseudoMeasurement(np.diag(1 / own), (value - 0.25) / own)
        for value, own in zip(seen, noise, strict=True)
    ]
    dense = Dense(looked, np.diag(np.full(STATE, 0.25)), steps)
    assert found.mean.ravel() - 0.25 == pytest.approx(dense.mean, abs=1e-8)
    apart, variance = found.apart(1, 4)
    assert apart == pytest.approx(dense.mean[-STATE:] - dense.mean[STATE : 2 * STATE], abs=1e-8)
    one, two = Dense.at(1), Dense.at(4)
    cross = 2 * np.diag(dense.covariance[one, two])
    both = np.diag(dense.covariance[one, one]) + np.diag(dense.covariance[two, two])
    assert variance == pytest.approx(both - cross, abs=1e-8)


def test_the_evidence_of_a_change_is_a_martingale_while_nothing_changes() -> None:
    """Its mean over the next week, given those before, is what it is: the bound needs no more."""
    rng = np.random.default_rng(4)
    shape = np.array([1.0, 0.25])
    information = np.array([[40.0, 10.0], [10.0, 25.0]])
    level_prior = 4.0 * np.eye(2)
    before = [PseudoMeasurement(information, rng.normal(size=2) * 5) for _ in range(3)]
    now = np.exp(verdict(before, shape).evidence)
    # The next score given the level's posterior, exactly: normal with this mean and covariance.
    posterior = np.linalg.inv(3 * information + np.linalg.inv(level_prior))
    mean = posterior @ np.sum([look.score for look in before], axis=0)
    spread = information + information @ posterior @ information
    points, weights = np.polynomial.hermite_e.hermegauss(24)
    root = np.linalg.cholesky(spread)
    total = 0.0
    for one, weight in zip(points, weights, strict=True):
        for two, other in zip(points, weights, strict=True):
            score = information @ mean + root @ np.array([one, two])
            following = verdict([*before, PseudoMeasurement(information, score)], shape).evidence
            total += weight * other * np.exp(following)
    assert total / (2 * np.pi) == pytest.approx(now, rel=1e-5)


def test_what_all_reports_together_may_be_false_with_is_alpha() -> None:
    spent = [np.exp(-needed(0.05, report)) for report in range(1, 20_001)]
    assert sum(spent) == pytest.approx(0.05, rel=1e-4)
    assert sum(spent) < 0.05
