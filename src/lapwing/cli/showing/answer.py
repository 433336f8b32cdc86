"""An answer as a command shows it: a JSON document, tables, and the rows of ``--csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lapwing.cli.console import check_ending, check_output, facts, grid, write_text
from lapwing.cli.option_groups import option
from lapwing.errors import ArgumentError
from lapwing.results.answer_documents import Answer, AnswerRequest
from lapwing.results.answer_text import TextTable, csv_rows, facts_of, tables_of
from lapwing.results.answers import answer_of, csv_of

if TYPE_CHECKING:
    from rich.table import Table


class ShownAnswer(NamedTuple):
    """What a command shows of a result.

    Parameters
    ----------
    document : dict
        The answer, as JSON values.
    tables : list of Table
        The main table first, the facts last.
    rows : list of dict
        Of the main table, for a spreadsheet.
    """

    document: dict[str, Any]
    tables: list[Table]
    rows: list[dict[str, Any]]


def shown_answer(
    result: Any, name: str, request: AnswerRequest, *, rest: Mapping[str, str] | None = None
) -> ShownAnswer:
    """Return what a command shows of a result.

    Parameters
    ----------
    result : Distribution, HeavyHitters, Difference or Series
    name : str
        Of the survey or the file, for the title.
    request : AnswerRequest
    rest : mapping, optional
        Further facts, at the end.
    """
    answer: Answer = answer_of(result, request)
    tables = [terminal_table(table) for table in tables_of(answer, name)]
    tables.append(facts({**facts_of(answer), **(rest or {})}))
    return ShownAnswer(dict(answer), tables, csv_rows(answer))


def terminal_table(table: TextTable) -> Table:
    """Return a table of texts for a terminal."""
    return grid(table.title, table.headers, table.rows)


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The option of a table that is written, too."""

    table: Path | None = option(
        "Also write the table to this CSV file, with unrounded numbers.", "FILE", flags="--csv"
    )

    def check(self, *, inputs: Sequence[Path], force: bool, output: Path | None = None) -> None:
        """Raise before any work is done, when it cannot or must not be written.

        Parameters
        ----------
        inputs : sequence of Path
            Files that the command reads.
        force : bool
            Whether a file that is there may be replaced.
        output : Path, optional
            What else the command writes.
        """
        if self.table is None:
            return
        check_ending(self.table, (".csv",), what="the table")
        check_output(self.table, inputs=inputs, force=force)
        if output is not None and output.resolve() == self.table.resolve():
            raise ArgumentError("--csv must name another file than --output")

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows, if asked to; their keys are the names of the columns, None an empty cell."""
        if self.table is None:
            return
        write_text(self.table, csv_of(rows))
