"""An answer as a command shows it: a JSON document, tables, and the rows of ``--csv``.

A joint distribution of two attributes has tables of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lapwing.cli.console import check_ending, check_output, facts, grid, write_text
from lapwing.cli.option_groups import option
from lapwing.errors import ArgumentError
from lapwing.results.answer_documents import Answer, AnswerRequest
from lapwing.results.answer_text import TextTable, csv_rows, facts_of, table_rows, tables_of
from lapwing.results.answers import answer_of
from lapwing.results.joint_answers import slice_text
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_documents import JointAnswer, JointRequest
from lapwing.results.readable import csv_of
from lapwing.results.rounding import interval_text, level_text, number_text, number_writer, percent

if TYPE_CHECKING:
    from rich.table import Table


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


Rows = Callable[[], Sequence[dict[str, Any]]]


class ShownAnswer(NamedTuple):
    """Answers that a command shows of a result.

    document: The answer, as JSON values.
    tables: The main table first, the facts last.
    rows: Returns the rows of its table for a spreadsheet.
    """

    document: dict[str, Any]
    tables: list[Table]
    rows: Rows


def shown_answer(
    result: Any,
    name: str,
    request: AnswerRequest,
    *,
    rest: Mapping[str, str] | None = None,
    detail: bool = False,
) -> ShownAnswer:
    """Return what a command shows of a result.

    The table of a distribution has a row for each bin or label, that of heavy hitters one for each
    listed value. A survey that asks questions is answered by these, unless `detail` is set.

    name: Of the survey or the file, for the title.
    rest: Further facts, at the end.
    detail: Whether tables have all rows, and facts that few need.
    """
    if getattr(result, "_kind", None) == "joint-distribution":
        from lapwing.results.joint_answers import cell_rows, joint_answer

        joint = joint_answer(result, JointRequest(**request.how))
        shown = joint_tables(result, name, joint)
        shown.append(joint_facts(result, joint, rest=rest or {}))
        return ShownAnswer(dict(joint), shown, lambda: cell_rows(result))
    answer: Answer = answer_of(result, request)
    tables = [terminal_table(table) for table in tables_of(answer, name, detail=detail)]
    tables.append(facts({**facts_of(answer, detail=detail), **(rest or {})}))

    def rows() -> Sequence[dict[str, Any]]:
        if answer["kind"] in ("difference", "series"):
            return csv_rows(answer)
        return table_rows(result, **request.how)

    return ShownAnswer(dict(answer), tables, rows)


def terminal_table(table: TextTable) -> Table:
    """Return a table of strings for a terminal."""
    return grid(table.title, table.headers, table.rows)


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The option of a table that is also written."""

    table: Path | None = option(
        "Also write the table to this CSV file, with unrounded numbers.", "FILE", flags="--csv"
    )

    def check(self, *, inputs: Sequence[Path], force: bool, output: Path | None = None) -> None:
        """Raise before any work is done, when it cannot or must not be written.

        inputs: Files that the command reads.
        force: Whether a file that is there may be replaced.
        output: Other files that the command writes.
        """
        if self.table is None:
            return
        check_ending(self.table, (".csv",), what="the table")
        check_output(self.table, inputs=inputs, force=force)
        if output is not None and output.resolve() == self.table.resolve():
            raise ArgumentError("csv", "must differ from --output")

    def write(self, rows: Sequence[dict[str, Any]] | Rows) -> None:
        """Write rows, if asked to. Their keys are the names of the columns, None an empty cell."""
        if self.table is None:
            return
        write_text(self.table, csv_of(rows() if callable(rows) else rows))
