"""Square wave over pairs: report a box of cells, more likely one that contains your pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import AtLeastOne, Read
from lapwing.errors import ArgumentError, DomainError, kind_of
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.separable import Separable
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.domain import require_domain
from lapwing.protocol.domains.product import Product
from lapwing.randomizers.joint.axis_windows import AxisWindows, axis_windows
from lapwing.randomizers.two_level import TwoLevel

Widths = tuple[int | None, int | None]
"""Number of bins or labels in a window of each axis. None if the axis is not asked about."""


def require_product(domain: Any) -> Product:
    """Return the domain if it is a Product, else raise DomainError."""
    require_domain(domain)
    if not isinstance(domain, Product):
        raise DomainError(
            "domain",
            "must be a Product of two axes",
            kind_of(domain),
            "For example Product(delay=Interval(0, 60, bins=64), hour=Integers(0, 23))",
        )
    return domain


ProductField = Annotated[Product, Read(require_product)]
"""A field that holds a domain of pairs."""


@dataclass(frozen=True)
class BoxWave(TwoLevel):
    """Square-wave mechanism for pairs, after Li et al. (2020).

    A report is a box of cells, more likely one that contains the pair. On an ordered axis the
    boxes are windows of neighboring bins. On an axis of labels they are sets of labels. An axis
    that is left out makes the box a strip.

    Parameters
    ----------
    domain : Product
        Domain of the pairs, with two axes.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    widths : pair of int or None
        Number of bins in a window, or of labels in a set, on each axis, at least 1. None leaves an
        axis out. At least one must be a number.

    See Also
    --------
    MultiscaleBoxes : A mixture of boxes of several shapes, the default for pairs.

    Notes
    -----
    Let ``a`` outputs of the first axis cover the value's bin there, and ``b`` of the second. A
    report is one of these ``a b`` pairs of outputs with probability T / 2^64, and otherwise any
    other pair. On a line windows extend beyond both ends, so d bins have ``d + a - 1`` outputs. On
    a circle they wrap. Values outside the range and missing values have separate outputs, as many
    as a window has.

    **Privacy.** A report satisfies pure epsilon-local differential privacy. Every pair is covered
    by the same number of outputs, so an output is at most ``e^epsilon`` times as likely as for any
    other pair. The tests check it on all pairs of small axes.

    **Accuracy.** A single box loses the frequencies whose wavelengths divide its sides. A mixture
    of boxes of several shapes does not.

    **Cost.** A report takes two bytes up to 65,536 outputs, and three up to 2^24.

    The square wave of one attribute is from [1]_. Its extension to pairs is this library's own.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> pairs = lw.Product(x=lw.Integers(0, 7), y=lw.Integers(0, 7))
    >>> box = lw.randomizers.BoxWave(pairs, epsilon=1, widths=(3, 2))
    >>> box.report_width, box.certificate().holds
    (1, True)
    """

    domain: ProductField
    _: KW_ONLY
    widths: Sequence[AtLeastOne | None]

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self, domain: Product, epsilon: ExactNumber, *, widths: Sequence[int | None]
        ) -> None: ...

    name: ClassVar[str] = "box-wave"
    decoder: ClassVar[str] = "log-density-prior"
    _in_javascript: ClassVar[bool] = True

    def _settle(self) -> None:
        """Check that there is a width for each axis."""
        if len(self.widths) != 2 or self.widths == (None, None):
            raise ArgumentError(
                "widths",
                "must be a pair, one entry for each axis, not both None, such as (8, 16)",
                repr(self.widths),
            )

    @cached_property
    def _sides(self) -> tuple[AxisWindows, AxisWindows]:
        """The windows of both axes."""
        first, second = (
            axis_windows(axis, width, name=name)
            for (name, axis), width in zip(self.domain.axes.items(), self.widths, strict=True)
        )
        return first, second

    @cached_property
    def _near(self) -> int:
        first, second = self._sides
        return first.near * second.near

    @cached_property
    def _outputs(self) -> int:
        first, second = self._sides
        return first.outputs * second.outputs

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return output number `offset` of the box of a pair, or of what the box leaves out.

        Places count outputs of an axis with those that see the symbol first. What is left out is
        all of the rows beyond the near ones, then the rest of the near rows.
        """
        first, second = self._sides
        rows = point // self.domain.shape[1]
        if second.outputs == 1:  # a strip
            return first.locate(rows, offset + np.where(near, 0, first.near))
        columns = point - rows * self.domain.shape[1]
        if first.outputs == 1:
            return second.locate(columns, offset + np.where(near, 0, second.near))
        beyond = (first.outputs - first.near) * second.outputs
        # Of a near output, of one in a row beyond, of one beside in a near row.
        beside = offset - beyond
        rest = max(second.outputs - second.near, 1)
        in_rows = offset < beyond
        row = np.where(
            near,
            offset // second.near,
            np.where(in_rows, first.near + offset // second.outputs, beside // rest),
        )
        column = np.where(
            near,
            offset % second.near,
            np.where(in_rows, offset % second.outputs, second.near + beside % rest),
        )
        return first.locate(rows, row) * second.outputs + second.locate(columns, column)

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the box of their pair.

        The two sides are independent given the pair: first every column of people is spread along
        the first axis, then every row of that along the second.
        """
        first, second = self._sides
        table = people.reshape(self.domain.shape)
        along = np.column_stack([first.spread(column, rng) for column in table.T])
        return np.concatenate([second.spread(row, rng) for row in along])

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix that is `inside` on boxes."""
        first, second = self._sides
        return Separable(first.indicator, second.indicator, inside=inside, outside=outside)
