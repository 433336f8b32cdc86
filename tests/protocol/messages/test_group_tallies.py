"""Tallies by group: nothing is lost, nothing is mixed, and small groups are put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing import Interval, Reports, SquareWave, Survey, seeded
from lapwing.errors import ArgumentError, FormatError, ReportError, TallyError
from lapwing.protocol.messages.group_tallies import (
    MOST_GROUPS,
    OTHER,
    GroupTallies,
    count_groups,
)
from tests.mistaken import mistaken

SURVEY = Survey("age", SquareWave(Interval(0, 100, bins=16), 2))
REPORTS = SURVEY.randomize(np.linspace(0, 100, 600), rng=seeded(1))
LABELS = ["north"] * 300 + ["south"] * 200 + ["east"] * 60 + ["west"] * 40


def test_each_group_has_the_tally_of_its_own_reports() -> None:
    groups = SURVEY.tally(REPORTS, by=LABELS, minimum=100)
    assert list(groups) == ["north", "south", OTHER]
    assert groups["north"] == SURVEY.tally(REPORTS[:300])
    assert groups["south"] == SURVEY.tally(REPORTS[300:500])
    assert groups[OTHER] == SURVEY.tally(REPORTS[500:])
    assert sum(groups.values()) == SURVEY.tally(REPORTS)


@pytest.mark.parametrize(
    ("minimum", "expected"),
    [
        (1, ["east", "north", "south", "west"]),
        (60, ["east", "north", "south", OTHER]),
        (61, ["north", "south", OTHER]),
        (301, [OTHER]),
    ],
)
def test_groups_below_the_minimum_are_counted_together(minimum: int, expected: list[str]) -> None:
    groups = SURVEY.tally(REPORTS, by=LABELS, minimum=minimum)
    assert list(groups) == expected
    assert sum(tally.total for tally in groups.values()) == 600


def test_the_default_minimum_is_a_thousand() -> None:
    assert list(SURVEY.tally(REPORTS, by=LABELS)) == [OTHER]


def test_people_without_a_label_are_other_beside_a_group_of_that_name() -> None:
    labels: list[Any] = [None, float("nan"), "", "  ", "other", 7, "7", np.int64(7), True, "x"]
    groups = SURVEY.tally(REPORTS[:10], by=labels, minimum=1)
    assert {name: tally.total for name, tally in groups.items()} == {
        "7": 3,
        "True": 1,
        "x": 1,
        OTHER: 1,
        "all other": 4,
    }
    assert list(groups)[-1] == "all other"
    groups = SURVEY.tally(REPORTS[:10], by=labels, minimum=2)
    assert {name: tally.total for name, tally in groups.items()} == {"7": 3, OTHER: 7}


def test_batches_in_any_order_give_the_same_groups() -> None:
    whole = SURVEY.tally(REPORTS, by=LABELS, minimum=50)
    parts = [
        SURVEY.tally(REPORTS[start : start + 200], by=LABELS[start : start + 200], minimum=1)
        for start in (400, 0, 200)
    ]
    added = parts[0] + parts[1] + parts[2]
    assert added.total == 600 and list(added) == sorted(added.segments)
    assert GroupTallies.of_groups({**added}, minimum=50).to_json() == whole.to_json()
    assert (parts[2] + parts[1] + parts[0]).to_json() == added.to_json()


def test_illegal_input_is_refused_and_nothing_counted() -> None:
    with pytest.raises(ArgumentError, match="600 reports and 599 labels"):
        count_groups(SURVEY, REPORTS, LABELS[1:])
    with pytest.raises(ArgumentError, match="at most 1000 groups"):
        many = SURVEY.randomize(np.zeros(MOST_GROUPS + 1), rng=seeded(1))
        count_groups(SURVEY, many, range(MOST_GROUPS + 1))
    data = REPORTS.data.copy()
    data[5] = 255
    with pytest.raises(ReportError) as caught:
        count_groups(SURVEY, Reports(data, REPORTS.fingerprint), LABELS)
    assert caught.value.position == 5
    with pytest.raises(TallyError, match="at least one report"):
        GroupTallies.of_groups({})
    for minimum in (0, -1, 1.5, True):
        with pytest.raises(ArgumentError, match="minimum"):
            SURVEY.tally(REPORTS, by=LABELS, minimum=mistaken(minimum))


def test_exactly_the_most_groups_are_allowed() -> None:
    reports = SURVEY.randomize(np.zeros(MOST_GROUPS), rng=seeded(1))
    assert len(SURVEY.tally(reports, by=range(MOST_GROUPS), minimum=1)) == MOST_GROUPS


def test_a_survey_keeps_its_own_minimum_and_a_minimum_needs_segments() -> None:
    small = Survey("small", SURVEY.randomizer, segments=["a"], segment_minimum=5)
    few = REPORTS[:10].of_survey(small.fingerprint)
    assert list(small.tally(few, by=["a"] * 6 + ["b"] * 4)) == ["a", OTHER]
    assert list(SURVEY.tally(REPORTS[:10], by=["a"] * 6 + ["b"] * 4)) == [OTHER]
    with pytest.raises(ArgumentError, match="by="):
        SURVEY.tally(REPORTS, minimum=5)  # type: ignore[call-overload]


def test_a_file_of_other_tallies_is_refused() -> None:
    groups = SURVEY.tally(REPORTS, by=LABELS, minimum=50)
    document = groups.to_document()
    assert GroupTallies.from_document(document).to_json() == groups.to_json()
    first, second, *_ = document["segments"]
    foreign = Survey("another", SURVEY.randomizer)
    other = foreign.tally(REPORTS.of_survey(foreign.fingerprint)).to_document()
    for change, reason in [
        ({"segments": [second, first]}, "alphabetical order"),
        ({"segments": [first, first]}, "each once"),
        ({"segments": [{**first, "name": " a"}]}, "without blanks"),
        ({"segments": [{**first, "name": 3}]}, "must be texts"),
        ({"segments": {"a": 1}}, "must be a list"),
        ({"segments": [3]}, "must be a JSON object"),
        ({"segments": [], "rest": None}, "at least one report"),
        ({"segments": [first], "rest": other}, "of one survey"),
        ({"rest": {}}, "this must be a tally"),
    ]:
        with pytest.raises(FormatError, match=reason):
            GroupTallies.from_document(document | change)
