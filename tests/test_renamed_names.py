"""Every new name in the change log's tables of renamed and moved names exists.

Names of Python are resolved, commands and their options are asked of the command line, and the keys
of documents are looked up in the sources that write them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main

import lapwing as lw
from lapwing.cli.program import app

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src"
HOMES = {
    name: ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    for names in re.findall(
        r"^(?:class|def) (\w+)|^([A-Z_]+)\b.* = ", path.read_text("utf-8"), re.M
    )
    for name in names
    if name
}
"""The module of each class, function and constant of the package."""

INSTANCES = {"survey": "Survey", "promise": "Promise", "domain": "Domain", "result": "Distribution"}
"""What the tables call an instance of a class."""

SPAN = re.compile(r"`([^`]+)`")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+|[A-Z]\w+")


def rows(title: str) -> list[tuple[str, str]]:
    """Return the pairs (old, new) of one table of the change log."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    table = text.partition(f"\n**{title}**\n")[2].partition("\n**")[0].partition("\n### ")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [(cell[0], cell[1]) for cell in cells if len(cell) == 2 and cell[0] != "old"]


def names_of(cell: str) -> Iterator[str]:
    """Yield what a cell names in full: classes, and dotted names without their arguments."""
    for span in SPAN.findall(cell):
        # What is passed to a call is an example, and no name of its own.
        name = re.match(r"[\w.]+", span)
        chained = re.sub(r"\(.*?\)", "", span)
        if name and DOTTED.fullmatch(chained):
            yield chained


def resolved(name: str) -> bool:
    """Return whether a name, such as "lw.Release.load" or "Watch.people_needed", exists."""
    first, *rest = name.split(".")
    if first in ("lw", "lapwing"):
        return follows(lw, rest)
    if first in INSTANCES:
        return resolved(".".join([INSTANCES[first], *rest]))
    if first in HOMES:
        return follows(importlib.import_module(HOMES[first]), [first, *rest])
    return follows(lw, [first, *rest])


def follows(owner: Any, names: list[str]) -> bool:
    """Return whether the attributes or modules of these names are there, one inside the other."""
    for number, name in enumerate(names):
        try:
            owner = getattr(owner, name)
        except AttributeError:
            if not hasattr(owner, "__path__"):
                return name in getattr(owner, "__dataclass_fields__", {})
            try:
                owner = importlib.import_module(f"{owner.__name__}.{name}")
            except ModuleNotFoundError:
                return False
        if number == len(names) - 1:
            return True
    return True


def missing_names(pairs: list[tuple[str, str]]) -> list[str]:
    return [
        name
        for _, new in pairs
        if not new.startswith("removed")
        for name in names_of(new)
        if not resolved(name)
    ]


def test_new_names_of_python_exist() -> None:
    pairs = rows("Python")
    assert len(pairs) > 60
    assert missing_names(pairs) == []


@pytest.mark.parametrize(
    "new", ["`lw.randomizers.Wavelets`", "`Ledger.opens(path)`", "`lapwing.randomizers.two`"]
)
def test_a_name_that_is_not_there_is_found_out(new: str) -> None:
    assert missing_names([("old", new)])


def group() -> Any:
    """Return the program; its class may be typer's own copy of click's."""
    return typer.main.get_command(app) if isinstance(app, typer.Typer) else app


def wrong_commands(cells: list[str]) -> list[str]:
    """Return the spans of cells that name a command or an option that is not there.

    A span that begins with an option belongs to the command that the span before it named, or to
    any command.
    """
    wrong = []
    for cell in cells:
        here: list[Any] = every_command(group())
        for span in SPAN.findall(cell):
            words = span.split()
            if words[0] == "lapwing" or words[0] in COMMANDS:
                command, words = command_of(words[words[0] == "lapwing" :])
                if command is None:
                    wrong.append(span)
                    continue
                here = [command]
            options = {word for word in words if word.startswith("--")}
            known = {name for each in (*here, group()) for one in each.params for name in one.opts}
            wrong += [f"{span}: {option}" for option in sorted(options - known)]
    return wrong


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that some words begin with, and the words after it."""
    command: Any = group()
    while words and hasattr(command, "list_commands"):
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    return command, words


def every_command(command: Any) -> list[Any]:
    """Return a command with all commands in it."""
    if not hasattr(command, "list_commands"):
        return [command]
    context = click.Context(command)
    inner = [command.get_command(context, name) for name in command.list_commands(context)]
    return [each for child in inner if child for each in every_command(child)]


COMMANDS = group().list_commands(click.Context(group()))


def test_new_commands_and_options_exist() -> None:
    cells = [new for title in ("Commands", "Options") for _, new in rows(title)]
    assert len(cells) > 40
    assert not wrong_commands(cells)


@pytest.mark.parametrize("new", ["`lapwing compares`", "`lapwing compare --truths`", "`--truths`"])
def test_a_command_that_is_not_there_is_found_out(new: str) -> None:
    assert wrong_commands([new])


def test_every_command_of_before_has_a_row() -> None:
    before = """recommend new randomize tally merge decode plot difference watch simulate verify
        distances bounds summarize release extend answer quantile sample ledger serve export import
        backup adapt"""
    old = {words.split()[1] for cell, _ in rows("Commands") for words in SPAN.findall(cell)}
    assert set(before.split()) == old


def test_new_keys_stand_in_the_sources() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "clients/js").rglob("*.mjs")]
    sources = "\n".join(path.read_text("utf-8") for path in files)
    keys = {
        word
        for _, new in rows("JSON keys and classes")
        for span in SPAN.findall(new)
        for word in re.findall(r"[a-z][a-z_-]+[a-z]", span)
    }
    assert len(keys) > 20
    assert [key for key in sorted(keys) if key not in sources] == []
