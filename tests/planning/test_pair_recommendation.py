"""Recommendations for pairs: what is chosen, and whether the predicted errors hold."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, MismatchError
from lapwing.planning.pair_recommendation import (
    pair_table,
    rectangle_error,
    reference_pairs,
    simulated_pair_errors,
)
from lapwing.randomizers.joint.multiscale_boxes import MultiscaleBoxes

SQUARE = lw.Product(x=lw.Integers(0, 31, outside="clip"), y=lw.Integers(0, 31, outside="clip"))


def test_the_mixture_and_the_prior_are_recommended_and_the_cost_of_a_joint_question_is_said() -> (
    None
):
    plan = lw.recommend(SQUARE, epsilon=1, users=20_000)
    assert isinstance(plan.randomizer, MultiscaleBoxes)
    assert plan.decoder.name == "log-density-prior" and plan.predicted_by == "table"
    assert "1.5 times" in plan.reason
    assert "rectangle" in str(plan)


@pytest.mark.parametrize(("epsilon", "most_coarse"), [(1, 149_999), (1.5, 66_666), (0.75, 266_666)])
def test_many_people_get_finer_blocks(epsilon: float, most_coarse: int) -> None:
    """The blocks follow the people who are expected, whom the caller names."""
    coarse, fine = (
        lw.recommend(SQUARE, epsilon=epsilon, users=users).randomizer
        for users in (most_coarse, most_coarse + 1)
    )
    assert coarse == MultiscaleBoxes(SQUARE, epsilon)
    few, many = (
        {(kind, tuple(sizes)): share for kind, sizes, share in one.to_document()["components"]}
        for one in (coarse, fine)
    )
    assert ("blocks", (4, 4)) in many.keys() - few.keys()
    assert many.get(("blocks", (4, 16)), 0) < few["blocks", (4, 16)]


def test_a_number_of_people_changes_no_blocks_where_nothing_is_gained() -> None:
    assert lw.recommend(SQUARE, epsilon=2, users=10**6).randomizer == MultiscaleBoxes(SQUARE, 2)
    mixed = lw.Product(region=lw.Categories(["a", "b", "c"]), delay=lw.Integers(0, 15))
    assert lw.recommend(mixed, epsilon=1, users=10**6, repeats=1).randomizer == MultiscaleBoxes(
        mixed, 1
    )


def test_people_who_are_needed_for_a_small_error_are_asked_by_finer_blocks() -> None:
    plan = lw.recommend(SQUARE, epsilon=1, error=0.004)
    assert plan.users > 150_000
    assert plan.randomizer == lw.recommend(SQUARE, epsilon=1, users=plan.users).randomizer
    assert plan.randomizer != MultiscaleBoxes(SQUARE, 1)


def test_axes_without_bins_get_about_64() -> None:
    open_axes = lw.Product(delay=lw.Interval(0, 60), hour=lw.Integers(0, 23))
    plan = lw.recommend(open_axes, epsilon=1, users=1000)
    assert plan.randomizer.domain.shape == (62, 24)
    assert "delay: The interval is cut into 60 bins" in plan.reason


def test_errors_fall_with_epsilon_and_with_people() -> None:
    table = pair_table()
    errors = np.array(
        [
            [
                list(table.at(epsilon=epsilon, users=users)["rectangle"].values())
                for users in (500, 5e3, 1e5, 1e7)
            ]
            for epsilon in (0.2, 0.5, 1.3, 2.5, 6, 20)
        ]
    )
    assert (np.diff(errors, axis=0) <= 1e-12).all() and (np.diff(errors, axis=1) <= 0).all()


def test_the_table_holds_what_a_simulation_of_other_people_finds() -> None:
    """Within a factor of 1.5, of one repeat each; a table of epsilon 4 for 2 is far outside."""
    domain = lw.Product(x=lw.Integers(0, 63, outside="clip"), y=lw.Integers(0, 63, outside="clip"))
    found = simulated_pair_errors(
        MultiscaleBoxes(domain, 2),
        users=20_000,
        pairs=reference_pairs(domain.shape),
        repeats=1,
        seed=9,
    )
    mean = np.mean([np.mean(each) for each in found.values()])
    right, wrong = (
        np.mean(list(pair_table().at(epsilon=e, users=20_000)["rectangle"].values()))
        for e in (2, 4)
    )
    assert 1 / 1.5 < mean / right < 1.5
    assert not 1 / 1.5 < mean / wrong < 1.5


def test_people_for_an_error_meet_it() -> None:
    plan = lw.recommend(SQUARE, epsilon=1, error=0.01)
    again = lw.recommend(SQUARE, epsilon=1, users=plan.users)
    assert again.expected_error["rectangle"].typical <= 0.01
    fewer = lw.recommend(SQUARE, epsilon=1, users=plan.users * 9 // 10)
    assert fewer.expected_error["rectangle"].typical > 0.01


def test_a_pair_that_is_named_is_simulated() -> None:
    mass = np.outer(np.arange(1, 17), np.ones(16))
    small = lw.Product(x=lw.Integers(0, 15), y=lw.Integers(0, 15))
    plan = lw.recommend(small, epsilon=2, users=5000, like=mass, repeats=1)
    assert plan.predicted_by == "simulation"
    assert 0 < plan.expected_error["rectangle"].typical < 0.1
    joint = lw.results.JointDistribution(small, (mass / mass.sum()).ravel())
    same = lw.recommend(small, epsilon=2, users=5000, like=joint, repeats=1)
    assert same.expected_error["rectangle"] == plan.expected_error["rectangle"]
    with pytest.raises(MismatchError):
        lw.recommend(SQUARE, epsilon=2, users=5000, like=joint)
    with pytest.raises(ArgumentError, match="256 masses"):
        lw.recommend(small, epsilon=2, users=5000, like=[1.0, 2.0])


def test_a_label_and_an_interval_are_simulated() -> None:
    mixed = lw.Product(region=lw.Categories(["a", "b", "c"]), delay=lw.Integers(0, 15))
    plan = lw.recommend(mixed, epsilon=2, users=5000)
    assert plan.predicted_by == "simulation" and isinstance(plan.randomizer, MultiscaleBoxes)


def test_two_labels_get_a_randomizer_of_labels() -> None:
    labels = lw.Product(a=lw.Categories(["x", "y"]), b=lw.Categories(["u", "v", "w"]))
    plan = lw.recommend(labels, epsilon=1, users=1000)
    assert plan.randomizer.name == "randomized-response"
    assert plan.decoder.name == "log-density-prior"


@pytest.mark.parametrize(
    "more", [{"kind": "smooth"}, {"distance": "wasserstein"}, {"report_bytes": 2}]
)
def test_what_is_for_one_attribute_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(ArgumentError):
        lw.recommend(SQUARE, epsilon=1, users=1000, **more)


def test_the_error_of_rectangles_is_that_of_their_sums() -> None:
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(12)).reshape(3, 4)
    assert rectangle_error(truth, truth) == 0
    moved = truth.copy()
    moved[0, 0] += 0.1
    moved[2, 3] -= 0.1
    error = rectangle_error(moved, truth)
    # Rectangles that hold one of the two corners are off by .1, others not at all.
    assert 0.02 < error < 0.1


@pytest.mark.parametrize(("bins", "epsilon", "told"), [(150, 1, False), (250, 4, True)])
def test_more_cells_than_decode_in_time_are_told_with_the_seconds(
    bins: int, epsilon: float, told: bool
) -> None:
    axis = lw.Integers(1, bins, outside="clip")
    plan = lw.recommend(lw.Product(x=axis, y=axis), epsilon=epsilon, users=10_000)
    sentence = (
        "A decode of 62,500 cells takes about 33 seconds. A collector takes at most 37,332 cells"
    )
    assert (sentence in plan.reason) is told and ("seconds" in plan.reason) is told
