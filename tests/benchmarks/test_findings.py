"""The titles of the papers' pictures are findings, and the pages have them as alternative texts."""

from __future__ import annotations

import html
import re

import pytest

from benchmarks import results, tables
from benchmarks.accuracy.papers import drawing, findings
from benchmarks.accuracy.papers.functional_approximation import (
    functional_approximation_pictures as central,
)
from benchmarks.accuracy.papers.judged import Judged, judged

PICTURES = [(paper, name) for paper, found in findings.FINDINGS.items() for name in found]

READ_UNDER = {
    ("square_wave", "figure-1"): "",
    ("square_wave", "figure-2"): "holds 8, contradicted 4, undecided 1",
    ("square_wave", "figure-3"): "holds 3, contradicted 2, contradicted in some 1, undecided 1",
    ("square_wave", "figure-4"): "holds 8, contradicted 5, undecided 2",
    ("square_wave", "figure-5"): "holds 1, undecided 1",
    ("square_wave", "figure-6"): "holds 1",
    ("square_wave", "figure-7"): "holds 1, contradicted 1",
    ("square_wave", "branching"): "holds 3, undecided 1",
    ("square_wave", "budgets"): "holds 1",
    ("square_wave", "orders"): "contradicted in some 1, undecided 1",
    ("wavelet", "figure-1"): "holds 2",
    ("wavelet", "figure-2"): "holds 2, contradicted 3, contradicted in some 1, undecided 1",
    ("wavelet", "figure-3"): "holds 1, contradicted 2, contradicted in some 1",
    ("wavelet", "figure-4"): "holds 4, contradicted 1",
    ("wavelet", "figure-5"): "holds 1, contradicted 4, undecided 1",
    ("wavelet", "figure-6"): "contradicted 1, contradicted in some 2",
    ("wavelet", "figure-7"): "contradicted 1, contradicted in some 2",
    ("convolution", "figure-1"): "",
    ("convolution", "figure-2"): "holds 1",
    ("convolution", "figure-3"): "holds 4",
    ("convolution", "figure-4"): "holds 4",
    ("convolution", "figure-5"): "holds 6, undecided 1",
    ("convolution", "figure-6"): "holds 5, contradicted 1, contradicted in some 1",
    ("convolution", "figure-7"): "holds 4, contradicted 1, contradicted in some 4, undecided 1",
    ("convolution", "figure-8"): "holds 7, contradicted in some 1, undecided 1",
    ("convolution", "figure-9"): "holds 4, contradicted 3, undecided 2",
    ("convolution", "figure-10"): "holds 5",
    ("convolution", "figure-10-largest"): "holds 5",
    ("compressive", "figure-1"): "",
    ("compressive", "figure-2"): "holds 3, mostly holds 1",
    ("compressive", "figure-3"): "holds 2, contradicted in some 1",
    ("compressive", "theorem-1-1"): "holds 3",
    ("functional_approximation", "figure-1"): "",
    ("functional_approximation", "figure-2"): "holds 6",
    ("functional_approximation", "figure-3"): "holds 3, undecided 1",
    ("functional_approximation", "figure-4"): "holds 1, contradicted 2",
    ("functional_approximation", "figure-5"): "holds 2, contradicted 2, contradicted in some 2",
    ("functional_approximation", "figure-6"): "contradicted 3, contradicted in some 2",
    ("functional_approximation", "figure-7"): "contradicted 4",
    ("functional_approximation", "figure-8"): "undecided 1",
    ("functional_approximation", "figure-9"): "holds 1, contradicted 1",
    ("functional_approximation", "figure-10"): "holds 3",
}
"""The verdicts on the sentences about a picture when its finding was read off it."""


@pytest.fixture(scope="module")
def every() -> list[Judged]:
    return judged()


@pytest.mark.soak
@pytest.mark.parametrize(("paper", "name"), PICTURES)
def test_a_finding_is_read_again_when_its_verdicts_change(
    paper: str, name: str, every: list[Judged]
) -> None:
    found = findings.verdicts(paper, name, every)
    assert found == READ_UNDER[paper, name], "look at the picture, then correct finding and table"


@pytest.mark.soak
def test_changed_verdicts_are_noticed(every: list[Judged]) -> None:
    fewer = [one for one in every if one.claim.where != "figure 6"]
    assert findings.verdicts("square_wave", "figure-6", fewer) != "holds 1"


@pytest.mark.parametrize("paper", drawing.PAPERS)
def test_the_pages_have_findings_as_alternative_texts(paper: str) -> None:
    page = tables.DOCS / "papers" / f"{paper.replace('_', '-')}.md"
    shown = re.findall(r"!\[([^\]]+)\]\(\S+/([\w-]+)\.png\)", page.read_text(encoding="utf-8"))
    assert {name for _, name in shown} == set(findings.FINDINGS[paper])
    for text, name in shown:
        assert " ".join(text.split()) == findings.alternative(paper, name)


@pytest.mark.parametrize(("paper", "name"), PICTURES)
def test_a_picture_is_drawn_with_its_finding(paper: str, name: str) -> None:
    picture = (drawing.FOLDER / paper / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    texts = " ".join(
        html.unescape(one) for one in re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    )
    title = findings.title(paper, name)
    assert title is not None and title in " ".join(texts.split())


@pytest.mark.parametrize(
    ("name", "part", "methods", "best", "least_epsilon"),
    [
        ("figure-5", "cells", central.OF_LAWS, central.DEFAULT, 0),
        ("figure-6", "sites", central.OF_COLUMNS, central.DEFAULT, 0),
        ("figure-7", "rounds", central.OF_COLUMNS, central.DEFAULT, 0),
        ("figure-9", "cells", central.OF_DICTIONARIES[1:], central.OF_DICTIONARIES[0], 0.2),
    ],
)
def test_the_best_of_a_picture_is_the_one_of_its_finding(
    name: str, part: str, methods: tuple[str, ...], best: str, least_epsilon: float
) -> None:
    picture = drawing.pictures("functional_approximation")[name]
    document = results.read(picture.benchmark)
    assert document is not None
    rows = [
        row
        for row in drawing.with_between(document["measured"], part)
        if row["column"] == "normal" and row["epsilon"] >= least_epsilon
    ]
    assert len(rows) >= 9
    for row in rows:
        for key in ("ks", "w1", "energy"):
            means = {one: row["methods"][one][key]["mean"] for one in (*methods, best)}
            assert min(means, key=lambda one: means[one]) == best
