"""What holds of the papers, what does not and by how much: the claims of all papers in a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.isolated import place, script
from benchmarks.markdown import table
from benchmarks.runner import BENCHMARKS
from benchmarks.verdicts import (
    CONTRADICTED,
    IN_SOME,
    MOSTLY,
    UNDECIDED,
    VERDICTS,
    Claim,
    Sentence,
    sentences,
)

FOLDER = "accuracy/papers/"

FEWER = "accuracy/fewer_repeats"
"""The benchmark that says which verdicts need all repeats."""

STAND_IN = "a stand-in"
"""How the rule of a column begins, or goes on, that takes the place of the paper's own."""


@dataclass(frozen=True)
class Judged:
    """A claim with the benchmark that measured it and the folder of its paper's page.

    Parameters
    ----------
    stand_in : bool
        Whether every cell that speaks of it was measured on a stand-in for the paper's data.
    needs_repeats : bool
        Whether a quarter of the repeats gave another verdict.
    """

    paper: str
    benchmark: str
    claim: Claim
    stand_in: bool = False
    needs_repeats: bool = False


def claiming() -> list[str]:
    """Return the benchmarks of the papers that have claims to judge, in the runner's order."""
    return [
        name
        for name in BENCHMARKS
        if place(name).startswith(FOLDER) and hasattr(script(name), "claims")
    ]


def judged() -> list[Judged]:
    """Return every claim of every paper, judged by the kept results."""
    found = []
    marked = needing_repeats()
    for name in claiming():
        document = results.read(name)
        if document is not None:
            paper = place(name).removeprefix(FOLDER).partition("/")[0]
            measured = document["measured"]
            judge = script(name).claims
            claims = judge(measured)
            alone = on_stand_ins(getattr(judge, "__wrapped__", judge), measured, claims)
            for claim in claims:
                key = (claim.where, claim.reading)
                few = (name, *key) in marked
                found.append(Judged(paper, name, claim, key in alone, needs_repeats=few))
    return found


def needing_repeats() -> set[tuple[str, str, str]]:
    """Return (benchmark, place, reading) of the claims that a quarter of the repeats moved."""
    document = results.read(FEWER)
    claims = [] if document is None else document["measured"].get("claims", [])
    return {
        (one["benchmark"], one["where"], one["text"])
        for one in claims
        if one["kept"] != one["again"]
    }


def on_stand_ins(
    judge: Callable[[dict[str, Any]], Sequence[Claim]],
    measured: dict[str, Any],
    claims: Sequence[Claim],
) -> set[tuple[str, str]]:
    """Return (place, reading) of the claims that rest on stand-ins for the paper's data alone.

    The numbers of every stand-in are taken away: a claim rests on them alone if none of its cells
    can be judged any more.
    """
    columns = measured.get("columns", {})
    rules = {
        name: str(one["rule"] if isinstance(one, dict) else one) for name, one in columns.items()
    }
    names = {name for name, rule in rules.items() if STAND_IN in rule}
    if not names:
        return set()
    if _columns(measured) <= names:
        return {
            (claim.where, claim.reading) for claim in claims if claim.cells and not claim.arithmetic
        }
    with np.errstate(all="ignore"):
        left = judge(_without(measured, names))
    return {
        (claim.where, claim.reading)
        for claim in left
        if claim.cells
        and not claim.arithmetic
        and all(math.isnan(cell.toward) for cell in claim.cells)
    }


def _columns(measured: Any) -> set[str]:
    """Return every column of which something was measured."""
    if isinstance(measured, dict):
        below = [_columns(part) for part in measured.values()]
        return set().union({measured["column"]} if "column" in measured else set(), *below)
    return set().union(*map(_columns, measured)) if isinstance(measured, list) else set()


def _without(measured: Any, names: Set[str], *, gone: bool = False) -> Any:
    """Return what was measured, with no numbers in the methods' place on some columns."""
    if isinstance(measured, dict):
        here = measured.get("column") in names
        return {
            key: _without(part, names, gone=gone or (here and key == "methods"))
            for key, part in measured.items()
        }
    if isinstance(measured, list):
        return [_without(part, names, gone=gone) for part in measured]
    return math.nan if gone and isinstance(measured, (int, float)) else measured


_MARK = re.compile(r"(<!-- verdicts: (\S+), ([^>]+?) -->).*?(<!-- end -->)")


def in_text(text: str, every: Sequence[Judged]) -> str:
    """Return a text with what stands between its marks written anew from the kept results.

    ``<!-- verdicts: accuracy/square_wave_figures, figure 2 -->`` up to ``<!-- end -->`` holds how
    many sentences of a benchmark about this place hold. The place is all of `Claim.where`, or
    what it starts with.

    Raises
    ------
    ValueError
        If no claim of this benchmark speaks of the place: the mark is misspelled.
    """

    def written(mark: re.Match[str]) -> str:
        own = [
            sentence.verdict
            for sentence in sentences(
                one.claim
                for one in every
                if one.benchmark == mark[2] and f"{one.claim.where},".startswith(f"{mark[3]},")
            )
        ]
        if not own and mark[2] in claiming() and results.read(mark[2]) is None:
            return f"{mark[1]}Not measured yet.{mark[4]}"
        if not own:
            raise ValueError(f"{mark[2]} makes no claim about {mark[3]!r}")
        counts = [f"{verdict} {own.count(verdict)}" for verdict in VERDICTS if verdict in own]
        of = "1 sentence" if len(own) == 1 else f"{len(own)} sentences"
        return f"{mark[1]}Of {of}: {', '.join(counts)}.{mark[4]}"

    return _MARK.sub(written, text)


def overview(titles: dict[str, str], every: Sequence[Judged]) -> str:
    """Return the table of verdicts by paper, then all claims that do not hold.

    Parameters
    ----------
    titles : dict
        Folder of a paper's page below `accuracy/papers` -> its title.
    """
    if not every:
        return "No claim was measured yet."
    few = results.read(FEWER) is not None
    rows, listing, alone = [], [], []
    for paper, title in titles.items():
        own = [one for one in every if one.paper == paper]
        found = sentences(one.claim for one in own)
        here = [sentence for sentence in found if _all_of(sentence, own, "stand_in")]
        again = [sentence for sentence in found if _all_of(sentence, own, "needs_repeats", any)]
        listing += [(title, one, one in again) for one in found]
        if here:
            formulas = sum(all(claim.arithmetic for claim in one.claims) for one in found)
            every_one = "every sentence but the arithmetic." if formulas else "every sentence."
            whole = len(here) + formulas == len(found)
            alone.append(f"- {title}: {every_one if whole else _places(here)}")
        if own:
            verdicts = [sentence.verdict for sentence in found]
            counts = [str(verdicts.count(verdict)) for verdict in VERDICTS]
            rows.append(
                [
                    f"[{title}]({paper}/README.md)",
                    str(len(found)),
                    *counts,
                    str(len(here)),
                    str(len(again)) if few else "–",
                ]
            )
    parts = [
        "The page of each paper says first [what holds](../../../docs/papers/index.md), and then "
        "where and why this library differs. Every sentence of a paper that a measurement can "
        "test is shortened, counted once, and judged by one rule (`benchmarks/verdicts.py`):",
        "- *Holds*: no cell is more than two standard errors against the sentence, and more than "
        "half of the cells are more than two standard errors in its favor.\n"
        "- *Mostly holds*: some cell is against the sentence, but at least 95% of the cells are "
        "more than two standard errors in its favor.\n"
        "- *Contradicted*: some cell is more than two and a half standard errors against the "
        "sentence. This limit rises with the number of comparisons.\n"
        "- *Undecided*: none of the above.\n"
        "- A sentence about *most* cells or about cells *in general* holds if more than half of "
        "them meet it. It is contradicted if half of them or more fail it.\n"
        "- If a paper does not say which form of a method or of a column it means, each form is a "
        "reading. The sentence is *contradicted* if every reading is, and *contradicted in some "
        "readings* if only some are.\n"
        '- A word such as "similar" states no limit, so we chose one. A cell then fails only if it '
        "also misses a limit that is 1.5 times as wide. Between the two limits it nearly fails.",
        table(["paper", "sentences", *VERDICTS, "on stand-ins alone", "need all repeats"], rows),
        "*On stand-ins alone*: every cell for the sentence was measured on a column that replaces "
        "the paper's own. *Need all repeats*: with a quarter of the repeats, "
        "`python -m benchmarks papers --quick` gives another verdict.",
    ]
    if alone:
        parts += ["### On stand-in data alone", "\n".join(alone)]
    for verdict in (MOSTLY, CONTRADICTED, IN_SOME, UNDECIDED):
        lines = [
            f"- {title}, {sentence.claims[0].where}{' (needs all repeats)' * again}: "
            f"{sentence.line().removeprefix('- ')}"
            for title, sentence, again in listing
            if sentence.verdict == verdict
        ]
        if lines:
            parts += [f"### {verdict.capitalize()}", "\n".join(lines)]
    return "\n\n".join(parts)


def _all_of(
    sentence: Sentence, every: Sequence[Judged], flag: str, over: Callable[..., bool] = all
) -> bool:
    """Return whether all (or any) measured readings of a sentence have a flag."""
    readings = {id(claim) for claim in sentence.claims if claim.cells}
    flags = [getattr(one, flag) for one in every if id(one.claim) in readings]
    return bool(flags) and over(flags)


def _places(found: Sequence[Sentence]) -> str:
    """Return sentences by their place, as a phrase."""
    by_place: dict[str, list[str]] = {}
    for sentence in found:
        by_place.setdefault(sentence.claims[0].where, []).append(f"*{sentence.claims[0].text}*")
    return "; ".join(f"{where}: {' '.join(texts)}" for where, texts in by_place.items())
