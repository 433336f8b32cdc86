"""`lapwing verify`: what a survey promises, recomputed and proved."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.new_command import described
from lapwing.cli.options import AsJson, Quiet, SurveyFile
from lapwing.cli.outputs import check_ending, check_output, write_text
from lapwing.cli.stored import read_survey
from lapwing.cli.wording import count_text, decimal_text, percent, power_text
from lapwing.errors import ArgumentError
from lapwing.guarantee import Guarantee, epsilon_text, exact_epsilon
from lapwing.person_cost import Asked, person_ledger, statement_markdown
from lapwing.person_cost import statement as in_words
from lapwing.randomizer import hexadecimal
from lapwing.randomness import WORD
from lapwing.shuffle import amplified

REPEATS = (1, 2, 5, 10, 50)
PRIORS = (0.01, 0.1, 0.5)
_DIGITS = 30
_SHORT = 60
"""Characters up to which a fraction is printed as it is."""


def verify(
    survey_file: SurveyFile,
    shuffle_users: Annotated[
        int | None,
        typer.Option(
            "--shuffle-users",
            metavar="N",
            help="Also show what N honest people's reports promise when a trusted shuffler mixes "
            "them; needs --delta.",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option("--delta", metavar="NUMBER", help="For --shuffle-users, in (0, 1): 1e-6."),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option("--rounds", metavar="N", help="Reports that one person sends, for --budget."),
    ] = 1,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also",
            metavar="SURVEY",
            help="Another survey that the same person answers once; may be repeated.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="EPSILON",
            help="The most that one person may spend on all of them; more is refused.",
        ),
    ] = None,
    statement: Annotated[
        Path | None,
        typer.Option(
            "--statement",
            metavar="FILE",
            help="Write what the reports can tell in plain words: .md or .json. Needs --budget.",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Prove what a survey promises, and show what it means.

    The worst-case ratio is an exact fraction, computed from the integer thresholds that
    devices use and compared with a rational lower bound of e^epsilon; reading the survey
    already recomputed every threshold. Then: what whoever sees one report, or k independent
    reports of one person, can learn about that person at most.
    """
    out = Output(as_json, quiet)
    if (shuffle_users is None) != (delta is None):
        raise ArgumentError(
            "--shuffle-users and --delta belong together; give both, for example "
            "--shuffle-users 100000 --delta 1e-6"
        )
    if budget is None and (statement is not None or also or rounds != 1):
        raise ArgumentError("--rounds, --also and --statement need --budget, a person's limit")
    if statement is not None:
        check_ending(statement, (".md", ".json"), what="the statement")
        check_output(statement, inputs=[survey_file, *(also or [])])
    survey = read_survey(survey_file)
    randomizer = survey.randomizer
    certificate = randomizer.certificate().check()
    epsilon = float(certificate.epsilon)
    repeats = [_repeat(times, epsilon) for times in REPEATS]
    document: dict[str, Any] = {
        "command": "verify",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "guarantee": survey.guarantee.to_document(),
        "holds": certificate.holds,
        "ratio": {
            "numerator": str(certificate.ratio.numerator),
            "denominator": str(certificate.ratio.denominator),
            "decimal": decimal_text(certificate.ratio, digits=_DIGITS),
        },
        "e^epsilon": decimal_text(certificate.bound, digits=_DIGITS),
        "loss": certificate.loss,
        "thresholds": hexadecimal(randomizer.thresholds),
        "bytes_per_report": randomizer.report_width,
        "repeats": repeats,
    }
    fraction = str(certificate.ratio)
    rows = described(survey)
    for name, threshold in randomizer.thresholds.items():
        share = percent(float(Fraction(threshold, WORD)))
        rows[f"threshold {name}"] = f"{threshold:#018x} / 2^64, probability {share}"
    if len(fraction) <= _SHORT:
        rows["worst ratio, exact"] = fraction
    rows |= {
        "worst ratio": f"{document['ratio']['decimal']}...",
        "must be at most": f"{document['e^epsilon']}... (e^{epsilon_text(certificate.epsilon)})",
        "holds": "yes, proved in exact arithmetic",
        "epsilon left unused": f"{certificate.loss:.1e}",
    }
    if shuffle_users is not None:
        promise = amplified(randomizer, users=shuffle_users, delta=delta)
        document["shuffled"] = {"users": shuffle_users, "guarantee": promise.to_document()}
        rows[f"shuffled among {count_text(shuffle_users)}"] = str(promise)
    if budget is not None:
        asked = [Asked(survey, rounds), *(Asked(read_survey(path)) for path in also or [])]
        most = Guarantee(exact_epsilon(budget), Fraction(0), "replace-one", "local")
        held = person_ledger(asked, most)
        document["person"] = told = in_words(asked, held)
        rows[f"{len(asked)} survey(s), one person"] = (
            f"{held.spent}; budget {float(most.epsilon):g}"
        )
        if statement is not None:
            plain = statement.suffix.lower() == ".md"
            text = statement_markdown(asked, held) if plain else json.dumps(told, indent=1) + "\n"
            write_text(statement, text)
            rows["statement"] = str(statement)
    headers = ["answers", "epsilon", "odds change by", *(f"sure, from {p:.0%}" for p in PRIORS)]
    body = [
        [
            str(row["answers"]),
            f"{row['epsilon']:g}",
            f"x {power_text(row['epsilon'])}",
            # Never certain, though a float may say so.
            *(percent(min(belief["posterior"], 1 - 1e-9)) for belief in row["beliefs"]),
        ]
        for row in repeats
    ]
    title = "what the reports of one person, each made afresh, can tell at most"
    out.show(document, facts(rows), grid(title, headers, body))


def _repeat(times: int, epsilon: float) -> dict[str, Any]:
    """Return what so many reports can tell: epsilons add (basic composition, see `ledger`)."""
    total = times * epsilon
    return {
        "answers": times,
        "epsilon": total,
        "odds_factor": math.exp(total) if total < 700 else None,
        "beliefs": [{"prior": p, "posterior": posterior(p, total)} for p in PRIORS],
    }


def posterior(prior: float, epsilon: float) -> float:
    """Return the largest belief in a statement about a value, after reports worth epsilon.

    Bayes: the odds grow by at most ``e^epsilon``, so ``p e^epsilon / (1 - p + p e^epsilon)``,
    written so that nothing overflows.

    Examples
    --------
    >>> round(posterior(0.5, 1.0), 4), posterior(0.01, 5000.0)
    (0.7311, 1.0)
    """
    return prior / (prior + (1 - prior) * math.exp(-epsilon))
