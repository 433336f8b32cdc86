"""The claims of the papers measured once more, with other settings, and beside the kept verdicts.

Each benchmark runs in a process of its own, so many at a time as the machine has cores to spare.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks import results
from benchmarks.accuracy.papers.judged import claiming
from benchmarks.datasets import DataFolderError
from benchmarks.isolated import script
from benchmarks.markdown import listed, table
from benchmarks.verdicts import CONTRADICTED, HOLDS, IN_SOME, VERDICTS

OF_A_READING = tuple(one for one in VERDICTS if one != IN_SOME)
OPPOSITES = {HOLDS: CONTRADICTED, CONTRADICTED: HOLDS}

Row = Mapping[str, Any]


def again(
    names: Sequence[str] | None,
    *,
    changed: Mapping[str, Any],
    divided: int,
    least: int,
    at_once: int,
) -> dict[str, Any]:
    """Return every claim's verdict from the kept result and from one more measurement.

    Parameters
    ----------
    names : sequence of str, optional
        Benchmarks; default: all of the papers that have claims and a kept result.
    changed : mapping
        Settings in place of those that each benchmark has.
    divided, least : int
        Repeats are those of the benchmark, divided, but not fewer than the least.
    at_once : int
        Processes that run at the same time.
    """
    documents = {name: results.read(name) for name in claiming() if names is None or name in names}
    kept = {name: found for name, found in documents.items() if found is not None}
    # The longest first, so that none of them is left alone at the end.
    longest = sorted(kept, key=lambda name: -float(kept[name]["seconds"]["cpu"]))
    wanted = [(name, fewer(script(name).FULL, divided, least) | dict(changed)) for name in longest]
    if at_once == 1:
        found = [_measured(*one) for one in wanted]
    else:
        # Of a fresh interpreter each, as `python -m benchmarks` starts them.
        with ProcessPoolExecutor(at_once, get_context("spawn"), max_tasks_per_child=1) as pool:
            found = [one.result() for one in [pool.submit(_measured, *one) for one in wanted]]
    done = {name: one for name, one in zip(longest, found, strict=True) if one is not None}
    verdicts = {name: one["verdicts"] for name, one in done.items()}
    return {
        "seconds": {name: one["cpu"] for name, one in done.items()},
        "claims": [
            {
                "benchmark": name,
                "where": claim.where,
                "text": claim.reading,
                "kept": claim.verdict,
                "again": verdicts[name][key],
            }
            for name, document in kept.items()
            for claim in script(name).claims(document["measured"])
            for key in [f"{claim.where}: {claim.reading}"]
            if key in verdicts.get(name, ())
        ],
    }


def _measured(name: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the verdicts of one benchmark; None without the data folder that it needs."""
    before = os.times()
    module = script(name)
    try:
        judged = module.claims(module.measure(**settings))
    except DataFolderError as error:
        print(f"SKIPPED {name}: {error}", file=sys.stderr, flush=True)
        return None
    after = os.times()
    return {
        "verdicts": {f"{claim.where}: {claim.reading}": claim.verdict for claim in judged},
        "cpu": round(after.user + after.system - before.user - before.system, 1),
    }


def fewer(settings: Mapping[str, Any], divided: int, least: int) -> dict[str, Any]:
    """Return settings with every number of repeats divided, but not below the least."""
    return {
        key: min(value, max(least, value // divided))
        if key.startswith("repeats") and isinstance(value, int)
        else value
        for key, value in settings.items()
    }


def moved(claims: Sequence[Row]) -> list[Row]:
    """Return the claims whose verdict is another one."""
    return [one for one in claims if one["kept"] != one["again"]]


def turned(claims: Sequence[Row]) -> list[Row]:
    """Return the claims whose verdict is the opposite one."""
    return [one for one in claims if OPPOSITES.get(one["kept"]) == one["again"]]


def named(claims: Sequence[Row]) -> str:
    """Return the benchmarks of some claims, as a phrase."""
    names = [f"`{name}`" for name in dict.fromkeys(one["benchmark"] for one in claims)]
    return listed(names) if names else "no benchmark"


def counted(claims: Sequence[Row]) -> str:
    """Return the kept verdicts by line and the new ones by column, as a table."""
    rows = [
        [
            kept,
            *(
                str(sum((one["kept"], one["again"]) == (kept, new) for one in claims))
                for new in OF_A_READING
            ),
        ]
        for kept in OF_A_READING
    ]
    return table(["", *OF_A_READING], rows)


def told(claims: Sequence[Row]) -> str:
    """Return claims with both verdicts, one a line."""
    return "\n".join(
        f"- `{one['benchmark']}`, {one['where']}: *{one['text']}* {one['kept']}, then "
        f"{one['again']}."
        for one in claims
    )


def share(part: Sequence[Row], whole: Sequence[Row]) -> str:
    """Return how many of some claims, with their percentage."""
    return f"{len(part)} of {len(whole)} ({100 * len(part) / max(len(whole), 1):.1f}%)"
