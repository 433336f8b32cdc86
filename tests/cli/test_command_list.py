"""The list of commands is told without importing one, and says what each says of itself."""

from __future__ import annotations

import subprocess
import sys
from inspect import getdoc
from pathlib import Path

import pytest

import lapwing.cli.commands
from lapwing.cli.command_list import COMMANDS, command_of
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


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_a_command_says_of_itself(name: str) -> None:
    told = getdoc(command_of(name))
    assert told is not None
    assert COMMANDS[name] == " ".join(told.partition("\n\n")[0].split())


def test_every_file_of_a_command_is_listed() -> None:
    folder = Path(lapwing.cli.commands.__path__[0])
    files = {path.stem.removesuffix("_command") for path in folder.glob("*_command.py")}
    assert files == set(COMMANDS)
