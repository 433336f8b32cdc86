"""The program: its commands, and how every way to end becomes an exit code and a sentence."""

from __future__ import annotations

import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from lapwing.cli.command_list import COMMANDS, CommandList
from lapwing.cli.console import ClosedPipeError, Output, complain, write_json, write_stdout
from lapwing.documents import nearest
from lapwing.errors import (
    ArgumentError,
    DomainError,
    EngineError,
    FormatError,
    LapwingError,
    LapwingWarning,
    MismatchError,
    MissingExtraError,
    NotStoredError,
    PrivacyError,
    ReportError,
    StoreError,
    TallyError,
    UnsupportedChannelError,
)

UNEXPECTED = 1
USAGE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141
TERMINATED = 143


class ExitCode(NamedTuple):
    """A code, what a script may conclude from it, and the errors that end in it."""

    code: int
    meaning: str
    errors: tuple[type[BaseException], ...] = ()


EXIT_CODES = (
    ExitCode(0, "done"),
    ExitCode(UNEXPECTED, "unexpected: a defect in lapwing"),
    ExitCode(
        USAGE,
        "wrong usage: an unknown command or option, or an argument out of its range",
        (ArgumentError, UnsupportedChannelError, NotStoredError),
    ),
    ExitCode(
        3,
        "bad data: a value, a report or a tally that is not valid",
        (DomainError, ReportError, TallyError),
    ),
    ExitCode(
        4,
        "a file is damaged, has another format, or belongs to another survey",
        (FormatError, MismatchError),
    ),
    ExitCode(
        5,
        "refused: a privacy guarantee would not hold, or is impossible (an epsilon of 0)",
        (PrivacyError,),
    ),
    ExitCode(6, "an optional package is not installed", (MissingExtraError,)),
    ExitCode(
        7,
        "the system: a file, database or cluster is absent, not accessible or unsuitable, or "
        "memory ran out",
        (OSError, MemoryError, StoreError, EngineError),
    ),
    ExitCode(INTERRUPTED, "stopped by Ctrl-C", (KeyboardInterrupt,)),
    ExitCode(CLOSED_PIPE, "the program that read the output stopped reading"),
    ExitCode(TERMINATED, "stopped by SIGTERM"),
)


def exit_code(error: BaseException) -> int:
    """Return the code in which an error ends. 1 for those that nobody expects."""
    # MissingExtraError is an ImportError and OSError is no LapwingError, so no two rows overlap.
    for row in EXIT_CODES:
        if isinstance(error, row.errors):
            return row.code
    return UNEXPECTED


_OF_A_DOMAIN = (
    *("--low", "--high", "--bins", "--scale", "--atom", "--edges", "--closed"),
    *("--integers", "--categories", "--other", "--outside", "--missing"),
)
"""Options of lapwing new, which other commands take in a file."""

_GUESSED = {
    "--budget": "--epsilon",
    "--labels": "--categories",
    "--min": "--low",
    "--max": "--high",
}
"""Words that people try first, and the option that is meant."""


# What typer raises on wrong usage. Its class has moved between versions (click, then typer's own
# copy); that BadParameter is one of its kind has not.
_UsageError = typer.BadParameter.__mro__[2]

_CODES = "\n".join(f"  {row.code:<4} {row.meaning}" for row in EXIT_CODES)

app = typer.Typer(
    name="lapwing",
    cls=CommandList,
    add_completion=True,  # two options of typer's own, which import nothing until they are used
    rich_markup_mode=None,  # plain help: the same bytes everywhere, and no brackets eaten
    pretty_exceptions_enable=False,  # they would print local variables, so people's values
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\nExit codes:\n{_CODES}",  # \b: lines stay as they are
)


def _version(wanted: bool) -> None:
    if wanted:
        write_stdout(f"lapwing {version('lapwing')}\n")
        raise typer.Exit


@app.callback()
def _program(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn the distribution of a sensitive attribute, never the data."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code.

    arguments: Without the program's name. Default: what the process was given.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a label must not stop the program
    try:
        if any(word in COMMANDS for word in given):
            _load_plugins()  # a signal ends the program here as it ends any: nothing has begun yet
        with _signals():
            code = _run(given)
    except SystemExit as error:  # from SIGTERM
        return error.code if isinstance(error.code, int) else UNEXPECTED
    except ClosedPipeError:
        return CLOSED_PIPE
    except KeyboardInterrupt as error:
        return _fail(error, "stopped by Ctrl-C. No file was written or changed", given)
    except Exception as error:
        return _fail(error, _sentence(error), given)
    return code


def _load_plugins() -> None:
    """Make classes of other installed packages known. Say on stderr which of them cannot be."""
    from lapwing.plugins import load  # all classes, so only for a command

    # What they print while they are imported is no part of a command's JSON.
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(sys.stderr):
        warnings.simplefilter("always", LapwingWarning)
        load()
    for warning in caught:
        complain(f"warning: {warning.message}")


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        with Output(False, False).listening():  # commands listen themselves where they have JSON
            code = command.main(arguments or ["--help"], prog_name="lapwing", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


@contextmanager
def _signals() -> Iterator[None]:
    """Let the first SIGINT or SIGTERM unwind the program, and none disturb it meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if number == signal.SIGTERM:
            raise SystemExit(TERMINATED)
        raise KeyboardInterrupt

    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        for number, handler in before:
            if handler is not signal.SIG_IGN:  # nohup and background jobs stay as they are
                signal.signal(number, stop)
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _sentence(error: Exception) -> str:
    """Return one sentence about an error, without a value in it."""
    if isinstance(error, _UsageError):
        return _usage(error)
    if isinstance(error, LapwingError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this. Use fewer bins, or a larger machine"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no file or folder {error.filename}. Check the name"
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror}"
    # A defect. Its message may quote a value, so only its place is told.
    places = traceback.extract_tb(error.__traceback__)
    last = places[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    modules = {frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames}
    from lapwing.plugins import packages_of_others

    others = sorted(modules & packages_of_others())
    whose = f"the plug-in {others[0]}" if others else f"lapwing {version('lapwing')}"
    return (
        f"unexpected {type(error).__name__} in {where}. This is a defect in {whose}. Please "
        "report it with the command that led to it"
    )


def _usage(error: Any) -> str:
    message = error.format_message().strip()
    context = getattr(error, "ctx", None)
    name = context.command_path if context is not None else "lapwing"
    option = getattr(error, "option_name", "")
    if option in _OF_A_DOMAIN:
        return (
            f"{option} describes a domain. Use --domain FILE with a survey, or with the file "
            f"from: lapwing new --domain-only {option} ... -o FILE"
        )
    if guess := _GUESSED.get(option):
        return f"{name} has no {option}. Use {guess}"
    if near := getattr(error, "possibilities", None):
        message = error.message.rstrip(".") + nearest(option, near)
    if "No such command" in message:
        # Words of our own: those of typer and click change with their versions.
        word = message.partition("'")[2].partition("'")[0]
        known = COMMANDS if context is None else context.command.list_commands(context)
        message = f"no such command: {word}{nearest(word, known)}"
        if word == "serve":
            return "lapwing collector has no command serve. Use: lapwing serve DATABASE"
    number = re.search(
        r"'(--[a-z-]+)'.*(?:valid (integer|number)|not a valid (integer|float))", message
    )
    if number:
        kind = "a whole number" if "integer" in number.groups() else "a number"
        message = f"{number[1]} must be {kind}"
    message = message.rstrip(".")
    return f"{message[:1].lower()}{message[1:]} (see: {name} --help)"


def _fail(error: BaseException, sentence: str, arguments: list[str]) -> int:
    code = USAGE if isinstance(error, _UsageError) else exit_code(error)
    # Looked for in the arguments themselves, because parsing them is what may have failed.
    if "--json" in arguments:
        document = {
            "kind": type(error).__name__,
            "message": sentence,
            "position": getattr(error, "position", None),
            "exit_code": code,
        }
        try:
            write_json({"error": document})
        except ClosedPipeError:
            return CLOSED_PIPE
    else:
        complain(sentence)
    return code
