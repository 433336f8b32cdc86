"""Parts chosen for a column: that they follow from it, and that the predicted errors are true."""

import math
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.empirical_bayes.gaussian_model import quadratic_likelihood
from lapwing.planning.planned_parts import CurveRisk, bent, planned_parts, tables
from lapwing.planning.simulation import reference_column, simulated_errors
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave, default_mixture

LINE = lw.Interval(0, 1, bins=64, outside="clip")
SMOOTH = reference_column("smooth", size=64, number=3)
ATOMS = 0.4 * SMOOTH + 0.6 * np.eye(64)[[5, 20, 21, 50]].mean(axis=0)


def of_subsets(parts: Any) -> float:
    return math.fsum(share for kind, _, share in parts if kind != "wave")


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2, 4, 24])
def test_every_table_is_one_and_the_ladder_is_the_first(epsilon: float) -> None:
    compared = list(tables(epsilon))
    assert compared[0] == default_mixture(epsilon)
    assert len(set(compared)) == len(compared) > 10
    least = of_subsets(default_mixture(epsilon)) / 4
    for table in compared:
        assert math.fsum(share for _, _, share in table) == pytest.approx(1)
        assert min(share for _, _, share in table) > 0
        assert of_subsets(table) >= least - 1e-8, "what was not seen must still be found"


def test_a_bent_table_has_the_shares_and_widths_it_was_told() -> None:
    table = (("wave", 0.5, 0.3), ("wave", 1.0, 0.5), ("subset", 64, 0.2))
    bending = bent(table, subsets=0.5, narrow=1 / 3, widths=2)
    assert bending == (("wave", 1.0, 0.15), ("wave", 2.0, 0.75), ("subset", 64, 0.1))
    assert bent(table, subsets=1, narrow=0, widths=1)[0] == ("wave", 1.0, 0.8)


def test_a_smooth_column_gets_fewer_fine_bins_and_atoms_more() -> None:
    known = {"epsilon": 2, "users": 500_000}
    smooth = planned_parts(LINE, SMOOTH, **known)
    atoms = planned_parts(LINE, ATOMS, **known)
    usual = of_subsets(default_mixture(2))
    assert of_subsets(smooth) < 0.6 * usual
    assert of_subsets(atoms) > 0.99 * usual


def test_information_adds_up_over_parts_and_is_the_decoders() -> None:
    whole = MultiscaleWave(LINE, 2)
    risk = CurveRisk(LINE, SMOOTH)
    assert whole.components is not None
    parts = [
        share * risk.information(MultiscaleWave(LINE, 2, components=[(kind, size, 1.0)]).channel)
        for kind, size, share in whole.components
    ]
    found = risk.information(whole.channel)
    np.testing.assert_allclose(found, sum(parts), rtol=1e-6)
    people = np.full(64, 10**6)
    tally = lw.simulate(whole, people, rng=1)
    pilot = 0.95 * SMOOTH + 0.05 / 64
    seen, _ = quadratic_likelihood(whole.channel, tally, pilot)
    np.testing.assert_allclose(tally.total * found, seen, rtol=0.01)


def test_many_symbols_are_compared_on_few_cells() -> None:
    numbers = lw.Integers(0, 299, outside="clip")
    wave = MultiscaleWave(numbers, 2, components=[("wave", 1.0, 0.5), ("affine", 300, 0.5)])
    even = np.full(300, 1 / 300)
    found = CurveRisk(numbers, even).information(wave.channel)
    assert found.shape == (150, 150)
    # People who move from the first half to the second, seen in symbols and in cells of two.
    tally = lw.simulate(wave, np.full(300, 10**5), rng=1)
    seen, _ = quadratic_likelihood(wave.channel, tally, even)
    moved = np.where(np.arange(300) < 150, 1.0, -1.0)
    cells = moved.reshape(150, 2).sum(axis=1)
    assert tally.total * cells @ found @ cells == pytest.approx(moved @ seen @ moved, rel=0.01)
    # What stands apart is a cell of its own.
    apart = lw.Interval(0, 1, bins=300, atoms=(0.5,), outside="clip")
    wave = MultiscaleWave(apart, 2, components=[("wave", 1.0, 1.0)])
    assert len(CurveRisk(apart, np.full(301, 1 / 301)).information(wave.channel)) > 150


def test_predicted_errors_are_those_of_a_simulation() -> None:
    for mass, people in ((SMOOTH, 30_000), (ATOMS, 200_000)):
        wave = MultiscaleWave(LINE, 2)
        risk = CurveRisk(LINE, mass)
        information = people * risk.information(wave.channel)
        predicted = risk.errors(information, risk.prior(information), people=people)
        seen = simulated_errors(
            wave,
            lw.SpectralPrior(band=False),
            users=people,
            columns={"it": lambda _, mass=mass: mass},
            repeats=6,
            seed=4,
        )
        for found, distance in zip(predicted, ("wasserstein", "kolmogorov_smirnov"), strict=True):
            # A mean of 6 has a standard error of an eighth.
            assert 0.6 < found / np.mean(seen[distance]["it"]) < 1.6, (distance, people)


def test_reports_that_are_there_already_count() -> None:
    first = MultiscaleWave(LINE, 2)
    risk = CurveRisk(LINE, SMOOTH)
    one = risk.information(first.channel)
    prior = risk.prior(1000 * one)
    few, many = (risk.errors(n * one, prior, people=n) for n in (10_000, 90_000))
    assert many[0] < 0.6 * few[0] and many[1] < 0.6 * few[1]
    # Where millions have answered, a thousand more change nothing, and nothing is chosen for them.
    before = [(first.channel, 10**8)]
    assert planned_parts(LINE, SMOOTH, epsilon=2, users=100, before=before) == first.components


@pytest.mark.parametrize(("other", "leaves"), [((0.5, 0.99), 0), ((0.95, 0.96), 1)])
def test_both_errors_must_gain_and_all_people_are_counted(
    other: tuple[float, float], leaves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def errors(*_: Any, people: int) -> tuple[float, float]:
        asked.append(people)
        return (1.0, 1.0) if len(asked) <= 2 else other  # the ladder is asked twice

    few = lw.Integers(0, 7)
    first = MultiscaleWave(few, 2)
    monkeypatch.setattr(CurveRisk, "errors", errors)
    parts = planned_parts(
        few, np.full(8, 1 / 8), epsilon=2, users=300, before=[(first.channel, 50)]
    )
    assert (parts != first.components) == leaves
    assert set(asked) == {350}


@pytest.mark.parametrize("users", [1, 10**12])
@pytest.mark.parametrize("epsilon", [0.01, 24])
def test_hard_columns_and_ends_of_the_ranges(users: int, epsilon: float) -> None:
    few = lw.Integers(0, 7)
    apart = lw.Interval(0, 1, bins=40, atoms=(0, 0.5), missing="bin", outside="clip")
    for domain in (few, apart):
        for mass in (np.full(domain.size, 1 / domain.size), np.eye(domain.size)[0]):
            parts = planned_parts(domain, mass, epsilon=epsilon, users=users)
            made = MultiscaleWave(domain, epsilon, components=parts)
            assert made.certificate().holds and made.components == parts
