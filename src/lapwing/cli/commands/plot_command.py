"""`lapwing plot`: a picture of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import ENDINGS, check_ending, check_output, write_figure
from lapwing.cli.reading.options import Force, Level, OutputFile, SegmentName, check_level
from lapwing.cli.reading.stored import read_distribution_or_list
from lapwing.cli.reading.truth import TruthOptions
from lapwing.errors import ArgumentError
from lapwing.results.plotting import figure_of


def plot(
    result_file: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="A decoded distribution, or heavy hitters (lapwing decode -o)."
        ),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    named: TruthOptions,
    segment: SegmentName = None,
    level: Level = 0.95,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="Above the number of people and the promise."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="TEXT", help='Of the values, say "income, dollars".'),
    ] = None,
    out: Output,
) -> None:
    """Draw a result as .png, .svg or .pdf.

    The density and the CDF with its band, or the shares of categories with their intervals.
    """
    check_level(level)
    named.check()
    check_ending(output, ENDINGS, what="the picture")
    others = [path for path in (result_file, named.truth, named.truth_result) if path is not None]
    check_output(output, inputs=others, force=force)
    result = read_distribution_or_list(result_file, segment)
    if result.kind == "heavy-hitters":
        if named.file is not None:
            raise ArgumentError("a list of heavy hitters is drawn by itself, without a truth")
        figure = figure_of(result.picture(level=level), title=title, label=label)
    else:
        truth = named.counted(result.domain, out)
        pictures = result.pictures(level=level, truth=truth)
        figure = figure_of(*pictures, title=title, label=label)
    with out.listening():
        write_figure(output, figure)
    document = {"command": "plot", "output": str(output), "truth": named.file is not None}
    out.show(document, facts({"written": str(output)}))
