"""Whole data sets, by pipelines over their files: the verbs of the Arrow engine, run by Beam.

The launching program opens every file, checks names and types, and divides Parquet by its row
groups; workers read these pieces with the Arrow engine's own reader. So they see the files under
the same paths. A row that is wrong is no failure of a worker, which a runner would only try again:
it is part of what a piece gives, and the launching program raises the first of all, whichever
worker was faster.

Files that lie where only Beam reads them (gs://, s3://) go through a pipeline of one's own:
``ReadFromParquetBatched`` and :class:`lapwing.engines.beam.combine_functions.CountReports`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lapwing import errors
from lapwing.documents import canonical, parse
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.dataset_tables import COMPACT, files_of
from lapwing.engines.arrow.inputs import STDIN
from lapwing.engines.arrow.ordered_work import unwatched
from lapwing.engines.arrow.report_count import (
    FileCount,
    ReportCount,
    count_from_document,
    count_to_document,
)
from lapwing.engines.arrow.report_tables import report_batch, report_schema
from lapwing.engines.arrow.report_tally import ReportSource, report_sources
from lapwing.engines.arrow.table_reader import TABLES
from lapwing.engines.arrow.value_jobs import (
    Reading,
    randomize_columns,
    summary_columns,
    symbol_counts,
)
from lapwing.engines.beam.beam_package import CombineFn, DoFn, beam_or_error
from lapwing.errors import ArgumentError, DomainError, EngineError, LapwingError
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.messages.reports import reports_per_block
from lapwing.survey.survey import Survey

Unit = tuple[int, int, list[int] | None]
"""The number of a table, the rows before the piece, its row groups or None for the whole."""

SETTING = "LAPWING_BEAM_OPTIONS"
"""The environment variable with Beam's options, where nobody gives any."""

_ROWS = "rows"
"""The tag of what a piece gives beside its outcome."""


@dataclass(frozen=True)
class Failure:
    """What is wrong in the data, as an error that the launching program raises.

    Ordered as the rows are: by the number of the table, then by the row.
    """

    number: int
    row: int
    kind: str
    message: str
    position: int | None

    @classmethod
    def of(cls, error: LapwingError, number: int, first: int) -> Failure:
        """Return an error that a piece met, of which so many rows stand before."""
        position = getattr(error, "position", None)
        kind = type(error).__name__
        if isinstance(error, errors.TornFileError):
            return cls(number, first, "FormatError", f"{error}; nothing was counted", None)
        return cls(number, first if position is None else position, kind, str(error), position)

    @property
    def place(self) -> tuple[int, int]:
        """What failures are ordered by."""
        return self.number, self.row

    def error(self) -> LapwingError:
        """Return the error."""
        kind = getattr(errors, self.kind)
        about = {} if self.position is None else {"position": self.position}
        made: LapwingError = kind(self.message, **about)
        return made


@dataclass(frozen=True)
class Outcome:
    """What pieces gave: something that adds (None where there was nothing), the first failure."""

    total: Any = None
    failure: Failure | None = None

    def __add__(self, other: Outcome) -> Outcome:
        """Return the outcome of both."""
        failures = [one for one in (self.failure, other.failure) if one is not None]
        first = min(failures, key=lambda one: one.place, default=None)
        if self.total is None or other.total is None:
            return Outcome(other.total if self.total is None else self.total, first)
        try:
            return Outcome(self.total + other.total, first)
        except LapwingError as error:  # more groups than there may be
            return Outcome(self.total, Failure.of(error, -1, 0))


class AddOutcomes(CombineFn):  # type: ignore[misc]
    """The sum of outcomes."""

    def create_accumulator(self) -> Outcome:
        """Return the outcome of nothing."""
        return Outcome()

    def add_input(self, total: Outcome, element: Outcome) -> Outcome:
        """Add one."""
        return total + element

    def merge_accumulators(self, parts: Iterable[Outcome]) -> Outcome:
        """Add all."""
        total = Outcome()
        for one in parts:
            total += one
        return total

    def extract_output(self, total: Outcome) -> Outcome:
        """Return the sum."""
        return total


class PieceWork(DoFn):  # type: ignore[misc]
    """What is done with each piece; what is wrong in it is part of its outcome."""

    @abstractmethod
    def work(self, number: int, first: int, groups: list[int] | None) -> Iterator[Any]:
        """Yield what adds up; or that, and rows that stand beside it."""

    def process(self, unit: Unit) -> Iterator[Any]:
        """Yield outcomes, and rows under their own tag."""
        tagged = beam_or_error().pvalue.TaggedOutput
        number, first, _ = unit
        try:
            for made in self.work(*unit):
                if isinstance(made, tuple):
                    made, rows = made
                    yield tagged(_ROWS, rows)
                yield Outcome(made)
        except LapwingError as error:
            yield Outcome(None, Failure.of(error, number, first))


def run(
    units: Sequence[Unit],
    work: PieceWork,
    *,
    to_document: Callable[[Any], Any],
    from_document: Callable[[Any], Any],
    options: Any = None,
    write: Callable[[Any], Any] | None = None,
) -> Any:
    """Run a pipeline over pieces, and return the sum of what they gave; None where it is nothing.

    Parameters
    ----------
    units : sequence of Unit
    work : PieceWork
    to_document, from_document : callable
        The sum as what JSON can say, and back.
    options : PipelineOptions or sequence of str, optional
        Default: those in the variable LAPWING_BEAM_OPTIONS; and without a runner the one of Beam
        that works in this process, which is asked for by name because the one that a pipeline takes
        by itself downloads a program first.
    write : callable, optional
        Given the PCollection of rows that stand beside the sums.

    Raises
    ------
    LapwingError
        The first that a piece met, in the order of the rows.
    EngineError
        When the pipeline could not be run: its cause is what Beam raised.
    """
    beam = beam_or_error()
    chosen, shared = _options(options)
    with tempfile.TemporaryDirectory(prefix="lapwing-beam-") as private:
        place = f"{shared or private}/lapwing-result-{uuid.uuid4().hex}"
        try:
            with beam.Pipeline(**chosen) as pipeline:
                made = (
                    pipeline
                    | beam.Create(units)
                    | beam.ParDo(work).with_outputs(_ROWS, main="outcomes")
                )
                (
                    made["outcomes"]
                    | "Add" >> beam.CombineGlobally(AddOutcomes())
                    | "Encode" >> beam.Map(_Encoding(to_document))
                    | "Result"
                    >> beam.io.WriteToText(
                        place,
                        num_shards=1,
                        shard_name_template="",
                        append_trailing_newlines=False,
                        coder=beam.coders.BytesCoder(),
                    )
                )
                if write is not None:
                    write(made[_ROWS])
            document = _read(place)
        except LapwingError:
            raise
        except Exception as error:
            raise _failed(error) from error
        finally:
            if shared:
                _delete(place)
    if document["failure"] is not None:
        raise Failure(**document["failure"]).error()
    return None if document["total"] is None else from_document(document["total"])


def _failed(error: Exception) -> EngineError:
    """Say that the pipeline failed, and not what it read: that may be in Beam's own words."""
    if "No module named 'lapwing" in str(error):
        return EngineError(
            "the workers must have lapwing installed, as the launching program has; give them "
            "a container or a package that has it (--sdk_container_image, --extra_package)"
        )
    return EngineError(
        f"the Beam pipeline failed with a {type(error).__name__}; its log says where and why. "
        "Nothing was counted or written; mend it and start again"
    )


@dataclass(frozen=True)
class _Encoding:
    """An outcome as the bytes of one file."""

    to_document: Callable[[Any], Any]

    def __call__(self, outcome: Outcome) -> bytes:
        total = None if outcome.total is None else self.to_document(outcome.total)
        failure = None if outcome.failure is None else vars(outcome.failure)
        return canonical({"total": total, "failure": failure})


def _options(options: Any) -> tuple[dict[str, Any], str | None]:
    """Return the arguments of a pipeline, and the folder that all workers see, if there is one."""
    from apache_beam.options import pipeline_options as of_beam
    from apache_beam.runners.portability.fn_api_runner import FnApiRunner
    from apache_beam.runners.runner import create_runner

    if options is None:
        options = shlex.split(os.environ.get(SETTING, ""))
    if isinstance(options, list | tuple):
        # Not without flags: Beam would read those of the program that runs.
        options = of_beam.PipelineOptions(flags=list(options))
    if not isinstance(options, of_beam.PipelineOptions):
        raise ArgumentError(
            "options must be Beam's PipelineOptions, or a list of texts such as "
            f"'--runner=FlinkRunner'; got a {type(options).__name__}"
        )
    chosen: dict[str, Any] = {"options": options}
    runner = options.view_as(of_beam.StandardOptions).runner
    if runner is None:
        return chosen | {"runner": FnApiRunner()}, None
    try:
        create_runner(runner)
    except (ImportError, ValueError):
        raise ArgumentError(
            f"there must be a Beam runner {str(runner)[:60]!r} (--runner), there is none; take one "
            "of Beam's, or install what brings it"
        ) from None
    return chosen, options.view_as(of_beam.GoogleCloudOptions).temp_location


def _read(place: str) -> dict[str, Any]:
    from apache_beam.io.filesystems import FileSystems

    if not FileSystems.exists(place):
        raise EngineError(
            "the result of the pipeline is in no place that this program sees; name a folder that "
            "the workers and this program share: --temp_location"
        )
    with FileSystems.open(place) as stream:
        document: dict[str, Any] = parse(stream.read(), name="the result of the pipeline")
    return document


def _delete(place: str) -> None:
    from apache_beam.io.filesystems import FileSystems

    if FileSystems.exists(place):
        FileSystems.delete([place])


def tally(
    dataset: Any,
    survey: Survey,
    *,
    column: str | None = None,
    by: str | None = None,
    skip_bad: bool = False,
    options: Any = None,
) -> ReportCount:
    """Return the exact tally of the reports in files.

    Parameters
    ----------
    dataset : Path, str, or a list of them
        Files of reports or folders of them, as of
        :func:`lapwing.engines.arrow.report_tally.tally`, that every worker sees.
    survey : Survey
    column, by, skip_bad
        As there.
    options : PipelineOptions or sequence of str, optional
        Beam's, such as ``["--runner=FlinkRunner"]``. Default: those in the environment variable
        LAPWING_BEAM_OPTIONS; and without a runner, Beam's own in this process. Where
        the workers are on other machines, they must name a ``--temp_location``, through which the
        result comes back.

    Returns
    -------
    ReportCount
        The same to the last byte as the Arrow engine's.

    Raises
    ------
    ReportError
        With file and row of the first that holds no such report, as of the Arrow engine.
    EngineError
        When Beam cannot run the pipeline.
    MismatchError, ArgumentError, FormatError, OSError
        Before the pipeline runs: reports of another survey, a missing column or one of another
        type, a file that cannot be read.
    """
    beam_or_error()
    given = _absolute(dataset)
    sources = report_sources(given, survey, column=column, by=by)
    units = [(number, *piece) for number, one in enumerate(sources) for piece in _pieces(one)]
    work = _CountPieces(sources, skip_bad)
    counted = run(
        units,
        work,
        to_document=count_to_document,
        from_document=count_from_document,
        options=options,
    )
    nothing = ReportCount({}, by is not None)
    counted = nothing if counted is None else nothing + counted  # of no rows, nobody knows
    names = [str(path) for path, _ in files_of(dataset, endings=(*TABLES, COMPACT))]
    return _with_files(counted, names)


def _absolute(dataset: Any) -> list[str]:
    """Return the paths of a data set as any worker may read them."""
    paths = [dataset] if isinstance(dataset, str | os.PathLike) else dataset
    if not isinstance(paths, list | tuple):
        raise ArgumentError(
            f"the Beam engine reads files and folders, got a {type(dataset).__name__}; a table in "
            "memory is for lapwing.engines.arrow, a PCollection for CountReports"
        )
    for path in paths:
        if not isinstance(path, str | os.PathLike) or Path(path) == STDIN:
            raise ArgumentError(
                "the Beam engine reads files and folders that every worker sees, standard input "
                "is none; use the Arrow engine"
            )
        if "://" in os.fspath(path):
            raise ArgumentError(
                "the Beam engine reads files of this machine's file system; read others in a "
                "pipeline: ReadFromParquetBatched | CombineGlobally(CountReports(survey))"
            )
    return [os.path.abspath(path) for path in paths]


def _pieces(source: ReportSource) -> list[tuple[int, list[int] | None]]:
    return [(0, None)] if isinstance(source.table, Path) else source.table.pieces()


def _with_files(counted: ReportCount, names: Sequence[str]) -> ReportCount:
    """Return a count with one line for each file, in their order."""
    reports, refused = [0] * len(names), [0] * len(names)
    for piece in counted.files:
        reports[int(piece.file)] += piece.reports
        refused[int(piece.file)] += piece.refused
    files = tuple(map(FileCount, names, reports, refused))
    return ReportCount(counted.groups, counted.grouped, counted.refused, files)


class _CountPieces(PieceWork):
    """Counts the reports of a piece."""

    def __init__(self, sources: list[ReportSource], skip_bad: bool) -> None:
        super().__init__()
        self.sources, self.skip_bad = sources, skip_bad

    def work(self, number: int, first: int, groups: list[int] | None) -> Iterator[Any]:
        """Yield the count of a piece, which names its file by its number."""
        counted = self.sources[number].count_piece(first, groups, skip_bad=self.skip_bad)
        file = FileCount(str(number), counted.total, counted.refused)
        yield ReportCount(counted.groups, counted.grouped, counted.refused, (file,))


def summarize(
    dataset: Any,
    domain: Domain,
    *,
    column: str | None = None,
    by: str | None = None,
    reading: Reading | None = None,
    options: Any = None,
) -> ExactCounts:
    """Return how many people of a data set hold each symbol: exact, and secret.

    Parameters
    ----------
    dataset : Path, str, or a list of them
        Files and folders of tables that every worker sees.
    domain : Interval, Integers, Categories or Segmented
    column, by, reading
        As of :func:`lapwing.engines.arrow.value_jobs.summarize`.
    options : PipelineOptions or sequence of str, optional
        As of :func:`tally`. The counts lie in the folder for results for a moment: where that is a
        ``--temp_location``, it must be as secret as the data.

    Raises
    ------
    DomainError, ArgumentError, FormatError, OSError
        When a column is missing or its type does not fit the domain, before the pipeline runs; or a
        file cannot be read. No row is refused.
    """
    beam_or_error()
    require_domain(domain)
    curated = domain.for_curator()
    columns, segments = summary_columns(
        _absolute(dataset), curated, column=column, by=by, reading=reading or Reading()
    )
    units = [(number, *piece) for number, one in enumerate(columns) for piece in one.table.pieces()]
    counts = run(
        units,
        _CountSymbols(columns, segments, curated),
        to_document=np.ndarray.tolist,
        from_document=np.array,
        options=options,
    )
    return ExactCounts(
        curated, np.zeros(curated.size, dtype=np.int64) if counts is None else counts
    )


class _CountSymbols(PieceWork):
    """Counts the values of a piece."""

    def __init__(
        self, columns: list[ColumnValues], segments: list[ColumnValues | None], domain: Domain
    ) -> None:
        super().__init__()
        self.columns, self.segments, self.domain = columns, segments, domain

    def work(self, number: int, first: int, groups: list[int] | None) -> Iterator[Any]:
        """Yield the counts of a piece."""
        piece = (first, groups)
        yield symbol_counts(self.columns[number], self.segments[number], self.domain, piece=piece)


def randomize(
    dataset: Any,
    survey: Survey,
    *,
    output: Path | str,
    column: str | None = None,
    by: str | None = None,
    reading: Reading | None = None,
    options: Any = None,
) -> int:
    """Turn the values of a data set into reports in a new folder, and return how many.

    Parameters
    ----------
    dataset : Path, str, or a list of them
        Files and folders of tables that every worker sees.
    survey : Survey
    output : Path or str
        A folder that is not there yet, which gets files of Parquet; reports come in no order.
    column, by, reading
        As of :func:`lapwing.engines.arrow.value_jobs.randomize`.
    options : PipelineOptions or sequence of str, optional
        As of :func:`tally`.

    Raises
    ------
    DomainError
        When the column's type does not fit the survey, before the pipeline runs; with file and row
        of the first value that the survey's domain refuses. Then nothing is written.
    ArgumentError, FormatError, OSError
        When a column is missing, a file cannot be read, or the output is there already.

    Privacy
    -------
    A bundle that is run again randomizes its values again. Each run writes a temporary file of its
    own, in a folder that only its owner can read; Beam's file sink takes into the result the files
    of committed runs only and deletes the others, and the folder gets its name when all is done. So
    nobody but the owner of the values ever sees two reports of one. A job that is killed leaves
    that nameless folder, whose name starts with a dot: delete it.
    """
    beam_or_error()
    reading = reading or Reading()
    given = _absolute(dataset)
    columns = randomize_columns(given, survey, column=column, by=by, reading=reading)
    schema = report_schema(survey, by=by)
    empty = next((one for one in columns if one.table.rows == 0), None)
    if empty is not None:
        raise DomainError(f"{empty.table.label} must hold at least one row, it holds none")
    units = [(number, *piece) for number, one in enumerate(columns) for piece in one.table.pieces()]
    with new_folder(Path(output)) as folder:
        made: int = run(
            units,
            _RandomizePieces(columns, survey, by),
            to_document=int,
            from_document=int,
            options=options,
            write=partial(_write, folder, schema),
        )
    return made


def _write(folder: Path, schema: Any, tables: Any) -> Any:
    beam = beam_or_error()
    return tables | beam.io.WriteToParquetBatched(
        str(folder / "part"), schema, file_name_suffix=".parquet"
    )


class _RandomizePieces(PieceWork):
    """Randomizes the values of a piece."""

    def __init__(self, columns: list[ColumnValues], survey: Survey, by: str | None) -> None:
        super().__init__()
        self.columns, self.survey, self.by = columns, survey, by

    def work(self, number: int, first: int, groups: list[int] | None) -> Iterator[Any]:
        """Yield how many reports a batch has, and the batch."""
        import pyarrow as pa

        rows = reports_per_block(self.survey.randomizer.report_width)
        batches = self.columns[number].map(
            self.survey.randomize, advance=unwatched, rows=rows, piece=(first, groups)
        )
        for batch in batches:
            reports, labels = batch if self.by is not None else (batch, None)
            made = report_batch(reports, self.survey, labels=labels, by=self.by)
            yield len(reports), pa.Table.from_batches([made])


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to write into, that only its owner can read; at the end it gets its name.

    Parameters
    ----------
    path : Path
        Nothing, or an empty folder.

    Raises
    ------
    ArgumentError
        When something is there: before anything is written.
    """
    there = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if there or path.suffix:
        raise ArgumentError(
            f"the output must be a folder that is not there yet, {path.name} is "
            f"{'there' if there else 'the name of a file'}; choose another name"
        )
    made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    try:
        yield made
        for file in made.iterdir():
            if file.is_dir():  # of a sink's runs that were not committed
                shutil.rmtree(file)
            else:
                _to_disk(file)
        _to_disk(made)
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)
        made.rename(path)
        _to_disk(path.absolute().parent)
    finally:
        if made.exists():
            shutil.rmtree(made)


def _to_disk(path: Path) -> None:
    with suppress(PermissionError):  # Windows opens no folders
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
