"""A tree over the domain: each person reports their node at one level of it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lapwing.errors import DomainError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import ExactNumber, check_whole_field, exponential_bounds
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain, check_no_overflow, require_domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
from lapwing.randomizers.mixture import Component, Mixture, whole_shares

SIZES = (8, 16, 32, 64)
"""The numbers of bins that the papers compare."""


def least_variance_randomizer(
    domain: Domain, epsilon: Any
) -> RandomizedResponse | OptimizedUnaryEncoding:
    """Return the randomizer of less variance for a rare one of the domain's k symbols.

    That of randomized response grows with the symbols, ``(e^epsilon + k - 2) / (e^epsilon - 1)^2``
    per report; that of optimized unary encoding is ``4 e^epsilon / (e^epsilon - 1)^2``. They
    cross at ``k = 3 e^epsilon + 2``. Source: Wang et al. 2017; Li et al. 2020, section 2.1.
    """
    response = RandomizedResponse(domain, epsilon)
    if domain.size < 3 * exponential_bounds(response.epsilon)[0] + 2:
        return response
    return OptimizedUnaryEncoding(domain, epsilon)


def binned(
    domain: Interval, epsilon: Any, *, bins: int
) -> RandomizedResponse | OptimizedUnaryEncoding:
    """Return the randomizer of the papers' binning: few bins, and the one with less variance.

    Decode it with ``LeastSquares()``, which for both is Norm-Sub; the answer's CDF is
    linear inside a bin.

    Parameters
    ----------
    domain : Interval
        Its own number of bins does not matter; atoms and a missing bin stay symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    bins : int
        At least 2; 8, 16, 32 and 64 in the papers.

    Returns
    -------
    RandomizedResponse or OptimizedUnaryEncoding
        See :func:`least_variance_randomizer`.

    Notes
    -----
    **Accuracy.** Noise grows and the bias of wide bins falls with their number, and no number is
    good for all columns; here to be compared with. It is best by far where the bins happen to meet
    the edges of the data.

    Source: Li et al. 2020, section 4.1; Wang et al. 2017. Differs: unary encoding stands for
    local hashing, which has the same variance.

    Examples
    --------
    >>> ages = Interval(0, 120, bins=120, outside="clip")
    >>> [binned(ages, 1, bins=bins).name for bins in (8, 16)]
    ['randomized-response', 'optimized-unary-encoding']
    """
    if not isinstance(domain, Interval):
        raise DomainError(
            f"binning needs an Interval, got {type(domain).__name__}; give the range of the "
            "values as an Interval with as many bins as you want"
        )
    return least_variance_randomizer(domain.refined(bins), epsilon)


def level_sizes(size: int, branching: int) -> tuple[int, ...]:
    """Return the nodes of every level below the root of a balanced tree; the last are the leaves.

    Examples
    --------
    >>> level_sizes(64, 4), level_sizes(100, 4), level_sizes(3, 4)
    ((4, 16, 64), (4, 16, 64, 100), (3,))
    """
    sizes = []
    nodes = branching
    while nodes < size:
        sizes.append(nodes)
        nodes *= branching
    return (*sizes, size)


@dataclass(frozen=True)
class Hierarchical(Mixture[CountTally]):
    """Report the own node at one level of a tree, the level drawn uniformly by a public coin.

    Symbol s lies in node ``s * nodes // size`` of each level. Level l below the root has
    ``branching^l`` nodes, but for the last, which are the symbols. So when the size is no power
    of the branching, the empty leaves of the padded tree lie spread evenly over it and are left
    out: nodes of a level differ by at most one symbol, and none has more than `branching`
    children. The root is no level: that everybody is in it needs no report.

    Parameters
    ----------
    domain : Interval or Integers
        Of 2..2^24 symbols.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    branching : int
        At least 2: children of a node. From the size of the domain on, the tree is one level.

    Notes
    -----
    **Privacy.** The level does not depend on the value, and each level is randomized with the whole
    epsilon, by randomized response or by optimized unary encoding
    (:func:`least_variance_randomizer`); the worst ratio is that of the worst level. Checked by
    :meth:`certificate` and in `tests/randomizers/numerical/test_hierarchical.py` on the exact laws
    of all levels.

    **Accuracy.** A rare node has variance ``4 e^epsilon h / ((e^epsilon - 1)^2 n)`` or less, with h
    levels: people are split, so each level has 1 / h of them. A range is the sum of at most ``2
    (branching - 1) h`` nodes; :class:`lapwing.decoders.structured.tree_consistency.TreeConsistency`
    takes what the levels know about each other. Giving every level all people and epsilon / h
    instead is worse: for small epsilon by a factor of about h.

    **Cost.** One byte for the level, then as the widest level: ceil(size / 8) bytes where it is
    unary.

    Source: Li et al. 2020, section 4.2 (HH), after Hay et al. 2010 and Kulkarni et al. 2019.
    Differs: sizes that are no power of the branching; unary encoding in place of local
    hashing, which has the same variance and whose reports can be counted.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> tree = Hierarchical(Interval(0, 1, bins=64, outside="clip"), 1)
    >>> [group.randomizer.name for group in tree.groups]
    ['randomized-response', 'optimized-unary-encoding', 'optimized-unary-encoding']
    >>> tree.certificate().holds
    True
    """

    _: KW_ONLY
    branching: int = 4

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber, *, branching: int = 4) -> None: ...

    name: ClassVar[str] = "hierarchical"
    decoder: ClassVar[str] = "tree-consistency"

    def __post_init__(self) -> None:
        """Check the tree, then what all mixtures check."""
        require_domain(self.domain)
        if not self.domain.ordered or self.domain.size < 2:
            raise DomainError("a hierarchy needs an Interval or Integers of at least 2 symbols")
        check_whole_field(self, "branching", low=2)
        check_no_overflow(self.domain, name="a hierarchical histogram")
        super().__post_init__()

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """The levels, from the one below the root to the symbols."""
        sizes = level_sizes(self.domain.size, self.branching)
        shares = whole_shares([1 / len(sizes)] * len(sizes))
        return tuple(
            Component(least_variance_randomizer(Categories(cells), self.epsilon), share)
            for cells, share in zip(sizes, shares, strict=True)
        )
