"""How commands are told what works on a large data set: which engine, and how many threads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from lapwing.cli.option_groups import option
from lapwing.documents import nearest
from lapwing.engines.arrow.ordered_work import threads_or_all
from lapwing.engines.arrow.report_count import ReportCount
from lapwing.engines.arrow.value_jobs import Reading
from lapwing.errors import ArgumentError, MissingExtraError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.survey.survey import Survey


class ClusterJobs(Protocol):
    """A module that does the work of the three commands elsewhere than in this process.

    Files are named as its cluster names them: a path, or hdfs://, s3a:// and the like.
    """

    def tally(
        self,
        paths: Sequence[str],
        survey: Survey,
        *,
        column: str | None,
        by: str | None,
        skip_bad: bool,
    ) -> ReportCount:
        """Return the exact tally of reports, with groups where there is a column of labels."""
        ...

    def randomize(
        self,
        paths: Sequence[str],
        survey: Survey,
        *,
        output: str,
        column: str | None,
        by: str | None,
        reading: Reading,
    ) -> int:
        """Write a report for each value into a folder that is not there; return how many."""
        ...

    def summarize(
        self,
        paths: Sequence[str],
        domain: Domain,
        *,
        column: str | None,
        by: str | None,
        reading: Reading,
    ) -> ExactCounts:
        """Return the exact counts of a column."""
        ...


@dataclass(frozen=True)
class Engine:
    """What does the work, and what it needs.

    Parameters
    ----------
    where : str
        For the help.
    module : str
        Of :class:`ClusterJobs`; none of what works in this process.
    package : str
        What must be installed for it.
    extra : str
        The extra of lapwing that brings it.
    """

    where: str
    module: str = ""
    package: str = ""
    extra: str = ""


ENGINES = {
    "arrow": Engine("on this machine"),
    "spark": Engine("on a Spark cluster", "lapwing.engines.spark.spark_files", "pyspark", "spark"),
    "beam": Engine("by an Apache Beam runner", "lapwing.engines.beam", "apache_beam", "beam"),
}

_LISTED = "; ".join(f"{name}, {engine.where}" for name, engine in ENGINES.items())


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options of a job on many rows."""

    engine: str = option(f"What does the work: {_LISTED}.", "NAME", default="arrow")
    threads: int | None = option(
        "How many cores work beside each other (default: all). The result is the same.", "N"
    )

    def workers(self) -> int:
        """Return how many threads work; ArgumentError when an option is wrong."""
        self._chosen()
        return threads_or_all(self.threads)

    def _chosen(self) -> Engine:
        if self.engine not in ENGINES:
            raise ArgumentError(
                f"--engine must be {', '.join(ENGINES)}, got {self.engine!r}"
                f"{nearest(self.engine, list(ENGINES))}"
            )
        return ENGINES[self.engine]

    def cluster(self) -> ClusterJobs | None:
        """Return what does the work elsewhere; None where this process does it.

        Raises
        ------
        ArgumentError
            When there is no such engine, or an option is none of its.
        MissingExtraError
            When its package is not installed.
        """
        engine = self._chosen()
        if not engine.module:
            return None
        if self.threads is not None:
            self.refuse("--threads", "its own settings say how many work beside each other")
        if engine.package not in sys.modules and find_spec(engine.package) is None:
            raise MissingExtraError(engine.package, extra=engine.extra)
        return cast(ClusterJobs, import_module(engine.module))

    def refuse(self, what: str, why: str) -> None:
        """Raise ArgumentError: an option that means nothing to the engine."""
        raise ArgumentError(f"{what} is of --engine arrow, not of {self.engine}: {why}")


@dataclass(frozen=True, kw_only=True)
class LongJobOptions(EngineOptions):
    """The options of a job on many files, whose result is one file."""

    resume: bool = option(
        "Keep what is done in OUTPUT.progress, and go on from there when the job was killed: each "
        "file that was counted is not read again, and none counts twice.",
        default=False,
    )

    def cluster(self) -> ClusterJobs | None:
        """Return what does the work elsewhere; see :meth:`EngineOptions.cluster`."""
        found = super().cluster()
        if found is not None and self.resume:
            self.refuse("--resume", "it does the tasks that failed again, and counts none twice")
        return found

    def progress(self, output: Path) -> Path | None:
        """Return where to keep what is done; None where nobody asked for it."""
        return output.with_name(f"{output.name}.progress") if self.resume else None


def check_named_once(paths: Sequence[str], *, what: str) -> None:
    """Raise ArgumentError when a name is given twice to an engine that reads files elsewhere.

    Parameters
    ----------
    paths : sequence of str
    what : str
        What would count twice: "reports", say.
    """
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise ArgumentError(f"{path} is named twice; its {what} would count twice")
        if path == "-":
            raise ArgumentError("standard input is of --engine arrow; name files or folders")
