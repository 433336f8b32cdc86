"""Answers about two attributes: one document, from which every output is made.

It has no posterior draws, which take megabytes, unless they are asked for. Where little is known of
the people in a condition there is no point:

===============================  =====================================================
rule                             function
===============================  =====================================================
no point of few people           :func:`unsure`
weak effects at small epsilon    :func:`shrunk`
a quantile in a slice            :func:`slice_rows`
a question in words              :func:`question_rows`
blocks of a map                  :func:`map_document`
===============================  =====================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.units import to_text
from lapwing.questions import Curve
from lapwing.results.answer_documents import AnswerRequest, QuantileRow
from lapwing.results.answers import difference_answer, quantile_row, result_answer
from lapwing.results.association import most_information
from lapwing.results.counted import whom
from lapwing.results.difference import Difference
from lapwing.results.exact_values import EXACT, is_exact, promise_text
from lapwing.results.joint_conditions import JointQuestion, read_joint, slice_place, slices
from lapwing.results.joint_difference import JointDifference
from lapwing.results.joint_distribution import LEAST_SLICE, SLICE, JointDistribution
from lapwing.results.joint_documents import (
    JointAnswer,
    JointDifferenceAnswer,
    JointQuestionRow,
    JointRequest,
    LabelCurve,
    MeasureRow,
    SliceRow,
    map_document,
)
from lapwing.results.joint_plotting import PANELS, largest
from lapwing.results.question_answers import WIDE, answer_documents, question_table
from lapwing.results.rounding import (
    NONE,
    NumberWriter,
    estimate_text,
    interval_text,
    number_text,
    number_writer,
    percent,
)

FEW = "fewer than 2% of the people meet the condition, where intervals were not measured"

TOO_WIDE = "the interval of the median among these people spans half of the range or more"

SHRUNK = (
    "at epsilon 2 or less, differences between conditions are underestimated, especially for "
    "short ranges. Trust the intervals more than the estimates"
)

_SHRUNK_UP_TO = 2
"""Epsilon up to which it is said. Of simulated effects in 4 of 24 hours a tenth to four fifths were
seen."""

_QUARTILES = (0.25, 0.5, 0.75)


def joint_answer(joint: JointDistribution, request: JointRequest) -> JointAnswer:
    """Return what a joint distribution says.

    Raises ArgumentError, DomainError when it cannot say what is asked.
    """
    level, axes = request.level, joint.domain.axes
    law = joint.uncertainty
    ordered = [axis.ordered and not axis.circular for axis in axes.values()]
    marginal = AnswerRequest(level=level, target=request.target, range_errors=False, curve=True)
    answer: JointAnswer = {
        "kind": "joint-distribution",
        "about": EXACT if is_exact(joint) else whom(request.target, joint.guarantee),
        "reports": joint.reports,
        "level": level,
        "guarantee": joint.guarantee.to_document() if joint.guarantee else None,
        "guarantee_text": promise_text(joint),
        "provenance": joint.provenance,
        "domain": joint.domain.to_document(),
        "axes": list(joint.domain.names),
        "units": [axis.unit for axis in axes.values()],
        "band": None
        if law is None
        else {"kind": "pointwise", "target": request.target, "method": law.method},
        "map": map_document(joint),
        "marginals": {name: dict(result_answer(joint.marginal(name), marginal)) for name in axes},
        "pearson": _correlation(joint, "pearson", level) if all(ordered) else None,
        "spearman": _correlation(joint, "spearman", level) if all(ordered) else None,
        "mutual_information": _information(joint, level),
        "quantiles": {
            name: slice_rows(joint, name, level=level)
            for name, placed in zip(axes, ordered, strict=True)
            if placed
        },
        "labels": _label_curves(joint, level),
        "caution": shrunk(joint),
        "questions": question_rows(joint, request),
    }
    return {**answer, "joint": joint.to_document()} if request.draws else answer


def difference_of_joints(
    difference: JointDifference, request: JointRequest, *, people: Any
) -> JointDifferenceAnswer:
    """Return what the first of two joint distributions has more than the second.

    people: "same" where a person may be in both, else "different".

    Raises ArgumentError when another question than a share of both attributes is asked.
    """
    first, second = difference.first, difference.second
    assert isinstance(first, JointDistribution) and isinstance(second, JointDistribution)
    own = AnswerRequest(level=request.level, target=request.target, curve=True)
    marginals = {
        name: Difference(
            first.marginal(name), second.marginal(name), people=people, target=request.target
        )
        for name in first.domain.names
    }
    return {
        "kind": "joint-difference",
        "level": request.level,
        "about": whom(request.target, first.guarantee),
        "reports": first.reports,
        "against_reports": second.reports,
        "people": people,
        "target": request.target,
        "domain": first.domain.to_document(),
        "axes": list(first.domain.names),
        "units": [axis.unit for axis in first.domain.domains],
        "map": map_document(first, second, level=request.level),
        "marginals": {name: dict(difference_answer(each, own)) for name, each in marginals.items()},
        "questions": [
            _box_row(difference, read_joint(text, first.domain), request.level)
            for text in request.asks
        ],
    }


def shrunk(joint: JointDistribution) -> str | None:
    """Return why differences between conditions are too small. None where they are not."""
    promise = joint.guarantee
    if joint.uncertainty is None or promise is None or promise.epsilon is None:
        return None
    return SHRUNK if promise.epsilon <= _SHRUNK_UP_TO else None


def unsure(part: Any, share: float, *, level: float) -> str | None:
    """Return why a condition shows no point. None where it does.

    part: The distribution among the people who meet it.
    share: Of the people who do.
    """
    if part.uncertainty is None:
        return None
    if share < LEAST_SLICE:
        return FEW
    domain = part.domain
    if not domain.ordered or domain.circular:
        return None
    row = quantile_row(part, part.confidence_band(level), 0.5)
    ends = float(domain.left[0]), float(domain.right[-1])
    low, high = (
        end if row[name] is None else row[name]  # type: ignore[literal-required]
        for name, end in zip(("low", "high"), ends, strict=True)
    )
    return None if high - low < WIDE * (ends[1] - ends[0]) else TOO_WIDE


def slice_rows(
    joint: JointDistribution, axis: str, *, level: float, slice_share: float = SLICE
) -> list[SliceRow]:
    """Return the quartiles of an ordered axis in slices of the people along the other one.

    slice_share: Least share of the people in a slice of an ordered axis.
    """
    number = joint.domain.axis_number(axis)
    by = joint.domain.domains[1 - number]
    shares = joint.marginal(joint.domain.names[1 - number]).mass
    rows: list[SliceRow] = []
    for symbols in slices(by, shares, slice_share):
        share = float(shares[symbols].sum())
        part = joint._of_symbols(1 - number, symbols)
        place = slice_place(by, symbols)
        ends = {"left": _finite(place.get("from")), "right": _finite(place.get("to"))}
        texts = {f"{end}_text": _place_text(at, by) for end, at in ends.items() if at is not None}
        head: Any = {
            **ends,
            **(texts if by.unit != "number" else {}),
            "label": place.get("label"),
            "share": share,
            "note": unsure(part, share, level=level),
        }
        band = part.confidence_band(level)
        for probability in _QUARTILES:
            row = quantile_row(part, band, probability)
            found: Any = {**head, **_without_point(row, head["note"])}
            rows.append(found)
    return rows


def _without_point(row: QuantileRow, note: str | None) -> dict[str, Any]:
    """Return a row without its point where there is a note, and of few people without interval."""
    if note is None:
        return dict(row)
    kept = {name: row[name] for name in row if note != FEW and name.startswith(("low", "high"))}  # type: ignore[literal-required]
    return {"probability": row["probability"], "value": None, "low": None, "high": None, **kept}


def _finite(number: float | None) -> float | None:
    return None if number is None or math.isinf(number) else float(number)


def _label_curves(joint: JointDistribution, level: float) -> list[LabelCurve] | None:
    """Return the density of the ordered axis for each of the largest labels of the other one."""
    ordered = [axis.ordered for axis in joint.domain.domains]
    if all(ordered) or not any(ordered):
        return None
    number = ordered.index(False)
    axis: Any = joint.domain.domains[number]
    labels = axis.listed
    table = joint.marginal(joint.domain.names[number])
    request = AnswerRequest(
        level=level, probabilities=(), curve=True, moments=False, range_errors=False, atoms=False
    )
    found: list[LabelCurve] = []
    for symbol in largest(table.mass[: len(labels)], PANELS):
        share = float(table.mass[symbol])
        ends = table.share_interval(labels[symbol], level=level)
        low, high = ends or (None, None)
        part = joint._of_symbols(number, np.array([symbol]))
        note, steps = unsure(part, share, level=level), None
        if note is None:
            curve = result_answer(part, request)["curve"]  # type: ignore[typeddict-item]
            steps = None if curve is None else curve["steps"]
        found.append(
            {
                "label": labels[symbol],
                "share": share,
                "low": low,
                "high": high,
                "steps": steps,
                "note": note,
            }
        )
    return found


def _correlation(joint: JointDistribution, kind: Any, level: float) -> MeasureRow | None:
    try:
        value, ends = joint.correlation(kind), joint.correlation_interval(kind, level=level)
    except ArgumentError:  # nobody has another value than the others
        return None
    low, high = ends or (None, None)
    return {"value": value, "low": low, "high": high}


def _information(joint: JointDistribution, level: float) -> MeasureRow:
    low, high = joint.mutual_information_interval(level=level) or (None, None)
    known = high is not None and high < most_information(joint.table)
    return {"value": joint.mutual_information(), "low": low, "high": high if known else None}


def question_rows(joint: JointDistribution, request: JointRequest) -> list[JointQuestionRow]:
    """Return the answers to the questions of a request: a row for each number."""
    rows: list[JointQuestionRow] = []
    for text in request.asks:
        asked = read_joint(text, joint.domain)
        if asked.axis is None:
            rows.append(_box_row(joint, asked, request.level))
        else:
            rows += _axis_rows(joint, asked, request)
    return rows


def _axis_rows(
    joint: JointDistribution, asked: JointQuestion, request: JointRequest
) -> list[JointQuestionRow]:
    """Return the answer about one attribute, of all people or of those who meet a condition."""
    assert asked.axis is not None and asked.question is not None
    if isinstance(asked.question, Curve):
        raise ArgumentError("the curve has a number for each bin. They are in the document")
    part, note = joint.marginal(asked.axis), None
    if asked.conditions:
        part = joint.given(**asked.conditions)
        (name, condition), *_ = asked.conditions.items()
        note = unsure(part, joint.probability(**{name: condition}), level=request.level)
    answer = part.answer(asked.question, level=request.level, target=request.target)
    _, of, words = asked.text.partition(f" of {asked.axis}")
    (document,) = answer_documents([answer], part.domain)
    rows: list[JointQuestionRow] = []
    for numbers, line in zip(question_table([answer], part.domain), document["lines"], strict=True):
        row: Any = {end: numbers[end] for end in ("value", "low", "high")}
        row |= {"question": numbers["question"] + of + words, "note": document["note"]}
        row |= {"text": line["text"], "interval": line["interval"]}
        rows.append(row)
        if note is not None:
            row |= {"value": None, "text": NONE, "note": note}
            if note == FEW:
                row |= {"low": None, "high": None, "interval": NONE}
    return rows


def _box_row(
    result: JointDistribution | JointDifference, asked: JointQuestion, level: float
) -> JointQuestionRow:
    """Return the share in a range of both attributes, a difference of it, or the correlation."""
    if isinstance(result, JointDifference) and (asked.axis or not asked.conditions):
        raise ArgumentError(
            f"a comparison answers only shares of both attributes, got {asked.text!r}. For "
            "example: 'share ms above 1000 and hour at-least 6'"
        )
    write: NumberWriter = percent
    if asked.conditions:
        value = result.probability(**asked.conditions)
        ends = result.probability_interval(level=level, **asked.conditions)
    else:
        assert isinstance(result, JointDistribution)
        value, ends = result.correlation(), result.correlation_interval(level=level)
        write = number_writer("number")
    low, high = ends or (None, None)
    row = {"value": value, "low": low, "high": high}
    return {
        "question": asked.text,
        "value": value,
        "low": low,
        "high": high,
        "text": number_text(row, write),
        "interval": interval_text(row, write),
        "note": None,
    }


def cell_rows(joint: JointDistribution) -> Sequence[dict[str, Any]]:
    """Return a row for each cell: its symbols on both axes, and its share."""
    names = [_symbols(axis) for axis in joint.domain.domains]
    one, other = joint.domain.names
    mark = {"about": EXACT} if is_exact(joint) else {}
    return [
        {one: first, other: second, "share": float(joint.table[i, j]), **mark}
        for i, first in enumerate(names[0])
        for j, second in enumerate(names[1])
    ]


def block_rows(answer: JointDifferenceAnswer, domain: Product) -> list[dict[str, Any]]:
    """Return a row for each block of a map of differences."""
    shown = answer["map"]
    sides = []
    for name, axis, ends in zip(
        domain.names, domain.domains, (shown["x"], shown["y"]), strict=True
    ):
        if axis.ordered:
            sides.append([{f"{name} from": a, f"{name} to": b} for a, b in pairwise(ends)])
        else:
            sides.append([{name: label} for label in ends])
    return [
        {
            **first,
            **second,
            "difference": shown["shares"][i][j],
            **{end: shown[end][i][j] for end in ("low", "high") if end in shown},
            "about": answer["about"],
        }
        for i, first in enumerate(sides[0])
        for j, second in enumerate(sides[1])
    ]


def slice_text(row: SliceRow, axis: Any) -> str:
    """Return a slice in words. One without an end has all people beyond it."""
    if not axis.ordered:
        return str(row["label"])
    low, high = (
        None if row[end] is None else _place_text(row[end], axis) for end in ("left", "right")
    )
    if low is None:
        return "all" if high is None else f"up to {high}"
    return f"{low} and beyond" if high is None else f"{low} to {high}"


def _symbols(axis: Any) -> list[str]:
    if axis.ordered:
        ends = zip(axis.left, axis.right, strict=True)
        held = [
            text if text == other else f"{text} to {other}"
            for text, other in ([_place_text(end, axis) for end in each] for each in ends)
        ]
        for place, word in ((axis.below_index, "below"), (axis.above_index, "above")):
            if place is not None:
                held[place] = word
    else:
        held = list(map(str, axis.listed))
    return held if axis.missing_index is None else [*held, "(missing)"]


def _place_text(value: Any, axis: Any) -> str:
    return to_text(float(value), unit=axis.unit) if axis.unit != "number" else estimate_text(value)
