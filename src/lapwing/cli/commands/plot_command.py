"""`lapwing plot`: a picture of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import ENDINGS, check_ending, check_output, writing
from lapwing.cli.reading.domain_options import TextsName, texts_of
from lapwing.cli.reading.options import ColumnName, Level, OutputFile, check_level
from lapwing.cli.reading.stored import read_distribution_or_list
from lapwing.cli.reading.truth import check_truth, truth_in_result
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.errors import ArgumentError
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.plotting import figure_of, write_picture


def plot(
    result_file: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="A decoded distribution, or heavy hitters (lapwing decode -o)."
        ),
    ],
    output: OutputFile,
    truth: Annotated[
        Path | None,
        typer.Option("--truth", metavar="VALUES", help="A table of true values to draw beside it."),
    ] = None,
    column: ColumnName = None,
    texts: TextsName = None,
    truth_result: Annotated[
        Path | None,
        typer.Option("--truth-result", metavar="RESULT", help="Another result to draw beside it."),
    ] = None,
    level: Level = 0.95,
    *,
    out: Output,
) -> None:
    """Draw a result as .png or .svg.

    The density and the CDF with its band, or the shares of categories with their intervals.
    """
    check_level(level)
    check_truth(truth, column, truth_result)
    ending = check_ending(output, ENDINGS, what="the picture")
    others = [path for path in (result_file, truth, truth_result) if path is not None]
    check_output(output, inputs=others)
    result = read_distribution_or_list(result_file)
    if isinstance(result, HeavyHitters):
        if truth is not None or truth_result is not None:
            raise ArgumentError("a list of heavy hitters is drawn by itself, without a truth")
        drawn = figure_of(result.picture(level=level))
        with out.listening(), writing(output) as stream:
            write_picture(drawn, stream, kind="svg" if ending == ".svg" else "png")
        drawn_document = {"command": "plot", "output": str(output), "truth": False}
        out.show(drawn_document, facts({"written": str(output)}))
        return
    beside: Distribution | None = None
    if truth is not None:
        reading = texts_of(texts, result.domain)
        people = ColumnValues.of(truth, column, result.domain, texts=reading)
        with out.listening(), out.progress("truth", people.table.rows) as advance:
            beside = Distribution.of_counts(people.counts(advance=advance), result.domain)
    elif truth_result is not None:
        beside = truth_in_result(truth_result, result.domain).distribution
    figure = figure_of(*result.pictures(level=level, truth=beside))
    with out.listening(), writing(output) as stream:
        write_picture(figure, stream, kind="svg" if ending == ".svg" else "png")
    document = {"command": "plot", "output": str(output), "truth": beside is not None}
    out.show(document, facts({"written": str(output)}))
