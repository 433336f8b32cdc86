"""Adaptive trees: every level, the threshold, averages by variance, real reports, refusals."""

import math
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError, MismatchError, TallyError
from lapwing.papers.baselines import AdaptiveTree
from lapwing.papers.baselines.adaptive_tree import Node
from tests.mistaken import mistaken
from tests.rows import each

LINE = lw.Integers(0, 63, outside="clip")
UNEVEN = lw.Product(x=lw.Integers(0, 4), y=lw.Interval(0, 8.5, bins=9, outside="clip"))
STEEP = np.array([2.0 ** -min(n, 9) for n in range(45)])


@each(
    "domain",
    [lw.Integers(0, 44, outside="clip"), UNEVEN, lw.Interval(0, 45, bins=45, circular=True)],
)
def test_a_huge_epsilon_gives_the_table(domain: Any) -> None:
    people = np.rint(10**7 * STEEP / STEEP.sum()).astype(np.int64)
    tree = AdaptiveTree(domain, 20, users=int(people.sum()))
    found = tree.simulate(people, rng=1)
    assert found.mass == pytest.approx(people / people.sum(), abs=2e-3)
    assert found.mass != pytest.approx(people[::-1] / people.sum(), abs=2e-2)
    assert found.reports == people.sum()
    assert found.guarantee.epsilon == 20


def test_the_leaves_hold_every_value_once() -> None:
    tree = AdaptiveTree(UNEVEN, 4, users=100_000)
    rng = np.random.default_rng(1)
    people = rng.multinomial(100_000 // tree.rounds, STEEP / STEEP.sum())
    for _ in range(tree.rounds - 1):
        leaves = tree._leaf_of_symbol()
        assert np.unique(leaves).tolist() == list(range(tree.question.domain.size))
        held = np.bincount(leaves, weights=people).astype(np.int64)
        tree.add(lw.simulate(tree.question, held, rng=rng))
    values = [(x, y) for x in range(5) for y in (0.1, 8.4)]
    symbols = UNEVEN.index(values)
    assert tree.leaves_of(values).tolist() == tree._leaf_of_symbol()[symbols].tolist()


def answered(tree: AdaptiveTree, shares: np.ndarray, people: int) -> None:
    """Give the expected answers of people with these shares of the leaves."""
    channel = tree.question.channel
    (block,) = channel.blocks
    counts = np.rint(people * block.mean(shares)).astype(np.int64)
    if type(tree.question) is lw.RandomizedResponse:
        counts[0] += people - counts.sum()
    tree.add(lw.tallies.CountTally([counts], [people], channel.fingerprint))


@each("bins, children", [(64, 2), ((64, 64), 4)])
def test_a_leaf_is_divided_at_the_threshold(bins: Any, children: int) -> None:
    sizes = bins if isinstance(bins, tuple) else (bins,)
    axes = [lw.Integers(0, size - 1, outside="clip") for size in sizes]
    domain = axes[0] if len(axes) == 1 else lw.Product(x=axes[0], y=axes[1])
    users = 6_000_000
    odds = math.exp(1)
    threshold = math.sqrt((children + 1) * 4 * odds / (users / 6 * (odds - 1) ** 2))
    for share, divided in ((threshold - 1e-4, 1), (threshold + 1e-4, 2)):
        tree = AdaptiveTree(domain, 1, users=users)
        shares = np.full(children, share / (children - 1) if children == 2 else 0.0)
        shares[0], shares[-1] = 1 - share, share
        answered(tree, shares, 1_000_000)
        assert tree.question.domain.size == children + divided * (children - 1)


def test_only_new_leaves_are_divided() -> None:
    tree = AdaptiveTree(LINE, 1, users=6_000_000)
    answered(tree, np.array([1.0, 0.0]), 1_000_000)
    assert tree.question.domain.size == 3
    # The second half gets people now, too late: it was too small before.
    answered(tree, np.array([0.3, 0.0, 0.7]), 1_000_000)
    assert tree.question.domain.size == 4


def test_parents_are_averaged_with_their_children_by_variance() -> None:
    root = Node((slice(0, 4),), share=1.0, answers=math.inf)
    left, right = Node((slice(0, 2),), 0.6, 1), Node((slice(2, 4),), 0.4, 3)
    left.children = [Node((slice(0, 1),), 0.5, 2), Node((slice(1, 2),), 0.2, 2)]
    root.children = [left, right]
    # Left: .6 with variance 1, its children .7 with variance 1/2 + 1/2.
    assert left.averaged() == pytest.approx((0.65, 0.5))
    assert root.averaged() == pytest.approx((1.0, 0.0))
    table = np.zeros(4)
    root.fill(table, 1.0)
    # .65 and .4 are .05 too much, which both give back. Each child of the left one loses half.
    assert table == pytest.approx([0.4625, 0.1625, 0.1875, 0.1875])
    root.children[0].children[1].share = -0.9
    root.fill(table, 1.0)
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1)


def test_reports_of_people_give_what_a_simulation_gives() -> None:
    values = np.random.default_rng(3).binomial(63, 0.3, size=60_000)
    counts = np.bincount(values, minlength=64)

    def error(found: Any) -> float:
        return float(np.abs(np.cumsum(found.mass - counts / counts.sum())).mean())

    asked, simulated, moved = [], [], []
    for seed in range(8):
        tree = AdaptiveTree(LINE, 1, users=values.size)
        rng = lw.seeded(seed)
        for group in np.array_split(np.random.default_rng(seed).permutation(values), tree.rounds):
            tree.add(tree.question.tally(tree.question.randomize(tree.leaves_of(group), rng=rng)))
        asked.append(error(tree.decode()))
        other = AdaptiveTree(LINE, 1, users=values.size)
        simulated.append(error(other.simulate(counts, rng=seed)))
        moved.append(
            error(AdaptiveTree(LINE, 1, users=values.size).simulate(np.roll(counts, 5), rng=seed))
        )
    assert 0.4 < np.mean(asked) / np.mean(simulated) < 2.5
    assert np.mean(moved) > 2.5 * np.mean(simulated)


def test_an_answer_is_the_same_when_it_is_asked_again() -> None:
    tree = AdaptiveTree(LINE, 1, users=1_000)
    first = tree.simulate(np.arange(64), rng=1).mass
    assert (tree.decode().mass == first).all()
    assert AdaptiveTree(LINE, 1, users=1_000).simulate(np.arange(64), rng=2).mass.tolist() != (
        first.tolist()
    )


class TestRefusals:
    @each(
        "domain",
        [
            lw.Categories(["a", "b"]),
            lw.Interval(0, 9, bins=64),
            lw.Integers(0, 9, missing="bin"),
            lw.Product(x=LINE, y=lw.Categories(["a", "b"])),
        ],
    )
    def test_values_that_are_in_no_bin(self, domain: Any) -> None:
        with pytest.raises(DomainError, match="all of them in bins"):
            AdaptiveTree(domain, 1, users=100)

    def test_numbers_that_make_no_survey(self) -> None:
        with pytest.raises(ArgumentError, match="users"):
            AdaptiveTree(LINE, 1, users=0)
        with pytest.raises(lw.errors.PrivacyError):
            AdaptiveTree(LINE, 0, users=10)
        with pytest.raises(DomainError, match="at least two bins"):
            AdaptiveTree(lw.Integers(3, 3), 1, users=10)

    def test_answers_out_of_turn(self) -> None:
        tree = AdaptiveTree(LINE, 1, users=1_000)
        with pytest.raises(ArgumentError, match="no group has answered"):
            tree.decode()
        other = lw.RandomizedResponse(lw.Categories(5), 1)
        with pytest.raises(MismatchError):
            tree.add(mistaken(lw.simulate(other, np.full(5, 9), rng=1)))
        empty = lw.tallies.CountTally([np.zeros(2, int)], [0], tree.question.channel.fingerprint)
        with pytest.raises(TallyError):
            tree.add(empty)
        assert tree.answered == 0
        tree.simulate(np.arange(64), rng=1)
        with pytest.raises(ArgumentError, match="all 6 groups have answered"):
            tree.add(empty)
