"""Which surveys a page in a browser can answer."""

from typing import Any

import pytest

import lapwing as lw
from lapwing.randomizers import BoxWave
from lapwing.survey.browser import why_not_in_browser

PAIRS = lw.Product(x=lw.Integers(0, 3), y=lw.Integers(0, 2))


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lw.Rappor(lw.Categories(4), 1), "does not support its randomizer, rappor"),
        (lw.RandomizedResponse(lw.Categories(2**20 + 1), 1), "at most 1,048,576 bins or labels"),
    ],
    ids=["RAPPOR", "many labels"],
)
def test_the_reason_why_a_browser_cannot_answer(made: Any, reason: str) -> None:
    found = why_not_in_browser(lw.Survey("page", made))
    assert found is not None and reason in found


@pytest.mark.parametrize(
    "made",
    [
        lw.RandomizedResponse(PAIRS, 1),
        lw.SubsetSelection(PAIRS, 1),
        BoxWave(PAIRS, 1, widths=(2, 2)),
    ],
    ids=["response", "sets", "boxes"],
)
def test_a_browser_answers_pairs(made: Any) -> None:
    assert why_not_in_browser(lw.Survey("page", made)) is None


@pytest.mark.parametrize("domain", [lw.Integers(0, 3), lw.Categories(["a", "b"])])
def test_a_browser_can_answer_the_others(domain: Any) -> None:
    assert why_not_in_browser(lw.Survey("page", lw.RandomizedResponse(domain, 1))) is None
