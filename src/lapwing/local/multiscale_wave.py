"""A ladder of square waves of several widths, with a few people on subsets of fine bins.

One wave is blind to the frequencies at which its box has a zero; waves of other widths see them.
Subset selection on fine bins supplies what is narrower than every wave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

from lapwing.categories import Categories
from lapwing.domain import Integers
from lapwing.errors import ArgumentError, DomainError
from lapwing.local.grouped import Grouped, Part, whole_shares
from lapwing.local.randomized_response import GeneralizedRandomizedResponse
from lapwing.local.square_wave import SquareWave, mutual_information_width
from lapwing.local.subset_selection import SubsetSelection, optimal_size
from lapwing.randomizer import Randomizer

Wave = tuple[str, float, float]
"""("wave", multiple of the mutual-information width, share) or ("subset", cells, share)."""

WHOLE = 256
"""In a table, subsets of this many cells stand for the finest: on more bins half of their share
goes to subsets of all bins."""

L2S: dict[float, tuple[Wave, ...]] = {
    0.5: (
        ("wave", 0.4, 0.28),
        ("wave", 0.75, 0.36),
        ("subset", 8, 0.07),
        ("subset", 16, 0.06),
        ("subset", 32, 0.05),
        ("subset", 64, 0.05),
        ("subset", 128, 0.04),
        ("subset", 256, 0.09),
    ),
    1.0: (
        ("wave", 0.4, 0.25),
        ("wave", 0.75, 0.40),
        ("subset", 16, 0.07),
        ("subset", 32, 0.06),
        ("subset", 64, 0.05),
        ("subset", 128, 0.05),
        ("subset", 256, 0.12),
    ),
    2.0: (
        ("wave", 0.35, 0.15),
        ("wave", 0.6, 0.25),
        ("wave", 1.0, 0.23),
        ("wave", 1.4, 0.13),
        ("subset", 64, 0.08),
        ("subset", 256, 0.16),
    ),
    3.0: (
        ("wave", 0.35, 0.13),
        ("wave", 0.75, 0.20),
        ("wave", 1.1, 0.26),
        ("wave", 1.6, 0.26),
        ("subset", 256, 0.15),
    ),
    4.0: (
        ("wave", 0.45, 0.13),
        ("wave", 0.95, 0.17),
        ("wave", 1.5, 0.28),
        ("wave", 2.2, 0.29),
        ("subset", 256, 0.13),
    ),
}
"""The ladder by epsilon, designed against the error about the people who reported, for smooth,
rough and atomic priors at once. The row nearest in log epsilon is used."""


def ladder(epsilon: float) -> tuple[Wave, ...]:
    """Return the row of the table that is nearest to epsilon on a logarithmic scale."""
    nearest = min(L2S, key=lambda row: abs(math.log(row / epsilon)))
    return L2S[nearest]


@dataclass(frozen=True)
class MultiscaleWave(Grouped):
    """A mixture of square waves and subset selections, drawn by a public coin.

    Parameters
    ----------
    domain : Interval or Integers
        At least 8 symbols. On a circular interval the waves do not wrap: the ends serve as
        reference points; the decoder knows that the ends touch.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    parts : sequence of (kind, size, share), optional
        ``("wave", c, share)``: a square wave of c times the mutual-information width;
        ``("subset", cells, share)``: subset selection on so many equal groups of symbols. Shares
        sum to 1 (within 1e-9, or to any total: they are divided by it). Default: the ladder L2s.

    Accuracy
    --------
    See the tables of `benchmarks/accuracy`: against one square wave it halves the error on
    columns with atoms and is no worse on smooth ones.

    Cost
    ----
    One byte more than the widest part: ceil(bins / 8) + 1 bytes per report with the ladder.

    Source: own design; see `docs/methods.md`.

    Examples
    --------
    >>> from lapwing.domain import Interval
    >>> mixture = MultiscaleWave(Interval(0, 1, bins=256), 1)
    >>> len(mixture.groups), mixture.certificate().holds
    (7, True)
    """

    _: KW_ONLY
    parts: Sequence[Wave] | None = None

    name: ClassVar[str] = "multiscale-wave"

    def __post_init__(self) -> None:
        """Check the parts, then what all mixtures check."""
        if not self.domain.ordered or self.domain.size < 8:
            raise DomainError(
                "a multiscale wave needs an Interval or Integers of at least 8 symbols"
            )
        if self.parts is not None:
            object.__setattr__(self, "parts", tuple(_part(part) for part in self.parts))
        super().__post_init__()

    @cached_property
    def groups(self) -> tuple[Part, ...]:
        """The parts, in the order of their numbers."""
        size = self.domain.size
        table = ladder(float(self.epsilon)) if self.parts is None else tuple(self.parts)
        if self.parts is None:
            table = _fitted(table, size)
        total = math.fsum(share for _, _, share in table)
        shares = whole_shares([share / total for _, _, share in table])
        return tuple(
            Part(self._randomizer(kind, scale), share)
            for (kind, scale, _), share in zip(table, shares, strict=True)
        )

    def _randomizer(self, kind: str, scale: float) -> Randomizer:
        size = self.domain.size
        if kind == "wave":
            width = min(scale * mutual_information_width(self.epsilon), 1.0)
            # Half a cell less on either side, rounded: the window then has the wave's width.
            points = max(0, round(width * size - 0.5))
            return SquareWave(Integers(0, size - 1), self.epsilon, width=(points + 0.5) / size)
        cells = int(scale)
        if optimal_size(cells, self.epsilon) == 1:
            return GeneralizedRandomizedResponse(Categories(cells), self.epsilon)
        return SubsetSelection(Categories(cells), self.epsilon)


def _part(part: Any) -> Wave:
    try:
        kind, scale, share = part
        scale, share = float(scale), float(share)
    except (TypeError, ValueError):
        raise ArgumentError("every part must be (kind, size, share)") from None
    if kind not in ("wave", "subset"):
        raise ArgumentError(f"a part must be a 'wave' or a 'subset', got {kind!r}")
    if not (0 < share <= 1 and 0 < scale < math.inf):
        raise ArgumentError("the size and the share of a part must be positive")
    if kind == "subset" and (scale < 2 or scale != int(scale)):
        raise ArgumentError("a subset part needs a whole number of at least 2 cells")
    return kind, scale, share


def _fitted(table: tuple[Wave, ...], size: int) -> tuple[Wave, ...]:
    """Return the table for a domain of another size than 256."""
    fitted: dict[tuple[str, float], float] = {}
    for kind, scale, share in table:
        targets = [(scale, share)]
        if kind == "subset" and scale == WHOLE and size > WHOLE:
            targets = [(scale, share / 2), (float(size), share / 2)]
        for cells, part in targets:
            key = (kind, min(cells, float(size)) if kind == "subset" else cells)
            fitted[key] = fitted.get(key, 0.0) + part
    return tuple((kind, scale, share) for (kind, scale), share in fitted.items())
