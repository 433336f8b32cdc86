"""A tree over the domain: each person reports their node at one level of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from lapwing.declared import From
from lapwing.errors import DomainError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import ExactNumber, exponential_bounds
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain, bins_alone, domain_of
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
    """Return the randomizer of less variance for a rare one of the domain's k bins or categories.

    domain: Domain of the values, with k bins or categories.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: The better one of the two.

    The variance of randomized response is ``(e^epsilon + k - 2) / (e^epsilon - 1)^2`` for one
    report. That of optimized unary encoding is ``4 e^epsilon / (e^epsilon - 1)^2``. They are equal
    at ``k = 3 e^epsilon + 2`` [1]_.

    .. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for
       frequency estimation", USENIX Security, 2017.
    """
    response = RandomizedResponse(domain, epsilon)
    if domain.size < 3 * exponential_bounds(response.epsilon)[0] + 2:
        return response
    return OptimizedUnaryEncoding(domain, epsilon)


def binned(
    domain: Interval, epsilon: Any, *, bins: int
) -> RandomizedResponse | OptimizedUnaryEncoding:
    """Return the randomizer of the papers' binning: few bins, and the one of less variance.

    Decode it with ``LeastSquares()``, which for both is Norm-Sub. The CDF is then linear inside a
    bin.

    domain: Domain of the values. Its own number of bins does not matter. Atoms and a missing bin
        stay.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    bins: Number of bins, at least 2. The papers take 8, 16, 32 and 64.
    returns: The better one of the two, see :func:`least_variance_randomizer`.

    **Accuracy.** With more bins the noise grows and the bias of wide bins falls, so no number is
    good for all columns. It is here to be compared with. It is best by far where the bins happen to
    meet the edges of the data.

    The method is that of section 4.1 of [1]_. It differs in that unary encoding replaces local
    hashing, which has the same variance [2]_.

    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    .. [2] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for
       frequency estimation", USENIX Security, 2017.

    >>> ages = Interval(0, 120, bins=120, outside="clip")
    >>> [binned(ages, 1, bins=bins).name for bins in (8, 16)]
    ['randomized-response', 'optimized-unary-encoding']
    """
    if not isinstance(domain, Interval):
        raise DomainError(
            f"binning needs an Interval, got {type(domain).__name__}. Give the range of the "
            "values as an Interval with as many bins as you want"
        )
    return least_variance_randomizer(domain.refined(bins), epsilon)


def level_sizes(size: int, branching: int) -> tuple[int, ...]:
    """Return the nodes of every level below the root of a balanced tree. The last are the leaves.

    size: Number of leaves, at least 2.
    branching: Most children of a node, at least 2.
    returns: Number of nodes of each level, increasing.

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
    """Hierarchical histogram, HH (Cormode et al., 2019).

    A report is the person's node at one level of a tree over the domain. Public randomness draws
    the level, each with the same probability.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, with 2 to 2^24 bins.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    branching : int
        Most children of a node, at least 2. If it is at least the number of bins, the tree has one
        level. Default: 4.

    See Also
    --------
    lapwing.papers.square_wave.TreeConsistency : The decoder that makes the levels agree.

    Notes
    -----
    Bin s lies in node ``s * nodes // size`` of each level. Level l below the root has
    ``branching^l`` nodes, and the last level has the bins. When the size is not a power of the
    branching, the empty leaves of the padded tree are spread evenly over it and left out. Then
    nodes of a level differ by at most one bin, and none has more than `branching` children. The
    root is not a level, because everybody is in it.

    **Privacy.** The level does not depend on the value. Each level is randomized with the whole
    epsilon, by randomized response or by optimized unary encoding, whichever has less variance. The
    worst-case likelihood ratio is that of the worst level. :meth:`certificate` states it, and the
    tests check it on the exact distributions of all levels.

    **Accuracy.** With h levels, a rare node has variance ``4 e^epsilon h / ((e^epsilon - 1)^2 n)``
    or less, because each level has 1 / h of the people. A range is the sum of at most
    ``2 (branching - 1) h`` nodes. :class:`lapwing.papers.square_wave.TreeConsistency` combines the
    levels. Giving all people every level with epsilon / h is worse: for small epsilon by a factor
    of about h.

    **Cost.** A report takes one byte for the level and the bytes of the widest level. That is
    ``ceil(size / 8)`` if the last level is unary.

    The method is that of section 4.2 of [1]_, after [2]_ and [3]_. It differs in two ways. Sizes
    need not be powers of the branching. Unary encoding replaces local hashing: it has the same
    variance, and its reports can be counted.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    .. [2] G. Cormode, T. Kulkarni, D. Srivastava, "Answering range queries under local differential
       privacy", Proceedings of the VLDB Endowment 12(10), 2019. doi:10.14778/3339490.3339496
    .. [3] M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the accuracy of differentially private
       histograms through consistency", Proceedings of the VLDB Endowment 3(1), 2010.
       doi:10.14778/1920841.1920970

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 64, bins=64, outside="clip")
    >>> tree = lw.papers.square_wave.Hierarchical(domain, epsilon=1)
    >>> [group.randomizer.name for group in tree.groups]
    ['randomized-response', 'optimized-unary-encoding', 'optimized-unary-encoding']
    >>> tree.certificate().holds
    True
    >>> ages = list(range(20, 60)) * 500  # half of them below 40
    >>> tally = tree.tally(tree.randomize(ages, rng=lw.seeded(1)))
    >>> round(float(lw.papers.square_wave.TreeConsistency().decode(tree.channel, tally).cdf(40)), 1)
    0.5
    """

    domain: Annotated[Domain, domain_of("numbers", bins_alone)]
    _: KW_ONLY
    branching: Annotated[int, From(2)] = 4

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Domain, epsilon: ExactNumber, *, branching: int = 4) -> None: ...

    name: ClassVar[str] = "hierarchical"
    decoder: ClassVar[str] = "tree-consistency"
    _decoder_settings: ClassVar[Mapping[str, Any]] = MappingProxyType({"method": "admm"})
    _in_javascript: ClassVar[bool] = True

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """Randomizer of each level, from the one below the root to the bins."""
        sizes = level_sizes(self.domain.size, self.branching)
        shares = whole_shares([1 / len(sizes)] * len(sizes))
        return tuple(
            Component(least_variance_randomizer(Categories(cells), self.epsilon), share)
            for cells, share in zip(sizes, shares, strict=True)
        )
