"""How tables write numbers, domains and promises."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from typing import Any

from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_text
from lapwing.results.answer_text import count_text
from lapwing.survey.survey import Survey


def number_text(number: float, domain: Domain) -> str:
    """Return a number of a domain in its unit, as a person would write it."""
    return to_text(number, unit=domain.unit)


OPEN_BINS = "bins not chosen"
"""Of an interval whose bins will follow from epsilon."""


def domain_text(domain: Any, *, bins: str | None = None) -> str:
    """Return a domain in one line, with this text in place of an interval's number of bins.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> domain_text(Interval(0, 9, bins=3))
    'interval 0 to 9 (number), 3 bins (a, b]'
    >>> domain_text(Interval(edges=[0, 18, 65, 120], closed="left"))
    'interval 0 to 120 (number), 3 bins [a, b) with edges at 18, 65'
    """
    missing = ", missing values counted" if domain.missing_index is not None else ""
    if domain.name == "hashed-strings":
        return f"texts by the first {domain.bits} bits of their SHA-256{missing}"
    if domain.name == "categories":
        listed = domain.listed
        labels = ", ".join(str(label)[:40] for label in listed[:8])
        more = f", and {len(listed) - 8} more" if len(listed) > 8 else ""
        return f"{len(listed)} categories: {labels}{more}{missing}"
    if domain.name == "segmented":
        return f"{len(domain.segments)} segments, each of {domain_text(domain.domain, bins=bins)}"
    if domain.name == "integers":
        return f"whole numbers {domain.low} to {domain.high}{missing}"
    kind = "circle" if domain.circular else "interval"
    scale = " of equal ratio" if domain.scale == "log" else ""
    atoms = ", ".join(number_text(atom, domain) for atom in domain.atoms[:8])
    closed = "(a, b]" if domain.closed == "right" else "[a, b)"
    low, high = number_text(domain.low, domain), number_text(domain.high, domain)
    return (
        f"{kind} {low} to {high} ({domain.unit}), {bins or f'{domain.bins} bins'} {closed}{scale}"
        + _edges_text(domain)
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
    inner = [number_text(edge, domain) for edge in domain.edges[1:-1]]
    more = f" and {len(inner) - 8} more" if len(inner) > 8 else ""
    return f" with edges at {', '.join(inner[:8])}{more}"


def decimal_text(number: Fraction, *, digits: int) -> str:
    """Return a fraction as a decimal, cut off, not rounded: a bound stays a bound.

    Examples
    --------
    >>> decimal_text(Fraction(2, 3), digits=5)
    '0.66666'
    """
    with localcontext() as context:
        context.prec = digits
        context.rounding = ROUND_DOWN
        return str(Decimal(number.numerator) / Decimal(number.denominator))


def power_text(exponent: float) -> str:
    """Return ``e^exponent``, also where it is too large for a float.

    Examples
    --------
    >>> power_text(1.0), power_text(20.0), power_text(1200.0)
    ('2.718', '4.852e+08', '1.4e+521')
    """
    if exponent < 700:
        number = math.exp(exponent)
        return f"{number:.4g}" if number < 1e6 else f"{number:.3e}"
    digits = exponent / math.log(10)
    return f"{10 ** (digits % 1):.1f}e+{int(digits)}"


def described(survey: Survey) -> dict[str, str]:
    """Return what a survey is, for a table."""
    segments = survey.segments
    parts = {
        "segments": f"{', '.join(label[:40] for label in segments[:8])}"
        + (f", and {len(segments) - 8} more" if len(segments) > 8 else "")
        + f"; shown from {count_text(survey.segment_minimum)} reports each"
    }
    kept = {"answers": "remembered: a device sends its first report ever after"}
    return {
        "survey": survey.name,
        "domain": domain_text(survey.randomizer.domain),
        "randomizer": survey.randomizer.name,
        "privacy guarantee": str(survey.guarantee),
        "bytes per report": str(survey.randomizer.report_width),
        **(parts if segments else {}),
        **(kept if survey.remembered else {}),
        "fingerprint": survey.fingerprint,
    }
