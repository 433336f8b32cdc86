"""`lapwing adapt`: write the survey of the next epoch, its parts chosen by the last answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.options import Force, OutputFile, SurveyFile
from lapwing.cli.reading.stored import read_survey
from lapwing.cli.reading.stored_answers import read_result
from lapwing.cli.showing.asked_parts import parts_table, parts_text, usual
from lapwing.cli.wording import described


def adapt(
    survey_file: SurveyFile,
    result: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="Its answer so far (lapwing decode --output)."),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    users: Annotated[
        int | None,
        typer.Option(
            "--users", metavar="N", help="How many people will answer next; default: as many."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="TEXT", help="Default: the name with ', next epoch'."),
    ] = None,
    out: Output,
) -> None:
    """Write the survey of the next epoch, its parts chosen by the answer of the last.

    Domain and epsilon stay; the document is another. Decode both with lapwing decode --together.
    Each person should answer in one epoch: who answers in two has spent epsilon twice.
    """
    check_output(output, inputs=[survey_file, result], force=force)
    survey, answer = read_survey(survey_file), read_result(result)
    with out.listening():
        made = survey.next_epoch(answer, users=users, name=name)
    write_text(output, made.to_json())
    chosen: Any = made.randomizer
    document = {
        "command": "adapt",
        "before": survey.fingerprint,
        "usual": usual(chosen),
        "output": str(output),
        "survey": made.to_document(),
    }
    said = parts_text(chosen, chosen_by="the answer")
    shown = facts(described(made) | {"parts": said, "written": str(output)})
    out.show(document, shown, parts_table(chosen))
