"""What two periods of remembered answers cannot tell is refused, or said beside the answer."""

from dataclasses import replace

import pytest

from lapwing import (
    Categories,
    Difference,
    Distribution,
    RandomizedResponse,
    Rappor,
    Survey,
    seeded,
)
from lapwing.errors import MismatchError

FRESH = Survey("color", RandomizedResponse(Categories(["red", "green"]), 1))
KEPT = Survey("color", FRESH.randomizer, remembered=True)
HABIT = Survey("habit", Rappor(Categories(["red", "green"]), 1))


def decoded(survey: Survey, *, seed: int) -> Distribution:
    values = ["red", "green", "red"] * 300
    made = survey.decode(survey.tally(survey.randomize(values, rng=seeded(seed))))
    return Distribution.from_json(made.to_json())


@pytest.mark.parametrize("survey", [KEPT, HABIT])
def test_two_periods_of_remembered_answers_are_refused(survey: Survey) -> None:
    one, two = decoded(survey, seed=1), decoded(survey, seed=2)
    with pytest.raises(MismatchError, match="only who joined and who left"):
        one.difference(two)
    made = one.difference(two, people="different")
    assert made.caution is None and made.confidence_band() is not None
    assert made.guarantee is not None and made.guarantee.epsilon == 1


def test_other_pairs_are_as_they_were() -> None:
    """Two surveys, a survey that is not remembered, and a file that says nothing of it."""
    kept, other = (
        decoded(KEPT, seed=1),
        decoded(Survey("c", KEPT.randomizer, remembered=True), seed=2),
    )
    fresh = decoded(FRESH, seed=3)
    silent = replace(kept, provenance={"class": "least-squares"})
    for pair in ((kept, other), (kept, fresh), (fresh, kept), (fresh, fresh), (kept, silent)):
        made = Difference(*pair, target="empirical")
        assert made.caution is None and made.guarantee is not None
        assert made.guarantee.epsilon == 2
