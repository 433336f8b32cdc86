"""A table that is shown, as a file for a spreadsheet: --csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_ending, check_output, write_text
from lapwing.errors import ArgumentError
from lapwing.results.answers import csv_of


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The option of a table that is written, too."""

    table: Path | None = option(
        "Write the table to a file, too, with all its numbers.", "FILE", flags="--csv"
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
