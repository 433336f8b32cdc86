"""`lapwing simulate`: the tally a population would send, without making its reports."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

from lapwing.cli.console import Output, check_output, facts, write_text
from lapwing.cli.option_groups import argument, named
from lapwing.cli.reading.column_options import PopulationOptions
from lapwing.cli.reading.options import Force, OutputFile, SurveyFile
from lapwing.cli.reading.stored import read_survey
from lapwing.declared import Whole, checked, requirement
from lapwing.planning.simulation import simulate as draw_tally
from lapwing.results.rounding import count_text


def simulate(
    survey_file: SurveyFile,
    values: Annotated[
        Path, argument("A table with one row per person. - is standard input (CSV).", "VALUES")
    ],
    *,
    output: OutputFile,
    force: Force = False,
    crowd: PopulationOptions,
    seed: Annotated[
        int | None,
        named(
            "--seed",
            f"Seed of the simulation, {requirement(Whole)}. Default: a random one, which is shown.",
            "N",
        ),
    ] = None,
    out: Output,
) -> None:
    """A simulated tally of a known population.

    Use it to plan a survey and to compare methods. The tally is drawn from its exact joint
    distribution without making reports, so the time depends on the bins, not on the number of
    people. A simulated tally cannot be merged with a collected one.
    """
    checked(seed, Whole | None, name="seed")
    used = secrets.randbits(64) if seed is None else seed
    check_output(output, inputs=[survey_file, values], force=force)
    survey = read_survey(survey_file)
    people = crowd.people(values, survey.randomizer.domain, out, what="count")
    tally = draw_tally(survey.randomizer, people, rng=used)
    write_text(output, tally.to_json())
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
