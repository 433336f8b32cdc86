"""`lapwing verify`: what a survey promises, recomputed and proved."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.new_command import described
from lapwing.cli.options import AsJson, Quiet, SurveyFile
from lapwing.cli.stored import read_survey
from lapwing.cli.wording import decimal_text, percent, power_text
from lapwing.guarantee import epsilon_text
from lapwing.randomizer import hexadecimal
from lapwing.randomness import WORD

REPEATS = (1, 2, 5, 10, 50)
PRIORS = (0.01, 0.1, 0.5)
_DIGITS = 30
_SHORT = 60
"""Characters up to which a fraction is printed as it is."""


def verify(survey_file: SurveyFile, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Prove what a survey promises, and show what it means.

    The worst-case ratio is an exact fraction, computed from the integer thresholds that
    devices use and compared with a rational lower bound of e^epsilon; reading the survey
    already recomputed every threshold. Then: what whoever sees one report, or k independent
    reports of one person, can learn about that person at most.
    """
    out = Output(as_json, quiet)
    survey = read_survey(survey_file)
    randomizer = survey.randomizer
    certificate = randomizer.certificate().check()
    epsilon = float(randomizer.epsilon)
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
        "must be at most": f"{document['e^epsilon']}... (e^{epsilon_text(randomizer.epsilon)})",
        "holds": "yes, proved in exact arithmetic",
        "epsilon left unused": f"{certificate.loss:.1e}",
    }
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
