"""A joint distribution as a command shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapwing.cli.console import facts, grid
from lapwing.results.joint_answers import slice_text
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_documents import JointAnswer
from lapwing.results.rounding import interval_text, level_text, number_text, number_writer, percent


def joint_tables(joint: JointDistribution, name: str, document: JointAnswer) -> list[Any]:
    """Return a table of medians for each axis along the other one.

    name: Of the survey or the file, for titles.
    """
    tables = []
    for axis, rows in document["quantiles"].items():
        other = next(each for each in joint.domain.names if each != axis)
        unit = joint.domain.axes[axis].unit
        write = number_writer(unit)
        cells = [
            [
                slice_text(row, joint.domain.axes[other]),
                percent(row["share"]),
                number_text(row, write, unit),
                interval_text(row, write, unit),
            ]
            for row in rows
            if row["probability"] == 0.5
        ]
        headers = [other, "people", f"median {axis}", f"{level_text(document['level'])} interval"]
        tables.append(grid(f"{name}: {axis} by {other}", headers, cells))
    return tables


def joint_facts(joint: JointDistribution, document: JointAnswer, *, rest: Mapping[str, str]) -> Any:
    """Return the facts of a joint distribution as a table."""
    said = joint._facts(document["level"])
    if said["intervals"].startswith("about"):
        said["intervals"] = f"about {document['about']}"
    notes = {row["note"] for rows in document["quantiles"].values() for row in rows if row["note"]}
    if document["caution"] is not None:
        said["caution"] = document["caution"]
    return facts({**said, **({"no point": "; ".join(sorted(notes))} if notes else {}), **rest})
