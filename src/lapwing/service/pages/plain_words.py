"""What a survey asks, what it promises, and what a report can tell: in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from lapwing.errors import ArgumentError, DomainError, PrivacyError
from lapwing.planning.recommendation import recommend
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.text_values import Unit
from lapwing.results.answer_text import level_text, number_writer, percent
from lapwing.survey.survey import Survey

MOST_NAMED = 12
"""Labels that are named; of more, only how many there are."""

GUESSES = (0.01, 0.1, 0.5)
"""What somebody believed before they saw a report."""

_KINDS = {
    "number": "a number",
    "date": "a date",
    "datetime": "a moment",
    "time-of-day": "a time of day",
}

STATES = {
    "draft": "being prepared: nobody can answer yet",
    "published": "published: devices can read it",
    "retired": "ended: no further reports",
    "planned": "not open yet",
    "open": "open: reports arrive",
    "grace": "closing: late reports still arrive",
    "closed": "closed",
}


def asked_in_words(domain: Domain) -> str:
    """Return what people are asked for.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> asked_in_words(Interval(0, 100, bins=256))
    'a number from 0 to 100, told apart in 256 steps'
    """
    told = domain.to_document()
    missing = "; people without an answer are counted" if domain.missing_index is not None else ""
    match told["class"]:
        case "integers":
            return f"a whole number from {told['low']:,} to {told['high']:,}{missing}"
        case "hashed-strings":
            return (
                f"any text, of which {told['bits']} bits of its hash are asked; only texts "
                f"that somebody thinks of can be found{missing}"
            )
        case "categories":
            return _one_of(told["labels"]) + missing
        case "interval":
            write = writer(domain.unit)
            low, high = (write(end) for end in (domain.left[0], domain.right[-1]))
            atoms = [write(atom) for atom in told["atoms"][:MOST_NAMED]]
            alone = f"; counted by itself: {', '.join(atoms)}" if atoms else ""
            return (
                f"{_KINDS[domain.unit]} from {low} to {high}, told apart in "
                f"{told['bins']:,} steps{alone}{missing}"
            )
        case _:
            return f"one of {domain.size:,} values{missing}"


def _one_of(labels: Any) -> str:
    if isinstance(labels, int):
        return f"one of {labels:,} choices"
    named = ", ".join(str(label) for label in labels[:MOST_NAMED])
    rest = len(labels) - MOST_NAMED
    return f"one of {len(labels):,} choices: {named}" + (f", and {rest:,} more" if rest > 0 else "")


def number_in_words(number: float) -> str:
    """Return a number with three significant digits, and no power of ten where it can be read.

    Examples
    --------
    >>> number_in_words(2.71828), number_in_words(22026.4)
    ('2.72', '22,000')
    """
    if not math.isfinite(number) or number >= 1e12:
        return "more than a million million"
    digits = 3 - len(str(int(number))) if number >= 1 else 3
    shown = round(number, max(digits, 0)) if number < 1000 else float(f"{number:.3g}")
    return f"{shown:,.{max(digits, 0)}f}" if number < 1000 else f"{shown:,.0f}"


def grouped(text: str) -> str:
    """Return a text in which a number, if it is one, has commas between its thousands.

    Examples
    --------
    >>> grouped("524288"), grouped("-1234.5"), grouped("2026-12-01"), grouped("1e+20")
    ('524,288', '-1,234.5', '2026-12-01', '1e+20')
    """
    whole, point, rest = text.partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    if not (digits.isascii() and digits.isdecimal()) or (point and not rest.isdecimal()):
        return text
    return f"{sign}{int(digits):,}{point}{rest}"


def writer(unit: Unit) -> Callable[[float], str]:
    """Return the function that writes numbers of a unit as the pages do: with their commas.

    Examples
    --------
    >>> writer("number")(31250.5), writer("time-of-day")(34_200)
    ('31,250.5', '09:30:00')
    """
    write = number_writer(unit)
    return lambda number: grouped(write(number))


def _factor(epsilon: Fraction) -> float:
    return math.exp(epsilon) if epsilon < 700 else math.inf


def guarantee_in_words(survey: Survey) -> list[str]:
    """Return the promise of a survey to whoever answers it."""
    promise = survey.guarantee
    factor = number_in_words(_factor(promise.epsilon))
    told = [
        "Each answer is randomized on the person's own device before it leaves it. Nobody "
        "receives what they hold, not even this collector.",
        f"Whatever a person holds, no report is more than {factor} times as likely as if they "
        f"held anything else (epsilon = {float(promise.epsilon):g}"
        + (f", but for a probability of {float(promise.delta):g})." if promise.delta else ")."),
    ]
    lifetime = survey.lifetime_guarantee
    if survey.answers == "remembered report":
        told.append(
            "A device answers once and sends the same report whenever it is asked again, so "
            "further reports tell nothing more."
        )
    elif lifetime is not None:
        told.append(
            "All reports of a person whose value stays the same share one permanent draw: together "
            f"they cost at most epsilon = {float(lifetime.epsilon):g}. That a value changed can be "
            "seen."
        )
    else:
        told.append(
            "Each epoch is a fresh answer and costs as much again: two answers of one person "
            f"multiply to at most {number_in_words(_factor(2 * promise.epsilon))}."
        )
    told.append(
        "It covers the reports, not what travels beside them, such as when they were sent"
        + (", and not the segment, which is sent in the open." if survey.segments else ".")
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
        rows.append({"before": level_text(guess), "most": percent(most), "least": percent(least)})
    return rows


_DISTANCES = {
    "wasserstein": "mean distance of the CDF from the truth, as a share of the range",
    "kolmogorov_smirnov": "largest distance of the CDF from the truth, as a share of the people",
    "l1": "sum of all errors of shares",
    "mean_squared_error": "mean squared error of a share",
    "detectable_share": "smallest share that is found in a list of frequent values",
}


def predicted(survey: Survey, *, reports: int, error: float | None) -> dict[str, Any]:
    """Return the errors that so many reports have, and how many a wanted error needs.

    Parameters
    ----------
    survey : Survey
    reports : int
        That are here.
    error : float, optional
        What is wanted of the first distance, in (0, 1).
    """
    domain, epsilon = survey.randomizer.domain, survey.guarantee.epsilon
    try:
        now = recommend(domain, epsilon=epsilon, users=max(reports, 1))
    except (ArgumentError, DomainError, PrivacyError) as problem:
        return {"refused": str(problem)}
    own = now.randomizer.fingerprint == survey.randomizer.fingerprint
    first = next(iter(now.expected_error))
    found: dict[str, Any] = {
        "own": own,
        "randomizer": now.randomizer.name,
        "wanted_of": _DISTANCES.get(first, first),
        "rows": [
            {
                "distance": _DISTANCES.get(name, name),
                "typical": f"{each.typical:.2g}",
                "low": f"{each.low:.2g}",
                "high": f"{each.high:.2g}",
            }
            for name, each in now.expected_error.items()
        ],
        "suggested": f"{now.expected_error[first].typical / 2:.2g}",
    }
    if error is not None:
        found["error"] = f"{error:g}"
        try:
            needed = int(recommend(domain, epsilon=epsilon, error=error).users)
        except (ArgumentError, DomainError, PrivacyError) as problem:
            found["needed_refused"] = str(problem)
        else:
            found |= {"needed": f"{needed:,}", "more": f"{max(needed - reports, 0):,}"}
    return found
