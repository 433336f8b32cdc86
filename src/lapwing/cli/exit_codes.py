"""The exit codes of every command, in one table that help and documentation print."""

from __future__ import annotations

from typing import NamedTuple

from lapwing.errors import (
    ArgumentError,
    DomainError,
    EngineError,
    FormatError,
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
    ExitCode(UNEXPECTED, "unexpected: a defect of lapwing"),
    ExitCode(
        USAGE,
        "wrong usage: an unknown command or option, an argument out of its range",
        (ArgumentError, UnsupportedChannelError, NotStoredError),
    ),
    ExitCode(
        3,
        "bad data: a value, a report or a tally that is not legal",
        (DomainError, ReportError, TallyError),
    ),
    ExitCode(
        4,
        "a file is damaged, foreign, or belongs to another survey",
        (FormatError, MismatchError),
    ),
    ExitCode(
        5,
        "refused, because a promise of privacy would not hold, or is none (an epsilon of 0)",
        (PrivacyError,),
    ),
    ExitCode(6, "an optional package is not installed", (MissingExtraError,)),
    ExitCode(
        7,
        "the system: a file, database or cluster is absent, not allowed or does not fit; memory "
        "ran out",
        (OSError, MemoryError, StoreError, EngineError),
    ),
    ExitCode(INTERRUPTED, "stopped by Ctrl-C", (KeyboardInterrupt,)),
    ExitCode(CLOSED_PIPE, "whoever read the output went away"),
    ExitCode(TERMINATED, "stopped by SIGTERM"),
)


def exit_code(error: BaseException) -> int:
    """Return the code in which an error ends; 1 for those that nobody expects."""
    # MissingExtraError is an ImportError and OSError is no LapwingError, so no two rows overlap.
    for row in EXIT_CODES:
        if isinstance(error, row.errors):
            return row.code
    return UNEXPECTED
