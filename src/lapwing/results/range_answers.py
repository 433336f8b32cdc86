"""The answer about a range: its share, and the bins that its ends cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_answers import Places
from lapwing.protocol.domains.ranges import (
    Span,
    default_closed,
    end_symbol,
    open_end,
    range_end,
    split_symbol,
    symbol_places,
    to_spans,
)
from lapwing.protocol.domains.units import to_text
from lapwing.results.answer_documents import AskedRange, BinEnds, CutBin, QuestionRow, ShareRow
from lapwing.results.band import Target

AT_AN_END = "not known. Declare {0} as an atom (--atom {0})"
"""What stands for a share that may be anything in its interval."""


def range_row(
    result: Any, asked: AskedRange, *, level: float, target: Target = "empirical"
) -> QuestionRow:
    """Return the share of a range, of those with a value.

    asked: Its ends as typed in the unit of the values. A date is a whole day.
    """
    domain = result.domain
    low = -math.inf if not asked.low else range_end(asked.low, domain, name="low")
    high = math.inf if not asked.high else range_end(asked.high, domain, name="high")
    closed = asked.closed or default_closed(low, domain)
    spans = to_spans(low, high, domain, closed)
    share = min(result.cumulative.between(spans), 1.0)
    ends = result.probability_interval(low, high, closed=closed, level=level, target=target)
    row: QuestionRow = {
        "question": "range",
        "above": None,
        "at_least": None,
        "at_most": None,
        "below": None,
        "inside": _cut_bins(asked, spans, domain),
        "label": None,
        "left": None,
        "right": None,
        **share_with_ends(share, ends),  # type: ignore[typeddict-item]
        "interval": "pointwise",
    }
    held = [
        typed
        for typed, place in _typed_places(asked, spans)
        if end_symbol(domain, place) is not None
    ]
    if held:  # the share is anywhere between the ends of its interval
        row["share"], row["reason"] = None, AT_AN_END.format(held[0])
    row["at_least" if closed in ("left", "both") else "above"] = asked.low or None
    row["below" if closed in ("left", "neither") else "at_most"] = asked.high or None
    if domain.circular:  # an open end is where the circle begins or ends
        left = domain.closed == "left"
        if not asked.low:
            row["at_least" if left else "above"] = _minute_text(domain.left[0], domain)
        if not asked.high:
            row["below" if left else "at_most"] = _minute_text(domain.right[-1], domain)
    return row


def _minute_text(end: float, domain: Domain) -> str:
    text = to_text(float(end), unit=domain.unit)
    return text.removesuffix(":00") if domain.unit == "time-of-day" else text


def _cut_bins(asked: AskedRange, spans: Sequence[Span], domain: Domain) -> list[CutBin]:
    """Return the bins that the ends of a range cut in two."""
    cut: list[CutBin] = []
    for typed, place in _typed_places(asked, spans):
        symbol = split_symbol(domain, place)
        if symbol is not None:
            cut.append({"end": typed, **bin_ends(domain, symbol)})
    return cut


def _typed_places(asked: AskedRange, spans: Sequence[Span]) -> list[tuple[str, Places]]:
    """Return the ends of a range as typed, each with its place."""
    ends = (asked.low, spans[-1][0]), (asked.high, spans[0][1])
    return [(typed, place) for typed, place in ends if typed]


def bin_ends(domain: Domain, symbol: int) -> BinEnds:
    """Return the ends of a symbol. One that holds values outside the range has one."""
    starts, stops = symbol_places(domain)
    ends = float(starts.points[symbol]), float(stops.points[symbol])
    left, right = (None if math.isinf(end) else end for end in ends)
    word = open_end(domain, symbol)
    if word is None:
        return {"left": left, "right": right}
    return {"left": left, "right": right, "open": word}


def share_with_ends(share: float, ends: tuple[float, float] | None) -> ShareRow:
    """Return a share with its interval, of which the ends are None without one."""
    low, high = (None, None) if ends is None else ends
    return {"share": share, "low": low, "high": high}
