"""`lapwing new`: write the survey that devices, collector and analyst will share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.cli.console import Output, check_output, facts, write_text
from lapwing.cli.option_groups import Rule, option
from lapwing.cli.reading.domain_options import (
    DOMAIN_FIELDS,
    DOMAIN_RULES,
    DomainOptions,
    axis_files,
    domain_document_text,
    product_of,
)
from lapwing.cli.reading.like_options import (
    LikeOptions,
    asked_domain,
    components_table,
    components_text,
    is_default_mixture,
)
from lapwing.cli.reading.options import Force, OutputFile, Settings, make_with_settings
from lapwing.cli.reading.stored import read_survey
from lapwing.declared import requirement
from lapwing.documents import nearest, read, require
from lapwing.errors import ArgumentError, FormatError
from lapwing.linear.arrays import Vector
from lapwing.planning.chosen_bins import BINS_FOR_ATOMS, advice_on, recommended_bins
from lapwing.planning.expected_error import Recommendation
from lapwing.planning.recommendation import recommend
from lapwing.privacy.exact_numbers import Epsilon
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_text import OPEN_BINS, domain_text
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.group_tallies import MINIMUM
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.asked_labels import AskedLabels
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.registry import RANDOMIZERS
from lapwing.results.weak_parameters import warn_of_epsilon
from lapwing.survey.survey import NOTICE, Survey

RECOMMENDED = "recommended"

USERS = 100_000
"""People for whom a randomizer is chosen when nobody says how many."""


@dataclass(frozen=True, kw_only=True)
class RandomizerOptions:
    """The options that say which randomizer, and what it guarantees."""

    randomizer: str = option(
        f"{RECOMMENDED} (default): the best for --users people. Or a name, such as square-wave. "
        "Any other word lists all names.",
        "NAME",
        default=RECOMMENDED,
    )
    epsilon: str | None = option(
        f"The privacy parameter of one report, {requirement(Epsilon)}. It is kept exactly as "
        "typed, so 1/3 is allowed.",
        "NUMBER",
    )
    users: int | None = option(
        f"How many people will report, for --randomizer {RECOMMENDED}. Default: {USERS}.", "N"
    )
    ask: list[str] | None = option(
        f"A question you will ask of the result, for --randomizer {RECOMMENDED}: 'share above "
        "50000', 'histogram bins 16', mean, 'quantile 0.5' or curve. May be repeated.",
        "QUESTION",
    )
    settings: Settings = None

    @property
    def is_recommended(self) -> bool:
        """Whether nobody names the randomizer."""
        return self.randomizer == RECOMMENDED

    def check(self) -> None:
        """Raise ArgumentError where an option is wrong. Before what its domain may lack."""
        names = [RECOMMENDED, *RANDOMIZERS]
        if self.randomizer not in names:
            raise ArgumentError(
                "randomizer",
                f"must be one of {', '.join(names)}",
                f"{self.randomizer!r}{nearest(self.randomizer, names)}",
            )

    def build_randomizer(
        self, domain: Domain, *, like: Vector | None = None
    ) -> Randomizer | Recommendation:
        """Return the randomizer that the options mean, for a column like this one if given."""
        if not self.is_recommended:
            made = RANDOMIZERS[self.randomizer]
            settings = self.settings or ()
            named: Randomizer = make_with_settings(made, domain, self.epsilon, settings=settings)
            return named
        assert self.epsilon is not None  # by the rules
        users = USERS if self.users is None else self.users
        if self.ask:
            # One repeat, as below.
            return recommend(
                domain, epsilon=self.epsilon, users=users, questions=self.ask, like=like, repeats=1
            )
        if like is None:
            return recommend(domain, epsilon=self.epsilon, users=users).randomizer
        return _planned(domain, self.epsilon, users, like)


def _planned(domain: Domain, epsilon: str, users: int, like: Vector) -> MultiscaleWave:
    # One repeat: the errors that are simulated along with the components are not shown.
    found = recommend(domain, epsilon=epsilon, users=users, like=like, repeats=1).randomizer
    if not isinstance(found, MultiscaleWave):
        raise ArgumentError(
            f"--like tunes the components of a multiscale wave, but {found.name} is recommended "
            "here. Leave it out"
        )
    return found


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The options that say what else a survey agrees on."""

    name: str | None = option(
        "A name that says what the survey asks. It is part of the fingerprint.", "TEXT"
    )
    segment: list[str] | None = option(
        "A public label that may accompany a report. Each segment has its own tally. May be "
        "repeated.",
        "LABEL",
        names={"segments": "--segment"},
    )
    segment_minimum: int | None = option(
        f"How many reports a segment needs before a collector shows it. Default: {MINIMUM}.", "N"
    )
    remembered: bool = option(
        "Memoized reports: a device always resends its first report. This costs epsilon only "
        "once, but shows no changes.",
        default=False,
    )
    notice: Path | None = option(
        "Texts shown to people: a JSON object with some of question, purpose, owner, contact and "
        "measured_in (the unit of numbers, such as ms).",
        "FILE",
    )

    def read_notice(self) -> dict[str, Any]:
        """Return the texts in the file of the notice. FormatError when it holds anything else."""
        if self.notice is None:
            return {}
        document = read(self.notice)
        require(document, set(), name=f"the notice in {self.notice.name}", optional=NOTICE)
        if not document or None in document.values():
            raise FormatError(
                f"{self.notice.name} must contain a string for one or more of "
                f"{', '.join(NOTICE)}. Leave out other keys"
            )
        return document

    def build_survey(self, randomizer: Randomizer | Recommendation) -> Survey:
        """Return the survey that the options mean."""
        assert self.name is not None  # by the rules
        return Survey(
            self.name,
            randomizer,
            segments=self.segment or (),
            segment_minimum=MINIMUM if self.segment_minimum is None else self.segment_minimum,
            remembered=self.remembered,
            **self.read_notice(),
        )


@dataclass(frozen=True, kw_only=True)
class KindOptions:
    """The options that ask for something else than a new survey."""

    domain_only: bool = option(
        "Write only the domain (with any --segment), for lapwing recommend, count and release.",
        default=False,
    )
    axis: list[str] | None = option(
        "For two attributes: an axis name and its domain file (lapwing new --domain-only). "
        "Give it twice. Both values are protected.",
        "NAME=FILE",
    )
    after: tuple[Path, Path] | None = option(
        "Write the survey of the next epoch. It keeps the domain and epsilon, and fits the "
        "mixture components to RESULT (lapwing decode -o). Takes --name and --users.",
        "SURVEY RESULT",
    )


_SUITS = f"goes with --randomizer {RECOMMENDED}"

_OTHER_FILES = ("after", "domain_only")

RULES = (
    Rule(
        "after",
        "takes only --name and --users: everything else is in SURVEY",
        only=("name", "users"),
    ),
    Rule(
        "domain_only",
        "takes only the options of one domain and --segment",
        only=(*DOMAIN_FIELDS, "segment"),
    ),
    Rule("axis", "takes complete domains", excludes=(*DOMAIN_FIELDS, "like")),
    Rule(
        "axis",
        "joins two attributes, and the result answers any question about them later, with narrower "
        "intervals if --epsilon is larger",
        excludes=("ask",),
    ),
    *DOMAIN_RULES,
    Rule("users", _SUITS, excludes=("randomizer",)),
    Rule("like", _SUITS, excludes=("randomizer",)),
    Rule("ask", _SUITS, excludes=("randomizer",)),
    Rule("segment_minimum", "is the smallest size of a segment", needs=("segment",)),
    Rule("settings", "belongs to a randomizer", needs=("randomizer",)),
    Rule(
        "",
        "missing option '--epsilon': the privacy parameter of one report",
        needs=("epsilon", *_OTHER_FILES),
    ),
    Rule("", "missing option '--name': what the survey asks", needs=("name", *_OTHER_FILES)),
    Rule(
        "",
        "a column needs one domain: an interval (--low and --high, or --edges), or --integers, or "
        "--categories, or --domain",
        needs=("low", "edges", "integers", "categories", "domain", "axis", "after"),
    ),
)


def new(
    output: OutputFile,
    force: Force = False,
    *,
    answers: AnswerOptions,
    chosen: RandomizerOptions,
    asked: DomainOptions,
    known: LikeOptions,
    kind: KindOptions,
    out: Output,
) -> None:
    """A survey: the JSON document that all sides share.

    It states the question, its legal values and how every answer is randomized. Devices, collector
    and analyst work from this one file, so nobody types a parameter twice. It is public. The
    bounds and the labels must not come from the data.

    With --after, decode both epochs with lapwing decode. Each person should answer in one epoch: a
    person who answers in both spends epsilon twice.
    """
    axes = axis_files(kind.axis or ())
    files = [asked.domain, asked.categories_file, known.like, answers.notice]
    files += [*axes.values(), *(kind.after or ())]
    check_output(output, inputs=[path for path in files if path is not None], force=force)
    if kind.after is not None:
        _next_epoch(output, kind.after, answers.name, chosen.users, out)
    elif kind.domain_only:
        _write_domain(output, asked, answers.segment, out)
    else:
        _write_survey(output, answers, chosen, asked, known, axes, out)


def _write_survey(
    output: Path,
    answers: AnswerOptions,
    chosen: RandomizerOptions,
    asked: DomainOptions,
    known: LikeOptions,
    axes: dict[str, Path],
    out: Output,
) -> None:
    chosen.check()
    bins = recommended_bins(chosen.epsilon or "") if chosen.is_recommended else None
    bins = 0 if chosen.ask else bins
    if axes:
        domain, note = product_of(axes, bins=bins)
    else:
        domain, note = asked.domain_and_note(bins=bins)
    users = USERS if chosen.users is None else chosen.users
    laid = asked_domain(domain, chosen.epsilon, chosen.ask, users)
    like = known.masses(laid, out, moved=chosen.ask)
    survey = answers.build_survey(chosen.build_randomizer(domain, like=like))
    domain = survey.randomizer.domain
    if isinstance(domain, Product):
        from lapwing.planning.pair_recommendation import with_bins_of_axes  # slow to import

        note = f"{note} {with_bins_of_axes(domain, float(survey.guarantee.epsilon))[1]}"
    warn_of_epsilon(survey.guarantee.epsilon, seen="one report", stacklevel=1)
    write_text(output, survey.to_json())
    document = {"command": "new", "output": str(output), "survey": survey.to_document()}
    rows, tables, randomizer = survey._facts(), [], survey.randomizer
    if note := f"{advice_on(domain)} {note}".strip():
        document["note"] = rows["bins"] = note
    if isinstance(randomizer, MultiscaleWave) and known.like is not None:
        rows["components"] = components_text(randomizer, chosen_by=str(known.like))
    asks = survey.questions or known.like is not None
    if asks and isinstance(randomizer, MultiscaleWave | AskedLabels):
        tables = [components_table(randomizer)]
    out.show(document, facts(rows | {"written": str(output)}), *tables)


def _write_domain(
    output: Path, asked: DomainOptions, segments: list[str] | None, out: Output
) -> None:
    """Write a domain. An interval without --bins keeps its number of bins open."""
    domain, note = asked.domain_and_note(bins=BINS_FOR_ATOMS)
    if segments:
        domain = Segmented(domain, segments)
    named = asked.domain is not None or asked.outside is not None
    text = domain_document_text(domain, bins=not note, outside=named)
    write_text(output, text)
    document = {"command": "new", "output": str(output), **json.loads(text)}
    shown = domain_text(domain, bins=OPEN_BINS if note else None)
    advice = {"whole numbers": said} if (said := advice_on(domain)) else {}
    out.show(document, facts({"domain": shown, **advice, "written": str(output)}))


def _next_epoch(
    output: Path, files: tuple[Path, Path], name: str | None, users: int | None, out: Output
) -> None:
    """Write the survey of the next epoch, its components chosen by the last answer."""
    from lapwing.cli.reading.stored_answers import read_result  # slow to import

    survey, answer = read_survey(files[0]), read_result(files[1])
    made = survey.next_epoch(answer, users=users, name=name)
    write_text(output, made.to_json())
    chosen: Any = made.randomizer
    document = {
        "command": "new",
        "before": survey.fingerprint,
        "default_mixture": is_default_mixture(chosen),
        "output": str(output),
        "survey": made.to_document(),
    }
    said = components_text(chosen, chosen_by="the answer")
    shown = facts(made._facts() | {"components": said, "written": str(output)})
    out.show(document, shown, components_table(chosen))
