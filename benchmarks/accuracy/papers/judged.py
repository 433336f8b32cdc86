"""What holds of the papers, what does not and by how much: the claims of all papers in a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import results
from benchmarks.isolated import place, script
from benchmarks.markdown import table
from benchmarks.runner import BENCHMARKS
from benchmarks.verdicts import (
    CONTRADICTED,
    IN_SOME,
    UNDECIDED,
    VERDICTS,
    Claim,
    sentences,
)

FOLDER = "accuracy/papers/"


@dataclass(frozen=True)
class Judged:
    """A claim with the benchmark that measured it and the folder of its paper's page."""

    paper: str
    benchmark: str
    claim: Claim


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
    for name in claiming():
        document = results.read(name)
        if document is not None:
            paper = place(name).removeprefix(FOLDER).partition("/")[0]
            for claim in script(name).claims(document["measured"]):
                found.append(Judged(paper, name, claim))
    return found


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
    rows, listing = [], []
    for paper, title in titles.items():
        own = sentences(one.claim for one in every if one.paper == paper)
        listing += [(title, sentence) for sentence in own]
        if own:
            verdicts = [sentence.verdict for sentence in own]
            counts = [str(verdicts.count(verdict)) for verdict in VERDICTS]
            rows.append([f"[{title}]({paper}/README.md)", str(len(own)), *counts])
    parts = [
        "Every sentence of the papers that a measurement can speak of, counted once and judged by "
        "one rule (`benchmarks/verdicts.py`): it is *contradicted* where the mean of paired "
        "differences is beyond two standard errors against it, raised for the number of "
        "comparisons; it *holds* where no cell is beyond two against it and more than half of "
        "them are beyond two for it; else it is *undecided*. What a paper says of *most* cells or "
        "*in general* is contradicted only where half of them or more fail, and holds where more "
        "than half meet it, whatever the rest do. Where a paper does not say which form of a "
        "method it means, each is a reading of the same sentence: it is *contradicted* where it "
        "is in every reading, and *contradicted in some* where others are not. Numbers and "
        "pictures stand on each paper's page.",
        table(["paper", "sentences", *VERDICTS], rows),
    ]
    for verdict in (CONTRADICTED, IN_SOME, UNDECIDED):
        lines = [
            f"- {title}, {sentence.claims[0].where}: {sentence.line().removeprefix('- ')}"
            for title, sentence in listing
            if sentence.verdict == verdict
        ]
        if lines:
            parts += [f"### {verdict.capitalize()}", "\n".join(lines)]
    return "\n\n".join(parts)
