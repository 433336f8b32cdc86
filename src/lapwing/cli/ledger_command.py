"""`lapwing ledger`: what has been spent on the privacy of a data set, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.options import AsJson, Quiet
from lapwing.errors import ArgumentError, PrivacyError
from lapwing.guarantee import Guarantee, Neighbours, exact_epsilon
from lapwing.ledger import Ledger
from lapwing.ledger_file import LedgerFile
from lapwing.promise import exact_delta


def ledger(
    file: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's JSON document.")],
    create: Annotated[
        bool, typer.Option("--create", help="Write a new ledger with a budget.")
    ] = False,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="--create: the budget.")
    ] = None,
    delta: Annotated[
        str, typer.Option("--delta", metavar="NUMBER", help="--create: the budget.")
    ] = "0",
    neighbours: Annotated[
        str | None,
        typer.Option(
            "--neighbours",
            metavar="RELATION",
            help="--create: replace-one or add-or-remove-one, for all its releases.",
        ),
    ] = None,
    tight: Annotated[
        bool,
        typer.Option(
            "--tight",
            help="--create: compose normal noise and pure epsilons numerically (needs "
            "dp-accounting), which allows more than adding them up. Plan the epsilons beforehand: "
            "none may follow from an answer.",
        ),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show a ledger, or create one.

    Every release names it with --ledger and pays before its noise is drawn. Releases with normal
    noise add up more tightly than their epsilons. A payment that says "reserved" was interrupted:
    it stays spent, because whether somebody saw the output cannot be known.
    """
    out = Output(as_json, quiet)
    stored = LedgerFile(file)
    if create:
        if epsilon is None or neighbours is None:
            raise ArgumentError("--create needs --epsilon and --neighbours (and --delta)")
        if neighbours not in ("replace-one", "add-or-remove-one"):
            raise PrivacyError(
                f"neighbours must be 'replace-one' or 'add-or-remove-one', got {neighbours!r}"
            )
        budget = Guarantee(
            exact_epsilon(epsilon), exact_delta(delta), cast(Neighbours, neighbours), "central"
        )
        held = stored.create(budget, tight=tight)
    elif epsilon is not None or neighbours is not None or delta != "0" or tight:
        raise ArgumentError("a budget is set once, with --create")
    else:
        held = stored.read()
    rows = {"budget": str(held.budget), "spent": str(held.spent or "nothing"), "left": _left(held)}
    tables = [facts(rows)]
    if held.entries:
        body = [
            [entry.name, f"{float(entry.guarantee.epsilon):g}", entry.state, entry.release or "-"]
            for entry in held.entries
        ]
        tables.insert(0, grid(file.name, ["release", "epsilon", "state", "identifier"], body))
    out.show({"command": "ledger", "ledger": held.to_document()}, *tables)


def _left(held: Ledger) -> str:
    left = held.remaining
    if left is None:
        return "nothing"
    return f"epsilon {float(left.epsilon):g}, delta {float(left.delta):g}, or more"
