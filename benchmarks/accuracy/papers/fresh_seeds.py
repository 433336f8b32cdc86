"""The papers' claims judged again with other seeds: does a verdict depend on luck?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.judged_again import (
    again,
    counted,
    moved,
    named,
    share,
    told,
    turned,
)
from benchmarks.markdown import listed

TITLE = "The same claims with other seeds"
FULL: dict[str, Any] = {"seed": 1, "divided": 1, "least": 1, "only": None, "at_once": 2}
QUICK: dict[str, Any] = {
    "seed": 1,
    "divided": 50,
    "least": 2,
    "only": ["accuracy/convolution_figures"],
    "at_once": 1,
}

MOST_MOVED = 0.05
"""Of all claims, to or from undecided: what is asked of other seeds."""


def measure(
    *, seed: int | None, divided: int, least: int, only: Sequence[str] | None, at_once: int
) -> dict[str, Any]:
    """Return every claim's verdict from the kept result and from people drawn anew.

    Parameters
    ----------
    seed : int, optional
        In place of the one that each benchmark has; without it theirs is kept.
    divided, least, at_once : int
        As of :func:`benchmarks.accuracy.papers.judged_again.again`.
    only : sequence of str, optional
        Benchmarks to judge again; default: all of the papers that have claims and a kept result.
    """
    changed = {} if seed is None else {"seed": seed}
    return again(only, changed=changed, divided=divided, least=least, at_once=at_once)


def joined(document: dict[str, Any], earlier: dict[str, Any] | None) -> dict[str, Any]:
    """Return a result with the claims of an earlier one that it did not measure itself.

    So a long run can be made in parts, paper by paper. Those of another seed, of other repeats, or
    whose sentences are now others are left out. Each benchmark keeps the commit it was judged at.
    """
    measured = dict(document["measured"])
    own = list(measured["seconds"])
    commits = {name: document["commit"] for name in own}
    keys = ("seed", "divided", "least")
    if earlier is not None and all(
        earlier["settings"].get(key) == document["settings"][key] for key in keys
    ):
        before = earlier["measured"]
        rest = [name for name in before["seconds"] if name not in own]
        commits = {name: before["commits"][name] for name in rest} | commits
        measured["seconds"] = {n: before["seconds"][n] for n in rest} | measured["seconds"]
        old = [one for one in before["claims"] if one["benchmark"] in rest]
        measured["claims"] = [*old, *measured["claims"]]
    settings = {**document["settings"], "only": list(commits)}
    return {**document, "settings": settings, "measured": {**measured, "commits": commits}}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return how many verdicts stayed, which moved, and which turned into their opposite."""
    claims = measured["claims"]
    other, opposite = moved(claims), turned(claims)
    repeats = (
        "as many repeats"
        if settings["divided"] == 1
        else f"repeats divided by {settings['divided']} (at least {settings['least']})"
    )
    if settings["seed"] is None:
        start = f"The {len(claims)} claims of {named(claims)} with the kept seeds and {repeats}"
        return f"{start}: {share(other, claims)} moved.\n\n{counted(claims)}\n\n{told(other)}"
    return "\n\n".join(
        [
            f"The {len(claims)} claims of {named(claims)} with seed {settings['seed']} and "
            f"{repeats}: the kept verdict by line, the new one by column. Target: no claim moves "
            f"from *holds* to *contradicted* or back; {share(opposite, claims)} did. And at most "
            f"{100 * MOST_MOVED:.0f}% move to or from *undecided*; {share(other, claims)} moved "
            "in all. `python -m benchmarks papers --seed N` repeats this with another seed.",
            counted(claims),
            told(other),
            _commits(measured.get("commits", {})),
        ]
    ).rstrip()


def _commits(found: Mapping[str, str | None]) -> str:
    """Return at which commit each benchmark was judged again, where there are several."""
    by_commit: dict[str, list[str]] = {}
    for name, commit in found.items():
        by_commit.setdefault((commit or "unknown")[:10], []).append(f"`{name}`")
    if len(by_commit) < 2:
        return ""
    told = "; ".join(f"{listed(names)} at {commit}" for commit, names in by_commit.items())
    return f"In parts: {told}."
