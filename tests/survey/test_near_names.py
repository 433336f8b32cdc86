"""A name that is nearly right is told which one is near, and a right one is enough."""

import re

import pytest

import lapwing as lw
from lapwing.errors import ArgumentError
from lapwing.registry import DECODERS, MECHANISMS, RANDOMIZERS

AGES = lw.Interval(0, 100, bins=16)


@pytest.mark.parametrize(
    ("given", "near"), [("SquareWav", "SquareWave"), ("wasserstien", "lw.distances.wasserstein")]
)
def test_a_public_name(given: str, near: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no {given} \(did you mean {near}\?\)"):
        getattr(lw, given)
    assert not hasattr(lw, "__no_such_thing__")


@pytest.mark.parametrize(
    ("table", "given", "near"),
    [
        (MECHANISMS, "prefix-sum", "prefix-sums"),
        (DECODERS, "least-square", "least-squares"),
        (RANDOMIZERS, "squarewave", "square-wave"),
    ],
)
def test_a_name_in_a_table(table: object, given: str, near: str) -> None:
    with pytest.raises(ArgumentError, match=rf"did you mean {near}\?"):
        table.resolve(given)  # type: ignore[attr-defined]


def test_a_release_takes_the_name_of_a_mechanism() -> None:
    promise = {"epsilon": 1, "delta": "1e-6", "neighbors": "replace-one"}
    made = lw.release([20.0] * 50, AGES, mechanism="sum-tree", **promise)  # type: ignore[arg-type]
    assert made.release.mechanism == lw.mechanisms.SumTree()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("prefix-sum", "did you mean prefix-sums"),
        (lw.mechanisms.SumTree, "the class SumTree"),
        (1, "an int"),
        (lw.LeastSquares(), "a LeastSquares"),
    ],
)
def test_what_is_no_mechanism_is_refused_before_anything_is_paid(
    given: object, said: str, tmp_path: object
) -> None:
    promise = {"epsilon": 1, "delta": "1e-6", "neighbors": "replace-one"}
    ledger = f"{tmp_path}/none.json"
    with pytest.raises(ArgumentError, match=re.escape(said)):
        lw.release([1.0], AGES, mechanism=given, ledger=ledger, **promise)  # type: ignore[arg-type]


def test_a_class_whose_knobs_must_be_said_says_so() -> None:
    with pytest.raises(ArgumentError, match=r"ass CompressiveEstimate\(\.\.\.\)|one of"):
        DECODERS.resolve("compressive-estimate")
    assert DECODERS.resolve("least-squares") == lw.LeastSquares()
    assert isinstance(DECODERS.resolve(lw.LeastSquares()), lw.LeastSquares)
