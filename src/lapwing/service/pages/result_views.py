"""Views of a result document: rows of its tables, and columns of its charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.text_values import Unit
from lapwing.results.answer_text import (
    NOT_KNOWN,
    atom_place,
    band_text,
    bin_text,
    label_text,
    limited_text,
    outside_of,
    question_text,
)
from lapwing.results.question_answers import asks_curve
from lapwing.results.rounding import (
    NONE,
    NumberWriter,
    beyond_text,
    coordinate_text,
    count_text,
    estimate_text,
    interval_text,
    level_text,
    number_text,
    number_writer,
    percent,
    points,
    shift_writer,
)

MOST_ROWS = 512
"""Rows up to which a chart's table has all."""

SPREAD_ROWS = 128
"""Rows that it has of more, evenly spread. The CSV has all."""

MOST_BARS = 60
"""Labels that a page lists. The CSV has all."""

Document = Mapping[str, Any]


def embedded(values: Any) -> str:
    """Return JSON that may stand in a page: no sign in it can end its element."""
    text = msgspec.json.encode(values).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def result_view(document: Document) -> dict[str, Any]:
    """Return what the page of one result shows.

    document: As :meth:`lapwing.service.results.Results.document` returns it.
    """
    missing, band = document.get("missing"), document["band"]
    head = {
        "kind": document["kind"],
        "reports": count_text(document["reports"]),
        "intervals": None
        if band is None
        else band_text(band, document["level"], document["about"]),
        "warnings": document["warnings"],
        "measured_in": document["measured_in"],
        "answers": document["answers"],
        "level": level_text(document["level"]),
        "about": document["about"],
        "notes": dict.fromkeys(each["note"] for each in document["answers"] if each["note"]),
        "only_asked": document["kind"] == "numbers" and not asks_curve(document["provenance"]),
        "missing": number_text(missing, percent, name="share")
        if missing and missing["share"]
        else None,
    }
    match document["kind"]:
        case _ if document["reason"] is not None:
            return {**head, "nobody": f"No numbers: {document['reason']}."}
        case "numbers" if document["curve"] is None:
            return {**head, "nobody": "According to the estimate, nobody had an answer."}
        case "numbers":
            return {**head, **_numbers(document)}
        case "labels":
            size = document["labels"]
            return {**head, **_list(document, size)}
        case _:
            expected = document["expected_false"]
            return {
                **head,
                **_list(document, document["listed"]),
                "threshold": percent(document["threshold"]),
                "expected_false": None if expected is None else estimate_text(expected),
                "remainder": percent(document["remainder"]),
                "searched": count_text(document["searched"]),
            }


def _list(document: Document, size: int) -> dict[str, Any]:
    rows = document["shares"]
    listed = min(len(rows), MOST_BARS)
    return {
        "band": document["band"],
        "bars": _bars(rows, "share", percent),
        "listed": listed,
        "labels": count_text(size),
        "all_rows": size <= listed,
    }


def _numbers(document: Document) -> dict[str, Any]:
    unit: Unit = document["unit"]
    write = number_writer(unit)
    columns, curve_band = document["curve"]["columns"], document["curve"]["band"]
    domain, limits = document["domain"], document["limited_to"]
    open_ends = build_domain(domain).open_ends
    return {
        "chart": embedded(
            {
                "name": _values_name(document),
                "unit": unit,
                "log": domain.get("scale") == "log",
                "columns": {key: columns[key] for key in columns if not key.endswith("_text")},
                "start": document["curve"]["start"],
                "steps": document["curve"]["steps"],
                "atoms": [
                    {"at": (atom["left"] + atom["right"]) / 2, "share": atom["share"]}
                    for atom in document["atoms"]
                ],
            }
        ),
        "band": curve_band,
        "rows": [
            _bin(columns, row, write, unit, open_ends=open_ends)
            for row in _spread(len(columns["right"]))
        ],
        "all_rows": len(columns["right"]) <= MOST_ROWS,
        "bins": count_text(len(columns["right"])),
        "quantiles": [
            {
                "share": level_text(each["probability"]),
                "value": number_text(each, write, unit),
                "interval": interval_text(each, write, unit),
            }
            for each in document["quantiles"]
        ],
        "mean": {
            "value": number_text(document["mean"], write, unit),
            "interval": interval_text(document["mean"], write, unit),
        },
        "resultant_length": document["resultant_length"]
        and _cells(document["resultant_length"], "value", number_writer("number")),
        "quarters": [
            {"place": bin_text(each, write, unit), **_cells(each, "share", percent)}
            for each in document["quarters"] or ()
        ],
        "limited": limits and limited_text(limits, write),
        "outside": [
            {"place": place, **_cells(row, "share", percent)}
            for place, row in outside_of(document, write).items()  # type: ignore[arg-type]
        ],
        "whole_side": domain.get("closed", "left") == "left",
        "atoms": [
            {
                "place": atom_place(atom, write, unit),
                "declared": atom["declared"],
                **_cells(atom, "share", percent),
            }
            for atom in document["atoms"]
        ],
        "questions": [
            {
                "question": question_text(each, unit, whole=domain["class"] == "integers"),
                **_cells(each, "share", percent),
            }
            for each in document["questions"]
        ],
    }


def _cells(row: Document, name: str, write: NumberWriter) -> dict[str, str]:
    """Return an estimate and its interval, as strings."""
    return {name: number_text(row, write, name=name), "interval": interval_text(row, write)}


def _shift(row: Document, write: NumberWriter, band: Any) -> dict[str, str]:
    """Return a shift and its interval, as strings."""
    reason = row.get("reason")
    interval = interval_text(row, write, none=NONE if reason or band is None else NOT_KNOWN)
    shift = reason or number_text(row, write, name="shift", none=NOT_KNOWN)
    return {"shift": shift, "interval": interval}


def _spread(length: int) -> list[int]:
    """Return evenly spread rows, the first and the last among them."""
    if length <= MOST_ROWS:
        return list(range(length))
    return [round(step * (length - 1) / (SPREAD_ROWS - 1)) for step in range(SPREAD_ROWS)]


def _bin(
    columns: Mapping[str, list[Any]],
    row: int,
    write: NumberWriter,
    unit: Unit,
    *,
    open_ends: tuple[bool, bool],
) -> dict[str, str]:
    left, right = write(columns["left"][row]), write(columns["right"][row])
    if open_ends[0] and row == 0:
        left = beyond_text(left, unit, "at_most")
    if open_ends[1] and row == len(columns["right"]) - 1:
        right = beyond_text(right, unit, "at_least")
    return {
        "left": left,
        "right": right,
        "share": percent(columns["share"][row]),
        **_cells(_at(columns, row, "cdf"), "cdf", percent),
    }


def _at(columns: Mapping[str, list[Any]], row: int, name: str) -> dict[str, Any]:
    ends = {end: columns[end][row] if end in columns else None for end in ("low", "high")}
    return {name: columns[name][row], **ends}


def _bars(rows: list[Document], height: str, write: NumberWriter) -> list[dict[str, Any]]:
    """Return rows with places of their bars in hundredths of the widest, from zero on."""
    shown = rows[:MOST_BARS]
    ends = [
        row[key] for row in shown for key in (height, "low", "high") if row.get(key) is not None
    ]
    least, most = min([0.0, *ends]), max([0.0, *ends])
    scale = 100 / ((most - least) or 1.0)

    def place(value: float) -> str:
        return coordinate_text((value - least) * scale)

    bars = []
    for row in shown:
        value, low, high = row[height], row["low"], row["high"]
        start, end = sorted((0.0, value))
        bars.append(
            {
                "label": label_text(row["label"]),
                "share": number_text(row, write, name=height),
                "interval": interval_text(row, write),
                "zero": place(0.0),
                "start": place(start),
                "width": coordinate_text((end - start) * scale),
                "low": None if low is None else place(low),
                "high": None if high is None else place(high),
                "sure": low is not None and high is not None and (low > 0 or high < 0),
            }
        )
    return bars


def _values_name(document: Document) -> str:
    """Return what the axis of values is called: the survey, and the unit of measurement."""
    measured = document["notice"].get("measured_in")
    return str(document["name"]) if measured is None else f"{document['name']}, {measured}"


def difference_view(document: Document) -> dict[str, Any]:
    """Return what the page of a comparison shows.

    document: As :meth:`lapwing.service.results.Results.document` returns it of two.
    """
    unit: Unit = document["unit"]
    same_epoch = document["epoch"] == document["against"]
    names = [
        (document["segment"] if same_epoch else document["epoch"]) or "everybody",
        (document["against_segment"] if same_epoch else document["against"]) or "everybody",
    ]
    view: dict[str, Any] = {
        "names": names,
        "reports": count_text(document["reports"]),
        "against_reports": count_text(document["against_reports"]),
        "intervals": None
        if document["band"] is None
        else band_text(document["band"], document["level"], document["about"]),
        "people": document["people"],
        "differ": document["differ"],
        "caution": document.get("caution"),
        "warnings": document["warnings"],
    }
    if document["reason"] is not None:
        return {**view, "caution": f"no numbers: {document['reason']}", "nobody": True}
    if document["shares"] is not None:
        return {**view, "bars": _bars(document["shares"], "difference", points)}

    write = shift_writer(unit)
    columns, limits = document["curve"]["columns"], document["limited_to"]
    keys = ("right", "difference", "low", "high", "simultaneous_low", "simultaneous_high")
    return {
        **view,
        "chart": embedded(
            {
                "name": _values_name(document),
                "unit": unit,
                "log": False,
                "columns": {key: columns[key] for key in keys if key in columns},
                "start": document["curve"]["start"],
            }
        ),
        "rows": [
            {
                "right": number_writer(unit)(columns["right"][row]),
                "first": percent(columns["first"][row]),
                "second": percent(columns["second"][row]),
                **_cells(_at(columns, row, "difference"), "difference", points),
            }
            for row in _spread(len(columns["right"]))
        ],
        "mean": _shift(document["mean"], write, document["band"]),
        "circular": bool(document["domain"].get("circular")),
        "limited": limits and limited_text(limits, number_writer(unit)),
        "quantiles": [
            {"share": level_text(each["probability"]), **_shift(each, write, document["band"])}
            for each in document["quantiles"]
        ],
    }
