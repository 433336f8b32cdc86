"""What a notebook shows of a survey, a domain, a tally, a publication and a ledger."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.privacy.ledger import Ledger

DOMAIN = lw.Interval(0, 100, bins=10)
PROMISE = lw.Guarantee("1", "0", "replace-one", "local")


def table(shown: object) -> str:
    html = shown._repr_html_()  # type: ignore[attr-defined]
    assert html.startswith("<table>") and html.endswith("</table>")
    return str(html)


def test_what_both_sides_agree_on() -> None:
    survey = lw.Survey("<b>age</b>", lw.recommend(DOMAIN, epsilon=2, users=1000))
    tally = survey.tally(survey.randomize(np.arange(100.0)))
    assert "interval 0 to 100" in table(DOMAIN)
    shown = table(survey)
    assert "&lt;b&gt;age&lt;/b&gt;" in shown and "<b>" not in shown
    assert "epsilon = 2" in shown and survey.fingerprint in shown
    assert ">100<" in table(tally) and survey.fingerprint in table(tally)


@pytest.mark.parametrize(
    "domain", [lw.Categories(20_000), lw.Categories([f"label {n}" for n in range(500)])]
)
def test_long_lists_stay_short(domain: lw.Categories) -> None:
    assert len(table(domain)) < 600 and len(repr(domain)) < 600
    survey = lw.Survey("x", lw.recommend(domain, epsilon=2, users=1000), segments=["a", "b"])
    assert "Shown from" in table(survey) and len(table(survey)) < 2000


def test_a_publication_and_a_release_by_segment() -> None:
    values, places = np.arange(2000) % 100, np.array(["north", "south"])[np.arange(2000) % 2]
    made = lw.release(values, DOMAIN, epsilon=2, neighbors="replace-one")
    assert "median" in table(made) and "epsilon = 2" in table(made)
    parts = lw.release(
        values, DOMAIN, epsilon=2, neighbors="replace-one", by=places, segments=["north", "south"]
    )
    assert "segment north" in table(parts) and "about" in table(parts)


def test_a_ledger_says_budget_payments_and_what_is_left() -> None:
    ledger = Ledger(lw.Guarantee("50", "0", "replace-one", "local"))
    assert "nothing" in table(ledger)
    for number in range(25):
        ledger = ledger.spend(f"week {number}", PROMISE)
    shown = table(ledger)
    assert "payment 25: week 24" in shown and "week 4<" not in shown
    assert "5, not shown" in shown and "epsilon = 25" in shown
