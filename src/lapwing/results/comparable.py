"""Comparable results: what two distributions need so that one can be subtracted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lapwing.linear.arrays import Vector
from lapwing.privacy.guarantee import Guarantee, People
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_text import domain_text
from lapwing.results.cumulative import Cumulative
from lapwing.results.readable import Columns
from lapwing.results.uncertainty import Among, Kind, Uncertainty

__all__ = ["Comparable", "People", "domain_mismatch", "people_of"]


class Comparable(Protocol):
    """One side of a difference: a Distribution, as far as a difference needs it."""

    @property
    def domain(self) -> Domain:
        """The legal values."""
        ...

    @property
    def mass(self) -> Vector:
        """Shares of the symbols among all people: float64 [domain.size]."""
        ...

    @property
    def cumulative(self) -> Cumulative:
        """The CDF among those whose value is present."""
        ...

    @property
    def reports(self) -> int:
        """People behind it."""
        ...

    @property
    def guarantee(self) -> Guarantee | None:
        """The privacy guarantee under which the reports were collected."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """How it was made. If the reports are memoized, it names their survey."""
        ...

    @property
    def _present_uncertainty(self) -> Uncertainty | None:
        """The error distribution among those whose value is present."""
        ...

    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of one symbol."""
        ...

    def _warn_when_limited(self) -> None:
        """Warn, once, where a mean is not that of all values."""
        ...

    def to_dict(self, *, level: float = 0.95, kind: Kind | None = None) -> Columns:
        """Return a table as a dict of columns."""
        ...


def people_of(first: Comparable, second: Comparable) -> People:
    """Return "different" for two segments of one release or one set of tallies, else "same".

    Each person is in one segment only. Without segments, "same" is the cautious choice.
    """
    one, two = first.provenance, second.provenance
    segments = "segments_of" in one and one["segments_of"] == two.get("segments_of")
    return "different" if segments and one.get("segment") != two.get("segment") else "same"


def domain_mismatch(one: Domain, two: Domain) -> str:
    """Return in words how two domains differ, and what to do about it."""
    first, second = one.to_document(), two.to_document()
    rest = [{**each, "missing": None} for each in (first, second)]
    if rest[0] == rest[1]:
        return (
            "only one of them counts missing values, as every curator release does. Declare "
            f"missing={'category' if not one.ordered else 'bin'!r} in the survey's domain too "
            "(--missing), before collecting its reports"
        )
    rest = [{**each, "missing": None, "outside": None} for each in (first, second)]
    if rest[0] == rest[1]:
        return (
            "they count values outside the range differently. Declare the same outside= in both "
            "domains (--outside)"
        )
    if not one.ordered and not two.ordered:
        return "their labels differ, or the order of their labels"
    both = f"the first is {domain_text(one)}, the second {domain_text(two)}"
    return f"{both}. Release or decode both with the same bins"
