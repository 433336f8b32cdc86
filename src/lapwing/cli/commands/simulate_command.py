"""`lapwing simulate`: the tally a population would send, without making its reports."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from lapwing.cli.console import Output, facts
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, tally_text, write_text
from lapwing.cli.reading.column_options import ColumnOptions
from lapwing.cli.reading.count_table import population
from lapwing.cli.reading.domain_options import decimal_of, texts_of
from lapwing.cli.reading.options import Force, OutputFile, SurveyFile
from lapwing.cli.reading.stored import read_survey
from lapwing.cli.wording import count_text
from lapwing.engines.arrow.table_reader import open_table
from lapwing.errors import ArgumentError
from lapwing.planning.simulation import simulate as draw_tally
from lapwing.protocol.domains.domain import Domain


@dataclass(frozen=True, kw_only=True)
class PopulationOptions(ColumnOptions):
    """The options that say who the people are."""

    counts: Path | None = option(
        "Instead of VALUES: a table of values and how many people hold each.", "TABLE"
    )
    value_column: str | None = option("Of TABLE; default: the one beside the counts.", "NAME")
    count_column: str = option("Of TABLE.", "NAME", default="count")

    def check(self, values: Path | None) -> None:
        """Raise ArgumentError unless one population is named."""
        if (values is None) == (self.counts is None):
            raise ArgumentError("name one population: VALUES (one row per person) or --counts")
        if self.counts is not None and self.column is not None:
            raise ArgumentError(
                "--column is for VALUES; the columns of --counts are --value-column and "
                "--count-column"
            )
        if values is not None and self.value_column is not None:
            raise ArgumentError("--value-column is for --counts; the column of VALUES is --column")

    def people(self, values: Path | None, domain: Domain, out: Output) -> NDArray[np.int64]:
        """Return how many people hold each symbol."""
        with out.listening():
            if values is None:
                assert self.counts is not None
                decimal, header = decimal_of(self.decimal, domain), not self.no_header
                table = open_table(self.counts, header=header, decimal=decimal)
                columns = self.value_column, self.count_column
                return population(
                    table, domain, columns=columns, texts=texts_of(self.texts, domain)
                )
            rows = self.values_in(values, domain)
            with out.progress("count", rows.table.rows) as advance:
                return rows.counts(advance=advance)


def simulate(
    survey_file: SurveyFile,
    values: Annotated[
        Path | None,
        typer.Argument(
            metavar="VALUES", help="A table with one row per person; - is standard input (CSV)."
        ),
    ] = None,
    *,
    output: OutputFile,
    force: Force = False,
    crowd: PopulationOptions,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", help="At least 0; default: a fresh one, which is shown."
        ),
    ] = None,
    out: Output,
) -> None:
    """Draw the tally that a population would send.

    For planning and for comparing methods. The tally has its exact joint law, though nobody's
    report is made: it takes the time of the bins, not of the people. A simulated tally cannot
    be merged with a collected one.
    """
    crowd.check(values)
    if seed is not None and seed < 0:
        raise ArgumentError(f"--seed must be a whole number of at least 0, got {seed}")
    others = [path for path in (survey_file, values, crowd.counts) if path is not None]
    check_output(output, inputs=others, force=force)
    survey = read_survey(survey_file)
    people = crowd.people(values, survey.randomizer.domain, out)
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
