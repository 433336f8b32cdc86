"""Rows inside one test: every one runs, and those that fail are named."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.rows import each


def test_every_row_runs_and_failing_ones_are_named() -> None:
    seen = []

    @each(("number", "word"), [(1, "one"), (2, "two"), pytest.param(3, "three", id="the last")])
    def check(number: int, word: str) -> None:
        seen.append(word)
        assert number == 2, "not two"

    with pytest.raises(AssertionError, match=r"2 of 3 rows failed") as caught:
        check()
    assert seen == ["one", "two", "three"]
    assert "1, 'one': AssertionError: not two" in str(caught.value)
    assert "the last: " in str(caught.value) and "'two'" not in str(caught.value)
    assert isinstance(caught.value.__cause__, AssertionError)


def test_rows_of_a_function_are_computed_when_the_test_runs() -> None:
    asked = []

    def rows() -> list[int]:
        asked.append(1)
        return [1, 2]

    @each("number", rows, ids=str)
    def check(number: int) -> None:
        assert number == 1

    assert asked == []
    with pytest.raises(AssertionError, match="1 of 2 rows failed:\n  2: "):
        check()
    with pytest.raises(AssertionError, match="nothing would be checked"):
        each("number", list)(lambda number: None)()


def test_an_error_that_was_expected_and_did_not_come_fails() -> None:
    @each("value", ["1", "x"], ids=str)
    def check(value: str) -> None:
        with pytest.raises(ValueError, match="x"):
            int(value)

    with pytest.raises(AssertionError, match=r"1 of 2 rows failed:\n  1: Failed: DID NOT RAISE"):
        check()


def test_fixtures_are_left_to_pytest() -> None:
    @each("row", [1])
    def check(tmp_path: Path, row: int) -> None:
        assert tmp_path == Path("x") and row == 1

    assert [*inspect.signature(check).parameters] == ["tmp_path"]
    check(tmp_path=Path("x"))


def test_no_row_or_a_wrong_one_is_an_error() -> None:
    @each("row", [])
    def check(row: int) -> None: ...

    with pytest.raises(AssertionError, match="nothing would be checked"):
        check()
    with pytest.raises(TypeError, match="3 values for 2 arguments"):
        each("a, b", [(1, 2, 3)])
    with pytest.raises(TypeError, match="takes no other"):
        each("other", [1])(check)
    with pytest.raises(TypeError, match="no marks"):
        each("row", [pytest.param(1, marks=pytest.mark.soak)])
