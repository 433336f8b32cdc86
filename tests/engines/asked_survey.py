"""A survey that asks questions, for the engines: its mixture has cells, points and the curve."""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import lapwing as lw
from lapwing.documents import canonical
from lapwing.errors import LimitedWarning
from lapwing.protocol.messages.reports import Reports

QUESTIONS = ("share above 50000", "histogram edges 0 20000 50000 500000", "mean", "curve")
PEOPLE = 3000
INCOMES = np.random.default_rng(7).lognormal(10.4, 0.8, PEOPLE).clip(0, 499_000).round()


@cache
def asked_survey() -> lw.Survey:
    """Return the survey, as a file has it."""
    domain = lw.Interval(0, 500_000, bins=50)
    best = lw.recommend(domain, epsilon=4, users=PEOPLE, questions=QUESTIONS)
    survey = lw.Survey.from_json(lw.Survey("income", best).to_json())
    kinds = {kind for kind, *_ in survey.randomizer.components}  # type: ignore[attr-defined]
    assert {"cells", "wave"} <= kinds and len(survey.questions) == len(QUESTIONS)
    return survey


WAYS = [["bus", "car", "walk", "bike", "walk"][row * 31 % 5] for row in range(PEOPLE)]
"""Two fifths walk."""


@cache
def label_survey(*more: str) -> lw.Survey:
    """Return a survey that asks for the share of one label, as a file has it.

    more: Further questions, such as "curve".
    """
    labels = lw.Categories(["bike", "bus", "car", "ferry", "taxi", "train", "tram", "walk"])
    questions = ["share label walk", *more]
    best = lw.recommend(labels, epsilon=2, users=PEOPLE, questions=questions)
    assert isinstance(best.randomizer, lw.randomizers.AskedLabels)
    return lw.Survey.from_json(lw.Survey("way", best).to_json())


ASKED = {
    "income": (asked_survey, INCOMES),
    "label": (label_survey, WAYS),
    "label and curve": (lambda: label_survey("curve"), WAYS),
}
"""Surveys that ask, and the values of their people."""


def table_of(reports: Reports) -> pa.Table:
    """Return reports as a table of one column."""
    return pa.table({"report": pa.array(map(bytes, reports.data), pa.binary())})


def check_same(survey: lw.Survey, counted: Any, reports: Reports) -> None:
    """Check that a tally of an engine has the bytes and the answers of the library."""
    own = survey.tally(reports)
    assert canonical(counted.to_document()) == canonical(own.to_document())
    one, other = (survey.decode(each) for each in (counted, own))
    for question in survey.questions:
        with warnings.catch_warnings():
            # Noise may put somebody outside the range.
            warnings.simplefilter("ignore", LimitedWarning)
            said, known = (each.answer(question).to_document() for each in (one, other))
        assert said["value"] is not None and json.dumps(said) == json.dumps(known)
        if survey.name == "way" and said["question"] == {"question": "share", "label": "walk"}:
            assert abs(said["value"] - 0.4) < 0.1  # five standard deviations
