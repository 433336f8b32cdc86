"""The tables of sentences in the papers' pages: what holds, the rest, counts, links, context."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchmarks.accuracy.papers import paper_pages
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.judged import Judged
from benchmarks.verdicts import Cell, Claim

MET, FAILED = Cell(9.0), Cell(-9.0)
CLAIMS = [
    Claim("A is best.", [MET, MET], where="figure 2"),
    Claim("It is followed by B.", [FAILED], "Second: C 3.", where="figure 2"),
    Claim("There D is last.", [FAILED], where="figure 2"),
    Claim("B grows.", [MET], where="figure 3", form="one form"),
    Claim("B grows.", [FAILED], where="figure 3", form="another form"),
    Claim("C stays.", [MET, MET, FAILED], most=True, where="table 1"),
]
PAGE = """before
<!-- paper: made -->stale<!-- end -->
<!-- sentences: made, holds -->
stale
<!-- end of sentences -->
between
<!-- sentences: made, others -->
<!-- end of sentences -->
after"""


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> list[Judged]:
    """The claims of a made-up paper, one of them on a stand-in."""
    module = SimpleNamespace(TITLE="All of it", INDEX=(Entry("figure 2", "Figure 2, errors"),))
    monkeypatch.setattr(paper_pages, "script", lambda name: module)
    return [
        Judged("made", "accuracy/made", claim, stand_in=claim.where == "table 1")
        for claim in CLAIMS
    ]


@pytest.mark.parametrize(
    ("mark", "refused"),
    [
        ("<!-- paper: maid --><!-- end -->", "no paper 'maid'"),
        ("<!-- sentences: maid, holds -->\n<!-- end of sentences -->", "no paper 'maid'"),
        ("<!-- sentences: made, hold -->\n<!-- end of sentences -->", "not 'hold'"),
    ],
)
def test_a_misspelled_mark_is_refused(every: list[Judged], mark: str, refused: str) -> None:
    with pytest.raises(ValueError, match=refused):
        paper_pages.with_sentences(mark, every)


@pytest.mark.parametrize("mark", ["<!-- paper: made -->", "<!-- sentences: made, holds -->"])
def test_a_page_that_says_the_same_twice_is_refused(every: list[Judged], mark: str) -> None:
    doubled = PAGE.replace(mark, f"{mark}<!-- end -->\n{mark}")
    with pytest.raises(ValueError, match=f"has {mark} twice"):
        paper_pages.with_sentences(doubled, every)
