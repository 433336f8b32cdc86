"""The index of a paper's page: figure, table, picture, verdicts, each with a link that works."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.markdown import table
from benchmarks.verdicts import HOLDS, VERDICTS, Claim, sentences


@dataclass(frozen=True)
class Entry:
    """A figure or table of a paper, and where it stands on the page.

    Parameters
    ----------
    where : str
        As the claims about it name it: "figure 2, KS".
    heading : str
        Of the part of the page with its table.
    picture : str
        Name of its file without ".png"; empty where there is nothing to draw.
    """

    where: str
    heading: str
    picture: str = ""


def anchor(heading: str) -> str:
    """Return what a link to a heading ends with.

    Examples
    --------
    >>> anchor("Figure 2, KS distance"), anchor("Bins before or after (5.4)")
    ('figure-2-ks-distance', 'bins-before-or-after-54')
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def index(entries: Iterable[Entry], claims: Sequence[Claim]) -> str:
    """Return the table of a page's entries, each with the verdicts of the claims about it."""
    lines = []
    for entry in entries:
        own = [
            sentence.verdict
            for sentence in sentences(claim for claim in claims if claim.where == entry.where)
        ]
        lines.append(
            [
                entry.where,
                f"[{entry.heading}](#{anchor(entry.heading)})",
                f"[picture](figures/{entry.picture}.png)" if entry.picture else "–",
                told(own),
            ]
        )
    return table(["in the paper", "here", "picture", "sentences"], lines, texts=4)


def told(verdicts: Sequence[str]) -> str:
    """Return how many of some verdicts are of each kind, as a phrase."""
    count = {kind: verdicts.count(kind) for kind in VERDICTS}
    return (
        ", ".join(
            f"{n} {kind.replace(HOLDS, 'hold') if n > 1 else kind}"
            for kind, n in count.items()
            if n
        )
        or "–"
    )
