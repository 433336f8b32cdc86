"""A survey that asks questions, for the engines: its mixture has cells, points and the curve."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

import lapwing as lw
from lapwing.documents import canonical
from lapwing.protocol.messages.reports import Reports

QUESTIONS = ("share above 50000", "histogram edges 0 20000 50000 500000", "mean", "curve")
PEOPLE = 3000
INCOMES = np.random.default_rng(7).lognormal(10.4, 0.8, PEOPLE).clip(0, 499_000).round()


def asked_survey() -> lw.Survey:
    """Return the survey, as a file has it."""
    domain = lw.Interval(0, 500_000)
    best = lw.recommend(domain, epsilon=4, users=PEOPLE, questions=QUESTIONS)
    survey = lw.Survey.from_json(lw.Survey("income", best).to_json())
    kinds = {kind for kind, *_ in survey.randomizer.components}  # type: ignore[attr-defined]
    assert {"cells", "wave"} <= kinds and len(survey.questions) == len(QUESTIONS)
    return survey


def table_of(reports: Reports) -> pa.Table:
    """Return reports as a table of one column."""
    return pa.table({"report": pa.array(map(bytes, reports.data), pa.binary())})


def check_same(survey: lw.Survey, counted: Any, reports: Reports) -> None:
    """Check that a tally of an engine has the bytes and the answers of the library."""
    own = survey.tally(reports)
    assert canonical(counted.to_document()) == canonical(own.to_document())
    one, other = (survey.decode(each) for each in (counted, own))
    for question in survey.questions:
        said, known = (each.answer(question).to_document() for each in (one, other))
        assert said["value"] is not None and json.dumps(said) == json.dumps(known)
