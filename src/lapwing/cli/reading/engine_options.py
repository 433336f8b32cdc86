"""How commands are told how to work on a large data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lapwing.cli.option_groups import option
from lapwing.engines.arrow.ordered_work import threads_or_all


@dataclass(frozen=True, kw_only=True)
class WorkOptions:
    """The option of a job on many rows."""

    threads: int | None = option(
        "How many cores work beside each other (default: all). The result is the same.", "N"
    )

    def workers(self) -> int:
        """Return how many threads work; ArgumentError when there can be no such number."""
        return threads_or_all(self.threads)


@dataclass(frozen=True, kw_only=True)
class LongJobOptions(WorkOptions):
    """The options of a job on many files, whose result is one file."""

    resume: bool = option(
        "Keep what is done in OUTPUT.progress, and go on from there when the job was killed: each "
        "file that was counted is not read again, and none counts twice.",
        default=False,
    )

    def progress(self, output: Path) -> Path | None:
        """Return where to keep what is done; None where nobody asked for it."""
        return output.with_name(f"{output.name}.progress") if self.resume else None
