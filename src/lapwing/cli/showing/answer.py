"""An answer as a command shows it: the JSON document, the tables, and the rows of --csv."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lapwing.cli.console import facts, grid
from lapwing.results.answer_documents import Answer, AnswerRequest
from lapwing.results.answer_text import TextTable, csv_rows, facts_of, tables_of
from lapwing.results.answers import answer_of

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
