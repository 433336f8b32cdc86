"""The answer of a distribution to one question of :mod:`lapwing.questions`.

Every number comes from :mod:`lapwing.results.answers` and the methods of a distribution. This
module only selects the method that answers a question, and omits an uninformative point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import Span, end_symbol, touched
from lapwing.protocol.domains.units import to_number, to_text
from lapwing.questions import (
    MISSING,
    Curve,
    Histogram,
    Mean,
    Quantile,
    Question,
    Share,
    check_answerable,
    label_of,
    place_text,
    read,
)
from lapwing.results.answer_documents import AnswerDocument
from lapwing.results.answers import cdf_columns, number_row, typed_places
from lapwing.results.counted import whom_of
from lapwing.results.directions import NO_MIDDLE
from lapwing.results.exact_values import NO_ERROR, is_exact
from lapwing.results.rounding import interval_text, number_text, number_writer, percent
from lapwing.results.signed_estimate import spans_interval
from lapwing.results.symbols import MISSING_UNSEEN, missing_unseen
from lapwing.results.unanswered import HARDLY_ANYBODY, reason_of, unknown_symbols
from lapwing.results.uncertainty import Among, Target

ASKS = "asks"
"""The entry of a provenance with the questions of a survey. Without one, the survey asks for the
curve."""

WIDE = 0.5
"""Fraction of the range from which an interval is so uninformative that its point is omitted."""

TOO_WIDE = (
    "the interval spans half of the range or more, and the survey was not designed for this "
    "question, so there is no point estimate"
)

AT_AN_END = "not known. Declare {0} as an atom (--atom {0})"
"""Placeholder for a share that may be anything in its interval."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer to one question, with its interval.

    Parameters
    ----------
    question : Question
        A question from :mod:`lapwing.questions`.
    value : object
        Share, mean or quantile. Several quantiles, the cells of a histogram and the points of the
        curve are arrays. None, or NaN in an array, if there is no point.
    low, high : object
        Ends of the pointwise intervals, in the form of `value`. None without an error distribution.
    level : float
        Confidence level of each interval.
    target : {"empirical", "population"}
        Whom the intervals are about.
    about : str
        The same in words.
    note : str or None
        Why a point or an interval is missing.

    Examples
    --------
    >>> import lapwing as lw
    >>> ages, bins = [25] * 400 + [45] * 600, lw.Interval(0, 100, bins=4)
    >>> rng = lw.seeded(1)  # for this example only
    >>> published = lw.release(ages, bins, epsilon=1, neighbors="replace-one", rng=rng)
    >>> answer = published.distribution.answer(lw.questions.Share(above=25))
    >>> round(answer.value, 2), answer.low < 0.6 < answer.high, answer.about
    (0.6, True, 'the people in the data')
    """

    question: Question
    value: Any
    low: Any
    high: Any
    level: float
    target: Target
    about: str
    note: str | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            JSON object. A number that is absent or beyond the range is None.
        """
        return {
            "question": self.question.to_document(),
            "value": _plain(self.value),
            "low": _plain(self.low),
            "high": _plain(self.high),
            "level": self.level,
            "target": self.target,
            "about": self.about,
            "note": self.note,
        }


def question_table(answers: Sequence[Answer], domain: Domain) -> list[dict[str, Any]]:
    """Return a row of a file for each number of answers.

    domain: Domain of the result.

    Raises ArgumentError when one is to the curve, which has a table of its own.
    """
    if any(isinstance(answer.question, Curve) for answer in answers):
        raise ArgumentError("the curve has a number for each bin. For a table, use lapwing show")
    rows = [row for answer in answers for row in _lines(answer, domain)]
    return [{name: row[name] for name in row if name not in _WORDS} for row in rows]


def answer_documents(answers: Sequence[Answer], domain: Domain) -> list[AnswerDocument]:
    """Return the JSON form of answers, with their numbers as people read them.

    domain: Domain of the result.
    """
    return [
        {
            **each.to_document(),  # type: ignore[typeddict-item]
            "lines": [
                {name: row[name] for name in ("question", *_WORDS)} for row in _lines(each, domain)
            ],
        }
        for each in answers
    ]


def _lines(answer: Answer, domain: Domain) -> list[dict[str, Any]]:
    """Return a row for each number: plain, and as `text` and `interval`. None for the curve."""
    asked = answer.question
    if isinstance(asked, Curve):
        return []
    parts = [str(asked)]
    if isinstance(asked, Histogram):
        ends = asked.places(domain)
        texts = [end if isinstance(end, str) else to_text(end, unit=domain.unit) for end in ends]
        parts = [f"{low} to {high}" for low, high in pairwise(texts)]
    if isinstance(asked, Quantile):
        parts = [str(Quantile(each)) for each in asked.probabilities]
    numbers = isinstance(asked, Mean | Quantile)
    write = number_writer(domain.unit) if numbers else percent
    columns = [_entries(each, len(parts)) for each in (answer.value, answer.low, answer.high)]
    found = []
    for part, *given in zip(parts, *columns, strict=True):
        row = _numbered(given, domain) if numbers else dict(zip(_ENDS, given, strict=True))
        found.append(
            {
                "question": part,
                **dict(zip(_ENDS, map(_plain, given), strict=True)),
                "about": answer.about,
                "note": answer.note,
                "text": number_text(row, write, domain.unit),
                "interval": interval_text(row, write, domain.unit),
            }
        )
    return found


_ENDS = ("value", "low", "high")
_WORDS = ("text", "interval")


def _entries(value: Any, count: int) -> list[Any]:
    """Return the numbers of an answer in a list, None where there is none."""
    several = value.tolist() if isinstance(value, np.ndarray) else [value] * count
    return [None if isinstance(each, float) and math.isnan(each) else each for each in several]


def _numbered(given: Sequence[Any], domain: Domain) -> Any:
    """Return a value and the ends of its interval as a row of :mod:`lapwing.results.answers`."""
    value, low, high = (None if each is None else _number(each, domain) for each in given)
    ends = None if low is None or high is None else (low, high)
    row = number_row(0.0 if value is None else value, ends, domain)
    return row if value is not None else {**row, "value": None}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(each) for each in value.tolist()]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int | str) else str(value)


_Row = tuple[Any, Any, Any, str | None]
"""A value, the ends of its interval, and why one is missing."""


def answer_question(result: Any, question: Any, *, level: float, target: Target) -> Answer:
    """Return the answer of a distribution to a question, as its method `answer` describes it.

    target: {"empirical", "population"}.
    """
    asked: Question = read(question)
    how: dict[str, Any] = {"level": level, "target": target}
    domain = result.domain
    check_answerable(asked, domain)
    if isinstance(asked, Curve) and domain.circular:
        raise ArgumentError("a curve needs the value on the circle where it begins. Use cdf(...)")
    reason = reason_of(result)
    rows = _rows(result, asked, how)
    of_missing = isinstance(asked, Share) and asked.label in ("missing", MISSING)
    if reason is not None and not (of_missing and reason == HARDLY_ANYBODY):
        rows = [(None, None, None, reason) for _ in rows]
    if withheld(result, asked):
        rows = [_without_wide_point(row, asked, domain) for row in rows]
        if isinstance(asked, Share | Histogram) and _of_range(asked):
            pairs = zip(rows, asked.ranges(domain), strict=True)
            rows = [_bounded(result, row, spans, how) for row, spans in pairs]
    notes = [note for *_, note in rows if note is not None]
    if not notes and rows[0][1] is None and is_exact(result):
        notes = [NO_ERROR]
    values, low, high = (_joined(column, asked) for column in list(zip(*rows, strict=True))[:3])
    return Answer(
        asked, values, low, high, level, target, whom_of(result, target), next(iter(notes), None)
    )


def asked_in(provenance: Mapping[str, Any]) -> tuple[Question, ...]:
    """Return the questions of a survey, by the provenance of its result."""
    return tuple(read(each) for each in provenance.get(ASKS, ()))


def asks_curve(provenance: Mapping[str, Any]) -> bool:
    """Return whether a survey asks for the whole curve, as one without questions does."""
    asks = asked_in(provenance)
    return not asks or Curve() in asks


def in_place_of_curve(result: Any, asks: Sequence[Any] = ()) -> tuple[Question, ...]:
    """Return the questions that a table or a picture answers, or else the survey's.

    asks: The questions. None: those of the survey.

    returns: Empty where the curve is asked, alone or by the survey. Also of labels, unless asked
        here, where the shares of all of them are known.
    """
    if not asks:
        known = not (result.domain.ordered or unknown_symbols(result).any())
        curve = known or asks_curve(result.provenance)
        return () if curve else asked_in(result.provenance)
    asked = tuple(map(read, asks))
    return () if asked == (Curve(),) else asked


def withheld(result: Any, asked: Question) -> bool:
    """Return whether a survey did not ask this, so that it is answered without a point if wide."""
    return not asks_curve(result.provenance) and asked not in asked_in(result.provenance)


def _rows(result: Any, asked: Question, how: dict[str, Any]) -> list[_Row]:
    domain = result.domain
    if isinstance(asked, Share) and asked.label is not None:
        return [_label_share(result, label_of(asked.label, domain, name="label"), how)]
    if isinstance(asked, Share):
        return [
            _range_share(result, each, asked.low, asked.high, how) for each in asked.ranges(domain)
        ]
    if isinstance(asked, Histogram):
        return [
            _range_share(result, each, place_text(low, domain), place_text(high, domain), how)
            for each, (low, high) in zip(asked.ranges(domain), asked.cells(domain), strict=True)
        ]
    if isinstance(asked, Mean):
        value, interval = result.mean(), result.mean_interval(**how)
        return [(value, *(interval or (None, None)), NO_MIDDLE if value is None else None)]
    if isinstance(asked, Quantile):
        return [_quantile(result, each, how) for each in asked.probabilities]
    if not domain.ordered:
        missing = [] if domain.missing_index is None else [None]
        return [_label_share(result, label, how) for label in [*domain.listed, *missing]]
    columns = cdf_columns(result, result.confidence_band(**how))
    return [(*each, None) for each in zip(*columns.values(), strict=True)]


def _label_share(result: Any, label: Any, how: dict[str, Any]) -> _Row:
    """Return the share of a label of those with a value. That of missing values is of all."""
    if label is None and missing_unseen(result):
        return None, None, None, MISSING_UNSEEN
    among: Among = "all" if label is None else "present"
    interval = result.share_interval(label, among=among, **how)
    return result.share(label, among=among), *(interval or (None, None)), None


def _range_share(
    result: Any, spans: list[Span], low: str | None, high: str | None, how: dict[str, Any]
) -> _Row:
    """Return the share of a range, of those with a value."""
    value, note = min(result.cumulative.between(spans), 1.0), None
    for typed, place in typed_places(low, high, spans)[::-1]:
        if end_symbol(result.domain, place) is not None:  # anywhere in its interval
            value, note = None, AT_AN_END.format(typed)
    interval = spans_interval(
        result.domain, result.cumulative, result._present_uncertainty, spans, **how
    )
    return value, *(interval or (None, None)), note


def _of_range(asked: Any) -> bool:
    return isinstance(asked, Histogram) or (isinstance(asked, Share) and asked.label is None)


def _bounded(result: Any, row: _Row, spans: list[Span], how: dict[str, Any]) -> _Row:
    """Return a row of which the interval is wide, cut by the shares that the survey asks."""
    value, low, high, note = row
    if note != TOO_WIDE:
        return row
    domain = result.domain
    own = touched(domain, spans)
    for each in filter(_of_range, asked_in(result.provenance)):
        for others in each.ranges(domain):  # type: ignore[union-attr]
            other = touched(domain, others).whole
            _, *ends, _ = _range_share(result, others, None, None, how)
            if (other <= own.whole).all():
                low = max(low, ends[0])
            if (own.some <= other).all():
                high = min(high, ends[1])
            if not (own.some & other).any():
                high = min(high, 1 - ends[0])
            if (own.whole | other).all():
                low = max(low, 1 - ends[1])
    return value, low, high, note


def _quantile(result: Any, probability: float, how: dict[str, Any]) -> _Row:
    interval = result.quantile_interval(probability, **how)
    value = result.quantile(probability)
    number = not isinstance(value, str) and value.dtype.kind == "f"  # times of day are strings
    return (value.item() if number else value, *(interval or (None, None)), None)


def _without_wide_point(row: _Row, asked: Question, domain: Any) -> _Row:
    """Return a row without its point where the interval spans half of what it could be."""
    value, low, high, note = row
    if low is None or value is None:
        return row
    if isinstance(asked, Mean | Quantile):
        first, last = float(domain.left[0]), float(domain.right[-1])
        start, stop = (float(np.clip(_number(end, domain), first, last)) for end in (low, high))
        span = last - first
        width = stop - start if start <= stop else stop - start + span  # round a circle
    else:
        span, width = 1.0, high - low
    return (None, low, high, note or TOO_WIDE) if not width < WIDE * span else row


def _number(value: Any, domain: Any) -> float:
    """Return an end of an interval as a number: beyond the range it is one in every unit."""
    return value if isinstance(value, float) else to_number(value, unit=domain.unit, name="an end")


def _joined(column: tuple[Any, ...], asked: Question) -> Any:
    """Return the one number of a question, or an array of its numbers. None where all are none."""
    several = isinstance(asked, Histogram | Curve) or len(column) > 1
    if not several or all(each is None for each in column):
        return column[0]
    if all(each is None or isinstance(each, float) for each in column):
        return np.array([math.nan if each is None else each for each in column])
    return np.array(column, dtype=object)
