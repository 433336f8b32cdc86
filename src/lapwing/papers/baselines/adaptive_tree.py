"""AHEAD: a survey in rounds that divides only the cells where many people seem to be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError, DomainError, kind_of
from lapwing.linear.arrays import Matrix, Values, Vector, Whole
from lapwing.linear.projections import simplex
from lapwing.planning.simulation import simulate
from lapwing.privacy.exact_numbers import ExactNumber, check_whole, exact_epsilon
from lapwing.privacy.guarantee import Standing, weakest_standing
from lapwing.protocol.channels.channel import check_given
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain, bins_of
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
from lapwing.results.distribution import Distribution
from lapwing.results.joint_distribution import JointDistribution

Question = RandomizedResponse | OptimizedUnaryEncoding


@dataclass(eq=False)
class Node:
    """A cell of the tree: a range of symbols, or one of each of two axes.

    ranges: The symbols, on each axis.
    share: Estimated share of the people.
    answers: How many groups have answered about it. Infinite where it is known.
    """

    ranges: tuple[slice, ...]
    share: float = 0.0
    answers: float = 0.0
    children: list[Node] = field(default_factory=list)

    def leaves(self) -> Iterator[Node]:
        """Return the cells below that are not divided, from left to right."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def divide(self) -> None:
        """Divide the cell into halves along every axis where it has two symbols or more."""
        boxes: list[tuple[slice, ...]] = [()]
        for one in self.ranges:
            middle = (one.start + one.stop + 1) // 2
            halves = [slice(one.start, middle), slice(middle, one.stop)]
            boxes = [(*box, half) for box in boxes for half in halves if half.start < half.stop]
        if len(boxes) > 1:
            self.children = [Node(box) for box in boxes]

    def averaged(self) -> tuple[float, float]:
        """Return the share, averaged with the sum of the children by variance, and its variance."""
        variance = 1 / self.answers
        if not self.children:
            return self.share, variance
        shares, variances = zip(*(child.averaged() for child in self.children), strict=True)
        total, below = sum(shares), sum(variances)
        weight = below / (below + variance)
        return weight * self.share + (1 - weight) * total, weight * variance

    def fill(self, table: Matrix, total: float) -> None:
        """Write this total, divided among the cells below so that none is negative."""
        if not self.children:
            cells = table[self.ranges]
            cells[...] = total / cells.size
            return
        shares = np.array([child.averaged()[0] for child in self.children])
        shares += (total - shares.sum()) / shares.size
        divided = simplex(shares, total=total) if total > 0 else np.zeros(shares.size)
        for child, share in zip(self.children, divided, strict=True):
            child.fill(table, float(share))


class AdaptiveTree:
    """Adaptive hierarchical decomposition: AHEAD (Du et al., 2021), for one or two attributes.

    The people are divided into as many groups as the tree has levels. Each person in a group is
    asked which leaf of the tree contains their value. A new leaf with a large share is divided for
    the next group. So each group needs the answers of the previous one: it is a survey in rounds.

    Parameters
    ----------
    domain : Interval, Integers, or Product of two of these
        Domain of the values. All symbols must be bins: no values beyond the range, and none
        missing.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats.
    users : int
        Number of people in all groups together, at least 1.

    See Also
    --------
    lapwing.MultiscaleWave : The recommended randomizer of one attribute, in one round.
    lapwing.randomizers.MultiscaleBoxes : The recommended randomizer of two attributes.

    Notes
    -----
    **Privacy.** Each person sends one report, under pure epsilon-local differential privacy. The
    question that it answers depends only on the reports of others.

    **Accuracy.** See the benchmark page on pairs. There are no intervals.

    A leaf is divided if its share is at least ``sqrt((B + 1) V)``. B is the number of children, 2
    or 4, and V the variance of the share of an empty cell. Leaves that are not divided are asked
    again, and their estimates are averaged. In the end parents are averaged with their children by
    variance, and children are made consistent with their parent and not negative.

    The method is that of [1]_. It differs in one way: a small number of leaves is asked about by
    randomized response, if this has the smaller variance. The authors' code is not used.

    References
    ----------
    .. [1] L. Du, Z. Zhang, S. Bai, C. Liu, S. Ji, P. Cheng, J. Chen, "AHEAD: adaptive hierarchical
       decomposition for range query under local differential privacy", CCS, 2021.
       doi:10.1145/3460120.3485668

    Examples
    --------
    >>> import numpy as np
    >>> import lapwing as lw
    >>> ages = lw.Integers(0, 63, outside="clip")
    >>> tree = lw.papers.baselines.AdaptiveTree(ages, epsilon=2, users=60_000)
    >>> values = np.arange(60_000) % 20 + 20
    >>> for group in np.split(values, tree.rounds):
    ...     question = tree.question
    ...     reports = question.randomize(tree.leaves_of(group), rng=lw.seeded(1))
    ...     tree.add(question.tally(reports))
    >>> round(tree.decode().probability(20, 39), 1)
    1.0
    """

    def __init__(self, domain: Domain, epsilon: ExactNumber, *, users: int) -> None:
        axes = domain.domains if isinstance(domain, Product) else (domain,)
        for axis in axes:
            if not getattr(axis, "ordered", False) or bins_of(axis).size < axis.size:
                raise DomainError(
                    "an adaptive tree needs ordered values, all of them in bins, got "
                    f"{kind_of(axis)}. For example Interval(0, 60, bins=64, outside='clip')"
                )
        self.domain = domain
        self.epsilon = exact_epsilon(epsilon)
        self.users = check_whole("users", users, low=1)
        self.answered = 0
        self._shape = tuple(axis.size for axis in axes)
        self._reports = 0
        self._standing: Standing | None = None
        whole = tuple(slice(0, size) for size in self._shape)
        self._root = Node(whole, share=1.0, answers=math.inf)
        self._root.divide()
        if not self._root.children:
            raise DomainError("an adaptive tree needs at least two bins")

    @property
    def rounds(self) -> int:
        """Number of groups into which the people are divided: the levels of the whole tree."""
        return max((size - 1).bit_length() for size in self._shape)

    @property
    def question(self) -> Question:
        """The randomizer of the next group, over the numbers of the leaves."""
        return self._question(len(self._leaves()))

    def _question(self, leaves: int) -> Question:
        odds = math.exp(float(self.epsilon))
        kind = RandomizedResponse if leaves - 2 < 3 * odds else OptimizedUnaryEncoding
        return kind(Categories(leaves), self.epsilon)

    def _leaves(self) -> list[Node]:
        return list(self._root.leaves())

    def _leaf_of_symbol(self) -> Whole:
        found: Whole = np.empty(self._shape, dtype=np.int64)
        for number, leaf in enumerate(self._leaves()):
            found[leaf.ranges] = number
        return found.ravel()

    def leaves_of(self, values: Values) -> NDArray[np.int64]:
        """Return the leaf that contains each value, for the question to the next group.

        Parameters
        ----------
        values : array_like or mapping of str to array_like
            Values of the domain, with pairs as :meth:`Product.index` takes them.

        Returns
        -------
        numpy.ndarray
            Number of the leaf: int64 [n].
        """
        return self._leaf_of_symbol()[self.domain.index(values)]

    def add(self, tally: CountTally) -> None:
        """Take the answers of a group, and divide new leaves with large shares.

        Parameters
        ----------
        tally : CountTally
            Tally of reports of :attr:`question`.

        Raises
        ------
        ArgumentError
            When all groups have answered.
        MismatchError
            When the tally is from another question.
        TallyError
            When the tally has no reports.
        """
        if self.answered == self.rounds:
            raise ArgumentError(
                f"all {self.rounds} groups have answered. Call decode() for the result"
            )
        channel = self.question.channel
        check_given(channel, tally)
        (block,), (counts,) = channel.blocks, tally.blocks
        pair = block.operator.compound
        assert pair is not None  # both questions treat all leaves alike
        inside, outside = pair
        found = simplex((counts / tally.total - outside) / (inside - outside))
        for leaf, share in zip(self._leaves(), found, strict=True):
            leaf.share = (leaf.answers * leaf.share + float(share)) / (leaf.answers + 1)
            leaf.answers += 1
        self.answered += 1
        self._reports += tally.total
        self._standing = weakest_standing(self._standing, tally.standing)
        if self.answered < self.rounds:
            self._grow()

    def _grow(self) -> None:
        odds = math.exp(float(self.epsilon))
        variance = 4 * odds / (self.users / self.rounds * (odds - 1) ** 2)
        threshold = math.sqrt((2 ** len(self._shape) + 1) * variance)
        for leaf in self._leaves():
            # Asked once: a new one. Older ones were too small before, and stay as they are.
            if leaf.answers == 1 and leaf.share >= threshold:
                leaf.divide()

    def decode(self) -> Any:
        """Return the distribution that agrees with all answers so far.

        Returns
        -------
        Distribution or JointDistribution
            Estimate, without intervals.

        Raises
        ------
        ArgumentError
            When no group has answered.
        """
        if not self.answered:
            raise ArgumentError("no group has answered yet. Use question, leaves_of and add")
        table: Vector = np.zeros(self._shape)
        self._root.fill(table, 1.0)
        known = self.question.channel.guarantee
        kind: Any = JointDistribution if isinstance(self.domain, Product) else Distribution
        return kind(
            self.domain,
            table.ravel(),
            reports=self._reports,
            guarantee=known and known.marked(self._standing),
            provenance={"decoder": "adaptive-tree"},
        )

    def _counts(self, counts: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(counts).ravel()
        if given.size != self.domain.size or given.dtype.kind not in "iu" or (given < 0).any():
            raise ArgumentError(
                "counts",
                f"must be {self.domain.size} whole numbers of at least 0, one for each bin or cell",
                f"{given.size} of type {given.dtype}",
            )
        if given.sum() < self.rounds:
            raise ArgumentError(
                f"{self.rounds} rounds need at least as many people, got {int(given.sum())}"
            )
        return given.astype(np.int64)

    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator | int) -> Any:
        """Return the estimate that a population would give, after all rounds.

        Parameters
        ----------
        counts : array_like [domain.size]
            Number of people in each bin or cell.
        rng : numpy.random.Generator or int
            Generator or seed. Simulated people need no protection.

        Returns
        -------
        Distribution or JointDistribution
            Estimate from reports drawn with their exact joint distribution.
        """
        generator = np.random.default_rng(rng)
        left = self._counts(counts)
        people = int(left.sum())
        for number in range(self.rounds):
            size = people * (number + 1) // self.rounds - people * number // self.rounds
            group = generator.multivariate_hypergeometric(left, size, method="marginals")
            left -= group
            held = np.bincount(self._leaf_of_symbol(), weights=group).astype(np.int64)
            self.add(simulate(self.question, held, rng=generator))
        return self.decode()
