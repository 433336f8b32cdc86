"""`lapwing verify`: what a survey promises, recomputed and proved."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.cli.console import Output, check_ending, check_output, facts, grid, write_text
from lapwing.cli.option_groups import Rule, option
from lapwing.cli.reading.options import Force, SurveyFile
from lapwing.cli.reading.stored import read_survey
from lapwing.privacy.exact_numbers import epsilon_text, exact_epsilon
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import WORD
from lapwing.privacy.shuffle_amplification import amplified
from lapwing.protocol.randomizer import hexadecimal, thresholds_of
from lapwing.results.rounding import (
    bound_text,
    count_text,
    estimate_text,
    exact_text,
    level_text,
    percent,
    power_text,
)
from lapwing.results.weak_parameters import PRIORS, belief_text, posterior
from lapwing.survey.privacy_statement import Participation, person_ledger, statement_markdown
from lapwing.survey.privacy_statement import statement as in_words
from lapwing.survey.survey import Survey

if TYPE_CHECKING:
    from rich.table import Table

REPEATS = (1, 2, 5, 10, 50)
_DIGITS = 30
_SHORT = 60
"""Characters up to which a fraction is printed as it is."""


@dataclass(frozen=True, kw_only=True)
class ShuffleOptions:
    """The options of a trusted shuffler."""

    shuffle_users: int | None = option(
        "Also show the guarantee when a trusted shuffler mixes the reports of N honest people. "
        "Needs --delta.",
        "N",
        names={"users": "--shuffle-users"},
    )
    delta: str | None = option(
        "With --shuffle-users: delta of that guarantee, in (0, 1), such as 1e-6.", "NUMBER"
    )

    def tell(self, survey: Survey, document: dict[str, Any], rows: dict[str, str]) -> None:
        """Add what shuffled reports promise, if that was asked."""
        if self.shuffle_users is None:
            return
        promise = amplified(survey.randomizer, users=self.shuffle_users, delta=self.delta)
        document["shuffled"] = {"users": self.shuffle_users, "guarantee": promise.to_document()}
        rows[f"shuffled among {count_text(self.shuffle_users)}"] = str(promise)


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """The options of what one person is asked altogether."""

    rounds: int = option("With --budget: how many reports one person sends.", "N", default=1)
    also: list[Path] | None = option(
        "With --budget: another survey that the same person answers once. May be repeated.",
        "SURVEY",
    )
    budget: str | None = option(
        "The largest epsilon that one person may spend on all reports. A larger total is refused.",
        "EPSILON",
        names={"epsilon": "--budget"},
    )
    statement: Path | None = option(
        "With --budget: write a statement of what the reports can reveal, .md or .json.",
        "FILE",
        flags="--output -o",
    )
    force: Force = False

    def check(self, survey_file: Path) -> None:
        """Raise ArgumentError unless the statement can be written."""
        if self.statement is not None:
            check_ending(self.statement, (".md", ".json"), what="the statement")
            inputs = [survey_file, *(self.also or [])]
            check_output(self.statement, inputs=inputs, force=self.force)

    def tell(self, survey: Survey, document: dict[str, Any], rows: dict[str, str]) -> None:
        """Add what a person spends, and write the statement, if that was asked."""
        if self.budget is None:
            return
        others = [Participation(read_survey(path)) for path in self.also or []]
        asked = [Participation(survey, self.rounds), *others]
        most = Guarantee(exact_epsilon(self.budget), Fraction(0), "replace-one", "local")
        held = person_ledger(asked, most)
        document["person"] = told = in_words(asked, held)
        surveys = "1 survey" if len(asked) == 1 else f"{len(asked)} surveys"
        rows[f"{surveys}, one person"] = f"{held.spent}; budget {exact_text(most.epsilon)}"
        if self.statement is not None:
            plain = self.statement.suffix.lower() == ".md"
            text = statement_markdown(asked, held) if plain else json.dumps(told, indent=1) + "\n"
            write_text(self.statement, text)
            rows["statement"] = str(self.statement)


RULES = (
    Rule("shuffle_users", "needs a delta for the shuffled reports", needs=("delta",)),
    Rule("delta", "is only for shuffled reports", needs=("shuffle_users",)),
    *(
        Rule(name, "needs the limit of one person", needs=("budget",))
        for name in ("rounds", "also", "statement")
    ),
)


def verify(
    survey_file: SurveyFile, *, shuffle: ShuffleOptions, person: PersonOptions, out: Output
) -> None:
    """Exact proof of a survey's privacy guarantee.

    The worst-case ratio is an exact fraction. It is computed from the integer thresholds that
    devices use, and compared with a rational lower bound of e^epsilon. Reading the survey already
    recomputed every threshold.

    Then it shows how much an observer of one report, or of several reports of one person, can learn
    about that person at most. For fresh reports, the epsilons are added. A memoized report costs
    epsilon once. Reports of rappor together cost at most its lifetime epsilon. Both hold for the
    reports of one device file, which keeps the first draw. lapwing randomize keeps nothing.
    """
    person.check(survey_file)
    survey = read_survey(survey_file)
    document, rows = _proof(survey)
    document["repeats"] = repeats = _repeats(survey)
    shuffle.tell(survey, document, rows)
    person.tell(survey, document, rows)
    out.show(document, facts(rows), _beliefs(survey, repeats))


def _proof(survey: Survey) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what is proved of a survey, as JSON values and as rows of a table."""
    randomizer = survey.randomizer
    certificate = randomizer.certificate().check()
    document: dict[str, Any] = {
        "command": "verify",
        "survey": survey.name,
        **({"notice": survey.notice} if survey.notice else {}),
        "fingerprint": survey.fingerprint,
        "guarantee": survey.guarantee.to_document(),
        "holds": certificate.holds,
        "ratio": {
            "numerator": str(certificate.ratio.numerator),
            "denominator": str(certificate.ratio.denominator),
            "decimal": bound_text(certificate.ratio, digits=_DIGITS),
        },
        "e^epsilon": bound_text(certificate.bound, digits=_DIGITS),
        "loss": certificate.loss,
        "thresholds": hexadecimal(thresholds_of(randomizer)),
        "bytes_per_report": randomizer.report_width,
    }
    fraction = str(certificate.ratio)
    rows = survey._facts()
    for name, threshold in thresholds_of(randomizer).items():
        share = percent(float(Fraction(threshold, WORD)))
        rows[f"threshold {name}"] = f"{threshold:#018x} / 2^64, probability {share}"
    if len(fraction) <= _SHORT:
        rows["worst-case ratio, exact"] = fraction
    bound = f"{document['e^epsilon']}... (e^{epsilon_text(certificate.epsilon)})"
    rows |= {
        "worst-case ratio": f"{document['ratio']['decimal']}...",
        "largest permitted ratio": bound,
        "guarantee holds": "yes, proved in exact arithmetic",
        "epsilon not used": estimate_text(certificate.loss, 2),
    }
    return document, rows


def _repeats(survey: Survey) -> list[dict[str, Any]]:
    """Return what one report, and several of one person, can tell at most."""
    epsilon = float(survey.guarantee.epsilon)
    # Reports made afresh add up; those that share randomness cost what a person is charged.
    lasting = survey.answers != "fresh"
    return [
        _repeat(
            times, float(Participation(survey, times).cost.epsilon) if lasting else times * epsilon
        )
        for times in REPEATS
    ]


def _beliefs(survey: Survey, repeats: list[dict[str, Any]]) -> Table:
    headers = [
        "reports",
        "epsilon",
        "odds change by",
        *(f"belief from {level_text(p)}" for p in PRIORS),
    ]
    body = [
        [
            str(row["answers"]),
            exact_text(row["epsilon"]),
            f"x {power_text(row['epsilon'])}",
            *(belief_text(p, row["epsilon"]) for p in PRIORS),
        ]
        for row in repeats
    ]
    which = {
        "fresh": "fresh reports",
        "remembered report": "repetitions of the memoized report of one device file",
        "remembered round": "reports from one device file",
    }[survey.answers]
    title = f"upper bounds on what {which} reveal about one person"
    return grid(title, headers, body)


def _repeat(times: int, total: float) -> dict[str, Any]:
    """Return what so many reports, of this epsilon together, can tell."""
    return {
        "answers": times,
        "epsilon": total,
        "odds_factor": math.exp(total) if total < 700 else None,
        "beliefs": [{"prior": p, "posterior": posterior(p, total)} for p in PRIORS],
    }
