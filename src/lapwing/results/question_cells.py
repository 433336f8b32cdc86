"""The cells of bins that answer questions exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import (
    Places,
    default_closed,
    end_symbol,
    first_symbol_after,
    range_end,
)
from lapwing.protocol.domains.units import to_text
from lapwing.questions import Histogram, Question, Share, label_of, other_side


def cell_starts(questions: Iterable[Question], domain: Domain) -> tuple[int, ...]:
    """Return the first bin of each cell that answers questions exactly.

    questions: Shares and histograms. Other questions have no edges.
    domain: Domain with bins. Missing values get a cell of their own.

    returns: Numbers of bins, increasing, from 0.

    Raises ArgumentError when a question has an end inside a bin. The message names it and the
    nearest edges.

    >>> import lapwing as lw
    >>> ages = lw.Interval(0, 100, bins=10)
    >>> cell_starts([lw.questions.Share(above=30), lw.questions.Share(at_most=70)], ages)
    (0, 3, 7)
    """
    starts = {0} if domain.missing_index is None else {0, domain.missing_index}
    for question in questions:
        if isinstance(question, Share) and question.label is not None:
            symbol = int(domain.index([label_of(question.label, domain, name="label")])[0])
            starts |= {symbol, symbol + 1}
        elif isinstance(question, Share | Histogram):
            for words, place in question._ends(domain):
                starts.add(symbol_after(words, place, domain))
    return tuple(sorted(start for start in starts if start < domain.size))


def range_symbols(question: Share | Histogram, domain: Domain) -> list[list[tuple[int, int]]]:
    """Return the first bin of each range that is asked, and the first one after it.

    question: A share has one range, and a histogram one for each cell.
    domain: Domain with bins.

    returns: For each range one pair, or two where it goes round a circle.

    Raises ArgumentError when an end is beyond the range of the domain, or inside a bin.

    >>> import lapwing as lw
    >>> ages = lw.Interval(0, 100, bins=10)
    >>> range_symbols(lw.questions.Histogram([0, 30, 100]), ages)
    [[(0, 3)], [(3, 10)]]
    """
    question.edges(domain)  # on the side that the bins hold
    return [
        [(_cut(question, start, domain), _cut(question, stop, domain)) for start, stop in spans]
        for spans in question.ranges(domain)
    ]


def _cut(question: Question, place: Places, domain: Any) -> int:
    point = float(place.points)
    if math.isinf(point):
        held: int = domain.left.size
        return held if point > 0 else 0
    if not domain.low <= point <= domain.high + (domain.name == "integers"):
        raise ArgumentError(
            f"'{question}' has an end beyond the range of the domain. Ask about a value inside it"
        )
    return symbol_after(str(question), place, domain)


def symbol_after(words: str, place: Places, domain: Domain) -> int:
    """Return the first bin after a place. ArgumentError where it cuts one."""
    point, unit = float(place.points), domain.unit
    ordered: Any = domain
    if point > float(ordered.high):  # behind the last whole number
        return domain.size if domain.above_index is None else domain.above_index
    symbol = first_symbol_after(domain, place)
    if symbol is not None:
        return symbol
    if end_symbol(domain, place) is not None:
        raise ArgumentError(
            f"{words!r} separates exactly {to_text(point, unit=unit)} from the rest of its bin. "
            "Declare this value as an atom of the domain"
        )
    edges = np.unique([*domain.left, *domain.right])
    if point in edges:
        raise other_side(words, domain)
    after = int(np.searchsorted(edges, point))
    around = " and ".join(to_text(float(edge), unit=unit) for edge in edges[after - 1 : after + 1])
    raise ArgumentError(
        f"{words!r} is not at a bin edge. The nearest are {around}. Ask about one of these, "
        "declare bins with this edge, or leave out the bins so that they are chosen for you"
    )


def share_between(low: str, high: str, domain: Domain) -> Share:
    """Return the share of a range whose ends belong to it as those of the bins do.

    Parameters
    ----------
    low, high : str
        Ends as typed, "" for an open one.
    domain : Domain
        Domain of the result.

    Raises
    ------
    ArgumentError, DomainError
        When the domain has labels, or an end cannot be read.
    """
    if not domain.ordered:
        raise ArgumentError(
            "this result has labels, which have no ranges. Ask for the share of a label"
        )
    start = range_end(low, domain, name="low") if low else -math.inf
    if high:
        range_end(high, domain, name="high")
    closed = default_closed(start, domain)
    first, last = "above", "at_most"
    if closed != "right":
        first, last = "at_least", "below" if closed == "left" else "at_most"
    return Share(**{first: low or None, last: high or None})
