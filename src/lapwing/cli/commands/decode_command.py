"""`lapwing decode`: from a tally to the distribution behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.decoder_options import DecoderOptions
from lapwing.cli.reading.options import Force, Level, SurveyFile, check_level
from lapwing.cli.reading.stored import read_survey, read_tally
from lapwing.cli.showing.answer import answer_document, answer_tables
from lapwing.cli.showing.heavy_hitters_answer import heavy_document, heavy_tables


def decode(
    survey_file: SurveyFile,
    tally_file: Annotated[
        Path, typer.Argument(metavar="TALLY", help="The tally (lapwing tally, lapwing merge).")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the distribution, for plot and distances; without it, it is "
            "only shown.",
        ),
    ] = None,
    force: Force = False,
    *,
    given: DecoderOptions,
    level: Level = 0.95,
    out: Output,
) -> None:
    """Estimate the distribution behind a tally.

    Shows quantiles or shares with intervals. The intervals cover the distribution of the
    people who reported. They belong to the tally, not to the decoder: a decoder that smooths
    may leave them, and the share of the curve inside says so.
    """
    check_level(level)
    files = [survey_file, tally_file]
    if output is not None:
        check_output(output, inputs=files, force=force)
        files.append(output)
    survey = read_survey(survey_file)
    tally = read_tally(tally_file)
    decoder = given.made(survey, tally, out, files=files)
    with out.listening():
        result = given.projected(survey.decode(tally, decoder=decoder))
    if output is not None:
        write_text(output, result.to_json() + "\n")
    document = {
        "command": "decode",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "output": None if output is None else str(output),
    }
    rest = {} if output is None else {"written": str(output)}
    if result.kind == "heavy-hitters":
        said = heavy_document(result, level=level)
        tables = heavy_tables(survey.name, result, said, rest=rest)
    else:
        said = answer_document(result, level=level)
        tables = answer_tables(survey.name, result, said, rest=rest)
    out.show(document | said, *tables)
