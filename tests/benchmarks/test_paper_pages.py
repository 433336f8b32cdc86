"""The tables of sentences in the papers' pages: what holds, the rest, counts, links, context."""

from __future__ import annotations

from dataclasses import replace
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


def table(text: str, which: str) -> list[str]:
    """Return the rows of a table of a page."""
    part = text.split(f"<!-- sentences: made, {which} -->\n")[1].split("<!-- end of sentences -->")
    return [line for line in part[0].splitlines() if line][2:]


def test_what_holds_and_what_does_not_stand_in_their_tables(every: list[Judged]) -> None:
    text = paper_pages.with_sentences(PAGE, every)
    page = "benchmarks/accuracy/papers/made/README.md"
    assert table(text, "holds") == [
        f"| {{source}}`figure 2 <{page}#figure-2-errors>` | *A is best.* | met in 2 of 2 cells |",
        f"| {{source}}`table 1 <{page}#all-of-it>`, on stand-ins alone | *C stays.* "
        "| met in 2 of 3 cells, failed in 1 |",
    ]
    second, last, grows = table(text, "others")
    assert second == (
        f"| {{source}}`figure 2 <{page}#figure-2-errors>` | [*A is best.*] *It is followed by B.* "
        "| **Contradicted** (met in 0 of 1 cells, failed in 1). Second: C 3. |"
    )
    assert "| [*A is best. It is followed by B.*] *There D is last.* |" in last
    assert "**Contradicted in some**, of these readings:<br>(one form) **Holds**" in grows
    assert "<br>(another form) **Contradicted** (met in 0 of 1 cells" in grows


def test_a_paper_is_counted_between_its_marks_and_the_rest_stays(every: list[Judged]) -> None:
    text = paper_pages.with_sentences(PAGE, every)
    counted = "Of 5 sentences: 2 hold, 2 contradicted, 1 contradicted in some."
    assert text.startswith(f"before\n<!-- paper: made -->{counted}<!-- end -->\n")
    assert "\nbetween\n" in text and text.endswith("\nafter") and "stale" not in text
    assert paper_pages.with_sentences(text, every) == text


def test_where_all_is_on_stand_ins_no_row_says_so(every: list[Judged]) -> None:
    alone = [Judged(one.paper, one.benchmark, one.claim, stand_in=True) for one in every]
    assert "stand-ins" not in paper_pages.with_sentences(PAGE, alone)
    first = replace(alone[0].claim, arithmetic=True)
    alone[0] = replace(alone[0], claim=first, stand_in=False)
    page = paper_pages.with_sentences(PAGE, alone)
    assert "stand-ins" not in page and page.count("`, arithmetic |") == 1


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
