"""`lapwing summarize`: count a site's raw values, for a release later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import check_output
from lapwing.cli.reading.distinct_files import check_distinct
from lapwing.cli.reading.domain_options import CuratorDomainOptions
from lapwing.cli.reading.options import AllowEqual, ColumnName, Force, OutputFile
from lapwing.cli.reading.raw_counts import is_summary, summary_of
from lapwing.cli.wording import domain_text
from lapwing.errors import ArgumentError
from lapwing.protocol.messages.summary import Summary


def summarize(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="Tables, .parquet or .csv (- is standard input, CSV); or summaries to add.",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    allow_equal: AllowEqual = False,
    column: ColumnName = None,
    *,
    asked: CuratorDomainOptions,
    out: Output,
) -> None:
    """Count raw values exactly, in bounded memory, into a private file.

    The file is as secret as the data: it is written for its owner's eyes only and holds one
    count a bin, however many rows there are. Summaries of one domain can be added.
    """
    check_output(output, inputs=data, force=force)
    check_distinct(data, what="people", allow_equal=allow_equal)
    stored = [is_summary(path) for path in data]
    if all(stored):
        parts = [Summary.read(path) for path in data]
    elif any(stored):
        raise ArgumentError("give tables, or summaries, not both; summarize the tables first")
    else:
        domain = asked.domain()
        parts = [summary_of(path, column, domain, out, asked=asked) for path in data]
    total = sum(parts[1:], start=parts[0])
    total.write(output)
    document = {"command": "summarize", "files": len(data), "output": str(output)}
    rows = {"domain": domain_text(total.domain), "files": str(len(data)), "written": str(output)}
    out.show(document, facts(rows | {"secret": "yes: as secret as the data"}))
