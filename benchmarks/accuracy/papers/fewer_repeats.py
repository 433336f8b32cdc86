"""The papers' claims judged by a quarter of the kept repeats: which verdicts need them all?

Each repeat has random numbers of its own, so the first ones are what a run with fewer gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import results
from benchmarks.accuracy.papers.judged import claiming, needing_repeats
from benchmarks.accuracy.papers.judged_again import Row, counted, moved, named, share, told
from benchmarks.isolated import script
from benchmarks.summaries import mean_and_error

TITLE = "The same claims with fewer repeats"
FULL: dict[str, Any] = {"divided": 4, "least": 5, "only": None}
QUICK: dict[str, Any] = {"divided": 50, "least": 2, "only": ["accuracy/convolution_figures"]}

MOST_MARKED = 0.15
"""Of all claims, marked as needing more repeats: what is asked of the quick run."""


def measure(*, divided: int, least: int, only: Sequence[str] | None) -> dict[str, Any]:
    """Return every claim's verdict from the kept result and from the first of its repeats.

    Parameters
    ----------
    divided, least : int
        The repeats that are left: all, divided, but not fewer than the least.
    only : sequence of str, optional
        Benchmarks to judge again; default: all of the papers that have claims and a kept result.
    """
    rows = []
    for name in claiming():
        document = results.read(name) if only is None or name in only else None
        if document is None:
            continue
        judge = script(name).claims
        few = judge(first_repeats(document["measured"], divided, least))
        again = {(claim.where, claim.reading): claim.verdict for claim in few}
        rows += [
            {
                "benchmark": name,
                "where": claim.where,
                "text": claim.reading,
                "kept": claim.verdict,
                "again": again[claim.where, claim.reading],
            }
            for claim in judge(document["measured"])
        ]
    return {"claims": rows}


def first_repeats(measured: Any, divided: int, least: int) -> Any:
    """Return what was measured with only the first repeats of every series."""
    if isinstance(measured, list):
        return [first_repeats(part, divided, least) for part in measured]
    if not isinstance(measured, dict):
        return measured
    if {"mean", "standard_error", "values"} <= set(measured):
        kept = measured["values"]
        kept = kept[: min(len(kept), max(least, len(kept) // divided))]
        return {**measured, **mean_and_error(kept), "values": kept}
    return {key: first_repeats(part, divided, least) for key, part in measured.items()}


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
            f"The {len(claims)} claims of {named(claims)} by the first of the kept repeats, "
            f"divided by {settings['divided']} (at least {settings['least']}), as `python -m "
            "benchmarks papers --quick` measures them anew: the kept verdict by line, the new one "
            f"by column. {share(other, claims)} have another verdict; they are marked as needing "
            f"all repeats (target: at most {100 * MOST_MARKED:.0f}%).",
            counted(claims),
            told(other),
        ]
    ).rstrip()
