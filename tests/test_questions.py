"""Questions: one grammar for both forms, and the edges that an exact answer needs."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, FormatError
from lapwing.questions import Curve, Histogram, Mean, Quantile, Share, read
from lapwing.results.asked_numbers import cell_starts

WRITTEN = {
    "share above 50000": Share(above=50_000),
    "share at-least 18 below 65": Share(at_least=18.0, below="65"),
    "share above 0.1 at-most 0.25": Share(above=0.1, at_most=0.25),
    "share label dark red": Share(label="dark red"),
    "share above 2026-06-30": Share(above=datetime.date(2026, 6, 30)),
    "share below 2026-06-30 12:00": Share(below="2026-06-30 12:00"),
    "histogram edges 0 18 65 100": Histogram([0, 18, 65.0, "100"]),
    "histogram bins 16": Histogram(bins=16),
    "mean": Mean(),
    "quantile 0.5 0.95": Quantile(0.5, 0.95),
    "quantile 1": Quantile(1),
    "curve": Curve(),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_question_has_one_string_and_one_json_form(text: str) -> None:
    question: Any = WRITTEN[text]
    assert str(question) == text
    for form in (text, question.to_document(), question):
        assert read(form) == question and hash(read(form)) == hash(question)
    assert eval(repr(question)) == question
    others = [other for other in WRITTEN.values() if other is not question]
    assert question not in others


def test_at_least_is_read_with_a_space_as_well() -> None:
    asked = read("share at least 18 at most 65")
    assert asked == Share(at_least=18, at_most=65) and str(asked) == "share at-least 18 at-most 65"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a question"),
        ("shar above 4", "did you mean share"),
        ("share", "share at-least 18 below 65"),
        ("share above", "is not a question"),
        ("share above 4 above 5", "is not a question"),
        ("share 4 above 5", "is not a question"),
        ("share above 4 at-least 5", "above or at_least, not both"),
        ("histogram 16", "histogram bins 16"),
        ("histogram bins 1", "from 2 to 4096"),
        ("histogram edges 3", "2 to 4097 values, got 1"),
        ("quantile half", "from 0 to 1"),
        ("quantile 1.5", "from 0 to 1"),
        ("quantile", "is not a question"),
        ("mean of it", "is not a question"),
        ("median", "did you mean quantile 0.5"),
    ],
)
def test_a_string_that_is_no_question_is_refused_with_an_example(text: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        read(text)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"question": "sum"},
        {"question": ["share"]},
        {"question": "share"},
        {"question": "share", "above": 5},
        {"question": "share", "above": " 5"},
        {"question": "share", "above": "5", "more": "6"},
        {"question": "mean", "bins": 4},
        {"question": "histogram", "bins": 4, "edges": ["0", "1"]},
        {"question": "histogram", "edges": [0, 1]},
        {"question": "quantile", "probabilities": []},
        {"question": "quantile", "probabilities": [2]},
    ],
)
def test_a_document_has_one_spelling(document: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="this is not a question"):
        read(document)


def test_a_share_needs_one_range_or_one_label() -> None:
    for ends in ({}, {"above": 1, "label": "a"}, {"below": 1, "at_most": 2}):
        with pytest.raises(ArgumentError):
            Share(**ends)
    for value in (float("nan"), np.inf, "", [1], True, b"1"):
        with pytest.raises(ArgumentError, match="must be a finite number"):
            Share(above=value)
    with pytest.raises(ArgumentError, match="got an int"):
        read(5)


RIGHT = lw.Interval(0, 100)
LEFT = lw.Interval(0, 100, closed="left")


def test_the_end_that_belongs_to_a_range_must_be_that_of_the_bins() -> None:
    assert Share(above=30).edges(RIGHT) == Share(at_most=30).edges(RIGHT) == (30.0,)
    assert Share(at_least=30).edges(LEFT) == Share(below=30).edges(LEFT) == (30.0,)
    for share, domain, fix in (
        (Share(at_least=30), RIGHT, "closed='left'"),
        (Share(below=30), RIGHT, "answer above or at most exactly"),
        (Share(above=30), LEFT, "closed='right'"),
        (Share(at_most=30), LEFT, "answer at least or below exactly"),
    ):
        with pytest.raises(ArgumentError, match=fix):
            share.edges(domain)
    # Between two whole numbers nobody has a value.
    whole = lw.Integers(0, 100)
    assert Share(at_least=30).edges(whole) == Share(above=29).edges(whole) == (29.0,)
    days = lw.Interval("2026-01-01", "2027-01-01", unit="date")
    after = Share(above="2026-06-30").edges(days)
    assert after == Share(at_least="2026-07-01").edges(days)


def test_only_edges_inside_the_range_must_be_edges_of_bins() -> None:
    assert Share(at_least=0, at_most=50).edges(RIGHT) == (50.0,)
    assert Share(at_most=100).edges(RIGHT) == Share(above=-5).edges(RIGHT) == ()
    assert Histogram([0, 18, 65, 100]).edges(RIGHT) == Histogram([18, 65]).edges(LEFT) == (18, 65)
    assert Histogram(bins=4).edges(RIGHT) == (25, 50, 75)
    assert Histogram(bins=3).edges(lw.Interval(1, 1000, scale="log")) == pytest.approx((10, 100))
    for question in (Mean(), Quantile(0.5), Curve(), Share(label="a")):
        assert question.edges(RIGHT) == ()
    with pytest.raises(ArgumentError, match="must increase"):
        Histogram([5, 5]).edges(RIGHT)


TABLE = [
    (lw.Interval(0, 100, bins=10), [Share(above=30), Share(at_most=70)]),
    (lw.Interval(0, 100, bins=50), [Share(above=30, at_most=40), Histogram(bins=10)]),
    (lw.Interval(0, 100, bins=50, missing="bin"), [Share(above=50)]),
    (lw.Interval(0, 100, bins=10, atoms=(0, 45)), [Share(above=0), Share(at_most=45)]),
    (lw.Interval(0, 100, bins=10, closed="left"), [Share(at_least=30, below=50)]),
    (lw.Interval(0, 100, bins=50, whole=True), [Share(at_most=20)]),
    (lw.Integers(0, 99), [Share(below=30), Share(above=60), Histogram(bins=7)]),
    (lw.Interval(edges=[0, 18, 65, 100]), [Histogram([18, 65])]),
    (
        lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
        [Share(at_least="22:00", below="02:00")],
    ),
    (lw.Interval("2026-01-01", "2027-01-01", bins=365, unit="date"), [Share(above="2026-06-30")]),
    (lw.Interval(0, 1, bins=1000), [Histogram(bins=10), Share(above=0.3)]),
]


@pytest.mark.parametrize("number", range(len(TABLE)))
def test_whole_cells_answer_exactly(number: int) -> None:
    """With all people of a cell in any of its bins, the answer is the same: by brute force."""
    domain, asked = TABLE[number]
    starts = cell_starts(asked, domain)
    assert starts[0] == 0 and len(starts) > 1
    rng = np.random.default_rng(number)
    cells = np.split(np.arange(domain.size), starts[1:])
    shares = rng.dirichlet(np.ones(len(cells)))

    def spread() -> lw.Distribution:
        mass = np.zeros(domain.size)
        for cell, share in zip(cells, shares, strict=True):
            mass[rng.choice(cell)] += share
        return lw.Distribution(domain, mass)

    for question in asked:
        first, second = spread().answer(question).value, spread().answer(question).value
        np.testing.assert_allclose(first, second, atol=1e-12)
    fewer = [start for start in starts if start not in (0, domain.missing_index)]
    for start in fewer:  # without one of them it is not
        mass = np.zeros((2, domain.size))
        mass[0, start - 1] = mass[1, start] = 1.0
        one, other = (lw.Distribution(domain, each) for each in mass)
        answers = [(one.answer(each).value, other.answer(each).value) for each in asked]
        assert any(np.any(np.abs(np.subtract(*pair)) > 0.5) for pair in answers), start


def test_an_end_inside_a_bin_is_named_with_the_nearest_edges() -> None:
    ages = lw.Interval(0, 100, bins=10)
    for share, said in (
        (Share(above=33), "'above 33' is not at a bin edge. The nearest are 30 and 40"),
        (Share(below=30), "closed='left'"),
        (Share(above=0), "Declare this value as an atom"),
        (Histogram([0, 33, 100]), "'the edge 33' is not at a bin edge"),
    ):
        with pytest.raises(ArgumentError, match=said):
            cell_starts([share], ages)
    with pytest.raises(ArgumentError, match="For labels, use"):
        cell_starts([Share(above=3)], lw.Categories(3))
    with pytest.raises(ArgumentError, match="Labels already are cells"):
        cell_starts([Histogram(bins=2)], lw.Categories(3))


def test_a_label_is_asked_by_its_own_name_whatever_it_is() -> None:
    domain = lw.Categories(["missing", " a", "a", "b "], missing="category")
    result = lw.Distribution.of_counts([50, 20, 10, 15, 5], domain)
    for asked, share in (
        ("share label missing", 50 / 95),  # of the people with a label
        ("share label (missing)", 0.05),
        (Share(label="missing"), 50 / 95),
        (Share(label=" a"), 20 / 95),
        ("share label  a", 20 / 95),
        ("share label a", 10 / 95),
        (Share(label="b "), 15 / 95),
        ("share label b", 15 / 95),
    ):
        assert result.answer(asked).value == pytest.approx(share), asked
        assert lw.questions.read(str(lw.questions.read(asked))) == lw.questions.read(asked) or (
            asked == Share(label="b ")  # a string ends with its last character that is no blank
        )
    values = ["missing"] * 700 + ["a"] * 200 + [None] * 100
    how: Any = {"epsilon": 4, "neighbors": "replace-one", "questions": ["share label missing"]}
    found = lw.release(values, domain, **how).answer("share label missing").value
    assert found == pytest.approx(7 / 9, abs=0.03)
    numbers = lw.Distribution.of_counts([3, 1], lw.Integers(9, 10))
    assert numbers.answer("share label  10").value == 0.25


@pytest.mark.parametrize("edges", [["00:00", "12:00", "06:00"], ["20:00", "20:00", "22:00"]])
def test_every_door_refuses_cells_that_overlap_or_are_empty(edges: list[str]) -> None:
    day = lw.Interval("00:00", "24:00", unit="time-of-day", circular=True, bins=24)
    asked = lw.questions.Histogram(edges)
    result = lw.Distribution.of_values(["01:00", "13:00"], day)
    how: Any = {"epsilon": 1, "neighbors": "replace-one", "questions": [asked]}
    for ask in (
        lambda: result.answer(asked),
        lambda: lw.recommend(day, epsilon=1, users=1000, questions=[asked]),
        lambda: lw.release(["01:00"], day, **how),
    ):
        with pytest.raises(ArgumentError, match=r"without overlaps|must increase"):
            ask()
    line = lw.Distribution.of_values([1, 2], lw.Interval(0, 100, bins=20))
    with pytest.raises(ArgumentError, match="must increase"):
        line.answer(lw.questions.Histogram([0, 0, 5]))
