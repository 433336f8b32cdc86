"""What the commands print: tables or one JSON document on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from lapwing.cli.option_groups import option
from lapwing.errors import LapwingWarning

if TYPE_CHECKING:
    from rich.table import Table

_PIPED_WIDTH = 200
"""Columns of a table that no terminal limits: wide enough never to cut a cell."""


class ClosedPipeError(Exception):
    """Whoever read stdout has gone, as `head` does; not an error of ours."""


def printable(text: str) -> str:
    r"""Return a text without control characters, which a file name or a label may hold.

    Examples
    --------
    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def complain(message: str) -> None:
    """Print one line on stderr."""
    print(f"lapwing: {printable(message)}", file=sys.stderr, flush=True)


_RESULTS: ContextVar[IO[str] | None] = ContextVar("results", default=None)
"""The program's stdout, while only results may stand there."""


@contextmanager
def results_alone() -> Iterator[None]:
    """Send to stderr what anybody else prints: a decoder of a plug-in, amid a command's JSON."""
    token = _RESULTS.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _RESULTS.reset(token)


def write_stdout(text: str) -> None:
    """Print on stdout at once; ClosedPipeError when nobody reads it any more."""
    stream = _RESULTS.get() or sys.stdout
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at its exit; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise ClosedPipeError from None


def write_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    write_stdout(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


@dataclass
class Output:
    """How one command speaks: its last two options.

    Parameters
    ----------
    as_json : bool
        One JSON document instead of tables.
    quiet : bool
        No tables and no progress bar; JSON, warnings and errors stay.

    Attributes
    ----------
    warnings : list of str
        What was warned of so far; part of the JSON document.
    """

    as_json: bool = option(
        "Print one JSON document instead of tables, for errors too.", flags="--json", default=False
    )
    quiet: bool = option(
        "No tables and no progress bar; warnings and errors stay.",
        flags="--quiet -q",
        default=False,
    )
    warnings: list[str] = field(default_factory=list, init=False)

    def show(self, document: Mapping[str, Any], *tables: Table) -> None:
        """Print the result of a command: the document as JSON, or the tables."""
        if self.as_json:
            write_json({**document, "warnings": self.warnings})
            return
        if self.quiet:
            return
        from rich.console import Console

        width = None if (_RESULTS.get() or sys.stdout).isatty() else _PIPED_WIDTH
        console = Console(width=width, markup=False, emoji=False, highlight=False)
        parts = []
        for table in tables:
            with console.capture() as captured:
                console.print(table)
            lines = captured.get().rstrip().splitlines()
            parts.append("\n".join(line.rstrip() for line in lines))
        write_stdout("\n\n".join(parts) + "\n")

    def warn(self, message: str) -> None:
        """Print a warning as one line on stderr; each only once."""
        if message in self.warnings:
            return
        self.warnings.append(message)
        complain(f"warning: {message}")

    def tell(self, message: str) -> None:
        """Print one line on stderr about what goes on, unless nothing is to be said."""
        if not self.quiet:
            complain(message)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Print warnings of the library, and of those it uses, as one line each."""

        def show_warning(message: Warning | str, *rest: Any, **more: Any) -> None:
            self.warn(str(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always", LapwingWarning)
            warnings.showwarning = show_warning
            yield

    @contextmanager
    def progress(self, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Yield a function that is told of every step; draws a bar only on a terminal.

        Parameters
        ----------
        what : str
            Shown before the bar.
        total : int or None
            Steps in all; None when unknown.
        """
        if self.quiet or not sys.stderr.isatty():
            yield lambda steps: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda steps: bar.advance(task, steps)


def facts(rows: Mapping[str, str]) -> Table:
    """Return a table of names and their values, without lines."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, printable(value))
    return table


def grid(title: str, headers: list[str], rows: list[list[str]]) -> Table:
    """Return a table with a title; the first column is text, the others are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    # A title is cut into lines as wide as its table, however wide the terminal is.
    table = Table(
        box=SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        min_width=min(len(title), 60),
    )
    for position, header in enumerate(headers):
        table.add_column(header, justify="right" if position else "left", overflow="fold")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    return table
