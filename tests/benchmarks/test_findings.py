"""The titles of the papers' pictures are findings, and the pages have them as alternative texts."""

import html
import re

import pytest

from benchmarks import results, tables
from benchmarks.accuracy.papers import drawing, findings
from benchmarks.accuracy.papers.functional_approximation import (
    functional_approximation_pictures as central,
)

PICTURES = [(paper, name) for paper, found in findings.FINDINGS.items() for name in found]


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
