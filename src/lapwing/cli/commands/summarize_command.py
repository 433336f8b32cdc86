"""`lapwing summarize`: count a site's raw values, for a release later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import check_output
from lapwing.cli.reading.distinct_files import check_distinct
from lapwing.cli.reading.domain_options import CuratorDomainOptions
from lapwing.cli.reading.engine_options import LongJobOptions, check_named_once
from lapwing.cli.reading.options import AllowEqual, ColumnName, Force, OutputFile
from lapwing.cli.reading.raw_counts import is_summary, reading_of, summary_of
from lapwing.cli.wording import domain_text
from lapwing.engines.arrow.dataset_tables import every_file
from lapwing.engines.arrow.saved_progress import finished
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts


def summarize(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Tables, .parquet, .arrow or .csv, or folders of them (- is standard input, "
            "CSV); or summaries to add. With another --engine: tables, as its cluster names them.",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    allow_equal: AllowEqual = False,
    column: ColumnName = None,
    *,
    asked: CuratorDomainOptions,
    work: LongJobOptions,
    out: Output,
) -> None:
    """Count raw values exactly, in bounded memory, into a private file.

    The file is as secret as the data: it is written for its owner's eyes only and holds one
    count a bin, however many rows there are. Summaries of one domain can be added.
    """
    cluster, paths = work.cluster(), [Path(name) for name in data]
    files = every_file(paths) if cluster is None else paths
    check_output(output, inputs=files, force=force)
    if cluster is None:
        check_distinct(files, what="people", allow_equal=allow_equal)
    threads, progress = work.workers(), work.progress(output)
    stored = [cluster is None and is_summary(path) for path in files]
    if cluster is not None:
        check_named_once(data, what="people")
        domain = asked.domain()
        by = asked.by if isinstance(domain, Segmented) else None
        with out.listening():
            total = cluster.summarize(
                data, domain, column=column, by=by, reading=reading_of(asked, domain)
            )
    elif all(stored):
        parts = [ExactCounts.load(path) for path in files]
        total = sum(parts[1:], start=parts[0])
    elif any(stored):
        raise ArgumentError("give tables, or summaries, not both; summarize the tables first")
    else:
        total = summary_of(
            paths, column, asked.domain(), out, asked=asked, threads=threads, progress=progress
        )
    total.save(output)
    if progress is not None:
        finished(progress)
    document = {"command": "summarize", "files": len(files), "output": str(output)}
    rows = {"domain": domain_text(total.domain), "files": str(len(files)), "written": str(output)}
    out.show(document, facts(rows | {"secret": "yes: as secret as the data"}))
