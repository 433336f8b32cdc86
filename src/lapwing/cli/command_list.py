"""The commands by name. Each is imported when it is run, with all that it needs.

So the list of them, their version and the help cost no import of numbers and matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperGroup

from lapwing.cli.console import results_alone
from lapwing.cli.option_groups import SharingCommand, typed_words, ungrouped

GROUPS = MappingProxyType(
    {
        "Before anything is collected": {
            "recommend": "The best randomizer and decoder, and the expected error.",
            "new": "A survey: the JSON document that all sides share.",
            "verify": "Exact proof of a survey's privacy guarantee.",
            "simulate": "A simulated tally of a known population.",
        },
        "On the device, then on the server": {
            "randomize": "Randomized reports, one per person.",
            "tally": "Report counts for one survey.",
            "merge": "The sum of tallies, or of releases.",
            "decode": "The distribution estimated from a survey's reports.",
            "series": "Weekly distributions decoded together, and change alarms.",
        },
        "From a result": {
            "answer": "Shares and quantiles of a result, with intervals.",
            "compare": "The difference between two results, or the error of one.",
            "plot": "A picture of a result: .png, .svg or .pdf.",
            "show": "The content of any stored file.",
        },
        "For a curator who holds the values": {
            "release": "A private distribution of a column, published once.",
            "bounds": "Private bounds of a column of numbers.",
            "count": "Exact counts of raw values, in a secret file.",
            "sample": "Synthetic values, drawn from a result.",
            "ledger": "A privacy budget, and how much of it is spent.",
        },
        "The collector": {
            "serve": "The collector: reports over HTTP, and result pages.",
            "collector": "A collector's surveys and tokens: add, export, revoke.",
        },
    }
)
"""The commands in the order in which a user meets them, with the summary of each.

Adding a command is adding its file, ``commands/NAME_command.py``, and its line here.
"""

COMMANDS = MappingProxyType(
    {name: summary for group in GROUPS.values() for name, summary in group.items()}
)
"""The summary of each command: the first sentence of its docstring."""

PARTS = MappingProxyType(
    {
        "collector": {
            "add-survey": "A survey at a running collector, with an open epoch.",
            "export": "Export a survey and all its reports to a file.",
            "import": "Import a survey that another collector exported.",
            "backup": "A copy of a collector's database, made while it runs.",
            "tokens": "The tokens of analysts and admins, with their last use.",
            "revoke": "Revoke an analyst or admin token immediately.",
        }
    }
)
"""The commands of a command: their functions are in its file."""

EXAMPLES = MappingProxyType(
    {
        "recommend": "lapwing recommend --domain income.json --epsilon 2 --users 30000",
        "new": "lapwing new -o survey.json --name income --epsilon 2 --low 0 --high 500000 "
        "--bins 100",
        "verify": "lapwing verify survey.json --budget 4 --rounds 2",
        "simulate": "lapwing simulate survey.json people.csv --column income -o tally.json",
        "randomize": "lapwing randomize survey.json people.csv --column income -o people.lwr",
        "tally": "lapwing tally survey.json monday.lwr tuesday.lwr -o tally.json",
        "merge": "lapwing merge monday.json tuesday.json -o tally.json",
        "decode": "lapwing decode survey.json tally.json -o result.json",
        "series": "lapwing series survey.json weeks -o series.json --csv weeks.csv",
        "answer": "lapwing answer result.json --at-most 50000 --quantile 0.5",
        "compare": "lapwing compare north.json south.json --people different",
        "plot": "lapwing plot result.json -o result.png --label 'income, dollars'",
        "show": "lapwing show result.json",
        "release": "lapwing release people.csv --domain income.json --column income --epsilon 1 "
        "--delta 1e-6 --neighbors replace-one -o release.json",
        "bounds": "lapwing bounds people.csv --column income --epsilon 0.1 --neighbors replace-one",
        "count": "lapwing count people.csv --domain income.json --column income -o people.lws",
        "sample": "lapwing sample release.json --size 10000 -o synthetic.csv",
        "ledger": "lapwing ledger budget.json --epsilon 2 --delta 1e-6 --neighbors replace-one",
        "serve": "lapwing serve --database collector.sqlite --port 8080",
        "collector add-survey": "lapwing collector add-survey survey.json --epoch 2026-w48",
        "collector export": "lapwing collector export 4f2a --database collector.sqlite "
        "-o survey.lwx",
        "collector import": "lapwing collector import survey.lwx --database other.sqlite",
        "collector backup": "lapwing collector backup --database collector.sqlite -o copy.sqlite",
        "collector tokens": "lapwing collector tokens http://127.0.0.1:8080",
        "collector revoke": "lapwing collector revoke 0123456789ab http://127.0.0.1:8080",
    }
)
"""One call of each command, for its help."""


def command_of(name: str, part: str | None = None) -> Callable[..., None]:
    """Return the function of a command, or of a part of it, which is imported now."""
    module = import_module(f"lapwing.cli.commands.{name}_command")
    word = part or name
    # A function cannot be called `import`.
    function: Callable[..., None] = getattr(module, word.replace("-", "_") + "_" * iskeyword(word))
    return function


def _built(path: str, function: Callable[..., None]) -> Any:
    """Return a command as typer reads it."""
    one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    epilog = f"\b\nExample:\n  {EXAMPLES[path]}"
    name = path.rpartition(" ")[2]
    run: Any = ungrouped(function)
    rules = function.__globals__.get("RULES", ())
    one.command(name, cls=SharingCommand, epilog=epilog)(run)
    command: Any = typer.main.get_command(one)
    command.share_output()
    callback = command.callback

    def alone(**given: Any) -> None:
        with results_alone(), typed_words(command, run.names, rules, given):
            callback(**given)

    command.callback = alone
    return command


class _Listed(TyperGroup):
    """A group that knows the names of its commands, and what each does, and imports none."""

    groups: Any = MappingProxyType({})
    """For each heading of the help, its commands with their summaries."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order in which they are used."""
        return [name for group in self.groups.values() for name in group]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does, without importing it."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, group in self.groups.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), does) for name, does in group.items()])


class _Parts(_Listed):
    """A command that is a group of commands."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one of its commands. None where there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        name = str(self.name)
        return _built(f"{name} {cmd_name}", command_of(name, cmd_name))


class CommandList(_Listed):
    """The group of all commands."""

    groups = GROUPS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command as typer reads it. None where there is none of that name."""
        if cmd_name in PARTS:
            group = _Parts(name=cmd_name, help=COMMANDS[cmd_name], rich_markup_mode=None)
            group.groups = {"Commands": PARTS[cmd_name]}
            return group
        return _built(cmd_name, command_of(cmd_name)) if cmd_name in COMMANDS else None
