"""The papers' claims judged with a quarter of the repeats: which verdicts need them all?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.papers.judged import needing_repeats
from benchmarks.accuracy.papers.judged_again import Row, again, counted, moved, named, share, told

TITLE = "The same claims with fewer repeats"
FULL: dict[str, Any] = {"divided": 4, "least": 5, "only": None, "at_once": 2}
QUICK: dict[str, Any] = {
    "divided": 50,
    "least": 2,
    "only": ["accuracy/convolution_figures"],
    "at_once": 1,
}

MOST_MARKED = 0.15
"""Of all claims, marked as needing more repeats: what is asked of the quick run."""


def measure(
    *, divided: int, least: int, only: Sequence[str] | None, at_once: int
) -> dict[str, Any]:
    """Return every claim's verdict from the kept result and from its first repeats, same seeds.

    Parameters
    ----------
    divided, least, at_once : int
        As of :func:`benchmarks.accuracy.papers.judged_again.again`.
    only : sequence of str, optional
        Benchmarks to judge again; default: all of the papers that have claims and a kept result.
    """
    return again(only, changed={}, divided=divided, least=least, at_once=at_once)


def surprising(claims: Sequence[Row]) -> list[Row]:
    """Return the claims with another verdict that are not marked as needing more repeats."""
    known = needing_repeats()
    return [
        one for one in moved(claims) if (one["benchmark"], one["where"], one["text"]) not in known
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return how many verdicts a quarter of the repeats reproduces, and which it does not."""
    claims = measured["claims"]
    other = moved(claims)
    return "\n\n".join(
        [
            f"The {len(claims)} claims of {named(claims)} with the kept seeds and repeats divided "
            f"by {settings['divided']} (at least {settings['least']}), which `python -m benchmarks "
            "papers --quick` runs on two cores: the kept verdict by line, the new one by column. "
            f"{share(other, claims)} have another verdict; they are marked as needing more "
            f"repeats (asked: at most {100 * MOST_MARKED:.0f} %).",
            counted(claims),
            told(other),
        ]
    ).rstrip()
