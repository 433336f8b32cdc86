"""Questions about one attribute: a share, a histogram, a mean, quantiles, the curve.

A question is a value. :func:`lapwing.recommend` takes a list of them and chooses the design that
answers them best. :meth:`lapwing.Distribution.answer` answers one, with its interval. Each has a
string form and a JSON form, and :func:`read` reads both:

=========================================  ==========================================
string                                     question
=========================================  ==========================================
``share above 50000``                      ``Share(above=50000)``
``share at-least 18 below 65``             ``Share(at_least=18, below=65)``
``share label red``                        ``Share(label="red")``
``histogram edges 0 18 65 100``            ``Histogram([0, 18, 65, 100])``
``histogram bins 16``                      ``Histogram(bins=16)``
``mean``                                   ``Mean()``
``quantile 0.5 0.95``                      ``Quantile(0.5, 0.95)``
``curve``                                  ``Curve()``
=========================================  ==========================================
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from lapwing.docstrings import inherits
from lapwing.documents import nearest, quoted
from lapwing.errors import ArgumentError, DomainError, FormatError, kind_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.ranges import Closed, Places, Span, number_of, range_end, to_spans
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.protocol.domains.units import to_text

__all__ = ["Curve", "Histogram", "Mean", "Quantile", "Share", "read"]

MOST_CELLS = 4096
"""Most cells of a histogram."""

MISSING = "(missing)"
"""The name of missing values in a table of shares."""

_ROUNDING = 1e-12
"""Part of a range by which two computations of one edge may differ."""


class _Asked:
    """What all questions share."""

    word: ClassVar[str]
    """The first word of the string form, and the kind in the JSON form."""

    def __str__(self) -> str:
        """Return the string form."""
        return self.word

    def edges(self, domain: Domain) -> tuple[float, ...]:
        """Return the places that must be edges of bins for an exact answer.

        Parameters
        ----------
        domain : Interval, Integers or Categories
            Domain of the values. An interval may have no bins yet.

        Returns
        -------
        tuple of float
            Places inside the range, increasing, as numbers of the domain. Empty for a label, a
            mean, quantiles and the curve.

        Raises
        ------
        ArgumentError
            When the bins are closed on the side that the question does not ask for, the domain has
            labels, or edges do not increase. The message says what to ask or to declare instead.
        """
        inside = [
            _edge(words, place, domain)
            for words, place in self._ends(domain)
            if _first(domain) < float(place.points) < _last(domain)
        ]
        return tuple(sorted({edge for edge in inside if _first(domain) < edge < _last(domain)}))

    def _ends(self, domain: Domain) -> list[tuple[str, Places]]:
        """Return the places that separate people, each with the words that ask for it."""
        return []

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form, with values as strings.

        Returns
        -------
        dict
            JSON object that :func:`read` reads.
        """
        named = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        given = {name: value for name, value in named.items() if value is not None}
        lists = {name: list(value) for name, value in given.items() if isinstance(value, tuple)}
        return {"question": self.word, **given, **lists}


@dataclass(frozen=True, kw_only=True, repr=False)
class Share(_Asked):
    """The share of the people whose value is in a range, or who have a label.

    A range has a lower end (`above` or `at_least`), an upper end (`below` or `at_most`), or both.

    Parameters
    ----------
    above : number, date, time or str, optional
        The values are greater than this.
    at_least : number, date, time or str, optional
        The values are at least this.
    at_most : number, date, time or str, optional
        The values are at most this. A date means the whole day.
    below : number, date, time or str, optional
        The values are less than this.
    label : str or int, optional
        A label, a whole number, or a value that identifies its bin. "missing" means missing
        values.

    Notes
    -----
    The share refers to the people whose value is present, as in all answers from the distribution
    function. Only the share of missing values refers to all people.

    Examples
    --------
    >>> import lapwing as lw
    >>> rich = lw.questions.Share(above=50_000)
    >>> str(rich), rich.edges(lw.Interval(0, 500_000))
    ('share above 50000', (50000.0,))
    >>> lw.questions.Share(at_least=18, below=65).to_document()
    {'question': 'share', 'at_least': '18', 'below': '65'}
    """

    above: Any = None
    at_least: Any = None
    at_most: Any = None
    below: Any = None
    label: Any = None

    word: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        """Keep the ends as strings, and check that they make one range."""
        for field in fields(self):
            name = field.name
            object.__setattr__(self, name, _value_text(getattr(self, name), name=name))
        if self.label is not None and (self.low or self.high):
            raise ArgumentError(
                "a share question takes a label or a range, not both. Ask two questions"
            )
        if self.label is None and not (self.low or self.high):
            raise ArgumentError("a share needs above, at_least, at_most, below or label")
        for one, other in (("above", "at_least"), ("at_most", "below")):
            if None not in (getattr(self, one), getattr(self, other)):
                raise ArgumentError(
                    f"give {one} or {other}, not both: a range has only one such end"
                )

    @property
    def low(self) -> str | None:
        """The lower end as it was typed. None for an open end."""
        low: str | None = self.above or self.at_least
        return low

    @property
    def high(self) -> str | None:
        """The upper end as it was typed. None for an open end."""
        high: str | None = self.at_most or self.below
        return high

    @property
    def closed(self) -> Closed:
        """Which ends belong to the range."""
        if self.low is None:
            return "left" if self.below else "right"
        if self.above:
            return "neither" if self.below else "right"
        return "both" if self.at_most else "left"

    def ranges(self, domain: Domain) -> list[list[Span]]:
        """Return the requested range, as spans on the line.

        Parameters
        ----------
        domain : Interval or Integers
            Domain of the values. An interval may have no bins yet.

        Returns
        -------
        list of list
            One range: one span, or two if it wraps around a circle.

        Raises
        ------
        ArgumentError
            When the domain has labels.
        """
        if not domain.ordered:
            raise ArgumentError(f"{self} asks about numbers. For labels, use Share(label=...)")
        low = -math.inf if self.low is None else range_end(self.low, domain, name=self._low_name)
        high = math.inf if self.high is None else range_end(self.high, domain, name=self._high_name)
        return [to_spans(low, high, domain, self.closed)]

    def _ends(self, domain: Domain) -> list[tuple[str, Places]]:
        if self.label is not None:
            return []
        (spans,) = self.ranges(domain)
        found = []
        for name, text, place in (
            (self._low_name, self.low, spans[-1][0]),
            (self._high_name, self.high, spans[0][1]),
        ):
            if text is not None and _in_range(place, domain):
                found.append((f"{name.replace('_', ' ')} {text}", place))
        return found

    @property
    def _low_name(self) -> str:
        return "above" if self.above else "at_least"

    @property
    def _high_name(self) -> str:
        return "at_most" if self.at_most else "below"

    def __str__(self) -> str:
        """Return the string form."""
        ends = [
            f"{field.name.replace('_', '-')} {getattr(self, field.name)}"
            for field in fields(self)
            if getattr(self, field.name) is not None
        ]
        return " ".join(["share", *ends])

    def __repr__(self) -> str:
        """Return the call that makes it."""
        ends = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) is not None
        ]
        return f"Share({', '.join(ends)})"


@dataclass(frozen=True, init=False, repr=False)
class Histogram(_Asked):
    """The shares of cells with your own edges, or of equal cells.

    Parameters
    ----------
    edges : sequence, optional
        Edges of the cells, at least two and increasing, in the unit of the values. Each cell
        includes the same end as the bins.
    bins : int, optional
        Number of equal cells from `low` to `high` of the domain, in 2..4096. Give this or `edges`.

    Examples
    --------
    >>> import lapwing as lw
    >>> bands = lw.questions.Histogram([0, 18, 65, 100])
    >>> bands.edges(lw.Interval(0, 100)), lw.questions.Histogram(bins=4).edges(lw.Interval(0, 100))
    ((18.0, 65.0), (25.0, 50.0, 75.0))
    """

    cell_edges: tuple[str, ...] | None
    bins: int | None

    word: ClassVar[str] = "histogram"

    def __init__(self, edges: Iterable[Any] | None = None, *, bins: int | None = None) -> None:
        """Keep the edges as strings. ArgumentError unless edges or bins are given."""
        if (edges is None) == (bins is None):
            raise ArgumentError("a histogram needs edges, or bins (the number of equal cells)")
        if edges is not None:
            if isinstance(edges, str | bytes | Mapping) or not isinstance(edges, Iterable):
                raise ArgumentError(f"edges must be a list, got {kind_of(edges)}")
            texts = tuple(_value_text(edge, name="an edge") for edge in edges)
            if not 2 <= len(texts) <= MOST_CELLS + 1 or None in texts:
                raise ArgumentError(f"edges must be 2 to {MOST_CELLS + 1} values, got {len(texts)}")
            object.__setattr__(self, "cell_edges", texts)
        else:
            if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= MOST_CELLS:
                raise ArgumentError(
                    f"bins must be a whole number from 2 to {MOST_CELLS}, got {bins!r}"
                )
            object.__setattr__(self, "cell_edges", None)
        object.__setattr__(self, "bins", bins)

    def places(self, domain: Domain) -> list[Any]:
        """Return all edges, in the unit of the values, in the form that ranges take.

        Parameters
        ----------
        domain : Interval or Integers
            Domain of the values.

        Returns
        -------
        list
            Edges, as strings of dates or as numbers.

        Raises
        ------
        ArgumentError
            When the domain has labels.
        """
        if not domain.ordered:
            raise ArgumentError("a histogram has cells of numbers. Labels already are cells")
        if self.cell_edges is not None:
            return [range_end(text, domain, name="an edge") for text in self.cell_edges]
        low, high, bins = _first(domain), _last(domain), self.bins or 1
        if domain.name == "integers":  # each cell ends with its last whole number
            size = int(high - low) + 1
            return [low - 1 + cell * size // bins for cell in range(bins + 1)]
        if domain.unit != "number":  # whole days or seconds, so that each edge has a text
            steps = (round((high - low) * cell / bins) for cell in range(bins + 1))
            texts = [to_text(low + step, unit=domain.unit) for step in steps]
            return [range_end(text, domain, name="an edge") for text in texts]
        if getattr(domain, "scale", "linear") == "log":
            places = [*(low * (high / low) ** (cell / bins) for cell in range(bins)), high]
        else:
            places = [*(low + (high - low) * cell / bins for cell in range(bins)), high]
        if getattr(domain, "bins", None) is None:
            return places
        # The same edge by another formula may be another float, by rounding.
        known = np.unique(np.concatenate([domain.left, domain.right]))
        nearest_known = [float(known[np.argmin(np.abs(known - place))]) for place in places]
        slack = _ROUNDING * (high - low)
        return [
            edge if abs(edge - place) <= slack else place
            for edge, place in zip(nearest_known, places, strict=True)
        ]

    def ranges(self, domain: Domain) -> list[list[Span]]:
        """Return the cells, each as spans on the line.

        Parameters
        ----------
        domain : Interval or Integers
            Domain of the values. An interval may have no bins yet.

        Returns
        -------
        list of list
            The spans of each cell.

        Raises
        ------
        ArgumentError
            When two cells overlap.
        """
        cells = [
            to_spans(-math.inf if low is None else low, math.inf if high is None else high, domain)
            for low, high in self.cells(domain)
        ]
        spans = sorted((float(a.points), float(b.points)) for cell in cells for a, b in cell)
        if any(one[1] > other[0] for one, other in pairwise(spans)):
            raise ArgumentError("edges must go around the circle at most once, without overlaps")
        return cells

    def cells(self, domain: Domain) -> list[tuple[Any, Any]]:
        """Return the ends of each cell, None for an open one.

        A cell that begins at the domain's `low` or ends at its `high` has the values of the bin
        there. They include values exactly at this end, and outside values moved to it (clipped).

        Parameters
        ----------
        domain : Interval or Integers
            Domain of the values.

        Returns
        -------
        list of (object, object)
            Lower and upper end.

        Raises
        ------
        ArgumentError
            When two edges are equal.
        """
        ends = self.places(domain)
        if any(one == other for one, other in pairwise(ends)):
            raise ArgumentError("edges must increase, each above the one before")
        cells = list(pairwise(ends))
        if _has_outer_ends(domain):
            low, high = (
                end if isinstance(end, float | int) else number_of(end, domain, name="an edge")
                for end in (ends[0], ends[-1])
            )
            if low == _first(domain):
                cells[0] = (None, cells[0][1])
            if high == _last(domain):
                cells[-1] = (cells[-1][0], None)
        return cells

    def _ends(self, domain: Domain) -> list[tuple[str, Places]]:
        found: list[tuple[str, Places]] = []
        for (low, high), spans in zip(self.cells(domain), self.ranges(domain), strict=True):
            start, stop = spans[-1][0], spans[0][1]
            ends = [(low, start), (high, stop)][len(found) > 0 :]
            found += [(f"the edge {place_text(end, domain)}", place) for end, place in ends]
        return [end for end in found if _in_range(end[1], domain)]

    @inherits(_Asked.to_document)
    def to_document(self) -> dict[str, Any]:
        """Return the JSON form, with edges as strings."""
        given = {"bins": self.bins} if self.cell_edges is None else {"edges": list(self.cell_edges)}
        return {"question": self.word, **given}

    def __str__(self) -> str:
        """Return the string form."""
        return (
            f"histogram bins {self.bins}"
            if self.cell_edges is None
            else " ".join(["histogram edges", *self.cell_edges])
        )

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return (
            f"Histogram(bins={self.bins})"
            if self.cell_edges is None
            else (f"Histogram({list(self.cell_edges)})")
        )


@dataclass(frozen=True)
class Mean(_Asked):
    """The mean of the values, limited to the range of the domain.

    Examples
    --------
    >>> import lapwing as lw
    >>> str(lw.questions.Mean())
    'mean'
    """

    word: ClassVar[str] = "mean"


@dataclass(frozen=True, init=False, repr=False)
class Quantile(_Asked):
    """One or several quantiles, each by its probability.

    Parameters
    ----------
    *probabilities : float
        Probabilities in [0, 1], at least one: 0.5 for the median.

    Examples
    --------
    >>> import lapwing as lw
    >>> str(lw.questions.Quantile(0.5, 0.95))
    'quantile 0.5 0.95'
    """

    probabilities: tuple[float, ...]

    word: ClassVar[str] = "quantile"

    def __init__(self, *probabilities: float) -> None:
        """Check the probabilities."""
        if not probabilities:
            raise ArgumentError("a quantile needs a probability, such as 0.5 for the median")
        for each in probabilities:
            plain = isinstance(each, int | float | np.number) and not isinstance(each, bool)
            if not plain or not 0 <= each <= 1:
                raise ArgumentError(
                    f"a probability must be a number from 0 to 1, got {each!r}. The median is 0.5"
                )
        object.__setattr__(self, "probabilities", tuple(map(float, probabilities)))

    def __str__(self) -> str:
        """Return the string form."""
        return " ".join(["quantile", *map(_number_text, self.probabilities)])

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"Quantile({', '.join(map(_number_text, self.probabilities))})"


@dataclass(frozen=True)
class Curve(_Asked):
    """The whole distribution function, which a survey without questions asks for.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.questions.read("curve") == lw.questions.Curve()
    True
    """

    word: ClassVar[str] = "curve"


Question = Share | Histogram | Mean | Quantile | Curve

KINDS: dict[str, type[Any]] = {
    made.word: made for made in (Share, Histogram, Mean, Quantile, Curve)
}

_END = re.compile(r"(?:^|\s+)(above|at[- ]least|at[- ]most|below)\s+")


def read(written: Any) -> Question:
    """Return the question in a string or a JSON object, or a question unchanged.

    Parameters
    ----------
    written : str, dict or Question
        A string such as "share above 50000", or what `to_document` returned.

    Returns
    -------
    Question
        Share, Histogram, Mean, Quantile or Curve.

    Raises
    ------
    ArgumentError
        When a string is not a question. The message has an example.
    FormatError
        When a JSON object is not a question.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.questions.read("share at-least 18 below 65")
    Share(at_least='18', below='65')
    >>> lw.questions.read({"question": "histogram", "bins": 16})
    Histogram(bins=16)
    """
    if isinstance(written, Question):
        return written
    if isinstance(written, Mapping):
        return _of_document(dict(written))
    if not isinstance(written, str):
        raise ArgumentError(
            f"a question must be a question of lw.questions or a string, got {kind_of(written)}. "
            "For example 'share above 50000'"
        )
    kind, _, rest = written.strip().partition(" ")
    rest = rest.strip()
    if kind == "share":
        return _share_of(rest)
    word, _, more = rest.partition(" ")
    if kind == "histogram" and word == "bins" and more.strip().isdecimal() and len(more) < 9:
        return Histogram(bins=int(more))
    if kind == "histogram" and word == "edges" and more:
        return Histogram(more.replace(",", " ").split())
    if kind == "quantile" and rest:
        return Quantile(*(_probability(text) for text in rest.replace(",", " ").split()))
    if kind in ("mean", "curve") and not rest:
        return Mean() if kind == "mean" else Curve()
    near = "" if kind in KINDS else nearest(kind, KINDS)
    if kind == "median":
        near = " (did you mean quantile 0.5?)"
    raise ArgumentError(
        f"{quoted(written)} is not a question{near}. Ask like this: "
        "'share above 50000', 'histogram bins 16', 'mean', 'quantile 0.5' or 'curve'"
    )


def read_questions(questions: Any) -> tuple[Question, ...]:
    """Return questions or their strings as a tuple. ArgumentError where there is none.

    questions: One question may stand alone.

    returns: Each question once, in this order.
    """
    alone = isinstance(questions, Question | str)
    if not alone and not isinstance(questions, Sequence):
        raise ArgumentError("questions must be a list, such as [lw.questions.Share(above=50)]")
    found = tuple(map(read, [questions] if alone else questions))
    if not found:
        raise ArgumentError(
            "questions must contain at least one question. Leave it out for the whole curve"
        )
    return tuple(dict.fromkeys(found))


def _share_of(rest: str) -> Share:
    if rest.startswith("label "):
        return Share(label=rest.removeprefix("label "))
    first, *parts = _END.split(rest)
    names, values = [re.sub("[- ]", "_", name) for name in parts[::2]], parts[1::2]
    if first.strip() or not parts or len(set(names)) < len(names):
        raise ArgumentError(
            f"{quoted('share ' + rest)} is not a question. Ask like this: 'share above 50000', "
            "'share at-least 18 below 65' or 'share label red'"
        )
    return Share(**dict(zip(names, values, strict=True)))


def _probability(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(
            f"a probability must be a number from 0 to 1, got {quoted(text)}. The median is 0.5"
        ) from None


def _of_document(document: dict[str, Any]) -> Question:
    """Return the question of a JSON object. FormatError where it is none, or has another form."""
    named = dict(document)
    word = named.pop("question", None)
    kind = KINDS.get(word) if isinstance(word, str) else None
    try:
        if kind is None:
            raise ArgumentError(f"its kind must be one of {', '.join(KINDS)}")
        found: Question = kind(*named.pop("probabilities", ()), **named)
    except (ArgumentError, TypeError) as error:
        said = error if isinstance(error, ArgumentError) else "its keys are not those of a question"
        raise FormatError(f"this is not a question: {said}") from None
    if found.to_document() != document:
        raise FormatError("this is not a question: its values must be strings")
    return found


def place_text(place: Any, domain: Domain) -> str | None:
    """Return an edge as it can be typed. None for an open end."""
    if place is None or isinstance(place, str):
        return place
    return (
        _number_text(float(place)) if domain.unit == "number" else to_text(place, unit=domain.unit)
    )


def _number_text(number: float) -> str:
    whole = number.is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else repr(number)


def _value_text(value: Any, *, name: str) -> str | None:
    """Return a value as exact text. ArgumentError where it is no value of a domain."""
    if value is None:
        return None
    if isinstance(value, str) and (value.strip() or name == "label"):
        return value if name == "label" else value.strip()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return str(value)
    number = isinstance(value, int | float | Decimal | np.number) and not isinstance(value, bool)
    if number and math.isfinite(value):
        return (
            str(int(value)) if isinstance(value, int | np.integer) else _number_text(float(value))
        )
    said = "an infinite number" if number else "an empty string" if value == "" else kind_of(value)
    raise ArgumentError(f"{name} must be a finite number, a date, a time or a string, got {said}")


def _in_range(place: Places, domain: Domain) -> bool:
    """Return whether a place is in the range. Beyond it nothing can be separated."""
    point, before = float(place.points), bool(place.before)
    ends = (_first(domain), True), (_last(domain), False)
    if _has_outer_ends(domain) and (point, before) in ends:
        return False
    last = _last(domain) + (domain.name == "integers")  # places are before whole numbers
    return _first(domain) <= point <= last


def _has_outer_ends(domain: Any) -> bool:
    """Return whether the outermost bins of an interval have all values up to its ends, or more."""
    if domain.name != "interval" or domain.bins is None:
        return bool(domain.open_ended)
    return not domain.outside_indices


def _first(domain: Any) -> float:
    return float(domain.low)


def _last(domain: Any) -> float:
    return float(domain.high)


def _edge(words: str, place: Places, domain: Domain) -> float:
    """Return the edge of bins that a place is. ArgumentError where bins have the other side."""
    point, before = float(place.points), bool(place.before)
    left = domain.closed == "left"
    if before == left:
        return point
    if domain.name == "integers":  # between two whole numbers nobody has a value
        return point + 1 if left else point - 1
    raise other_side(words, domain)


def other_side(words: str, domain: Domain) -> ArgumentError:
    """Return the error of a range that holds the end which its bins leave out."""
    other = domain.closed
    said = "at least or below" if other == "left" else "above or at most"
    return ArgumentError(
        f"{words!r} needs bins closed on the other side. These are closed on the {other}, so "
        f"they answer {said} exactly. Ask that, or declare "
        f"closed={'right' if other == 'left' else 'left'!r} in the domain"
    )


def label_of(text: str, domain: Any, *, name: str) -> Any:
    """Return the label, or the value, of a string. None for missing values.

    text: The typed string.
    domain: Domain of the values.
    name: Name of the option or argument, in messages.

    Raises ArgumentError, DomainError when the domain has no such label or value.
    """
    unlisted = domain.ordered or domain.name == "hashed-strings"
    labels = {} if unlisted else {str(label): label for label in domain.listed}
    place = place_of(text, [*labels])
    if place is not None:
        return [*labels.values()][place]
    if text.strip() in ("", "missing", MISSING) and domain.missing_index is not None:
        return None
    if domain.name == "hashed-strings":
        return text
    text = text.strip()
    if domain.name == "integers":
        whole = text.removeprefix("-").isdecimal() and len(text) < 20
        if not whole or not domain.low <= int(text) <= domain.high:
            raise ArgumentError(name, f"must be from {domain.low} to {domain.high}", repr(text))
        return int(text)
    if domain.ordered:
        return number_of(text, domain, name=name)
    alike = [label for label in labels if label.strip() == text]
    if len(alike) == 1:
        return labels[alike[0]]
    other = getattr(domain, "other", None)
    if other is not None:
        raise DomainError(f"{text!r} is not a separate label. It is counted in {other!r}")
    if isinstance(domain, Segmented):
        names = ", ".join(map(segment_text, domain.segments))
        raise ArgumentError(
            f"shares of labels are known only within segments, got {text!r}. Name a segment with "
            f"--segment: {names}"
        )
    raise ArgumentError(f"there is no label {text!r}{nearest(text, labels)}")


def check_answerable(asked: Question, domain: Any) -> None:
    """Raise ArgumentError or DomainError where no result on a domain answers a question.

    domain: An interval may have no bins yet.
    """
    if isinstance(domain, Product):
        raise DomainError("questions are for one attribute. Leave them out for pairs")
    if isinstance(asked, Share) and asked.label is not None:
        label = label_of(asked.label, domain, name="label")
        counted = domain.circular or getattr(domain, "outside", None) == "overflow"
        if domain.ordered and label is not None and not counted:
            low, high = (to_text(end(domain), unit=domain.unit) for end in (_first, _last))
            if not _first(domain) <= label <= _last(domain):
                raise ArgumentError(
                    f"'{asked}' must name a value from {low} to {high}, or ask for the share "
                    "above a value"
                )
    elif not (domain.ordered or (isinstance(asked, Curve) and domain.name == "categories")):
        raise ArgumentError(f"{asked} is for numbers. For labels, ask Share(label=...)")
    if isinstance(asked, Quantile) and domain.circular:
        raise ArgumentError(
            f"{asked} needs the value on the circle where counting starts. Use quantile(..., "
            "start=...) of the result"
        )
