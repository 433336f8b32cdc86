"""A domain in one line, for people."""

from __future__ import annotations

from typing import Any

from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import to_text


def _written(number: float, unit: Unit) -> str:
    """Return a number of a unit. From 10,000 on with commas."""
    if unit == "number" and abs(number) >= 10_000:
        return f"{number:,.15g}"
    return to_text(number, unit=unit)


OPEN_BINS = "bins not chosen"
"""Of an interval whose bins will follow from epsilon."""


def domain_text(domain: Any, *, bins: str | None = None) -> str:
    """Return a domain in one line, with this text in place of an interval's number of bins.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> domain_text(Interval(0, 9, bins=3))
    'interval 0 to 9 (number), 3 bins (a, b]'
    >>> domain_text(Interval(edges=[0, 18, 65, 120], closed="left"))
    'interval 0 to 120 (number), 3 bins [a, b) with edges at 18, 65'
    """
    missing = ", missing values counted" if domain.missing_index is not None else ""
    if domain.name == "hashed-strings":
        return f"strings by the first {domain.bits} bits of their SHA-256{missing}"
    if domain.name == "categories":
        listed = domain.listed
        labels = ", ".join(str(label)[:40] for label in listed[:8])
        more = f", and {len(listed) - 8:,} more" if len(listed) > 8 else ""
        return f"{len(listed):,} categories: {labels}{more}{missing}"
    if domain.name == "product":
        axes = (f"{name} ({domain_text(axis)})" for name, axis in domain.axes.items())
        return f"pairs of {' and '.join(axes)}"
    if domain.name == "segmented":
        return f"{len(domain.segments)} segments, each of {domain_text(domain.domain, bins=bins)}"
    if domain.name == "integers":
        outside = _OUTSIDE.get(domain.outside, ", with numbers outside moved to the nearest end")
        return f"whole numbers {domain.low} to {domain.high}{outside}{missing}"
    kind = "circle" if domain.circular else "interval"
    scale = " of equal ratio" if domain.scale == "log" else ""
    atoms = ", ".join(_written(atom, domain.unit) for atom in domain.atoms[:8])
    closed = "(a, b]" if domain.closed == "right" else "[a, b)"
    low, high = (_written(end, domain.unit) for end in (domain.low, domain.high))
    return (
        f"{kind} {low} to {high} ({domain.unit}), {bins or f'{domain.bins:,} bins'} {closed}{scale}"
        + _edges_text(domain)
        + (", whole numbers" if domain.whole else "")
        + (f", atoms at {atoms}" if atoms else "")
        + _OUTSIDE.get(domain.outside, "")
        + missing
    )


_OUTSIDE = {
    "refuse": ", values outside refused",
    "overflow": ", values outside counted below and above",
}


def _edges_text(domain: Any) -> str:
    """Return where the bins of one's own end, those inside: all, or how many more."""
    if domain.edges is None or len(domain.edges) == 2:
        return ""
    inner = [_written(edge, domain.unit) for edge in domain.edges[1:-1]]
    more = f" and {len(inner) - 8:,} more" if len(inner) > 8 else ""
    return f" with edges at {', '.join(inner[:8])}{more}"
