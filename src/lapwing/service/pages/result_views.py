"""What a page shows of a result document: rows of its tables, and the columns of its charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lapwing.protocol.domains.text_values import Unit
from lapwing.service.pages.plain_words import grouped, percent, written

MOST_ROWS = 512
"""Rows up to which a chart's table has all."""

SPREAD_ROWS = 128
"""Rows that it has of more, evenly spread; the CSV has all."""

MOST_BARS = 60
"""Labels that a page lists; the CSV has all."""

Document = Mapping[str, Any]

_TEXTS = ("low_text", "high_text")


def embedded(values: Any) -> str:
    """Return JSON that may stand in a page: no sign in it can end its element."""
    text = msgspec.json.encode(values).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def interval(low: str | None, high: str | None) -> str:
    """Return an interval as text; a dash where there is none."""
    return "–" if low is None or high is None else f"{low} to {high}"


def _shares(row: Document) -> str:
    low, high = row.get("low"), row.get("high")
    return interval(None if low is None else percent(low), None if high is None else percent(high))


def result_view(document: Document) -> dict[str, Any]:
    """Return what the page of one result shows.

    Parameters
    ----------
    document : mapping
        As :meth:`lapwing.service.results.Results.document` returns it.
    """
    head = {
        "kind": document["kind"],
        "reports": f"{document['reports']:,}",
        "level": percent(document["level"], 4 if document["level"] > 0.999 else 0),
        "warnings": document["warnings"],
        "missing": percent(document["missing_share"]) if document.get("missing_share") else None,
    }
    match document["kind"]:
        case "numbers" if document["curve"] is None:
            return {**head, "nobody": True}
        case "numbers":
            return {**head, **_numbers(document)}
        case "labels":
            return {**head, **_labels(document)}
        case _:
            return {**head, **_heavy_hitters(document)}


def _numbers(document: Document) -> dict[str, Any]:
    unit: Unit = document["unit"]
    columns, curve_band = document["curve"]["columns"], document["curve"]["band"]
    domain = document["domain"]
    return {
        "chart": embedded(
            {
                "kind": "numbers",
                "unit": unit,
                "log": domain.get("scale") == "log",
                "columns": {key: columns[key] for key in columns if not key.endswith("_text")},
                "atoms": [
                    {"at": (atom["left"] + atom["right"]) / 2, "share": atom["share"]}
                    for atom in document["atoms"]
                ],
            }
        ),
        "band": curve_band,
        "rows": [_bin(columns, row, unit) for row in _spread(len(columns["right"]))],
        "all_rows": len(columns["right"]) <= MOST_ROWS,
        "bins": f"{len(columns['right']):,}",
        "quantiles": [
            {
                "share": percent(each["probability"], 0)
                if round(100 * each["probability"], 6).is_integer()
                else percent(each["probability"], 2),
                "value": grouped(each["text"]),
                "interval": interval(
                    *(grouped(each[key]) if key in each else None for key in _TEXTS)
                ),
            }
            for each in document["quantiles"]
        ],
        "mean": {
            "value": grouped(document["mean"]["text"]),
            "interval": _ends(document["mean"], unit),
        },
        "atoms": [
            {
                "value": grouped(atom["text"]),
                "share": percent(atom["share"]),
                "interval": _shares(atom),
                "declared": atom["left"] == atom["right"],
            }
            for atom in document["atoms"]
        ],
        "ranges": [
            {
                "above": grouped(each["above"] or "the lowest"),
                "at_most": grouped(each["at_most"] or "the highest"),
                "share": percent(each["share"]),
                "interval": _shares(each),
            }
            for each in document["ranges"]
        ],
    }


def _ends(row: Document, unit: Unit) -> str:
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return "–"
    return f"{written(low, unit=unit)} to {written(high, unit=unit)}"


def _spread(length: int) -> list[int]:
    """Return evenly spread rows, the first and the last among them."""
    if length <= MOST_ROWS:
        return list(range(length))
    return [round(step * (length - 1) / (SPREAD_ROWS - 1)) for step in range(SPREAD_ROWS)]


def _bin(columns: Mapping[str, list[Any]], row: int, unit: Unit) -> dict[str, str]:
    left, right = columns["left"][row], columns["right"][row]
    low = columns["low"][row] if "low" in columns else None
    high = columns["high"][row] if "high" in columns else None
    return {
        "left": written(left, unit=unit),
        "right": written(right, unit=unit),
        "share": percent(columns["share"][row], 3),
        "cdf": percent(columns["cdf"][row]),
        "interval": _shares({"low": low, "high": high}),
    }


def _labels(document: Document) -> dict[str, Any]:
    rows = document["shares"]
    return {
        "band": document["band"],
        "bars": _bars(rows, "label", "share"),
        "listed": min(len(rows), MOST_BARS),
        "labels": f"{document['labels']:,}",
        "all_rows": document["labels"] <= min(len(rows), MOST_BARS),
    }


def _heavy_hitters(document: Document) -> dict[str, Any]:
    rows = document["values"]
    return {
        "band": document["band"],
        "bars": _bars(rows, "value", "share"),
        "listed": min(len(rows), MOST_BARS),
        "labels": f"{document['listed']:,}",
        "all_rows": document["listed"] <= MOST_BARS,
        "threshold": percent(document["threshold"], 3),
        "expected_false": document["expected_false"],
        "remainder": percent(document["remainder"]),
        "searched": document["searched"],
    }


def _bars(rows: list[Document], name: str, height: str) -> list[dict[str, Any]]:
    """Return rows with places of their bars in hundredths of the widest, from zero on."""
    shown = rows[:MOST_BARS]
    ends = [
        row[key] for row in shown for key in (height, "low", "high") if row.get(key) is not None
    ]
    least, most = min([0.0, *ends]), max([0.0, *ends])
    scale = 100 / ((most - least) or 1.0)

    def place(value: float) -> str:
        return f"{(value - least) * scale:.2f}"

    made = []
    for row in shown:
        value, low, high = row[height], row.get("low"), row.get("high")
        start, end = sorted((0.0, value))
        label = row[name]
        made.append(
            {
                "label": "no answer" if label is None else label,
                "share": percent(value),
                "interval": _shares(row),
                "zero": place(0.0),
                "start": place(start),
                "width": f"{(end - start) * scale:.2f}",
                "low": None if low is None else place(low),
                "high": None if high is None else place(high),
                "sure": low is not None and high is not None and (low > 0 or high < 0),
            }
        )
    return made


def difference_view(document: Document) -> dict[str, Any]:
    """Return what the page of a comparison shows.

    Parameters
    ----------
    document : mapping
        As :meth:`lapwing.service.results.Results.document` returns it of two.
    """
    unit: Unit = document["unit"]
    same_epoch = document["epoch"] == document["against"]
    names = [
        (document["segment"] if same_epoch else document["epoch"]) or "everybody",
        (document["against_segment"] if same_epoch else document["against"]) or "everybody",
    ]
    view: dict[str, Any] = {
        "names": names,
        "reports": f"{document['reports']:,}",
        "against_reports": f"{document['against_reports']:,}",
        "people": document["people"],
        "differ": document["differ"],
        "caution": document.get("caution"),
        "warnings": document["warnings"],
    }
    if "shares" in document:
        return {**view, "bars": _bars(document["shares"], "label", "difference")}
    columns = document["curve"]["columns"]
    keys = ("right", "difference", "low", "high", "whole_low", "whole_high")
    return {
        **view,
        "chart": embedded(
            {
                "kind": "difference",
                "unit": unit,
                "log": False,
                "columns": {key: columns[key] for key in keys if key in columns},
            }
        ),
        "rows": [
            {
                "right": written(columns["right"][row], unit=unit),
                "first": percent(columns["first"][row]),
                "second": percent(columns["second"][row]),
                "difference": percent(columns["difference"][row]),
                "interval": _shares(
                    {key: columns[key][row] if key in columns else None for key in ("low", "high")}
                ),
            }
            for row in _spread(len(columns["right"]))
        ],
        "mean": {
            "shift": _length(document["mean"]["shift"], unit),
            **_lengths(document["mean"], unit),
        },
        "quantiles": [
            {
                "share": percent(each["probability"], 0),
                "shift": _length(each["shift"], unit),
                **_lengths(each, unit),
            }
            for each in document["quantiles"]
        ],
    }


_PER: Mapping[Unit, tuple[float, str]] = {
    "number": (1.0, ""),
    "date": (1.0, " days"),
    "datetime": (86_400.0, " days"),
    "time-of-day": (60.0, " minutes"),
}


def _length(value: float | None, unit: Unit) -> str:
    if value is None:
        return "–"
    size, name = _PER[unit]
    shift = value / size
    return f"{shift:+,.0f}{name}" if abs(shift) >= 1000 else f"{shift:+.3g}{name}"


def _lengths(row: Document, unit: Unit) -> dict[str, str]:
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return {"interval": "–"}
    return {"interval": f"{_length(low, unit)} to {_length(high, unit)}"}
