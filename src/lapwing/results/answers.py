"""Answers of a result: one document per kind, from which every output is made.

``summary()``, the terminal, CSV files, ``--json``, the collector's answers and its pages all render
these documents. :mod:`lapwing.results.rounding` is the only place where a number becomes text.
Numbers are not rounded here. A rule about answers is written once:

===============================  =====================================================
rule                             function
===============================  =====================================================
a quantile                       :func:`quantile_row`
a share of a range or a label    ``result.answer``, by :mod:`lapwing.results.question_answers`.
                                 Inside bins and at their edges
                                 :func:`lapwing.results.intervals.probability_ends`
rows of a table of labels        :func:`largest_rows`: simultaneous, by
                                 :func:`lapwing.results.uncertainty.table_kind`
rows of a table, by value        :func:`cdf_columns`
about whom                       ``about`` of every document, by
                                 :func:`lapwing.results.counted.whom`
===============================  =====================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.privacy.guarantee import weakest_standing
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import (
    OpenEnd,
    Places,
    Span,
    bin_of_low,
    number_of,
    open_end,
    split_symbol,
    symbol_places,
    to_days,
)
from lapwing.protocol.domains.units import to_text
from lapwing.questions import Mean, Quantile, Question, Share, label_of
from lapwing.results.answer_documents import (
    RANGE_LIMIT,
    ROW_LIMIT,
    Answer,
    AnswerDocument,
    AnswerRequest,
    AtomRow,
    BandDocument,
    BinEnds,
    CurveDocument,
    CutBin,
    DifferenceAnswer,
    HeavyHittersAnswer,
    IntervalRow,
    LabelsAnswer,
    NumberRow,
    NumbersAnswer,
    OutsideRow,
    QuantileRow,
    QuantileShiftRow,
    QuarterRow,
    QuestionRow,
    RangeErrors,
    ResultAnswer,
    ResultDocument,
    SeriesAnswer,
    ShareRow,
    ShiftRow,
)
from lapwing.results.atoms import atoms_at
from lapwing.results.counted import all_noise, counted_word, guarantees_of, unit_document, whom_of
from lapwing.results.directions import NO_MIDDLE, Circle, circle_from, mean_shift
from lapwing.results.exact_values import promise_text
from lapwing.results.intervals import (
    answering,
    direction_of,
    has_middle,
    quantile_ends,
    quantile_places,
    range_error_bounds,
    reaching,
    share_ends,
)
from lapwing.results.readable import Columns, about_column, interval_columns, rows_of
from lapwing.results.rounding import OPEN_ENDS
from lapwing.results.steps import Steps, drawn_steps, shared_steps
from lapwing.results.symbols import (
    MISSING_UNSEEN,
    in_numbers,
    measured_in,
    missing_share,
    missing_unseen,
    values_of,
)
from lapwing.results.unanswered import reason_of, unknown_symbols, without_numbers
from lapwing.results.uncertainty import Band, DifferenceBand, Kind, Target


def answer_of(result: Any, request: AnswerRequest) -> Answer:
    """Return what a result says.

    Raises ArgumentError, DomainError when it cannot say what is asked, such as a range of labels.
    """
    if hasattr(result, "weeks"):
        return series_answer(result, request)
    if hasattr(result, "people"):
        return difference_answer(result, request)
    return result_answer(result, request)


def result_answer(result: Any, request: AnswerRequest) -> ResultAnswer:
    """Return what a distribution or a list of heavy hitters says, as :func:`answer_of`."""
    if result._kind == "heavy-hitters":
        return _heavy_hitters(result, request)
    reason = reason_of(result)  # first, so that no method warns of what the answer says
    answer = _numbers if result.domain.ordered else _labels
    return without_numbers(answer(result, request), reason)


def _head(result: Any, band: Band | None, request: AnswerRequest) -> ResultDocument:
    return {
        "reports": result.reports,
        "level": request.level,
        "guarantee": result.guarantee.to_document() if result.guarantee else None,
        "guarantee_text": promise_text(result),
        "reason": None,
        "about": whom_of(result, request.target),
        "answers": _to_questions(result, request),
        "all_noise": all_noise(result),
        "provenance": result.provenance,
        "domain": result.domain.to_document(),
        "unit": result.domain.unit,
        "measured_in": measured_in(result),
        "band": _band(band),
        "questions": [share_row(result, asked, **request.how) for asked in request.shares],
    }


def _to_questions(result: Any, request: AnswerRequest) -> list[AnswerDocument]:
    """Return the answers to the questions of a request, or else of the survey."""
    if result._kind == "heavy-hitters":
        return []
    return [*result._answer_documents(request.asks, **request.how)]


def _numbers(result: Any, request: AnswerRequest) -> NumbersAnswer:
    how = request.how
    band = result.confidence_band(**how)
    nobody = missing_share(result) == 1  # has a value, so nothing is said of values
    if nobody and request.shares:
        raise ArgumentError("all values are missing. Ask for the share of missing values")
    circle = Circle.of_domain(result.domain)
    start = start_of(request, result.domain)
    moments, bounds, atoms = (
        asked and not nobody for asked in (request.moments, request.range_errors, request.atoms)
    )
    return {
        **_head(result, band, request),
        "kind": "numbers",
        "missing": missing_row(result, **how),
        "outside": None if nobody else outside_rows(result, **how),
        "limited_to": limits_of(result.domain),
        "share_in_band": None if nobody else share_in_band(result, **how),
        "start": start,
        "quantiles": []
        if nobody or (circle is not None and start is None)
        else [
            _as_answered(result, quantile_row(result, band, each, start=start), Quantile(each), how)
            for each in request.probabilities
        ],
        "mean": _as_answered(result, mean_row(result, **how), Mean(), how) if moments else None,
        "std": _deviation_row(result, **how) if moments else None,
        "resultant_length": _length_row(result, **how) if moments and circle is not None else None,
        "quarters": quarter_rows(result, **how) if moments and circle is not None else None,
        "range_error_bounds": _range_errors(result, **how) if bounds else None,
        "atoms": [_atom(atom, result.domain) for atom in atoms_at(result, **how)]
        if atoms
        else None,
        "curve": _curve(result, band, **how) if request.curve and not nobody else None,
    }


def _as_answered(result: Any, row: Any, asked: Question, how: dict[str, Any]) -> Any:
    """Return a row without the point that the answer of a survey to this question withholds."""
    domain = result.domain
    if not result.provenance.get("asks") or (domain.circular and isinstance(asked, Quantile)):
        return row
    answer = result.answer(asked, **how)
    if answer.value is not None or answer.note is None:
        return row
    kept = {name: row[name] for name in row if name not in ("text", *OPEN_ENDS)}
    return {**kept, "value": None, "reason": answer.note}


def mean_row(result: Any, *, level: float, target: Target = "empirical") -> NumberRow:
    """Return the mean of those with a value. Its interval is for all places inside the bins.

    It is that of values limited to the range (:func:`limits_of`). On a circle it is a direction.
    Without a clear middle there is none.
    """
    numbers = in_numbers(result)
    if not has_middle(result, level, target):
        return {"value": None, "low": None, "high": None, "reason": NO_MIDDLE}
    ends = numbers.mean_interval(level=level, target=target)
    return number_row(numbers.cumulative.mean, ends, result.domain)


def _deviation_row(result: Any, *, level: float, target: Target) -> NumberRow:
    """Return the standard deviation. Its interval has the roots of that of the variance.

    On a circle it falls as the mean resultant length rises, and is infinite where that is zero.
    """
    circle = Circle.of_domain(result.domain)
    if circle is not None:
        row = _length_row(result, level=level, target=target)
        low, value, high = (
            None if row[end] is None else _finite(circle.deviation(float(row[end] or 0.0)))
            for end in ("high", "value", "low")
        )
        return {"value": value, "low": low, "high": high}
    ends = result.variance_interval(level=level, target=target)
    roots = None if ends is None else (math.sqrt(ends[0]), math.sqrt(ends[1]))
    low, high = (None, None) if roots is None else roots
    return {"value": math.sqrt(result.cumulative.variance), "low": low, "high": high}


def _length_row(result: Any, *, level: float, target: Target) -> NumberRow:
    """Return the mean resultant length R of a circle. Its interval reaches to it."""
    length = result.cumulative.resultant_length
    direction = direction_of(result, level, target)
    low, high = (None, None) if direction is None else reaching(direction.length, length)
    return {"value": length, "low": low, "high": high}


def quarter_rows(result: Any, *, level: float, target: Target = "empirical") -> list[QuarterRow]:
    """Return the shares of the four quarters of a circle. Each holds the end that its bins hold."""
    domain, rows = result.domain, []
    circle = Circle.of_domain(domain)
    for left, right in [] if circle is None else circle.quarters():
        share = result.probability(left, right)
        ends = result.probability_interval(left, right, level=level, target=target)
        row: QuarterRow = {
            "left": left,
            "right": right,
            **share_with_ends(share, ends),  # type: ignore[typeddict-item]
        }
        if domain.unit != "number":
            row["left_text"] = to_text(left, unit=domain.unit)
            row["right_text"] = to_text(right, unit=domain.unit)
        rows.append(row)
    return rows


def start_of(request: AnswerRequest, domain: Domain) -> float | None:
    """Return from where quantiles are counted. ArgumentError where a line is given a start."""
    if request.start is None:
        return None
    return circle_from(domain, number_of(request.start, domain, name="start"))[1]


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def limits_of(domain: Domain) -> list[float] | None:
    """Return the range to which a mean limits values outside. None where nobody can be outside."""
    if domain.open_ended or domain.outside_indices:
        return [float(domain.left[0]), float(domain.right[-1])]
    return None


def outside_rows(result: Any, *, level: float, target: Target = "empirical") -> OutsideRow | None:
    """Return the shares below and above the range. None where the domain does not count them."""
    if not result.domain.outside_indices:
        return None
    law, mass = answering(result._present_uncertainty, target), result.cumulative.mass

    def row(symbol: int) -> ShareRow:
        share = float(mass[symbol])
        if law is None:
            return share_with_ends(share, None)
        interval = share_ends(law, symbol).interval(level, least=0.0, most=1.0)
        return share_with_ends(share, reaching(interval, share))

    below, above = result.domain.outside_indices
    return {"below": row(below), "above": row(above)}


def _range_errors(result: Any, *, level: float, target: Target) -> RangeErrors | None:
    if result.domain.size > RANGE_LIMIT:
        return None
    band = result.confidence_band(level, kind="simultaneous", target=target)
    if band is None:
        return None
    bounds = range_error_bounds(result.cumulative, band, width=None)
    return {"average": bounds.average, "worst": bounds.worst}


def _labels(result: Any, request: AnswerRequest) -> LabelsAnswer:
    band = result._shown_band(**request.how)
    unknown = unknown_symbols(result)
    return {
        **_head(result, band, request),
        "kind": "labels",
        "missing": missing_row(result, **request.how),
        "share_in_band": share_in_band(result, **request.how),
        "labels": int((~unknown).sum()),
        "shares": [
            {"label": label, "share": share, **ends}  # type: ignore[typeddict-item]
            for label, share, ends in largest_rows(result.domain, result.mass * ~unknown, band)
            if not (unknown.any() and (ends["low"], ends["high"]) == (0, 1))
        ],
    }


def _heavy_hitters(result: Any, request: AnswerRequest) -> HeavyHittersAnswer:
    band = result.confidence_band(**request.how)
    rows = zip(
        result.values, result.shares.tolist(), band.low.tolist(), band.high.tolist(), strict=True
    )
    return {
        **_head(result, band, request),
        "kind": "heavy-hitters",
        "listed": len(result),
        "searched": result.searched,
        "threshold": result.threshold,
        "expected_false": result.expected_false,
        "remainder": result.remainder,
        "shares": [
            {
                "label": _plain(value),
                "share": share,
                "low": low,
                "high": high,
                "interval": band.kind,
            }
            for value, share, low, high in rows
        ],
    }


def difference_answer(difference: Any, request: AnswerRequest) -> DifferenceAnswer:
    """Return what the first of two distributions has more than the second."""
    target: Target = difference.target
    reasons = [reason_of(each) for each in (difference.first, difference.second)]
    level, domain = request.level, difference.first.domain
    band = difference.confidence_band(level)
    wide = difference.confidence_band(level, kind="simultaneous")
    ordered = domain.ordered
    gaps = difference.first.mass - difference.second.mass
    shown = band if ordered else difference._shown_band(level)
    guarantee = difference.guarantee
    answer: DifferenceAnswer = {
        "kind": "difference",
        "reason": None,
        "level": level,
        "reports": difference.first.reports,
        "against_reports": difference.second.reports,
        "people": difference.people,
        "units": [unit_document(each.guarantee) for each in (difference.first, difference.second)],
        "target": target,
        "about": whom_of(difference, target),
        "guarantee": guarantee.to_document() if guarantee else None,
        "guarantee_text": promise_text(difference),
        "caution": difference.caution,
        "differ": None if wide is None else wide.leaves_zero,
        "domain": domain.to_document(),
        "unit": domain.unit,
        "band": _band(shown),
        "shares": None
        if ordered
        else [
            {"label": label, "difference": gap, **ends}  # type: ignore[typeddict-item]
            for label, gap, ends in largest_rows(domain, gaps, shown)
        ],
        "labels": None if ordered else domain.size,
        "limited_to": limits_of(domain),
        "mean": _shift_of_mean(difference, level) if ordered else None,
        "quantiles": _quantile_shifts(difference, request) if ordered else None,
        "curve": _difference_curve(difference, band, wide) if ordered and request.curve else None,
    }
    return without_numbers(answer, reasons[0] or reasons[1])


def _shift_of_mean(difference: Any, level: float) -> ShiftRow:
    shift = mean_shift(difference, level)
    row = _shift(shift, difference.mean_interval(level=level))
    if difference.first.domain.circular and math.isnan(shift):
        row["reason"] = NO_MIDDLE
    return row


def _quantile_shifts(difference: Any, request: AnswerRequest) -> list[QuantileShiftRow]:
    """Return the shifts of the quantiles that are asked. On a circle only from a start."""
    start = start_of(request, difference.first.domain)
    if start is None and difference.first.domain.circular:
        return []
    return [
        {
            "probability": probability,
            **_shift(
                float(difference.quantile(probability, start=start)),
                difference.quantile_interval(probability, level=request.level, start=start),
            ),
        }
        for probability in request.probabilities
    ]


def _difference_curve(
    difference: Any, band: DifferenceBand | None, wide: DifferenceBand | None
) -> CurveDocument:
    one, two = difference.first.cumulative, difference.second.cumulative
    columns = {
        "right": one.right.tolist(),
        "first": one.sums.tolist(),
        "second": two.sums.tolist(),
        "difference": (one.sums - two.sums).tolist(),
        **_ends(band),
        **_ends(wide, prefix="simultaneous_"),
    }
    return _inside_range(columns, difference.first.domain, band)


def series_answer(series: Any, request: AnswerRequest) -> SeriesAnswer:
    """Return what a series says: a row for each week, as its table has, and the changes."""
    table = series.to_dict(**request.how)
    return {
        "kind": "series",
        "level": request.level,
        "about": whom_of(series, request.target),
        "counted": counted_word(guarantees_of(series)[0]),
        "standing": weakest_standing(*(each.standing for each in guarantees_of(series) if each)),
        "smoothed": series.smoothed,
        "limited_to": limits_of(series.domain) if series.domain.ordered else None,
        "unit": series.domain.unit,
        "ordered": series.domain.ordered,
        "weeks": [
            {name: _plain_cell(name, cell, week, series.domain) for name, cell in row.items()}
            for week, row in zip(series.weeks, rows_of(table), strict=True)
        ],
        "circular": series.domain.circular,
        "gaps": {week.name: week.gap for week in series.weeks if week.gap is not None},
        "changes": [
            {
                "week": series.weeks[change.week].name,
                "since": series.weeks[change.since].name,
                "kind": change.kind,
                "evidence": change.evidence,
                "size": change.shift.size,
                "low": change.shift.low,
                "high": change.shift.high,
                "words": change.in_words(series.domain),
            }
            for change in series.changes
        ],
    }


def quantile_row(
    result: Any, band: Band | None, probability: float, *, start: float | None = None
) -> QuantileRow:
    """Return a quantile, with the interval that inverts a band of the CDF.

    Of dates it is the day by whose end the share is reached, from whole day to whole day. On a
    circle it is counted from a start.
    """
    domain = result.domain
    if start is not None:
        ends = None
        if band is not None:
            ends = in_numbers(result).quantile_interval(
                probability, level=band.level, start=start, target=band.target
            )
        value = float(quantile_places(result, probability, start))
        return {"probability": probability, **number_row(value, ends, domain)}
    value = float(result.cumulative.quantile(probability))
    ends = None
    if band is not None:
        ends = quantile_ends(band, probability, value, domain)
    return {"probability": probability, **number_row(float(to_days(value, domain)), ends, domain)}


def share_row(
    result: Any, asked: Share, *, level: float, target: Target = "empirical"
) -> QuestionRow:
    """Return the answer to a share, with the words and the bins that it is shown with.

    Of heavy hitters it is that of a listed value, with a simultaneous interval, and ArgumentError
    says that it is not listed.
    """
    domain = result.domain
    heavy = result._kind == "heavy-hitters"
    row: QuestionRow = {
        "question": "range" if asked.label is None else "share",
        "above": asked.above,
        "at_least": asked.at_least,
        "at_most": asked.at_most,
        "below": asked.below,
        "inside": [],
        "label": None,
        "left": None,
        "right": None,
        "share": None,
        "low": None,
        "high": None,
        "interval": "simultaneous" if heavy else "pointwise",
    }
    if heavy:
        row["label"] = asked.label
        ends = result.share_interval(asked.label, level=level, target=target)
        row |= share_with_ends(result.share(asked.label), ends)  # type: ignore[typeddict-item]
        return row
    answer = result.answer(asked, level=level, target=target)
    row |= {"share": answer.value, "low": answer.low, "high": answer.high}
    if answer.value is None and answer.note is not None:
        row["reason"] = answer.note
    if asked.label is None:
        _add_ends(row, asked, domain)
        return row
    label = label_of(asked.label, domain, name="label")
    row["label"] = _plain(label)
    if domain.ordered and label is not None:
        place = bin_ends(domain, int(domain.index([label])[0]))
        if place["left"] != place["right"]:  # a bin, and no atom or whole number
            row |= place  # type: ignore[typeddict-item]
    return row


def _add_ends(row: QuestionRow, asked: Share, domain: Domain) -> None:
    """Add the bins that the ends of a range cut in two, and where a circle begins or ends."""
    (spans,) = asked.ranges(domain)
    for typed, place in typed_places(asked.low, asked.high, spans):
        symbol = split_symbol(domain, place)
        if symbol is not None:
            cut: CutBin = {"end": typed, **bin_ends(domain, symbol)}
            row["inside"].append(cut)
    if domain.circular:
        left = domain.closed == "left"
        if not asked.low:
            row["at_least" if left else "above"] = _minute_text(domain.left[0], domain)
        if not asked.high:
            row["below" if left else "at_most"] = _minute_text(domain.right[-1], domain)


def _minute_text(end: float, domain: Domain) -> str:
    text = to_text(float(end), unit=domain.unit)
    return text.removesuffix(":00") if domain.unit == "time-of-day" else text


def typed_places(
    low: str | None, high: str | None, spans: Sequence[Span]
) -> list[tuple[str, Places]]:
    """Return the ends of a range as typed, each with its place."""
    ends = (low, spans[-1][0]), (high, spans[0][1])
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


def missing_row(result: Any, *, level: float, target: Target = "empirical") -> ShareRow | None:
    """Return the share of missing values among all people, or None if they do not count."""
    if result.domain.missing_index is None:
        return None
    if missing_unseen(result):
        return {"share": None, "low": None, "high": None, "reason": MISSING_UNSEEN}
    ends = result.share_interval(None, level=level, target=target)
    return share_with_ends(missing_share(result), ends)


def largest_rows(
    domain: Domain, heights: Vector, band: Band | DifferenceBand | None
) -> list[tuple[Any, float, IntervalRow]]:
    """Return label, height and interval of the largest symbols, the largest first."""
    largest = np.argsort(-np.abs(heights), kind="stable")[:ROW_LIMIT]
    labels = map(_plain, values_of(domain, largest))
    ends: list[IntervalRow] = [{"low": None, "high": None, "interval": None}] * largest.size
    if band is not None:
        curves = zip(band.low[largest].tolist(), band.high[largest].tolist(), strict=True)
        ends = [{"low": low, "high": high, "interval": band.kind} for low, high in curves]
    return list(zip(labels, heights[largest].tolist(), ends, strict=True))


def cdf_columns(result: Any, band: Band | None) -> dict[str, list[Any]]:
    """Return the CDF at the right end of each bin, and its rising interval, None without a band."""
    sums: Vector = np.minimum(result.cumulative.sums, 1.0)  # one but for rounding
    ends = None if band is None else band.monotone().reaching(sums)
    nothing = [None] * sums.size
    low, high = (nothing, nothing) if ends is None else (ends.low.tolist(), ends.high.tolist())
    return {"cdf": sums.tolist(), "low": low, "high": high}


def _curve(result: Any, band: Band | None, **how: Any) -> CurveDocument:
    """Return what density and CDF are drawn from, a row for each bin."""
    domain, curve = result.domain, result.cumulative
    width = curve.right - curve.left
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(width > 0, curve.mass / width, np.nan)
    columns: dict[str, list[Any]] = {
        "left": curve.left.tolist(),
        "right": curve.right.tolist(),
        "share": curve.mass.tolist(),
        "density": [None if math.isnan(each) else each for each in density.tolist()],
        "cdf": curve.sums.tolist(),
    }
    if domain.unit != "number":
        columns["right_text"] = [to_text(float(end), unit=domain.unit) for end in curve.right]
    steps = _step_columns(result, **how)
    if band is None:
        return {**_inside_range(columns, domain, None), "steps": steps}
    wide = cdf_columns(result, result.confidence_band(kind="simultaneous", **how))
    ends = {f"simultaneous_{end}": wide[end] for end in ("low", "high")}
    curves = columns | cdf_columns(result, band) | ends
    return {**_inside_range(curves, domain, band), "steps": steps}


def _step_columns(result: Any, **how: Any) -> dict[str, list[float]]:
    """Return the steps in which a density is drawn, with their shares and intervals."""
    drawn: Steps = drawn_steps(result, steps=shared_steps([result]), **how)
    columns = {"left": drawn.edges[:-1], "right": drawn.edges[1:], "share": drawn.shares}
    if drawn.low is not None and drawn.high is not None:
        columns |= {"low": drawn.low, "high": drawn.high}
    return {name: column.tolist() for name, column in columns.items()}


def _inside_range(
    columns: dict[str, list[Any]], domain: Domain, band: Band | DifferenceBand | None
) -> CurveDocument:
    """Return the columns of the bins, and where the curves begin: with all that lies below."""
    start: dict[str, float] = {}
    if domain.outside_indices:
        no_curve = ("left", "right", "right_text", "share", "density")
        start = {name: cells[0] for name, cells in columns.items() if name not in no_curve}
        columns = {name: cells[1:-1] for name, cells in columns.items()}
    return {"columns": columns, "start": start, "band": _band(band)}


def _ends(band: DifferenceBand | None, *, prefix: str = "") -> dict[str, list[Any]]:
    if band is None:
        return {}
    return {f"{prefix}low": band.low.tolist(), f"{prefix}high": band.high.tolist()}


def _band(band: Band | DifferenceBand | None) -> BandDocument | None:
    if band is None:
        return None
    return {"kind": band.kind, "target": band.target, "method": band.method}


def number_row(value: float, ends: tuple[float, float] | None, domain: Domain) -> NumberRow:
    """Return a number with the ends of its interval, each a number or beyond the range."""
    row: NumberRow = {"value": None, "low": None, "high": None}
    numbers = (
        {"value": value} if ends is None else {"value": value, "low": ends[0], "high": ends[1]}
    )
    for name, number in numbers.items():
        row |= _end(name, float(number), domain)  # type: ignore[typeddict-item]
    return row


def _end(name: str, number: float, domain: Domain) -> dict[str, Any]:
    """Return a number and its text, or that it is beyond an end of the range."""
    prefix = "" if name == "value" else f"{name}_"
    if math.isinf(number):
        edge = domain.right[-1] if number > 0 else domain.left[0]
        word: OpenEnd | None = "at_least" if number > 0 else "at_most"
        if domain.outside_indices:
            word = open_end(domain, domain.outside_indices[number > 0])
        return {name: None, f"{prefix}{word}": float(edge)}
    row: dict[str, Any] = {name: number}
    if domain.unit != "number":
        row[f"{prefix}text"] = to_text(number, unit=domain.unit)
    # A lone value at an end of clipped values counts what lies beyond it.
    below, above = domain.open_ends
    if name == "value":
        if above and number == domain.left[-1] == domain.right[-1]:
            row["at_least"] = number
        elif below and number == domain.left[0] == domain.right[0]:
            row["at_most"] = number
    return row


def _plain_cell(name: str, cell: Any, week: Any, domain: Domain) -> Any:
    """Return a cell of a table as JSON has it: what is outside the range as in a quantile.

    A week on a circle without a clear middle says so.
    """
    if name == "mean" and cell is None and week.distribution is not None:
        return {"value": None, "reason": NO_MIDDLE}
    outside = isinstance(cell, float) and math.isinf(cell)
    return _end("value", cell, domain) if outside else cell


def _shift(shift: float, ends: tuple[float, float] | None) -> ShiftRow:
    """Return a shift. Not known where a quantile of one of the two is outside the range."""
    if not math.isfinite(shift):
        return {"shift": None, "low": None, "high": None}
    low, high = (None, None) if ends is None else (e if math.isfinite(e) else None for e in ends)
    return {"shift": shift, "low": low, "high": high}


def _atom(atom: Any, domain: Domain) -> AtomRow:
    row: AtomRow = asdict(atom)  # type: ignore[assignment]
    if domain.open_ended:
        lowest = atom.left == domain.left[0]
        if lowest or atom.right == domain.right[-1]:
            word = open_end(domain, 0 if lowest else domain.left.size - 1)
            row |= {} if word is None else {"open": word}
    unit = domain.unit
    return row if unit == "number" else row | {"text": to_text(float(atom.left), unit=unit)}


def _plain(value: Any) -> str | int | float | None:
    """Return a label or value as JSON has it."""
    if value is None or isinstance(value, str | int | float):
        return value
    plain: str | int | float = value.item() if isinstance(value, np.generic) else str(value)
    return plain


def table_columns(result: Any, level: float, kind: Kind, target: Target = "empirical") -> Columns:
    """Return the columns of a table of a distribution, a row for each symbol."""
    domain, shares = result.domain, result.mass.tolist()
    about = whom_of(result, target)
    present: Columns = {}
    if domain.missing_index is not None:
        held = 1 - missing_share(result)
        among = [share / held if held > 0 else None for share in shares[:-1]]
        present = {"share_of_present": [*among, None]}
    if not domain.ordered:
        labels = values_of(domain, np.arange(domain.size))
        ends = interval_columns(result._shown_band(level, kind, target), domain.size, about)
        return {"label": labels, "share": shares, **present, **ends}
    left, right = (places.points.tolist() for places in symbol_places(domain))
    if domain.unit != "number":
        left, right = (
            [to_text(end, unit=domain.unit) if math.isfinite(end) else str(end) for end in ends]
            for ends in (left, right)
        )
    absent = [None] * (domain.size - len(left))  # of the missing symbol there is a share only
    if missing_share(result) < 1:
        curve = cdf_columns(result, result.confidence_band(level, kind=kind, target=target))
        if domain.closed == "right" and bin_of_low(domain) is not None:
            curve["cdf"][0] = None  # between the ends of its interval
    else:
        curve = {name: [None] * len(left) for name in ("cdf", "low", "high")}
    named = [None if end is None else kind for end in curve["low"]]
    if missing_unseen(result):
        shares[-1], present = None, {"share_of_present": [None] * domain.size}
    return {
        "left": left + absent,
        "right": right + absent,
        "share": shares,
        **present,
        **{name: column + absent for name, column in curve.items()},
        "interval": [*named, *absent],
        "about": about_column([*named, *absent], about),
    }


def share_in_band(result: Any, level: float = 0.95, target: Target = "empirical") -> float | None:
    """Return the part of the knots at which a curve lies in its pointwise band."""
    band = result.confidence_band(level, target=target)
    if band is None:
        return None
    shares = result.cumulative.sums if result.domain.ordered else result.mass
    return float(band.share_inside(shares))
