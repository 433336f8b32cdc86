"""The list of commands is told without importing one, and says what each says of itself."""

from __future__ import annotations

import shlex
import subprocess
import sys
from inspect import getdoc
from pathlib import Path
from typing import Any

import pytest
import typer

import lapwing.cli.commands
from lapwing.cli import main
from lapwing.cli.command_list import COMMANDS, EXAMPLES, PARTS, command_of
from lapwing.cli.program import app
from lapwing.errors import ArgumentError
from tests.cli.running import environment

HEAVY = {"numpy", "scipy", "numba", "pyarrow", "matplotlib", "rich", "cryptography"}

LOADED = """
import sys
from lapwing.cli import main
main(sys.argv[1:])
print(sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
parts = ("lapwing.cli.commands.", "lapwing.decoders", "lapwing.mechanisms")
print([name for name in sys.modules if name.startswith(parts)], file=sys.stderr)
"""


def loaded(*arguments: str) -> tuple[set[str], list[str]]:
    """Return the packages that a run has imported, and the modules of commands and methods."""
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    *_, packages, commands = ran.stderr.splitlines()
    return set(packages.strip("[]'").split("', '")), commands.strip("[]'").split("', '")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), (), ("no-such-command",)])
def test_what_is_said_of_all_commands_imports_none(arguments: tuple[str, ...]) -> None:
    packages, commands = loaded(*arguments)
    assert "lapwing" in packages and "typer" in packages
    assert not HEAVY & packages
    assert commands == [""]


def test_a_command_imports_itself_alone() -> None:
    packages, commands = loaded("ledger", "--help")
    assert commands == ["lapwing.cli.commands.ledger_command"]
    assert not HEAVY & packages
    # Who randomizes does not wait for decoders.
    packages, commands = loaded("randomize", "--help")
    assert commands == ["lapwing.cli.commands.randomize_command"]
    assert "matplotlib" not in packages and "pyarrow" not in packages


EVERY = [(name, None) for name in COMMANDS if name not in PARTS]
EVERY += [(name, part) for name, parts in PARTS.items() for part in parts]


@pytest.mark.parametrize(("name", "part"), EVERY)
def test_the_list_says_what_a_command_says_of_itself(name: str, part: str | None) -> None:
    told = getdoc(command_of(name, part))
    assert told is not None
    summary = COMMANDS[name] if part is None else PARTS[name][part]
    assert summary == " ".join(told.partition("\n\n")[0].split())
    assert len(summary) <= 60


def test_every_file_of_a_command_is_listed() -> None:
    folder = Path(lapwing.cli.commands.__path__[0])
    files = {path.stem.removesuffix("_command") for path in folder.glob("*_command.py")}
    assert files == set(COMMANDS)


def leaves() -> dict[str, Any]:
    """Every command by its words."""
    program: Any = typer.main.get_command(app)
    found = {}
    for name in program.list_commands(None):
        command = program.get_command(None, name)
        if name in PARTS:
            found |= {f"{name} {part}": command.get_command(None, part) for part in PARTS[name]}
        else:
            found[name] = command
    return found


def test_there_are_few_commands_and_options() -> None:
    options = [
        one.opts[0]
        for command in leaves().values()
        for one in command.params
        if one.param_type_name == "option"
    ]
    assert len(COMMANDS) == 20
    assert len(options) <= 246 and len(set(options)) <= 100


def test_every_command_has_an_example_that_can_be_read() -> None:
    commands = leaves()
    assert set(EXAMPLES) == set(commands)
    for name, command in commands.items():
        program, *words = shlex.split(EXAMPLES[name])
        assert program == "lapwing" and words[: len(name.split())] == name.split()
        context = command.make_context(name, words[len(name.split()) :])
        assert EXAMPLES[name] in " ".join(command.get_help(context).split())
    with pytest.raises(typer.BadParameter.__mro__[2]):
        commands["tally"].make_context("tally", ["survey.json", "reports.lwr", "--bounds", "0"])


def test_json_quiet_and_yes_are_options_of_every_command() -> None:
    for command in leaves().values():
        flags = [one.opts[0] for one in command.get_params(typer.Context(command))]
        assert flags[-4:-1] == ["--json", "--quiet", "--yes"]


@pytest.mark.parametrize(
    ("typed", "use"),
    [
        (("release", "a.csv", "--low", "0"), "--domain"),
        (("count", "a.csv", "--bins", "8"), "--domain"),
        (("recommend", "--categories", "a,b"), "--domain"),
        (("release", "a.csv", "--neighbours", "replace-one"), "(did you mean --neighbors?)"),
        (("simulat", "a.json"), "(did you mean simulate?)"),
    ],
)
def test_an_unknown_word_says_what_to_use(
    typed: tuple[str, ...], use: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(typed)) == 2
    said = capsys.readouterr().err
    assert use in said and len(said.splitlines()) == 1
    assert main(["decode", "--no-such-option"]) == 2
    assert "no_such_option" in capsys.readouterr().err.replace("-", "_")


@pytest.mark.parametrize("words", [(), ("collector",)])
def test_help_cuts_no_summary_at_80_columns(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*words, "--help"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for name, does in (PARTS["collector"] if words else COMMANDS).items():
        assert f"{name} {does}" in lines
    cut = [line for line in lines if line.endswith(("...", "…"))]
    assert all(line.startswith("Usage:") for line in cut)


def single_values() -> list[tuple[str, Any]]:
    """Each option of each command that takes one value."""
    return [
        (name, one)
        for name, command in leaves().items()
        for one in command.get_params(typer.Context(command))
        if one.param_type_name == "option" and not one.multiple
        if not one.is_flag or one.secondary_opts
    ]


def test_an_option_of_one_value_is_typed_once() -> None:
    found, commands = single_values(), leaves()
    assert len(found) > 100 and {name for name, _ in found} >= {"randomize", "collector export"}
    for name, one in found:
        words = shlex.split(EXAMPLES[name])[1 + len(name.split()) :]
        words = [word for word in words if word not in one.opts] if one.is_flag else words
        values = [] if one.is_flag else ["1"] * one.nargs
        for flags in ([one.opts[0], one.opts[-1]], [one.opts[0], *one.secondary_opts[:1]]):
            twice = [word for flag in (flags * 2)[:2] for word in (flag, *values)]
            with pytest.raises(ArgumentError, match="must be given once, got"):
                commands[name].make_context(name, [*words, *twice])


def test_a_second_label_column_is_not_dropped_in_silence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing is read or drawn: the files need not even be there."""
    words = ["randomize", "survey.json", "people.csv", "-o", str(tmp_path / "reports.parquet")]
    assert main([*words, "--by", "country", "--by", "month"]) == 2
    assert "--by must be given once, got 2 times" in capsys.readouterr().err
    assert main([*words, "-c", "age", "--column", "weight", "--json"]) == 2
    assert "--column must be given once" in capsys.readouterr().out
    assert main([*words, "--by", "country", "--by", "month", "--help"]) == 0
    assert not list(tmp_path.iterdir())
