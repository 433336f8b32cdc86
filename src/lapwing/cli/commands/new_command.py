"""`lapwing new`: write the survey that devices, collector and analyst will share."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.domain_options import SurveyDomainOptions
from lapwing.cli.reading.knobs import make_with_knobs, pick
from lapwing.cli.reading.options import Force, OutputFile, Settings
from lapwing.cli.wording import described
from lapwing.errors import ArgumentError
from lapwing.planning.recommendation import recommend, recommended_bins
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.group_tallies import MINIMUM
from lapwing.protocol.messages.tally import Tally
from lapwing.protocol.randomizer import Randomizer
from lapwing.survey.registry import RANDOMIZERS
from lapwing.survey.survey import Survey

RECOMMENDED = "recommended"

USERS = 100_000
"""People for whom a randomizer is chosen when nobody says how many."""


@dataclass(frozen=True, kw_only=True)
class NamedRandomizer:
    """The options that say which randomizer, and what it promises."""

    randomizer: str = option(
        f"One of: {RECOMMENDED}, the best for --users people, with the bins that suit epsilon "
        f"unless --bins says otherwise; {', '.join(RANDOMIZERS)}.",
        "NAME",
        default=MISSING,
    )
    epsilon: str = option(
        "The promise of one report, in (0, 24]; kept exactly as typed, also 1/3.",
        "NUMBER",
        default=MISSING,
    )


@dataclass(frozen=True, kw_only=True)
class RandomizerKnobs:
    """The options that set a randomizer's knobs, or choose it."""

    width: float | None = option(
        "square-wave: half-width as a part of the interval; default: by epsilon.", "B"
    )
    grid: int | None = option(
        "square-wave: points on which values are randomised, a multiple of the bins.", "N"
    )
    users: int | None = option(f"{RECOMMENDED}: how many people will report; default {USERS}.", "N")
    settings: Settings = None

    def made(self, named: NamedRandomizer, domain: Domain) -> Randomizer:
        """Return the randomizer that the options mean."""
        knobs = {"width": self.width, "grid": self.grid}
        if named.randomizer == RECOMMENDED:
            if self.settings or any(value is not None for value in knobs.values()):
                raise ArgumentError(
                    f"the {RECOMMENDED} randomizer takes no knobs; name it to set them"
                )
            users = USERS if self.users is None else self.users
            return recommend(domain, epsilon=named.epsilon, users=users).randomizer
        if self.users is not None:
            raise ArgumentError(f"--users goes with --randomizer {RECOMMENDED}")
        made = pick(RANDOMIZERS, named.randomizer, what="the randomizer")
        found: Randomizer = make_with_knobs(
            made, domain, named.epsilon, typed=knobs, settings=self.settings or ()
        )
        return found


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The options that say what stands beside an answer, and whether it is kept."""

    segment: list[str] | None = option(
        "A public label that may stand beside a report, each with a tally of its own; repeat it.",
        "LABEL",
    )
    segment_minimum: int | None = option(
        f"Reports a segment must have before a collector shows it; default {MINIMUM}.", "N"
    )
    remembered: bool = option(
        "A device sends its first report ever after: costs once, shows no changes.",
        default=False,
    )

    def made(self, name: str, randomizer: Randomizer) -> Survey[Tally]:
        """Return the survey that the options mean."""
        return Survey(
            name,
            randomizer,
            segments=self.segment or (),
            segment_minimum=MINIMUM if self.segment_minimum is None else self.segment_minimum,
            remembered=self.remembered,
        )


def new(
    output: OutputFile,
    force: Force = False,
    *,
    name: Annotated[
        str,
        typer.Option("--name", metavar="TEXT", help="What the survey asks; part of its identity."),
    ],
    named: NamedRandomizer,
    asked: SurveyDomainOptions,
    knobs: RandomizerKnobs,
    answers: AnswerOptions,
    out: Output,
) -> None:
    """Write a survey: the document that all sides share.

    It states the question, its legal values and how every answer is randomised. Everybody
    works from this one file, so nobody types a parameter twice. It is public.
    """
    check_output(
        output, inputs=[asked.categories_file] if asked.categories_file else [], force=force
    )
    chosen = named.randomizer == RECOMMENDED
    domain = asked.domain(bins=recommended_bins(named.epsilon) if chosen else None)
    survey = answers.made(name, knobs.made(named, domain))
    write_text(output, survey.to_json())
    document = {"command": "new", "output": str(output), "survey": survey.to_document()}
    out.show(document, facts(described(survey) | {"written": str(output)}))
