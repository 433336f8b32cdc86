"""Compressive privatization: its matrices, what they promise, special cases, and refusals.

Privacy, reports, tallies and simulation of the exactly private forms are checked in
`tests/contracts`; here are the paper's own forms, the matrices and the bad input.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard

from lapwing import (
    Categories,
    CompressivePrivatization,
    RandomizedResponse,
    Survey,
    seeded,
    simulate,
)
from lapwing.errors import ArgumentError, DomainError, PrivacyError
from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.random_signs import unpacked
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.randomizers import HadamardResponse
from lapwing.randomizers.categorical.compressive_privatization import (
    best_weight,
    recommended_outputs,
)
from lapwing.testing.randomizer_contract import exact_law
from tests.false_alarms import accepts, multinomial_tail
from tests.rows import each

PAGES = Categories(10_000)


def published(epsilon: Any, matrix: str, seed: int = 0) -> CompressivePrivatization:
    return CompressivePrivatization(
        PAGES, epsilon, outputs=500, matrix=matrix, seed=seed, accept_epsilon=12
    )


@pytest.mark.parametrize(
    ("matrix", "epsilon", "low", "high"),
    [
        ("rademacher", 0.5, 0.575, 0.595),
        ("rademacher", 1, 1.15, 1.19),
        ("medium", 2, 2.35, 2.50),
        ("medium", 4, 5.0, 5.4),
    ],
)
def test_the_published_forms_break_their_epsilon(
    matrix: str, epsilon: float, low: float, high: float
) -> None:
    for seed in (0, 1):
        randomizer = published(epsilon, matrix, seed)
        assert low < randomizer.true_epsilon < high
        assert randomizer.guarantee.epsilon == 12
        # Lemmas 2.1 and 4.1, as far as beta is at most one: epsilon + 2 beta.
        least, most = randomizer.balance
        ideal = 250 if matrix == "rademacher" else 500 * math.exp(-epsilon)
        beta = max(most / ideal - 1, 1 - least / ideal)
        if beta <= 1:
            assert randomizer.true_epsilon <= epsilon + 2 * beta


def test_thetrue_epsilon_is_the_ratio_of_the_normalizations() -> None:
    randomizer = published(0.5, "rademacher")
    sizes = np.array(randomizer.balance)
    weights = sizes * math.exp(0.5) + 500 - sizes
    expected = 0.5 + math.log(weights[1] / weights[0])
    assert float(randomizer.true_epsilon) == pytest.approx(expected, abs=1.1e-6)


def test_the_published_form_is_refused_unless_its_epsilon_is_accepted() -> None:
    matrix = {"outputs": 100, "matrix": "rademacher"}
    with pytest.raises(PrivacyError, match=r"a true epsilon of 1\.308846") as refused:
        CompressivePrivatization(Categories(1000), 1, **matrix)
    assert 'accept_epsilon="1.308846"' in str(refused.value)
    with pytest.raises(PrivacyError, match=r"at least the true epsilon of this matrix, 1\.30"):
        CompressivePrivatization(Categories(1000), 1, **matrix, accept_epsilon="1.308845")
    accepted = CompressivePrivatization(Categories(1000), 1, **matrix, accept_epsilon="1.308846")
    assert accepted.certificate().holds
    assert accepted.guarantee.epsilon == accepted.true_epsilon == Fraction("1.308846")
    assert accepted.channel.guarantee == accepted.guarantee
    for uneven in ("banded", "scaled"):
        repaired = CompressivePrivatization(Categories(1000), 1, **matrix, uneven=uneven)
        assert repaired.certificate().holds and repaired.guarantee.epsilon == 1
        assert repaired.true_epsilon == 1


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_balanced_columns_keep_epsilon_whatever_the_seed(epsilon: float, seed: int) -> None:
    randomizer = CompressivePrivatization(PAGES, epsilon, outputs=500, seed=seed)
    sizes = unpacked(randomizer._packed, 500).sum(axis=1)
    assert (
        set(sizes.tolist()) == {randomizer._near} and randomizer.balance == (randomizer._near,) * 2
    )
    assert randomizer.certificate().holds and randomizer.true_epsilon == Fraction(str(epsilon))
    assert 0.2 < CompressivePrivatization(Categories(300), epsilon, outputs=200).coherence() < 0.9


def test_hadamard_response_is_the_case_of_hadamard_columns() -> None:
    response = HadamardResponse(Categories(10), 1, blocks=1)
    matrix = hadamard(16)[:, 1:11]
    compressed = CompressivePrivatization(Categories(10), 1, matrix=matrix)
    assert compressed._outputs == response._outputs == 16
    assert compressed._threshold == response._threshold and compressed._near == response._near
    np.testing.assert_allclose(
        dense(compressed.channel.blocks[0].operator),
        dense(response.channel.blocks[0].operator),
        rtol=1e-14,
    )
    assert compressed.coherence() == pytest.approx(0, abs=1e-6)


def test_randomized_response_is_the_case_of_single_outputs() -> None:
    response = RandomizedResponse(Categories(7), 2)
    compressed = CompressivePrivatization(Categories(7), 2, matrix=np.eye(7, dtype=int))
    assert compressed._threshold == response._threshold
    np.testing.assert_allclose(
        dense(compressed.channel.blocks[0].operator),
        dense(response.channel.blocks[0].operator),
        rtol=1e-14,
    )


def test_a_device_draws_its_own_column_and_no_other() -> None:
    device = CompressivePrivatization(Categories(20_000), 1, outputs=1000, seed=5)
    server = CompressivePrivatization(Categories(20_000), 1, outputs=1000, seed=5)
    data = device.randomize([12_345], rng=seeded(1)).data
    assert "_packed" not in device.__dict__
    assert device.fingerprint == server.fingerprint
    assert server._packed.shape == (20_000, 125)
    np.testing.assert_array_equal(server.randomize([12_345], rng=seeded(1)).data, data)


def test_one_matrix_in_all_its_forms_and_through_a_survey() -> None:
    signs = np.where(
        unpacked(CompressivePrivatization(Categories(20), 1, outputs=12)._packed, 12), 1, -1
    ).T
    forms = [signs, signs.tolist(), (signs + 1) // 2, signs > 0, signs.astype(float)]
    made = [CompressivePrivatization(Categories(20), 1, matrix=form) for form in forms]
    text = made[0].matrix
    made.append(CompressivePrivatization(Categories(20), 1, matrix=list(text), outputs=12))
    assert len({randomizer.fingerprint for randomizer in made}) == 1
    np.testing.assert_array_equal(unpacked(made[0]._packed, 12).T, signs > 0)
    survey = Survey("page", made[0])
    assert Survey.from_json(survey.to_json()).randomizer == made[0]
    survey = Survey("page", published(0.5, "rademacher"))
    assert Survey.from_json(survey.to_json()).guarantee.epsilon == 12


def test_a_column_without_ones_or_with_all_is_reported_uniformly() -> None:
    matrix = [[1, 1, 0, 0], [1, 0, 0, 1], [1, 0, 0, 1]]
    randomizer = CompressivePrivatization(Categories(4), 1, matrix=matrix, uneven="banded")
    assert randomizer.balance == (0, 3)
    assert randomizer._thresholds["0"] == 0 and randomizer._thresholds["3"] == 2**64
    for symbol in (0, 2):
        law = exact_law(randomizer, symbol)
        assert law == {bytes([code]): Fraction(1, 3) for code in range(3)}
        data = randomizer.randomize([symbol] * 3000, rng=seeded(symbol)).data
        assert accepts(multinomial_tail(np.bincount(data[:, 0], minlength=3), np.full(3, 1 / 3)))
        tally = simulate(randomizer, 3000 * np.eye(4, dtype=np.int64)[symbol], rng=1)
        assert accepts(multinomial_tail(tally.blocks[0], np.full(3, 1 / 3)))
    assert randomizer.certificate().ratio <= exponential_bounds(Fraction(1))[0]


def test_a_report_has_the_bits_of_the_outputs() -> None:
    assert CompressivePrivatization(PAGES, 1, outputs=256).report_width == 1
    compressed = CompressivePrivatization(PAGES, 1, outputs=500)
    assert compressed.report_width == 2 and (compressed._outputs - 1).bit_length() == 9


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 4, 8])
@pytest.mark.parametrize("outputs", [2, 3, 20, 500])
def test_the_weight_has_the_least_variance(epsilon: float, outputs: int) -> None:
    def variance(ones: int) -> float:
        own = ones * math.exp(epsilon) / (ones * math.exp(epsilon) + outputs - ones)
        other = ones / outputs
        return other * (1 - other) / (own - other) ** 2

    best = min(range(1, outputs), key=variance)
    assert variance(best_weight(outputs, epsilon)) == pytest.approx(variance(best))


def test_outputs_follow_from_the_sparsity_by_rule() -> None:
    assert recommended_outputs(10_000, 10, 0.5) == math.ceil(40 * math.log(1000)) == 277
    assert recommended_outputs(10_000, 10, 4) == math.ceil(8 * (math.exp(4) + 1))
    assert recommended_outputs(50, 10, 0.5) == 50
    assert CompressivePrivatization(PAGES, 0.5, sparsity=10).outputs == 277
    assert CompressivePrivatization(PAGES, 0.5, outputs=300, sparsity=10).outputs == 300


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({}, ArgumentError, "outputs must be given, or sparsity"),
    (
        {"outputs": 41},
        ArgumentError,
        "outputs must be from 2 to 40, the number of s",
    ),
    ({"outputs": 1}, ArgumentError, "outputs must be from 2 to 40"),
    ({"outputs": 10, "sparsity": 11}, ArgumentError, "sparsity must be at most the 10 outputs"),
    ({"outputs": 10, "weight": 10}, ArgumentError, "weight must be a whole number from 1 to 9"),
    ({"outputs": 10, "matrix": "hadamard"}, ArgumentError, "matrix must be one of balanced"),
    ({"outputs": 10, "uneven": "banded"}, ArgumentError, "epsilon already holds"),
    ({"outputs": 10, "accept_epsilon": 2}, ArgumentError, "epsilon already holds"),
    (
        {"outputs": 10, "matrix": "medium", "weight": 3},
        ArgumentError,
        "weight is the size of balanced high-probability output sets",
    ),
    (
        {"outputs": 10, "matrix": "medium", "uneven": "banded", "accept_epsilon": 3},
        ArgumentError,
        "Give only one of them",
    ),
    (
        {"matrix": np.ones((5, 40), dtype=int), "seed": 3},
        ArgumentError,
        "seed is for drawing a matrix",
    ),
    ({"matrix": np.ones((5, 39), dtype=int)}, ArgumentError, r"got shape \(5, 39\)"),
    (
        {"matrix": np.ones((5, 40), dtype=int), "outputs": 6},
        ArgumentError,
        r"a row for each output \(6\)",
    ),
    ({"matrix": np.ones(40, dtype=int)}, ArgumentError, r"of shape \(40,\)"),
    ({"matrix": np.full((5, 40), 0.5)}, ArgumentError, "The one in row 0, column 0 is not"),
    (
        {"matrix": np.where(np.eye(40), 2, 1)},
        ArgumentError,
        "all .1 or -1, or all 1 or 0. The one in row 0, column 0 is not",
    ),
    ({"matrix": [[1, 0], [1]]}, ArgumentError, "matrix must have rows of equal lengths"),
    ({"matrix": np.full((5, 40), np.nan)}, ArgumentError, "The one in row 0, column 0 is not"),
    ({"matrix": [["a"] * 40] * 3}, ArgumentError, "matrix must be numbers"),
    ({"matrix": ["01"] * 40}, ArgumentError, "needs the number of its outputs"),
    ({"matrix": ["01"] * 39, "outputs": 5}, ArgumentError, "a column for each of the 40 symbols"),
    ({"matrix": ["01"] * 39 + ["2f"], "outputs": 5}, ArgumentError, "column 39 of the matrix"),
    ({"matrix": ["0g"] * 40, "outputs": 5}, ArgumentError, "column 0 of the matrix"),
    ({"matrix": ["0F"] * 40, "outputs": 5}, ArgumentError, "column 0 of the matrix"),
    ({"matrix": [3] + ["01"] * 39, "outputs": 5}, ArgumentError, "column 0 of the matrix"),
    ({"matrix": np.ones((5, 40), dtype=int)}, PrivacyError, "does not distinguish the symbols"),
    ({"matrix": np.tri(5, 40, dtype=int)}, PrivacyError, "output sets must be of one size"),
    ({"outputs": 10, "accept_epsilon": -1}, PrivacyError, "epsilon must be greater than 0"),
]


@each(("knobs", "error", "match"), BAD)
def test_bad_input_is_refused(knobs: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        CompressivePrivatization(Categories(40), 1, **knobs)


def test_sizes_that_cannot_be_worked_with_are_refused_before_any_work() -> None:
    with pytest.raises(DomainError, match="symbols times outputs must be at most"):
        CompressivePrivatization(Categories(2**40), 1, outputs=1000)
    with pytest.raises(DomainError, match="at least 2 symbols"):
        CompressivePrivatization(Categories(1), 1, outputs=2)


def test_an_uneven_matrix_has_no_one_size() -> None:
    with pytest.raises(ArgumentError, match="See `balance`"):
        _ = published(1, "medium")._near
