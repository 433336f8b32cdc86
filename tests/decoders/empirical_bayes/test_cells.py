"""Cells of many symbols: sums, how a mass is spread, and what the reports say about them."""

import numpy as np

from lapwing.decoders.empirical_bayes.coarse_model import Cells

SIZE = 24
START = np.array([0, 4, 8, 9, 12, 16, 20])


def test_sums_and_spreads_are_those_of_one_matrix() -> None:
    rng = np.random.default_rng(1)
    mass = rng.uniform(0.1, 1, START.size)
    cells = Cells.of(START, SIZE).following(mass, np.ones(SIZE))
    matrix = cells.spread()
    assert np.allclose(matrix.sum(axis=0), 1) and (matrix >= 0).all()
    assert np.allclose(matrix @ mass, cells.of_symbols(mass))
    rows = rng.normal(size=(SIZE, 3))
    assert np.allclose(matrix.T @ rows, cells.averaged(rows))
    assert np.allclose(cells.along()[np.append(START[1:], SIZE) - 1], 1)
    assert np.allclose(cells.along(), np.cumsum(cells.share) - cells.cell)


def test_a_line_is_spread_as_a_line_but_at_its_ends() -> None:
    line = 1 + np.arange(SIZE) / 4
    cells = Cells.of(START, SIZE)
    found = cells.following(cells.total(line), np.ones(SIZE)).of_symbols(cells.total(line))
    assert np.allclose(found[4:20], line[4:20])
    assert np.allclose(found[:4], line[:4].mean()) and np.allclose(found[20:], line[20:].mean())


def test_no_cell_has_a_top_or_a_hole_that_its_mass_has_not() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        mass = rng.gamma(0.3, size=START.size)
        mass[rng.integers(START.size)] = 0
        found = Cells.of(START, SIZE).following(mass, np.ones(SIZE)).of_symbols(mass)
        assert np.allclose(np.add.reduceat(found, START), mass)
        assert found.min() >= 0
        density = mass / np.diff(np.append(START, SIZE))
        for number, (low, high) in enumerate(zip(START, np.append(START[1:], SIZE), strict=True)):
            near = density[max(number - 1, 0) : number + 2]
            inside = found[low:high]
            assert near.min() - 1e-12 <= inside.min() <= inside.max() <= near.max() + 1e-12
            if density[number] in (near.min(), near.max()):
                assert np.ptp(inside) < 1e-12


def test_symbols_that_stand_apart_end_a_slope_and_a_circle_has_no_ends() -> None:
    start = np.array([0, 4, 8, 9, 13, 17, 21])
    width = np.ones(25)
    width[8] = 0
    line = np.arange(1.0, 26.0)
    cells = Cells.of(start, 25)
    for alone in (500.0, 0.5):  # above and below both neighbors
        line[8] = alone
        mass = cells.total(line)
        found = cells.following(mass, width).of_symbols(mass)
        assert found[8] == alone
        assert np.allclose(found[4:8], line[4:8].mean())
        assert np.allclose(found[9:13], line[9:13].mean())
        assert not np.allclose(found[13:17], line[13:17].mean())
    even = Cells.of(np.arange(0, SIZE, 4), SIZE)
    mass = np.array([3.0, 2, 1, 2, 3, 4])
    turned = even.following(np.roll(mass, 2), np.ones(SIZE), circular=True)
    spread = even.following(mass, np.ones(SIZE), circular=True)
    assert np.allclose(np.roll(spread.share, 8), turned.share)
    assert not np.allclose(spread.share[:4], 0.25)
