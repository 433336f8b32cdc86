"""The table of exit codes: complete, and each error has exactly one."""

from __future__ import annotations

import pytest

from lapwing import errors
from lapwing.cli.program import EXIT_CODES, exit_code
from tests.cli.running import Program

RAISED = [
    made
    for made in vars(errors).values()
    if isinstance(made, type)
    and issubclass(made, errors.LapwingError)
    and made is not errors.LapwingError
]


@pytest.mark.parametrize("made", RAISED, ids=lambda made: made.__name__)
def test_every_error_has_one_row(made: type[errors.LapwingError]) -> None:
    rows = [row for row in EXIT_CODES if issubclass(made, row.errors)]
    assert len(rows) == 1, f"{made.__name__} needs one row in EXIT_CODES"
    error = made.__new__(made)
    assert exit_code(error) == rows[0].code > 1


def test_what_nobody_expects_is_1() -> None:
    assert exit_code(ValueError("x")) == exit_code(errors.LapwingError("x")) == 1


def test_codes_are_different_and_in_order() -> None:
    codes = [row.code for row in EXIT_CODES]
    assert codes == sorted(set(codes))


def test_the_help_prints_the_table(lapwing: Program) -> None:
    lines = [line.split() for line in lapwing("--help").out.splitlines()]
    for row in EXIT_CODES:
        assert [str(row.code), *row.meaning.split()] in lines
