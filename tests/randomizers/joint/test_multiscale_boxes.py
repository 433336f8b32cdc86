"""Mixtures of boxes and blocks: the promise by brute force, default tables, blocks, refusals."""

import json
import math
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.separable import ProductBlocks, Separable
from lapwing.planning.simulation import simulate
from lapwing.randomizers import AffineSubsetSelection, BoxWave, MultiscaleBoxes
from lapwing.randomizers.joint.axis_windows import LARGEST_SET, MOST_SETS, bins_of
from lapwing.randomizers.joint.multiscale_boxes import (
    LABELLED,
    ORDERED,
    blocks_of,
    default_boxes,
)
from lapwing.randomizers.mixture import COIN
from lapwing.testing.randomizer_contract import (
    check_channel,
    check_document,
    check_promise,
    laws_of,
)
from tests.mistaken import mistaken
from tests.randomizers.joint.test_box_wave import APART, LABELS, LINES
from tests.rows import each

EPSILONS = (0.5, 1, 1.5, 2, 3, 4, 8)

CASES: dict[str, tuple[lw.Product, Any, list[Any]]] = {
    "every kind of part": (
        LINES,
        1,
        [
            ("box", (2, 2), 0.3),
            ("box", (None, 2), 0.2),
            ("blocks", (1, None), 0.2),
            ("blocks", (None, 2), 0.1),
            ("blocks", (2, 2), 0.2),
        ],
    ),
    "blocks that are sets": (LINES, "0.2", [("blocks", (1, None), 0.5), ("blocks", (3, 2), 0.5)]),
    "symbols apart, on a circle": (
        APART,
        2,
        [("box", (2, 3), 0.5), ("blocks", (None, 2), 0.25), ("box", (None, 2), 0.25)],
    ),
    "labels": (
        LABELS,
        1,
        [("box", (2, 2), 0.6), ("blocks", (1, None), 0.25), ("blocks", (3, 2), 0.15)],
    ),
}


def _mixture(name: str) -> MultiscaleBoxes:
    domain, epsilon, components = CASES[name]
    return MultiscaleBoxes(domain, epsilon, components=components)


@pytest.mark.parametrize("name", CASES)
def test_promise_channel_and_document_by_brute_force(name: str) -> None:
    mixture = _mixture(name)
    laws = laws_of(mixture)
    check_promise(mixture, laws)
    check_channel(mixture, laws)
    check_document(mixture)


def test_a_part_that_is_asked_about_the_wrong_cell_is_found() -> None:
    """The promise would hold, but the channel would be another one."""

    class Turned(MultiscaleBoxes):
        def _cells(self, group: int, symbols: Any) -> Any:
            return super()._cells(group, symbols[::-1] * 0 + (self.domain.size - 1 - symbols))

    domain, epsilon, components = CASES["blocks that are sets"]
    mixture = Turned(domain, epsilon, components=components)
    laws = laws_of(mixture)
    check_promise(mixture, laws)
    with pytest.raises(AssertionError, match="is not the distribution of the reports"):
        check_channel(mixture, laws)


@each("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "domain",
    [
        lw.Product(x=lw.Integers(0, 63, outside="clip"), y=lw.Integers(0, 63, outside="clip")),
        lw.Product(x=lw.Interval(0, 1, bins=5), y=lw.Interval(0, 1, bins=200)),
        lw.Product(
            x=lw.Interval(0, 1, bins=24, circular=True, missing="bin"),
            y=lw.Interval(0, 1, bins=7, outside="overflow"),
        ),
        lw.Product(x=lw.Categories(12), y=lw.Integers(0, 63, outside="clip")),
        lw.Product(x=lw.Integers(0, 9), y=lw.Categories(["yes", "no"])),
        lw.Product(x=lw.Categories(400), y=lw.Integers(0, 9)),
    ],
    ids=lambda one: " x ".join(map(str, one.shape)),
)
def test_default_mixtures_are_legal_at_every_epsilon(domain: lw.Product, epsilon: float) -> None:
    parts = default_boxes(domain, epsilon)
    assert math.fsum(share for _, _, share in parts) == pytest.approx(1, abs=1e-8)
    assert len({(kind, sizes) for kind, sizes, _ in parts}) == len(parts)
    for kind, sizes, share in parts:
        assert kind in ("box", "blocks") and share > 0.001 and sizes != (None, None)
        for size, axis in zip(sizes, domain.domains, strict=True):
            most = bins_of(axis).size if axis.ordered else axis.size - 1
            assert size is None or 1 <= size <= most
            if size is not None and not axis.ordered:
                assert size <= LARGEST_SET and math.comb(axis.size, size) <= MOST_SETS
    mixture = MultiscaleBoxes(domain, epsilon)
    assert mixture.components == parts
    assert sum(part.share for part in mixture.groups) == COIN
    assert all(part.randomizer.epsilon == mixture.epsilon for part in mixture.groups)
    assert mixture.certificate().holds and len(mixture.channel.blocks) == len(parts)


@each("table, labelled", [(ORDERED, False), (LABELLED, True)])
def test_rows_of_the_table_are_used_as_they_are(table: Any, labelled: bool) -> None:
    x: Any = lw.Categories(64) if labelled else lw.Integers(0, 63, outside="clip")
    domain = lw.Product(x=x, y=lw.Integers(0, 63, outside="clip"))
    for epsilon, rows in table.items():
        assert math.fsum(share for *_, share in rows) == pytest.approx(1, abs=1e-12)
        sums: dict[Any, float] = {}
        for kind, sizes, share in default_boxes(domain, epsilon):
            key = kind, frozenset(map(str, sizes))
            sums[key] = sums.get(key, 0.0) + share
        if labelled:
            continue
        for kind, one, other, share in rows:
            wanted = frozenset(str(size if size is None else max(size, 1)) for size in (one, other))
            assert sums[kind, wanted] == pytest.approx(share, abs=1e-8)


def test_sizes_are_64ths_of_the_bins_rounded() -> None:
    # At epsilon 1 strips of 21 and of 12 64ths, of 24 bins on x and of 200 on y.
    domain = lw.Product(
        x=lw.Interval(0, 24, bins=24, circular=True, missing="bin"),
        y=lw.Integers(0, 199, outside="clip"),
    )
    boxes = [sizes for kind, sizes, _ in default_boxes(domain, 1) if kind == "box"]
    assert boxes == [(8, None), (None, 66), (4, None), (None, 38)]
    small = lw.Product(x=lw.Integers(0, 1), y=lw.Integers(0, 2))
    assert {size for _, sizes, _ in default_boxes(small, 4) for size in sizes} <= {1, 2, None}


def test_both_orders_of_a_part_have_the_same_share_and_labels_come_first() -> None:
    square = lw.Product(x=lw.Integers(0, 63, outside="clip"), y=lw.Integers(0, 63, outside="clip"))
    shares = {(kind, sizes): share for kind, sizes, share in default_boxes(square, 3)}
    for (kind, (one, other)), share in shares.items():
        assert shares[kind, (other, one)] == pytest.approx(share, abs=1e-8)
    first = lw.Product(x=lw.Categories(8), y=lw.Integers(0, 63, outside="clip"))
    last = lw.Product(y=lw.Integers(0, 63, outside="clip"), x=lw.Categories(8))
    turned = [(kind, sizes[::-1], share) for kind, sizes, share in default_boxes(first, 2)]
    assert turned == list(default_boxes(last, 2))


@each("epsilon", [0.35, 1.5, 3])
def test_between_two_rows_shares_are_between_theirs(epsilon: float) -> None:
    square = lw.Product(x=lw.Integers(0, 63, outside="clip"), y=lw.Integers(0, 63, outside="clip"))
    nodes = (0.25, 0.5) if epsilon < 1 else (1, 2) if epsilon < 2 else (2, 4)
    weight = (math.log(epsilon) - math.log(nodes[0])) / (math.log(nodes[1]) - math.log(nodes[0]))
    both = [
        {(kind, sizes): share for kind, sizes, share in default_boxes(square, node)}
        for node in nodes
    ]
    for kind, sizes, share in default_boxes(square, epsilon):
        wanted = [shares.get((kind, sizes), 0.0) for shares in both]
        assert share == pytest.approx(wanted[0] * (1 - weight) + wanted[1] * weight, abs=2e-3)


@each("outer, row", [(0.1, 0.25), (8, 4), (24, 4)])
def test_beyond_the_table_its_last_row_is_used(outer: float, row: float) -> None:
    assert default_boxes(LINES, outer) == default_boxes(LINES, row)


def test_blocks_are_neighbors_and_symbols_apart_stand_alone() -> None:
    # Below, five bins, above, missing.
    assert blocks_of(APART.domains[0], 2).tolist() == [3, 0, 0, 1, 1, 2, 4, 5]
    assert blocks_of(APART.domains[0], 5).tolist() == [1, 0, 0, 0, 0, 0, 2, 3]
    assert blocks_of(APART.domains[1], 3).tolist() == [0, 0, 0, 1, 2]
    assert blocks_of(lw.Categories(5), 2).tolist() == [0, 0, 1, 1, 2]
    assert blocks_of(lw.Integers(0, 3), None).tolist() == [0, 0, 0, 0]


def test_blocks_of_the_channel_are_boxes_of_the_table() -> None:
    mixture = MultiscaleBoxes(LINES, 1, components=[("blocks", (2, 3), 1.0)])
    (block,) = mixture.channel.blocks
    assert isinstance(block.operator, ProductBlocks)
    matrix = dense(block.operator)
    table = np.arange(20).reshape(5, 4)
    for number, (rows, columns) in enumerate(
        (rows, columns)
        for rows in (slice(0, 2), slice(2, 4), slice(4, 5))
        for columns in (slice(0, 3), slice(3, 4))
    ):
        inside = np.zeros(20, dtype=bool)
        inside[table[rows, columns].ravel()] = True
        assert np.ptp(matrix[number, inside]) == 0 == np.ptp(matrix[number, ~inside])
        assert matrix[number, inside][0] > matrix[number, ~inside][0]


def test_parts_have_the_randomizer_that_suits_their_number_of_cells() -> None:
    wide = lw.Product(x=lw.Integers(0, 63, outside="clip"), y=lw.Integers(0, 63, outside="clip"))
    mixture = MultiscaleBoxes(wide, 1)
    kinds = {
        (kind, sizes): part.randomizer
        for (kind, sizes, _), part in zip(mixture.components or (), mixture.groups, strict=True)
    }
    assert isinstance(kinds["box", (21, None)], BoxWave)
    assert isinstance(kinds["blocks", (1, None)], AffineSubsetSelection | lw.SubsetSelection)
    assert kinds["blocks", (16, 22)].domain.size == 4 * 3
    high = MultiscaleBoxes(LINES, 8, components=[("blocks", (1, 1), 1.0)])
    assert isinstance(high.groups[0].randomizer, lw.RandomizedResponse)
    for block in mixture.channel.blocks:
        assert isinstance(block.operator, Separable)


def test_a_mixture_simulates_all_its_groups() -> None:
    mixture = MultiscaleBoxes(
        lw.Product(x=lw.Integers(0, 63, outside="clip"), y=lw.Integers(0, 63, outside="clip")), 1
    )
    people = np.random.default_rng(1).integers(0, 20, mixture.domain.size)
    tally = simulate(mixture, people, rng=1)
    assert tally.total == people.sum()
    mixture.channel.check(tally)
    for block, counts, reports in zip(
        mixture.channel.blocks, tally.blocks, tally.reports, strict=True
    ):
        assert reports == pytest.approx(block.share * people.sum(), abs=7 * people.sum() ** 0.5)
        mean = reports * block.mean(people / people.sum())
        assert np.abs(counts - mean).max() < 8 * np.sqrt(mean.max() + 1)


def test_the_document_spells_the_default_out() -> None:
    survey = lw.Survey("pair", MultiscaleBoxes(LABELS, "1.5"))
    document = json.loads(json.dumps(survey.to_document()))
    stated = document["randomizer"]["components"]
    assert len(stated) == len(default_boxes(LABELS, 1.5))
    assert lw.Survey.from_document(document) == survey
    mixture: Any = survey.randomizer
    explicit = replace(mixture, components=stated)
    assert explicit == mixture and explicit.fingerprint == mixture.fingerprint


WRONG: dict[str, tuple[Any, str]] = {
    "no row": ([3], "components must each be"),
    "two entries": ([("box", (1, 1))], "components must each be"),
    "one size": ([("box", 3, 1.0)], "components must each be"),
    "three sizes": ([("box", (1, 1, 1), 1.0)], "components must each be"),
    "a kind that is none": ([("wave", (1, 1), 1.0)], "a 'box' or 'blocks', got 'wave'"),
    "no share": ([("box", (1, 1), 0)], r"share of a component must be in \(0, 1\]"),
    "a share above one": ([("box", (1, 1), 1.5)], r"share of a component must be in \(0, 1\]"),
    "a share that is none": ([("box", (1, 1), "much")], "components must each be"),
    "no bins": ([("box", (0, 1), 1.0)], "whole numbers of at least 1"),
    "half a bin": ([("blocks", (1.5, 1), 1.0)], "whole numbers of at least 1"),
    "true": ([("blocks", (True, 1), 1.0)], "whole numbers of at least 1"),
    "asks nothing": (
        [("box", (None, None), 1.0)],
        "widths must be a pair.*, not both None",
    ),
    "one block": ([("blocks", (5, 4), 1.0)], "divide the cells into at least two"),
    "blocks of nothing": ([("blocks", (None, None), 1.0)], "divide the cells into at least two"),
    "a box wider than its axis": ([("box", (6, 1), 1.0)], "axis x must be a whole number from 1"),
}


@each("name", WRONG)
def test_wrong_components_are_refused(name: str) -> None:
    components, words = WRONG[name]
    with pytest.raises(ArgumentError, match=words):
        MultiscaleBoxes(LINES, 1, components=mistaken(components))


@each("components", [[], 3, "box", {"box": 1}])
def test_what_is_no_list_of_components_is_refused(components: Any) -> None:
    with pytest.raises(ArgumentError):
        MultiscaleBoxes(LINES, 1, components=mistaken(components))


def test_shares_are_divided_by_their_sum() -> None:
    mixture = MultiscaleBoxes(LINES, 1, components=[("box", (1, 1), 0.5), ("box", (2, 1), 0.4)])
    assert [part.share / COIN for part in mixture.groups] == pytest.approx([5 / 9, 4 / 9], abs=1e-9)


def test_two_axes_of_labels_and_other_domains_are_refused() -> None:
    both = lw.Product(a=lw.Categories(3), b=lw.Categories(4))
    with pytest.raises(ArgumentError, match="use a randomizer of labels, such as SubsetSelection"):
        MultiscaleBoxes(both, 1)
    with pytest.raises(DomainError, match="domain must be a Product"):
        MultiscaleBoxes(mistaken(lw.Integers(0, 3)), 1)


MOST_MEMORY = 50 * 2**20
"""Of a device, for a survey of pairs with as many components as there may be."""


@pytest.mark.parametrize(
    ("domain", "components"),
    [
        (
            lw.Product(x=lw.Integers(0, 3), y=lw.Integers(0, 2**18 - 1, outside="clip")),
            [(kind, (1, 1000 + n), 1) for n in range(127) for kind in ("box", "blocks")],
        ),
        (
            lw.Product(x=lw.Categories(100), y=lw.Integers(0, 649, outside="clip")),
            [("box", (2, 1 + n), 1) for n in range(255)],
        ),
        (
            lw.Product(x=lw.Categories(1024), y=lw.Integers(0, 1023, outside="clip")),
            [("box", (size, 1 + n), 1) for n in range(127) for size in (1, 1023)],
        ),
    ],
    ids=["long axis", "sets of two", "most sets"],
)
def test_many_components_share_what_they_need(domain: lw.Product, components: Any) -> None:
    tracemalloc.start()
    try:
        mixture = MultiscaleBoxes(domain, 1, components=components)
        survey = lw.Survey.from_json(lw.Survey("pairs", mixture).to_json())
        survey.randomize([(0, 0)] * 1000)  # with each component
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MOST_MEMORY
