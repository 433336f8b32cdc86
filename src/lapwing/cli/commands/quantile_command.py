"""`lapwing quantile`: quantiles of a result or a release, with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output
from lapwing.cli.reading.options import Force, Level, SegmentName, check_level
from lapwing.cli.reading.stored_answers import read_segment, require_no_segments
from lapwing.cli.showing.answer import quantile_cells, quantile_rows, quantile_table
from lapwing.cli.showing.table_file import TableOptions
from lapwing.errors import ArgumentError


def quantile(
    result_file: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="A decoded distribution, or a release."),
    ],
    probabilities: Annotated[
        list[float], typer.Argument(metavar="P", help="Probabilities between 0 and 1.")
    ],
    segment: SegmentName = None,
    level: Level = 0.95,
    force: Force = False,
    *,
    written: TableOptions,
    out: Output,
) -> None:
    """Print quantiles with their intervals.

    An interval comes from inverting the band of the distribution function; it ends at whole bins.
    """
    check_level(level)
    for probability in probabilities:
        if not 0 <= probability <= 1:
            raise ArgumentError(f"a quantile's probability must be in [0, 1], got {probability:g}")
    written.check(inputs=[result_file], force=force)
    result = read_segment(result_file, segment)
    require_no_segments(result, flag="a quantile")
    rows = quantile_rows(result, probabilities, level=level)
    written.write(quantile_cells(rows, result.domain))
    document = {"command": "quantile", "level": level, "quantiles": rows}
    out.show(document, quantile_table(result_file.name, rows, result.domain, level=level))
