"""Pictures of results as plain data: what is to be seen, and nothing of how it is drawn.

A result makes them, :mod:`lapwing.results.plotting` draws them. So no result knows a drawing
library, drawing knows no result, and who draws by other means starts from here.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.text_values import Unit
from lapwing.results.atoms import expected_mass
from lapwing.results.band import Band, DifferenceBand
from lapwing.results.cumulative import Cumulative
from lapwing.results.symbols import values_of

BAR_LIMIT = 40
"""How many bars can be read; of more values the largest are shown."""

Role = Literal["estimate", "truth", "first", "second"]
"""What a line or a density stands for."""


@dataclass(frozen=True)
class Axis:
    """The line on which the values of an ordered domain lie.

    Parameters
    ----------
    low, high : float
        Its ends, in the numbers of the unit.
    unit : {"number", "date", "datetime", "time-of-day"}
    log : bool
        Whether equal ratios are equally far apart.
    atom_at_end : bool
        Whether one of the ends holds mass itself: a frame would hide it.
    """

    low: float
    high: float
    unit: Unit
    log: bool
    atom_at_end: bool

    @classmethod
    def of_domain(cls, domain: Domain) -> Axis:
        """Return the axis of a domain; DomainError when it is not ordered."""
        left, right = domain.left, domain.right
        log = isinstance(domain, Interval) and domain.scale == "log"
        at_end = left[0] == right[0] or left[-1] == right[-1]
        return cls(float(left[0]), float(right[-1]), domain.unit, log, bool(at_end))


@dataclass(frozen=True, eq=False)
class Line:
    """Points joined by a line: float64 [points] each. A step has two points at one x."""

    x: Vector
    y: Vector
    role: Role = "estimate"
    name: str = "estimate"

    @classmethod
    def of_cdf(cls, curve: Cumulative, role: Role = "estimate", name: str | None = None) -> Line:
        """Return the line of a CDF, through both ends of each piece."""
        x = np.column_stack([curve.left, curve.right]).ravel()
        y = np.column_stack([curve.sums - curve.mass, curve.sums]).ravel()
        return cls(x, y, role, role if name is None else name)


@dataclass(frozen=True, eq=False)
class Curves:
    """CDFs, or the difference of two, in their bands.

    Parameters
    ----------
    axis : Axis
    lines : tuple of Line
        The last on top.
    label : str
        What the heights are.
    bands : tuple of Band or DifferenceBand
        The last on top; at the low end of the axis they
        start from zero.
    stepped : bool
        Whether bands step where the lines do: for whole numbers and lone atoms.
    found : (numpy.ndarray, numpy.ndarray), optional
        x and y of marks: where a CDF ends its rise over a bin in which an atom was found.
    signed : bool
        Whether heights may be negative, as those of a difference.
    """

    size: ClassVar[tuple[float, float]] = (8, 3.5)
    """Width and height of a figure, in inches."""

    axis: Axis
    lines: tuple[Line, ...]
    _: KW_ONLY
    label: str = "P(value ≤ x)"
    bands: tuple[Band | DifferenceBand, ...] = ()
    stepped: bool = False
    found: tuple[Vector, Vector] | None = None
    signed: bool = False


_DENSITY_PER: dict[Unit, tuple[str, int]] = {
    "number": ("unit", 1),
    "date": ("day", 1),
    "datetime": ("day", 86_400),
    "time-of-day": ("hour", 3600),
}
"""The unit in which a density is shown, and how many units of the domain it holds."""


@dataclass(frozen=True, eq=False)
class Shape:
    """One density: bins by their heights, single values by their shares.

    Parameters
    ----------
    edges, heights : numpy.ndarray
        float64 [bins + 1] and [bins]; both empty where no bin has a width.
    points, shares : numpy.ndarray
        float64 [atoms] each: declared atoms, or whole numbers.
    found, excess : numpy.ndarray
        float64 [found atoms] each: the middles of their bins, and what these hold beyond what
        the bins around them suggest, which is left in `heights`.
    role : {"estimate", "truth"}
    """

    edges: Vector
    heights: Vector
    points: Vector
    shares: Vector
    found: Vector
    excess: Vector
    role: Role

    @classmethod
    def of_cdf(
        cls, curve: Cumulative, found: NDArray[np.int64], role: Role, *, unit: Unit, circular: bool
    ) -> Shape:
        """Return the density of a CDF; `found`: the bins in which atoms were found."""
        width = curve.right - curve.left
        wide = width > 0
        mass = curve.mass
        excess = mass[:0]
        if found.size:
            usual = expected_mass(mass, curve.left, curve.right, found, circular=circular)
            excess = mass[found] - usual
            mass = mass.copy()
            mass[found] = usual
        return cls(
            np.append(curve.left[wide], curve.right[wide][-1:]),
            _DENSITY_PER[unit][1] * mass[wide] / width[wide],
            curve.left[~wide],
            curve.mass[~wide],
            (curve.left + curve.right)[found] / 2,
            excess,
            role,
        )


@dataclass(frozen=True, eq=False)
class Densities:
    """A density, and perhaps the true one; shares of single values have heights of their own."""

    size: ClassVar[tuple[float, float]] = (8, 3.5)
    """Width and height of a figure, in inches."""

    axis: Axis
    shapes: tuple[Shape, ...]

    @property
    def label(self) -> str:
        """What the heights of the bins are."""
        return f"density, per {_DENSITY_PER[self.axis.unit][0]}"


@dataclass(frozen=True, eq=False)
class Bars:
    """Shares of labels, or differences of shares, the largest first.

    Parameters
    ----------
    values : list
        Whose bars they are: labels, or numbers; None for those who have none.
    heights : numpy.ndarray
        float64 [bars].
    intervals : (numpy.ndarray, numpy.ndarray), optional
        float64 [bars] each: their lower and upper ends.
    truth : numpy.ndarray, optional
        float64 [bars]: true shares.
    threshold : float, optional
        From which a share is listed.
    label : str
        What the heights are.
    title : str, optional
    signed : bool
        Whether heights may be negative, as those of a difference.
    size : (float, float)
        Width and height of a figure, in inches.
    """

    values: list[Any]
    heights: Vector
    _: KW_ONLY
    intervals: tuple[Vector, Vector] | None = None
    truth: Vector | None = None
    threshold: float | None = None
    label: str = "share"
    title: str | None = None
    signed: bool = False
    size: tuple[float, float] = (8, 4.5)

    @classmethod
    def of_symbols(
        cls,
        domain: Domain,
        heights: Vector,
        band: Band | DifferenceBand | None,
        *,
        truth: Vector | None = None,
        label: str = "share",
        signed: bool = False,
    ) -> Bars:
        """Return the bars of the largest symbols of a domain without order."""
        order = np.argsort(-np.abs(heights), kind="stable")[:BAR_LIMIT]
        title = f"the {order.size} largest of {domain.size} shares"
        return cls(
            values_of(domain, order),
            heights[order],
            intervals=None if band is None else (band.low[order], band.high[order]),
            truth=None if truth is None else truth[order],
            label=label,
            title=title if order.size < domain.size and not signed else None,
            signed=signed,
        )


Picture = Curves | Densities | Bars
