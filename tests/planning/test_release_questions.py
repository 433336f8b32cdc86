"""Expected errors of released answers are those of real releases."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError
from lapwing.mechanisms.question_draws import QuestionDraws, budget_shares
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.questions import read
from lapwing.results.released_answers import answer_released

DOMAIN = lw.Interval(0, 100, bins=100, outside="clip")
VALUES = np.random.default_rng(1).normal(40, 15, size=2000).clip(0, 100)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_the_errors_are_those_of_releases(relation):
    asked = ["mean", "share above 50", "histogram bins 4", "quantile 0.5"]
    like = ExactCounts.of_values(VALUES, DOMAIN).counts
    options = {"epsilon": 1, "neighbors": relation, "questions": asked}
    expected = lw.expected_error(DOMAIN, VALUES.size, like=like[: DOMAIN.size + 1], **options)
    draws = QuestionDraws(
        DOMAIN.for_curator(),
        lw.privacy.Promise(relation, epsilon=1),
        budget_shares([*map(read, asked)], None),
    )
    counts = ExactCounts.of_values(VALUES, draws.counted)
    releases = [draws.draw(counts, lw.seeded(seed)) for seed in range(500, 524)]
    edges = [0, 25, 50, 75, 100]
    truths = {
        "mean": VALUES.mean(),
        "share above 50": (VALUES > 50).mean(),
        "histogram bins 4": np.histogram(VALUES, edges)[0] / VALUES.size,
    }
    for question, truth in truths.items():
        errors = [answer_released(each, question).value - truth for each in releases]
        real = np.sqrt(np.mean(np.square(errors)))
        assert 0.65 < expected.questions[question].typical / real < 1.5
    ranks = [
        (answer_released(each, "quantile 0.5").value >= VALUES).mean() - 0.5 for each in releases
    ]
    wide = np.sqrt(np.mean(np.square(ranks)))
    # A bin holds 2% of the people: ranks within it do not count as errors.
    assert expected.questions["quantile 0.5"].typical < wide + 0.01 < 0.04


def test_a_segment_has_its_part_of_the_people():
    options = {"epsilon": 1, "neighbors": "add-or-remove-one", "questions": ["mean"]}
    whole = lw.expected_error(DOMAIN, 1000, **options)
    half = lw.expected_error(DOMAIN, 2000, segments=["a", "b"], **options)
    assert half.questions["mean"].typical == pytest.approx(whole.questions["mean"].typical, rel=0.3)
    with pytest.raises(ArgumentError, match="curve alone"):
        lw.expected_error(DOMAIN, 1000, **options | {"questions": ["curve"]})


def test_a_larger_share_of_the_budget_has_a_smaller_error():
    options = {"epsilon": 1, "neighbors": "replace-one", "questions": ["mean", "share above 50"]}
    large, small = (
        lw.expected_error(DOMAIN, 1000, shares=shares, **options).questions["mean"].typical
        for shares in (["0.9", "0.1"], ["0.1", "0.9"])
    )
    assert 6 < small / large < 12
