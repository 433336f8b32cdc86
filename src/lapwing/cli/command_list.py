"""The commands by name; each is imported when it is run, with all that it needs.

So the list of them, their version and the help cost no import of numbers and matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lapwing.cli.console import results_alone
from lapwing.cli.option_groups import PairingCommand, ungrouped

COMMANDS = MappingProxyType(
    {
        "recommend": "Say which randomizer and decoder to use, and what error to expect.",
        "new": "Write a survey: the document that all sides share.",
        "randomize": "Turn the value of each person into a report.",
        "tally": "Count the reports of one survey, from one file or many.",
        "merge": "Add tallies of one survey into one, or releases of different people.",
        "decode": "Estimate the distribution behind a tally.",
        "adapt": "Write the survey of the next epoch, its parts chosen by the answer of the last.",
        "plot": "Draw a result as .png, .svg or .pdf.",
        "difference": "Compare two distributions: the first minus the second, with intervals.",
        "watch": "Look at one more week, and say whether something changed.",
        "simulate": "Draw the tally that a population would send.",
        "verify": "Prove what a survey promises, and show what it means.",
        "distances": "Measure how far an estimate is from the truth.",
        "bounds": "Find bounds of a column of numbers with noise, where no public ones are known.",
        "summarize": "Count raw values exactly, in bounded memory, into a private file.",
        "release": "Publish the distribution of a column, with noise that keeps the promise.",
        "extend": "Publish one more round of a release in rounds, of newly collected people.",
        "answer": "Answer questions about a result: the share of a range, or of a label.",
        "quantile": "Print quantiles with their intervals.",
        "sample": "Write synthetic values, drawn from a result, as a CSV table of one column.",
        "ledger": "Show a ledger, or create one.",
        "serve": "Collect reports over HTTP, and show what they say.",
        "export": "Write a survey of a collector, with all that was collected for it, into a file.",
        "import": "Read a survey that `lapwing export` wrote into a collector's database, all or "
        "nothing.",
        "backup": "Copy a collector's whole database while it runs, as of one moment.",
    }
)
"""What each does, the first sentence of its docstring, in the order in which they are used.

Adding a command is adding its file, ``commands/NAME_command.py``, and its line here.
"""


def command_of(name: str) -> Callable[..., None]:
    """Return the function of a command, which is imported now."""
    module = import_module(f"lapwing.cli.commands.{name}_command")
    # A function cannot be called `import`.
    function: Callable[..., None] = getattr(module, name + "_" * iskeyword(name))
    return function


class CommandList(TyperGroup):
    """The group of all commands, of which it knows the names and what each does."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command as typer reads it; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        one = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        one.command(cmd_name, cls=PairingCommand)(ungrouped(command_of(cmd_name)))
        made: Any = typer.main.get_command(one)
        run = made.callback

        def alone(**given: Any) -> None:
            with results_alone():
                run(**given)

        made.callback = alone
        return made

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does, without importing it."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [
            (name, TyperCommand(name, help=does).get_short_help_str(limit))
            for name, does in COMMANDS.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
