"""`lapwing new`: write the survey that devices, collector and analyst will share."""

from __future__ import annotations

from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.domain_options import (
    Atoms,
    Bins,
    Bounds,
    Circular,
    High,
    Labels,
    LabelsFile,
    Low,
    Missing,
    Outside,
    Scale,
    UnitName,
    WholeNumbers,
    domain_of,
)
from lapwing.cli.knobs import make_with_knobs, pick
from lapwing.cli.options import AsJson, OutputFile, Quiet, Settings
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.wording import domain_text
from lapwing.errors import ArgumentError
from lapwing.recommendation import recommend
from lapwing.survey import RANDOMIZERS, Survey

RECOMMENDED = "recommended"
USERS = 100_000
"""People for whom a randomizer is chosen when nobody says how many."""


def new(
    output: OutputFile,
    name: Annotated[
        str,
        typer.Option("--name", metavar="TEXT", help="What the survey asks; part of its identity."),
    ],
    randomizer: Annotated[
        str,
        typer.Option(
            "--randomizer",
            metavar="NAME",
            help=f"One of: {RECOMMENDED}, the best for --users people; {', '.join(RANDOMIZERS)}.",
        ),
    ],
    epsilon: Annotated[
        str,
        typer.Option(
            "--epsilon",
            metavar="NUMBER",
            help="The promise of one report, in (0, 24]; kept exactly as typed, also 1/3.",
        ),
    ],
    low: Low = None,
    high: High = None,
    bounds: Bounds = None,
    bins: Bins = None,
    unit: UnitName = None,
    circular: Circular = False,
    scale: Scale = None,
    atom: Atoms = None,
    integers: WholeNumbers = None,
    categories: Labels = None,
    categories_file: LabelsFile = None,
    outside: Outside = None,
    missing: Missing = None,
    width: Annotated[
        float | None,
        typer.Option(
            "--width",
            metavar="B",
            help="square-wave: half-width as a part of the interval; default: by epsilon.",
        ),
    ] = None,
    grid: Annotated[
        int | None,
        typer.Option(
            "--grid",
            metavar="N",
            help="square-wave: points on which values are randomised, a multiple of the bins.",
        ),
    ] = None,
    users: Annotated[
        int | None,
        typer.Option(
            "--users",
            metavar="N",
            help=f"{RECOMMENDED}: how many people will report; default {USERS}.",
        ),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a survey: the document that all sides share.

    It states the question, its legal values and how every answer is randomised. Everybody
    works from this one file, so nobody types a parameter twice. It is public.
    """
    out = Output(as_json, quiet)
    check_output(output, inputs=[categories_file] if categories_file else [])
    domain = domain_of(
        low=low,
        high=high,
        bounds=bounds,
        bins=bins,
        unit=unit,
        circular=circular,
        scale=scale,
        atom=atom,
        integers=integers,
        categories=categories,
        categories_file=categories_file,
        outside=outside,
        missing=missing,
    )
    knobs = {"width": width, "grid": grid}
    if randomizer == RECOMMENDED:
        if settings or any(value is not None for value in knobs.values()):
            raise ArgumentError(f"the {RECOMMENDED} randomizer takes no knobs; name it to set them")
        chosen = recommend(domain, epsilon=epsilon, users=USERS if users is None else users)
        survey = Survey(name, chosen.randomizer)
    else:
        if users is not None:
            raise ArgumentError(f"--users goes with --randomizer {RECOMMENDED}")
        made = pick(RANDOMIZERS, randomizer, what="the randomizer")
        survey = Survey(
            name, make_with_knobs(made, domain, epsilon, typed=knobs, settings=settings or ())
        )
    write_text(output, survey.to_json())
    document = {"command": "new", "output": str(output), "survey": survey.to_document()}
    out.show(document, facts(described(survey) | {"written": str(output)}))


def described(survey: Survey) -> dict[str, str]:
    """Return what a survey is, for a table."""
    return {
        "survey": survey.name,
        "domain": domain_text(survey.randomizer.domain),
        "randomizer": survey.randomizer.name,
        "promise": str(survey.guarantee),
        "bytes per report": str(survey.randomizer.report_width),
        "fingerprint": survey.fingerprint,
    }
