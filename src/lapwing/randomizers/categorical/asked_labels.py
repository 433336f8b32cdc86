"""A few labels asked about individually and all others together: the design for their shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar

from lapwing.declared import From
from lapwing.errors import ArgumentError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.categorical.affine_subset_selection import MOST_CELLS
from lapwing.randomizers.categorical.own_cells import BITS, set_randomizer
from lapwing.randomizers.mixture import COIN, Component, Mixture, whole_shares


@dataclass(frozen=True)
class AskedLabels(Mixture[CountTally]):
    """Randomized response about a few labels, and about all labels for the other people.

    Public randomness determines who reports on what. Some people report which of the asked labels
    they have, or that they have another label. The others report on all labels. Both use
    randomized response or subset selection, whichever has less variance.

    Parameters
    ----------
    domain : Categories
        Domain of the values, with 3 to 2^16 categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    labels : sequence of int, optional
        Numbers of the asked categories in the domain, from 0, increasing. At least two categories
        must remain. Default: the first.
    share : float, optional
        Share of the people who report on the asked labels, in (0, 1]. With 1, only the sum of the
        other labels' shares is known. Default: 1.

    See Also
    --------
    SubsetSelection : All labels, none of which is singled out.

    Notes
    -----
    **Privacy.** The component does not depend on the value, and each component satisfies pure
    epsilon-local differential privacy. So the worst-case likelihood ratio is that of the worst
    component, which :meth:`certificate` states exactly.

    **Accuracy.** With one label the error of its share is about half that of subset selection on
    many labels. See the tables of `benchmarks/accuracy`.

    **Cost.** A report takes one byte more than the widest component, so 2 bytes for up to 8 asked
    labels alone, and at most 4.

    The mixture is this library's own design (`docs/papers/index.md`). Its components are randomized
    response [1]_ and subset selection [2]_.

    References
    ----------
    .. [1] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer
       bias", Journal of the American Statistical Association 60(309), 1965.
       doi:10.1080/01621459.1965.10480775
    .. [2] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally
       differential privacy", IEEE Transactions on Information Theory 64(8), 2018.
       doi:10.1109/TIT.2018.2809790

    Examples
    --------
    >>> import lapwing as lw
    >>> labels = lw.Categories(["bus", "car", "train", "walk"])
    >>> asked = lw.randomizers.AskedLabels(labels, epsilon=1, labels=[1])
    >>> asked.report_width, asked.certificate().holds
    (2, True)
    >>> reports = asked.randomize(["car"] * 14_000 + ["walk"] * 6000, rng=lw.seeded(1))
    >>> result = lw.LeastSquares().decode(asked.channel, asked.tally(reports))
    >>> round(result.share("car"), 1)
    0.7
    """

    domain: Annotated[Domain, domain_of("labels", least=3, most=MOST_CELLS)]
    _: KW_ONLY
    labels: Sequence[int] = (0,)
    share: Annotated[float, From(0, 1, without="least")] = 1.0

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Domain,
            epsilon: ExactNumber,
            *,
            labels: Sequence[int] = (0,),
            share: float = 1.0,
        ) -> None: ...

    name: ClassVar[str] = "asked-labels"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "mixture-prior"

    def _settle(self) -> None:
        """Read the labels."""
        object.__setattr__(self, "labels", _checked(self.labels, self.domain.size))

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """The component of the asked labels, and that of all labels if some people use it."""
        asked, size = tuple(self.labels), self.domain.size
        cells = set_randomizer(len(asked) + 1, self.epsilon, affine=len(asked) >= BITS)
        if self.share == 1:
            return (Component(cells, COIN, own=asked),)
        first, second = whole_shares([self.share, 1 - self.share])
        every = set_randomizer(size, self.epsilon, affine=size > BITS)
        return Component(cells, first, own=asked), Component(every, second)


def _checked(labels: Sequence[int], size: int) -> tuple[int, ...]:
    given = tuple(labels)
    if not all(0 <= label < size for label in given) or any(
        one >= other for one, other in pairwise(given)
    ):
        raise ArgumentError(
            f"labels must be whole numbers in 0..{size - 1} that increase, such as [0, 3]. They "
            "are the places of the asked labels in the domain"
        )
    if not 1 <= len(given) <= size - 2:
        raise ArgumentError(
            f"labels must name 1 to {size - 2} of the {size} categories, so that two are left, got "
            f"{len(given)}"
        )
    return given
