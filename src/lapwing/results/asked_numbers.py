"""The exact whole numbers that answer a question, and how far one person moves them.

A share and a mean are two weighted sums of the rows. Where the number of rows is public, they are
the signed sum and the number of missing values. That number then costs nothing. A row that becomes
missing moves the signed sum by half of what another value can. Where the number is secret, they are
the sum of weights and the sum of what is left of the largest weight. A row moves both together by
one largest weight. A histogram is the counts of its cells. A quantile
has utilities of bins, and where the number of rows is secret also a noisy number of people.

Each question has cells of bins that answer it exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import exact_number
from lapwing.privacy.integer_noise import Sensitivity
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.ranges import (
    Places,
    default_closed,
    end_symbol,
    first_symbol_after,
    range_end,
)
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.units import to_text
from lapwing.questions import (
    Curve,
    Histogram,
    Mean,
    Quantile,
    Question,
    Share,
    label_of,
    other_side,
)


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


Counts = NDArray[np.int64]

STEPS = 2**16
"""Steps of the range for a mean. By segment there are fewer, so that the table stays small."""

SEGMENT_STEPS = 2**12

FINEST = 10**6
"""Largest denominator of a probability."""

STRENGTH = 8
"""A distance of one person in ranks counts as so many in the sensitivity of a quantile.

So a secret number of people, which counts once, takes a seventeenth of the budget."""


def within(domain: Domain) -> Any:
    """Return the domain of the values, of a table by segment also."""
    return domain.domain if isinstance(domain, Segmented) else domain


@dataclass(frozen=True)
class AskedNumbers:
    """The numbers of one question, from the exact counts of a curator.

    question: One that is not the curve.
    domain: The curator's domain, with its bins and perhaps by segment.
    promise: Privacy parameters. Only the neighbor relation and the unit matter.
    """

    question: Question
    domain: Domain
    promise: Promise

    def __post_init__(self) -> None:
        """Refuse what the domain cannot answer."""
        domain, asked = within(self.domain), self.question
        if isinstance(asked, Curve):
            raise ArgumentError("the curve has no numbers of its own, so it is not a component")
        if not domain.ordered and not (isinstance(asked, Share) and asked.label is not None):
            raise ArgumentError(f"{asked} is for numbers. For labels, ask Share(label=...)")
        if domain.circular and isinstance(asked, Mean | Quantile):
            raise ArgumentError(
                f"{asked} on a circle cannot be asked alone. Leave out questions, and ask for "
                "the curve"
            )
        if isinstance(asked, Histogram):
            asked.ranges(domain)  # refuses cells that overlap

    @property
    def public(self) -> bool:
        """Whether the number of rows that are answered about is public."""
        return self.promise.shows_people and not isinstance(self.domain, Segmented)

    @property
    def segments(self) -> int:
        """Number of segments, with that of the rows in none. Without segments 1."""
        return self.domain.segmentation.size if isinstance(self.domain, Segmented) else 1

    @cached_property
    def steps(self) -> int:
        """Steps of the range for a mean: whole numbers have one each."""
        domain = within(self.domain)
        if domain.name == "integers":
            return int(domain.high - domain.low)
        return SEGMENT_STEPS if isinstance(self.domain, Segmented) else STEPS

    @property
    def top(self) -> int:
        """Largest weight of a row: 1, or for a mean the range in half steps."""
        if not isinstance(self.question, Mean):
            return 1
        return self.steps if within(self.domain).name == "integers" else 2 * self.steps

    @cached_property
    def probabilities(self) -> tuple[tuple[int, ...], int]:
        """Numerators and the denominator of the probabilities of a quantile."""
        given = self.question.probabilities if isinstance(self.question, Quantile) else ()
        exact = [exact_number(each, name="a probability") for each in given]
        exact = [each.limit_denominator(FINEST) for each in exact]
        whole = math.lcm(*(each.denominator for each in exact))
        if whole > FINEST:
            raise ArgumentError("probabilities must have at most 6 digits. Ask several questions")
        return tuple(int(each * whole) for each in exact), whole

    @cached_property
    def _ranges(self) -> list[list[tuple[int, int]]]:
        asked: Any = self.question
        return range_symbols(asked, counting_domain(within(self.domain), (asked,)))

    @property
    def cells(self) -> int:
        """Number of cells of a histogram."""
        return len(self._ranges)

    @property
    def rest(self) -> bool:
        """Whether a histogram leaves values out, which are a cell of their own then."""
        held: int = counting_domain(within(self.domain), (self.question,)).left.size
        return self._ranges[0][0][0] > 0 or self._ranges[-1][-1][1] < held

    @property
    def numbers(self) -> int:
        """Numbers of the answer for each segment."""
        if isinstance(self.question, Quantile):
            return 3 * len(self.question.probabilities) + self.noises
        if isinstance(self.question, Histogram):
            return len(self._ranges) + self.rest + self.public
        return 2

    @property
    def noises(self) -> int:
        """Numbers of noise for each segment."""
        return int(not self.public) if isinstance(self.question, Quantile) else self.numbers

    @property
    def moved(self) -> list[int]:
        """How far one row moves the rank of each quantile, as a numerator of its probability.

        It is a row that is replaced, or one that is added or removed. A replaced row of another
        segment is both.
        """
        numerators, whole = self.probabilities
        if self.promise.neighbors == "replace-one" and not isinstance(self.domain, Segmented):
            return [whole] * len(numerators)
        return [max(each, whole - each) for each in numerators]

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one person moves the numbers.

        For a quantile, this is twice the change of a utility, summed over its draws, plus the
        change of a secret number of people. Noise of a scale costs that over the scale. In
        zero-concentrated privacy it costs half of the squares over the square of the scale. A draw
        with a bounded range of e costs ``e^2 / 8`` there (Cesar and Rogers, 2021).
        """
        rows = 1 if self.promise.unit is None else self.promise.unit.most
        replaced = 1 + (self.promise.neighbors == "replace-one")
        if isinstance(self.question, Quantile):
            steps = rows * (replaced if isinstance(self.domain, Segmented) else 1)
            draws = len(self.question.probabilities)
            squared = steps**2 * (STRENGTH**2 * draws + self.noises)
            return Sensitivity(squared, steps * (2 * STRENGTH * draws + self.noises))
        top = rows * self.top
        if self.public and not isinstance(self.question, Histogram):
            return Sensitivity(4 * top**2, 2 * top)
        return Sensitivity(replaced * top**2, replaced * top)

    def exact(self, counts: Counts, counted: Domain) -> Counts:
        """Return the exact numbers of one segment.

        counts: int64 [counted.size], rows in each bin of the domain that they were counted in.
        counted: A domain with the edges that are asked.
        """
        return np.array([int(row @ counts) for row in self.rows(counted)], dtype=np.int64)

    def rows(self, counted: Domain) -> Iterator[Counts]:
        """Yield each exact number as weights of the counts: int64 [counted.size]."""
        if isinstance(self.question, Histogram):
            yield from self._cells(counted)
            return
        weights, present = self._weights(counted)
        if self.public:
            yield 2 * weights - self.top * present
            yield self.top * (1 - present)
        else:
            yield weights
            yield self.top * present - weights

    def _cells(self, counted: Domain) -> Iterator[Counts]:
        """Yield the weights of each cell, of what they leave out, and of missing values."""
        rest = np.zeros(counted.size, dtype=np.int64)
        rest[: counted.left.size] = 1
        missing = 1 - rest
        for spans in range_symbols(self.question, counted):  # type: ignore[arg-type]
            cell = np.zeros_like(rest)
            for start, stop in spans:
                cell[start:stop] = 1
            rest -= cell
            yield cell
        if self.rest:
            yield rest
        if self.public:
            yield missing

    def _weights(self, counted: Domain) -> tuple[Counts, Counts]:
        """Return the weight of each bin, and whether it is one of those that are answered about."""
        present = np.ones(counted.size, dtype=np.int64)
        if counted.missing_index is not None:
            present[counted.missing_index] = 0
        weights = np.zeros(counted.size, dtype=np.int64)
        if isinstance(self.question, Mean):
            weights[: counted.left.size] = self._places(counted)
            return weights, present
        asked: Any = self.question
        if asked.label is None:
            for start, stop in range_symbols(asked, counted)[0]:
                weights[start:stop] = 1
            return weights * present, present  # an end beyond the range reaches missing values
        domain = within(self.domain)
        symbol = int(domain.index_or_missing([label_of(asked.label, domain, name="label")])[0])
        weights[symbols_in(counted, domain) == symbol] = 1
        return weights, np.ones_like(present) if symbol == domain.missing_index else present

    def _places(self, counted: Any) -> Counts:
        """Return the place of each bin in half steps of the range, or in whole numbers."""
        low, length = counted.low, counted.high - counted.low
        if counted.name == "integers":
            whole: Counts = (counted.left - low).astype(np.int64)
            return whole
        if (counted.right - counted.left).max() > length / self.steps * (1 + 1e-9):
            raise ArgumentError(
                "a mean needs the values: these exact counts have bins wider than "
                f"1/{self.steps} of the range. Pass the values"
            )
        middle = (counted.left / 2 + counted.right / 2 - low) / length
        steps: Counts = np.clip(np.floor(middle * self.steps), 0, self.steps - 1).astype(np.int64)
        return 2 * steps + 1


def symbols_in(counted: Domain, domain: Domain) -> Counts:
    """Return the bin of a domain that holds each bin of a finer one: int64 [counted.size]."""
    if counted == domain:
        return np.arange(domain.size)
    parts: Any = domain
    if getattr(domain, "whole", False):  # the middle of a bin need not be a whole number
        parts = replace(parts, whole=False)
    places: Counts = parts.index(counted.left / 2 + counted.right / 2).astype(np.int64)
    for name in ("below_index", "above_index", "missing_index"):
        ours, theirs = getattr(counted, name), getattr(domain, name)
        if ours is not None and theirs is not None:
            places = np.append(places, theirs) if ours == places.size else places
            places[ours] = theirs
    return places


def counting_domain(
    domain: Domain, questions: tuple[Question, ...], *, steps: int = STEPS
) -> Domain:
    """Return the domain with all edges that questions need, and with the steps of a mean.

    domain: A curator's domain of values, with its bins.
    """
    if not isinstance(domain, Interval):
        return domain
    edges = [np.asarray(each.edges(domain), dtype=np.float64) for each in questions]
    if any(isinstance(each, Mean) for each in questions):
        low, length = domain.low, domain.high - domain.low
        edges.append(low + length * (np.arange(1, steps) / steps))
    wanted = np.concatenate([*edges, []])
    inside = np.setdiff1d(wanted[(wanted > domain.low) & (wanted < domain.high)], domain.bin_edges)
    if not inside.size:
        return domain
    return Interval(
        edges=np.union1d(domain.bin_edges, inside).tolist(),
        circular=domain.circular,
        atoms=domain.atoms,
        outside=None if domain.circular else domain.outside,
        missing=domain.missing,
        unit=domain.unit,
        closed=domain.closed,
        whole=domain.whole,
    )
