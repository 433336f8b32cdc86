"""Sentences of the papers in the documentation: counts in pages, and the table of all."""

import csv
import io
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


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> list[Judged]:
    """The claims of a made-up paper, one of them on a stand-in."""
    module = SimpleNamespace(TITLE="All of it", INDEX=(Entry("figure 2", "Figure 2, errors"),))
    monkeypatch.setattr(paper_pages, "script", lambda name: module)
    return [
        Judged("made", "accuracy/made", claim, stand_in=claim.where == "table 1")
        for claim in CLAIMS
    ]


def test_a_page_has_the_counts_of_its_paper(every: list[Judged]) -> None:
    page = "before <!-- paper: made -->stale<!-- end --> after"
    counted = "Of 5 sentences, 2 hold, 2 are contradicted and 1 is contradicted in some readings."
    assert (
        paper_pages.with_counts(page, every)
        == f"before <!-- paper: made -->{counted}<!-- end --> after"
    )


def test_a_misspelled_mark_is_refused(every: list[Judged]) -> None:
    with pytest.raises(ValueError, match="no paper 'maid'"):
        paper_pages.with_counts("<!-- paper: maid --><!-- end -->", every)


def test_the_table_has_each_sentence_once_with_its_verdict_and_numbers(every: list[Judged]) -> None:
    rows = {row["sentence"]: row for row in csv.DictReader(io.StringIO(paper_pages.as_csv(every)))}
    assert len(rows) == 5
    assert rows["A is best."]["verdict"] == "holds"
    assert rows["A is best."]["tables"].endswith("papers/made/README.md#figure-2-errors")
    followed = rows["[A is best.] It is followed by B."]
    assert (followed["verdict"], followed["measured"]) == ("contradicted", "Second: C 3.")
    assert (
        rows["B grows."]["cells"]
        == "one form: met in 1 of 1; another form: met in 0 of 1, failed in 1"
    )
    assert rows["C stays."]["columns"] == "stand-ins alone"
    assert rows["C stays."]["tables"].endswith("#all-of-it")
    assert rows["A is best."]["columns"] == ""
