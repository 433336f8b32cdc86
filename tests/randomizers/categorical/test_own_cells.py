"""Cells with edges of their own: what is legal, what is exact, and what a decoder makes of it."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError, UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.papers.square_wave import TreeConsistency

LINE = lw.Interval(0, 1, bins=64, outside="clip")


def cells(*starts: int, domain: Any = LINE, epsilon: float = 1) -> lw.MultiscaleWave:
    return lw.MultiscaleWave(domain, epsilon, components=[("cells", starts, 1.0)])


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        ([0], "2 to 4096 cells, got 1"),
        ([], "increase from 0"),
        ([1, 5], "increase from 0"),
        ([0, 5, 5], "increase from 0"),
        ([0, 5.0], "increase from 0"),
        ([0, True], "increase from 0"),
        ("05", "needs the list of their first bins"),
        (2, "needs the list of their first bins"),
    ],
)
def test_cells_begin_at_increasing_bins_from_0(starts: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        lw.MultiscaleWave(LINE, 1, components=[("cells", starts, 1.0)])


def test_the_last_cell_begins_in_the_domain() -> None:
    assert cells(0, 63).groups[0].randomizer.domain.size == 2
    with pytest.raises(DomainError, match=r"must begin in 0..63"):
        cells(0, 64)


def test_a_list_and_a_tuple_are_one_survey_and_the_document_holds_the_first_bins() -> None:
    listed = lw.MultiscaleWave(LINE, 1, components=[("cells", [0, 51], 1)])
    assert listed == cells(0, 51) and hash(listed) == hash(cells(0, 51))
    document = listed.to_document()
    assert [[*row] for row in document["components"]] == [["cells", (0, 51), 1.0]] or document[
        "components"
    ] == [["cells", [0, 51], 1.0]]
    survey = lw.Survey("income", listed)
    assert lw.Survey.from_json(survey.to_json()) == survey


def test_outputs_are_cells_so_unequal_cells_have_one_worst_ratio() -> None:
    """Two cells of 1 and 63 bins: plain randomized response, as exact as that of two labels."""
    one = cells(0, 63, epsilon=2)
    plain = lw.RandomizedResponse(lw.Categories(2), 2)
    assert one.certificate().ratio == plain.certificate().ratio > Fraction(7)
    table = dense(one.channel.blocks[0].operator)
    assert table.shape == (2, 64)
    np.testing.assert_array_equal(table[:, 0], dense(plain.channel.blocks[0].operator)[:, 0])
    np.testing.assert_array_equal(table[:, 63], dense(plain.channel.blocks[0].operator)[:, 1])
    assert (table[:, :63] == table[:, :1]).all()


@pytest.mark.parametrize(
    ("number", "epsilon", "name", "width"),
    [
        (2, 0.5, "randomized-response", 2),
        (16, 1, "subset-selection", 3),
        (17, 1, "affine-subset-selection", 3),
        (32, 4, "randomized-response", 2),
    ],
)
def test_the_randomizer_is_that_of_least_variance(
    number: int, epsilon: float, name: str, width: int
) -> None:
    made = cells(*range(number), epsilon=epsilon)
    assert made.groups[0].randomizer.name == name and made.report_width == width


def test_simulated_counts_have_the_moments_of_real_reports() -> None:
    made = cells(0, 3, 4, 30)
    people = np.zeros(64, dtype=np.int64)
    people[[2, 3, 29, 63]] = [400, 300, 200, 100]
    (block,) = made.channel.blocks
    mean, spread = block.mean(people / 1000) * 1000, np.sqrt(np.diag(_covariance(block, people)))
    for tally in (
        lw.simulate(made, people, rng=1),
        made.tally(made.randomize((np.repeat(np.arange(64), people) + 0.5) / 64, rng=lw.seeded(2))),
    ):
        assert (np.abs(tally.blocks[0] - mean) < 5 * spread).all()


def _covariance(block: Any, people: Any) -> Any:
    rows = dense(block.operator)
    return sum(
        count * (np.diag(rows[:, x]) - np.outer(rows[:, x], rows[:, x]))
        for x, count in enumerate(people.tolist())
        if count
    )


def test_a_share_at_an_edge_of_cells_is_as_exact_as_randomized_response() -> None:
    """And a share inside a cell has an interval that reaches over the cell."""
    epsilon, people = 1.0, 40_000
    rng = np.random.default_rng(4)
    values = rng.beta(2, 5, people)
    made = cells(0, 16, epsilon=epsilon)
    gains, widths = [], []
    for seed in range(20):
        tally = lw.simulate(made, np.bincount(LINE.index(values), minlength=64), rng=seed)
        result = lw.SpectralPrior().decode(made.channel, tally)
        answer = result.answer("share above 0.25")
        gains.append(answer.value - (values > 0.25).mean())
        widths.append(answer.high - answer.low)
        inside = result.answer("share above 0.5")
        assert inside.low <= (values > 0.5).mean() <= inside.high
        assert inside.high - inside.low > 3 * widths[-1]
    exact = np.exp(epsilon / 2) / (np.exp(epsilon) - 1) / np.sqrt(people)
    assert 0.6 < np.sqrt(np.mean(np.square(gains))) / exact < 1.5
    np.testing.assert_allclose(np.mean(widths), 2 * 1.96 * exact, rtol=0.15)


def test_a_tree_refuses_cells_that_are_not_its_nodes() -> None:
    """Of as many cells as a level of the tree has, but with other edges."""
    for starts, fits in (((0, 32), True), ((0, 20), False)):
        parts = [("cells", starts, 0.5), ("subset", 64, 0.5)]
        made = lw.MultiscaleWave(LINE, 1, components=parts)
        tally = lw.simulate(made, np.full(64, 10), rng=1)
        if fits:
            TreeConsistency().decode(made.channel, tally)
            continue
        with pytest.raises(UnsupportedChannelError, match="edges of their own"):
            TreeConsistency().decode(made.channel, tally)
