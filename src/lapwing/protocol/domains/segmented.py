"""Segments times bins: the domain of a table that is released by segment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import Later
from lapwing.errors import DomainError
from lapwing.linear.arrays import declared_repr
from lapwing.linear.memoized import cached_property
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import MAXIMUM_BINS, DomainField
from lapwing.protocol.domains.label_text import compared_label, compared_text
from lapwing.protocol.domains.units import to_text
from lapwing.protocol.domains.unordered import Unordered

NO_SEGMENT = "(no segment)"
"""How the cells of rows without a listed segment are called."""


@dataclass(frozen=True)
class Segmented(Unordered):
    """Product domain of public segments and values: the cells of a table.

    A person has a value, and is in one of the segments.

    Parameters
    ----------
    domain : Interval, Integers or Categories
        Domain of the values.
    segments : sequence of str or int
        Labels of the segments, all different even as strings. They are public, so they must not
        come from the data. The string "1.0" is not the label 1, unlike the name of a unit, because
        treating two segments as one would give a wrong result. Rows in none of them have separate
        cells, after the others.

    Notes
    -----
    Cell ``s * domain.size + i`` is bin i in segment s. There is no missing bin, because a missing
    value has a cell in each segment.

    **Privacy.** The domain is public, and reveals nothing about the data if its segments do not
    come from them.

    **Cost.** It has ``domain.size`` cells for each segment, and as many for no segment.

    Examples
    --------
    >>> import lapwing as lw
    >>> table = lw.protocol.Segmented(lw.Categories(["yes", "no"]), ["north", "south"])
    >>> table.size, table.listed[3]
    (6, 'south / no')
    """

    domain: DomainField
    segments: Annotated[Sequence[str | int], Later]

    name: ClassVar[str] = "segmented"
    """Name of its class in documents."""

    __repr__ = declared_repr

    def __post_init__(self) -> None:
        """Check the segments, and that there are not too many cells."""
        super().__post_init__()
        if isinstance(self.domain, Segmented) or isinstance(self.segments, int | np.integer):
            raise DomainError("segments", "must be a list of labels, of a domain without segments")
        object.__setattr__(self, "segments", self.segmentation.listed)
        if self.size > MAXIMUM_BINS:
            raise DomainError(
                f"segments times symbols must be at most {MAXIMUM_BINS}, got {self.size}"
            )

    @cached_property
    def segmentation(self) -> Categories:
        """The segments as a separate domain, where a value in none of them is missing."""
        return Categories(self.segments, missing="category")

    @property
    def missing_index(self) -> None:
        """Always None, because each segment has a cell for a missing value."""
        return None

    @property
    def left(self) -> NDArray[np.float64]:
        """Refused: the cells of all segments have no common order."""
        raise DomainError(
            "a table by segment has no CDF, quantile or mean of its own. Ask one segment, for "
            "example published.by_segment()['north']"
        )

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.segmentation.size * self.domain.size

    @cached_property
    def listed(self) -> Sequence[str | int]:
        """Names of the cells."""
        segments = [*self.segmentation.listed, NO_SEGMENT]
        return [f"{one} / {symbol}" for one in segments for symbol in _names(self.domain)]

    @cached_property
    def _cells(self) -> dict[str | int, int]:
        # Of two cells of one name neither is meant.
        forms = [compared_label(name) for name in self.listed]
        names = Counter(forms)
        return {name: cell for cell, name in enumerate(forms) if names[name] == 1}

    def _symbol(self, value: Any, position: int) -> int:
        """Return the cell of a name, to ask for its share."""
        cell = self._cells.get(compared_text(value)) if isinstance(value, str) else None
        if cell is None:
            raise DomainError(
                "a cell is named by its segment and symbol, as 'north / yes'. A curator counts "
                "values with the segments alongside",
                position=position,
            )
        return cell

    def for_curator(self) -> Segmented:
        """Return the table of a curator's domain."""
        return replace(self, domain=self.domain.for_curator())


def _names(domain: Any) -> list[str]:
    if domain.ordered:
        ends = [
            [to_text(float(end), unit=domain.unit) for end in both]
            for both in zip(domain.left, domain.right, strict=True)
        ]
        held = [left if left == right else f"{left} to {right}" for left, right in ends]
    else:
        held = list(map(str, domain.listed))
    return held if domain.missing_index is None else [*held, "(missing)"]


def segment_text(segment: str | int | None) -> str:
    """Return the name of a segment, or of none of them."""
    return NO_SEGMENT if segment is None else str(segment)
