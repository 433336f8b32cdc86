"""How tables write domains and surveys."""

from __future__ import annotations

from typing import Any

from lapwing.results.rounding import NumberWriter, count_text, number_writer
from lapwing.survey.survey import Survey

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
        more = f", and {count_text(len(listed) - 8)} more" if len(listed) > 8 else ""
        return f"{count_text(len(listed))} categories: {labels}{more}{missing}"
    if domain.name == "segmented":
        return f"{len(domain.segments)} segments, each of {domain_text(domain.domain, bins=bins)}"
    if domain.name == "integers":
        return f"whole numbers {domain.low} to {domain.high}{missing}"
    write = number_writer(domain.unit)
    kind = "circle" if domain.circular else "interval"
    scale = " of equal ratio" if domain.scale == "log" else ""
    atoms = ", ".join(write(atom) for atom in domain.atoms[:8])
    closed = "(a, b]" if domain.closed == "right" else "[a, b)"
    low, high = write(domain.low), write(domain.high)
    bins = bins or f"{count_text(domain.bins)} bins"
    return (
        f"{kind} {low} to {high} ({domain.unit}), {bins} {closed}{scale}"
        + _edges_text(domain, write)
        + (f", atoms at {atoms}" if atoms else "")
        + _OUTSIDE.get(domain.outside, "")
        + missing
    )


_OUTSIDE = {
    "refuse": ", values outside refused",
    "overflow": ", values outside counted below and above",
}


def _edges_text(domain: Any, write: NumberWriter) -> str:
    """Return where the bins of one's own end, those inside: all, or how many more."""
    if domain.edges is None or len(domain.edges) == 2:
        return ""
    inner = [write(edge) for edge in domain.edges[1:-1]]
    more = f" and {count_text(len(inner) - 8)} more" if len(inner) > 8 else ""
    return f" with edges at {', '.join(inner[:8])}{more}"


def described(survey: Survey) -> dict[str, str]:
    """Return what a survey is, for a table."""
    segments = survey.segments
    parts = {
        "segments": f"{', '.join(label[:40] for label in segments[:8])}"
        + (f", and {count_text(len(segments) - 8)} more" if len(segments) > 8 else "")
        + f"; shown from {count_text(survey.segment_minimum)} reports each"
    }
    kept = {"answers": "remembered: a device sends its first report ever after"}
    return {
        "survey": survey.name,
        **survey.notice,
        "domain": domain_text(survey.randomizer.domain),
        "randomizer": survey.randomizer.name,
        "privacy guarantee": str(survey.guarantee),
        "bytes per report": str(survey.randomizer.report_width),
        **(parts if segments else {}),
        **(kept if survey.remembered else {}),
        "fingerprint": survey.fingerprint,
    }
