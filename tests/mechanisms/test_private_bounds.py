"""Private bounds: steps, sensitivity by brute force, false alarms, and what they cost."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import Guarantee, Interval, seeded
from lapwing.errors import ArgumentError, BudgetError, MismatchError, PrivacyError
from lapwing.mechanisms import HistogramQuery
from lapwing.mechanisms.private_bounds import (
    LARGEST,
    SCALES,
    SMALLEST,
    STEPS,
    count_steps,
    edges,
    least_count,
    private_bounds,
    steps_of,
)
from lapwing.privacy import Ledger
from lapwing.privacy.integer_noise import Noise
from lapwing.protocol import ExactCounts
from tests.false_alarms import accepts, binomial_tail
from tests.mistaken import mistaken

STEADY = settings(deadline=None, max_examples=100, derandomize=True)
MOVED = {"neighbors": "replace-one", "epsilon": "0.5"}


@STEADY
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_value_is_in_its_step(value: float) -> None:
    step = int(steps_of([value])[0])
    low, high = edges(step)
    if abs(value) > 2.0**LARGEST:
        assert step == np.sign(value) * STEPS
    elif step == 0:
        assert low <= value <= high
    else:
        size = abs(value)
        assert min(abs(low), abs(high)) < size <= max(abs(low), abs(high))
        assert (value > 0) == (step > 0)


def test_powers_of_two_end_their_steps() -> None:
    powers = 2.0 ** np.arange(SMALLEST - 2, LARGEST + 3)
    expected = np.clip(np.arange(-2, STEPS + 3), 0, STEPS)
    assert steps_of(powers).tolist() == expected.tolist()
    assert steps_of(-powers).tolist() == (-expected).tolist()
    above = np.nextafter(powers, np.inf)
    assert steps_of(above).tolist() == np.clip(np.arange(-1, STEPS + 4), 0, STEPS).tolist()
    ends = steps_of([np.inf, -np.inf, 0.0, -0.0, None])
    assert ends[:4].tolist() == [STEPS, -STEPS, 0, 0] and np.isnan(ends[4])


@pytest.mark.parametrize("neighbors", ["replace-one", "add-or-remove-one"])
def test_no_row_changes_more_than_the_noise_hides(neighbors: str) -> None:
    kept = [0.0, 1e-9, 1.0, 1.5, -1.5, 1e300, np.inf, np.nan]
    query = HistogramQuery(2 * STEPS + 1).strategy_for(SCALES, "replace-one")

    def answers(values):
        return query.answers(count_steps(values).counts)

    seen = set()
    for first, second in product(kept, repeat=2):
        for other in kept:
            smaller = [first, second]
            larger = [first, other] if neighbors == "replace-one" else [first, second, other]
            apart = answers(smaller) - answers(larger)
            seen.add((int((apart**2).sum()), int(np.abs(apart).sum())))
    stated = query.sensitivity(neighbors)
    assert max(squared for squared, _ in seen) == stated.squared
    assert max(absolute for _, absolute in seen) == stated.absolute


@pytest.mark.parametrize(
    ("made", "low", "high"),
    [
        (lambda rng: rng.uniform(0.011, 0.03, 4000), 2**-7, 2**-5),
        (lambda rng: rng.uniform(-0.9, 0.9, 4000), -1, 1),
        (lambda rng: rng.integers(0, 100, 4000), 0, 128),
        (lambda rng: -rng.integers(0, 100, 4000), -128, 0),
        (lambda rng: rng.uniform(20_000, 400_000, 4000), 0, 2**19),
        (lambda rng: rng.uniform(3e15, 9e15, 4000), 2**51, 2**53),
        (lambda rng: -rng.uniform(2.1, 7.9, 4000), -8, -2),
        (lambda rng: -rng.uniform(1.1, 7.9, 4000), -8, 0),
        (lambda rng: np.zeros(4000), -(2**SMALLEST), 2**SMALLEST),
        # Three rows far out, and the missing, move nothing.
        (
            lambda rng: np.concatenate(
                [rng.uniform(2.1, 7.9, 4000), [1e12, -1e12, np.inf], np.full(3000, np.nan)]
            ),
            2,
            8,
        ),
    ],
)
@pytest.mark.parametrize("given_as", ["replace-one", "add-or-remove-one", "delta"])
def test_bounds_of_several_scales(made, low, high, given_as) -> None:
    values = made(np.random.default_rng(3))
    promise = {"neighbors": "replace-one", "epsilon": "0.5", "delta": "1e-5"}
    if given_as != "delta":
        promise = {"neighbors": given_as, "epsilon": "0.5"}
    found = private_bounds(values, **promise, rng=seeded(4))
    assert found.has_bounds and (found.low, found.high) == (low, high)
    Interval(found.low, found.high, bins=8)  # they make a domain


def test_too_few_rows_give_a_clear_answer_that_is_paid_for(tmp_path) -> None:
    file = Ledger.open(tmp_path / "budget.json")
    Ledger(Guarantee(Fraction(1), Fraction(0), "replace-one", "central")).save(file.path)
    found = private_bounds([1.0, 2.0, 3.0], **MOVED, ledger=file)
    assert not found.has_bounds and found.low is found.high is None
    assert found.loss.epsilon == Fraction(1, 2) == found.guarantee.epsilon
    entry = file.read().entries[0]
    assert (entry.name, entry.state, entry.cost) == ("bounds", "released", found.loss)
    assert entry.release == found.release.parts[0].identifier
    again = private_bounds(np.ones(5000), **MOVED, ledger=file.path, name="more")
    assert again.high == 1.0
    before = file.path.read_bytes()
    with pytest.raises(BudgetError, match="Nothing was spent"):
        private_bounds(np.ones(5000), **MOVED, ledger=file)
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("delta", ["0", "1e-3"])
def test_empty_steps_are_taken_as_rarely_as_it_says(delta: str) -> None:
    nobody = ExactCounts(SCALES, np.zeros(SCALES.size, dtype=np.int64))
    alarms = sum(
        private_bounds(nobody, **MOVED, delta=delta, confidence=0.8, rng=seeded(seed)).has_bounds
        for seed in range(500)
    )
    # Up to 0.2 by the union bound; P(any) is 1 - (1 - each)^165, at least .18.
    tail = binomial_tail(np.array([alarms]), np.array([500]), np.array([0.19]))
    assert accepts(tail)
    careless = binomial_tail(np.array([alarms]), np.array([500]), np.array([0.45]))
    assert not accepts(careless)


@pytest.mark.parametrize("noise", [Noise("laplace", Fraction(20)), Noise("normal", Fraction(9))])
def test_the_threshold_is_the_least(noise: Noise) -> None:
    k = np.arange(-4000, 4001)
    if noise.kind == "laplace":
        law = np.exp(-np.abs(k) / 20)
    else:
        from scipy import stats

        law = stats.norm.cdf((k + 0.5) / 9) - stats.norm.cdf((k - 0.5) / 9)
    law = law / law.sum()
    for alarms in (0.5, 0.05, 1e-3):
        least = least_count(noise, cells=100, false_alarms=alarms)
        assert 100 * law[k >= least].sum() <= alarms * (1 + 1e-9)
        assert 100 * law[k >= least - 1].sum() > alarms


def test_parts_of_a_column_add_up() -> None:
    values = np.random.default_rng(1).normal(size=1000)
    whole = count_steps(values)
    parts = sum(count_steps(part) for part in np.split(values, 4))
    assert np.array_equal(whole.counts, parts.counts)


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(PrivacyError, match="neighbors must be"):
        private_bounds([1.0], neighbors=mistaken("some"), epsilon=1)
    with pytest.raises(ArgumentError, match="confidence"):
        private_bounds([1.0], **MOVED, confidence=1)
    other = ExactCounts.of_values([1.0], Interval(0, 1, bins=4))
    with pytest.raises(MismatchError, match="count_steps"):
        private_bounds(other, **MOVED)
