"""Views of a result document: rows of its tables, and columns of its charts.

Two attributes are drawn as a map, whose places are hundredths of the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.product import Product
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
from lapwing.results.joint_answers import slice_text
from lapwing.results.picture import Axis
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
    missing = document.get("missing")
    head = {
        "kind": document["kind"],
        "reports": count_text(document["reports"]),
        "intervals": _band(document),
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


def _band(document: Document) -> str | None:
    """Return what the intervals of a result are."""
    band = document["band"]
    return None if band is None else band_text(band, document["level"], document["about"])


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
        "intervals": _band(document),
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


LEFT, RIGHT, TOP, BOTTOM = 17.0, 86.0, 16.0, 88.0
"""Ends of a drawing's plot, in hundredths of the drawing. Ticks and marginals are beyond them."""

_FAINT = 0.02
"""Part of the darkest block below which a block is not drawn."""


def pair_asks(domain: Product, given: str, low: str, high: str) -> tuple[str, ...]:
    """Return the questions of a form: one attribute among the people in a range of the other.

    given: The attribute of the condition, "" for none.
    low, high: Ends of the range. `low` is the label where the attribute has labels.
    """
    if given not in domain.names or not (low or high):
        return ()
    number = domain.axis_number(given)
    axis: Any = domain.domains[number]
    other, name = domain.domains[1 - number], domain.names[1 - number]
    words = (
        ("at-least", "below") if getattr(axis, "closed", "left") == "left" else ("above", "at-most")
    )
    ends = [f"{word} {end}" for word, end in zip(words, (low, high), strict=True) if end]
    condition = " ".join(ends) if axis.ordered else f"label {low}"
    if not other.ordered:
        asks = [f"share label {label}" for label in getattr(other, "listed", ())[:8]]
    else:
        asks = ["mean"] if other.circular else ["quantile 0.25 0.5 0.75"]
    return (
        f"share {given} {condition}",
        *(f"{ask} of {name} given {given} {condition}" for ask in asks),
    )


def pair_view(document: Document) -> dict[str, Any]:
    """Return what the page of two attributes shows.

    document: As :meth:`lapwing.service.results.Results.document` returns it.
    """
    domain = _domain(document)
    sides = _sides(document, domain)
    ordered = [axis.ordered for axis in domain.domains]
    return {
        "intervals": _band(document),
        "warnings": document["warnings"],
        "not_shown": document["map"]["not_shown"],
        "kind": document["kind"],
        "reports": count_text(document["reports"]),
        "map": None if sum(ordered) == 1 else _map(document, sides),
        "measures": _measures(document),
        "quantiles": [_quantiles(document, domain, axis, sides) for axis in document["quantiles"]],
        "multiples": _multiples(document, domain),
        "marginals": [
            {"name": name, "view": result_view({**document, **one, "name": name})}
            for name, one in document["marginals"].items()
        ],
        "questions": document["questions"],
        "caution": document["caution"],
        "axes": list(domain.names),
        "labels": not all(ordered),
    }


def pair_difference_view(document: Document) -> dict[str, Any]:
    """Return what the page of a comparison of two attributes shows."""
    domain = _domain(document)
    marginals = [
        {"name": name, **difference_view({**document, **one, "name": name})}
        for name, one in document["marginals"].items()
    ]
    return {
        **{key: marginals[0][key] for key in ("names", "reports", "against_reports", "people")},
        "warnings": document["warnings"],
        "level": level_text(document["level"]),
        "about": document["about"],
        "map": _map(document, _sides(document, domain), marginal=False),
        "marginals": marginals,
        "questions": document["questions"],
    }


def _domain(document: Document) -> Product:
    domain = build_domain(document["domain"])
    assert isinstance(domain, Product)
    return domain


class _Side:
    """One axis of a drawing: the places of its blocks from 0 to 1, and the texts along it."""

    def __init__(self, name: str, axis: Any, ends: Sequence[Any]) -> None:
        self.name, self.axis = name, axis
        if not axis.ordered:
            self.places = np.linspace(0, 1, len(ends) + 1)
            middles = (self.places[:-1] + self.places[1:]) / 2
            self.ticks = list(zip(middles.tolist(), map(_short, map(str, ends)), strict=True))
            return
        shape = Axis.of_domain(axis)
        self.log, self.whole = shape.log, shape.whole
        self.low, self.high = float(ends[0]), float(ends[-1])
        self.places = self.place(np.asarray(ends, dtype=float))
        write = number_writer(axis.unit)
        steps = sorted({round(step * (len(ends) - 1) / 4) for step in range(5)})
        texts = [write(float(ends[step])) for step in steps]
        if all(text.count(":") == 2 and text.endswith(":00") for text in texts):
            texts = [text[:-3] for text in texts]
        self.ticks = list(zip(self.places[steps].tolist(), texts, strict=True))

    def place(self, values: Any) -> Any:
        """Return where values lie between the ends, at most at an end."""
        low, high = self.low, self.high
        values = np.clip(values, low, high)
        if self.log:
            return np.log(values / low) / np.log(high / low)
        return (values - low) / (high - low)


def _short(label: str) -> str:
    return label if len(label) <= 9 else f"{label[:8]}…"


def _sides(document: Document, domain: Product) -> tuple[_Side, _Side]:
    ends = document["map"]["x"], document["map"]["y"]
    one, other = (_Side(*each) for each in zip(domain.names, domain.domains, ends, strict=True))
    return one, other


def _across(place: float) -> float:
    return LEFT + (RIGHT - LEFT) * place


def _up(place: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * place


def _box(x: Any, y: Any) -> dict[str, str]:
    """Return a rectangle between places of both axes, in hundredths of the drawing."""
    left, right, top, bottom = _across(x[0]), _across(x[1]), _up(y[1]), _up(y[0])
    texts = map(coordinate_text, (left, top, right - left, bottom - top))
    return dict(zip(("x", "y", "width", "height"), texts, strict=True))


def _ticks(first: _Side, second: _Side) -> dict[str, Any]:
    """Return the texts along both axes. Of the first there is room for few."""
    few = first.ticks[:: max(1, (len(first.ticks) - 1) // 2)] if first.axis.ordered else first.ticks
    few = few if len(few) <= 5 else few[:: -(-len(few) // 5)]
    return {
        "x_ticks": [
            {
                "at": coordinate_text(_across(place)),
                "text": text,
                "anchor": "start" if place < 0.05 else "end" if place > 0.95 else "middle",
            }
            for place, text in few
        ],
        "y_ticks": [
            {"at": coordinate_text(_up(place)), "text": text} for place, text in second.ticks
        ],
        "x_name": first.name,
        "y_name": second.name,
    }


def _map(document: Document, sides: tuple[_Side, _Side], *, marginal: bool = True) -> Any:
    """Return the blocks of a map, darker where more people are on an equal area."""
    first, second = sides
    shares = np.array(document["map"]["shares"])
    x, y = first.places, second.places
    density = shares / np.maximum(np.outer(np.diff(x), np.diff(y)), 1e-12)
    most = float(np.abs(density).max()) or 1.0
    sure = np.zeros(shares.shape, dtype=bool)
    if "low" in document["map"]:
        sure = (np.array(document["map"]["low"]) > 0) | (np.array(document["map"]["high"]) < 0)
    blocks = [
        {
            **_box(x[i : i + 2], y[j : j + 2]),
            "opacity": coordinate_text(abs(density[i, j]) / most),
            "less": bool(density[i, j] < 0),
            "sure": bool(sure[i, j]),
        }
        for i, j in np.argwhere((np.abs(density) >= _FAINT * most) | sure).tolist()
    ]
    found = {"blocks": blocks, **_ticks(first, second), "above": [], "beside": []}
    if marginal:
        for name, each, axis in (
            ("above", shares.sum(axis=1), x),
            ("beside", shares.sum(axis=0), y),
        ):
            heights = each / np.maximum(np.diff(axis), 1e-12)
            found[name] = _marginal_bars(
                heights / (heights.max() or 1.0), axis, above=name == "above"
            )
    return found


def _marginal_bars(heights: Any, places: Any, *, above: bool) -> list[dict[str, str]]:
    """Return the bars of a marginal, above the plot or at its right."""
    bars = []
    for number, height in enumerate(heights.tolist()):
        along = places[number : number + 2]
        if above:
            box = _box(along, (0.0, 1.0))
            size = (TOP - 2) * height
            bars.append(
                {**box, "y": coordinate_text(TOP - 1 - size), "height": coordinate_text(size)}
            )
        else:
            box = _box((0.0, 1.0), along)
            size = (100 - RIGHT - 2) * height
            bars.append({**box, "x": coordinate_text(RIGHT + 1), "width": coordinate_text(size)})
    return bars


def _measures(document: Document) -> list[dict[str, str]]:
    """Return how strongly the attributes depend on each other."""
    write = number_writer("number")
    names = {
        "pearson": "Correlation (Pearson)",
        "spearman": "Correlation of ranks (Spearman)",
        "mutual_information": "Mutual information, in nats",
    }
    return [
        {
            "name": words,
            "value": estimate_text(row["value"], 2),
            "interval": interval_text(row, write)
            if row["high"] is not None or row["low"] is None
            else f"at least {write(math.floor(1000 * row['low']) / 1000)}",
        }
        for name, words in names.items()
        if (row := document[name]) is not None
    ]


def _quantiles(
    document: Document, domain: Product, axis: str, sides: tuple[_Side, _Side]
) -> dict[str, Any]:
    """Return the quartiles of an attribute in slices of the other one, as steps and as rows."""
    number = domain.axis_number(axis)
    of, along = sides[number], sides[1 - number]
    rows = document["quantiles"][axis]
    write = number_writer(of.axis.unit)
    slices = [rows[start : start + 3] for start in range(0, len(rows), 3)]
    return {
        "axis": axis,
        "other": along.name,
        "steps": [_step(row, along, of) for each in slices for row in each if along.axis.ordered],
        **(_ticks(along, of) if along.axis.ordered else {}),
        "rows": [
            {
                "slice": slice_text(each[1], along.axis),
                "share": percent(each[1]["share"]),
                "quartiles": [number_text(row, write, of.axis.unit) for row in each],
                "interval": interval_text(each[1], write, of.axis.unit),
                "note": each[1]["note"],
            }
            for each in slices
        ],
        "notes": list(dict.fromkeys(row["note"] for row in rows if row["note"])),
    }


def _step(row: Mapping[str, Any], along: _Side, of: _Side) -> dict[str, Any]:
    """Return a line at a quantile, and the interval of the median behind it."""
    ends = [along.low if row["left"] is None else row["left"]]
    ends.append(along.high if row["right"] is None else row["right"])
    half = 0.5 if along.whole else 0.0  # whole numbers are drawn as wide as one
    x = along.place(np.array([ends[0] - half, ends[1] + half])).tolist()
    median = row["probability"] == 0.5
    known = any(name.startswith("low") and row[name] is not None for name in row)
    band = None
    if median and known:
        low = of.low if row["low"] is None else row["low"]
        high = of.high if row["high"] is None else row["high"]
        band = _box(x, of.place(np.array([low, high])).tolist())
    value = row["value"]
    return {
        "x1": coordinate_text(_across(x[0])),
        "x2": coordinate_text(_across(x[1])),
        "y": None if value is None else coordinate_text(_up(float(of.place(value)))),
        "median": median,
        "band": band,
    }


def _multiples(document: Document, domain: Product) -> dict[str, Any] | None:
    """Return a small density for each of the largest labels, all of one height and width."""
    if document["labels"] is None:
        return None
    number = [axis.ordered for axis in domain.domains].index(False)
    name, axis = domain.names[1 - number], domain.domains[1 - number]
    side = _Side(name, axis, document["map"]["y" if number == 0 else "x"])
    curves = [(each, _density(each["steps"], side)) for each in document["labels"]]
    most = (
        max((float(high.max()) for _, (_, _, _, high) in curves if high.size), default=1.0) or 1.0
    )
    return {
        "of": domain.names[number],
        "name": name,
        "ends": [side.ticks[0][1], side.ticks[-1][1]],
        "panels": [
            {
                "label": str(each["label"]),
                "share": number_text(each, percent, name="share"),
                "interval": interval_text(each, percent),
                "note": each["note"],
                "line": _path(places, heights / most),
                "band": _path(places, high / most, low / most),
            }
            for each, (places, heights, low, high) in curves
        ],
    }


def _density(steps: Mapping[str, Any] | None, side: _Side) -> tuple[Any, Any, Any, Any]:
    """Return places of steps, and heights of the estimate and of the ends of its band."""
    if steps is None:
        none = np.zeros(0)
        return none, none, none, none
    left, right = side.place(np.array(steps["left"])), side.place(np.array(steps["right"]))
    shown = right > left
    lengths = np.maximum(right - left, 1e-12)
    share, low, high = (
        (np.array(steps.get(key, steps["share"])) / lengths)[shown]
        for key in ("share", "low", "high")
    )
    return np.append(left[shown], right[shown][-1:]), share, np.maximum(low, 0), high


def _path(places: Any, heights: Any, low: Any = None) -> str:
    """Return steps as a path in a box of 1000 by 300, down to the lower ends where there are."""
    if not len(heights):
        return ""

    def corners(values: Any) -> list[str]:
        found = []
        for number, value in enumerate(values):
            y = coordinate_text(300 - 290 * float(value))
            found += [f"{coordinate_text(1000 * float(places[number + k]))} {y}" for k in (0, 1)]
        return found

    path = corners(heights)
    if low is None:
        return "M" + "L".join(path)
    return "M" + "L".join(path + corners(low)[::-1]) + "Z"
