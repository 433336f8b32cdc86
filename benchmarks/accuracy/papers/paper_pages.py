"""What the pages by hand say of a paper's sentences, written between their marks.

``<!-- paper: square_wave -->`` up to ``<!-- end -->`` holds how many sentences the paper has, by
verdict. ``<!-- sentences: square_wave, holds -->`` up to ``<!-- end of sentences -->`` is the table
of those that hold; with ``others`` in place of ``holds`` it is that of the rest, with the numbers
behind each verdict. Papers are named by the folders of their scripts. A mark is on a page once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.accuracy.papers.index import anchor, told
from benchmarks.accuracy.papers.judged import FOLDER, Judged
from benchmarks.isolated import script
from benchmarks.markdown import table
from benchmarks.verdicts import HOLDS, Claim, Sentence, sentences

OTHERS = "others"

_COUNT = re.compile(r"(<!-- paper: (\w+) -->).*?(<!-- end -->)")
_TABLE = re.compile(
    r"(<!-- sentences: (\w+), (\w+) -->\n).*?(<!-- end of sentences -->)", re.DOTALL
)
_MARK = re.compile(r"<!-- (?:paper|sentences): [^>]+ -->")
_REFERS = re.compile(
    r"^(There|It|In its|Especially)\b|\b(there|addresses it|they also|its relative)\b"
    r"|\bit (is followed|is generally followed|performs|significantly)\b"
)
"""Sentences that are understood only after those before them."""


def with_sentences(text: str, every: Sequence[Judged]) -> str:
    """Return a page with what stands between its marks written anew from the judged claims.

    Raises
    ------
    ValueError
        If a mark names no paper, or no part of its sentences, or is on the page twice.
    """
    marks = _MARK.findall(text)
    if twice := sorted({mark for mark in marks if marks.count(mark) > 1}):
        raise ValueError(f"a page has {twice[0]} twice, so it would say the same twice")

    def counted(mark: re.Match[str]) -> str:
        verdicts = [sentence.verdict for sentence in sentences(_claims(mark[2], every))]
        return f"{mark[1]}Of {len(verdicts)} sentences: {told(verdicts)}.{mark[3]}"

    def listed(mark: re.Match[str]) -> str:
        return f"{mark[1]}\n{_rows(mark[2], mark[3], every)}\n\n{mark[4]}"

    return _TABLE.sub(listed, _COUNT.sub(counted, text))


def _claims(paper: str, every: Sequence[Judged]) -> list[Claim]:
    found = [one.claim for one in every if one.paper == paper]
    if not found:
        raise ValueError(f"no paper {paper!r} has sentences")
    return found


def _rows(paper: str, which: str, every: Sequence[Judged]) -> str:
    """Return the table of a paper's sentences that hold, or of the others with their numbers."""
    if which not in (HOLDS, OTHERS):
        raise ValueError(f"sentences are those that hold or the others, not {which!r}")
    measured = {(one.claim.where, one.claim.text): one.benchmark for one in every}
    alone = {id(one.claim) for one in every if one.stand_in and one.paper == paper}
    worth_saying = any(
        id(claim) not in alone and not claim.arithmetic for claim in _claims(paper, every)
    )
    rows: list[list[str]] = []
    before: list[str] = []
    for sentence in sentences(_claims(paper, every)):
        text = sentence.claims[0].text
        if not _REFERS.search(text):
            before = []
        context = f"[*{' '.join(before)}*] " if before else ""
        before = [*before, text]
        if (sentence.verdict == HOLDS) == (which == HOLDS):
            first = sentence.claims[0]
            heading = _heading(measured[first.where, first.text], first.where)
            page = f"benchmarks/{FOLDER}{paper}/README.md#{anchor(heading)}"
            said = _numbers(sentence) if which == OTHERS else _cells(sentence)
            stands_in = all(id(claim) in alone for claim in sentence.claims if claim.cells)
            marked = ", on stand-ins alone" if stands_in and worth_saying else ""
            if all(claim.arithmetic for claim in sentence.claims):
                marked = ", arithmetic"
            rows.append([f"{{source}}`{first.where} <{page}>`{marked}", f"{context}*{text}*", said])
    return table(["in the paper", "the sentence", "here"], rows, texts=3) if rows else "None."


def _heading(benchmark: str, where: str) -> str:
    """Return the heading of the part of a paper's page that measures a place of the paper."""
    module = script(benchmark)
    of = {entry.where: entry.heading for entry in getattr(module, "INDEX", ())}
    return str(of.get(where, module.TITLE))


def _numbers(sentence: Sentence) -> str:
    """Return the verdict of a sentence with the numbers of each reading of it."""
    lines = [claim.counted() for claim in sentence.claims]
    if len(lines) > 1:
        lines.insert(0, f"**{sentence.verdict.capitalize()}**, of these readings:")
    return "<br>".join(lines)


def _cells(sentence: Sentence) -> str:
    """Return in how many cells each reading of a sentence is met, and fails."""
    lines = []
    for claim in sentence.claims:
        met, failed, _ = claim.counts
        form = f"{claim.form}: " if claim.form else ""
        failing = f", failed in {failed}" if failed else ""
        lines.append(f"{form}met in {met} of {len(claim.cells)} cells{failing}")
    return "<br>".join(lines)
