"""Options in groups: a command is called with dataclasses, and typer sees each option of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

import lapwing.cli
from lapwing.cli.command_list import COMMANDS, PARTS, command_of
from lapwing.cli.console import Output
from lapwing.cli.option_groups import Rule, option, ungrouped
from lapwing.cli.reading.domain_options import DomainOptions
from lapwing.errors import ArgumentError

MOST_LINES = 60
MOST_PARAMETERS = 10


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Two options, one of them required, and a field that is none."""

    low: Annotated[int, typer.Option("--low", help="The lower one.")]
    high: Annotated[int, typer.Option("--from-above")] = 9
    seen: list[str] = field(default_factory=list, init=False)


@dataclass(frozen=True, kw_only=True)
class MoreEnds(Ends):
    """The same and one of its own."""

    names: Annotated[list[str] | None, typer.Option("--name")] = None


def program(command: Any) -> Any:
    app = typer.Typer()
    app.command()(ungrouped(command))
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_a_group_is_one_parameter_and_its_options_are_several() -> None:
    found: list[Any] = []

    def show(path: Annotated[str, typer.Argument()], *, ends: MoreEnds, more: bool = False) -> None:
        """Say it."""
        found.append((path, ends, more))

    run = program(show)
    assert run("a", "--low", "3", "--name", "x", "--name", "y", "--more").exit_code == 0
    assert run("b", "--from-above", "5", "--low", "-1").exit_code == 0
    assert found == [
        ("a", MoreEnds(low=3, names=["x", "y"]), True),
        ("b", MoreEnds(low=-1, high=5), False),
    ]
    assert run("c").exit_code == 2, "an option without a default is required"
    assert run("c", "--low", "3", "--seen", "x").exit_code == 2
    help_text = run("--help").output
    assert "Say it." in help_text and "The lower one." in help_text
    assert list(signature(ungrouped(show)).parameters) == ["path", "low", "high", "names", "more"]


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Options whose flags follow from their names, and others."""

    must: str = option("Required.", "TEXT", default=MISSING)
    two_words: int | None = option("Of two words.", "N")
    plain: bool = option("On or off.", default=False)
    open_end: bool | None = option("On, off or neither.")
    several: list[str] | None = option("Of other flags.", "TEXT", flags="--one -o")


def test_the_flags_of_an_option_follow_from_its_field() -> None:
    found: list[Choices] = []

    def show(*, choices: Choices) -> None:
        found.append(choices)

    run = program(show)
    assert run("--must", "a").exit_code == 0
    given = ["--two-words", "3", "--plain", "--no-open-end", "--one", "x", "-o", "y"]
    assert run("--must", "b", *given).exit_code == 0
    assert found == [
        Choices(must="a"),
        Choices(must="b", two_words=3, plain=True, open_end=False, several=["x", "y"]),
    ]
    assert run().exit_code == 2, "an option without a default is required"
    assert run("--must", "c", "--no-plain").exit_code == 2, "a switch has no opposite"
    assert "Of two words." in run("--help").output


def test_a_group_may_hold_an_option_of_its_own_name() -> None:
    found: list[Ends] = []

    def show(*, low: Ends) -> None:
        found.append(low)

    assert program(show)("--low", "3").exit_code == 0
    assert found == [Ends(low=3)]


def test_every_call_has_an_output_of_its_own() -> None:
    found: list[Output] = []

    def show(*, out: Output) -> None:
        found.append(out)

    run = program(show)
    run("--json")
    run("--quiet")
    assert [(out.as_json, out.quiet) for out in found] == [(True, False), (False, True)]
    assert found[0].warnings is not found[1].warnings


EVERY = [(name, None) for name in COMMANDS if name not in PARTS]
EVERY += [(name, part) for name, parts in PARTS.items() for part in parts]


@pytest.mark.parametrize(("name", "part"), EVERY)
def test_no_option_is_declared_twice(name: str, part: str | None) -> None:
    named: list[str] = []
    for parameter in signature(ungrouped(command_of(name, part))).parameters.values():
        (declared,) = parameter.annotation.__metadata__
        if isinstance(declared, typer.models.OptionInfo):
            assert isinstance(declared.default, str), "each says its name"
            named += [declared.default, *(declared.param_decls or ())]
        assert parameter.kind is Parameter.KEYWORD_ONLY
    assert len(named) == len(set(named))


# Domains: declared once


def test_an_interval_whose_bins_nobody_names_gets_those_that_suit() -> None:
    with pytest.raises(ArgumentError, match="Add --bins"):
        DomainOptions(low="0", high="8").domain_and_note(bins=None)
    domain, note = DomainOptions(low="0", high="8").domain_and_note(bins=16)
    assert (domain.size, note) == (16, "The interval is cut into 16 bins of width 0.5.")
    domain, note = DomainOptions(low="0", high="8", bins=4).domain_and_note(bins=16)
    assert (domain.size, note) == (4, "")
    domain, note = DomainOptions(categories="a,b").domain_and_note(bins=16)
    assert (domain.size, note) == (2, "")


# Options that need or exclude each other

NAMES = {"first": "--first", "second": "--set", "third": "THIRD"}


@pytest.mark.parametrize(
    ("rule", "typed", "advice"),
    [
        (Rule("first", "is odd", needs=("second",)), ["first"], "Add --set"),
        (Rule("first", "is odd", needs=("second", "third")), ["first"], "Add --set or THIRD"),
        (Rule("first", "is odd", needs=("second", "third")), ["first", "third"], None),
        (Rule("first", "is odd", needs=("second",)), ["third"], None),
        (Rule("first", "is odd", excludes=("second",)), ["first", "third"], None),
        (
            Rule("first", "is odd", excludes=("third", "second")),
            ["first", "third"],
            "Leave out THIRD",
        ),
        (Rule("first", "is odd", only=("second",)), ["second", "first", "output", "force"], None),
        (
            Rule("first", "is odd", only=()),
            ["second", "first", "third"],
            "Leave out --set and THIRD",
        ),
    ],
)
def test_a_rule_says_what_to_add_or_to_leave_out(
    rule: Rule, typed: list[str], advice: str | None
) -> None:
    if advice is None:
        return rule.check(typed, NAMES)
    with pytest.raises(ArgumentError) as caught:
        rule.check(typed, NAMES)
    assert (caught.value.argument, caught.value.advice) == ("first", advice)
    return None


def test_a_rule_without_an_option_always_holds() -> None:
    rule = Rule("", "give one", needs=("first", "second"))
    rule.check(["second"], NAMES)
    with pytest.raises(ArgumentError, match=r"^give one$"):
        rule.check(["third"], NAMES)


@pytest.mark.parametrize(("name", "part"), EVERY)
def test_every_rule_is_about_options_of_its_command(name: str, part: str | None) -> None:
    function = command_of(name, part)
    known = {*signature(ungrouped(function)).parameters, ""}
    for rule in function.__globals__.get("RULES", ()):
        assert {rule.option, *rule.needs, *rule.excludes, *(rule.only or ())} <= known, rule
        assert rule.needs or rule.excludes or rule.only is not None


# Commands: short, with few parameters of their own


def functions(folder: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.name}: {node.name}", node


def too_long(folder: Path) -> list[str]:
    wrong = []
    for name, node in functions(folder):
        lines = (node.end_lineno or 0) - node.lineno + 1
        parameters = len(node.args.args) + len(node.args.kwonlyargs)
        if lines > MOST_LINES or parameters > MOST_PARAMETERS:
            wrong.append(f"{name} has {lines} lines and {parameters} parameters")
    return wrong


def test_commands_are_short() -> None:
    folder = Path(lapwing.cli.__path__[0])
    assert len(list(functions(folder))) > 5 * len(COMMANDS)
    assert too_long(folder) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n" + "    pass\n" * MOST_LINES,
        f"def f({', '.join(f'p{n}' for n in range(MOST_PARAMETERS + 1))}): pass\n",
        f"def f(*, {', '.join(f'p{n}' for n in range(MOST_PARAMETERS + 1))}): pass\n",
    ],
)
def test_a_long_command_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "command.py").write_text(text)
    assert len(too_long(tmp_path)) == 1
