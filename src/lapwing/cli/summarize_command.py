"""`lapwing summarize`: count a site's raw values, for a release later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.domain_options import (
    Atoms,
    Bins,
    Bounds,
    Circular,
    High,
    Low,
    Scale,
    UnitName,
    WholeNumbers,
    curator_domain_of,
)
from lapwing.cli.options import AsJson, ColumnName, OutputFile, Quiet
from lapwing.cli.outputs import check_output
from lapwing.cli.raw_counts import is_summary, summary_of
from lapwing.cli.wording import domain_text
from lapwing.errors import ArgumentError
from lapwing.summary import Summary


def summarize(
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA", help="Tables, .parquet or .csv; or summaries to add."),
    ],
    output: OutputFile,
    column: ColumnName = None,
    low: Low = None,
    high: High = None,
    bounds: Bounds = None,
    bins: Bins = None,
    unit: UnitName = None,
    circular: Circular = False,
    scale: Scale = None,
    atom: Atoms = None,
    integers: WholeNumbers = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Count raw values exactly, in bounded memory, into a private file.

    The file is as secret as the data: it is written for its owner's eyes only and holds one
    count a bin, however many rows there are. Summaries of one domain can be added.
    """
    out = Output(as_json, quiet)
    check_output(output, inputs=data)
    stored = [is_summary(path) for path in data]
    if all(stored):
        parts = [Summary.read(path) for path in data]
    elif any(stored):
        raise ArgumentError("give tables, or summaries, not both; summarize the tables first")
    else:
        domain = curator_domain_of(
            low=low,
            high=high,
            bounds=bounds,
            bins=bins,
            unit=unit,
            circular=circular,
            scale=scale,
            atom=atom,
            integers=integers,
        )
        parts = [summary_of(path, column, domain, out) for path in data]
    total = sum(parts[1:], start=parts[0])
    total.write(output)
    document = {"command": "summarize", "files": len(data), "output": str(output)}
    rows = {"domain": domain_text(total.domain), "files": str(len(data)), "written": str(output)}
    out.show(document, facts(rows | {"secret": "yes: as secret as the data"}))
