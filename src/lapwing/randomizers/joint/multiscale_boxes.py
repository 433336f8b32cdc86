"""A mixture of boxes, strips and subsets of blocks: the default for pairs of two attributes.

A single box loses the frequencies whose wavelengths divide its sides, and boxes of other shapes
keep them. Strips and subsets of rows measure one attribute alone. At a small epsilon that is most
of what can be learned about a pair, and it finds the values that many people have.

Hybrid-dimensional grids (HDG, Yang et al., 2020) are such a mixture, with sizes by the paper's
guideline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.separable import ProductBlocks
from lapwing.privacy.exact_numbers import ExactNumber, check_whole, exact_epsilon
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.domains.domain import Domain, bin_range, bins_of, place_apart
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.affine_subset_selection import (
    MOST_CELLS,
)
from lapwing.randomizers.categorical.own_cells import BITS, set_randomizer
from lapwing.randomizers.joint.axis_windows import LARGEST_SET, too_many_sets
from lapwing.randomizers.joint.box_wave import BoxWave, ProductField, require_product
from lapwing.randomizers.mixture import COIN, Component, Mixture, component_groups

ALPHA_FINE, ALPHA_COARSE = 0.7, 0.03
"""The paper's guess of how uneven people are in a cell of one attribute, and in one of two."""


def guideline(users: int, epsilon: float, size: int) -> tuple[int, int]:
    """Return the paper's cells of the fine grids, and on each side of the coarse one.

    users: People in all three groups.
    size: Bins of an axis.
    returns: Powers of two of at least 2, and at most `size` or 2. The fine grid is not coarser than
        the coarse one.
    """
    group, odds = users / 3, math.exp(epsilon)
    fine = (group * (odds - 1) ** 2 * ALPHA_FINE**2 / (2 * odds)) ** (1 / 3)
    coarse = math.sqrt(2 * ALPHA_COARSE * (odds - 1) * math.sqrt(group / odds))
    sides = _power_of_two(coarse, size)
    return max(_power_of_two(fine, size), sides), sides


def block_sizes(users: int, epsilon: float, size: int) -> tuple[int, int]:
    """Return the bins in a block of the fine grid and of the coarse one, a multiple of it.

    users: People in all three groups.
    size: Bins of an axis.
    """
    cells, sides = guideline(users, epsilon, size)
    fine = max(round(size / cells), 1)
    return fine, fine * max(round(size / sides / fine), 1)


def _power_of_two(number: float, most: int) -> int:
    """Return the nearest power of two, the smaller one on a tie, from 2 to `most`."""
    powers = 2 ** np.arange(1, max(most.bit_length(), 2))
    return int(powers[np.argmin(np.abs(powers - number))])


Sizes = tuple[int | None, int | None]
"""Number of bins or labels on each axis. None if the axis is not asked about."""

Part = tuple[str, Sizes, float]
"""("box", sizes of the box, share) or ("blocks", sizes of a block, share)."""

Relative = tuple[str, float | None, float | None, float]
"""A component of a default mixture: the kind, two sizes in 64ths of an axis, and the share."""

_COARSE: tuple[Relative, ...] = (
    ("box", 21, None, 0.32),
    ("box", 12, None, 0.18),
    ("blocks", 0, None, 0.16),
    ("blocks", 16, 22, 0.18),
    ("blocks", 8, 32, 0.16),
)

ORDERED: dict[float, tuple[Relative, ...]] = {
    0.25: (
        ("box", 32, None, 0.34),
        ("box", 16, None, 0.18),
        ("blocks", 0, None, 0.14),
        ("blocks", 22, 22, 0.18),
        ("blocks", 16, 32, 0.16),
    ),
    0.5: _COARSE,
    1.0: _COARSE,
    2.0: (
        ("box", 32, 32, 0.27),
        ("box", 21, 32, 0.18),
        ("box", 8, None, 0.20),
        ("box", 11, None, 0.20),
        ("blocks", 0, None, 0.15),
    ),
    4.0: (
        ("box", 8, 32, 0.22),
        ("box", 5, 32, 0.18),
        ("box", 11, 21, 0.16),
        ("box", 16, 16, 0.10),
        ("box", 3, None, 0.17),
        ("blocks", 0, None, 0.17),
    ),
}
"""Default mixtures for two ordered axes, by epsilon."""
# Every part is there in both orders, at half its share. Sizes are 64ths of the axis, rounded, at
# least one bin. 0 is one bin. They minimize the worst exact risk over made-up tables: see the page
# of the mathematics of pairs.

MANY = 150_000
"""Number of people from which, at epsilon 1, finer blocks have less error than :data:`ORDERED`."""
# At other epsilons it is as many as have the same epsilon squared times people.

FINER: dict[float, tuple[Relative, ...]] = {
    1.0: (
        ("box", 21, None, 0.32),
        ("box", 12, None, 0.18),
        ("blocks", 0, None, 0.16),
        ("blocks", 16, 22, 0.17),
        ("blocks", 8, 8, 0.17),
    ),
}
"""Replacements for rows of :data:`ORDERED` when there are many people."""

LABELLED: dict[float, tuple[Relative, ...]] = {
    1.0: (
        ("box", 32, 32, 0.54),
        ("blocks", 0, None, 0.27),
        ("blocks", 0, 16, 0.19),
    ),
    4.0: (
        ("box", 0, 32, 0.44),
        ("box", 0, 24, 0.23),
        ("box", 0, 10, 0.20),
        ("blocks", 0, 0, 0.13),
    ),
}
"""Default mixtures for labels (first size) and an ordered axis (second size), by epsilon."""
# A set of labels has half of them, at most four.

_LEAST = 0.01
"""Interpolated shares below this are left out."""


def default_boxes(domain: Product, epsilon: float, *, users: int | None = None) -> tuple[Part, ...]:
    """Return the default mixture of a pair, with sizes in bins and labels.

    Between two rows of the table shares are linear in the logarithm of epsilon, over the parts of
    both rows. Below the first row and above the last one these are used.

    domain: At least one axis is ordered.
    epsilon: In (0, 24].
    users: Expected number of people, which must be public. Two ordered axes get finer blocks where
        there are many. Default: not many.
    returns: Shares sum to 1 within 1e-9.

    Raises ArgumentError when both axes are labels: then every randomizer of labels does.

    >>> from lapwing.protocol.domains.integers import Integers
    >>> pairs = Product(x=Integers(0, 63), y=Integers(0, 63))
    >>> default_boxes(pairs, 1)[:2]
    (('box', (21, None), 0.16), ('box', (None, 21), 0.16))
    """
    for name, axis in domain.axes.items():
        if axis.size == 1:
            raise ArgumentError(
                f"axis {name} has only one value, so it carries no information. Ask about the "
                "other axis alone"
            )
    labels = [not axis.ordered for axis in domain.domains]
    if all(labels):
        raise ArgumentError(
            "a mixture of boxes needs at least one ordered axis. For two axes of labels use a "
            "randomizer of labels, such as SubsetSelection"
        )
    table = LABELLED if any(labels) else ORDERED
    if users is not None and users * epsilon**2 >= MANY and table is ORDERED:
        table = ORDERED | FINER
    shares: dict[tuple[str, Sizes], float] = {}
    for (kind, one, other), share in _interpolated(table, epsilon).items():
        orders = [(one, other), (other, one)]
        if any(labels):
            # The first size is that of the labels, wherever they stand.
            orders = orders[:1] if labels[0] else orders[1:]
        for order in orders:
            key = (kind, _fitted(domain, order))
            shares[key] = shares.get(key, 0.0) + share / len(orders)
    total = math.fsum(shares.values())
    return tuple((kind, sizes, round(share / total, 9)) for (kind, sizes), share in shares.items())


def _interpolated(
    table: dict[float, tuple[Relative, ...]], epsilon: float
) -> dict[tuple[str, float | None, float | None], float]:
    nodes = sorted(table)
    place = math.log(min(max(epsilon, nodes[0]), nodes[-1]))
    sums: dict[tuple[str, float | None, float | None], float] = {}
    for number, node in enumerate(nodes):
        weights = np.zeros(len(nodes))
        weights[number] = 1.0
        weight = float(np.interp(place, np.log(nodes), weights))
        # The rows below 1 came later. Without weight they do not decide the order of the parts.
        for kind, one, other, share in table[node] if weight or node >= 1 else ():
            key = (kind, one, other)
            sums[key] = sums.get(key, 0.0) + round(weight * share, 4)
    return {key: share for key, share in sums.items() if share >= _LEAST}


def _fitted(domain: Product, order: tuple[float | None, float | None]) -> Sizes:
    """Return sizes in 64ths as bins and labels."""
    first, second = (
        None if size is None else _size(axis, size)
        for axis, size in zip(domain.domains, order, strict=True)
    )
    return first, second


def _size(axis: Domain, size: float) -> int:
    if axis.ordered:
        bins = bins_of(axis).size
        return min(max(round(size * bins / 64), 1), bins)
    members = min(max(round(size * axis.size / 64), 1), LARGEST_SET, axis.size - 1)
    while members > 1 and too_many_sets(axis.size, members):
        members -= 1
    return members


@dataclass(frozen=True)
class MultiscaleBoxes(Mixture[CountTally]):
    """Mixture of boxes, strips and subsets of blocks, for pairs of two attributes.

    Public randomness draws one component for each person. It is a box of cells (:class:`BoxWave`),
    a strip of one attribute alone, or subset selection on blocks of cells. A person sends one
    report. This is the default randomizer for pairs.

    Parameters
    ----------
    domain : Product
        Domain of the pairs, with two axes, at least one of them ordered.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    components : sequence of (kind, sizes, share), optional
        Mixture components, whose shares are positive and are divided by their sum. The kind
        ``"box"`` has windows of a and b bins, or sets of a or b labels: ``("box", (a, b),
        share)``. The kind ``"blocks"`` is subset selection on blocks of a times b neighboring
        cells. None in place of a size leaves the axis out. Default: from a table by epsilon. For
        many people :func:`lapwing.recommend` chooses finer blocks. The document of a survey lists
        the components, so a later, better table never changes a survey.

    See Also
    --------
    lapwing.decoders.LogDensityPrior : The recommended decoder.

    Notes
    -----
    **Privacy.** The component does not depend on the pair, and each component satisfies pure
    epsilon-local differential privacy. So the worst-case likelihood ratio is that of the worst
    component, which :meth:`certificate` states. The tests check it on all pairs of 5 x 4 bins.

    **Accuracy.** See the benchmark page on pairs.

    **Cost.** A report takes one byte more than the widest component: 3 to 4 bytes for 64 x 64
    cells.

    The mixture is this library's own design. Its components are the square wave [1]_ and subset
    selection [2]_.

    :meth:`hybrid_grids` makes the reports of HDG [3]_, for comparison.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    .. [2] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally
       differential privacy", IEEE Transactions on Information Theory 64(8), 2018.
       doi:10.1109/TIT.2018.2809790
    .. [3] J. Yang, T. Wang, N. Li, X. Cheng, S. Su, "Answering multi-dimensional range queries
       under local differential privacy", PVLDB 14(3), 2020. arXiv:2009.06538

    Examples
    --------
    >>> import lapwing as lw
    >>> pairs = lw.Product(x=lw.Integers(0, 63), y=lw.Integers(0, 63))
    >>> mixture = lw.randomizers.MultiscaleBoxes(pairs, epsilon=1)
    >>> len(mixture.groups), mixture.certificate().holds
    (10, True)
    """

    domain: ProductField
    _: KW_ONLY
    components: Sequence[Part] | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Product,
            epsilon: ExactNumber,
            *,
            components: Sequence[Part] | None = None,
        ) -> None: ...

    name: ClassVar[str] = "multiscale-boxes"
    decoder: ClassVar[str] = "log-density-prior"
    _in_javascript: ClassVar[bool] = True

    def _settle(self) -> None:
        """Choose the components, or read those that were passed."""
        components = self.components
        if components is None:
            components = default_boxes(self.domain, float(self.epsilon))
        object.__setattr__(self, "components", tuple(_component(row) for row in components))

    @classmethod
    def hybrid_grids(cls, domain: Product, epsilon: ExactNumber, *, users: int) -> Self:
        """Return the randomizer of HDG: each of three grids is used by a third of the people.

        Parameters
        ----------
        domain : Product
            Domain of the pairs, with two ordered axes.
        epsilon : int, float, str or Fraction
            Privacy parameter of one report, in (0, 24], in nats.
        users : int
            Expected number of people, at least 1. The sizes of the grids follow from this number
            and epsilon, by the paper's guideline.

        Returns
        -------
        MultiscaleBoxes
            Blocks of the first attribute, of the second, and of both. Decode the reports with
            HDG's own decoder, or with the default one.

        Raises
        ------
        ArgumentError
            When an axis has no order, or there are no users.
        """
        users = check_whole("users", users, low=1)
        domain = require_product(domain)
        if not all(axis.ordered for axis in domain.domains):
            raise ArgumentError(
                "hybrid grids need two ordered axes. Use MultiscaleBoxes(domain, epsilon) for "
                "an axis of labels"
            )
        nats = float(exact_epsilon(epsilon))
        (one, first), (other, second) = (
            block_sizes(users, nats, bins_of(axis).size) for axis in domain.domains
        )
        sizes: list[Sizes] = [(one, None), (None, other), (first, second)]
        return cls(domain, epsilon, components=[("blocks", each, 1 / 3) for each in sizes])

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """Mixture component of each group of people, in the order of the group numbers."""
        return component_groups(self.components or (), self._randomizer)

    def _randomizer(self, kind: str, sizes: Sizes) -> Randomizer:
        if kind == "box":
            return BoxWave(self.domain, self.epsilon, widths=sizes)
        first, second = (
            _number_of_blocks(axis, size)
            for axis, size in zip(self.domain.domains, sizes, strict=True)
        )
        cells = first * second
        if cells < 2:
            raise ArgumentError(
                "blocks", "must divide the cells into at least two", advice="Use smaller ones"
            )
        return set_randomizer(cells, self.epsilon, affine=BITS < cells <= MOST_CELLS)

    def _blocks(self, sizes: Sizes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the block of each symbol, on both axes."""
        first, second = (
            blocks_of(axis, size) for axis, size in zip(self.domain.domains, sizes, strict=True)
        )
        return first, second

    def _cells(self, group: int, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the block of each cell in a group, or the cell itself."""
        kind, sizes, _ = (self.components or ())[group]
        if kind == "box":
            return symbols
        first = symbols // self.domain.shape[1]
        places = (first, symbols - first * self.domain.shape[1])
        rows, columns = (
            _blocks_at(axis, size, at)
            for axis, size, at in zip(self.domain.domains, sizes, places, strict=True)
        )
        return rows * _number_of_blocks(self.domain.domains[1], sizes[1]) + columns

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each pair: the blocks of all components, on the cells."""
        found = []
        for (kind, sizes, _), component in zip(self.components or (), self.groups, strict=True):
            (block,) = component.randomizer.channel.blocks
            operator = block.operator
            if kind == "blocks":
                diagonal, off_diagonal = operator.compound or (0.0, 0.0)
                first, second = self._blocks(sizes)
                operator = ProductBlocks(first, second, inside=diagonal, outside=off_diagonal)
            found.append(Block(operator, block.law, component.share / COIN))
        return Channel(self.domain, found, self.fingerprint, self.guarantee)


def blocks_of(axis: Domain, size: int | None) -> NDArray[np.int64]:
    """Return the block of each symbol of an axis: int64 [symbols].

    size: Neighboring bins in a block. The last block may have fewer. A symbol that is no bin is a
        block of its own. None: all symbols are one block.
    """
    return _blocks_at(axis, size, np.arange(axis.size, dtype=np.int64))


def _blocks_at(axis: Domain, size: int | None, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    if size is None:
        return np.zeros_like(symbols)
    if symbols.size > axis.size:
        return blocks_of(axis, size)[symbols]
    bins = bin_range(axis)
    inside = (bins.start <= symbols) & (symbols < bins.stop)
    apart = -(-len(bins) // size) + place_apart(symbols, bins)
    return np.where(inside, (symbols - bins.start) // size, apart)


def _number_of_blocks(axis: Domain, size: int | None) -> int:
    bins = len(bin_range(axis))
    return 1 if size is None else -(-bins // size) + axis.size - bins


def _component(row: Any) -> Part:
    try:
        kind, (first, second), share = row
        share = float(share)
    except (TypeError, ValueError):
        raise ArgumentError("components", "must each be (kind, (size, size), share)") from None
    if kind not in ("box", "blocks"):
        raise ArgumentError(f"a component must be a 'box' or 'blocks', got {kind!r}")
    if not 0 < share <= 1:
        raise ArgumentError(f"the share of a component must be in (0, 1], got {share:g}")
    for size in (first, second):
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if size is not None and not (whole and size >= 1):
            raise ArgumentError(
                "the sizes of a component must be whole numbers of at least 1, or None for an axis "
                "that is not asked about"
            )
    return kind, (first, second), share
