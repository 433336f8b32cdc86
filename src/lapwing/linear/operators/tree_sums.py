"""Sums over the levels of a tree, and the tree nearest to estimates of all its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.operator import Operator


class TreeSums(Operator):
    """From the leaves of a tree to all its nodes: the root first, then level by level.

    Leaf i lies below node ``i * cells // leaves`` of a level of `cells` nodes, so the nodes of a
    level differ by at most one leaf. Shape [nodes, leaves], O(nodes) per product.

    Parameters
    ----------
    cells : sequence of int
        Nodes of every level, increasing, from the root (1) to the leaves.

    Raises
    ------
    ValueError
        When they do not increase from 1, or a node would lie across two of the level above. They
        never do while each number but the last divides the next.
    """

    def __init__(self, cells: Sequence[int]) -> None:
        self.cells = tuple(int(number) for number in cells)
        self.leaves = self.cells[-1]
        if self.cells[0] != 1 or any(b <= a for a, b in pairwise(self.cells)):
            raise ValueError(f"the levels of a tree must grow from 1 node, got {self.cells}")
        super().__init__((sum(self.cells), self.leaves))
        ends = np.cumsum(self.cells)
        self._slices = [slice(end - size, end) for end, size in zip(ends, self.cells, strict=True)]
        # The first leaf of node k is the first i with i * cells // leaves = k.
        first = [-(-np.arange(size) * self.leaves // size) for size in self.cells]
        self._children = []
        self._starts = []
        for upper, lower in pairwise(first):
            start = np.searchsorted(lower, upper)
            if not np.array_equal(lower[start], upper):
                raise ValueError(
                    f"every node must lie within one node of the level above, which those of "
                    f"{lower.size} under {upper.size} nodes do not"
                )
            children = np.diff(start, append=lower.size)
            even = children.min() == children.max()
            self._children.append(int(children[0]) if even else children)
            self._starts.append(start)

    def levels(self, nodes: Vector) -> list[Vector]:
        """Return a vector over all nodes as views of its levels, the root first."""
        return [nodes[part] for part in self._slices]

    def gather(self, level: int, values: Vector) -> Vector:
        """Return the sums over the children of each node of a level; values of the level below."""
        children = self._children[level]
        if isinstance(children, int):
            sums: Vector = np.einsum("ij...->i...", values.reshape(-1, children, *values.shape[1:]))
        else:
            sums = np.add.reduceat(values, self._starts[level], axis=0)
        return sums

    def spread(self, level: int, values: Vector) -> Vector:
        """Return the value of the parent of each node below a level."""
        return np.repeat(values, self._children[level], axis=0)

    def _matmat(self, x: Vector) -> Vector:
        sums = [x]
        for level in reversed(range(len(self._children))):
            sums.append(self.gather(level, sums[-1]))
        return np.concatenate(sums[::-1])

    def _rmatmat(self, r: Vector) -> Vector:
        parts = self.levels(r)
        above = parts[0]
        for level, part in enumerate(parts[1:]):
            above = self.spread(level, above) + part
        return above


class NearestTree:
    """Weighted least squares over trees whose nodes are the sums of their children.

    Made once for its weights; each :meth:`of` is one pass up and one down, O(nodes).

    Parameters
    ----------
    tree : TreeSums
    variance : numpy.ndarray
        float64 [nodes], positive and finite: of the independent estimate of each node. That of
        the root plays no part, because its value is given.

    Notes
    -----
    Up: the estimate of a node is averaged with the sum of its children, each by the inverse of
    its variance, and passed on. Down: what a node's final value leaves over is split among its
    children by their variances. Source: Hay et al. 2010, section 4, there with equal weights and
    without a given root.
    """

    def __init__(self, tree: TreeSums, variance: Vector) -> None:
        self.tree = tree
        own = tree.levels(variance)
        self._trust: list[Vector] = []
        self._part: list[Vector] = []
        below = own[-1]
        for level in reversed(range(len(own) - 1)):
            sums = tree.gather(level, below)
            self._part.append(below / tree.spread(level, sums))
            # The part of a node's own estimate in the average with the sum of its children.
            self._trust.append(sums / (sums + own[level]))
            below = own[level] * self._trust[-1]
        self._part.reverse()
        self._trust.reverse()

    def of(self, estimate: Vector, *, total: float = 1.0) -> Vector:
        """Return the nearest consistent tree with this root: float64 [nodes]."""
        tree = self.tree
        upward = tree.levels(estimate)
        sums: list[Vector] = [np.empty(0)] * (len(upward) - 1)
        for level in reversed(range(len(sums))):
            sums[level] = tree.gather(level, upward[level + 1])
            upward[level] = sums[level] + self._trust[level] * (upward[level] - sums[level])
        nearest = np.empty_like(estimate)
        downward = tree.levels(nearest)
        downward[0][:] = total
        for level, gathered in enumerate(sums):
            left_over = tree.spread(level, downward[level] - gathered)
            np.multiply(self._part[level], left_over, out=downward[level + 1])
            downward[level + 1] += upward[level + 1]
        return nearest
