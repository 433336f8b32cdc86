"""`lapwing simulate`: the tally a population would send, without making its reports."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from lapwing.cli.column_values import ColumnValues
from lapwing.cli.console import Output, facts
from lapwing.cli.count_table import population
from lapwing.cli.group_tallies import tally_text
from lapwing.cli.options import AsJson, ColumnName, OutputFile, Quiet, SurveyFile
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.stored import read_survey
from lapwing.cli.wording import count_text
from lapwing.domain import Domain
from lapwing.errors import ArgumentError
from lapwing.simulation import simulate as draw_tally


def simulate(
    survey_file: SurveyFile,
    values: Annotated[
        Path | None,
        typer.Argument(metavar="VALUES", help="A table with one row per person."),
    ] = None,
    *,
    output: OutputFile,
    column: ColumnName = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            "--counts",
            metavar="TABLE",
            help="Instead of VALUES: a table of values and how many people hold each.",
        ),
    ] = None,
    value_column: Annotated[
        str | None,
        typer.Option(
            "--value-column", metavar="NAME", help="Of TABLE; default: the one beside the counts."
        ),
    ] = None,
    count_column: Annotated[
        str, typer.Option("--count-column", metavar="NAME", help="Of TABLE.")
    ] = "count",
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", help="At least 0; default: a fresh one, which is shown."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Draw the tally that a population would send.

    For planning and for comparing methods. The tally has its exact joint law, though nobody's
    report is made: it takes the time of the bins, not of the people. A simulated tally cannot
    be merged with a collected one.
    """
    out = Output(as_json, quiet)
    if (values is None) == (counts is None):
        raise ArgumentError("name one population: VALUES (one row per person) or --counts")
    if counts is not None and column is not None:
        raise ArgumentError(
            "--column is for VALUES; the columns of --counts are --value-column and --count-column"
        )
    if values is not None and value_column is not None:
        raise ArgumentError("--value-column is for --counts; the column of VALUES is --column")
    if seed is not None and seed < 0:
        raise ArgumentError(f"--seed must be a whole number of at least 0, got {seed}")
    others = [path for path in (survey_file, values, counts) if path is not None]
    check_output(output, inputs=others)
    survey = read_survey(survey_file)
    domain = survey.randomizer.domain
    with out.listening():
        if values is not None:
            people = _people(values, column, domain, out)
        else:
            assert counts is not None
            people = population(
                counts, domain, value_column=value_column, count_column=count_column
            )
    used = secrets.randbits(64) if seed is None else seed
    tally = draw_tally(survey.randomizer, people, rng=used)
    write_text(output, tally_text(tally))
    document = {
        "command": "simulate",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "people": int(people.sum()),
        "seed": used,
        "output": str(output),
    }
    shown = {
        "survey": survey.name,
        "people": count_text(int(people.sum())),
        "seed": str(used),
        "written": str(output),
    }
    out.show(document, facts(shown))


def _people(path: Path, column: str | None, domain: Domain, out: Output) -> NDArray[np.int64]:
    values = ColumnValues.of(path, column, domain)
    with out.progress("count", values.table.rows) as advance:
        return values.counts(advance=advance)
