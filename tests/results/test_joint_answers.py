"""What two attributes together say: points left out, questions in words, blocks of a map."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders import LogDensityPrior
from lapwing.errors import ArgumentError, LimitedWarning
from lapwing.questions import Share
from lapwing.results import JointDistribution
from lapwing.results.joint_answers import (
    FEW,
    SHRUNK,
    TOO_WIDE,
    JointRequest,
    cell_rows,
    joint_answer,
    question_rows,
    shrunk,
    unsure,
)
from lapwing.results.joint_conditions import read_joint
from lapwing.results.joint_documents import map_document
from lapwing.results.joint_uncertainty import JointUncertainty

AXES = lw.Product(x=lw.Integers(0, 9), kind=lw.Categories(["a", "b of x", "rare"]))
TABLE = np.zeros((10, 3))
TABLE[:, 0], TABLE[2:6, 1], TABLE[3:5, 2] = 0.05, 0.12, 0.01


def joint(*, spread: float = 0.001, table: Any = TABLE, domain: Any = AXES) -> JointDistribution:
    """A distribution whose cells have errors of one size, which sum to nothing."""
    draws = np.random.default_rng(1).normal(0, spread, (200, table.size)).astype(np.float32)
    draws -= draws.mean(axis=1, keepdims=True)
    law = JointUncertainty(table.ravel(), draws, "made-up")
    return JointDistribution(domain, table.ravel(), 10_000, uncertainty=law)


@pytest.mark.parametrize(("epsilon", "said"), [("0.5", True), (2, True), ("2.01", False)])
def test_a_small_epsilon_is_said_to_weaken_differences_of_conditions(
    epsilon: Any, said: bool
) -> None:
    made = replace(joint(), guarantee=lw.Guarantee(epsilon, 0, "replace-one", "local"))
    caution = joint_answer(made, JointRequest())["caution"]
    assert caution == (SHRUNK if said else None)
    exact = JointDistribution.of_counts(np.arange(30), AXES)
    assert joint_answer(exact, JointRequest())["caution"] is None
    without = replace(made, uncertainty=None)  # of another estimator, with another prior or none
    assert joint_answer(without, JointRequest())["caution"] is None


def test_the_default_shrinks_an_effect_of_a_few_hours_as_it_says() -> None:
    domain = lw.Product(
        ms=lw.Interval(0, 5000, bins=24, outside="clip"),
        hour=lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
    )
    shapes = [np.exp(-(((np.arange(24) - at) / 3) ** 2)) for at in (6, 14)]
    table = np.column_stack([shapes[6 <= hour < 10] for hour in range(24)])
    table /= table.sum()
    counts = np.random.default_rng(1).multinomial(100_000, table.ravel())
    boxes = lw.randomizers.MultiscaleBoxes(domain, 1)
    answer = LogDensityPrior().decode(boxes.channel, lw.simulate(boxes, counts, rng=1))
    ask = "mean of ms given hour at-least 06:00 below 10:00"
    row = joint_answer(answer, JointRequest(asks=(ask,)))["questions"][0]
    true, everybody = 5000 * (14.5 / 24), answer.marginal("ms").mean()
    assert everybody < row["value"] < everybody + 0.8 * (true - everybody)
    assert shrunk(answer) == SHRUNK


def test_questions_in_words_name_axes_and_conditions() -> None:
    asked = read_joint(" quantile 0.5 of x given kind label b of x ", AXES)
    assert asked.axis == "x" and asked.conditions == {"kind": Share(label="b of x")}
    assert read_joint("share x above 3 and kind label a", AXES).conditions == {
        "x": Share(above=3),
        "kind": Share(label="a"),
    }
    assert read_joint("share label a of kind", AXES).axis == "kind"
    for wrong in (
        "",
        "x",
        "mean",
        "mean of y",
        "share y above 3",
        "quantile 0.5 of x given y above 2",
    ):
        with pytest.raises(ArgumentError, match="is not a question"):
            read_joint(wrong, AXES)
    with pytest.raises(ArgumentError):
        read_joint("share x and kind label a", AXES)


def test_answers_are_those_of_the_methods() -> None:
    one = joint()
    rows = question_rows(
        one,
        JointRequest(
            asks=["mean of x given kind label a", "share x at-least 2 below 4 and kind label a",
                  "share above 3 of x", "quantile 0.25 0.75 of x"], level=0.9,
        ),
    )  # fmt: skip
    given = one.given(kind="a")
    assert rows[0]["value"] == pytest.approx(float(given.mean())) == pytest.approx(4.5)
    assert (rows[0]["low"], rows[0]["high"]) == pytest.approx(given.mean_interval(level=0.9))
    assert rows[1]["value"] == pytest.approx(0.1)
    ends = one.probability_interval(x=Share(at_least=2, below=4), kind="a", level=0.9)
    assert (rows[1]["low"], rows[1]["high"]) == pytest.approx(ends)
    assert rows[2]["value"] == pytest.approx(TABLE[4:].sum())
    assert [row["question"] for row in rows[3:]] == ["quantile 0.25 of x", "quantile 0.75 of x"]
    with pytest.raises(ArgumentError, match="axis kind"):
        question_rows(one, JointRequest(asks=["share kind above 3"]))


def test_shares_are_conditions_with_the_ends_that_they_hold() -> None:
    one = joint()
    for condition, symbols in (
        (Share(above=3), range(4, 10)),
        (Share(at_least=3, at_most=4), range(3, 5)),
        (Share(above=3, below=5), range(4, 5)),
    ):
        wanted = TABLE[list(symbols)].sum(axis=0)
        np.testing.assert_allclose(one.given(x=condition).mass, wanted / wanted.sum())
        assert one.probability(x=condition) == pytest.approx(wanted.sum())


def test_few_people_and_wide_medians_have_no_point() -> None:
    one = joint()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitedWarning)
        part = one.given(x=3)
        assert unsure(part, 0.0199, level=0.95) == FEW and unsure(part, 0.02, level=0.95) is None
    wide = joint(spread=0.06)
    assert unsure(wide.given(kind="a"), 0.5, level=0.95) == TOO_WIDE
    assert unsure(wide.given(kind="a"), 0.5, level=0.05) is None  # the level's own interval
    answer = joint_answer(wide, JointRequest(asks=["mean of x given kind label a"]))
    rows = [row for row in answer["quantiles"]["x"] if row["label"] == "a"]
    assert all(row["value"] is None and row["note"] == TOO_WIDE for row in rows)
    assert answer["questions"][0]["value"] is None and answer["questions"][0]["low"] is not None
    rare = [
        row for row in joint_answer(one, JointRequest())["quantiles"]["x"] if row["label"] == "rare"
    ]
    assert len(rare) == 3 and rare[1]["value"] is not None  # two percent of the people
    few = TABLE.copy()
    few[3:5, 2] = 0.009
    few /= few.sum()
    rows = joint_answer(joint(table=few), JointRequest())["quantiles"]["x"]
    rare = [row for row in rows if row["label"] == "rare"]
    assert all(row["value"] is row["low"] is row["high"] is None for row in rare)
    # Without intervals nothing is known to be wide: exact values are shown.
    exact = JointDistribution.of_counts(np.round(1000 * TABLE), AXES)
    assert all(row["note"] is None for row in joint_answer(exact, JointRequest())["quantiles"]["x"])


def test_blocks_of_a_map_hold_all_people_but_those_outside() -> None:
    axes = lw.Product(
        x=lw.Interval(1, 1000, bins=40, scale="log"), y=lw.Interval(0, 1, bins=5, missing="bin")
    )
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.ones(axes.size)).reshape(axes.shape)
    one = JointDistribution(axes, table.ravel())
    drawn = map_document(one)
    shares = np.array(drawn["shares"])
    assert shares.shape == (len(drawn["x"]) - 1, len(drawn["y"]) - 1) and shares.shape[0] <= 32
    assert shares.sum() == pytest.approx(table[1:-1, :-1].sum(), abs=0.02)
    assert any("missing" in words for words in drawn["not_shown"])
    same = map_document(joint(), joint())
    assert np.abs(np.array(same["shares"])).max() == 0 and np.array(same["high"]).min() > 0


def test_rows_of_cells_name_both_symbols() -> None:
    rows = cell_rows(joint())
    assert len(rows) == 30 and rows[4] == {"x": "1", "kind": "b of x", "share": 0.0}


def test_a_time_of_day_is_asked_for_its_quantile() -> None:
    clock = lw.Interval("06:00", "22:00", bins=4, unit="time-of-day")
    answer = lw.Distribution.of_counts([0, 1, 1, 0], clock).answer("quantile 0.5")
    assert answer.value == "14:00:00"
