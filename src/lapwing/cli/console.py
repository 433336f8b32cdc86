"""Terminal output of the commands, and the files that they write.

Tables or one JSON document go to stdout, everything else to stderr. A file is checked before the
work starts, and is written whole or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lapwing.atomic_files import remove_abandoned, replacing
from lapwing.cli.option_groups import option
from lapwing.engines.arrow.inputs import STDIN, input_name
from lapwing.errors import ArgumentError, DomainError, LapwingWarning

if TYPE_CHECKING:
    from rich.table import Table

    from lapwing.protocol.domains.row_counts import RowCounts
    from lapwing.protocol.messages.group_tallies import GroupTallies


_PIPED_WIDTH = 200
"""Columns of a table that no terminal limits: wide enough never to cut a cell."""


class ClosedPipeError(Exception):
    """The reader of stdout has gone, as `head` does. Not an error of ours."""


def printable(text: str) -> str:
    r"""Return a text without control characters, which a file name or a label may hold.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a person is at a stream. None: it was closed before the program began."""
    return stream is not None and stream.isatty()


def complain(message: str) -> None:
    """Print one line on stderr, where there is one."""
    if sys.stderr is None:
        return  # print would take stdout instead
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
    """Print on stdout at once. ClosedPipeError when nobody reads it any more."""
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
    """How one command speaks: the options that every command has.

    as_json: One JSON document instead of tables.
    quiet: No tables and no progress bar. JSON, warnings and errors stay.
    yes: Go on where a terminal would be asked.

    Attributes
    ----------
    warnings : list of str
        The warnings shown so far. Part of the JSON document.
    """

    as_json: bool = option(
        "Print one JSON document instead of tables, for errors too.", flags="--json", default=False
    )
    quiet: bool = option(
        "No tables and no progress bar. Warnings and errors stay.",
        flags="--quiet -q",
        default=False,
    )
    yes: bool = option(
        "Continue without asking. On a terminal, a command asks when most rows have no value "
        "in the range, or when a survey's text would change.",
        flags="--yes -y",
        default=False,
    )
    warnings: list[str] = field(default_factory=list, init=False)
    _bar: Any = field(default=None, init=False)

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
        """Print a warning as one line on stderr. Each only once."""
        if message in self.warnings:
            return
        self.warnings.append(message)
        complain(f"warning: {message}")

    def examine(self, rows: RowCounts, domain: Any, *, ask: bool = True) -> None:
        """Say on stderr how many rows have no value in the range. Ask where it is most of them.

        These are exact counts of raw data, so no JSON document has them. Without a terminal, stderr
        may be a log, so they are written there only when a warning is due. The command then goes
        on, because a scheduled job that stops would reveal something about the data.

        Raises DomainError when whoever is asked does not go on.
        """
        if not rows.notable:
            return
        if self._bar is not None:
            self._bar.stop()
        with suppress(OSError):  # a full disk must not end a job by what its rows are
            if rows.doubtful:
                complain(f"warning: {rows.text(domain)}. {rows.advice(domain)}.")
            elif is_terminal(sys.stderr):
                self.tell(rows.text(domain))
        doubted = rows.mostly_without and ask and not self.yes and _is_at_terminal()
        fault = "have no value in the range" if rows.mostly_valueless else "are in no segment"
        if doubted and not _asked(f"Most rows {fault}. Continue?"):
            raise DomainError(
                f"stopped, because most rows {fault}. Nothing was written or charged (--yes "
                "continues without asking)"
            )
        if self._bar is not None:
            self._bar.start()

    def agree(self, table: Table, question: str, stopped: str) -> None:
        """Show on stderr what would change, and ask. Without a terminal only --yes agrees.

        Raises
        ------
        ArgumentError
            Which says `stopped`, when nobody agrees.
        """
        if self.yes:
            return
        from rich.console import Console

        Console(stderr=True, markup=False, emoji=False, highlight=False).print(table)
        if not (_is_at_terminal() and _asked(question)):
            raise ArgumentError(f"{stopped}. Nothing was changed (--yes agrees without asking)")

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
        """Yield a function that is told of every step. Draws a bar only on a terminal.

        what: Shown before the bar.
        total: Steps in all. None when unknown.
        """
        if self.quiet or not is_terminal(sys.stderr):
            yield lambda steps: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            self._bar = bar
            try:
                yield lambda steps: bar.advance(task, steps)
            finally:
                self._bar = None


def _is_at_terminal() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def _asked(question: str) -> bool:
    """Ask on a terminal. Return whether the answer is yes."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
    """Return a table with a title. The first column is text, the others are numbers."""
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


ENDINGS = (".png", ".svg", ".pdf")


def check_output(path: Path, *, inputs: Sequence[Path], force: bool) -> None:
    """Raise before any work is done, when the output cannot or must not be written.

    An existing file may be the only copy of something irreplaceable: a survey whose reports are
    being collected, or the raw data. So it is replaced only when the user says so.

    inputs: Files that the command reads: the output must be none of them.
    force: Whether a file that is there may be replaced (--force). A read-only one never is.

    Raises ArgumentError when it is an input, a folder, a device or a pipe, or a file that must
    stay.
    Raises OSError when its folder does not exist or may not be written to.
    """
    if str(path) == "-":
        raise ArgumentError(
            "the output must be a file: an interrupted stream cannot be distinguished from a "
            "complete one"
        )
    if path.is_dir():
        raise ArgumentError(f"the output must be a file, but {path} is a folder")
    if path.exists() and not path.is_file():
        raise ArgumentError(f"the output must be a plain file, but {path} is a device or a pipe")
    for other in inputs:
        same = _resolved(path) == _resolved(other)
        if same or (path.exists() and other.exists() and path.samefile(other)):
            raise ArgumentError(
                f"the output must not be one of the inputs, but {path} is. Choose another name"
            )
    folder = _resolved(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    _check_replaced(path, force=force)


def _resolved(path: Path) -> Path:
    """Return a path without links. Of a loop of links, where it begins: to open it is an error."""
    return Path(os.path.realpath(path))


def _check_replaced(path: Path, *, force: bool) -> None:
    """Raise ArgumentError when a file is there that must stay."""
    if not path.exists():
        return
    remove_abandoned(_resolved(path).parent)  # also where this run ends here
    # Its mode is asked too, because the system lets root write to whatever is read-only.
    writable = path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    if not writable or not os.access(path, os.W_OK):
        raise ArgumentError(
            f"the output {path} already exists and is read-only, so --force does not replace it. "
            "Choose another name"
        )
    if not force:
        raise ArgumentError(
            f"the output {path} already exists. Choose another name, or replace it with --force"
        )


def check_ending(path: Path, endings: Sequence[str], *, what: str) -> str:
    """Return the ending of a file's name in lower case, or raise ArgumentError."""
    ending = path.suffix.lower()
    if ending not in endings:
        raise ArgumentError(
            f"the name of {what} must end in {_either(endings)}, but {path.name!r} does not"
        )
    return ending


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@contextmanager
def writing(path: Path, *, mode: int = 0o644, absent: bool = False) -> Iterator[IO[bytes]]:
    """Open the output. It takes its name when the block ends well, see `replacing`.

    Errors of the disk name the output, not the temporary file.

    mode: Permission bits of the file, before the process's umask.
    absent: Whether nothing may have the name when the block ends.
    """
    target = _resolved(path)  # what a link points to is replaced, not the link
    try:
        with replacing(target, mode=mode, absent=absent) as stream:
            yield stream
    except OSError as error:
        temporary = f".{target.name}."
        if error.filename is None or Path(str(error.filename)).name.startswith(temporary):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def write_text(path: Path, text: str) -> None:
    """Write a whole document."""
    with writing(path) as stream:
        stream.write(text.encode())


def write_groups(path: Path, groups: GroupTallies) -> None:
    """Write the tallies of segments, as a table where the name of the file ends in .parquet."""
    from lapwing.protocol.messages.group_tallies import is_table  # with NumPy: only when needed

    with writing(path) as stream:
        groups.write(stream, table=is_table(path))


def write_figure(path: Path, figure: Any) -> None:
    """Write a picture, of the kind that its ending says."""
    from lapwing.results.plotting import write_picture  # only where a picture is drawn

    kind: Any = check_ending(path, ENDINGS, what="the picture")[1:]
    with writing(path) as stream:
        write_picture(figure, stream, kind=kind)


def check_distinct(
    paths: Sequence[Path],
    *,
    what: str,
    allow_equal: Sequence[str] | None,
    by_chance: Callable[[Path, int], bool] = lambda path, files: False,
    content: Callable[[Path], bytes] | None = None,
) -> None:
    """Raise ArgumentError when a file is named twice, or is a copy of another.

    paths: Standard input may be one of them. It is not compared.
    what: The inputs that would count twice: "reports", say.
    allow_equal: Files that may equal an earlier one.
    by_chance: Whether a file may equal one of other people by chance, among so many. Default:
        never.
    content: Returns the bytes of a file that are compared. Default: all of them.

    **Cost.** Only files of the same size are read.
    """
    seen: set[Path] = set()
    sizes: dict[int, list[Path]] = {}
    for path in paths:
        if path.resolve() in seen:
            raise ArgumentError(
                f"{input_name(path)} is named twice, so its {what} would count twice. Name it once"
            )
        seen.add(path.resolve())
        if path != STDIN and path.is_file():  # what is absent is told by whoever opens it
            sizes.setdefault(path.stat().st_size, []).append(path)
    allowed = {Path(name).resolve() for name in allow_equal or ()}
    if unknown := allowed - seen:
        raise ArgumentError(
            "allow_equal", f"must name one of the inputs, but {min(unknown).name} is not one"
        )
    for alike in sizes.values():
        digests: dict[bytes, Path] = {}
        for path in alike if len(alike) > 1 else ():
            if content is not None:
                digest = hashlib.sha256(content(path)).digest()
            else:
                with path.open("rb") as stream:
                    digest = hashlib.file_digest(stream, "sha256").digest()
            first = digests.setdefault(digest, path)
            if first == path or path.resolve() in allowed or by_chance(path, len(paths)):
                continue
            raise ArgumentError(
                f"{input_name(path)} is a copy of {input_name(first)}, so its {what} would "
                "count twice. Leave it out. If the two are about different people and equal by "
                f"chance, add --allow-equal {input_name(path)}"
            )
