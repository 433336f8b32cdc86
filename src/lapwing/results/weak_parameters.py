"""Warnings of an epsilon or delta that protects little. They go to a screen, never to a file.

Nothing here depends on secret values: the number of people is public, or was typed for a plan.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

from lapwing.errors import PrivacyWarning
from lapwing.privacy.promise import STATED_DELTA, Promise
from lapwing.results.rounding import count_text, estimate_text, exact_text, level_text, percent

PRIORS = (0.01, 0.1, 0.5)
"""Beliefs before a report or a release, of which is said what they can become."""

LARGEST_EPSILON = 4
"""Above it a guess of 50% can become more than 98%."""

LARGEST_RHO = 8
"""Largest rho that is not weak: as much as mu = 4."""
# With it a guess between two equally likely values may be right in 97.7%: with a probability of at
# most the normal distribution function at ``mu / 2``.

LARGEST_DELTA = Fraction(1, 1000)


def posterior(prior: float, epsilon: float) -> float:
    """Return the largest belief in a statement about a value, after outputs worth epsilon.

    Bayes: the odds grow by at most ``e^epsilon``, so ``p e^epsilon / (1 - p + p e^epsilon)``,
    written so that nothing overflows. It is never certain, though a float may say so.

    >>> round(posterior(0.5, 1.0), 4), posterior(0.01, 5000.0)
    (0.7311, 1.0)
    """
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def belief_text(prior: float, epsilon: float) -> str:
    """Return the largest belief after outputs worth epsilon, as a percentage below 100%."""
    return percent(min(posterior(prior, epsilon), 1 - 1e-9))


def _delta_below(people: int) -> Fraction:
    """Return a power of ten below ``1 / (10 n)``, at most the delta of the guides."""
    return min(STATED_DELTA, Fraction(1, 10 ** len(str(10 * people))))


def delta_line(promise: Promise, people: int) -> str | None:
    """Return a line about a delta that is near ``1 / n``, or above. None where it is far below.

    >>> delta_line(Promise("replace-one", epsilon=1, delta="1e-6"), 200_000)
    '1e-06 is 0.2 of 1/n. It should be far below: use at most 1e-07'
    >>> delta_line(Promise("replace-one", epsilon=1, delta="1e-6"), 10_000)
    """
    if 10 * promise.delta * people < 1:
        return None
    share = float(promise.delta * people)
    advised = exact_text(_delta_below(people))
    return (
        f"{exact_text(promise.delta)} is {estimate_text(share, 2)} of 1/n. It should be far below: "
        f"use at most {advised}"
    )


def warn_of_epsilon(epsilon: Fraction, *, seen: str, stacklevel: int) -> None:
    """Give a PrivacyWarning where epsilon is above 4: what somebody may learn of what is seen.

    epsilon: Of the release, or of one report.
    seen: Which of both, in words.
    stacklevel: As of :func:`warnings.warn`, seen from the caller.
    """
    if epsilon <= LARGEST_EPSILON:
        return
    beliefs = (f"{level_text(prior)} to {belief_text(prior, float(epsilon))}" for prior in PRIORS)
    warnings.warn(
        f"epsilon {exact_text(epsilon)} is above {LARGEST_EPSILON}. Someone who sees {seen} may "
        f"raise a belief about one person from {', or from '.join(beliefs)}. Choose a smaller "
        "epsilon",
        PrivacyWarning,
        stacklevel=stacklevel + 1,
    )


def weak_delta(delta: Fraction, people: int | None = None, *, word: str = "people") -> str:
    """Return what a delta allows that is at least ``1 / n``, or above 1e-3. Empty for others."""
    if people and delta * people >= 1:
        return (
            f"delta {exact_text(delta)} is not below 1/n = {estimate_text(1 / people, 2)} (n = "
            f"{count_text(people)} {word}), so the guarantee allows the release of a whole row. "
            f"Use a delta of at most {exact_text(_delta_below(people))}"
        )
    if delta > LARGEST_DELTA:
        return (
            f"delta {exact_text(delta)} is above {exact_text(LARGEST_DELTA)}: with this "
            "probability, the guarantee allows the release of a person's whole row. Use a delta "
            f"far below 1/n, with n the number of people, such as {exact_text(STATED_DELTA)}"
        )
    return ""


def warn_of_parameters(
    promise: Promise, stated: Fraction, people: int | None, *, word: str = "people", stacklevel: int
) -> None:
    """Give a PrivacyWarning for a delta and for an epsilon of a release that protects little.

    stated: Epsilon that states the guarantee.
    people: Their number where it is public or typed for a plan, else None.
    word: Name of the counted objects.
    stacklevel: As of :func:`warnings.warn`, seen from the caller.
    """
    if said := weak_delta(promise.delta, people, word=word):
        warnings.warn(said, PrivacyWarning, stacklevel=stacklevel + 1)
    rho = promise.rho if promise.mu is None else promise.mu**2 / 2
    if rho is None or rho > LARGEST_RHO:
        warn_of_epsilon(stated, seen="the release", stacklevel=stacklevel + 1)
