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
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.dataset_tables import COMPACT, files_of
from lapwing.engines.arrow.report_count import (
    FileCount,
    ReportCount,
    count_from_document,
    count_to_document,
)
from lapwing.engines.arrow.report_sources import ReportSource, report_sources
from lapwing.engines.arrow.report_tables import report_batch, report_schema
from lapwing.engines.arrow.standard_input import STDIN
from lapwing.engines.arrow.table_reader import TABLES
from lapwing.engines.arrow.value_jobs import (
    Reading,
    randomize_columns,
    summary_columns,
    symbol_counts,
)
from lapwing.engines.beam.beam_package import beam_or_error
from lapwing.engines.beam.new_folder import new_folder
from lapwing.engines.beam.piece_outcomes import PieceWork, run
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.messages.report_file import reports_per_block
from lapwing.survey.survey import Survey


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
        raise DomainError(f"{empty.table.shown} must hold at least one row, it holds none")
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


def _nobody_watches(rows: int) -> None:
    """Beam has its own metrics."""


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
            self.survey.randomize, advance=_nobody_watches, rows=rows, piece=(first, groups)
        )
        for batch in batches:
            reports, labels = batch if self.by is not None else (batch, None)
            made = report_batch(reports, self.survey, labels=labels, by=self.by)
            yield len(reports), pa.Table.from_batches([made])
