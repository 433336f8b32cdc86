"""What a decoded result says, as JSON values and as rows: for the pages, and for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_number, to_text
from lapwing.results.difference import Difference
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.symbols import values_of

PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)

MOST_LABELS = 2000
"""Labels that a document lists, those of the largest shares; the table as CSV has all."""

RANGE_LIMIT = 4096
"""Symbols up to which errors of ranges are bounded: beyond, it takes seconds."""


class Asked(NamedTuple):
    """What is asked about a result.

    Parameters
    ----------
    level : float
        Of all intervals, in (0, 1).
    ranges : tuple of (str, str)
        Ends of ranges, as they are written in the unit of the values; "" is open.
    probabilities : tuple of float
        Of quantiles.
    """

    level: float = 0.95
    ranges: tuple[tuple[str, str], ...] = ()
    probabilities: tuple[float, ...] = PROBABILITIES


Result = Distribution | HeavyHitters


def as_result(found: Distribution | SignedEstimate | HeavyHitters) -> Result:
    """Return what a decoder gave, as what can be shown."""
    return found.project("simplex") if isinstance(found, SignedEstimate) else found


def result_document(result: Result, asked: Asked) -> dict[str, Any]:
    """Return what a result says.

    Parameters
    ----------
    result : Distribution or HeavyHitters
    asked : Asked

    Raises
    ------
    LapwingError
        When it cannot say what is asked: a range of labels.
    """
    head = {
        "reports": result.reports,
        "level": asked.level,
        "guarantee": result.guarantee.to_document() if result.guarantee else None,
        "guarantee_text": str(result.guarantee) if result.guarantee else None,
        "decoder": result.made,
        "domain": result.domain.to_document(),
        "unit": result.domain.unit,
    }
    if isinstance(result, HeavyHitters):
        _refuse_ranges(asked)
        return {**head, "kind": "heavy-hitters", **_heavy_hitters(result, asked)}
    if not result.domain.ordered:
        _refuse_ranges(asked)
        return {**head, "kind": "labels", **_labels(result, asked)}
    if result.missing_share == 1:
        return {**head, "kind": "numbers", "missing_share": 1.0, "curve": None}
    return {**head, "kind": "numbers", **_numbers(result, asked)}


def _refuse_ranges(asked: Asked) -> None:
    if asked.ranges:
        raise ArgumentError("a range is asked of numbers; this survey is about labels")


def _heavy_hitters(result: HeavyHitters, asked: Asked) -> dict[str, Any]:
    rows = _rows(result.to_dict(level=asked.level))[:MOST_LABELS]
    return {
        "values": [{**row, "value": _plain(row["value"])} for row in rows],
        "listed": len(result),
        "searched": result.searched,
        "threshold": result.threshold,
        "expected_false": result.expected_false,
        "remainder": result.remainder,
        "band": {"kind": "simultaneous", "method": result.confidence_band(asked.level).method},
    }


def _labels(result: Distribution, asked: Asked) -> dict[str, Any]:
    largest = np.argsort(-result.mass, kind="stable")[:MOST_LABELS]
    band = result.shown_band(asked.level, largest.size)
    names = values_of(result.domain, largest)
    rows = [
        {
            "label": _plain(name),
            "share": float(result.mass[symbol]),
            "low": None if band is None else float(band.low[symbol]),
            "high": None if band is None else float(band.high[symbol]),
        }
        for name, symbol in zip(names, largest.tolist(), strict=True)
    ]
    return {
        "shares": rows,
        "labels": result.domain.size,
        "missing_share": result.missing_share,
        "band": None if band is None else {"kind": band.kind, "method": band.method},
        "share_in_band": result.share_in_band(asked.level),
    }


def _numbers(result: Distribution, asked: Asked) -> dict[str, Any]:
    numbers, level = result.in_numbers(), asked.level
    mean_ends = numbers.mean_interval(level=level)
    bounds = None
    if result.domain.size <= RANGE_LIMIT:
        bounds = result.range_error_bounds(level=level)
    return {
        "missing_share": result.missing_share,
        "curve": _curve(result, level),
        "share_in_band": result.share_in_band(level),
        "atoms": [_atom(asdict(atom), result.domain) for atom in result.atoms],
        "quantiles": [_quantile(result, p, level) for p in asked.probabilities],
        "mean": {
            "value": float(numbers.mean()),
            "text": to_text(float(numbers.mean()), unit=result.domain.unit),
            "low": None if mean_ends is None else mean_ends[0],
            "high": None if mean_ends is None else mean_ends[1],
        },
        "range_error_bounds": None if bounds is None else bounds._asdict(),
        "ranges": [_range(result, low, high, level) for low, high in asked.ranges],
    }


def _curve(result: Distribution, level: float) -> dict[str, Any]:
    """Return columns of one length, a row for each bin: what density and CDF are drawn from."""
    domain, cumulative = result.domain, result.cumulative
    left, right = cumulative.left, cumulative.right
    width = right - left
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(width > 0, cumulative.mass / width, np.nan)
    columns: dict[str, Any] = {
        "left": left.tolist(),
        "right": right.tolist(),
        "share": cumulative.mass.tolist(),
        "density": [None if np.isnan(d) else float(d) for d in density],
        "cdf": cumulative.sums.tolist(),
    }
    if domain.unit != "number":
        columns["right_text"] = [to_text(float(end), unit=domain.unit) for end in right]
    band = result.confidence_band(level)
    if band is None:
        return {"columns": columns, "band": None}
    shown = band.monotone().reaching(cumulative.sums)
    whole = result.confidence_band(level, kind="simultaneous")
    columns |= {"low": shown.low.tolist(), "high": shown.high.tolist()}
    if whole is not None:
        whole = whole.monotone().reaching(cumulative.sums)
        columns |= {"whole_low": whole.low.tolist(), "whole_high": whole.high.tolist()}
    return {"columns": columns, "band": {"target": band.target, "method": band.method}}


def _quantile(result: Distribution, probability: float, level: float) -> dict[str, Any]:
    numbers, unit = result.in_numbers(), result.domain.unit
    value = float(numbers.quantile(probability))
    ends = numbers.quantile_interval(probability, level=level)
    found = {
        "probability": probability,
        "value": value,
        "low": None if ends is None else float(ends[0]),
        "high": None if ends is None else float(ends[1]),
        "text": to_text(value, unit=unit),
    }
    if ends is not None:
        found["low_text"], found["high_text"] = (to_text(float(end), unit=unit) for end in ends)
    return found


def _range(result: Distribution, low: str, high: str, level: float) -> dict[str, Any]:
    unit = result.domain.unit
    ends = (
        -np.inf if low == "" else to_number(_typed(low, unit), unit=unit, name="low"),
        np.inf if high == "" else to_number(_typed(high, unit), unit=unit, name="high"),
    )
    share = result.in_numbers().probability(*ends)
    interval = result.in_numbers().probability_interval(*ends, level=level)
    return {
        "above": low or None,
        "at_most": high or None,
        "share": share,
        "low": None if interval is None else interval[0],
        "high": None if interval is None else interval[1],
    }


def _typed(text: str, unit: str) -> Any:
    if unit != "number":
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError("the ends of a range must be numbers, one is not") from None


def _atom(atom: dict[str, Any], domain: Domain) -> dict[str, Any]:
    return {**atom, "text": to_text(float(atom["left"]), unit=domain.unit)}


def difference_document(made: Difference, asked: Asked) -> dict[str, Any]:
    """Return what the first of two has more than the second."""
    whole = made.confidence_band(asked.level, kind="simultaneous")
    guarantee = made.guarantee
    head = {
        "kind": "difference",
        "level": asked.level,
        "reports": made.first.reports,
        "against_reports": made.second.reports,
        "people": made.people,
        "guarantee": guarantee.to_document() if guarantee else None,
        "guarantee_text": str(guarantee) if guarantee else None,
        "caution": made.caution,
        "differ": None if whole is None else whole.leaves_zero,
        "unit": made.first.domain.unit,
    }
    if not made.first.domain.ordered:
        return {**head, "shares": _gaps(made, asked.level)}
    one, two = made.first.cumulative, made.second.cumulative
    columns: dict[str, Any] = {
        "right": one.right.tolist(),
        "first": one.sums.tolist(),
        "second": two.sums.tolist(),
        "difference": (one.sums - two.sums).tolist(),
    }
    band = made.confidence_band(asked.level)
    if band is not None and whole is not None:
        columns |= {"low": band.low.tolist(), "high": band.high.tolist()}
        columns |= {"whole_low": whole.low.tolist(), "whole_high": whole.high.tolist()}
    ends = made.mean_interval(level=asked.level)
    return {
        **head,
        "curve": {
            "columns": columns,
            "band": None if band is None else {"target": band.target, "method": band.method},
        },
        "mean": {
            "shift": made.mean(),
            "low": None if ends is None else ends[0],
            "high": None if ends is None else ends[1],
        },
        "quantiles": [_shift(made, p, asked.level) for p in asked.probabilities],
    }


def _shift(made: Difference, probability: float, level: float) -> dict[str, Any]:
    ends = made.quantile_interval(probability, level=level)
    return {
        "probability": probability,
        "shift": float(made.quantile(probability)),
        "low": None if ends is None else ends[0],
        "high": None if ends is None else ends[1],
    }


def _gaps(made: Difference, level: float) -> list[dict[str, Any]]:
    gaps = made.first.mass - made.second.mass
    largest = np.argsort(-np.abs(gaps), kind="stable")[:MOST_LABELS]
    band = made.shown_band(level, largest.size)
    names = values_of(made.first.domain, largest)
    return [
        {
            "label": _plain(name),
            "difference": float(gaps[symbol]),
            "low": None if band is None else float(band.low[symbol]),
            "high": None if band is None else float(band.high[symbol]),
        }
        for name, symbol in zip(names, largest.tolist(), strict=True)
    ]


def result_table(result: Result | Difference, asked: Asked) -> str:
    """Return a result as CSV: a row for each bin, label or value that was found."""
    if isinstance(result, Difference):
        document = difference_document(result, asked)
        rows = document.get("shares") or _rows(document["curve"]["columns"])
    else:
        rows = _rows(result.to_dict(level=asked.level))
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    names: Sequence[str] = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> str | int | float | None:
    """Return a label or value as JSON has it."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return value.item() if isinstance(value, np.generic) else str(value)
