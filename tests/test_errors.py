"""The tree of errors: what its docstring draws is what the classes are."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from lapwing import errors


def classes() -> dict[str, type]:
    return {
        name: made
        for name, made in vars(errors).items()
        if isinstance(made, type) and made.__module__ == errors.__name__
    }


def drawn() -> dict[str, tuple[str, str | None]]:
    """Return, for every class in the docstring's tree, its parent and its built-in base."""
    found: dict[str, tuple[str, str | None]] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.fullmatch(r"([ │├└─]*)(\w+(?:Error|Warning))(?: \((\w+)\))?(?: {2,}\S.*)?", line)
        if match is None:
            continue
        indent, name, builtin = len(match[1]), match[2], match[3]
        above = [(depth, parent) for depth, parent in above if depth < indent]
        found[name] = (above[-1][1] if above else "Exception", builtin)
        above.append((indent, name))
    return found


def test_the_docstring_draws_every_class() -> None:
    assert drawn().keys() == classes().keys()
    assert len(drawn()) >= 15


@pytest.mark.parametrize("name", classes())
def test_the_tree_is_as_drawn(name: str) -> None:
    parent, builtin = drawn()[name]
    bases = [base.__name__ for base in classes()[name].__bases__]
    if parent == "Exception":
        assert bases == [builtin or "Exception"]
    else:
        assert bases == [parent, *([builtin] if builtin else [])]


@pytest.mark.parametrize("name", ["DomainError", "ReportError"])
def test_positions_are_kept(name: str) -> None:
    made = classes()[name]
    assert made("x").position is None
    assert made("x", position=3).position == 3


def test_a_torn_file_says_what_is_intact() -> None:
    error = errors.TornFileError("torn", path=Path("a.lwr"), block=2, intact=7)
    assert (error.path, error.block, error.intact, str(error)) == (Path("a.lwr"), 2, 7, "torn")


def test_a_missing_extra_names_its_install_line() -> None:
    error = errors.MissingExtraError("pyarrow", extra="data")
    assert (error.package, error.extra) == ("pyarrow", "data")
    assert "pyarrow" in str(error) and str(error).endswith(": pip install '.[data]'")


@pytest.mark.parametrize("name", classes())
def test_errors_travel_between_processes(name: str) -> None:
    keywords: dict[str, dict[str, object]] = {
        "TornFileError": {"path": Path("a.lwr"), "block": 2, "intact": 7},
        "MissingExtraError": {"extra": "data"},
        "DomainError": {"position": 3},
    }
    error = classes()[name]("text", **keywords.get(name, {}))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is classes()[name] and again.args == error.args
    assert str(again) == str(error) and again.__dict__ == error.__dict__


@pytest.mark.parametrize("name", ["ArgumentError", "PrivacyError", "DomainError", "CollectorError"])
def test_an_error_about_an_argument_is_data(name: str) -> None:
    error = classes()[name]("limit", "must be at least 1", "0", "Leave it out")
    assert isinstance(error, errors.LapwingError)
    assert str(error) == "limit must be at least 1, got 0. Leave it out" == error.args[0]
    data = (error.argument, error.requirement, error.received, error.advice)
    assert data == ("limit", "must be at least 1", "0", "Leave it out")
    again = pickle.loads(pickle.dumps(error))
    assert again.worded(lambda argument: f"--{argument}").startswith("--limit must be")


def test_other_words_for_arguments_change_no_other_word() -> None:
    def typed(argument: str) -> str:
        return f"--{argument.replace('_', '-')}"

    error = errors.ArgumentError(
        "low", "must be below high", "low_or_high", "Pass high_end=2", others=("high", "high_end")
    )
    assert (
        error.worded() == str(error) == ("low must be below high, got low_or_high. Pass high_end=2")
    )
    assert error.worded(typed) == ("--low must be below --high, got low_or_high. Pass --high-end=2")
    sentence = errors.ArgumentError("low must be below high")
    assert sentence.argument is None and sentence.worded(typed) == str(sentence)
    assert errors.ArgumentError("low", "must be given").worded(typed) == "--low must be given"
