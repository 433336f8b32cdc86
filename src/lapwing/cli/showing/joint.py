"""A joint distribution as a command shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lapwing.cli.console import facts, grid
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.rounding import estimate_text, level_text, percent


def joint_document(joint: JointDistribution, *, level: float) -> dict[str, Any]:
    """Return what is worth knowing of a joint distribution, as JSON values."""
    interval = joint.mutual_information_interval(level=level)
    document: dict[str, Any] = {
        "kind": "joint-distribution",
        "people": joint.reports,
        "guarantee": joint.guarantee.to_document() if joint.guarantee else None,
        "level": level,
        "axes": list(joint.domain.names),
        "mutual_information": joint.mutual_information(),
        "mutual_information_interval": None if interval is None else list(interval),
        "quartiles": {
            name: joint.conditional_quantiles(name, level=level, slice_share=0.1)
            for name, axis in joint.domain.axes.items()
            if axis.ordered and not axis.circular
        },
    }
    return document


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
                else f"{_text(rows['from'][number])} to {_text(rows['to'][number])}"
            )
            ends = [rows[end][number] for end in ("low", "high")]
            reach = "" if None in ends else " to ".join(map(_text, ends))
            share = percent(rows["share"][number])
            cells.append([where, share, _text(rows["quantile"][number]), reach])
        headers = [other, "people", f"median {axis}", f"{level_text(document['level'])} interval"]
        tables.append(grid(f"{name}: {axis} by {other}", headers, cells))
    return tables


def joint_facts(joint: JointDistribution, *, level: float, rest: Mapping[str, str]) -> Any:
    """Return the facts of a joint distribution as a table."""
    return facts({**joint._facts(level), **rest})


def joint_rows(joint: JointDistribution) -> Sequence[dict[str, Any]]:
    """Return a row for each cell: its symbols on both axes, and its share."""
    names = [_symbols(axis) for axis in joint.domain.domains]
    one, other = joint.domain.names
    return [
        {one: first, other: second, "share": float(joint.table[i, j])}
        for i, first in enumerate(names[0])
        for j, second in enumerate(names[1])
    ]


def _symbols(axis: Any) -> list[str]:
    if axis.ordered:
        ends = zip(axis.left, axis.right, strict=True)
        held = [
            _text(low) if low == high else f"{_text(low)} to {_text(high)}" for low, high in ends
        ]
        for place, word in ((axis.below_index, "below"), (axis.above_index, "above")):
            if place is not None:
                held[place] = word
    else:
        held = list(map(str, axis.listed))
    return held if axis.missing_index is None else [*held, "(missing)"]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else estimate_text(float(value))
