"""A joint distribution as a command shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lapwing.cli.console import facts, grid
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.units import to_text
from lapwing.results.association import most_information
from lapwing.results.band import Target
from lapwing.results.counted import whom
from lapwing.results.exact_values import EXACT, is_exact
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.rounding import estimate_text, level_text, percent


def joint_document(
    joint: JointDistribution, *, level: float, target: Target = "empirical"
) -> dict[str, Any]:
    """Return what is worth knowing of a joint distribution, as JSON values.

    Its intervals hold about the people in the data and about the population.
    """
    interval = joint.mutual_information_interval(level=level)
    document: dict[str, Any] = {
        "kind": "joint-distribution",
        "people": joint.reports,
        "guarantee": joint.guarantee.to_document() if joint.guarantee else None,
        "level": level,
        "about": EXACT if is_exact(joint) else whom(target, joint.guarantee),
        "axes": list(joint.domain.names),
        "mutual_information": joint.mutual_information(),
        "mutual_information_interval": None
        if interval is None  # the upper end is None where the reports say nothing about it
        else [interval[0], interval[1] if interval[1] < most_information(joint.table) else None],
        "quartiles": {
            name: _finite(joint.conditional_quantiles(name, level=level, slice_share=0.1))
            for name, axis in joint.domain.axes.items()
            if axis.ordered and not axis.circular
        },
    }
    return document


def _finite(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return columns in which an end that lies nowhere is None, as JSON has no infinity."""
    return {
        key: [None if isinstance(one, float) and math.isinf(one) else one for one in column]
        for key, column in rows.items()
    }


def joint_tables(joint: JointDistribution, name: str, document: Mapping[str, Any]) -> list[Any]:
    """Return a table of medians for each axis along the other one.

    Parameters
    ----------
    joint : JointDistribution
    name : str
        Of the survey or the file, for titles.
    document : mapping
        As :func:`joint_document` returns it.
    """
    tables = []
    for axis, rows in document["quartiles"].items():
        other = next(each for each in joint.domain.names if each != axis)
        cells = []
        for number, probability in enumerate(rows["probability"]):
            if probability != 0.5:
                continue
            where = (
                str(rows["label"][number])
                if "label" in rows
                else _range(joint.domain.axes[other], rows["from"][number], rows["to"][number])
            )
            of = joint.domain.axes[axis]
            ends = [rows[end][number] for end in ("low", "high")]
            reach = "" if None in ends else " to ".join(_text(end, of) for end in ends)
            share = percent(rows["share"][number])
            cells.append([where, share, _text(rows["quantile"][number], of), reach])
        headers = [other, "people", f"median {axis}", f"{level_text(document['level'])} interval"]
        tables.append(grid(f"{name}: {axis} by {other}", headers, cells))
    return tables


def joint_facts(
    joint: JointDistribution, document: Mapping[str, Any], *, rest: Mapping[str, str]
) -> Any:
    """Return the facts of a joint distribution as a table."""
    said = joint._facts(document["level"])
    if said["intervals"].startswith("about"):
        said["intervals"] = f"about {document['about']}"
    return facts({**said, **rest})


def joint_rows(joint: JointDistribution) -> Sequence[dict[str, Any]]:
    """Return a row for each cell: its symbols on both axes, and its share."""
    names = [_symbols(axis) for axis in joint.domain.domains]
    one, other = joint.domain.names
    mark = {"about": EXACT} if is_exact(joint) else {}
    return [
        {one: first, other: second, "share": float(joint.table[i, j]), **mark}
        for i, first in enumerate(names[0])
        for j, second in enumerate(names[1])
    ]


def _symbols(axis: Any) -> list[str]:
    if axis.ordered:
        ends = zip(axis.left, axis.right, strict=True)
        held = [
            _text(low, axis) if low == high else f"{_text(low, axis)} to {_text(high, axis)}"
            for low, high in ends
        ]
        for place, word in ((axis.below_index, "below"), (axis.above_index, "above")):
            if place is not None:
                held[place] = word
    else:
        held = list(map(str, axis.listed))
    return held if axis.missing_index is None else [*held, "(missing)"]


def _range(axis: Any, low: float | None, high: float | None) -> str:
    """Return the ends of a slice; one without an end has all people beyond."""
    if low is None and high is None:
        return "all"
    if low is None:
        return f"up to {_text(high, axis)}"
    if high is None:
        return f"{_text(low, axis)} and beyond"
    return f"{_text(low, axis)} to {_text(high, axis)}"


def _text(value: Any, axis: Any) -> str:
    if isinstance(value, str):
        return value
    unit = axis.unit if isinstance(axis, Interval) else "number"
    return estimate_text(float(value)) if unit == "number" else to_text(float(value), unit=unit)
