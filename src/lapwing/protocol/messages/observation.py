"""Interface of tallies and releases, the observations of a decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol, Self

from numpy.typing import NDArray

from lapwing.errors import ArgumentError

Kind = Literal["counts", "log", "release"]
"""Counts of reports, a log of the reports themselves, or noisy answers of a curator."""


class Observation(Protocol):
    """CountTally, TallyLog or Release: what is decoded, by a decoder that reads its kind."""

    kind: ClassVar[Kind]
    """Which of the three it is. A decoder says which it reads."""

    @property
    def fingerprint(self) -> str:
        """Of the randomizer or mechanism that made it."""
        ...

    @property
    def blocks(self) -> Sequence[NDArray[Any]]:
        """Its numbers, an array for each block."""
        ...

    @property
    def reports(self) -> Sequence[int]:
        """People behind each block."""
        ...

    @property
    def total(self) -> int:
        """People behind all blocks together."""
        ...


def check_observation(observed: Any) -> None:
    """Raise ArgumentError unless it is a tally or a release."""
    if not hasattr(observed, "kind") or not hasattr(observed, "blocks"):
        what = type(observed).__name__
        advice = "Take the tally of one segment, as tallies['north']"
        if what != "GroupTallies":
            advice = "Add reports up first: tally(reports)"
        raise ArgumentError("tally", "must be a tally or a release", f"a {what}", advice)


class Summed:
    """Base class of objects that add with ``+``, where ``sum`` may start from 0."""

    def __radd__(self, other: object) -> Self:
        """Return this, of 0 and this."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented
