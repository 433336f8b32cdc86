"""`lapwing new`: write the survey that devices, collector and analyst will share."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.domain_options import SurveyDomainOptions
from lapwing.cli.reading.knobs import make_with_knobs
from lapwing.cli.reading.like_options import LikeOptions
from lapwing.cli.reading.options import Force, OutputFile, Settings
from lapwing.cli.showing.asked_parts import parts_table, parts_text
from lapwing.cli.wording import described
from lapwing.documents import nearest
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.planning.chosen_bins import recommended_bins
from lapwing.planning.recommendation import recommend
from lapwing.planning.registry import RANDOMIZERS
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.group_tallies import MINIMUM
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
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

    def check(self) -> None:
        """Raise ArgumentError where there is no such name; before what its domain may lack."""
        names = [RECOMMENDED, *RANDOMIZERS]
        if self.randomizer not in names:
            raise ArgumentError(
                f"the randomizer must be one of {', '.join(names)}, got {self.randomizer!r}"
                f"{nearest(self.randomizer, names)}"
            )


@dataclass(frozen=True, kw_only=True)
class RandomizerKnobs:
    """The options that set a randomizer's knobs, or choose it."""

    width: float | None = option(
        "square-wave: half-width as a part of the interval; default: by epsilon.", "B"
    )
    grid: int | None = option(
        "square-wave: points on which values are randomized, a multiple of the bins.", "N"
    )
    users: int | None = option(f"{RECOMMENDED}: how many people will report; default {USERS}.", "N")
    settings: Settings = None

    def made(
        self, named: NamedRandomizer, domain: Domain, *, like: Vector | None = None
    ) -> Randomizer:
        """Return the randomizer that the options mean, for a column like this one if given."""
        knobs = {"width": self.width, "grid": self.grid}
        if named.randomizer == RECOMMENDED:
            if self.settings or any(value is not None for value in knobs.values()):
                raise ArgumentError(
                    f"the {RECOMMENDED} randomizer takes no knobs; name it to set them"
                )
            users = USERS if self.users is None else self.users
            if like is None:
                return recommend(domain, epsilon=named.epsilon, users=users).randomizer
            return _planned(domain, named.epsilon, users, like)
        if self.users is not None:
            raise ArgumentError(f"--users goes with --randomizer {RECOMMENDED}")
        made = RANDOMIZERS[named.randomizer]
        found: Randomizer = make_with_knobs(
            made, domain, named.epsilon, typed=knobs, settings=self.settings or ()
        )
        return found


def _planned(domain: Domain, epsilon: str, users: int, like: Vector) -> MultiscaleWave:
    # One repeat: the errors that are simulated along with the parts are not shown.
    found = recommend(domain, epsilon=epsilon, users=users, like=like, repeats=1).randomizer
    if not isinstance(found, MultiscaleWave):
        raise ArgumentError(
            f"--like chooses the parts of a multiscale wave, and what is recommended here is "
            f"{found.name}; leave it out"
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

    def made(self, name: str, randomizer: Randomizer) -> Survey:
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
    known: LikeOptions,
    answers: AnswerOptions,
    out: Output,
) -> None:
    """Write a survey: the document that all sides share.

    It states the question, its legal values and how every answer is randomized. Everybody
    works from this one file, so nobody types a parameter twice. It is public.
    """
    read = [path for path in (asked.categories_file, known.like) if path is not None]
    check_output(output, inputs=read, force=force)
    named.check()
    chosen = named.randomizer == RECOMMENDED
    if known.like is not None and not chosen:
        raise ArgumentError(f"--like goes with --randomizer {RECOMMENDED}")
    domain = asked.domain(bins=recommended_bins(named.epsilon) if chosen else None)
    randomizer = knobs.made(named, domain, like=known.masses(domain, out))
    survey = answers.made(name, randomizer)
    write_text(output, survey.to_json())
    document = {"command": "new", "output": str(output), "survey": survey.to_document()}
    rows, tables = described(survey), []
    if known.like is not None and isinstance(randomizer, MultiscaleWave):
        rows["parts"] = parts_text(randomizer, chosen_by=str(known.like))
        tables = [parts_table(randomizer)]
    out.show(document, facts(rows | {"written": str(output)}), *tables)
