"""What a class says to type checkers that it takes is what its constructor takes.

A dataclass whose fields keep less than its constructor takes (an epsilon is written as a text and
kept as a fraction), or whose knobs decide what it returns, says so in an `__init__` under
TYPE_CHECKING, which nothing runs.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each

SOURCE = Path(__file__).parent.parent / "src"


def _declared(text: str) -> list[tuple[str, list[ast.FunctionDef]]]:
    """Return the classes of a file that declare constructors, each with these."""
    found = []
    for made in ast.walk(ast.parse(text)) if "def __init__" in text else ():
        if not isinstance(made, ast.ClassDef):
            continue
        blocks = [part for part in made.body if isinstance(part, ast.If)]
        parts = [part for block in blocks for part in block.body]
        constructors = [
            part
            for part in parts
            if isinstance(part, ast.FunctionDef)
            and part.name == "__init__"
            # With overloads the last one is for the checker's sake, and says nothing.
            and part.args.kwarg is None
        ]
        if constructors:
            found.append((made.name, constructors))
    return found


def _parameters(constructor: ast.FunctionDef) -> dict[str, tuple[bool, Any]]:
    """Return for each parameter whether it is by keyword only, and its default."""
    given = constructor.args
    positional, absent = given.args[1:], [None] * (len(given.args) - 1 - len(given.defaults))
    found = {}
    for keyword, parameters, defaults in (
        (False, positional, [*absent, *given.defaults]),
        (True, given.kwonlyargs, given.kw_defaults),
    ):
        for parameter, default in zip(parameters, defaults, strict=True):
            written = inspect.Parameter.empty if default is None else ast.literal_eval(default)
            found[parameter.arg] = (keyword, written)
    return found


def _differences(constructors: list[ast.FunctionDef], made: type[Any]) -> list[str]:
    """Return what is declared otherwise than it is, in words."""
    real = inspect.signature(made).parameters
    every = [_parameters(one) for one in constructors]
    names = {name for one in every for name in one}
    wrong = [f"{name} is not taken or not declared" for name in names ^ set(real)]
    for one in every:
        shared = [name for name in one if name in real]
        if len(every) == 1 and shared != [name for name in real if name in one]:
            wrong.append("the order")
        for name in shared:
            keyword, default = one[name]
            by_keyword = real[name].kind is inspect.Parameter.KEYWORD_ONLY
            if keyword != by_keyword:
                wrong.append(f"{name} by keyword or not")
            left_out = default is inspect.Parameter.empty
            if not left_out and default != real[name].default:
                wrong.append(f"the default of {name}")
            if left_out and len(every) == 1 and real[name].default is not inspect.Parameter.empty:
                wrong.append(f"{name} has a default")
    return wrong


def _cases() -> list[Any]:
    return [
        pytest.param(file, name, constructors, id=name)
        for file in sorted(SOURCE.rglob("*.py"))
        for name, constructors in _declared(file.read_text("utf-8"))
    ]


@each(("file", "name", "constructors"), _cases)
def test_a_declared_constructor_is_the_real_one(
    file: Path, name: str, constructors: list[ast.FunctionDef]
) -> None:
    module = import_module(".".join(file.relative_to(SOURCE).with_suffix("").parts))
    assert _differences(constructors, getattr(module, name)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "self, domain, epsilon, *, width=None",
        "self, domain, epsilon, *, width=None, grid=None, more=1",
        "self, domain, epsilon, width=None, *, grid=None",
        "self, domain, epsilon, *, width=None, grid=1",
        "self, epsilon, domain, *, width=None, grid=None",
        "self, domain, epsilon, *, width, grid=None",
    ],
)
def test_another_constructor_is_noticed(wrong: str) -> None:
    from lapwing.randomizers.numerical.square_wave import SquareWave

    text = f"class SquareWave:\n    if TYPE_CHECKING:\n        def __init__({wrong}): ..."
    ((_, constructors),) = _declared(text)
    assert _differences(constructors, SquareWave) != []
