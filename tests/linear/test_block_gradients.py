"""Block conjugate gradients against dense solutions."""

import numpy as np
import pytest

from lapwing.decoders.empirical_bayes.log_density_prior import KnownBlock, solved

RNG = np.random.default_rng(3)
SIDES = (6, 5)
ROOT = RNG.normal(size=(30, 30))
MATRIX = ROOT @ ROOT.T / 30 + np.eye(30)
DIAGONAL = np.diag(MATRIX).reshape(SIDES)


def system(stack: np.ndarray) -> np.ndarray:
    image: np.ndarray = (stack.reshape(len(stack), 30) @ MATRIX).reshape(stack.shape)
    return image


@pytest.mark.parametrize("number", [1, 4, 30, 70])
def test_solutions_are_those_of_the_matrix(number: int) -> None:
    right = RNG.normal(size=(number, *SIDES))
    found = solved(system, right, DIAGONAL, tolerance=1e-10, most=60)
    expected = np.linalg.solve(MATRIX, right.reshape(number, 30).T).T
    np.testing.assert_allclose(found.reshape(number, 30), expected, atol=1e-8)


def test_sides_that_depend_on_each_other_and_empty_ones_are_solved() -> None:
    one = RNG.normal(size=SIDES)
    right = np.array([one, 2 * one, np.zeros(SIDES), RNG.normal(size=SIDES)])
    found = solved(system, right, DIAGONAL, tolerance=1e-10, most=60)
    np.testing.assert_allclose(system(found), right, atol=1e-8)
    assert not solved(system, np.zeros((2, *SIDES)), DIAGONAL, tolerance=0.1, most=5).any()


def test_many_sides_share_their_directions() -> None:
    calls = []

    def counted(stack: np.ndarray) -> np.ndarray:
        calls.append(len(stack))
        return system(stack)

    solved(counted, RNG.normal(size=(10, *SIDES)), DIAGONAL, tolerance=1e-8, most=60)
    together = len(calls)
    calls.clear()
    solved(counted, RNG.normal(size=(1, *SIDES)), DIAGONAL, tolerance=1e-8, most=60)
    assert together <= 4 < len(calls)


def test_a_loose_tolerance_ends_early_and_is_kept() -> None:
    right = RNG.normal(size=(3, *SIDES))
    found = solved(system, right, DIAGONAL, tolerance=0.2, most=60)
    scale = np.sqrt(DIAGONAL)
    left = np.linalg.norm(((right - system(found)) / scale).reshape(3, -1), axis=1)
    asked = 0.2 * np.linalg.norm((right / scale).reshape(3, -1), axis=1)
    assert (left <= asked + 1e-12).all() and (left > 1e-6).any()


def test_a_known_block_changes_the_rounds_and_not_the_solution() -> None:
    size, known = 300, 80
    root = RNG.normal(size=(known, known)) * np.logspace(0, 1.5, known)
    steep = np.eye(size)
    steep[:known, :known] += root @ root.T
    steep += 0.1 * np.ones((size, size)) / size
    rounds = []

    def counted(stack: np.ndarray) -> np.ndarray:
        rounds[-1] += 1
        image: np.ndarray = (stack.reshape(len(stack), size) @ steep).reshape(stack.shape)
        return image

    inverse = np.linalg.inv(np.linalg.cholesky(steep[:known, :known]))
    right = RNG.normal(size=(1, 20, 15))
    for block in (None, KnownBlock(np.arange(known), inverse)):
        rounds.append(0)
        diagonal = np.diag(steep).reshape(20, 15)
        found = solved(counted, right, diagonal, tolerance=1e-10, most=500, block=block)
        expected = np.linalg.solve(steep, right.reshape(size))
        np.testing.assert_allclose(found.reshape(size), expected, atol=1e-6)
    assert rounds[1] < 10 < 60 < rounds[0], rounds
