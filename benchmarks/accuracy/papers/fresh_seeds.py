"""The papers' claims judged again with other seeds: does a verdict depend on luck?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import results
from benchmarks.accuracy.papers.judged import claiming
from benchmarks.isolated import script
from benchmarks.markdown import listed, table
from benchmarks.verdicts import CONTRADICTED, HOLDS, NOT_MEASURED, UNDECIDED

TITLE = "The same claims with other seeds"
FULL: dict[str, Any] = {
    "seed": 1,
    "divided": 3,
    "least": 8,
    "only": [
        "accuracy/square_wave_choices",
        "accuracy/wavelet_levels",
        "accuracy/convolution_figures",
        "accuracy/convolution_largest",
        "accuracy/compressive_theorem",
        "accuracy/central_projection",
        "accuracy/central_pursuit",
        "accuracy/central_real",
        "accuracy/central_figures",
    ],
}
QUICK: dict[str, Any] = {
    "seed": 1,
    "divided": 50,
    "least": 2,
    "only": ["accuracy/convolution_figures"],
}

VERDICTS = (HOLDS, CONTRADICTED, UNDECIDED, NOT_MEASURED)
OPPOSITES = {HOLDS: CONTRADICTED, CONTRADICTED: HOLDS}


def measure(*, seed: int, divided: int, least: int, only: Sequence[str] | None) -> dict[str, Any]:
    """Return every claim's verdict from the kept result and from people drawn anew.

    Parameters
    ----------
    seed : int
        In place of the one that each benchmark has.
    divided, least : int
        Repeats are those of the benchmark, divided, but not fewer than the least.
    only : sequence of str, optional
        Benchmarks to judge again; default: all of the papers that have claims and a kept result.
    """
    rows = []
    for name in only or claiming():
        document = results.read(name)
        if document is None:
            continue
        module = script(name)
        settings = fewer(module.FULL, divided, least) | {"seed": seed}
        before = module.claims(document["measured"])
        after = {(c.where, c.reading): c for c in module.claims(module.measure(**settings))}
        rows += [
            {
                "benchmark": name,
                "where": claim.where,
                "text": claim.reading,
                "kept": claim.verdict,
                "again": after[claim.where, claim.reading].verdict,
            }
            for claim in before
            if (claim.where, claim.reading) in after
        ]
    return {"claims": rows}


def fewer(settings: Mapping[str, Any], divided: int, least: int) -> dict[str, Any]:
    """Return settings with every number of repeats divided, but not below the least."""
    return {
        key: min(value, max(least, value // divided))
        if key.startswith("repeats") and isinstance(value, int)
        else value
        for key, value in settings.items()
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return how many verdicts stayed, and which turned into their opposite."""
    claims = measured["claims"]
    turned = [one for one in claims if OPPOSITES.get(one["kept"]) == one["again"]]
    rows = [
        [
            kept,
            *(
                str(sum((one["kept"], one["again"]) == (kept, new) for one in claims))
                for new in VERDICTS
            ),
        ]
        for kept in VERDICTS
    ]
    names = [f"`{name}`" for name in dict.fromkeys(one["benchmark"] for one in claims)]
    named = listed(names) if names else "no benchmark"
    found = "\n".join(
        f"- `{one['benchmark']}`, {one['where']}: *{one['text']}* {one['kept']}, then "
        f"{one['again']}."
        for one in turned
    )
    return "\n\n".join(
        [
            f"The {len(claims)} claims of {named} with seed {settings['seed']} and repeats divided "
            f"by {settings['divided']} (at least {settings['least']}): the kept verdict by line, "
            "the new one by column. With fewer repeats more is undecided; what must not happen is "
            f"that *holds* becomes *contradicted* or back: {len(turned)} of {len(claims)} did.",
            table(["", *VERDICTS], rows),
            found,
        ]
    ).rstrip()
