"""Hybrid grids: exact without noise, consistency by least squares, the paper's sizes, refusals."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, UnsupportedChannelError, WeakAnswerWarning
from lapwing.papers.baselines import HybridGrids, hybrid_grids
from lapwing.papers.baselines.hybrid_grids import Grid, consistent, updated
from lapwing.randomizers import BoxWave, MultiscaleBoxes
from lapwing.randomizers.joint.multiscale_boxes import guideline
from lapwing.testing.decoder_contract import check_refusals, noiseless
from tests.mistaken import mistaken
from tests.rows import each

SQUARE = lw.Product(x=lw.Integers(0, 7), y=lw.Integers(0, 7))
RIDGE = np.exp(-((np.subtract.outer(np.arange(8), np.arange(8)) / 2.0) ** 2))
RIDGE /= RIDGE.sum()
BLOCKS = [("blocks", (2, None), 1), ("blocks", (None, 2), 1), ("blocks", (4, 4), 1)]


def cells_of(size: int, side: int) -> np.ndarray:
    """Return which of `side` equal cells of an axis holds each of its symbols: zeros and ones."""
    found: np.ndarray = np.repeat(np.eye(side), size // side, axis=1)
    return found


def grid_of(table: np.ndarray, first: int, second: int) -> Grid:
    """Return the shares of a table in a grid of so many cells."""
    rows, columns = cells_of(len(table), first), cells_of(len(table), second)
    return Grid(rows, columns, rows @ table @ columns.T)


def decoded(components: Any, mass: np.ndarray, domain: lw.Product = SQUARE) -> Any:
    """Return the answer to reports without noise."""
    channel = MultiscaleBoxes(domain, 4, components=components).channel
    return HybridGrids().decode(channel, noiseless(channel, mass.ravel(), people=10**9))


def test_a_grid_of_single_cells_gives_the_table() -> None:
    assert decoded([("blocks", (1, 1), 1)], RIDGE).table == pytest.approx(RIDGE, abs=1e-6)


def test_a_coarse_grid_spreads_people_evenly() -> None:
    table = decoded([("blocks", (4, 4), 1)], RIDGE).table
    coarse = RIDGE.reshape(2, 4, 2, 4).sum(axis=(1, 3))
    assert table == pytest.approx(np.kron(coarse / 16, np.ones((4, 4))), abs=1e-6)
    assert table != pytest.approx(RIDGE, abs=1e-3)


def test_grids_of_each_attribute_give_the_product() -> None:
    table = decoded([("blocks", (1, None), 1), ("blocks", (None, 1), 1)], RIDGE).table
    product = np.outer(RIDGE.sum(axis=1), RIDGE.sum(axis=0))
    assert table == pytest.approx(product, abs=1e-6)


def test_three_grids_agree_with_the_answer() -> None:
    found = decoded(BLOCKS, RIDGE)
    for first, second in ((4, 1), (1, 4), (2, 2)):
        wanted, got = (grid_of(table, first, second).shares for table in (RIDGE, found.table))
        assert got == pytest.approx(wanted, abs=1e-5)
    assert found.reports == pytest.approx(10**9)
    assert found.uncertainty is None


def test_values_outside_the_range_are_cells_of_their_own() -> None:
    domain = lw.Product(
        x=lw.Interval(0, 8, bins=8, outside="overflow"),
        y=lw.Interval(0, 8, bins=8, outside="clip"),
    )
    mass = np.zeros(domain.size)
    mass[domain.index([(9, 3.5), (1.5, 5.5)])] = 0.2, 0.8
    found = decoded(BLOCKS, mass, domain)
    assert found.probability(x=(8, float("inf"))) == pytest.approx(0.2, abs=1e-4)


class TestConsistency:
    def test_grids_that_agree_stay_as_they_are(self) -> None:
        grids = [grid_of(RIDGE, *sides) for sides in ((4, 1), (1, 8), (2, 2))]
        for before, after in zip(grids, consistent(grids), strict=True):
            assert after.shares == pytest.approx(before.shares, abs=1e-12)

    def test_sums_are_averaged_by_their_variance(self) -> None:
        # Cells of equal variance: least squares under the condition that both sums are equal.
        strip = Grid(cells_of(8, 8), cells_of(8, 1), np.full((8, 1), 1 / 8))
        table = np.array([[0.2, 0.2], [0.3, 0.3]])
        block = Grid(cells_of(8, 2), cells_of(8, 2), table)
        strip_after, block_after = consistent([strip, block])
        # The upper half holds .5 by 4 cells and .4 by 2 cells: together (.5 / 4 + .4 / 2) / .75.
        upper = (0.5 / 4 + 0.4 / 2) / 0.75
        assert strip_after.shares[:4].sum() == pytest.approx(upper)
        assert block_after.shares[0].sum() == pytest.approx(upper)
        assert strip_after.shares[:4] == pytest.approx(upper / 4)

    def test_it_brings_the_answer_nearer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        boxes = MultiscaleBoxes.hybrid_grids(SQUARE, 1, users=20_000)
        people = np.rint(20_000 * RIDGE).astype(int).ravel()
        tallies = [lw.simulate(boxes, people, rng=seed) for seed in range(30)]

        def error() -> float:
            tables = [HybridGrids().decode(boxes.channel, tally).mass for tally in tallies]
            return float(np.mean((np.array(tables) - RIDGE.ravel()) ** 2))

        with_rounds = error()
        monkeypatch.setattr(hybrid_grids, "CONSISTENCY_ROUNDS", 0)
        assert with_rounds < error()

    def test_cells_that_do_not_divide_each_other_are_refused(self) -> None:
        with pytest.raises(UnsupportedChannelError, match="multiples of each other"):
            decoded([("blocks", (3, None), 1), ("blocks", (2, 2), 1)], RIDGE)


class TestSizes:
    def test_they_follow_the_guideline(self) -> None:
        assert guideline(200_000, 1, 64) == (32, 4)
        assert guideline(200_000, 4, 64) == (64, 8)
        assert guideline(300, 0.1, 64) == (2, 2)
        assert guideline(10**9, 4, 3) == (2, 2)

    @each(
        "bins, epsilon, blocks",
        [(64, 1, (2, 16)), (64, 4, (1, 8)), (100, 1, (3, 24)), (5, 1, (1, 1)), (1, 1, None)],
    )
    def test_blocks_of_any_axis_divide_each_other(
        self, bins: int, epsilon: float, blocks: tuple[int, int] | None
    ) -> None:
        domain = lw.Product(
            x=lw.Integers(0, bins - 1, outside="clip"), y=lw.Integers(0, 63, outside="clip")
        )
        if blocks is None:
            with pytest.raises(ArgumentError):
                _ = MultiscaleBoxes.hybrid_grids(domain, epsilon, users=200_000).groups
            return
        boxes = MultiscaleBoxes.hybrid_grids(domain, epsilon, users=200_000)
        sizes = [one for _, one, _ in boxes.components or ()]
        assert (sizes[0][0], sizes[2][0]) == blocks
        assert boxes.certificate().holds
        tally = lw.simulate(boxes, np.full(domain.size, 100), rng=1)
        HybridGrids().decode(boxes.channel, tally)

    def test_labels_and_no_people_are_refused(self) -> None:
        labels = lw.Product(x=lw.Integers(0, 7), y=lw.Categories(["a", "b"]))
        with pytest.raises(ArgumentError, match="two ordered axes"):
            MultiscaleBoxes.hybrid_grids(labels, 1, users=100)
        with pytest.raises(ArgumentError, match="users"):
            MultiscaleBoxes.hybrid_grids(SQUARE, 1, users=0)
        with pytest.raises(lw.errors.DomainError, match="a Product"):
            MultiscaleBoxes.hybrid_grids(mistaken(lw.Integers(0, 7)), 1, users=100)


def test_boxes_and_single_attributes_are_refused() -> None:
    box = BoxWave(SQUARE, 1, widths=(3, 2))
    with pytest.raises(UnsupportedChannelError, match="overlapping boxes"):
        HybridGrids().decode(box.channel, lw.simulate(box, np.full(64, 9), rng=1))
    line = lw.SquareWave(lw.Integers(0, 9), 1)
    with pytest.raises(UnsupportedChannelError, match="a Product of two axes"):
        HybridGrids().decode(line.channel, lw.simulate(line, np.full(10, 9), rng=1))


def test_empty_and_foreign_tallies_are_refused() -> None:
    check_refusals(mistaken(HybridGrids()), MultiscaleBoxes(SQUARE, 1, components=BLOCKS).channel)


def test_a_grid_without_reports_is_left_out_with_a_warning() -> None:
    channel = MultiscaleBoxes(SQUARE, 4, components=BLOCKS).channel
    full = noiseless(channel, RIDGE.ravel(), people=10**9)
    empty = lw.tallies.CountTally(
        [*full.blocks[:2], 0 * full.blocks[2]], [*full.reports[:2], 0], full.fingerprint
    )
    with pytest.warns(WeakAnswerWarning, match="1 of the 3 grids"):
        table = mistaken(HybridGrids().decode(channel, empty)).table
    marginals = [np.repeat(RIDGE.sum(axis=a).reshape(4, 2).sum(axis=1) / 2, 2) for a in (1, 0)]
    assert table == pytest.approx(np.outer(*marginals), abs=1e-5)


def test_the_update_keeps_the_sum_when_a_grid_has_empty_cells() -> None:
    grid = Grid(np.eye(2), np.eye(2), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert updated([grid, grid], least=1e-9).tolist() == [[1.0, 0.0], [0.0, 0.0]]
