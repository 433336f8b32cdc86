"""A survey's question, its privacy guarantee and a report's disclosure, in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from lapwing.errors import ArgumentError, DomainError, PrivacyError
from lapwing.planning.expected_error import (
    ErrorByKind,
    error_meaning,
    error_text,
    question_error_text,
)
from lapwing.planning.recommendation import recommend
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.product import Product
from lapwing.questions import Question
from lapwing.results.rounding import (
    count_text,
    estimate_text,
    exact_text,
    factor_text,
    level_text,
    number_writer,
    percent,
)
from lapwing.survey.survey import Survey

MOST_NAMED = 12
"""Labels that are named. Of more, only how many there are."""

GUESSES = (0.01, 0.1, 0.5)
"""An observer's certainty of a guess before they saw a report."""

_KINDS = {
    "number": "a number",
    "date": "a date",
    "datetime": "a date and time",
    "time-of-day": "a time of day",
    "duration": "a duration (hours:minutes:seconds)",
}

TEXTS = (
    ("question", "Question"),
    ("purpose", "Purpose"),
    ("owner", "Who asks"),
    ("contact", "Contact"),
    ("measured_in", "Measured in"),
)
"""The texts of a notice, each with what a page calls it."""

STATES = {
    "draft": "being prepared: nobody can answer yet",
    "published": "published: devices can read it",
    "retired": "ended: no further reports",
    "planned": "not open yet",
    "open": "open: reports arrive",
    "grace": "closing: late reports still arrive",
    "closed": "closed",
}


def look_in_words(look: Mapping[str, Any]) -> str:
    """Return as of when a result is, and when there will be a later one.

    >>> look = {"reports": 2000, "final": False, "hour": "2027-01-15T08:00:00Z"}
    >>> for sentence in look_in_words({**look, "next": "when it has closed"}).split(". "):
    ...     print(sentence)
    As of 2,000 reports, between 2027-01-15 08:00 and 09:00 UTC
    Later reports are not included
    The next look comes when it has closed.
    >>> final = {"reports": 2001, "final": True, "complete": True, "hour": None, "next": None}
    >>> look_in_words(final)
    'Final: all 2,001 reports of the closed epoch.'
    >>> look_in_words({**final, "complete": False})
    'Final: 2,001 reports. The epoch has closed. Too few reports came after these to be shown.'
    """
    reports = count_text(look["reports"])
    if look["final"] and not look["complete"]:
        return (
            f"Final: {reports} reports. The epoch has closed. Too few reports came after these "
            "to be shown."
        )
    if look["final"]:
        return f"Final: all {reports} reports of the closed epoch."
    day, hour = look["hour"][:10], int(look["hour"][11:13])
    return (
        f"As of {reports} reports, between {day} {hour:02}:00 and {hour + 1:02}:00 UTC. Later "
        f"reports are not included. The next look comes {look['next']}."
    )


def asked_in_words(survey: Survey) -> str:
    """Return what people are asked for.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> from lapwing.randomizers.numerical.square_wave import SquareWave
    >>> wave = SquareWave(Interval(0, 100, bins=256), epsilon=1)
    >>> asked_in_words(Survey("wait", wave, measured_in="ms"))
    'a number from 0 to 100 ms, in 256 bins'
    """
    domain = survey.randomizer.domain
    unit = f" {survey.measured_in}" if survey.measured_in else ""
    if isinstance(domain, Product):
        asked = [f"{name} ({_values_of(axis, unit)})" for name, axis in domain.axes.items()]
        return " and ".join(asked)
    return _values_of(domain, unit)


def _values_of(domain: Any, unit: str) -> str:
    """Return the values of a domain in words."""
    told = domain.to_document()
    missing = ", or no answer" if domain.missing_index is not None else ""
    match told["class"]:
        case "integers":
            low, high = count_text(told["low"]), count_text(told["high"])
            return f"a whole number from {low} to {high}{unit}{missing}"
        case "hashed-strings":
            return (
                f"any text, as {told['bits']} bits of its hash. The analyst can recognize only "
                f"texts on a list of candidates{missing}"
            )
        case "categories":
            return _one_of(told["labels"]) + missing
        case "interval":
            write = number_writer(domain.unit)
            low, high = (write(end) for end in (domain.left[0], domain.right[-1]))
            atoms = [write(atom) for atom in told["atoms"][:MOST_NAMED]]
            alone = f" and single values for {', '.join(atoms)}" if atoms else ""
            return (
                f"{_KINDS[domain.unit]} from {low} to {high}{unit}, in "
                f"{count_text(told['bins'])} bins{alone}{missing}"
            )
        case _:
            return f"one of {count_text(domain.size)} values{missing}"


def _one_of(labels: Any) -> str:
    if isinstance(labels, int):
        return f"one of {count_text(labels)} choices"
    named = ", ".join(str(label) for label in labels[:MOST_NAMED])
    rest = len(labels) - MOST_NAMED
    more = f", and {count_text(rest)} more" if rest > 0 else ""
    return f"one of {count_text(len(labels))} choices: {named}{more}"


def _factor(epsilon: Fraction) -> float:
    return math.exp(epsilon) if epsilon < 700 else math.inf


def guarantee_in_words(survey: Survey) -> list[str]:
    """Return the privacy guarantee of a survey, for the people who answer it."""
    promise = survey.guarantee
    factor = factor_text(_factor(promise.epsilon))
    told = [
        "Each person's own device randomizes the answer before sending it. Nobody else receives "
        "the answer itself, not even this collector.",
        f"Every report is at most {factor} times as likely under one answer as under any other "
        f"answer (epsilon = {exact_text(promise.epsilon)}"
        + (
            f", except with a probability of {exact_text(promise.delta)})."
            if promise.delta
            else ")."
        ),
    ]
    lifetime = survey.lifetime_guarantee
    if survey.answers == "remembered report":
        told.append(
            "A device randomizes once and sends the same report in every epoch. Further reports "
            "reveal nothing more."
        )
    elif lifetime is not None:
        told.append(
            "A device randomizes a person's first value once, and keeps the result when the "
            "value changes. All reports from one device together cost at most epsilon = "
            f"{exact_text(lifetime.epsilon)}."
        )
    else:
        told.append(
            "Each epoch asks for a fresh report, which costs epsilon again. For two reports of one "
            f"person, the factor is at most {factor_text(_factor(2 * promise.epsilon))}."
        )
    told.append(
        "The guarantee does not cover the time or the network address of an upload"
        + (", or the segment, which is not randomized." if survey.segments else ".")
    )
    return told


def learned_at_most(epsilon: Fraction) -> list[dict[str, str]]:
    """Return what an observer of one report may believe after it, by what they believed before.

    The odds of any guess change at most by a factor of e^epsilon.
    """
    factor = _factor(epsilon)
    rows = []
    for guess in GUESSES:
        odds = guess / (1 - guess)
        most = 1.0 if math.isinf(factor) else factor * odds / (1 + factor * odds)
        least = odds / factor / (1 + odds / factor)
        bounds = {"most": percent(most, rounding="up"), "least": percent(least, rounding="down")}
        rows.append({"before": level_text(guess), **bounds})
    return rows


_DISTANCES = {
    "wasserstein": "mean distance of the CDF from the truth, as a share of the range",
    "kolmogorov_smirnov": "largest distance of the CDF from the truth, as a share of the people",
    "l1": "sum of the errors of all shares",
    "mean_squared_error": "mean squared error of a share",
    "detectable_share": "smallest share that a list of frequent values shows in 95% of cases",
}


def _question_error(question: Question, error: float, domain: Domain) -> str:
    return question_error_text(question, ErrorByKind({"any": error}), domain)


def predicted(survey: Survey, *, reports: int, error: float | None) -> dict[str, Any]:
    """Return the errors that so many reports have, and how many a wanted error needs.

    reports: That are here.
    error: Target of the first distance, in (0, 1).
    """
    domain, epsilon = survey.randomizer.domain, survey.guarantee.epsilon
    asked: dict[str, Any] = {"questions": survey.questions} if survey.questions else {}
    try:
        now = recommend(domain, epsilon=epsilon, users=max(reports, 1), **asked)
    except (ArgumentError, DomainError, PrivacyError) as problem:
        return {"refused": str(problem)}
    own = now.randomizer.fingerprint == survey.randomizer.fingerprint
    first = None if survey.questions else next(iter(now.expected_error))
    known = now.expected_error.questions or {}
    rows = [
        (f"{each} (root mean square)", partial(_question_error, each), known[str(each)])
        for each in now.questions
        if str(each) in known
    ] or [
        (error_meaning(name), partial(error_text, name), each)
        for name, each in now.expected_error.items()
    ]
    found: dict[str, Any] = {
        "own": own,
        "randomizer": now.randomizer.name,
        "wanted_of": first and _DISTANCES.get(first, first),
        "rows": [
            {"distance": name}
            | {kind: write(getattr(each, kind), domain) for kind in ("typical", "low", "high")}
            for name, write, each in rows
        ],
        "suggested": first and estimate_text(now.expected_error[first].typical / 2, 2),
    }
    if error is not None and not survey.questions:
        found["error"] = exact_text(error)
        try:
            needed = int(recommend(domain, epsilon=epsilon, error=error).users)
        except (ArgumentError, DomainError, PrivacyError) as problem:
            found["needed_refused"] = str(problem)
        else:
            step = 10 ** max(len(str(needed)) - 3, 0)
            needed = -(-needed // step) * step  # three digits, and enough
            found |= {"needed": count_text(needed), "more": count_text(max(needed - reports, 0))}
    return found
