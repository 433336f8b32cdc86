"""What the documentation says of the papers' sentences: counts in its pages, and one table.

``<!-- paper: square_wave -->`` up to ``<!-- end -->`` holds how many sentences the paper has, by
verdict. Papers are named by the folders of their scripts. The table, ``docs/papers/sentences.csv``,
has a row for every sentence of every paper, with its verdict and the numbers behind it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from benchmarks.accuracy.papers.index import anchor
from benchmarks.accuracy.papers.judged import FOLDER, Judged
from benchmarks.isolated import script
from benchmarks.markdown import listed
from benchmarks.verdicts import HOLDS, MOSTLY, VERDICTS, Claim, Sentence, sentences

COLUMNS = ("paper", "where", "sentence", "verdict", "cells", "measured", "columns", "tables")
"""Of the table of sentences."""

_COUNT = re.compile(r"(<!-- paper: (\w+) -->).*?(<!-- end -->)", re.DOTALL)
_REFERS = re.compile(
    r"^(There|It|In its|Especially)\b|\b(there|addresses it|they also|its relative)\b"
    r"|\bit (is followed|is generally followed|performs|significantly)\b"
)
"""Sentences that are understood only after those before them."""


def with_counts(text: str, every: Sequence[Judged]) -> str:
    """Return a page with the counts between its marks written anew from the judged claims.

    Raises
    ------
    ValueError
        If a mark names no paper.
    """

    def counted(mark: re.Match[str]) -> str:
        verdicts = [sentence.verdict for sentence in sentences(_claims(mark[2], every))]
        return f"{mark[1]}Of {len(verdicts)} sentences, {_told(verdicts)}.{mark[3]}"

    return _COUNT.sub(counted, text)


def _told(verdicts: Sequence[str]) -> str:
    """Return how many sentences have each verdict, as the end of a sentence."""
    counts = [(verdicts.count(kind), kind) for kind in VERDICTS if kind in verdicts]
    parts = [f"{n} {_predicate(kind, plural=n > 1)}" for n, kind in counts]
    return listed(parts)


def _predicate(verdict: str, *, plural: bool) -> str:
    if verdict in (HOLDS, MOSTLY):
        return verdict.replace(HOLDS, "hold") if plural else verdict
    return f"{'are' if plural else 'is'} {verdict}"


def _claims(paper: str, every: Sequence[Judged]) -> list[Claim]:
    claims = [judged.claim for judged in every if judged.paper == paper]
    if not claims:
        raise ValueError(f"no paper {paper!r} has sentences")
    return claims


def as_csv(every: Sequence[Judged]) -> str:
    """Return the table of all sentences, in the order of the papers' folders.

    A sentence that is understood only after others has these before it, in brackets. *cells* says
    how many meet and fail it, of each reading. *columns* names what a verdict rests on where that
    is a stand-in alone, or arithmetic. *tables* is the part of the repository with the numbers.
    """
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(COLUMNS)
    for paper in sorted({judged.paper for judged in every}):
        table.writerows(_rows(paper, [judged for judged in every if judged.paper == paper]))
    return written.getvalue()


def _rows(paper: str, every: Sequence[Judged]) -> list[list[str]]:
    benchmarks = {(judged.claim.where, judged.claim.text): judged.benchmark for judged in every}
    stand_ins = {id(judged.claim) for judged in every if judged.stand_in}
    rows: list[list[str]] = []
    before: list[str] = []
    for sentence in sentences(judged.claim for judged in every):
        claim = sentence.claims[0]
        before = before if _REFERS.search(claim.text) else []
        context = f"[{' '.join(before)}] " if before else ""
        before = [*before, claim.text]
        heading = _heading(benchmarks[claim.where, claim.text], claim.where)
        tables = f"benchmarks/{FOLDER}{paper}/README.md#{anchor(heading)}"
        of = _columns(sentence, stand_ins)
        verdict, cells, measured = sentence.verdict, _cells(sentence), _numbers(sentence)
        rows.append(
            [paper, claim.where, context + claim.text, verdict, cells, measured, of, tables]
        )
    return rows


def _heading(benchmark: str, where: str) -> str:
    """Return the heading of the part of a paper's page that measures a place of the paper."""
    module = script(benchmark)
    headings = {entry.where: entry.heading for entry in getattr(module, "INDEX", ())}
    return str(headings.get(where, module.TITLE))


def _columns(sentence: Sentence, stand_ins: set[int]) -> str:
    if all(claim.arithmetic for claim in sentence.claims):
        return "arithmetic"
    measured = [claim for claim in sentence.claims if claim.cells]
    return "stand-ins alone" if all(id(claim) in stand_ins for claim in measured) else ""


def _cells(sentence: Sentence) -> str:
    """Return in how many cells each reading of a sentence is met, and fails."""
    readings = []
    for claim in sentence.claims:
        met, failed, _ = claim.counts
        form = f"{claim.form}: " if claim.form else ""
        failing = f", failed in {failed}" if failed else ""
        readings.append(f"{form}met in {met} of {len(claim.cells)}{failing}")
    return "; ".join(readings)


def _numbers(sentence: Sentence) -> str:
    """Return the numbers behind each reading of a sentence."""
    readings = [claim for claim in sentence.claims if claim.evidence]
    return " ".join(
        f"{claim.form}: {claim.evidence}" if claim.form else claim.evidence for claim in readings
    )
